//! `[switch.red]`: random early detection.

use crate::fabric::buffer::BufferSize;
use crate::workload::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is not said in hashes: scenarios without this key keep theirs.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_true(value: &bool) -> bool {
    *value
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedConfig {
    /// Average queue from which packets are dropped or marked by chance, in packets or bytes. Default 5 packets (Floyd 1997).
    pub min_threshold: BufferSize,
    /// Average queue at which `max_probability` is reached, in the unit of `min_threshold` and above it. Default 15 packets (Floyd
    /// 1997: three times the lower one).
    pub max_threshold: BufferSize,
    /// Probability that a packet is dropped or marked at `max_threshold`: above 0, at most 1. Default 0.1 (Floyd 1997).
    pub max_probability: f64,
    /// Weight of each arrival in the moving average of the queue: above 0, at most 1; 1 is the queue as it is. Default 0.002
    /// (Floyd and Jacobson 1993 §V).
    pub weight: f64,
    /// Whether the probability rises from `max_probability` to 1 between `max_threshold` and twice that (Floyd 2000), instead of at
    /// once. Default true.
    pub gentle: bool,
    /// Whether drops or marks are spread evenly, as in 1993 (Fig. 2): the longer none came, the likelier is one, so that there are up to twice as many. `false`:
    /// each packet is judged by itself, as by DCQCN's switches. Default true.
    #[serde(skip_serializing_if = "is_true")]
    pub spread: bool,
    /// Whether packets that may be marked are marked instead of dropped, up to where all are dropped (RFC 3168 §7). Default true;
    /// transports ask for it with `ecn`.
    pub mark: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min_threshold: BufferSize::Packets(5),
            max_threshold: BufferSize::Packets(15),
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            spread: true,
            mark: true,
        }
    }
}

impl RedConfig {
    /// Lower and upper threshold, and whether they are in bytes; `None` if they are not two of a kind.
    pub(super) fn thresholds(&self) -> Option<(f64, f64, bool)> {
        match (self.min_threshold, self.max_threshold) {
            (BufferSize::Packets(min), BufferSize::Packets(max)) => Some((f64::from(min), f64::from(max), false)),
            (BufferSize::Bytes(min), BufferSize::Bytes(max)) => Some((min.0 as f64, max.0 as f64, true)),
            _ => None,
        }
    }

    /// What is wrong.
    pub(super) fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let (min, max) = (self.min_threshold, self.max_threshold);
        match self.thresholds() {
            None => {
                let message = format!("{max} and min_threshold = {min} must both be packets or both be bytes");
                faults.push(Fault::new("max_threshold", message).hint("min_threshold = \"5 packets\""));
            }
            Some((low, high, _)) if low >= high => {
                faults.push(Fault::new("max_threshold", format!("{max} is not above min_threshold = {min}")));
            }
            Some(_) => {}
        }
        for (key, value) in [("max_probability", self.max_probability), ("weight", self.weight)] {
            if !(value > 0.0 && value <= 1.0) {
                faults.push(Fault::new(key, format!("must be above 0 and at most 1, not {value}")));
            }
        }
        faults
    }
}
