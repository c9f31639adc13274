//! What the HTTP API of Prometheus answers to `query_range` and `query`: a matrix or vector of series with labels.
//!
//! The name of a metric says whether it is a counter (`node_network_receive_bytes_total`). An expression, such as
//! `rate(...) * 8`, has no name: its unit must be told.

use super::super::quantity::Quantity;
use super::super::unit::Unit;
use super::super::{Format, Start};
use super::{Kind, Table, place, quoted, read};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

pub(in crate::format) struct Prometheus;

#[derive(Deserialize)]
struct Answer {
    status: String,
    error: Option<String>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    kind: String,
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(serde_json::Number, String)>,
    value: Option<(serde_json::Number, String)>,
}

/// The label of the metric's name.
const NAME: &str = "__name__";

impl Format for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        let text = start.bytes.trim_ascii_start();
        let has = |part: &[u8]| memchr::memmem::find(text, part).is_some();
        text.starts_with(b"{") && has(b"\"status\"") && (has(b"\"resultType\"") || has(b"\"errorType\""))
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, |text, input, out| {
            let answer: Answer = serde_json::from_slice(text).map_err(|error| {
                let message =
                    format!("line {}, column {}: no answer of Prometheus: {error}", error.line(), error.column());
                ReadError::data(place(input, 0), message)
            })?;
            let data = answer.data.filter(|_| answer.status == "success").ok_or_else(|| {
                let said = answer.error.unwrap_or(answer.status);
                ReadError::data(place(input, 0), format!("Prometheus answered with an error: {said}"))
            })?;
            if data.kind != "matrix" {
                return Err(ReadError::hinted(
                    place(input, 0),
                    format!("an answer of Prometheus of type {:?}: expected a matrix, values over time", data.kind),
                    "ask /api/v1/query_range with start, end and step",
                ));
            }
            table(&data.result, input, out)
        })
    }
}

fn table(series: &[Series], input: &Input<'_>, out: &Collector<'_>) -> Result<Table, ReadError> {
    let request = &out.settings.request;
    let kind = kind(series, input, out)?;
    let names = labels(series);
    let mut text = b"time,series,value\n".to_vec();
    for (one, name) in series.iter().zip(names) {
        for (at, value) in one.values.iter().chain(&one.value) {
            // Memory takes any write.
            let _ = write!(text, "{at},");
            quoted(&mut text, &name);
            text.push(b',');
            quoted(&mut text, value);
            text.push(b'\n');
        }
    }
    let by = request.by.is_some() || request.time.is_some() || !request.columns.is_empty();
    if by {
        return Err(ReadError::hinted(
            place(input, 0),
            "an answer of Prometheus has no columns: --column, --by and --time do not apply",
            "choose series in the query: metric{device=\"eth0\"}; or --row series=NAME",
        ));
    }
    Ok(Table { kind, text, notes: Vec::new() })
}

/// Whether the series are counters: as the request says, or all their names.
fn kind(series: &[Series], input: &Input<'_>, out: &Collector<'_>) -> Result<Kind, ReadError> {
    let request = &out.settings.request;
    let unit = request.unit.as_deref().and_then(|text| Some((Unit::parse(text)?, text.to_owned())));
    let names: BTreeSet<&str> = series.iter().filter_map(|one| one.metric.get(NAME)).map(String::as_str).collect();
    let all_named = series.iter().all(|one| one.metric.contains_key(NAME));
    let counter = |name: &&str| matches!(Quantity::of(name), Quantity::Counter(_));
    if all_named && !names.is_empty() && names.iter().all(counter) {
        if request.unit.is_some() {
            return Err(ReadError::hinted(
                place(input, 0),
                "counters by their names count bytes: --unit does not apply",
                "without --unit",
            ));
        }
        return Ok(Kind::Counters);
    }
    if let Some(name) =
        names.iter().find(|name| matches!(Quantity::of(name), Quantity::Other(_))).filter(|_| unit.is_none())
    {
        return Err(ReadError::hinted(
            place(input, 0),
            format!("the metric {name:?} is no volume by its name"),
            "query one of bytes; or its unit, if it is one after all: --unit B",
        ));
    }
    let of_names: Vec<Option<(Unit, String)>> = names
        .iter()
        .map(|name| match Quantity::of(name) {
            Quantity::Volume(unit, text) => Some((unit, text)),
            _ => None,
        })
        .collect();
    let same =
        |first: &(Unit, String)| of_names.iter().all(|other| other.as_ref().is_some_and(|other| other.0 == first.0));
    let by_name = of_names.first().cloned().flatten().filter(|first| all_named && same(first));
    match unit.or(by_name) {
        Some(unit) => Ok(Kind::Volumes(Some(unit))),
        None => Err(ReadError::hinted(
            place(input, 0),
            "the answer does not say what its values are: an expression has no name, or the name no unit",
            "for rates, their unit: --unit bps or --unit B/s; for counters, query them by their name \
             (node_network_receive_bytes_total)",
        )),
    }
}

/// A name for each series: the labels by which they differ.
fn labels(series: &[Series]) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
    let keys: BTreeSet<&str> = series.iter().flat_map(|one| one.metric.keys().map(String::as_str)).collect();
    for key in keys {
        values.insert(key, series.iter().map(|one| one.metric.get(key).map(String::as_str)).collect());
    }
    let differ: Vec<&str> = values.into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key).collect();
    let name = |one: &Series| {
        let parts: Vec<&str> = differ.iter().filter_map(|key| one.metric.get(*key)).map(String::as_str).collect();
        parts.join(" ")
    };
    series.iter().map(name).collect()
}
