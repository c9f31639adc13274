//! Shortest-path routes: which ports of a switch lead one link nearer to a host.
//!
//! [`Routes`] is what every switch's forwarding table would hold, as one dense table: for each switch and each rack (edge
//! switch with its hosts) the set of equal-cost ports. Sets repeat a great deal and are stored once. The metric is the
//! number of links; rates and delays do not matter. Which port of a set a packet takes is the sender's choice, written
//! as a fraction in the packet and consumed by [`select`]; nothing here hashes, draws random numbers or keeps state per
//! flow. Full-duplex links work or fail as a whole, so that distances are symmetric.

use super::graph::{Graph, NodeId, PortId};
use anabranch_transport::{Duration, Rate};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// Table entry: the destination hangs off this very switch.
const LOCAL: u16 = u16::MAX;
/// Table entry and first set of every switch: no way.
const NO_WAY: u16 = 0;
/// Distance of what cannot be reached.
const FAR: u32 = u32::MAX;

/// Where a host hangs: its rack's column in the tables and the port that leads to it.
#[derive(Clone, Copy, Debug)]
struct Seat {
    rack: u32,
    port: PortId,
}

/// Equal-cost shortest paths from every switch to every host.
#[derive(Clone, Debug)]
pub struct Routes {
    seats: Vec<Seat>,
    /// Racks, plus one last column for hosts whose own link is down: no set there is ever filled.
    columns: usize,
    /// `columns` entries for each switch: the number of a set among the sets of that switch.
    table: Vec<u16>,
    /// Where the sets of each switch begin in `starts`.
    first_set: Vec<u32>,
    /// Where each set begins in `pool`; it ends where the next begins.
    starts: Vec<u32>,
    pool: Vec<PortId>,
    /// Number of shortest paths from rack to rack, and their links without the two host links.
    paths: Vec<u32>,
    hops: Vec<u8>,
}

impl Routes {
    /// Routes over the links for which `alive` holds.
    ///
    /// Takes one breadth-first search for each rack, and 2 bytes for each pair of switch and rack plus 5 for each pair of
    /// racks: 3 MB for the 8192 hosts of a k = 32 fat-tree.
    ///
    /// # Panics
    ///
    /// If the graph breaks a rule of [`Graph::validate`], or has more than 65 533 racks; no
    /// [`TopologyConfig`](super::topology::TopologyConfig) builds such a one.
    pub fn build(graph: &Graph, alive: impl Fn(u32) -> bool) -> Self {
        let switches = graph.nodes.len() - graph.hosts as usize;
        let mut racks: Vec<NodeId> = Vec::new();
        let mut rack_of_switch = vec![u32::MAX; switches];
        let mut seats: Vec<Seat> = graph
            .host_ports()
            .into_iter()
            .map(|port| {
                let switch = graph.port_owner(port) - graph.hosts;
                let rack = &mut rack_of_switch[switch as usize];
                if *rack == u32::MAX {
                    *rack = racks.len() as u32;
                    racks.push(switch);
                }
                Seat { rack: *rack, port }
            })
            .collect();
        assert!(racks.len() < usize::from(LOCAL) - 1, "{} racks are too many", racks.len());
        for seat in seats.iter_mut().filter(|s| !alive(s.port / 2)) {
            seat.rack = racks.len() as u32;
        }

        let columns = racks.len() + 1;
        let mut search = Search::new(graph, alive);
        let mut sets: Vec<SwitchSets> = vec![SwitchSets::default(); switches];
        let mut table = vec![NO_WAY; switches * columns];
        let (mut paths, mut hops) = (vec![0; columns * columns], vec![0; columns * columns]);
        for (rack, &root) in racks.iter().enumerate() {
            search.run(root, |switch, ports| {
                let entry = if ports.is_empty() { LOCAL } else { sets[switch as usize].number(ports) };
                table[switch as usize * columns + rack] = entry;
            });
            for (from, &switch) in racks.iter().enumerate() {
                let distance = search.distance[switch as usize];
                if distance != FAR {
                    paths[from * columns + rack] = search.paths[switch as usize];
                    hops[from * columns + rack] = u8::try_from(distance).unwrap_or(u8::MAX);
                }
            }
        }
        let mut routes =
            Self { seats, columns, table, first_set: Vec::new(), starts: vec![0], pool: Vec::new(), paths, hops };
        for switch_sets in sets {
            routes.append(switch_sets);
        }
        routes
    }

