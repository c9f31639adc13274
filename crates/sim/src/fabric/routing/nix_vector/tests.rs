//! Vectors are shortest paths on any fabric; what is drawn how often; failures.

use super::paths::{Paths, search};
use super::*;
use crate::fabric::graph::{Level, NodeId};
use crate::fabric::routing::{Departing, FlowPath as _, Routing, RoutingConfig, RoutingMode};
use crate::fabric::topology::tests::fabric;
use crate::random;
use anabranch_transport::{Duration, Rate};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn installed(graph: &Graph, choice: Choice, alive: &dyn Fn(u32) -> bool) -> Routing {
    let nix_vector = DynamicNixVector { choice, ..DynamicNixVector::default() };
    let config = RoutingConfig { nix_vector, ..RoutingConfig::default() };
    let mut scheme = Routing::new(RoutingMode::NixVector, &config);
    scheme.install(graph, alive);
    scheme
}

fn ends(routes: &Routes, source: u32, destination: u32) -> Ends {
    let (paths, hops) = (routes.path_count(source, destination), routes.hop_count(source, destination));
    Ends { source, destination, paths, hops }
}

fn to(destination: u32) -> Departing {
    Departing { now: 0, size: 1500, destination }
}

/// The ports by which a packet goes.
fn walk(graph: &Graph, routes: &Routes, scheme: &Routing, ends: &Ends, mut bits: u32) -> Vec<PortId> {
    let (mut node, mut ports) = (ends.source, Vec::new());
    while node != ends.destination {
        assert!(ports.len() < 100, "{ports:?}");
        let hop = Hop { routes, node, destination: ends.destination };
        let port = if graph.is_host(node) && !graph.multi_homed() {
            routes.ways(node, ends.destination)[0]
        } else {
            scheme.egress(&hop, &mut bits).expect("there is a way")
        };
        ports.push(port);
        node = graph.port_peer(port);
    }
    ports
}

/// A connected fabric of so many switches: a tree, and further links (some of them parallel), with hosts at random switches.
fn random_graph(switches: u32, hosts: &[u32], parents: &[u32], extra: &[(u32, u32)]) -> Graph {
    let mut graph = Graph::with_hosts(hosts.len() as u32, |_| None);
    let first = hosts.len() as NodeId;
    for s in 0..switches {
        graph.add_switch(format!("s{s}"), Level::Edge, None);
    }
    let (rate, delay) = (Rate::from_gbps(1), Duration::from_us(1));
    for (host, at) in (0..).zip(hosts) {
        graph.connect(host, first + at % switches, rate, delay);
    }
    for s in 1..switches {
        graph.connect(first + s, first + parents[s as usize] % s, rate, delay);
    }
    for (a, b) in extra.iter().map(|(a, b)| (a % switches, b % switches)).filter(|(a, b)| a != b) {
        graph.connect(first + a, first + b, rate, delay);
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// On any fabric, by either choice and for any number of subflows, a vector is a shortest path to its destination, and
    /// subflows share none while there are others.
    #[test]
    fn every_vector_is_a_shortest_path(
        switches in 1..9_u32,
        hosts in prop::collection::vec(any::<u32>(), 2..7),
        parents in prop::collection::vec(any::<u32>(), 9),
        extra in prop::collection::vec((any::<u32>(), any::<u32>()), 0..10),
        choice in prop::sample::select(vec![Choice::Bfs, Choice::Uniform]),
        subflows in 1..12_u8,
        seed in any::<u64>(),
    ) {
        let graph = random_graph(switches, &hosts, &parents, &extra);
        let routes = Routes::build(&graph, |_| true);
        let scheme = installed(&graph, choice, &|_| true);
        let mut random = random::stream(seed, "test");
        for (source, destination) in (0..graph.hosts).flat_map(|a| (0..graph.hosts).map(move |b| (a, b))) {
            if source == destination {
                continue;
            }
            let ends = ends(&routes, source, destination);
            let mut used: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
            let flows = scheme.flows(&ends, subflows, &mut random);
            prop_assert_eq!(flows.len(), usize::from(subflows));
            for mut flow in flows {
                let bits = flow.next(&to(destination), &mut random);
                prop_assert_eq!(bits & 1, 1, "a vector");
                let path = walk(&graph, &routes, &scheme, &ends, bits);
                prop_assert_eq!(path.len(), usize::from(ends.hops));
                *used.entry(path).or_default() += 1;
            }
            prop_assert_eq!(used.len() as u32, ends.paths.min(u32::from(subflows)));
            let (least, most) = (used.values().min().unwrap(), used.values().max().unwrap());
            prop_assert!(most - least <= 1, "{used:?}");
        }
    }
}

#[test]
fn vectors_of_fabrics_whose_hosts_relay_are_shortest_paths() {
    for toml in ["topology = 'bcube'\nn = 3\nk = 2", "topology = 'dcell'\nn = 3\nk = 2"] {
        let graph = fabric(toml);
        let routes = Routes::build(&graph, |_| true);
        let scheme = installed(&graph, Choice::Bfs, &|_| true);
        let mut random = random::stream(1, "test");
        for (source, destination) in (0..graph.hosts).zip((0..graph.hosts).rev()).filter(|(a, b)| a != b) {
            let ends = ends(&routes, source, destination);
            let bits = scheme.flow(&ends, &mut random).next(&to(destination), &mut random);
            assert_eq!(bits & 1, 1, "a vector");
            assert_eq!(walk(&graph, &routes, &scheme, &ends, bits).len(), usize::from(ends.hops));
        }
    }
}

/// The hub of a session with several ends builds a vector for each when it first sends to it.
#[test]
fn a_hub_keeps_a_vector_for_each_of_its_ends() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let routes = Routes::build(&graph, |_| true);
    let scheme = installed(&graph, Choice::Bfs, &|_| true);
    let mut random = random::stream(1, "test");
    let mut hub = scheme.flow(&ends(&routes, 0, 1), &mut random);
    for destination in [8, 1, 12, 9] {
        let bits = hub.next(&to(destination), &mut random);
        let ends = ends(&routes, 0, destination);
        assert_eq!(walk(&graph, &routes, &scheme, &ends, bits).len(), usize::from(ends.hops));
        assert_eq!(hub.next(&to(destination), &mut random), bits);
    }
}

