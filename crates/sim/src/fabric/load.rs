//! Mean loads of ports: a traffic matrix divided over equal-cost paths as spraying and per-flow hashing do on average.
//!
//! Exact for a matrix that is exact; no packets, no queues. Other schemes, optima and worst cases are `anabranch-routing`'s.

use super::graph::{Graph, NodeId, PortId};
use super::routing::Routes;

/// Traffic between the hosts of a fabric, in any unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    zones: Zones,
    /// What each host sends and receives.
    sends: Vec<f64>,
    receives: Vec<f64>,
    /// From zone to zone, row by row; empty where there are too many zones.
    between: Vec<f64>,
}

/// Hosts that are alike to the links between switches: those of a rack; or each by itself, where hosts have several links or are
/// linked to one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zones {
    /// Of each host.
    of: Vec<u32>,
    /// Of each zone, the first host.
    first: Vec<u32>,
    /// Whether hosts' own links are among those between zones.
    apart: bool,
}

/// With more zones than this, only the hosts' own links are looked at.
const ZONES_MAX: usize = 2048;

impl Zones {
    /// The zones of a fabric.
    pub fn of(graph: &Graph) -> Self {
        let direct = graph.links.iter().any(|link| graph.is_host(link.a) && graph.is_host(link.b));
        let apart = graph.hosts_relay || direct || graph.multi_homed();
        if apart {
            return Self { of: (0..graph.hosts).collect(), first: (0..graph.hosts).collect(), apart };
        }
        let (mut of, mut first) = (vec![u32::MAX; graph.hosts as usize], Vec::new());
        let mut of_switch = vec![u32::MAX; graph.nodes.len()];
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let mut switches: Vec<(u32, NodeId)> = ends.filter(|&(host, _)| graph.is_host(host)).collect();
        switches.sort_unstable();
        for (host, switch) in switches {
            let zone = &mut of_switch[switch as usize];
            if *zone == u32::MAX {
                *zone = first.len() as u32;
                first.push(host);
            }
            of[host as usize] = *zone;
        }
        Self { of, first, apart }
    }

    fn count(&self) -> usize {
        self.first.len()
    }
}

impl Matrix {
    /// No traffic.
    pub fn new(zones: Zones) -> Self {
        let (hosts, count) = (zones.of.len(), zones.count());
        let between = if count <= ZONES_MAX { vec![0.0; count * count] } else { Vec::new() };
        Self { zones, sends: vec![0.0; hosts], receives: vec![0.0; hosts], between }
    }

    /// More from one host to another.
    pub fn add(&mut self, from: u32, to: u32, amount: f64) {
        self.sends[from as usize] += amount;
        self.receives[to as usize] += amount;
        let (a, b) = (self.zones.of[from as usize] as usize, self.zones.of[to as usize] as usize);
        let count = self.zones.count();
        if let Some(entry) = self.between.get_mut(a * count + b) {
            *entry += amount;
        }
    }

    /// More that a host sends once, whoever receives it: by multicast, the ways of which are not known here.
    pub fn add_sent(&mut self, from: u32, amount: f64) {
        self.sends[from as usize] += amount;
    }

    /// More that a host receives, whoever sends it.
    pub fn add_received(&mut self, to: u32, amount: f64) {
        self.receives[to as usize] += amount;
    }

    /// More from each of some hosts to each of others, `amount` in all; nobody sends to himself.
    pub fn add_uniform(&mut self, from: &[u32], to: &[u32], amount: f64) {
        let count = self.zones.count();
        let weigh = |hosts: &[u32]| {
            let mut weights = vec![0.0; count];
            for &host in hosts {
                weights[self.zones.of[host as usize] as usize] += 1.0;
            }
            weights
        };
        let (senders, receivers) = (weigh(from), weigh(to));
        let mut receives = vec![false; self.zones.of.len()];
        for &host in to {
            receives[host as usize] = true;
        }
        let both: Vec<u32> = from.iter().copied().filter(|&host| receives[host as usize]).collect();
        let themselves = weigh(&both);
        let pairs = from.len() as f64 * to.len() as f64 - both.len() as f64;
        if pairs <= 0.0 {
            return;
        }
        let each = amount / pairs;
        let mut sends = vec![false; self.zones.of.len()];
        for &host in from {
            sends[host as usize] = true;
        }
        let others = |hosts: &[u32], is_one: bool| hosts.len() as f64 - f64::from(u8::from(is_one));
        for &host in from {
            self.sends[host as usize] += each * others(to, receives[host as usize]);
        }
        for &host in to {
            self.receives[host as usize] += each * others(from, sends[host as usize]);
        }
        if self.between.is_empty() {
            return;
        }
        for (a, sent) in senders.iter().enumerate().filter(|(_, sent)| **sent > 0.0) {
            for (b, received) in receivers.iter().enumerate() {
                let own = if a == b { themselves[a] } else { 0.0 };
                self.between[a * count + b] += each * (sent * received - own);
            }
        }
    }

