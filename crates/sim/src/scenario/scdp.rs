//! `[transport.scdp]`: the protocol's keys and those of its decoder's model, in one table.

use crate::host::decoder::DecodeModel;
use crate::host::scdp::ScdpSettings;
use anabranch_transport::ConfigError;
use anabranch_transport::scdp::ScdpConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of SCDP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScdpKeys {
    /// Of the protocol.
    #[serde(flatten)]
    pub protocol: ScdpConfig,
    /// Of the model of its decoder.
    #[serde(flatten)]
    pub decoding: DecodeModel,
}

impl ScdpKeys {
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
