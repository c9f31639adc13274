//! Tables of volumes: every row is one bin, with what was carried in it, or the mean rate.
//!
//! The stamp of a row is the start of its bin. The width is the middle step between the first rows, unless it is given.
//! Stamps that stray a little from the grid are put onto it; missing rows are unknown bins.

use super::Format;
use super::cell;
use super::cell::show;
use super::choose::{self, Choice, Chosen};
use super::columns::{self, Columns, Row, number_of, series_name};
use super::csv_packets::regular;
use super::preview::Preview;
use super::roles;
use super::trend::{Trend, two_readings};
use super::unit::{BYTES, Unit};
use crate::bins::Cell;
use crate::collect::{Collector, Interval};
use crate::error::{Place, ReadError};
use crate::input::Input;
use crate::request::Request;
use crate::stamp::{self, SECOND};
use crate::track::{Kind, Least};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct CsvVolumes;

/// Rows whose steps tell the width of a bin.
const ROWS: usize = 64;

impl Format for CsvVolumes {
    fn name(&self) -> &'static str {
        "csv-volumes"
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, None)
    }
}

/// Reads a table, whose columns may have a unit that the file tells elsewhere.
pub(super) fn read(
    input: &mut Input<'_>,
    out: &mut Collector<'_>,
    unit: Option<(Unit, &str)>,
) -> Result<(), ReadError> {
    let (mut lines, columns, first) = columns::open(input, out)?;
    let mut reader: Option<Volumes> = None;
    let result = columns.rows(first.as_ref(), &mut lines, |row| {
        let reader = match &mut reader {
            Some(reader) => reader,
            None => reader.insert(Volumes::of(&columns, row, out, unit)?),
        };
        reader.take(&columns, row, out)?;
        Ok(true)
    });
    // What was read before damage is worth keeping.
    let rest = reader.map_or(Ok(()), |mut reader| reader.finish(&columns, out));
    // Two readings are two, however far the table was read.
    if matches!(rest, Err(ReadError::Request { .. })) { rest } else { result.and(rest) }
}

/// Whether the rows of a preview, those of one series, come at regular times.
pub(super) fn steady(table: &Preview) -> bool {
    let time = table.roles.time;
    let stamp = |row: &&Vec<Vec<u8>>| {
        let text = row.get(time)?;
        stamp::decimal(text, SECOND).or_else(|| stamp::calendar(text).map(i128::from))
    };
    let times: Option<Vec<f64>> = table.of_one_series().iter().map(|row| stamp(row).map(|at| at as f64)).collect();
    times.is_some_and(|times| times.len() >= 2 && regular(&times))
}

/// A column of volumes.
struct Value {
    column: usize,
    packets: Option<usize>,
    name: Option<String>,
    unit: Unit,
    /// How request, name or cells write the unit; empty if they do not.
    text: String,
    /// Whether the unit is in the cells.
    in_cells: bool,
}

/// A row: its time, and bytes and packets of each column, where known.
struct Sample {
    place: Place,
    at: i64,
    values: Vec<Option<(f64, i64)>>,
}

/// The rows of one key.
#[derive(Default)]
struct Group {
    key: Vec<u8>,
    waiting: Vec<Sample>,
    /// Width of the file's own bins, once known.
    native: Option<i64>,
    tracks: Vec<usize>,
    origin: i64,
    index: i64,
    last: i64,
    placed: u64,
    strayed: i64,
    /// Of each column, how it moves.
    trends: Vec<Trend>,
}

struct Volumes {
    values: Vec<Value>,
    groups: BTreeMap<Vec<u8>, Group>,
    interval: Option<i64>,
    /// The column with the speed of the line.
    line: Option<(usize, f64)>,
    /// Whether somebody has said that the table holds volumes.
    said: bool,
    /// Rows that are for a bin that has one already.
    repeated: u64,
    unknown: u64,
    /// Values beyond what the line carries.
    impossible: u64,
}

