//! Raw interface counters: a time and the counters in every row, polled irregularly.
//!
//! A counter's increase between two polls is the volume of that interval, spread evenly over it; a bin gets its exact
//! share, so that no averages are averaged. [`Course`] tells wraps, resets and polls that failed apart; what was carried
//! around a reset is unknown. An interval longer than three usual ones, or around a poll that failed, has a volume of
//! which nobody knows where in it: it counts only in bins that hold the interval whole.

use super::Format;
use super::cell::show;
use super::choose::{self, Choice};
use super::columns::{self, Columns, Row, number_of, series_name};
use super::course::{Course, Fact, Limits, Reading, Tally};
use super::csv_volumes::{leap, watch};
use super::roles;
use crate::bins::Cell;
use crate::collect::{Collector, Interval};
use crate::error::{Place, ReadError};
use crate::input::Input;
use crate::stamp::{self, SECOND};
use crate::track::{Kind, Least};
use std::collections::BTreeMap;

pub(super) struct Counters;

/// Polls whose steps tell the usual interval.
const POLLS: usize = 64;

/// Usual intervals in one that has lost none.
const LOST: i64 = 3;

/// A time span for a message.
fn span(ns: i64) -> String {
    stamp::duration(ns.unsigned_abs())
}

impl Format for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out)
    }
}

/// Reads a table.
pub(super) fn read(input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
    let (mut lines, columns, first) = columns::open(input, out)?;
    let mut reader: Option<Reader> = None;
    let result = columns.rows(first.as_ref(), &mut lines, |row| {
        let reader = match &mut reader {
            Some(reader) => reader,
            None => reader.insert(Reader::of(&columns, row, out)?),
        };
        reader.take(&columns, row, out)?;
        Ok(true)
    });
    let rest = reader.map_or(Ok(()), |mut reader| reader.finish(&columns, out));
    // What is no counter is none, however far the table was read.
    if matches!(rest, Err(ReadError::Request { .. })) { rest } else { result.and(rest) }
}

/// Resets that any counter may have, and those of one that has more: one in so many intervals.
const RESETS: u64 = 2;
const RARE: u64 = 20;

/// What clocks go forward by when summer time begins, ns.
const SUMMER: i64 = 3600 * SECOND;

/// Wraps of a 32-bit counter, one in so many intervals, from which on it may have wrapped more than once in one.
const WRAPS: u64 = 20;

/// A column of bytes, and that of packets that goes with it.
struct Value {
    bytes: usize,
    packets: Option<usize>,
    name: Option<String>,
    /// Of the counter, if somebody says.
    bits: Option<u8>,
    tally: Tally,
}

struct Poll {
    at: i64,
    place: Place,
    /// What it read from each pair of columns; none where it failed.
    readings: Vec<Option<Reading>>,
    /// What the line carries, bits per second.
    line: Option<f64>,
}

#[derive(Default)]
struct Group {
    waiting: Vec<Poll>,
    /// The usual interval, once known.
    usual: Option<i64>,
    tracks: Vec<usize>,
    courses: Vec<Course>,
    /// The last poll: when it was, and where it stands.
    last: Option<(i64, Place)>,
    line: Option<f64>,
    /// Polls counted.
    polls: u64,
}

struct Reader {
    values: Vec<Value>,
    groups: BTreeMap<Vec<u8>, Group>,
    line: Option<(usize, f64)>,
    origin: i64,
    facts: Vec<Fact>,
    /// Times are as a clock on the wall shows them, nobody knows where.
    naive: bool,
}

impl Reader {
    fn of(columns: &Columns, row: &Row<'_>, out: &mut Collector<'_>) -> Result<Self, ReadError> {
        let request = &out.settings.request;
        if let Some(unit) = &request.unit {
            return Err(ReadError::Request {
                message: format!("counters count bytes: --unit {unit} does not apply"),
                hint: "if each row holds what was carried in it: --format csv-volumes".to_owned(),
            });
        }
        let Choice { chosen, notes } = choose::counters(columns, row, request)?;
        let several = chosen.len() > 1;
        let value = |bytes: usize| Value {
            bytes,
            packets: choose::packets_of(columns, bytes),
            name: if several { columns.names().get(bytes).cloned() } else { None },
            bits: request.counter_bits.or_else(|| choose::bits_of(columns, bytes)),
            tally: Tally::default(),
        };
        let values = chosen.into_iter().map(|chosen| value(chosen.column)).collect();
        for note in notes {
            out.remark(note);
        }
        let origin = out.begin(row.at).map_err(|refused| refused.at(row.place))?;
        Ok(Self {
            values,
            groups: BTreeMap::new(),
            line: choose::line_of(columns),
            origin,
            facts: Vec::new(),
            naive: false,
        })
    }

