//! Mahout (Curtis, Kim, Yalagandula, INFOCOM 2011): hosts tell large flows by what waits in their sockets' buffers, and a controller places each
//! of them on the least congested path. All others go by per-flow ECMP.
//!
//! A host's shim marks packets of a large flow, and the first switch passes one of them to the controller. Here the controller looks at the
//! buffers itself, once in a short period.

use super::elephants::{Placed, needs_placeable_flows};
use super::{Action, Controller, ControllerConfig, Given, View};
use crate::fabric::graph::{Graph, PortId};
use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows that wait in their hosts on the least congested paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mahout {
    /// Time from one look at hosts' buffers and links' counters to the next, at least 1 us.
    pub period: Duration,
    /// Time from a look until the flows are on the paths that follow from it.
    pub delay: Duration,
    /// A flow is large from when more than this waits in its host, sent and not acknowledged or not sent yet. Default 100 KB, as in the paper.
    pub threshold: Bytes,
}

impl Default for Mahout {
    fn default() -> Self {
        Self { period: Duration::from_ms(1), delay: Duration::from_us(100), threshold: Bytes(100_000) }
    }
}

/// The controller at work.
#[derive(Debug)]
struct Shims {
    period: Duration,
    threshold: Bytes,
    /// What each port had sent at the last look, in bytes.
    sent: Vec<u64>,
    /// Of each host: its own port.
    uplinks: Vec<PortId>,
    placed: Placed,
}

/// How congested links are: what they carry, next to what they can.
struct Loads {
    /// By port, in bit/s.
    rates: Vec<f64>,
    room: Vec<f64>,
}

impl Loads {
    /// That of a path which has to carry so much more.
    fn with(&self, more: f64, path: &[PortId]) -> f64 {
        let share = |&port: &PortId| (self.rates[port as usize] + more) / self.room[port as usize];
        path.iter().map(share).fold(0.0, f64::max)
    }

    fn add(&mut self, path: &[PortId], rate: f64) {
        for &port in path {
            self.rates[port as usize] += rate;
        }
    }

    /// The number of the path that would be least congested with so much more, of several the first.
    fn least(&self, more: f64, paths: &[Vec<PortId>]) -> Option<usize> {
        (0..paths.len()).min_by(|&a, &b| self.with(more, &paths[a]).total_cmp(&self.with(more, &paths[b])))
    }
}

impl Shims {
    /// Rates since the last look.
    fn loads(&mut self, view: &View<'_>) -> Loads {
        let ports = 0..view.graph().ports();
        let seen: Vec<_> = ports.map(|port| view.port(port)).collect();
        let sent: Vec<u64> = seen.iter().map(|port| port.counters.bytes).collect();
        let before = std::mem::replace(&mut self.sent, sent);
        let rate = |(now, before): (&u64, u64)| 8.0 * (now - before) as f64 / self.period.as_secs_f64();
        let rates = self.sent.iter().zip(before).map(rate).collect();
        Loads { rates, room: seen.iter().map(|port| port.rate.bps() as f64).collect() }
    }
}

impl Controller for Shims {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        self.placed.look(view);
        let mut loads = self.loads(view);
        let mut actions = Vec::new();
        for flow in view.flows().into_iter().filter(|flow| flow.placeable) {
            let before = self.placed.path(flow.session);
            if before.is_none() && flow.waiting <= self.threshold {
                continue;
            }
            let paths = view.paths(flow.source, flow.destination);
            let kept = before.and_then(|before| paths.iter().position(|path| path == before));
            // Until it is seen there, it is taken for one that fills its host's link.
            let rate = view.port(self.uplinks[flow.source as usize]).rate.bps() as f64;
            let Some(path) = kept.or_else(|| loads.least(rate, &paths)).map(|n| &paths[n]) else { continue };
            if kept.is_none() {
                loads.add(path, rate);
            }
            actions.extend(self.placed.place(flow.session, path));
        }
        actions
    }
}

impl ControllerConfig for Mahout {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn check(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn check_in(&self, fabric: &Given<'_>) -> Vec<Fault> {
        needs_placeable_flows(fabric)
    }

    fn start(&self, graph: &Graph, _seed: u64) -> Box<dyn Controller> {
        Box::new(Shims {
            period: self.period,
            threshold: self.threshold,
            sent: vec![0; graph.ports() as usize],
            uplinks: graph.host_ports().into_iter().map(|port| port ^ 1).collect(),
            placed: Placed::default(),
        })
    }
}
