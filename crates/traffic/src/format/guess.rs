//! What a table holds, packets, volumes or counters: the evidence for and against each reading.
//!
//! Names come first: a column that is named as counters are is a counter, one with a rate in its name is none. Where
//! names leave it open the values decide, in the first rows and again over all of them ([`Trend`]): those of a counter
//! only grow. Where both readings remain possible nothing is read, as a counter taken for volumes makes a bill of many
//! Gbit/s.

use super::csv_packets;
use super::quantity::Quantity;
use super::table::{Preview, show};
use super::{cell, csv_volumes};
use crate::error::{Place, ReadError};
use crate::request::{DecimalMark, Request};

/// What comes of looking.
#[derive(Debug)]
pub(super) enum Guess {
    Is(&'static str),
    /// Nothing speaks for any reading.
    Unclear,
}

/// How values move from row to row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trend {
    last: Option<f64>,
    ups: u64,
    downs: u64,
    flats: u64,
    top: f64,
}

/// Steps that say something.
const STEPS: u64 = 3;

/// Steps without any change that do.
const STILL: u64 = 8;

/// Steps up for each step down of a counter that is reset or wraps now and then.
const UPS: u64 = 10;

impl Trend {
    pub(super) fn add(&mut self, value: f64) {
        if let Some(last) = self.last.replace(value) {
            match value.total_cmp(&last) {
                std::cmp::Ordering::Greater => self.ups += 1,
                std::cmp::Ordering::Less => self.downs += 1,
                std::cmp::Ordering::Equal => self.flats += 1,
            }
        }
        self.top = self.top.max(value);
    }

    fn steps(&self) -> u64 {
        self.ups + self.downs + self.flats
    }

    /// Whether the values grow as a counter does.
    pub(super) fn grows(&self) -> bool {
        self.steps() >= STEPS && self.ups > 0 && self.downs * UPS <= self.ups
    }

    /// Whether they never move, and are not nothing: a port that is down, or always the same volume.
    pub(super) fn stands(&self) -> bool {
        self.steps() >= STILL && self.ups == 0 && self.downs == 0 && self.top > 0.0
    }

    pub(super) fn changes(&self) -> bool {
        self.ups + self.downs > 0
    }

    /// Why the values may be those of a counter; none if they are not.
    pub(super) fn doubt(&self) -> Option<String> {
        let steps = self.steps();
        if self.stands() {
            return Some(format!("is the same in all {} rows", steps + 1));
        }
        self.grows().then(|| match self.downs {
            0 => format!("only grows in {} rows", steps + 1),
            downs => format!("goes up in {} rows and down in {downs} only", self.ups),
        })
    }
}

/// The error of two readings.
pub(super) fn two_readings(column: &str, why: &str) -> ReadError {
    ReadError::Request {
        message: format!("{column} {why}: a counter, or what each row carried?"),
        hint:
            "say it: --format counters if it counts on, --format csv-volumes if each row holds what was carried in it \
               (and --unit Mbps if it is a rate)"
                .to_owned(),
    }
}

/// The columns that may hold values, with what their names say.
fn candidates(table: &Preview) -> Vec<(usize, Option<&str>, Quantity)> {
    let width = table.rows.first().map_or(0, Vec::len);
    let names = table.layout.names.as_deref();
    let Some(names) = names else {
        let asked = table.roles.asked.clone().unwrap_or_else(|| vec![1]);
        return asked.into_iter().map(|column| (column, None, Quantity::Silent)).collect();
    };
    let width = width.max(names.len());
    let with_name = |column: usize| {
        let name = names.get(column).map(String::as_str);
        (column, name, name.map_or(Quantity::Silent, Quantity::of))
    };
    let columns = table.roles.values(&table.layout, width);
    columns.into_iter().map(with_name).filter(|(_, _, quantity)| !matches!(quantity, Quantity::Other(_))).collect()
}

/// How the values of a column move in the rows of one series; none if they are no numbers.
fn trend(table: &Preview, column: usize) -> Option<Trend> {
    let mut trend = Trend::default();
    for row in table.of_one_series() {
        match cell::value(row.get(column)?, DecimalMark::Point)
            .or_else(|| cell::value(row.get(column)?, DecimalMark::Comma))?
        {
            cell::Value::Unknown => {}
            cell::Value::Number(value) => trend.add(value),
            // A unit in the cell: no counter has one.
            cell::Value::With(..) => return None,
        }
    }
    Some(trend)
}

