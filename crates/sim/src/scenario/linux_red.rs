//! `[switch.linux_red]`: random early detection as in Linux.

use crate::fabric::buffer::BufferSize;
use crate::fabric::queue::linux_red::{LONGEST, burst, probability_log, weight_log};
use crate::workload::Fault;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Bytes of a packet: those of IP.
const PACKETS: RangeInclusive<u64> = 1..=65_535;

/// Random early detection of Linux 3.2, with the parameters of `tc`; `ecn_threshold` is its `min`. Mininet's line, `red min K max K+1
/// avpkt 1500 burst 20 probability 1 ecn`, is `ecn_threshold = K` with `burst = 20` and `ages = false`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxRedConfig {
    /// Packets of a burst that is to pass unmarked through an empty queue: `ecn_threshold` or more, at most 65535. With the threshold it decides the
    /// weight of an arrival in the average (`tc_red_eval_ewma`): with 20 packets, 2^-7 for 3 packets, 2^-6 for 5, 2^-4 for 10. Default:
    /// as newer `tc` chooses it, about `ecn_threshold` and never less; for whole packets and a narrow `width` the weight is 1/2. A
    /// threshold that a controller raises beyond it raises it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// How far the upper threshold (`max`) is above the lower one: at most 1 GiB. Default 1 B: `tc` refused equal ones.
    pub width: Bytes,
    /// Probability of a mark at the upper threshold (`probability`): above 0, at most 1. Default 1 (Mininet). The slope, `max_probability`
    /// over `width` in bytes, is rounded down to the next power of two below it (`tc_red_eval_P`): it has to be above 2^-31.
    pub max_probability: f64,
    /// Bytes of a packet (`avpkt`), also where `ecn_threshold` counts packets: 1 B to 65535 B. Default: a full packet.
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

    /// What is wrong by itself.
    pub(super) fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(average) = self.average_packet
            && !PACKETS.contains(&average.0)
        {
            faults.push(Fault::new("average_packet", format!("must be from 1B to 65535B, not {average}")));
        }
        if self.burst.is_some_and(|burst| !(1..=65_535).contains(&burst)) {
            faults.push(Fault::new("burst", "must be from 1 to 65535"));
        }
        if self.width.0 > LONGEST {
            faults.push(Fault::new("width", format!("{} is above 1GiB", self.width)));
        }
        if !(self.max_probability > 0.0 && self.max_probability <= 1.0) {
            let problem = format!("must be above 0 and at most 1, not {}", self.max_probability);
            faults.push(Fault::new("max_probability", problem));
        } else if self.width.0 <= LONGEST && probability_log(self.width.0, self.max_probability).is_none() {
            let problem = format!(
                "{} over a width of {} is not above 2^-31 for a byte: tc has no slope so small",
                self.max_probability, self.width
            );
            faults.push(Fault::new("max_probability", problem));
        }
        faults
    }

    /// What is wrong with this lower threshold, by keys of `[switch]`, where full packets have `packet` bytes. What is wrong by
    /// itself has to be mended first.
    pub(super) fn check_threshold(&self, threshold: BufferSize, packet: u64) -> Option<Fault> {
        let average = self.average_packet.map_or(packet, |bytes| bytes.0);
        if !PACKETS.contains(&average) || !self.check().is_empty() {
            return None;
        }
        let min = match threshold {
            BufferSize::Packets(packets) => u64::from(packets) * average,
            BufferSize::Bytes(bytes) => bytes.0,
            BufferSize::Auto | BufferSize::Unlimited => return None,
        };
        if min > LONGEST {
            return Some(Fault::new("ecn_threshold", format!("{} is above 1GiB", Bytes(min))));
        }
        let burst = burst(self.burst, min, self.width.0, average);
        if let Some(given) = self.burst.filter(|&given| given < burst) {
            let problem = format!("{given} packets of {average}B are less than ecn_threshold, {min}B: tc refuses them");
            return Some(Fault::new("linux_red.burst", problem).hint(format!("at least {burst}")));
        }
        if min == 0 || weight_log(min, burst, average).is_some() {
            return None;
        }
        let problem = format!("tc finds no weight for {min}B and a burst of {burst} packets of {average}B");
        Some(Fault::new("ecn_threshold", problem).hint("a packet or more"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    const SCENARIO: &str = r#"
[fabric]
topology = "star"
hosts = 4
rate = "10Gbps"
[transport]
name = "dctcp"
[switch]
queue = "linux-red"
buffer = "1000 packets"
[[workload]]
name = "web"
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
sessions = 10
"#;

    /// The keys at fault, and what is told of them.
    fn faults(overrides: &[&str]) -> Vec<(String, String)> {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let errors = parse("test.toml", SCENARIO, &overrides).err().map_or_else(Vec::new, |errors| errors.0);
        errors.into_iter().map(|error| (error.key, error.message)).collect()
    }

    #[track_caller]
    fn refused(overrides: &[&str], key: &str, message: &str) {
        let found = faults(overrides);
        assert!(matches!(&found[..], [(at, told)] if at == key && told.contains(message)), "{overrides:?}: {found:?}");
    }

    #[test]
    fn what_is_too_much_is_refused_before_anything_is_computed() {
        let (average, threshold) = ("switch.linux_red.average_packet", "switch.ecn_threshold");
        for bytes in ["0B", "65536B", "10GB", "16000000TB"] {
            let given = format!("{average}={bytes}");
            for more in [&[][..], &["switch.ecn_threshold=20 packets"], &["switch.linux_red.burst=65535"]] {
                refused(&[&[given.as_str()], more].concat(), average, "must be from 1B to 65535B");
            }
        }
        for size in ["1073741825B", "7000000TB", "4000000000 packets"] {
            let given = format!("{threshold}={size}");
            refused(&[&given, "switch.buffer=unlimited"], threshold, "is above 1GiB");
        }
        assert_eq!(faults(&["switch.ecn_threshold=1GiB", "switch.buffer=unlimited"]), []);
        let packet = "transport.tcp.packet=16000000TB";
        refused(&[packet, "switch.ecn_threshold=20 packets"], "transport.tcp.packet", "larger than an IP packet");
        refused(&[packet], "transport.tcp.packet", "larger than an IP packet");
    }

    /// A controller is told whether switches mark; no queue is made of what is wrong for that.
    #[test]
    fn a_controller_beside_it_changes_nothing() {
        let controller = "controller=[{ law = \"ecn-adaptation\", period = \"1ms\" }]";
        assert_eq!(faults(&[controller]), []);
        for bytes in ["0B", "16000000TB"] {
            let given = format!("switch.linux_red.average_packet={bytes}");
            refused(&[&given, controller], "switch.linux_red.average_packet", "must be");
        }
    }

    /// 1e-9 / 2^30 would need random numbers of 60 digits.
    #[test]
    fn a_slope_that_tc_does_not_have_is_refused() {
        let (width, key) = ("switch.linux_red.width=1GiB", "switch.linux_red.max_probability");
        assert_eq!(faults(&[width]), []);
        for probability in ["1e-9", "0.5"] {
            refused(&[width, &format!("{key}={probability}")], key, "tc has no slope so small");
        }
        refused(&["switch.linux_red.max_probability=0.0"], key, "must be above 0");
    }

    #[test]
    fn a_burst_has_to_reach_the_threshold_and_the_default_does() {
        let jumbo = ["transport.tcp.packet=9000B", "switch.ecn_threshold=30KB"];
        assert_eq!(faults(&jumbo), []);
        let burst = "switch.linux_red.burst";
        refused(&[&jumbo[..], &["switch.linux_red.burst=3"]].concat(), burst, "3 packets of 9000B are less than");
        assert_eq!(faults(&[&jumbo[..], &["switch.linux_red.burst=4"]].concat()), []);
        // At 10 Gbps `auto` is 65 packets.
        refused(&["switch.linux_red.burst=64"], burst, "are less than ecn_threshold, 97500B");
        assert_eq!(faults(&["switch.linux_red.burst=65"]), []);
        assert_eq!(faults(&["switch.linux_red.burst=20", "fabric.rate=1Gbps"]), []);
    }

    #[test]
    fn a_threshold_of_a_packet_at_least_has_a_weight() {
        let threshold = "switch.ecn_threshold";
        refused(&["switch.ecn_threshold=1KB"], threshold, "no weight for 1000B and a burst of 1 packets");
        refused(&["switch.ecn_threshold=1KB", "switch.linux_red.burst=20"], threshold, "no weight");
        assert_eq!(faults(&["switch.ecn_threshold=1 packet", "switch.linux_red.burst=20"]), []);
        refused(&["switch.buffer=2KB"], threshold, "no weight for 1000B");
    }
}
