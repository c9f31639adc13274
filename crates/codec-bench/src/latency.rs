//! How long decoding takes, by K and losses, as a table that a simulator can look up.
//!
//! Processor time of one thread, memory warm, plans made beforehand. A block of K symbols loses some of its source symbols;
//! as many repair symbols arrive in their place, and [`EXTRA`] more, as SCDP's receivers ask for (K + 2 in all). What is
//! handed to the decoder early is work that is done while the rest is on its way; what a receiver waits for is the time from
//! the last symbol to the block.

use crate::clock::Clock;
use crate::contenders::{self, Target};
use crate::measure::Contender as _;
use crate::provenance::Provenance;
use crate::workload::{Workload, losses};
use anabranch_raptorq::Level;
use serde::Serialize;
use serde_json::{Value, json};

/// Repair symbols that arrive beyond the losses.
pub const EXTRA: u32 = 2;

/// Numbers of source symbols that a table has unless told otherwise. SCDP's blocks have up to 100.
pub const SOURCE_SYMBOLS: [u32; 26] =
    [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 200, 500, 1000, 2000, 5000, 10_000];

/// How long a measurement takes, at most and about.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seconds for all samples of a measurement, unless the least number of them takes longer.
    pub seconds: f64,
    /// Least number of samples.
    pub least: usize,
    /// Largest number of samples.
    pub most: usize,
}

impl Effort {
    /// For numbers to be quoted.
    pub const FULL: Self = Self { seconds: 0.03, least: 15, most: 301 };
    /// To try the program.
    pub const QUICK: Self = Self { seconds: 0.002, least: 3, most: 31 };

    fn samples(self, once: f64) -> usize {
        (self.seconds / once.max(1e-9)).clamp(self.least as f64, self.most as f64) as usize
    }
}

/// Whole nanoseconds: the median of the samples, and how far they spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Median.
    pub median: u64,
    /// 10th percentile.
    pub p10: u64,
    /// 90th percentile.
    pub p90: u64,
}

impl Distribution {
    /// Of at least one sample, in seconds.
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |share: f64| (seconds[((seconds.len() - 1) as f64 * share).round() as usize] * 1e9).round() as u64;
        Self { median: at(0.5), p10: at(0.1), p90: at(0.9) }
    }
}

/// A measurement that can be made: decoding one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decode {
    /// Bytes of a symbol, 1 to 65535.
    pub symbol_size: usize,
    /// K, 1 to 56403.
    pub source_symbols: u32,
    /// Source symbols that are replaced by repair symbols, at most K.
    pub lost: u32,
}

/// What decoding one block took.
#[derive(Clone, Debug, Serialize)]
pub struct Decoded {
    symbol_size: usize,
    source_symbols: u32,
    lost: u32,
    /// Symbols that arrived beyond K.
    extra: u32,
    samples: usize,
    receive_ns: Distribution,
    /// From the last symbol to the block.
    pub decode_ns: Distribution,
}

/// What encoding one block took: its intermediate symbols and the first repair symbol.
#[derive(Clone, Debug, Serialize)]
pub struct Encoded {
    symbol_size: usize,
    source_symbols: u32,
    samples: usize,
    encode_ns: Distribution,
}

impl Decode {
    /// All losses of a block of so many symbols that a table has: few symbols, and several shares.
    pub fn all(symbol_size: usize, source_symbols: u32) -> impl Iterator<Item = Self> {
        let mut lost: Vec<u32> = vec![0, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500];
        lost.extend([1, 2, 5, 10, 15, 20, 30, 50, 100].map(|per_cent| losses(source_symbols, per_cent)));
        lost.retain(|&lost| lost <= source_symbols);
        lost.sort_unstable();
        lost.dedup();
        lost.into_iter().map(move |lost| Self { symbol_size, source_symbols, lost })
    }

    /// Measures it.
    ///
    /// # Panics
    /// If sizes are out of range, or what is decoded is not what was encoded.
    pub fn measure(&self, effort: Effort) -> Decoded {
        let &Self { symbol_size, source_symbols, lost } = self;
        let plan = contenders::plan(source_symbols);
        let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, |block, repairs| {
            contenders::repairs(&plan, source_symbols, block, repairs);
        });
        let clock = Clock::of_thread();
        let mut decoder = contenders::Decode::new(&plan, Level::best(), &workload, Target::InPlace);
        let mut once = || {
            let receive = clock.time(|| decoder.receive());
            let decode = clock.time(|| decoder.recover());
            decoder.verify();
            (receive, decode)
        };
        for _ in 0..workload.patterns.len() {
            once();
        }
        let (receive, decode) = once();
        let samples = effort.samples(receive + decode);
        let (receive, decode) = (0..samples).map(|_| once()).unzip();
        Decoded {
            symbol_size,
            source_symbols,
            lost,
            extra: if lost == 0 { 0 } else { EXTRA },
            samples,
            receive_ns: Distribution::of(receive),
            decode_ns: Distribution::of(decode),
        }
    }
}

