//! Shortest-path routes: which ports of a switch lead one link nearer to a host.
//!
//! [`Routes`] is what every switch's forwarding table would hold, as one dense table: for each switch and each rack (edge
//! switch with its hosts) the set of equal-cost ports. Where hosts have several links, they choose among them and have
//! rows of their own, and each is a destination of its own. Sets repeat a great deal and are stored once. The metric is
//! the number of links; rates and delays do not matter. Which port of a set a packet takes is the sender's choice,
//! written as a fraction in the packet and consumed by [`select`]; nothing here hashes, draws random numbers or keeps
//! state per flow. Full-duplex links work or fail as a whole, so that distances are symmetric.

use crate::engine::prefetch::prefetch;
use crate::fabric::graph::{Graph, NodeId, PortId};
use anabranch_transport::{Duration, Rate};
use std::collections::BTreeMap;
use std::hint::select_unpredictable;

mod disjoint;
mod listed;
#[cfg(test)]
mod tests;

pub use disjoint::disjoint_paths;

/// Table entry: the destination hangs off this very switch.
const LOCAL: u16 = u16::MAX;
/// Table entry and first set of every switch: no way.
const NO_WAY: u16 = 0;
/// No port has this number.
const NO_PORT: PortId = PortId::MAX;
/// Distance of what cannot be reached.
const FAR: u32 = u32::MAX;

/// Where a host hangs: its rack's column in the tables and the port that leads to it.
#[derive(Clone, Copy, Debug)]
struct Seat {
    rack: u32,
    port: PortId,
}

/// Equal-cost shortest paths from every node with a choice to every host.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Where each host has one link, its rack is a column; else each host is a column of its own.
    seats: Vec<Seat>,
    /// The nodes from this one on have rows: the switches, and the hosts where some host has several links.
    first_row: NodeId,
    /// Columns, plus one last column for hosts whose own link is down: no set there is ever filled.
    columns: usize,
    /// `columns` entries for each row: the number of a set among the sets of that node.
    table: Vec<u16>,
    /// Where the sets of each node begin in `starts`.
    first_set: Vec<u32>,
    /// Where each set begins in `pool`; it ends where the next begins.
    starts: Vec<u32>,
    pool: Vec<PortId>,
    /// The only port of each host without a row.
    uplinks: Vec<PortId>,
    /// Number of shortest paths from column to column, and their links without the two host links of racks.
    paths: Vec<u32>,
    hops: Vec<u8>,
}

/// The ways from one node.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    seats: &'a [Seat],
    entries: &'a [u16],
    starts: &'a [u32],
    pool: &'a [PortId],
}

impl Row<'_> {
    /// The port that a path fraction chooses among [those](Routes::next_ports) to a host, if there is one.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    pub fn choose(&self, dst: u32, path: &mut u32) -> Option<PortId> {
        let seat = &self.seats[dst as usize];
        let entry = self.entries[seat.rack as usize];
        // Whether a packet goes down or up cannot be foreseen: both are looked up. The empty set stands for the way down.
        let local = entry == LOCAL;
        let set = usize::from(select_unpredictable(local, NO_WAY, entry));
        let (begin, end) = (self.starts[set], self.starts[set + 1]);
        let (digit, rest) = leading_digit(*path, end - begin);
        let port = self.pool.get((begin + digit) as usize).copied().unwrap_or(NO_PORT);
        let port = select_unpredictable(begin == end, NO_PORT, port);
        *path = select_unpredictable(begin == end, *path, rest);
        let port = select_unpredictable(local, seat.port, port);
        (port != NO_PORT).then_some(port)
    }
}

