//! `BCube`, a server-centric fabric for modular data centres (Guo et al., SIGCOMM 2009, §3).
//!
//! `BCube_0` is `n` servers on one switch of `n` ports; `BCube_k` is `n` copies of `BCube_(k-1)`, joined by `n^k` further
//! switches, each of which has one server of each copy. Servers have `k + 1` ports and relay; switches are never linked
//! to one another. A server's address is `k + 1` digits to the base `n`, and a switch of level `i` joins the servers
//! whose addresses differ in digit `i` only.

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `BCube_k` of switches with `n` ports: `n^(k+1)` hosts with `k + 1` links each, which relay, and `(k+1) n^k` switches.
/// A host has as its number its address; a rack is a switch of level 0, a pod a `BCube_(k-1)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BCube {
    /// Ports of every switch, from 2.
    #[schemars(range(min = 2))]
    pub n: u32,
    /// The last level of switches, 0 to 15; hosts have `k + 1` links. 0 is a star.
    #[schemars(range(max = 15))]
    pub k: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
}

impl Topology for BCube {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let link = LinkSpec::checked(self.rate, self.delay, "")?;
        let (n, k) = (self.n, self.k);
        if n < 2 {
            return Err(TopologyError::field("n", n, "at least 2 ports"));
        }
        if k > 15 {
            return Err(TopologyError::field("k", k, "0 to 15").with_hint("BCube_k has n^(k+1) hosts"));
        }
        let per_level = u64::from(n).saturating_pow(k);
        let hosts = per_level.saturating_mul(u64::from(n));
        let levels = u64::from(k) + 1;
        let links = hosts.saturating_mul(levels);
        let size = Size { hosts, switches: per_level.saturating_mul(levels), racks: per_level, links };
        size.with_choosing_hosts(k > 0).check("n, k", format!("{n}, {k}"))?;

        let pod = |h: u32| (k > 0).then(|| h / per_level as u32);
        let mut graph = Graph { hosts_relay: k > 0, ..Graph::with_hosts(hosts as u32, pod) };
        for level in 0..=k {
            let kind = match level {
                0 => Level::Edge,
                _ if level == k => Level::Core,
                _ => Level::Aggregation,
            };
            for s in 0..per_level {
                graph.add_switch(format!("bcube{level}.{s}"), kind, None);
            }
        }
        for level in 0..=k {
            let first = graph.hosts + level * per_level as u32;
            let below = n.pow(level);
            for h in 0..graph.hosts {
                // The address without the digit of this level.
                let switch: NodeId = h / (below * n) * below + h % below;
                graph.connect(h, first + switch, link.rate, link.delay);
            }
        }
        Ok(graph)
    }
}
