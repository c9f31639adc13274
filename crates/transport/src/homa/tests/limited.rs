//! Senders whose application has not the whole message yet.

use super::*;
use crate::testing::Slow;

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// A transfer whose application provides its message as told, run to the end.
fn provided(bytes: u64, provides: Vec<(Time, u64)>) -> Pair<Slow<Connection>> {
    let cfg = HomaConfig::default();
    let sender = Slow::new(Connection::Sender(Sender::new(&cfg, Some(bytes))), provides);
    let receiver = Slow::new(Connection::Receiver(Receiver::new(&cfg)), []);
    let mut pair = Pair::new(vec![sender, receiver], DELAY, 1, PACKET, |_, _, _| Fate::Deliver);
    assert!(pair.run(Time::ZERO + Duration::from_secs(100_000)), "{}", pair.nodes[SENDER].waiting_for());
    assert_eq!(pair.events[SENDER].last().map(|e| e.1), Some(Event::Closed), "{}", pair.nodes[RECEIVER].waiting_for());
    assert_eq!(pair.nodes[RECEIVER].stats().bytes_delivered, bytes);
    pair
}

#[test]
fn a_steady_application_is_kept_up_with() {
    let steps = (0..100).map(|n| (at(12 * n), (n + 1) * PAYLOAD)).collect();
    let p = provided(100 * PAYLOAD, steps);
    assert_eq!(p.completed_at(RECEIVER), Some(Time::ZERO + PACKET * 100 + DELAY));
    assert_eq!((p.nodes[SENDER].stats().timeouts, p.nodes[RECEIVER].stats().timeouts), (0, 0));
}

#[test]
fn a_receiver_that_asks_for_what_there_is_not_is_told_that_its_sender_is_busy() {
    // Nothing for 32 ms, and each RESEND is answered.
    let p = provided(10 * PAYLOAD, vec![(at(0), 2 * PAYLOAD), (at(32_000), 10 * PAYLOAD)]);
    assert_eq!(p.completed_at(RECEIVER), Some(at(32_000) + PACKET * 8 + DELAY));
    let busy = p.log.iter().filter(|(.., t, _)| t.header == Header::Busy).count();
    assert_eq!((busy, p.nodes[RECEIVER].stats().timeouts, p.nodes[SENDER].stats().retransmitted), (6, 6, 0));
}
