//! The traffic that is worst for a routing (Song §2.4, Figure 2.3; Dally and Towles, p. 180).
//!
//! Of all traffic in which no host sends or receives more than one unit, the most that a link can carry is reached by a
//! permutation: the maximum-weight matching of sources and destinations, where a pair weighs what one unit from source to
//! destination puts on the link. That of the whole fabric is the largest of all links.
//!
//! It is found without a matching for every link. Each link has a bound: what its busiest destination of each source adds up
//! to, and likewise for destinations. Links are taken by falling bound until the best matching found reaches the bounds of
//! all that are left. Hosts that the scheme treats alike ([`Scheme::matters`]) are one vertex with several units.

mod classes;
mod matching;

use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use crate::schemes::{Scheme, Shares};
use crate::traffic::TrafficMatrix;
use anabranch_sim::fabric::graph::{NodeId, PortId};
use classes::{Classes, pair};
use matching::{Matching, Problem};
use std::cmp::Ordering;

/// More pairs of classes than this are bounded by the scheme's [envelope](Scheme::envelope), if it has one.
const MANY: usize = 1 << 18;

/// A link, in one direction, or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directed port.
    Port(PortId),
    /// A switch.
    Switch(NodeId),
}

/// The worst permutation for one place, which no other place exceeds.
#[derive(Clone, Debug)]
pub struct Worst<S> {
    /// Load per unit that a host sends, over the capacity of the link if it is a link and the fabric has several rates.
    pub value: S,
    /// Where.
    pub place: Place,
    /// Destination of each source; those that do not matter send nothing.
    pub permutation: Vec<Option<u32>>,
    /// For how many places a matching was computed, of how many.
    pub examined: (usize, usize),
}

impl<S> Worst<S> {
    /// The permutation as traffic.
    pub fn traffic(&self) -> TrafficMatrix {
        TrafficMatrix::permutation(&self.permutation)
    }
}

/// Bounds of all links and switches of a fabric under a scheme, from which worst cases are found.
pub struct WorstCase<'a, S: Scalar> {
    fabric: &'a Fabric,
    scheme: &'a dyn Scheme<S>,
    sources: Classes,
    destinations: Classes,
    ports: Vec<S>,
    nodes: Vec<S>,
}

/// Sums of what the busiest partner of each class puts on each place.
struct Sums<S> {
    ports: Vec<S>,
    nodes: Vec<S>,
}

/// A class of sources and one of destinations.
type Cell = (u32, u32);

fn fit<S>(value: Option<S>) -> RoutingResult<S> {
    value.ok_or_else(RoutingError::overflow)
}

impl<'a, S: Scalar> WorstCase<'a, S> {
    /// Computes the bounds.
    ///
    /// # Errors
    ///
    /// Fractions that do not fit.
    pub fn new(fabric: &'a Fabric, scheme: &'a dyn Scheme<S>) -> RoutingResult<Self> {
        let (source, destination) = scheme.matters();
        let (sources, destinations) = (Classes::of(fabric, source), Classes::of(fabric, destination));
        let envelope = if sources.len() * destinations.len() > MANY { scheme.envelope() } else { None };
        let bounding = envelope.as_deref().unwrap_or(scheme);
        let (by_source, by_destination) = bounding.matters();
        let (rows, columns) = (Classes::of(fabric, by_source), Classes::of(fabric, by_destination));
        let first = sums(fabric, bounding, &rows, &columns, false)?;
        let second = sums(fabric, bounding, &columns, &rows, true)?;
        let least = |a: Vec<S>, b: Vec<S>| a.into_iter().zip(b).map(|(a, b)| a.smaller(b)).collect::<Vec<S>>();
        let ports = least(first.ports, second.ports);
        let mut nodes = least(first.nodes, second.nodes);
        if bounding.shortest() {
            bound_by_links(fabric, &ports, &mut nodes)?;
        }
        Ok(Self { fabric, scheme, sources, destinations, ports, nodes })
    }

    /// The worst of all links.
    ///
    /// # Errors
    ///
    /// Fractions that do not fit; a matching too large to compute.
    pub fn links(&self) -> RoutingResult<Worst<S>> {
        self.of((0..self.fabric.graph.ports()).map(Place::Port))
    }

