//! Trimming, loss, reordering and duplication.

use super::*;

#[test]
fn a_trimmed_packet_is_nacked_and_sent_again_before_new_data() {
    let mut p = pair(60, once(Fate::Trim, |t| is_data(t, 3)));
    // It costs one packet's time: the pull that its header earned brings it instead of a new packet.
    assert_eq!(finish(&mut p, 60 * PAYLOAD), PACKET * 61 + DELAY);
    assert_eq!(control(&p), (60, 1, 49));
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted, s.timeouts), (61, 1, 0));
    assert_eq!((r.trimmed_received, r.data_received, r.timeouts), (1, 60, 0));
    // The NACK leaves when the header is there; the next data packet after its arrival is number 3 again.
    let nack_at = Time::ZERO + PACKET * 4 + DELAY * 2 + CONTROL;
    let next = data(&p).into_iter().find(|&(at, ..)| at >= nack_at).unwrap();
    assert_eq!(next.1, 3);
}

#[test]
fn a_window_that_is_all_trimmed_comes_again_at_the_pace_of_the_pulls() {
    let mut p = pair(12, |n, _, _| if n < 12 { Fate::Trim } else { Fate::Deliver });
    // The first pull is back before the window has left; the second window follows the first without a gap.
    assert_eq!(finish(&mut p, 12 * PAYLOAD), PACKET * 24 + DELAY);
    assert_eq!(control(&p), (12, 12, 12));
    assert_eq!(stats(&p).0.timeouts, 0);
}

#[test]
fn a_lost_packet_is_sent_again_at_the_timeout() {
    let mut p = pair(1, once(Fate::Drop, |t| is_data(t, 0)));
    assert_eq!(finish(&mut p, PAYLOAD), FIRST + PACKET + DELAY);
    let (s, _) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted, s.timeouts), (2, 1, 1));
}

#[test]
fn a_silent_receiver_is_tried_with_one_packet_at_a_time() {
    let mut p = pair(40, |n, _, _| if n < 15 { Fate::Drop } else { Fate::Deliver });
    finish(&mut p, 40 * PAYLOAD);
    let sent = data(&p);
    assert!(sent[..12].iter().all(|&(at, ..)| at == Time::ZERO));
    let probes: Vec<u64> = sent[12..16].iter().map(|&(at, ..)| at.0 / 1_000_000_000).collect();
    assert_eq!(probes, [50, 100, 150, 200]);
}

#[test]
fn a_lost_first_window_costs_one_timeout_and_one_extra_packet() {
    let mut p = pair(12, |n, _, _| if n < 12 { Fate::Drop } else { Fate::Deliver });
    // One packet at the timeout opens the connection, pulls bring the other eleven.
    let round = PACKET + DELAY * 2 + CONTROL * 2;
    assert_eq!(finish(&mut p, 12 * PAYLOAD), PACKET * 11 + FIRST + round + PACKET * 11 + DELAY);
    assert_eq!(control(&p), (12, 0, 11));
    assert_eq!(stats(&p).0.data_sent, 24);
}

#[test]
fn a_silent_receiver_is_given_up_after_the_retries() {
    let cfg = config(|c| c.retries = 3);
    let mut p = pair_with(&cfg, Some(PAYLOAD), DELAY, |_, _, _| Fate::Drop);
    assert!(p.run(Time::ZERO + Duration::from_secs(10)));
    let failed = Event::Failed(crate::FailureReason::TimedOut);
    assert_eq!(p.events[SENDER], [(Time::ZERO + FIRST * 4, failed)]);
}

#[test]
fn a_silent_sender_is_given_up_after_the_retries() {
    let cfg = config(|c| c.retries = 3);
    let mut p = pair_with(&cfg, Some(100 * PAYLOAD), DELAY, |n, _, _| if n == 0 { Fate::Deliver } else { Fate::Drop });
    assert!(p.run(Time::ZERO + Duration::from_secs(10)));
    let failed = Event::Failed(crate::FailureReason::TimedOut);
    assert_eq!(p.events[RECEIVER].iter().map(|e| e.1).collect::<Vec<_>>(), [failed]);
    assert_eq!(p.events[SENDER].iter().map(|e| e.1).collect::<Vec<_>>(), [failed]);
    assert!(p.completed_at(RECEIVER).is_none());
}

