//! A flow: what its application says of it, and what a congestion control sees of it.

use crate::units::{Duration, Time};

/// What an application says of a flow when it opens it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSpec {
    /// Bytes to send; `None`: a stream without end.
    pub bytes: Option<u64>,
    /// Time from the opening within which the application wants them to arrive; `None`: no deadline.
    pub deadline: Option<Duration>,
    /// Destination port; 0: none is given.
    pub port: u16,
    /// Class of its packets, where switches have queues for several.
    pub class: u8,
    /// Switches on the shortest path between its ends; 0: unknown.
    pub hops: u8,
    /// Shortest paths between its ends; 0: unknown.
    pub paths: u32,
}

impl FlowSpec {
    /// A flow of so many bytes of which nothing else is known.
    pub fn of(bytes: Option<u64>) -> Self {
        Self { bytes, ..Self::default() }
    }
}

/// A flow as its congestion control sees it at one moment. Offsets count the application's bytes.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "all that is known of a flow, for controls that are added")]
pub(super) struct Flow {
    /// This moment.
    pub(super) now: Time,
    /// Smoothed round-trip time; zero before the first sample.
    pub(super) srtt: Duration,
    /// All bytes of the flow; `None`: a stream without end.
    pub(super) to_send: Option<u64>,
    /// Of these, sent at least once.
    pub(super) sent: u64,
    /// Of these, acknowledged.
    pub(super) acknowledged: u64,
    /// The most bytes that have waited in the socket's buffer at once, unsent or unacknowledged; `u64::MAX`: a stream without end.
    pub(super) most_queued: u64,
    /// When the application wants them to have arrived; `None`: no deadline.
    pub(super) deadline: Option<Time>,
    /// Destination port; 0: none is given.
    pub(super) port: u16,
    /// Class of its packets.
    pub(super) class: u8,
    /// Switches on the shortest path between its ends; 0: unknown.
    pub(super) hops: u8,
}

#[cfg(test)]
impl Flow {
    /// For tests of controls: a stream without end that has just been opened.
    pub(super) const NEW: Self = Self {
        now: Time::ZERO,
        srtt: Duration::ZERO,
        to_send: None,
        sent: 0,
        acknowledged: 0,
        most_queued: u64::MAX,
        deadline: None,
        port: 0,
        class: 0,
        hops: 0,
    };
}
