//! Controllers: a control plane that looks at the fabric at intervals and changes settings of it.
//!
//! A controller is asked once a period. It gets a read-only [`View`] and answers with [`Action`]s, which take effect a
//! control-plane delay later. Decisions are rows of the time series (`measure::Sample`, metrics `set_...`).
//!
//! A controller is one file with a configuration that implements [`ControllerConfig`], and one line in the registry below
//! (`docs/how-to/add-a-controller.md`).

mod occupancy;

pub use occupancy::QueueOccupancy;

use crate::fabric::graph::{Graph, PortId};
use crate::fabric::port::{Port, PortCounters};
use crate::fabric::queue::{Discipline as _, Limit, Setting};
use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a controller sees of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortView {
    /// Waiting packets.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: u64,
    /// Everything that the port has done so far.
    pub counters: PortCounters,
    /// Rate of its link.
    pub rate: Rate,
    /// Whether its link works.
    pub up: bool,
    /// From what length on the queue marks, if it does.
    pub marking_threshold: Option<Limit>,
}

/// A session that is under way, as the first switch could tell it from its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowView {
    /// Number of the session.
    pub session: u32,
    /// Sending and receiving host.
    pub source: u32,
    /// See `source`.
    pub destination: u32,
    /// Which `[[workload]]` it belongs to.
    pub group: u16,
    /// Class of its packets.
    pub class: u8,
    /// Destination port; 0: none is given.
    pub port: u16,
    /// Bytes that its receiver has got so far.
    pub delivered: Bytes,
    /// When it began.
    pub start: Time,
}

/// What a controller sees: the fabric now.
pub struct View<'a> {
    now: Time,
    graph: &'a Graph,
    ports: &'a [Port],
    links_up: &'a [bool],
    flows: &'a dyn Fn() -> Vec<FlowView>,
}

impl<'a> View<'a> {
    /// The ports have caught up with `now`; `flows` lists the sessions that are under way.
    pub fn new(
        now: Time,
        graph: &'a Graph,
        ports: &'a [Port],
        links_up: &'a [bool],
        flows: &'a dyn Fn() -> Vec<FlowView>,
    ) -> Self {
        Self { now, graph, ports, links_up, flows }
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Nodes and links.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// A port.
    pub fn port(&self, port: PortId) -> PortView {
        let p = &self.ports[port as usize];
        let queue = p.queue();
        PortView {
            packets: queue.packets(),
            bytes: queue.bytes(),
            counters: p.counters(),
            rate: p.rate(),
            up: self.links_up[port as usize / 2],
            marking_threshold: queue.marking_threshold(),
        }
    }

    /// The ports of switches.
    pub fn switch_ports(&self) -> impl Iterator<Item = PortId> + use<'a> {
        let graph = self.graph;
        (0..graph.ports()).filter(move |&port| !graph.is_host(graph.port_owner(port)))
    }

    /// The sessions that are under way; made anew by each call.
    pub fn flows(&self) -> Vec<FlowView> {
        (self.flows)()
    }
}

/// What a controller changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A setting of a port's queue.
    Queue(PortId, Setting),
    /// The rate of a link, both directions; above zero.
    Rate(u32, Rate),
}

/// A controller at work.
pub trait Controller: fmt::Debug + Send {
    /// What is to be changed now.
    fn decide(&mut self, view: &View<'_>) -> Vec<Action>;
}

/// No control plane decides more often, and a run in which one did would do little else.
const SHORTEST_PERIOD: Duration = Duration::from_us(1);

/// The configuration of a controller.
pub trait ControllerConfig {
    /// Time from one decision to the next, at least 1 us.
    fn period(&self) -> Duration;
    /// Time from what is seen until what was decided takes effect.
    fn delay(&self) -> Duration;
    /// What is wrong with the other settings.
    fn check(&self) -> Vec<Fault>;
    /// Begins to control a fabric.
    fn start(&self, graph: &Graph) -> Box<dyn Controller>;
}

macro_rules! controllers {
    ($($(#[doc = $doc:literal])+ $name:ident($type:ty),)+) => {
        /// A controller of a scenario.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "law", rename_all = "kebab-case")]
        pub enum AnyController { $($(#[doc = $doc])+ $name($type),)+ }

        impl AnyController {
            /// Its configuration.
            pub fn config(&self) -> &dyn ControllerConfig {
                match self { $(Self::$name(config) => config,)+ }
            }
        }
    };
}

// The registry: one line per controller.
controllers! {
    /// Moves marking thresholds by the occupancy of queues.
    QueueOccupancy(QueueOccupancy),
}

impl AnyController {
    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        let config = self.config();
        let mut faults = config.check();
        if config.period() < SHORTEST_PERIOD {
            faults.push(Fault::new("period", format!("must be at least {SHORTEST_PERIOD}, not {}", config.period())));
        }
        faults
    }
}
