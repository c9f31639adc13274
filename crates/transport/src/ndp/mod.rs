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

pub(crate) mod arrived;
mod config;
mod group;
mod header;
mod pulls;
mod receiver;
mod sender;
pub(crate) mod timer;
pub(crate) mod window;

#[cfg(test)]
mod tests;

pub use crate::object::ENDLESS;
pub use config::{Multicast, NdpConfig};
pub use group::GroupSender;
pub use header::{Header, Stamp};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::Endpoint;
use crate::ends::hand_on;

/// An end of an NDP connection.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the object.
    Sender(Sender),
    /// The end that has it for several receivers.
    GroupSender(GroupSender),
    /// The end that wants it.
    Receiver(Receiver),
}

impl Endpoint for Connection {
    type Header = Header;

    hand_on!(basic, GroupSender);
    hand_on!(available, GroupSender);
    hand_on!(pulls, GroupSender);
}
