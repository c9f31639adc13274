//! Changes at given times: what an operator does by hand, or a controller that knows the day in advance. A path is drained before
//! its link is cut for maintenance, backups wait for the night, a threshold is another at noon.

use super::{Action, Controller, ControllerConfig, Given, PathWeight, Rule, Verdict, View};
use crate::fabric::buffer::BufferSize;
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::queue::{Limit, Setting};
use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Changes at given times, each at the first look at the clock from then on: none before the first `period` is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timetable {
    /// Time from one look at the clock to the next, at least 1 us.
    pub period: Duration,
    /// Time until a change takes effect.
    pub delay: Duration,
    /// Marking thresholds of queues.
    pub thresholds: Vec<Resizing>,
    /// Buffers of queues.
    pub buffers: Vec<Resizing>,
    /// Weights of paths. Of several at one time the first in the list comes first.
    pub weights: Vec<Weighing>,
    /// New flows that wait, are refused, or may begin again.
    pub admission: Vec<Admission>,
}

/// A length of a queue. `thresholds` and `buffers` have the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resizing {
    /// When.
    pub at: Duration,
    /// The port, by the names of its node and of the node that it leads to: `leaf0-spine1`.
    pub port: String,
    /// What it is from then on: `"20 packets"`, `"30KB"`. Above 0; a buffer may be `"unlimited"`.
    pub length: BufferSize,
}

/// The weight of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weighing {
    /// When.
    pub at: Duration,
    /// The port, by the names of its node and of the node that it leads to: `leaf0-spine1`.
    pub port: String,
    /// The host whose packets are meant, by its name. Left out: all for which there is no weight of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How much goes this way, next to the weights of the other ways, which are 1 if nothing is said. 0: nothing.
    pub weight: u16,
}

/// What becomes of new flows. What is left out is that of any flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// When.
    pub at: Duration,
    /// What becomes of them. `admit` lifts what was said of the same flows before.
    pub verdict: Verdict,
    /// The host that sends, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The host that receives, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// The destination port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// More bytes to send than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub larger_than: Option<Bytes>,
}

impl Default for Timetable {
    fn default() -> Self {
        Self {
            period: Duration::from_us(100),
            delay: Duration::ZERO,
            thresholds: Vec::new(),
            buffers: Vec::new(),
            weights: Vec::new(),
            admission: Vec::new(),
        }
    }
}

impl Timetable {
    /// All changes in order of time, or what is not there.
    fn actions(&self, graph: &Graph) -> Result<VecDeque<(Duration, Action)>, Vec<Fault>> {
        let mut actions: Vec<(Duration, Action)> = Vec::new();
        let mut faults: Vec<Fault> = Vec::new();
        let mut found = |at: Duration, key: &str, n: usize, action: Result<Action, Fault>| match action {
            Ok(action) => actions.push((at, action)),
            Err(fault) => faults.push(fault.under(&format!("{key}.{n}"))),
        };
        for (n, step) in self.thresholds.iter().enumerate() {
            let set = |(port, limit)| Action::Queue(port, Setting::MarkingThreshold(limit));
            let unlimited = (step.length == BufferSize::Unlimited)
                .then(|| Fault::new("length", "a threshold cannot be unlimited").hint("like \"20 packets\""));
            found(step.at, "thresholds", n, unlimited.map_or_else(|| step.resolve(graph).map(set), Err));
        }
        for (n, step) in self.buffers.iter().enumerate() {
            let set = |(port, limit)| Action::Queue(port, Setting::Buffer(limit));
            found(step.at, "buffers", n, step.resolve(graph).map(set));
        }
        for (n, step) in self.weights.iter().enumerate() {
            found(step.at, "weights", n, step.resolve(graph).map(Action::Path));
        }
        for (n, step) in self.admission.iter().enumerate() {
            found(step.at, "admission", n, step.rule(graph).map(|rule| Action::Admission(rule, step.verdict)));
        }
        actions.sort_by_key(|(at, _)| *at);
        if faults.is_empty() { Ok(actions.into()) } else { Err(faults) }
    }
}

