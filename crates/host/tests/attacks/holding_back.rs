//! Receivers that have the key and hold others back: they complete nothing, leave blocks out, ask for too much, or ask slowly.

use anabranch_host::{Failure, HostConfig, Outcome, Straggler, StragglerPolicy};
use anabranch_transport::scdp::Pull;
use anabranch_transport::{Duration, Time};

use super::stranger;
use crate::world::rogue::{Records, Responder};
use crate::world::{self, Faults, World, address, bytes, group, psk};

/// Symbols of a block: few, so that a small object has more blocks than may be in progress.
const K: u32 = 20;
/// A packet of pulls has at most so many.
const PACKET: u32 = 32;
const OBJECT: usize = 4_000_000;

/// What a rogue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It asks for blocks that nobody has got to yet, again and again, and says that it has none.
    PullsFarAhead,
    /// It asks for all blocks in order as others do, and completes none.
    NeverCompletes,
    /// It asks for all blocks but the first.
    LeavesOutTheFirst,
    /// It asks for more and more symbols of the first block.
    AsksForMore,
    /// It says that all it has asked for was lost.
    Repeats,
    /// It completes a block, out of order, each 50 ms.
    StaysAtTheEdge,
    /// It asks for one symbol each 40 ms.
    AsksSlowly,
}

const ALL: [Manner; 7] = [
    Manner::PullsFarAhead,
    Manner::NeverCompletes,
    Manner::LeavesOutTheFirst,
    Manner::AsksForMore,
    Manner::Repeats,
    Manner::StaysAtTheEdge,
    Manner::AsksSlowly,
];

impl Manner {
    /// Pulls that it sends at each millisecond.
    fn pulls(self, ms: u32) -> Vec<Pull> {
        let pull = |block, upto| Pull { block, upto, base: 0, fin: false, retry: false, done: false };
        let batch = ms % 2 * PACKET;
        match self {
            Self::PullsFarAhead => {
                let first = ms * PACKET % 200;
                (first..first + PACKET).map(|block| pull(block, 60_000)).collect()
            }
            Self::NeverCompletes => (batch..batch + PACKET).map(|block| pull(block, K)).collect(),
            Self::LeavesOutTheFirst => (batch + 1..=batch + PACKET).map(|block| pull(block, K)).collect(),
            Self::AsksForMore => vec![pull(0, (8 * ms).min(60_000))],
            Self::Repeats => (0..PACKET).map(|_| Pull { retry: true, ..pull(0, 1) }).collect(),
            Self::StaysAtTheEdge => {
                let base = ms / 50;
                let first = base + batch;
                (first..first + PACKET).rev().map(|block| Pull { base, ..pull(block, K) }).collect()
            }
            Self::AsksSlowly => vec![pull(ms / 40 / K, ms / 40 % K + 1)],
        }
    }
}

/// What came of a group with rogues.
struct Result {
    /// When the honest receivers had the object, and when the session was over.
    honest: Duration,
    over: Duration,
    /// Bytes that were sent to a rogue alone.
    to_rogue: usize,
    outcomes: Vec<Outcome>,
}