impl Volumes {
    /// Decides, at the first row, which columns are volumes.
    fn of(
        columns: &Columns,
        row: &Row<'_>,
        out: &mut Collector<'_>,
        unit: Option<(Unit, &str)>,
    ) -> Result<Self, ReadError> {
        let request = &out.settings.request;
        let Choice { chosen, notes } = choose::volumes(columns, row, request)?;
        let name = |column: usize| columns.names().get(column).cloned();
        let partners: BTreeSet<usize> =
            chosen.iter().filter_map(|chosen| choose::packets_of(columns, chosen.column)).collect();
        let volumes: Vec<Chosen> = chosen.into_iter().filter(|chosen| !partners.contains(&chosen.column)).collect();
        let several = volumes.len() > 1 || request.columns.len() > 1;
        let values = volumes
            .into_iter()
            .map(|chosen| {
                let told = unit.map(|(unit, text)| (unit, text.to_owned()));
                let known = chosen.unit.or(told);
                let (unit, text) = choose::shown(known.as_ref());
                Value {
                    column: chosen.column,
                    packets: choose::packets_of(columns, chosen.column),
                    name: if several { name(chosen.column) } else { None },
                    unit,
                    text: text.to_owned(),
                    in_cells: false,
                }
            })
            .collect();
        let interval = request.interval_ns;
        if columns.counts_bins && interval.is_none() {
            return Err(ReadError::hinted(
                row.place,
                "the rows are numbered, and nothing says how long a bin is",
                "say it: --interval 10ms",
            ));
        }
        let said = request.format.is_some() || unit.is_some();
        for note in notes {
            out.remark(note);
        }
        Ok(Self {
            values,
            groups: BTreeMap::new(),
            interval,
            line: choose::line_of(columns),
            said,
            repeated: 0,
            unknown: 0,
            impossible: 0,
        })
    }

    fn take(&mut self, columns: &Columns, row: &Row<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        // Numbers of bins were read as seconds.
        let at = if columns.counts_bins {
            let number = i128::from(row.at / SECOND) * i128::from(self.interval.unwrap_or(1));
            stamp::checked(number).ok_or_else(|| ReadError::data(row.place, "the number of the bin is too large"))?
        } else {
            row.at
        };
        out.begin(at).map_err(|refused| refused.at(row.place))?;
        out.records += 1;
        let mut sample = Sample { place: row.place, at, values: Vec::with_capacity(self.values.len()) };
        let line = choose::line_rate(columns, row, self.line, out.settings.request.line_rate_bps);
        for value in &mut self.values {
            let number = match columns.value(row, value.column)? {
                cell::Value::Unknown => None,
                cell::Value::Number(number) => Some(number * value.unit.bytes),
                cell::Value::With(number, unit) => {
                    value.cell_unit(unit, columns, row)?;
                    Some(number * unit.bytes)
                }
            };
            let packets = match value.packets {
                Some(packets) => columns.known_count(row, packets)?.unwrap_or(0).min(i64::MAX as u64) as i64,
                None => 0,
            };
            self.unknown += u64::from(number.is_none());
            let too_much = |bytes: &f64| value.unit.per_second && line.is_some_and(|line| bytes * 8.0 > line * 1.1);
            let possible = number.filter(|bytes| !too_much(bytes));
            self.impossible += u64::from(possible.is_none() && number.is_some());
            sample.values.push(possible.map(|bytes| (bytes, packets)));
        }
        let interval = self.interval;
        let width = self.values.len();
        let group = number_of(&mut self.groups, row, width, || Group {
            key: row.key.to_vec(),
            trends: vec![Trend::default(); width],
            ..Group::default()
        })?;
        for (trend, value) in group.trends.iter_mut().zip(&sample.values) {
            if let Some((bytes, _)) = value {
                trend.add(*bytes);
            }
        }
        if group.native.is_none() {
            group.waiting.push(sample);
            if interval.is_some() || group.waiting.len() > ROWS {
                self.start(row.key, out)?;
            }
            return Ok(());
        }
        put(group, &self.values, &sample, &mut self.repeated, columns.has_key(), out)
    }

