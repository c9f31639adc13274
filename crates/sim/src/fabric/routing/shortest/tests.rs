//! Routes against closed forms on regular fabrics and against distances on random ones.

use super::*;
use crate::fabric::graph::Level;
use crate::fabric::topology::tests::{any_fabric, fabric, parse};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn routes(g: &Graph) -> Routes {
    Routes::build(g, |_| true)
}

fn fat_tree(k: u32) -> Graph {
    fabric(&format!("topology = 'fat-tree'\nk = {k}"))
}

/// Links between two nodes over working links, by Bellman-Ford: slow, and nothing like the code under test. Hosts that do
/// not relay are ends only.
fn distances(g: &Graph, from: NodeId, alive: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
    let mut distance = vec![None; g.nodes.len()];
    distance[from as usize] = Some(0);
    for _ in 0..g.nodes.len() {
        for (_, link) in (0..).zip(&g.links).filter(|&(l, _)| alive(l)) {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                if let Some(d) = distance[a as usize]
                    && passes(g, a, from)
                    && distance[b as usize].is_none_or(|e| e > d + 1)
                {
                    distance[b as usize] = Some(d + 1);
                }
            }
        }
    }
    distance
}

/// Whether paths to or from `end` may go through `node`.
fn passes(g: &Graph, node: NodeId, end: NodeId) -> bool {
    node == end || g.hosts_relay || !g.is_host(node)
}

#[test]
fn fat_tree_pairs_have_the_closed_form_paths() {
    for k in [2, 4, 6, 8] {
        let (g, half) = (fat_tree(k), k / 2);
        let (r, racks) = (routes(&g), g.racks());
        for src in 0..g.hosts {
            for dst in (0..g.hosts).filter(|&d| d != src) {
                let (a, b) = (src as usize, dst as usize);
                let expected = if racks[a] == racks[b] {
                    (2, 1)
                } else if g.nodes[a].pod == g.nodes[b].pod {
                    (4, half)
                } else {
                    (6, half * half)
                };
                assert_eq!((u32::from(r.hop_count(src, dst)), r.path_count(src, dst)), expected, "k={k} {src}->{dst}");
            }
        }
    }
}

#[test]
fn mport_ntree_pairs_have_the_closed_form_paths() {
    // Song §3.3.1 property 2: (m/2)^(t-1) shortest paths if the smallest common sub-fat-tree has t tiers, and
    // (m/2)^(n-1) in the whole tree.
    for (m, n) in [(4, 1), (2, 3), (4, 3), (6, 3), (4, 4)] {
        let g = fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"));
        let (r, half) = (routes(&g), m / 2);
        for (src, dst) in (0..g.hosts).flat_map(|s| (0..g.hosts).map(move |d| (s, d))).filter(|(s, d)| s != d) {
            // Hosts share a sub-fat-tree of t tiers, t < n, if their numbers agree above the last t digits.
            let tiers = (1..n).find(|&t| src / u32::pow(half, t) == dst / u32::pow(half, t)).unwrap_or(n);
            assert_eq!(r.path_count(src, dst), half.pow(tiers - 1), "FT({m}, {n}) {src}->{dst}");
            assert_eq!(u32::from(r.hop_count(src, dst)), 2 * tiers);
        }
    }
}

#[test]
fn permuted_fractions_take_each_path_once() {
    let fabrics = [
        fat_tree(4),
        fat_tree(6),
        fat_tree(10),
        fabric("topology = 'm-port-n-tree'\nm = 6\nn = 4"),
        fabric("topology = 'leaf-spine'\nleaves = 3\nspines = 7\nhosts_per_leaf = 2"),
        fabric("topology = 'vl2'\nd_a = 6\nd_i = 4\nhosts_per_tor = 2"),
        fabric("topology = 'bcube'\nn = 3\nk = 3"),
    ];
    for g in fabrics {
        let r = routes(&g);
        for (src, dst) in [(0, 1), (0, g.hosts / 3), (1, g.hosts - 1), (g.hosts - 1, 0)] {
            let count = r.path_count(src, dst);
            let paths: BTreeSet<_> = (0..count).map(|i| r.path(&g, src, dst, path_fraction(i, count))).collect();
            assert_eq!(paths.len(), count as usize);
            for path in paths {
                assert_eq!(path.len(), usize::from(r.hop_count(src, dst)));
                assert_eq!((g.port_owner(path[0]), g.port_peer(path[path.len() - 1])), (src, dst));
                assert!(path.windows(2).all(|w| g.port_peer(w[0]) == g.port_owner(w[1])));
            }
        }
    }
}

