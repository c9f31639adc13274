//! One switch with `n` hosts: the smallest fabric in which flows compete.

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `n` hosts on one switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {
    /// Number of hosts, at least 2.
    #[schemars(range(min = 2))]
    pub hosts: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
}

impl Topology for Star {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let link = LinkSpec::checked(self.rate, self.delay, "")?;
        if self.hosts < 2 {
            return Err(TopologyError::field("hosts", self.hosts, "at least 2"));
        }
        let hosts = u64::from(self.hosts);
        Size { hosts, switches: 1, racks: 1, links: hosts }.check("hosts", hosts)?;

        let mut graph = Graph::with_hosts(self.hosts, |_| None);
        let switch = graph.add_switch("edge0".into(), Level::Edge, None);
        for host in 0..self.hosts {
            graph.connect(host, switch, link.rate, link.delay);
        }
        Ok(graph)
    }
}
