//! Shortest paths to switches: tables for schemes that send packets by an intermediate switch.

use super::shortest::Search;
use crate::fabric::graph::{Graph, NodeId, PortId};

/// The ports of every node that lead nearer to each of some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Towards {
    roots: Vec<NodeId>,
    /// The nodes from this one on have rows.
    first_row: NodeId,
    /// Where the ports of row `r` to root `k` begin in `pool`, at `r * roots + k`; they end where the next begin.
    starts: Vec<u32>,
    pool: Vec<PortId>,
}

impl Towards {
    /// The tables to `roots`, over the links for which `alive` holds: a breadth-first search, and 4 bytes a node and 4 a port
    /// on the way, for each.
    pub fn build(graph: &Graph, roots: Vec<NodeId>, alive: &dyn Fn(u32) -> bool) -> Self {
        let first_row = if graph.multi_homed() { 0 } else { graph.hosts };
        let rows = graph.nodes.len() - first_row as usize;
        let mut search = Search::new(graph, first_row, alive);
        let mut sets: Vec<Vec<PortId>> = vec![Vec::new(); rows * roots.len()];
        for (k, &root) in roots.iter().enumerate() {
            search.run(root - first_row, |row, ports| {
                sets[row as usize * roots.len() + k] = ports.to_vec();
            });
        }
        let (mut starts, mut pool) = (vec![0], Vec::new());
        for ports in sets {
            pool.extend(ports);
            starts.push(pool.len() as u32);
        }
        Self { roots, first_row, starts, pool }
    }

    /// The nodes that it leads to.
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// The ports of a node on a shortest path to root `k`; empty at the root, and where there is no path.
    #[inline]
    pub fn next_ports(&self, node: NodeId, k: usize) -> &[PortId] {
        let at = (node - self.first_row) as usize * self.roots.len() + k;
        &self.pool[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
