//! Requests from CSV: a header, then one request a line. `#` starts a comment line.

use super::{Request, parse_time};
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use std::path::Path;

/// Column names in any order; `start_us` and `start_ns` are alternatives.
const COLUMNS: &str = "`start_us` or `start_ns`, `src`, `dst`, `size_bytes`";

struct Columns {
    start: usize,
    start_unit: &'static str,
    source: usize,
    sink: usize,
    size: usize,
    count: usize,
}

fn header(line: &str) -> Result<Columns, String> {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    let find = |name: &str| names.iter().position(|n| *n == name);
    let (start, start_unit) = match (find("start_us"), find("start_ns")) {
        (Some(column), None) => (column, "us"),
        (None, Some(column)) => (column, "ns"),
        _ => return Err(format!("the header must name one of `start_us` and `start_ns`; columns are {COLUMNS}")),
    };
    let known = |name: &str| find(name).ok_or_else(|| format!("the header lacks `{name}`; columns are {COLUMNS}"));
    if let Some(name) = names.iter().find(|n| !["start_us", "start_ns", "src", "dst", "size_bytes"].contains(n)) {
        return Err(format!("unknown column `{name}`; columns are {COLUMNS}"));
    }
    if names.len() != 4 {
        return Err(format!("a column is named twice; columns are {COLUMNS}"));
    }
    Ok(Columns { start, start_unit, source: known("src")?, sink: known("dst")?, size: known("size_bytes")?, count: 4 })
}

/// Reads all requests; `file` is its name for error messages.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Request>, Fault> {
    let mut columns: Option<Columns> = None;
    let mut requests = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |message: String| Fault::in_file(file, number, message);
        let Some(at) = &columns else {
            columns = Some(header(line).map_err(fault)?);
            continue;
        };
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != at.count {
            return Err(fault(format!("expected {} fields, found {}", at.count, fields.len())));
        }
        let whole = |name: &str, column: usize| {
            let field = fields[column];
            field.parse::<u64>().map_err(|_| fault(format!("{name} must be a whole number, not {field:?}")))
        };
        let host = |name: &str, column: usize| {
            u32::try_from(whole(name, column)?).map_err(|_| fault(format!("{name} is too large: {}", fields[column])))
        };
        let size = whole("size_bytes", at.size)?;
        if size == 0 {
            return Err(fault("size_bytes must be at least 1".to_owned()));
        }
        requests.push(Request {
            line: number,
            start: parse_time(fields[at.start], at.start_unit).map_err(fault)?,
            source: host("src", at.source)?,
            sink: host("dst", at.sink)?,
            size: Some(Bytes(size)),
        });
    }
    if columns.is_none() {
        return Err(Fault::in_file(file, 0, format!("no header; columns are {COLUMNS}")));
    }
    Ok(requests)
}
