//! Ids that the input chooses by what they do: those that say nothing of a symbol, and those whose symbols are sums of many.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_raptorq::{Added, EncodingPlan, SourceBlockDecoder, SourceBlockEncoder};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    size: u8,
    arrivals: Vec<Arrival>,
}

#[derive(Arbitrary, Debug)]
enum Arrival {
    /// A run of source symbols.
    Source {
        first: u8,
        count: u8,
    },
    /// A run of repair symbols with coefficient 0 on the first source symbol.
    Blind {
        first: u8,
        count: u8,
    },
    /// A run of repair symbols with few coefficients that are 0: the ends of an order by that number.
    Full {
        first: u8,
        count: u8,
    },
    Empty {
        first: u8,
        count: u8,
    },
    /// Any ID.
    Any(u32),
}

/// Blocks of this many symbols.
const SIZES: [u32; 4] = [10, 26, 60, 101];
/// The most work that a block may take, next to one whose source symbols are all lost.
const MOST: u64 = 10;

struct Code {
    plan: Arc<EncodingPlan>,
    /// A block without pattern.
    encoder: SourceBlockEncoder,
    blind: Vec<u32>,
    /// By the number of coefficients that are 0.
    ordered: Vec<u32>,
    /// The work of a block of repair symbols alone.
    ordinary: u64,
}

impl Code {
    fn new(k: u32) -> Self {
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        let size = k as usize;
        // Byte i of symbol i is 1: the repair symbols are their own coefficients.
        let mut encoder = SourceBlockEncoder::new(plan.clone(), k, size).unwrap();
        encoder.load(&(0..size * size).map(|i| u8::from(i % (size + 1) == 0)).collect::<Vec<_>>()).unwrap();
        let (mut blind, mut ordered, mut row) = (Vec::new(), Vec::new(), vec![0; size]);
        for esi in k..k + 120_000 {
            encoder.encode_into(esi, &mut row).unwrap();
            if row[0] == 0 {
                blind.push(esi);
            }
            if esi < k + 20_000 {
                ordered.push((row.iter().filter(|&&coefficient| coefficient == 0).count(), esi));
            }
        }
        ordered.sort_unstable();
        let ordered = ordered.into_iter().map(|(_, esi)| esi).collect();
        let mut encoder = SourceBlockEncoder::new(plan.clone(), k, 1).unwrap();
        encoder.load(&(0..k).map(|i| (i * i >> 3) as u8).collect::<Vec<_>>()).unwrap();
        let mut decoder = SourceBlockDecoder::new(plan.clone(), k, 1).unwrap();
        (1 << 20..(1 << 20) + k + 4).for_each(|esi| {
            add(&encoder, &mut decoder, esi);
        });
        decoder.try_decode().unwrap();
        Self { plan, encoder, blind, ordered, ordinary: decoder.work() }
    }
}

fn add(encoder: &SourceBlockEncoder, decoder: &mut SourceBlockDecoder, esi: u32) -> Added {
    let mut symbol = [0];
    encoder.encode_into(esi, &mut symbol).unwrap();
    decoder.add_symbol(esi, &symbol).unwrap()
}

thread_local! {
    static CODES: RefCell<BTreeMap<u32, Code>> = const { RefCell::new(BTreeMap::new()) };
}

fuzz_target!(|input: Input| {
    let k = SIZES[usize::from(input.size) % SIZES.len()];
    CODES.with_borrow_mut(|codes| run(codes.entry(k).or_insert_with(|| Code::new(k)), k, &input.arrivals));
});

fn run(code: &Code, k: u32, arrivals: &[Arrival]) {
    let mut decoder = SourceBlockDecoder::new(code.plan.clone(), k, 1).unwrap();
    let pick = |ids: &[u32], first: u8, count: u8| {
        ids.iter().skip(usize::from(first)).take(usize::from(count)).copied().collect::<Vec<_>>()
    };
    for arrival in arrivals.iter().take(200) {
        let ids = match *arrival {
            Arrival::Source { first, count } => (0..k).skip(first.into()).take(count.into()).collect(),
            Arrival::Blind { first, count } => pick(&code.blind, first, count),
            Arrival::Full { first, count } => pick(&code.ordered, first, count),
            Arrival::Empty { first, count } => {
                code.ordered.iter().rev().skip(first.into()).take(count.into()).copied().collect()
            }
            Arrival::Any(esi) => vec![esi % (1 << 24)],
        };
        for esi in ids {
            add(&code.encoder, &mut decoder, esi);
            let _ = decoder.try_decode();
        }
    }
    // All source symbols are the block, whatever came before, and no work more.
    let before = decoder.work();
    let complete = decoder.is_complete();
    (0..k).for_each(|esi| {
        add(&code.encoder, &mut decoder, esi);
    });
    assert!(decoder.is_complete());
    let block: Vec<u8> = (0..k).map(|i| (i * i >> 3) as u8).collect();
    assert!(decoder.try_decode().unwrap() == block, "wrong bytes");
    assert_eq!(decoder.work(), before, "complete before: {complete}");
    assert!(decoder.work() <= MOST * code.ordinary, "{} times the work", decoder.work() / code.ordinary);
}
