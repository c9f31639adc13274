//! A request: files, filters, bins, and how to read tables.

use crate::bins::Budget;
use crate::error::IngestError;
use crate::filter::{Filter, Prefix};
use crate::stamp;
use serde::Deserialize;

/// Bin widths of captures unless others are asked for: 5 ms, 100 ms, 1 s, 5 s, in nanoseconds.
pub(crate) const DEFAULT_BINS_NS: [i64; 4] = [5_000_000, 100_000_000, 1_000_000_000, 5_000_000_000];

/// Where the grid of bins lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// The first bin begins at the first record, matching or not: it is complete.
    #[default]
    First,
    /// Bins begin at multiples of their width since 1970 UTC; the first is usually partial.
    Clock,
}

/// Which way the traffic goes that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// Towards the inside.
    In,
    /// From the inside.
    Out,
    /// Both, as two series.
    Split,
}

/// How fractions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecimalMark {
    /// `1.5`
    Point,
    /// `1,5`, with points between thousands.
    Comma,
}

/// Files to read, and how to bin them. Every field but `files` has a default, in JSON too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// Files to read; `-` is standard input.
    pub files: Vec<String>,
    /// Bin widths in nanoseconds; empty means those that fit the kind of file (5 ms, 100 ms, 1 s and 5 s for captures, the
    /// file's own interval for volumes and counters, 5 minutes for flow records).
    pub bins_ns: Vec<i64>,
    /// Where bins begin.
    pub align: Align,
    /// One series for each file instead of one of all.
    pub each: bool,
    /// Format of the files, as [`formats`](crate::formats) names it, instead of what they look like.
    pub format: Option<String>,
    /// What a table is taken for if it does not tell: `csv-packets`, `csv-volumes` or `counters`; without it, that is an error.
    pub if_unclear: Option<String>,
    /// Tables of volumes: the parts of a byte that their series count, 1 to 10^9, so that averages keep their fractions.
    pub parts: Option<i64>,
    /// Count only packets or flows that match.
    pub filter: Option<String>,
    /// Count only one direction, or both apart.
    pub direction: Option<Want>,
    /// Prefixes that are inside; without them, the marks of the capture say which way a packet went.
    pub inside: Vec<String>,
    /// Bytes added to every packet for what Ethernet sends around it.
    pub overhead: bool,
    /// On damage, keep what was read before it.
    pub keep_partial: bool,
    /// Silence longer than this many nanoseconds is unknown, not zero.
    pub gap_ns: Option<i64>,
    /// Bins of one series and width at most, and twice as many of all together; `None` means [`Request::MAX_BINS`].
    pub max_bins: Option<usize>,
    /// Files read at the same time; 0 means one for each core.
    pub threads: usize,
    /// Tables: the column of the time stamps.
    pub time: Option<String>,
    /// Tables: the columns of volumes, lengths or counters.
    pub columns: Vec<String>,
    /// Tables: one series for each value of this column.
    pub by: Option<String>,
    /// Tables: only rows in which a column has a value.
    pub rows: Vec<(String, String)>,
    /// Tables of volumes: the unit of the values, such as `B`, `kbit`, `MB/s`.
    pub unit: Option<String>,
    /// Tables: unit of the time stamps, `s`, `ms`, `us` or `ns`.
    pub time_unit: Option<String>,
    /// Tables of volumes: nanoseconds that a row stands for.
    pub interval_ns: Option<i64>,
    /// Counters: their width, 32 or 64; found out if not given.
    pub counter_bits: Option<u8>,
    /// Tables: the zone of times that do not say theirs, by its name in the IANA database; without it, UTC.
    pub time_zone: Option<String>,
    /// Tables: how times are written, as `strptime` has it: `%d.%m.%Y %H:%M`.
    pub time_format: Option<String>,
    /// Tables: how fractions are written; found out if not given.
    pub decimal: Option<DecimalMark>,
    /// Tables of volumes and counters: what the line carries, bits per second. Larger values are unknown.
    pub line_rate_bps: Option<f64>,
}

