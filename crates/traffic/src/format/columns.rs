//! Which column of a table is what: as the request says, or by the names that tools give them.

use super::table::{Layout, Line, Lines, show};
use crate::collect::Collector;
use crate::error::{Place, ReadError};
use crate::request::Request;
use crate::stamp::{self, SECOND};

/// Names of columns of time stamps, in lower case.
const TIME: [&str; 22] = [
    "time",
    "timestamp",
    "ts",
    "t",
    "t_s",
    "t_ms",
    "t_us",
    "t_ns",
    "time_s",
    "time_ms",
    "time_us",
    "time_ns",
    "t_unix_s",
    "epoch",
    "date",
    "datetime",
    "start_ns",
    "frame.time_epoch",
    "frame.time_relative",
    "bin",
    "index",
    "interval",
];

/// Names of columns that say to which series a row belongs.
const KEYS: [&str; 11] =
    ["interface", "ifname", "ifdescr", "ifindex", "port", "name", "device", "host", "vm", "link", "instance"];

/// The columns that are the time and the key by their names; without names the first is the time.
pub(super) fn guess(layout: &Layout) -> (usize, Option<usize>) {
    let names = layout.names.as_deref().unwrap_or_default();
    let position = |known: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(known));
    let key = names.iter().position(|name| KEYS.contains(&name.to_ascii_lowercase().as_str()));
    (TIME.iter().find_map(position).unwrap_or(0), key)
}

/// A row of a table, as far as it is needed.
pub(super) struct Row<'a> {
    pub(super) place: Place,
    pub(super) at: i64,
    /// The series it belongs to; empty if there is only one.
    pub(super) key: &'a [u8],
    pub(super) fields: &'a [&'a [u8]],
}

/// The columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    layout: Layout,
    time: usize,
    /// Nanoseconds in a unit of the time column, if it holds numbers.
    unit: i64,
    /// The time column counts bins instead of telling the time.
    pub(super) counts_bins: bool,
    key: Option<usize>,
    rows: Vec<(usize, Vec<u8>)>,
}

impl Columns {
    /// Finds the time, the key and the selected rows.
    pub(super) fn of(first: Line<'_>, request: &Request) -> Result<Self, ReadError> {
        let layout = Layout::of(first.text);
        let mut columns = Self { layout, time: 0, unit: SECOND, counts_bins: false, key: None, rows: Vec::new() };
        let mut name = None;
        if let Some(wanted) = &request.time {
            columns.time = columns.find(wanted, first.place)?;
            name = Some(wanted.clone());
        } else if let Some(names) = &columns.layout.names {
            let found = TIME.iter().find_map(|known| names.iter().position(|name| name.eq_ignore_ascii_case(known)));
            let Some(found) = found else {
                let message = format!("no column looks like a time: {}", names.join(", "));
                return Err(ReadError::hinted(first.place, message, "name it: --time COLUMN"));
            };
            columns.time = found;
            name = names.get(found).cloned();
        }
        let name = name.unwrap_or_default().to_ascii_lowercase();
        columns.counts_bins = matches!(name.as_str(), "bin" | "index" | "interval");
        let suffix = name.rsplit('_').next().unwrap_or_default();
        columns.unit = match request.time_unit.as_deref().unwrap_or(suffix) {
            "ms" => 1_000_000,
            "us" => 1000,
            "ns" => 1,
            _ => SECOND,
        };
        columns.key = match &request.by {
            Some(by) => Some(columns.find(by, first.place)?),
            None => columns.names().iter().position(|name| KEYS.contains(&name.to_ascii_lowercase().as_str())),
        };
        for (column, value) in &request.rows {
            let column = columns.find(column, first.place)?;
            if columns.key == Some(column) {
                columns.key = None;
            }
            columns.rows.push((column, value.clone().into_bytes()));
        }
        Ok(columns)
    }

    /// The names of the columns; none if the table does not say.
    pub(super) fn names(&self) -> &[String] {
        self.layout.names.as_deref().unwrap_or_default()
    }

    /// Whether the first line is a row.
    pub(super) fn first_is_row(&self) -> bool {
        self.layout.names.is_none()
    }

    /// Whether a column is the time, the key or a condition.
    pub(super) fn is_taken(&self, column: usize) -> bool {
        column == self.time || self.key == Some(column) || self.rows.iter().any(|(taken, _)| *taken == column)
    }

    /// Whether rows say to which series they belong.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Finds a column by its name, or by its number if columns have no names (1 is the first).
    pub(super) fn find(&self, wanted: &str, place: Place) -> Result<usize, ReadError> {
        let exact = self.names().iter().position(|name| name == wanted);
        let any_case = || self.names().iter().position(|name| name.eq_ignore_ascii_case(wanted));
        let number = || {
            let number: usize = wanted.parse().ok()?;
            (self.names().is_empty() && (1..=10_000).contains(&number)).then(|| number - 1)
        };
        exact.or_else(any_case).or_else(number).ok_or_else(|| {
            let known = if self.names().is_empty() { "1, 2, ...".to_owned() } else { self.names().join(", ") };
            ReadError::hinted(place, format!("there is no column {wanted:?}"), format!("columns: {known}"))
        })
    }

