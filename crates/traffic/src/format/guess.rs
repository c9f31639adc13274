//! Packets, volumes or counters: the evidence for and against each reading of a table.
//!
//! Names come first: a column that is named as counters are is a counter, one with a rate in its name is none. Where
//! names leave it open the values decide, in the first rows and again over all of them ([`Trend`]): those of a counter
//! only grow. Where both readings remain possible nothing is read, as a counter taken for volumes makes a bill of many
//! Gbit/s.

use super::cell::show;
use super::csv_packets;
use super::preview::Preview;
use super::quantity::Quantity;
use super::trend::{Trend, two_readings};
use super::{cell, csv_volumes};
use crate::error::{Place, ReadError};
use crate::request::{DecimalMark, Request};

/// The format of a table, if its first rows tell.
#[derive(Debug)]
pub(super) enum Guess {
    Is(&'static str),
    /// Nothing speaks for any reading.
    Unclear,
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

/// The trend of a column in the rows of one series; none if it does not hold numbers.
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