    /// Learns the width from the rows that wait, and puts them onto the grid.
    fn start(&mut self, key: &[u8], out: &mut Collector<'_>) -> Result<(), ReadError> {
        let Some(group) = self.groups.get_mut(key) else { return Ok(()) };
        let waiting = std::mem::take(&mut group.waiting);
        let Some(first) = waiting.first() else { return Ok(()) };
        let native = match self.interval {
            Some(interval) => interval,
            None => middle_step(&waiting).ok_or_else(|| {
                ReadError::hinted(first.place, "the rows do not say how long a bin is", "say it: --interval 5min")
            })?,
        };
        let widths = out.widths(&[native]);
        if let Some(finer) = widths.iter().find(|width| **width < native) {
            let [asked, own] = [*finer, native].map(|width| stamp::duration(width.unsigned_abs()));
            return Err(ReadError::Request {
                message: format!("bins of {asked} are finer than the table, which has one row for every {own}"),
                hint: format!("choose bins of {own} or a multiple"),
            });
        }
        let clock = out.settings.request.align == crate::request::Align::Clock;
        let origin = if clock { 0 } else { first.at };
        if widths.iter().any(|width| width % native != 0) || (clock && first.at % native != 0) {
            out.remark(
                "the bins are no multiples of the table's own: rows are spread evenly over the bins they touch"
                    .to_owned(),
            );
        }
        group.native = Some(native);
        (group.origin, group.last) = (first.at, first.at);
        for value in &self.values {
            let name = series_name(&group.key, value.name.as_deref());
            let track = out.track(name, Kind::Intervals, &widths, origin);
            if let Some(there) = out.tracks.get_mut(track) {
                there.has_packets = value.packets.is_some();
                let row = stamp::duration(native.unsigned_abs());
                there.least = Least { bin_ns: native, why: format!("there is one row for every {row}") };
            }
            group.tracks.push(track);
        }
        for sample in &waiting {
            put(group, &self.values, sample, &mut self.repeated, !key.is_empty(), out)?;
        }
        Ok(())
    }

    fn finish(&mut self, columns: &Columns, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let keys: Vec<Vec<u8>> =
            self.groups.iter().filter(|(_, group)| group.native.is_none()).map(|(k, _)| k.clone()).collect();
        for key in keys {
            self.start(&key, out)?;
        }
        self.check(columns)?;
        self.assume(columns, out);
        for (count, one, many) in [
            (
                self.impossible,
                "value is more than the line carries: unknown",
                "values are more than the line carries: unknown",
            ),
            (
                self.repeated,
                "row is for a bin that has one already, and is left out",
                "rows are for a bin that has one already, and are left out",
            ),
            (
                self.unknown,
                "value is empty or no number: unknown, not zero",
                "values are empty or no number: unknown, not zero",
            ),
        ] {
            out.remark_count(count, one, many);
        }
        for group in self.groups.values() {
            let native = group.native.unwrap_or(i64::MAX);
            if group.strayed > native {
                let far = stamp::duration(group.strayed.unsigned_abs());
                out.remark(format!(
                    "the stamps drift from a regular grid, by up to {far}: rows are taken as consecutive"
                ));
            }
        }
        Ok(())
    }
}

impl Value {
    /// Takes the unit of a cell: all cells of a column have one, of bytes or bits, and all are rates or none is.
    fn cell_unit(&mut self, unit: Unit, columns: &Columns, row: &Row<'_>) -> Result<(), ReadError> {
        let text = show(row.fields.get(self.column).copied().unwrap_or_default());
        if !self.in_cells && self.text.is_empty() {
            (self.in_cells, self.unit) = (true, Unit { per_second: unit.per_second, ..BYTES });
            "as each cell says".clone_into(&mut self.text);
        }
        let name = || {
            columns.names().get(self.column).map_or_else(String::new, |name| format!(" of {:?}", show(name.as_bytes())))
        };
        if !self.in_cells {
            let message = format!("{text:?} has a unit, and the column{} is in {}", name(), self.text);
            return Err(ReadError::hinted(row.place, message, "let the cells say it: without --unit"));
        }
        if self.unit.per_second != unit.per_second {
            let message = format!("{text:?}{}: some cells are rates, and others volumes", name());
            return Err(ReadError::data(row.place, message));
        }
        Ok(())
    }
}

