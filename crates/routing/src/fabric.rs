//! A fabric as routing sees it: nodes, the directed ports that work, distances and numbers of shortest paths.

use crate::error::{RoutingError, RoutingResult, nearest};
use anabranch_sim::fabric::graph::{Graph, Level, NodeId, PortId};
use anabranch_sim::fabric::topology::TopologyConfig;
use std::path::Path;

/// Nodes times racks at most, for which distances and numbers of paths are kept: 1.2 GB.
const MOST_CELLS: usize = 1 << 26;

/// Distance of what cannot be reached.
pub const FAR: u16 = u16::MAX;

/// Where hosts are attached, and thus which of them are alike to a scheme that looks at racks.
#[derive(Clone, Debug)]
pub struct Racks {
    /// Rack of each host.
    pub of: Vec<u32>,
    /// The node that stands for each rack: its switch, or the host itself where hosts have several links.
    pub node: Vec<NodeId>,
    /// Hosts of each rack.
    pub hosts: Vec<Vec<u32>>,
}

/// The two sizes of FT(m, n) (Song Definition 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Ports of each switch.
    pub m: u32,
    /// Tiers of switches.
    pub n: u32,
}

impl Tree {
    /// m/2: hosts of an edge switch, and upward ports of every switch below the top.
    pub fn half(self) -> u64 {
        u64::from(self.m / 2)
    }

    /// Number of hosts, 2 (m/2)^n.
    pub fn hosts(self) -> u64 {
        2 * self.half().pow(self.n)
    }

    /// Hosts below a switch of level `t`: all at the top, else (m/2)^(n-t) (Song property 6).
    pub fn below(self, t: u32) -> u64 {
        if t == 0 { self.hosts() } else { self.half().pow(self.n - t) }
    }

    /// Number of the subtree of level `t` in which host `h` stands: the whole tree for `t` = 0.
    pub fn subtree(self, h: u32, t: u32) -> u64 {
        u64::from(h) / self.below(t)
    }

    /// The level, from the top, of the highest switches between two hosts: 0 if they meet at the core only.
    pub fn meeting(self, a: u32, b: u32) -> u32 {
        (0..self.n).rev().find(|&t| self.subtree(a, t) == self.subtree(b, t)).unwrap_or(0)
    }
}

/// A fabric, less the links that have failed.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// Nodes and links, those that failed among them.
    pub graph: Graph,
    /// FT(m, n), if the fabric was made as such a tree.
    pub tree: Option<Tree>,
    /// Whether each link works.
    pub alive: Vec<bool>,
    /// Racks of the hosts.
    pub racks: Racks,
    /// Working ports of each node.
    pub ports: Vec<Vec<PortId>>,
    /// Level of each switch from the top, 0; `None` for hosts. See [`Fabric::level_names`].
    pub level: Vec<Option<u32>>,
    /// Names of the levels, from the top.
    pub level_names: Vec<String>,
    /// Hops from each node to each rack, `[rack][node]`.
    distance: Vec<Vec<u16>>,
    /// Number of shortest paths from each node to each rack, as far as it fits: `u64::MAX` stands for too many.
    count: Vec<Vec<u64>>,
    /// Ports on shortest paths: those of node n to rack r lie from `start[r * nodes + n]` on in `next`.
    next: Vec<PortId>,
    start: Vec<usize>,
}

impl Fabric {
    /// The fabric that a topology makes, less the failed links.
    ///
    /// # Errors
    ///
    /// What is wrong with the topology; a failed link that does not exist; hosts that are cut off by the failures.
    pub fn build(config: &TopologyConfig, base: &Path, failed: &[String]) -> RoutingResult<Self> {
        let graph = config.build(base).map_err(|e| {
            let text = e.to_string();
            match text.split_once("\nhint: ") {
                Some((message, hint)) => RoutingError::new(message).hint(hint),
                None => RoutingError::new(text),
            }
        })?;
        let tree = match config {
            TopologyConfig::MPortNTree(c) => Some(Tree { m: c.m, n: c.n }),
            _ => None,
        };
        Self::new(graph, tree, failed)
    }