    fn take(&mut self, columns: &Columns, row: &Row<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        out.records += 1;
        let mut readings = Vec::with_capacity(self.values.len());
        for value in &self.values {
            let packets = value.packets.map_or(Ok(Some(0)), |packets| columns.known_count(row, packets))?;
            let bytes = columns.known_count(row, value.bytes)?;
            if let Some(bytes) = bytes.filter(|bytes| value.bits == Some(32) && *bytes > u64::from(u32::MAX)) {
                return Err(ReadError::hinted(
                    row.place,
                    format!("{bytes} is more than a counter of 32 bits can hold"),
                    "without --counter-bits 32, or with --counter-bits 64",
                ));
            }
            readings.push(bytes.zip(packets).map(|(bytes, packets)| Reading { bytes, packets }));
        }
        let line = choose::line_rate(columns, row, self.line, out.settings.request.line_rate_bps);
        let poll = Poll { at: row.at, place: row.place, readings, line };
        let group = number_of(&mut self.groups, row, self.values.len(), Group::default)?;
        if group.usual.is_none() {
            group.waiting.push(poll);
            self.naive = columns.is_naive();
            if group.waiting.len() > POLLS {
                self.start(row.key, out)?;
            }
            return Ok(());
        }
        self.naive = columns.is_naive();
        self.count(row.key, &poll, out)
    }

    /// Learns the usual interval from the polls that wait, and counts them.
    fn start(&mut self, key: &[u8], out: &mut Collector<'_>) -> Result<(), ReadError> {
        let Some(group) = self.groups.get_mut(key) else { return Ok(()) };
        let waiting = std::mem::take(&mut group.waiting);
        let mut steps: Vec<i64> =
            waiting.windows(2).map(|pair| pair[1].at - pair[0].at).filter(|step| *step > 0).collect();
        steps.sort_unstable();
        let Some(&usual) = steps.get(steps.len() / 2) else {
            let name = if key.is_empty() { "the table".to_owned() } else { String::from_utf8_lossy(key).into_owned() };
            out.remark(format!("{name} has a single poll: no volume"));
            return Ok(());
        };
        group.usual = Some(usual);
        // Whole seconds from one second on: 11.6 s becomes 12 s.
        let proposal = if usual > SECOND { (usual + SECOND - 1) / SECOND * SECOND } else { usual };
        let widths = out.widths(&[proposal]);
        // Bins narrower than the polls only repeat the mean between two of them.
        let least = Least { bin_ns: proposal, why: format!("polls come about every {}", span(usual)) };
        if let Some(asked) = widths.iter().find(|width| !least.allows(**width)) {
            return Err(ReadError::Request {
                message: format!("bins of {} are finer than what is known: {}", span(*asked), least.why),
                hint: format!("choose bins of {} or wider", span(proposal)),
            });
        }
        for value in &self.values {
            let name = series_name(key, value.name.as_deref());
            let track = out.track(name, Kind::Intervals, &widths, self.origin);
            if let Some(there) = out.tracks.get_mut(track) {
                there.has_packets = value.packets.is_some();
                there.least = least.clone();
            }
            group.tracks.push(track);
            group.courses.push(Course::new(value.bits));
        }
        for poll in waiting {
            self.count(key, &poll, out)?;
        }
        Ok(())
    }

    /// Counts what a poll tells.
    fn count(&mut self, key: &[u8], poll: &Poll, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let Some(group) = self.groups.get_mut(key) else { return Ok(()) };
        let usual = group.usual.unwrap_or(1).max(1);
        if let Some((last, _)) = group.last {
            let late = poll.at <= last;
            watch(out, poll.at, late, if late { last.abs_diff(poll.at) } else { 0 });
            if late {
                // What it counted is in the interval around it already.
                return Ok(());
            }
            leap((poll.at - last) / usual, usual, group.polls, (poll.place, poll.at), last, out)?;
            group.polls += 1;
            // Of polls every hour, one may be lost here, or the clock have gone forward: then it was an hour, not two.
            if self.naive
                && usual >= SUMMER / 2
                && (poll.at - last - usual).rem_euclid(SUMMER / 2) == 0
                && poll.at - last > usual
            {
                group.courses.iter_mut().for_each(Course::lose);
            }
        } else {
            watch(out, poll.at, false, 0);
        }
        group.last = Some((poll.at, poll.place));
        group.line = poll.line.or(group.line);
        let limits = group.limits(out);
        for ((course, reading), track) in group.courses.iter_mut().zip(&poll.readings).zip(&group.tracks) {
            course.poll(poll.at, *reading, &limits, &mut self.facts);
            put(*track, &mut self.facts, poll.place, out)?;
        }
        Ok(())
    }

