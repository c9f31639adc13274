//! What `RRDtool` prints: `rrdtool fetch`, and `rrdtool xport` as XML and as JSON.
//!
//! A round-robin archive holds mean rates per second, and the stamp of a value is the end of its step
//! (rrdfetch(1), rrdxport(1)). Of traffic the rates are octets per second, as Cacti, MRTG and `LibreNMS` store them.

use super::super::quantity::Quantity;
use super::super::unit::{BYTES_PER_SECOND, Unit};
use super::super::{Format, Start};
use super::{Kind, Table, place, quoted, read};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;
use crate::stamp;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde::Deserialize;
use std::io::Write as _;

/// `rrdtool fetch`.
pub(in crate::format) struct Fetch;

/// `rrdtool xport`.
pub(in crate::format) struct Xport;

/// The values of all data sources: for each step its end, in seconds, and what each had.
struct Steps {
    names: Vec<String>,
    rows: Vec<(i64, Vec<String>)>,
    /// Seconds of a step; the usual distance of rows if the document does not say.
    step: Option<i64>,
}

impl Steps {
    /// As a table; `unit` as the document says, or as `RRDtool` stores.
    fn table(self, unit: Option<(Unit, String)>, input: &Input<'_>) -> Result<Table, ReadError> {
        let mut distances: Vec<i64> =
            self.rows.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|step| *step > 0).collect();
        distances.sort_unstable();
        let Some(step) = self.step.or_else(|| distances.get(distances.len() / 2).copied()) else {
            return Err(ReadError::data(place(input, 0), "one row of RRDtool does not say how long its step is"));
        };
        let mut text = b"time".to_vec();
        for name in &self.names {
            text.push(b',');
            quoted(&mut text, name);
        }
        text.push(b'\n');
        for (end, values) in &self.rows {
            // Memory takes any write.
            let _ = write!(text, "{}", end.saturating_sub(step));
            for value in values {
                text.push(b',');
                quoted(&mut text, value);
            }
            text.push(b'\n');
        }
        let told = self.names.iter().any(|name| matches!(Quantity::of(name), Quantity::Volume(..)));
        let unit = unit.or_else(|| {
            (!told)
                .then(|| (BYTES_PER_SECOND, "B/s, as RRDtool stores octets (--unit bps if it holds bits)".to_owned()))
        });
        Ok(Table { kind: Kind::Volumes(unit), text, notes: Vec::new() })
    }
}

impl Format for Fetch {
    fn name(&self) -> &'static str {
        "rrd-fetch"
    }

    /// A line of names, an empty line, and lines of `stamp: value ...`.
    fn recognises(&self, start: &Start<'_>) -> bool {
        let mut lines = start.bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let names = lines.next().is_some_and(|line| !line.is_empty() && !line.iter().any(|byte| b",;:".contains(byte)));
        names && lines.find(|line| !line.is_empty()).is_some_and(|line| row(line).is_some())
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, |text, input, _| {
            let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
            let head = lines.next().map(|(_, line)| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
            let names: Vec<String> = head.split_whitespace().map(str::to_owned).collect();
            let mut rows = Vec::new();
            for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
                let fault = |what: &str| ReadError::data(place(input, 0), format!("line {}: {what}", number + 1));
                let (end, values) =
                    row(line).ok_or_else(|| fault("no row of rrdtool fetch: expected stamp: values"))?;
                if values.len() != names.len() {
                    return Err(fault(&format!("{} values, and {} data sources", values.len(), names.len())));
                }
                rows.push((end, values));
            }
            Steps { names, rows, step: None }.table(None, input)
        })
    }
}

/// A row of `rrdtool fetch`.
fn row(line: &[u8]) -> Option<(i64, Vec<String>)> {
    let line = std::str::from_utf8(line).ok()?;
    let (end, values) = line.split_once(':')?;
    let end = end.trim();
    let digits = !end.is_empty() && end.len() <= 12 && end.bytes().all(|byte| byte.is_ascii_digit());
    let values: Vec<String> = values.split_whitespace().map(str::to_owned).collect();
    (digits && !values.is_empty()).then(|| Some((end.parse().ok()?, values)))?
}

