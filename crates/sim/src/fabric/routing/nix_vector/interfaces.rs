//! What nodes make of a vector: the interfaces that its indices number, and what a switch does where an index leads nowhere.
//!
//! In packets a vector has 31 bits, the first hop in the highest ones, used up from there, and then a bit 1. If that bit is 0 the
//! others are a path fraction: the packet has no vector, and goes by the tables as under [`ecmp`].

use super::vector::{NixVector, index_bits};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::routing::{Hop, Routes, ecmp};
use crate::random;

/// Bits that packets have for a vector.
pub(super) const ROOM: u32 = 31;
/// Tells a vector from a path fraction.
const VECTOR: u32 = 1;

/// The interfaces of all nodes.
#[derive(Clone, Debug, Default)]
pub(in crate::fabric::routing) struct Interfaces {
    /// Where the ports of each node begin in `ports`.
    first: Vec<u32>,
    /// By node, in the order in which their links were added: index `i` is the `i`-th.
    ports: Vec<PortId>,
    /// The node that each port leads to.
    peers: Vec<NodeId>,
    /// Which links do not work, if any.
    down: Vec<bool>,
    /// Hosts before this one have one interface: the host itself has used its index when the packet leaves.
    single_homed: NodeId,
}

impl Interfaces {
    /// Those of a fabric in which the links for which `alive` holds work.
    pub(in crate::fabric::routing) fn new(graph: &Graph, alive: &dyn Fn(u32) -> bool) -> Self {
        let (mut first, mut ports) = (vec![0], Vec::new());
        for own in graph.ports_by_node() {
            ports.extend(own);
            first.push(ports.len() as u32);
        }
        Self {
            first,
            ports,
            peers: (0..graph.ports()).map(|port| graph.port_peer(port)).collect(),
            down: (0..graph.links.len() as u32).map(|link| !alive(link)).collect(),
            single_homed: if graph.multi_homed() { 0 } else { graph.hosts },
        }
    }

    /// How many neighbours a node has.
    fn neighbours(&self, node: NodeId) -> u32 {
        self.first[node as usize + 1] - self.first[node as usize]
    }

    fn of(&self, node: NodeId) -> &[PortId] {
        &self.ports[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The node that a port leads to.
    pub(in crate::fabric::routing) fn peer(&self, port: PortId) -> NodeId {
        self.peers[port as usize]
    }

    /// The vector of a path, given by its ports from the host that sends on.
    pub(in crate::fabric::routing) fn vector(&self, path: &[PortId]) -> NixVector {
        let mut vector = NixVector::default();
        for &port in path {
            let node = self.peers[(port ^ 1) as usize];
            let index = self.of(node).iter().position(|&own| own == port).unwrap_or_default();
            vector.push(index as u32, self.neighbours(node));
        }
        vector
    }

    /// Path bits of a packet on this path; `None` if packets have no room for it.
    pub(in crate::fabric::routing) fn path_bits(&self, path: &[PortId]) -> Option<u32> {
        if path.len() as u32 > ROOM + 1 {
            return None;
        }
        let wide = path.iter().map(|&port| index_bits(self.neighbours(self.peers[(port ^ 1) as usize]))).sum::<u32>();
        if wide > u64::BITS {
            return None;
        }
        let mut vector = self.vector(path);
        let source = self.peers[(*path.first()? ^ 1) as usize];
        if source < self.single_homed {
            vector.extract(self.neighbours(source));
        }
        Some(vector.aligned(ROOM)? | VECTOR)
    }

    /// Path bits of a packet without a vector.
    pub(in crate::fabric::routing) fn without_vector(fraction: u32) -> u32 {
        fraction & !VECTOR
    }

    /// The port that the vector of a packet names. If that does not work, the packet goes on by the tables, without its vector.
    #[inline]
    pub(in crate::fabric::routing) fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        if *bits & VECTOR != 0 {
            let own = self.of(hop.node);
            let width = index_bits(own.len() as u32);
            let named = own.get((*bits >> (u32::BITS - width)) as usize);
            if let Some(&port) = named
                && !self.down[(port / 2) as usize]
            {
                *bits = (*bits ^ VECTOR) << width | VECTOR;
                return Some(port);
            }
            let mixed = random::mix(u64::from(*bits) << 32 | u64::from(hop.node));
            *bits = Self::without_vector(mixed as u32);
        }
        let port = ecmp(hop, bits);
        *bits = Self::without_vector(*bits);
        port
    }

    /// Bits of the longest vector of a shortest path, and how many of them packets carry.
    pub(in crate::fabric::routing) fn longest(&self, graph: &Graph, routes: &Routes) -> (u32, u32) {
        // Hosts of one switch are equally far from everywhere.
        let mut seen = vec![false; graph.nodes.len()];
        let racks = graph.racks();
        let ends =
            |&host: &u32| self.single_homed == 0 || !std::mem::replace(&mut seen[racks[host as usize] as usize], true);
        let ends: Vec<u32> = (0..graph.hosts).filter(ends).collect();
        let (mut longest, mut carried) = (0, 0);
        let mut most: Vec<Option<u32>> = Vec::new();
        for &to in &ends {
            most.clear();
            most.resize(graph.nodes.len(), None);
            most[to as usize] = Some(0);
            // Another host of a rack than its first one may be what is farthest from that.
            for from in (0..graph.hosts).filter(|&from| from != to) {
                let bits = self.most_bits(routes, from, to, &mut most);
                let own = if from < self.single_homed { index_bits(self.neighbours(from)) } else { 0 };
                longest = longest.max(bits);
                carried = carried.max(bits - own);
            }
        }
        (longest, carried)
    }

    fn most_bits(&self, routes: &Routes, node: NodeId, to: u32, most: &mut [Option<u32>]) -> u32 {
        if let Some(known) = most[node as usize] {
            return known;
        }
        let beyond = routes.ways(node, to).iter().map(|&port| self.peer(port)).collect::<Vec<_>>();
        let beyond = beyond.into_iter().map(|peer| self.most_bits(routes, peer, to, most)).max().unwrap_or(0);
        let bits = beyond + index_bits(self.neighbours(node));
        most[node as usize] = Some(bits);
        bits
    }
}