/// An object goes to `honest` receivers and to `rogues` of some manner, by a group or as copies.
fn run(stragglers: Straggler, grouped: bool, honest: usize, rogues: u32, manner: Manner) -> Result {
    let config = |_| HostConfig { stragglers, block_symbols: K, ..HostConfig::new(psk()) };
    let mut world = World::with(50, 1 + honest, Faults::default(), config);
    if grouped {
        (1..=honest).for_each(|n| world.nodes[n].joined.push(group()));
    }
    let records = Records::of(&mut world);
    let object = bytes(50, OBJECT);
    let manifest = world::manifest("object", &object);
    let receivers: Vec<_> = (0..rogues).map(stranger).chain((1..=honest).map(address)).collect();
    let group = grouped.then(group);
    let now = world.now;
    let id = world.nodes[0].host.send(now, Box::new(object.clone()), manifest, &receivers, group).expect("a session");
    world.run_until(Time::ZERO + Duration::from_us(1));
    let sent = records.take();
    world.tap = None;
    let mut responders = Vec::new();
    for rogue in 0..rogues {
        let offers = sent.iter().filter(|(_, to, _)| *to == stranger(rogue)).map(|(_, _, bytes)| bytes.clone());
        let (responder, answer) = Responder::to(&psk(), &offers.collect::<Vec<_>>()).expect("an offer");
        world.inject(stranger(rogue), 0, answer);
        responders.push(responder);
    }
    let mut done = None;
    for ms in 0..400_000 {
        if world.nodes[0].host.sessions() == 0 {
            break;
        }
        // Nothing new happens once the honest are done: the rogues need not be asked each millisecond.
        let quick = done.is_none_or(|done| world.now < Time::ZERO + done + Duration::from_secs(2));
        if quick || ms % 1000 == 0 {
            for (rogue, responder) in (0..).zip(&mut responders) {
                let pulls = manner.pulls(ms);
                world.inject(stranger(rogue), 0, responder.pulls(&pulls));
            }
        }
        world.run_until(Time::ZERO + Duration::from_ms(u64::from(ms) + 1));
        if done.is_none() && (1..=honest).all(|n| !world.nodes[n].received.is_empty()) {
            done = Some(world.now - Time::ZERO);
        }
    }
    let has = |n: usize| world.nodes[n].received.first().is_some_and(|received| received.1 == object);
    (1..=honest).for_each(|n| assert!(has(n), "{manner:?} {grouped}: receiver {n}: {:?}", world.nodes[n].failures));
    let outcomes = world.nodes[0].outcomes[&id].values().cloned().collect();
    let to_rogue = (0..rogues).map(|rogue| world.bytes_to[&stranger(rogue)]).max().unwrap_or(0);
    Result { honest: done.expect("they have it"), over: world.now - Time::ZERO, to_rogue, outcomes }
}

/// The others of a group get the object soon, and the rogues not much more than once.
fn check(stragglers: Straggler, (honest, rogues): (usize, u32), manners: &[Manner], within: Duration) {
    for grouped in [true, false] {
        let alone = run(stragglers, grouped, honest, 0, Manner::NeverCompletes);
        for &manner in manners {
            let result = run(stragglers, grouped, honest, rogues, manner);
            let what = format!("{stragglers:?} {grouped} {manner:?}: {} instead of {}", result.honest, alone.honest);
            assert!(result.honest < alone.honest * 2 + within, "{what}");
            let times = result.to_rogue as f64 / OBJECT as f64;
            assert!(times < 1.6, "{what}: {times} of it went to a rogue");
            assert!(result.over < Duration::from_secs(330), "{what}");
            let failed = result.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_)));
            assert_eq!(failed.count(), rogues as usize, "{what}: {:?}", result.outcomes);
        }
    }
}

fn detach() -> Straggler {
    Straggler::on_hosts(StragglerPolicy::Detach)
}

#[test]
fn a_receiver_that_holds_the_others_back_leaves_them() {
    check(detach(), (2, 1), &ALL, Duration::from_ms(500));
}

#[test]
fn two_that_hold_the_others_back_together_leave_them() {
    check(detach(), (2, 2), &[Manner::StaysAtTheEdge], Duration::from_ms(800));
    let asks_much = [Manner::PullsFarAhead, Manner::NeverCompletes, Manner::LeavesOutTheFirst, Manner::AsksForMore];
    check(detach(), (1, 2), &asks_much, Duration::from_ms(800));
}

#[test]
fn who_completes_nothing_is_not_waited_for_where_the_slow_are() {
    let asks_much = [Manner::PullsFarAhead, Manner::NeverCompletes, Manner::LeavesOutTheFirst, Manner::AsksForMore];
    check(Straggler::on_hosts(StragglerPolicy::Wait), (2, 1), &asks_much, Duration::from_secs(2));
    check(Straggler::on_hosts(StragglerPolicy::Wait), (1, 2), &asks_much, Duration::from_secs(3));
}

#[test]
fn a_receiver_that_asks_for_more_and_more_is_sent_a_bounded_number_and_given_up() {
    for manner in [Manner::AsksForMore, Manner::Repeats] {
        let result = run(detach(), false, 0, 1, manner);
        // It began to ask for too much within seconds, and had ten seconds to complete a block.
        assert!(result.over < Duration::from_secs(20), "{manner:?}: {}", result.over);
        assert_eq!(result.outcomes, [Outcome::Failed(Failure::Insatiable)]);
        let symbols = result.to_rogue / 1420;
        assert!(symbols < 100 * K as usize + 10_000, "{manner:?}: {symbols}");
    }
}
