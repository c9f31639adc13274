//! The shortest paths of a pair, one by one, and the fraction that leads along each.

use super::Routes;
use crate::fabric::graph::{Graph, PortId};

impl Routes {
    /// The shortest paths between two hosts, as egress ports from `source` on, in order of ports; of more than `most`, the first.
    pub fn all_paths(&self, graph: &Graph, source: u32, destination: u32, most: usize) -> Vec<Vec<PortId>> {
        let (mut found, mut begun) = (Vec::new(), vec![Vec::new()]);
        if source == destination || self.path_count(source, destination) == 0 {
            return found;
        }
        // The last one is the next to go on; what its node leads to is added in reverse.
        while let Some(path) = begun.pop() {
            let node = path.last().map_or(source, |&port| graph.port_peer(port));
            if node == destination {
                found.push(path);
                if found.len() == most {
                    break;
                }
                continue;
            }
            begun.extend(self.ways(node, destination).iter().rev().map(|&port| [&path[..], &[port]].concat()));
        }
        found
    }

    /// The path fraction with which [`path`](Self::path) is this one; `None` if it is no shortest path over links that work, or if so
    /// many switches have a choice that no fraction has enough digits.
    pub fn fraction_of(&self, graph: &Graph, source: u32, destination: u32, path: &[PortId]) -> Option<u32> {
        let mut nodes = std::iter::once(source).chain(path.iter().map(|&port| graph.port_peer(port)));
        let mut digits = Vec::new();
        for &port in path {
            let ways = self.ways(nodes.next()?, destination);
            digits.push((ways.iter().position(|&way| way == port)? as u64, ways.len() as u64));
        }
        // From the last digit on: the middle of what stands for the rest, in the part of the digit before. Rounded up, so that it stays there.
        let middle = 1 << 31;
        let fraction = digits.iter().rev().fold(middle, |rest, &(digit, of)| ((digit << 32) + rest).div_ceil(of));
        let fraction = u32::try_from(fraction).ok()?;
        (self.path(graph, source, destination, fraction) == path).then_some(fraction)
    }
}
