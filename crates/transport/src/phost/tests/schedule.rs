//! What leaves when, on a path without loss.

use super::*;
use crate::Arrival;
use crate::standings::Standing;

fn arrival(header: Header) -> Arrival<Header> {
    Arrival { header, from: 0, trimmed: false, ce: false, returned: false }
}

/// With free tokens, the packets follow their RTS; without, they wait for the first token.
#[test]
fn a_flow_alone_goes_at_the_rate_of_the_link() {
    for packets in [1, 2, 7, 8, 9, 100] {
        let mut p = pair(packets, deliver);
        let first = if packets <= WINDOW { CONTROL } else { WAY * 2 };
        assert_eq!(finish(&mut p, packets * PAYLOAD), first + PACKET * packets + DELAY, "{packets} packets");
        let given = if packets <= WINDOW { 0 } else { packets };
        assert_eq!(tokens(&p).len() as u64, given);
        let (s, r) = stats(&p);
        assert_eq!(
            (s.data_sent, s.retransmitted, s.timeouts, r.data_received, r.timeouts),
            (packets, 0, 0, packets, 0)
        );
    }
    assert_eq!(finish(&mut pair(0, deliver), 0), CONTROL * 2 + DELAY, "an empty flow is a packet without payload");
}

#[test]
fn a_token_leaves_for_each_packet_time_and_says_what_remains() {
    let mut p = pair(20, deliver);
    finish(&mut p, 20 * PAYLOAD);
    // The first packet is there with the third token: 10.32 us there, 22 us back, of 12 us each.
    let arrived = |n: u64| n.saturating_sub(2);
    let token = |n| Header::Token { number: n, seq: n, remaining: (20 - arrived(n)) * PAYLOAD };
    let steady = |n: u64| (Time::ZERO + WAY + PACKET * n, token(n));
    assert_eq!(tokens(&p), (0..20).map(steady).collect::<Vec<_>>());
}

#[test]
fn a_window_below_the_round_trip_bounds_the_rate() {
    // Two tokens in each round trip of 44.64 us: the second goes out when the first is answered, as both were given by then.
    let cfg = config(|c| (c.window, c.downgrade) = (1, Some(Duration::from_ms(10))));
    let mut p = pair_with(&cfg, Some(10 * PAYLOAD), deliver);
    assert_eq!(finish(&mut p, 10 * PAYLOAD), WAY + (WAY + PACKET + DELAY) * 10);
}

#[test]
fn short_flows_go_before_long_ones_and_control_before_both() {
    for (packets, priority) in [(WINDOW, 1), (WINDOW + 1, 2)] {
        let mut p = pair(packets, deliver);
        finish(&mut p, packets * PAYLOAD);
        let data = |t: &Transmit<Header>| t.trimmed_size < t.size;
        assert!(p.log.iter().all(|(.., t, _)| t.priority == if data(t) { priority } else { 0 }));
        let two = config(|c| c.priorities = 2);
        let mut p = pair_with(&two, Some(packets * PAYLOAD), deliver);
        finish(&mut p, packets * PAYLOAD);
        assert!(p.log.iter().all(|(.., t, _)| t.priority == u8::from(data(t))));
    }
}

/// A sender that may not send when the token has come, and when it may.
#[test]
fn a_token_is_good_for_one_and_a_half_packet_times() {
    for (late, used) in [(18_000, true), (18_001, false)] {
        let mut sender = Sender::new(&config(|_| {}), Some(20 * PAYLOAD));
        assert!(sender.poll_transmit(Time::ZERO).is_some_and(|t| matches!(t.header, Header::Rts { again: false, .. })));
        let at = Time::ZERO + Duration::from_us(30);
        sender.handle_packet(at, &arrival(Header::Token { number: 0, seq: 3, remaining: 9 }));
        assert_eq!(sender.poll_transmit(at), None, "others come first");
        assert_eq!(sender.poll_claim().map(|change| (change.remaining, change.places)), Some((Some(9), 1)));
        let turn = at + Duration::from_ns(late);
        sender.set_standing(turn, Some(Standing { place: 0, of: 1 }));
        assert_eq!(sender.poll_transmit(turn).is_some_and(|t| is_data(&t, 3)), used);
        assert_eq!(sender.poll_claim().map(|change| change.remaining), Some(None), "it has no other");
    }
}