impl Volumes {
    /// Refuses columns that may be counters, as far as all of their rows show.
    fn check(&self, columns: &Columns) -> Result<(), ReadError> {
        if self.said {
            return Ok(());
        }
        let open: Vec<usize> = (0..self.values.len()).filter(|&place| !self.values[place].unit.per_second).collect();
        let trends =
            || self.groups.values().flat_map(|group| open.iter().filter_map(|&i| Some((i, group.trends.get(i)?))));
        let change = trends().filter(|(_, trend)| trend.changes()).count();
        let grow = trends().filter(|(_, trend)| trend.grows()).count();
        let found = if grow > 0 && grow * 2 >= change {
            trends().find(|(_, trend)| trend.grows())
        } else if change == 0 {
            trends().find(|(_, trend)| trend.stands())
        } else {
            None
        };
        let Some((place, trend)) = found else { return Ok(()) };
        let column = self.values[place].column;
        let name = columns
            .names()
            .get(column)
            .map_or_else(|| format!("column {}", column + 1), |name| format!("column {:?}", show(name.as_bytes())));
        Err(two_readings(&name, &trend.doubt().unwrap_or_default()))
    }

    /// Says how the columns were read.
    fn assume(&self, columns: &Columns, out: &mut Collector<'_>) {
        let Some(native) = self.groups.values().find_map(|group| group.native) else { return };
        let row = stamp::duration(native.unsigned_abs());
        let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
        for value in &self.values {
            let name =
                columns.names().get(value.column).cloned().unwrap_or_else(|| format!("column {}", value.column + 1));
            let kind = match (value.unit.per_second, value.text.as_str()) {
                (true, unit) => format!("mean rates of {row} in {unit}"),
                (false, "") => format!("bytes in each row of {row}, as no name and no --unit says otherwise"),
                (false, unit) => format!("volumes of {row} in {unit}"),
            };
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, names)) => names.push(name),
                None => kinds.push((kind, vec![name])),
            }
        }
        let said = kinds.into_iter().map(|(kind, names)| format!("{}: {kind}", roles::listed(&names)));
        out.assume(format!("{}{}", said.collect::<Vec<_>>().join("; "), columns.of_times()));
    }
}

/// The middle of the steps forward, the smaller of two: rows that are missing only make steps longer.
fn middle_step(samples: &[Sample]) -> Option<i64> {
    let mut steps: Vec<i64> = samples.windows(2).map(|pair| pair[1].at - pair[0].at).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    // Numbers such as 33.333 ms are a rounded third: the mean of the steps like the middle one is closer.
    let middle = *steps.get(steps.len().checked_sub(1)? / 2)?;
    let like: Vec<i64> =
        steps.into_iter().filter(|step| step.abs_diff(middle) <= middle.unsigned_abs() / 100).collect();
    let mean = like.iter().map(|step| i128::from(*step)).sum::<i128>() / like.len().max(1) as i128;
    let exact = like.iter().all(|step| *step == middle);
    Some(if exact { middle } else { round_step(mean as i64, middle) })
}

/// A mean of steps that is nearly a whole number of milliseconds is one.
fn round_step(mean: i64, middle: i64) -> i64 {
    for unit in [60 * SECOND, SECOND, 1_000_000] {
        let rounded = (mean + unit / 2) / unit * unit;
        if rounded > 0 && rounded.abs_diff(mean) <= mean.unsigned_abs() / 1000 {
            return rounded;
        }
    }
    if mean > 0 { mean } else { middle }
}

