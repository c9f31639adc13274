//! Explicit congestion notification, end to end.

use super::*;
use crate::Bytes;

fn config(congestion: Algorithm) -> TcpConfig {
    let receive_window = Bytes(1 << 20);
    TcpConfig { congestion, ecn: true, initial_window: 20, receive_window, ..TcpConfig::default() }
}

/// Marks the data segments with these numbers.
fn mark(segments: &'static [u64]) -> impl FnMut(u64, usize, &Packet) -> Fate + 'static {
    move |_, from, p| {
        let hit = from == SENDER && p.header.len > 0 && segments.contains(&(p.header.seq / MSS));
        if hit { Fate::Mark } else { Fate::Deliver }
    }
}

fn count(pair: &Pair<Connection>, from: usize, flag: Flags) -> usize {
    let packets = pair.log.iter().filter(|(_, f, _, p, _)| *f == from && p.header.flags.has(flag));
    packets.filter(|(_, _, _, p, _)| !p.header.flags.has(Flags::SYN)).count()
}

#[test]
fn data_is_ecn_capable_and_control_is_not() {
    for (ecn, congestion) in [(true, Algorithm::Reno), (false, Algorithm::Dctcp), (false, Algorithm::Cubic)] {
        let pair = transfer(&TcpConfig { ecn, ..config(congestion) }, 5 * MSS, |_, _, _| Fate::Deliver);
        let on = ecn || congestion == Algorithm::Dctcp;
        assert!(pair.log.iter().all(|(.., p, _)| p.ect == (on && p.header.len > 0)));
    }
}

/// RFC 3168 §6.1.5 for the classic controls; retransmissions of DCTCP and its kin stay ECN-capable.
#[test]
fn retransmissions_are_ecn_capable_only_with_dctcp() {
    for congestion in unpaced() {
        let pair = transfer(&config(congestion), 20 * MSS, lose(&[(3 * MSS, 1)]));
        let sent = pair.log.iter().filter(|(.., p, _)| p.header.seq == 3 * MSS && p.header.len > 0);
        let ect: Vec<bool> = sent.map(|(.., p, _)| p.ect).collect();
        assert_eq!(ect, [true, congestion.needs_ecn()], "{congestion:?}");
    }
}

#[test]
fn ecn_needs_both_ends() {
    let deaf = TcpConfig { ecn: false, ..config(Algorithm::NewReno) };
    let ends =
        vec![Connection::connect(&config(Algorithm::NewReno), Some(50 * MSS), Time::ZERO), Connection::listen(&deaf)];
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, |_, _, _| Fate::Deliver);
    assert!(pair.run(END));
    assert_delivered(&pair, 50 * MSS);
    assert!(pair.log.iter().all(|(.., p, _)| !p.ect));
}

/// Many marks in one window of data: one reduction to half, one CWR, and the echo ends with it.
#[test]
fn a_classic_control_halves_once_per_window() {
    for marks in [&[5_u64][..], &[5, 6, 7, 12, 19][..]] {
        let marks: &'static [u64] = Box::leak(marks.to_vec().into_boxed_slice());
        let pair = transfer(&config(Algorithm::NewReno), 60 * MSS, mark(marks));
        assert_delivered(&pair, 60 * MSS);
        assert_eq!(count(&pair, SENDER, Flags::CWR), 1, "{marks:?}");
        assert!(count(&pair, RECEIVER, Flags::ECE) > marks.len());
        let stats = pair.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (0, 0));
        // Five ACKs grew the window to 25 segments; the sixth halved what was in flight, 24 segments.
        let cwnd = pair.nodes[SENDER].cwnd().unwrap();
        assert!((12 * MSS..=15 * MSS).contains(&cwnd), "{}", cwnd / MSS);
    }
}

/// DCTCP's echo is the mark, one to one.
#[test]
fn dctcp_echoes_one_to_one() {
    let pair = transfer(&config(Algorithm::Dctcp), 60 * MSS, mark(&[5, 6, 7, 12, 30, 41]));
    assert_delivered(&pair, 60 * MSS);
    assert_eq!(count(&pair, RECEIVER, Flags::ECE), 6);
    assert_eq!(pair.nodes[RECEIVER].stats().marked_received, 6);
}

