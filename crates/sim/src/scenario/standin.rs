//! Parameters of the transports, until those of `anabranch_transport` are used: the same names and defaults.

use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parameter out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Name of the parameter.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

fn check(good: bool, field: &'static str, problem: &str) -> Result<(), ConfigError> {
    if good { Ok(()) } else { Err(ConfigError { field, problem: problem.to_owned() }) }
}

fn check_thresholds(thresholds: &[Bytes]) -> Result<(), ConfigError> {
    match thresholds.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => {
            check(false, "priority_thresholds", &format!("{} does not exceed {} before it", pair[1], pair[0]))
        }
        None => Ok(()),
    }
}

/// Parameters of SCDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScdpConfig {
    /// Symbols that a sender pushes unasked. SCDP §V: 12.
    pub initial_window: u32,
    /// Bytes of an object after which its packets fall to the next lower priority: strictly increasing.
    /// SCDP §V: 10 KB, 100 KB, 1 MB, 10 MB.
    pub priority_thresholds: Vec<Bytes>,
}

impl Default for ScdpConfig {
    fn default() -> Self {
        Self { initial_window: 12, priority_thresholds: [10_000, 100_000, 1_000_000, 10_000_000].map(Bytes).to_vec() }
    }
}

impl ScdpConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self.initial_window >= 1, "initial_window", "must be at least 1")?;
        check_thresholds(&self.priority_thresholds)
    }
}

/// Parameters of NDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NdpConfig {
    /// Packets that a sender pushes unasked. SCDP §V: 12.
    pub initial_window: u32,
    /// Bytes of an object after which its packets fall to the next lower priority (NDP+): strictly increasing.
    pub priority_thresholds: Vec<Bytes>,
}

impl Default for NdpConfig {
    fn default() -> Self {
        Self { initial_window: 12, priority_thresholds: Vec::new() }
    }
}

impl NdpConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self.initial_window >= 1, "initial_window", "must be at least 1")?;
        check_thresholds(&self.priority_thresholds)
    }
}

/// Parameters of TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// Initial congestion window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Lower bound of the retransmission timeout.
    pub rto_min: Duration,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self { initial_window: 10, rto_min: Duration::from_ms(200) }
    }
}

impl TcpConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self.initial_window >= 1, "initial_window", "must be at least 1")?;
        check(self.rto_min > Duration::ZERO, "rto_min", "must be above 0")
    }
}
