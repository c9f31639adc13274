//! Dynamic Nix-Vector Routing (Song §2.2): the host that sends writes the whole path into its packets, as the index of a
//! neighbour at each hop, and draws a path anew for each flow.
//!
//! With a transport of several subflows it is Multipath Routing via Dynamic Nix-Vectors: each subflow has a path of its own,
//! drawn without replacement; subflows beyond the number of paths repeat them evenly. The receiver's packets have vectors of
//! their own.
//!
//! When links fail or come back, hosts build new vectors for all flows. A packet that is on its way to a link that fails is
//! repaired by the switch before it: it loses its vector there, and goes on by a shortest path.

use super::{Ends, Hop, Routes, Scheme};
use crate::fabric::graph::{Graph, PortId};
use crate::random::Stream;
use paths::Paths;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod interfaces;
mod paths;
#[cfg(test)]
mod tests;
mod vector;
mod vectors;

pub(super) use interfaces::Interfaces;
pub use vector::{NixVector, index_bits};
pub(super) use vectors::{PathSource, Vectors};

/// Dynamic Nix-Vector Routing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DynamicNixVector {
    /// How a flow's path is drawn from the shortest ones. On fat-trees both are uniform.
    pub choice: Choice,
    #[serde(skip)]
    #[schemars(skip)]
    fabric: Known,
}

/// How a path is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// By a breadth-first search that visits neighbours in random order (Song Fig. 2.1b). On irregular fabrics it prefers
    /// some paths.
    #[default]
    Bfs,
    /// Each shortest path is equally likely.
    Uniform,
}

/// What is known of the fabric. It says nothing about the settings.
#[derive(Clone, Debug, Default)]
struct Known(Option<Arc<Map>>);

impl PartialEq for Known {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What hosts look paths up in.
#[derive(Debug)]
struct Map {
    interfaces: Interfaces,
    routes: Routes,
    choice: Choice,
}

impl PathSource for Map {
    /// Fractions if there is no path, or none that fits into a packet.
    fn path_bits(&self, source: u32, destination: u32, flows: u8, random: &mut Stream) -> Vec<u32> {
        let paths = self.paths(source, destination, flows, random);
        let bits = |path: &Vec<PortId>| self.interfaces.path_bits(path);
        let drawn: Vec<u32> = paths
            .iter()
            .map(|path| bits(path).unwrap_or_else(|| Interfaces::without_vector(random.next_u32())))
            .collect();
        let flows = usize::from(flows);
        if drawn.is_empty() {
            return (0..flows).map(|_| Interfaces::without_vector(random.next_u32())).collect();
        }
        drawn.into_iter().cycle().take(flows).collect()
    }
}

impl Map {
    /// As many paths as there are flows, or all paths.
    fn paths(&self, source: u32, destination: u32, flows: u8, random: &mut Stream) -> Vec<Vec<PortId>> {
        if source == destination || self.routes.path_count(source, destination) == 0 {
            return Vec::new();
        }
        if flows == 1 && self.choice == Choice::Bfs {
            return paths::search(&self.routes, &self.interfaces, source, destination, random).into_iter().collect();
        }
        let paths = Paths::new(&self.routes, &self.interfaces, source, destination);
        paths.draw(usize::from(flows), self.choice, random)
    }
}

/// What the longest vector of a fabric takes.
pub(crate) struct VectorNeed {
    /// Bits of the longest vector of a shortest path.
    pub(crate) longest: u32,
    /// How many of them packets carry: a host with one link has used its own before the packet leaves.
    pub(crate) carried: u32,
}

impl VectorNeed {
    /// Bits for which packets have room.
    pub(crate) const ROOM: u32 = interfaces::ROOM;

    /// That of a fabric whose links all work.
    pub(crate) fn of(graph: &Graph) -> Self {
        let routes = Routes::build(graph, |_| true);
        let (longest, carried) = Interfaces::new(graph, &|_| true).longest(graph, &routes);
        Self { longest, carried }
    }
}

impl Scheme for DynamicNixVector {
    type Flow = Vectors;
    const OWN_BITS: bool = true;
    const RENEWED: bool = true;
    const ONE_PATH: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, ends: &Ends, random: &mut Stream) -> Vectors {
        self.flows(ends, 1, random).remove(0)
    }

    fn flows(&self, ends: &Ends, subflows: u8, random: &mut Stream) -> Vec<Vectors> {
        let map = self.fabric.0.as_ref().expect("installed before the first flow begins");
        let Ends { source, destination, .. } = *ends;
        Vectors::flows(map, source, destination, subflows, random)
    }

    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        self.fabric.0.as_ref()?.interfaces.egress(hop, bits)
    }

    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        Interfaces::without_vector(random.next_u32())
    }

    fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        let (interfaces, routes) = (Interfaces::new(graph, alive), Routes::build(graph, alive));
        self.fabric = Known(Some(Arc::new(Map { interfaces, routes, choice: self.choice })));
    }
}
