//! What a run is made of: fabric, groups, sessions, and how it goes.

use super::schedule::Change;
use super::session_group::SessionGroup;
use crate::control::SharedController;
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::jitter::Jitter;
use crate::fabric::pfc::Pfc;
use crate::fabric::queue::Queue;
use crate::fabric::routing::RoutingConfig;
use crate::workload::Session;
use anabranch_transport::{Duration, Time};
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

/// What to record over time. Recording never changes behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each series")]
pub struct Sampling {
    /// Time between samples; zero records nothing.
    pub interval: Duration,
    /// Queue length of every port that is not empty.
    pub queues: bool,
    /// Utilisation of every link that was used.
    pub links: bool,
    /// Congestion window of these sessions.
    pub windows: Vec<u32>,
    /// Bytes delivered by every session.
    pub goodput: bool,
    /// Bytes sent by every link that was used.
    pub volumes: bool,
    /// When each operation of jobs began and ended.
    pub operations: bool,
    /// When the measured window begins.
    pub warmup: Duration,
    /// How long it lasts; `None`: until the last request.
    pub window: Option<Duration>,
}

/// Everything that a run needs to know.
pub struct Setup {
    /// The fabric.
    pub graph: Arc<Graph>,
    /// Makes the queue of switch port `p`, and that of port `p` of a relaying host for the packets of others.
    pub queue: Box<dyn Fn(PortId) -> Queue + Send>,
    /// If switches pause who sends to them. Then all ports of the fabric belong to hosts with one link or to switches, no link
    /// fails, and no queue trims or drops what waits.
    pub pfc: Option<Pfc>,
    /// Groups that sessions refer to.
    pub groups: Vec<SessionGroup>,
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
    pub controllers: Vec<SharedController>,
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
    /// For how long hosts hold packets back that have overtaken others of their flow, where transports can be given them [in
    /// order](crate::host::resequencer); `None`: not at all.
    pub reorder: Option<Duration>,
    /// Whether hosts grant pulls to the most urgent sessions first. Otherwise sessions take turns.
    pub pulls_by_priority: bool,
}
