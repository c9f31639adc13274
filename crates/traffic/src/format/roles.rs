//! Which column of a table is what: as the request says, or by the names that tools give them.

use super::cell::show;
use super::table::Layout;
use crate::request::Request;

/// Names of columns of time stamps, in any case and with anything between their letters and digits: `Date Time` of PRTG,
/// `_time` of `InfluxDB`, `@timestamp` of Elasticsearch.
const TIME: [&str; 24] = [
    "time",
    "timestamp",
    "ts",
    "t",
    "t_s",
    "t_ms",
    "t_us",
    "t_ns",
    "time_s",
    "time_ms",
    "time_us",
    "time_ns",
    "t_unix_s",
    "epoch",
    "clock",
    "date",
    "datetime",
    "start_ns",
    "frame.time_epoch",
    "frame.time_relative",
    "bin",
    "index",
    "interval",
    "id_time",
];

/// Names of columns that say to which series a row belongs.
const KEYS: [&str; 12] =
    ["interface", "ifname", "ifdescr", "ifindex", "port", "name", "device", "host", "vm", "link", "instance", "series"];

/// Which columns of a preview are what: as the request says, or by their names; without names the first is the time.
#[derive(Clone, Debug)]
pub(super) struct Roles {
    pub(super) time: usize,
    pub(super) key: Option<usize>,
    /// The columns asked for by name; none if the request leaves the choice open.
    pub(super) asked: Option<Vec<usize>>,
    conditions: Vec<(usize, Vec<u8>)>,
}

impl Roles {
    pub(super) fn of(layout: &Layout, request: &Request) -> Self {
        let names = layout.names.as_deref().unwrap_or_default();
        let known = |wanted: &str| find(names, wanted);
        let time = request.time.as_deref().and_then(known).or_else(|| time_of(names));
        let condition = |(column, value): &(String, String)| Some((known(column)?, value.clone().into_bytes()));
        let conditions: Vec<(usize, Vec<u8>)> = request.rows.iter().filter_map(condition).collect();
        let fixed = |key: &usize| conditions.iter().any(|(column, _)| column == key);
        let by_name = || names.iter().position(|name| is_key(name)).filter(|key| !fixed(key));
        let key = request.by.as_deref().map_or_else(by_name, known);
        let asked = (!request.columns.is_empty()).then(|| request.columns.iter().filter_map(|c| known(c)).collect());
        Self { time: time.unwrap_or(0), key, asked, conditions }
    }

    /// The columns that may hold the values: those asked for, or all that are no time, key, condition or identifier.
    pub(super) fn values(&self, layout: &Layout, width: usize) -> Vec<usize> {
        let free = |column: &usize| {
            let name = layout.names.as_deref().and_then(|names| names.get(*column));
            *column != self.time
                && self.key != Some(*column)
                && !self.conditions.iter().any(|(taken, _)| taken == column)
                && !name.is_some_and(|name| is_identifier(name))
        };
        self.asked.clone().unwrap_or_else(|| (0..width).filter(free).collect())
    }

    /// Whether a row meets the request's conditions.
    pub(super) fn wants(&self, row: &[Vec<u8>]) -> bool {
        self.conditions.iter().all(|(column, value)| row.get(*column).is_some_and(|field| field == value))
    }
}

pub(super) fn is_key(name: &str) -> bool {
    KEYS.iter().any(|key| name.eq_ignore_ascii_case(key))
}

/// Whether a column by its name numbers things instead of counting them: `id`, `id_time`, `flow_id`.
pub(super) fn is_identifier(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "id" || name.starts_with("id_") || name.ends_with("_id")
}

pub(super) fn time_of(names: &[String]) -> Option<usize> {
    let bare = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let names: Vec<String> = names.iter().map(|name| bare(name)).collect();
    TIME.iter().find_map(|known| names.iter().position(|name| *name == bare(known)))
}

/// A column by its name, or by its number from 1 if columns have no names.
pub(super) fn find(names: &[String], wanted: &str) -> Option<usize> {
    let exact = names.iter().position(|name| name == wanted);
    let any_case = || names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    let number = || {
        let number: usize = wanted.parse().ok()?;
        (names.is_empty() && (1..=COLUMNS_MAX).contains(&number)).then(|| number - 1)
    };
    exact.or_else(any_case).or_else(number)
}

/// Columns without names that can be asked for.
const COLUMNS_MAX: usize = 100_000;

/// Names in a message, shortened.
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| show(name.as_bytes()).into_owned()).collect();
    if names.len() > SHOWN {
        shown.push(format!("... ({} in all)", names.len()));
    }
    shown.join(", ")
}
