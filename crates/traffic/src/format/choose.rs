//! Which columns of a table hold the values: those asked for, or those whose names do not say otherwise.

use super::cell::show;
use super::columns::{Columns, Row};
use super::quantity::{self, Quantity};
use super::roles;
use super::unit::{BYTES, Unit};
use crate::error::{Place, ReadError};
use crate::request::Request;

/// A column, and the unit of its values as far as request or name tell.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) column: usize,
    pub(super) unit: Option<(Unit, String)>,
}

/// The columns of a table, and what to say of those left out.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) chosen: Vec<Chosen>,
    pub(super) notes: Vec<String>,
}

/// Names of columns of volumes, in lower case, if there is no other choice.
const VOLUME: [&str; 3] = ["bytes", "volume", "octets"];

/// What the name of a column says; of a column without a name, nothing.
fn quantity_of(columns: &Columns, column: usize) -> Quantity {
    columns.names().get(column).map_or(Quantity::Silent, |name| Quantity::of(name))
}

fn named(columns: &Columns, column: usize) -> String {
    let name = columns.names().get(column).map(|name| show(name.as_bytes()).into_owned());
    name.unwrap_or_else(|| (column + 1).to_string())
}

fn listed(columns: &Columns, chosen: &[usize]) -> String {
    roles::listed(&chosen.iter().map(|column| named(columns, *column)).collect::<Vec<_>>())
}

/// The columns asked for, unless their names say that they are no volumes.
fn asked(columns: &Columns, request: &Request, place: Place) -> Result<Vec<usize>, ReadError> {
    let mut found = Vec::new();
    for name in &request.columns {
        let column = columns.find(name, place)?;
        if let (Quantity::Other(word), None) = (quantity_of(columns, column), &request.unit) {
            return Err(ReadError::hinted(
                place,
                format!("column {:?} is no volume by its name ({word})", show(name.as_bytes())),
                "another --column; or its unit, if it is one after all: --unit B",
            ));
        }
        found.push(column);
    }
    Ok(found)
}

/// The unit of a column: asked for, or in its name.
fn unit_of(
    columns: &Columns,
    column: usize,
    asked: Option<&(Unit, String)>,
    place: Place,
) -> Result<Option<(Unit, String)>, ReadError> {
    if asked.is_some() {
        return Ok(asked.cloned());
    }
    match quantity_of(columns, column) {
        Quantity::Volume(unit, text) => Ok(Some((unit, text))),
        Quantity::Unclear(word) => Err(ReadError::hinted(
            place,
            format!("column {:?}: {word} can be of bits or of bytes", named(columns, column)),
            "say it: --unit Mbps or --unit MB/s",
        )),
        _ => Ok(None),
    }
}

/// Columns of volumes: `numeric` says of which the first row holds numbers.
pub(super) fn volumes(columns: &Columns, row: &Row<'_>, request: &Request) -> Result<Choice, ReadError> {
    let unit = request.unit.as_deref().map(|text| {
        let unit = Unit::parse(text).ok_or_else(|| ReadError::Request {
            message: format!("{text:?} is not a unit of volume"),
            hint: "for example B, kbit, MB/s or Gbps".to_owned(),
        })?;
        Ok((unit, text.to_owned()))
    });
    let unit = unit.transpose()?;
    let mut notes = Vec::new();
    let chosen = if !request.columns.is_empty() {
        asked(columns, request, row.place)?
    } else if columns.first_is_row() {
        if row.fields.len() > 2 {
            notes.push(format!(
                "no names of columns: the second is read, {} left out (--column 3 reads another)",
                if row.fields.len() == 3 { "the third is".to_owned() } else { format!("{} are", row.fields.len() - 2) }
            ));
        }
        vec![1]
    } else if let Some(column) = columns.named(&VOLUME) {
        vec![column]
    } else {
        by_name(columns, row, unit.is_some(), &mut notes)?
    };
    if chosen.is_empty() {
        let message = format!("no column holds volumes, by its name: {}", roles::listed(columns.names()));
        return Err(ReadError::hinted(row.place, message, "name it, and its unit: --column NAME --unit Mbps"));
    }
    let with_unit = |column: usize| Ok(Chosen { column, unit: unit_of(columns, column, unit.as_ref(), row.place)? });
    Ok(Choice { chosen: chosen.into_iter().map(with_unit).collect::<Result<_, _>>()?, notes })
}

