//! What every topology builds: nodes joined by full-duplex links.

use anabranch_transport::{Duration, Rate};

/// Index of a node. Hosts come first: host `h` is node `h`.
pub type NodeId = u32;

/// Where in the fabric a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// An end host.
    Host,
    /// Top-of-rack switch (leaf).
    Edge,
    /// Aggregation switch.
    Aggregation,
    /// Core switch (spine).
    Core,
}

impl Level {
    /// Lower-case name, as in result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Edge => "edge",
            Self::Aggregation => "aggregation",
            Self::Core => "core",
        }
    }
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name, for people: `h3`, `edge0.1`, `core4`.
    pub name: String,
    /// Level in the fabric.
    pub level: Level,
    /// Pod, where the topology has pods; for drawing and for placement.
    pub pod: Option<u32>,
}

/// A full-duplex link: one port at each end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Bit rate in each direction.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// A fabric before anything runs on it. Link `l` has two directed ports: `2 l` (at `a`, towards `b`) and `2 l + 1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Hosts first, then switches.
    pub nodes: Vec<Node>,
    /// Links, in the order that defines port numbers.
    pub links: Vec<Link>,
    /// How many of the nodes are hosts.
    pub hosts: u32,
}

/// Index of a directed port: the egress side of a link at one of its ends.
pub type PortId = u32;

impl Graph {
    /// Number of directed ports.
    pub fn ports(&self) -> u32 {
        self.links.len() as u32 * 2
    }

    /// The node that port `p` belongs to.
    pub fn port_owner(&self, p: PortId) -> NodeId {
        let l = &self.links[(p / 2) as usize];
        if p % 2 == 0 { l.a } else { l.b }
    }

    /// The node at the far end of port `p`.
    pub fn port_peer(&self, p: PortId) -> NodeId {
        self.port_owner(p ^ 1)
    }

    /// Whether node `n` is a host.
    pub fn is_host(&self, n: NodeId) -> bool {
        n < self.hosts
    }

    /// The ports of each node, in the order in which its links were added.
    pub fn ports_by_node(&self) -> Vec<Vec<PortId>> {
        let mut ports = vec![Vec::new(); self.nodes.len()];
        for p in 0..self.ports() {
            ports[self.port_owner(p) as usize].push(p);
        }
        ports
    }
}
