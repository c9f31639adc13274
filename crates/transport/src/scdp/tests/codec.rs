//! Sessions that carry real bytes, decoded with RaptorQ, whose ends check themselves.

use super::*;
use crate::scdp::layout::Layout;
use crate::scdp::{BlockDecoder, Collected, Decode, RaptorQDecoder, WindowControl};
use crate::testing::poor::draw;
use crate::{Arrival, Bytes};
use anabranch_raptorq::{PlanCache, SourceBlockEncoder};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes of a symbol in these tests.
pub(super) const SHORT: u64 = 8;

/// Parameters for short symbols and blocks that take little time.
pub(super) fn short(change: impl FnOnce(&mut ScdpConfig)) -> ScdpConfig {
    config(|c| {
        (c.packet, c.header) = (Bytes(64 + SHORT), Bytes(64));
        change(c);
        assert!(c.block_symbols <= 128);
    })
}

pub(super) fn object(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| draw(99, i) as u8).collect()
}

/// Plans of all tests.
pub(super) static PLANS: LazyLock<PlanCache> = LazyLock::new(PlanCache::new);

/// The symbols that a sender would send.
#[derive(Debug)]
pub(super) struct Symbols {
    layout: Layout,
    object: Vec<u8>,
    blocks: BTreeMap<u32, SourceBlockEncoder>,
}

impl Symbols {
    pub(super) fn new(config: &ScdpConfig, object: &[u8]) -> Self {
        let layout = Layout::new(object.len() as u64, SHORT, config.block_symbols).expect("small");
        Self { layout, object: object.to_vec(), blocks: BTreeMap::new() }
    }

    /// Its bytes as sent: without the padding of the last symbol.
    pub(super) fn get(&mut self, block: u32, esi: u32) -> Vec<u8> {
        let encoder = self.blocks.entry(block).or_insert_with(|| {
            let k = self.layout.source_symbols(block);
            let first = self.layout.symbols_before(block) as usize * SHORT as usize;
            let bytes = k as usize * SHORT as usize;
            let mut source = self.object[first..self.object.len().min(first + bytes)].to_vec();
            source.resize(bytes, 0);
            let plan = PLANS.plan(k).expect("a block of a session");
            let mut encoder = SourceBlockEncoder::new(plan, k, SHORT as usize).expect("a block of a session");
            encoder.load(&source).expect("a whole block");
            encoder
        });
        let mut symbol = vec![0; SHORT as usize];
        encoder.encode_into(esi, &mut symbol).expect("an encoding symbol");
        if self.layout.is_last(block, esi) {
            symbol.truncate(self.layout.last_symbol_bytes(self.object.len() as u64, SHORT) as usize);
        }
        symbol
    }
}

/// An end whose bookkeeping is checked after every call, and that receives bytes.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) end: Connection,
    symbols: Symbols,
    /// The bytes reassembled so far.
    pub(super) received: Vec<u8>,
    taken: u32,
    /// The sum of the initial windows, and whether it stays constant.
    window: u32,
    fixed: bool,
}

impl Checked {
    fn new(end: Connection, config: &ScdpConfig, object: &[u8], window: u32) -> Self {
        let symbols = Symbols::new(config, object);
        Self {
            end,
            symbols,
            received: Vec::new(),
            taken: 0,
            window,
            fixed: config.window_control == WindowControl::Fixed,
        }
    }

    fn check(&mut self) {
        match &mut self.end {
            Connection::Sender(sender) => sender.check(),
            Connection::Receiver(receiver) => {
                let windows = receiver.check();
                assert!(!self.fixed || [0, self.window].contains(&windows));
                while self.taken < receiver.complete_blocks() {
                    let block = receiver.take_block(self.taken);
                    assert!(receiver.take_block(self.taken).is_empty(), "taken once");
                    self.received.extend(block);
                    self.taken += 1;
                }
            }
        }
    }
}

impl Endpoint for Checked {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        match (&mut self.end, &arrival.header) {
            (Connection::Receiver(receiver), Header::Symbol(symbol)) => {
                let payload = self.symbols.get(symbol.block, symbol.esi);
                receiver.handle_payload(now, arrival, if arrival.trimmed { &[] } else { &payload });
            }
            (end, _) => end.handle_packet(now, arrival),
        }
        self.check();
    }
    fn handle_timeout(&mut self, now: Time) {
        self.end.handle_timeout(now);
        self.check();
    }
    fn set_departure(&mut self, at: Time) {
        self.end.set_departure(at);
    }
    fn uses_departure(&self) -> bool {
        self.end.uses_departure()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        let transmit = self.end.poll_transmit(now);
        self.check();
        transmit
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.end.poll_timeout()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.end.poll_event()
    }
    fn pending_pulls(&self) -> u32 {
        self.end.pending_pulls()
    }
    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        let wanted = self.end.pending_pulls();
        let transmit = self.end.poll_pull(now);
        assert_eq!(wanted > 0, transmit.is_some(), "as many pulls as wanted: {wanted}");
        self.check();
        transmit
    }
    fn poll_hold(&mut self) -> u32 {
        self.end.poll_hold()
    }
    fn stats(&self) -> Stats {
        self.end.stats()
    }
    fn waiting_for(&self) -> String {
        self.end.waiting_for()
    }
}

