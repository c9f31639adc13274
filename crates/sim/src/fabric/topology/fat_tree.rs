//! The k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008), which the SCDP and NDP evaluations use.
//!
//! `k` pods of `k/2` edge and `k/2` aggregation switches, `(k/2)^2` core switches, `k^3/4` hosts. Aggregation switch
//! `i` of every pod leads up to the cores `i k/2 ..= i k/2 + k/2 - 1`, so that a core chosen on the way up determines
//! the way down.

use super::links::{Size, default_delay, default_rate};
use super::{Layers, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// k-ary fat-tree: k^3/4 hosts, numbered pod by pod and, within a pod, edge switch by edge switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of every switch: even, from 2. The papers' 250 hosts are k = 10.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub k: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Layers with another rate or delay: `host`, `aggregation`, `core`.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

impl Topology for FatTree {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let host = self.layers.links(Level::Host, base)?;
        let aggregation = self.layers.links(Level::Aggregation, base)?;
        let core = self.layers.links(Level::Core, base)?;
        let k = self.k;
        if k < 2 || !k.is_multiple_of(2) {
            return Err(TopologyError::field("k", k, "an even number from 2").with_hint("k ports give k^3/4 hosts"));
        }
        let wide = u64::from(k);
        let (hosts, racks) = (wide.saturating_pow(3) / 4, wide * (wide / 2));
        let switches = racks.saturating_mul(2).saturating_add(racks / 2);
        Size { hosts, switches, racks, links: hosts.saturating_mul(3) }.check("k", k)?;

        let half = k / 2;
        let mut graph = Graph::with_hosts(hosts as u32, |h| Some(h / (half * half)));
        let mut switches = |prefix: &str, level| -> NodeId {
            let first = graph.nodes.len() as NodeId;
            for (pod, i) in (0..k).flat_map(|pod| (0..half).map(move |i| (pod, i))) {
                graph.add_switch(format!("{prefix}{pod}.{i}"), level, Some(pod));
            }
            first
        };
        let edges = switches("edge", Level::Edge);
        let aggregations = switches("agg", Level::Aggregation);
        let cores = graph.nodes.len() as NodeId;
        for c in 0..half * half {
            graph.add_switch(format!("core{c}"), Level::Core, None);
        }

        for h in 0..graph.hosts {
            graph.connect(h, edges + h / half, host.rate, host.delay);
        }
        for (e, i) in (0..k * half).flat_map(|e| (0..half).map(move |i| (e, i))) {
            let pod = e / half;
            graph.connect(edges + e, aggregations + pod * half + i, aggregation.rate, aggregation.delay);
        }
        for (a, j) in (0..k * half).flat_map(|a| (0..half).map(move |j| (a, j))) {
            let i = a % half;
            graph.connect(aggregations + a, cores + i * half + j, core.rate, core.delay);
        }
        Ok(graph)
    }
}
