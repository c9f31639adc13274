//! Tables of volumes: every row is one bin, with what was carried in it, or the mean rate.
//!
//! The stamp of a row is the start of its bin. The width is the middle step between the first rows, unless it is given.
//! Stamps that stray a little from the grid are put onto it; missing rows are unknown bins.

use super::columns::{self, Columns, Row, number_of, series_name};
use super::csv_packets::regular;
use super::table::{Preview, show};
use super::unit::{BYTES, Unit};
use super::{Format, Start};
use crate::bins::Cell;
use crate::collect::{Collector, Interval, Kind};
use crate::error::{Place, ReadError};
use crate::input::Input;
use crate::outcome::Least;
use crate::request::Request;
use crate::stamp::{self, SECOND};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct CsvVolumes;

/// Names of columns of volumes, in lower case, if there is no other choice.
const VOLUME: [&str; 3] = ["bytes", "volume", "octets"];

/// Rows whose steps tell the width of a bin.
const ROWS: usize = 64;

impl Format for CsvVolumes {
    fn name(&self) -> &'static str {
        "csv-volumes"
    }

    /// Rows at regular times whose values do not only grow: those could be counters.
    fn recognises(&self, start: &Start<'_>) -> bool {
        start.table.as_ref().is_some_and(|table| steady(table) && !growing(table, candidates(table)))
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let (mut lines, columns, first) = columns::open(input, out)?;
        let mut reader: Option<Volumes> = None;
        let result = columns.rows(first.as_ref(), &mut lines, |row| {
            let reader = match &mut reader {
                Some(reader) => reader,
                None => reader.insert(Volumes::of(&columns, row, out)?),
            };
            reader.take(&columns, row, out)?;
            Ok(true)
        });
        // What was read before damage is worth keeping.
        let rest = reader.map_or(Ok(()), |mut reader| reader.finish(out));
        result.and(rest)
    }
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

/// Whether most columns of a preview that change only grow, as counters do, among those that may hold the values and of
/// which `counts` holds. Of many columns with few rows one or the other grows by chance.
pub(super) fn growing(table: &Preview, counts: impl Fn(usize) -> bool) -> bool {
    let rows = table.of_one_series();
    let number =
        |row: &Vec<Vec<u8>>, column: usize| -> Option<f64> { std::str::from_utf8(row.get(column)?).ok()?.parse().ok() };
    let width = rows.first().map_or(0, |row| row.len());
    let (mut grow, mut change) = (0, 0);
    for column in table.roles.values(&table.layout, width).into_iter().filter(|column| counts(*column)) {
        let values: Option<Vec<f64>> = rows.iter().map(|row| number(row, column)).collect();
        let Some(values) = values.filter(|values| values.len() >= 4) else { continue };
        if values.windows(2).any(|pair| pair[0] < pair[1]) {
            grow += u32::from(values.windows(2).all(|pair| pair[0] <= pair[1]));
        }
        change += u32::from(values.windows(2).any(|pair| (pair[0] - pair[1]).abs() > 0.0));
    }
    grow > 0 && grow * 2 >= change
}

/// The columns of a preview that are read as volumes: those asked for, or one with the name of volumes, or any.
fn candidates(table: &Preview) -> impl Fn(usize) -> bool {
    let named = VOLUME
        .iter()
        .find_map(|known| table.layout.names.as_deref()?.iter().position(|name| name.eq_ignore_ascii_case(known)));
    let only = if table.roles.asked.is_some() { None } else { named };
    move |column| only.is_none_or(|only| only == column)
}

/// A column of volumes.
struct Value {
    column: usize,
    packets: Option<usize>,
    name: Option<String>,
    unit: Unit,
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
}

struct Volumes {
    values: Vec<Value>,
    groups: BTreeMap<Vec<u8>, Group>,
    interval: Option<i64>,
    /// Rows that are for a bin that has one already.
    repeated: u64,
    unknown: u64,
}

