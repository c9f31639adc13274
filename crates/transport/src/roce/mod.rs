//! RoCEv2's reliable connection (InfiniBand Architecture Specification, volume 1, §9.7, and its Annex A17): a message in packets with sequence
//! numbers, *go-back-N*.
//!
//! A receiver takes packets in order only. After a gap it says once which packet it expects (NAK), and the sender sends that one and all
//! after it again; if even this is lost, a timeout does the same. So the transport needs a fabric that loses nothing (`switch.pfc`),
//! and one path for each connection. Or it keeps what comes out of order and says so, and the sender repeats what is missing
//! ([selective repeat](Repeat::Selective)).
//!
//! Interfaces make packets when their link can send them, not before: a sender hands over a packet when its host's queue is empty, and a host that
//! is paused has packets in its memory, not in its queue.
//!
//! [DCQCN](DcqcnConfig), [TIMELY](TimelyConfig) or [HPCC](HpccConfig) controls the rate, if it is asked for.
//!
//! Not here: connection set-up, receive credits, RETH and other extended headers, reads and atomics.

mod config;
mod congestion;
mod connectx;
mod dcqcn;
mod hpcc;
mod receiver;
mod repairs;
mod segments;
mod sender;
mod timely;

#[cfg(test)]
mod tests;

pub use config::{Repeat, RoceConfig};
pub use congestion::Congestion;
pub use dcqcn::{Constants, DcqcnConfig, Rules};
pub use hpcc::HpccConfig;
pub use receiver::Receiver;
pub use sender::Sender;
pub use timely::{TimelyConfig, Variant};

use crate::ends::hand_on;
use crate::telemetry::Telemetry;
use crate::{Arrival, Endpoint, Event, Rate, Stats, Time, Transmit};

/// Headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it says.
    pub bth: Bth,
    /// What switches wrote into it; in answers, into the packet that they answer ([HPCC](HpccConfig)).
    pub telemetry: Telemetry,
}

impl From<Bth> for Header {
    fn from(bth: Bth) -> Self {
        Self { bth, telemetry: Telemetry::EMPTY }
    }
}

/// Base transport header of a packet. Packets count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bth {
    /// A packet of the message.
    Data {
        /// Its number, of which the last 32 bits are here (of a real PSN 24).
        psn: u32,
        /// Bytes of the whole message.
        message: u64,
        /// It is to be acknowledged at once (`AckReq` of the BTH).
        asks: bool,
    },
    /// All packets before this one have arrived.
    Ack(u64),
    /// This packet is expected, and a later one has arrived.
    Nak(u64),
    /// This packet has arrived, and one before it has not.
    Gap {
        /// All packets before this one have arrived.
        expected: u64,
        /// The last 32 bits of its number.
        got: u32,
    },
    /// Marked packets have arrived ([DCQCN](DcqcnConfig)).
    Cnp,
}

/// The number of a packet of which the last 32 bits are `psn`, and which is not far from `near`.
fn whole(psn: u32, near: u64) -> u64 {
    near.saturating_add_signed(i64::from(psn.wrapping_sub(near as u32) as i32))
}

/// Packets that a message of `bytes` takes: an empty one takes one.
fn packets(bytes: u64, payload: u64) -> u64 {
    bytes.div_ceil(payload).max(1)
}

/// Either end of a transfer.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the message.
    Sender(Sender),
    /// The end that wants it.
    Receiver(Receiver),
}

/// Calls a method of either end.
macro_rules! either {
    ($self:ident, $end:ident => $call:expr) => {
        match $self {
            Connection::Sender($end) => $call,
            Connection::Receiver($end) => $call,
        }
    };
}

impl Endpoint for Connection {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        either!(self, end => end.receive(now, arrival));
    }
    fn handle_timeout(&mut self, now: Time) {
        either!(self, end => end.time_passes(now));
    }
    fn set_line(&mut self, rate: Rate) {
        if let Self::Sender(end) = self {
            end.set_line(rate);
        }
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if let Self::Receiver(end) = self { end.next_packet(now) } else { None }
    }

    hand_on!(turns);

    fn poll_timeout(&self) -> Option<Time> {
        either!(self, end => end.deadline())
    }
    fn poll_event(&mut self) -> Option<Event> {
        either!(self, end => end.next_event())
    }
    fn set_available(&mut self, _now: Time, bytes: u64) {
        if let Self::Sender(end) = self {
            end.provide(bytes);
        }
    }
    fn stats(&self) -> Stats {
        either!(self, end => end.stats())
    }
    fn congestion_window(&self) -> Option<u64> {
        if let Self::Sender(end) = self { end.window() } else { None }
    }
    fn waiting_for(&self) -> String {
        either!(self, end => end.waiting_for())
    }
}
