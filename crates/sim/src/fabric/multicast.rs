//! Multicast trees as switches would hold them: for each group and switch, the ports on which a packet is repeated.
//!
//! A [`Tree`] carries each packet at most once over each link and reaches every receiver on a shortest path. It is
//! installed as a whole, as the SCDP papers assume (SCDP §IV-D: groups are set up beforehand); there is no join or leave
//! protocol. A [`MulticastGroup`] holds one or several trees of the same group, so that packets can be sprayed over them.

use super::graph::{Graph, NodeId, PortId};
use super::routing::{Routes, select};
use crate::random::mix;

#[cfg(test)]
mod tests;

/// A link of a tree: the node that sends (the source, a switch, a host that relays), and by which port.
pub type Branch = (NodeId, PortId);

/// Where no tree has a branch: fills up the shorter trees of a group.
const NOWHERE: Branch = (NodeId::MAX, PortId::MAX);

/// One way for the packets of a group from the source to all receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// In order of nodes, and of ports.
    branches: Vec<Branch>,
    unreached: Vec<u32>,
}

/// The branches of a tree, to look them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branches<'a>(&'a [Branch]);

impl<'a> Branches<'a> {
    /// Where `node` sends each packet of the group; empty if it has none to send.
    #[inline]
    pub fn of(self, node: NodeId) -> &'a [Branch] {
        let from = &self.0[self.0.partition_point(|branch| branch.0 < node)..];
        &from[..from.iter().take_while(|branch| branch.0 == node).count()]
    }
}

impl Tree {
    /// A tree from `source` to `receivers` over the links that `routes` uses.
    ///
    /// `hash` decides between equal-cost ways, so that groups spread over the core switches. Receivers that repeat, and
    /// the source itself, count once and not at all. Receivers that no path reaches are left out and listed in
    /// [`unreached`](Self::unreached).
    pub fn build(graph: &Graph, routes: &Routes, source: u32, receivers: &[u32], hash: u64) -> Self {
        Self::along(graph, routes, source, receivers, (mix(hash) >> 32) as u32)
    }

    /// The tree that follows the path fraction `path`, read from the receivers up.
    ///
    /// Each receiver's path is walked back to the source until it meets the tree. Distances being symmetric, the ports
    /// that lead nearer to the source are the ends of links that lie on shortest paths from it; every node takes one of
    /// them as its only parent, which makes the union of the walks a tree, and every path in it a shortest one. In a
    /// fat-tree, walks with the same fraction climb to the same core switch, hence merge as early as can be.
    fn along(graph: &Graph, routes: &Routes, source: u32, receivers: &[u32], path: u32) -> Self {
        let mut sorted = receivers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.retain(|&r| r != source);
        let mut in_tree = Marks::new(graph, source);
        let (mut egress, mut unreached) = (Vec::new(), Vec::new());
        for receiver in sorted {
            if routes.path_count(source, receiver) == 0 {
                unreached.push(receiver);
                continue;
            }
            let (mut fraction, mut node) = (path, receiver);
            while !in_tree.mark(node) {
                let ways = routes.ways(node, source);
                let chosen = select(ways, &mut fraction);
                // A way that meets the tree at once saves links where the fractions disagree: after failures, and where
                // hosts choose among links of their own.
                let meets = |&&p: &&PortId| in_tree.has(graph.port_peer(p));
                let port = if in_tree.has(graph.port_peer(chosen)) {
                    chosen
                } else {
                    ways.iter().find(meets).copied().unwrap_or(chosen)
                };
                egress.push(port ^ 1);
                node = graph.port_peer(port);
            }
        }
        let mut branches: Vec<Branch> = egress.into_iter().map(|port| (graph.port_owner(port), port)).collect();
        branches.sort_unstable();
        Self { branches, unreached }
    }

    /// Its branches, to look them up.
    pub fn branches(&self) -> Branches<'_> {
        Branches(&self.branches)
    }

    /// All egress ports of the tree: one for each link that it uses.
    pub fn links(&self) -> impl ExactSizeIterator<Item = PortId> {
        self.branches.iter().map(|branch| branch.1)
    }

    /// Receivers that no path reached when the tree was built.
    pub fn unreached(&self) -> &[u32] {
        &self.unreached
    }
}

/// Which nodes are in the tree already.
struct Marks(Vec<bool>);

impl Marks {
    fn new(graph: &Graph, source: u32) -> Self {
        let mut marks = vec![false; graph.nodes.len()];
        marks[source as usize] = true;
        Self(marks)
    }

    fn has(&self, node: NodeId) -> bool {
        self.0[node as usize]
    }

    /// Adds a node; true if it was there.
    fn mark(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.0[node as usize], true)
    }
}

/// The trees of one group. They lie in one piece of memory, as large as the longest of them for each: every switch looks
/// something up for every packet, and what the trees of many groups take does not fit a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastGroup {
    branches: Box<[Branch]>,
    longest: usize,
    trees: u32,
}

impl MulticastGroup {
    /// A group of `trees` trees (at least one) that take different ways as far as there are.
    pub fn build(graph: &Graph, routes: &Routes, source: u32, receivers: &[u32], trees: u32, hash: u64) -> Self {
        Self::of(&Self::plan(graph, routes, source, receivers, trees, hash))
    }

    /// The trees of such a group.
    ///
    /// Tree `i` takes a way from the `i`-th of `trees` equal shares of the path fractions; `hash` picks which. In a
    /// fat-tree, `(k/2)^2` trees go through one core switch each.
    fn plan(graph: &Graph, routes: &Routes, source: u32, receivers: &[u32], trees: u32, hash: u64) -> Vec<Tree> {
        let trees = trees.max(1);
        // Away from the end of the share, which rounding would otherwise cross.
        let within = (mix(hash) >> 32).min(u64::from(u32::MAX - trees));
        let fraction = |i: u32| ((u64::from(i) << 32) + within).div_ceil(u64::from(trees)) as u32;
        (0..trees).map(|i| Tree::along(graph, routes, source, receivers, fraction(i))).collect()
    }

    fn of(trees: &[Tree]) -> Self {
        let longest = trees.iter().map(|tree| tree.branches.len()).max().unwrap_or(0);
        let mut branches = Vec::with_capacity(longest * trees.len());
        for (end, tree) in (1..).zip(trees) {
            branches.extend_from_slice(&tree.branches);
            branches.resize(end * longest, NOWHERE);
        }
        Self { branches: branches.into(), longest, trees: trees.len() as u32 }
    }

    /// The tree that a packet with the path fraction `path` takes: random or permuted spraying as for unicast packets.
    #[inline]
    pub fn tree(&self, path: u32) -> Branches<'_> {
        let tree = ((u64::from(path) * u64::from(self.trees)) >> 32) as usize;
        Branches(&self.branches[tree * self.longest..][..self.longest])
    }
}
