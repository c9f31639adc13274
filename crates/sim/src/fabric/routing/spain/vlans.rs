//! Paths packed into VLANs (SPAIN §4.2, as it is remembered): in random order, each path goes into the first VLAN that stays free of loops with
//! it, or begins another.

use super::paths::Field;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::routing::permuted::shuffle;
use crate::random;

/// A forest.
#[derive(Clone, Debug)]
struct Vlan {
    links: Vec<bool>,
    /// Union-find: of each node another one of its tree, nearer to the one that stands for the tree; and how many nodes that has.
    parent: Vec<NodeId>,
    size: Vec<u32>,
}

impl Vlan {
    fn new(graph: &Graph) -> Self {
        let nodes = graph.nodes.len() as NodeId;
        Self { links: vec![false; graph.links.len()], parent: (0..nodes).collect(), size: vec![1; nodes as usize] }
    }

    fn tree(&self, mut node: NodeId) -> NodeId {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }

    fn has(&self, path: &[PortId]) -> bool {
        path.iter().all(|&port| self.links[port as usize / 2])
    }

    /// Whether there would be no loop with a path.
    fn takes(&self, graph: &Graph, path: &[PortId]) -> bool {
        // Trees that the path would join, each with one of those that it has been joined to.
        let mut joined: Vec<(NodeId, NodeId)> = Vec::new();
        let find = |mut tree: NodeId, joined: &[(NodeId, NodeId)]| {
            while let Some(&(_, to)) = joined.iter().find(|(from, _)| *from == tree) {
                tree = to;
            }
            tree
        };
        path.iter().filter(|&&port| !self.links[port as usize / 2]).all(|&port| {
            let [a, b] = [graph.port_owner(port), graph.port_peer(port)].map(|node| find(self.tree(node), &joined));
            joined.push((a, b));
            a != b
        })
    }

    fn add(&mut self, graph: &Graph, path: &[PortId]) {
        for &port in path {
            if !std::mem::replace(&mut self.links[port as usize / 2], true) {
                let mut ends = [graph.port_owner(port), graph.port_peer(port)].map(|node| self.tree(node));
                ends.sort_unstable_by_key(|&tree| self.size[tree as usize]);
                let [small, large] = ends;
                self.parent[small as usize] = large;
                self.size[large as usize] += self.size[small as usize];
            }
        }
    }
}

/// Each path in the first VLAN that takes it, or in a new one.
fn first_fit(graph: &Graph, paths: &[&Vec<PortId>]) -> Vec<Vlan> {
    let mut vlans: Vec<Vlan> = Vec::new();
    for path in paths {
        let takes = vlans.iter().position(|vlan| vlan.takes(graph, path));
        let vlan = takes.unwrap_or_else(|| {
            vlans.push(Vlan::new(graph));
            vlans.len() - 1
        });
        vlans[vlan].add(graph, path);
    }
    vlans
}

/// The VLANs of a fabric.
#[derive(Debug)]
pub(super) struct Vlans {
    pub(super) count: usize,
    edges: usize,
    edge_of: Vec<usize>,
    /// Of each pair of edges, the lower first: the path of each VLAN whose path is one of the pair's. Several may have the same.
    pairs: Vec<Vec<Vec<PortId>>>,
    /// The same in the other direction.
    back: Vec<Vec<Vec<PortId>>>,
}

