//! NDP: receiver-driven transport over switches that trim (Handley et al., SIGCOMM 2017; Alasmar §2.4.9 and chapter 4).
//!
//! A sender pushes an initial window unasked and from then on sends one packet for each pull. The receiver answers
//! every packet at once with an ACK, every trimmed header with a NACK, and asks for one more packet for each of them;
//! all connections of a host share one paced [`PullQueue`](crate::pull::PullQueue), so that what was asked for just
//! fills its link.
//!
//! Not here: trimming, returning headers to senders and spraying over paths are the fabric's; pacing and fairness of
//! pulls are the pull queue's; priorities among the pulls of a host (NDP §3.2) do not exist.
//!
//! The two most important types are [`Sender`] and [`Receiver`]; [`Connection`] is either.

mod arrived;
mod config;
mod header;
mod pulls;
mod receiver;
mod sender;
mod timer;
mod window;

#[cfg(test)]
mod tests;

pub use crate::object::ENDLESS;
pub use config::NdpConfig;
pub use header::{Header, Stamp};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::{Arrival, Endpoint, Event, Stats, Time, Transmit};

/// Either end of an NDP connection.
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
        match self {
            Self::Sender(end) => end.handle_packet(now, arrival),
            Self::Receiver(end) => end.handle_packet(now, arrival),
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Sender(end) => end.handle_timeout(now),
            Self::Receiver(end) => end.handle_timeout(now),
        }
    }
    fn set_departure(&mut self, at: Time) {
        match self {
            Self::Sender(end) => end.set_departure(at),
            Self::Receiver(end) => end.set_departure(at),
        }
    }
    fn uses_departure(&self) -> bool {
        match self {
            Self::Sender(end) => end.uses_departure(),
            Self::Receiver(end) => end.uses_departure(),
        }
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        match self {
            Self::Sender(end) => end.poll_transmit(now),
            Self::Receiver(end) => end.poll_transmit(now),
        }
    }
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Sender(end) => end.poll_timeout(),
            Self::Receiver(end) => end.poll_timeout(),
        }
    }
    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Sender(end) => end.poll_event(),
            Self::Receiver(end) => end.poll_event(),
        }
    }
    fn set_available(&mut self, now: Time, bytes: u64) {
        match self {
            Self::Sender(end) => end.set_available(now, bytes),
            Self::Receiver(end) => end.set_available(now, bytes),
        }
    }
    fn pending_pulls(&self) -> u32 {
        match self {
            Self::Sender(end) => end.pending_pulls(),
            Self::Receiver(end) => end.pending_pulls(),
        }
    }
    fn pull_priority(&self) -> u8 {
        match self {
            Self::Sender(end) => end.pull_priority(),
            Self::Receiver(end) => end.pull_priority(),
        }
    }
    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        match self {
            Self::Sender(end) => end.poll_pull(now),
            Self::Receiver(end) => end.poll_pull(now),
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
