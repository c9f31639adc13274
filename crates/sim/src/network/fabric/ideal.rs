//! What an ideal completion time depends on: the links that a flow may use, layer by layer.

use super::Fabric;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::ideal::{IdealPath, Layer, Links, Pieces, Ways};
use crate::fabric::routing::{Routes, disjoint_paths};
use anabranch_transport::{Duration, Rate};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Paths of a node of which the best is not decided yet; beyond so many they count as one that is as good as all of them.
const PATHS: usize = 16;
/// Pairs of places whose ways are kept.
const KEPT: usize = 1 << 16;

/// How a session's packets use the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::network) struct Manner {
    /// Paths that it may use at once.
    pub(in crate::network) lanes: u32,
    pub(in crate::network) pieces: Pieces,
    /// They keep to shortest paths.
    pub(in crate::network) shortest: bool,
}

/// Where a host with one link is: its switch, and the link's rate and delay. A host that chooses among several is a place of
/// its own.
type Place = (NodeId, Rate, Duration);

/// What the ways of a flow depend on, in a fabric at some time: where its senders and its receiver are, and whether it keeps
/// to shortest paths; `None`: whether it does is not known, as the fabric has changed meanwhile.
type Ends = (SmallVec<[Place; 1]>, Place, Option<bool>);

/// The ways that were looked at since the fabric last changed.
#[derive(Debug, Default)]
pub(super) struct Known {
    changes: u32,
    ways: HashMap<Ends, Arc<Ways>>,
}

impl Known {
    fn get(&mut self, changes: u32, ends: Ends, ways: impl FnOnce() -> Ways) -> Arc<Ways> {
        if self.changes != changes || self.ways.len() >= KEPT {
            *self = Self { changes, ways: HashMap::new() };
        }
        Arc::clone(self.ways.entry(ends).or_insert_with(|| Arc::new(ways())))
    }
}

/// How the fabric has changed since the run began.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When, one by one.
    times: Vec<u64>,
    /// The highest rate that each link has had; empty: none was changed.
    fastest: Vec<Rate>,
}

impl History {
    pub(super) fn changed(&mut self, now: u64) {
        self.times.push(now);
    }

    /// Links are about to have a new rate.
    pub(super) fn rates(&mut self, graph: &Graph, links: &[u32], rate: Rate) {
        if self.fastest.is_empty() {
            self.fastest = graph.links.iter().map(|link| link.rate).collect();
        }
        for &link in links {
            let fastest = &mut self.fastest[link as usize];
            *fastest = rate.max(*fastest);
        }
    }
}

impl Fabric {
    /// How often routes, rates or weights of paths have changed so far.
    pub(in crate::network) fn changes(&self) -> u32 {
        self.changes
    }

    /// How many changes there were from the one with this number on, until a time.
    pub(in crate::network) fn changes_until(&self, first: u32, until: u64) -> u32 {
        let since = self.history.times.get(first as usize..).unwrap_or_default();
        since.partition_point(|&at| at <= until) as u32
    }

    /// The ideal path of a flow to `sink` from `sender`, or from all of `sources`, on the fabric as it is. If nothing leads
    /// there at the moment: as the fabric was built.
    pub(in crate::network) fn ideal_path(&self, sender: u32, sources: &[u32], sink: u32, manner: Manner) -> IdealPath {
        if self.routes.path_count(sender, sink) == 0 {
            let rate = |port: PortId| self.graph.links[(port / 2) as usize].rate;
            let within = Within { fabric: self, routes: self.whole(), rate: &rate };
            let ways = Arc::new(within.ways(sources, sink, manner.shortest));
            return within.ideal_path(sender, sources, sink, manner, ways);
        }
        let rate = |port: PortId| self.ports[port as usize].rate();
        let within = Within { fabric: self, routes: &self.routes, rate: &rate };
        let ends = within.ends(sources, sink, Some(manner.shortest));
        let ways = || within.ways(sources, sink, manner.shortest);
        let ways = self.known_ways.borrow_mut().get(self.changes, ends, ways);
        within.ideal_path(sender, sources, sink, manner, ways)
    }

    /// The same for a flow during which the fabric changed so many times: with all links that there are, each at the highest
    /// rate that it has had. From one path a flow may have moved to another with each change, while the first still brought
    /// what was on it.
    pub(in crate::network) fn ideal_path_through(
        &self,
        changes: u32,
        sources: &[u32],
        sink: u32,
        manner: Manner,
    ) -> IdealPath {
        let built = |port: PortId| self.graph.links[(port / 2) as usize].rate;
        let rate = |port: PortId| self.history.fastest.get((port / 2) as usize).copied().unwrap_or(built(port));
        let within = Within { fabric: self, routes: self.whole(), rate: &rate };
        let ends = within.ends(sources, sink, None);
        let ways = self.known_ways.borrow_mut().get(self.changes, ends, || within.ways(sources, sink, false));
        let pieces = if manner.pieces == Pieces::Any { Pieces::Any } else { Pieces::AnyOrder };
        let hops = within.routes.hop_count(sources[0], sink);
        IdealPath { hops, ways, lanes: manner.lanes.saturating_add(changes), pieces }
    }