    /// The worst of the switches of level `t`.
    ///
    /// # Errors
    ///
    /// See [`WorstCase::links`].
    pub fn switches_at(&self, t: u32) -> RoutingResult<Worst<S>> {
        let here = (0..self.fabric.graph.nodes.len()).filter(|&n| self.fabric.level[n] == Some(t));
        self.of(here.map(|n| Place::Switch(n as NodeId)))
    }

    /// The worst of some places.
    ///
    /// # Errors
    ///
    /// See [`WorstCase::links`]; no place at all.
    pub fn of(&self, places: impl Iterator<Item = Place>) -> RoutingResult<Worst<S>> {
        let mut open = Vec::new();
        for place in places {
            let bound = match place {
                Place::Port(p) => fit(self.ports[p as usize].over(self.fabric.capacity(p)))?,
                Place::Switch(n) => self.nodes[n as usize],
            };
            open.push((place, bound));
        }
        open.sort_by(|a, b| b.1.order(&a.1));
        let all = open.len();
        let mut best: Option<Worst<S>> = None;
        let mut examined = 0;
        for (place, bound) in open {
            if best.as_ref().is_some_and(|b| reaches(b.value, bound)) {
                break;
            }
            let found = self.at(place, best.as_ref().map(|b| b.value))?;
            examined += 1;
            if let Some((value, permutation)) = found
                && best.as_ref().is_none_or(|b| value.order(&b.value) == Ordering::Greater)
            {
                best = Some(Worst { value, place, permutation, examined: (0, all) });
            }
        }
        let best = best.ok_or_else(|| RoutingError::new("no link or switch to load: expected one at least"))?;
        Ok(Worst { examined: (examined, all), ..best })
    }

    /// The worst permutation for one place, unless it cannot exceed `than`.
    fn at(&self, place: Place, than: Option<S>) -> RoutingResult<Option<(S, Vec<Option<u32>>)>> {
        let fabric = self.fabric;
        let capacity = match place {
            Place::Port(port) => fabric.capacity(port),
            Place::Switch(_) => S::one(),
        };
        if let Place::Port(port) = place
            && fabric.is_access(port)
        {
            // One host fills its own link.
            let ends = [fabric.graph.port_owner(port), fabric.graph.port_peer(port)];
            let mut permutation = vec![None; fabric.hosts() as usize];
            let host = if fabric.graph.is_host(ends[0]) { ends[0] } else { ends[1] };
            let other = u32::from(host == 0);
            let (s, d) = if ends[0] == host { (host, other) } else { (other, host) };
            permutation[s as usize] = Some(d);
            return Ok(Some((fit(S::one().over(capacity))?, permutation)));
        }
        let (cells, weights) = self.weights(place)?;
        let (units, unit) = fit(S::in_units(&weights))?;
        let mut problem = Problem::default();
        let compact = |classes: &Classes, of: &dyn Fn(&(u32, u32)) -> u32| {
            let mut used: Vec<u32> = cells.iter().map(of).collect();
            used.sort_unstable();
            used.dedup();
            let sizes = used.iter().map(|&c| classes.size(c as usize)).collect::<Vec<_>>();
            (used, sizes)
        };
        let (rows, row_sizes) = compact(&self.sources, &|c| c.0);
        let (columns, column_sizes) = compact(&self.destinations, &|c| c.1);
        let index = |used: &[u32], class: u32| used.binary_search(&class).expect("it was listed") as u32;
        problem.rows = row_sizes;
        problem.columns = column_sizes;
        problem.edges = cells.iter().zip(units).map(|(c, w)| (index(&rows, c.0), index(&columns, c.1), w)).collect();
        problem.edges.sort_unstable_by_key(|e| (e.0, e.1));
        let value = |units: i128| fit(S::of(Exact::new(units, 1)).times(unit).and_then(|v| v.over(capacity)));
        if let Some(than) = than
            && reaches(than, value(problem.bound())?)
        {
            return Ok(None);
        }
        let found = problem.solve().ok_or_else(|| {
            RoutingError::new(format!(
                "the matching for {} has {} x {} vertices: expected fewer",
                self.name(place),
                rows.len(),
                columns.len()
            ))
            .hint("ask for links instead of switches, or for a smaller fabric of the same family")
        })?;
        Ok(Some((value(found.value)?, self.permutation(&found, &rows, &columns))))
    }

