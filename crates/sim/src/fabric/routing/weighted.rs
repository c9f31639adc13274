//! Path choice by a known traffic pattern (Song §2.4): "instead of randomly picking a path from the pool of available shortest paths,
//! we now set the probability that a switch is to be selected".
//!
//! The paths of pairs of hosts are given, and how likely each is. The host that sends draws one for each flow and writes it into
//! the packets as a [Nix-vector](super::nix_vector). Paths need not be shortest. Subflows share the paths in proportion to their
//! weights. Pairs that are not named use per-flow ECMP, and so does a pair all of whose paths have failed; of a pair some of
//! whose paths have failed the others keep their proportions.

use super::nix_vector::{Interfaces, PathSource, Vectors};
use super::permuted::shuffle;
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::Stream;
use rand::{Rng as _, RngExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Weighted paths.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WeightedPaths {
    /// A CSV file with the columns `source,destination,path,weight`: names or numbers of hosts, the names of all switches between
    /// them with spaces or hyphens between, and a number from 0. The weights of a pair need not add up to 1.
    pub file: String,
    /// Its content.
    #[serde(skip)]
    #[schemars(skip)]
    pub paths: Arc<Vec<WeightedPath>>,
    #[serde(skip)]
    #[schemars(skip)]
    map: Option<Arc<Map>>,
}

/// A path and its weight among those of the same pair.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedPath {
    /// All nodes, from the host that sends to the one that receives.
    pub nodes: Vec<NodeId>,
    /// From 0.
    pub weight: f64,
}

/// Tables follow from the rest and the fabric.
impl PartialEq for WeightedPaths {
    fn eq(&self, other: &Self) -> bool {
        (&self.file, &self.paths) == (&other.file, &other.paths)
    }
}

impl WeightedPaths {
    /// The most switches that a path has.
    pub fn most_switches(&self) -> usize {
        let used = self.paths.iter().filter(|path| path.weight > 0.0);
        used.map(|path| path.nodes.len().saturating_sub(2)).max().unwrap_or(0)
    }
}

/// What hosts look paths up in.
#[derive(Debug)]
struct Map {
    interfaces: Interfaces,
    /// Of each pair: path bits, and the share of its flows that each has, added up; the last one is 1.
    pairs: BTreeMap<(u32, u32), Vec<(u32, f64)>>,
}

impl Map {
    fn new(paths: &[WeightedPath], graph: &Graph, alive: &dyn Fn(u32) -> bool) -> Self {
        let interfaces = Interfaces::new(graph, alive);
        let ports = graph.ports_by_node();
        let mut pairs: BTreeMap<(u32, u32), Vec<(u32, f64)>> = BTreeMap::new();
        for path in paths.iter().filter(|path| path.weight > 0.0) {
            let works = |port: PortId| alive(port / 2);
            let way = ports_of(graph, &ports, &path.nodes, works);
            if let (Some(&source), Some(&destination)) = (path.nodes.first(), path.nodes.last())
                && let Some(bits) = way.and_then(|way| interfaces.path_bits(&way))
            {
                pairs.entry((source, destination)).or_default().push((bits, path.weight));
            }
        }
        for shares in pairs.values_mut() {
            let total: f64 = shares.iter().map(|(_, weight)| weight).sum();
            let mut sum = 0.0;
            for (_, weight) in shares {
                sum += *weight;
                *weight = sum / total;
            }
        }
        Self { interfaces, pairs }
    }
}

/// The ports of a path, of parallel links the first for which `works` holds; `None` if it has none somewhere.
fn ports_of(
    graph: &Graph,
    ports: &[Vec<PortId>],
    nodes: &[NodeId],
    works: impl Fn(PortId) -> bool,
) -> Option<Vec<PortId>> {
    let port = |pair: &[NodeId]| {
        ports[pair[0] as usize].iter().copied().find(|&port| graph.port_peer(port) == pair[1] && works(port))
    };
    nodes.windows(2).map(port).collect()
}

/// Whether packets of a fabric have room for paths.
pub(crate) struct PathRoom<'a> {
    graph: &'a Graph,
    ports: Vec<Vec<PortId>>,
    interfaces: Interfaces,
}

impl<'a> PathRoom<'a> {
    /// In a fabric whose links all work.
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self { graph, ports: graph.ports_by_node(), interfaces: Interfaces::new(graph, &|_| true) }
    }

    /// Whether the vector of a path fits into a packet; `None` if two of its nodes are not linked.
    pub(crate) fn fits(&self, nodes: &[NodeId]) -> Option<bool> {
        let way = ports_of(self.graph, &self.ports, nodes, |_| true)?;
        Some(self.interfaces.path_bits(&way).is_some())
    }
}

impl PathSource for Map {
    fn path_bits(&self, source: u32, destination: u32, flows: u8, random: &mut Stream) -> Vec<u32> {
        let Some(shares) = self.pairs.get(&(source, destination)) else {
            return (0..flows).map(|_| Interfaces::without_vector(random.next_u32())).collect();
        };
        // Evenly spaced from a random place on: each path is drawn in proportion, and subflows differ as far as they can.
        let first: f64 = random.random();
        let place = |flow: u8| (first + f64::from(flow)) / f64::from(flows);
        let at = |place: f64| shares.partition_point(|(_, until)| *until <= place).min(shares.len() - 1);
        let mut bits: Vec<u32> = (0..flows).map(|flow| shares[at(place(flow))].0).collect();
        shuffle(&mut bits, random);
        bits
    }
}

impl Scheme for WeightedPaths {
    type Flow = Vectors;
    const OWN_BITS: bool = true;
    const RENEWED: bool = true;
    const ONE_PATH: bool = true;

    fn flow(&self, ends: &Ends, random: &mut Stream) -> Vectors {
        self.flows(ends, 1, random).remove(0)
    }

    fn flows(&self, ends: &Ends, subflows: u8, random: &mut Stream) -> Vec<Vectors> {
        let map = self.map.as_ref().expect("installed before the first flow begins");
        Vectors::flows(map, ends.source, ends.destination, subflows, random)
    }

    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        self.map.as_ref()?.interfaces.egress(hop, bits)
    }

    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        Interfaces::without_vector(random.next_u32())
    }

    fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        self.map = Some(Arc::new(Map::new(&self.paths, graph, alive)));
    }
}
