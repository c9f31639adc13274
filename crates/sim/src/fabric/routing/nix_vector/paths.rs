//! The shortest paths between two hosts, and drawing from them.

use super::interfaces::Interfaces;
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::routing::{Routes, permuted::shuffle};
use crate::random::Stream;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};

/// All shortest paths between two hosts, numbered.
pub(super) struct Paths<'a> {
    routes: &'a Routes,
    interfaces: &'a Interfaces,
    source: u32,
    destination: u32,
    /// Of each node on the way, how many paths lead from there.
    from: BTreeMap<NodeId, u64>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(routes: &'a Routes, interfaces: &'a Interfaces, source: u32, destination: u32) -> Self {
        let from = BTreeMap::from([(destination, 1)]);
        let mut paths = Self { routes, interfaces, source, destination, from };
        paths.count_from(source);
        paths
    }

    fn count_from(&mut self, node: NodeId) -> u64 {
        if let Some(&known) = self.from.get(&node) {
            return known;
        }
        let ways = self.routes.ways(node, self.destination);
        let count =
            ways.iter().fold(0_u64, |sum, &port| sum.saturating_add(self.count_from(self.interfaces.peer(port))));
        self.from.insert(node, count);
        count
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.from[&self.source]
    }

    /// The ports of path number `rank`.
    fn path(&self, mut rank: u64) -> Vec<PortId> {
        let (mut node, mut ports) = (self.source, Vec::new());
        while node != self.destination {
            for &port in self.routes.ways(node, self.destination) {
                let beyond = self.from[&self.interfaces.peer(port)];
                if rank < beyond {
                    ports.push(port);
                    node = self.interfaces.peer(port);
                    break;
                }
                rank -= beyond;
            }
        }
        ports
    }

    /// The number of a path.
    pub(super) fn rank(&self, path: &[PortId]) -> u64 {
        let (mut node, mut rank) = (self.source, 0);
        for &taken in path {
            let before = self.routes.ways(node, self.destination).iter().take_while(|&&port| port != taken);
            rank += before.map(|&port| self.from[&self.interfaces.peer(port)]).sum::<u64>();
            node = self.interfaces.peer(taken);
        }
        rank
    }

    /// Draws `count` paths, without replacement while there are others.
    pub(super) fn draw(&self, count: usize, choice: super::Choice, random: &mut Stream) -> Vec<Vec<PortId>> {
        let all = self.count();
        if all == 0 {
            return Vec::new();
        }
        let distinct = usize::try_from(all).unwrap_or(usize::MAX).min(count);
        let mut taken = BTreeSet::new();
        let mut drawn = Vec::with_capacity(distinct);
        // The search finds rare paths rarely: the last ones are drawn from a list of those that are left.
        let mut tries = 64 + 8 * distinct;
        while drawn.len() < distinct && tries > 0 {
            let rank = match choice {
                super::Choice::Bfs => {
                    let path = search(self.routes, self.interfaces, self.source, self.destination, random);
                    self.rank(&path.unwrap_or_default())
                }
                super::Choice::Uniform => random.random_range(0..all),
            };
            tries -= 1;
            if taken.insert(rank) {
                drawn.push(rank);
            }
        }
        if drawn.len() < distinct {
            let mut left: Vec<u64> = (0..all.min(1 << 16)).filter(|rank| !taken.contains(rank)).collect();
            shuffle(&mut left, random);
            left.truncate(distinct - drawn.len());
            drawn.extend(left);
        }
        drawn.into_iter().map(|rank| self.path(rank)).collect()
    }
}

/// The path of Song's breadth-first search (Song Fig. 2.1b), in which each node's neighbours that are not yet marked are put into
/// random order: that by which the tree's first branch reaches the destination. `None` if nothing leads there.
///
/// Nodes off the shortest paths are left out: a random order of all neighbours is one of those on the paths as well, and no
/// path to such a node leads over another, so that the draw is the same as over the whole fabric.
pub(super) fn search(
    routes: &Routes,
    interfaces: &Interfaces,
    source: u32,
    destination: u32,
    random: &mut Stream,
) -> Option<Vec<PortId>> {
    // The tree: each node with the port that leads to it, and its parent's place.
    let mut tree: Vec<(NodeId, PortId, usize)> = vec![(source, PortId::MAX, 0)];
    let mut marked = BTreeSet::from([source]);
    let mut next = 0;
    let mut unmarked: Vec<PortId> = Vec::new();
    while next < tree.len() {
        let node = tree[next].0;
        unmarked.clear();
        let ways = routes.ways(node, destination).iter().copied();
        unmarked.extend(ways.filter(|&port| !marked.contains(&interfaces.peer(port))));
        shuffle(&mut unmarked, random);
        for &port in &unmarked {
            let peer = interfaces.peer(port);
            // Of parallel links to a neighbour the first counts.
            if marked.insert(peer) {
                tree.push((peer, port, next));
            }
            if peer == destination {
                return Some(branch(&tree));
            }
        }
        next += 1;
    }
    None
}

/// The ports from the root to the last node.
fn branch(tree: &[(NodeId, PortId, usize)]) -> Vec<PortId> {
    let (mut at, mut ports) = (tree.len() - 1, Vec::new());
    while at > 0 {
        ports.push(tree[at].1);
        at = tree[at].2;
    }
    ports.reverse();
    ports
}