#[test]
fn select_consumes_only_where_there_is_a_choice() {
    let mut path = 0x8000_0001;
    assert_eq!((select(&[7], &mut path), path), (7, 0x8000_0001));
    assert_eq!((select(&[7, 8], &mut path), path), (8, 2));
    let mut last = u32::MAX;
    assert_eq!(select(&[1, 2, 3], &mut last), 3);
    assert_eq!((path_fraction(0, 1), path_fraction(3, 4)), (1 << 31, 0xe000_0000));
    for of in 1..=64_u64 {
        for i in 0..of {
            assert_eq!(u64::from(path_fraction(i as u32, of as u32)), ((2 * i + 1) << 31) / of, "path {i} of {of}");
        }
    }
}

#[test]
fn random_fractions_spread_evenly() {
    use rand::Rng as _;
    let (g, mut random) = (fat_tree(6), crate::random::stream(1, "spraying"));
    let r = routes(&g);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..9000 {
        *counts.entry(r.path(&g, 0, 53, random.next_u32())).or_insert(0) += 1;
    }
    // 9 paths, 1000 packets expected on each, standard deviation below 30.
    assert_eq!(counts.len(), 9);
    assert!(counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
}

#[test]
fn a_cut_link_is_avoided() {
    let g = fat_tree(4);
    let between = |a: Level, b: Level| {
        let at = |n: NodeId| g.nodes[n as usize].level;
        g.links.iter().position(|l| at(l.a) == a && at(l.b) == b).unwrap() as u32
    };
    // The link from the first edge switch to its first aggregation switch: 2 of the 4 paths are left.
    let cut = between(Level::Edge, Level::Aggregation);
    let r = Routes::build(&g, |l| l != cut);
    assert_eq!((r.path_count(0, 15), r.hop_count(0, 15)), (2, 6));
    for fraction in (0..=u32::MAX).step_by(1 << 24) {
        for (src, dst) in [(0, 15), (15, 0), (0, 2), (2, 1)] {
            assert!(r.path(&g, src, dst, fraction).iter().all(|p| p / 2 != cut));
        }
    }
    // An aggregation switch above may no longer send down this way, so that other racks avoid its cores too.
    let edge = g.racks()[15];
    assert_eq!(r.next_ports(edge, 0).len(), 1);
    assert_eq!(r.next_ports(edge, 2).len(), 2);
}

#[test]
fn what_is_cut_off_has_no_ports() {
    let g = fat_tree(4);
    let r = Routes::build(&g, |l| l != 5); // the link of host 5
    for switch in g.hosts..g.nodes.len() as NodeId {
        assert_eq!(r.next_ports(switch, 5), &[] as &[PortId]);
        assert!(!r.next_ports(switch, 4).is_empty());
    }
    assert_eq!((r.path_count(0, 5), r.hop_count(0, 5), r.path_count(5, 0)), (0, 0, 0));
    assert!(r.path(&g, 0, 5, 0).is_empty() && r.path(&g, 5, 0, 0).is_empty());

    // A dumbbell without its middle: each side goes on alone.
    let g = fabric("topology = 'dumbbell'\nleft = 2\nright = 2");
    let r = Routes::build(&g, |l| l != 4);
    assert_eq!((r.path_count(0, 1), r.path_count(0, 2), r.path_count(2, 3)), (1, 0, 1));
    assert!(r.next_ports(4, 3).is_empty() && r.path(&g, 0, 3, 0).is_empty());
    assert_eq!(r.next_ports(5, 3), [7]);
}

#[test]
fn first_path_has_the_rates_and_delays_of_the_links() {
    let (gbps, us) = (Rate::from_gbps, Duration::from_us);
    let toml = "topology = 'dumbbell'\nleft = 1\nright = 1\nbottleneck_rate = '3Gbps'\nbottleneck_delay = '7us'";
    let g = fabric(toml);
    let rate = |p: PortId| g.links[(p / 2) as usize].rate;
    assert_eq!(routes(&g).first_path(&g, rate, 0, 1), [(gbps(1), us(10)), (gbps(3), us(7)), (gbps(1), us(10))]);
    assert!(routes(&g).first_path(&g, rate, 0, 0).is_empty());
}

#[test]
fn hosts_do_not_forward_and_parallel_links_count() {
    let g = parse("[hosts]\na\nb\n[switches]\nx\ny\n[links]\na, x\nb, y\nx, y\ny, x\nx, y\n").unwrap();
    let r = routes(&g);
    assert_eq!((r.path_count(0, 1), r.next_ports(2, 1)), (3, &[4_u32, 7, 8][..]));
}

#[test]
fn eight_thousand_hosts_fit_in_a_few_megabytes() {
    let g = fat_tree(32);
    let r = routes(&g);
    assert_eq!((g.hosts, g.nodes.len()), (8192, 8192 + 1280));
    assert_eq!(r.path_count(0, 8191), 256);
    // 1280 switches x 513 columns x 2 bytes, 513^2 pairs of racks x 5 bytes, seats and sets.
    assert!(r.memory_bytes() < 3_000_000, "{} bytes", r.memory_bytes());
    // Edge switches know 1 set (all uplinks), aggregation switches 1 + 16, cores 32: each, and one empty set.
    assert_eq!(r.starts.len() - 1, 512 + 512 * 17 + 256 * 32 + 1280);
}

#[test]
fn only_hosts_that_relay_are_on_the_way() {
    // Two racks that share a dual-homed host b, and a long way round by x.
    let text = "[hosts]\na\nb\nc\n[switches]\ns\nt\nx\n[links]\na, s\nb, s\nc, t\ns, x\nx, t\n";
    let mut g = parse(text).unwrap();
    g.connect(1, 4, Rate::from_gbps(1), Duration::ZERO);
    let r = routes(&g);
    assert_eq!((r.hop_count(0, 2), r.path(&g, 0, 2, 0)), (4, vec![0, 6, 8, 5]));
    // A host chooses among its own links all the same.
    assert_eq!((r.ways(1, 0), r.ways(1, 2)), (&[2_u32][..], &[10_u32][..]));
    g.hosts_relay = true;
    // The way by b is as long as that by x.
    assert_eq!((routes(&g).hop_count(0, 2), routes(&g).path_count(0, 2)), (4, 2));
    g.links.truncate(5);
    g.hosts_relay = true;
    assert_eq!(routes(&g).path(&g, 0, 2, 0), r.path(&g, 0, 2, 0));
}

proptest! {
    #[test]
    fn next_hops_strictly_decrease_the_distance(g in any_fabric(), cuts in prop::collection::btree_set(0_u32..40, 0..6)) {
        let alive = |l: u32| !cuts.contains(&l);
        let r = Routes::build(&g, alive);
        let by_node = g.ports_by_node();
        for dst in 0..g.hosts {
            let to_dst = distances(&g, dst, alive);
            let first = if g.multi_homed() { 0 } else { g.hosts };
            for node in first..g.nodes.len() as NodeId {
                // Exactly the working ports whose far end is one link nearer.
                let here = to_dst[node as usize];
                let expected: Vec<PortId> = by_node[node as usize]
                    .iter()
                    .copied()
                    .filter(|p| alive(p / 2) && passes(&g, g.port_peer(*p), dst))
                    .filter(|&p| here.is_some_and(|d| d > 0 && to_dst[g.port_peer(p) as usize] == Some(d - 1)))
                    .collect();
                prop_assert_eq!(r.next_ports(node, dst), &expected[..]);
                prop_assert_eq!(r.ways(node, dst), &expected[..]);
            }
            for src in (0..g.hosts).filter(|&s| s != dst) {
                let links = to_dst[src as usize];
                prop_assert_eq!(u32::from(r.hop_count(src, dst)), links.unwrap_or(0));
                prop_assert_eq!(r.path_count(src, dst) > 0, links.is_some());
                prop_assert_eq!(r.path_count(src, dst), r.path_count(dst, src));
                prop_assert_eq!(r.path(&g, src, dst, 0).len() as u32, links.unwrap_or(0));
            }
        }
    }

    #[test]
    fn path_counts_are_those_of_an_exhaustive_walk(g in any_fabric()) {
        fn walk(g: &Graph, r: &Routes, node: NodeId, dst: u32) -> u32 {
            if node == dst { 1 } else { r.ways(node, dst).iter().map(|&p| walk(g, r, g.port_peer(p), dst)).sum() }
        }
        let r = routes(&g);
        for (src, dst) in [(0, 1), (g.hosts - 1, 0)] {
            prop_assert_eq!(r.path_count(src, dst), walk(&g, &r, src, dst));
        }
    }
}

/// On every kind of fabric, failures included: the listed paths are those that fractions lead along, each once, and each can be asked for.
#[test]
fn every_listed_path_has_a_fraction() {
    for text in [
        "topology = 'fat-tree'\nk = 4",
        "topology = 'fat-tree'\nk = 6",
        "topology = 'leaf-spine'\nleaves = 3\nspines = 5\nhosts_per_leaf = 2",
        "topology = 'jellyfish'\nswitches = 12\nports = 6\nhosts_per_switch = 2\nseed = 5",
        "topology = 'bcube'\nn = 3\nk = 1",
        "topology = 'star'\nhosts = 3",
    ] {
        let graph = fabric(text);
        for cut in [u32::MAX, graph.links.len() as u32 - 1] {
            let routes = Routes::build(&graph, |link| link != cut);
            for (source, destination) in (0..graph.hosts).flat_map(|a| (0..graph.hosts).map(move |b| (a, b))) {
                let paths = routes.all_paths(&graph, source, destination, 1000);
                let count = if source == destination { 0 } else { routes.path_count(source, destination) };
                assert_eq!(paths.len() as u32, count, "{text}");
                assert!(paths.is_sorted() && paths.windows(2).all(|pair| pair[0] != pair[1]));
                for path in &paths {
                    let fraction = routes.fraction_of(&graph, source, destination, path).expect("a fraction");
                    assert_eq!(&routes.path(&graph, source, destination, fraction), path);
                }
                assert_eq!(routes.all_paths(&graph, source, destination, 1)[..], paths[..paths.len().min(1)]);
            }
        }
    }
}

#[test]
fn what_is_no_shortest_path_has_no_fraction() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let routes = Routes::build(&graph, |_| true);
    let [to_second, back] = [(0, 2), (2, 0)].map(|(a, b)| routes.all_paths(&graph, a, b, 1000));
    assert_eq!(to_second.len(), 2);
    assert_eq!(routes.fraction_of(&graph, 0, 2, &back[0]), None);
    assert_eq!(routes.fraction_of(&graph, 0, 2, &to_second[0][..2]), None, "too short");
    let dead = to_second[0][1] / 2;
    let routes = Routes::build(&graph, |link| link != dead);
    assert_eq!(routes.fraction_of(&graph, 0, 2, &to_second[0]), None, "a link that has failed");
    assert!(routes.fraction_of(&graph, 0, 2, &to_second[1]).is_some());
}
