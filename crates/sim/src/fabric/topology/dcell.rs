//! `DCell`, a recursive server-centric fabric (Guo et al., SIGCOMM 2008).
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
            return Err(
                TopologyError::field("k", k, "0 to 4").with_hint("the number of hosts is squared with each level")
            );
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
                // BuildDCells: server j - 1 of the i-th DCell_(l-1) and server i of the j-th, for all i < j.
                for (i, j) in (0..=inner).flat_map(|j| (0..j).map(move |i| (i, j))) {
                    graph.connect(first + i * inner + j - 1, first + j * inner + i, link.rate, link.delay);
                }
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
    use crate::fabric::topology::tests::fabric;
    use std::collections::BTreeMap;

    fn dcell(n: u32, k: u32) -> Graph {
        fabric(&format!("topology = 'dcell'\nn = {n}\nk = {k}"))
    }

    #[test]
    fn counts_and_degrees_are_those_of_the_paper() {
        // DCell_1 of 4 has 20 servers (Figure 1); t(k) = t(k-1) (t(k-1) + 1).
        for (n, k, hosts) in
            [(2, 0, 2), (4, 0, 4), (2, 1, 6), (4, 1, 20), (8, 1, 72), (2, 2, 42), (4, 2, 420), (2, 3, 1806)]
        {
            let g = dcell(n, k);
            assert_eq!((g.hosts, g.nodes.len() as u32), (hosts, hosts + hosts / n), "DCell_{k} of {n}");
            assert_eq!(g.links.len() as u32, hosts + hosts * k / 2);
            for (node, ports) in (0..).zip(g.ports_by_node()) {
                assert_eq!(ports.len() as u32, if g.is_host(node) { k + 1 } else { n });
            }
            // The paper's bounds: double exponential in k.
            let (low, high) = ((f64::from(n) + 0.5).powi(1 << k) - 0.5, f64::from(n + 1).powi(1 << k) - 1.0);
            assert!(k == 0 || low < f64::from(hosts) && f64::from(hosts) < high);
        }
    }

    #[test]
    fn dcell_1_of_4_is_that_of_figure_1() {
        let g = dcell(4, 1);
        let between: Vec<_> = g.links.iter().filter(|l| g.is_host(l.b)).map(|l| (l.a, l.b)).collect();
        // [0,0]-[1,0], [0,1]-[2,0], [0,2]-[3,0], [0,3]-[4,0], [1,1]-[2,1] and so on, by destination.
        let expected = [(0, 4), (1, 8), (5, 9), (2, 12), (6, 13), (10, 14), (3, 16), (7, 17), (11, 18), (15, 19)];
        assert_eq!(between, expected);
        assert_eq!(g.racks()[8..12], [22; 4]);
        assert_eq!((g.nodes[8].pod, g.nodes[22].pod), (Some(2), Some(2)));
    }

    #[test]
    fn every_pair_of_cells_has_one_link() {
        let g = dcell(3, 2); // 12 servers in each of 13 DCell_1
        let mut links = BTreeMap::new();
        for link in g.links.iter().filter(|l| g.is_host(l.b) && l.a / 12 != l.b / 12) {
            *links.entry((link.a / 12, link.b / 12)).or_insert(0) += 1;
        }
        assert_eq!(links.len(), 13 * 12 / 2);
        assert!(links.values().all(|&n| n == 1));
    }

    #[test]
    fn the_diameter_is_within_the_bound_of_the_paper() {
        // At most 2^(k+1) - 1 hops from server to server, as DCellRouting takes; a hop by a mini-switch counts like a
        // direct one, other than in the routes here.
        for (n, k) in [(4, 1), (2, 2), (3, 2)] {
            let g = dcell(n, k);
            let ports = g.ports_by_node();
            let peers = |node: u32| ports[node as usize].iter().map(|&p| g.port_peer(p));
            let mut hops = vec![None; g.hosts as usize];
            let (mut open, mut next) = (vec![0], 0);
            hops[0] = Some(0);
            while let Some(&server) = open.get(next) {
                next += 1;
                let (direct, switches): (Vec<u32>, Vec<u32>) = peers(server).partition(|&p| g.is_host(p));
                for peer in direct.into_iter().chain(switches.into_iter().flat_map(peers)) {
                    if hops[peer as usize].is_none() {
                        hops[peer as usize] = hops[server as usize].map(|h: u32| h + 1);
                        open.push(peer);
                    }
                }
            }
            let longest = hops.iter().max().copied().flatten();
            assert!(hops.iter().all(Option::is_some) && longest < Some(1 << (k + 1)), "DCell_{k} of {n}: {longest:?}");
        }
    }
}
