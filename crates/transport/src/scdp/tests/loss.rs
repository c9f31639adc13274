//! Unicast over channels that trim, drop, delay and repeat.

use super::*;
use crate::testing::poor::draw;

#[test]
fn a_trimmed_symbol_is_replaced_and_the_block_needs_the_overhead_and_is_decoded() {
    let lose = once(Fate::Trim, |t| is_symbol(t, 0, 5));
    let mut p = modelled(&ScdpConfig::default(), 100 * SYMBOL, 1, Modelled::taking(DECODE), lose);
    finish(&mut p);
    // 102 whole symbols and the trimmed one, back to back.
    assert_eq!(completed(&p, 1), PACKET * 103 + DELAY + DECODE);
    assert_eq!((pulls(&p, 1), stats(&p, 0).data_sent), ((103 - 12, 0, 1), 103));
    let r = stats(&p, 1);
    assert_eq!((r.data_received, r.trimmed_received, r.overhead_symbols, r.decoded_blocks), (102, 1, 2, 1));
    assert_eq!((r.timeouts, stats(&p, 0).timeouts, r.bytes_delivered), (0, 0, 100 * SYMBOL));
}

#[test]
fn a_whole_window_trimmed_costs_its_symbols_and_no_timeout() {
    let mut p =
        unicast(&ScdpConfig::default(), 100 * SYMBOL, |n, _, _| if n < 12 { Fate::Trim } else { Fate::Deliver });
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).timeouts), (114, 0));
    assert_eq!(pulls(&p, 1), (102, 0, 1));
}

#[test]
fn a_failed_decoding_asks_for_exactly_one_more_with_fin() {
    // Decoding fails with K + 2, and works with K + 3.
    let decoder = Modelled { extra: 3, ..Modelled::taking(DECODE) };
    let lose = once(Fate::Trim, |t| is_symbol(t, 0, 5));
    let mut p = modelled(&ScdpConfig::default(), 100 * SYMBOL, 1, decoder, lose);
    finish(&mut p);
    // One round trip and one symbol more.
    let round = CONTROL + DELAY + PACKET + DELAY;
    assert_eq!(completed(&p, 1), PACKET * 103 + DELAY + round + DECODE);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).overhead_symbols, stats(&p, 1).decoded_blocks), (104, 3, 1));
    let sent = symbols(&p, 0, 1);
    assert_eq!((sent[102].2, sent[103].2), (2, 0), "the answer to fin has the highest priority");
}

#[test]
fn a_block_whose_source_symbols_all_arrive_late_is_not_decoded() {
    // Symbol 50 counts as lost when symbol 75 arrives; it arrives before its replacements.
    let policy = once(Fate::Late(Duration::from_us(500)), |t| is_symbol(t, 0, 50));
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, policy);
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 100 + DELAY);
    assert_eq!((stats(&p, 1).decoded_blocks, stats(&p, 1).overhead_symbols), (0, 3));
}

#[test]
fn reordering_within_the_tolerance_costs_nothing() {
    let late = |n: u64, from: usize, _: &Transmit<Header>| {
        if from == HUB && n.is_multiple_of(7) { Fate::Late(Duration::from_us(200)) } else { Fate::Deliver }
    };
    let mut p = unicast(&config(|c| c.initial_window = 40), 300 * SYMBOL, late);
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).decoded_blocks, stats(&p, 1).timeouts), (300, 0, 0));
}

#[test]
fn the_decoder_does_one_block_after_the_other() {
    // A block takes 1.236 ms to arrive.
    let decode = DECODE * 13;
    let lose = |_, _, t: &Transmit<_>| if (0..3).any(|b| is_symbol(t, b, 5)) { Fate::Trim } else { Fate::Deliver };
    let mut p = modelled(&ScdpConfig::default(), 300 * SYMBOL, 1, Modelled::taking(decode), lose);
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 103 + DELAY + decode * 3);
    assert_eq!((stats(&p, 1).decoded_blocks, stats(&p, 0).data_sent), (3, 309));
}

#[test]
fn a_dropped_symbol_shows_as_a_gap() {
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, once(Fate::Drop, |t| is_symbol(t, 0, 5)));
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).timeouts, stats(&p, 1).decoded_blocks), (103, 0, 1));
    assert_eq!(completed(&p, 1), PACKET * 103 + DELAY);
}

#[test]
fn a_lost_pull_is_made_up_for_by_the_next_one() {
    let pull = |t: &Transmit<Header>| matches!(t.header, Header::Pull(p) if p.upto == 30);
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, once(Fate::Drop, pull));
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).timeouts), (100, 0));
    assert_eq!(completed(&p, 1), PACKET * 100 + DELAY);
}

