//! What a run is made of: fabric, groups, sessions, and how it goes.

use super::fallback::Fallback;
use super::monitor::Sampling;
use super::schedule::Change;
use crate::control::AnyController;
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::jitter::Jitter;
use crate::fabric::queue::Queue;
use crate::fabric::routing::{RoutingConfig, RoutingMode};
use crate::host::protocol::Transport;
use crate::workload::Session;
use anabranch_transport::tcp::FlowSpec;
use anabranch_transport::{Bytes, Duration, Time};
use std::sync::Arc;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// When every awaited session is complete at all its receivers.
    Foreground,
    /// When nothing is left to happen: lingering endpoints have closed and every packet has arrived.
    Idle,
    /// At the time limit.
    Limit,
}

/// A group of sessions with something in common: one `[[workload]]` of a scenario.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name, for the result tables.
    pub name: String,
    /// The transport that its sessions run on.
    pub transport: Transport,
    /// How its packets find their way. A mode with path bits of its own has to be that of all groups.
    pub routing: RoutingMode,
    /// Class of its packets, up to 31: which queue is theirs at ports with [fair queues](crate::fabric::queue::fair).
    pub class: u8,
    /// Background traffic, kept apart in results.
    pub background: bool,
    /// [`Stop::Foreground`] waits for its sessions, if they have an end.
    pub awaited: bool,
    /// Of these, it waits for objects up to this size only.
    pub awaited_size: Bytes,
    /// Sessions without end stop after this time; `None`: with the run.
    pub duration: Option<Duration>,
    /// Time from its start within which a session is to be complete; `None`: no deadline.
    pub deadline: Option<Duration>,
    /// Destination port of its connections; 0: none is given.
    pub port: u16,
    /// How sessions with several ends are carried if the transport has none of its own; `None`: by the default of their mode.
    pub fallback: Option<Fallback>,
}

impl Group {
    /// Foreground sessions without anything special.
    pub fn new(name: &str, transport: Transport, routing: RoutingMode) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            routing,
            class: 0,
            background: false,
            awaited: true,
            awaited_size: Bytes(u64::MAX),
            duration: None,
            deadline: None,
            port: 0,
            fallback: None,
        }
    }

    /// What its transport is told of a connection that carries so many bytes.
    pub(super) fn flow(&self, bytes: Option<Bytes>) -> FlowSpec {
        FlowSpec { bytes: bytes.map(|b| b.0), deadline: self.deadline, port: self.port, class: self.class }
    }

    /// Whether [`Stop::Foreground`] waits for a session of this group.
    pub fn awaits(&self, session: &Session) -> bool {
        self.awaited && session.size.map_or(self.duration.is_some(), |size| size <= self.awaited_size)
    }
}

/// Everything that a run needs to know.
pub struct Setup {
    /// The fabric.
    pub graph: Arc<Graph>,
    /// Makes the queue of switch port `p`, and that of port `p` of a relaying host for the packets of others.
    pub queue: Box<dyn Fn(PortId) -> Queue + Send>,
    /// Groups that sessions refer to.
    pub groups: Vec<Group>,
    /// Sessions in order of start.
    pub sessions: Vec<Session>,
    /// The run's seed.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
    /// When to give up.
    pub time_limit: Time,
    /// Links and switches that change, in order of time.
    pub changes: Vec<(Time, Change)>,
    /// What to record over time.
    pub sampling: Sampling,
    /// What controls the fabric.
    pub controllers: Vec<AnyController>,
    /// Settings of the routing schemes, and multicast trees.
    pub routing: RoutingConfig,
    /// Bytes of memory for packets and for samples: a run that needs more ends.
    pub memory_limit: u64,
    /// Longest random pause of a host before it begins to send.
    pub host_jitter: Jitter,
    /// Pace of pulls: full packets that they ask for, over those that the incoming link carries. Above 0; 1 fills the link.
    pub pull_pace: f64,
    /// Switches send headers back to the sender when their header queue is full (NDP §3.2.4).
    pub return_to_sender: bool,
    /// Fair queues of a host's own port, one for each class of packets. 1: one queue for all.
    pub host_classes: u8,
    /// Switches that trim cut multicast packets as well. If not, one that would be cut is dropped.
    pub trim_multicast: bool,
    /// Whether hosts grant pulls to the most urgent sessions first. Otherwise sessions take turns.
    pub pulls_by_priority: bool,
}