/// How often each of the paths between two hosts is drawn, by number of the path.
fn drawn(
    graph: &Graph,
    source: u32,
    destination: u32,
    draws: u32,
    by: impl Fn(&mut random::Stream) -> Vec<PortId>,
) -> Vec<u32> {
    let (routes, interfaces) = (Routes::build(graph, |_| true), Interfaces::new(graph, &|_| true));
    let paths = Paths::new(&routes, &interfaces, source, destination);
    let mut counts = vec![0; paths.count() as usize];
    let mut random = random::stream(7, "test");
    for _ in 0..draws {
        counts[paths.rank(&by(&mut random)) as usize] += 1;
    }
    counts
}

/// The search of Song Fig. 2.1b as it is printed, over the whole fabric.
fn printed_search(graph: &Graph, source: u32, destination: u32, random: &mut random::Stream) -> Vec<PortId> {
    let ports = graph.ports_by_node();
    let mut marked = vec![false; graph.nodes.len()];
    let mut reached_by = vec![PortId::MAX; graph.nodes.len()];
    let mut list = std::collections::VecDeque::from([source]);
    marked[source as usize] = true;
    while let Some(v) = list.pop_front() {
        let mut p: Vec<PortId> =
            ports[v as usize].iter().copied().filter(|&port| !marked[graph.port_peer(port) as usize]).collect();
        crate::fabric::routing::permuted::shuffle(&mut p, random);
        for port in p {
            let w = graph.port_peer(port);
            if !std::mem::replace(&mut marked[w as usize], true) {
                list.push_back(w);
                reached_by[w as usize] = port;
            }
        }
    }
    let (mut node, mut path) = (destination, Vec::new());
    while node != source {
        path.push(reached_by[node as usize]);
        node = graph.port_owner(reached_by[node as usize]);
    }
    path.reverse();
    path
}

fn by_search(graph: &Graph, a: u32, b: u32) -> impl Fn(&mut random::Stream) -> Vec<PortId> + use<> {
    let (routes, interfaces) = (Routes::build(graph, |_| true), Interfaces::new(graph, &|_| true));
    move |random| search(&routes, &interfaces, a, b, random).expect("there is a way")
}

/// Pearson's statistic against equal shares, in standard deviations from what equal shares give.
fn unevenness(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    let sum: f64 = counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
    let freedom = (counts.len() as f64 - 1.0).max(1.0);
    (sum - freedom) / (2.0 * freedom).sqrt()
}

/// Whatever exchanges two of its core switches, or two aggregation switches of every pod, leaves a fat-tree as it is: the search
/// cannot prefer a path.
#[test]
fn the_search_is_uniform_on_fat_trees() {
    for (toml, far) in [("k = 4", 15), ("k = 6", 53), ("k = 8", 127)] {
        let graph = fabric(&format!("topology = 'fat-tree'\n{toml}"));
        for destination in [2, graph.hosts / 2, far] {
            let counts = drawn(&graph, 0, destination, 64_000, by_search(&graph, 0, destination));
            let uneven = unevenness(&counts);
            assert!(uneven < 4.0, "{toml}, to {destination}: {uneven}, {counts:?}");
        }
    }
}