fn place() -> Place {
    Place::Line { line: 1, offset: 0 }
}

/// Looks at the first rows.
pub(super) fn guess(table: &Preview, request: &Request) -> Result<Guess, ReadError> {
    let unit = request.unit.as_deref().and_then(super::unit::Unit::parse);
    let all = candidates(table);
    let named = |wanted: fn(&Quantity) -> bool| all.iter().find(|(_, _, quantity)| wanted(quantity));
    let counter = named(|quantity| matches!(quantity, Quantity::Counter(_)));
    let rate = named(|quantity| matches!(quantity, Quantity::Volume(unit, _) if unit.per_second));
    if let Some((_, Some(name), _)) = counter {
        if let Some(unit) = &request.unit {
            return Err(ReadError::hinted(
                place(),
                format!(
                    "column {:?} is a counter by its name, and counters count bytes: --unit {unit} does not apply",
                    show(name.as_bytes())
                ),
                "if each row holds what was carried in it: --format csv-volumes",
            ));
        }
        if let Some((_, Some(other), _)) = rate {
            return Err(ReadError::hinted(
                place(),
                format!(
                    "column {:?} is a counter and {:?} a rate, by their names",
                    show(name.as_bytes()),
                    show(other.as_bytes())
                ),
                "choose one kind: --column NAME",
            ));
        }
        return Ok(Guess::Is("counters"));
    }
    if csv_packets::has_length(table) {
        return Ok(Guess::Is("csv-packets"));
    }
    if rate.is_some() || unit.is_some_and(|unit| unit.per_second) {
        return Ok(Guess::Is("csv-volumes"));
    }
    // Of one that is named as volumes are, the others do not count.
    let plain = all.iter().position(|(_, name, _)| name.is_some_and(Quantity::is_plain));
    let only = if table.roles.asked.is_some() { None } else { plain };
    let (mut grow, mut bytes, mut change, mut first) = (0, 0, 0, None);
    for (place, (column, name, quantity)) in all.iter().enumerate() {
        if only.is_some_and(|only| only != place) {
            continue;
        }
        let Some(trend) = trend(table, *column) else { continue };
        change += usize::from(trend.changes());
        if trend.grows() {
            grow += 1;
            bytes += usize::from(*quantity == Quantity::Bytes && !name.is_some_and(Quantity::is_plain));
            first = first.or(Some((*column, *name, trend)));
        }
    }
    // Of many columns with few rows one or the other grows by chance.
    if let Some((column, name, trend)) = first.filter(|_| grow * 2 >= change) {
        if bytes > 0 && unit.is_none() {
            return Ok(Guess::Is("counters"));
        }
        let name =
            name.map_or_else(|| format!("column {}", column + 1), |name| format!("column {:?}", show(name.as_bytes())));
        return Err(two_readings(&name, &trend.doubt().unwrap_or_default()));
    }
    if csv_packets::looks_irregular(table) {
        return Ok(Guess::Is("csv-packets"));
    }
    Ok(if csv_volumes::steady(table) { Guess::Is("csv-volumes") } else { Guess::Unclear })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let mut trend = Trend::default();
        for value in values {
            trend.add(*value);
        }
        trend
    }

    #[test]
    fn counters_grow_and_volumes_go_up_and_down() {
        let resets: Vec<f64> = (0..100).map(|i| f64::from(i % 40 * 7)).collect();
        let bursts: Vec<f64> = (0..1000).map(|i| if i % 50 == 7 { 5.0 } else { 0.0 }).collect();
        let late: Vec<f64> = (0..100).map(|i| if i < 90 { 5.0 } else { f64::from(i) }).collect();
        assert!(of(&resets).grows() && of(&late).grows() && !of(&bursts).grows());
        assert!(of(&[5.0; 20]).stands() && !of(&[0.0; 20]).stands() && !of(&[5.0; 4]).stands());
        assert_eq!(of(&late).doubt().as_deref(), Some("only grows in 100 rows"));
        assert_eq!(of(&bursts).doubt(), None);
    }
}
