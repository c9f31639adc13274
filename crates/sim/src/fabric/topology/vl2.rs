//! VL2's Clos of aggregation and intermediate switches (Greenberg et al., SIGCOMM 2009, §4.1).
//!
//! `d_i` aggregation switches of `d_a` ports and `d_a / 2` intermediate switches of `d_i` ports form a complete bipartite
//! graph. The other half of the aggregation switches' ports lead down to `d_a d_i / 4` top-of-rack switches, each of
//! which has links to two aggregation switches. Links between switches are faster than those of servers.

use super::links::{Size, default_delay, default_rate};
use super::{LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// VL2: `d_a d_i / 4` racks of `hosts_per_tor` hosts, `d_i` aggregation and `d_a / 2` intermediate switches. Hosts are
/// numbered rack by rack; racks on the same two aggregation switches are a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vl2 {
    /// Ports of each aggregation switch: even, from 2. Half of them lead to the intermediate switches.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub d_a: u32,
    /// Ports of each intermediate switch, which is the number of aggregation switches: even, from 2.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub d_i: u32,
    /// Hosts in each rack, at least 1. VL2 §4.1: 20.
    #[serde(default = "default_hosts_per_tor")]
    #[schemars(range(min = 1))]
    pub hosts_per_tor: u32,
    /// Bit rate of the hosts' links in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Bit rate of the links between switches in each direction, above zero; ten times `rate` if left out (VL2 §4.1: 1 and
    /// 10 Gbps).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_rate: Option<Rate>,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
}

const fn default_hosts_per_tor() -> u32 {
    20
}

impl Topology for Vl2 {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let host = LinkSpec::checked(self.rate, self.delay, "")?;
        let switch_rate = self.switch_rate.unwrap_or(Rate(self.rate.bps().saturating_mul(10)));
        let between = LinkSpec::checked(switch_rate, self.delay, "switch_")?;
        for (field, ports) in [("d_a", self.d_a), ("d_i", self.d_i)] {
            if ports < 2 || !ports.is_multiple_of(2) {
                return Err(TopologyError::field(field, ports, "an even number from 2"));
            }
        }
        if self.hosts_per_tor == 0 {
            return Err(TopologyError::field("hosts_per_tor", 0, "at least 1 host"));
        }
        let [d_a, d_i, per_tor] = [self.d_a, self.d_i, self.hosts_per_tor].map(u64::from);
        let tors = d_a * d_i / 4;
        let hosts = tors.saturating_mul(per_tor);
        let found = format!("{d_a}, {d_i}, {per_tor}");
        if hosts < 2 {
            return Err(TopologyError::field("d_a, d_i, hosts_per_tor", found, "at least 2 hosts"));
        }
        let links = hosts.saturating_add(tors * 2).saturating_add(d_i.saturating_mul(d_a / 2));
        let switches = tors.saturating_add(d_i + d_a / 2);
        Size { hosts, switches, racks: tors, links }.check("d_a, d_i, hosts_per_tor", found)?;

        // The racks of a pod fill the lower ports of its two aggregation switches.
        let (tors, racks_per_pod) = (tors as u32, self.d_a / 2);
        let pod = |tor: u32| Some(tor / racks_per_pod);
        let mut graph = Graph::with_hosts(hosts as u32, |h| pod(h / self.hosts_per_tor));
        let first_tor = graph.hosts;
        for tor in 0..tors {
            graph.add_switch(format!("tor{tor}"), Level::Edge, pod(tor));
        }
        let first_aggregation = first_tor + tors;
        for a in 0..self.d_i {
            graph.add_switch(format!("agg{a}"), Level::Aggregation, Some(a / 2));
        }
        let first_intermediate = first_aggregation + self.d_i;
        for i in 0..self.d_a / 2 {
            graph.add_switch(format!("int{i}"), Level::Core, None);
        }
        for h in 0..graph.hosts {
            graph.connect(h, first_tor + h / self.hosts_per_tor, host.rate, host.delay);
        }
        for (tor, side) in (0..tors).flat_map(|tor| (0..2).map(move |side| (tor, side))) {
            let aggregation = first_aggregation + tor / racks_per_pod * 2 + side;
            graph.connect(first_tor + tor, aggregation, between.rate, between.delay);
        }
        for (a, i) in (0..self.d_i).flat_map(|a| (0..self.d_a / 2).map(move |i| (a, i))) {
            graph.connect(first_aggregation + a, first_intermediate + i, between.rate, between.delay);
        }
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::fabric;

    #[test]
    fn counts_degrees_and_rates_are_those_of_the_paper() {
        for (d_a, d_i) in [(2_usize, 2_usize), (4, 4), (6, 4), (4, 8), (12, 10)] {
            let g = fabric(&format!("topology = 'vl2'\nd_a = {d_a}\nd_i = {d_i}"));
            // §4.1: D_A D_I / 4 ToRs with 20 servers each.
            let tors = d_a * d_i / 4;
            assert_eq!(g.hosts as usize, 20 * tors);
            let expected = [(Level::Edge, tors, 22), (Level::Aggregation, d_i, d_a), (Level::Core, d_a / 2, d_i)];
            for (level, count, ports) in expected {
                let of_level = g.ports_by_node().into_iter().zip(&g.nodes).filter(|(_, n)| n.level == level);
                let degrees: Vec<usize> = of_level.map(|(ports, _)| ports.len()).collect();
                assert_eq!(degrees, vec![ports; count], "{level:?} of VL2 {d_a}, {d_i}");
            }
            let rate = |l: &crate::fabric::graph::Link| if g.is_host(l.a) { 1 } else { 10 };
            assert!(g.links.iter().all(|l| l.rate == Rate::from_gbps(rate(l))));
        }
    }

    #[test]
    fn racks_have_all_paths_over_the_intermediate_switches() {
        let g = fabric("topology = 'vl2'\nd_a = 6\nd_i = 4\nhosts_per_tor = 2\nswitch_rate = '25Gbps'");
        let r = Routes::build(&g, |_| true);
        assert_eq!(g.hosts, 12);
        // Three racks in each of two pods. Up to one of 2, over one of 3, down by one of 2.
        assert_eq!((r.hop_count(0, 11), r.path_count(0, 11)), (6, 12));
        assert_eq!((r.hop_count(0, 2), r.path_count(0, 2)), (4, 2));
        assert_eq!((r.hop_count(0, 1), r.path_count(0, 1)), (2, 1));
        assert_eq!((g.nodes[5].pod, g.nodes[6].pod), (Some(0), Some(1)));
        assert_eq!(g.links.last().map(|l| l.rate), Some(Rate::from_gbps(25)));
    }
}
