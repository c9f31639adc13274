//! How much memory a job takes: bytes for each message of a ring all-reduce, after each stage of a run. Every message fits into a packet.

use crate::process::{peak_megabytes, resident_megabytes};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::parse;
use std::error::Error;

/// Ranks of the largest fat-tree that this builds.
pub(crate) const RANKS_MAX: u64 = 1024;

/// Runs an all-reduce of so many ranks, at most [`RANKS_MAX`], and prints a table.
pub(crate) fn table(ranks: u64) -> Result<(), Box<dyn Error>> {
    let messages = 2 * (ranks - 1) * ranks;
    let size = 1000 * ranks;
    let scenario = format!(
        "fabric = {{ topology = 'fat-tree', k = 16, rate = '400Gbps', delay = '1us' }}\n\
         transport = {{ name = 'ndp' }}\n\
         run = {{ memory_limit = '16GB' }}\n\
         [[workload]]\n\
         job = {{ collective = {{ kind = 'all-reduce', algorithm = 'ring', ranks = {ranks}, size = '{size}B' }} }}\n"
    );
    println!("| {messages} messages | MB now | most so far | bytes per message |\n|---|---:|---:|---:|");
    let print = |stage: &str| {
        let most = peak_megabytes();
        println!("| {stage} | {:.0} | {most:.0} | {:.0} |", resident_megabytes(), most * 1e6 / messages as f64);
    };
    let plan = parse("ring.toml", &scenario, &[]).map_err(|e| e.to_string())?;
    let mut network = plan.network(&plan.runs[0])?;
    print("before the run");
    let ending = network.run(|_| true);
    print("after it");
    let record = RunRecord::take(&mut network, ending);
    print("with rows of results");
    println!("\n{:?}, {} flows, fingerprint {:x}", record.ending, record.flows.len(), record.fingerprint);
    Ok(())
}
