//! All requests at once.

use super::{ArrivalLaw, Demand, Starts};
use crate::workload::error::Fault;
use anabranch_transport::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every request at `at`; each session after a random delay of up to `jitter`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Synchronised {
    /// When.
    pub at: Duration,
    /// Each session starts later by a uniform draw from zero to this.
    pub jitter: Duration,
}

impl ArrivalLaw for Synchronised {
    fn check(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn starts(&self, _: &Demand) -> Result<Starts, Fault> {
        let at = Time(self.at.ps());
        Ok(Box::new(move |_| Some(at)))
    }

    fn jitter(&self) -> Duration {
        self.jitter
    }
}
