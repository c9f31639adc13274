//! Trees are trees, cover their receivers on shortest paths, and merge as early as the fabric allows.

use super::*;
use crate::fabric::graph::Level;
use crate::fabric::topology::tests::{any_fabric, fabric};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Follows a packet from the source as switches and relaying hosts would; gives how many links it took to each host that
/// got a copy.
///
/// Panics if a link carries the packet twice, in either direction, or a node gets a second copy.
fn deliver(g: &Graph, tree: &Tree, source: u32) -> BTreeMap<u32, u8> {
    let (mut delivered, mut links, mut seen) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::from([source]));
    let mut open = vec![(source, 0)];
    while let Some((node, hops)) = open.pop() {
        for &(_, port) in tree.branches().of(node) {
            assert_eq!(g.port_owner(port), node);
            assert!(links.insert(port / 2), "link {} twice", port / 2);
            let peer = g.port_peer(port);
            assert!(seen.insert(peer), "{} twice", g.nodes[peer as usize].name);
            if g.is_host(peer) {
                delivered.insert(peer, hops + 1);
            }
            open.push((peer, hops + 1));
        }
    }
    assert_eq!(links.len(), tree.links().len(), "a port of the tree is never reached");
    delivered
}

fn fat_tree(k: u32) -> (Graph, Routes) {
    let g = fabric(&format!("topology = 'fat-tree'\nk = {k}"));
    let r = Routes::build(&g, |_| true);
    (g, r)
}

/// The core switches that a tree uses.
fn cores(g: &Graph, tree: &Tree) -> BTreeSet<NodeId> {
    let ends = tree.links().map(|p| g.port_peer(p));
    ends.filter(|&n| g.nodes[n as usize].level == Level::Core).collect()
}

#[test]
fn a_group_of_three_replicas_shares_its_way_up() {
    // SCDP §V-A: three replicas, here in three pods and all away from the source's.
    let (g, r) = fat_tree(10);
    for hash in 0..50 {
        let tree = Tree::build(&g, &r, 0, &[60, 130, 249], hash);
        assert_eq!(deliver(&g, &tree, 0), BTreeMap::from([(60, 6), (130, 6), (249, 6)]));
        // One way up (host, edge, aggregation) and three ways down (core, aggregation, edge).
        assert_eq!(tree.links().len(), 3 + 3 * 3);
        assert_eq!(cores(&g, &tree).len(), 1);
    }
}

#[test]
fn a_tree_to_all_hosts_has_one_link_for_each_node_reached() {
    let (g, r) = fat_tree(8);
    let all: Vec<u32> = (0..g.hosts).collect();
    let tree = Tree::build(&g, &r, 77, &all, 9);
    assert_eq!(deliver(&g, &tree, 77).len(), 127);
    // 127 hosts and the source's link, 32 edge switches (one of them the source's), 8 aggregation switches, 1 core.
    assert_eq!(tree.links().len(), 127 + 1 + 31 + 8 + 1);
}

#[test]
fn trees_in_an_mport_ntree_are_as_small_as_can_be() {
    use rand::RngExt as _;
    let mut random = crate::random::stream(7, "receivers");
    for (m, n) in [(4, 3), (6, 4), (2, 4), (8, 2), (8, 1)] {
        let g = fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"));
        let (r, half) = (Routes::build(&g, |_| true), m / 2);
        for hash in 0..100 {
            let source = random.random_range(0..g.hosts);
            let mut receivers: BTreeSet<u32> = (0..8).map(|_| random.random_range(0..g.hosts)).collect();
            receivers.remove(&source);
            let list: Vec<u32> = receivers.iter().copied().collect();
            let tree = Tree::build(&g, &r, source, &list, hash);
            assert_eq!(deliver(&g, &tree, source).len(), list.len());
            // At least one link leads up from each sub-fat-tree of the source that some receiver is not in, and one down
            // into each sub-fat-tree with receivers that the source is not in. Those of t tiers are told apart by the
            // number of a host over (m/2)^t.
            let bound: usize = (0..n)
                .map(|t| {
                    let within = |h: &u32| h / u32::pow(half, t);
                    let down: BTreeSet<u32> = list.iter().map(within).filter(|&s| s != within(&source)).collect();
                    down.len() + usize::from(!down.is_empty())
                })
                .sum();
            assert_eq!(tree.links().len(), bound, "FT({m}, {n}) {source} -> {list:?}");
        }
    }
}

#[test]
fn groups_spread_over_the_cores() {
    let (g, r) = fat_tree(10);
    let used: BTreeSet<_> = (0..400).flat_map(|hash| cores(&g, &Tree::build(&g, &r, 3, &[100, 200], hash))).collect();
    assert_eq!(used.len(), 25);
}

#[test]
fn one_tree_for_each_core() {
    for k in [4, 6, 10] {
        let (g, r) = fat_tree(k);
        let (count, receivers) = (k * k / 4, [g.hosts - 1, g.hosts / 2, 1, g.hosts - 2]);
        for hash in 0..40 {
            let trees = MulticastGroup::plan(&g, &r, 0, &receivers, count, hash);
            let group = MulticastGroup::build(&g, &r, 0, &receivers, count, hash);
            let used: BTreeSet<_> = trees.iter().flat_map(|t| cores(&g, t)).collect();
            assert_eq!(used.len(), count as usize);
            for (i, tree) in trees.iter().enumerate() {
                assert_eq!(deliver(&g, tree, 0).len(), 4);
                assert_eq!(group.tree(crate::fabric::routing::path_fraction(i as u32, count)), tree.branches());
            }
        }
    }
}

