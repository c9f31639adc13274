//! Receivers of a group that come when it has gone on without them.

use super::*;
use crate::GROUP;
use std::cell::Cell;
use std::rc::Rc;

/// Blocks of the object, more than are in progress at once.
const BLOCKS: u64 = 150;

/// A group of three that goes on without the third, which comes after so many milliseconds; `lose` decides which packets are lost then. Once the third
/// is to join, it does.
fn late(ms: u64, config: &ScdpConfig, mut lose: impl FnMut(u64) -> bool + 'static) -> Pair<Connection> {
    let there = Rc::new(Cell::new(false));
    let comes = Rc::clone(&there);
    let mut copies = 0;
    let mut pair = one_to_many(config, BLOCKS * 100 * SYMBOL, 3, move |n, from, t| {
        // A packet to the group is asked about for each member, and the third is the last.
        copies += u64::from(t.to == GROUP);
        let away = !comes.get() && (from == 3 || t.to == 2 || t.to == GROUP && copies % 3 == 0);
        if away || comes.get() && lose(n) { Fate::Drop } else { Fate::Deliver }
    });
    without(&mut pair, |sender| sender.go_on_without(2));
    pair.run(Time::ZERO + Duration::from_ms(ms));
    there.set(true);
    // The driver knows that it is there.
    without(&mut pair, |sender| sender.probe_receiver(2));
    for step in 0..2_000_000 {
        let Connection::Sender(sender) = &pair.nodes[HUB] else { panic!("the hub sends") };
        sender.check();
        if let Some(first) = sender.joins_at(2)
            && let Connection::Receiver(receiver) = &mut pair.nodes[3]
            && receiver.join_at(first)
        {
            receiver.check();
            assert!(!receiver.join_at(first + 1), "it joins once");
        }
        if pair.run(Time::ZERO + Duration::from_ms(ms) + Duration::from_us(20) * step) {
            break;
        }
    }
    finish(&mut pair);
    pair
}

/// Receivers answer probes.
fn answering() -> ScdpConfig {
    config(|c| c.give_up_after = Some(Duration::from_secs(10)))
}

fn without(pair: &mut Pair<Connection>, change: impl FnOnce(&mut Sender)) {
    let Connection::Sender(sender) = &mut pair.nodes[HUB] else { panic!("the hub sends") };
    change(sender);
}

#[test]
fn who_comes_late_gets_all_whatever_is_lost() {
    for seed in 0..20 {
        let pair = late(5 + 6 * seed, &answering(), move |n| crate::random::mix(n ^ seed << 32) % 100 < 3);
        assert_eq!(stats(&pair, 3).bytes_delivered, BLOCKS * 100 * SYMBOL, "seed {seed}");
    }
}

#[test]
fn who_comes_when_nothing_is_left_to_send_to_the_group_is_sent_all() {
    let mut pair = one_to_many(&ScdpConfig::default(), BLOCKS * 100 * SYMBOL, 2, |_, _, _| Fate::Deliver);
    without(&mut pair, |sender| {
        sender.go_on_without(0);
        sender.go_on_without(1);
        assert!(sender.is_absent(0) && !sender.is_absent(1), "the last one is waited for");
        sender.serve_absent(0);
        assert!(!sender.is_absent(0));
    });
    finish(&mut pair);
    assert_eq!(stats(&pair, 0).data_sent, 2 * BLOCKS * 100, "to each, and once");
}
