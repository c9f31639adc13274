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

/// Song Theorem 3.1: all traffic between pods passes the leftmost core switch.
#[test]
fn all_traffic_between_pods_passes_the_leftmost_core_switch() {
    for graph in [tree(4, 3), tree(8, 3), tree(4, 4), fat_tree(6)] {
        let routes = Routes::build(&graph, |_| true);
        let scheme = scheme(&graph, RoutingMode::Leftmost, &RoutingConfig::default());
        let core = graph.farthest_switches()[0];
        let pod = |host: u32| graph.nodes[host as usize].pod;
        for (source, destination) in pairs(&graph) {
            let ends = ends(&routes, source, destination);
            let bits = scheme.flow(&ends, &mut stream()).next(&packet(0), &mut stream());
            let passed = walk(&graph, &routes, &scheme, &ends, bits);
            assert_eq!(passed.len() + 1, usize::from(ends.hops), "a shortest path");
            assert_eq!(passed.contains(&core), pod(source) != pod(destination), "{source} to {destination}");
        }
    }
}

/// Song §2.3.2: under s-mod-k, loads of 8, 4, 2 and 10 from nodes 000, 001, 010 and 011 load the upward ports of the edge
/// switches with 8, 4, 2 and 10, those of the aggregation switches with 8, 2, 4 and 10.
#[test]
fn s_mod_k_loads_ports_as_song_says() {
    let graph = tree(4, 3);
    let scheme = scheme(&graph, RoutingMode::SModK, &RoutingConfig::default());
    let up = loads_upward(&graph, &scheme, 1, 4..16);
    let of = |edge| song_ports(&graph, edge).map(|port| up[&port] / 12.0);
    assert_eq!((of(true), of(false)), ([8.0, 4.0, 2.0, 10.0], [8.0, 2.0, 4.0, 10.0]));
}

fn virtual_tables(graph: &Graph, tables: u16) -> Routing {
    let config = RoutingConfig {
        virtual_tables: VirtualTables { tables, ..VirtualTables::default() },
        ..RoutingConfig::default()
    };
    scheme(graph, RoutingMode::VirtualTables, &config)
}

/// Song §2.3.2: half of loads of 8, 4, 2 and 10 by either table is 6 on each upward port of switches <00,2>, <01,2>, <00,1> and
/// <01,1>.
#[test]
fn two_tables_balance_the_loads_of_song() {
    let graph = tree(4, 3);
    let up = loads_upward(&graph, &virtual_tables(&graph, 2), 2, 4..16);
    let of = |edge| song_ports(&graph, edge).map(|port| up[&port] / 12.0);
    assert_eq!((of(true), of(false)), ([6.0; 4], [6.0; 4]));
}

/// Up to m/2 tables are disjoint between the two edge switches; (m/2)^(n-1) are all paths between pods, each once.
#[test]
fn virtual_tables_are_disjoint_where_they_can_be() {
    for (m, n) in [(4, 3), (8, 3), (6, 3), (4, 4)] {
        let (graph, half) = (tree(m, n), m / 2);
        let routes = Routes::build(&graph, |_| true);
        for (source, destination) in [(0, graph.hosts - 1), (half, graph.hosts / 2), (1, graph.hosts / 3 * 2)] {
            let ends = ends(&routes, source, destination);
            let paths = |tables: u32| {
                let scheme = virtual_tables(&graph, tables as u16);
                let flows = scheme.flows(&ends, tables as u8, &mut stream());
                let bits = flows.into_iter().map(|mut flow| flow.next(&packet(0), &mut stream()));
                bits.map(|bits| walk(&graph, &routes, &scheme, &ends, bits)).collect::<Vec<_>>()
            };
            let all = paths(ends.paths);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), half.pow(n - 1) as usize, "each once");
            let few = paths(half);
            for level in 1..few[0].len() - 1 {
                let switches: BTreeSet<NodeId> = few.iter().map(|path| path[level]).collect();
                assert_eq!(switches.len() as u32, half, "FT({m}, {n}), level {level}");
            }
        }
    }
}

