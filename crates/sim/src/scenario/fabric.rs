//! `[fabric]`: the network.

use crate::workload::Fault;
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The network. Stands in for the configuration of the topologies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "topology", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FabricConfig {
    /// k-ary fat-tree: `k` pods of `k/2` edge and `k/2` aggregation switches, `k^3/4` hosts.
    FatTree {
        /// Ports of each switch: even, at least 2.
        #[schemars(range(min = 2), extend("multipleOf" = 2))]
        k: u32,
        /// Bit rate of every link.
        #[serde(default = "rate")]
        rate: Rate,
        /// Propagation delay of every link.
        #[serde(default = "delay")]
        delay: Duration,
    },
    /// Hosts on a single switch.
    Star {
        /// Number of hosts: at least 2.
        hosts: u32,
        /// Bit rate of every link.
        #[serde(default = "rate")]
        rate: Rate,
        /// Propagation delay of every link.
        #[serde(default = "delay")]
        delay: Duration,
    },
}

fn rate() -> Rate {
    Rate::from_gbps(1)
}

fn delay() -> Duration {
    Duration::from_us(10)
}

/// What is wrong with the parameters. Relative file names start at `base`.
pub(super) fn check(fabric: &FabricConfig, _base: &Path) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (FabricConfig::FatTree { rate, .. } | FabricConfig::Star { rate, .. }) = fabric;
    match fabric {
        FabricConfig::FatTree { k, .. } if *k == 0 || k % 2 == 1 => {
            faults.push(Fault::new("k", format!("must be even and at least 2, not {k}")));
        }
        FabricConfig::Star { hosts, .. } if *hosts < 2 => {
            faults.push(Fault::new("hosts", format!("must be at least 2, not {hosts}")));
        }
        FabricConfig::FatTree { .. } | FabricConfig::Star { .. } => {}
    }
    if rate.bps() == 0 {
        faults.push(Fault::new("rate", "must be above 0"));
    }
    faults
}