#[test]
fn free_tokens_expire_too() {
    let mut sender = Sender::new(&config(|_| {}), Some(3 * PAYLOAD));
    assert!(sender.poll_transmit(Time::ZERO).is_some());
    let (last, over) = (Time::ZERO + Duration::from_us(54), Time::ZERO + Duration::from_ns(54_001));
    sender.set_standing(last, Some(Standing { place: 0, of: 1 }));
    assert!(sender.poll_transmit(last).is_some_and(|t| is_data(&t, 0)));
    assert_eq!(sender.poll_transmit(over), None);
}

/// The receiver's host lets as many turns pass as packets come unasked.
#[test]
fn turns_pass_while_free_packets_come() {
    for (packets, turns) in [(5, 5), (WINDOW + 1, 0)] {
        let mut receiver = Receiver::new(&config(|_| {}));
        receiver.handle_packet(Time::ZERO, &arrival(Header::Rts { flow: packets * PAYLOAD, again: false }));
        assert_eq!([receiver.poll_hold(), receiver.poll_hold()], [turns, 0]);
    }
}

#[test]
fn a_receiver_gives_tokens_only_while_it_stands() {
    let mut receiver = Receiver::new(&config(|_| {}));
    receiver.handle_packet(Time::ZERO, &arrival(Header::Rts { flow: 50 * PAYLOAD, again: false }));
    assert_eq!((receiver.pending_pulls(), receiver.poll_pull(Time::ZERO)), (0, None));
    assert_eq!(receiver.poll_claim().map(|change| change.remaining), Some(Some(50 * PAYLOAD)));
    receiver.set_standing(Time::ZERO, Some(Standing { place: 0, of: 1 }));
    assert_eq!(receiver.pending_pulls(), 1);
    assert!(receiver.poll_pull(Time::ZERO).is_some_and(|t| t.control));
    receiver.set_standing(Time::ZERO, None);
    assert_eq!((receiver.pending_pulls(), receiver.poll_pull(Time::ZERO)), (0, None));
}

/// The gap rule: it leaves its place to others when a window of tokens is not answered, and has it back, for one token, after the downgrade.
#[test]
fn a_silent_source_is_downgraded() {
    let mut receiver = Receiver::new(&config(|_| {}));
    receiver.handle_packet(Time::ZERO, &arrival(Header::Rts { flow: 50 * PAYLOAD, again: false }));
    let mut now = Time::ZERO;
    let stand = |receiver: &mut Receiver, now| {
        if let Some(change) = receiver.poll_claim() {
            receiver.set_standing(now, change.remaining.map(|_| Standing { place: 0, of: 1 }));
        }
        receiver.poll_pull(now).is_some()
    };
    for n in 0..WINDOW {
        now = Time::ZERO + PACKET * n;
        assert!(stand(&mut receiver, now), "token {n}");
    }
    assert!(!stand(&mut receiver, now));
    assert_eq!(receiver.claim(), None, "others may have its turns");
    for _ in 0..3 {
        assert_eq!(receiver.poll_timeout(), Some(now + PACKET * 25));
        now += PACKET * 25;
        receiver.handle_timeout(now);
        assert!(stand(&mut receiver, now) && !stand(&mut receiver, now), "one token");
    }
}

/// Who is there but busy announces its flow again after each `resend_timeout`; who does not is cut off.
#[test]
fn a_source_that_is_cut_off_is_tried_only_as_often_as_it_would_announce_itself() {
    let cfg = config(|c| c.retries = 20);
    let mut p = pair_with(&cfg, Some(100 * PAYLOAD), |n, _, _| if n < 30 { Fate::Deliver } else { Fate::Drop });
    assert!(p.run(Time::ZERO + Duration::from_secs(1)));
    assert!(p.events[RECEIVER].iter().any(|(_, event)| matches!(event, Event::Failed(_))));
    let (times, ends): (Vec<Time>, Vec<Time>) =
        (tokens(&p).into_iter().map(|(at, _)| at).collect(), p.events[RECEIVER].iter().map(|(at, _)| *at).collect());
    let (ms, end) = (|n| Time::ZERO + Duration::from_ms(n), ends[0]);
    assert_eq!(times.iter().filter(|&&at| at > ms(1) && at <= ms(2)).count(), 3, "each 300 us");
    assert_eq!(times.iter().filter(|&&at| at > ms(10) && at <= ms(20)).count(), 10, "each ms");
    assert!(end > ms(21) && end < ms(22), "{end:?}");
}
