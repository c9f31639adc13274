//! One sender, several receivers.

use super::*;
use crate::Arrival;

#[test]
fn equal_receivers_get_each_symbol_once() {
    let mut p = one_to_many(&ScdpConfig::default(), 250 * SYMBOL, 3, deliver);
    finish(&mut p);
    for node in 1..=3 {
        assert_eq!(completed(&p, node), PACKET * 250 + DELAY);
        assert_eq!(pulls(&p, node), (238, 0, 1));
        assert_eq!((stats(&p, node).data_received, stats(&p, node).timeouts), (250, 0));
        assert_eq!(symbols(&p, 0, node).len(), 250);
    }
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 0).timeouts), (250, 0));
    let completions: BTreeSet<u16> = p.events[0]
        .iter()
        .filter_map(|(_, e)| if let Event::PeerCompleted(peer) = e { Some(*peer) } else { None })
        .collect();
    assert_eq!(completions, BTreeSet::from([0, 1, 2]));
}

#[test]
fn pulls_for_several_symbols_are_fewer_and_cost_no_time() {
    let config = config(|c| c.symbols_per_pull = Some(4));
    let mut p = one_to_many(&config, 250 * SYMBOL, 3, deliver);
    finish(&mut p);
    for node in 1..=3 {
        assert_eq!(completed(&p, node), PACKET * 250 + DELAY);
        // For 238 symbols, of three blocks: a pull names one block, and one that says that a block is complete does not wait.
        let (pulls, repeated, done) = pulls(&p, node);
        assert!((60..=64).contains(&pulls) && (repeated, done) == (0, 1), "{pulls}");
        assert_eq!((stats(&p, node).data_received, stats(&p, node).timeouts), (250, 0));
    }
    assert_eq!((stats(&p, 0).data_sent, stats(&p, 0).timeouts), (250, 0));
}

#[test]
fn a_pull_asks_for_half_of_the_window_at_most() {
    let config = config(|c| c.symbols_per_pull = Some(100));
    let mut p = one_to_many(&config, 250 * SYMBOL, 2, deliver);
    finish(&mut p);
    for node in 1..=2 {
        // Six at a time: the other six are on their way meanwhile, for longer than a round trip.
        assert_eq!(completed(&p, node), PACKET * 250 + DELAY);
        assert!(pulls(&p, node).0 <= 238_usize.div_ceil(6) + 3, "{:?}", pulls(&p, node));
    }
    // A window of one is asked for symbol by symbol.
    let config = super::config(|c| (c.symbols_per_pull, c.initial_window) = (Some(100), 1));
    let mut p = one_to_many(&config, 20 * SYMBOL, 2, deliver);
    finish(&mut p);
    assert_eq!(pulls(&p, 1), (19, 0, 1));
}

/// The pulls of `slow` take longer.
fn slow_pulls(slow: usize) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate {
    move |_, from, _| if from == slow { Fate::Late(Duration::from_us(200)) } else { Fate::Deliver }
}

#[test]
fn a_slow_receiver_holds_the_others_back() {
    let mut p = one_to_many(&ScdpConfig::default(), 60 * SYMBOL, 2, slow_pulls(2));
    finish(&mut p);
    // A window for each 12 + 10 + 0.512 + 210 us; the 60th symbol is the last of the fifth window.
    let round = PACKET + DELAY * 2 + CONTROL + Duration::from_us(200);
    for node in 1..=2 {
        assert_eq!(completed(&p, node), round * 4 + PACKET * 12 + DELAY);
        assert_eq!(stats(&p, node).overhead_symbols, 0);
    }
    assert_eq!(stats(&p, 0).data_sent, 60);
}

#[test]
fn the_receiver_that_holds_back_the_others_is_told() {
    let mut p = one_to_many(
        &ScdpConfig::default(),
        60 * SYMBOL,
        2,
        |_, from, _| {
            if from == 2 { Fate::Drop } else { Fate::Deliver }
        },
    );
    assert!(!p.run(Time::ZERO + Duration::from_ms(1)));
    let Connection::Sender(sender) = &p.nodes[HUB] else { panic!("the hub sends") };
    assert_eq!(sender.straggler().map(|(peer, _)| peer), Some(1));
    assert_eq!(stats(&p, 0).data_sent, 12);
}

#[test]
fn receivers_complete_each_by_itself() {
    // The second receiver misses one symbol and needs three more; the first does not wait for them.
    let mut p = one_to_many(&ScdpConfig::default(), 100 * SYMBOL, 2, {
        let mut to_second = false;
        move |_, _, t| {
            to_second ^= is_symbol(t, 0, 5);
            if is_symbol(t, 0, 5) && !to_second { Fate::Trim } else { Fate::Deliver }
        }
    });
    finish(&mut p);
    assert_eq!(completed(&p, 1), PACKET * 100 + DELAY);
    assert_eq!((stats(&p, 1).decoded_blocks, stats(&p, 2).decoded_blocks), (0, 1));
    // The first one's *done* opens the gate: three symbols more.
    let opened = PACKET * 100 + DELAY * 2 + CONTROL;
    assert_eq!(completed(&p, 2), opened + PACKET * 3 + DELAY);
    assert_eq!(stats(&p, 0).data_sent, 103);
}

#[test]
fn a_receiver_whose_done_is_lost_is_probed() {
    let mut p = one_to_many(&ScdpConfig::default(), 100 * SYMBOL, 3, once(Fate::Drop, is_done));
    finish(&mut p);
    assert_eq!((stats(&p, 0).timeouts, stats(&p, 0).retransmitted), (1, 1));
    let probes: Vec<usize> = (1..=3).map(|node| symbols(&p, 0, node).len()).collect();
    assert_eq!(probes.iter().sum::<usize>(), 301, "to one receiver only: {probes:?}");
}

