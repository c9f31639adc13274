//! The end that has the object: sends what there is, once.

use super::{Header, UdpConfig, packets};
use crate::units::Time;
use crate::{Event, Stats, Transmit};

/// The receiver, for the sender.
const RECEIVER: crate::Peer = 0;

/// The sending end. `linger` after its last packet has left the host it reports what has not arrived for lost
/// (`PeerDropped`) and `Closed`.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Packets of the object, and the next one to be sent.
    total: u64,
    next: u64,
    /// Bytes of the object, and those that the application has provided.
    object: u64,
    available: u64,
    config: UdpConfig,
    /// When the next packet can leave the host, if that is not at once.
    departure: Time,
    /// When to close.
    deadline: Option<Time>,
    /// Events that have not been told, the last one first.
    events: Vec<Event>,
}

impl Sender {
    /// Sends an object of `object_bytes`. Of a stream without end (`None`) it sends what
    /// [`set_available`](crate::Endpoint::set_available) provides: nothing else would hold it back. `config` must be valid.
    pub fn new(config: &UdpConfig, object_bytes: Option<u64>) -> Self {
        let object = object_bytes.unwrap_or(u64::MAX);
        Self {
            total: packets(object, config.payload()),
            next: 0,
            object,
            available: object_bytes.unwrap_or(0),
            config: config.clone(),
            departure: Time::ZERO,
            deadline: None,
            events: Vec::new(),
        }
    }

    /// The application has the first `bytes` bytes of the object.
    pub(super) fn provide(&mut self, bytes: u64) {
        self.available = bytes;
    }

    /// The next packet, if the application has provided all of it.
    pub(super) fn next_packet(&mut self, now: Time) -> Option<Transmit<Header>> {
        let payload = self.config.payload();
        let start = self.next.saturating_mul(payload);
        let end = start.saturating_add(payload).min(self.object);
        if self.next == self.total || end > self.available {
            return None;
        }
        let header = Header { seq: self.next, object: self.object };
        self.next += 1;
        if self.next == self.total {
            self.deadline = Some(now.max(self.departure) + self.config.linger);
        }
        let (headers, payload) = (self.config.header.0 as u32, (end - start) as u32);
        Some(Transmit {
            priority: self.config.priority,
            ect: self.config.ect,
            ..Transmit::data(header, RECEIVER, headers + payload, headers)
        })
    }

    /// The next packet does not leave the host before this time.
    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    pub(super) fn time_passes(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.events = vec![Event::Closed, Event::PeerDropped(RECEIVER)];
        }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { data_sent: self.next, ..Stats::default() }
    }

    pub(super) fn waiting_for(&self) -> String {
        let (next, total) = (self.next, self.total);
        if next < total {
            return format!("UDP sender: its application, which has provided {next} of {total} packets");
        }
        format!("UDP sender: has sent all {total} packets")
    }
}
