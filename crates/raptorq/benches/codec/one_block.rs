//! One block on several threads: time of day.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::bench::{Bench, Speed};
use crate::clock::Clock;
use crate::measure::{Stats, Timed, compete};
use crate::ours::{self, Target};
use crate::report::{heading, table};
use crate::tables::EXTRA;
use crate::workload::{Workload, losses};
use anabranch_raptorq::{SourceBlockDecoder, SourceBlockEncoder};

/// Blocks large enough to be worth it.
const SOURCE_SYMBOLS: [u32; 3] = [1000, 10_000, 50_000];

pub(crate) fn section(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut rows = Vec::new();
    for source_symbols in SOURCE_SYMBOLS.into_iter().filter(|k| bench.options.source_symbols.contains(k)) {
        let stats = bench.measure(&format!("one-block/T={symbol_size}/K={source_symbols}"), |process| {
            let plan = ours::plan(source_symbols);
            let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
            let [few, many] = [5, 30].map(|per_cent| {
                Workload::new(source_symbols, symbol_size, losses(source_symbols, per_cent), EXTRA, encode)
            });
            let mut repair = vec![0; symbol_size];
            encode(&few.block, &mut repair);
            let one = NonZeroUsize::MIN;
            let encode = |threads| {
                let encoder = SourceBlockEncoder::new(Arc::clone(&plan), source_symbols, symbol_size);
                ours::Encode::of(encoder.expect("a plan for K").with_threads(threads), &few.block, &repair)
            };
            let decode = |workload, threads| {
                let decoder = SourceBlockDecoder::new(Arc::clone(&plan), source_symbols, symbol_size);
                ours::Decode::of(decoder.expect("a plan for K").with_threads(threads), workload, Target::InPlace)
            };
            let mut contenders: [Box<dyn Timed + '_>; 6] = [
                Box::new(encode(one)),
                Box::new(encode(cores)),
                Box::new(decode(&few, one)),
                Box::new(decode(&few, cores)),
                Box::new(decode(&many, one)),
                Box::new(decode(&many, cores)),
            ];
            compete(Clock::of_day(), process.sampling, few.patterns.len(), &mut contenders)
        });
        let Some(stats) = stats else { continue };
        let speed = |stats: Stats| Speed::new(source_symbols as usize * symbol_size, stats).to_string();
        let pairs = stats.chunks(2).map(|pair| {
            format!("{} / {} = **{:.2}x**", speed(pair[1]), speed(pair[0]), pair[0].median / pair[1].median)
        });
        rows.push(std::iter::once(source_symbols.to_string()).chain(pairs).collect::<Vec<_>>());
    }
    if rows.is_empty() {
        return String::new();
    }
    let head = ["K", "encode with plan", "decode, 5 % lost", "decode, 30 % lost"].map(str::to_owned);
    let about = format!(
        "{cores} threads / one, Gbit/s by the time of day; symbols of {symbol_size} bytes, plans made beforehand. Strips of the \
         symbols are shared among the threads; finding out what to do with them is not.\n\n"
    );
    heading("One block on several threads") + &about + &table(&head, &rows)
}
