//! How many paths share no link.
//!
//! Where hosts have several links, this is how many of them a transfer between two hosts can fill at once.

use crate::fabric::graph::{Graph, NodeId, PortId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The largest number of paths from any of `sources` to `sink` of which no two use the same port, among the paths that
/// take at each node one of the ports that `next` allows there (Ford and Fulkerson's maximum flow, one unit a port).
///
/// A sink among the sources counts for nothing.
pub fn disjoint_paths<'a>(graph: &Graph, sources: &[u32], sink: u32, next: impl Fn(NodeId) -> &'a [PortId]) -> u32 {
    let sources: BTreeSet<u32> = sources.iter().copied().filter(|&s| s != sink).collect();
    // Ports in use, by the node that each leads to.
    let mut used: BTreeMap<NodeId, BTreeSet<PortId>> = BTreeMap::new();
    let mut paths = 0;
    while let Some(steps) = augmenting_path(graph, &sources, sink, &next, &used) {
        paths += 1;
        for (port, forward) in steps {
            let into = used.entry(graph.port_peer(port)).or_default();
            if forward {
                into.insert(port);
            } else {
                into.remove(&port);
            }
        }
    }
    paths
}

/// A way to carry one unit more: ports to use, and ports to give up.
fn augmenting_path<'a>(
    graph: &Graph,
    sources: &BTreeSet<u32>,
    sink: u32,
    next: impl Fn(NodeId) -> &'a [PortId],
    used: &BTreeMap<NodeId, BTreeSet<PortId>>,
) -> Option<Vec<(PortId, bool)>> {
    let uses = |port: PortId| used.get(&graph.port_peer(port)).is_some_and(|ports| ports.contains(&port));
    // How each node was reached; `None` for the sources.
    let mut reached: BTreeMap<NodeId, Option<(PortId, bool)>> = sources.iter().map(|&s| (s, None)).collect();
    let mut open: VecDeque<NodeId> = sources.iter().copied().collect();
    while let Some(node) = open.pop_front() {
        if node == sink {
            let mut steps = Vec::new();
            let mut node = sink;
            while let Some((port, forward)) = reached[&node] {
                steps.push((port, forward));
                node = if forward { graph.port_owner(port) } else { graph.port_peer(port) };
            }
            return Some(steps);
        }
        let onward = next(node).iter().filter(|&&p| !uses(p)).map(|&p| (graph.port_peer(p), (p, true)));
        let back = used.get(&node).into_iter().flatten().map(|&p| (graph.port_owner(p), (p, false)));
        for (peer, step) in onward.chain(back) {
            reached.entry(peer).or_insert_with(|| {
                open.push_back(peer);
                Some(step)
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::{fabric, parse};

    #[test]
    fn paths_of_a_fat_tree_share_the_host_links() {
        let g = fabric("topology = 'fat-tree'\nk = 4");
        let r = Routes::build(&g, |_| true);
        let count = |sources: &[u32], sink| disjoint_paths(&g, sources, sink, |n| r.ways(n, sink));
        assert_eq!(count(&[0], 15), 1);
        assert_eq!(count(&[0, 1, 2], 15), 1);
        assert_eq!((count(&[15], 15), count(&[], 15)), (0, 0));
        // Between switches there are as many as ports.
        let (edge, ports) = (g.racks()[0], g.ports_by_node());
        let switch_to_switch = disjoint_paths(&g, &[edge], g.racks()[15], |n| &ports[n as usize]);
        assert_eq!(switch_to_switch, 2);
    }

    #[test]
    fn a_greedy_first_choice_is_taken_back() {
        // From x the short way to w is by v, but with x-v-w taken, x-u-v is a dead end: the flow must be turned.
        let text =
            "[hosts]\na\nb\n[switches]\nx\nu\nv\nw\ny\n[links]\na, x\nb, y\nx, u\nx, v\nu, w\nv, w\nv, y\nw, y\n";
        let g = parse(text).expect("the text is right");
        // Only ports from earlier to later nodes, so that v -> w -> y is found after v -> y.
        let ports: Vec<Vec<PortId>> = g
            .ports_by_node()
            .into_iter()
            .map(|ports| ports.into_iter().filter(|&p| g.port_peer(p) > g.port_owner(p)).rev().collect())
            .collect();
        assert_eq!(disjoint_paths(&g, &[2], 6, |n| &ports[n as usize]), 2);
    }
}
