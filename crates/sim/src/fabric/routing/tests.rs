//! Schemes on regular fabrics against closed forms, and on irregular ones: every packet arrives.

use super::*;
use crate::fabric::topology::tests::fabric;
use crate::random;
use std::collections::{BTreeMap, BTreeSet};

fn stream() -> Stream {
    random::stream(1, "test")
}

fn scheme(graph: &Graph, mode: RoutingMode, config: &RoutingConfig) -> Routing {
    let mut scheme = Routing::new(mode, config);
    scheme.install(graph, &|_| true);
    scheme
}

fn ends(routes: &Routes, source: u32, destination: u32) -> Ends {
    let (paths, hops) = (routes.path_count(source, destination), routes.hop_count(source, destination));
    Ends { source, destination, paths, hops }
}

fn packet(now: u64) -> Departing {
    to(1, now)
}

fn to(destination: u32, now: u64) -> Departing {
    Departing { now, size: 1500, destination }
}

/// Switches that a packet with these path bits passes, in order.
fn walk(graph: &Graph, routes: &Routes, scheme: &Routing, ends: &Ends, mut bits: u32) -> Vec<NodeId> {
    let mut node = graph.port_peer(routes.ways(ends.source, ends.destination)[0]);
    let mut passed = Vec::new();
    while node != ends.destination {
        passed.push(node);
        assert!(passed.len() < 100, "{passed:?}");
        let hop = Hop { routes, node, destination: ends.destination };
        node = graph.port_peer(scheme.egress(&hop, &mut bits).expect("there is a way"));
    }
    passed
}

fn fat_tree(k: u32) -> Graph {
    fabric(&format!("topology = 'fat-tree'\nk = {k}"))
}

fn jellyfish() -> Graph {
    fabric("topology = 'jellyfish'\nswitches = 12\nports = 6\nhosts_per_switch = 2\nseed = 5")
}

fn pairs(graph: &Graph) -> impl Iterator<Item = (u32, u32)> + use<> {
    let hosts = graph.hosts;
    (0..hosts).flat_map(move |a| (0..hosts).filter(move |&b| b != a).map(move |b| (a, b)))
}

#[test]
fn a_permuted_round_uses_every_path_once() {
    let mut random = stream();
    let ends = Ends { source: 0, destination: 1, paths: 16, hops: 6 };
    let mut flow = Routing::new(RoutingMode::PerPacketPermuted, &RoutingConfig::default()).flow(&ends, &mut random);
    for _ in 0..3 {
        let seen: BTreeSet<_> = (0..16).map(|_| flow.next(&packet(0), &mut random) >> 28).collect();
        assert_eq!(seen, (0..16).collect());
    }
}

#[test]
fn flows_keep_their_path_and_destinations_theirs() {
    let mut random = stream();
    let mut bits = |mode, destination| {
        let ends = Ends { source: 0, destination, paths: 16, hops: 6 };
        let mut flow = Routing::new(mode, &RoutingConfig::default()).flow(&ends, &mut random);
        (flow.next(&packet(0), &mut random), flow.next(&packet(1), &mut random))
    };
    let (first, second) = bits(RoutingMode::PerFlow, 7);
    assert_eq!(first, second);
    assert_ne!(first, bits(RoutingMode::PerFlow, 7).0, "another flow");
    assert_eq!(bits(RoutingMode::Single, 7).0, bits(RoutingMode::Single, 7).1);
    assert_eq!(bits(RoutingMode::Single, 7), bits(RoutingMode::Single, 7));
    assert_ne!(bits(RoutingMode::Single, 7), bits(RoutingMode::Single, 8));
}

#[test]
fn a_flowlet_keeps_its_path_and_the_next_takes_another() {
    let mut random = stream();
    let ends = Ends { source: 0, destination: 1, paths: 16, hops: 6 };
    let mut flow = Routing::new(RoutingMode::Flowlet, &RoutingConfig::default()).flow(&ends, &mut random);
    let gap = Flowlet::default().gap.ps();
    let mut seen = BTreeSet::new();
    let mut now = 0;
    for _ in 0..200 {
        let path = flow.next(&packet(now), &mut random);
        // However long the flowlet is, and a pause of just the gap is none.
        assert!((1..=5).all(|i| flow.next(&packet(now + i * gap), &mut random) == path));
        now += 6 * gap + 1;
        seen.insert(path >> 28);
    }
    assert_eq!(seen.len(), 16, "all paths");
}

#[test]
fn d_mod_k_gives_each_destination_a_core_switch_and_each_core_switch_equally_many() {
    for k in [4, 6, 8] {
        let (graph, half) = (fat_tree(k), k / 2);
        let (routes, racks) = (Routes::build(&graph, |_| true), graph.racks());
        let scheme = scheme(&graph, RoutingMode::DModK, &RoutingConfig::default());
        let (ports, mut core_of) = (graph.ports_by_node(), BTreeMap::new());
        for (source, destination) in pairs(&graph) {
            let ends = ends(&routes, source, destination);
            let bits = scheme.flow(&ends, &mut stream()).next(&to(destination, 0), &mut stream());
            let passed = walk(&graph, &routes, &scheme, &ends, bits);
            assert_eq!(passed.len() + 1, usize::from(ends.hops), "a shortest path");
            if racks[source as usize] != racks[destination as usize] {
                // The lowest digit chooses the aggregation switch.
                let up = ports[passed[0] as usize].iter().map(|&p| graph.port_peer(p));
                let up: Vec<NodeId> = up.filter(|&n| !graph.is_host(n)).collect();
                assert_eq!(passed[1], up[(destination % half) as usize]);
            }
            if let [_, _, core, _, _] = passed[..] {
                assert_eq!(*core_of.entry(destination).or_insert(core), core, "to {destination} from {source}");
            }
        }
        let mut destinations: BTreeMap<NodeId, u32> = BTreeMap::new();
        for &core in core_of.values() {
            *destinations.entry(core).or_default() += 1;
        }
        assert_eq!(destinations.len() as u32, half * half);
        assert!(destinations.values().all(|&n| n == graph.hosts / (half * half)), "{destinations:?}");
    }
}

