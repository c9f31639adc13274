//! What leaves when, on a path without loss.

use super::*;
use crate::standings::Standing;
use crate::{Arrival, Peer};

#[test]
fn a_message_alone_goes_at_the_rate_of_the_link() {
    for packets in [1, 2, 6, 7, 8, 9, 100] {
        let mut p = pair(packets, deliver);
        assert_eq!(finish(&mut p, packets * PAYLOAD), PACKET * packets + DELAY, "{packets} packets");
        // A grant for each packet that arrives, until there is nothing left to grant.
        assert_eq!(grants(&p).len() as u64, packets.saturating_sub(WINDOW));
        let (s, r) = stats(&p);
        assert_eq!(
            (s.data_sent, s.retransmitted, s.timeouts, r.data_received, r.timeouts),
            (packets, 0, 0, packets, 0)
        );
    }
    assert_eq!(finish(&mut pair_with(&HomaConfig::default(), Some(0), deliver), 0), CONTROL + DELAY);
}

#[test]
fn a_packet_is_handed_over_when_the_last_one_has_left() {
    let mut p = pair(20, deliver);
    finish(&mut p, 20 * PAYLOAD);
    let data = sent(&p, |header| matches!(header, Header::Data { .. }));
    let steady = |n: u64| (Time::ZERO + PACKET * n, Header::Data { seq: n, message: 20 * PAYLOAD });
    assert_eq!(data, (0..20).map(steady).collect::<Vec<_>>());
}

#[test]
fn a_grant_is_a_window_ahead_of_what_has_arrived() {
    let cfg = config(|c| c.unscheduled_priorities = Some(5));
    let mut p = pair_with(&cfg, Some(20 * PAYLOAD), deliver);
    finish(&mut p, 20 * PAYLOAD);
    // Alone, a message has the lowest of the eight priorities.
    let after = |n: u64| (Time::ZERO + PACKET * n + DELAY, Header::Grant { below: WINDOW + n, priority: 7 });
    assert_eq!(grants(&p), (1..=13).map(after).collect::<Vec<_>>());
    let priorities: Vec<u8> =
        p.log.iter().filter(|(_, from, ..)| *from == SENDER).map(|(.., t, _)| t.priority).collect();
    assert_eq!(priorities, [[0; 7].as_slice(), &[7; 13]].concat());
}

#[test]
fn fewer_unscheduled_bytes_cost_a_round_trip() {
    let cfg = config(|c| c.unscheduled_bytes = Some(Bytes(300)));
    let mut p = pair_with(&cfg, Some(20 * PAYLOAD), deliver);
    // One packet, and when its grant is back, the others.
    assert_eq!(finish(&mut p, 20 * PAYLOAD), PACKET * 20 + DELAY * 3 + CONTROL);
    assert_eq!(grants(&p)[0].1, Header::Grant { below: 8, priority: 7 });
}

/// A receiver of `packets` packets of which `arrived` are there.
fn receiver(cfg: &HomaConfig, packets: u64, arrived: u64) -> Receiver {
    let mut receiver = Receiver::new(cfg);
    for seq in 0..arrived {
        arrive(&mut receiver, packets, seq);
    }
    receiver
}

fn arrive(receiver: &mut Receiver, packets: u64, seq: u64) {
    let header = Header::Data { seq, message: packets * PAYLOAD };
    let from: Peer = 0;
    receiver.handle_packet(Time::ZERO, &Arrival { header, from, trimmed: false, ce: false, returned: false });
}

fn grant(receiver: &mut Receiver) -> Option<(u64, u8)> {
    let packet = receiver.poll_transmit(Time::ZERO)?;
    assert_eq!(receiver.poll_transmit(Time::ZERO), None);
    match packet.header {
        Header::Grant { below, priority } => Some((below, priority)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_standing_nothing_is_granted_and_what_was_missed_is_made_up_for() {
    let cfg = config(|c| c.unscheduled_priorities = Some(4));
    let mut receiver = receiver(&cfg, 50, 3);
    assert_eq!(grant(&mut receiver), None);
    let change = receiver.poll_claim().expect("it wants grants");
    assert_eq!((change.was, change.remaining, change.places), (None, Some(47 * PAYLOAD), 4));
    receiver.set_standing(Time::ZERO, Some(Standing { place: 1, of: 2 }));
    assert_eq!(grant(&mut receiver), Some((10, 7)), "the worse of two on four levels");
    assert_eq!(grant(&mut receiver), None, "once");
    // The other message has gone: only new grants have the better priority, and they are for the packets that arrive from now on.
    receiver.set_standing(Time::ZERO, Some(Standing { place: 0, of: 3 }));
    assert_eq!(grant(&mut receiver), None);
    arrive(&mut receiver, 50, 3);
    assert_eq!(grant(&mut receiver), Some((11, 5)), "the best of three");
    receiver.set_standing(Time::ZERO, None);
    arrive(&mut receiver, 50, 4);
    assert_eq!(grant(&mut receiver), None);
    assert_eq!(receiver.poll_claim().and_then(|change| change.remaining), Some(45 * PAYLOAD));
}

#[test]
fn a_message_that_is_granted_to_its_end_leaves_its_place_to_others() {
    let cfg = HomaConfig::default();
    let mut receiver = receiver(&cfg, 9, 1);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining == Some(8 * PAYLOAD)));
    receiver.set_standing(Time::ZERO, Some(Standing { place: 0, of: 1 }));
    assert_eq!(grant(&mut receiver), Some((8, 7)));
    assert_eq!(receiver.poll_claim(), None);
    arrive(&mut receiver, 9, 1);
    assert_eq!(grant(&mut receiver), Some((9, 7)));
    assert!(receiver.poll_claim().is_some_and(|change| (change.was, change.remaining) == (Some(8 * PAYLOAD), None)));
}

#[test]
fn a_message_whose_sender_is_busy_leaves_its_place_until_more_of_it_arrives() {
    let mut receiver = receiver(&HomaConfig::default(), 50, 3);
    assert!(receiver.poll_claim().is_some());
    receiver.set_standing(Time::ZERO, Some(Standing { place: 0, of: 1 }));
    assert!(grant(&mut receiver).is_some());
    let busy = Arrival { header: Header::Busy, from: 0, trimmed: false, ce: false, returned: false };
    receiver.handle_packet(Time::ZERO, &busy);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining.is_none()));
    arrive(&mut receiver, 50, 3);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining == Some(46 * PAYLOAD)));
}