    /// The load of each port, if each node divides evenly what it sends among the ports on shortest paths.
    pub fn loads(&self, graph: &Graph, routes: &Routes) -> Vec<f64> {
        let mut loads = vec![0.0; graph.ports() as usize];
        if !self.zones.apart {
            for port in 0..graph.ports() {
                let (owner, peer) = (graph.port_owner(port), graph.port_peer(port));
                if let Some(sent) = self.sends.get(owner as usize) {
                    loads[port as usize] += sent;
                }
                if let Some(received) = self.receives.get(peer as usize) {
                    loads[port as usize] += received;
                }
            }
        }
        let count = self.zones.count();
        let mut spread = Spread { graph, routes, flow: vec![0.0; graph.nodes.len()], order: Vec::new() };
        for (b, &to) in self.zones.first.iter().enumerate() {
            let sources = (0..count).filter_map(|a| {
                let amount = *self.between.get(a * count + b)?;
                (a != b && amount > 0.0).then_some((self.zones.first[a], amount))
            });
            spread.add(sources.collect(), to, self.zones.apart, &mut loads);
        }
        loads
    }

    /// What leaves each zone for others, whatever ways it takes, beside the ports between switches that it can take.
    pub fn cuts(&self, graph: &Graph) -> Vec<(f64, Vec<PortId>)> {
        let count = self.zones.count();
        if self.zones.apart || self.between.is_empty() {
            return Vec::new();
        }
        let ports = graph.ports_by_node();
        let leaves = |zone: usize| {
            let out = (0..count).filter(|&other| other != zone).map(|other| self.between[zone * count + other]).sum();
            let host = self.zones.first[zone];
            let switch = ports[host as usize].first().map(|&port| graph.port_peer(port));
            let up = switch.map(|switch| ports[switch as usize].clone()).unwrap_or_default();
            (out, up.into_iter().filter(|&port| !graph.is_host(graph.port_peer(port))).collect())
        };
        (0..count).map(leaves).collect()
    }
}

/// Divides traffic to one host after the other.
struct Spread<'a> {
    graph: &'a Graph,
    routes: &'a Routes,
    /// What passes each node.
    flow: Vec<f64>,
    /// Nodes before those that they send to.
    order: Vec<NodeId>,
}

