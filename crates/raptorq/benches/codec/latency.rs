//! How long decoding takes, by K and losses, as a table that a simulator can look up.

use crate::bench::{Bench, Process, progress};
use crate::ours::{self, Decode, Target};
use crate::report::Provenance;
use crate::tables::EXTRA;
use crate::workload::{Workload, losses};
use anabranch_raptorq::Level;
use serde_json::{Value, json};
use std::path::Path;

/// K of the table, unless the command line names others.
const SOURCE_SYMBOLS: [u32; 14] = [10, 20, 30, 50, 100, 150, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000];

/// Measures and writes the table to `file`.
pub(crate) fn write(bench: &Bench, file: &Path) -> Result<(), String> {
    let source_symbols =
        if bench.options.k_given { bench.options.source_symbols.clone() } else { SOURCE_SYMBOLS.to_vec() };
    let process = Process::new(&bench.options);
    let mut entries = Vec::new();
    for &symbol_size in &bench.options.symbol_sizes {
        for &source_symbols in &source_symbols {
            measure(bench, process, source_symbols, symbol_size, &mut entries);
        }
    }
    let Provenance { date, commit, command, machine, load, compiler, level } = Provenance::collect();
    let table = json!({
        "what": "Processor time of one thread for decoding one source block, in nanoseconds. receive_ns: all symbols \
                 are handed to the decoder, in all. decode_ns: from the last symbol to the block. Each is the median of \
                 `samples` decodes with different losses; the 10th and the 90th percentile stand beside it.",
        "date": date,
        "commit": commit,
        "command": command,
        "machine": machine,
        "load": load,
        "compiler": compiler,
        "level": level,
        "entries": entries,
    });
    let text = serde_json::to_string_pretty(&table).map_err(|error| error.to_string())? + "\n";
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let shown = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    eprintln!("{} entries in {}", entries_of(&table), shown.display());
    Ok(())
}

fn entries_of(table: &Value) -> usize {
    table["entries"].as_array().map_or(0, Vec::len)
}

fn measure(bench: &Bench, process: Process, source_symbols: u32, symbol_size: usize, entries: &mut Vec<Value>) {
    let mut lost: Vec<u32> = vec![0, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500];
    lost.extend([1, 2, 5, 10, 15, 20, 30, 50, 100].map(|per_cent| losses(source_symbols, per_cent)));
    lost.retain(|&lost| lost <= source_symbols);
    lost.sort_unstable();
    lost.dedup();
    let plan = ours::plan(source_symbols);
    for lost in lost {
        let name = format!("latency/T={symbol_size}/K={source_symbols}/lost={lost}");
        if !bench.wants(&name) {
            continue;
        }
        let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, |block, repairs| {
            ours::repairs(&plan, source_symbols, block, repairs);
        });
        let mut decoder = Decode::new(&plan, Level::best(), &workload, Target::InPlace);
        let mut once = || {
            let receive = process.clock.time(|| decoder.receive());
            let decode = process.clock.time(|| decoder.recover());
            decoder.verify();
            (receive, decode)
        };
        for _ in 0..workload.patterns.len() {
            once();
        }
        let (receive, decode) = once();
        let samples = (process.sampling.least / (receive + decode)).clamp(15.0, 301.0) as usize;
        let (receive, decode): (Vec<f64>, Vec<f64>) = (0..samples).map(|_| once()).unzip();
        let [receive, decode] = [receive, decode].map(distribution);
        progress(&name, &format!("{} ns", decode["median"]));
        entries.push(json!({
            "symbol_size": symbol_size,
            "source_symbols": source_symbols,
            "lost": lost,
            "extra": if lost == 0 { 0 } else { EXTRA },
            "samples": samples,
            "receive_ns": receive,
            "decode_ns": decode,
        }));
    }
}

/// Median and percentiles of seconds, in whole nanoseconds.
fn distribution(mut seconds: Vec<f64>) -> Value {
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| (seconds[((seconds.len() - 1) as f64 * share).round() as usize] * 1e9).round() as u64;
    json!({ "median": at(0.5), "p10": at(0.1), "p90": at(0.9) })
}
