//! What a controller sees of the fabric.

use crate::fabric::graph::{Graph, PortId};
use crate::fabric::port::{Port, PortCounters};
use crate::fabric::queue::watched::{ClassCounters, FlowCounters, Watched};
use crate::fabric::queue::{Discipline as _, Limit, Queue};
use crate::fabric::routing::Routes;
use crate::host::EndpointId;
use anabranch_transport::{Bytes, Rate, Time};
use std::collections::BTreeMap;

/// The most paths of a pair that a controller is told of: those of a fat-tree of k = 64.
pub const MOST_PATHS: usize = 1024;

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

/// A session, as the first switch could tell it from its packets. Source ports are not modelled: of sessions with the same
/// hosts and destination port, the number tells which is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowView {
    /// Number of the session.
    pub session: u32,
    /// Sending and receiving host; of several, the first.
    pub source: u32,
    /// See `source`.
    pub destination: u32,
    /// Which `[[workload]]` it belongs to.
    pub group: u16,
    /// Class of its packets.
    pub class: u8,
    /// Destination port; 0: none is given.
    pub port: u16,
    /// Bytes that it has to send, which no switch knows; `None`: without end.
    pub size: Option<Bytes>,
    /// Bytes that its receivers have got so far.
    pub delivered: Bytes,
    /// Bytes that its application has handed over and its receivers have not got yet: what waits in the socket's buffer, a trip through the fabric
    /// earlier. Without end: `u64::MAX`.
    pub waiting: Bytes,
    /// When it began.
    pub start: Time,
    /// Whether it is under way.
    pub open: bool,
    /// Whether a controller may [choose its path](super::Action::Place): it is one connection with one sender and one receiver, and its routing is
    /// per flow.
    pub placeable: bool,
}

impl FlowView {
    /// Whether it has at least so many bytes to send: what is not known before its end but to those who send.
    pub fn is_long(&self, from: Bytes) -> bool {
        self.size.is_none_or(|size| size >= from)
    }
}

/// What a session has sent by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFlow {
    /// The session.
    pub flow: FlowView,
    /// Its data packets at this port.
    pub counters: FlowCounters,
}

impl PortFlow {
    /// Whether it has sent at least so many bytes by this port.
    pub fn is_long(&self, from: Bytes) -> bool {
        self.counters.bytes >= from.0
    }
}

/// Knows the sessions.
pub trait Sessions {
    /// Those that are under way.
    fn under_way(&self) -> Vec<FlowView>;
    /// That of an endpoint.
    fn of(&self, endpoint: EndpointId) -> FlowView;
}

/// What a controller sees: the fabric now.
pub struct View<'a> {
    now: Time,
    graph: &'a Graph,
    routes: &'a Routes,
    ports: &'a [Port],
    links_up: &'a [bool],
    sessions: &'a dyn Sessions,
}

impl<'a> View<'a> {
    /// The ports have caught up with `now`.
    pub fn new(
        now: Time,
        graph: &'a Graph,
        routes: &'a Routes,
        ports: &'a [Port],
        links_up: &'a [bool],
        sessions: &'a dyn Sessions,
    ) -> Self {
        Self { now, graph, routes, ports, links_up, sessions }
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Nodes and links.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// The shortest paths between two hosts over the links that work now, as egress ports from `source` on, in order of ports; of more than
    /// [`MOST_PATHS`], the first.
    pub fn paths(&self, source: u32, destination: u32) -> Vec<Vec<PortId>> {
        self.routes.all_paths(self.graph, source, destination, MOST_PATHS)
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

    /// What a switch's port has done with the packets of each class: the bands of priorities, the transports of fair queues; else
    /// all packets are of one class.
    ///
    /// # Panics
    /// If no controller of the run [watches](super::ControllerConfig::watches) classes, or if it is a host's port.
    pub fn classes(&self, port: PortId) -> &'a [ClassCounters] {
        let counters = self.watched(port).class_counters();
        assert!(!counters.is_empty(), "a controller that looks at classes says so in `watches`");
        counters
    }

    /// The sessions whose data has come to a switch's port since the longest period of a controller of the run that watches
    /// flows, or are under way; by number.
    ///
    /// # Panics
    /// If no controller of the run [watches](super::ControllerConfig::watches) flows, or if it is a host's port.
    pub fn flows_at(&self, port: PortId) -> Vec<PortFlow> {
        let counters =
            self.watched(port).flow_counters().expect("a controller that looks at flows says so in `watches`");
        let mut flows: BTreeMap<u32, PortFlow> = BTreeMap::new();
        for (&endpoint, &more) in counters {
            let flow = self.sessions.of(endpoint);
            let of = |known: &mut PortFlow| {
                let sum = &mut known.counters;
                sum.packets += more.packets;
                sum.bytes += more.bytes;
                sum.first = sum.first.min(more.first);
                sum.last = sum.last.max(more.last);
            };
            flows.entry(flow.session).and_modify(of).or_insert(PortFlow { flow, counters: more });
        }
        flows.into_values().collect()
    }

    fn watched(&self, port: PortId) -> &'a Watched {
        match self.ports[port as usize].queue() {
            Queue::Watched(watched) => watched,
            _ => panic!("port {port} is a host's, or no controller says in `watches` what it looks at"),
        }
    }

    /// The sessions that are under way; made anew by each call.
    pub fn flows(&self) -> Vec<FlowView> {
        self.sessions.under_way()
    }
}
