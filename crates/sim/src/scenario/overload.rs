//! Whether workloads ask for more than the links carry, by their mean loads.

use super::remarks::{Remark, percent};
use super::windows::Paths;
use super::{RoutingMode, Scenario, WorkloadConfig};
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::load::{Matrix, Zones};
use crate::fabric::routing::Routes;
use crate::host::protocol::Transport;
use crate::network::{Change, Fallback, Target};
use crate::workload::offered::{Offered, Who, offered};
use crate::workload::placement::Ends;
use crate::workload::{ArrivalsConfig, Context, Mode, Workload};
use anabranch_transport::{Rate, Time};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// So many states of the fabric are looked at: the first, and those after its first failures.
const STATES_MAX: usize = 16;

/// The links of a fabric from some time on.
struct State {
    from: Time,
    alive: Vec<bool>,
    rates: Vec<Rate>,
}

/// The mean load of a port or of several together, over what they carry.
struct Load {
    payload: f64,
    /// With the headers of full packets.
    wire: f64,
}

/// A workload with its transport and its share of the load of each port: that of its objects, 1 altogether.
struct Part {
    offered: Offered,
    /// Bytes on the wire for each byte of payload.
    headers: f64,
    ports: Vec<f64>,
    cuts: Vec<f64>,
}

/// The loads while the same links work.
struct Known {
    alive: Vec<bool>,
    parts: Vec<Part>,
    /// The uplinks of each rack.
    cuts: Vec<Vec<PortId>>,
}

impl Part {
    /// The share of the load there.
    fn at(&self, place: Place) -> f64 {
        match place {
            Place::Port(port) => self.ports[port as usize],
            Place::Uplinks(rack) => self.cuts[rack],
        }
    }

    /// Whether the sessions that were looked at stand for others.
    fn is_sampled(&self) -> bool {
        matches!(self.offered.who, Who::Sessions { drawn: Some(_), .. })
    }

    /// Bits each second of a share.
    fn bps(&self, share: f64) -> f64 {
        share * self.offered.bps
    }

    /// Takes what chance has given to some ports of a sample and not to others alike for what it is: ports have the mean of their
    /// kind, unless they are further from it than five standard deviations.
    fn even_out(&mut self, graph: &Graph) {
        let Who::Sessions { ends, drawn: Some(at_a_time) } = &self.offered.who else { return };
        let each = f64::from(*at_a_time) / ends.len().max(1) as f64;
        let level = |node: u32| graph.nodes[node as usize].level.name();
        let kind = |port: usize| {
            let (port, rate) = (port as PortId, graph.links[port / 2].rate);
            (level(graph.port_owner(port)), level(graph.port_peer(port)), rate)
        };
        even_out(&mut self.ports, each, kind);
        even_out(&mut self.cuts, each, |_| ());
    }
}

/// [`Part::even_out`] for shares of which each draw gives `each` to some.
fn even_out<K: Ord>(shares: &mut [f64], each: f64, kind: impl Fn(usize) -> K) {
    let mut kinds: BTreeMap<K, (f64, f64)> = BTreeMap::new();
    for (index, share) in shares.iter().enumerate() {
        let (sum, count) = kinds.entry(kind(index)).or_default();
        *sum += share;
        *count += 1.0;
    }
    for (index, share) in shares.iter_mut().enumerate() {
        let (sum, count) = kinds[&kind(index)];
        let mean = sum / count;
        if (*share - mean).abs() <= 5.0 * (mean * each).sqrt() {
            *share = mean;
        }
    }
}

impl Scenario {
    /// The link that is asked for most above what it carries, if there is one.
    pub(super) fn overload(&self, base: &Path, paths: &Paths) -> Option<Remark> {
        let context = Context::from_graph(&paths.graph).with_base(base).with_sessions_max(self.sessions_max());
        let workloads: Vec<Workload> = self.workload.iter().map(WorkloadConfig::workload).collect();
        let offered = offered(&workloads, &context, self.seed);
        if offered.is_empty() {
            return None;
        }
        let (graph, zones) = (&paths.graph, Zones::of(&paths.graph));
        let matrix = |one: &Offered| (one.clone(), self.matrix(one, &zones, &context));
        let matrices: Vec<(Offered, Matrix)> = offered.iter().map(matrix).collect();
        let mut known: Option<Known> = None;
        for state in self.states(graph)? {
            if known.as_ref().is_none_or(|known| known.alive != state.alive) {
                let routes = if state.alive.iter().all(|alive| *alive) {
                    Arc::clone(&paths.routes)
                } else {
                    Arc::new(Routes::build(graph, |link| state.alive[link as usize]))
                };
                let parts = matrices.iter().map(|(offered, matrix)| self.part(offered, matrix, graph, &routes));
                let together = matrices.first().map(|(_, matrix)| matrix.cuts(graph)).unwrap_or_default();
                let cuts = together.into_iter().map(|(_, ports)| ports).collect();
                known = Some(Known { alive: state.alive.clone(), parts: parts.collect(), cuts });
            }
            let Some(Known { parts, cuts, .. }) = &known else { continue };
            if let Some(remark) = self.worst(&state, parts, cuts, graph) {
                return Some(remark);
            }
        }
        None
    }