/// Puts a row onto the grid.
fn put(
    group: &mut Group,
    values: &[Value],
    sample: &Sample,
    repeated: &mut u64,
    keyed: bool,
    out: &mut Collector<'_>,
) -> Result<(), ReadError> {
    let native = group.native.unwrap_or(1);
    let step = (sample.at - group.last).saturating_mul(2).saturating_add(native).div_euclid(native.saturating_mul(2));
    if step == 0 && group.placed > ROWS as u64 {
        *repeated += 1;
        return Ok(());
    }
    if step == 0 && group.placed > 0 {
        let message = "the row is in the same bin as the one before";
        let hint = if keyed {
            "the bins are narrower than --interval says, the table repeats rows, or it holds more series than its first \
             key tells apart: --by COLUMN, or --row COLUMN=VALUE"
        } else {
            "if the table holds several series: --by COLUMN, or --row COLUMN=VALUE"
        };
        return Err(ReadError::hinted(sample.place, message, hint));
    }
    leap(step, native, group.placed, (sample.place, sample.at), group.last, out)?;
    group.placed += 1;
    let index = group.index + step;
    if step > 0 {
        if step > 1 {
            let start = |index: i64| group.origin.saturating_add(index.saturating_mul(native));
            let (from, to) = (start(group.index + 1), start(index));
            for track in &group.tracks {
                if let Some(track) = out.tracks.get_mut(*track) {
                    track.gap(from, to, "missing rows");
                }
            }
        }
        (group.index, group.last) = (index, sample.at);
    }
    // The same grid for all rows, so that bins of the table's own width hold one row each.
    let from = group.origin.saturating_add(index.saturating_mul(native));
    group.strayed = group.strayed.max(sample.at.saturating_sub(from).saturating_abs());
    watch(out, from, step < 0, (sample.at - group.last).unsigned_abs());
    for ((value, track), known) in values.iter().zip(&group.tracks).zip(&sample.values) {
        let Some((bytes, packets)) = known else { continue };
        let bytes = if value.unit.per_second { bytes * (native as f64 / SECOND as f64) } else { *bytes };
        let bytes = bytes * out.settings.request.parts.unwrap_or(1) as f64;
        out.rounded += u64::from(bytes.fract() != 0.0);
        let cell = Cell { bytes: bytes.round().min(9e18) as i64, packets: *packets };
        let interval = Interval { from, to: from.saturating_add(native), cell, long: false };
        out.interval(*track, interval).map_err(|refused| refused.at(sample.place))?;
    }
    Ok(())
}

/// Bins that a stamp may leap, whatever came before.
const LEAP: u64 = 100_000;

/// Refuses a stamp that is so far from the one before that it must be damaged: the series would be nothing but a hole.
pub(super) fn leap(
    step: i64,
    native: i64,
    rows: u64,
    at: (Place, i64),
    before: i64,
    out: &Collector<'_>,
) -> Result<(), ReadError> {
    let bins = step.unsigned_abs();
    // Who says how many bins there may be has said that this is right.
    if bins <= LEAP || bins <= rows.saturating_mul(10) || out.settings.request.max_bins.is_some() {
        return Ok(());
    }
    let (place, at) = at;
    let way = if step < 0 { "before" } else { "after" };
    let message = format!(
        "the stamp {} is {} {way} that of the row before, {}: {bins} rows of {} would be missing",
        stamp::show(at),
        stamp::duration(at.abs_diff(before)),
        stamp::show(before),
        stamp::duration(native.unsigned_abs()),
    );
    let keep = "mend the stamp, or --keep-partial keeps what comes before it";
    let allow = "if the stamp is right, allow it with --max-bins 20000000; if it is damaged, mend it, or --keep-partial \
                 keeps what comes before it";
    let hint = if bins > Request::MAX_BINS as u64 { keep } else { allow };
    Err(ReadError::hinted(place, message, hint))
}

/// Keeps the span of the file, and counts rows that come late.
pub(super) fn watch(out: &mut Collector<'_>, at: i64, late: bool, step_back: u64) {
    if !out.order.started() {
        out.order.note(at);
    }
    out.order.first = out.order.first.min(at);
    out.order.last = out.order.last.max(at);
    if late {
        out.order.late += 1;
        out.order.step_back = out.order.step_back.max(step_back);
    }
}
