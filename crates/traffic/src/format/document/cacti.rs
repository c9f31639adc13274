//! What Cacti exports of a graph: lines of what it shows, and the values as a table from the line with `Date` on.
//!
//! The values are those that the graph shows; `Vertical Label` says their unit, as "bits per second".

use super::super::quantity::Quantity;
use super::super::{Format, Start};
use super::{Kind, Table, place, read};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;

pub(in crate::format) struct Cacti;

/// How a line is named.
fn named(line: &[u8], name: &str) -> bool {
    let text = line.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(line);
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}

impl Format for Cacti {
    fn name(&self) -> &'static str {
        "cacti"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        let mut lines = start.bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.next().is_some_and(|line| named(line, "Title"))
            && lines.take(20).any(|line| named(line, "Vertical Label"))
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, |text, input, out| {
            let mut label = String::new();
            let mut offset = 0;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                let trimmed = line.trim_ascii();
                if named(trimmed, "Vertical Label") {
                    let value = String::from_utf8_lossy(trimmed).into_owned();
                    let value =
                        value.split_once([',', ';', '\t']).map(|(_, value)| value.trim_matches(['"', ' ']).to_owned());
                    label = value.unwrap_or_default();
                }
                if named(trimmed, "Date") || named(trimmed, "Time") {
                    return table(&label, &text[offset..], input, out);
                }
                offset += line.len();
            }
            Err(ReadError::data(place(input, 0), "an export of Cacti without a line that begins with Date"))
        })
    }
}

fn table(label: &str, text: &[u8], input: &Input<'_>, out: &Collector<'_>) -> Result<Table, ReadError> {
    let unit = match Quantity::of(label) {
        Quantity::Volume(unit, _) => Some((unit, format!("{label:?} (Vertical Label)"))),
        Quantity::Other(word) if out.settings.request.unit.is_none() => {
            return Err(ReadError::hinted(
                place(input, 0),
                format!("the graph shows {label:?}, which is no volume ({word})"),
                "export a graph of traffic; or the unit, if it is one after all: --unit bps",
            ));
        }
        _ if out.settings.request.unit.is_some() => None,
        _ => {
            return Err(ReadError::hinted(
                place(input, 0),
                format!("the unit of the graph, {label:?}, is not known"),
                "say it: --unit bps or --unit B/s",
            ));
        }
    };
    Ok(Table { kind: Kind::Volumes(unit), text: text.to_vec(), notes: Vec::new() })
}