    /// The links on one shortest path as the fabric is now; if nothing leads there, as it was built.
    pub(in crate::network) fn first_path(&self, from: u32, to: u32) -> Links {
        let now = self.routes.first_path(&self.graph, |port| self.ports[port as usize].rate(), from, to);
        if !now.is_empty() {
            return now;
        }
        self.whole().first_path(&self.graph, |port| self.graph.links[(port / 2) as usize].rate, from, to)
    }

    /// The routing tables of the fabric as it was built.
    fn whole(&self) -> &Routes {
        self.whole.get_or_init(|| Routes::build(&self.graph, |_| true))
    }
}

/// The fabric at some time: with these routes, and with these rates of its ports.
struct Within<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    rate: &'a dyn Fn(PortId) -> Rate,
}

impl Within<'_> {
    /// The ideal path by these ways. Where there is one path, packets cannot but keep to it.
    fn ideal_path(&self, sender: u32, sources: &[u32], sink: u32, manner: Manner, ways: Arc<Ways>) -> IdealPath {
        let only = manner.shortest && sources.len() == 1 && self.routes.path_count(sender, sink) == 1;
        let lanes = if only { 1 } else { manner.lanes };
        IdealPath { hops: self.routes.hop_count(sender, sink), ways, lanes, pieces: manner.pieces }
    }

    fn ways(&self, sources: &[u32], sink: u32, shortest: bool) -> Ways {
        let hops = |&source: &u32| u32::from(self.routes.hop_count(source, sink));
        let sources: Vec<u32> = sources.iter().copied().filter(|s| *s != sink && hops(s) > 0).collect();
        if !shortest {
            return Ways { layers: self.layers_of_all(&sources, sink), ..Ways::default() };
        }
        let layers = self.layers_of_shortest(&sources, sink);
        let alike = |layer: &LayerOf| layer.alike;
        let paths = match sources.as_slice() {
            [_] if layers.iter().all(alike) => {
                vec![layers.iter().map(|layer| (layer.of.fastest, layer.of.delay)).collect()]
            }
            [source] => self.paths(*source, sink),
            _ => Vec::new(),
        };
        let first = layers.first().map(|layer| layer.of.fastest);
        let same = layers.iter().all(|layer| layer.alike && Some(layer.of.fastest) == first);
        let disjoint = (self.fabric.multi_homed && same)
            .then(|| disjoint_paths(&self.fabric.graph, &sources, sink, |node| self.routes.ways(node, sink)));
        Ways { paths, layers: layers.into_iter().map(|layer| layer.of).collect(), disjoint }
    }

    fn ends(&self, sources: &[u32], sink: u32, shortest: Option<bool>) -> Ends {
        let place = |host: u32, other: u32| {
            if self.fabric.multi_homed {
                return (host, Rate(0), Duration::ZERO);
            }
            let port = self.routes.ways(host, other)[0];
            let (rate, delay) = self.link(port);
            (self.fabric.graph.port_peer(port), rate, delay)
        };
        let mut places: SmallVec<[Place; 1]> = sources.iter().map(|&source| place(source, sink)).collect();
        places.sort_unstable();
        (places, place(sink, sources[0]), shortest)
    }

    fn link(&self, port: PortId) -> (Rate, Duration) {
        ((self.rate)(port), self.fabric.graph.links[(port / 2) as usize].delay)
    }

    /// The links on all shortest paths, by their distance from the sink, as far as the nearest source is away.
    fn layers_of_shortest(&self, sources: &[u32], sink: u32) -> Vec<LayerOf> {
        let graph = &self.fabric.graph;
        let mut waiting: Vec<(u32, u32)> =
            sources.iter().map(|&source| (u32::from(self.routes.hop_count(source, sink)), source)).collect();
        waiting.sort_unstable();
        let nearest = waiting.first().map_or(0, |of| of.0);
        let (mut layers, mut nodes) = (Vec::new(), Vec::new());
        let mut distance = waiting.last().map_or(0, |of| of.0);
        while distance > 0 {
            while let Some((_, source)) = waiting.pop_if(|of| of.0 == distance) {
                nodes.push(source);
            }
            nodes.sort_unstable();
            nodes.dedup();
            let mut layer = None;
            let mut next = Vec::new();
            for port in nodes.iter().flat_map(|&node| self.routes.ways(node, sink)).copied() {
                LayerOf::add(&mut layer, self.link(port));
                next.push(graph.port_peer(port));
            }
            layers.extend(layer.filter(|_| distance <= nearest));
            (nodes, distance) = (next, distance - 1);
        }
        layers
    }

    /// All links that lead one link nearer to the sink, as far as the nearest source is away: whatever way a packet takes, it
    /// crosses one of each layer.
    fn layers_of_all(&self, sources: &[u32], sink: u32) -> Vec<Layer> {
        let graph = &self.fabric.graph;
        let passes = |node: NodeId| !graph.is_host(node) || graph.hosts_relay;
        let ports = graph.ports_by_node();
        let mut distances = vec![u32::MAX; graph.nodes.len()];
        distances[sink as usize] = 0;
        let mut open = VecDeque::from([sink]);
        while let Some(node) = open.pop_front().filter(|_| !sources.is_empty()) {
            for &port in ports[node as usize].iter().filter(|_| node == sink || passes(node)) {
                let peer = graph.port_peer(port);
                if distances[peer as usize] == u32::MAX {
                    distances[peer as usize] = distances[node as usize] + 1;
                    open.push_back(peer);
                }
            }
        }
        let nearest = sources.iter().map(|&s| distances[s as usize]).min().filter(|&d| d != u32::MAX).unwrap_or(0);
        let together = sources.iter().all(|&s| distances[s as usize] == nearest);
        let mut layers: Vec<Option<LayerOf>> = vec![None; nearest as usize];
        for port in 0..graph.ports() {
            let (from, to) = (graph.port_owner(port), graph.port_peer(port));
            let distance = distances[from as usize];
            let leads = distance <= nearest && distance.checked_sub(1) == Some(distances[to as usize]);
            // Hosts with one link begin with that.
            let first = distance == nearest && together && !self.fabric.multi_homed;
            if leads && (sources.contains(&from) || !first && passes(from)) {
                LayerOf::add(&mut layers[(nearest - distance) as usize], self.link(port));
            }
        }
        layers.into_iter().flatten().map(|layer| layer.of).collect()
    }

    /// The shortest paths of which none is as fast as another on every link, and as short.
    fn paths(&self, source: u32, sink: u32) -> Vec<Links> {
        let mut reached: BTreeMap<NodeId, Vec<Links>> = BTreeMap::from([(source, vec![Vec::new()])]);
        while !reached.contains_key(&sink) && !reached.is_empty() {
            let mut next: BTreeMap<NodeId, Vec<Links>> = BTreeMap::new();
            for (node, paths) in reached {
                for &port in self.routes.ways(node, sink) {
                    let ends = next.entry(self.fabric.graph.port_peer(port)).or_default();
                    for path in &paths {
                        let mut path = path.clone();
                        path.push(self.link(port));
                        add_path(ends, path);
                    }
                }
            }
            reached = next;
        }
        reached.remove(&sink).unwrap_or_default()
    }
}