#[test]
fn a_message_whose_sender_is_silent_leaves_its_place_until_something_of_it_arrives() {
    let mut receiver = receiver(&HomaConfig::default(), 50, 3);
    assert!(receiver.poll_claim().is_some());
    receiver.handle_timeout(Time::ZERO + TIMEOUT);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining.is_none()));
    assert!(receiver.poll_transmit(Time::ZERO + TIMEOUT).is_some(), "it asks all the same");
    receiver.handle_timeout(Time::ZERO + TIMEOUT * 2);
    assert_eq!(receiver.poll_claim(), None, "it has none");
    arrive(&mut receiver, 50, 3);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining == Some(46 * PAYLOAD)));
}

#[test]
fn a_busy_sender_that_has_sent_all_it_may_gets_its_place_back() {
    let busy = Arrival { header: Header::Busy, from: 0, trimmed: false, ce: false, returned: false };
    let mut receiver = receiver(&HomaConfig::default(), 50, 3);
    assert!(receiver.poll_claim().is_some());
    receiver.handle_packet(Time::ZERO, &busy);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining.is_none()));
    // It asks: so nothing that it may send is left.
    let asks = Arrival { header: Header::NeedAck { message: 50 * PAYLOAD }, ..busy };
    receiver.handle_packet(Time::ZERO, &asks);
    assert!(receiver.poll_claim().is_some_and(|change| change.remaining == Some(47 * PAYLOAD)));
}

#[test]
fn a_busy_sender_s_word_that_was_overtaken_by_its_packets_means_nothing() {
    let mut receiver = receiver(&HomaConfig::default(), 50, 3);
    assert!(receiver.poll_claim().is_some());
    // All seven that it may send without a grant.
    for seq in 3..7 {
        arrive(&mut receiver, 50, seq);
    }
    while receiver.poll_claim().is_some() {}
    let busy = Arrival { header: Header::Busy, from: 0, trimmed: false, ce: false, returned: false };
    receiver.handle_packet(Time::ZERO, &busy);
    assert_eq!(receiver.poll_claim(), None, "its claim stands");
    assert!(receiver.claim().is_some());
}

#[test]
fn a_sender_waits_for_its_turn_and_for_the_queue_that_it_finds() {
    let at = |us| Time::ZERO + Duration::from_us(us);
    let mut sender = Sender::new(&HomaConfig::default(), Some(3 * PAYLOAD));
    assert_eq!(sender.poll_transmit(at(0)), None);
    assert_eq!(sender.poll_claim().map(|change| (change.remaining, change.places)), Some((Some(3 * PAYLOAD), 1)));
    sender.set_standing(at(0), Some(Standing { place: 0, of: 1 }));
    assert!(sender.uses_departure());
    sender.set_departure(at(5));
    // What others put into the queue meanwhile does not hold it back further.
    sender.set_departure(at(50));
    assert_eq!((sender.poll_transmit(at(0)), sender.poll_timeout()), (None, Some(at(5))));
    assert!(sender.poll_transmit(at(5)).is_some_and(|t| is_data(&t, 0)));
    sender.set_departure(at(17));
    assert_eq!((sender.poll_transmit(at(5)), sender.poll_timeout()), (None, Some(at(17))));
    assert_eq!(sender.poll_claim().and_then(|change| change.remaining), Some(2 * PAYLOAD));
    // A shorter message has come.
    sender.set_standing(at(6), None);
    assert_eq!((sender.poll_transmit(at(17)), sender.poll_timeout()), (None, None));
}
