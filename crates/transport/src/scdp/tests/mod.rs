//! Ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each), 64 B control packets (512 ns), pulls paced at 12 us.

mod checking;
mod codec;
mod hostile;
mod hosts;
mod idle;
mod late;
mod loss;
mod many_to_one;
mod one_to_many;
mod property;
mod random;
mod resuming;
mod silence;
mod stragglers;
mod taking;
mod window;

use super::{BlockDecoder, Collected, Connection, Decode, Header, Receiver, ScdpConfig, Sender, Symbol};
use crate::testing::{Fate, Pair, deliver, first, once};
use crate::{Duration, Endpoint, Event, PriorityBy, Stats, Time, Transmit};
use std::collections::BTreeSet;

/// T: bytes of a symbol.
const SYMBOL: u64 = 1436;

/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
/// A control packet's time on the wire.
const CONTROL: Duration = Duration::from_ns(512);
const DELAY: Duration = Duration::from_us(10);

/// The hub: the end that the tests' channels treat differently from the others.
const HUB: usize = 0;

fn pair_of(
    nodes: Vec<Connection>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    Pair::new(nodes, DELAY, 1, PACKET, policy)
}

/// One sender (the hub) and one receiver.
fn unicast(
    config: &ScdpConfig,
    object: u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    one_to_many(config, object, 1, policy)
}

/// One sender (the hub) and several receivers.
fn one_to_many(
    config: &ScdpConfig,
    object: u64,
    receivers: u16,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let sender = if receivers == 1 {
        Sender::unicast(config, Some(object))
    } else {
        Sender::one_to_many(config, Some(object), receivers)
    };
    let mut nodes = vec![Connection::Sender(sender)];
    nodes.extend((0..receivers).map(|i| Connection::Receiver(Receiver::new(config, 1, u64::from(i)))));
    pair_of(nodes, policy)
}

/// A decoder of symbols without bytes that takes `latency` for a block, one after the other, and needs `extra` symbols beyond K.
#[derive(Clone, Copy, Debug)]
struct Modelled {
    latency: Duration,
    extra: u32,
    free: Time,
}

/// What decoding a block takes in tests where that matters.
const DECODE: Duration = Duration::from_us(884);

impl Modelled {
    fn taking(latency: Duration) -> Self {
        Self { latency, extra: 0, free: Time::ZERO }
    }
}

impl BlockDecoder for Modelled {
    fn try_decode(&mut self, now: Time, block: Collected) -> Decode {
        if block.received < block.source_symbols + self.extra {
            return Decode::NeedsMore;
        }
        self.free = self.free.max(now) + self.latency;
        Decode::Decoded { at: self.free }
    }
}

/// As [`one_to_many`], with receivers that have such a decoder.
fn modelled(
    config: &ScdpConfig,
    object: u64,
    receivers: u16,
    decoder: Modelled,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let mut pair = one_to_many(config, object, receivers, policy);
    for (i, node) in (0..receivers).zip(&mut pair.nodes[1..]) {
        *node = Connection::Receiver(Receiver::new(config, 1, u64::from(i)).with_decoder(Box::new(decoder)));
    }
    pair
}

/// One receiver (the hub) and several senders.
fn many_to_one(
    config: &ScdpConfig,
    object: u64,
    senders: u16,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let mut nodes = vec![Connection::Receiver(Receiver::new(config, senders, 7))];
    nodes.extend((0..senders).map(|i| Connection::Sender(Sender::many_to_one(config, Some(object), i, senders))));
    pair_of(nodes, policy)
}

/// Runs until nothing happens and checks what must hold after every session: each receiver completed once, and every end closed, except
/// those in `dead`.
#[track_caller]
fn finish_but(pair: &mut Pair<Connection>, dead: &[usize]) {
    assert!(pair.run(Time::ZERO + Duration::from_secs(100_000)), "{}", pair.nodes[HUB].waiting_for());
    for (n, node) in pair.nodes.iter().enumerate().filter(|(n, _)| !dead.contains(n)) {
        let events: Vec<Event> = pair.events[n].iter().map(|(_, e)| *e).collect();
        let waits = node.waiting_for();
        assert_eq!(events.last(), Some(&Event::Closed), "node {n} {waits}");
        assert_eq!(events.iter().filter(|e| **e == Event::Closed).count(), 1, "node {n}");
        if let Connection::Receiver(_) = node {
            let completed = |e: &&Event| matches!(e, Event::Completed { .. });
            assert_eq!(events.iter().filter(completed).count(), 1, "node {n} {waits}");
        }
        assert_eq!(node.pending_pulls(), 0, "node {n}");
    }
}

#[track_caller]
fn finish(pair: &mut Pair<Connection>) {
    finish_but(pair, &[]);
}

/// When a receiver had the whole object.
#[track_caller]
fn completed(pair: &Pair<Connection>, node: usize) -> Duration {
    pair.completed_at(node).expect("completed") - Time::ZERO
}

fn stats(pair: &Pair<Connection>, node: usize) -> Stats {
    pair.nodes[node].stats()
}

/// Symbols in the order in which they left `from` for `to`: (when, symbol, priority).
fn symbols(pair: &Pair<Connection>, from: usize, to: usize) -> Vec<(Time, Symbol, u8)> {
    let sent = pair.log.iter().filter(|entry| (entry.1, entry.2) == (from, to));
    sent.filter_map(|(at, _, _, t, _)| match t.header {
        Header::Symbol(symbol) => Some((*at, symbol, t.priority)),
        Header::Pull(_) | Header::GivenUp => None,
    })
    .collect()
}

/// Pulls that left a node: for a symbol, repeated after silence, and *done*.
fn pulls(pair: &Pair<Connection>, from: usize) -> (usize, usize, usize) {
    let sent = || {
        pair.log.iter().filter(|entry| entry.1 == from).filter_map(|entry| match entry.3.header {
            Header::Pull(pull) => Some(pull),
            Header::Symbol(_) | Header::GivenUp => None,
        })
    };
    (
        sent().filter(|p| !p.retry && !p.done).count(),
        sent().filter(|p| p.retry).count(),
        sent().filter(|p| p.done).count(),
    )
}

/// No end sends a symbol twice.
#[track_caller]
fn assert_disjoint(pair: &Pair<Connection>, senders: impl Iterator<Item = usize>) {
    let mut seen = BTreeSet::new();
    for sender in senders {
        for (_, symbol, _) in symbols(pair, sender, HUB) {
            assert!(seen.insert((symbol.block, symbol.esi)), "{symbol:?} twice");
        }
    }
}

fn is_symbol(t: &Transmit<Header>, block: u32, esi: u32) -> bool {
    matches!(t.header, Header::Symbol(s) if (s.block, s.esi) == (block, esi))
}

fn is_done(t: &Transmit<Header>) -> bool {
    matches!(t.header, Header::Pull(p) if p.done)
}

fn config(change: impl FnOnce(&mut ScdpConfig)) -> ScdpConfig {
    let mut config = ScdpConfig::default();
    change(&mut config);
    assert_eq!(config.validate(), Ok(()));
    config
}