#[test]
fn a_receiver_that_hears_nothing_at_first_catches_up() {
    let mut seen = 0;
    let mut p = one_to_many(&ScdpConfig::default(), 100 * SYMBOL, 2, move |_, from, _| {
        // The first window's packets to the second receiver.
        seen += u32::from(from == HUB);
        if from == HUB && seen <= 24 && seen.is_multiple_of(2) { Fate::Drop } else { Fate::Deliver }
    });
    finish(&mut p);
    assert!(completed(&p, 2) < Duration::from_ms(20));
    // The first receiver waits, and repeats its pull now and then meanwhile.
    assert!(pulls(&p, 1).1 <= 4, "{:?}", pulls(&p, 1));
}

#[test]
fn receivers_with_different_losses_need_no_timeout_if_switches_trim() {
    for symbols_per_pull in [None, Some(2), Some(4)] {
        let config = config(|c| c.symbols_per_pull = symbols_per_pull);
        let mut n = 0u64;
        let mut p = one_to_many(&config, 500 * SYMBOL, 3, move |_, from, _| {
            n += 1;
            if from == HUB && n * 2_654_435_761 % 97 < 9 { Fate::Trim } else { Fate::Deliver }
        });
        finish(&mut p);
        for node in 1..=3 {
            assert_eq!(stats(&p, node).timeouts, 0, "node {node}, {symbols_per_pull:?}");
            assert!(completed(&p, node) < PACKET * 750, "node {node}, {symbols_per_pull:?}");
        }
    }
}

/// Two receivers of three blocks of two symbols, all of which are pushed. The first receives the second symbol only when it has asked for all that it
/// needs, three symbols of the last block, which has lost one. The second receives headers, and may ask for nothing but the first two blocks. `back`: what
/// becomes of their pulls.
fn each_waits_for_the_other(mut back: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static) -> Pair<Connection> {
    let config = config(|c| (c.initial_window, c.block_symbols) = (6, 2));
    let mut copies = 0;
    one_to_many(&config, 6 * SYMBOL, 2, move |n, from, t| {
        copies += usize::from(from == HUB);
        match copies {
            _ if from != HUB => back(n, from, t),
            3 => Fate::Late(PACKET * 30),
            2 | 4 | 6 | 8 | 9 | 10 | 12 => Fate::Trim,
            _ => Fate::Deliver,
        }
    })
}

#[test]
fn a_receiver_that_asks_for_nothing_more_says_which_blocks_it_has() {
    let mut p = each_waits_for_the_other(deliver);
    finish(&mut p);
    assert_eq!([0, 1, 2].map(|node| stats(&p, node).timeouts), [0; 3]);
    let (asking, repeated, _) = pulls(&p, 1);
    assert_eq!((asking, repeated), (3 + 1, 0), "for three symbols, and one that asks for nothing");
    assert!(completed(&p, 2) < Duration::from_ms(1));
}

#[test]
fn if_that_is_lost_a_repeated_pull_says_so() {
    let is_news =
        |t: &Transmit<Header>| matches!(t.header, Header::Pull(p) if (p.block, p.base, p.retry) == (2, 2, false));
    let mut p = each_waits_for_the_other(once(Fate::Drop, is_news));
    finish(&mut p);
    assert!(pulls(&p, 1).1 > 0 && completed(&p, 2) < Duration::from_ms(4));
}

#[test]
fn who_is_no_group_sends_only_pulls_that_ask_for_symbols() {
    let config = config(|c| (c.initial_window, c.initial_window_many_to_one, c.block_symbols) = (24, 12, 2));
    let mut single = unicast(&config, 100 * SYMBOL, deliver);
    finish(&mut single);
    assert_eq!(pulls(&single, 1), (100 - 24, 0, 1));
    let mut several = many_to_one(&config, 100 * SYMBOL, 2, deliver);
    finish(&mut several);
    assert_eq!(pulls(&several, HUB), (100 - 24, 0, 2));
}

/// Counts symbols that carry bytes.
#[derive(Debug)]
struct Counting;

impl BlockDecoder for Counting {
    fn symbol_bytes(&self) -> Option<usize> {
        Some(SYMBOL as usize)
    }
    fn try_decode(&mut self, now: Time, _: Collected) -> Decode {
        Decode::Decoded { at: now }
    }
}

/// Without time passing: a group whose first receiver has an application that takes no block, and whose second gets the header of a symbol of the second
/// block, the last that the first begins.
#[test]
fn whose_application_takes_no_blocks_holds_nobody_back_in_those_that_it_has() {
    let config = config(|c| c.block_symbols = 12);
    let mut sender = Sender::one_to_many(&config, Some(36 * SYMBOL), 2);
    let receiver = |seed| Receiver::new(&config, 1, seed).with_decoder(Box::new(Counting));
    let mut receivers = [receiver(1).with_untaken_limit(1), receiver(2)];
    let arrival = |header, from, trimmed| Arrival { header, from, trimmed, ce: false, returned: false };
    while let Some(sent) = sender.poll_transmit(Time(1)) {
        for (peer, receiver) in (0..).zip(&mut receivers) {
            let trimmed = peer == 1 && is_symbol(&sent, 1, 5);
            let payload = vec![0; if trimmed { 0 } else { SYMBOL as usize }];
            receiver.handle_payload(Time(1), &arrival(sent.header, 0, trimmed), &payload);
            while let Some(pull) = receiver.poll_transmit(Time(1)).or_else(|| receiver.poll_pull(Time(1))) {
                sender.handle_packet(Time(1), &arrival(pull.header, peer, false));
            }
        }
    }
    assert_eq!(receivers.map(|receiver| receiver.complete_blocks()), [2, 2]);
}
