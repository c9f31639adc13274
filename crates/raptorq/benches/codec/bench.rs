//! Runs measurements, each in a process of its own.
//!
//! What a measurement leaves behind in the heap decides where the next one's memory lies, and that decides speed: an
//! allocator aligns to 16 bytes, and a codec whose symbols are not aligned to 32 is up to a third slower. So the program
//! starts itself again for each measurement, twice, with heaps that differ by 16 bytes; all contenders compete in both
//! processes, and for each the better one counts. The first process only gathers what these print.

use crate::clock::Clock;
use crate::measure::{Sampling, Stats, Timed, compete};
use crate::options::Options;
use std::cell::RefCell;
use std::fmt;
use std::process::{Command, Stdio};

/// What all measurements have in common.
pub(crate) struct Bench {
    pub(crate) options: Options,
    /// Measurements that went wrong.
    failed: RefCell<Vec<String>>,
}

/// What a measurement works with, in its own process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) clock: Clock,
    pub(crate) sampling: Sampling,
    heap_shift: usize,
}

/// By how many bytes the heaps of a measurement's processes are shifted.
const HEAP_SHIFTS: [usize; 2] = [0, 16];

impl Process {
    pub(crate) fn new(options: &Options) -> Self {
        let sampling = Sampling { samples: options.samples, least: options.least() };
        Self { clock: Clock::of_thread(), sampling, heap_shift: options.heap_shift }
    }

    /// Shifts what this thread allocates from now on. It is too much for a hole that was left earlier.
    pub(crate) fn shift_heap(self) {
        std::mem::forget(std::hint::black_box(vec![1u8; (1 << 20) + self.heap_shift]));
    }

    /// Lets the contenders compete, after at least `warm_up` runs of each.
    pub(crate) fn compete<const N: usize>(
        self,
        warm_up: usize,
        mut contenders: [Box<dyn Timed + '_>; N],
    ) -> Vec<Stats> {
        compete(self.clock, self.sampling, warm_up, &mut contenders)
    }
}

/// Speeds in Gbit/s, and how far the samples spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    pub(crate) gbit: f64,
    spread: f64,
}

impl Speed {
    /// Of something that takes so long for `bytes` of data.
    pub(crate) fn new(bytes: usize, stats: Stats) -> Self {
        Self { gbit: bytes as f64 * 8e-9 / stats.median, spread: stats.spread() }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ±{:.0} %", self.gbit, self.spread)
    }
}

impl Bench {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, failed: RefCell::default() }
    }

    /// Whether the command line asks for the measurement called `name`.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.options.only.iter().all(|text| name.contains(text))
    }

    /// The measurement called `name`, which `body` does; `None` if it is not to be done now.
    pub(crate) fn measure(&self, name: &str, body: impl FnOnce(Process) -> Vec<Stats>) -> Option<Vec<Stats>> {
        match &self.options.measure {
            Some(wanted) if wanted == name => {
                let process = Process::new(&self.options);
                process.shift_heap();
                for Stats { median, fastest, slowest } in body(process) {
                    println!("{median:e} {fastest:e} {slowest:e}");
                }
                // This is all that this process was started for.
                std::process::exit(0)
            }
            Some(_) => None,
            None if !self.wants(name) => None,
            None if self.options.list => {
                println!("{name}");
                None
            }
            None => match self.in_other_processes(name) {
                Ok(stats) => {
                    let medians: Vec<String> = stats.iter().map(|stats| format!("{:.3e}", stats.median)).collect();
                    progress(name, &format!("{} s", medians.join(", ")));
                    Some(stats)
                }
                Err(problem) => {
                    progress(name, &problem);
                    self.failed.borrow_mut().push(name.to_owned());
                    None
                }
            },
        }
    }

    /// What each contender does in the process that suits it best.
    fn in_other_processes(&self, name: &str) -> Result<Vec<Stats>, String> {
        let [mut best, other] = HEAP_SHIFTS.map(|heap_shift| self.in_another_process(name, heap_shift));
        for (best, other) in best.iter_mut().flatten().zip(other?) {
            if other.median < best.median {
                *best = other;
            }
        }
        best
    }

    fn in_another_process(&self, name: &str, heap_shift: usize) -> Result<Vec<Stats>, String> {
        let program = std::env::current_exe().map_err(|error| format!("the program's own path: {error}"))?;
        let mut again = Command::new(program);
        again.args(std::env::args_os().skip(1)).args(["--measure", name, "--heap-shift", &heap_shift.to_string()]);
        again.stderr(Stdio::inherit());
        // The peer allocates for every block. The GNU C library is told to keep what is freed: else the system's work
        // of handing out pages would be measured with it. Other libraries ignore this.
        again.env("MALLOC_MMAP_MAX_", "0");
        again.env("MALLOC_TRIM_THRESHOLD_", "1099511627776").env("MALLOC_TOP_PAD_", "67108864");
        if self.options.huge_pages {
            again.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
        let done = again.output().map_err(|error| format!("cannot be started: {error}"))?;
        if !done.status.success() {
            return Err(format!("failed: {}", done.status));
        }
        let stats: Option<Vec<Stats>> = String::from_utf8_lossy(&done.stdout).lines().map(parse).collect();
        stats.filter(|stats| !stats.is_empty()).ok_or_else(|| "printed no numbers".to_owned())
    }

    /// The measurements that went wrong, if any did.
    pub(crate) fn failed(&self) -> Option<String> {
        let failed = self.failed.borrow();
        (!failed.is_empty()).then(|| failed.join(", "))
    }

    /// The head of a table with a column for each K.
    pub(crate) fn source_symbol_columns(&self, what: &str) -> Vec<String> {
        let columns = self.options.source_symbols.iter().map(|k| format!("K = {k}"));
        std::iter::once(what.to_owned()).chain(columns).collect()
    }
}

fn parse(line: &str) -> Option<Stats> {
    let mut numbers = line.split(' ').map(|number| number.parse().ok());
    Some(Stats { median: numbers.next()??, fastest: numbers.next()??, slowest: numbers.next()?? })
}

/// Says on standard error what was just measured.
pub(crate) fn progress(name: &str, what: &str) {
    eprintln!("{name:<40} {what}");
}