impl Routes {
    /// Routes over the links for which `alive` holds.
    ///
    /// Where hosts have one link each, this takes one breadth-first search for each rack, and 2 bytes for each pair of
    /// switch and rack plus 5 for each pair of racks: 3 MB for the 8192 hosts of a k = 32 fat-tree. Otherwise it takes a
    /// search for each host, 2 bytes for each pair of node and host, and 5 for each pair of hosts.
    ///
    /// # Panics
    ///
    /// If the graph breaks a rule of [`Graph::validate`], or has more than 65 533 racks (or hosts, if they have several
    /// links); no [`TopologyConfig`](crate::fabric::topology::TopologyConfig) builds such a one.
    pub fn build(graph: &Graph, alive: impl Fn(u32) -> bool) -> Self {
        let (seats, uplinks, roots) = if graph.multi_homed() {
            let seats = (0..).zip(graph.host_ports()).map(|(rack, port)| Seat { rack, port }).collect();
            (seats, Vec::new(), (0..graph.hosts).collect())
        } else {
            seats_in_racks(graph, &alive)
        };
        let first_row = uplinks.len() as NodeId;
        assert!(roots.len() < usize::from(LOCAL) - 1, "{} destinations are too many", roots.len());

        let columns = roots.len() + 1;
        let rows = graph.nodes.len() - first_row as usize;
        let mut search = Search::new(graph, first_row, alive);
        let mut sets: Vec<NodeSets> = vec![NodeSets::default(); rows];
        let mut table = vec![NO_WAY; rows * columns];
        let (mut paths, mut hops) = (vec![0; columns * columns], vec![0; columns * columns]);
        for (column, &root) in roots.iter().enumerate() {
            search.run(root - first_row, |row, ports| {
                let entry = match ports {
                    [] if graph.is_host(root) => NO_WAY,
                    [] => LOCAL,
                    _ => sets[row as usize].number(ports),
                };
                table[row as usize * columns + column] = entry;
            });
            for (from, &node) in roots.iter().enumerate() {
                let distance = search.distance[(node - first_row) as usize];
                if distance != FAR {
                    paths[from * columns + column] = search.paths[(node - first_row) as usize];
                    hops[from * columns + column] = u8::try_from(distance).unwrap_or(u8::MAX);
                }
            }
        }
        let (first_set, pool) = (Vec::new(), Vec::new());
        let mut routes =
            Self { seats, first_row, columns, table, first_set, starts: vec![0], pool, uplinks, paths, hops };
        for node_sets in sets {
            routes.append(node_sets);
        }
        routes
    }

    /// Adds the sets of the next node to the pool.
    fn append(&mut self, sets: NodeSets) {
        self.first_set.push(self.starts.len() as u32 - 1);
        self.starts.push(self.pool.len() as u32); // the empty set NO_WAY
        for ports in sets.in_order {
            self.pool.extend(ports);
            self.starts.push(self.pool.len() as u32);
        }
    }

