//! Local times of tables: from what a clock on the wall showed to what moment it was.
//!
//! When summer time ends an hour (on Lord Howe Island half of one) comes twice, when it begins one is left out. With the
//! zone of the stamps each is put where it belongs: of the hour that comes twice, the second begins where the stamps go
//! back. Without a zone such a step back is an error, because rates would be added up and a counter's increase of an
//! hour and five minutes taken for that of five.

use super::cell::show;
use crate::error::{Place, ReadError};
use crate::stamp::{self, SECOND};
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// Steps back that clocks make, ns: half an hour on Lord Howe Island, two in British double summer time.
const BACK: std::ops::RangeInclusive<i64> = 15 * 60 * SECOND..=135 * 60 * SECOND;

/// Rows at least so far apart may have two of one stamp where an hour comes twice, ns.
const COARSE: i64 = 30 * 60 * SECOND;

/// Clocks are changed at whole quarters of an hour: between, one offset holds.
const QUARTER: i64 = 15 * 60 * SECOND;

/// What holds for a quarter of an hour on the wall.
#[derive(Clone, Copy, Debug)]
enum Wall {
    /// Ahead of UTC, ns.
    Once(i64),
    /// The quarter comes twice: ahead of UTC the first time and the second.
    Twice(i64, i64),
    /// It never comes.
    Never,
}

/// The row before, of one series.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// What the wall showed, and when it was.
    wall: i64,
    at: i64,
    /// The last step, and whether the one before it was forward, too.
    step: i64,
    steady: bool,
}

/// Reads the local times of one table.
#[derive(Debug)]
pub(super) struct Clock {
    zone: Option<(String, TimeZone)>,
    format: Option<String>,
    /// Rows of a series follow each other in time.
    ordered: bool,
    quarter: Option<(i64, Wall)>,
    before: HashMap<Vec<u8>, Before>,
}

fn ns(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * SECOND
}

fn wall(ns: i64) -> Option<DateTime> {
    Timestamp::from_nanosecond(i128::from(ns)).ok().map(|at| Offset::UTC.to_datetime(at))
}

impl Clock {
    /// With the names of a zone and a format, which have been checked.
    pub(super) fn new(zone: Option<&str>, format: Option<&str>) -> Self {
        let zone = zone.and_then(|name| Some((name.to_owned(), stamp::zone(name)?)));
        Self { zone, format: format.map(str::to_owned), ordered: true, quarter: None, before: HashMap::new() }
    }

    /// Rows come in any order.
    pub(super) fn unordered(&mut self) {
        self.ordered = false;
    }

    /// Whether somebody has said whose times these are.
    pub(super) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    /// Whether stamps have a format of their own.
    pub(super) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// Reads a stamp of the format: what the wall showed, and its offset from UTC if it has one.
    pub(super) fn parse(&self, text: &[u8]) -> Option<(i64, bool)> {
        let format = self.format.as_deref()?;
        let time = BrokenDownTime::parse(format, text).ok()?;
        if let Ok(at) = time.to_timestamp() {
            return Some((stamp::checked(at.as_nanosecond())?, true));
        }
        let date = time.to_date().ok()?;
        let wall = time.to_datetime().unwrap_or_else(|_| date.at(0, 0, 0, 0));
        let at = Offset::UTC.to_timestamp(wall).ok()?;
        Some((stamp::checked(at.as_nanosecond())?, false))
    }

    /// The moment of a stamp without a zone.
    pub(super) fn moment(&mut self, wall: i64, key: &[u8], text: &[u8], place: Place) -> Result<i64, ReadError> {
        let before = self.before.get(key).copied();
        let at = match self.of_quarter(wall) {
            Wall::Once(ahead) => wall - ahead,
            Wall::Twice(first, second) => {
                if !self.ordered {
                    return Err(self.twice_unordered(wall, text, place));
                }
                let (first, second) = (wall - first, wall - second);
                match before {
                    // A table from the end to the beginning.
                    Some(before) if before.step < 0 => {
                        if second < before.at {
                            second
                        } else {
                            first
                        }
                    }
                    Some(before) if first <= before.at => second,
                    _ => first,
                }
            }
            Wall::Never => return Err(self.never(wall, text, place)),
        };
        if self.ordered {
            if let (Some(before), None) = (before, &self.zone) {
                back(wall, before, text, place)?;
            }
            let step = before.map_or(0, |before| at - before.at);
            let steady = before.is_some_and(|before| before.step > 0 && step > 0);
            let now = Before { wall, at, step, steady };
            if let Some(there) = self.before.get_mut(key) {
                *there = now;
            } else {
                self.before.insert(key.to_vec(), now);
            }
        }
        Ok(at)
    }

