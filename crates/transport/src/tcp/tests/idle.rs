//! An idle path: every time is arithmetic.

use super::*;

/// Completion time by arithmetic: in slow start, after `a` ACKs the window is `initial + a` segments, and what may have
/// been sent ends at `a` segments plus the smaller of window and receive window. Knows nothing of the implementation.
fn expected_completion(bytes: u64, initial: u64, receive_window: u64, handshake: bool) -> Time {
    let mut start = Time::ZERO;
    let mut busy = Time::ZERO;
    if handshake {
        busy += ACK_TIME;
        start = busy + DELAY + ACK_TIME + DELAY;
    }
    let mut acks: Vec<Time> = Vec::new();
    let mut ack_busy = Time::ZERO;
    let mut completed = start;
    let mut sent = 0;
    while sent < bytes {
        let len = MSS.min(bytes - sent);
        let needed =
            (0..=sent).find(|&a| sent + len <= a * MSS + ((initial + a) * MSS).min(receive_window)).unwrap() as usize;
        let ready = if needed == 0 { start } else { acks[needed - 1] };
        busy = busy.max(ready) + Duration((len + 40) * 8_000);
        completed = busy + DELAY;
        ack_busy = ack_busy.max(completed) + ACK_TIME;
        acks.push(ack_busy + DELAY);
        sent += len;
    }
    completed
}

#[test]
fn completion_time_is_what_arithmetic_gives() {
    for bytes in [1, 1460, 1461, 14_600, 14_601, 50_000, 123_456, 1_000_000] {
        for initial_window in [1, 2, 10] {
            for receive_window in [65_535, 10_000_000] {
                for handshake in [true, false] {
                    let receive = crate::Bytes(receive_window);
                    let config =
                        TcpConfig { initial_window, handshake, receive_window: receive, ..TcpConfig::default() };
                    let pair = transfer(&config, bytes, |_, _, _| Fate::Deliver);
                    let expected = expected_completion(bytes, u64::from(initial_window), receive_window, handshake);
                    assert_eq!(
                        pair.completed_at(RECEIVER),
                        Some(expected),
                        "{bytes} B, initial window {initial_window}, receive window {receive_window}, {handshake}"
                    );
                    assert_delivered(&pair, bytes);
                    assert_eq!(pair.nodes[SENDER].stats().data_sent, bytes.div_ceil(MSS));
                }
            }
        }
    }
}

/// One hand-computed number, so that the arithmetic above is not alone: three packets, window of ten.
#[test]
fn three_packets_by_hand() {
    let pair = transfer(&TcpConfig::default(), 3 * MSS, |_, _, _| Fate::Deliver);
    // SYN 0.32 + 100, SYN-ACK 0.32 + 100, three packets of 12 us, 100 us: 336.64 us.
    assert_eq!(pair.completed_at(RECEIVER), Some(Time(336_640_000)));
}

#[test]
fn odd_sizes_arrive_exactly() {
    for bytes in [0, 1, 2, 1459, 1460, 1461, 2919, 2920, 2921] {
        let pair = transfer(&TcpConfig::default(), bytes, |_, _, _| Fate::Deliver);
        assert_delivered(&pair, bytes);
        let payload: u64 = pair.log.iter().map(|(_, _, _, p, _)| u64::from(p.header.len)).sum();
        assert_eq!(payload, bytes);
    }
}

#[test]
fn sizes_on_the_wire() {
    let pair = transfer(&TcpConfig::default(), MSS + 1, |_, _, _| Fate::Deliver);
    let sizes: Vec<(usize, u32, u32)> = pair.log.iter().map(|(_, f, _, p, _)| (*f, p.size, p.trimmed_size)).collect();
    let expected = [
        (0, 40, 40),
        (1, 40, 40),
        (0, 1500, 40),
        (0, 41, 40),
        // ACK of the first, ACK and FIN, ACK of the FIN.
        (1, 40, 40),
        (1, 40, 40),
        (0, 40, 40),
    ];
    assert_eq!(sizes, expected);
}

/// In congestion avoidance the window grows by one segment per round trip.
#[test]
fn congestion_avoidance_adds_a_segment_per_round_trip() {
    let config = TcpConfig { initial_window: 2, receive_window: crate::Bytes(1 << 20), ..TcpConfig::default() };
    // A loss after the window has reached sixteen segments ends slow start.
    let mut pair = transfer(&config, 400 * MSS, lose(&[(16 * MSS, 1)]));
    assert_delivered(&pair, 400 * MSS);
    // Packets sent per round trip after the recovery, counted by who acknowledges: the n-th window starts with the
    // first segment sent after the ACK of the first segment of the window before.
    let sends: Vec<(Time, u64)> = pair
        .log
        .drain(..)
        .filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0 && p.header.seq > 60 * MSS)
        .map(|(at, _, _, p, _)| (at, p.header.seq / MSS))
        .collect();
    let rtt = DELAY + DELAY + DATA_TIME + ACK_TIME;
    let mut windows = Vec::new();
    let mut at = 0;
    while at < sends.len() {
        let count = sends[at..].iter().take_while(|(t, _)| *t < sends[at].0 + rtt).count();
        windows.push(count);
        at += count;
    }
    // Up to 17 segments the pipe of 212.32 us is not full and the round trip is constant.
    assert!(windows.len() > 6 && windows[6] <= 17, "{windows:?}");
    for (grown, count) in windows[..7].iter().enumerate() {
        assert_eq!(*count, windows[0] + grown, "{windows:?}");
    }
}

/// No more than the receive window is ever outstanding, and a full window is used.
#[test]
fn the_receive_window_limits_what_is_outstanding() {
    let window = 10 * MSS + 100;
    let config = TcpConfig { receive_window: crate::Bytes(window), initial_window: 40, ..TcpConfig::default() };
    let pair = transfer(&config, 500_000, |_, _, _| Fate::Deliver);
    assert_delivered(&pair, 500_000);
    let mut largest = 0;
    for (at, from, _, packet, _) in &pair.log {
        if *from == SENDER {
            // ACKs that have arrived by now: sent a delay and their own length ago.
            let acked = pair.log.iter().filter(|(t, f, ..)| *f == RECEIVER && *t + ACK_TIME + DELAY <= *at);
            let una = acked.map(|(.., p, _)| p.header.ack).max().unwrap_or(0);
            largest = largest.max((packet.header.seq + u64::from(packet.header.len)).saturating_sub(una));
        }
    }
    assert_eq!(largest, 10 * MSS);
    // A window that is never used does not grow.
    assert_eq!(pair.nodes[SENDER].cwnd(), Some(40 * MSS));
}

#[test]
fn an_endless_stream_keeps_sending() {
    let config = TcpConfig::default();
    let ends = vec![Connection::connect(&config, None, Time::ZERO), Connection::listen(&config)];
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, |_, _, _| Fate::Deliver);
    assert!(!pair.run(Time::ZERO + Duration::from_ms(20)));
    // 20 ms at 1 Gbit/s are 2.5 MB on the wire; the start costs about three round trips.
    let delivered = pair.nodes[RECEIVER].stats().bytes_delivered;
    assert!(delivered > 2_200_000 && delivered < 2_500_000, "{delivered}");
    assert_eq!(pair.completed_at(RECEIVER), None);
}
