//! SCDP where links inside are slow: round trips are then longer than the configured timeout, and silence is no loss.
//!
//! A receiver that takes waiting for loss asks for a symbol more each time, which makes others wait longer.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::queue::Queue;
use anabranch_sim::fabric::routing::RoutingMode::PerPacket;
use anabranch_sim::fabric::topology::{Dumbbell, TopologyConfig};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::workload::Session;
use anabranch_transport::{Rate, Time};
use std::path::Path;

const HOSTS: u32 = 8;
/// Symbols of each of the transfers, one from each host on the left to one on the right.
const SYMBOLS: u64 = 200;

fn dumbbell(rate: Rate, bottleneck: Rate) -> Graph {
    let dumbbell = Dumbbell {
        left: HOSTS,
        right: HOSTS,
        rate,
        delay: DELAY,
        bottleneck_rate: Some(bottleneck),
        bottleneck_delay: None,
    };
    TopologyConfig::Dumbbell(dumbbell).build(Path::new("")).expect("the fabric is possible")
}

fn transfers(graph: Graph, queue: impl Fn(u32) -> Queue + Send + 'static) -> RunRecord {
    let sessions: Vec<Session> = (0..HOSTS).map(|h| unicast(h, HOSTS + h, 1436 * SYMBOLS)).collect();
    complete(setup(graph, queue, scdp(12), PerPacket, sessions))
}

/// (time of the last completion over the time that the bottleneck needs, symbols sent over those needed, timeouts of a
/// transfer)
fn cost(record: &RunRecord, bottleneck: Rate) -> (f64, f64, f64) {
    let n = f64::from(HOSTS);
    let last =
        record.flows.iter().map(|f| f.end.expect("complete").since(Time::ZERO).as_secs_f64()).fold(0.0, f64::max);
    let ideal = bottleneck.transmit_time(1500 * SYMBOLS).as_secs_f64() * n;
    let sent = record.flows.iter().map(|f| f.packets_sent).sum::<u64>() as f64;
    let timeouts = record.flows.iter().map(|f| f.timeouts).sum::<u64>() as f64;
    (last / ideal, sent / (SYMBOLS as f64 * n), timeouts / n)
}

#[test]
fn links_below_50_mbps_everywhere() {
    // Eight hosts pull at the pace of their own links from behind one that is no faster. Most symbols are trimmed there,
    // and headers take a third of it; but that is so at any rate, and not because timers fire early.
    let (fast, ..) = cost(&transfers(dumbbell(GBPS, GBPS), mlfq_trim(20)), GBPS);
    for mbps in [40, 10, 2] {
        let rate = Rate::from_mbps(mbps);
        let (time, sent, timeouts) = cost(&transfers(dumbbell(rate, rate), mlfq_trim(20)), rate);
        let seen =
            format!("{mbps} Mbps: {time} of the time, {fast} at 1 Gbps, {sent} of the symbols, {timeouts} timeouts");
        assert!(time < 1.1 * fast && timeouts < 12.0, "{seen}");
    }
}

#[test]
fn a_bottleneck_much_slower_than_the_hosts() {
    for times in [10, 100] {
        let bottleneck = Rate::from_mbps(1000 / times);
        let (time, sent, timeouts) = cost(&transfers(dumbbell(GBPS, bottleneck), mlfq_trim(20)), bottleneck);
        assert!(
            time < 1.6 && timeouts < 4.0,
            "{times}: {time} of the time, {sent} of the symbols, {timeouts} timeouts"
        );
    }
}

#[test]
fn a_slow_bottleneck_that_trims_nothing() {
    for times in [10, 100] {
        let bottleneck = Rate::from_mbps(1000 / times);
        let (time, sent, timeouts) = cost(&transfers(dumbbell(GBPS, bottleneck), drop_tail(20)), bottleneck);
        assert!(time < 1.6 && sent < 2.2, "{times}: {time} of the time, {sent} of the symbols, {timeouts} timeouts");
    }
}
