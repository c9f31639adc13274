//! Two switches joined by one link, the bottleneck, with hosts on either side.

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `left` hosts on one switch, `right` hosts on another, one link between the switches. Hosts on the left come first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Hosts on the left, at least 1.
    #[schemars(range(min = 1))]
    pub left: u32,
    /// Hosts on the right, at least 1.
    #[schemars(range(min = 1))]
    pub right: u32,
    /// Bit rate of the hosts' links in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of the hosts' links, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Bit rate of the link between the switches, above zero; `rate` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck_rate: Option<Rate>,
    /// Propagation delay of the link between the switches, 0 to 1000 s; `delay` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck_delay: Option<Duration>,
}

impl Topology for Dumbbell {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let host = LinkSpec::checked(self.rate, self.delay, "")?;
        let middle = LinkSpec::checked(
            self.bottleneck_rate.unwrap_or(self.rate),
            self.bottleneck_delay.unwrap_or(self.delay),
            "bottleneck_",
        )?;
        for (field, hosts) in [("left", self.left), ("right", self.right)] {
            if hosts == 0 {
                return Err(TopologyError::field(field, hosts, "at least 1 host"));
            }
        }
        let hosts = u64::from(self.left) + u64::from(self.right);
        Size { hosts, switches: 2, racks: 2, links: hosts + 1 }
            .check("left + right", format!("{} + {}", self.left, self.right))?;

        let mut graph = Graph::with_hosts(self.left + self.right, |_| None);
        let left = graph.add_switch("left".into(), Level::Edge, None);
        let right = graph.add_switch("right".into(), Level::Edge, None);
        for h in 0..graph.hosts {
            graph.connect(h, if h < self.left { left } else { right }, host.rate, host.delay);
        }
        graph.connect(left, right, middle.rate, middle.delay);
        Ok(graph)
    }
}
