//! The idle path: times computed by hand, to the picosecond.

use super::*;

#[test]
fn one_short_symbol_takes_its_time_on_the_wire_and_the_delay() {
    let mut p = unicast(&ScdpConfig::default(), 100, deliver);
    finish(&mut p);
    assert_eq!(completed(&p, 1), Duration::from_ns(164 * 8) + DELAY);
    assert_eq!(pulls(&p, 1), (0, 0, 1));
    let t = p.log[0].3;
    assert_eq!((t.size, t.trimmed_size, t.control, t.ect, t.priority), (164, 64, false, false, 0));
    assert_eq!(stats(&p, 1).bytes_delivered, 100);
}

#[test]
fn a_repair_symbol_is_never_short() {
    // The one source symbol is trimmed, and then again the repair symbol after it.
    for (object, sizes) in [(100, vec![164, 1500, 1500]), (SYMBOL + 1, vec![1500, 65, 1500, 1500])] {
        let count = sizes.len() as u64;
        let mut symbols = 0;
        let mut p = unicast(&config(|c| c.overhead = 0), object, move |_, from, _| {
            symbols += u64::from(from == HUB);
            if from == HUB && symbols < count { Fate::Trim } else { Fate::Deliver }
        });
        p.run(Time::ZERO + Duration::from_ms(1));
        let sent: Vec<u32> = p.log.iter().filter(|e| e.1 == HUB).map(|e| e.3.size).collect();
        assert_eq!(sent[..sizes.len()], sizes);
    }
}

#[test]
fn an_initial_window_needs_no_pull() {
    let mut p = unicast(&ScdpConfig::default(), 12 * SYMBOL, deliver);
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 12 + DELAY);
    assert_eq!((pulls(&p, 1), stats(&p, 0).data_sent), ((0, 0, 1), 12));
    // The sender is done when *done* arrives, the receiver when it has lingered.
    assert_eq!(p.events[0].last().unwrap().0, Time::ZERO + PACKET * 12 + DELAY * 2 + CONTROL);
    assert_eq!(p.events[1].last().unwrap().0, Time::ZERO + PACKET * 12 + DELAY + Duration::from_ms(200));
}

#[test]
fn without_loss_there_are_k_minus_w_pulls_and_no_symbol_too_many() {
    for k in [13, 99, 100] {
        let mut p = unicast(&ScdpConfig::default(), k * SYMBOL, deliver);
        finish(&mut p);
        assert_eq!(completed(&p, 1), PACKET * k + DELAY);
        assert_eq!(pulls(&p, 1), (k as usize - 12, 0, 1));
        let (s, r) = (stats(&p, 0), stats(&p, 1));
        assert_eq!((s.data_sent, s.retransmitted, s.timeouts), (k, 0, 0));
        assert_eq!((r.data_received, r.overhead_symbols, r.decoded_blocks, r.timeouts), (k, 0, 0, 0));
        assert_eq!(r.bytes_delivered, k * SYMBOL);
    }
}

#[test]
fn the_pipe_never_drains_between_blocks() {
    // 251 symbols in three blocks of 84, 84 and 83; the last has one byte, and its padding is not sent.
    let object = 250 * SYMBOL + 1;
    let mut p = unicast(&ScdpConfig::default(), object, deliver);
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 250 + Duration::from_ns(65 * 8) + DELAY);
    assert_eq!((pulls(&p, 1), stats(&p, 0).data_sent), ((251 - 12, 0, 1), 251));
    let order: Vec<_> = symbols(&p, 0, 1).iter().map(|(_, s, _)| (s.block, s.esi)).collect();
    assert!(order.is_sorted());
    assert_eq!(stats(&p, 1).bytes_delivered, object);
}

#[test]
fn a_window_larger_than_a_block_fills_the_first_blocks() {
    let cfg = config(|c| (c.block_symbols, c.initial_window) = (3, 10));
    let mut p = unicast(&cfg, 30 * SYMBOL, deliver);
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 30 + DELAY);
    assert_eq!((pulls(&p, 1), stats(&p, 0).data_sent), ((20, 0, 1), 30));
    assert_eq!(symbols(&p, 0, 1).iter().filter(|(_, s, _)| s.syn).count(), 10);
}