/// The hub of a session with several ends has one flow, and packets to each of them.
#[test]
fn d_mod_k_goes_by_the_destination_of_the_packet() {
    let graph = fat_tree(4);
    let routes = Routes::build(&graph, |_| true);
    let scheme = scheme(&graph, RoutingMode::DModK, &RoutingConfig::default());
    let mut hub = scheme.flow(&ends(&routes, 0, 1), &mut stream());
    for destination in 8..16 {
        let ends = ends(&routes, 0, destination);
        let own = scheme.flow(&ends, &mut stream()).next(&to(destination, 0), &mut stream());
        assert_eq!(hub.next(&to(destination, 0), &mut stream()), own);
        assert_eq!(own, destination);
    }
}

#[test]
fn d_mod_k_is_a_static_route_on_irregular_fabrics() {
    let graph = jellyfish();
    let routes = Routes::build(&graph, |_| true);
    let scheme = scheme(&graph, RoutingMode::DModK, &RoutingConfig::default());
    for (source, destination) in pairs(&graph) {
        let ends = ends(&routes, source, destination);
        let mut random = stream();
        let mut flow = scheme.flow(&ends, &mut random);
        let mut next = || walk(&graph, &routes, &scheme, &ends, flow.next(&to(destination, 0), &mut random));
        let first = next();
        assert_eq!(first.len() + 1, usize::from(ends.hops));
        assert_eq!(first, next());
    }
}

fn valiant(per: Per) -> RoutingConfig {
    RoutingConfig { valiant: Valiant { per, ..Valiant::default() }, ..RoutingConfig::default() }
}

#[test]
fn valiant_goes_by_every_core_switch_equally_often() {
    let graph = fat_tree(4);
    let (routes, racks) = (Routes::build(&graph, |_| true), graph.racks());
    let scheme = scheme(&graph, RoutingMode::Valiant, &valiant(Per::Packet));
    let cores = graph.farthest_switches();
    assert!(cores.len() == 4 && cores.iter().all(|&n| graph.nodes[n as usize].name.starts_with("core")));
    let mut random = stream();
    for (source, destination) in pairs(&graph) {
        let ends = ends(&routes, source, destination);
        let mut flow = scheme.flow(&ends, &mut random);
        let mut visits: BTreeMap<NodeId, u32> = BTreeMap::new();
        for _ in 0..400 {
            let passed = walk(&graph, &routes, &scheme, &ends, flow.next(&packet(0), &mut random));
            if racks[source as usize] == racks[destination as usize] {
                assert_eq!(passed.len(), 1, "hosts of one switch");
            } else {
                assert_eq!(passed.len(), 5, "also within a pod");
                *visits.entry(passed[2]).or_default() += 1;
            }
        }
        assert!(visits.values().all(|n| (60..140).contains(n)), "{visits:?}");
    }
}

#[test]
fn valiant_by_flow_keeps_packets_of_a_flow_together() {
    let graph = jellyfish();
    let routes = Routes::build(&graph, |_| true);
    let scheme = scheme(&graph, RoutingMode::Valiant, &valiant(Per::Flow));
    assert_eq!(graph.farthest_switches().len(), 12, "each has hosts");
    let mut random = stream();
    let mut lengths = BTreeSet::new();
    for (source, destination) in pairs(&graph) {
        let ends = ends(&routes, source, destination);
        let mut flow = scheme.flow(&ends, &mut random);
        let mut next = || walk(&graph, &routes, &scheme, &ends, flow.next(&packet(0), &mut random));
        let passed = next();
        assert!((0..10).all(|_| next() == passed));
        lengths.insert(passed.len() + 1 - usize::from(ends.hops));
    }
    assert!(lengths.len() > 1, "detours of {lengths:?} links");
}

#[test]
fn valiant_goes_straight_where_a_failure_has_cut_off_the_intermediate_switch() {
    let graph = fat_tree(4);
    let core = graph.farthest_switches()[1];
    let alive = |link: u32| {
        let link = &graph.links[link as usize];
        link.a != core && link.b != core
    };
    let mut scheme = scheme(&graph, RoutingMode::Valiant, &valiant(Per::Packet));
    let mut random = stream();
    let routes = Routes::build(&graph, |_| true);
    let ends = ends(&routes, 0, graph.hosts - 1);
    let mut flow = scheme.flow(&ends, &mut random);
    let routes = Routes::build(&graph, alive);
    scheme.install(&graph, &alive);
    for _ in 0..200 {
        let passed = walk(&graph, &routes, &scheme, &ends, flow.next(&packet(0), &mut random));
        assert!(!passed.contains(&core) && passed.len() == 5, "{passed:?}");
    }
}

#[test]
#[should_panic(expected = "switches read path bits in one way")]
fn schemes_with_bits_of_their_own_are_alone() {
    let _ = Schemes::new([RoutingMode::PerPacket, RoutingMode::DModK], &RoutingConfig::default());
}
