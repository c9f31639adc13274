//! What every topology builds: nodes joined by full-duplex links.
//!
//! [`Graph`] says what is there before anything runs. It holds no queues and no routes: switches and
//! [`Routes`](super::routing::Routes) are made from it.

use anabranch_transport::{Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

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
    /// Whether hosts with several links pass on the packets of others (server-centric fabrics), and may be linked to
    /// one another.
    pub hosts_relay: bool,
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
        if p.is_multiple_of(2) { l.a } else { l.b }
    }

    /// The node at the far end of port `p`.
    pub fn port_peer(&self, p: PortId) -> NodeId {
        self.port_owner(p ^ 1)
    }

    /// A port by the names of its node and of the node that it leads to, with a hyphen between: `edge0.0-agg0.1`. Names may
    /// contain hyphens themselves.
    pub fn port_named(&self, name: &str) -> Option<PortId> {
        let node = |name: &str| self.nodes.iter().position(|n| n.name == name.trim()).map(|n| n as NodeId);
        name.match_indices('-').find_map(|(hyphen, _)| {
            let (owner, peer) = (node(&name[..hyphen])?, node(&name[hyphen + 1..])?);
            (0..self.ports()).find(|&p| (self.port_owner(p), self.port_peer(p)) == (owner, peer))
        })
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

    /// A graph of `hosts` hosts named `h0`, `h1` ..., without links; `pod` says in which pod each host stands.
    pub fn with_hosts(hosts: u32, pod: impl Fn(u32) -> Option<u32>) -> Self {
        let node = |h| Node { name: format!("h{h}"), level: Level::Host, pod: pod(h) };
        Self { nodes: (0..hosts).map(node).collect(), links: Vec::new(), hosts, hosts_relay: false }
    }

    /// Adds a switch.
    pub fn add_switch(&mut self, name: String, level: Level, pod: Option<u32>) -> NodeId {
        self.nodes.push(Node { name, level, pod });
        self.nodes.len() as NodeId - 1
    }

    /// Adds a link between `a` (by convention the lower end) and `b`.
    pub fn connect(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Duration) {
        self.links.push(Link { a, b, rate, delay });
    }

    /// The port that leads to each host: that of its first link to a switch, or else of its first link to another host;
    /// [`PortId::MAX`] if it has no link.
    pub fn host_ports(&self) -> Vec<PortId> {
        let mut ports = vec![PortId::MAX; self.hosts as usize];
        let leads_to_host = |&p: &PortId| self.is_host(self.port_peer(p));
        let (from_hosts, from_switches): (Vec<_>, Vec<_>) =
            (0..self.ports()).filter(leads_to_host).partition(|&p| self.is_host(self.port_owner(p)));
        for p in from_switches.into_iter().chain(from_hosts) {
            let port = &mut ports[self.port_peer(p) as usize];
            if *port == PortId::MAX {
                *port = p;
            }
        }
        ports
    }

    /// The switch that each host hangs off, by its first link to a switch: hosts with the same one share a rack. A host that is
    /// linked to hosts only is a rack of its own, named by itself.
    pub fn racks(&self) -> Vec<NodeId> {
        let rack = |(host, port)| Some(self.port_owner(port)).filter(|&n| !self.is_host(n)).unwrap_or(host);
        (0..).zip(self.host_ports()).map(rack).collect()
    }

    /// Whether hosts are more than the ends of paths: some host has several links, so that it must choose among them, or is
    /// linked to another host, which may pass on what is for others.
    pub fn multi_homed(&self) -> bool {
        let mut linked = vec![false; self.hosts as usize];
        let mut hosts = |ends: [NodeId; 2]| {
            let [a, b] = ends.map(|n| self.is_host(n) && std::mem::replace(&mut linked[n as usize], true));
            a || b || ends.iter().all(|&n| self.is_host(n))
        };
        self.links.iter().any(|link| hosts([link.a, link.b]))
    }

    /// Links from each node to the nearest host; `u32::MAX` where there is no way.
    pub fn distances_from_hosts(&self) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.nodes.len()];
        distance[..self.hosts as usize].fill(0);
        let (ports, mut order) = (self.ports_by_node(), (0..self.hosts).collect::<Vec<_>>());
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for peer in ports[node as usize].iter().map(|&port| self.port_peer(port)) {
                if distance[peer as usize] == u32::MAX {
                    distance[peer as usize] = distance[node as usize] + 1;
                    order.push(peer);
                }
            }
        }
        distance
    }

    /// The switches that are farthest from all hosts, in links: the core of a fat-tree, all switches where each has hosts.
    pub fn farthest_switches(&self) -> Vec<NodeId> {
        let distance = self.distances_from_hosts();
        let farthest = distance.iter().copied().filter(|&d| d != u32::MAX).max().unwrap_or(0);
        (self.hosts..self.nodes.len() as NodeId).filter(|&node| distance[node as usize] == farthest).collect()
    }

    /// Checks what the rest of the simulator takes for granted: hosts first, rates above zero, no link from a node to
    /// itself, no host without a link, hosts linked to one another only if they relay, a path between any two hosts, no switch
    /// apart from all hosts.
    ///
    /// # Errors
    ///
    /// The first rule that the graph breaks, with the name of the node that breaks it.
    pub fn validate(&self) -> Result<(), GraphError> {
        let name = |n: NodeId| self.nodes[n as usize].name.clone();
        for n in 0..self.nodes.len() as NodeId {
            if (self.nodes[n as usize].level == Level::Host) != self.is_host(n) {
                return Err(GraphError::Order(name(n)));
            }
        }
        for link in &self.links {
            if link.a == link.b {
                return Err(GraphError::SelfLoop(name(link.a)));
            }
            if self.is_host(link.a) && self.is_host(link.b) && !self.hosts_relay {
                return Err(GraphError::HostToHost(name(link.a), name(link.b)));
            }
            if link.rate.bps() == 0 {
                return Err(GraphError::ZeroRate(name(link.a), name(link.b)));
            }
        }
        let lonely = self.host_ports().iter().position(|&p| p == PortId::MAX);
        if let Some(h) = lonely {
            return Err(GraphError::NoLink(name(h as NodeId)));
        }
        self.unreachable().map_or(Ok(()), |(n, _)| Err(GraphError::Unreachable(name(n))))
    }

    /// Two nodes that no path joins, if there are such: the first node that is cut off, and a host before it.
    pub fn unreachable(&self) -> Option<(NodeId, u32)> {
        let ports = self.ports_by_node();
        let peers = |n: NodeId| ports[n as usize].iter().map(|&p| self.port_peer(p));
        let passes = |n: NodeId| !self.is_host(n) || self.hosts_relay;
        // Which part of the fabric each node belongs to, where hosts that do not relay join no parts.
        let mut part = vec![NodeId::MAX; self.nodes.len()];
        for first in (0..self.nodes.len() as NodeId).filter(|&n| passes(n)) {
            let mut open = vec![first];
            while let Some(n) = open.pop() {
                if part[n as usize] == NodeId::MAX {
                    part[n as usize] = first;
                    open.extend(peers(n).filter(|&p| passes(p)));
                }
            }
        }
        let parts_of = |n: NodeId| -> BTreeSet<NodeId> {
            if passes(n) { BTreeSet::from([part[n as usize]]) } else { peers(n).map(|p| part[p as usize]).collect() }
        };
        // Hosts that differ in their parts, one of each kind: usually one, at most a few.
        let mut kinds: BTreeMap<BTreeSet<NodeId>, u32> = BTreeMap::new();
        for h in 0..self.hosts {
            let parts = parts_of(h);
            if !kinds.contains_key(&parts) {
                if let Some((_, &other)) = kinds.iter().find(|(others, _)| others.is_disjoint(&parts)) {
                    return Some((h, other));
                }
                kinds.insert(parts, h);
            }
        }
        let without_hosts = |n: &NodeId| !kinds.keys().any(|parts| parts.contains(&part[*n as usize]));
        (self.hosts..self.nodes.len() as NodeId).find(without_hosts).map(|n| (n, 0))
    }
}