impl Volumes {
    /// Decides, at the first row, which columns are volumes.
    fn of(columns: &Columns, row: &Row<'_>, out: &Collector<'_>) -> Result<Self, ReadError> {
        let request = &out.settings.request;
        let asked = request.unit.as_deref();
        let unit = asked.map(|text| {
            Unit::parse(text).ok_or_else(|| ReadError::Request {
                message: format!("{text:?} is not a unit of volume"),
                hint: "for example B, kbit, MB/s or Gbps".to_owned(),
            })
        });
        let unit = unit.transpose()?;
        let numeric = |column: usize| row.fields.get(column).is_some_and(|field| value(field).is_ok());
        let chosen: Vec<usize> = if !request.columns.is_empty() {
            request.columns.iter().map(|name| columns.find(name, row.place)).collect::<Result<_, _>>()?
        } else if let Some(column) = columns.named(&VOLUME) {
            vec![column]
        } else {
            let name = |column: usize| columns.names().get(column);
            let identifier = |column: usize| name(column).is_some_and(|name| columns::is_identifier(name));
            (0..row.fields.len())
                .filter(|&column| !columns.is_taken(column) && !identifier(column) && numeric(column))
                .collect()
        };
        if chosen.is_empty() {
            return Err(ReadError::hinted(row.place, "no column holds volumes", "name it: --column NAME"));
        }
        let name = |column: usize| columns.names().get(column).cloned();
        let partner = |column: usize| packets_of(columns, column).filter(|packets| *packets != column);
        let partners: BTreeSet<usize> = chosen.iter().filter_map(|&column| partner(column)).collect();
        let volumes = chosen.iter().copied().filter(|column| !partners.contains(column));
        let values = volumes
            .map(|column| Value {
                column,
                packets: partner(column),
                name: if chosen.len() - partners.len().min(chosen.len()) > 1 || request.columns.len() > 1 {
                    name(column)
                } else {
                    None
                },
                unit: unit.or_else(|| name(column).and_then(|name| Unit::of_column(&name))).unwrap_or(BYTES),
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
        Ok(Self { values, groups: BTreeMap::new(), interval, repeated: 0, unknown: 0 })
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
        for Value { column, packets, unit, .. } in &self.values {
            let text = columns.field(row, *column)?;
            let number = value(text).map_err(|()| {
                let message =
                    format!("{:?} is not a volume: expected a number from 0, or nothing if unknown", show(text));
                ReadError::data(row.place, message)
            })?;
            let packets = match packets {
                Some(packets) => columns.count(row, *packets)?.min(i64::MAX as u64) as i64,
                None => 0,
            };
            self.unknown += u64::from(number.is_none());
            sample.values.push(number.map(|number| (number * unit.bytes, packets)));
        }
        let interval = self.interval;
        let group = number_of(&mut self.groups, row, self.values.len(), || Group {
            key: row.key.to_vec(),
            ..Group::default()
        })?;
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

    fn finish(&mut self, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let keys: Vec<Vec<u8>> =
            self.groups.iter().filter(|(_, group)| group.native.is_none()).map(|(k, _)| k.clone()).collect();
        for key in keys {
            self.start(&key, out)?;
        }
        if self.repeated > 0 {
            out.remark(format!("{} rows are for a bin that has one already, and are left out", self.repeated));
        }
        if self.unknown > 0 {
            out.remark(format!("{} values are empty or no number: unknown, not zero", self.unknown));
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

/// The column of packets that goes with a column of bytes: `packets` in place of `bytes` or `octets` in its name.
pub(super) fn packets_of(columns: &Columns, column: usize) -> Option<usize> {
    let name = columns.names().get(column)?.to_ascii_lowercase();
    let wanted = ["bytes", "octets"].iter().find(|word| name.contains(**word))?;
    columns.place(&name.replacen(*wanted, "packets", 1))
}

/// A volume; none if it is unknown.
fn value(text: &[u8]) -> Result<Option<f64>, ()> {
    let text = std::str::from_utf8(text).map_err(|_| ())?;
    if matches!(text.to_ascii_lowercase().as_str(), "" | "-" | "nan" | "null" | "none" | "na" | "u") {
        return Ok(None);
    }
    let number: f64 = text.parse().map_err(|_| ())?;
    if (0.0..1e18).contains(&number) { Ok(Some(number)) } else { Err(()) }
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
            "the bins are narrower than --interval says, or the table repeats rows"
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