    /// Adds the sets of the next switch to the pool.
    fn append(&mut self, sets: SwitchSets) {
        self.first_set.push(self.starts.len() as u32 - 1);
        self.starts.push(self.pool.len() as u32); // the empty set NO_WAY
        for ports in sets.in_order {
            self.pool.extend(ports);
            self.starts.push(self.pool.len() as u32);
        }
    }

    /// The ports of `switch` that lie on a shortest path to the host `dst`, in port order; empty if there is no path.
    #[inline]
    pub fn next_ports(&self, switch: NodeId, dst: u32) -> &[PortId] {
        let seat = &self.seats[dst as usize];
        let row = switch as usize - self.seats.len();
        let entry = self.table[row * self.columns + seat.rack as usize];
        if entry == LOCAL {
            return std::slice::from_ref(&seat.port);
        }
        let set = (self.first_set[row] + u32::from(entry)) as usize;
        &self.pool[self.starts[set] as usize..self.starts[set + 1] as usize]
    }

    /// The switch port that leads to host `h`; the host's own port is the other end of the link, `^ 1`.
    pub fn host_port(&self, h: u32) -> PortId {
        self.seats[h as usize].port
    }

    /// Number of shortest paths between two hosts; 0 if there is none, `u32::MAX` for that many or more.
    pub fn path_count(&self, src: u32, dst: u32) -> u32 {
        self.paths[self.pair(src, dst)]
    }

    /// Links on a shortest path between two hosts; 0 if there is none or the two are the same, 255 for that many or
    /// more.
    pub fn hop_count(&self, src: u32, dst: u32) -> u8 {
        if src == dst || self.path_count(src, dst) == 0 { 0 } else { self.hops[self.pair(src, dst)].saturating_add(2) }
    }

    fn pair(&self, src: u32, dst: u32) -> usize {
        self.seats[src as usize].rack as usize * self.columns + self.seats[dst as usize].rack as usize
    }

    /// The egress ports from `src` to `dst` when the packet carries the path fraction `path`; empty if there is no path
    /// or the two are the same.
    pub fn path(&self, graph: &Graph, src: u32, dst: u32, mut path: u32) -> Vec<PortId> {
        if src == dst || self.path_count(src, dst) == 0 {
            return Vec::new();
        }
        let mut ports = vec![self.host_port(src) ^ 1];
        loop {
            let node = graph.port_peer(ports[ports.len() - 1]);
            if node == dst {
                return ports;
            }
            ports.push(select(self.next_ports(node, dst), &mut path));
        }
    }

    /// Rate and delay of the links on one shortest path (the first port of each set), from `src` on: what an ideal
    /// completion time is computed from. Empty if there is no path.
    pub fn ideal_path(&self, graph: &Graph, src: u32, dst: u32) -> Vec<(Rate, Duration)> {
        let links = self.path(graph, src, dst, 0).into_iter().map(|p| &graph.links[(p / 2) as usize]);
        links.map(|l| (l.rate, l.delay)).collect()
    }

    /// Bytes that the tables take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.seats[..])
            + size_of_val(&self.table[..])
            + 4 * (self.first_set.len() + self.starts.len() + self.pool.len() + self.paths.len())
            + self.hops.len()
    }
}