    /// A fabric of your own. `failed` names links by their ends with a hyphen between, in either order: `leaf0-spine1`.
    ///
    /// # Errors
    ///
    /// See [`Fabric::build`].
    pub fn new(graph: Graph, tree: Option<Tree>, failed: &[String]) -> RoutingResult<Self> {
        let mut alive = vec![true; graph.links.len()];
        for name in failed {
            let port = graph.port_named(name).ok_or_else(|| unknown_link(&graph, name))?;
            // Of several links between the same nodes, the first that still works.
            let ends = (graph.port_owner(port), graph.port_peer(port));
            let same = |l: &usize| {
                let link = &graph.links[*l];
                alive[*l] && ((link.a, link.b) == ends || (link.b, link.a) == ends)
            };
            let link = (0..graph.links.len()).find(same).ok_or_else(|| {
                RoutingError::new(format!("the link {name} is given as failed more often than it is there"))
            })?;
            alive[link] = false;
        }
        let racks = racks(&graph);
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for p in (0..graph.ports()).filter(|&p| alive[(p / 2) as usize]) {
            ports[graph.port_owner(p) as usize].push(p);
        }
        let cells = racks.node.len() * graph.nodes.len();
        if cells > MOST_CELLS {
            let (nodes, racks) = (graph.nodes.len(), racks.node.len());
            return Err(RoutingError::new(format!(
                "{nodes} nodes and {racks} racks: expected at most {MOST_CELLS} for their product"
            ))
            .hint("FT(48, 3) with 27648 hosts fits; racks count where hosts have one link each, else hosts"));
        }
        let (level, level_names) = levels(&graph);
        let mut fabric = Self {
            graph,
            tree,
            alive,
            racks,
            ports,
            level,
            level_names,
            distance: Vec::new(),
            count: Vec::new(),
            next: Vec::new(),
            start: Vec::new(),
        };
        for rack in 0..fabric.racks.node.len() {
            let (distance, count) = fabric.towards(fabric.racks.node[rack]);
            fabric.distance.push(distance);
            fabric.count.push(count);
            fabric.list_next_ports(rack);
        }
        fabric.start.push(fabric.next.len());
        fabric.connected()?;
        Ok(fabric)
    }

    fn connected(&self) -> RoutingResult<()> {
        for h in 0..self.graph.hosts {
            if self.ports[h as usize].is_empty()
                || self.distance[0][self.racks.node[self.rack(h) as usize] as usize] == FAR
            {
                let (name, other) = (&self.graph.nodes[h as usize].name, &self.graph.nodes[0].name);
                let message = if h == 0 || self.ports[h as usize].is_empty() {
                    format!("{name} has no link left: every host needs a path to every other")
                } else {
                    format!("no path is left between {other} and {name}: every host needs a path to every other")
                };
                return Err(
                    RoutingError::new(message).hint("let fewer links fail, or take the hosts out of the fabric")
                );
            }
        }
        Ok(())
    }

