//! Quantities as people write them in scenario files: `"10us"`, `"1Gbps"`, `"1.5MB"`.
//!
//! Decimal prefixes only (1 KB = 1000 bytes), as the papers use them; `KiB`, `MiB` and `GiB` are there for those who
//! mean 1024. A quantity without a unit is an error, except zero and whole bytes.

use super::{Bytes, Duration, PS_PER_S, Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

const TIME_UNITS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", PS_PER_S)];
const RATE_UNITS: &[(&str, u64)] =
    &[("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", PS_PER_S)];
const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ParseError {}

/// Exact decimal arithmetic: `"1.5MB"` is 1 500 000, never 1 499 999.
fn parse(text: &str, what: &str, example: &str, units: &[(&str, u64)], most: u64) -> Result<u64, ParseError> {
    let text = text.trim();
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let bad = |why: &str| ParseError(format!("{text:?} is not {what}: {why} (write it like {example:?})"));
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') {
        return Err(bad("expected a number and a unit"));
    }
    let scale = match units.iter().find(|u| u.0 == unit) {
        Some(u) => u.1,
        None if number.bytes().all(|b| b == b'0' || b == b'.') && unit.is_empty() => 1,
        None if unit.is_empty() => return Err(bad(&format!("the unit is missing; one of {}", names()))),
        None => return Err(bad(&format!("unknown unit {unit:?}; one of {}", names()))),
    };
    let too_big = || match most {
        u64::MAX => bad("too large"),
        _ => bad(&format!("too large, at most {} {}", most / units[units.len() - 1].1, units[units.len() - 1].0)),
    };
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_big())?;
    let divisor = 10u128.checked_pow(fraction.len() as u32).ok_or_else(too_big)?;
    let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(too_big)?;
    if scaled % divisor != 0 {
        return Err(bad("finer than the smallest unit"));
    }
    u64::try_from(scaled / divisor).ok().filter(|&n| n <= most).ok_or_else(too_big)
}

macro_rules! quantity {
    ($type:ident, $what:literal, $example:literal, $units:ident, $most:expr, $pattern:literal) => {
        impl FromStr for $type {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                parse(text, $what, $example, $units, $most).map($type)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} in quotes, like {:?}", $what, $example)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_str(Visitor)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "examples": [$example],
                    "description": concat!($what, ", for example ", $example) })
            }
        }
    };
}

// No run lasts longer.
quantity!(Duration, "a time", "10us", TIME_UNITS, Time::LATEST.ps(), r"^[0-9][0-9_]*(\.[0-9]+)? *(ps|ns|us|µs|ms|s)$");
quantity!(Rate, "a bit rate", "1Gbps", RATE_UNITS, u64::MAX, r"^[0-9][0-9_]*(\.[0-9]+)? *(bps|kbps|Mbps|Gbps|Tbps)$");
quantity!(
    Bytes,
    "a number of bytes",
    "1.5MB",
    BYTE_UNITS,
    u64::MAX,
    r"^[0-9][0-9_]*(\.[0-9]+)? *(B|[kKMGT]B|[KMG]iB)$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("10us".parse(), Ok(Duration::from_us(10)));
        assert_eq!("1.5 ms".parse(), Ok(Duration::from_us(1500)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
        assert_eq!("2.5Gbps".parse(), Ok(Rate::from_mbps(2_500)));
        assert_eq!("1.5MB".parse(), Ok(Bytes(1_500_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert!(error("10").contains("the unit is missing"));
        assert!(error("10 parsec").contains("unknown unit \"parsec\""));
        assert!(error("fast").contains("expected a number"));
        assert!(error("0.1ps").contains("finer"));
        assert!(error("99999999999999999999s").contains("too large, at most 18403200 s"));
        assert!(error("18403201s").contains("too large, at most 18403200 s"));
        assert_eq!("18403200s".parse(), Ok(Duration(Time::LATEST.ps())));
        assert!("99999999999999999999TB".parse::<Bytes>().unwrap_err().to_string().contains("too large (write"));
    }

    #[test]
    fn display_reads_back() {
        for d in [Duration(1), Duration::from_us(12), Duration(1_234_567), Duration::ZERO] {
            assert_eq!(d.to_string().parse(), Ok(d));
        }
        for b in [Bytes(0), Bytes(1), Bytes(1500), Bytes(2_000_000)] {
            assert_eq!(b.to_string().parse(), Ok(b));
        }
    }
}