#[test]
fn a_long_path_is_limited_by_the_window() {
    let delay = Duration::from_us(100);
    let cfg = ScdpConfig::default();
    let nodes = vec![
        Connection::Sender(Sender::unicast(&cfg, Some(30 * SYMBOL))),
        Connection::Receiver(Receiver::new(&cfg, 1, 0)),
    ];
    let mut p = Pair::new(nodes, delay, 1, PACKET, deliver);
    finish(&mut p);
    // A symbol's pull is back 12 + 100 + 0.512 + 100 us after it started to leave; symbol 29 is sixth of the third window.
    let round = PACKET + delay * 2 + CONTROL;
    assert_eq!(completed(&p, 1), round * 2 + PACKET * 6 + delay);
}

#[test]
fn pulls_leave_at_the_pace_of_the_queue() {
    // Half the pace: a host that shares its link with another session.
    let cfg = ScdpConfig::default();
    let nodes = vec![
        Connection::Sender(Sender::unicast(&cfg, Some(40 * SYMBOL))),
        Connection::Receiver(Receiver::new(&cfg, 1, 0)),
    ];
    let mut p = Pair::new(nodes, DELAY, 1, PACKET * 2, deliver);
    finish(&mut p);
    // The first pull follows the first symbol; the 28th leaves 27 turns later; its symbol is the last.
    let first_pull = PACKET + DELAY;
    assert_eq!(completed(&p, 1), first_pull + PACKET * 2 * 27 + CONTROL + DELAY + PACKET + DELAY);
    assert_eq!(pulls(&p, 1), (28, 0, 1));
}

#[test]
fn a_window_of_one_symbol_is_stop_and_wait_and_its_last_pull_is_fin() {
    let cfg = config(|c| c.initial_window = 1);
    let mut p = unicast(&cfg, 40 * SYMBOL, deliver);
    finish(&mut p);
    let round = PACKET + DELAY * 2 + CONTROL;
    assert_eq!(completed(&p, 1), round * 39 + PACKET + DELAY);
    let sent = symbols(&p, 0, 1);
    // 38 symbols are 54 KB: the second priority; the answer to *fin* has the highest.
    assert_eq!((sent[38].2, sent[39].2), (1, 0));
}

#[test]
fn priority_falls_with_the_bytes_sent() {
    let mut p = unicast(&ScdpConfig::default(), 12_000_000, deliver);
    finish(&mut p);
    for (i, (_, symbol, priority)) in symbols(&p, 0, 1).into_iter().enumerate() {
        let expected = match i as u64 * SYMBOL {
            _ if symbol.syn => 0,
            0..10_000 => 0,
            10_000..100_000 => 1,
            100_000..1_000_000 => 2,
            1_000_000..10_000_000 => 3,
            _ => 4,
        };
        assert_eq!(priority, expected, "{i} {symbol:?}");
    }
    assert!(p.log.iter().all(|e| e.3.control == matches!(e.3.header, Header::Pull(_))));
}

#[test]
fn the_urgency_of_pulls_follows_from_what_has_arrived() {
    let urgencies = |priority_by| {
        let mut p = unicast(&ScdpConfig { priority_by, ..ScdpConfig::default() }, 12_000_000, deliver);
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        let urgency = |ms| {
            p.run(at(ms));
            (p.nodes[1].pull_priority(), stats(&p, 1).data_received * SYMBOL)
        };
        (0..90).map(urgency).collect::<Vec<_>>()
    };
    for (urgency, received) in urgencies(PriorityBy::Sent) {
        let expected = [10_000, 100_000, 1_000_000, 10_000_000].iter().filter(|t| **t <= received).count();
        assert_eq!(usize::from(urgency), expected, "{received}");
    }
    assert!(urgencies(PriorityBy::Size).iter().all(|&(urgency, received)| urgency == 4 || received == 0));
}

#[test]
fn an_endless_object_fills_the_link_in_bounded_memory() {
    let cfg = ScdpConfig::default();
    let nodes = vec![Connection::Sender(Sender::unicast(&cfg, None)), Connection::Receiver(Receiver::new(&cfg, 1, 0))];
    let mut p = pair_of(nodes, deliver);
    assert!(!p.run(Time::ZERO + Duration::from_ms(200)));
    let arrived = (Duration::from_ms(200) - DELAY).0 / PACKET.0;
    assert_eq!(stats(&p, 1).bytes_delivered, arrived * SYMBOL);
    assert_eq!((stats(&p, 0).timeouts, stats(&p, 1).timeouts), (0, 0));
    assert!(!p.events.iter().flatten().any(|(_, e)| matches!(e, Event::Completed { .. } | Event::Closed)));
}
