//! How fast the codec is, next to the crates.io `raptorq` codec, in the same process and run.
//!
//! - One thread, and its processor time. The contenders of a measurement take turns; the median of the samples counts.
//! - A speed is source data (K * T bytes) by time, in Gbit/s of 10^9 bits.
//! - `Encoder` and `Decoder`, of both codecs, code an object of one block with a new coder each time: from the object to packets,
//!   and from packets to the object in a vector. Plans are in the process's cache, as they are after the first object of a size.
//! - Encoding makes the intermediate symbols and one repair symbol. From scratch, it makes the plan too.
//! - Decoding begins with symbols in memory and ends with a block that the caller can read. The lost symbols are
//!   random, at least one; two repair symbols more than were lost arrive.
//! - Memory is warm: this codec keeps its own, and for the peer's sake the C library is told to keep what is freed.
//! - Every result is compared with what it must be.
//!
//! `--help` lists the options.

mod bench;
mod details;
mod latency;
mod objects;
mod one_block;
mod options;
mod peer;
mod report;
mod tables;

use anabranch_codec_bench::provenance::Provenance;
use anabranch_codec_bench::{clock, contenders as ours, measure, workload};
use anabranch_raptorq::Level;
use bench::Bench;
use options::{Options, Request, USAGE};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Request::parse(std::env::args().skip(1)) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}\n  hint: --help lists the options");
            return ExitCode::from(2);
        }
    };
    match Level::from_environment().map_err(|error| error.to_string()).and_then(|_| run(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<(), String> {
    let bench = Bench::new(options);
    if let Some(file) = &bench.options.latency_table {
        return latency::write(&bench, file);
    }
    let sections = [
        tables::section(&bench),
        details::decoding(&bench),
        details::matrices(&bench),
        details::repairs(&bench),
        details::plans(&bench),
        details::levels(&bench),
        details::threads(&bench),
        one_block::section(&bench),
    ]
    .concat();
    if let Some(name) = &bench.options.measure {
        return Err(format!("no measurement is called {name:?}\n  hint: --list prints all names"));
    }
    if bench.options.list {
        return Ok(());
    }
    if let Some(failed) = bench.failed() {
        return Err(format!("no report: these measurements went wrong: {failed}"));
    }
    if sections.is_empty() {
        return Err("no measurement has that in its name\n  hint: --list prints all names".into());
    }
    let report = introduction(&bench) + &sections;
    print!("{report}");
    if bench.options.record { report::record(&report) } else { Ok(()) }
}

/// What was measured, where and how.
fn introduction(bench: &Bench) -> String {
    let Provenance { date, commit, command, machine, load, compiler, level } = Provenance::collect(report::command());
    let Options { samples, huge_pages, .. } = bench.options;
    format!(
        "## RaptorQ codec: {date}, commit {commit}\n\n\
         Command: `{command}`. Machine: {machine}, load {load} at the end. {compiler}. Level: {level}.{pages}\n\n\
         The peer is crates.io `raptorq` 2.0.1. Processor time of one thread; median of {samples} samples of at least \
         {least} s (3 of what takes over 0.1 s), taken in turns, ± half the distance between the fastest and the slowest. Gbit/s are 10^9 bits of \
         source data. Each measurement is done in two fresh processes whose heaps differ by 16 bytes; for each codec the \
         better one counts. `Encoder` and `Decoder`: an object of one block, a new coder for each, packets in and out, plans in the \
         process's cache unless it is the first of its size. Block coders: encoding includes one repair symbol; the peer uses a \
         plan made beforehand, or makes it anew where it is included. Decoding includes handing over the symbols, {extra} repair \
         symbols more than were lost; ours leaves the block in the decoder's memory, the peer in a vector. The heap is kept warm, \
         and what is handed out is freed outside the timing. Every result is checked. `crates/raptorq/benches/codec` has the details.\n",
        pages = if huge_pages { " Huge pages for both codecs." } else { "" },
        least = bench.options.least(),
        extra = tables::EXTRA,
    )
}