/// The sender alone against RFC 8257 §3.3, evaluated here from what is sent and acknowledged.
#[test]
fn dctcp_s_window_follows_the_formulas() {
    let config = TcpConfig { handshake: false, receive_window: Bytes(1 << 30), ..config(Algorithm::Dctcp) };
    for period in [3, 4, 7, 20] {
        let mut sender = Connection::connect(&config, None, Time::ZERO);
        let mut now = Time::ZERO;
        let (mut sent, mut acked, mut reductions) = (0_u64, 0_u64, 0);
        let (mut alpha, mut window_end, mut bytes, mut marked) = (1.0_f64, 0, 0.0, 0.0);
        let mut reduced_until = 0;
        let (mut grown, mut expected_growth) = (0_u64, 0.0_f64);
        for _ in 0..5000 {
            while let Some(packet) = sender.poll_transmit(now) {
                assert_eq!(packet.header.seq, sent * MSS);
                sent += 1;
            }
            assert_eq!(sent - acked, sender.cwnd().unwrap().max((sent - acked) * MSS) / MSS, "the window is used");
            now += DATA_TIME;
            acked += 1;
            // Clean until slow start has grown a window of 60 segments; then one in `period` is marked.
            let ece = acked > 40 && acked % period == 0;
            let flags = Flags::ACK | Flags::ECE.when(ece);
            let header = Segment { ack: acked * MSS, window: 1 << 30, flags, ..Segment::default() };
            let before = sender.cwnd().unwrap();
            sender.handle_packet(now, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
            let after = sender.cwnd().unwrap();
            bytes += 1.0;
            marked += f64::from(u8::from(ece));
            if acked > window_end {
                alpha = alpha * (1.0 - 1.0 / 16.0) + marked / bytes / 16.0;
                (window_end, bytes, marked) = (sent, 0.0, 0.0);
            }
            if ece && acked > reduced_until {
                let expected = (before as f64 * (1.0 - alpha / 2.0)).max(2.0 * MSS as f64);
                assert!((after as f64 - expected).abs() < 2.0, "{after} instead of {expected}");
                reduced_until = sent;
                reductions += 1;
            } else {
                let growth = after - before;
                assert!(growth == 0 || (growth == MSS && !ece), "{growth}");
                if reductions > 0 {
                    grown += growth / MSS;
                    expected_growth += if ece { 0.0 } else { MSS as f64 / before as f64 };
                }
            }
        }
        assert!(reductions > 50, "{reductions}");
        // RFC 5681 §3.1 eq. 3: a segment per window of clean ACKs, reductions in between or not.
        assert!((grown as f64 / expected_growth - 1.0).abs() < 0.15, "{grown} instead of {expected_growth}");
        assert!((alpha - 1.0 / period as f64).abs() < 0.12, "alpha {alpha} for one mark in {period}");
    }
}

/// A sender driven by hand: acknowledges so many segments, with or without echo; returns the window in bytes.
fn acknowledge(sender: &mut Connection, segments: u64, ece: bool) -> u64 {
    let flags = Flags::ACK | Flags::ECE.when(ece);
    let header = Segment { ack: segments * MSS, window: 1 << 20, flags, ..Segment::default() };
    let arrival = crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false };
    sender.handle_packet(Time::ZERO, &arrival);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    sender.cwnd().unwrap()
}

fn by_hand(config: &TcpConfig) -> Connection {
    let mut sender = Connection::connect(&TcpConfig { handshake: false, ..config.clone() }, None, Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    sender
}

/// RFC 3168 §6.1.2: a loss and a mark in the same window of data are one congestion event.
#[test]
fn a_loss_and_a_mark_in_one_window_reduce_once() {
    let mut sender = by_hand(&TcpConfig { initial_window: 10, ..config(Algorithm::Reno) });
    for _ in 0..3 {
        acknowledge(&mut sender, 0, false);
    }
    // The first new ACK ends Reno's recovery at five segments; twelve were sent before it began.
    assert_eq!(acknowledge(&mut sender, 3, true), 5 * MSS);
    for segments in 4..=12 {
        assert_eq!(acknowledge(&mut sender, segments, true), 5 * MSS);
    }
    assert_eq!(acknowledge(&mut sender, 13, true), 5 * MSS / 2);
}

#[test]
fn a_window_of_one_segment_does_not_grow_by_a_mark() {
    for congestion in unpaced() {
        let mut sender = by_hand(&TcpConfig { initial_window: 1, ..config(congestion) });
        assert_eq!(acknowledge(&mut sender, 1, true), MSS, "{congestion:?}");
        assert_eq!(acknowledge(&mut sender, 2, false), 2 * MSS, "{congestion:?}");
    }
}
