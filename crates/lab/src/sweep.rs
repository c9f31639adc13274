//! Every combination of the values of a sweep.

use crate::error::FileError;
use crate::file::SweepValues;
use crate::source::Source;

/// One value of one entry of the sweep: what it sets, and how tables show it.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    sets: Vec<(Vec<String>, toml::Value)>,
    shown: Vec<String>,
}

/// All values of one entry.
#[derive(Clone, Debug)]
struct Axis {
    key: String,
    columns: Vec<String>,
    choices: Vec<Choice>,
}

/// One combination.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Keys of the sweep that are to blame if the values do not fit, the key as it is written first.
    pub(crate) sets: Vec<(String, Vec<String>, toml::Value)>,
    /// The cells of the table of results.
    pub(crate) shown: Vec<String>,
}

/// The columns of the table of results, and all combinations, the last key varying fastest.
pub(crate) fn points(
    source: &Source,
    sweep: &std::collections::BTreeMap<String, SweepValues>,
) -> Result<(Vec<String>, Vec<Point>), FileError> {
    let mut axes = Vec::new();
    for key in source.keys("sweep") {
        if let Some(values) = sweep.get(&key) {
            axes.push(axis(source, &key, values)?);
        }
    }
    let mut points = vec![Point { sets: Vec::new(), shown: Vec::new() }];
    // Before they are made: there may be more than memory has room for.
    let count = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.choices.len()));
    if count > MOST {
        return Err(source.error(&["sweep"], format!("more than {MOST} combinations")));
    }
    for axis in &axes {
        let extended = points.iter().flat_map(|point| {
            axis.choices.iter().map(|choice| {
                let mut point = point.clone();
                point.shown.extend(choice.shown.iter().cloned());
                point
                    .sets
                    .extend(choice.sets.iter().map(|(path, value)| (axis.key.clone(), path.clone(), value.clone())));
                point
            })
        });
        points = extended.collect();
    }
    let whole: Vec<&String> = axes.iter().flat_map(|axis| &axis.columns).collect();
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    // The last part of a key, where that is enough to tell it from the others.
    let columns = whole.iter().map(|key| {
        let twins = whole.iter().filter(|other| last(other) == last(key)).count();
        if twins == 1 { last(key) } else { (*key).clone() }
    });
    Ok((columns.collect(), points))
}

/// Combinations of a sweep, at most.
const MOST: usize = 10_000;

fn axis(source: &Source, key: &str, values: &SweepValues) -> Result<Axis, FileError> {
    let bad = |message: String| source.error(&["sweep", key], message);
    let keys: Vec<&str> = key.split(',').map(str::trim).collect();
    let paths: Vec<Vec<String>> = keys
        .iter()
        .map(|key| {
            path(key).ok_or_else(|| {
                bad(format!("{key:?} cannot vary")).hint(Some(
                    "keys of \"switch\", \"variables\", \"files\", \"hosts.NAME.link\", and \"mtu\" can".to_owned(),
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    let choice = |value: &toml::Value, name: Option<&str>| {
        let each: Vec<toml::Value> = match (value, keys.len()) {
            (value, 1) => vec![value.clone()],
            (toml::Value::Array(each), many) if each.len() == many => each.clone(),
            (_, many) => return Err(bad(format!("expected a list of {many} values for each, one for each key"))),
        };
        let shown = name.map_or_else(|| each.iter().map(show).collect(), |name| vec![name.to_owned()]);
        Ok(Choice { sets: paths.iter().cloned().zip(each).collect(), shown })
    };
    let choices: Vec<Choice> = match values {
        SweepValues::List(list) => list.iter().map(|value| choice(value, None)).collect::<Result<_, _>>()?,
        SweepValues::Named(table) => {
            let order = source.inner_keys("sweep", key);
            order
                .iter()
                .filter_map(|name| table.get(name).map(|value| choice(value, Some(name))))
                .collect::<Result<_, _>>()?
        }
    };
    if choices.is_empty() {
        return Err(bad("expected at least one value".to_owned()));
    }
    let named = matches!(values, SweepValues::Named(_));
    let columns = if named { vec![key.to_owned()] } else { keys.iter().map(|key| (*key).to_owned()).collect() };
    Ok(Axis { key: key.to_owned(), columns, choices })
}

/// The parts of a key that may vary.
fn path(key: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = key.split('.').collect();
    let may = match parts.as_slice() {
        ["mtu"] => true,
        ["switch" | "variables", rest @ ..] | ["files", _, rest @ ..] | ["hosts", _, "link", rest @ ..] => {
            !rest.is_empty()
        }
        _ => false,
    };
    (may && parts.iter().all(|part| !part.is_empty())).then(|| parts.iter().map(|part| (*part).to_owned()).collect())
}

fn show(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) if text.is_empty() => "-".to_owned(),
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Sets a value in a table of tables, making those that are not there.
pub(crate) fn set(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = table.entry(first.clone()).or_insert_with(|| toml::Table::new().into());
            if let Some(inner) = inner.as_table_mut() {
                set(inner, rest, value);
            } else {
                // What is no table is replaced: decoding says what is wrong with it.
                let mut made = toml::Table::new();
                set(&mut made, rest, value);
                *inner = made.into();
            }
        }
    }
}
