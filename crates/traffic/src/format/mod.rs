//! The formats: one file each, and one line in [`FORMATS`]. What a file is, is found by looking into it, not by its name.

mod cell;
mod choose;
mod clock;
mod columns;
mod counters;
mod course;
mod csv_packets;
mod csv_volumes;
mod document;
mod erf;
mod guess;
mod nfdump;
mod pcap;
mod pcapng;
mod preview;
mod quantity;
mod roles;
mod table;
mod trend;
mod unit;

use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;
use guess::Guess;
use preview::{PREVIEW, Preview};

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

    /// Whether a file that begins so is of this kind. Tables are told apart by [`guess`].
    fn recognises(&self, _start: &Start<'_>) -> bool {
        false
    }

    /// Reads all records. Errors say where; what was collected before one stays.
    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError>;
}

/// Every format, in the order in which files are tried: those with magic bytes first.
const FORMATS: &[&dyn Format] = &[
    &pcap::Pcap,
    &pcapng::Pcapng,
    &nfdump::Nfdump,
    &document::Prometheus,
    &document::Fetch,
    &document::Xport,
    &document::Mrtg,
    &document::Cacti,
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
    if let Some(format) = FORMATS.iter().find(|format| format.recognises(&start)) {
        return Ok(*format);
    }
    let named = |name: &str| FORMATS.iter().copied().find(|format| format.name() == name);
    if let Some(error) = unknown_document(&start, input) {
        return Err(error);
    }
    if let Some(table) = &start.table {
        let request = &out.settings.request;
        let found = match guess::guess(table, request)? {
            Guess::Is(name) => named(name),
            Guess::Unclear => request.if_unclear.as_deref().and_then(named),
        };
        if let Some(format) = found {
            return Ok(format);
        }
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

/// JSON or XML that no format knows: it is no table, whatever its first line looks like.
fn unknown_document(start: &Start<'_>, input: &Input<'_>) -> Option<ReadError> {
    let text = start.bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(start.bytes).trim_ascii_start();
    let next = text.get(1..).map(<[u8]>::trim_ascii_start).and_then(<[u8]>::first);
    let what = match (text.first(), next) {
        (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b'[' | b'"' | b']')) => "JSON",
        (Some(b'<'), Some(b'?' | b'!' | b'a'..=b'z' | b'A'..=b'Z')) => "XML or HTML",
        _ => return None,
    };
    start.table.as_ref()?;
    Some(ReadError::hinted(
        input.place(input.offset()),
        format!("{what} that is not known here"),
        "known are answers of Prometheus to query_range (JSON) and of rrdtool xport (XML or JSON); or export a table (CSV)",
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