    /// Name of a link or switch.
    pub fn name(&self, place: Place) -> String {
        match place {
            Place::Port(port) => self.fabric.port_name(port),
            Place::Switch(node) => self.fabric.graph.nodes[node as usize].name.clone(),
        }
    }

    /// The pairs of classes that load a place, and how much.
    fn weights(&self, place: Place) -> RoutingResult<(Vec<Cell>, Vec<S>)> {
        let fabric = self.fabric;
        let mut shares = Shares::new(fabric);
        let (mut cells, mut weights) = (Vec::new(), Vec::new());
        let racks = fabric.racks.node.len() as u32;
        for (from, to) in (0..racks).flat_map(|a| (0..racks).map(move |b| (a, b))) {
            if self.scheme.shortest() && !self.may_use(place, from, to) {
                continue;
            }
            for &a in &self.sources.of_rack[from as usize] {
                for &b in &self.destinations.of_rack[to as usize] {
                    let (sources, destinations) =
                        (&self.sources.hosts[a as usize], &self.destinations.hosts[b as usize]);
                    let Some((s, d)) = pair(sources, destinations) else { continue };
                    shares.fill(self.scheme, fabric, s, d)?;
                    let mut weight = S::zero();
                    for &(port, share) in &shares.ports {
                        let here = match place {
                            Place::Port(p) => p == port,
                            Place::Switch(n) => n == fabric.graph.port_peer(port),
                        };
                        if here {
                            weight = fit(weight.plus(share))?;
                        }
                    }
                    if !weight.is_zero() {
                        cells.push((a, b));
                        weights.push(weight);
                    }
                }
            }
        }
        Ok((cells, weights))
    }

    /// Whether a shortest path between two racks leads by a place.
    fn may_use(&self, place: Place, from: u32, to: u32) -> bool {
        let fabric = self.fabric;
        let far = u32::from(fabric.distance(fabric.racks.node[from as usize], to));
        let via = |out: NodeId, into: NodeId, between: u32| {
            u32::from(fabric.distance(out, from)) + between + u32::from(fabric.distance(into, to)) == far
        };
        match place {
            Place::Port(port) => via(fabric.graph.port_owner(port), fabric.graph.port_peer(port), 1),
            Place::Switch(node) => via(node, node, 0),
        }
    }

    /// Hosts for what goes from class to class.
    fn permutation(&self, found: &Matching, rows: &[u32], columns: &[u32]) -> Vec<Option<u32>> {
        let mut to = vec![None; self.fabric.hosts() as usize];
        let mut sent = vec![0; rows.len()];
        let mut received = vec![0; columns.len()];
        for &(r, c, flow) in &found.flows {
            let sources = &self.sources.hosts[rows[r as usize] as usize];
            let destinations = &self.destinations.hosts[columns[c as usize] as usize];
            for _ in 0..flow {
                let (s, d) = (sources[sent[r as usize]], destinations[received[c as usize]]);
                to[s as usize] = Some(d);
                sent[r as usize] += 1;
                received[c as usize] += 1;
            }
        }
        for s in 0..self.fabric.hosts() {
            if to[s as usize] == Some(s) {
                self.mend(&mut to, s);
            }
        }
        to
    }

    /// Lets a host that would send to itself change places with another of its class as a source, or as a destination.
    fn mend(&self, to: &mut [Option<u32>], s: u32) {
        let class =
            |classes: &Classes| classes.hosts.iter().position(|c| c.contains(&s)).expect("each host has a class");
        let alike = &self.sources.hosts[class(&self.sources)];
        if let Some(&other) = alike.iter().find(|&&o| o != s) {
            to.swap(s as usize, other as usize);
            return;
        }
        let alike = &self.destinations.hosts[class(&self.destinations)];
        if let Some(&d) = alike.iter().find(|&&d| d != s) {
            match to.iter().position(|&t| t == Some(d)) {
                Some(other) => to.swap(s as usize, other),
                None => to[s as usize] = Some(d),
            }
        }
    }
}