    /// The fabric at the start and after each of its failures; `None` if one is wrong.
    fn states(&self, graph: &Graph) -> Option<Vec<State>> {
        let links = &graph.links;
        let mut states = vec![State {
            from: Time::ZERO,
            alive: vec![true; links.len()],
            rates: links.iter().map(|link| link.rate).collect(),
        }];
        for (time, change) in super::failure::changes(&self.failure, graph).ok()? {
            if states.last().is_some_and(|last| time > last.from) {
                if states.len() == STATES_MAX {
                    break;
                }
                let last = states.last()?;
                states.push(State { from: time, alive: last.alive.clone(), rates: last.rates.clone() });
            }
            let last = states.last_mut()?;
            let touched = |target: Target| {
                (0..links.len()).filter(move |&link| match target {
                    Target::Link(own) => own as usize == link,
                    Target::Switch(node) => links[link].a == node || links[link].b == node,
                })
            };
            match change {
                Change::Cut(target) => touched(target).for_each(|link| last.alive[link] = false),
                Change::Restore(target) => touched(target).for_each(|link| last.alive[link] = true),
                Change::Rate(target, rate) => touched(target).for_each(|link| last.rates[link] = rate),
                Change::End(_) => {}
            }
        }
        Some(states)
    }

    /// Who sends to whom of a workload, as its transport carries it; 1 is all objects.
    fn matrix(&self, offered: &Offered, zones: &Zones, context: &Context) -> Matrix {
        let mut matrix = Matrix::new(zones.clone());
        match &offered.who {
            Who::Groups(groups) => {
                for group in groups {
                    matrix.add_uniform(&group.from, &group.to, group.share);
                }
            }
            Who::Sessions { ends, .. } => {
                let (workload, share) = (&self.workload[offered.workload], 1.0 / ends.len().max(1) as f64);
                let transport = self.transport.transport(self.transport_of(workload));
                for ends in ends {
                    carry(&mut matrix, ends, share, workload.fallback, &transport, context);
                }
            }
        }
        matrix
    }

    fn part(&self, offered: &Offered, matrix: &Matrix, graph: &Graph, routes: &Routes) -> Part {
        let name = self.transport_of(&self.workload[offered.workload]);
        let transport = self.transport.transport(name);
        let (full, header) = (transport.packet_bytes(), transport.header_bytes());
        // Other schemes load some links more, and others less: only what leaves hosts and racks is known.
        let evenly = matches!(
            self.routing.resolve(name),
            RoutingMode::PerPacket
                | RoutingMode::PerPacketPermuted
                | RoutingMode::PerFlow
                | RoutingMode::Flowlet
                | RoutingMode::NixVector
        );
        let of_host = |port: PortId| graph.is_host(graph.port_owner(port)) || graph.is_host(graph.port_peer(port));
        let mut ports = matrix.loads(graph, routes);
        if !evenly {
            (0..graph.ports())
                .filter(|&port| graph.hosts_relay || !of_host(port))
                .for_each(|port| ports[port as usize] = 0.0);
        }
        let mut part = Part {
            offered: offered.clone(),
            headers: full as f64 / full.saturating_sub(header).max(1) as f64,
            ports,
            cuts: matrix.cuts(graph).into_iter().map(|(load, _)| load).collect(),
        };
        part.even_out(graph);
        part
    }

    fn worst(&self, state: &State, parts: &[Part], cuts: &[Vec<PortId>], graph: &Graph) -> Option<Remark> {
        let carried = |port: PortId| {
            let link = (port / 2) as usize;
            if state.alive[link] { state.rates[link].bps() as f64 } else { 0.0 }
        };
        let load = |place: Place, capacity: f64| {
            let mut load = Load { payload: 0.0, wire: 0.0 };
            for part in parts {
                let mean = part.bps(part.at(place)) / capacity;
                load.payload += mean;
                load.wire += mean * part.headers;
            }
            load
        };
        let mut excess = 0;
        let mut worst: Option<(Load, Place)> = None;
        let mut consider = |place: Place, capacity: f64| {
            let found = load(place, capacity);
            let more = worst.as_ref().is_none_or(|(known, _)| found.wire > known.wire + 1e-9);
            // What is asked for just as much as it carries is not too much, whatever the last digit says.
            if found.wire > 1.0 + 1e-9 {
                excess += usize::from(matches!(place, Place::Port(_)));
                if more {
                    worst = Some((found, place));
                }
            }
        };
        for port in (0..graph.ports()).filter(|&port| carried(port) > 0.0) {
            consider(Place::Port(port), carried(port));
        }
        for (rack, ports) in cuts.iter().enumerate() {
            let capacity: f64 = ports.iter().map(|&port| carried(port)).sum();
            if capacity > 0.0 {
                consider(Place::Uplinks(rack), capacity);
            }
        }
        let (load, place) = worst?;
        Some(self.remark(state, parts, graph, &load, place, cuts, excess))
    }