#[test]
fn few_trees_spread_over_the_cores_too() {
    let (g, r) = fat_tree(10);
    let groups = (0..200).map(|hash| MulticastGroup::plan(&g, &r, 0, &[200, 249], 3, hash));
    let used: BTreeSet<_> = groups.flat_map(|trees| cores(&g, &trees[2])).collect();
    // The third of three trees comes from the last third of 25 cores.
    assert!((8..=9).contains(&used.len()), "{used:?}");
}

#[test]
fn trees_merge_where_a_failure_makes_the_ways_up_differ() {
    let g = fabric("topology = 'fat-tree'\nk = 4");
    let link = |a: &str, b: &str| {
        let name = |n: NodeId| g.nodes[n as usize].name.as_str();
        g.links.iter().position(|l| name(l.a) == a && name(l.b) == b).unwrap() as u32
    };
    // The rack of hosts 4 and 5 is left with one way up, its neighbour (6 and 7) has both.
    let cut = link("edge1.0", "agg1.0");
    let r = Routes::build(&g, |l| l != cut);
    for hash in 0..50 {
        let tree = Tree::build(&g, &r, 0, &[4, 6], hash);
        assert_eq!(deliver(&g, &tree, 0), BTreeMap::from([(4, 6), (6, 6)]));
        // Four links to the aggregation switch that both share, and two from there to each.
        assert_eq!(tree.links().len(), 4 + 2 * 2, "hash {hash}");
    }
}

#[test]
fn repeated_receivers_the_source_and_the_unreachable() {
    let g = fabric("topology = 'dumbbell'\nleft = 2\nright = 2");
    let whole = Routes::build(&g, |_| true);
    let tree = Tree::build(&g, &whole, 0, &[3, 0, 3, 1, 3], 1);
    assert_eq!(deliver(&g, &tree, 0), BTreeMap::from([(1, 2), (3, 3)]));
    assert!(tree.unreached().is_empty());
    let cut = Routes::build(&g, |l| l != 4);
    let tree = Tree::build(&g, &cut, 0, &[3, 1], 1);
    assert_eq!(deliver(&g, &tree, 0), BTreeMap::from([(1, 2)]));
    assert_eq!(tree.unreached(), [3]);
    let nobody = Tree::build(&g, &whole, 0, &[], 1);
    assert!(nobody.links().len() == 0 && nobody.branches().of(0).is_empty());
}

#[test]
fn trees_go_through_hosts_that_relay() {
    // DCell_1 of 2: h0 - h2 directly, h3 on the switch of h2, h5 one host further.
    let g = fabric("topology = 'dcell'\nn = 2\nk = 1");
    let r = Routes::build(&g, |_| true);
    for hash in 0..10 {
        let tree = Tree::build(&g, &r, 0, &[5, 3, 2], hash);
        assert_eq!(deliver(&g, &tree, 0), BTreeMap::from([(2, 1), (3, 3), (5, 4)]));
        assert_eq!(tree.links().len(), 4);
        // A receiver that only relays gets it, too.
        assert_eq!(deliver(&g, &Tree::build(&g, &r, 0, &[5], hash), 0), BTreeMap::from([(2, 1), (3, 3), (5, 4)]));
    }
    // BCube_1 of 4: hosts whose address differs in both digits are reached through others.
    let g = fabric("topology = 'bcube'\nn = 4\nk = 1");
    let r = Routes::build(&g, |_| true);
    let all: Vec<u32> = (0..16).collect();
    let mut used = BTreeSet::new();
    for hash in 0..50 {
        let tree = Tree::build(&g, &r, 0, &all, hash);
        assert_eq!(deliver(&g, &tree, 0).len(), 15);
        // One link to each host, to the source's two switches, and to the switches of one level of the three other rows.
        assert_eq!(tree.links().len(), 15 + 2 + 3);
        used.insert(tree.links().collect::<Vec<_>>());
    }
    assert_eq!(used.len(), 2, "first digit or second digit first");
}

proptest! {
    #[test]
    fn trees_cover_their_receivers_on_shortest_paths(
        g in any_fabric(),
        receivers in prop::collection::vec(0_u32..15, 0..12),
        cuts in prop::collection::btree_set(0_u32..40, 0..6),
        source in 0_u32..15,
        trees in 1_u32..5,
        hash: u64,
    ) {
        let r = Routes::build(&g, |l| !cuts.contains(&l));
        let source = source % g.hosts;
        let receivers: Vec<u32> = receivers.iter().map(|h| h % g.hosts).collect();
        let (reached, cut_off): (BTreeSet<u32>, BTreeSet<u32>) =
            receivers.iter().filter(|&&h| h != source).partition(|&&h| r.path_count(source, h) > 0);
        let expected: BTreeMap<u32, u8> = reached.iter().map(|&h| (h, r.hop_count(source, h))).collect();
        let group = MulticastGroup::build(&g, &r, source, &receivers, trees, hash);
        for (i, tree) in (0..).zip(&MulticastGroup::plan(&g, &r, source, &receivers, trees, hash)) {
            let mut delivered = deliver(&g, tree, source);
            // Who is neither a receiver nor relays should not get any.
            delivered.retain(|h, _| reached.contains(h) || tree.branches().of(*h).is_empty());
            prop_assert_eq!(delivered, expected.clone());
            prop_assert_eq!(tree.unreached().iter().copied().collect::<BTreeSet<_>>(), cut_off.clone());
            prop_assert!(tree.links().all(|p| !cuts.contains(&(p / 2))));
            // The group has the same, although its trees may differ in length.
            let packed = group.tree(crate::fabric::routing::path_fraction(i, trees));
            for node in 0..g.nodes.len() as u32 {
                prop_assert_eq!(packed.of(node), tree.branches().of(node));
            }
        }
    }
}
