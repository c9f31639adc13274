//! pHost: receiver-driven transport over commodity switches with two or three strict priorities (Gao et al., CoNEXT 2015).
//!
//! A sender announces a flow (RTS). Its receiver gives out one token for each packet time of its link, to the flow with the least left, and each token
//! is good for one packet for a short time. So nobody reserves anything: a sender that has tokens of several receivers uses those of the flow with the
//! least left, lets the others expire, and their receivers turn to other senders (the gap rule). Flows of a few packets begin with free tokens.
//!
//! Which flow of a host comes first is decided by the host: both ends have a claim there and are told their
//! [standing](crate::standings::Standings). Tokens leave by the host's [pull queue](crate::pull::PullQueue).
//!
//! Not here: strict priorities and spraying are the fabric's.
//!
//! The two most important types are [`Sender`] and [`Receiver`]; [`Connection`] is either.

mod config;
mod header;
mod issue;
mod receiver;
mod sender;
mod tokens;

#[cfg(test)]
mod tests;

pub use crate::object::ENDLESS;
pub use config::PhostConfig;
pub use header::Header;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::Endpoint;
use crate::ends::hand_on;

/// Either end of a flow.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the data.
    Sender(Sender),
    /// The end that wants them.
    Receiver(Receiver),
}

impl Endpoint for Connection {
    type Header = Header;

    hand_on!(basic);
    hand_on!(available);
    hand_on!(pulls);
    hand_on!(claims);
}
