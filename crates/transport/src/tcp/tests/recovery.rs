//! Loss recovery without SACK: fast retransmit, Reno, NewReno, the retransmission timer, reordering, duplicates.

use super::*;
use crate::Bytes;

fn config(congestion: Algorithm) -> TcpConfig {
    TcpConfig { congestion, initial_window: 20, receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

#[test]
fn a_single_loss_is_repaired_without_a_timeout() {
    for congestion in repairing() {
        let pair = transfer(&config(congestion), 40 * MSS, lose(&[(5 * MSS, 1)]));
        assert_delivered(&pair, 40 * MSS);
        let stats = pair.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (1, 0), "{congestion:?}");
        // The third duplicate ACK answers the segment three behind the lost one.
        let sent = sent_at(&pair, 5 * MSS);
        let round_trip = (DELAY + ACK_TIME) * 2;
        let third_duplicate = Time::ZERO + round_trip + DATA_TIME * 9 + DELAY + ACK_TIME + DELAY;
        assert_eq!(sent[1], third_duplicate, "{congestion:?}");
    }
}

#[test]
fn reno_halves_what_was_in_flight() {
    let pair = transfer(&config(Algorithm::Reno), 20 * MSS, lose(&[(0, 1)]));
    assert_delivered(&pair, 20 * MSS);
    // Twenty in flight: ssthresh is ten, and the ACK of everything ends recovery there (nothing is left to grow it).
    assert_eq!(pair.nodes[SENDER].cwnd(), Some(10 * MSS));
}

#[test]
fn newreno_repairs_a_burst_in_one_recovery_and_reno_does_not() {
    let losses: Vec<(u64, u32)> = (4..10).map(|i| (i * MSS, 1)).collect();
    let newreno = transfer(&config(Algorithm::NewReno), 60 * MSS, lose(&losses));
    let reno = transfer(&config(Algorithm::Reno), 60 * MSS, lose(&losses));
    assert_delivered(&newreno, 60 * MSS);
    assert_delivered(&reno, 60 * MSS);
    let stats = newreno.nodes[SENDER].stats();
    assert_eq!((stats.retransmitted, stats.timeouts), (6, 0), "each hole once, on a partial ACK");
    assert!(reno.nodes[SENDER].stats().timeouts >= 1);
    assert!(reno.completed_at(RECEIVER).unwrap() > newreno.completed_at(RECEIVER).unwrap() + Duration::from_ms(150));
    // RFC 6582: one hole per round trip.
    let round_trip = DELAY * 2 + DATA_TIME + ACK_TIME;
    for i in 4..9 {
        let (this, next) = (sent_at(&newreno, i * MSS)[1], sent_at(&newreno, (i + 1) * MSS)[1]);
        assert!(next - this >= round_trip && next - this < round_trip * 2, "{}", next - this);
    }
}

#[test]
fn a_lost_tail_waits_for_the_timer_which_backs_off() {
    for (rto_min, margin) in [(Duration::from_ms(200), 0), (Duration::from_ms(1), 0), (Duration::from_us(10), 1)] {
        let config = TcpConfig { rto_min, ..config(Algorithm::NewReno) };
        let pair = transfer(&config, 5 * MSS, lose(&[(4 * MSS, 3)]));
        assert_delivered(&pair, 5 * MSS);
        let sent = sent_at(&pair, 4 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().timeouts, 3);
        // The fourth ACK restarted the timer for the last time.
        let fourth_ack = sent[0] + DATA_TIME * 4 + DELAY + ACK_TIME + DELAY;
        let first_wait = sent[1] - fourth_ack;
        if margin == 0 {
            assert_eq!(first_wait, rto_min);
        } else {
            // SRTT + 4 RTTVAR after two samples, R1 = 200.64 us (SYN) and R2 = 212.32 us (first segment).
            let (r1, r2) = (200_640_000_u64, 212_320_000_u64);
            let variance = r1 / 2 * 3 / 4 + (r2 - r1) / 4;
            assert_eq!(first_wait, Duration(r1 / 8 * 7 + r2 / 8 + 4 * variance));
        }
        assert_eq!(sent[2] - sent[1], first_wait * 2);
        assert_eq!(sent[3] - sent[2], first_wait * 4);
    }
}

/// After a timeout the sender goes back and slow-starts; what had arrived is acknowledged in one step.
#[test]
fn a_timeout_starts_over_with_one_segment() {
    // The first ten of twenty are lost, and the first one's fast retransmission too.
    let mut losses: Vec<(u64, u32)> = (0..10).map(|i| (i * MSS, 1)).collect();
    losses[0].1 = 2;
    let pair = transfer(&config(Algorithm::NewReno), 30 * MSS, lose(&losses));
    assert_delivered(&pair, 30 * MSS);
    let stats = pair.nodes[SENDER].stats();
    assert_eq!(stats.timeouts, 1);
    let restart = sent_at(&pair, 0)[2];
    let burst = |from: Time, to: Time| {
        let data = pair.log.iter().filter(|(_, f, _, p, _)| *f == SENDER && p.header.len > 0);
        data.filter(|(t, ..)| *t >= from && *t < to).count()
    };
    let round_trip = DELAY * 2 + DATA_TIME + ACK_TIME;
    assert_eq!(burst(restart, restart + round_trip), 1);
    assert_eq!(burst(restart + round_trip, restart + round_trip * 2), 2);
    assert_eq!(burst(restart + round_trip * 2, restart + round_trip * 3), 4);
}

/// RFC 6582 §3.2: duplicate ACKs that answer go-back-N's repetitions start no fast retransmit.
#[test]
fn repetitions_after_a_timeout_cause_no_fast_retransmit() {
    for congestion in [Algorithm::NewReno, Algorithm::Reno] {
        // The fast retransmission of the first hole is lost, so the timer fires. Slow start then repeats segments that
        // have arrived between the holes: 12 fills a hole, 13 to 15 are three duplicates that ask for 16.
        let losses = [(0, 2), (4 * MSS, 1), (8 * MSS, 1), (12 * MSS, 1), (16 * MSS, 1)];
        let pair = transfer(&config(congestion), 60 * MSS, lose(&losses));
        assert_delivered(&pair, 60 * MSS);
        let duplicates = pair.log.iter().filter(|(_, f, _, p, _)| *f == RECEIVER && p.header.ack == 16 * MSS).count();
        assert!(duplicates >= 4, "the case is there");
        assert_eq!(pair.nodes[SENDER].stats().timeouts, 1);
        assert_eq!(sent_at(&pair, 0).len(), 3);
        for hole in [4, 8, 12, 16] {
            assert_eq!(sent_at(&pair, hole * MSS).len(), 2, "{congestion:?}, segment {hole}");
        }
    }
}

#[test]
fn reordering_below_the_threshold_retransmits_nothing() {
    for late in [1, 2] {
        let pair = transfer(&config(Algorithm::NewReno), 40 * MSS, move |_, from, p| {
            // Overtaken by `late` segments.
            let extra = DATA_TIME * late + Duration::from_us(1);
            if from == SENDER && p.header.seq == 6 * MSS { Fate::Late(extra) } else { Fate::Deliver }
        });
        assert_delivered(&pair, 40 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().retransmitted, 0);
    }
}

/// A segment overtaken by five looks lost. Reno and SACK repeat it once. NewReno takes the ACKs of what was in flight
/// for partial ones and repeats a segment for each: RFC 6582's known price, paid once and without a timeout.
#[test]
fn reordering_above_the_threshold_costs_a_recovery_and_no_timeout() {
    let run = |congestion: Algorithm, sack: bool| {
        let mut first = true;
        let config = TcpConfig { sack, ..config(congestion) };
        let pair = transfer(&config, 80 * MSS, move |_, from, p| {
            let hit = from == SENDER && p.header.seq == 6 * MSS && p.header.len > 0;
            if hit && std::mem::replace(&mut first, false) { Fate::Late(DATA_TIME * 5) } else { Fate::Deliver }
        });
        assert_delivered(&pair, 80 * MSS);
        let stats = pair.nodes[SENDER].stats();
        assert_eq!(stats.timeouts, 0);
        stats.retransmitted
    };
    assert_eq!(run(Algorithm::Reno, false), 1);
    assert_eq!(run(Algorithm::NewReno, true), 1);
    let wasted = run(Algorithm::NewReno, false);
    assert!(wasted > 1 && wasted <= 30, "{wasted}");
}

#[test]
fn duplicated_packets_are_delivered_once() {
    let pair =
        transfer(
            &config(Algorithm::NewReno),
            100_001,
            |_, from, _| {
                if from == SENDER { Fate::Duplicate } else { Fate::Deliver }
            },
        );
    assert_delivered(&pair, 100_001);
    let stats = pair.nodes[RECEIVER].stats();
    assert_eq!(stats.data_received, 2 * 100_001_u64.div_ceil(MSS));
    assert_eq!(pair.nodes[SENDER].stats().retransmitted, 0);
}

/// RFC 3042: with a window of four a loss of the second segment leaves two duplicate ACKs, too few; the two segments
/// that limited transmit sends for them bring the third.
#[test]
fn limited_transmit_saves_a_small_window_from_a_timeout() {
    for (limited_transmit, timeouts) in [(true, 0), (false, 1)] {
        let config = TcpConfig { limited_transmit, initial_window: 3, ..config(Algorithm::NewReno) };
        // The first segment is lost and nothing grows the window before.
        let pair = transfer(&config, 8 * MSS, lose(&[(0, 1)]));
        assert_delivered(&pair, 8 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().timeouts, timeouts);
    }
}

/// RFC 6582 §3.2 step 3 ("Impatient"): only the first partial ACK restarts the timer, so that many holes, one per round
/// trip, end in slow start.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    for (holes, timeouts) in [(3, 0), (12, 1)] {
        let losses: Vec<(u64, u32)> = (0..holes).map(|i| (i * MSS, 1)).collect();
        let config = TcpConfig { rto_min: Duration::from_ms(1), ..config(Algorithm::NewReno) };
        let pair = transfer(&config, 40 * MSS, lose(&losses));
        assert_delivered(&pair, 40 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().timeouts, timeouts, "{holes} holes");
    }
}