/// Which ends send to which.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    OneTo(u16),
    ToOne(u16),
}

/// A decoder that is never given a symbol twice.
#[derive(Debug)]
struct Strict {
    decoder: RaptorQDecoder,
    given: BTreeSet<(u32, u32)>,
}

impl BlockDecoder for Strict {
    fn symbol_bytes(&self) -> Option<usize> {
        self.decoder.symbol_bytes()
    }
    fn symbol(&mut self, block: u32, source_symbols: u32, esi: u32, payload: &[u8]) -> bool {
        assert!(self.given.insert((block, esi)), "symbol {esi} of block {block} twice");
        self.decoder.symbol(block, source_symbols, esi, payload)
    }
    fn try_decode(&mut self, now: Time, block: Collected) -> Decode {
        self.decoder.try_decode(now, block)
    }
    fn take(&mut self, block: u32) -> Vec<u8> {
        self.decoder.take(block)
    }
}

/// Transfers an object with its bytes, and checks all invariants afterwards.
#[track_caller]
pub(super) fn transfer(
    config: &ScdpConfig,
    bytes: u64,
    shape: Shape,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Checked> {
    transfer_seeded(config, bytes, shape, u64::from, policy)
}

/// The same; sender `i` draws its repair symbols from `seed(i)`.
#[track_caller]
pub(super) fn transfer_seeded(
    config: &ScdpConfig,
    bytes: u64,
    shape: Shape,
    seed: impl Fn(u16) -> u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Checked> {
    let object = object(bytes);
    let receiver = |senders: u16, i: u16| {
        let decoder = RaptorQDecoder::new(SHORT as usize, PLANS.clone());
        let decoder = Box::new(Strict { decoder, given: BTreeSet::new() });
        Connection::Receiver(Receiver::new(config, senders, u64::from(i)).with_decoder(decoder))
    };
    let (ends, window): (Vec<_>, u32) = match shape {
        Shape::OneTo(n) => {
            let sender =
                if n == 1 { Sender::unicast(config, Some(bytes)) } else { Sender::one_to_many(config, Some(bytes), n) };
            let receivers = (0..n).map(|i| receiver(1, i));
            (std::iter::once(Connection::Sender(sender)).chain(receivers).collect(), config.initial_window)
        }
        Shape::ToOne(n) => {
            let sender = |i| {
                let sender = Sender::many_to_one(config, Some(bytes), i, n);
                Connection::Sender(sender.with_repair_seed(seed(i)))
            };
            let window = config.initial_window_many_to_one * u32::from(n);
            (std::iter::once(receiver(n, 0)).chain((0..n).map(sender)).collect(), window)
        }
    };
    let nodes = ends.into_iter().map(|end| Checked::new(end, config, &object, window)).collect();
    let mut p = Pair::new(nodes, DELAY, 1, Duration::from_ns(72 * 8), policy);
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    for (n, node) in p.nodes.iter().enumerate() {
        assert_eq!(p.events[n].last().map(|(_, e)| *e), Some(Event::Closed), "node {n} {}", node.waiting_for());
        if let Connection::Receiver(_) = node.end {
            assert!(p.completed_at(n).is_some());
            assert_eq!(node.received[..bytes as usize], object);
            assert_eq!(node.stats().bytes_delivered, bytes);
            assert!(node.stats().data_received >= bytes.div_ceil(SHORT), "K symbols of each block");
        }
    }
    p
}

#[test]
fn bytes_arrive_as_they_were_sent() {
    for shape in [Shape::OneTo(1), Shape::OneTo(3), Shape::ToOne(3)] {
        let p = transfer(&short(|_| {}), 2503 * SHORT - 3, shape, deliver);
        // One of the senders may run out of source symbols of a block a little before the others.
        let decoded: u64 = p.nodes.iter().map(|n| n.stats().decoded_blocks).sum();
        assert!(decoded == 0 || matches!(shape, Shape::ToOne(_)), "{decoded}");
    }
}

#[test]
fn bytes_arrive_as_they_were_sent_when_symbols_are_lost() {
    for (fate, shape) in [Fate::Drop, Fate::Trim]
        .into_iter()
        .flat_map(|fate| [Shape::OneTo(1), Shape::OneTo(3), Shape::ToOne(3)].map(|shape| (fate, shape)))
    {
        let p = transfer(&short(|_| {}), 2503 * SHORT - 3, shape, move |n, _, t| {
            if !t.control && draw(5, n).is_multiple_of(10) { fate } else { Fate::Deliver }
        });
        let decoded = p.nodes.iter().map(|n| n.stats().decoded_blocks).max().unwrap();
        assert!(decoded >= 20, "{shape:?} {fate:?} {decoded}");
    }
}

/// Events of a receiver that decodes symbols of `size` bytes and gets `symbols` of 8.
fn told(size: usize, symbols: &[(u32, Vec<u8>)]) -> (Vec<Event>, Receiver) {
    let decoder = Box::new(RaptorQDecoder::new(size, PLANS.clone()));
    let mut receiver = Receiver::new(short(|_| {}), 1, 0).with_decoder(decoder);
    let mut sender = Sender::unicast(short(|_| {}), Some(10 * SHORT));
    let Some(Header::Symbol(first)) = sender.poll_transmit(Time::ZERO).map(|t| t.header) else { panic!("a symbol") };
    for (esi, payload) in symbols {
        let header = Header::Symbol(Symbol { esi: *esi, index: *esi, ..first });
        let arrival = Arrival { header, from: 0, trimmed: false, ce: false, returned: false };
        receiver.handle_payload(Time(u64::from(*esi)), &arrival, payload);
    }
    (std::iter::from_fn(|| receiver.poll_event()).collect(), receiver)
}

#[test]
fn ends_that_disagree_about_the_size_of_a_symbol_fail_at_once() {
    let symbols: Vec<_> = (0..10).map(|esi| (esi, vec![7; SHORT as usize])).collect();
    let (events, _) = told(16, &symbols);
    assert_eq!(events, [Event::Connected, Event::Failed(crate::FailureReason::SymbolSize)]);
    let (events, mut receiver) = told(SHORT as usize, &symbols);
    assert_eq!(events, [Event::Connected, Event::BlockReady(0), Event::Completed { at: Time(9) }]);
    assert_eq!(receiver.take_block(0), vec![7; 10 * SHORT as usize]);
}

#[test]
fn a_symbol_that_the_decoder_does_not_accept_does_not_count() {
    // Too short, too long, empty; then the same symbols as they should be.
    let mut symbols: Vec<_> = (0..10).map(|esi| (esi, vec![7; [0, 7, 9][esi as usize % 3]])).collect();
    let (events, receiver) = told(SHORT as usize, &symbols);
    assert_eq!((events, receiver.stats().data_received, receiver.complete_blocks()), (vec![Event::Connected], 0, 0));
    symbols.extend((0..10).map(|esi| (esi, vec![7; SHORT as usize])));
    let (events, receiver) = told(SHORT as usize, &symbols);
    assert_eq!(events.last(), Some(&Event::Completed { at: Time(9) }));
    assert_eq!(receiver.stats().data_received, 10);
}

#[test]
fn symbols_without_bytes_are_no_session_for_a_decoder() {
    let decoder = Box::new(RaptorQDecoder::new(SHORT as usize, PLANS.clone()));
    let sender = Connection::Sender(Sender::unicast(short(|c| c.retries = 2), Some(10 * SHORT)));
    let receiver = Connection::Receiver(Receiver::new(short(|_| {}), 1, 0).with_decoder(decoder));
    let mut p = pair_of(vec![sender, receiver], deliver);
    assert!(p.run(Time::ZERO + Duration::from_secs(1000)));
    let events: Vec<_> = p.events[1].iter().map(|e| e.1).collect();
    assert_eq!(events, [Event::Failed(crate::FailureReason::SymbolSize)]);
}

#[test]
fn only_a_modelled_decoder_takes_modelled_time() {
    let lose = || once(Fate::Trim, |t| is_symbol(t, 0, 3));
    let p = transfer(&short(|_| {}), 100 * SHORT, Shape::OneTo(1), lose());
    assert_eq!(p.nodes[1].stats().decoded_blocks, 1);
    let told = p.events[1].iter().find(|e| matches!(e.1, Event::Completed { .. })).expect("completed").0;
    assert_eq!(p.completed_at(1), Some(told));
    let mut modelled = modelled(&short(|_| {}), 100 * SHORT, 1, Modelled::taking(DECODE), lose());
    finish(&mut modelled);
    let told = modelled.events[1].iter().find(|e| matches!(e.1, Event::Completed { .. })).expect("completed").0;
    assert_eq!(modelled.completed_at(1), Some(told + DECODE));
}