    #[expect(clippy::too_many_arguments, reason = "all that the sentence says")]
    fn remark(
        &self,
        state: &State,
        parts: &[Part],
        graph: &Graph,
        load: &Load,
        place: Place,
        cuts: &[Vec<PortId>],
        excess: usize,
    ) -> Remark {
        let name = |port: PortId| {
            let node = |node: u32| graph.nodes[node as usize].name.as_str();
            (node(graph.port_owner(port)), node(graph.port_peer(port)))
        };
        let what = match place {
            Place::Port(port) => {
                let (owner, peer) = name(port);
                format!("{owner}-{peer}")
            }
            Place::Uplinks(rack) => {
                let switch = cuts[rack].first().map_or("a rack", |&port| name(port).0);
                format!("the uplinks of {switch}")
            }
        };
        let heaviest = parts.iter().max_by(|a, b| a.bps(a.at(place)).total_cmp(&b.bps(b.at(place))));
        let index = heaviest.map_or(0, |part| part.offered.workload);
        let workload = &self.workload[index];
        let sampled = parts.iter().any(|part| part.is_sampled() && part.at(place) > 0.0);
        let percent =
            |share: f64| if sampled { format!("about {}", percent(two_digits(share))) } else { percent(share) };
        let headers =
            if load.payload > 1.0 { String::new() } else { format!(", {} % with headers", percent(load.wire)) };
        let since = if state.from == Time::ZERO { String::new() } else { format!(" from {} on", state.from) };
        let carry = if matches!(place, Place::Port(_)) { "carries" } else { "carry" };
        let others = match excess.saturating_sub(usize::from(matches!(place, Place::Port(_)))) {
            0 => String::new(),
            1 => ", and one more link for more than it carries".to_owned(),
            n => format!(", and {n} more links for more than they carry"),
        };
        let text = format!(
            "{}: the load asks for {} % of what {what} {carry}{headers}{since}{others}: queues grow as long as requests arrive",
            workload.name(index),
            percent(load.payload)
        );
        let (key, hint) = match &workload.arrivals {
            ArrivalsConfig::Poisson(poisson) => match (poisson.load, poisson.rate) {
                (Some(own), _) => ("load", lower("load", own / load.wire, parts.len())),
                (_, Some(own)) => ("rate", lower("rate", own / load.wire, parts.len())),
                _ => ("", String::new()),
            },
            ArrivalsConfig::Interval(_) => {
                ("every", format!("an interval {:.2} times as long fits", (load.wire * 100.0).ceil() / 100.0))
            }
            _ => ("", String::new()),
        };
        Remark::new(&format!("workload.{index}.arrivals.{key}"), text, &hint, true)
    }
}

/// A number to two digits.
fn two_digits(number: f64) -> f64 {
    let unit = unit_of(number);
    (number / unit).round() * unit
}

/// What the second digit of a number above 0 counts in.
fn unit_of(number: f64) -> f64 {
    10_f64.powf(number.log10().floor() - 1.0)
}

/// What would fit.
fn lower(key: &str, most: f64, workloads: usize) -> String {
    let unit = unit_of(most);
    let most = (most / unit).floor() * unit;
    let digits = usize::try_from(-(unit.log10().round() as i64)).unwrap_or(0);
    let others = if workloads > 1 { ", the other workloads lowered as much" } else { "" };
    format!("{key} = {most:.digits$} fits{others}")
}

/// Where a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Port(PortId),
    /// All ports of a rack to other switches.
    Uplinks(usize),
}

/// Adds a session as its transport carries it. What cannot be told (the ways of multicast) is left out: never too much is added.
fn carry(
    matrix: &mut Matrix,
    ends: &Ends,
    share: f64,
    fallback: Option<Fallback>,
    transport: &Transport,
    context: &Context,
) {
    match (&ends.sources[..], &ends.sinks[..]) {
        (&[source], &[sink]) => matrix.add(source, sink, share),
        (&[source], sinks) if transport.has_group_sessions(Mode::OneToMany) => {
            matrix.add_sent(source, share);
            for &sink in sinks {
                matrix.add_received(sink, share);
            }
        }
        (&[source], sinks) if fallback == Some(Fallback::DaisyChain) => {
            let mut before = source;
            for &sink in sinks {
                matrix.add(std::mem::replace(&mut before, sink), sink, share);
            }
        }
        (&[source], sinks) => {
            for &sink in sinks {
                matrix.add(source, sink, share);
            }
        }
        (sources, &[sink]) => {
            let parts = transport.has_group_sessions(Mode::ManyToOne) || fallback == Some(Fallback::Partition);
            let near = sources.iter().find(|&&source| !parts && context.rack(source) == context.rack(sink));
            match near {
                Some(&near) => matrix.add(near, sink, share),
                None => {
                    for &source in sources {
                        matrix.add(source, sink, share / sources.len() as f64);
                    }
                }
            }
        }
        _ => {}
    }
}
