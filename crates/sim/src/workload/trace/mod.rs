//! Requests read from a file instead of drawn. To add a format: a file beside this one and one line in [`Format`].

use super::context::Context;
use super::error::Fault;
use super::placement::known_host;
use super::{Mode, Session};
use anabranch_job::read::connection_matrix::{self, Begin, Connection};
use anabranch_transport::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use std::path::Path;

mod csv;

/// A file of requests; it replaces `arrivals`, `sizes`, `placement` and `sessions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceConfig {
    /// File name, relative to the scenario file.
    pub file: String,
    /// Format; without it, the ending of the file name tells: `.csv` or `.cm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Unit of `start` in a connection matrix: picoseconds in htsim today, microseconds in its early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_unit: Option<StartUnit>,
}

/// Format of a file of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Columns `start_us` or `start_ns`, `src`, `dst`, `size_bytes`.
    Csv,
    /// htsim connection matrix.
    Cm,
}

/// Unit of the start times of a connection matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartUnit {
    /// Picoseconds.
    #[default]
    Ps,
    /// Microseconds.
    Us,
}

/// One request of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Line in the file, from 1.
    line: usize,
    start: Time,
    source: u32,
    sink: u32,
    /// `None`: without end.
    size: Option<Bytes>,
}

impl TraceConfig {
    fn format(&self) -> Option<Format> {
        self.format.or_else(|| match Path::new(&self.file).extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "cm" => Some(Format::Cm),
            _ => None,
        })
    }

    /// What is wrong with the parameters.
    pub fn check(&self) -> Vec<Fault> {
        match self.format() {
            None => vec![
                Fault::new("file", format!("the ending of {:?} does not tell the format", self.file))
                    .hint("add `format = \"csv\"` or `format = \"cm\"`"),
            ],
            Some(Format::Csv) if self.start_unit.is_some() => {
                vec![Fault::new("start_unit", "only for connection matrices: the header of a CSV file names the unit")]
            }
            Some(_) => Vec::new(),
        }
    }

    /// The sessions of the file, in its order.
    ///
    /// # Errors
    /// If the file cannot be read, is not what it should be, or names hosts that the fabric does not have.
    pub fn sessions(&self, fabric: &Context, group: u16) -> Result<Vec<Session>, Fault> {
        let text = super::read_file(&fabric.base, &self.file).map_err(|f| f.under("file"))?;
        self.parse(&text, fabric, group).map_err(|f| f.under("file"))
    }

    /// The connections of a matrix, each of which begins at a time.
    fn matrix(&self, text: &str, file: &Path) -> Result<Vec<Request>, Fault> {
        let matrix = connection_matrix::parse(text, self.start_unit == Some(StartUnit::Us));
        let matrix = matrix.map_err(|e| Fault::of_job(file, e))?;
        let request = |connection: Connection| {
            let Begin::At(start) = connection.begin else {
                let message = "a trace begins connections at times: one that waits for a trigger is part of a job";
                return Err(Fault::in_file(file, connection.line, message)
                    .hint(format!("job = {{ file = {:?} }} instead of `trace`", self.file)));
            };
            let Connection { line, source, sink, size, .. } = connection;
            Ok(Request { line, start: Time::ZERO + start, source, sink, size })
        };
        matrix.connections.into_iter().map(request).collect()
    }

    fn parse(&self, text: &str, fabric: &Context, group: u16) -> Result<Vec<Session>, Fault> {
        let file = Path::new(&self.file);
        let requests = match self.format() {
            Some(Format::Csv) => csv::parse(text, file)?,
            Some(Format::Cm) => self.matrix(text, file)?,
            None => return Err(Fault::new("", "the ending does not tell the format")),
        };
        let session = |(number, request): (u32, Request)| {
            let fault = |message: String| Err(Fault::in_file(file, request.line, message));
            for host in [request.source, request.sink] {
                if let Err(unknown) = known_host(fabric, "", host) {
                    return fault(unknown.message);
                }
            }
            if request.source == request.sink {
                return fault(format!("host {} cannot send to itself", request.source));
            }
            Ok(Session {
                start: request.start,
                size: request.size,
                supply: None,
                mode: Mode::Unicast,
                sources: smallvec![request.source],
                sinks: smallvec![request.sink],
                group,
                request: number,
                block: 0,
            })
        };
        (0..).zip(requests).map(session).collect()
    }
}

/// A time written as a decimal number of `unit`s, exactly.
fn parse_time(text: &str, unit: &str) -> Result<Time, String> {
    connection_matrix::time(text, unit).map(|after| Time::ZERO + after)
}

#[cfg(test)]
mod tests;