impl Spread<'_> {
    /// Adds to `loads` what hosts send to `to`. Hosts' own links count if `whole`.
    fn add(&mut self, mut sources: Vec<(u32, f64)>, to: u32, whole: bool, loads: &mut [f64]) {
        // Traffic without a path adds no load.
        sources.retain(|&(source, _)| self.routes.path_count(source, to) > 0);
        self.arrange(&sources, to);
        for &(host, amount) in &sources {
            self.flow[host as usize] += amount;
        }
        for &node in &self.order {
            let amount = std::mem::take(&mut self.flow[node as usize]);
            let ways = self.routes.ways(node, to);
            if node == to || amount <= 0.0 || ways.is_empty() {
                continue;
            }
            let each = amount / ways.len() as f64;
            for &port in ways {
                let peer = self.graph.port_peer(port);
                if whole || !(self.graph.is_host(node) || self.graph.is_host(peer)) {
                    loads[port as usize] += each;
                }
                self.flow[peer as usize] += each;
            }
        }
    }

    /// Orders the nodes on the way: each comes before the nodes that it sends to.
    fn arrange(&mut self, sources: &[(u32, f64)], to: u32) {
        // A depth-first search leaves a node after all that it leads to.
        let (mut seen, mut open) = (vec![false; self.flow.len()], Vec::new());
        self.order.clear();
        for &(source, _) in sources {
            open.push((source, false));
            while let Some((node, left)) = open.pop() {
                if left {
                    self.order.push(node);
                    continue;
                }
                if std::mem::replace(&mut seen[node as usize], true) {
                    continue;
                }
                open.push((node, true));
                if node != to {
                    let ways = self.routes.ways(node, to).iter();
                    open.extend(ways.map(|&port| (self.graph.port_peer(port), false)));
                }
            }
        }
        self.order.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::topology::tests::{any_fabric, fabric};
    use proptest::prelude::*;

    fn loads(graph: &Graph, fill: impl Fn(&mut Matrix)) -> Vec<f64> {
        let mut matrix = Matrix::new(Zones::of(graph));
        fill(&mut matrix);
        matrix.loads(graph, &Routes::build(graph, |_| true))
    }

    fn of(graph: &Graph, loads: &[f64], port: &str) -> f64 {
        loads[graph.port_named(port).unwrap_or_else(|| panic!("{port}")) as usize]
    }

    #[test]
    fn uniform_traffic_crosses_a_leaf_spine_evenly() {
        let graph = fabric("topology = 'leaf-spine'\nleaves = 4\nspines = 2\nhosts_per_leaf = 8");
        let all: Vec<u32> = (0..32).collect();
        let loads = loads(&graph, |m| m.add_uniform(&all, &all, 32.0));
        // A host sends 1; of that 24 of 31 parts leave the rack, and half of what leaves takes either spine.
        assert!((of(&graph, &loads, "h3-leaf0") - 1.0).abs() < 1e-12);
        assert!((of(&graph, &loads, "leaf2-h17") - 1.0).abs() < 1e-12);
        for port in ["leaf0-spine0", "leaf3-spine1", "spine1-leaf2"] {
            assert!((of(&graph, &loads, port) - 8.0 * 24.0 / 31.0 / 2.0).abs() < 1e-9, "{port}");
        }
    }

    #[test]
    fn a_pair_takes_all_its_paths_and_neighbours_none() {
        let graph = fabric("topology = 'fat-tree'\nk = 4");
        let apart = loads(&graph, |m| m.add(0, 15, 8.0));
        let sum = |loads: &[f64]| loads.iter().sum::<f64>();
        assert!((sum(&apart) - 6.0 * 8.0).abs() < 1e-9, "six links");
        let shares: Vec<f64> = apart.iter().copied().filter(|load| *load > 0.0).collect();
        assert_eq!(shares.iter().filter(|load| (**load - 8.0).abs() < 1e-9).count(), 2, "the links of both hosts");
        assert_eq!(shares.iter().filter(|load| (**load - 4.0).abs() < 1e-9).count(), 4, "two ways up and down");
        assert_eq!(shares.iter().filter(|load| (**load - 2.0).abs() < 1e-9).count(), 8, "four cores");
        let neighbours = loads(&graph, |m| m.add(0, 1, 8.0));
        assert!((sum(&neighbours) - 16.0).abs() < 1e-9, "two links");
    }

    #[test]
    fn hosts_that_relay_carry_for_others() {
        let graph = fabric("topology = 'bcube'\nn = 2\nk = 1");
        let loads = loads(&graph, |m| m.add(0, 3, 4.0));
        // Two ways of four links each, half of it on either.
        assert!((loads.iter().sum::<f64>() - 4.0 * 4.0).abs() < 1e-9, "{loads:?}");
        assert!(loads.iter().all(|load| *load < 2.0 + 1e-9));
    }

    #[test]
    fn what_cannot_arrive_loads_nothing() {
        let graph = fabric("topology = 'leaf-spine'\nleaves = 3\nspines = 1\nhosts_per_leaf = 1");
        let cut = graph.port_named("leaf1-spine0").expect("a port") / 2;
        let mut matrix = Matrix::new(Zones::of(&graph));
        matrix.add(1, 0, 5.0);
        matrix.add(2, 0, 7.0);
        let loads = matrix.loads(&graph, &Routes::build(&graph, |link| link != cut));
        let found = ["leaf1-spine0", "spine0-leaf0", "leaf2-spine0"].map(|port| of(&graph, &loads, port));
        assert!(found.iter().zip([0.0, 7.0, 7.0]).all(|(load, right)| (load - right).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn what_leaves_a_rack_is_known_whatever_its_way() {
        let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 3\nhosts_per_leaf = 2");
        let mut matrix = Matrix::new(Zones::of(&graph));
        matrix.add(0, 2, 5.0);
        matrix.add(1, 0, 7.0);
        let cuts = matrix.cuts(&graph);
        assert_eq!((cuts.len(), cuts[0].0, cuts[1].0), (2, 5.0, 0.0));
        assert_eq!(cuts[0].1.len(), 3);
    }

    proptest! {
        /// What leaves a node has come to it or begins there, and all of it arrives.
        #[test]
        fn nothing_is_lost(graph in any_fabric(), pairs in prop::collection::vec((0..100_u32, 0..100_u32, 1..9_u32), 1..20)) {
            let pairs: Vec<_> = pairs.into_iter().map(|(a, b, n)| (a % graph.hosts, b % graph.hosts, f64::from(n))).filter(|(a, b, _)| a != b).collect();
            let loads = loads(&graph, |m| {
                for &(a, b, n) in &pairs {
                    m.add(a, b, n);
                }
            });
            for node in 0..graph.nodes.len() as NodeId {
                let at = |port: PortId| loads[port as usize];
                let out: f64 = (0..graph.ports()).filter(|&p| graph.port_owner(p) == node).map(at).sum();
                let within: f64 = (0..graph.ports()).filter(|&p| graph.port_peer(p) == node).map(at).sum();
                let begins: f64 = pairs.iter().filter(|p| p.0 == node).map(|p| p.2).sum();
                let ends: f64 = pairs.iter().filter(|p| p.1 == node).map(|p| p.2).sum();
                prop_assert!((out - within - begins + ends).abs() < 1e-6, "node {node}: {out} {within} {begins} {ends}");
            }
        }
    }
}
