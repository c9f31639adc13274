//! Receivers that hold a one-to-many session back, under each policy.

use super::codec::{SHORT, Shape, short, transfer};
use super::*;
use crate::scdp::{Straggler, StragglerPolicy};
use crate::testing::poor::Poor;
use crate::{FailureReason, Peer};
use proptest::prelude::*;

fn detach() -> ScdpConfig {
    config(|c| (c.straggler.policy, c.straggler.time) = (StragglerPolicy::Detach, Duration::from_ms(1)))
}

fn drop_after(quorum: u16, grace: Duration) -> ScdpConfig {
    let straggler = Straggler { policy: StragglerPolicy::Drop, quorum, grace, ..Straggler::default() };
    config(|c| c.straggler = straggler)
}

/// The sender's events about single receivers.
fn said(pair: &Pair<Connection>) -> Vec<Event> {
    let of_one = |e: &Event| matches!(e, Event::PeerCompleted(_) | Event::PeerDetached(_) | Event::PeerDropped(_));
    pair.events[HUB].iter().map(|(_, e)| *e).filter(of_one).collect()
}

fn detached(pair: &Pair<Connection>) -> Vec<Peer> {
    let peer = |e: &Event| if let Event::PeerDetached(peer) = e { Some(*peer) } else { None };
    said(pair).iter().filter_map(peer).collect()
}

/// The pulls of a node take a millisecond longer, so that it gets a window of symbols in that time instead of in 144 us.
fn slow_pulls(slow: usize) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate {
    move |_, from, _| if from == slow { Fate::Late(Duration::from_ms(1)) } else { Fate::Deliver }
}

/// Everything from and to a node is lost from its n-th packet on.
fn dead(node: usize, after: u32) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate {
    let mut seen = 0;
    move |_, from, _| {
        seen += u32::from(from == node);
        if from == node && seen > after { Fate::Drop } else { Fate::Deliver }
    }
}

#[test]
fn a_slow_receiver_is_detached_and_nothing_is_sent_to_it_twice() {
    const SYMBOLS: u64 = 600;
    let mut p = one_to_many(&detach(), SYMBOLS * SYMBOL, 2, slow_pulls(2));
    finish(&mut p);
    assert_eq!(detached(&p), [1]);
    // The group goes at the slow one's pace for the first milliseconds.
    let waits = config(|_| {});
    let mut q = one_to_many(&waits, SYMBOLS * SYMBOL, 2, slow_pulls(2));
    finish(&mut q);
    assert!(completed(&p, 1) * 4 < completed(&q, 1), "{} against {}", completed(&p, 1), completed(&q, 1));
    for node in 1..=2 {
        let sent = symbols(&p, HUB, node);
        let different: BTreeSet<_> = sent.iter().map(|(_, s, _)| (s.block, s.esi)).collect();
        assert_eq!((sent.len(), different.len()), (SYMBOLS as usize, SYMBOLS as usize), "node {node}");
        assert_eq!((stats(&p, node).decoded_blocks, stats(&p, node).timeouts), (0, 0));
    }
    let sent = stats(&p, HUB).data_sent;
    assert!(sent > SYMBOLS && sent < 2 * SYMBOLS, "the first symbols went to both at once: {sent}");
}

#[test]
fn equal_receivers_stay_together() {
    let mut p = one_to_many(&detach(), 250 * SYMBOL, 3, deliver);
    finish(&mut p);
    assert_eq!((detached(&p), stats(&p, HUB).data_sent), (vec![], 250));
    assert_eq!(completed(&p, 3), PACKET * 250 + DELAY);
}

#[test]
fn a_detached_receiver_gets_what_others_had_beyond_its_pace() {
    // Losses of its own, before and after it is detached.
    let mut n = 0;
    let mut slow = slow_pulls(2);
    let mut p = one_to_many(&detach(), 900 * SYMBOL, 3, move |i, from, t| {
        n += u32::from(from == HUB);
        if from == HUB && n.is_multiple_of(7) { Fate::Trim } else { slow(i, from, t) }
    });
    finish(&mut p);
    assert_eq!(detached(&p), [1]);
    let different: BTreeSet<_> = symbols(&p, HUB, 2).iter().map(|(_, s, _)| (s.block, s.esi)).collect();
    assert_eq!(different.len(), symbols(&p, HUB, 2).len(), "a fork goes on where the group was");
    assert!(stats(&p, 2).decoded_blocks > 0);
}

