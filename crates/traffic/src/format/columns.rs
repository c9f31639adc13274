//! The columns of a table, and its rows.

use super::cell::{self, show};
use super::clock::Clock;
use super::preview::{self, PREVIEW};
use super::roles::{find, is_key, listed, time_of};
use super::table::{Layout, Line, Lines, is_ambiguous_date};
use crate::collect::Collector;
use crate::error::{Place, ReadError};
use crate::request::{DecimalMark, Request};
use crate::stamp::{self, SECOND};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Names of columns that number the bins instead of telling the time, in lower case.
const NUMBERS: [&str; 4] = ["bin", "index", "interval", "id_time"];

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
    /// Whether the dates so far have a time zone.
    zone: Cell<Option<bool>>,
    /// Reads the dates that have none.
    clock: RefCell<Clock>,
    /// The decimal mark.
    pub(super) mark: DecimalMark,
    /// Columns by their names in lower case, and the first of each.
    places: HashMap<String, usize>,
}

impl Columns {
    /// Finds the time, the key and the selected rows.
    pub(super) fn of(first: Line<'_>, request: &Request) -> Result<Self, ReadError> {
        let clock = Clock::new(request.time_zone.as_deref(), request.time_format.as_deref());
        let layout = Layout::of(first.text, &clock);
        let mut places = HashMap::new();
        for (place, name) in layout.names.iter().flatten().enumerate() {
            places.entry(name.to_ascii_lowercase()).or_insert(place);
        }
        let mut columns = Self {
            layout,
            time: 0,
            unit: SECOND,
            counts_bins: false,
            key: None,
            rows: Vec::new(),
            zone: Cell::new(None),
            clock: RefCell::new(clock),
            mark: request.decimal.unwrap_or(DecimalMark::Point),
            places,
        };
        let mut name = None;
        if let Some(wanted) = &request.time {
            columns.time = columns.find(wanted, first.place)?;
            name = Some(wanted.clone());
        } else if let Some(names) = &columns.layout.names {
            let Some(found) = time_of(names) else {
                let message = format!("no column looks like a time: {}", listed(names));
                return Err(ReadError::hinted(first.place, message, "name it: --time COLUMN"));
            };
            columns.time = found;
            name = names.get(found).cloned();
        }
        let name = name.unwrap_or_default().to_ascii_lowercase();
        columns.counts_bins = NUMBERS.contains(&name.as_str());
        let suffix = name.rsplit('_').next().unwrap_or_default();
        columns.unit = match request.time_unit.as_deref().unwrap_or(suffix) {
            "ms" => 1_000_000,
            "us" => 1000,
            "ns" => 1,
            _ => SECOND,
        };
        columns.key = match &request.by {
            Some(by) => Some(columns.find(by, first.place)?),
            None => columns.names().iter().position(|name| is_key(name)),
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
        find(self.names(), wanted).ok_or_else(|| {
            let known = if self.names().is_empty() { "1, 2, ...".to_owned() } else { listed(self.names()) };
            ReadError::hinted(place, format!("there is no column {wanted:?}"), format!("columns: {known}"))
        })
    }

    /// The first column with one of these names that is not taken.
    pub(super) fn named(&self, known: &[&str]) -> Option<usize> {
        let position = |known: &&str| self.names().iter().position(|name| name.eq_ignore_ascii_case(known));
        known.iter().filter_map(position).find(|column| !self.is_taken(*column))
    }

    /// The first column of a name in lower case.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
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
        let key = self.key.and_then(|key| fields.get(key).copied()).unwrap_or_default();
        let at = self.stamp(text, key, line.place)?;
        each(&Row { place: line.place, at, key, fields })
    }

    /// A time, in the unit of the table if it is a number; of the series of a key.
    pub(super) fn stamp(&self, text: &[u8], key: &[u8], place: Place) -> Result<i64, ReadError> {
        let mut clock = self.clock.borrow_mut();
        let (at, zoned) = if clock.has_format() {
            clock.parse(text).ok_or_else(|| self.no_time(text, place))?
        } else if let Some(at) = stamp::decimal(text, self.unit).and_then(stamp::checked) {
            return Ok(at);
        } else {
            stamp::zoned(text).ok_or_else(|| self.no_time(text, place))?
        };
        self.same_zone(zoned, text, place)?;
        if zoned { Ok(at) } else { clock.moment(at, key, text, place) }
    }

    /// Whether the times so far have no zone, and the request gives none.
    pub(super) fn is_naive(&self) -> bool {
        self.zone.get() == Some(false) && !self.clock.borrow().has_zone()
    }