/// Any one packet may be lost, of whatever kind and whenever: the transfer ends within a few timeouts.
#[test]
fn the_loss_of_any_one_packet_is_survived() {
    for packets in [1, 2, 11, 12, 13, 40] {
        let mut idle = pair(packets, deliver);
        let best = finish(&mut idle, packets * PAYLOAD);
        for lost in 0..idle.log.len() as u64 {
            let mut p = pair(packets, move |n, _, _| if n == lost { Fate::Drop } else { Fate::Deliver });
            let fct = finish(&mut p, packets * PAYLOAD);
            // What is lost before anything arrives from the other end costs its first timeout.
            assert!(fct <= best + FIRST + Duration::from_us(2100), "{packets} packets, {lost} lost: {fct}");
            assert!(stats(&p).0.retransmitted <= 2, "{packets} packets, {lost} lost");
        }
    }
}

#[test]
fn a_lost_ack_is_made_up_for_by_the_next_one() {
    let mut p = pair(40, once(Fate::Drop, |t| matches!(t.header, Header::Ack { seq: 5, .. })));
    assert_eq!(finish(&mut p, 40 * PAYLOAD), PACKET * 40 + DELAY);
    assert_eq!((stats(&p).0.retransmitted, stats(&p).0.timeouts), (0, 0));
}

#[test]
fn a_lost_pull_is_made_up_for_by_the_next_one() {
    let mut p = pair(100, once(Fate::Drop, |t| matches!(t.header, Header::Pull { number: 7, .. })));
    assert_eq!(finish(&mut p, 100 * PAYLOAD), PACKET * 100 + DELAY);
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.timeouts, r.timeouts), (100, 0, 0));
}

#[test]
fn pulls_that_are_all_lost_are_sent_again_by_the_receiver() {
    let mut left = 14;
    let mut p = pair(40, move |_, _, t| {
        if left > 0 && matches!(t.header, Header::Pull { .. }) {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Deliver
    });
    let fct = finish(&mut p, 40 * PAYLOAD);
    // 12 are lost, and the last of them again when it is repeated, twice.
    assert!(fct < FIRST * 3 + Duration::from_ms(3), "{fct}");
    assert_eq!(stats(&p).1.timeouts, 3);
    assert_eq!(stats(&p).0.data_sent, 40, "pulls written off are not answered as well");
}

#[test]
fn a_pull_that_overtakes_its_nack_is_kept_as_credit() {
    // The only NACK is late: when it comes, the pull it earned has long been there.
    let late = Duration::from_us(300);
    let mut p = pair(1, {
        let mut first = true;
        move |_, _, t| match t.header {
            Header::Data { .. } if std::mem::take(&mut first) => Fate::Trim,
            Header::Nack { .. } => Fate::Late(late),
            _ => Fate::Deliver,
        }
    });
    let nack = PACKET + DELAY * 2 + CONTROL + late;
    assert_eq!(finish(&mut p, PAYLOAD), nack + PACKET + DELAY);
    assert_eq!(stats(&p).0.timeouts, 0);
}

#[test]
fn bursts_of_loss_of_every_length_and_place() {
    for start in (0..120).step_by(7) {
        for length in [2, 5, 13, 20] {
            let mut p =
                pair(60, move |n, _, _| if (start..start + length).contains(&n) { Fate::Drop } else { Fate::Deliver });
            let fct = finish(&mut p, 60 * PAYLOAD);
            assert!(fct < FIRST * 10, "{start}+{length}: {fct}");
        }
    }
}

#[test]
fn reordering_alone_loses_no_time_to_timeouts() {
    // Every third packet, of either direction, up to eight packets late.
    let mut p = pair(200, |n, _, _| if n % 3 == 0 { Fate::Late(Duration::from_us(n % 97)) } else { Fate::Deliver });
    let fct = finish(&mut p, 200 * PAYLOAD);
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.timeouts, r.timeouts), (200, 0, 0));
    assert!(fct < PACKET * 200 + Duration::from_us(200), "{fct}");
}