#[test]
fn a_dead_receiver_is_detached_and_in_the_end_given_up() {
    let cfg = ScdpConfig { retries: 5, ..detach() };
    let mut p = one_to_many(&cfg, 300 * SYMBOL, 3, dead(2, 20));
    finish_but(&mut p, &[2]);
    assert_eq!(said(&p)[0], Event::PeerDetached(1));
    assert_eq!(said(&p).last(), Some(&Event::PeerDropped(1)));
    assert_eq!(p.events[2].last().map(|e| e.1), Some(Event::Failed(FailureReason::GivenUp)), "it is told");
    assert!(completed(&p, 1) < PACKET * 300 + Duration::from_ms(2));
    assert_eq!(completed(&p, 1), completed(&p, 3));
}

#[test]
fn a_receiver_that_hears_nothing_at_first_is_detached_and_served() {
    let mut to_second = 0;
    let mut n = 0;
    let mut p = one_to_many(&detach(), 300 * SYMBOL, 2, move |_, from, _| {
        n += u64::from(from == HUB);
        to_second += u32::from(from == HUB && n.is_multiple_of(2));
        if from == HUB && n.is_multiple_of(2) && to_second <= 12 { Fate::Drop } else { Fate::Deliver }
    });
    finish(&mut p);
    assert_eq!(detached(&p), [1]);
    assert!(completed(&p, 1) < PACKET * 300 + Duration::from_ms(2), "{}", completed(&p, 1));
    assert!(completed(&p, 2) < Duration::from_ms(25), "{}", completed(&p, 2));
}

#[test]
fn the_group_goes_at_the_pace_of_its_quorum() {
    // Pulls of the second receiver are lost from the 20th on: its symbols arrive as they do for the others.
    let grace = Duration::from_ms(1);
    let mut p = one_to_many(&drop_after(2, grace), 300 * SYMBOL, 3, dead(2, 20));
    finish(&mut p);
    for node in 1..=3 {
        assert_eq!(completed(&p, node), PACKET * 300 + DELAY, "node {node}");
    }
    assert_eq!(said(&p), [Event::PeerCompleted(0), Event::PeerCompleted(2), Event::PeerDropped(1)]);
    // A quorum of all is the paper's rule.
    for quorum in [2, 7] {
        let mut p = one_to_many(&drop_after(quorum, grace), 60 * SYMBOL, 2, slow_pulls(2));
        let mut q = one_to_many(&ScdpConfig::default(), 60 * SYMBOL, 2, slow_pulls(2));
        finish(&mut p);
        finish(&mut q);
        assert_eq!((completed(&p, 1), completed(&p, 2)), (completed(&q, 1), completed(&q, 2)));
    }
}

#[test]
fn who_misses_symbols_catches_up_within_the_grace() {
    // One symbol in five to the second receiver is trimmed: it needs as many again when the others are done.
    let mut copies = 0;
    let mut p = one_to_many(&drop_after(2, Duration::from_ms(5)), 300 * SYMBOL, 3, move |_, from, _| {
        copies += u32::from(from == HUB);
        if from == HUB && copies % 15 == 2 { Fate::Trim } else { Fate::Deliver }
    });
    finish(&mut p);
    // When one of the quorum has a block, the second receiver's requests count until the other one has it, too: a few symbols.
    assert!(completed(&p, 1) < PACKET * 324 && completed(&p, 3) < PACKET * 324);
    assert!(said(&p).iter().all(|e| matches!(e, Event::PeerCompleted(_))), "{:?}", said(&p));
    assert!(stats(&p, 0).data_sent < 300 + 90, "{}", stats(&p, 0).data_sent);
}

/// Two hundred blocks of four symbols. The second receiver gets none of the first block, which the others have.
fn behind_from_the_start(grace: Duration, endless: bool) -> Pair<Connection> {
    let cfg = ScdpConfig { block_symbols: 4, ..drop_after(2, grace) };
    let mut copies = 0;
    let lose = move |_: u64, from: usize, t: &Transmit<Header>| {
        let first = from == HUB && matches!(t.header, Header::Symbol(s) if s.block == 0);
        copies += u32::from(first);
        if first && copies % 3 == 2 && copies < 48 { Fate::Trim } else { Fate::Deliver }
    };
    if !endless {
        return one_to_many(&cfg, 800 * SYMBOL, 3, lose);
    }
    let mut nodes = vec![Connection::Sender(Sender::one_to_many(&cfg, None, 3))];
    nodes.extend((0..3).map(|i| Connection::Receiver(Receiver::new(&cfg, 1, i))));
    pair_of(nodes, lose)
}

