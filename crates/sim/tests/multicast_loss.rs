//! One-to-many on switches that trim unicast packets only, and SCDP on switches that trim nothing.
//!
//! DESIGN: trimming is an accelerator. Without it gaps and silence tell what was lost, and every session completes.

use crate::common::*;
use anabranch_sim::fabric::queue::mlfq::{Mlfq, MlfqParameters, Victim};
use anabranch_sim::fabric::queue::{Limit, Queue};
use anabranch_sim::fabric::routing::RoutingMode::PerPacket;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Setup;
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::Time;

fn mlfq(packets: u32, trim: bool) -> impl Fn(u32) -> Queue + Send {
    let parameters = MlfqParameters {
        priorities: 5,
        buffer: Limit::Packets(packets),
        trim,
        header_buffer: Limit::Bytes(u64::from(packets) * 1500),
        weight: 10,
        victim: Victim::Lowest,
        mark: None,
    };
    move |_| Queue::Mlfq(Mlfq::new(parameters))
}

/// Four writes to three hosts each, all of which include host 0, whose link is thus asked for four times its rate.
fn colliding_writes(bytes: u64) -> Vec<Session> {
    let write = |n: u32| {
        let sinks = vec![0, 5 + n, 9 + n];
        Session { mode: Mode::OneToMany, sinks: sinks.into(), ..unicast(1 + n, 0, bytes) }
    };
    (0..4).map(write).collect()
}

fn writes(queue: impl Fn(u32) -> Queue + Send + 'static, trim_multicast: bool) -> RunRecord {
    let run = setup(star(13), queue, scdp(12), PerPacket, colliding_writes(1_000_000));
    complete(Setup { trim_multicast, ..run })
}

fn totals(record: &RunRecord) -> (u64, u64) {
    record.links.iter().fold((0, 0), |(trimmed, dropped), l| (trimmed + l.trimmed, dropped + l.dropped))
}

fn last_end(record: &RunRecord) -> f64 {
    record.flows.iter().map(|f| f.end.expect("complete").since(Time::ZERO).as_secs_f64()).fold(0.0, f64::max)
}

#[test]
fn a_multicast_packet_that_may_not_be_cut_is_dropped() {
    let (trimmed, dropped) = totals(&writes(mlfq(8, true), true));
    assert!(trimmed > 0 && dropped == 0, "{trimmed} trimmed, {dropped} dropped");
    let record = writes(mlfq(8, true), false);
    let (trimmed, dropped) = totals(&record);
    assert!(trimmed == 0 && dropped > 0, "{trimmed} trimmed, {dropped} dropped");
    assert_eq!(dropped, record.conservation.dropped);
}

#[test]
fn unicast_packets_are_cut_all_the_same() {
    let sessions = (1..8).map(|h| unicast(h, 0, 200_000)).collect();
    let run = setup(star(8), mlfq(8, true), scdp(12), PerPacket, sessions);
    let (trimmed, dropped) = totals(&complete(Setup { trim_multicast: false, ..run }));
    assert!(trimmed > 0 && dropped == 0, "{trimmed} trimmed, {dropped} dropped");
}

#[test]
fn writes_complete_without_trimming_and_not_much_later() {
    let all = last_end(&writes(mlfq(20, true), true));
    for (name, record) in [
        ("unicast only", writes(mlfq(20, true), false)),
        ("mlfq", writes(mlfq(20, false), true)),
        ("drop-tail", writes(drop_tail(20), true)),
    ] {
        let took = last_end(&record);
        println!("{name}: {took} s against {all} s, timeouts {}", record.flows.iter().map(|f| f.timeouts).sum::<u64>());
        assert!(took < 2.0 * all, "{name}: {took} s against {all} s");
    }
}
