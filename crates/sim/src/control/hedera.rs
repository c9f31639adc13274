//! Hedera (Al-Fares et al., NSDI 2010): a scheduler that looks for large flows at edge switches, estimates what they would send if only
//! hosts' links limited them, and places them on paths. All others go by per-flow ECMP.

mod annealing;
mod demand;
mod first_fit;
#[cfg(test)]
mod tests;

use super::elephants::{Elephant, Placed, needs_placeable_flows};
use super::{Action, Controller, ControllerConfig, Given, View, Watch};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::workload::Fault;
use anabranch_transport::Duration;
use annealing::Annealing;
use first_fit::FirstFit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Large flows on paths by their estimated demands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hedera {
    /// Time from one poll of the edge switches to the next, at least 1 us. Default 5 s, as in the paper's testbed.
    pub period: Duration,
    /// Time from a poll until the flows are on the paths that follow from it.
    pub delay: Duration,
    /// A flow is large if its rate since the last poll is above this share of its host's link: above 0, below 1.
    pub threshold: f64,
    /// How paths are chosen.
    pub placement: Placing,
    /// Simulated annealing: states that are tried at each poll, at least 1.
    #[schemars(range(min = 1))]
    pub iterations: u32,
    /// Simulated annealing: the temperature at the start, in rates of a host's link; above 0. It falls to 0 linearly. A state with so much more
    /// overload than the last is taken with probability 1/e. The paper's constant c is 1 / (`temperature` * `iterations`) of its T0: 2 is its choice for 16
    /// hosts, 0.001 that for large data centres.
    pub temperature: f64,
}

/// How Hedera chooses paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placing {
    /// Each new large flow takes the first path with enough room for its demand, and keeps it.
    GlobalFirstFit,
    /// One core switch for the large flows to each host, such that links are overloaded as little as possible.
    SimulatedAnnealing,
}

impl Default for Hedera {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(5),
            delay: Duration::from_us(100),
            threshold: 0.1,
            placement: Placing::SimulatedAnnealing,
            iterations: 1000,
            temperature: 0.001,
        }
    }
}

/// A large flow and its demand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    pub(super) session: u32,
    pub(super) destination: u32,
    /// In bit/s.
    pub(super) rate: u64,
    /// All that it may take.
    pub(super) paths: Vec<Vec<PortId>>,
}

/// Chooses paths.
#[derive(Debug)]
enum Placer {
    FirstFit(FirstFit),
    Annealing(Box<Annealing>),
}

/// The scheduler at work.
#[derive(Debug)]
struct Scheduler {
    threshold: f64,
    period: Duration,
    /// Of each host: its switch, and its own port.
    edges: Vec<NodeId>,
    uplinks: Vec<PortId>,
    /// What each session had sent by its first switch at the last poll.
    sent: BTreeMap<u32, u64>,
    placer: Placer,
    placed: Placed,
}

impl Scheduler {
    /// The flows that are large now.
    fn large(&mut self, view: &View<'_>) -> Vec<Elephant> {
        let mut flows = BTreeMap::new();
        for port in view.switch_ports() {
            let edge = view.graph().port_owner(port);
            for seen in view.flows_at(port) {
                if self.edges[seen.flow.source as usize] == edge {
                    flows.entry(seen.flow.session).or_insert((seen.flow, 0)).1 += seen.counters.bytes;
                }
            }
        }
        let before = std::mem::replace(&mut self.sent, flows.iter().map(|(&n, &(_, bytes))| (n, bytes)).collect());
        let is_large = |session: u32, source: u32, bytes: u64| {
            let since = bytes.saturating_sub(before.get(&session).copied().unwrap_or(0));
            let link = view.port(self.uplinks[source as usize]).rate.bps() as f64;
            8.0 * since as f64 > self.threshold * link * self.period.as_secs_f64()
        };
        let large = flows
            .into_iter()
            .filter(|&(session, (flow, bytes))| flow.open && flow.placeable && is_large(session, flow.source, bytes));
        large
            .map(|(session, (flow, _))| Elephant { session, source: flow.source, destination: flow.destination })
            .collect()
    }
}

impl Controller for Scheduler {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        self.placed.look(view);
        let large = self.large(view);
        let pairs: Vec<(u32, u32)> = large.iter().map(|flow| (flow.source, flow.destination)).collect();
        let rate = |host: u32| view.port(self.uplinks[host as usize]).rate.bps() as f64;
        let demands = demand::estimate(&pairs, rate);
        let flows: Vec<Demand> = large
            .iter()
            .zip(demands)
            .map(|(flow, demand)| Demand {
                session: flow.session,
                destination: flow.destination,
                rate: demand as u64,
                paths: view.paths(flow.source, flow.destination),
            })
            .collect();
        let room = |port: PortId| view.port(port).rate.bps();
        let chosen = match &mut self.placer {
            Placer::FirstFit(placer) => placer.place(&flows, room),
            Placer::Annealing(placer) => placer.place(view.graph(), &flows, room),
        };
        let moves = flows.iter().zip(chosen).filter_map(|(flow, path)| {
            let path = flow.paths.get(path?)?;
            self.placed.place(flow.session, path)
        });
        moves.collect()
    }
}

impl ControllerConfig for Hedera {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(self.threshold > 0.0 && self.threshold < 1.0) {
            faults.push(Fault::new("threshold", format!("must be above 0 and below 1, not {}", self.threshold)));
        }
        if self.iterations == 0 {
            faults.push(Fault::new("iterations", "must be at least 1"));
        }
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            faults.push(Fault::new("temperature", format!("must be above 0, not {}", self.temperature)));
        }
        faults
    }

    fn check_in(&self, fabric: &Given<'_>) -> Vec<Fault> {
        needs_placeable_flows(fabric)
    }

    fn watches(&self) -> Watch {
        Watch { flows: true, ..Watch::NOTHING }
    }

    fn start(&self, graph: &Graph, seed: u64) -> Box<dyn Controller> {
        let placer = match self.placement {
            Placing::GlobalFirstFit => Placer::FirstFit(FirstFit::default()),
            Placing::SimulatedAnnealing => {
                Placer::Annealing(Box::new(Annealing::new(graph, self.iterations, self.temperature, seed)))
            }
        };
        Box::new(Scheduler {
            threshold: self.threshold,
            period: self.period,
            edges: graph.racks(),
            uplinks: graph.host_ports().into_iter().map(|port| port ^ 1).collect(),
            sent: BTreeMap::new(),
            placer,
            placed: Placed::default(),
        })
    }
}
