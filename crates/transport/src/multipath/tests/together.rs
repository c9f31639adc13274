//! What the connections of one transfer have to know about each other, and what happens between two packets.

use super::transfer::{END, front_back, mptcp, pair, tcp};
use crate::endpoint::{Arrival, Endpoint};
use crate::multipath::{Connection, Header, MptcpScheduler, Scheduler, SubflowControl};
use crate::tcp::{Flags, FlowSpec, Segment, TcpConfig};
use crate::testing::Fate;
use crate::units::{Bytes, Duration, Time};
use crate::{PriorityBy, Transmit};
use std::collections::BTreeMap;

/// Data packets by priority: 0, 1.
fn by_priority(subflows: u8, by: PriorityBy, bytes: u64) -> [usize; 2] {
    let tcp = TcpConfig {
        priority_thresholds: vec![Bytes(100_000)],
        priority_by: by,
        receive_window: Bytes(1 << 20),
        ..tcp()
    };
    let mut pair = pair(&front_back(subflows, Scheduler::FrontBack, &tcp), bytes, |_, _, _| Fate::Deliver);
    assert!(pair.run(END));
    [0, 1].map(|p| pair.log.iter().filter(|l| l.1 == 0 && l.3.size > 100 && l.3.priority == p).count())
}

/// As many packets have the highest priority over several connections as over one.
#[test]
fn priorities_go_by_the_whole_transfer() {
    let plain = by_priority(1, PriorityBy::Sent, 390_000);
    assert_eq!(plain[0], 69, "100 kB in packets of 1460 B");
    assert_eq!(by_priority(4, PriorityBy::Sent, 390_000), plain);
    for subflows in [1, 4] {
        assert_eq!(by_priority(subflows, PriorityBy::Size, 14_600), [10, 0], "a small object");
        assert_eq!(by_priority(subflows, PriorityBy::Size, 146_000), [0, 100], "a large one");
    }
}

/// A repeated segment whose bytes belong in two places is two packets; the second is no longer needed if an ACK of both arrives first.
#[test]
fn an_ack_may_come_between_the_parts_of_a_segment() {
    let tcp = TcpConfig { handshake: false, initial_window: 10, ..tcp() };
    let mut sender =
        Connection::connect(&front_back(2, Scheduler::RoundRobin, &tcp), FlowSpec::of(Some(30_000)), Time::ZERO);
    for available in [1000, 2000, 3000, 4000] {
        sender.set_available(Time::ZERO, available);
        while sender.poll_transmit(Time::ZERO).is_some() {}
    }
    let now = sender.poll_timeout().expect("data is outstanding");
    sender.handle_timeout(now);
    let first = sender.poll_transmit(now).expect("it is repeated").header;
    assert_eq!(first.segment().len, 1000, "of 1452 bytes");
    let ack = Segment { ack: 2000, window: 65_535, flags: Flags::ACK, ..Segment::default() };
    let header = Header::new(first.subflow(), &ack, 0);
    sender.handle_packet(now, &Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
    while let Some(out) = sender.poll_transmit(now) {
        assert_ne!(out.header.subflow(), first.subflow(), "all of it has arrived");
    }
}

/// A connection that gets no data also completes its handshake: its receiver does not repeat its SYN-ACK.
#[test]
fn a_subflow_without_data_ends_its_handshake() {
    let min_rtt = mptcp(2, MptcpScheduler::MinRtt, SubflowControl::Lia, &tcp());
    for config in [front_back(2, Scheduler::FrontBack, &tcp()), min_rtt] {
        let flow = FlowSpec::of(Some(10_000));
        let mut ends = [Connection::connect(&config, flow, Time::ZERO), Connection::listen(&config, flow)];
        // One segment, and nothing more for a long time.
        ends[0].set_available(Time::ZERO, 1000);
        let (mut now, mut sent) = (Time::ZERO, 0);
        let mut wire: BTreeMap<(Time, u64), (usize, Transmit<Header>)> = BTreeMap::new();
        loop {
            for (side, end) in ends.iter_mut().enumerate() {
                while let Some(out) = end.poll_transmit(now) {
                    sent += 1;
                    wire.insert((now + Duration::from_us(10), sent), (1 - side, out));
                }
                while end.poll_event().is_some() {}
            }
            let timer = ends.iter().filter_map(Endpoint::poll_timeout).min();
            let Some(next) = timer.into_iter().chain(wire.keys().next().map(|key| key.0)).min() else { break };
            now = now.max(next);
            if let Some(entry) = wire.first_entry().filter(|entry| entry.key().0 <= now) {
                let (side, out) = entry.remove();
                let arrival = Arrival { header: out.header, from: 0, trimmed: false, ce: false, returned: false };
                ends[side].handle_packet(now, &arrival);
            } else {
                for end in &mut ends {
                    end.handle_timeout(now);
                }
            }
        }
        assert_eq!(ends.map(|end| end.stats().timeouts), [0, 0], "{config:?}");
    }
}