/// Each table alone leads equally many hosts by each port up and by each core switch.
#[test]
fn each_virtual_table_is_balanced() {
    for (m, n) in [(4, 3), (8, 3), (6, 3)] {
        let graph = tree(m, n);
        let (routes, half, racks) = (Routes::build(&graph, |_| true), m / 2, graph.racks());
        for table in 0..half * half {
            let scheme = virtual_tables(&graph, (half * half) as u16);
            let mut used: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
            let mut cores: BTreeMap<NodeId, u32> = BTreeMap::new();
            for source in 0..graph.hosts {
                let ends = ends(&routes, source, (source + graph.hosts / 2) % graph.hosts);
                // The subflow of this host that takes this table.
                let subflow = (table + half * half - source % (half * half)) % (half * half);
                let mut flows = scheme.flows(&ends, (half * half) as u8, &mut stream());
                let bits = flows[subflow as usize].next(&packet(0), &mut stream());
                let passed = walk(&graph, &routes, &scheme, &ends, bits);
                *used.entry((passed[1], passed[2])).or_default() += 1;
                *cores.entry(passed[2]).or_default() += 1;
                assert_eq!(passed[0], racks[source as usize]);
            }
            assert_eq!(cores.len() as u32, half * half, "FT({m}, {n}), table {table}");
            assert!(cores.values().all(|&hosts| hosts == graph.hosts / (half * half)), "{cores:?}");
        }
    }
}

#[test]
fn virtual_tables_are_static_routes_on_irregular_fabrics() {
    let graph = jellyfish();
    let routes = Routes::build(&graph, |_| true);
    let scheme = virtual_tables(&graph, 3);
    for (source, destination) in pairs(&graph) {
        let ends = ends(&routes, source, destination);
        for bits in 0..3 {
            assert_eq!(walk(&graph, &routes, &scheme, &ends, bits << 16).len() + 1, usize::from(ends.hops));
        }
    }
}

/// The most loaded core switch of FT(4, 3) when each node sends a unit to the node four further on, Stride(4): the worst traffic
/// matrix for the schemes of Song §5.2 (Theorem 5.5). Mean and most over many draws, and how many are above 8.
fn stride_4(config: &RoutingConfig, mode: RoutingMode, subflows: u8, packets: u32) -> (f64, f64, f64) {
    let graph = tree(4, 3);
    let routes = Routes::build(&graph, |_| true);
    let scheme = scheme(&graph, mode, config);
    let cores = graph.farthest_switches();
    let (draws, mut sum, mut most, mut above) = (2000, 0.0, 0.0_f64, 0.0);
    for draw in 0..draws {
        let mut random = random::substream(5, "test", draw);
        let mut load: BTreeMap<NodeId, f64> = BTreeMap::new();
        for source in 0..graph.hosts {
            let ends = ends(&routes, source, (source + 4) % graph.hosts);
            for mut flow in scheme.flows(&ends, subflows, &mut random) {
                for n in 0..packets {
                    // A second between packets: each is a flowlet.
                    let bits = flow.next(&to(ends.destination, u64::from(n) * 1_000_000_000_000), &mut random);
                    let passed = walk(&graph, &routes, &scheme, &ends, bits);
                    let core = passed.iter().find(|n| cores.contains(n)).expect("to another pod");
                    *load.entry(*core).or_default() += 1.0 / f64::from(packets) / f64::from(subflows);
                }
            }
        }
        let worst = load.values().copied().fold(0.0, f64::max);
        assert!((load.values().sum::<f64>() - 16.0).abs() < 1e-6);
        (sum, most, above) = (sum + worst, most.max(worst), above + f64::from(u8::from(worst > 8.001)));
    }
    (sum / draws as f64, most, above / draws as f64)
}