/// RFC 5681 §3.1: ssthresh is set by the first timeout of a segment only.
#[test]
fn repeated_timeouts_keep_the_threshold() {
    // All of the first flight is lost, and the first segment three times more.
    let mut losses: Vec<(u64, u32)> = (0..20).map(|i| (i * MSS, 1)).collect();
    losses[0].1 = 4;
    let pair = transfer(&config(Algorithm::NewReno), 60 * MSS, lose(&losses));
    assert_delivered(&pair, 60 * MSS);
    assert_eq!(pair.nodes[SENDER].stats().timeouts, 4);
    // Slow start up to ten segments: 1, 2, 4, 8 and not 1, 2, 3, 4.
    let restart = sent_at(&pair, 0)[4];
    let round_trip = DELAY * 2 + DATA_TIME + ACK_TIME;
    let data = pair.log.iter().filter(|(t, f, _, p, _)| *f == SENDER && p.header.len > 0 && *t >= restart);
    let times: Vec<Time> = data.map(|(t, ..)| *t).collect();
    let in_round = |n: u64| {
        times.iter().filter(|t| **t >= restart + round_trip * n && **t < restart + round_trip * (n + 1)).count()
    };
    assert_eq!([in_round(0), in_round(1), in_round(2), in_round(3)], [1, 2, 4, 8]);
}

