//! Presto (He, Rozner, Agarwal, Felter, Carter, Akella, SIGCOMM 2015): the edge cuts each flow into flowcells and sends cell after cell
//! by the next of the ways to its destination, whatever their load.
//!
//! A label of 16 bits names a path end to end: a fraction that each switch with a choice uses up as [`ecmp`] does. The other 16 of a packet's
//! path bits number its cell, for the [buffer](crate::host::resequencer) that puts cells in order where they arrive.

use super::{Departing, Ends, FlowPath, Hop, Routes, Scheme, ecmp};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use anabranch_transport::Bytes;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Bits of a label, above those that number the cell.
const LABEL: u32 = 0xffff_0000;
/// The most paths of a pair of hosts: labels have room for eight times as many, so that each names its own.
const PATHS: u32 = 1 << 13;
/// The most turns of a round.
const TURNS: u64 = 1 << 13;

/// Presto.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Presto {
    /// Bytes of a flowcell on the wire, at least a full packet: a packet that would exceed them begins the next. Default 64 KiB, the most that
    /// a segment handed to the network card can have (Presto §2.1).
    pub cell: Bytes,
    /// How many turns each path has.
    pub weights: Turns,
    #[serde(skip)]
    #[schemars(skip)]
    map: Option<Arc<Map>>,
}

/// How often the turn of each path comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// In proportion to the rate of its slowest link between switches: what Presto's controller sets on asymmetric fabrics (§3.1).
    #[default]
    Rate,
    /// As often as that of any other.
    Equal,
}

impl Default for Presto {
    fn default() -> Self {
        Self { cell: Bytes(1 << 16), weights: Turns::default(), map: None }
    }
}

/// The map follows from the rest and the fabric.
impl PartialEq for Presto {
    fn eq(&self, other: &Self) -> bool {
        (self.cell, self.weights) == (other.cell, other.weights)
    }
}

impl Presto {
    /// Whether labels can name the paths of a fabric.
    ///
    /// # Errors
    /// If they cannot: why.
    pub(crate) fn fits(graph: &Graph) -> Result<(), String> {
        let routes = Routes::build(graph, |_| true);
        // Hosts of a rack have the same paths; where they have several links, each counts as a rack.
        let racks: BTreeMap<NodeId, u32> = graph.racks().into_iter().zip(0..).collect();
        let ends: Vec<u32> =
            if graph.multi_homed() { (0..graph.hosts).collect() } else { racks.into_values().collect() };
        let pairs = ends.iter().flat_map(|&from| ends.iter().map(move |&to| (from, to)));
        let most = pairs.map(|(from, to)| routes.path_count(from, to)).max().unwrap_or(0);
        if most > PATHS {
            return Err(format!("two hosts have {most} shortest paths, of at most {PATHS}"));
        }
        Ok(())
    }
}

/// What hosts look paths up in.
#[derive(Debug)]
struct Map {
    routes: Routes,
    /// The node that each port leads to, and its rate in bit/s; of links of hosts `u64::MAX`.
    ports: Vec<(NodeId, u64)>,
}

/// All paths that begin with some links.
#[derive(Clone, Copy)]
struct Beginning {
    node: NodeId,
    /// The fractions that lead there, as parts of 2^63.
    first: u64,
    width: u64,
    /// Of the slowest link so far.
    rate: u64,
}

impl Map {
    fn new(graph: &Graph, alive: &dyn Fn(u32) -> bool) -> Self {
        let port = |port: PortId| {
            let of_host = graph.is_host(graph.port_owner(port)) || graph.is_host(graph.port_peer(port));
            let rate = graph.links[(port / 2) as usize].rate.bps();
            (graph.port_peer(port), if of_host { u64::MAX } else { rate })
        };
        Self { routes: Routes::build(graph, alive), ports: (0..graph.ports()).map(port).collect() }
    }

    /// The label of each path between two hosts, and the rate of its slowest link.
    fn paths(&self, source: u32, destination: u32) -> Vec<(u16, u64)> {
        let mut paths = Vec::new();
        if source != destination && self.routes.path_count(source, destination) > 0 {
            let all = Beginning { node: source, first: 0, width: 1 << 63, rate: u64::MAX };
            self.walk(all, destination, &mut paths);
        }
        paths
    }

