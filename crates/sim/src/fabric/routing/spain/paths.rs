//! The paths of a pair (SPAIN §4.1, as it is remembered): one shortest path after the other; each link that a path uses weighs more by the number
//! of all links from then on, so that the next one shares a link only where it has to.

use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Decides between paths of equal weight, below a link's weight of 1.
const WHOLE: u64 = 1 << 20;
/// Such parts of it that even the longest path has less than 1.
const PART: u64 = 1 << 12;

/// Where paths are looked for.
#[derive(Debug)]
pub(super) struct Field<'a> {
    graph: &'a Graph,
    ports: Vec<Vec<PortId>>,
    /// What paths lead between, in ascending order: the switches of hosts, or hosts themselves, where they have several links.
    pub(super) edges: Vec<NodeId>,
    /// Of each host: its place among `edges`.
    pub(super) edge_of: Vec<usize>,
}

impl<'a> Field<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let of_hosts: Vec<NodeId> = if graph.multi_homed() { (0..graph.hosts).collect() } else { graph.racks() };
        let mut edges = of_hosts.clone();
        edges.sort_unstable();
        edges.dedup();
        let place = |edge| edges.binary_search(edge).unwrap_or_default();
        let edge_of = of_hosts.iter().map(place).collect();
        Self { graph, ports: graph.ports_by_node(), edges, edge_of }
    }

    /// At most `k` different paths between two edges, as ports; the same in the other direction.
    pub(super) fn paths(&self, from: NodeId, to: NodeId, k: usize, seed: u64) -> Vec<Vec<PortId>> {
        let links = self.graph.links.len();
        let seed = random::mix(seed ^ random::mix(u64::from(from) << 32 | u64::from(to)));
        let mut weights: Vec<u64> =
            (0..links as u64).map(|link| WHOLE + random::mix(seed.wrapping_add(link)) % PART).collect();
        let mut paths: Vec<Vec<PortId>> = Vec::new();
        while paths.len() < k {
            let Some(path) = self.lightest(from, to, &weights) else { break };
            if paths.contains(&path) {
                break;
            }
            for &port in &path {
                weights[port as usize / 2] += WHOLE * links as u64;
            }
            paths.push(path);
        }
        paths
    }

    /// Dijkstra's shortest path by weights of links; through no host that does not relay.
    fn lightest(&self, from: NodeId, to: NodeId, weights: &[u64]) -> Option<Vec<PortId>> {
        let mut reached: Vec<Option<(u64, PortId)>> = vec![None; self.graph.nodes.len()];
        let mut heap = BinaryHeap::from([Reverse((0, from))]);
        while let Some(Reverse((weight, node))) = heap.pop() {
            if node == to {
                break;
            }
            let is_old = reached[node as usize].is_some_and(|(least, _)| least < weight);
            if is_old || node != from && self.graph.is_host(node) && !self.graph.hosts_relay {
                continue;
            }
            for &port in &self.ports[node as usize] {
                let (peer, more) = (self.graph.port_peer(port), weight + weights[port as usize / 2]);
                if peer != from && reached[peer as usize].is_none_or(|(least, _)| more < least) {
                    reached[peer as usize] = Some((more, port));
                    heap.push(Reverse((more, peer)));
                }
            }
        }
        let (mut path, mut node) = (Vec::new(), to);
        while node != from {
            let (_, port) = reached[node as usize]?;
            path.push(port);
            node = self.graph.port_owner(port);
        }
        path.reverse();
        Some(path)
    }
}