    fn of_quarter(&mut self, wall: i64) -> Wall {
        let Some((_, zone)) = &self.zone else { return Wall::Once(0) };
        let quarter = wall.div_euclid(QUARTER);
        if let Some((known, what)) = self.quarter
            && known == quarter
        {
            return what;
        }
        let offset = self::wall(wall).map(|shown| zone.to_ambiguous_timestamp(shown).offset());
        let what = match offset {
            Some(AmbiguousOffset::Unambiguous { offset }) => Wall::Once(ns(offset)),
            Some(AmbiguousOffset::Fold { before, after }) => Wall::Twice(ns(before), ns(after)),
            Some(AmbiguousOffset::Gap { .. }) => Wall::Never,
            None => Wall::Once(0),
        };
        self.quarter = Some((quarter, what));
        what
    }

    fn zone_name(&self) -> &str {
        self.zone.as_ref().map_or("UTC", |(name, _)| name)
    }

    fn never(&self, wall: i64, text: &[u8], place: Place) -> ReadError {
        let name = self.zone_name();
        let change = self.zone.as_ref().and_then(|(_, zone)| {
            let shown = self::wall(wall)?;
            let after = zone.to_ambiguous_timestamp(shown).later().ok()?;
            let length = SignedDuration::from_hours(6);
            let mut transitions = zone.preceding(after + length);
            let change = transitions.next()?;
            let to = change.offset().to_datetime(change.timestamp());
            let earlier = zone.to_offset(change.timestamp() - SignedDuration::from_secs(1));
            let from = earlier.to_datetime(change.timestamp());
            Some(format!(": its clocks went forward from {} to {}", clock(from), clock(to)))
        });
        ReadError::hinted(
            place,
            format!("{:?} never was in {name}{}", show(text), change.unwrap_or_default()),
            "the stamps are of another zone: --time-zone UTC, or the one that they are of",
        )
    }

    fn twice_unordered(&self, wall: i64, text: &[u8], place: Place) -> ReadError {
        let hour = self::wall(wall).map(|at| format!(", {}", hour(at))).unwrap_or_default();
        ReadError::hinted(
            place,
            format!("{:?} is of an hour that comes twice in {}{hour}: which of them?", show(text), self.zone_name()),
            "write the times in UTC (TZ=UTC nfdump ...), or with their offset",
        )
    }
}

fn clock(at: DateTime) -> String {
    format!("{:02}:{:02}", at.hour(), at.minute())
}

fn hour(at: DateTime) -> String {
    let end = at.hour() + 1;
    format!("{:04}-{:02}-{:02} {:02}:00 to {end:02}:00", at.year(), at.month(), at.day(), at.hour())
}