/// Why a graph cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// A switch stands among the hosts, or a host among the switches.
    #[error("node {0} is out of order: hosts come first, then switches")]
    Order(String),
    /// A link joins a node to itself.
    #[error("a link joins {0} to itself")]
    SelfLoop(String),
    /// A link joins two hosts that do not relay.
    #[error("a link joins the hosts {0} and {1}: expected a switch at one end at least")]
    HostToHost(String, String),
    /// A link has no capacity.
    #[error("the link from {0} to {1} has rate zero")]
    ZeroRate(String, String),
    /// A host is linked to nothing.
    #[error("host {0} has no link: expected at least one")]
    NoLink(String),
    /// The graph is not connected.
    #[error("{0} cannot be reached: the fabric is not connected")]
    Unreachable(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Graph {
        let mut g = Graph::with_hosts(2, |_| None);
        let s = g.add_switch("s".into(), Level::Edge, None);
        g.connect(0, s, Rate::from_gbps(1), Duration::ZERO);
        g.connect(1, s, Rate::from_gbps(1), Duration::ZERO);
        g
    }

    #[test]
    fn ports_pair_up() {
        let g = pair();
        assert_eq!(g.validate(), Ok(()));
        assert_eq!((g.port_owner(0), g.port_peer(0)), (0, 2));
        assert_eq!((g.port_owner(3), g.port_peer(3)), (2, 1));
        assert_eq!(g.host_ports(), [1, 3]);
        assert_eq!(g.racks(), [2, 2]);
        assert_eq!(g.ports_by_node(), [vec![0], vec![2], vec![1, 3]]);
        assert_eq!(
            ["h1-s", "s-h1", "s - h1", "h0-h1", "s", "s-h2"].map(|name| g.port_named(name)),
            [Some(2), Some(3), Some(3), None, None, None]
        );
    }

    #[test]
    fn broken_rules_are_named() {
        let broken = |change: fn(&mut Graph)| {
            let mut g = pair();
            change(&mut g);
            g.validate().unwrap_err()
        };
        assert_eq!(broken(|g| g.links[1].b = 1), GraphError::SelfLoop("h1".into()));
        assert_eq!(broken(|g| g.links[1].b = 0), GraphError::HostToHost("h1".into(), "h0".into()));
        assert_eq!(broken(|g| g.links[1].rate = Rate(0)), GraphError::ZeroRate("h1".into(), "s".into()));
        assert_eq!(broken(|g| g.links.truncate(1)), GraphError::NoLink("h1".into()));
        assert_eq!(broken(|g| g.hosts = 1), GraphError::Order("h1".into()));
        let lonely = broken(|g| {
            g.add_switch("t".into(), Level::Core, None);
        });
        assert_eq!(lonely, GraphError::Unreachable("t".into()));
    }

    #[test]
    fn hosts_with_several_links_share_a_switch_or_relay() {
        assert!(!pair().multi_homed());
        // Hosts 0 and 1 are linked to both switches, host 2 to the first and host 3 to the second.
        let mut g = Graph::with_hosts(4, |_| None);
        let switches = ["s", "t"].map(|name| g.add_switch(name.into(), Level::Edge, None));
        for (host, switch) in [(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (3, 1)] {
            g.connect(host, switches[switch], Rate::from_gbps(1), Duration::ZERO);
        }
        assert!(g.multi_homed());
        // A host's rack is that of its first link.
        assert_eq!((g.host_ports(), g.racks()), (vec![1, 5, 9, 11], vec![4, 5, 4, 5]));
        assert_eq!((g.unreachable(), g.validate()), (Some((3, 2)), Err(GraphError::Unreachable("h3".into()))));
        g.hosts_relay = true;
        assert_eq!((g.unreachable(), g.validate()), (None, Ok(())));
        g.connect(0, 1, Rate::from_gbps(1), Duration::ZERO);
        assert_eq!((g.host_ports()[0], g.validate()), (1, Ok(())));
        g.hosts_relay = false;
        assert_eq!(g.validate(), Err(GraphError::HostToHost("h0".into(), "h1".into())));
        g.links.retain(|l| l.a != 3);
        g.links.truncate(5);
        assert_eq!(g.validate(), Err(GraphError::NoLink("h3".into())));
        g.links.push(Link { a: 3, ..g.links[0] });
        assert_eq!(g.validate(), Ok(()));
    }

    #[test]
    fn hosts_may_be_linked_to_hosts_only() {
        // Back to back; then a third behind the second, and a switch with a fourth behind that.
        let mut g = Graph { hosts_relay: true, ..Graph::with_hosts(2, |_| None) };
        g.connect(0, 1, Rate::from_gbps(1), Duration::ZERO);
        assert_eq!((g.validate(), g.multi_homed()), (Ok(()), true));
        assert_eq!((g.host_ports(), g.racks(), g.farthest_switches()), (vec![1, 0], vec![0, 1], vec![]));
        let mut g = Graph { hosts_relay: true, ..Graph::with_hosts(4, |_| None) };
        let s = g.add_switch("s".into(), Level::Edge, None);
        for (a, b) in [(0, 1), (1, 2), (2, s), (3, s)] {
            g.connect(a, b, Rate::from_gbps(1), Duration::ZERO);
        }
        assert_eq!((g.validate(), g.racks()), (Ok(()), vec![0, 1, s, s]));
        assert_eq!(g.host_ports(), [1, 0, 5, 7]);
        g.links.remove(1);
        assert_eq!(g.validate(), Err(GraphError::Unreachable("h2".into())));
    }
}