    /// Hops and numbers of shortest paths from every node to one. Hosts pass packets on only where they relay.
    fn towards(&self, target: NodeId) -> (Vec<u16>, Vec<u64>) {
        let mut distance = vec![FAR; self.graph.nodes.len()];
        let mut count = vec![0_u64; self.graph.nodes.len()];
        (distance[target as usize], count[target as usize]) = (0, 1);
        let mut order = vec![target];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            if node != target && self.graph.is_host(node) && !self.graph.hosts_relay {
                continue;
            }
            for &port in &self.ports[node as usize] {
                let peer = self.graph.port_peer(port) as usize;
                if distance[peer] == FAR {
                    distance[peer] = distance[node as usize] + 1;
                    order.push(peer as NodeId);
                }
                if distance[peer] == distance[node as usize] + 1 {
                    count[peer] = count[peer].saturating_add(count[node as usize]);
                }
            }
        }
        (distance, count)
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.graph.hosts
    }

    /// Rack of a host.
    pub fn rack(&self, host: u32) -> u32 {
        self.racks.of[host as usize]
    }

    /// Hops from a node to a rack's node; [`FAR`] if there is no way.
    pub fn distance(&self, node: NodeId, rack: u32) -> u16 {
        self.distance[rack as usize][node as usize]
    }

    /// Number of shortest paths from a node to a rack's node.
    ///
    /// # Errors
    ///
    /// More than 2^64 - 2 paths.
    pub fn paths(&self, node: NodeId, rack: u32) -> RoutingResult<u64> {
        match self.count[rack as usize][node as usize] {
            u64::MAX => Err(RoutingError::new("there are more shortest paths than can be counted (2^64)")),
            count => Ok(count),
        }
    }

    /// Working ports of `node` on shortest paths to a rack, in the order of their numbers.
    #[inline]
    pub fn next_ports(&self, node: NodeId, rack: u32) -> &[PortId] {
        let at = rack as usize * self.graph.nodes.len() + node as usize;
        &self.next[self.start[at]..self.start[at + 1]]
    }

    fn list_next_ports(&mut self, rack: usize) {
        let distance = &self.distance[rack];
        for (node, ports) in self.ports.iter().enumerate() {
            self.start.push(self.next.len());
            let here = distance[node];
            let closer = |p: &&PortId| {
                let peer = self.graph.port_peer(**p);
                // A host that does not relay has a distance, but nothing goes through it.
                here != 0
                    && here != FAR
                    && distance[peer as usize] == here - 1
                    && (here == 1 || !self.graph.is_host(peer) || self.graph.hosts_relay)
            };
            self.next.extend(ports.iter().filter(closer));
        }
    }

    /// The port by which a host is reached from its rack's node; `None` where the host is that node.
    pub fn last_port(&self, host: u32) -> Option<PortId> {
        let node = self.racks.node[self.rack(host) as usize];
        (node != host).then(|| self.first_port(host).map(|p| p ^ 1)).flatten()
    }

    /// The port by which a host sends to its rack's node; `None` where the host is that node.
    pub fn first_port(&self, host: u32) -> Option<PortId> {
        let node = self.racks.node[self.rack(host) as usize];
        (node != host).then(|| self.ports[host as usize].first().copied()).flatten()
    }

    /// Whether a port belongs to the link between a host and its rack's switch, whose load no scheme can change.
    pub fn is_access(&self, port: PortId) -> bool {
        let single = |n: NodeId| self.graph.is_host(n) && self.racks.node[self.rack(n) as usize] != n;
        single(self.graph.port_owner(port)) || single(self.graph.port_peer(port))
    }

    /// Level of a link: that of its upper end, as in Song's property 3, so that host links have that of edge switches.
    pub fn link_level(&self, port: PortId) -> u32 {
        let of = |n: NodeId| self.level[n as usize];
        let ends = [of(self.graph.port_owner(port)), of(self.graph.port_peer(port))];
        ends.into_iter().flatten().min().unwrap_or(self.level_names.len() as u32 - 1)
    }

    /// Whether a port leads up: from a host, or to a higher level.
    pub fn is_up(&self, port: PortId) -> bool {
        let height = |n: NodeId| self.level[n as usize].map_or(u32::MAX, |l| l);
        height(self.graph.port_peer(port)) < height(self.graph.port_owner(port))
    }

    /// Name of a port: its node and the node that it leads to.
    pub fn port_name(&self, port: PortId) -> String {
        let name = |n: NodeId| &self.graph.nodes[n as usize].name;
        format!("{}-{}", name(self.graph.port_owner(port)), name(self.graph.port_peer(port)))
    }

    /// The switches that are farthest from all hosts and still reach every rack: those that Valiant's scheme goes through.
    pub fn tops(&self) -> Vec<NodeId> {
        let mut tops = self.graph.farthest_switches();
        tops.retain(|&t| (0..self.racks.node.len()).all(|r| self.distance[r][t as usize] != FAR));
        tops
    }

    /// The tree, or an error that says which scheme needs one.
    ///
    /// # Errors
    ///
    /// A fabric that was not made as FT(m, n), or one with failed links.
    pub fn need_tree(&self, what: &str) -> RoutingResult<Tree> {
        let tree = self.tree.ok_or_else(|| {
            RoutingError::new(format!("{what} needs a fat-tree FT(m, n)"))
                .hint("topology=\"m-port-n-tree\", m=4, n=3; every other fabric has `ecmp`, `mdnvr` and `weighted`")
        })?;
        if self.alive.contains(&false) {
            return Err(RoutingError::new(format!("{what} needs a fat-tree without failed links"))
                .hint("`ecmp`, `mdnvr`, `dnvr`, `virtual-tables` and `weighted` go round failures"));
        }
        Ok(tree)
    }
}