    fn walk(&self, Beginning { node, first, width, rate }: Beginning, to: u32, paths: &mut Vec<(u16, u64)>) {
        if node == to {
            // The middle, so that rounding never crosses into a neighbour.
            return paths.push((((first + width / 2) >> (63 - 16)) as u16, rate));
        }
        let ways = self.routes.ways(node, to);
        let width = width / ways.len().max(1) as u64;
        for (digit, &port) in (0..).zip(ways) {
            let (peer, own) = self.ports[port as usize];
            let beyond = Beginning { node: peer, first: first + digit * width, width, rate: rate.min(own) };
            self.walk(beyond, to, paths);
        }
    }

    /// The labels of a round, in the order of their turns.
    fn round(&self, source: u32, destination: u32, weights: Turns) -> Arc<[u16]> {
        let paths = self.paths(source, destination);
        let weight = |rate: u64| if weights == Turns::Rate { rate } else { 1 };
        let turns = turns(&paths.iter().map(|&(_, rate)| weight(rate)).collect::<Vec<_>>());
        // Those of a path are as far apart as they can be; where two are due at once, the paths' order decides.
        let due = |(path, &own): (usize, &u64)| (0..own).map(move |turn| (((2 * turn + 1) << 32) / own, path));
        let mut due: Vec<(u64, usize)> = turns.iter().enumerate().flat_map(due).collect();
        due.sort_unstable();
        due.into_iter().map(|(_, path)| paths[path].0).collect()
    }
}

/// The turns of each path in a round, in proportion to weights above 0: as few as that takes, and about [`TURNS`] at most.
fn turns(weights: &[u64]) -> Vec<u64> {
    let divisor = weights.iter().copied().fold(0, gcd).max(1);
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight / divisor)).sum();
    let scaled = |weight: u64| {
        let (exact, most) = (u128::from(weight / divisor), u128::from(TURNS));
        if sum <= most { exact } else { (exact * most / sum).max(1) }
    };
    weights.iter().map(|&weight| scaled(weight) as u64).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The flowcells of a flow.
#[derive(Clone, Debug)]
pub struct Flowcells {
    /// The labels of its paths, in the order of their turns; empty if there is no path.
    round: Arc<[u16]>,
    /// Whose turn it is.
    turn: u32,
    /// The most bytes of a cell.
    most: u64,
    /// Bytes of this one.
    sent: u64,
    /// Its number.
    cell: u16,
}

impl FlowPath for Flowcells {
    #[inline]
    fn next(&mut self, packet: &Departing, _random: &mut Stream) -> u32 {
        self.sent += u64::from(packet.size);
        if self.sent > self.most {
            self.sent = u64::from(packet.size);
            self.cell = self.cell.wrapping_add(1);
            self.turn = if self.turn + 1 < self.round.len() as u32 { self.turn + 1 } else { 0 };
        }
        let label = self.round.get(self.turn as usize).copied().unwrap_or(0);
        u32::from(label) << 16 | u32::from(self.cell)
    }
}

impl Scheme for Presto {
    type Flow = Flowcells;
    const OWN_BITS: bool = true;
    const SHORTEST: bool = true;
    const RENEWED: bool = true;

    fn flow(&self, ends: &Ends, random: &mut Stream) -> Flowcells {
        let round = self.map.as_ref().map(|map| map.round(ends.source, ends.destination, self.weights));
        let round = round.unwrap_or_default();
        let turn = random::below(random, round.len());
        // Paths that are renewed begin another cell than the last one.
        let cell = random.next_u32() as u16;
        Flowcells { round, turn: turn as u32, most: self.cell.0, sent: 0, cell }
    }

    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        let (mut label, cell) = (*bits & LABEL, *bits & !LABEL);
        let port = ecmp(hop, &mut label);
        *bits = label | cell;
        port
    }

    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        random.next_u32()
    }

    fn cell(&self, bits: u32) -> Option<u16> {
        Some(bits as u16)
    }

    fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        self.map = Some(Arc::new(Map::new(graph, alive)));
    }
}
