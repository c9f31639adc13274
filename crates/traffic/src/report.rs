//! Results of reading: series, and a report on each file.

use crate::series::Series;
use serde::Serialize;

/// Series and reports.
#[derive(Debug)]
pub struct Ingested {
    /// One for each series and bin width, the widths in the order they were asked for.
    pub series: Vec<Series>,
    /// One for each file, in the order they were given.
    pub files: Vec<FileReport>,
}

/// A report on one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// As it was named in the request.
    pub path: String,
    /// Its format, as [`formats`](crate::formats) names it.
    pub format: &'static str,
    /// The same, but for documents such as those of `RRDtool`: as what their table was read, `csv-volumes` or `counters`.
    pub reader: &'static str,
    /// `gzip`, `xz`, `zstd`, or none.
    pub compression: Option<&'static str>,
    /// How the columns of a table were read.
    pub assumed: Option<String>,
    /// Packets, flows, polls or rows.
    pub records: u64,
    /// Bytes of all of them, matching or not; original lengths, without overhead. Of counters: of all intervals.
    pub bytes: i64,
    /// Packets of all of them, where the file has them.
    pub packets: i64,
    /// Time of the first and the last, ns.
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    pub last_ns: Option<i64>,
    /// Records earlier than one before them in the file; they are in the right bins nevertheless.
    pub out_of_order: u64,
    /// The largest such step back, ns.
    pub largest_step_back_ns: u64,
    /// The longest time without a record, ns.
    pub longest_silence_ns: i64,
    /// Where that began, ns.
    pub longest_silence_at_ns: i64,
    /// Records that the filter or the direction left out.
    pub left_out: u64,
    /// Records that could not be decided (headers cut or unknown), and are left out too.
    pub undecided: u64,
    /// Packets without a time stamp (pcapng simple packet blocks): in `bytes`, in no bin.
    pub unstamped: u64,
    /// Volumes of tables that were rounded to whole bytes (or [`parts`](crate::Request::parts) of bytes).
    pub rounded: u64,
    /// Why the file was not read to its end, if that was allowed.
    pub damaged: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}
