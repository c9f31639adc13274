//! Switches that balance load themselves: what their papers report of them, on small fabrics, with several seeds each.

use crate::common::*;
use anabranch_sim::fabric::graph::{Graph, Level};
use anabranch_sim::fabric::routing::RoutingConfig;
use anabranch_sim::fabric::routing::RoutingMode::{self, Conga, Drill, Letflow, PerFlow, PerPacket, Spain};
use anabranch_sim::fabric::topology::{Layers, LeafSpine, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{LinkRow, RunRecord};
use anabranch_sim::network::{Division, Scheduling, Setup};
use anabranch_sim::random;
use anabranch_sim::workload::Session;
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::udp::UdpConfig;
use anabranch_transport::{Duration, Rate, Time};
use rand::RngExt as _;
use std::path::Path;

const SEEDS: [u64; 4] = [1, 2, 3, 4];

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Graph {
    let layers = Layers::default();
    let config = LeafSpine { leaves, spines, hosts_per_leaf, oversubscription: None, rate: GBPS, delay: DELAY, layers };
    TopologyConfig::LeafSpine(config).build(Path::new("")).expect("the fabric is possible")
}

/// Transfers of so many bytes that each host sends to hosts of other racks, beginning at random times, at a mean load.
fn traffic(graph: &Graph, bytes: u64, each: u32, load: f64, seed: u64) -> Vec<Session> {
    let mut random = random::stream(seed, "transfers");
    let racks = graph.racks();
    let mean = GBPS.transmit_time(bytes).ps() as f64 / load;
    let mut sessions = Vec::new();
    for from in 0..graph.hosts {
        let mut start = 0.0;
        for _ in 0..each {
            start -= mean * (1.0 - random.random::<f64>()).ln();
            let to = loop {
                let to = random.random_range(0..graph.hosts);
                if racks[to as usize] != racks[from as usize] {
                    break to;
                }
            };
            sessions.push(Session { start: Time(start as u64), ..unicast(from, to, bytes) });
        }
    }
    sessions
}

/// From leaves to spines.
fn uplinks(record: &RunRecord) -> impl Iterator<Item = &LinkRow> {
    record.links.iter().filter(|link| link.src.starts_with("leaf") && link.dst.starts_with("spine"))
}

/// Mean of a few values.
fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean completion time of all flows, in microseconds.
fn mean_fct(record: &RunRecord) -> f64 {
    mean((0..record.flows.len()).map(|flow| fct(record, flow).as_secs_f64() * 1e6))
}

/// What DRILL is for: with two choices and one remembered, queues of uplinks are shorter than with random ports, the longest, too; flows on one path
/// each are worst.
#[test]
fn drill_keeps_queues_shorter_than_random_ports_and_those_than_one_path() {
    for seed in SEEDS {
        let [drill, random, ecmp] = [Drill, PerPacket, PerFlow].map(|mode| {
            let graph = leaf_spine(4, 4, 4);
            let sessions = traffic(&graph, 60_000, 40, 0.8, seed);
            let unlimited = drop_tail(u32::MAX);
            let protocol = Protocol::Udp(UdpConfig::default());
            let record = complete(Setup { seed, ..setup(graph, unlimited, protocol, mode, sessions) });
            let longest = uplinks(&record).map(|link| link.queue_max_packets).max().unwrap_or(0);
            (longest, mean(uplinks(&record).map(|link| link.queue_mean_bytes)))
        });
        assert!(2 * drill.0 < random.0 && random.0 < ecmp.0, "{seed}: {drill:?} {random:?} {ecmp:?}");
        assert!(2.0 * drill.1 < random.1 && random.1 < ecmp.1, "{seed}: {drill:?} {random:?} {ecmp:?}");
    }
}

/// At a load of 80 % flows take less time than on one path each, as DRILL's evaluation has it, and less than on random paths.
#[test]
fn flows_are_faster_by_drill_than_on_one_path() {
    for seed in SEEDS {
        let [drill, random, ecmp] = [Drill, PerPacket, PerFlow].map(|mode| {
            let graph = leaf_spine(4, 4, 4);
            let sessions = traffic(&graph, 60_000, 40, 0.8, seed);
            let record = complete(Setup { seed, ..setup(graph, trim(8), ndp(12), mode, sessions) });
            mean_fct(&record)
        });
        assert!(drill < random && 1.2 * drill < ecmp, "{seed}: {drill} {random} {ecmp}");
    }
}

/// Two leaves with eight hosts and four spines, of which one has a link of a quarter of the rate down to the second leaf.
fn asymmetric() -> Graph {
    let mut graph = leaf_spine(2, 4, 8);
    let name = |node: u32, graph: &Graph| graph.nodes[node as usize].name.clone();
    for link in 0..graph.links.len() {
        let ends = [graph.links[link].a, graph.links[link].b].map(|node| name(node, &graph));
        let between = ends.iter().any(|end| end.starts_with("spine"));
        let slow = ends.contains(&"spine3".to_owned()) && ends.contains(&"leaf1".to_owned());
        if between {
            graph.links[link].rate = Rate(GBPS.bps() * if slow { 1 } else { 4 } / 2);
        }
    }
    graph
}

/// TCP flows between two leaves with a slow link: their mean completion time.
fn on_asymmetric(mode: RoutingMode, routing: RoutingConfig, seed: u64) -> f64 {
    let graph = asymmetric();
    let sessions = traffic(&graph, 500_000, 30, 0.6, seed);
    let dctcp = TcpConfig { rto_min: ms(5), congestion: Algorithm::Dctcp, ecn: true, ..TcpConfig::default() };
    let base = setup(graph, ecn(250, 20), Protocol::Tcp(dctcp), mode, sessions);
    mean_fct(&complete(Setup { seed, routing, ..base }))
}

/// The order of CONGA's and `LetFlow`'s evaluations with a failed or slow link: ECMP, which sends as much there as elsewhere, is far worse than
/// both, and `LetFlow` comes within a fifth of CONGA.
#[test]
fn with_a_slow_link_conga_is_best_letflow_is_near_and_ecmp_is_far() {
    for seed in SEEDS {
        let [conga, letflow, ecmp] = [Conga, Letflow, PerFlow].map(|mode| on_asymmetric(mode, trees(1), seed));
        let order = conga < letflow && letflow < 1.2 * conga && 2.0 * letflow < ecmp;
        assert!(order, "{seed}: {conga} {letflow} {ecmp}");
    }
}

/// CONGA §2: a leaf that looks at its own uplinks alone sends too much to a slow link behind them, as senders that slow down leave its uplink free.
#[test]
fn what_the_other_leaf_tells_makes_conga_faster() {
    for seed in SEEDS {
        let mut alone = trees(1);
        // What the other leaf has told is old at once.
        alone.conga.metric_age = Duration::ZERO;
        let [both, alone] = [trees(1), alone].map(|routing| on_asymmetric(Conga, routing, seed));
        assert!(2.0 * both < alone, "{seed}: {both} {alone}");
    }
}

/// What a mode does is the same event by event, in windows, and in parts either way.
fn is_the_same_however_it_is_run(mode: RoutingMode) {
    let world = || {
        let graph = leaf_spine(4, 3, 4);
        let sessions = traffic(&graph, 100_000, 6, 0.7, 1);
        let changes = vec![cut(17, at(2_000))];
        Setup { changes, ..setup(graph, drop_tail(20), tcp(Algorithm::NewReno), mode, sessions) }
    };
    let one_by_one = scheduled(world(), Scheduling::Events);
    assert_same(&one_by_one, &scheduled(world(), Scheduling::Windows), "in windows");
    for scheduling in [Scheduling::Events, Scheduling::Windows] {
        for parts in 2..=4 {
            let (record, division) = in_parts_scheduled(world(), parts, scheduling).expect("it can be divided");
            let Division { phases, windows, .. } = division;
            assert!(phases > 0 && windows > 100, "{division:?}");
            assert_same(&one_by_one, &record, &format!("{scheduling:?} in {parts} parts"));
        }
    }
}

#[test]
fn drill_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(Drill);
}

