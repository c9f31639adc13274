//! Sessions with something in common, above all their transport.

use super::fallback::Fallback;
use crate::fabric::routing::RoutingMode;
use crate::host::protocol::Transport;
use crate::workload::{Barrier, PlacedJob, Session};
use anabranch_transport::tcp::FlowSpec;
use anabranch_transport::{Bytes, Duration};
use std::sync::Arc;

/// A group of sessions with something in common: one `[[workload]]` of a scenario.
#[derive(Clone, Debug)]
pub struct SessionGroup {
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
    /// [`Stop::Foreground`](super::Stop::Foreground) waits for its sessions, if they have an end.
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
    /// The sessions of each of its requests wait for one another, block after block.
    pub barrier: Option<Barrier>,
    /// Its sessions are the messages of a job, in order: each begins when its operation starts.
    pub job: Option<Arc<PlacedJob>>,
}

impl SessionGroup {
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
            barrier: None,
            job: None,
        }
    }

    /// What its transport is told of a connection that carries so many bytes, of a session that has been `held` so long: its time
    /// counts from when it wanted to begin. So many switches are on each of the shortest `paths` between its ends.
    pub(super) fn flow(&self, bytes: Option<Bytes>, held: Duration, hops: u8, paths: u32) -> FlowSpec {
        let deadline = self.deadline.map(|within| Duration(within.ps().saturating_sub(held.ps())));
        FlowSpec { bytes: bytes.map(|b| b.0), deadline, port: self.port, class: self.class, hops, paths }
    }

    /// Whether [`Stop::Foreground`](super::Stop::Foreground) waits for a session of this group.
    pub fn awaits(&self, session: &Session) -> bool {
        self.awaited && session.size.map_or(self.duration.is_some(), |size| size <= self.awaited_size)
    }
}
