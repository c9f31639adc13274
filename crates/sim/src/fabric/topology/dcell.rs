//! `DCell`, a recursive server-centric fabric (Guo et al., SIGCOMM 2008, §3).
//!
//! `DCell_0` is `n` servers on one switch. `DCell_l` is `t + 1` copies of `DCell_(l-1)`, where `t` is the number of servers
//! in each, fully joined: every pair of copies by one link between two servers. Servers have `l + 1` ports and relay.

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `DCell_k` of switches with `n` ports: t(k) hosts with `k + 1` links each, which relay, where t(0) = n and
/// t(l) = t(l-1) (t(l-1) + 1). Hosts are numbered `DCell_0` by `DCell_0`. A rack is a `DCell_0`, a pod a `DCell_(k-1)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DCell {
    /// Hosts on each switch, from 2.
    #[schemars(range(min = 2))]
    pub n: u32,
    /// Depth of the recursion, 0 to 4; hosts have `k + 1` links, of which `k` lead to other hosts. 0 is a star.
    #[schemars(range(max = 4))]
    pub k: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
}

impl Topology for DCell {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let link = LinkSpec::checked(self.rate, self.delay, "")?;
        let (n, k) = (self.n, self.k);
        if n < 2 {
            return Err(TopologyError::field("n", n, "at least 2 hosts on each switch"));
        }
        if k > 4 {
            return Err(TopologyError::field("k", k, "0 to 4").with_hint("the number of hosts is squared with each level"));
        }
        // Servers of DCell_0, DCell_1 and so on.
        let mut servers = vec![u64::from(n)];
        for level in 0..k as usize {
            servers.push(servers[level].saturating_mul(servers[level].saturating_add(1)));
        }
        let hosts = servers[k as usize];
        let racks = hosts / u64::from(n);
        let links = hosts.saturating_mul(u64::from(k) + 2) / 2;
        let size = Size { hosts, switches: racks, racks, links };
        size.with_choosing_hosts(k > 0).check("n, k", format!("{n}, {k}"))?;

        let servers: Vec<u32> = servers.into_iter().map(|t| t as u32).collect();
        let pod = |h: u32| (k > 0).then(|| h / servers[k as usize - 1]);
        let mut graph = Graph { hosts_relay: k > 0, ..Graph::with_hosts(hosts as u32, pod) };
        for rack in 0..racks as u32 {
            graph.add_switch(format!("mini{rack}"), Level::Edge, pod(rack * n));
        }
        for h in 0..graph.hosts {
            graph.connect(h, graph.hosts + h / n, link.rate, link.delay);
        }
        for level in 1..=k as usize {
            let (inner, outer) = (servers[level - 1], servers[level]);
            for first in (0..graph.hosts).step_by(outer as usize) {
                // §3.2: server j - 1 of the i-th DCell_(l-1) and server i of the j-th, for all i < j.
                for (i, j) in (0..=inner).flat_map(|j| (0..j).map(move |i| (i, j))) {
                    graph.connect(first + i * inner + j - 1, first + j * inner + i, link.rate, link.delay);
                }
            }
        }
        Ok(graph)
    }
}
