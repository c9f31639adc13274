//! Switches that balance load themselves: what their papers report of them, on small fabrics, with several seeds each.

use crate::common::*;
use anabranch_sim::fabric::graph::{Graph, Level};
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::routing::RoutingMode::{
    self, Conga, Detail, Drill, Letflow, PerFlow, PerPacket, Presto, Spain,
};
use anabranch_sim::fabric::routing::{RoutingConfig, Turns};
use anabranch_sim::fabric::topology::{Layers, LeafSpine, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{LinkRow, RunRecord};
use anabranch_sim::network::{Change, Division, Ending, Scheduling, Setup, Target};
use anabranch_sim::random;
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::Session;
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::udp::UdpConfig;
use anabranch_transport::{Bytes, Duration, PriorityBy, Rate, Time};
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
    mean_fct(&complete(Setup { seed, routing, reorder: (mode == Presto).then_some(ms(5)), ..base }))
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

/// Hosts of each rack send to those of the next: mean completion time in microseconds, on leaves and spines or, without a mode, on one switch.
fn permutation(mode: Option<RoutingMode>, seed: u64) -> f64 {
    let graph = if mode.is_some() { leaf_spine(4, 4, 4) } else { star(16) };
    let config = TcpConfig { receive_window: Bytes(1_000_000), sack: true, rto_min: ms(50), ..TcpConfig::default() };
    let sessions = (0..16).map(|host| unicast(host, (host + 4) % 16, 10_000_000)).collect();
    let base = setup(graph, drop_tail(1000), Protocol::Tcp(config), mode.unwrap_or(PerFlow), sessions);
    mean_fct(&complete(Setup { seed, reorder: (mode == Some(Presto)).then_some(ms(20)), ..base }))
}

/// Presto's evaluation (stride): within a few per cent of a single switch that never blocks, and ECMP far from it.
#[test]
fn presto_comes_near_to_a_single_switch() {
    for seed in SEEDS {
        let [switch, presto, ecmp] = [None, Some(Presto), Some(PerFlow)].map(|mode| permutation(mode, seed));
        assert!(presto < 1.05 * switch && 1.25 * switch < ecmp, "{seed}: {switch} {presto} {ecmp}");
    }
}

/// The order of `LetFlow`'s evaluation with a slow link: Presto does not look at congestion. With turns in proportion to rates it comes near, and
/// with equal ones the slow link holds up every flow.
#[test]
fn with_a_slow_link_presto_is_worse_than_letflow() {
    let all: Vec<[f64; 3]> = SEEDS
        .iter()
        .map(|&seed| {
            let presto = |weights| {
                let mut routing = trees(1);
                routing.presto.weights = weights;
                on_asymmetric(Presto, routing, seed)
            };
            [on_asymmetric(Letflow, trees(1), seed), presto(Turns::Rate), presto(Turns::Equal)]
        })
        .collect();
    let [letflow, rate, equal] = [0, 1, 2].map(|n| mean(all.iter().map(|one| one[n])));
    assert!(letflow < rate && 4.0 * rate < equal, "{all:?}");
}

/// A flow that uses all paths by turns loses what is on one when that is cut, and goes by the others from then on; when the link is back, by all.
#[test]
fn a_flow_of_cells_survives_a_cut_link() {
    let world = |changes| {
        let graph = leaf_spine(2, 4, 1);
        let config = TcpConfig { receive_window: Bytes(1_000_000), sack: true, ..TcpConfig::default() };
        let base = setup(graph, drop_tail(1000), Protocol::Tcp(config), Presto, vec![unicast(0, 1, 20_000_000)]);
        Setup { changes, reorder: Some(us(500)), ..base }
    };
    let graph = leaf_spine(2, 4, 1);
    let name = |node: u32| graph.nodes[node as usize].name.as_str();
    let link =
        graph.links.iter().position(|link| [name(link.a), name(link.b)].contains(&"spine2")).expect("it has links");
    let link = link as u32;
    let restored = (at(60_000), Change::Restore(Target::Link(link)));
    let (whole, broken) = (complete(world(vec![])), complete(world(vec![cut(link, at(20_000)), restored])));
    let later = Duration(fct(&broken, 0).ps() - fct(&whole, 0).ps());
    assert!(later < ms(5) && broken.flows[0].timeouts == 0, "{later}: {:?}", broken.flows[0]);
    // For 40 ms the others carry 5 MB among them. Three rounds begin anywhere and two are broken off: a cell each.
    let (of_link, of_others): (Vec<&LinkRow>, Vec<&LinkRow>) =
        uplinks(&broken).filter(|link| link.src == "leaf0").partition(|link| link.dst == "spine2");
    let bytes = |links: &[&LinkRow]| mean(links.iter().map(|link| link.bytes as f64));
    let more = bytes(&of_others) - bytes(&of_link);
    assert!((more - 5e6 / 3.0).abs() < 5.0 * 65_536.0, "{more}");
}

/// Lossless links with two priorities, one for flows of up to 100 KB.
fn lossless(base: Setup) -> Setup {
    let pfc = Pfc { priorities: 2, threshold: Threshold::Fixed { xoff: 22_500, xon: 18_000 }, headroom: None };
    Setup { pfc: Some(pfc), ..base }
}

/// TCP as `DeTail` has it at its ends, or as it is otherwise, with priorities by size.
fn ends_of_detail(detail: bool) -> Protocol {
    Protocol::Tcp(TcpConfig {
        rto_min: ms(10),
        rto_initial: ms(10),
        fast_retransmit: !detail,
        priority_thresholds: vec![Bytes(100_000)],
        priority_by: PriorityBy::Size,
        ..TcpConfig::default()
    })
}

/// `DeTail`'s evaluation: the completion time of short flows that only one in a thousand exceeds falls to less than half of that with ECMP, where
/// switches have priorities and drop; and of DCTCP's (Joy 2015, §2.3.4).
#[test]
fn detail_halves_the_tail_of_short_flows() {
    for seed in SEEDS {
        let [detail, ecmp, dctcp] = [0, 1, 2].map(|which| {
            let graph = leaf_spine(4, 4, 4);
            let detail = which == 0;
            let mut sessions = traffic(&graph, 8000, 120, 0.1, seed);
            sessions.extend(traffic(&graph, 1_000_000, 5, 0.5, seed + 100));
            let protocol = ends_of_detail(detail);
            let base = if detail {
                let base = setup(graph, drop_tail(u32::MAX), protocol, Detail, sessions);
                lossless(Setup { reorder: Some(ms(10)), ..base })
            } else if which == 1 {
                setup(graph, priority(100), protocol, PerFlow, sessions)
            } else {
                let config =
                    TcpConfig { rto_min: ms(10), congestion: Algorithm::Dctcp, ecn: true, ..TcpConfig::default() };
                setup(graph, ecn(100, 20), Protocol::Tcp(config), PerFlow, sessions)
            };
            let record = complete(Setup { seed, ..base });
            let short = (0..record.flows.len()).filter(|&flow| record.flows[flow].size_bytes == 8000);
            let mut times: Vec<Duration> = short.map(|flow| fct(&record, flow)).collect();
            times.sort();
            assert_eq!((times.len(), detail && record.conservation.dropped > 0), (1920, false));
            times[times.len() * 999 / 1000]
        });
        assert!(detail * 2 < ecmp && detail * 2 < dctcp, "{seed}: {detail} {ecmp} {dctcp}");
    }
}

/// Where nothing is lost, a slow link shows in the queues before it: flows are more than twice as fast as on one path each, and what waits for them at
/// hosts keeps TCP from repeating anything.
#[test]
fn with_a_slow_link_detail_avoids_it() {
    for seed in SEEDS {
        let [detail, ecmp] = [Detail, PerFlow].map(|mode| {
            let sessions = traffic(&asymmetric(), 500_000, 30, 0.6, seed);
            let base = setup(asymmetric(), ecn(u32::MAX, 20), ends_of_detail(mode == Detail), mode, sessions);
            let record = complete(lossless(Setup { seed, reorder: (mode == Detail).then_some(ms(10)), ..base }));
            mean_fct(&record)
        });
        assert!(2.0 * detail < ecmp, "{seed}: {detail} {ecmp}");
    }
}

/// The scenario on `DeTail`'s page has all of its parts, and loses nothing.
#[test]
fn the_scenario_of_the_page_is_detail() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fidelity/routing.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let text = page.split("```toml\n").nth(1).and_then(|text| text.split("```").next()).expect("it has a scenario");
    let plan = parse("detail.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let (scenario, remarks) = (&plan.runs[0].scenario, &plan.runs[0].remarks);
    assert_eq!(
        (scenario.routing.mode, scenario.switch.pfc.is_some(), scenario.host.reorder.is_some()),
        (Detail, true, true)
    );
    assert!(remarks.iter().all(|remark| remark.fault.key != "host.reorder"), "{remarks:?}");
    let mut network = plan.network(&plan.runs[0]).expect("it can run");
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!((record.ending, record.conservation.dropped), (Ending::Complete, 0));
}

/// What a run does is the same event by event, in windows, and in parts either way.
fn is_the_same_however_it_is_run(world: impl Fn() -> Setup) {
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

/// TCP with a mode, a link that is cut, and with a time, buffers in which packets wait for it.
fn losing(mode: RoutingMode, reorder: Option<Duration>) -> Setup {
    let graph = leaf_spine(4, 3, 4);
    let sessions = traffic(&graph, 100_000, 6, 0.7, 1);
    let changes = vec![cut(17, at(2_000))];
    Setup { changes, reorder, ..setup(graph, drop_tail(20), tcp(Algorithm::NewReno), mode, sessions) }
}

#[test]
fn drill_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| losing(Drill, None));
}

#[test]
fn letflow_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| losing(Letflow, None));
}

#[test]
fn conga_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| losing(Conga, None));
}

#[test]
fn presto_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| losing(Presto, Some(us(500))));
}

#[test]
fn packets_in_order_are_the_same_however_it_is_run() {
    for mode in [Drill, PerPacket] {
        is_the_same_however_it_is_run(|| losing(mode, Some(us(50))));
    }
}

#[test]
fn detail_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| {
        let graph = leaf_spine(4, 3, 4);
        let sessions = traffic(&graph, 100_000, 6, 0.7, 1);
        let config =
            TcpConfig { fast_retransmit: false, priority_thresholds: vec![Bytes(50_000)], ..TcpConfig::default() };
        let pfc = Pfc { priorities: 2, threshold: Threshold::Fixed { xoff: 15_000, xon: 10_500 }, headroom: None };
        let base = setup(graph, drop_tail(u32::MAX), Protocol::Tcp(config), Detail, sessions);
        Setup { pfc: Some(pfc), reorder: Some(ms(10)), ..base }
    });
}

#[test]
fn spain_is_the_same_however_it_is_run() {
    is_the_same_however_it_is_run(|| losing(Spain, None));
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
