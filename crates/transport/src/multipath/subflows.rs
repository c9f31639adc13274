//! How many connections a session has: a number, or a part of the shortest paths between its ends.

use super::header::MAX_SUBFLOWS;
use crate::config::ConfigError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How many connections a session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subflows {
    /// So many.
    Count(u8),
    /// This part of the shortest paths between its ends, rounded up: Song's `ceil(X / k)` (§3.3.3). `"all"` is 1/1.
    Part {
        /// Numerator, from 1.
        of: u8,
        /// Denominator, from the numerator on.
        parts: u8,
    },
}

impl Subflows {
    /// All shortest paths.
    pub const ALL: Self = Self::Part { of: 1, parts: 1 };

    pub(super) fn validate(self) -> Result<(), ConfigError> {
        let good = match self {
            Self::Count(count) => (1..=MAX_SUBFLOWS).contains(&count),
            Self::Part { of, parts } => of >= 1 && of <= parts,
        };
        let problem =
            || format!("{self} is neither a number from 1 to {MAX_SUBFLOWS} nor a part of the paths such as \"1/2\"");
        if good { Ok(()) } else { Err(ConfigError { field: "subflows", problem: problem() }) }
    }

    /// The number of connections, given `paths` shortest paths; 0: unknown, as if there were one.
    pub(super) fn of(self, paths: u32) -> u8 {
        match self {
            Self::Count(count) => count.clamp(1, MAX_SUBFLOWS),
            Self::Part { of, parts } => {
                let part = (u64::from(paths) * u64::from(of)).div_ceil(u64::from(parts.max(1)));
                part.clamp(1, u64::from(MAX_SUBFLOWS)) as u8
            }
        }
    }
}

impl fmt::Display for Subflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => write!(f, "{count}"),
            Self::ALL => f.write_str("\"all\""),
            Self::Part { of, parts } => write!(f, "\"{of}/{parts}\""),
        }
    }
}

impl FromStr for Subflows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let number = |part: &str| part.trim().parse().ok();
        let part = text.split_once('/').and_then(|(of, parts)| Some((number(of)?, number(parts)?)));
        let (of, parts) = part.ok_or_else(|| {
            format!("{text:?} is not a number of subflows: write a whole number, \"all\", or a part of the paths such as \"1/2\"")
        })?;
        Ok(Self::Part { of, parts })
    }
}

impl Serialize for Subflows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Count(count) => serializer.serialize_u8(count),
            Self::ALL => serializer.serialize_str("all"),
            Self::Part { of, parts } => serializer.serialize_str(&format!("{of}/{parts}")),
        }
    }
}

impl<'de> Deserialize<'de> for Subflows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Subflows;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 1 to 64, \"all\", or a part of the paths such as \"1/2\"")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Subflows, E> {
                u8::try_from(count)
                    .map(Subflows::Count)
                    .map_err(|_| E::custom(format!("{count} subflows; must be 1 to 64")))
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Subflows, E> {
                let count =
                    u64::try_from(count).map_err(|_| E::custom(format!("{count} subflows; must be 1 to 64")))?;
                self.visit_u64(count)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Subflows, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Subflows {
    fn schema_name() -> Cow<'static, str> {
        "Subflows".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of connections: a whole number, \"all\" shortest paths, or a part of them such as \"1/2\".",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": MAX_SUBFLOWS },
                { "type": "string", "pattern": "^(all|[0-9]+/[0-9]+)$" }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_paths_is_rounded_up() {
        let part = |text: &str, paths| text.parse::<Subflows>().unwrap().of(paths);
        assert_eq!(
            ["all", "3/4", "1/2", "1/4"].map(|text| part(text, 4)),
            [4, 3, 2, 1],
            "Song Table 5.2: k = 1, 4/3, 2, 4"
        );
        assert_eq!(["all", "3/4", "1/2", "1/4"].map(|text| part(text, 1)), [1; 4], "in one rack");
        assert_eq!([part("1/2", 0), part("all", 1024), part("3/4", 5)], [1, 64, 4]);
        assert_eq!(Subflows::Count(4).of(1), 4, "a number is a number");
    }

    #[test]
    fn what_cannot_work_is_told() {
        for text in ["", "half", "1/", "1/256", "-1/2"] {
            assert!(text.parse::<Subflows>().is_err(), "{text:?}");
        }
        for bad in [Subflows::Count(0), Subflows::Count(65), "0/2".parse().unwrap(), "3/2".parse().unwrap()] {
            assert_eq!(bad.validate().unwrap_err().field, "subflows");
        }
        for good in ["1", "64", "\"all\"", "\"3/4\""] {
            let parsed: Subflows = serde_json::from_str(good).unwrap();
            assert_eq!((parsed.validate(), serde_json::to_string(&parsed).unwrap()), (Ok(()), good.to_owned()));
        }
    }
}