#[test]
fn a_quorum_goes_on_by_more_blocks_than_are_live_at_once() {
    let mut p = behind_from_the_start(Duration::from_ms(1), false);
    finish_but(&mut p, &[2]);
    // The first block was repaired, until another one had it, too.
    assert!(completed(&p, 1).max(completed(&p, 3)) <= PACKET * 806, "{}", completed(&p, 1));
    assert_eq!(said(&p), [Event::PeerCompleted(0), Event::PeerCompleted(2), Event::PeerDropped(1)]);
}

#[test]
fn who_is_behind_by_many_blocks_has_the_grace_to_catch_up() {
    let mut p = behind_from_the_start(Duration::from_ms(50), false);
    finish(&mut p);
    assert_eq!(said(&p), [Event::PeerCompleted(0), Event::PeerCompleted(2), Event::PeerCompleted(1)]);
    // It had no room for the last 136 blocks, and receives them from then on.
    assert!(completed(&p, 2) < PACKET * (800 + 136 * 4) + Duration::from_ms(5), "{}", completed(&p, 2));
}

#[test]
fn an_endless_group_leaves_who_is_behind_and_keeps_four_bytes_of_each_block() {
    let mut p = behind_from_the_start(Duration::ZERO, true);
    assert!(!p.run(Time::ZERO + PACKET * 4_000), "without an end");
    for node in [1, 3] {
        assert!(stats(&p, node).bytes_delivered > 3_900 * SYMBOL, "{}", p.nodes[node].waiting_for());
    }
    let Connection::Sender(sender) = &p.nodes[HUB] else { panic!("the hub sends") };
    sender.check();
}

/// The last symbols of the object never reach node 2.
fn without_an_end(blocks: u32) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate {
    let mut copies = 0;
    move |_, from, t| match t.header {
        Header::Symbol(s) if from == HUB && s.block + 1 == blocks && s.esi >= 90 => {
            copies += 1;
            // The second copy of three.
            if copies % 3 == 2 { Fate::Drop } else { Fate::Deliver }
        }
        _ => Fate::Deliver,
    }
}

#[test]
fn who_lacks_the_end_when_the_grace_is_over_hears_that_it_is_given_up() {
    let grace = Duration::from_us(500);
    let mut p = one_to_many(&drop_after(2, grace), 300 * SYMBOL, 3, without_an_end(3));
    assert!(p.run(Time::ZERO + Duration::from_secs(1_000)));
    let (all, dropped) = (PACKET * 300 + DELAY, p.events[2].last().copied());
    assert_eq!((completed(&p, 1), completed(&p, 3)), (all, all));
    let Some((when, Event::Failed(FailureReason::GivenUp))) = dropped else { panic!("{dropped:?}") };
    let quorum = all + CONTROL + DELAY;
    assert_eq!(when - Time::ZERO, quorum + grace + CONTROL + DELAY);
    assert_eq!(said(&p), [Event::PeerCompleted(0), Event::PeerCompleted(2), Event::PeerDropped(1)]);
    assert_eq!(p.events[HUB].last().map(|e| e.1), Some(Event::Closed));
    assert_eq!(p.nodes[2].poll_timeout(), None);
}

#[test]
fn a_word_that_was_lost_is_given_again() {
    let mut first = true;
    let mut rest = without_an_end(3);
    let mut p = one_to_many(&drop_after(2, Duration::from_us(500)), 300 * SYMBOL, 3, move |n, from, t| {
        let lose = matches!(t.header, Header::GivenUp) && std::mem::take(&mut first);
        if lose { Fate::Drop } else { rest(n, from, t) }
    });
    assert!(p.run(Time::ZERO + Duration::from_secs(1_000)));
    assert_eq!(p.events[2].last().map(|e| e.1), Some(Event::Failed(FailureReason::GivenUp)));
    assert_eq!(p.events[HUB].last().map(|e| e.1), Some(Event::Closed));
}

