//! Several senders, one receiver.

use super::*;

#[test]
fn senders_share_the_object_and_send_nothing_twice() {
    let mut p = many_to_one(&ScdpConfig::default(), 240 * SYMBOL, 3, deliver);
    finish(&mut p);
    assert_disjoint(&p, 1..=3);
    let shares: Vec<u64> = (1..=3).map(|node| stats(&p, node).data_sent).collect();
    assert_eq!(shares.iter().sum::<u64>(), 240);
    assert!(shares.iter().all(|&s| s >= 75), "{shares:?}");
    let r = stats(&p, HUB);
    assert_eq!((r.data_received, r.overhead_symbols, r.decoded_blocks, r.timeouts), (240, 0, 0, 0));
    assert_eq!(pulls(&p, HUB), (240 - 18, 0, 3));
    // Pulls are paced: the last of them brings the last symbol.
    let last = PACKET + DELAY + PACKET * (240 - 18 - 1) + CONTROL + DELAY + PACKET + DELAY;
    assert_eq!(completed(&p, HUB), last);
}

#[test]
fn senders_that_differ_in_pace_wait_for_each_other() {
    for (late, decodes) in [(50, false), (100, false), (400, true)] {
        let mut p = many_to_one(&ScdpConfig::default(), 1000 * SYMBOL, 3, move |_, from, _| {
            if from == 2 { Fate::Late(Duration::from_us(late)) } else { Fate::Deliver }
        });
        finish(&mut p);
        assert_disjoint(&p, 1..=3);
        let r = stats(&p, HUB);
        assert_eq!(r.decoded_blocks > 0, decodes, "{late} us: {} blocks", r.decoded_blocks);
        assert_eq!(r.overhead_symbols, 0, "{late} us");
    }
}

#[test]
fn a_slow_sender_contributes_less() {
    let mut p = many_to_one(&ScdpConfig::default(), 1000 * SYMBOL, 3, |_, from, _| {
        if from == 2 { Fate::Late(Duration::from_us(500)) } else { Fate::Deliver }
    });
    finish(&mut p);
    let shares: Vec<u64> = (1..=3).map(|node| stats(&p, node).data_sent).collect();
    assert!(shares[1] * 3 < shares[0] && shares[1] * 3 < shares[2], "{shares:?}");
    assert!(completed(&p, HUB) < PACKET * 1100, "{:?}", completed(&p, HUB));
}

#[test]
fn a_dead_sender_is_left_out() {
    let mut p = many_to_one(&config(|c| c.retries = 8), 300 * SYMBOL, 3, |_, from, t| {
        if from == 2 || (from == HUB && t.to == 1) { Fate::Drop } else { Fate::Deliver }
    });
    finish_but(&mut p, &[2]);
    assert!(completed(&p, HUB) < Duration::from_ms(12), "{:?}", completed(&p, HUB));
    assert!(p.events[2].iter().any(|(_, e)| matches!(e, Event::Failed(_))));
}

#[test]
fn a_sender_that_dies_on_the_way_is_left_out() {
    let mut sent = 0;
    let mut p = many_to_one(&config(|c| c.retries = 8), 300 * SYMBOL, 3, move |_, from, t| {
        sent += u32::from(from == 2);
        if (from == 2 || (from == HUB && t.to == 1)) && sent > 30 { Fate::Drop } else { Fate::Deliver }
    });
    finish_but(&mut p, &[2]);
    assert!(completed(&p, HUB) < Duration::from_ms(15), "{:?}", completed(&p, HUB));
}

#[test]
fn one_live_sender_is_enough() {
    let mut p = many_to_one(&config(|c| c.retries = 8), 200 * SYMBOL, 3, |_, from, t| {
        if from == 1 || from == 2 || (from == HUB && t.to != 2) { Fate::Drop } else { Fate::Deliver }
    });
    finish_but(&mut p, &[1, 2]);
    assert!(completed(&p, HUB) < Duration::from_ms(25), "{:?}", completed(&p, HUB));
}

#[test]
fn a_sender_that_was_cut_off_comes_back() {
    let mut n = 0;
    let mut p = many_to_one(&ScdpConfig::default(), 3000 * SYMBOL, 2, move |_, from, t| {
        n += 1;
        if (from == 2 || t.to == 1) && (200..1200).contains(&n) { Fate::Drop } else { Fate::Deliver }
    });
    finish(&mut p);
    assert!(stats(&p, 2).data_sent > 300, "{}", stats(&p, 2).data_sent);
}

#[test]
fn a_sender_that_missed_many_blocks_is_of_use_again() {
    let mut n = 0;
    let mut p = many_to_one(&config(|c| c.retries = 50), 20_000 * SYMBOL, 2, move |_, from, t| {
        n += 1;
        let second = from == 2 || t.to == 1;
        // Cut off for more blocks than are live at once; later the other sender dies.
        if second && (200..18_000).contains(&n) || !second && n > 24_000 { Fate::Drop } else { Fate::Deliver }
    });
    finish_but(&mut p, &[1]);
    assert!(stats(&p, 2).data_sent > 8_000, "{}", stats(&p, 2).data_sent);
}

#[test]
fn senders_without_a_share_of_the_blocks_help_when_asked() {
    let few = config(|c| c.block_symbols = 4);
    let mut n = 0;
    let mut p = many_to_one(&few, 1000 * SYMBOL, 8, move |_, from, _| {
        n += 1;
        if from != HUB && n > 800 && n % 200 == 0 { Fate::Trim } else { Fate::Deliver }
    });

    finish(&mut p);
    assert_eq!(stats(&p, HUB).timeouts, 0);
    assert!(stats(&p, HUB).decoded_blocks > 0);
    assert!(completed(&p, HUB) < PACKET * 1100, "{:?}", completed(&p, HUB));
}

#[test]
fn a_slow_sender_of_many_does_not_hold_the_session() {
    let mut p = many_to_one(&ScdpConfig::default(), 2800 * SYMBOL, 12, |_, from, _| {
        if from == 2 { Fate::Late(Duration::from_us(1900)) } else { Fate::Deliver }
    });
    finish(&mut p);
    assert!(completed(&p, HUB) < PACKET * 2800 * 115 / 100, "{:?}", completed(&p, HUB));
}

#[test]
fn an_object_smaller_than_the_number_of_senders() {
    for symbols in [1, 2, 3, 7] {
        let mut p = many_to_one(&ScdpConfig::default(), symbols * SYMBOL, 5, deliver);
        finish(&mut p);
        assert_eq!((1..=5).map(|node| stats(&p, node).data_sent).sum::<u64>(), symbols);
        assert_eq!(completed(&p, HUB), PACKET * symbols.div_ceil(5) + DELAY);
    }
}

#[test]
fn the_only_sender_with_a_symbol_may_be_dead() {
    let mut p = many_to_one(&config(|c| c.retries = 8), 100, 3, |_, from, t| {
        if from == 1 || (from == HUB && t.to == 0) { Fate::Drop } else { Fate::Deliver }
    });
    finish_but(&mut p, &[1]);
    // The others probe with a repair symbol.
    assert!(completed(&p, HUB) < Duration::from_ms(9), "{:?}", completed(&p, HUB));
    assert_eq!(stats(&p, HUB).decoded_blocks, 1);
}
