//! `transport.preset`: which presets there are, and their names in a scenario.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value as Json;
use std::borrow::Cow;

macro_rules! presets {
    ($($name:literal)+) => {
        /// Name and text of each.
        pub(super) const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("presets/", $name, ".toml")))),+];
    };
}

// The registry: one line for each file of `presets/`.
presets! {
    "scdp-1g"
    "scdp-5g"
    "scdp-10g"
    "pias-scdp-1g"
    "ndp-htsim-100g"
    "homa-w1-10g"
    "homa-w2-10g"
    "homa-w3-10g"
    "homa-w4-10g"
    "homa-w5-10g"
    "tcp-linux"
    "tcp-fine-rto"
    "tcp-song"
    "mptcp-ns3"
    "dctcp-10g"
    "dctcp-100g"
    "pfabric-10g"
    "pfabric-100g"
    "swift-htsim-100g"
    "dcqcn-25g"
    "dcqcn-40g"
    "dcqcn-100g"
    "timely-25g"
    "timely-100g"
    "hpcc-25g"
    "hpcc-100g"
}

/// The names in a scenario. What they stand for has been put into its keys: written out, it has these alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetNames(pub Vec<String>);

impl<'de> Deserialize<'de> for PresetNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::String(name) => Ok(Self(vec![name])),
            names => serde_json::from_value(names).map(Self).map_err(de::Error::custom),
        }
    }
}

impl JsonSchema for PresetNames {
    fn schema_name() -> Cow<'static, str> {
        "PresetNames".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = serde_json::json!({ "type": "string", "enum": FILES.iter().map(|file| file.0).collect::<Vec<_>>() });
        json_schema!({
            "description": "The name of a preset, or a list of names.",
            "anyOf": [name, { "type": "array", "items": name }]
        })
    }
}