#[test]
fn letflow_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(Letflow);
}

#[test]
fn conga_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(Conga);
}

#[test]
fn spain_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(Spain);
}

/// Six flows from a switch to the next, which it has one link to, and two ways round of two links. ECMP knows the link alone; SPAIN's VLANs use all three,
/// and go on without the link when it fails.
#[test]
fn spain_uses_ways_that_are_not_shortest() {
    let graph = || {
        let mut graph = Graph::with_hosts(12, |_| None);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| graph.add_switch(name.to_owned(), Level::Edge, None));
        (0..12).for_each(|host| graph.connect(host, if host < 6 { a } else { b }, GBPS, DELAY));
        for (from, to) in [(a, b), (a, c), (c, b), (a, d), (d, b)] {
            graph.connect(from, to, GBPS, DELAY);
        }
        graph
    };
    let run = |mode, seed, changes| {
        let sessions = (0..60).map(|n| unicast(n % 6, 6 + n % 6, 500_000)).collect();
        let base = setup(graph(), drop_tail(40), tcp(Algorithm::NewReno), mode, sessions);
        complete(Setup { seed, changes, ..base })
    };
    for seed in SEEDS {
        let [spain, ecmp] = [Spain, PerFlow].map(|mode| run(mode, seed, Vec::new()));
        let share = |record: &RunRecord, to: &str| {
            let sent =
                |to: &str| record.links.iter().find(|row| row.src == "a" && row.dst == to).map_or(0, |row| row.bytes);
            sent(to) as f64 / (sent("b") + sent("c") + sent("d")) as f64
        };
        assert!(["b", "c", "d"].iter().all(|to| share(&spain, to) > 0.15), "seed {seed}");
        assert!(share(&ecmp, "b") > 0.9999);
        let ratio = ecmp.simulated.as_secs_f64() / spain.simulated.as_secs_f64();
        assert!(ratio > 1.5, "seed {seed}: {ratio}");
        let failed = run(Spain, seed, vec![cut(12, at(0))]);
        assert!(share(&failed, "b") < 0.0001);
    }
}
