//! One sender, several receivers.

use super::*;

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
    let mut n = 0u64;
    let mut p = one_to_many(&ScdpConfig::default(), 500 * SYMBOL, 3, move |_, from, _| {
        n += 1;
        if from == HUB && n * 2_654_435_761 % 97 < 9 { Fate::Trim } else { Fate::Deliver }
    });
    finish(&mut p);
    for node in 1..=3 {
        assert_eq!(stats(&p, node).timeouts, 0, "node {node}");
        assert!(completed(&p, node) < PACKET * 750);
    }
}
