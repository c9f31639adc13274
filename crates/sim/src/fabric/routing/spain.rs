//! SPAIN (Mudigonda, Yalagandula, Al-Fares, Mogul, NSDI 2010): several paths between any two edges of any fabric, packed into VLANs of which
//! each is free of loops, so that plain Ethernet switches can forward along them. The host that sends draws a VLAN for each flow, and
//! another one when a link of its path has failed.
//!
//! A VLAN has one path between two edges, so that a VLAN and its path are the same for a packet: hosts write the path into packets as a
//! [Nix-vector](super::nix_vector).

use super::nix_vector::{Interfaces, PathSource, Vectors};
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, PortId};
use crate::random::Stream;
use rand::{Rng as _, RngExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;

mod paths;
#[cfg(test)]
mod tests;
mod vlans;

use paths::Field;
use vlans::Vlans;

/// The VLANs that 12 bits of an Ethernet frame tell apart.
pub(crate) const MOST_VLANS: usize = 4094;

/// Most nodes that searches for paths may visit: `anabranch run --dry-run` visits some eight millions in a second (fat-trees of k = 12 and 16), and a
/// run looks for its paths as often again.
const MOST_VISITS: usize = 200_000_000;

/// So many paths of one pair are soon found in any fabric.
const SAMPLE: usize = 64;

/// SPAIN.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spain {
    /// Paths between two edges, at least 1; fewer where another path would be one of them again. Default 4.
    pub k: NonZeroU32,
    /// Decides between equally good paths, and in which order paths are packed into VLANs.
    pub seed: u64,
    #[serde(skip)]
    #[schemars(skip)]
    vlans: Option<Arc<Vlans>>,
    #[serde(skip)]
    #[schemars(skip)]
    map: Option<Arc<Map>>,
}

impl Default for Spain {
    fn default() -> Self {
        Self { k: const { NonZeroU32::new(4).expect("it is not 0") }, seed: 1, vlans: None, map: None }
    }
}

/// Tables follow from the rest and the fabric.
impl PartialEq for Spain {
    fn eq(&self, other: &Self) -> bool {
        (self.k, self.seed) == (other.k, other.seed)
    }
}

impl Spain {
    fn plan(&self, graph: &Graph) -> Vlans {
        Vlans::pack(graph, self.k.get() as usize, self.seed)
    }

    /// How many paths a fabric has, about, if it takes minutes to find them: each search visits all nodes. The pair of edges that is farthest apart in
    /// most fabrics tells how many paths others have; so many are looked for there that this is quick, whatever `k` is.
    pub(crate) fn takes_minutes(&self, graph: &Graph) -> Option<usize> {
        let field = Field::new(graph);
        let [first, .., last] = field.edges[..] else { return None };
        let (edges, nodes) = (field.edges.len(), graph.nodes.len());
        let pairs = edges * (edges - 1) / 2;
        let enough = (MOST_VISITS / pairs.saturating_mul(nodes) + 1).max(SAMPLE);
        let of_pair = field.paths(first, last, enough.min(self.k.get() as usize), self.seed).len();
        let paths = pairs.saturating_mul(of_pair);
        (paths.saturating_mul(nodes) > MOST_VISITS).then_some(paths)
    }

    /// How many VLANs a fabric takes, and how many of its paths packets have no room for.
    pub(crate) fn needs(&self, graph: &Graph) -> (usize, usize) {
        let (vlans, interfaces) = (self.plan(graph), Interfaces::new(graph, &|_| true));
        let ports = graph.host_ports();
        let fits = |path: &&Vec<PortId>| {
            let whole = if graph.multi_homed() { (*path).clone() } else { with_a_host(graph, &ports, path) };
            interfaces.path_bits(&whole).is_some()
        };
        let paths = vlans.paths();
        (vlans.count, paths.clone().count() - paths.filter(fits).count())
    }

    /// Switches on the longest of its paths.
    pub(crate) fn most_switches(&self, graph: &Graph) -> usize {
        self.plan(graph).paths().map(|path| path.len() + 1).max().unwrap_or(0)
    }
}

/// A path between switches, from the first host of the first one on.
fn with_a_host(graph: &Graph, host_ports: &[PortId], path: &[PortId]) -> Vec<PortId> {
    let first = path.first().map(|&port| graph.port_owner(port));
    let uplink = host_ports.iter().find(|&&port| Some(graph.port_owner(port)) == first).map(|&port| port ^ 1);
    uplink.into_iter().chain(path.iter().copied()).collect()
}

/// What hosts look paths up in.
#[derive(Debug)]
struct Map {
    interfaces: Interfaces,
    vlans: Arc<Vlans>,
    /// Which links do not work.
    down: Vec<bool>,
    /// The port that leads to each host, where they have one link each.
    host_ports: Option<Vec<PortId>>,
}

impl PathSource for Map {
    fn path_bits(&self, source: u32, destination: u32, flows: u8, random: &mut Stream) -> Vec<u32> {
        let works = |path: &&Vec<PortId>| path.iter().all(|&port| !self.down[port as usize / 2]);
        let vlans: Vec<&Vec<PortId>> = self.vlans.between(source, destination).filter(works).collect();
        let mut draw = || {
            let path = (!vlans.is_empty()).then(|| vlans[random.random_range(0..vlans.len())].clone());
            let whole = path.map(|path| match &self.host_ports {
                Some(ports) => [&[ports[source as usize] ^ 1], &path[..], &[ports[destination as usize]]].concat(),
                None => path,
            });
            let bits = whole.and_then(|whole| self.interfaces.path_bits(&whole));
            bits.unwrap_or_else(|| Interfaces::without_vector(random.next_u32()))
        };
        (0..flows).map(|_| draw()).collect()
    }
}

impl Scheme for Spain {
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

    /// VLANs are those of the whole fabric, whatever fails later.
    fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        let vlans = self.vlans.take().unwrap_or_else(|| Arc::new(self.plan(graph)));
        self.map = Some(Arc::new(Map {
            interfaces: Interfaces::new(graph, alive),
            vlans: Arc::clone(&vlans),
            down: (0..graph.links.len() as u32).map(|link| !alive(link)).collect(),
            host_ports: (!graph.multi_homed()).then(|| graph.host_ports()),
        }));
        self.vlans = Some(vlans);
    }
}