#[test]
fn who_has_everything_when_it_is_given_up_says_so() {
    // The second receiver's *done* is late.
    let mut p = one_to_many(&drop_after(2, Duration::ZERO), 300 * SYMBOL, 3, |_, from, t| {
        if from == 2 && is_done(t) { Fate::Late(Duration::from_ms(1)) } else { Fate::Deliver }
    });
    finish(&mut p);
    let said = said(&p);
    assert_eq!(said[2..], [Event::PeerDropped(1), Event::PeerCompleted(1)]);
    // The sender need not linger for anybody.
    assert!(p.events[HUB].last().expect("closed").0 < Time::ZERO + PACKET * 300 + Duration::from_ms(2));
}

/// What a channel does, in packets of 256.
fn poor(seed: u64, lose: u8, trim: u8, late: u8) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static {
    Poor { seed, lose, lose_back: lose, trim, late, latest: Duration::from_ms(3), ..Poor::GOOD }.policy()
}

fn patient() -> impl Strategy<Value = Straggler> {
    let detach = (prop::option::of(1u32..30), 0u64..3_000).prop_map(|(symbols, us)| Straggler {
        policy: StragglerPolicy::Detach,
        symbols,
        time: Duration::from_us(us),
        ..Straggler::default()
    });
    prop_oneof![1 => Just(Straggler::default()), 3 => detach]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No receiver is lost by waiting or by detaching, and all bytes are right.
    #[test]
    fn every_receiver_completes_unless_receivers_are_dropped(
        bytes in 1u64..300 * SHORT, receivers in 2u16..6, straggler in patient(), window in 1u32..40, block in 1u32..=128,
        seed in any::<u64>(), lose in 0u8..60, trim in 0u8..128, late in 0u8..128,
    ) {
        let cfg = short(|c| (c.initial_window, c.block_symbols, c.straggler) = (window, block, straggler));
        transfer(&cfg, bytes, Shape::OneTo(receivers), poor(seed, lose, trim, late));
    }

    /// No receiver is given up before a quorum has the whole object, each ends with the object or with the message that it will
    /// not arrive, and the sender's record of which receivers have it is right.
    #[test]
    fn a_quorum_is_honoured(
        symbols in 1u64..400, receivers in 2u16..6, quorum in 1u16..7, grace in 0u64..3_000, seed in any::<u64>(),
        lose in 0u8..60, trim in 0u8..128, late in 0u8..128,
    ) {
        let cfg = drop_after(quorum, Duration::from_us(grace));
        let mut p = one_to_many(&cfg, symbols * SYMBOL, receivers, poor(seed, lose, trim, late));
        prop_assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
        prop_assert_eq!(p.events[HUB].last().map(|e| e.1), Some(Event::Closed));
        let complete_at = |n: usize| p.events[n].iter().find(|(_, e)| matches!(e, Event::Completed { .. })).map(|e| e.0);
        let first_drop = p.events[HUB].iter().find(|(_, e)| matches!(e, Event::PeerDropped(_))).map(|e| e.0);
        if let Some(at) = first_drop {
            let before = (1..p.nodes.len()).filter(|&n| complete_at(n).is_some_and(|c| c + Duration::from_us(grace) <= at));
            prop_assert!(before.count() >= usize::from(quorum));
        }
        for n in 1..p.nodes.len() {
            // Where all messages are lost, silence tells in the end, unless it has heard of nothing: not even of the session.
            let failed = p.events[n].iter().any(|(_, e)| matches!(e, Event::Failed(_)));
            let heard = p.log.iter().any(|(_, _, to, _, fate)| *to == n && *fate != Fate::Drop);
            let waits = format!("node {n} {}", p.nodes[n].waiting_for());
            prop_assert!(complete_at(n).is_some() != failed || !heard, "{}", waits);
            let dropped = said(&p).contains(&Event::PeerDropped(n as Peer - 1));
            prop_assert!(complete_at(n).is_some() || dropped, "{}", waits);
        }
    }
}

/// Each pull takes time linear in the number of receivers: a thousand would take minutes if each were compared with each.
#[test]
fn a_quorum_of_a_large_group_goes_as_all_of_it_where_nobody_is_late() {
    let all_at = |config: &ScdpConfig| {
        let mut p = one_to_many(config, 60 * SYMBOL, 1000, |_, _, _| Fate::Deliver);
        finish(&mut p);
        (1..=1000).map(|node| completed(&p, node)).collect::<Vec<_>>()
    };
    assert_eq!(all_at(&drop_after(500, Duration::from_ms(50))), all_at(&ScdpConfig::default()));
}
