//! `BCube`, a server-centric fabric for modular data centres (Guo et al., SIGCOMM 2009).
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

    fn may_be_multi_homed(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::routing::{Routes, disjoint_paths};
    use crate::fabric::topology::tests::fabric;

    fn bcube(n: u32, k: u32) -> Graph {
        fabric(&format!("topology = 'bcube'\nn = {n}\nk = {k}"))
    }

    /// The digits in which two addresses differ.
    fn distance(n: u32, k: u32, a: u32, b: u32) -> u32 {
        (0..=k).filter(|&i| a / n.pow(i) % n != b / n.pow(i) % n).count() as u32
    }

    #[test]
    fn counts_and_degrees_are_those_of_the_paper() {
        for (n, k) in [(2, 0), (5, 0), (2, 1), (4, 1), (8, 1), (2, 2), (4, 2), (3, 3), (2, 5)] {
            let g = bcube(n, k);
            let switches = g.nodes.len() as u32 - g.hosts;
            assert_eq!((g.hosts, switches), (n.pow(k + 1), (k + 1) * n.pow(k)), "BCube_{k} of {n}");
            for (node, ports) in (0..).zip(g.ports_by_node()) {
                assert_eq!(ports.len() as u32, if g.is_host(node) { k + 1 } else { n });
            }
            assert_eq!((g.hosts_relay, g.multi_homed()), (k > 0, k > 0));
        }
        // The paper's examples: BCube_1 of 4-port switches, BCube_3 of 8-port switches.
        assert_eq!((bcube(4, 1).hosts, bcube(8, 3).hosts), (16, 4096));
    }

    #[test]
    fn a_switch_of_level_i_joins_servers_that_differ_in_digit_i() {
        let (n, k) = (3, 2);
        let g = bcube(n, k);
        for (node, ports) in (0..).zip(g.ports_by_node()).skip(g.hosts as usize) {
            let level = (node - g.hosts) / n.pow(k);
            let hosts: Vec<u32> = ports.iter().map(|&p| g.port_peer(p)).collect();
            // In the order of the digit: port d leads to the server with digit d.
            assert!(hosts.windows(2).all(|w| w[1] - w[0] == n.pow(level)), "{hosts:?}");
            assert!(hosts.iter().all(|&h| distance(n, k, h, hosts[0]) <= 1));
            assert_eq!(hosts.iter().map(|h| h / n.pow(level) % n).collect::<Vec<_>>(), [0, 1, 2]);
        }
        assert_eq!(g.racks(), (0..27).map(|h| 27 + h / 3).collect::<Vec<_>>());
        assert_eq!(g.nodes[26].pod, Some(2));
    }

    #[test]
    fn paths_are_those_of_the_paper() {
        for (n, k) in [(4, 1), (3, 2), (2, 3)] {
            let g = bcube(n, k);
            let (r, ports) = (Routes::build(&g, |_| true), g.ports_by_node());
            let mut diameter = 0;
            for (src, dst) in (0..g.hosts).flat_map(|s| (0..g.hosts).map(move |d| (s, d))).filter(|(s, d)| s != d) {
                // As many hops from server to server as digits differ, which can be corrected in any order.
                let h = distance(n, k, src, dst);
                assert_eq!((u32::from(r.hop_count(src, dst)), r.path_count(src, dst)), (2 * h, (1..=h).product()));
                assert_eq!(disjoint_paths(&g, &[src], dst, |node| r.ways(node, dst)), h);
                // k + 1 parallel paths between any two servers, of which those beyond h are longer.
                assert_eq!(disjoint_paths(&g, &[src], dst, |node| &ports[node as usize]), k + 1);
                diameter = diameter.max(h);
            }
            // The diameter is k + 1 such hops.
            assert_eq!(diameter, k + 1);
        }
    }
}