/// Whether `value` is as large as `bound`, within what the numbers can tell.
fn reaches<S: Scalar>(value: S, bound: S) -> bool {
    value.order(&bound) != Ordering::Less || value.float() >= bound.float() * (1.0 - S::SLACK) && S::SLACK > 0.0
}

/// For each class of `outer`, the most that any class of `inner` puts on each place together with it, added up.
fn sums<S: Scalar>(
    fabric: &Fabric,
    scheme: &dyn Scheme<S>,
    outer: &Classes,
    inner: &Classes,
    outer_receives: bool,
) -> RoutingResult<Sums<S>> {
    let (ports, nodes) = (fabric.graph.ports() as usize, fabric.graph.nodes.len());
    let mut total = Sums { ports: vec![S::zero(); ports], nodes: vec![S::zero(); nodes] };
    let mut most = Sums { ports: vec![S::zero(); ports], nodes: vec![S::zero(); nodes] };
    let (mut touched_ports, mut touched_nodes) = (Vec::new(), Vec::new());
    let (mut port_seen, mut node_seen) = (vec![false; ports], vec![false; nodes]);
    let mut arriving = vec![S::zero(); nodes];
    let mut reached: Vec<NodeId> = Vec::new();
    let mut shares = Shares::new(fabric);
    for a in 0..outer.len() {
        for b in 0..inner.len() {
            let (x, y) = (&outer.hosts[a], &inner.hosts[b]);
            let found = if outer_receives { pair(y, x) } else { pair(x, y) };
            let Some((s, d)) = found else { continue };
            shares.fill(scheme, fabric, s, d)?;
            for &(port, share) in &shares.ports {
                let peer = fabric.graph.port_peer(port);
                if !fabric.graph.is_host(peer) {
                    let sum = &mut arriving[peer as usize];
                    if sum.is_zero() {
                        reached.push(peer);
                    }
                    *sum = fit(sum.plus(share))?;
                }
                let most = &mut most.ports[port as usize];
                *most = most.larger(share);
                if !std::mem::replace(&mut port_seen[port as usize], true) {
                    touched_ports.push(port);
                }
            }
            for node in reached.drain(..) {
                let most = &mut most.nodes[node as usize];
                *most = most.larger(std::mem::replace(&mut arriving[node as usize], S::zero()));
                if !std::mem::replace(&mut node_seen[node as usize], true) {
                    touched_nodes.push(node);
                }
            }
        }
        let size = S::ratio(outer.size(a), 1);
        let add = |total: &mut S, most: &mut S| -> RoutingResult<()> {
            *total = fit(most.times(size).and_then(|by| total.plus(by)))?;
            *most = S::zero();
            Ok(())
        };
        for port in touched_ports.drain(..).map(|p| p as usize) {
            add(&mut total.ports[port], &mut most.ports[port])?;
            port_seen[port] = false;
        }
        for node in touched_nodes.drain(..).map(|n| n as usize) {
            add(&mut total.nodes[node], &mut most.nodes[node])?;
            node_seen[node] = false;
        }
    }
    // A host sends and receives one unit at most.
    for port in (0..ports as PortId).filter(|&p| fabric.is_access(p)) {
        total.ports[port as usize] = S::one();
    }
    Ok(total)
}

/// A switch carries no more than its links bring, nor than they take away; and on shortest paths through a layered fabric,
/// where nothing that comes from above goes up again, no more than comes from below and goes below.
fn bound_by_links<S: Scalar>(fabric: &Fabric, ports: &[S], nodes: &mut [S]) -> RoutingResult<()> {
    for (node, bound) in nodes.iter_mut().enumerate().skip(fabric.hosts() as usize) {
        let (mut from, mut to, mut below) = (S::zero(), S::zero(), S::zero());
        for &port in &fabric.ports[node] {
            let (outward, inward) = (ports[port as usize], ports[(port ^ 1) as usize]);
            to = fit(to.plus(outward))?;
            from = fit(from.plus(inward))?;
            if !fabric.is_up(port) {
                below = fit(below.plus(outward).and_then(|b| b.plus(inward)))?;
            }
        }
        *bound = bound.smaller(from).smaller(to);
        if fabric.tree.is_some() && !fabric.alive.contains(&false) {
            *bound = bound.smaller(below);
        }
    }
    Ok(())
}
