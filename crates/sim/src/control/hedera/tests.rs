//! Placements against values by hand.

use super::*;
use crate::fabric::routing::Routes;
use crate::fabric::topology::tests::fabric;
use std::collections::BTreeSet;

const GIGABIT: u64 = 1_000_000_000;

fn room(graph: &Graph) -> impl Fn(PortId) -> u64 {
    |port| graph.links[port as usize / 2].rate.bps()
}

/// Flows of so many bit/s.
fn flows(graph: &Graph, pairs: &[(u32, u32)], rate: u64) -> Vec<Demand> {
    let routes = Routes::build(graph, |_| true);
    let flow = |(session, &(source, destination)): (u32, &(u32, u32))| {
        let paths = routes.all_paths(graph, source, destination, 1000);
        Demand { session, destination, rate, paths }
    };
    (0..).zip(pairs).map(flow).collect()
}

/// The middle node of each chosen path.
fn middles(graph: &Graph, flows: &[Demand], chosen: &[Option<usize>]) -> Vec<String> {
    let middle = |(flow, path): (&Demand, &Option<usize>)| {
        let path = &flow.paths[path.expect("a path")];
        graph.nodes[graph.port_owner(path[path.len() / 2]) as usize].name.clone()
    };
    flows.iter().zip(chosen).map(middle).collect()
}

/// By how much links are overloaded, in bit/s.
fn overload(graph: &Graph, flows: &[Demand], chosen: &[Option<usize>]) -> u64 {
    let mut used = BTreeMap::<PortId, u64>::new();
    for (flow, path) in flows.iter().zip(chosen) {
        flow.paths[path.unwrap_or(0)].iter().for_each(|&port| *used.entry(port).or_default() += flow.rate);
    }
    used.into_iter().map(|(port, used)| used.saturating_sub(room(graph)(port))).sum()
}

/// Two leaves with four hosts each, and two spines.
fn leaves() -> Graph {
    fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4")
}

#[test]
fn first_fit_fills_the_first_path_then_the_next() {
    let graph = leaves();
    let flows = flows(&graph, &[(0, 4), (1, 5), (2, 6), (3, 7)], GIGABIT / 2);
    let mut placer = FirstFit::default();
    let chosen = placer.place(&flows, room(&graph));
    assert_eq!(middles(&graph, &flows, &chosen), ["spine0", "spine0", "spine1", "spine1"]);
    // The second ends: its room is free for a new flow; the others stay.
    let mut next = vec![flows[0].clone(), flows[2].clone(), flows[3].clone(), flows[1].clone()];
    next[3].session = 9;
    let chosen = placer.place(&next, room(&graph));
    assert_eq!(middles(&graph, &next, &chosen), ["spine0", "spine1", "spine1", "spine0"]);
}

#[test]
fn what_fits_nowhere_stays_where_its_hash_has_put_it() {
    let graph = leaves();
    let flows = flows(&graph, &[(0, 4), (1, 5), (2, 6)], 2 * GIGABIT / 3);
    let mut placer = FirstFit::default();
    assert_eq!(placer.place(&flows, room(&graph)), [Some(0), Some(1), None]);
    // It is placed once there is room.
    assert_eq!(placer.place(&flows[1..], room(&graph)), [Some(1), Some(0)]);
}

#[test]
fn a_flow_whose_path_has_failed_is_placed_anew() {
    let graph = leaves();
    let mut flows = flows(&graph, &[(0, 4), (1, 5)], GIGABIT / 4);
    let mut placer = FirstFit::default();
    assert_eq!(placer.place(&flows, room(&graph)), [Some(0), Some(0)]);
    // The second can no longer reach its host by the first spine; the first can, and its only path has the same number.
    flows[1].paths.remove(0);
    let chosen = placer.place(&flows, room(&graph));
    assert_eq!(middles(&graph, &flows, &chosen), ["spine0", "spine1"]);
}

