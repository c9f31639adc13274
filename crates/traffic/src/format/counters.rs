//! Raw interface counters: a time and the counters in every row, polled irregularly.
//!
//! A counter's increase between two polls is the volume of that interval, spread evenly over it; a bin gets its exact
//! share, so that no averages are averaged. A decrease is a wrap if the increase modulo 2^32 or 2^64 is at most half of
//! that, and a reset otherwise: what was carried around a reset is unknown. An interval longer than three usual ones has
//! lost polls: its volume is known, but not where in it, so it counts only in bins that hold the interval whole.

use super::columns::{self, Columns, Row, number_of, series_name};
use super::csv_volumes::{growing, leap, packets_of, watch};
use super::{Format, Start};
use crate::bins::Cell;
use crate::collect::{Collector, Interval, Kind};
use crate::error::ReadError;
use crate::input::Input;
use crate::outcome::Least;
use crate::stamp::{self, SECOND};
use std::collections::BTreeMap;

pub(super) struct Counters;

/// Parts of names of columns of counters, in lower case.
const COUNTER: [&str; 4] = ["octets", "counter", "bytes", "volume"];

/// Polls whose steps tell the usual interval.
const POLLS: usize = 64;

/// Usual intervals in one that has lost none.
const LOST: i64 = 3;

/// A time span for a message.
fn show(ns: i64) -> String {
    stamp::duration(ns.unsigned_abs())
}

impl Format for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    /// A column that is named as those of counters are, and whose own values only grow.
    fn recognises(&self, start: &Start<'_>) -> bool {
        let Some(table) = &start.table else { return false };
        let counted = |column: usize| {
            let name =
                table.layout.names.as_deref().and_then(|names| names.get(column)).map(|n| n.to_ascii_lowercase());
            name.is_some_and(|n| n != "bytes" && n != "volume" && COUNTER.iter().any(|part| n.contains(part)))
        };
        growing(table, counted)
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
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
        result.and(rest)
    }
}

/// Resets that any counter may have, and those of one that has more: one in so many intervals.
const RESETS: u64 = 2;
const RARE: u64 = 20;

/// A column of bytes, and that of packets that goes with it.
struct Value {
    bytes: usize,
    packets: Option<usize>,
    name: Option<String>,
    /// Intervals, and those of them in which the counter was reset.
    steps: u64,
    resets: u64,
}

/// What a poll read from one pair of columns.
#[derive(Clone, Copy)]
struct Reading {
    bytes: u64,
    packets: u64,
}

struct Poll {
    at: i64,
    place: crate::error::Place,
    readings: Vec<Reading>,
}

#[derive(Default)]
struct Group {
    waiting: Vec<Poll>,
    /// The usual interval, once known.
    usual: Option<i64>,
    tracks: Vec<usize>,
    before: Option<Poll>,
    /// Polls counted.
    polls: u64,
    /// For each pair of columns, whether a value of bytes, and of packets, was 2^32 or more: then it has 64 bits.
    wide: Vec<[bool; 2]>,
}

struct Reader {
    values: Vec<Value>,
    groups: BTreeMap<Vec<u8>, Group>,
    bits: Option<u8>,
    origin: i64,
    wraps: u64,
    lost: u64,
}

/// How a counter moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    By(u64),
    Wrapped(u64),
    Reset,
}

/// The increase of a counter of 32 or 64 bits.
fn step(before: u64, now: u64, wide: bool) -> Move {
    if now >= before {
        return Move::By(now - before);
    }
    let increase = if wide { now.wrapping_sub(before) } else { (1 << 32) - before.min(1 << 32) + now };
    let half = if wide { 1 << 63 } else { 1 << 31 };
    if increase <= half { Move::Wrapped(increase) } else { Move::Reset }
}

impl Reader {
    fn of(columns: &Columns, row: &Row<'_>, out: &mut Collector<'_>) -> Result<Self, ReadError> {
        let request = &out.settings.request;
        let chosen: Vec<usize> = if !request.columns.is_empty() {
            request.columns.iter().map(|name| columns.find(name, row.place)).collect::<Result<_, _>>()?
        } else if columns.first_is_row() {
            vec![1]
        } else {
            let named = |column: &usize| {
                let name = columns.names().get(*column).map(|name| name.to_ascii_lowercase()).unwrap_or_default();
                !columns.is_taken(*column)
                    && COUNTER.iter().any(|part| name.contains(part))
                    && !name.contains("packets")
            };
            (0..columns.names().len()).filter(named).collect()
        };
        if chosen.is_empty() {
            let message = format!("no column looks like a counter of bytes: {}", columns::listed(columns.names()));
            return Err(ReadError::hinted(row.place, message, "name it: --column NAME"));
        }
        let several = chosen.len() > 1;
        let value = |&bytes: &usize| Value {
            bytes,
            packets: packets_of(columns, bytes).filter(|packets| *packets != bytes),
            name: if several { columns.names().get(bytes).cloned() } else { None },
            steps: 0,
            resets: 0,
        };
        let values = chosen.iter().map(value).collect();
        let bits = request.counter_bits;
        let origin = out.begin(row.at).map_err(|refused| refused.at(row.place))?;
        Ok(Self { values, groups: BTreeMap::new(), bits, origin, wraps: 0, lost: 0 })
    }

