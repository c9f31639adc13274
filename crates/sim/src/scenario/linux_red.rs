//! `[switch.linux_red]`: random early detection as in Linux.

use crate::fabric::buffer::BufferSize;
use crate::fabric::queue::linux_red::{chosen_burst, weight_log};
use crate::workload::Fault;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random early detection of Linux 3.2, with the parameters of `tc`; `ecn_threshold` is its `min`. Mininet's line, `red min K max K+1
/// avpkt 1500 burst 20 probability 1 ecn`, is `ecn_threshold = K` with `burst = 20` and `ages = false`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxRedConfig {
    /// Packets of a burst that is to pass unmarked through an empty queue: `ecn_threshold` or more, at most 65535. With the threshold it decides the
    /// weight of an arrival in the average (`tc_red_eval_ewma`): with 20 packets, 2^-7 for 3 packets, 2^-6 for 5, 2^-4 for 10. Default:
    /// as newer `tc` chooses it, about `ecn_threshold`, for which the weight is 1/2. A threshold that a controller raises beyond it
    /// raises it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// How far the upper threshold (`max`) is above the lower one: at most 1 GiB. Default 1 B: `tc` refused equal ones.
    pub width: Bytes,
    /// Probability of a mark at the upper threshold (`probability`): above 0, at most 1. Default 1 (Mininet).
    pub max_probability: f64,
    /// Bytes of a packet (`avpkt`), also where `ecn_threshold` counts packets: above 0. Default: a full packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_packet: Option<Bytes>,
    /// Whether packets are dropped from the upper threshold on even if they may be marked. Default false.
    pub harddrop: bool,
    /// Whether the average falls while the queue is idle. Default true. False is what happens below `htb`, by which Mininet limits
    /// rates: it never asks an empty queue for a packet, by which `red` would know.
    pub ages: bool,
}

impl Default for LinuxRedConfig {
    fn default() -> Self {
        Self { burst: None, width: Bytes(1), max_probability: 1.0, average_packet: None, harddrop: false, ages: true }
    }
}

impl LinuxRedConfig {
    /// Whether nothing was given: scenarios without it keep the hashes of their runs.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// What is wrong, with this lower threshold, if it is given, and full packets of `packet` bytes.
    pub(super) fn check(&self, threshold: BufferSize, packet: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        let average = self.average_packet.map_or(packet, |bytes| bytes.0);
        let threshold = match threshold {
            BufferSize::Packets(packets) => Some(u64::from(packets) * average),
            BufferSize::Bytes(bytes) => Some(bytes.0),
            BufferSize::Auto | BufferSize::Unlimited => None,
        };
        if average == 0 {
            faults.push(Fault::new("average_packet", "must be above 0"));
        } else if let Some(threshold) = threshold {
            let burst = self.burst.unwrap_or_else(|| chosen_burst(threshold, self.width.0, average));
            if weight_log(threshold, burst, average).is_none() {
                let problem =
                    format!("{burst} packets of {average}B: tc finds no weight for ecn_threshold, {threshold}B");
                faults.push(Fault::new("burst", problem).hint("ecn_threshold: a packet or more, and at most a burst"));
            }
        }
        if self.burst.is_some_and(|burst| !(1..=65_535).contains(&burst)) {
            faults.push(Fault::new("burst", "must be from 1 to 65535"));
        }
        if self.width.0 > 1 << 30 {
            faults.push(Fault::new("width", format!("{} is above 1GiB", self.width)));
        }
        if !(self.max_probability > 0.0 && self.max_probability <= 1.0) {
            let problem = format!("must be above 0 and at most 1, not {}", self.max_probability);
            faults.push(Fault::new("max_probability", problem));
        }
        faults
    }
}
