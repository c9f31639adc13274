//! Draws in proportion, and failures.

use super::*;
use crate::fabric::routing::{Departing, FlowPath as _, Routes};
use crate::fabric::topology::tests::fabric;
use crate::random;

fn graph() -> Graph {
    fabric("topology = 'fat-tree'\nk = 4")
}

/// From host 0 to host 15 by core0 with weight 3, by core1 with weight 1 and by core2 never.
fn scheme(graph: &Graph) -> WeightedPaths {
    let node = |name: &str| graph.nodes.iter().position(|n| n.name == name).expect("there is one") as NodeId;
    let path = |core: u32, aggregation: u32, weight| {
        let names = ["h0", "edge0.0", "agg0.", "core", "agg3.", "edge3.1", "h15"];
        let numbers =
            [String::new(), String::new(), aggregation.to_string(), core.to_string(), aggregation.to_string()];
        let full = |(i, name): (usize, &&str)| node(&format!("{name}{}", numbers.get(i).map_or("", String::as_str)));
        WeightedPath { nodes: names.iter().enumerate().map(full).collect(), weight }
    };
    let paths = vec![path(0, 0, 3.0), path(1, 0, 1.0), path(2, 1, 0.0)];
    WeightedPaths { file: "paths.csv".into(), paths: Arc::new(paths), map: None }
}

/// The core switch that a packet of this flow passes.
fn core_of(graph: &Graph, scheme: &WeightedPaths, routes: &Routes, mut bits: u32) -> String {
    let mut node = graph.port_peer(routes.ways(0, 15)[0]);
    let mut core = String::new();
    for _ in 0..10 {
        let name = &graph.nodes[node as usize].name;
        if name.starts_with("core") {
            core.clone_from(name);
        }
        if node == 15 {
            return core;
        }
        node = graph.port_peer(scheme.egress(&Hop { routes, node, destination: 15 }, &mut bits).expect("a way"));
    }
    panic!("lost");
}

fn drawn(graph: &Graph, scheme: &WeightedPaths, routes: &Routes, subflows: u8, flows: u32) -> BTreeMap<String, u32> {
    let (mut random, mut cores) = (random::stream(1, "test"), BTreeMap::new());
    let ends = Ends { source: 0, destination: 15, paths: 4, hops: 6 };
    for _ in 0..flows {
        for mut flow in scheme.flows(&ends, subflows, &mut random) {
            let bits = flow.next(&Departing { now: 0, size: 1500, destination: 15 }, &mut random);
            *cores.entry(core_of(graph, scheme, routes, bits)).or_default() += 1;
        }
    }
    cores
}

#[test]
fn flows_draw_paths_by_their_weights_and_subflows_share_them() {
    let graph = graph();
    let mut scheme = scheme(&graph);
    let routes = Routes::build(&graph, |_| true);
    scheme.install(&graph, &|_| true);
    let one = drawn(&graph, &scheme, &routes, 1, 4000);
    // 3000 of 4000, standard deviation 27.
    assert!(one.len() == 2 && one["core0"].abs_diff(3000) < 120, "{one:?}");
    let four = drawn(&graph, &scheme, &routes, 4, 10);
    assert_eq!(four, BTreeMap::from([("core0".into(), 30), ("core1".into(), 10)]), "exactly");
    let mut random = random::stream(1, "test");
    let ends = Ends { source: 3, destination: 9, paths: 4, hops: 6 };
    let mut other = scheme.flow(&ends, &mut random);
    let bits = other.next(&Departing { now: 0, size: 1500, destination: 9 }, &mut random);
    assert_eq!(bits & 1, 0, "a pair that is not named has no vector");
}

#[test]
fn paths_that_fail_leave_their_share_to_the_others() {
    let graph = graph();
    let mut scheme = scheme(&graph);
    let dead = |names: &[&str]| {
        let links: Vec<u32> = names.iter().map(|name| graph.port_named(name).expect("a port") / 2).collect();
        move |link: u32| !links.contains(&link)
    };
    let one = dead(&["core0-agg3.0"]);
    scheme.install(&graph, &one);
    let rest = drawn(&graph, &scheme, &Routes::build(&graph, &one), 1, 50);
    assert_eq!(rest, BTreeMap::from([("core1".into(), 50)]));
    let both = dead(&["core0-agg3.0", "core1-agg3.0"]);
    scheme.install(&graph, &both);
    let rest = drawn(&graph, &scheme, &Routes::build(&graph, &both), 1, 200);
    assert!(rest.keys().eq(["core2", "core3"]), "ECMP over what is left: {rest:?}");
}
