//! How long decoding takes, by K and losses, as a table that a simulator can look up.

use crate::bench::{Bench, progress};
use crate::report;
use anabranch_codec_bench::latency::{Decode, Effort, SOURCE_SYMBOLS, table};
use anabranch_codec_bench::provenance::Provenance;
use std::path::Path;

/// Measures and writes the table to `file`.
pub(crate) fn write(bench: &Bench, file: &Path) -> Result<(), String> {
    let options = &bench.options;
    let source_symbols = if options.k_given { options.source_symbols.as_slice() } else { &SOURCE_SYMBOLS };
    let effort = if options.quick { Effort::QUICK } else { Effort::FULL };
    let mut decoded = Vec::new();
    for &symbol_size in &options.symbol_sizes {
        for cell in source_symbols.iter().flat_map(|&k| Decode::all(symbol_size, k)) {
            let name = format!("latency/T={symbol_size}/K={}/lost={}", cell.source_symbols, cell.lost);
            if bench.wants(&name) {
                let took = cell.measure(effort);
                progress(&name, &format!("{} ns", took.decode_ns.median));
                decoded.push(took);
            }
        }
    }
    let table = table(&Provenance::collect(report::command()), &[], &decoded);
    let text = serde_json::to_string_pretty(&table).map_err(|error| error.to_string())? + "\n";
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let shown = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    eprintln!("{} entries in {}", decoded.len(), shown.display());
    Ok(())
}