impl Resizing {
    fn resolve(&self, graph: &Graph) -> Result<(PortId, Limit), Fault> {
        let limit = match self.length {
            BufferSize::Packets(0) | BufferSize::Bytes(Bytes(0)) => {
                return Err(Fault::new("length", "must be above 0"));
            }
            BufferSize::Packets(n) => Limit::Packets(n),
            BufferSize::Bytes(n) => Limit::Bytes(n.0),
            BufferSize::Unlimited => Limit::NONE,
            BufferSize::Auto => {
                return Err(Fault::new("length", "\"auto\" is not a length").hint("like \"20 packets\""));
            }
        };
        Ok((switch_port(&self.port, graph)?, limit))
    }
}

impl Weighing {
    fn resolve(&self, graph: &Graph) -> Result<PathWeight, Fault> {
        Ok(PathWeight {
            port: switch_port(&self.port, graph)?,
            to: host("to", self.to.as_deref(), graph)?,
            weight: self.weight,
        })
    }
}

impl Admission {
    fn rule(&self, graph: &Graph) -> Result<Rule, Fault> {
        Ok(Rule {
            source: host("source", self.source.as_deref(), graph)?,
            destination: host("destination", self.destination.as_deref(), graph)?,
            port: self.port,
            larger_than: self.larger_than,
        })
    }
}

fn switch_port(name: &str, graph: &Graph) -> Result<PortId, Fault> {
    let found = graph.port_named(name).filter(|&port| !graph.is_host(graph.port_owner(port)));
    found.ok_or_else(|| {
        let example = graph.host_ports().first().map_or_else(String::new, |&port| {
            let name = |node: u32| graph.nodes[node as usize].name.as_str();
            format!("{}-{}", name(graph.port_owner(port)), name(graph.port_peer(port)))
        });
        Fault::new("port", format!("the fabric has no switch with a port {name:?}"))
            .hint(format!("names look like {example:?}"))
    })
}

fn host(key: &str, name: Option<&str>, graph: &Graph) -> Result<Option<u32>, Fault> {
    let Some(name) = name else { return Ok(None) };
    let hosts = &graph.nodes[..graph.hosts as usize];
    let place = hosts.iter().position(|node| node.name == name);
    let unknown = || Fault::new(key, format!("the fabric has no host {name:?}")).hint("names look like \"h0\"");
    place.map(|host| Some(host as u32)).ok_or_else(unknown)
}

/// What is still to come.
#[derive(Debug)]
struct ToCome(VecDeque<(Duration, Action)>);

impl Controller for ToCome {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        let now = view.now().ps();
        let due = self.0.partition_point(|(at, _)| at.ps() <= now);
        self.0.drain(..due).map(|(_, action)| action).collect()
    }

    fn waits(&self) -> bool {
        !self.0.is_empty()
    }
}

impl ControllerConfig for Timetable {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn check(&self) -> Vec<Fault> {
        let steps = self.thresholds.len() + self.buffers.len() + self.weights.len() + self.admission.len();
        let fault = Fault::new("", "a timetable needs `thresholds`, `buffers`, `weights` or `admission`");
        let hint = "admission = [{ at = \"1ms\", verdict = \"hold\", larger_than = \"1MB\" }]";
        if steps > 0 { Vec::new() } else { vec![fault.hint(hint)] }
    }

    fn check_in(&self, fabric: &Given<'_>) -> Vec<Fault> {
        let mut faults = self.actions(fabric.graph).err().unwrap_or_default();
        if !self.weights.is_empty() && !fabric.weighted {
            let fault = Fault::new("weights", "the routing scheme has no path weights");
            faults.push(fault.hint("in [routing]: mode = \"per-packet\" or \"per-flow\""));
        }
        if !self.thresholds.is_empty() && !fabric.marks {
            let fault = Fault::new("thresholds", "no switch marks packets at a threshold");
            faults.push(fault.hint("in [switch]: queue = \"ecn\""));
        }
        faults
    }

    fn start(&self, graph: &Graph, _seed: u64) -> Box<dyn Controller> {
        // What is not there was refused before the run.
        Box::new(ToCome(self.actions(graph).unwrap_or_default()))
    }
}
