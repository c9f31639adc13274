//! One block, and some of its encoding symbols: the right bytes or "not yet".
#![no_main]


use anabranch_raptorq::{Added, PlanCache, SourceBlockDecoder, SourceBlockEncoder};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    symbols: u16,
    size: u8,
    seed: u64,
    /// Two blocks after each other, with the same decoder.
    arrivals: [Vec<Arrival>; 2],
}

#[derive(Arbitrary, Debug)]
enum Arrival {
    /// A run of source symbols.
    Source { first: u16, count: u16 },
    /// A run of the first repair symbols.
    Repair { first: u16, count: u8 },
    /// Any ID, and even those that do not exist.
    Any(u32),
    /// Decode now.
    Try,
}

thread_local! {
    static PLANS: PlanCache = PlanCache::new();
}

fuzz_target!(|input: Input| {
    let symbols = u32::from(input.symbols % 400) + 1;
    let size = usize::from(input.size % 200) + 1;
    let plan = PLANS.with(|plans| plans.plan(symbols)).unwrap();
    let mut encoder = SourceBlockEncoder::new(plan.clone(), symbols, size).unwrap();
    let mut decoder = SourceBlockDecoder::new(plan, symbols, size).unwrap();
    for (round, arrivals) in (0..).zip(&input.arrivals) {
        let block = bytes(symbols as usize * size, input.seed ^ round);
        encoder.load(&block).unwrap();
        decoder.clear();
        let mut receiver = Receiver { encoder: &encoder, decoder: &mut decoder, block: &block, symbol: vec![0; size] };
        for arrival in arrivals.iter().take(1000) {
            match *arrival {
                Arrival::Source { first, count } => {
                    let first = u32::from(first) % symbols;
                    (first..symbols.min(first + u32::from(count))).for_each(|esi| receiver.add(esi));
                }
                Arrival::Repair { first, count } => {
                    let first = symbols + u32::from(first);
                    (first..first + u32::from(count)).for_each(|esi| receiver.add(esi));
                }
                Arrival::Any(esi) => receiver.add(esi),
                Arrival::Try => drop(receiver.decode()),
            }
        }
        // More symbols, until it is enough: at most as many as there are source symbols, and a few.
        let mut more = (1 << 23..).take(symbols as usize + 40);
        while !receiver.decode() {
            receiver.add(more.next().expect("so many symbols suffice"));
        }
    }
});

struct Receiver<'a> {
    encoder: &'a SourceBlockEncoder,
    decoder: &'a mut SourceBlockDecoder,
    block: &'a [u8],
    symbol: Vec<u8>,
}

impl Receiver<'_> {
    fn add(&mut self, esi: u32) {
        let encoded = self.encoder.encode_into(esi, &mut self.symbol);
        assert_eq!(encoded.is_ok(), esi < 1 << 24);
        let source = self.block.chunks(self.symbol.len()).nth(esi as usize);
        assert!(source.is_none_or(|source| source == self.symbol), "the code is systematic");
        let missing = self.decoder.symbols_missing();
        match self.decoder.add_symbol(esi, &self.symbol) {
            Ok(Added::New) => {}
            Ok(_) => assert_eq!(self.decoder.symbols_missing(), missing),
            Err(error) => assert!(esi >= 1 << 24, "{error}"),
        }
        if let Some(source) = source {
            assert_eq!(self.decoder.source_symbol(esi), Some(source), "a source symbol is there at once");
        }
    }

    /// Whether the block could be decoded; if so, it is right.
    fn decode(&mut self) -> bool {
        let missing = self.decoder.symbols_missing();
        assert_eq!(self.decoder.may_decode(), missing == 0);
        match self.decoder.try_decode() {
            Ok(found) => {
                assert!(missing == 0 && found == self.block, "wrong bytes");
                true
            }
            Err(not_yet) => {
                assert!(not_yet.more >= missing.max(1));
                false
            }
        }
    }
}

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}