    /// The assumption about times, for the report.
    pub(super) fn of_times(&self) -> &'static str {
        if self.is_naive() { "; times as UTC, without a --time-zone" } else { "" }
    }

    /// Accepts rows in any order.
    pub(super) fn unordered(&self) {
        self.clock.borrow_mut().unordered();
    }

    /// Of dates with and without a time zone nobody knows how they relate.
    fn same_zone(&self, zoned: bool, text: &[u8], place: Place) -> Result<(), ReadError> {
        if self.zone.replace(Some(zoned)).is_none_or(|before| before == zoned) {
            return Ok(());
        }
        let (this, others) = if zoned { ("has a time zone", "none") } else { ("has no time zone", "one") };
        Err(ReadError::hinted(
            place,
            format!("{:?} {this}, and the times before have {others}", show(text)),
            "write all times with their zone (Z is UTC), or all without one (which is taken as UTC)",
        ))
    }

    /// Why a field is no time, and what to do about it.
    pub(super) fn no_time(&self, text: &[u8], place: Place) -> ReadError {
        let message = format!("{:?} is not a time", show(text));
        let seconds = stamp::decimal(text, 1).filter(|_| self.unit == SECOND).map(i128::unsigned_abs);
        let hint = match seconds {
            Some(100_000_000_000..100_000_000_000_000) => "these look like milliseconds since 1970: --time-unit ms",
            Some(100_000_000_000_000..100_000_000_000_000_000) => {
                "these look like microseconds since 1970: --time-unit us"
            }
            Some(100_000_000_000_000_000..) => "these look like nanoseconds since 1970: --time-unit ns",
            _ if self.clock.try_borrow().is_ok_and(|clock| clock.has_format()) => "--time-format does not describe it",
            None if is_ambiguous_date(text) => {
                "is that day or month first? --time-format '%d.%m.%Y %H:%M' or '%m/%d/%Y %I:%M %p', or dates with the year first"
            }
            _ => "expected a number (seconds, or as --time-unit says) or a date such as 2024-05-01 12:00:00.5",
        };
        ReadError::hinted(place, message, hint)
    }

    pub(super) fn missing(&self, column: usize, there: usize, place: Place) -> ReadError {
        let name = self
            .names()
            .get(column)
            .map_or_else(|| format!("number {}", column + 1), |name| format!("{:?}", show(name.as_bytes())));
        ReadError::data(place, format!("the row has {there} fields: column {name} is missing"))
    }

    /// A field of a row.
    pub(super) fn field<'r>(&self, row: &Row<'r>, column: usize) -> Result<&'r [u8], ReadError> {
        row.fields.get(column).copied().ok_or_else(|| self.missing(column, row.fields.len(), row.place))
    }

    /// A count: a number that is whole and not negative.
    pub(super) fn count(&self, row: &Row<'_>, column: usize) -> Result<u64, ReadError> {
        let text = self.field(row, column)?;
        let fraction =
            || cell::number(text, self.mark).filter(|number| number.fract() == 0.0).map(|number| number as i128);
        let number = stamp::decimal(text, 1).or_else(fraction).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| {
            ReadError::data(row.place, format!("{:?} is not a count: expected a whole number from 0", show(text)))
        })
    }

    /// A count; none if the field says that it is not known.
    pub(super) fn known_count(&self, row: &Row<'_>, column: usize) -> Result<Option<u64>, ReadError> {
        if cell::is_unknown(self.field(row, column)?) { Ok(None) } else { self.count(row, column).map(Some) }
    }

    /// A value of some unit.
    pub(super) fn value(&self, row: &Row<'_>, column: usize) -> Result<cell::Value, ReadError> {
        let text = self.field(row, column)?;
        let found = cell::value(text, self.mark).filter(|value| match value {
            cell::Value::Unknown => true,
            cell::Value::Number(number) | cell::Value::With(number, _) => (0.0..1e18).contains(number),
        });
        found.ok_or_else(|| {
            let message = format!("{:?} is not a volume: expected a number from 0, or nothing if unknown", show(text));
            if self.mark == DecimalMark::Point && cell::number(text, DecimalMark::Comma).is_some() {
                return ReadError::hinted(row.place, message, "if that is a decimal comma: --decimal comma");
            }
            ReadError::data(row.place, message)
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
const SERIES_MAX: usize = 100_000;

/// Keys of a table at most.
const KEYS_MAX: usize = 10_000;

/// Finds the number of a key among those seen, or makes one, with so many series for each.
pub(super) fn number_of<'k, S>(
    keys: &'k mut std::collections::BTreeMap<Vec<u8>, S>,
    row: &Row<'_>,
    each: usize,
    make: impl FnOnce() -> S,
) -> Result<&'k mut S, ReadError> {
    let most = KEYS_MAX.min(SERIES_MAX / each.max(1)).max(1);
    if keys.len() >= most && !keys.contains_key(row.key) {
        let message = format!("more than {} series in one table", most * each);
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
    // Damage this early is told when the reader gets to it.
    let whole = input.fill(PREVIEW).is_ok_and(|filled| !filled);
    let mark = preview::decimal_mark(input.window(), whole, &out.settings.request);
    let mut lines = Lines::new(input)?;
    let Some(first) = lines.next()? else {
        let place = Place::Line { line: 1, offset: 0 };
        return Err(ReadError::data(place, "the table is empty"));
    };
    let mut columns = Columns::of(first, &out.settings.request)?;
    columns.mark = mark?;
    let row = columns.first_is_row().then(|| (first.place, first.text.to_vec()));
    Ok((lines, columns, row))
}
