//! Blocks as the application takes them: slow readers, decoders on other threads, and symbols that do not match their headers.

use super::codec::{PLANS, SHORT, Symbols, object, short};
use super::*;
use crate::Arrival;
use crate::scdp::{BlockDecoder, Collected, Decode, Mode, Options, RaptorQDecoder};
use crate::testing::poor::draw;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// A sender and a receiver of real bytes, joined by a channel without delay that loses the symbols it is told to.
struct Joined {
    sender: Sender,
    receiver: Receiver,
    symbols: Symbols,
    now: Time,
    events: Vec<Event>,
    /// Events of both ends, sender first.
    failed: bool,
    /// Blocks that pulls asked for.
    asked: Vec<u32>,
}

impl Joined {
    fn new(config: &ScdpConfig, bytes: u64, receiver: impl FnOnce(Receiver) -> Receiver) -> Self {
        Self {
            sender: Sender::unicast(config, Some(bytes)),
            receiver: receiver(Receiver::new(config, 1, 0)),
            symbols: Symbols::new(config, &object(bytes)),
            now: Time(1),
            events: Vec::new(),
            failed: false,
            asked: Vec::new(),
        }
    }

    fn arrival(header: Header) -> Arrival<Header> {
        Arrival { header, from: 0, trimmed: false, ce: false, returned: false }
    }

    /// Runs whatever can happen without time passing; `lose` decides for each symbol whether it is lost.
    fn exchange(&mut self, mut lose: impl FnMut(&Symbol) -> bool) {
        loop {
            let mut quiet = true;
            while let Some(sent) = self.sender.poll_transmit(self.now) {
                let Header::Symbol(symbol) = sent.header else { continue };
                quiet = false;
                if !lose(&symbol) {
                    let payload = self.symbols.get(symbol.block, symbol.esi);
                    self.receiver.handle_payload(self.now, &Self::arrival(sent.header), &payload);
                }
            }
            while let Some(pull) = self.receiver.poll_transmit(self.now).or_else(|| self.receiver.poll_pull(self.now)) {
                quiet = false;
                if let Header::Pull(pull) = pull.header {
                    self.asked.push(pull.block);
                }
                self.sender.handle_packet(self.now, &Self::arrival(pull.header));
            }
            while let Some(event) = self.receiver.poll_event() {
                self.events.push(event);
                self.failed |= matches!(event, Event::Failed(_));
            }
            while let Some(event) = self.sender.poll_event() {
                self.failed |= matches!(event, Event::Failed(_));
            }
            if quiet {
                return;
            }
        }
    }

    /// Fires all timers that are due within `time`.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.exchange(|_| false);
        loop {
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            match timers.into_iter().flatten().min().filter(|&at| at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
            self.sender.handle_timeout(self.now);
            self.receiver.handle_timeout(self.now);
            self.exchange(|_| false);
        }
        self.now = end;
    }

    fn ready(&self) -> Vec<u32> {
        let number = |e: &Event| if let Event::BlockReady(block) = e { Some(*block) } else { None };
        self.events.iter().filter_map(number).collect()
    }

    fn completed(&self) -> bool {
        self.events.iter().any(|e| matches!(e, Event::Completed { .. }))
    }

    /// The bytes of a block of this many symbols.
    fn expected(bytes: u64, block: u32, symbols: usize) -> Vec<u8> {
        let (size, object) = (symbols * SHORT as usize, object(bytes));
        object[block as usize * size..][..size].to_vec()
    }
}

fn decoder() -> RaptorQDecoder {
    RaptorQDecoder::new(SHORT as usize, PLANS.clone())
}

