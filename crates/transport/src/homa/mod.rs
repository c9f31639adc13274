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

mod config;
mod grants;
mod header;
mod priorities;
mod receiver;
mod sender;
mod silence;

#[cfg(test)]
mod tests;

pub use crate::object::ENDLESS;
pub use config::HomaConfig;
pub use header::Header;
pub use priorities::Priorities;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::Endpoint;
use crate::ends::hand_on;

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

impl Endpoint for Connection {
    type Header = Header;

    hand_on!(basic);
    hand_on!(available);
    hand_on!(claims);
}
