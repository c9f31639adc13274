//! Data-centre transports as sans-IO state machines.
//!
//! Nothing here owns a socket, a clock, a thread or a source of randomness. A driver (the simulator, or the UDP
//! endpoint) tells an [`Endpoint`] what arrived and what time it is, and asks it what to send, when to wake it, and
//! what happened. The shape is that of `quinn-proto`.
//!
//! The two most important types are [`Endpoint`], which every transport implements, and [`Transmit`], one packet that
//! an endpoint wants on the wire. Packets carry no payload bytes: a header says which bytes or which encoding symbol
//! the payload would be.

mod arrived;
mod back_off;
pub mod config;
mod demotion;
pub mod endpoint;
mod ends;
pub mod homa;
pub mod multipath;
pub mod ndp;
mod object;
mod outbox;
pub mod pacer;
pub mod phost;
pub mod pull;
mod random;
mod ranges;
pub mod rank;
mod retries;
pub mod roce;
mod round_trip;
pub mod scdp;
pub mod standings;
pub mod tcp;
pub mod telemetry;
mod turn;
pub mod udp;
pub mod uec;
pub mod units;

#[cfg(test)]
mod testing;

pub use back_off::back_off;
pub use config::ConfigError;
pub use demotion::PriorityBy;
pub use endpoint::{Arrival, Endpoint, Event, FailureReason, GROUP, Peer, Stats, Transmit};
pub use units::{Bytes, Duration, Rate, Time};
