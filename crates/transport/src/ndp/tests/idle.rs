//! The idle path: times that arithmetic gives, to the picosecond.

use super::*;

#[test]
fn one_short_packet_takes_its_time_on_the_wire_and_the_delay() {
    let mut p = pair_with(&NdpConfig::default(), Some(100), DELAY, deliver);
    assert_eq!(finish(&mut p, 100), Duration::from_ns(164 * 8) + DELAY);
    assert_eq!(control(&p), (1, 0, 0));
    let t = p.log[0].3;
    assert_eq!((t.size, t.trimmed_size, t.control, t.ect), (164, 64, false, false));
    assert!(matches!(t.header, Header::Data { object: 100, syn: Some(n), last: true, .. } if n.get() == 1));
}

#[test]
fn an_empty_object_is_one_header() {
    let mut p = pair_with(&NdpConfig::default(), Some(0), DELAY, deliver);
    assert_eq!(finish(&mut p, 0), CONTROL + DELAY);
}

#[test]
fn an_initial_window_needs_no_pull() {
    let mut p = pair(12, deliver);
    assert_eq!(finish(&mut p, 12 * PAYLOAD), PACKET * 12 + DELAY);
    assert_eq!(control(&p), (12, 0, 0));
    assert_eq!(stats(&p).0.data_sent, 12);
    // The sender is done when the last ACK is there, the receiver when it has lingered.
    assert_eq!(p.events[SENDER][0].0, Time::ZERO + PACKET * 12 + DELAY * 2 + CONTROL);
    assert_eq!(p.events[RECEIVER][1].0, Time::ZERO + PACKET * 12 + DELAY + NdpConfig::default().linger);
}

#[test]
fn several_windows_keep_the_link_busy_when_the_window_covers_the_round_trip() {
    let object = 100 * PAYLOAD - 1000;
    let mut p = pair_with(&NdpConfig::default(), Some(object), DELAY, deliver);
    assert_eq!(finish(&mut p, object), PACKET * 99 + Duration::from_ns(500 * 8) + DELAY);
    // One ACK for each packet, one pull for each packet but those pushed; nothing sent twice, no timeout.
    assert_eq!(control(&p), (100, 0, 88));
    let (s, r) = stats(&p);
    assert_eq!((s.data_sent, s.retransmitted, s.timeouts), (100, 0, 0));
    assert_eq!((r.data_received, r.trimmed_received, r.timeouts), (100, 0, 0));
    let sent = data(&p);
    assert!(sent.iter().enumerate().all(|(i, &(_, seq, pull))| seq == i as u64 && pull == seq.saturating_sub(11)));
}

#[test]
fn a_long_path_is_limited_by_the_window() {
    // A packet's pull is back 12 + 100 + 0.512 (the ACK) + 0.512 (the pull) + 100 us after the packet started to leave.
    let delay = Duration::from_us(100);
    let mut p = pair_with(&NdpConfig::default(), Some(30 * PAYLOAD), delay, deliver);
    let round = PACKET + delay * 2 + CONTROL * 2;
    // Packet 29 is the sixth of the third window.
    assert_eq!(finish(&mut p, 30 * PAYLOAD), round * 2 + PACKET * 6 + delay);
}

#[test]
fn pulls_leave_at_the_pace_of_the_queue() {
    // Half the pace: a host that shares its link with another connection.
    let cfg = NdpConfig::default();
    let nodes =
        vec![Connection::Sender(Sender::new(&cfg, Some(40 * PAYLOAD))), Connection::Receiver(Receiver::new(&cfg))];
    let mut p = Pair::new(nodes, DELAY, 1, PACKET * 2, deliver);
    // The first pull follows the first ACK; the 28th leaves 27 turns later; its packet is the last.
    let first_pull = PACKET + DELAY;
    assert_eq!(finish(&mut p, 40 * PAYLOAD), first_pull + PACKET * 2 * 27 + CONTROL + DELAY + PACKET + DELAY);
    assert_eq!(control(&p), (40, 0, 28));
}

#[test]
fn a_stream_without_end_fills_the_link_and_never_completes() {
    let mut p = pair_with(&NdpConfig::default(), None, DELAY, deliver);
    assert!(!p.run(Time::ZERO + Duration::from_ms(30)));
    let arrived = (Duration::from_ms(30) - DELAY).0 / PACKET.0;
    assert_eq!(stats(&p).1.bytes_delivered, arrived * PAYLOAD);
    assert_eq!((stats(&p).0.timeouts, stats(&p).1.timeouts), (0, 0));
    assert!(p.events.iter().all(Vec::is_empty));
}

#[test]
fn ndp_plus_demotes_by_bytes_sent() {
    let cfg = config(|c| c.priority_thresholds = [10, 100, 1000, 10_000].map(kilobytes).to_vec());
    let mut p = pair_with(&cfg, Some(12_000_000), DELAY, deliver);
    finish(&mut p, 12_000_000);
    for (_, _, _, t, _) in &p.log {
        let expected = match t.header {
            Header::Data { seq, .. } => match seq * PAYLOAD {
                0..10_000 => 0,
                10_000..100_000 => 1,
                100_000..1_000_000 => 2,
                1_000_000..10_000_000 => 3,
                _ => 4,
            },
            _ => 0,
        };
        assert_eq!(t.priority, expected, "{t:?}");
    }
}

#[test]
fn the_urgency_of_pulls_follows_from_what_has_arrived() {
    for by in [PriorityBy::Sent, PriorityBy::Size] {
        let cfg = config(|c| {
            (c.priority_thresholds, c.priority_by) = ([10, 100, 1000, 10_000].map(kilobytes).to_vec(), by);
        });
        let mut p = pair_with(&cfg, Some(12_000_000), DELAY, deliver);
        for ms in 1..90 {
            p.run(Time::ZERO + Duration::from_ms(ms));
            let received = match by {
                PriorityBy::Sent => p.nodes[1].stats().data_received * PAYLOAD,
                PriorityBy::Size => 12_000_000,
            };
            let expected = [10_000, 100_000, 1_000_000, 10_000_000].iter().filter(|t| **t <= received).count();
            assert_eq!(usize::from(p.nodes[1].pull_priority()), expected, "{ms} ms");
        }
    }
}

#[test]
fn a_window_of_one_packet_is_stop_and_wait() {
    let cfg = config(|c| c.initial_window = 1);
    let mut p = pair_with(&cfg, Some(5 * PAYLOAD), DELAY, deliver);
    let round = PACKET + DELAY * 2 + CONTROL * 2;
    assert_eq!(finish(&mut p, 5 * PAYLOAD), round * 4 + PACKET + DELAY);
}
