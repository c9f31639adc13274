//! The formats: one file each, and one line in [`FORMATS`]. What a file is, is found by looking into it, not by its name.

mod columns;
mod counters;
mod csv_packets;
mod csv_volumes;
mod erf;
mod nfdump;
mod pcap;
mod pcapng;
mod table;
mod unit;

use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;
use table::Preview;

/// Bytes looked at to recognise a format.
const PREVIEW: usize = 64 << 10;

/// The start of a file.
pub(crate) struct Start<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether that is all of it.
    pub(crate) whole: bool,
    /// The same as a table, if it is text.
    pub(crate) table: Option<Preview>,
}

/// A kind of file.
pub(crate) trait Format: Sync {
    /// Its name in options and reports.
    fn name(&self) -> &'static str;

    /// Whether a file that begins so is of this kind.
    fn recognises(&self, start: &Start<'_>) -> bool;

    /// Reads all records. Errors say where; what was collected before one stays.
    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError>;
}

/// Every format, in the order in which files are tried: those with magic bytes first.
const FORMATS: &[&dyn Format] = &[
    &pcap::Pcap,
    &pcapng::Pcapng,
    &nfdump::Nfdump,
    &csv_packets::CsvPackets,
    &csv_volumes::CsvVolumes,
    &counters::Counters,
    &erf::Erf,
];

/// The names of the formats.
pub fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name()).collect()
}

/// Finds out what a file is and reads it; returns the name of the format.
pub(crate) fn read(
    input: &mut Input<'_>,
    out: &mut Collector<'_>,
) -> Result<&'static str, (Option<&'static str>, ReadError)> {
    let format = recognise(input, out).map_err(|error| (None, error))?;
    match format.read(input, out) {
        Ok(()) => Ok(format.name()),
        Err(error) => Err((Some(format.name()), error)),
    }
}

fn recognise(input: &mut Input<'_>, out: &Collector<'_>) -> Result<&'static dyn Format, ReadError> {
    let wanted = out.settings.request.format.as_deref();
    if let Some(format) = FORMATS.iter().find(|format| wanted == Some(format.name())) {
        return Ok(*format);
    }
    // An error this early is told when the reader gets to it: the first bytes may be enough to know the format.
    let whole = match input.fill(PREVIEW) {
        Ok(filled) => !filled,
        Err(error) if input.window().len() < 16 => return Err(error),
        Err(_) => false,
    };
    let bytes = input.window();
    if bytes.is_empty() {
        return Err(ReadError::data(input.place(input.offset()), "the file is empty"));
    }
    let start = Start { bytes, whole, table: Preview::of(bytes, whole, &out.settings.request) };
    let unclear = start.table.as_ref().and(out.settings.request.if_unclear.as_deref());
    let recognised = FORMATS.iter().find(|format| format.recognises(&start));
    if let Some(format) = recognised.or_else(|| FORMATS.iter().find(|format| unclear == Some(format.name()))) {
        return Ok(*format);
    }
    let place = input.place(input.offset());
    Err(match &start.table {
        Some(table) => ReadError::hinted(
            place,
            format!("cannot tell what this table holds (columns {})", table.describe()),
            "say it: --format csv-packets (time, length), csv-volumes (time, volume) or counters (time, counter)",
        ),
        None => table::not_text(bytes).unwrap_or_else(|| {
            ReadError::hinted(
                place,
                format!("not a format known here: it begins with {}", hex(bytes)),
                format!(
                    "known are {}, compressed by gzip, xz or zstd or not; --format NAME insists",
                    names().join(", ")
                ),
            )
        }),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
