//! The command line.

use std::path::PathBuf;

/// Symbols per block that are measured unless told otherwise.
const SOURCE_SYMBOLS: [u32; 5] = [10, 100, 1000, 10_000, 50_000];
/// Bytes per symbol that are measured unless told otherwise.
const SYMBOL_SIZES: [usize; 3] = [1280, 1408, 1500];

pub(crate) const USAGE: &str = "\
Measures the speed of this crate and of the crates.io `raptorq` codec, in turns, and prints Markdown tables.

cargo bench -p anabranch-raptorq --bench codec -- [OPTION ...]

  --quick               few short samples of small blocks: to try the program, not to quote it
  --k LIST              source symbols of blocks, such as 10,50,100 [10,100,1000,10000,50000]
  --t LIST              bytes of symbols [1280,1408,1500]
  --only TEXT           only measurements whose names contain TEXT; several: all of them
  --list                print the names of the measurements
  --measure NAME        do one measurement in this process, and print seconds: median, fastest, slowest
  --heap-shift BYTES    with --measure: shift this process's heap [0]
  --samples N           samples of each measurement, in each of two processes [5; 3 of what takes over 0.1 s]
  --huge-pages          let both codecs' memory be huge pages (glibc 2.35 or newer)
  --record              replace the codec's section in benches/RESULTS.md, and the table in its README
  --latency-table FILE  instead of all this, write decoding times by K and losses to FILE, as JSON";

/// What to measure, and what to do with it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches of the command line")]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) source_symbols: Vec<u32>,
    /// Whether they come from the command line.
    pub(crate) k_given: bool,
    pub(crate) symbol_sizes: Vec<usize>,
    pub(crate) only: Vec<String>,
    pub(crate) list: bool,
    /// The one measurement that this process is for.
    pub(crate) measure: Option<String>,
    /// Bytes by which its heap is shifted.
    pub(crate) heap_shift: usize,
    pub(crate) samples: usize,
    pub(crate) huge_pages: bool,
    pub(crate) record: bool,
    pub(crate) latency_table: Option<PathBuf>,
}

/// What the command line asks for.
pub(crate) enum Request {
    Help,
    Run(Options),
}

impl Request {
    /// Reads the arguments, which do not include the program's name.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Options {
            quick: false,
            source_symbols: Vec::new(),
            k_given: false,
            symbol_sizes: Vec::new(),
            only: Vec::new(),
            list: false,
            measure: None,
            heap_shift: 0,
            samples: 0,
            huge_pages: false,
            record: false,
            latency_table: None,
        };
        // Cargo adds `--bench`.
        let mut arguments = arguments.into_iter().filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--quick" => options.quick = true,
                "--list" => options.list = true,
                "--huge-pages" => options.huge_pages = true,
                "--record" => options.record = true,
                "--only" => options.only.push(value()?),
                "--measure" => options.measure = Some(value()?),
                "--heap-shift" => options.heap_shift = list("--heap-shift", &value()?, 0, 4096)?[0],
                "--k" => options.source_symbols = list("--k", &value()?, 1, 56_403)?,
                "--t" => options.symbol_sizes = list("--t", &value()?, 1, 65_535)?,
                "--samples" => options.samples = list("--samples", &value()?, 1, 1000)?[0],
                "--latency-table" => options.latency_table = Some(value()?.into()),
                _ => return Err(format!("there is no option {argument:?}")),
            }
        }
        options.complete()
    }
}

impl Options {
    fn complete(mut self) -> Result<Request, String> {
        self.k_given = !self.source_symbols.is_empty();
        if !self.k_given {
            self.source_symbols = SOURCE_SYMBOLS.into_iter().filter(|&k| !self.quick || k <= 1000).collect();
        }
        if self.symbol_sizes.is_empty() {
            self.symbol_sizes = if self.quick { vec![SYMBOL_SIZES[0]] } else { SYMBOL_SIZES.to_vec() };
        }
        let whole = SOURCE_SYMBOLS.iter().all(|k| self.source_symbols.contains(k))
            && SYMBOL_SIZES.iter().all(|t| self.symbol_sizes.contains(t));
        if self.record && (!whole || self.quick || !self.only.is_empty() || self.latency_table.is_some()) {
            return Err("--record keeps whole runs only: all of the usual K and T, and neither --quick, --only nor \
                        --latency-table"
                .into());
        }
        if self.samples == 0 {
            self.samples = if self.quick { 3 } else { 5 };
        }
        Ok(Request::Run(self))
    }

    /// Seconds that several threads work together.
    pub(crate) fn together(&self) -> f64 {
        if self.quick { 0.05 } else { 0.2 }
    }

    /// Seconds that a sample takes at least.
    pub(crate) fn least(&self) -> f64 {
        if self.quick { 0.002 } else { 0.03 }
    }
}

/// Numbers with commas between, each within the bounds.
fn list<T>(option: &str, text: &str, least: T, most: T) -> Result<Vec<T>, String>
where
    T: Copy + std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let number = |field: &str| match field.trim().parse() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("{option} takes numbers from {least} to {most}, with commas between; not {field:?}")),
    };
    text.split(',').map(number).collect()
}
