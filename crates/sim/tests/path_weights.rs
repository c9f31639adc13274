//! Weights that controllers give to equal-cost paths.

use crate::common::control::at_times;
use crate::common::*;
use anabranch_sim::control::{Action, PathWeight};
use anabranch_sim::fabric::graph::{Graph, Level};
use anabranch_sim::fabric::queue::{Limit, Setting};
use anabranch_sim::fabric::routing::RoutingMode::{self, DModK, PerPacket};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Ending, Network, Setup, Target};
use anabranch_transport::Rate;

/// Four hosts on leaf l0, four on l1; spines s0, s1 and s2 join the leaves.
fn leaf_spine() -> Graph {
    let mut graph = Graph::with_hosts(8, |_| None);
    let leaves = [0, 1].map(|n| graph.add_switch(format!("l{n}"), Level::Edge, None));
    for h in 0..8 {
        graph.connect(h, leaves[h as usize / 4], GBPS, DELAY);
    }
    for n in 0..3 {
        let spine = graph.add_switch(format!("s{n}"), Level::Core, None);
        for leaf in leaves {
            graph.connect(leaf, spine, GBPS, DELAY);
        }
    }
    graph
}

/// The port of leaf l0 to spine `n`.
fn up(n: u32) -> u32 {
    2 * (8 + 2 * n)
}

fn weight(port: u32, weight: u16) -> Action {
    Action::Path(PathWeight { port, to: None, weight })
}

/// One session from l0 to l1 for each of four hosts, sprayed by packet.
fn sprayed(mode: RoutingMode, actions: Vec<Action>) -> Setup {
    let sessions = (0..4).map(|h| anabranch_sim::workload::Session { start: at(200), ..unicast(h, 4 + h, 500_000) });
    let mut setup = setup(leaf_spine(), trim(8), ndp(20), mode, sessions.collect());
    setup.controllers = vec![at_times(actions.into_iter().map(|action| (us(100), action)).collect())];
    setup
}

/// Packets that leaf l0 sent to each spine.
fn sent(record: &RunRecord) -> [u64; 3] {
    [0, 1, 2].map(|n| {
        record.links.iter().find(|row| row.src == "l0" && row.dst == format!("s{n}")).map_or(0, |row| row.packets)
    })
}

#[test]
fn packets_go_by_weight() {
    let shares = |actions| {
        let sent = sent(&complete(sprayed(PerPacket, actions)));
        sent.map(|packets| packets as f64 / sent.iter().sum::<u64>() as f64)
    };
    let close = |found: [f64; 3], wanted: [f64; 3]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.04);
    let equal = shares(Vec::new());
    assert!(close(equal, [1.0 / 3.0; 3]), "{equal:?}");
    let two_to_one = shares(vec![weight(up(0), 6), weight(up(1), 3), weight(up(2), 1)]);
    assert!(close(two_to_one, [0.6, 0.3, 0.1]), "{two_to_one:?}");
    let without = shares(vec![weight(up(1), 0)]);
    assert!(close(without, [0.5, 0.0, 0.5]), "{without:?}");
    assert_eq!(sent(&complete(sprayed(PerPacket, vec![weight(up(1), 0)])))[1], 0, "taken out");
}

#[test]
fn a_weight_may_be_that_of_one_destination() {
    let to = |host, port| Action::Path(PathWeight { port, to: Some(host), weight: 0 });
    let actions =
        (4..8).flat_map(|host| if host == 4 { vec![to(4, up(0)), to(4, up(1))] } else { vec![to(host, up(2))] });
    let record = complete(sprayed(PerPacket, actions.collect()));
    let flow = record.flows.iter().find(|flow| flow.dst_host == 4).expect("a flow to host 4");
    let by_s2 = sent(&record)[2];
    assert_eq!(by_s2, flow.packets_sent, "what goes to host 4, and nothing else");
    let rows: Vec<_> = record.series.iter().map(|row| (row.metric, row.id, row.value)).collect();
    assert_eq!(rows[..2], [("set_path_weight_to", up(0), 4.0), ("set_path_weight", up(0), 0.0)]);
}

/// Weights that are all the same choose as none do.
#[test]
fn equal_weights_change_nothing() {
    let fingerprint = |n| complete(sprayed(PerPacket, (0..3).map(|spine| weight(up(spine), n)).collect())).fingerprint;
    assert_eq!(fingerprint(1), fingerprint(7));
    let without = complete(sprayed(PerPacket, Vec::new()));
    assert_eq!(sent(&without), sent(&complete(sprayed(PerPacket, vec![weight(up(0), 1)]))));
}

/// If only ways without weight are left after a failure, there is no way: what comes is dropped until the repair.
#[test]
fn a_failure_does_not_bring_back_what_was_taken_out() {
    let mut setup = sprayed(PerPacket, vec![weight(up(0), 0), weight(up(1), 0)]);
    let cut = Target::Link(up(2) / 2);
    setup.changes = vec![(at(1000), Change::Cut(cut)), (at(2000), Change::Restore(cut))];
    let record = complete(setup);
    assert_eq!(sent(&record)[..2], [0, 0]);
    assert!(record.conservation.dropped > 0);
}

#[test]
fn what_is_impossible_ends_the_run_with_the_reason() {
    let ending = |mode, actions| Network::new(sprayed(mode, actions)).run(|_| true);
    let refused = |why: &str| Ending::Refused(format!("controller 0, at 100us: {why}"));
    let none = "this fabric's routing scheme has no path weights: it does not choose among equal ways";
    assert_eq!(ending(DModK, vec![weight(up(0), 2)]), refused(none));
    let all = (0..3).map(|n| weight(up(n), 0)).collect();
    assert_eq!(ending(PerPacket, all), refused("weight 0 would leave l0 no way to h4"));
    assert_eq!(ending(PerPacket, vec![weight(28, 1)]), refused("there is no port 28, only 28"));
    let host = Action::Path(PathWeight { port: up(0), to: Some(8), weight: 1 });
    assert_eq!(ending(PerPacket, vec![host]), refused("there is no host 8, only 8"));
    let rate = Action::Rate(3, Rate(0));
    assert_eq!(ending(PerPacket, vec![rate]), refused("the rate of link 3 has to be above 0"));
    let queue = Action::Queue(99, Setting::Buffer(Limit::Packets(1)));
    assert_eq!(ending(PerPacket, vec![queue]), refused("there is no port 99, only 28"));
}
