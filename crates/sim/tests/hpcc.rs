//! HPCC: flows that share a link fill it to the target and leave no queue; what they add is told by the window's law.

use crate::common::sharing::{pauses_from, pauses_of_incast, share, star_of};
use crate::common::{
    DELAY, GBPS, assert_same, complete, drop_tail, in_parts_scheduled, ms, scheduled, setup, unicast, us,
};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::pfc::{Pfc, Threshold, headroom, idle_share, reaction};
use anabranch_sim::fabric::routing::RoutingMode::{PerFlow, Single};
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::network::{Sampling, Scheduling, Setup};
use anabranch_transport::roce::{Congestion, HpccConfig, Repeat, RoceConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use std::path::Path;

const LINE: Rate = Rate::from_gbps(100);
/// Of a packet of 1068 B 44 B are headers and 42 B telemetry.
const PAYLOAD_GBPS: f64 = 100.0 * 982.0 / 1068.0;
/// Two links of 5 us each way, a packet on both, and its answer of 86 B.
const RTT: Duration = Duration(20_000_000 + 2 * (1068 + 86) * 80);

/// Hosts at 100 Gbps over links of 5 us.
fn fabric(hosts: u32) -> Graph {
    star_of(hosts, LINE, us(5))
}

fn hpcc(config: &HpccConfig) -> Protocol {
    let config = HpccConfig { base_rtt: Some(RTT), ..config.clone() };
    Protocol::Roce(RoceConfig { header: Bytes(44 + 42), ..RoceConfig::default() }.with(Congestion::Hpcc(config)))
}

/// In a steady state a window loses with each round trip what it gains, `W (1 - eta / U) = W_AI`. The windows of N flows make U together:
/// `U = eta + N W_AI / W_first`, so that the link is full with as many flows as the increase is made for. U counts what waits, too.
#[test]
fn what_flows_add_is_what_the_law_says() {
    let bdp = LINE.bytes_in(RTT) as f64;
    for (flows, made_for, apart, max_stage) in [
        (1, 100, 0, 0),
        (2, 100, 0, 0),
        (4, 100, 100, 0),
        (4, 100, 0, 0),
        (4, 100, 100, 5),
        (16, 100, 100, 0),
        (4, 20, 100, 0),
        (50, 100, 100, 0),
        (100, 100, 50, 0),
    ] {
        let protocol = hpcc(&HpccConfig { flows: made_for, max_stage, ..HpccConfig::default() });
        let shared = share(fabric(flows + 1), protocol, None, us(apart), ms(20));
        let used = shared.total() / PAYLOAD_GBPS;
        let (expected, waits) = (0.95 + 0.05 * f64::from(flows) / f64::from(made_for), shared.queue / bdp);
        let spread = shared.spread();
        println!(
            "{flows} of {made_for}: {used:.3} and {waits:.3} wait, expected {expected:.3}; spread {spread:.2}, queue at most {:.0} B",
            shared.longest
        );
        assert!(used < expected + 0.005 && used + waits > expected - 0.005, "{flows} of {made_for}: {used} {waits}");
        let most = if flows < made_for { 0.05 } else { 0.15 } * bdp;
        assert!(shared.longest < most && spread < 1.6, "{flows} of {made_for}: {} {spread}", shared.longest);
    }
}

/// Sixteen senders begin at once with 4 MB each. Their first windows come before anything is known, and are all that waits for long: nothing is
/// lost or sent twice, and HPCC leaves little to pauses.
#[test]
fn an_incast_loses_nothing_and_pauses_less_than_without_it() {
    let pauses = |protocol| pauses_of_incast(fabric(17), protocol, pauses_from(300_000, 10_000), 4_000_000);
    let plain = pauses(Protocol::Roce(RoceConfig::default()));
    let hpcc = pauses(hpcc(&HpccConfig::default()));
    println!("pause frames and end: {plain:?}, with HPCC {hpcc:?}");
    assert!(10 * hpcc.0 < plain.0, "{plain:?} {hpcc:?}");
}

/// Where many share a slow link, windows become so small that the times in packets come round between two of them. When the others
/// are done, the last one takes the link.
#[test]
fn a_flow_that_crawls_takes_the_link_when_it_is_free() {
    let graph = star_of(151, GBPS, us(1));
    let size = |host| if host == 1 { 5_000_000 } else { 300_000 };
    let sessions = (1..151).map(|host| unicast(host, 0, size(host))).collect();
    let config = HpccConfig { base_rtt: Some(us(22)), ..HpccConfig::default() };
    let roce = RoceConfig { header: Bytes(44 + 42), timeout: Duration::from_secs(1), ..RoceConfig::default() };
    let hpcc = Protocol::Roce(roce.with(Congestion::Hpcc(config)));
    let pfc = Some(pauses_from(100_000, 10_000));
    let sampling = Sampling { interval: ms(10), windows: vec![0], ..Sampling::default() };
    let record = complete(Setup { pfc, sampling, ..setup(graph, drop_tail(u32::MAX), hpcc, Single, sessions) });
    let mut ends: Vec<Duration> =
        record.flows.iter().filter_map(|flow| flow.end).map(|end| end.since(Time::ZERO)).collect();
    ends.sort_unstable();
    println!("the last but one ends after {}, the last after {}", ends[148], ends[149]);
    // All bytes take 0.43 s.
    assert!(ends[149] < Duration::from_ms(900), "{}", ends[149]);
    let windows: Vec<f64> = record.series.iter().filter(|s| s.metric == "cwnd_bytes").map(|s| s.value).collect();
    let (least, most) = (windows.iter().copied().fold(f64::MAX, f64::min), windows.iter().copied().fold(0.0, f64::max));
    println!("its window: {least} to {most} B");
    // From a fraction of a packet to what the link sends in a round trip.
    assert!(least < 100.0 && most > 2600.0, "{least} {most}");
}

/// Packets that are lost leave what was written into them to nobody: not to the packet that has their handle next.
#[test]
fn losses_do_not_mix_up_what_is_written() {
    let make = || {
        let config = HpccConfig { base_rtt: Some(us(60)), ..HpccConfig::default() };
        let roce = RoceConfig { header: Bytes(44 + 42), repeat: Repeat::Selective, ..RoceConfig::default() };
        let hpcc = Protocol::Roce(roce.with(Congestion::Hpcc(config)));
        let fabric = TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() });
        let fabric = fabric.build(Path::new("")).expect("the fabric is possible");
        let across = (0..16).map(|host| unicast(host, (host + 6) % 16, 90_000));
        let sessions = across.chain((1..16).map(|host| unicast(host, 0, 40_000))).collect();
        setup(fabric, drop_tail(6), hpcc, PerFlow, sessions)
    };
    let one_by_one = scheduled(make(), Scheduling::Events);
    assert!(one_by_one.conservation.dropped > 20, "{:?}", one_by_one.conservation);
    assert_same(&one_by_one, &scheduled(make(), Scheduling::Windows), "in windows");
    for scheduling in [Scheduling::Events, Scheduling::Windows] {
        let parts = in_parts_scheduled(make(), 4, scheduling);
        let (record, division) = parts.expect("it can be divided");
        assert_same(&one_by_one, &record, &format!("{scheduling:?}, {division:?}"));
    }
}

