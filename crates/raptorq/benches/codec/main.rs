//! How fast the codec is, next to the crates.io `raptorq` codec, in the same process and run.
//!
//! - One thread, and its processor time. The contenders of a measurement take turns; the median of the samples counts.
//! - A speed is source data (K * T bytes) by time, in Gbit/s of 10^9 bits.
//! - Encoding makes the intermediate symbols and one repair symbol. From scratch, it makes the plan too.
//! - Decoding begins with symbols in memory and ends with a block that the caller can read. The lost symbols are
//!   random, at least one; two repair symbols more than were lost arrive.
//! - Memory is warm: this codec keeps its own, and for the peer's sake the C library is told to keep what is freed.
//! - Every result is compared with what it must be.
//!
//! `--help` lists the options.

mod clock;
mod details;
mod latency;
mod measure;
mod options;
mod ours;
mod peer;
mod report;
mod tables;
mod workload;

use clock::Clock;
use measure::{Sampling, Stats, Timed, compete};
use options::{Options, Request, USAGE};
use report::Provenance;
use std::fmt;
use std::process::ExitCode;

/// What every measurement needs.
pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) sampling: Sampling,
}

/// A speed and how far its samples spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speeds {
    pub(crate) gbit: f64,
    spread: f64,
}

impl fmt::Display for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ±{:.0} %", self.gbit, self.spread)
    }
}

impl Bench {
    fn new(options: Options) -> Self {
        let sampling = Sampling { samples: options.samples, least: options.least() };
        Self { options, clock: Clock::of_thread(), sampling }
    }

    /// Whether the measurement called `name` is to be done. Where names are to be listed, this does that.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let wanted = self.options.only.iter().all(|text| name.contains(text));
        if wanted && self.options.list {
            println!("{name}");
        }
        wanted && !self.options.list
    }

    /// Seconds that several threads work together.
    pub(crate) fn together(&self) -> f64 {
        if self.options.quick { 0.05 } else { 0.5 }
    }

    /// Lets the contenders do the task called `name`.
    pub(crate) fn stats<const N: usize>(
        &self,
        name: &str,
        warm_up: usize,
        mut contenders: [Box<dyn Timed + '_>; N],
    ) -> Vec<Stats> {
        let stats = compete(self.clock, self.sampling, warm_up, &mut contenders);
        let seconds: Vec<String> = stats.iter().map(|stats| format!("{:.1} us", stats.median * 1e6)).collect();
        progress(name, &seconds.join(", "));
        stats
    }

    /// As [`Bench::stats`], for a task that is about so many bytes.
    pub(crate) fn speeds<const N: usize>(
        &self,
        name: &str,
        bytes: usize,
        warm_up: usize,
        contenders: [Box<dyn Timed + '_>; N],
    ) -> Vec<Speeds> {
        let stats = self.stats(name, warm_up, contenders);
        stats.iter().map(|stats| Speeds { gbit: bytes as f64 * 8e-9 / stats.median, spread: stats.spread() }).collect()
    }

    /// The head of a table with a column for each K.
    pub(crate) fn source_symbol_columns(&self, what: &str) -> Vec<String> {
        let columns = self.options.source_symbols.iter().map(|k| format!("K = {k}"));
        std::iter::once(what.to_owned()).chain(columns).collect()
    }
}

/// Says on standard error what was just measured.
pub(crate) fn progress(name: &str, what: &str) {
    eprintln!("{name:<40} {what}");
}

/// Begins a part of the report.
pub(crate) fn heading(title: &str) -> String {
    format!("\n### {title}\n\n")
}

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
    match warm_memory(&options).and_then(|()| run(options)) {
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
        details::repairs(&bench),
        details::plans(&bench),
        details::levels(&bench),
        details::threads(&bench),
    ]
    .concat();
    if bench.options.list {
        return Ok(());
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
    let Provenance { date, commit, command, machine, load, compiler, level } = Provenance::collect();
    let Sampling { samples, least } = bench.sampling;
    format!(
        "## RaptorQ codec: {date}, commit {commit}\n\n\
         Command: `{command}`. Machine: {machine}, load {load} at the end. {compiler}. Level: {level}.{pages}\n\n\
         The peer is crates.io `raptorq` 2.0.1. Processor time of one thread; median of {samples} samples of at least \
         {least} s, taken in turns, ± half the distance between the fastest and the slowest. Gbit/s are 10^9 bits of \
         source data. Encoding includes one repair symbol; the peer uses a plan made beforehand, or from scratch makes \
         it anew. Decoding includes handing over the symbols, {extra} repair symbols more than were lost; ours leaves \
         the block in the decoder's memory, the peer in a vector. The heap is kept warm, and what the peer allocates is \
         freed outside the timing. Every result is checked. `crates/raptorq/benches/codec` has the details.\n",
        pages = if bench.options.huge_pages { " Huge pages for both codecs." } else { "" },
        extra = tables::EXTRA,
    )
}

/// Starts the program again with a C library that keeps the memory it has, unless that was done already: the peer
/// allocates for every block, and would else be measured together with the system's work of handing out pages.
#[cfg(all(unix, target_env = "gnu"))]
fn warm_memory(options: &Options) -> Result<(), String> {
    use std::os::unix::process::CommandExt as _;
    const DONE: &str = "ANABRANCH_BENCH_WARM_MEMORY";
    if std::env::var_os(DONE).is_some() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| format!("the program's own path: {error}"))?;
    let mut again = std::process::Command::new(program);
    again.args(std::env::args_os().skip(1)).env(DONE, "1");
    again
        .env("MALLOC_MMAP_MAX_", "0")
        .env("MALLOC_TRIM_THRESHOLD_", "1099511627776")
        .env("MALLOC_TOP_PAD_", "67108864");
    if options.huge_pages {
        again.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    }
    Err(format!("starting again with warm memory: {}", again.exec()))
}

/// Other C libraries have no such switch.
#[cfg(not(all(unix, target_env = "gnu")))]
fn warm_memory(options: &Options) -> Result<(), String> {
    if options.huge_pages { Err("--huge-pages needs the GNU C library".into()) } else { Ok(()) }
}