/// Refuses a step back as clocks make it when summer time ends.
fn back(wall: i64, before: Before, text: &[u8], place: Place) -> Result<(), ReadError> {
    let step = before.wall - wall;
    let twice = step == 0 && before.steady && before.step >= COARSE && before.step <= *BACK.end();
    let once = before.step > 0 && BACK.contains(&step);
    if !once && !twice {
        return Ok(());
    }
    let shown = |ns: i64| self::wall(ns).map_or_else(|| stamp::show(ns), |at| format!("{at:.0}").replace('T', " "));
    let how = if twice {
        format!("the time {} comes twice", show(text))
    } else {
        format!("the times go back from {} to {}", shown(before.wall), shown(wall))
    };
    let hour = self::wall(wall).map(hour).unwrap_or_default();
    Err(ReadError::hinted(
        place,
        format!("{how}: the hour {hour} of a local time whose clocks were set back?"),
        "say whose time it is: --time-zone Europe/Berlin (or UTC, if it is in no order), or write each time with its offset",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place::Line { line: 1, offset: 0 };

    /// The moments of stamps, in UTC.
    fn read(zone: Option<&str>, stamps: &[&str]) -> Result<Vec<String>, String> {
        let mut clock = Clock::new(zone, None);
        let moment = |text: &&str| {
            let wall = stamp::calendar(text.as_bytes()).expect("a date");
            clock.moment(wall, b"", text.as_bytes(), PLACE).map(|at| stamp::show(at)[11..16].to_owned())
        };
        stamps.iter().map(moment).collect::<Result<_, _>>().map_err(|error| error.of("f").to_string())
    }

    #[test]
    fn an_hour_that_comes_twice_is_two_hours() {
        let berlin =
            ["2024-10-27 01:55", "2024-10-27 02:00", "2024-10-27 02:55", "2024-10-27 02:00", "2024-10-27 03:00"];
        assert_eq!(read(Some("Europe/Berlin"), &berlin).expect("good"), ["23:55", "00:00", "00:55", "01:00", "02:00"]);
        let york = ["2024-11-03 00:30", "2024-11-03 01:00", "2024-11-03 01:00", "2024-11-03 02:00"];
        assert_eq!(read(Some("America/New_York"), &york).expect("good"), ["04:30", "05:00", "06:00", "07:00"]);
        let howe = ["2024-04-07 01:25", "2024-04-07 01:30", "2024-04-07 01:55", "2024-04-07 01:30", "2024-04-07 02:00"];
        assert_eq!(
            read(Some("Australia/Lord_Howe"), &howe).expect("good"),
            ["14:25", "14:30", "14:55", "15:00", "15:30"]
        );
        // From the end to the beginning.
        let back: Vec<&str> = berlin.into_iter().rev().collect();
        assert_eq!(
            read(Some("Europe/Berlin"), &["2024-10-27 03:05"].into_iter().chain(back).collect::<Vec<_>>())
                .expect("good")[1..],
            ["02:00", "01:00", "00:55", "00:00", "23:55"]
        );
    }

    #[test]
    fn without_a_zone_the_hour_is_named() {
        for (stamps, hour) in [
            (&["2024-10-27 02:50", "2024-10-27 02:55", "2024-10-27 02:00"][..], "2024-10-27 02:00 to 03:00"),
            (&["2024-11-03 01:50", "2024-11-03 01:55", "2024-11-03 01:00"], "2024-11-03 01:00 to 02:00"),
            (&["2024-04-07 01:50", "2024-04-07 01:55", "2024-04-07 01:30"], "2024-04-07 01:00 to 02:00"),
            (
                &["2024-10-27 00:00", "2024-10-27 01:00", "2024-10-27 02:00", "2024-10-27 02:00"],
                "2024-10-27 02:00 to 03:00",
            ),
        ] {
            let error = read(None, stamps).expect_err("two readings");
            assert!(error.contains(hour) && error.contains("--time-zone"), "{error}");
            assert!(read(Some("UTC"), stamps).is_ok());
        }
        assert!(read(None, &["2024-10-27 02:00", "2024-10-27 01:55", "2024-10-27 01:50"]).is_ok());
    }

    #[test]
    fn an_hour_that_never_was_is_an_error() {
        let error = read(Some("Europe/Berlin"), &["2024-03-31 02:30"]).expect_err("never");
        assert!(error.contains("never was in Europe/Berlin: its clocks went forward from 02:00 to 03:00"), "{error}");
        assert_eq!(
            read(Some("Europe/Berlin"), &["2024-03-31 01:55", "2024-03-31 03:00"]).expect("good"),
            ["00:55", "01:00"]
        );
    }

    #[test]
    fn formats_of_dates_are_told() {
        for (format, text) in [
            ("%d.%m.%Y %H:%M", "27.10.2024 14:05"),
            ("%m/%d/%Y %I:%M %p", "10/27/2024 02:05 PM"),
            ("%d.%m.%Y %H:%M %z", "27.10.2024 16:05 +0200"),
        ] {
            let clock = Clock::new(None, Some(format));
            assert_eq!(clock.parse(text.as_bytes()), Some((1_730_037_900 * SECOND, text.ends_with("+0200"))), "{text}");
        }
        assert_eq!(Clock::new(None, Some("%d.%m.%Y")).parse(b"27.10.2024"), Some((1_729_987_200 * SECOND, false)));
        assert_eq!(Clock::new(None, Some("%d.%m.%Y")).parse(b"31.02.2024"), None);
    }
}