/// On a Jellyfish it is not: the share of a path depends on how many others branch off it. What is drawn from the shortest paths
/// alone has the same shares as the search over the whole fabric.
#[test]
fn the_search_prefers_some_paths_on_irregular_fabrics() {
    let graph = fabric("topology = 'jellyfish'\nswitches = 20\nports = 6\nhosts_per_switch = 2\nseed = 5");
    let (mut worst, mut ratio) = (0.0_f64, 1.0_f64);
    let draws = 6_000;
    for destination in (2..graph.hosts).step_by(2) {
        let counts = drawn(&graph, 0, destination, draws, by_search(&graph, 0, destination));
        let whole = drawn(&graph, 0, destination, draws, |random| printed_search(&graph, 0, destination, random));
        for (a, b) in counts.iter().zip(&whole) {
            // Standard deviation of the difference: below sqrt(draws / 2).
            assert!(f64::from(a.abs_diff(*b)) < 5.0 * f64::from(draws / 2).sqrt(), "{counts:?} {whole:?}");
        }
        if counts.len() > 1 {
            worst = worst.max(unevenness(&counts));
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            ratio = ratio.max(f64::from(*most) / f64::from(*least));
        }
        let (routes, interfaces) = (Routes::build(&graph, |_| true), Interfaces::new(&graph, &|_| true));
        let paths = Paths::new(&routes, &interfaces, 0, destination);
        let uniform = drawn(&graph, 0, destination, draws, |random| paths.draw(1, Choice::Uniform, random).remove(0));
        assert!(unevenness(&uniform) < 5.0, "{uniform:?}");
    }
    println!("most over least frequent path of a pair: {ratio:.2}; chi-square {worst:.0} standard deviations off");
    assert!(worst > 50.0 && ratio > 1.8, "{worst} {ratio}");
}

/// A packet on its way when a link fails: the switch before it sends it by another shortest path, without its vector. Hosts build
/// vectors that avoid the link.
#[test]
fn a_switch_repairs_a_vector_whose_link_has_failed() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let routes = Routes::build(&graph, |_| true);
    let scheme = installed(&graph, Choice::Bfs, &|_| true);
    let mut random = random::stream(1, "test");
    let before = ends(&routes, 0, 15);
    let bits = scheme.flow(&before, &mut random).next(&to(15), &mut random);
    let path = walk(&graph, &routes, &scheme, &before, bits);
    for broken in 1..5 {
        let dead = path[broken] / 2;
        let alive = |link: u32| link != dead;
        let (routes, scheme) = (Routes::build(&graph, alive), installed(&graph, Choice::Bfs, &alive));
        let repaired = walk(&graph, &routes, &scheme, &before, bits);
        assert_eq!(repaired[..broken], path[..broken], "as far as the vector leads");
        assert!(repaired.iter().all(|port| port / 2 != dead));
        // From the core on there is no other way down: up and down again.
        assert_eq!(repaired.len(), if broken < 3 { 6 } else { 8 }, "{broken}");
        let after = ends(&routes, 0, 15);
        for _ in 0..40 {
            let bits = scheme.flow(&after, &mut random).next(&to(15), &mut random);
            let path = walk(&graph, &routes, &scheme, &after, bits);
            assert!(bits & 1 == 1 && path.len() == 6 && path.iter().all(|port| port / 2 != dead));
        }
    }
}

/// As many as there are paths, each once; twice as many, each twice; fewer, all different.
#[test]
fn subflows_draw_without_replacement() {
    let graph = fabric("topology = 'fat-tree'\nk = 8");
    let routes = Routes::build(&graph, |_| true);
    let scheme = installed(&graph, Choice::Bfs, &|_| true);
    let ends = ends(&routes, 0, 127);
    let mut random = random::stream(3, "test");
    for (subflows, distinct, times) in [(16_u8, 16, 1), (32, 16, 2), (4, 4, 1), (1, 1, 1)] {
        let mut used: BTreeMap<u32, u32> = BTreeMap::new();
        for mut flow in scheme.flows(&ends, subflows, &mut random) {
            *used.entry(flow.next(&to(127), &mut random)).or_default() += 1;
        }
        assert_eq!(used.len(), distinct);
        assert!(used.values().all(|&n| n == times), "{used:?}");
    }
}