#[test]
fn pulls_that_overtake_one_another_do_no_harm() {
    let late = |n: u64, from: usize, _: &Transmit<Header>| {
        if from == HUB { Fate::Deliver } else { Fate::Late(Duration::from_us(n * 37 % 60)) }
    };
    let mut p = unicast(&ScdpConfig::default(), 250 * SYMBOL, late);
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 1).timeouts, stats(&p, 1).decoded_blocks), (250, 0, 0));
}

#[test]
fn a_first_window_that_is_lost_is_probed_for_and_pulled() {
    let mut p = unicast(&ScdpConfig::default(), 50 * SYMBOL, |n, _, _| if n < 12 { Fate::Drop } else { Fate::Deliver });
    finish(&mut p);
    assert_eq!(stats(&p, 0).timeouts, 1);
    assert!(completed(&p, 1) < Duration::from_ms(8 + 2 + 2));
    // Repeated symbols carry the options again, but are not part of the initial window.
    assert_eq!(
        p.log.iter().map(|sent| sent.3.pushed).take(13).collect::<Vec<_>>(),
        [vec![true; 12], vec![false]].concat()
    );
    assert_eq!(p.log.iter().filter(|sent| sent.3.pushed).count(), 12);
}

/// From a pull to its symbol, where the window keeps the sender's link busy: the least timeout is added to it.
const ROUND_TRIP: Duration = Duration::from_us(12 * 12 + 2);

#[test]
fn all_pulls_of_a_period_lost_cost_a_timeout() {
    let pull = |t: &Transmit<Header>| matches!(t.header, Header::Pull(p) if !p.retry && p.upto > 30);
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, first(12, Fate::Drop, pull));
    finish(&mut p);
    // The repeated pull asks for all of them: nothing was lost.
    assert_eq!((stats(&p, 1).timeouts, stats(&p, 0).data_sent, stats(&p, 1).decoded_blocks), (1, 100, 0));
    assert!(completed(&p, 1) < PACKET * 100 + DELAY * 4 + ROUND_TRIP + Duration::from_ms(2));
}

#[test]
fn the_tail_lost_costs_one_timeout() {
    let tail = |t: &Transmit<Header>| matches!(t.header, Header::Symbol(s) if s.esi >= 95 && s.esi < 100);
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, first(5, Fate::Drop, tail));
    finish(&mut p);
    assert_eq!((stats(&p, 1).timeouts, pulls(&p, 1).1), (1, 1));
    assert_eq!(stats(&p, 0).data_sent, 107);
    assert!(completed(&p, 1) < PACKET * 107 + DELAY * 6 + ROUND_TRIP + Duration::from_ms(2));
}

#[test]
fn a_lost_done_is_asked_for_again() {
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, first(2, Fate::Drop, is_done));
    finish(&mut p);
    assert_eq!((stats(&p, 0).timeouts, stats(&p, 0).retransmitted, pulls(&p, 1).2), (2, 2, 3));
    assert_eq!(completed(&p, 1), PACKET * 100 + DELAY);
}

#[test]
fn repeated_packets_count_once() {
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, |_, _, _| Fate::Duplicate);
    finish(&mut p);
    assert_eq!((stats(&p, 0).data_sent, pulls(&p, 1).0), (100, 88));
    assert_eq!(stats(&p, 1).decoded_blocks, 0);
}

#[test]
fn symbols_that_wait_behind_higher_priorities_are_not_taken_for_lost() {
    // All packets below the highest priority are held until 50 ms: repeated pulls, 2, 6, 14 and 30 ms after the first
    // window, bring one symbol each, which waits too.
    let mut held = 0;
    let mut p = unicast(&ScdpConfig::default(), 100 * SYMBOL, move |_, from, t| {
        held += u32::from(from == HUB && t.priority > 0);
        let us = match held {
            _ if from != HUB || t.priority == 0 => 0,
            1..=12 => 50_000,
            13 => 48_300,
            14 => 44_300,
            15 => 36_300,
            16 => 20_300,
            _ => 0,
        };
        Fate::Late(Duration::from_us(us))
    });
    finish(&mut p);
    let r = stats(&p, 1);
    assert_eq!((r.timeouts, r.decoded_blocks), (4, 0));
    assert!(stats(&p, 0).data_sent <= 104, "{}", stats(&p, 0).data_sent);
    assert!(symbols(&p, 0, 1)[12..].iter().all(|(_, _, priority)| *priority > 0));
}

#[test]
fn a_repair_symbol_dropped_while_later_blocks_arrive_needs_no_timeout() {
    let mut p = unicast(&ScdpConfig::default(), 1000 * SYMBOL, |_, _, t| {
        if is_symbol(t, 0, 5) || is_symbol(t, 0, 100) { Fate::Drop } else { Fate::Deliver }
    });
    finish(&mut p);
    assert_eq!((stats(&p, 1).timeouts, stats(&p, 1).decoded_blocks), (0, 1));
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 0).timeouts), (1004, 0));
}