    /// The ports of `node` that lie on a shortest path to the host `dst`, in port order; empty if there is no path. The
    /// node is a switch, or any node where hosts have several links.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    pub fn next_ports(&self, node: NodeId, dst: u32) -> &[PortId] {
        let seat = &self.seats[dst as usize];
        let row = (node - self.first_row) as usize;
        let entry = self.table[row * self.columns + seat.rack as usize];
        if entry == LOCAL {
            return std::slice::from_ref(&seat.port);
        }
        let set = (self.first_set[row] + u32::from(entry)) as usize;
        &self.pool[self.starts[set] as usize..self.starts[set + 1] as usize]
    }

    /// A number of [`next_ports`](Self::next_ports) among the sets of ports of the node, where there are several ports.
    pub fn set_number(&self, node: NodeId, dst: u32) -> usize {
        let row = (node - self.first_row) as usize;
        usize::from(self.table[row * self.columns + self.seats[dst as usize].rack as usize])
    }

    /// The row of a node that has one, for several packets there.
    #[inline]
    pub fn row(&self, node: NodeId) -> Row<'_> {
        let row = (node - self.first_row) as usize;
        let sets = self.first_set[row] as usize
            ..self.first_set.get(row + 1).map_or(self.starts.len(), |&end| end as usize + 1);
        Row {
            seats: &self.seats,
            entries: &self.table[row * self.columns..(row + 1) * self.columns],
            starts: &self.starts[sets],
            pool: &self.pool,
        }
    }

    /// Asks for the entry that [`next_ports`](Self::next_ports) reads.
    #[inline]
    pub fn prefetch(&self, node: NodeId, dst: u32) {
        let row = (node - self.first_row) as usize;
        prefetch(&self.table[row * self.columns + self.seats[dst as usize].rack as usize]);
    }

    /// [`next_ports`](Self::next_ports) of any node. A host's only port is named even if its link is down.
    pub fn ways(&self, node: NodeId, dst: u32) -> &[PortId] {
        match self.uplinks.get(node as usize) {
            Some(uplink) => std::slice::from_ref(uplink),
            None => self.next_ports(node, dst),
        }
    }

    /// Number of shortest paths between two hosts; 0 if there is none, `u32::MAX` for that many or more.
    pub fn path_count(&self, src: u32, dst: u32) -> u32 {
        self.paths[self.pair(src, dst)]
    }

    /// Links on a shortest path between two hosts; 0 if there is none or the two are the same, 255 for that many or
    /// more.
    pub fn hop_count(&self, src: u32, dst: u32) -> u8 {
        if src == dst || self.path_count(src, dst) == 0 {
            return 0;
        }
        let host_links = if self.first_row == 0 { 0 } else { 2 };
        self.hops[self.pair(src, dst)].saturating_add(host_links)
    }

    /// Links on the longest of the shortest paths between two hosts; 255 for that many or more.
    pub fn most_hops(&self) -> u8 {
        let host_links = if self.first_row == 0 { 0 } else { 2 };
        let joined = self.hops.iter().zip(&self.paths).filter(|&(_, &paths)| paths > 0);
        joined.map(|(&hops, _)| hops.saturating_add(host_links)).max().unwrap_or(0)
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
        let (mut ports, mut node) = (Vec::new(), src);
        while node != dst {
            let port = select(self.ways(node, dst), &mut path);
            ports.push(port);
            node = graph.port_peer(port);
        }
        ports
    }

    /// Rate and delay of the links on one shortest path (the first port of each set), from `src` on. `rate` is that of a
    /// port. Empty if there is no path.
    pub fn first_path(
        &self,
        graph: &Graph,
        rate: impl Fn(PortId) -> Rate,
        src: u32,
        dst: u32,
    ) -> Vec<(Rate, Duration)> {
        let ports = self.path(graph, src, dst, 0).into_iter();
        ports.map(|p| (rate(p), graph.links[(p / 2) as usize].delay)).collect()
    }

    /// Bytes that the tables take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.seats[..])
            + size_of_val(&self.table[..])
            + 4 * (self.first_set.len() + self.starts.len() + self.pool.len() + self.uplinks.len() + self.paths.len())
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
    let (digit, rest) = leading_digit(*path, ports.len() as u32);
    *path = rest;
    ports[digit as usize]
}

/// The leading `n`-ary digit of a fraction, and what is left of it: of `n` = 1, 0 and all of it.
#[inline]
fn leading_digit(path: u32, n: u32) -> (u32, u32) {
    let product = u64::from(path) * u64::from(n);
    ((product >> 32) as u32, product as u32)
}

/// The fraction that stands for path `i` of `of`: the middle of the `i`-th of `of` equal intervals.
#[inline]
pub fn path_fraction(i: u32, of: u32) -> u32 {
    if of.is_power_of_two() {
        // As nearly always: divisions are slow, and each sprayed packet needs this fraction.
        return (2 * i + 1) << (31 - of.trailing_zeros());
    }
    (((2 * u64::from(i) + 1) << 31) / u64::from(of)) as u32
}