/// Karn's algorithm, and its spirit: neither repeated segments nor segments behind a hole give a sample.
#[test]
fn losses_leave_no_trace_in_the_round_trip_time() {
    let handshake = (DELAY + ACK_TIME) * 2;
    let tail: Vec<(u64, u32)> = vec![(0, 1)];
    let holes: Vec<(u64, u32)> = (0..6).map(|i| (i * MSS, 1)).collect();
    // A lost only segment (timer), a lost first segment (fast retransmit), new data sent during recovery.
    for (segments, losses) in [(1, &tail), (20, &tail), (26, &holes)] {
        let pair = transfer(&config(Algorithm::NewReno), segments * MSS, lose(losses));
        assert_delivered(&pair, segments * MSS);
        assert_eq!(pair.nodes[SENDER].smoothed_rtt(), handshake, "{segments} segments");
    }
}

/// The window through a NewReno recovery, step by step as RFC 5681 §3.2 and RFC 6582 §3.2 prescribe.
#[test]
fn the_window_in_recovery_step_by_step() {
    let config = TcpConfig { handshake: false, initial_window: 10, ..config(Algorithm::NewReno) };
    let mut sender = Connection::connect(&config, Some(200 * MSS), Time::ZERO);
    let ack = |sender: &mut Connection, segments: u64, window: u32| {
        let header = Segment { ack: segments * MSS, window, flags: Flags::ACK, ..Segment::default() };
        let arrival = crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false };
        sender.handle_packet(Time::ZERO, &arrival);
        let sent: Vec<u64> =
            std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).map(|p| p.header.seq / MSS).collect();
        (sender.cwnd().unwrap() / MSS, sent)
    };
    let same = 1 << 20;
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 10);
    // A window update is no duplicate ACK (RFC 5681 §2 e).
    for window in [same - 1, same - 2, same - 3, same] {
        assert_eq!(ack(&mut sender, 0, window), (10, vec![]));
    }
    // Limited transmit: one new segment for each of the first two.
    assert_eq!(ack(&mut sender, 0, same), (10, vec![10]));
    assert_eq!(ack(&mut sender, 0, same), (10, vec![11]));
    // ssthresh = 10 / 2 without the two; cwnd = 5 + 3.
    assert_eq!(ack(&mut sender, 0, same), (8, vec![0]));
    for cwnd in 9..=12 {
        assert_eq!(ack(&mut sender, 0, same), (cwnd, vec![]));
    }
    assert_eq!(ack(&mut sender, 0, same), (13, vec![12]));
    // Partial: three segments leave, one is added; the hole is repeated.
    assert_eq!(ack(&mut sender, 3, same), (11, vec![3, 13]));
    // Full: everything sent before recovery; one segment is in flight, so cwnd = min(5, 2 + 1) with two.
    assert_eq!(ack(&mut sender, 12, same), (3, vec![14]));
}

