//! TCP for one transfer: an active sender of one object and a passive receiver.
//!
//! Implemented: three-way handshake and teardown (RFC 9293), sliding window, slow start and congestion avoidance
//! (RFC 5681), fast retransmit and recovery in the Reno, NewReno (RFC 6582) and SACK (RFC 2018, RFC 6675) manner,
//! limited transmit (RFC 3042), proportional rate reduction (RFC 9937), RACK-TLP (RFC 8985), the retransmission timer (RFC 6298), delayed ACKs,
//! ECN (RFC 3168), and the congestion controls of [`congestion`] with standard slow start or `HyStart++` (RFC 9406). A control sees
//! its flow (size, deadline, destination port) and may pace it.
//!
//! Not implemented, on purpose: data in both directions (the receiver only acknowledges), urgent data, RST, wrapping
//! sequence numbers (offsets are `u64`), TIME-WAIT, zero-window probes (the receiving application reads at once, so the
//! window never closes), Nagle's algorithm, timestamps, duplicate SACK, reneging receivers.
//!
//! The two most important types are [`Connection`], one end of a transfer, and [`Segment`], what a packet says.

mod algorithm;
mod config;
pub mod congestion;
mod connection;
mod flow;
mod outgoing;
mod pfabric;
mod probe;
mod prr;
mod rack;
mod receiver;
mod scoreboard;
mod segment;
mod sender;
mod sent;
mod swift;
mod timer;

#[cfg(test)]
mod tests;

pub use algorithm::Algorithm;
pub use config::{LongFlowBy, TcpConfig, WindowRules};
pub use connection::Connection;
pub use flow::FlowSpec;
pub use pfabric::PfabricConfig;
pub use segment::{Flags, Segment};
pub use swift::SwiftConfig;
