//! Leaf-spine (two-tier Clos): every leaf is linked to every spine.

use super::links::{Size, default_delay, default_rate, oversubscribed};
use super::{Layers, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `leaves` x `hosts_per_leaf` hosts, numbered leaf by leaf; each leaf has one link to each of the `spines`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Leaf switches (racks), at least 1.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Spine switches, at least 1.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Hosts on each leaf, at least 1.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u32,
    /// Capacity from a leaf's hosts over capacity to the spines: 3 means 3:1, 1 is non-blocking. Sets the rate of the
    /// leaf-spine links, so that `layers.core.rate` must be left out. Above zero, up to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000))]
    pub oversubscription: Option<f64>,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Layers with another rate or delay: `host`, and `core` for the leaf-spine links.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

impl LeafSpine {
    /// Rate and delay of host links and of leaf-spine links.
    fn links(&self) -> Result<(LinkSpec, LinkSpec), TopologyError> {
        self.layers.expect_only(&[Level::Host, Level::Core])?;
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let host = self.layers.links(Level::Host, base)?;
        let core = self.layers.links(Level::Core, base)?;
        let Some(ratio) = self.oversubscription else { return Ok((host, core)) };
        let given = self.layers.core.and_then(|links| links.rate).map(|_| Level::Core.name());
        let core = oversubscribed(ratio, (host, self.hosts_per_leaf), (core, self.spines), given)?;
        Ok((host, core))
    }

    /// Capacity from a leaf's hosts over its capacity to the spines, whichever way the rates were given.
    ///
    /// # Errors
    ///
    /// Rates that cannot be used.
    pub fn oversubscription(&self) -> Result<f64, TopologyError> {
        let (host, core) = self.links()?;
        let down = f64::from(self.hosts_per_leaf) * host.rate.bps() as f64;
        Ok(down / (f64::from(self.spines) * core.rate.bps() as f64))
    }
}

impl Topology for LeafSpine {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let counts = [("leaves", self.leaves), ("spines", self.spines), ("hosts_per_leaf", self.hosts_per_leaf)];
        for (field, count) in counts {
            if count == 0 {
                return Err(TopologyError::field(field, count, "at least 1"));
            }
        }
        let (host, core) = self.links()?;
        let [leaves, spines, per_leaf] = counts.map(|(_, count)| u64::from(count));
        let hosts = leaves.saturating_mul(per_leaf);
        let found = counts.map(|(_, count)| count.to_string()).join(", ");
        if hosts < 2 {
            return Err(TopologyError::field("leaves, spines, hosts_per_leaf", found, "at least 2 hosts"));
        }
        Size { hosts, switches: leaves + spines, racks: leaves, links: hosts.saturating_add(leaves * spines) }
            .check("leaves, spines, hosts_per_leaf", found)?;

        let mut graph = Graph::with_hosts(hosts as u32, |_| None);
        let first_leaf = graph.nodes.len() as NodeId;
        for i in 0..self.leaves {
            graph.add_switch(format!("leaf{i}"), Level::Edge, None);
        }
        for i in 0..self.spines {
            graph.add_switch(format!("spine{i}"), Level::Core, None);
        }
        for h in 0..graph.hosts {
            graph.connect(h, first_leaf + h / self.hosts_per_leaf, host.rate, host.delay);
        }
        for (leaf, spine) in (0..self.leaves).flat_map(|l| (0..self.spines).map(move |s| (l, s))) {
            graph.connect(first_leaf + leaf, first_leaf + self.leaves + spine, core.rate, core.delay);
        }
        Ok(graph)
    }
}