    fn take(&mut self, columns: &Columns, row: &Row<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        out.records += 1;
        let mut readings = Vec::with_capacity(self.values.len());
        for value in &self.values {
            let packets = value.packets.map_or(Ok(0), |packets| columns.count(row, packets))?;
            readings.push(Reading { bytes: columns.count(row, value.bytes)?, packets });
        }
        let poll = Poll { at: row.at, place: row.place, readings };
        let group = number_of(&mut self.groups, row, self.values.len(), Group::default)?;
        if group.usual.is_none() {
            group.waiting.push(poll);
            if group.waiting.len() > POLLS {
                self.start(row.key, out)?;
            }
            return Ok(());
        }
        self.count(row.key, poll, out)
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
        group.wide = vec![[false; 2]; self.values.len()];
        // Whole seconds from one second on: 11.6 s becomes 12 s.
        let proposal = if usual > SECOND { (usual + SECOND - 1) / SECOND * SECOND } else { usual };
        let widths = out.widths(&[proposal]);
        // Bins narrower than the polls only repeat the mean between two of them.
        let least = Least { bin_ns: proposal, why: format!("polls come about every {}", show(usual)) };
        if let Some(asked) = widths.iter().find(|width| !least.allows(**width)) {
            return Err(ReadError::Request {
                message: format!("bins of {} are finer than what is known: {}", show(*asked), least.why),
                hint: format!("choose bins of {} or wider", show(proposal)),
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
        }
        for poll in waiting {
            self.count(key, poll, out)?;
        }
        Ok(())
    }

    /// Counts what was carried since the poll before.
    fn count(&mut self, key: &[u8], poll: Poll, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let Some(group) = self.groups.get_mut(key) else { return Ok(()) };
        let Some(before) = &group.before else {
            watch(out, poll.at, false, 0);
            group.before = Some(poll);
            return Ok(());
        };
        if poll.at <= before.at {
            // What it counted is in the interval around it already.
            watch(out, poll.at, true, before.at.abs_diff(poll.at));
            return Ok(());
        }
        watch(out, poll.at, false, 0);
        let (from, to) = (before.at, poll.at);
        let usual = group.usual.unwrap_or(1).max(1);
        leap((to - from) / usual, usual, group.polls, (poll.place, to), from, out)?;
        group.polls += 1;
        let limit = out.settings.request.gap_ns.unwrap_or_else(|| group.usual.unwrap_or(1).saturating_mul(LOST));
        let long = to - from > limit;
        let pairs = before.readings.iter().zip(&poll.readings).zip(&mut group.wide);
        for ((track, value), ((old, new), wide)) in group.tracks.iter().zip(&mut self.values).zip(pairs) {
            value.steps += 1;
            let wider = |old: u64, new: u64| old.max(new) > u64::from(u32::MAX);
            *wide = [wide[0] || wider(old.bytes, new.bytes), wide[1] || wider(old.packets, new.packets)];
            let [bytes_wide, packets_wide] = match self.bits {
                Some(bits) => [bits == 64; 2],
                None => *wide,
            };
            let bytes = step(old.bytes, new.bytes, bytes_wide);
            let packets = step(old.packets, new.packets, packets_wide);
            let (Move::By(b) | Move::Wrapped(b), Move::By(p) | Move::Wrapped(p)) = (bytes, packets) else {
                value.resets += 1;
                if let Some(track) = out.tracks.get_mut(*track) {
                    track.gap(from, to, "counter reset");
                }
                continue;
            };
            self.wraps += u64::from(matches!(bytes, Move::Wrapped(_)));
            if long {
                self.lost += 1;
                if let Some(track) = out.tracks.get_mut(*track) {
                    track.gap(from, to, "missing poll");
                }
            }
            let packets = if value.packets.is_some() { p.min(i64::MAX as u64) as i64 } else { 0 };
            let cell = Cell { bytes: b.min(i64::MAX as u64) as i64, packets };
            let interval = Interval { from, to, cell, long };
            out.interval(*track, interval).map_err(|refused| refused.at(poll.place))?;
        }
        group.before = Some(poll);
        Ok(())
    }

    /// A column that goes down every now and then counts nothing: its differences would be taken for traffic.
    fn check(&self, columns: &Columns) -> Result<(), ReadError> {
        for value in &self.values {
            if value.resets > RESETS && value.resets * RARE > value.steps {
                let name = columns.names().get(value.bytes).map_or_else(
                    || format!("column {}", value.bytes + 1),
                    |name| format!("column {:?}", super::table::show(name.as_bytes())),
                );
                return Err(ReadError::Request {
                    message: format!(
                        "{name} goes down in {} of {} intervals: it is no counter",
                        value.resets, value.steps
                    ),
                    hint: "--format csv-volumes if a row holds what was carried in its interval; --column NAME for \
                           another column"
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
        self.check(columns)?;
        let resets: u64 = self.values.iter().map(|value| value.resets).sum();
        for (count, what) in [
            (self.wraps, "counters wrapped"),
            (resets, "counters were reset: what was carried meanwhile is unknown"),
            (self.lost, "intervals have lost polls: they count only in bins that hold them whole"),
        ] {
            if count > 0 {
                out.remark(format!("{count} times {what}").replace("times intervals have", "intervals have"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_resets_are_told_apart() {
        assert_eq!(step(5, 9, false), Move::By(4));
        assert_eq!(step(u64::from(u32::MAX), 0, false), Move::Wrapped(1));
        assert_eq!(step(3_000_000_000, 100_000_000, false), Move::Wrapped(1_394_967_296));
        assert_eq!(step(1_000_000, 500, false), Move::Reset);
        assert_eq!(step(u64::MAX - 1, 3, true), Move::Wrapped(5));
        assert_eq!(step(1 << 40, 3, true), Move::Reset);
        assert_eq!(step(1 << 40, 3, false), Move::Wrapped(3));
    }
}