/// RFC 5681 §4.3: the loss of a retransmission is a second indication of congestion, so the threshold must fall again.
/// However long recovery has gone on sending new data beyond the hole, the flight that is halved is not all of that.
#[test]
fn a_timeout_in_recovery_lowers_the_threshold_again() {
    for (congestion, sack) in [(Algorithm::NewReno, false), (Algorithm::Reno, false), (Algorithm::NewReno, true)] {
        let config = TcpConfig { handshake: false, sack, ..config(congestion) };
        let mut sender = Connection::connect(&config, Some(1000 * MSS), Time::ZERO);
        let send = |sender: &mut Connection, now: Time| {
            std::iter::from_fn(|| sender.poll_transmit(now)).map(|p| p.header.seq / MSS).max()
        };
        let ack = |sender: &mut Connection, now: Time, segments: u64, sacked: u64| {
            let mut header = Segment { ack: segments * MSS, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
            if sack && sacked > segments {
                header.push_sack(MSS, sacked * MSS);
            }
            sender.handle_packet(now, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
            send(sender, now)
        };
        assert_eq!(send(&mut sender, Time::ZERO), Some(19));
        // The first is lost, and so is its repetition, while a hundred others arrive.
        let sent: Vec<_> = (2..=101).map(|arrived| ack(&mut sender, Time::ZERO, 0, arrived)).collect();
        assert!(sent[99].is_some_and(|segment| segment > 105), "new data kept flowing: {sent:?}");
        // The threshold was 20 / 2 in recovery; now it is half of that.
        let timeout = Time::ZERO + config.rto_initial;
        sender.handle_timeout(timeout);
        assert_eq!(send(&mut sender, timeout), Some(0));
        let windows: Vec<u64> = (102..110)
            .map(|segments| {
                ack(&mut sender, timeout, segments, 0);
                sender.cwnd().unwrap() / MSS
            })
            .collect();
        assert_eq!(windows, [2, 3, 4, 5, 5, 5, 5, 5], "{congestion:?}, SACK {sack}: slow start up to five");
    }
}

#[test]
fn without_fast_retransmit_a_loss_waits_for_the_timer() {
    for sack in [false, true] {
        let config = TcpConfig { sack, rto_min: Duration::from_ms(10), ..TcpConfig::default() };
        let stats = |fast_retransmit| {
            let config = TcpConfig { fast_retransmit, ..config.clone() };
            let pair = transfer(&config, 10 * MSS, lose(&[(5 * MSS, 1)]));
            assert_delivered(&pair, 10 * MSS);
            let sent = sent_at(&pair, 5 * MSS);
            (sent[1].since(sent[0]) >= Duration::from_ms(10), pair.nodes[SENDER].stats().timeouts, sent.len())
        };
        assert_eq!((stats(true), stats(false)), ((false, 0, 2), (true, 1, 2)), "sack {sack}");
    }
    let both = TcpConfig { sack: true, rack: true, fast_retransmit: false, ..TcpConfig::default() };
    assert_eq!(both.validate().err().map(|e| e.field), Some("fast_retransmit"));
}
