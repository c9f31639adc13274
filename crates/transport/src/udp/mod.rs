//! UDP (RFC 768): datagrams in one direction, without acknowledgement, repetition or congestion control.
//!
//! What the application has provided leaves at once, in full packets; the queue of the host puts them onto the wire one
//! after the other. So a source decides alone when its packets leave: background traffic that follows a volume series,
//! whatever the other transports do to it. What is lost stays lost.
//!
//! Not here: rate limits of the sender, and any memory of packets. Duplicates count twice, as they do for an application
//! over UDP.
//!
//! The two most important types are [`Sender`] and [`Receiver`]; [`Connection`] is either.

mod config;
mod receiver;
mod sender;

#[cfg(test)]
mod tests;

pub use config::UdpConfig;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::{Arrival, Endpoint, Event, Stats, Time, Transmit};

/// Header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which packet of the object: it starts `seq` full payloads after the object's first byte.
    pub seq: u64,
    /// Bytes of the whole object.
    pub object: u64,
}

/// Packets that an object of `bytes` takes: an empty one takes one.
fn packets(bytes: u64, payload: u64) -> u64 {
    bytes.div_ceil(payload).max(1)
}

/// Either end of a transfer.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the object.
    Sender(Sender),
    /// The end that wants it.
    Receiver(Receiver),
}

impl Endpoint for Connection {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if let Self::Receiver(end) = self {
            end.receive(now, arrival);
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        if let Self::Sender(end) = self {
            end.time_passes(now);
        }
    }
    fn set_departure(&mut self, at: Time) {
        if let Self::Sender(end) = self {
            end.set_departure(at);
        }
    }
    fn uses_departure(&self) -> bool {
        matches!(self, Self::Sender(_))
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        match self {
            Self::Sender(end) => end.next_packet(now),
            Self::Receiver(_) => None,
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Sender(end) => end.deadline(),
            Self::Receiver(_) => None,
        }
    }
    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Sender(end) => end.next_event(),
            Self::Receiver(end) => end.next_event(),
        }
    }
    fn set_available(&mut self, _now: Time, bytes: u64) {
        if let Self::Sender(end) = self {
            end.provide(bytes);
        }
    }
    fn stats(&self) -> Stats {
        match self {
            Self::Sender(end) => end.stats(),
            Self::Receiver(end) => end.stats(),
        }
    }
    fn waiting_for(&self) -> String {
        match self {
            Self::Sender(end) => end.waiting_for(),
            Self::Receiver(end) => end.waiting_for(),
        }
    }
}