/// A layer, and whether all its links are the same.
#[derive(Clone, Copy)]
struct LayerOf {
    of: Layer,
    alike: bool,
}

impl LayerOf {
    fn add(layer: &mut Option<Self>, (rate, delay): (Rate, Duration)) {
        *layer = Some(match layer {
            None => Self { of: Layer::one(rate, delay), alike: true },
            Some(Self { of, alike }) => {
                Self { of: of.with(rate, delay), alike: *alike && of.fastest == rate && of.delay == delay }
            }
        });
    }
}

fn delay_of(path: &[(Rate, Duration)]) -> Duration {
    path.iter().fold(Duration::ZERO, |sum, link| sum + link.1)
}

/// Adds a path to those of the same length to the same node, unless one of them is as good, and takes out those that are no better.
fn add_path(paths: &mut Vec<Links>, path: Links) {
    let as_good = |a: &Links, b: &Links| delay_of(a) <= delay_of(b) && a.iter().zip(b).all(|(a, b)| a.0 >= b.0);
    if paths.iter().any(|known| as_good(known, &path)) {
        return;
    }
    paths.retain(|known| !as_good(&path, known));
    paths.push(path);
    if paths.len() > PATHS {
        let best = |links: Vec<(Rate, Duration)>| {
            links.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))).expect("there are paths")
        };
        let length = paths[0].len();
        *paths = vec![(0..length).map(|i| best(paths.iter().map(|path| path[i]).collect())).collect()];
    }
}