/// The port that a packet takes out of `ports`, which must not be empty.
///
/// `path` is a 32-bit fixed-point fraction in [0, 1). Each choice among `n` ports uses up its leading `n`-ary digit
/// and leaves the rest for the next switch. Hence a uniformly random fraction is random spraying; a fraction that is
/// constant for a flow keeps the flow on one path; and the fractions [`path_fraction`]`(0..p, p)` take each of `p` paths
/// exactly once wherever all paths offer the same numbers of choices (in fat-trees, m-port n-trees and leaf-spine
/// fabrics without failures). Elsewhere each switch splits evenly among its ports, as ECMP does, which is not the same
/// as evenly among paths.
#[inline]
pub fn select(ports: &[PortId], path: &mut u32) -> PortId {
    if let [only] = ports {
        return *only;
    }
    let x = u64::from(*path) * ports.len() as u64;
    *path = x as u32;
    ports[(x >> 32) as usize]
}

/// The fraction that stands for path `i` of `of`: the middle of the `i`-th of `of` equal intervals.
#[inline]
pub fn path_fraction(i: u32, of: u32) -> u32 {
    (((2 * u64::from(i) + 1) << 31) / u64::from(of)) as u32
}

/// The distinct port sets of one switch, numbered from 1 in the order in which they were met.
#[derive(Clone, Debug, Default)]
struct SwitchSets {
    numbers: BTreeMap<Box<[PortId]>, u16>,
    in_order: Vec<Box<[PortId]>>,
}

impl SwitchSets {
    fn number(&mut self, ports: &[PortId]) -> u16 {
        if let Some(&number) = self.numbers.get(ports) {
            return number;
        }
        self.in_order.push(ports.into());
        // At most one set for each rack, and those are fewer than LOCAL.
        let number = self.in_order.len() as u16;
        self.numbers.insert(ports.into(), number);
        number
    }
}

/// Breadth-first search over the switches. Hosts never forward, so that they are left out.
struct Search {
    /// Working links of each switch to other switches, as (port, peer); those of switch `s` stand at
    /// `first[s]..first[s + 1]`.
    links: Vec<(PortId, u32)>,
    first: Vec<usize>,
    distance: Vec<u32>,
    paths: Vec<u32>,
    order: Vec<u32>,
    ports: Vec<PortId>,
}

impl Search {
    fn new(graph: &Graph, alive: impl Fn(u32) -> bool) -> Self {
        let switches = graph.nodes.len() - graph.hosts as usize;
        let (mut links, mut first) = (Vec::new(), vec![0]);
        for ports in &graph.ports_by_node()[graph.hosts as usize..] {
            let between_switches = ports.iter().filter(|&&p| !graph.is_host(graph.port_peer(p)) && alive(p / 2));
            links.extend(between_switches.map(|&p| (p, graph.port_peer(p) - graph.hosts)));
            first.push(links.len());
        }
        Self { links, first, distance: vec![FAR; switches], paths: vec![0; switches], order: vec![], ports: vec![] }
    }

    /// Finds distances and path counts to `root`, and tells `found` for each switch within reach, nearest first, its
    /// ports on the way there (none at `root` itself).
    fn run(&mut self, root: u32, mut found: impl FnMut(u32, &[PortId])) {
        self.distance.fill(FAR);
        self.distance[root as usize] = 0;
        self.paths[root as usize] = 1;
        self.order.clear();
        self.order.push(root);
        let mut next = 0;
        while let Some(&switch) = self.order.get(next) {
            next += 1;
            let here = self.distance[switch as usize];
            self.ports.clear();
            let mut paths = 0_u32;
            for &(port, peer) in &self.links[self.first[switch as usize]..self.first[switch as usize + 1]] {
                let there = &mut self.distance[peer as usize];
                if *there == FAR {
                    *there = here + 1;
                    self.order.push(peer);
                } else if *there < here {
                    self.ports.push(port);
                    paths = paths.saturating_add(self.paths[peer as usize]);
                }
            }
            if switch != root {
                self.paths[switch as usize] = paths;
            }
            found(switch, &self.ports);
        }
    }
}