/// The columns of numbers whose names do not say that they are none of volumes.
fn by_name(columns: &Columns, row: &Row<'_>, has_unit: bool, notes: &mut Vec<String>) -> Result<Vec<usize>, ReadError> {
    let identifier = |column: usize| columns.names().get(column).is_some_and(|name| roles::is_identifier(name));
    let numeric = |column: usize| columns.value(row, column).is_ok();
    let (mut known, mut silent, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for column in (0..row.fields.len()).filter(|&column| !columns.is_taken(column) && !identifier(column)) {
        match quantity_of(columns, column) {
            Quantity::Other(_) => others.push(column),
            _ if !numeric(column) => {}
            Quantity::Silent => silent.push(column),
            _ => known.push(column),
        }
    }
    // Packets go with their bytes.
    let with_bytes: Vec<usize> = known.iter().filter_map(|&column| packets_of(columns, column)).collect();
    let line = line_of(columns).map(|(column, _)| column);
    others.retain(|column| !with_bytes.contains(column) && line != Some(*column) && numeric(*column));
    if !others.is_empty() {
        notes.push(format!("left out, no volumes by their names: {}", listed(columns, &others)));
    }
    let rates = known.iter().any(|&column| matches!(quantity_of(columns, column), Quantity::Volume(..)));
    if !rates || has_unit {
        known.append(&mut silent);
        known.sort_unstable();
        return Ok(known);
    }
    // Beside columns with a unit, one without is something else, unless it is a direction of the same.
    let way = |column: &&usize| columns.names().get(**column).is_some_and(|name| quantity::has_way(name));
    if let Some(column) = silent.iter().find(way) {
        return Err(ReadError::hinted(
            row.place,
            format!("column {:?} has no unit in its name, and others have", named(columns, *column)),
            "say the unit of all: --unit Mbps; or which columns to read: --column NAME",
        ));
    }
    if !silent.is_empty() {
        notes.push(format!(
            "left out, without a unit in their names: {} (--column reads one)",
            listed(columns, &silent)
        ));
    }
    Ok(known)
}

/// Columns of counters.
pub(super) fn counters(columns: &Columns, row: &Row<'_>, request: &Request) -> Result<Choice, ReadError> {
    let mut notes = Vec::new();
    let chosen = if !request.columns.is_empty() {
        asked(columns, request, row.place)?
    } else if columns.first_is_row() {
        vec![1]
    } else {
        let identifier = |column: usize| columns.names().get(column).is_some_and(|name| roles::is_identifier(name));
        let numeric = |column: &usize| columns.known_count(row, *column).is_ok();
        let free: Vec<usize> =
            (0..columns.names().len()).filter(|&column| !columns.is_taken(column) && !identifier(column)).collect();
        let are = |wanted: fn(&Quantity) -> bool| -> Vec<usize> {
            free.iter().copied().filter(|&column| wanted(&quantity_of(columns, column))).collect()
        };
        let sure = are(|quantity| matches!(quantity, Quantity::Counter(_) | Quantity::Bytes));
        let silent: Vec<usize> =
            are(|quantity| matches!(quantity, Quantity::Silent)).into_iter().filter(numeric).collect();
        let chosen = if sure.is_empty() { silent } else { sure };
        let partners: Vec<usize> = chosen.iter().filter_map(|&column| packets_of(columns, column)).collect();
        let speed = |column: usize| columns.names().get(column).and_then(|name| quantity::line_speed(name)).is_some();
        let rest: Vec<usize> = free
            .into_iter()
            .filter(|column| {
                !chosen.contains(column) && !partners.contains(column) && !speed(*column) && numeric(column)
            })
            .collect();
        if !rest.is_empty() {
            notes.push(format!("left out, no counters of bytes by their names: {}", listed(columns, &rest)));
        }
        chosen
    };
    if chosen.is_empty() {
        let message = format!("no column looks like a counter of bytes: {}", roles::listed(columns.names()));
        return Err(ReadError::hinted(row.place, message, "name it: --column NAME"));
    }
    for &column in &chosen {
        if let Quantity::Volume(unit, text) = quantity_of(columns, column)
            && unit != BYTES
        {
            return Err(ReadError::hinted(
                row.place,
                format!("column {:?} is in {text} by its name, and counters count bytes", named(columns, column)),
                "if each row holds what was carried in it: --format csv-volumes",
            ));
        }
    }
    let chosen = chosen.into_iter().map(|column| Chosen { column, unit: None }).collect();
    Ok(Choice { chosen, notes })
}

/// How many bits a counter has by its name.
pub(super) fn bits_of(columns: &Columns, column: usize) -> Option<u8> {
    match quantity_of(columns, column) {
        Quantity::Counter(bits) => bits,
        _ => None,
    }
}

/// The column of the line's speed, and bits per second in its unit.
pub(super) fn line_of(columns: &Columns) -> Option<(usize, f64)> {
    // `ifHighSpeed` often stands behind `ifSpeed`, which cannot hold 10 Gbps.
    let speed = |(column, name): (usize, &String)| Some((column, quantity::line_speed(name)?));
    columns.names().iter().enumerate().rev().find_map(speed)
}

/// The speed of the line in a row, bits per second; 0 and what 32 bits cannot hold (RFC 2863) say nothing.
pub(super) fn line_rate(
    columns: &Columns,
    row: &Row<'_>,
    line: Option<(usize, f64)>,
    asked: Option<f64>,
) -> Option<f64> {
    asked.or_else(|| {
        let (column, unit) = line?;
        let speed = columns.count(row, column).ok()?;
        (speed > 0 && speed != u64::from(u32::MAX)).then_some(speed as f64 * unit)
    })
}

/// The column of packets that goes with a column of bytes: `packets` in place of `bytes` or `octets` in its name.
pub(super) fn packets_of(columns: &Columns, column: usize) -> Option<usize> {
    let name = columns.names().get(column)?.to_ascii_lowercase();
    let wanted = ["bytes", "octets"].iter().find(|word| name.contains(**word))?;
    columns.place(&name.replacen(*wanted, "packets", 1)).filter(|packets| *packets != column)
}

/// How a unit is shown.
pub(super) fn shown(unit: Option<&(Unit, String)>) -> (Unit, &str) {
    unit.map_or((BYTES, ""), |(unit, text)| (*unit, text.as_str()))
}
