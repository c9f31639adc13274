//! Documents that tools export: JSON, XML and text that are no tables. Each is written out as one, which the readers of
//! tables of volumes and counters read; so missing values, units, resets and line rates mean the same in all.
//!
//! A document is read whole: up to [`LARGEST`] bytes.

mod cacti;
mod mrtg;
mod prometheus;
mod rrd;

pub(super) use cacti::Cacti;
pub(super) use mrtg::Mrtg;
pub(super) use prometheus::Prometheus;
pub(super) use rrd::{Fetch, Xport};

use super::unit::Unit;
use super::{counters, csv_volumes};
use crate::collect::Collector;
use crate::error::{Place, ReadError};
use crate::input::{Input, More};
use crate::watch::Watch;
use std::io::Write as _;

/// Bytes of a document, at most.
const LARGEST: usize = 256 << 20;

/// What the values of a document are.
enum Kind {
    Counters,
    /// Volumes or rates; of a unit that the document tells, if it does.
    Volumes(Option<(Unit, String)>),
}

/// A document as a table.
struct Table {
    kind: Kind,
    text: Vec<u8>,
    notes: Vec<String>,
}

/// A field of a table, quoted.
fn quoted(text: &mut Vec<u8>, field: &str) {
    let field: String = field.chars().map(|c| if c == '"' || c.is_control() { '\'' } else { c }).collect();
    // Memory takes any write.
    let _ = write!(text, "\"{field}\"");
}

/// Reads all of a file.
fn whole(input: &mut Input<'_>) -> Result<Vec<u8>, ReadError> {
    let mut text = Vec::new();
    loop {
        let window = input.window();
        text.extend_from_slice(window);
        let used = window.len();
        if text.len() > LARGEST {
            let message = format!("a document of more than {} MB", LARGEST >> 20);
            return Err(ReadError::hinted(input.place(input.offset()), message, "export a shorter time, or a table"));
        }
        input.consume(used);
        if input.more()? == More::End && input.window().is_empty() {
            return Ok(text);
        }
    }
}

/// The place of a byte of a document.
fn place(input: &Input<'_>, offset: usize) -> Place {
    input.place(offset as u64)
}

/// Reads a document through its table.
fn read(
    input: &mut Input<'_>,
    out: &mut Collector<'_>,
    table: impl FnOnce(&[u8], &Input<'_>, &Collector<'_>) -> Result<Table, ReadError>,
) -> Result<(), ReadError> {
    let text = whole(input)?;
    let Table { kind, text, notes } = table(&text, input, out)?;
    for note in notes {
        out.remark(note);
    }
    out.reader = Some(match kind {
        Kind::Counters => "counters",
        Kind::Volumes(_) => "csv-volumes",
    });
    let quiet = Watch::new();
    let mut input = Input::new(text.as_slice(), &quiet).map_err(ReadError::Io)?;
    let result = match kind {
        Kind::Counters => counters::read(&mut input, out),
        Kind::Volumes(unit) => {
            csv_volumes::read(&mut input, out, unit.as_ref().map(|(unit, text)| (*unit, text.as_str())))
        }
    };
    result.map_err(|error| match error {
        // Lines of the table are none of the document.
        ReadError::Data(mut fault) => {
            fault.place = Place::Line { line: 1, offset: 0 };
            ReadError::Data(fault)
        }
        other => other,
    })
}