    /// A column that goes down every now and then counts nothing: its differences would be taken for traffic.
    fn check(&self, columns: &Columns) -> Result<(), ReadError> {
        for value in &self.values {
            let Tally { steps, resets, wrong, .. } = value.tally;
            let (downs, steps) = (resets + wrong, steps + wrong);
            if downs > RESETS && downs * RARE > steps {
                let name = columns.names().get(value.bytes).map_or_else(
                    || format!("column {}", value.bytes + 1),
                    |name| format!("column {:?}", show(name.as_bytes())),
                );
                return Err(ReadError::Request {
                    message: format!("{name} goes down in {downs} of {steps} intervals: it is no counter"),
                    hint: "--format csv-volumes if a row holds what was carried in its interval; --column NAME for \
                           another column; --by COLUMN if the table holds several series"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    fn finish(&mut self, columns: &Columns, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let waiting: Vec<Vec<u8>> =
            self.groups.iter().filter(|(_, group)| group.usual.is_none()).map(|(key, _)| key.clone()).collect();
        for key in waiting {
            self.start(&key, out)?;
        }
        for group in self.groups.values_mut() {
            let limits = group.limits(out);
            let place = group.last.map_or(Place::Line { line: 1, offset: 0 }, |(_, place)| place);
            for ((course, value), track) in group.courses.iter_mut().zip(&mut self.values).zip(&group.tracks) {
                course.finish(&limits, &mut self.facts);
                put(*track, &mut self.facts, place, out)?;
                value.tally.add(course.tally);
            }
        }
        self.check(columns)?;
        self.assume(columns, out);
        let mut all = Tally::default();
        for value in &self.values {
            all.add(value.tally);
        }
        for (count, one, many) in [
            (all.wraps, "counter wrap", "counter wraps"),
            (
                all.resets,
                "counter was reset: what it carried meanwhile is unknown",
                "counter resets: what was carried meanwhile is unknown",
            ),
            (all.failed, "poll has no value: unknown, not zero", "polls have no value: unknown, not zero"),
            (
                all.wrong,
                "poll is below or above both of its neighbours: read wrongly, and left out",
                "polls are below or above both of their neighbours: read wrongly, and left out",
            ),
            (
                all.impossible,
                "increase is more than the line carries: unknown",
                "increases are more than the line carries: unknown",
            ),
            (
                all.lost,
                "interval has lost polls: it counts only in bins that hold it whole",
                "intervals have lost polls: they count only in bins that hold them whole",
            ),
        ] {
            out.remark_count(count, one, many);
        }
        let often = |value: &&Value| value.tally.wraps * WRAPS > value.tally.steps && value.tally.wraps > RESETS;
        if self.values.iter().any(|value| often(&value)) {
            out.remark(
                "a counter of 32 bits wraps in more than one of 20 intervals: it may wrap more than once in one, which \
                 nobody can see. Poll counters of 64 bits (ifHCInOctets), or poll more often"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Says how the columns were read.
    fn assume(&self, columns: &Columns, out: &mut Collector<'_>) {
        let Some(usual) = self.groups.values().find_map(|group| group.usual) else { return };
        let name = |value: &Value| {
            let name = columns.names().get(value.bytes).cloned();
            name.unwrap_or_else(|| format!("column {}", value.bytes + 1))
        };
        let names: Vec<String> = self.values.iter().map(name).collect();
        let every = stamp::duration(usual.unsigned_abs());
        out.assume(format!("{}: counters of bytes, polled every {every}{}", roles::listed(&names), columns.of_times()));
    }
}

impl Group {
    fn limits(&self, out: &Collector<'_>) -> Limits {
        let usual = self.usual.unwrap_or(1).saturating_mul(LOST);
        Limits { gap: out.settings.request.gap_ns.unwrap_or(usual), line: self.line }
    }
}

/// Puts facts of a track into its bins.
fn put(track: usize, facts: &mut Vec<Fact>, place: Place, out: &mut Collector<'_>) -> Result<(), ReadError> {
    for fact in facts.drain(..) {
        match fact {
            Fact::Unknown { from, to, why } => {
                if let Some(track) = out.tracks.get_mut(track) {
                    track.gap(from, to, why);
                }
            }
            Fact::Carried { from, to, bytes, packets, long } => {
                let most = |count: u64| count.min(i64::MAX as u64) as i64;
                let cell = Cell { bytes: most(bytes), packets: most(packets) };
                out.interval(track, Interval { from, to, cell, long }).map_err(|refused| refused.at(place))?;
            }
        }
    }
    Ok(())
}