#[test]
fn without_gaps_silence_alone_finds_all_losses() {
    let cfg = config(|c| c.reorder_tolerance = 0);
    let mut p = unicast(&cfg, 1000 * SYMBOL, |n, _, _| if n % 50 == 7 { Fate::Drop } else { Fate::Deliver });
    finish(&mut p);
    assert!(stats(&p, 1).timeouts > 0);
    assert!(completed(&p, 1) < Duration::from_ms(100), "{:?}", completed(&p, 1));
}

#[test]
fn a_long_pull_queue_of_the_host_is_no_silence() {
    for interval in [Duration::from_ms(3), Duration::from_ms(20)] {
        let cfg = ScdpConfig::default();
        let nodes = vec![
            Connection::Sender(Sender::unicast(&cfg, Some(40 * SYMBOL))),
            Connection::Receiver(Receiver::new(&cfg, 1, 0)),
        ];
        let mut p = Pair::new(nodes, DELAY, 1, interval, deliver);
        finish(&mut p);
        // The sender probes once, and then knows the pace.
        let asked = u64::from(interval > Duration::from_ms(4));
        assert!(stats(&p, 0).timeouts <= asked, "{}", stats(&p, 0).timeouts);
        assert_eq!((stats(&p, 1).timeouts, pulls(&p, 1)), (0, (28, 0, 1)));
    }
}

#[test]
fn endless_objects_keep_few_blocks_at_both_ends() {
    for fate in [Fate::Drop, Fate::Trim] {
        let cfg = config(|c| c.block_symbols = 20);
        let nodes =
            vec![Connection::Sender(Sender::unicast(&cfg, None)), Connection::Receiver(Receiver::new(&cfg, 1, 0))];
        let mut p = pair_of(nodes, move |n, _, _| if draw(3, n).is_multiple_of(20) { fate } else { Fate::Deliver });
        for ms in (10..=400).step_by(10) {
            assert!(!p.run(Time::ZERO + Duration::from_ms(ms)));
            let [Connection::Sender(s), Connection::Receiver(r)] = &p.nodes[..] else { panic!("two ends") };
            s.check();
            assert_eq!(r.check(), 12);
        }
        // 33333 packets could have arrived; a block of 20 pays 2 symbols of overhead for its losses.
        let delivered = stats(&p, 1).bytes_delivered / SYMBOL;
        assert!(delivered > 27_000, "{fate:?} {delivered}");
    }
}

#[test]
fn a_sender_gives_up_within_minutes_whatever_the_pace_was() {
    // Pulls that took 0.3 s, and then none.
    let mut pulls = 0;
    let mut p = unicast(&ScdpConfig::default(), 200 * SYMBOL, move |_, from, _| {
        pulls += u32::from(from != HUB);
        if from == HUB || pulls < 30 { Fate::Late(Duration::from_ms(300)) } else { Fate::Drop }
    });
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    let (when, end) = *p.events[HUB].last().expect("it ends");
    assert_eq!(end, Event::Failed(crate::FailureReason::TimedOut));
    // 1000 probes, at most 64 probe timeouts apart.
    assert!(when < Time::ZERO + Duration::from_secs(520), "{when}");
}

#[test]
fn a_window_that_waits_in_the_senders_own_queue_is_not_probed() {
    // 40 packets take 48 ms at 10 Mbit/s; probes come after 8 ms of silence.
    let cfg = config(|c| c.initial_window = 40);
    let mut p = unicast(&cfg, 40 * SYMBOL, deliver).at_mbps(10);
    finish(&mut p);
    assert_eq!((stats(&p, 0).timeouts, stats(&p, 0).data_sent), (0, 40));
}

#[test]
fn long_and_slow_paths_need_few_repeated_pulls() {
    for (mbps, rtt_ms) in [(1000, 20), (1000, 80), (1000, 400), (10, 0), (1, 0)] {
        let sender = Connection::Sender(Sender::unicast(ScdpConfig::default(), Some(1200 * SYMBOL)));
        let receiver = Connection::Receiver(Receiver::new(ScdpConfig::default(), 1, 0));
        let delay = DELAY + Duration::from_ms(rtt_ms) / 2;
        let mut p = Pair::new(vec![sender, receiver], delay, 1, PACKET * (1000 / mbps), deliver).at_mbps(mbps);
        finish(&mut p);
        let seen = format!("{mbps} Mbit/s, {rtt_ms} ms: {:?} {:?}", stats(&p, 0), stats(&p, 1));
        // Timeouts double up to 128 ms until a round trip is known.
        assert!(stats(&p, 1).timeouts <= 16 && stats(&p, 0).timeouts <= 8, "{seen}");
        assert!(stats(&p, 0).data_sent <= 1200 + 22, "{seen}");
    }
}