/// Seats by rack, the only port of each host, and the switch of each rack.
fn seats_in_racks(graph: &Graph, alive: impl Fn(u32) -> bool) -> (Vec<Seat>, Vec<PortId>, Vec<NodeId>) {
    let mut racks: Vec<NodeId> = Vec::new();
    let mut rack_of_switch = vec![u32::MAX; graph.nodes.len() - graph.hosts as usize];
    let host_ports = graph.host_ports();
    let uplinks = host_ports.iter().map(|p| p ^ 1).collect();
    let mut seats: Vec<Seat> = host_ports
        .into_iter()
        .map(|port| {
            let switch = graph.port_owner(port);
            let rack = &mut rack_of_switch[(switch - graph.hosts) as usize];
            if *rack == u32::MAX {
                *rack = racks.len() as u32;
                racks.push(switch);
            }
            Seat { rack: *rack, port }
        })
        .collect();
    for seat in seats.iter_mut().filter(|s| !alive(s.port / 2)) {
        seat.rack = racks.len() as u32;
    }
    (seats, uplinks, racks)
}

/// The distinct port sets of one node, numbered from 1 in the order in which they were met.
#[derive(Clone, Debug, Default)]
struct NodeSets {
    numbers: BTreeMap<Box<[PortId]>, u16>,
    in_order: Vec<Box<[PortId]>>,
}

impl NodeSets {
    fn number(&mut self, ports: &[PortId]) -> u16 {
        if let Some(&number) = self.numbers.get(ports) {
            return number;
        }
        self.in_order.push(ports.into());
        // At most one set for each column, and those are fewer than LOCAL.
        let number = self.in_order.len() as u16;
        self.numbers.insert(ports.into(), number);
        number
    }
}

/// Breadth-first search over the nodes that have rows.
pub(super) struct Search {
    /// Working links of each row to other rows, as (port, peer); those of row `s` stand at `first[s]..first[s + 1]`.
    links: Vec<(PortId, u32)>,
    first: Vec<usize>,
    /// Rows before this one are hosts that do not relay: paths begin and end there, but never pass.
    passing: u32,
    distance: Vec<u32>,
    paths: Vec<u32>,
    order: Vec<u32>,
    ports: Vec<PortId>,
}

impl Search {
    pub(super) fn new(graph: &Graph, first_row: NodeId, alive: impl Fn(u32) -> bool) -> Self {
        let rows = graph.nodes.len() - first_row as usize;
        let (mut links, mut first) = (Vec::new(), vec![0]);
        for ports in &graph.ports_by_node()[first_row as usize..] {
            let between_rows = ports.iter().filter(|&&p| graph.port_peer(p) >= first_row && alive(p / 2));
            links.extend(between_rows.map(|&p| (p, graph.port_peer(p) - first_row)));
            first.push(links.len());
        }
        let passing = if graph.hosts_relay { 0 } else { graph.hosts - first_row };
        Self { links, first, passing, distance: vec![FAR; rows], paths: vec![0; rows], order: vec![], ports: vec![] }
    }

    /// Finds distances and path counts to `root`, and tells `found` for each row within reach, nearest first, its ports on
    /// the way there (none at `root` itself).
    pub(super) fn run(&mut self, root: u32, mut found: impl FnMut(u32, &[PortId])) {
        self.distance.fill(FAR);
        self.distance[root as usize] = 0;
        self.paths[root as usize] = 1;
        self.order.clear();
        self.order.push(root);
        let mut next = 0;
        while let Some(&row) = self.order.get(next) {
            next += 1;
            let here = self.distance[row as usize];
            let passing = self.passing;
            let passes = |r: u32| r >= passing || r == root;
            self.ports.clear();
            let mut paths = 0_u32;
            for &(port, peer) in &self.links[self.first[row as usize]..self.first[row as usize + 1]] {
                let there = &mut self.distance[peer as usize];
                if *there == FAR && passes(row) {
                    *there = here + 1;
                    self.order.push(peer);
                } else if *there < here && passes(peer) {
                    self.ports.push(port);
                    paths = paths.saturating_add(self.paths[peer as usize]);
                }
            }
            if row != root {
                self.paths[row as usize] = paths;
            }
            found(row, &self.ports);
        }
    }
}