/// Measures how long it takes to encode a block.
///
/// # Panics
/// As [`Decode::measure`].
pub fn encode(symbol_size: usize, source_symbols: u32, effort: Effort) -> Encoded {
    let plan = contenders::plan(source_symbols);
    let mut repair = vec![0; symbol_size];
    let workload = Workload::new(source_symbols, symbol_size, 0, 0, |block, _| {
        contenders::repairs(&plan, source_symbols, block, &mut repair);
    });
    let mut encoder = contenders::Encode::new(&plan, Level::best(), source_symbols, &workload.block, &repair);
    let clock = Clock::of_thread();
    let mut once = || {
        let seconds = clock.time(|| encoder.run(()));
        encoder.check(());
        seconds
    };
    once();
    let samples = effort.samples(once());
    let seconds = (0..samples).map(|_| once()).collect();
    Encoded { symbol_size, source_symbols, samples, encode_ns: Distribution::of(seconds) }
}

/// The table: measurements and where they come from, as JSON.
pub fn table(provenance: &Provenance, encoded: &[Encoded], decoded: &[Decoded]) -> Value {
    let mut table = json!({
        "what": "Processor time of one thread, in nanoseconds. Each number is the median of `samples` runs with different \
                 losses; the 10th and the 90th percentile stand beside it. entries: decoding one source block of which `lost` \
                 symbols are replaced by repair symbols, and `extra` more arrive. receive_ns: all symbols are handed to \
                 the decoder, in all. decode_ns: from the last symbol to the block. encodes: from a block to its \
                 intermediate symbols and one repair symbol. Plans are made beforehand.",
    });
    if let (Value::Object(all), Ok(Value::Object(origin))) = (&mut table, serde_json::to_value(provenance)) {
        all.extend(origin);
        all.insert("encodes".to_owned(), json!(encoded));
        all.insert("entries".to_owned(), json!(decoded));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_every_loss_once_and_says_where_it_comes_from() {
        let (sizes, blocks) = ([64, 100], [1, 7]);
        let cells = || sizes.iter().flat_map(|&t| blocks.iter().flat_map(move |&k| Decode::all(t, k)));
        let decoded: Vec<Decoded> = cells().map(|cell| cell.measure(Effort::QUICK)).collect();
        let encoded = [encode(64, 7, Effort::QUICK)];
        let table = table(&Provenance::collect("a command".to_owned()), &encoded, &decoded);
        assert_eq!(table["command"], "a command");
        assert_eq!(table["level"], Level::best().to_string());
        assert_eq!(table["encodes"][0]["source_symbols"], 7);
        let entries = table["entries"].as_array().expect("a list");
        let lost = |t: u64, k: u64| -> Vec<u64> {
            let own = entries.iter().filter(|e| e["symbol_size"] == t && e["source_symbols"] == k);
            own.map(|e| e["lost"].as_u64().expect("a number")).collect()
        };
        assert_eq!((lost(64, 1), lost(100, 7)), (vec![0, 1], vec![0, 1, 2, 3, 4, 5, 7]));
        for entry in entries {
            let extra = if entry["lost"] == 0 { 0 } else { EXTRA };
            assert_eq!(entry["extra"], extra);
            let [low, middle, high] = ["p10", "median", "p90"].map(|at| entry["decode_ns"][at].as_u64().expect("ns"));
            assert!(low <= middle && middle <= high, "{entry}");
        }
        // More than what reading a clock could hide: the blocks are decoded, and solving takes longer the more is lost.
        let all_lost = Decode { symbol_size: 1436, source_symbols: 100, lost: 100 }.measure(Effort::QUICK);
        let none_lost = Decode { lost: 0, symbol_size: 1436, source_symbols: 100 }.measure(Effort::QUICK);
        assert!(all_lost.decode_ns.median > none_lost.decode_ns.median);
    }

    #[test]
    fn effort_bounds_the_samples() {
        assert_eq!(Effort::FULL.samples(1.0), 15);
        assert_eq!(Effort::FULL.samples(1e-6), 301);
        assert_eq!(Effort::FULL.samples(0.001), 30);
    }
}