#[test]
fn duplicates_are_acknowledged_and_otherwise_ignored() {
    let mut p = pair(100, |_, _, _| Fate::Duplicate);
    finish(&mut p, 100 * PAYLOAD);
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted), (100, 0));
    assert_eq!((r.data_received, control(&p).0), (200, 200));
}

#[test]
fn the_first_timeout_runs_from_the_departure_and_until_a_round_trip_is_known() {
    // 120 packets take 144 ms at 10 Mbit/s, and the first ACK comes after 1.2 ms.
    let cfg = config(|c| (c.initial_window, c.rto_initial) = (120, Duration::from_ms(10)));
    let mut p = pair_with(&cfg, Some(120 * PAYLOAD), DELAY, |_, _, _| Fate::Deliver).at_mbps(10);
    finish(&mut p, 120 * PAYLOAD);
    assert_eq!((stats(&p).0.data_sent, stats(&p).0.timeouts), (120, 0));
    // The last of them is lost: the measured round trip rules, from when it left on.
    let mut p = pair_with(&cfg, Some(120 * PAYLOAD), DELAY, once(Fate::Drop, |t| is_data(t, 119))).at_mbps(10);
    let fct = finish(&mut p, 120 * PAYLOAD);
    let packet = PACKET * 100;
    assert!((packet * 121..packet * 124).contains(&fct), "{fct}");
}

#[test]
fn the_window_does_not_grow_with_the_length_of_the_path() {
    // Round trips of 20, 80 and 400 ms; timeouts of 1 ms, 50 ms at first.
    for rtt in [20, 80, 400] {
        let packets = 1200;
        let delay = Duration::from_ms(rtt) / 2;
        let mut p = pair_with(&NdpConfig::default(), Some(packets * PAYLOAD), delay, deliver);
        let fct = finish(&mut p, packets * PAYLOAD);
        let rounds = fct.as_secs_f64() / (delay * 2).as_secs_f64() + 0.5;
        assert!(packets as f64 / rounds < 12.0 * 1.001, "{rtt} ms: {rounds} round trips");
        // What is tried again before anything arrives is one packet at a time.
        let (s, r) = stats(&p);
        assert!(s.retransmitted <= rtt / 50 && r.timeouts <= rtt / 50, "{rtt} ms: {s:?} {r:?}");
    }
}

#[test]
fn a_pull_that_was_repeated_is_not_timed_from_the_first_for_long() {
    // All of the first pulls are lost, and repeated after the first timeout; the round trip is 33 us. Late losses then cost
    // a timeout of about 1 ms, not one of 150 ms.
    let mut pulls = 0;
    let mut p = pair(200, move |_, _, t| {
        pulls += u64::from(matches!(t.header, Header::Pull { .. }));
        let late = matches!(t.header, Header::Data { seq: 100, .. });
        if pulls <= 12 && matches!(t.header, Header::Pull { .. }) || late && pulls < 120 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    let fct = finish(&mut p, 200 * PAYLOAD);
    assert!(fct < PACKET * 200 + FIRST + Duration::from_ms(8), "{fct}");
}

#[test]
fn what_is_lost_of_the_first_pulls_and_answers_is_made_up_for() {
    // Twelve packets, then what the first pulls asked for is lost, or all pulls are until the last is repeated.
    for first in [12..24, 12..13, 23..24, 14..20] {
        let lost = move |t: &Transmit<Header>| matches!(t.header, Header::Data { seq, pull, .. } if first.contains(&seq) && pull > 0);
        let mut left = 12;
        let mut p = pair(60, move |_, _, t| {
            let lose = left > 0 && lost(t);
            left -= u32::from(lose);
            if lose { Fate::Drop } else { Fate::Deliver }
        });
        let fct = finish(&mut p, 60 * PAYLOAD);
        assert!(fct < PACKET * 60 + FIRST + Duration::from_ms(3), "{fct}");
    }
}

#[test]
fn lost_packets_do_not_slow_the_pull_clock_for_good() {
    // One data packet in 50 vanishes without a trace. Each would take its pull along.
    let mut p = pair(2000, |n, from, _| if from == 0 && n % 50 == 49 { Fate::Drop } else { Fate::Deliver });
    let fct = finish(&mut p, 2000 * PAYLOAD);
    assert!(fct < PACKET * 3000, "{fct}");
}