/// Stride 4 of a fat-tree: all hosts of a pod send to the next at full rate. Without overload each core carries one flow of each pod.
#[test]
fn annealing_finds_a_state_without_overload() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let pairs: Vec<(u32, u32)> = (0..16).map(|host| (host, (host + 4) % 16)).collect();
    let flows = flows(&graph, &pairs, GIGABIT);
    let mut placer = Annealing::new(&graph, 1000, 2.0, 1);
    let chosen = placer.place(&graph, &flows, room(&graph));
    assert_eq!(overload(&graph, &flows, &chosen), 0);
    let middles = middles(&graph, &flows, &chosen);
    for pod in middles.chunks(4) {
        assert_eq!(pod.iter().collect::<BTreeSet<_>>().len(), 4, "{middles:?}");
    }
    assert_eq!(placer.place(&graph, &flows, room(&graph)), chosen, "a state without overload is kept");
}

/// Two flows from one rack to hosts whose first cores lie behind the same aggregation switch: 1 Gbps too much, until one of them has another.
#[test]
fn annealing_begins_with_the_last_state_and_repairs_it() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let flows = flows(&graph, &[(0, 4), (1, 9)], GIGABIT);
    let start = |iterations, seed| {
        let mut placer = Annealing::new(&graph, iterations, 0.001, seed);
        let chosen = placer.place(&graph, &flows, room(&graph));
        (overload(&graph, &flows, &chosen), middles(&graph, &flows, &chosen))
    };
    // Hosts 4 and 9 are the first of the first pod and the second of the second: cores 0 and 1, by one aggregation switch.
    let (over, middles) = start(0, 1);
    assert_eq!((over, middles), (GIGABIT, vec!["core0".to_owned(), "core1".to_owned()]));
    for seed in 0..10 {
        let (over, middles) = start(100, seed);
        assert_eq!(over, 0, "{middles:?}");
        assert_eq!(start(100, seed), (over, middles), "the same seed, the same state");
    }
}

/// Within a pod flows go by the aggregation switch of their destination's core.
#[test]
fn flows_within_a_pod_follow_their_destinations_core() {
    let graph = fabric("topology = 'fat-tree'\nk = 4");
    let flows = flows(&graph, &[(0, 2), (1, 3)], GIGABIT);
    let mut placer = Annealing::new(&graph, 100, 0.001, 1);
    let chosen = placer.place(&graph, &flows, room(&graph));
    // Hosts 2 and 3 begin with cores 2 and 3, both behind the second aggregation switch.
    assert_eq!(overload(&graph, &flows, &chosen), 0);
    assert_eq!(middles(&graph, &flows, &chosen).iter().collect::<BTreeSet<_>>().len(), 2);
}

/// More spines than hosts in a rack: all are used.
#[test]
fn annealing_uses_spare_cores() {
    let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
    let flows = flows(&graph, &[(0, 2), (1, 2), (0, 3), (1, 3)], GIGABIT / 2);
    let mut placer = Annealing::new(&graph, 100, 0.001, 1);
    let chosen = placer.place(&graph, &flows, room(&graph));
    assert_eq!(overload(&graph, &flows, &chosen), 0);
    // A slow spine is avoided.
    let slow = |port: PortId| {
        let names = [graph.port_owner(port), graph.port_peer(port)].map(|n| graph.nodes[n as usize].name.as_str());
        if names.contains(&"spine0") { GIGABIT / 10 } else { GIGABIT }
    };
    let chosen = placer.place(&graph, &flows, slow);
    assert!(!middles(&graph, &flows, &chosen).contains(&"spine0".to_owned()));
}

#[test]
fn impossible_settings_are_refused() {
    let faults = |config: Hedera| config.check().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(faults(Hedera::default()), [""; 0]);
    let all = Hedera { threshold: 1.0, iterations: 0, temperature: -1.0, ..Hedera::default() };
    let said = [
        "threshold: must be above 0 and below 1, not 1",
        "iterations: must be at least 1",
        "temperature: must be above 0, not -1",
    ];
    assert_eq!(faults(all), said);
}