fn unknown_link(graph: &Graph, name: &str) -> RoutingError {
    let names: Vec<String> = (0..graph.ports())
        .map(|p| {
            let name = |n: NodeId| &graph.nodes[n as usize].name;
            format!("{}-{}", name(graph.port_owner(p)), name(graph.port_peer(p)))
        })
        .collect();
    let error = RoutingError::new(format!(
        "there is no link {name:?} in this fabric: expected the names of its two ends with a hyphen between"
    ));
    match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint(format!("its links are named like {}", names.last().map_or("h0-s0", String::as_str))),
    }
}

fn racks(graph: &Graph) -> Racks {
    let hosts = graph.hosts;
    let nodes: Vec<NodeId> =
        if graph.multi_homed() || graph.hosts_relay { (0..hosts).collect() } else { graph.racks() };
    let mut node = nodes.clone();
    node.sort_unstable();
    node.dedup();
    let of: Vec<u32> = nodes.iter().map(|n| node.binary_search(n).expect("it is in the list") as u32).collect();
    let mut members = vec![Vec::new(); node.len()];
    for (host, &rack) in of.iter().enumerate() {
        members[rack as usize].push(host as u32);
    }
    Racks { of, node, hosts: members }
}

/// Levels from the top: by hops from the hosts if every link joins neighbours by that measure, so that FT(m, n) has its n
/// levels; else the levels that the topology names.
fn levels(graph: &Graph) -> (Vec<Option<u32>>, Vec<String>) {
    let mut hops = vec![u32::MAX; graph.nodes.len()];
    hops[..graph.hosts as usize].fill(0);
    let (ports, mut order) = (graph.ports_by_node(), (0..graph.hosts).collect::<Vec<_>>());
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for peer in ports[node as usize].iter().map(|&p| graph.port_peer(p)) {
            if hops[peer as usize] == u32::MAX {
                hops[peer as usize] = hops[node as usize] + 1;
                order.push(peer);
            }
        }
    }
    let layered = graph.links.iter().all(|l| hops[l.a as usize].abs_diff(hops[l.b as usize]) == 1);
    let named = |level: Level| match level {
        Level::Host => 0,
        Level::Edge => 1,
        Level::Aggregation => 2,
        Level::Core => 3,
    };
    let rank: Vec<u32> = if layered { hops } else { graph.nodes.iter().map(|n| named(n.level)).collect() };
    let mut present: Vec<u32> = rank.iter().copied().filter(|&r| r > 0).collect();
    present.sort_unstable_by(|a, b| b.cmp(a));
    present.dedup();
    let level = rank.iter().map(|r| present.iter().position(|p| p == r).map(|t| t as u32)).collect();
    let name = |r: &u32| {
        let of = graph.nodes.iter().zip(&rank).find(|(n, rank)| *rank == r && n.level != Level::Host);
        of.map_or_else(String::new, |(n, _)| n.level.name().to_owned())
    };
    let mut names: Vec<String> = present.iter().map(name).collect();
    if names.is_empty() {
        // All links join hosts.
        names.push(Level::Host.name().to_owned());
    }
    (level, names)
}
