//! Homa: receiver-driven transport over switches with strict priorities (Montazeri et al., SIGCOMM 2018).
//!
//! A sender sends the first `RTTbytes` of a message unasked, and the rest as its receiver grants it. A receiver grants to the messages with the least
//! left, several at once so that its link is not idle while one of their senders serves another receiver, and says with each grant which priority
//! the granted packets have; those of unscheduled packets follow from the message's size. A host sends, of all its messages, that with the least left.
//!
//! Which messages of a host come first is decided by the host: both ends have a claim there and are told their
//! [standing](crate::standings::Standings).
//!
//! Not here: strict priorities and spraying are the fabric's. Messages go one way: there are no requests and responses, and with them no incast
//! control (§3.6); that a message has arrived is acknowledged.
//!
//! The two most important types are [`Sender`] and [`Receiver`]; [`Connection`] is either.

mod arrived;
mod config;
mod grants;
mod header;
mod priorities;
mod receiver;
mod sender;
mod silence;
mod turn;

#[cfg(test)]
mod tests;

pub use crate::object::ENDLESS;
pub use config::HomaConfig;
pub use header::Header;
pub use priorities::Priorities;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::standings::{ClaimChange, Standing};
use crate::{Arrival, Endpoint, Event, Stats, Time, Transmit};

/// What is sent again has the highest priority (`HomaModule`, `homa_request_retrans`).
const PRIORITY_OF_RESENT: u8 = 0;

/// Either end of a message.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the message.
    Sender(Sender),
    /// The end that wants it.
    Receiver(Receiver),
}

/// Asks the end that it is.
macro_rules! either {
    ($connection:ident, $end:ident => $call:expr) => {
        match $connection {
            Self::Sender($end) => $call,
            Self::Receiver($end) => $call,
        }
    };
}

impl Endpoint for Connection {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        either!(self, end => end.handle_packet(now, arrival));
    }
    fn handle_timeout(&mut self, now: Time) {
        either!(self, end => end.handle_timeout(now));
    }
    fn set_departure(&mut self, at: Time) {
        either!(self, end => end.set_departure(at));
    }
    fn uses_departure(&self) -> bool {
        either!(self, end => end.uses_departure())
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        either!(self, end => end.poll_transmit(now))
    }
    fn poll_timeout(&self) -> Option<Time> {
        either!(self, end => end.poll_timeout())
    }
    fn poll_event(&mut self) -> Option<Event> {
        either!(self, end => end.poll_event())
    }
    fn poll_claim(&mut self) -> Option<ClaimChange> {
        either!(self, end => end.poll_claim())
    }
    fn claim(&self) -> Option<u64> {
        either!(self, end => end.claim())
    }
    fn set_standing(&mut self, now: Time, standing: Option<Standing>) {
        either!(self, end => end.set_standing(now, standing));
    }
    fn set_available(&mut self, now: Time, bytes: u64) {
        either!(self, end => end.set_available(now, bytes));
    }
    fn stats(&self) -> Stats {
        either!(self, end => end.stats())
    }
    fn waiting_for(&self) -> String {
        either!(self, end => end.waiting_for())
    }
}
