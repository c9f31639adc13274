//! `HyStart++` on a path with a bottleneck and a deep buffer (RFC 9406).

use super::super::flow::FlowSpec;
use super::super::sender::Sender;
use super::super::timer::RetransmissionTimer;
use super::*;
use crate::Bytes;
use std::collections::VecDeque;

/// The bottleneck sends a segment each 120 us (100 Mbit/s); the round trip without a queue is 20 ms: 167 segments.
const SERVICE: Duration = Duration::from_us(120);
const PATH: Duration = Duration::from_ms(20);
const BUFFER: usize = 2_000;

/// What a sender without end had done when its slow start was over.
struct Overshoot {
    dropped: u64,
    longest_queue: usize,
    /// Largest window, in segments.
    window: u64,
    /// When slow start was over.
    at: Time,
}

/// Runs until slow start is over, and for as long as a full queue lasts. The bottleneck drops what finds `BUFFER` segments waiting.
fn slow_start(config: &TcpConfig) -> Overshoot {
    config.validate().unwrap();
    let (mut sender, mut timer) =
        (Sender::new(config, FlowSpec::of(None), Time::ZERO), RetransmissionTimer::new(config));
    // Departures from the queue, arrivals of segments at the receiver, and of its ACKs at the sender.
    let (mut queue, mut acks): (VecDeque<Time>, VecDeque<(Time, u64)>) = (VecDeque::new(), VecDeque::new());
    let (mut now, mut next, mut held) = (Time::ZERO, 0, std::collections::BTreeSet::new());
    let mut done = Overshoot { dropped: 0, longest_queue: 0, window: 0, at: Time::ZERO };
    while now < done.at + Duration::from_ms(300) {
        while let Some(out) = sender.poll_transmit(&mut timer, now) {
            while queue.front().is_some_and(|leaves| *leaves <= now) {
                queue.pop_front();
            }
            if queue.len() >= BUFFER {
                done.dropped += 1;
                continue;
            }
            let leaves = queue.back().copied().unwrap_or(now).max(now) + SERVICE;
            queue.push_back(leaves);
            done.longest_queue = done.longest_queue.max(queue.len());
            acks.push_back((leaves + PATH, out.segment.seq));
        }
        done.window = done.window.max(sender.window().size() / MSS);
        if sender.window().in_slow_start() {
            done.at = now;
        }
        let Some((at, seq)) = acks.pop_front() else { break };
        now = at;
        held.insert(seq);
        while held.remove(&next) {
            next += MSS;
        }
        let mut ack = Segment { ack: next, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
        if next < seq {
            ack.push_sack(seq, seq + MSS);
        }
        sender.on_ack(&mut timer, now, &ack);
    }
    done
}

fn config(congestion: Algorithm, hystart: bool) -> TcpConfig {
    TcpConfig { congestion, hystart, sack: true, receive_window: Bytes(1 << 30), ..TcpConfig::default() }
}

/// The deep buffer holds twelve times the path. Standard slow start fills it and loses most of a buffer; `HyStart++` notices the
/// queue grow, and its five rounds of slower growth end before the buffer is full: nothing is lost.
#[test]
fn slow_start_ends_before_the_buffer_is_full() {
    for congestion in [Algorithm::Cubic, Algorithm::NewReno] {
        let (standard, hystart) = (slow_start(&config(congestion, false)), slow_start(&config(congestion, true)));
        assert!(standard.dropped > 1_000 && standard.longest_queue == BUFFER, "{}", standard.dropped);
        assert_eq!(hystart.dropped, 0, "{congestion:?}");
        assert!(hystart.longest_queue < BUFFER, "{congestion:?}: {}", hystart.longest_queue);
        let (with, without) = (hystart.window, standard.window);
        assert!(with >= 167 && 2 * with < without, "{congestion:?}: {with}, and {without} segments without");
    }
}

/// With the RFC's 4 ms the queue of a data centre's switch goes unnoticed; a threshold below its length makes it noticed.
#[test]
fn the_threshold_decides_what_is_noticed() {
    let with = |us| {
        let threshold = Duration::from_us(us);
        let config = TcpConfig {
            hystart_min_rtt_thresh: threshold,
            hystart_max_rtt_thresh: threshold,
            ..config(Algorithm::Cubic, true)
        };
        slow_start(&config).longest_queue
    };
    assert!(with(2_000) < with(16_000));
}