impl Vlans {
    pub(super) fn pack(graph: &Graph, k: usize, seed: u64) -> Self {
        let field = Field::new(graph);
        let edges = field.edges.len();
        let ends = (0..edges).flat_map(|a| (0..edges).map(move |b| (a, b)));
        let paths_of = |(a, b)| {
            if a < b { field.paths(field.edges[a], field.edges[b], k, seed) } else { Vec::new() }
        };
        let own: Vec<Vec<Vec<PortId>>> = ends.map(paths_of).collect();
        let mut order: Vec<&Vec<PortId>> = own.iter().flatten().collect();
        shuffle(&mut order, &mut random::stream(seed, "spain"));
        let vlans = first_fit(graph, &order);
        let in_vlans = |paths: &Vec<Vec<PortId>>| {
            let path_in = |vlan: &Vlan| paths.iter().find(|path| vlan.has(path)).cloned();
            vlans.iter().filter_map(path_in).collect::<Vec<_>>()
        };
        let pairs: Vec<_> = own.iter().map(in_vlans).collect();
        let reversed = |path: &Vec<PortId>| path.iter().rev().map(|&port| port ^ 1).collect();
        let back = pairs.iter().map(|paths| paths.iter().map(reversed).collect()).collect();
        Self { count: vlans.len(), edges, edge_of: field.edge_of, pairs, back }
    }

    /// The path between the edges of two hosts in each VLAN that may carry their flows.
    pub(super) fn between(&self, source: u32, destination: u32) -> impl Iterator<Item = &Vec<PortId>> {
        let [a, b] = [source, destination].map(|host| self.edge_of[host as usize]);
        let paths = if a < b { &self.pairs[a * self.edges + b] } else { &self.back[b * self.edges + a] };
        paths.iter()
    }

    /// All paths, in both directions, once for each VLAN.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Vec<PortId>> + Clone {
        self.pairs.iter().chain(&self.back).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::tests::any_fabric;
    use proptest::prelude::*;

    /// Whether links make no loop: as many trees as nodes without links' ends joined, by taking leaves off until nothing is left.
    fn is_forest(graph: &Graph, links: &[bool]) -> bool {
        let mut left: Vec<usize> = (0..links.len()).filter(|&link| links[link]).collect();
        loop {
            let ends =
                |node: NodeId| left.iter().filter(|&&l| graph.links[l].a == node || graph.links[l].b == node).count();
            let inner: Vec<usize> =
                left.iter().copied().filter(|&l| ends(graph.links[l].a) > 1 && ends(graph.links[l].b) > 1).collect();
            if inner.len() == left.len() {
                return left.is_empty();
            }
            left = inner;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// On any fabric: paths join their ends, each once, are reported in both directions, and no VLAN has a loop.
        #[test]
        fn vlans_have_no_loops_and_all_paths(graph in any_fabric(), k in 1..6_usize, seed in any::<u64>()) {
            prop_assume!(graph.hosts <= 40 && graph.links.len() <= 200);
            let field = Field::new(&graph);
            let n = field.edges.len();
            let all: Vec<Vec<PortId>> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)))
                .flat_map(|(a, b)| field.paths(field.edges[a], field.edges[b], k, seed)).collect();
            for vlan in first_fit(&graph, &all.iter().collect::<Vec<_>>()) {
                prop_assert!(is_forest(&graph, &vlan.links));
            }
            let vlans = Vlans::pack(&graph, k, seed);
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let host = |edge: usize| field.edge_of.iter().position(|&of| of == edge).expect("a host") as u32;
                let (there, back): (Vec<_>, Vec<_>) = (vlans.between(host(a), host(b)).collect(), vlans.between(host(b), host(a)).collect());
                prop_assert!(!there.is_empty() && there.len() == back.len());
                for path in there {
                    let mut nodes = vec![field.edges[a]];
                    for &port in path {
                        prop_assert_eq!(graph.port_owner(port), *nodes.last().unwrap());
                        nodes.push(graph.port_peer(port));
                    }
                    prop_assert_eq!(*nodes.last().unwrap(), field.edges[b]);
                    let through = &nodes[1..nodes.len() - 1];
                    prop_assert!(through.iter().all(|&node| !graph.is_host(node) || graph.hosts_relay));
                    nodes.sort_unstable();
                    prop_assert!(nodes.windows(2).all(|pair| pair[0] != pair[1]), "no node twice");
                    prop_assert!(back.contains(&&path.iter().rev().map(|&port| port ^ 1).collect()));
                }
            }
        }
    }
}