/// Song Theorem 5.5 with m = 4, n = 3: 16 under Normal Routing, 4 over all paths. For Dynamic Nix-Vector Routing it says 8, by paths
/// that are assigned so (Theorem 3.2); paths that are drawn exceed it now and then.
#[test]
fn core_switches_of_the_worst_matrix_of_song() {
    use RoutingMode as M;
    let config = RoutingConfig::default();
    let by = |mode, subflows| stride_4(&config, mode, subflows, 1);
    let exactly = |mode, subflows, load: f64| {
        let found = by(mode, subflows);
        assert!((found.0 - load).abs() < 1e-9 && (found.1 - load).abs() < 1e-9, "{mode:?} {subflows}: {found:?}");
    };
    exactly(M::Leftmost, 1, 16.0);
    exactly(M::DModK, 1, 4.0);
    exactly(M::SModK, 1, 4.0);
    exactly(M::VirtualTables, 1, 4.0);
    exactly(M::VirtualTables, 2, 4.0);
    exactly(M::NixVector, 4, 4.0);
    for (mode, subflows) in
        [(M::NixVector, 1), (M::NixVector, 2), (M::PerFlow, 1), (M::PerFlow, 2), (M::PerFlow, 4), (M::Single, 1)]
    {
        println!("{mode:?}, {subflows} subflows: {:?}", by(mode, subflows));
    }
    for mode in [M::PerPacket, M::PerPacketPermuted, M::Flowlet, M::Valiant] {
        println!("{mode:?}, 1000 packets: {:?}", stride_4(&config, mode, 1, if mode == M::Valiant { 1 } else { 100 }));
    }
    let (mean, most, above) = by(M::NixVector, 1);
    assert!((6.0..7.2).contains(&mean) && most > 8.0 && (0.01..0.2).contains(&above), "{mean} {most} {above}");
    // Two of four paths without replacement are more even than two drawn one by one.
    assert!(by(M::NixVector, 2).0 < by(M::PerFlow, 2).0);
}

fn tree(m: u32, n: u32) -> Graph {
    fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"))
}

/// What the ports of an FT(4, 3) carry when nodes 000, 001, 010 and 011 send 8, 4, 2 and 10 to each of `to`, over so many
/// subflows alike.
fn loads_upward(graph: &Graph, scheme: &Routing, subflows: u8, to: std::ops::Range<u32>) -> BTreeMap<PortId, f64> {
    let routes = Routes::build(graph, |_| true);
    let mut loads = BTreeMap::new();
    for (source, load) in (0..).zip([8.0, 4.0, 2.0, 10.0]) {
        for destination in to.clone() {
            let ends = ends(&routes, source, destination);
            for mut flow in scheme.flows(&ends, subflows, &mut stream()) {
                let bits = flow.next(&self::to(destination, 0), &mut stream());
                let passed = walk(graph, &routes, scheme, &ends, bits);
                for pair in passed.windows(2) {
                    let port =
                        (0..graph.ports()).find(|&p| (graph.port_owner(p), graph.port_peer(p)) == (pair[0], pair[1]));
                    *loads.entry(port.expect("they are joined")).or_default() += load / f64::from(subflows);
                }
            }
        }
    }
    loads
}

/// The upward ports of switches <00,2> and <01,2>, or of <00,1> and <01,1>, from left to right.
fn song_ports(graph: &Graph, edge: bool) -> [PortId; 4] {
    let names = if edge { ["edge0.0@2", "edge0.1@2"] } else { ["agg0.0@1", "agg0.1@1"] };
    let above = |port: &PortId| {
        let ends = [graph.port_owner(*port), graph.port_peer(*port)].map(|n| graph.nodes[n as usize].level);
        ends[1] > ends[0]
    };
    let own = |name: &str| {
        let node = graph.nodes.iter().position(|n| n.name == name).expect("there is such a switch");
        graph.ports_by_node()[node].iter().copied().filter(above).collect::<Vec<_>>()
    };
    names.map(own).concat().try_into().expect("two upward ports each")
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