    /// The first column with one of these names that is not taken.
    pub(super) fn named(&self, known: &[&str]) -> Option<usize> {
        let position = |known: &&str| self.names().iter().position(|name| name.eq_ignore_ascii_case(known));
        known.iter().filter_map(position).find(|column| !self.is_taken(*column))
    }

    /// Calls `each` with every row that is wanted.
    pub(super) fn rows(
        &self,
        first: Option<&(Place, Vec<u8>)>,
        lines: &mut Lines<'_, '_>,
        mut each: impl FnMut(&Row<'_>) -> Result<bool, ReadError>,
    ) -> Result<(), ReadError> {
        if let Some((place, text)) = first {
            let mut fields = Vec::new();
            if !self.row(Line { place: *place, text }, &mut fields, &mut each)? {
                return Ok(());
            }
        }
        let mut spare: Vec<&[u8]> = Vec::new();
        while let Some(line) = lines.next()? {
            let mut fields = std::mem::take(&mut spare);
            let go_on = self.row(line, &mut fields, &mut each)?;
            fields.clear();
            // Empty, so that it borrows from no line: collecting in place keeps the memory.
            spare = fields.into_iter().map(|_| -> &[u8] { &[] }).collect();
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    fn row<'l>(
        &self,
        line: Line<'l>,
        fields: &mut Vec<&'l [u8]>,
        each: &mut impl FnMut(&Row<'_>) -> Result<bool, ReadError>,
    ) -> Result<bool, ReadError> {
        self.layout.split(line.text, fields);
        if !self.rows.iter().all(|(column, value)| fields.get(*column).is_some_and(|field| *field == value)) {
            return Ok(true);
        }
        let text = *fields.get(self.time).ok_or_else(|| self.missing(self.time, fields.len(), line.place))?;
        let at = self.stamp(text).ok_or_else(|| {
            ReadError::hinted(
                line.place,
                format!("{:?} is not a time", show(text)),
                "expected a number (seconds, or as --time-unit says) or a date such as 2024-05-01 12:00:00.5",
            )
        })?;
        let key = self.key.and_then(|key| fields.get(key).copied()).unwrap_or_default();
        each(&Row { place: line.place, at, key, fields })
    }

    /// A time, in the unit of the table if it is a number.
    pub(super) fn stamp(&self, text: &[u8]) -> Option<i64> {
        stamp::decimal(text, self.unit).and_then(stamp::checked).or_else(|| stamp::calendar(text))
    }

    pub(super) fn missing(&self, column: usize, there: usize, place: Place) -> ReadError {
        let name =
            self.names().get(column).map_or_else(|| format!("number {}", column + 1), |name| format!("{name:?}"));
        ReadError::data(place, format!("the row has {there} fields: column {name} is missing"))
    }

    /// A field of a row.
    pub(super) fn field<'r>(&self, row: &Row<'r>, column: usize) -> Result<&'r [u8], ReadError> {
        row.fields.get(column).copied().ok_or_else(|| self.missing(column, row.fields.len(), row.place))
    }

    /// A count: a number that is whole and not negative.
    pub(super) fn count(&self, row: &Row<'_>, column: usize) -> Result<u64, ReadError> {
        let text = self.field(row, column)?;
        let number = stamp::decimal(text, 1).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| {
            ReadError::data(row.place, format!("{:?} is not a count: expected a whole number from 0", show(text)))
        })
    }
}

/// Makes a name for a series from its key and its column; either may be left out.
pub(super) fn series_name(key: &[u8], column: Option<&str>) -> String {
    let key = String::from_utf8_lossy(key);
    match (key.is_empty(), column) {
        (true, column) => column.unwrap_or_default().to_owned(),
        (false, None) => key.into_owned(),
        (false, Some(column)) => format!("{key} {column}"),
    }
}

/// Series of a table at most.
const SERIES_MAX: usize = 10_000;

/// Finds the number of a key among those seen, or makes one.
pub(super) fn number_of<'k, S>(
    keys: &'k mut std::collections::BTreeMap<Vec<u8>, S>,
    row: &Row<'_>,
    make: impl FnOnce() -> S,
) -> Result<&'k mut S, ReadError> {
    if keys.len() >= SERIES_MAX && !keys.contains_key(row.key) {
        let message = format!("more than {SERIES_MAX} series in one table");
        return Err(ReadError::hinted(row.place, message, "choose some: --row COLUMN=VALUE"));
    }
    Ok(keys.entry(row.key.to_vec()).or_insert_with(make))
}

/// Opens a table: its lines, its columns, and its first line if that is a row.
#[expect(clippy::type_complexity, reason = "what a reader of tables begins with")]
pub(super) fn open<'i, 'a>(
    input: &'i mut crate::input::Input<'a>,
    out: &Collector<'_>,
) -> Result<(Lines<'i, 'a>, Columns, Option<(Place, Vec<u8>)>), ReadError> {
    let mut lines = Lines::new(input)?;
    let Some(first) = lines.next()? else {
        let place = Place::Line { line: 1, offset: 0 };
        return Err(ReadError::data(place, "the table is empty"));
    };
    let columns = Columns::of(first, &out.settings.request)?;
    let row = columns.first_is_row().then(|| (first.place, first.text.to_vec()));
    Ok((lines, columns, row))
}
