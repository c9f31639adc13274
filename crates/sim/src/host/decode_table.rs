//! Decode latencies by the number of source symbols.

use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One decode latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeLatency {
    /// Number of source symbols K.
    pub symbols: u32,
    /// Time to decode a block of that many.
    pub latency: Duration,
}

/// Decode latencies, increasing in K: written in place, or in a table that has a name. This crate reads no files: whoever
/// reads the configuration looks the name up and fills in the rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", into = "Written")]
pub struct DecodeTable {
    /// Name of the table; `None` for one written in place.
    pub name: Option<String>,
    /// Where its latencies were measured, for people; empty if that is not known.
    pub origin: String,
    /// The latencies. Of a named table there are none until it has been read.
    pub rows: Vec<DecodeLatency>,
}

/// As it is written in a configuration.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    Name(String),
    Rows(Vec<DecodeLatency>),
}

impl From<Written> for DecodeTable {
    fn from(written: Written) -> Self {
        match written {
            Written::Name(name) => Self { name: Some(name), ..Self::default() },
            Written::Rows(rows) => rows.into(),
        }
    }
}

impl From<DecodeTable> for Written {
    fn from(table: DecodeTable) -> Self {
        table.name.map_or(Self::Rows(table.rows), Self::Name)
    }
}

impl From<Vec<DecodeLatency>> for DecodeTable {
    fn from(rows: Vec<DecodeLatency>) -> Self {
        Self { rows, ..Self::default() }
    }
}

impl DecodeTable {
    /// Whether there is a table at all.
    pub fn is_given(&self) -> bool {
        self.name.is_some() || !self.rows.is_empty()
    }

    /// What is wrong with the table, if anything.
    pub(super) fn problem(&self) -> Option<String> {
        if let (Some(name), []) = (&self.name, self.rows.as_slice()) {
            return Some(format!("the table {name:?} has not been read"));
        }
        let increasing = self.rows.first().is_none_or(|first| first.symbols > 0)
            && self.rows.windows(2).all(|w| w[0].symbols < w[1].symbols);
        (!increasing).then(|| "numbers of symbols must increase, from 1".to_owned())
    }

    /// Time to decode a block of `k` source symbols: interpolated between rows, in proportion to K beyond them. `None`
    /// without a table.
    pub(super) fn latency(&self, k: u32) -> Option<Duration> {
        let last = self.rows.last()?;
        let interpolate = |a: (u64, u64), b: (u64, u64)| {
            let (dx, dy) = (b.0 - a.0, i128::from(b.1) - i128::from(a.1));
            let y = i128::from(a.1) + dy * i128::from(u64::from(k) - a.0) / i128::from(dx);
            Duration(y.max(0) as u64)
        };
        let point = |d: &DecodeLatency| (u64::from(d.symbols), d.latency.ps());
        let after = self.rows.partition_point(|d| d.symbols < k);
        Some(match (after, self.rows.get(after)) {
            (0, Some(first)) => interpolate((0, 0), point(first)),
            (n, Some(next)) => interpolate(point(&self.rows[n - 1]), point(next)),
            (_, None) => interpolate((0, 0), point(last)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, u64)]) -> DecodeTable {
        let row = |&(symbols, us)| DecodeLatency { symbols, latency: Duration::from_us(us) };
        rows.iter().map(row).collect::<Vec<_>>().into()
    }

    #[test]
    fn latencies_lie_on_lines_between_the_rows() {
        let table = table(&[(10, 5), (100, 50), (200, 150), (300, 120)]);
        for (k, us) in [(2, 1), (10, 5), (55, 27), (150, 100), (250, 135), (300, 120), (600, 240)] {
            assert_eq!(table.latency(k).expect("a table").ps() / 1_000_000, us, "K = {k}");
        }
        assert_eq!(DecodeTable::default().latency(5), None);
    }

    #[test]
    fn a_table_is_written_as_a_name_or_as_rows() {
        for json in [r#""measured""#, r#"[{"symbols":10,"latency":"5us"}]"#, "[]"] {
            let table: DecodeTable = serde_json::from_str(json).expect("a table");
            assert_eq!(serde_json::to_string(&table).expect("text"), json);
            assert_eq!(table.is_given(), json != "[]");
        }
    }

    #[test]
    fn faults() {
        assert_eq!(table(&[(1, 5), (2, 3)]).problem(), None);
        for rows in [&[(0, 5)][..], &[(5, 1), (5, 2)], &[(5, 1), (4, 2)]] {
            assert!(table(rows).problem().expect("wrong").contains("increase"), "{rows:?}");
        }
        let named = DecodeTable { name: Some("measured".to_owned()), ..DecodeTable::default() };
        assert!(named.problem().expect("wrong").contains("measured"));
        assert_eq!(DecodeTable { rows: table(&[(1, 5)]).rows, ..named }.problem(), None);
    }
}
