//! Paths and VLANs of small fabrics, by hand.

use super::paths::Field;
use super::*;
use crate::fabric::graph::{Level, NodeId};
use crate::fabric::routing::{FlowPath as _, Routes};
use crate::fabric::topology::tests::fabric;
use crate::random;
use anabranch_transport::{Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};

fn spain(k: u32, seed: u64) -> Spain {
    Spain { k: NonZeroU32::new(k).expect("it is not 0"), seed, ..Spain::default() }
}

/// Switches with a host each, linked as given.
fn switches(n: u32, links: &[(u32, u32)]) -> Graph {
    let mut graph = Graph::with_hosts(n, |_| None);
    let (rate, delay) = (Rate::from_gbps(1), Duration::from_us(1));
    let nodes: Vec<NodeId> = (0..n).map(|s| graph.add_switch(format!("s{s}"), Level::Edge, None)).collect();
    (0..n).for_each(|host| graph.connect(host, nodes[host as usize], rate, delay));
    for &(a, b) in links {
        graph.connect(nodes[a as usize], nodes[b as usize], rate, delay);
    }
    graph
}

/// The switches of each path between two of them, in ascending order.
fn ways(graph: &Graph, from: u32, to: u32, k: usize, seed: u64) -> Vec<Vec<u32>> {
    let field = Field::new(graph);
    let nodes = |path: &Vec<PortId>| path.iter().map(|&port| graph.port_peer(port) - graph.hosts).collect::<Vec<_>>();
    let mut ways: Vec<_> = field.paths(graph.hosts + from, graph.hosts + to, k, seed).iter().map(nodes).collect();
    ways.sort();
    ways
}

#[test]
fn paths_of_a_ring_go_both_ways_round() {
    let ring = switches(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    for seed in 0..20 {
        assert_eq!(ways(&ring, 0, 1, 2, seed), [vec![1], vec![3, 2, 1]], "the second shares no link with the first");
        assert_eq!(ways(&ring, 0, 2, 2, seed), [vec![1, 2], vec![3, 2]]);
        assert_eq!(ways(&ring, 0, 2, 9, seed).len(), 2, "there are no more");
        assert_eq!(ways(&ring, 0, 1, 1, seed), [vec![1]]);
    }
    // Of two equally good ones the seed chooses, for each pair anew.
    let first: BTreeSet<_> = (0..20).map(|seed| ways(&ring, 0, 2, 1, seed)).collect();
    assert_eq!(first.len(), 2);
    // Each way all round but one link is a tree that no other VLAN can be: four at least, and each path is in one.
    for seed in 0..20 {
        let vlans = spain(2, seed).plan(&ring);
        assert!((4..=7).contains(&vlans.count), "{}", vlans.count);
        assert_eq!(vlans.between(0, 1).map(Vec::len).collect::<BTreeSet<_>>(), [1, 3].into());
    }
}

/// A link is shared where there is no other: behind it, paths part again.
#[test]
fn paths_share_only_the_links_that_they_have_to() {
    let graph = switches(5, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]);
    assert_eq!(ways(&graph, 0, 4, 3, 1), [vec![1, 2, 4], vec![1, 3, 4]]);
    let fields = fabric("topology = 'fat-tree'\nk = 4");
    let field = Field::new(&fields);
    let paths = field.paths(field.edges[0], field.edges[7], 4, 3);
    let cores: BTreeSet<NodeId> = paths.iter().map(|path| fields.port_peer(path[1])).collect();
    assert_eq!(cores.len(), 4, "all cores, each once");
    let links = |path: &Vec<PortId>| path.iter().map(|port| port / 2).collect::<BTreeSet<_>>();
    assert!(links(&paths[0]).is_disjoint(&links(&paths[1])), "the first two by other aggregation switches");
}

/// Two paths between two leaves would be a loop: as many VLANs as spines. Flows draw them evenly, and after a failure the others.
#[test]
fn two_leaves_have_a_vlan_for_each_spine() {
    let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
    let spine = |graph: &Graph, scheme: &Spain, routes: &Routes, flow: &mut Vectors, random: &mut Stream| {
        let packet = super::super::Departing { now: 0, size: 1500, destination: 2 };
        let mut bits = flow.next(&packet, random);
        let leaf = graph.racks()[0];
        let port = scheme.egress(&Hop { routes, node: leaf, destination: 2 }, &mut bits).expect("a way");
        graph.nodes[graph.port_peer(port) as usize].name.clone()
    };
    let shares = |dead: &[u32]| {
        let alive = |link: u32| !dead.contains(&link);
        let mut scheme = spain(4, 1);
        scheme.install(&graph, &|_| true);
        scheme.install(&graph, &alive);
        assert_eq!(scheme.vlans.as_ref().map(|vlans| vlans.count), Some(4));
        let routes = Routes::build(&graph, alive);
        let mut random = random::stream(1, "test");
        let mut counts = BTreeMap::<String, u32>::new();
        for _ in 0..4000 {
            let ends = Ends { source: 0, destination: 2, paths: 4, hops: 4 };
            let mut flow = scheme.flow(&ends, &mut random);
            *counts.entry(spine(&graph, &scheme, &routes, &mut flow, &mut random)).or_default() += 1;
        }
        counts
    };
    let even = |counts: BTreeMap<String, u32>, of: u32| {
        counts.len() == of as usize && counts.values().all(|&n| n.abs_diff(4000 / of) < 150)
    };
    assert!(even(shares(&[]), 4));
    let dead = graph.port_named("spine2-leaf1").expect("a port") / 2;
    let left = shares(&[dead]);
    assert!(!left.contains_key("spine2") && even(left.clone(), 3), "{left:?}");
}

#[test]
fn seeds_decide_and_repeat() {
    let graph = fabric("topology = 'jellyfish'\nswitches = 12\nports = 6\nhosts_per_switch = 2\nseed = 5");
    let paths = |seed| spain(3, seed).plan(&graph).paths().cloned().collect::<Vec<_>>();
    assert_eq!(paths(1), paths(1));
    assert_ne!(paths(1), paths(2));
}

/// However many paths are asked for, there are no more than spines.
#[test]
fn large_fabrics_take_minutes() {
    let of_tree = |k: u32| spain(4, 1).takes_minutes(&fabric(&format!("topology = 'fat-tree'\nk = {k}")));
    assert_eq!([4, 16, 32].map(of_tree), [None, None, Some(512 * 511 / 2 * 4)]);
    let leaves = fabric("topology = 'leaf-spine'\nleaves = 32\nspines = 4\nhosts_per_leaf = 16");
    assert_eq!(spain(1000, 1).takes_minutes(&leaves), None);
}

#[test]
fn what_does_not_fit_is_counted() {
    let graph = fabric("topology = 'jellyfish'\nswitches = 12\nports = 6\nhosts_per_switch = 2\nseed = 5");
    let (vlans, too_long) = spain(4, 1).needs(&graph);
    assert!(vlans > 4 && too_long == 0, "{vlans} {too_long}");
    // Round a ring of 40: the long way takes more bits than packets have.
    let links: Vec<(u32, u32)> = (0..40).map(|n| (n, (n + 1) % 40)).collect();
    let (_, too_long) = spain(2, 1).needs(&switches(40, &links));
    assert!(too_long > 0);
}