#[test]
fn a_reader_that_takes_nothing_stops_the_pulls_and_one_that_does_gets_everything() {
    // 200 blocks of 4 symbols; the initial window opens three.
    let cfg = short(|c| c.block_symbols = 4);
    let bytes = 800 * SHORT;
    for limit in [1, 5, 100] {
        let mut joined = Joined::new(&cfg, bytes, |r| r.with_decoder(Box::new(decoder())).with_untaken_limit(limit));
        joined.exchange(|_| false);
        let stopped = joined.ready().len();
        // Blocks that were in progress when the limit was reached.
        assert!((limit..=limit.max(3) + 4).contains(&stopped), "{stopped} of {limit}");
        assert_eq!(joined.receiver.pending_pulls(), 0);
        let mut received = Vec::new();
        for block in 0..200 {
            let untaken = joined.ready().len() - block as usize;
            assert!(untaken <= limit.max(3) + 4, "{untaken} of {limit}");
            let taken = joined.receiver.take_block(block);
            assert_eq!(taken, Joined::expected(bytes, block, 4));
            assert!(joined.receiver.take_block(block).is_empty());
            received.extend(taken);
            joined.exchange(|_| false);
        }
        assert!(joined.completed() && received == object(bytes));
        assert_eq!(joined.ready(), (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn without_a_limit_nothing_waits_for_the_reader() {
    let mut joined = Joined::new(&short(|c| c.block_symbols = 4), 800 * SHORT, |r| r.with_decoder(Box::new(decoder())));
    joined.exchange(|_| false);
    assert!(joined.completed());
    assert_eq!(joined.receiver.take_block(77), Joined::expected(800 * SHORT, 77, 4));
    assert!(joined.receiver.take_block(200).is_empty() && joined.receiver.take_block(u32::MAX).is_empty());
}

#[test]
fn blocks_are_told_to_those_who_can_take_them_only() {
    let mut joined = Joined::new(&short(|_| {}), 800 * SHORT, |r| r);
    joined.exchange(|_| false);
    assert!(joined.completed() && joined.ready().is_empty());
    assert!(joined.receiver.take_block(0).is_empty());
}

#[test]
fn a_sender_does_not_give_up_whose_receiver_s_reader_is_slow() {
    let cfg = short(|c| (c.block_symbols, c.give_up_after) = (4, Some(Duration::from_secs(2))));
    let mut joined = Joined::new(&cfg, 800 * SHORT, |r| r.with_decoder(Box::new(decoder())).with_untaken_limit(5));
    joined.exchange(|_| false);
    joined.pass(Duration::from_secs(60));
    assert!(!joined.failed && !joined.completed());
    for block in 0..200 {
        assert_eq!(joined.receiver.take_block(block), Joined::expected(800 * SHORT, block, 4));
        // A symbol that was sent as a probe may not have been kept: its replacement takes a timeout.
        joined.pass(Duration::from_ms(50));
    }
    assert!(joined.completed() && !joined.failed);
}

/// A decoder that answers later: the blocks to decode, and the decoder that does so then.
#[derive(Clone, Debug)]
struct Later {
    decoder: Arc<Mutex<RaptorQDecoder>>,
    pending: Arc<Mutex<Vec<u32>>>,
}

impl Later {
    fn new() -> Self {
        Self { decoder: Arc::new(Mutex::new(decoder())), pending: Arc::default() }
    }

    fn pending(&self) -> Vec<u32> {
        std::mem::take(&mut *self.pending.lock().expect("one thread"))
    }

    fn decode(&self, block: u32) -> bool {
        let block = Collected { block, source_symbols: 0, received: 0 };
        self.decoder.lock().expect("one thread").try_decode(Time::ZERO, block) == Decode::Decoded { at: Time::ZERO }
    }
}

impl BlockDecoder for Later {
    fn symbol_bytes(&self) -> Option<usize> {
        Some(SHORT as usize)
    }
    fn symbol(&mut self, block: u32, source_symbols: u32, esi: u32, payload: &[u8]) -> bool {
        self.decoder.lock().expect("one thread").symbol(block, source_symbols, esi, payload)
    }
    fn try_decode(&mut self, _: Time, block: Collected) -> Decode {
        let mut pending = self.pending.lock().expect("one thread");
        assert!(!pending.contains(&block.block), "{block:?} is being decoded");
        pending.push(block.block);
        Decode::Pending
    }
    fn take(&mut self, block: u32) -> Vec<u8> {
        self.decoder.lock().expect("one thread").take(block)
    }
}

#[test]
fn blocks_may_be_decoded_elsewhere() {
    let later = Later::new();
    let cfg = short(|c| c.block_symbols = 20);
    let bytes = 400 * SHORT;
    let mut joined = Joined::new(&cfg, bytes, |r| r.with_decoder(Box::new(later.clone())));
    let mut refused = BTreeSet::new();
    // The fourth symbol of each block is lost.
    joined.exchange(|s| s.esi == 3);
    for round in 0.. {
        assert!(round < 100);
        let pending = later.pending();
        if pending.is_empty() {
            break;
        }
        // Until their results are reported, nothing is requested.
        joined.asked.clear();
        joined.pass(Duration::from_secs(5));
        assert!(joined.asked.iter().all(|block| !pending.contains(block)), "{:?}", joined.asked);
        for block in pending {
            // Reports for blocks that are not pending or do not exist are ignored.
            joined.receiver.decoded(joined.now, block + 20, true);
            // The first try fails for each block.
            let complete = !refused.insert(block) && later.decode(block);
            joined.receiver.decoded(joined.now, block, complete);
            joined.receiver.decoded(joined.now, block, !complete);
            joined.receiver.check();
        }
        joined.exchange(|s| s.esi == 3);
    }
    assert!(joined.completed() && refused.len() == 20);
    // Two beyond K, and one as the first try failed.
    assert_eq!(joined.receiver.stats().overhead_symbols, 20 * 3);
    let received: Vec<u8> = (0..20).flat_map(|block| joined.receiver.take_block(block)).collect();
    assert_eq!(received, object(bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Symbols of wrong sizes, numbers, senders and sessions between the right ones: none of them counts, and each block
    /// that is reported has its bytes.
    #[test]
    fn every_block_that_completes_has_its_bytes(
        seed in any::<u64>(), block_symbols in 1u32..30, bytes in SHORT..300 * SHORT, lose in 0u64..30, hostile in 0u64..4,
    ) {
        let cfg = short(|c| c.block_symbols = block_symbols);
        let mut joined = Joined::new(&cfg, bytes, |r| r.with_decoder(Box::new(decoder())));
        // The first symbol, which describes the session.
        let first = joined.sender.poll_transmit(joined.now).expect("a symbol");
        let Header::Symbol(session) = first.header else { panic!("a symbol") };
        let payload = joined.symbols.get(0, 0);
        joined.receiver.handle_payload(joined.now, &Joined::arrival(first.header), &payload);
        let whole = object(bytes);
        let mut n = 0;
        let lies = |n: u64| {
            let z = |salt| draw(draw(seed, n), salt);
            let block = (z(0) % 40) as u32;
            let index = (z(1) % 60) as u32;
            let options = session.options;
            let other = Options { object_bytes: z(2) % (2 * bytes) + 1, mode: Mode::Unicast, ..options };
            let size = SHORT as usize;
            let (symbol, length) = match z(3) % 5 {
                // A size that no symbol has; the last one may be shorter, by its padding.
                0 => (Symbol { block, esi: index, index, ..session }, size + 1 + (z(4) % 20) as usize),
                1 => (Symbol { block, esi: index, index, ..session }, 0),
                // A number that the sender's stream does not have there.
                2 => (Symbol { block, esi: index + 1 + (z(4) % 9) as u32, index: 0, ..session }, size),
                3 => (Symbol { block: u32::MAX - block, esi: index, index, ..session }, size),
                _ if other.object_bytes == options.object_bytes => (Symbol { block, esi: index, index, ..session }, 0),
                // A symbol of another object, with its options.
                _ => (Symbol { block, esi: index, index, options: other, syn: true }, size),
            };
            (symbol, vec![0xEE; length])
        };
        for step in 0..200_000 {
            prop_assert!(step < 199_999);
            let Some(sent) = joined.sender.poll_transmit(joined.now) else {
                let pull = joined.receiver.poll_transmit(joined.now).or_else(|| joined.receiver.poll_pull(joined.now));
                if let Some(pull) = pull {
                    joined.sender.handle_packet(joined.now, &Joined::arrival(pull.header));
                    continue;
                }
                if joined.receiver.complete_blocks() == bytes.div_ceil(SHORT).div_ceil(u64::from(block_symbols)) as u32 {
                    break;
                }
                joined.pass(Duration::from_ms(10));
                continue;
            };
            let Header::Symbol(symbol) = sent.header else { continue };
            for _ in 0..hostile {
                n += 1;
                let (lie, payload) = lies(n);
                let before = joined.receiver.stats();
                let from = u16::from(n.is_multiple_of(7));
                let arrival = Arrival { from, ..Joined::arrival(Header::Symbol(lie)) };
                joined.receiver.handle_payload(joined.now, &arrival, &payload);
                let after = joined.receiver.stats();
                // Symbols of blocks not in progress are counted, but have no effect.
                prop_assert_eq!(before.bytes_delivered, after.bytes_delivered);
                prop_assert_eq!(before.decoded_blocks, after.decoded_blocks);
            }
            if draw(seed ^ 1, n ^ u64::from(symbol.esi) << 32) % 100 >= lose {
                let payload = joined.symbols.get(symbol.block, symbol.esi);
                joined.receiver.handle_payload(joined.now, &Joined::arrival(sent.header), &payload);
            }
        }
        let blocks = joined.receiver.complete_blocks();
        let received: Vec<u8> = (0..blocks).flat_map(|block| joined.receiver.take_block(block)).collect();
        prop_assert!(received[..bytes as usize] == whole[..]);
        prop_assert!(!joined.failed);
    }
}

#[test]
fn who_has_the_first_blocks_asks_for_the_others_only() {
    // 200 blocks of 4 symbols.
    let cfg = short(|c| c.block_symbols = 4);
    let bytes = 800 * SHORT;
    let mut all = 0;
    for (here, first) in [(0, 0), (1, 1), (2, 2), (3, 3), (100, 100), (199, 199), (200, 199), (u32::MAX, 199)] {
        let mut joined = Joined::new(&cfg, bytes, |r| r.with_decoder(Box::new(decoder())).with_first(here));
        let mut n = 0_u32;
        // A part of the first window among them.
        joined.exchange(|_| {
            n += 1;
            draw(1, u64::from(n)) % 7 == 3
        });
        joined.pass(Duration::from_ms(500));
        assert!(joined.completed() && !joined.failed, "{here} blocks are here");
        let mut ready = joined.ready();
        ready.sort_unstable();
        assert_eq!(ready, (first..200).collect::<Vec<_>>());
        for block in first..200 {
            assert_eq!(joined.receiver.take_block(block), Joined::expected(bytes, block, 4));
        }
        assert!(joined.asked.iter().all(|&block| block >= first), "nothing else is asked for");
        let sent = joined.sender.stats().data_sent;
        all = if here == 0 { sent } else { all };
        // With the first window, and chance.
        assert!(sent <= all * u64::from(200 - first) / 200 + 40, "{sent} symbols for {} blocks", 200 - first);
    }
}
