//! `[switch.phantom]`: phantom queues.

use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phantom queue (Alizadeh et al., NSDI 2012).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhantomConfig {
    /// Rate of its virtual link over that of the port: above 0, at most 1. Default 0.95 (HULL's 950 Mbps on links of 1 Gbps).
    pub drain: f64,
    /// What has to wait at the virtual link for a packet to be marked: more than this. Default 1 KB (HULL).
    pub threshold: Bytes,
}

impl Default for PhantomConfig {
    fn default() -> Self {
        Self { drain: 0.95, threshold: Bytes(1000) }
    }
}
