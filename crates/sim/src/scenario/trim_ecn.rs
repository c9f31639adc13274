//! `[switch.trim_ecn]`: when trimming queues mark.

use crate::workload::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Marks of a trimming queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrimEcnConfig {
    /// Share of the buffer for data up to which nothing is marked, 0 to 1. Default 0.2 (uet-htsim).
    pub low: f64,
    /// Share from which all packets are marked; in between by chance, in proportion. Above `low`, at most 1. Default 0.8 (uet-htsim).
    pub high: f64,
}

impl Default for TrimEcnConfig {
    fn default() -> Self {
        Self { low: 0.2, high: 0.8 }
    }
}

impl TrimEcnConfig {
    /// Whether nothing is said: scenarios then leave it out.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What is wrong.
    pub(super) fn check(&self) -> Option<Fault> {
        let Self { low, high } = *self;
        if !(0.0..1.0).contains(&low) {
            return Some(Fault::new("low", format!("must be at least 0 and below 1, not {low}")));
        }
        let right = high > low && high <= 1.0;
        (!right).then(|| Fault::new("high", format!("must be above low, {low}, and at most 1, not {high}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_out_of_order_or_range_are_refused() {
        let key = |low, high| TrimEcnConfig { low, high }.check().map(|fault| fault.key);
        assert_eq!(TrimEcnConfig::default().check().map(|fault| fault.key), None);
        assert_eq!(key(-0.1, 0.5).as_deref(), Some("low"));
        assert_eq!(key(f64::NAN, 0.5).as_deref(), Some("low"));
        assert_eq!(
            [key(0.5, 0.5), key(0.2, 1.1), key(0.2, f64::NAN)].map(|key| key.is_some_and(|k| k == "high")),
            [true; 3]
        );
    }
}
