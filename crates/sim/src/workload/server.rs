//! Servers of several hosts: what messages of jobs take inside one.

use super::error::Fault;
use crate::fabric::graph::Graph;
use crate::fabric::topology::{MAX_DELAY, MAX_RATE};
use anabranch_job::Servers;
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Servers of several hosts, with links of their own. A switch that never blocks joins them: each host sends one message at a time there, and
/// receives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// Hosts of each server, at least 2: hosts 0 to `hosts - 1` are the first one.
    #[schemars(range(min = 2))]
    pub hosts: u32,
    /// Bit rate of each host's link in each direction, above zero. `NVLink` of an H100: 3.6 Tbps (450 GB/s).
    pub rate: Rate,
    /// From the first byte's start to its arrival, software included if `overhead` of jobs does not: 0 to 1000 s.
    pub latency: Duration,
}

impl ServerConfig {
    /// What is wrong with the values.
    pub(crate) fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.hosts < 2 {
            faults.push(Fault::new("hosts", format!("must be at least 2, not {}", self.hosts)));
        }
        if self.rate.bps() == 0 || self.rate > MAX_RATE {
            faults.push(Fault::new("rate", format!("must be above zero, up to {MAX_RATE}, not {}", self.rate)));
        }
        if self.latency > MAX_DELAY {
            faults.push(Fault::new("latency", format!("must be at most {MAX_DELAY}, not {}", self.latency)));
        }
        faults
    }

    /// The servers of ranks, given the host of each.
    pub(crate) fn of_ranks(&self, hosts: &[u32]) -> Servers {
        let of = hosts.iter().map(|host| host / self.hosts).collect();
        Servers { of, rate: self.rate, latency: self.latency }
    }

    /// What is wrong with servers of this fabric, for workloads of which some have jobs.
    pub(crate) fn check_use(&self, graph: &Graph, jobs: bool) -> Option<Fault> {
        if !jobs {
            let fault = Fault::new("server", "is for messages of jobs, and no workload has one");
            return Some(fault.hint("[[workload]] with job = { ... }"));
        }
        let left = graph.hosts.checked_rem(self.hosts).filter(|&left| left > 0)?;
        let message = format!("{} hosts are no whole number of servers: {left} are left over", graph.hosts);
        Some(Fault::new("server.hosts", message))
    }
}