/// Where pauses begin before what a link carries in its own round trip waits, the link idles after each; HPCC takes it for one that has room.
#[test]
fn pauses_that_begin_too_soon_leave_the_link_idle() {
    let used = |xoff| {
        let shared = share(fabric(3), hpcc(&HpccConfig::default()), Some(pauses_from(xoff, 3000)), us(0), ms(20));
        shared.total() / PAYLOAD_GBPS
    };
    // 16 kB, and what switches have by default: 125 kB, six packets and a frame.
    let (soon, late) = (used(15 * 1068), used(125_000 + 6 * 1068 + 64));
    println!("{soon:.3} of the link, and {late:.3}");
    assert!(soon < 0.8 && late > 0.945, "{soon} {late}");
}

/// How much two senders lose whom nothing but pauses holds back, which a run remarks.
#[test]
fn the_idle_share_of_a_link_that_pauses_too_soon() {
    let needed = reaction(LINE, us(5), 1068, 1);
    let check = |pauses: Pfc, xoff: u64, below: u64| {
        let shared = share(fabric(3), Protocol::Roce(RoceConfig::default()), Some(pauses), us(0), ms(20));
        let (idle, expected) =
            (1.0 - shared.total() / (100.0 * 1024.0 / 1068.0), idle_share(xoff, xoff - below, needed));
        println!("{pauses:?}: {idle:.3}, expected {expected:.3}");
        assert!((idle - expected).abs() < 0.02, "{pauses:?}: {idle} {expected}");
    };
    for (packets, below) in [(15, 3), (30, 3), (45, 3), (60, 20), (90, 60), (120, 3)] {
        check(pauses_from(packets * 1068, below * 1068), packets * 1068, below * 1068);
    }
    // Memory that they share: each has a third of what headroom leaves.
    for packets in [15, 30, 60, 120] {
        let (xoff, below) = (packets * 1068, 3 * 1068);
        let memory = 3 * headroom(LINE, us(5), 1068, 1) + 3 * xoff;
        let threshold = Threshold::Dynamic { memory, alpha: 1.0, below };
        check(Pfc { threshold, ..pauses_from(xoff, below) }, xoff, below);
    }
}