#[derive(Deserialize)]
struct Json {
    meta: Meta,
    data: Vec<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct Meta {
    start: i64,
    step: i64,
    legend: Vec<String>,
}

impl Format for Xport {
    fn name(&self) -> &'static str {
        "rrd-xport"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        let text = start.bytes.trim_ascii_start();
        let has = |part: &[u8]| memchr::memmem::find(text, part).is_some();
        (text.starts_with(b"<") && has(b"<xport>"))
            || (text.starts_with(b"{") && has(b"\"meta\"") && has(b"\"legend\"") && has(b"\"step\""))
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, |text, input, _| {
            let steps = if text.trim_ascii_start().starts_with(b"<") { xml(text, input)? } else { json(text, input)? };
            steps.table(None, input)
        })
    }
}

fn json(text: &[u8], input: &Input<'_>) -> Result<Steps, ReadError> {
    let Json { meta, data } = serde_json::from_slice(text).map_err(|error| {
        let message = format!("line {}, column {}: no JSON of rrdtool xport: {error}", error.line(), error.column());
        ReadError::data(place(input, 0), message)
    })?;
    let shown = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut rows = Vec::with_capacity(data.len());
    for (number, values) in (0_i64..).zip(&data) {
        let mut values: Vec<String> = values.iter().map(shown).collect();
        let end = match values.len().checked_sub(meta.legend.len()) {
            Some(0) => meta.start.saturating_add(meta.step.saturating_mul(number)),
            // With --showtime.
            Some(1) => end_of(&values.remove(0), input)?,
            _ => {
                let message = format!("row {}: {} values, and {} legends", number + 1, values.len(), meta.legend.len());
                return Err(ReadError::data(place(input, 0), message));
            }
        };
        rows.push((end, values));
    }
    Ok(Steps { names: meta.legend, rows, step: Some(meta.step) })
}

fn end_of(text: &str, input: &Input<'_>) -> Result<i64, ReadError> {
    let end = stamp::decimal(text.trim().as_bytes(), 1).and_then(|end| i64::try_from(end).ok());
    end.ok_or_else(|| ReadError::data(place(input, 0), format!("{text:?} is no stamp of rrdtool xport")))
}

fn xml(text: &[u8], input: &Input<'_>) -> Result<Steps, ReadError> {
    let text = std::str::from_utf8(text).map_err(|error| {
        ReadError::data(place(input, error.valid_up_to()), "XML of rrdtool xport that is not UTF-8")
    })?;
    let mut reader = Reader::from_str(text);
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let (mut start, mut step): (Option<i64>, Option<i64>) = (None, None);
    let (mut content, mut at, mut values) = (String::new(), None, Vec::new());
    loop {
        let event = reader.read_event().map_err(|error| {
            ReadError::data(place(input, reader.error_position() as usize), format!("XML that is damaged: {error}"))
        })?;
        match event {
            Event::Start(_) => content.clear(),
            Event::Text(part) => content.push_str(&part),
            Event::CData(part) => content.push_str(&part),
            Event::GeneralRef(part) => content.push_str(match &*part {
                "amp" => "&",
                "lt" => "<",
                "gt" => ">",
                "quot" => "\"",
                "apos" => "'",
                _ => "?",
            }),
            Event::End(end) => {
                let text = content.trim().to_owned();
                match end.local_name().as_ref() {
                    "start" => start = Some(end_of(&text, input)?),
                    "step" => step = Some(end_of(&text, input)?),
                    "entry" => names.push(text),
                    "t" => at = Some(end_of(&text, input)?),
                    "v" => values.push(text),
                    "row" => {
                        let counted = || Some(start?.saturating_add(step?.saturating_mul(rows.len() as i64)));
                        let end = at.take().or_else(counted).ok_or_else(|| {
                            ReadError::data(
                                place(input, 0),
                                "rrdtool xport without start and step, and rows without times",
                            )
                        })?;
                        rows.push((end, std::mem::take(&mut values)));
                    }
                    _ => {}
                }
                content.clear();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if rows.iter().any(|(_, values): &(i64, Vec<String>)| values.len() != names.len()) {
        let message = format!("rows of rrdtool xport with other numbers of values than legends, {}", names.len());
        return Err(ReadError::data(place(input, 0), message));
    }
    Ok(Steps { names, rows, step })
}