/// Formats of tables that may look like one another.
const TABLES: [&str; 3] = ["csv-packets", "csv-volumes", "counters"];

/// Parts of a byte, at most.
const PARTS_MAX: i64 = 1_000_000_000;

/// A request that makes sense.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) request: Request,
    pub(crate) filter: Option<Filter>,
    pub(crate) inside: Vec<Prefix>,
    pub(crate) max_bins: usize,
    /// All bins of all series and widths: as many as two series may have.
    pub(crate) budget: Budget,
}

impl Request {
    /// Bins of one width unless more are allowed: 27 hours of 5 ms, in 320 MB.
    pub const MAX_BINS: usize = 20_000_000;

    /// Bytes that Ethernet sends around a frame: preamble and start 8, frame check sequence 4, gap 12 bytes.
    pub const OVERHEAD_BYTES: i64 = 24;

    /// Checks the request; `formats` are the names of those that can be read.
    pub(crate) fn check(&self, formats: &[&str]) -> Result<Settings, IngestError> {
        if self.files.is_empty() {
            return Err(IngestError::request("no files to read", "name at least one"));
        }
        if let Some(width) = self.bins_ns.iter().find(|width| !(1..=WIDTH_MAX).contains(*width)) {
            return Err(IngestError::request(
                format!("bins of {width} ns: expected 1 ns to 10 years"),
                "--bin 100ms,1s",
            ));
        }
        for (name, value) in [("gap", self.gap_ns), ("interval", self.interval_ns)] {
            if value.is_some_and(|value| !(1..=WIDTH_MAX).contains(&value)) {
                let value = value.unwrap_or_default();
                return Err(IngestError::request(
                    format!("{name} of {value} ns: expected 1 ns to 10 years"),
                    "--gap 5s",
                ));
            }
        }
        let known = [(&self.format, formats), (&self.if_unclear, &TABLES)];
        for (name, known) in known.iter().filter_map(|(name, known)| Some((name.as_deref()?, known))) {
            if !known.contains(&name) {
                let hint = format!("one of {}", known.join(", "));
                return Err(IngestError::request(format!("format {name:?} is not known"), hint));
            }
        }
        if self.parts.is_some_and(|parts| !(1..=PARTS_MAX).contains(&parts)) {
            return Err(IngestError::request("parts of a byte: expected 1 to 1000000000", "1000"));
        }
        if !self.inside.is_empty() && self.direction.is_none() {
            return Err(IngestError::request(
                "prefixes are inside, but no direction is asked for",
                "add --direction in, out or split",
            ));
        }
        if self.counter_bits.is_some_and(|bits| bits != 32 && bits != 64) {
            return Err(IngestError::request("counters have 32 or 64 bits", "--counter-bits 64"));
        }
        if let Some(zone) = self.time_zone.as_deref().filter(|zone| stamp::zone(zone).is_none()) {
            return Err(IngestError::request(
                format!("time zone {zone:?} is not known"),
                "a name of the IANA database: --time-zone Europe/Berlin, America/New_York or UTC",
            ));
        }
        if let Some(format) = self.time_format.as_deref().filter(|format| !format.contains('%')) {
            return Err(IngestError::request(
                format!("time format {format:?} has no field"),
                "as strptime has it: --time-format '%d.%m.%Y %H:%M' or '%m/%d/%Y %I:%M:%S %p'",
            ));
        }
        if self.line_rate_bps.is_some_and(|bps| !(bps > 0.0 && bps.is_finite())) {
            return Err(IngestError::request("the rate of a line is above 0", "--line-rate 1Gbps"));
        }
        let filter = self.filter.as_deref().map(Filter::parse).transpose()?;
        let inside = self.inside.iter().map(|text| Prefix::parse(text)).collect::<Result<_, _>>()?;
        let max_bins = self.max_bins.unwrap_or(Self::MAX_BINS).max(1);
        let budget = Budget::new(max_bins.saturating_mul(2));
        Ok(Settings { request: self.clone(), filter, inside, max_bins, budget })
    }
}

/// Ten years.
const WIDTH_MAX: i64 = 10 * 366 * 86_400 * 1_000_000_000;
