//! `[transport.scdp]`: the protocol's keys and those of its decoder's model, in one table, with the defaults of a preset.

use crate::host::decode_table::DecodeTable;
use crate::host::decoder::DecodeModel;
use crate::host::scdp::ScdpSettings;
use anabranch_transport::scdp::{ScdpConfig, hosts};
use anabranch_transport::{Bytes, ConfigError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

/// Whose defaults the keys have that are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The SCDP paper's: a fixed window, for switches that trim.
    #[default]
    Paper,
    /// Those of the program `scdp` on real hosts: windows that receivers find, pulls that slow down where symbols are trimmed, stragglers by lateness, the
    /// measured decoder; packets are Ethernet frames with IPv4, 1514 B, of which 94 B are headers.
    Hosts,
}

impl Preset {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What depends on packets and headers, such as how many a host handles in a batch, follows those that are given.
    fn protocol(self, packet: Option<Bytes>, header: Option<Bytes>) -> ScdpConfig {
        match self {
            Self::Paper => ScdpConfig::default(),
            Self::Hosts => ScdpConfig::on_hosts(
                packet.unwrap_or(Bytes(u64::from(hosts::DATAGRAM + hosts::FRAME))),
                header.unwrap_or(Bytes(u64::from(hosts::HEADERS + hosts::FRAME))),
            ),
        }
    }

    fn decoding(self) -> DecodeModel {
        let measured = || DecodeTable { name: Some("measured".to_owned()), ..DecodeTable::default() };
        let model = DecodeModel::default();
        if self == Self::Hosts { DecodeModel { decode_table: measured(), ..model } } else { model }
    }
}

/// Parameters of SCDP.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScdpKeys {
    /// Whose defaults the other keys of this table have. Default: `paper`.
    #[serde(skip_serializing_if = "Preset::is_default")]
    pub preset: Preset,
    /// Of the protocol.
    #[serde(flatten)]
    pub protocol: ScdpConfig,
    /// Of the model of its decoder.
    #[serde(flatten)]
    pub decoding: DecodeModel,
}

impl Serialize for ScdpKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct All<'a> {
            #[serde(skip_serializing_if = "Preset::is_default")]
            preset: Preset,
            #[serde(flatten)]
            protocol: &'a ScdpConfig,
            #[serde(flatten)]
            decoding: &'a DecodeModel,
        }
        let Self { preset, protocol, decoding } = self;
        let all = All { preset: *preset, protocol, decoding };
        if preset.is_default() {
            return all.serialize(serializer);
        }
        // Left out, as the paper's defaults are, these would be read as the preset's.
        let mut keys = serde_json::to_value(all).map_err(ser::Error::custom)?;
        let left_out = json!({
            "pull_pacing": protocol.pull_pacing,
            "ecn_in_groups": protocol.ecn_in_groups,
            "straggler": {"rule": protocol.straggler.rule},
        });
        overlay(&mut keys, left_out);
        keys.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScdpKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct All {
            preset: Preset,
            #[serde(flatten)]
            protocol: ScdpConfig,
            #[serde(flatten)]
            decoding: DecodeModel,
        }
        let given = Map::deserialize(deserializer)?;
        let preset = given.get("preset").map(Preset::deserialize).transpose().map_err(de::Error::custom)?;
        let preset = preset.unwrap_or_default();
        let bytes = |key| given.get(key).map(Bytes::deserialize).transpose().map_err(de::Error::custom);
        let protocol = preset.protocol(bytes("packet")?, bytes("header")?);
        let all = Self { preset, protocol, decoding: preset.decoding() };
        let mut keys = serde_json::to_value(all).map_err(de::Error::custom)?;
        keys["preset"] = serde_json::to_value(preset).map_err(de::Error::custom)?;
        // Another way to say how long decoding takes replaces the preset's.
        if given.contains_key("decode_rate") || given.contains_key("decode_polynomial") {
            keys["decode_table"] = Value::Array(Vec::new());
        }
        overlay(&mut keys, Value::Object(given));
        let All { preset, protocol, decoding } = serde_json::from_value(keys).map_err(de::Error::custom)?;
        Ok(Self { preset, protocol, decoding })
    }
}

/// Puts what is given over what is not, in tables inside, too.
fn overlay(keys: &mut Value, given: Value) {
    match (keys, given) {
        (Value::Object(keys), Value::Object(given)) => {
            for (key, value) in given {
                overlay(keys.entry(key).or_insert(Value::Null), value);
            }
        }
        (keys, given) => *keys = given,
    }
}

impl ScdpKeys {
    /// All keys as in a preset.
    pub fn of(preset: Preset) -> Self {
        Self { preset, protocol: preset.protocol(None, None), decoding: preset.decoding() }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.protocol.validate().and_then(|()| self.decoding.validate())
    }

    /// The settings of all sessions.
    pub(super) fn settings(&self) -> ScdpSettings {
        ScdpSettings { protocol: self.protocol.clone().into(), decoding: self.decoding.clone().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::scdp::{PullPacing, StragglerPolicy, WindowControl};

    fn keys(given: Value) -> Result<ScdpKeys, String> {
        serde_json::from_value(given).map_err(|e| e.to_string())
    }

    #[test]
    fn nothing_given_is_the_paper() {
        assert_eq!(keys(json!({})), Ok(ScdpKeys::default()));
        let written = serde_json::to_value(ScdpKeys::default()).expect("JSON");
        assert!(
            ["preset", "give_up_after", "pull_pacing", "ecn_in_groups"].iter().all(|key| written.get(key).is_none())
        );
    }

    #[test]
    fn a_preset_gives_the_keys_that_are_not_given() {
        let hosts = keys(json!({"preset": "hosts"})).expect("valid");
        assert_eq!((hosts.protocol.window_control, hosts.protocol.host_batch), (WindowControl::Bbr, 46));
        assert_eq!(hosts, ScdpKeys::of(Preset::Hosts));
        let given = json!({"preset": "hosts", "straggler": {"policy": "wait"}, "ecn": false, "decode_rate": "1Gbps"});
        let changed = keys(given).expect("valid");
        let straggler = changed.protocol.straggler;
        assert_eq!((straggler.policy, straggler.time), (StragglerPolicy::Wait, hosts.protocol.straggler.time));
        assert!(!changed.protocol.ecn && !changed.decoding.decode_table.is_given());
        let large = keys(json!({"preset": "hosts", "packet": "9000B"})).expect("valid");
        assert_eq!(large.protocol.host_batch, 7, "64 KiB of 8906 B");
        let as_the_paper = json!({"preset": "hosts", "pull_pacing": "link", "ecn_in_groups": true,
                                  "straggler": {"rule": "symbols"}});
        let as_the_paper = keys(as_the_paper).expect("valid");
        assert_eq!(as_the_paper.protocol.pull_pacing, PullPacing::Link);
        for read in [hosts, changed, large, as_the_paper] {
            let written = serde_json::to_value(&read).expect("JSON");
            assert_eq!(keys(written), Ok(read), "what is written reads back");
        }
        assert!(keys(json!({"preset": "host"})).is_err_and(|e| e.contains("hosts")));
        assert!(keys(json!({"pull_pase": 1})).is_err_and(|e| e.contains("pull_pase")));
    }
}
