//! Ultra Ethernet's transport and its parent EQDS: packets sprayed by their sender over trimming switches, repaired one by one, and paced
//! by credit of the receiver, by a window of the sender, or by both.
//!
//! - **EQDS** (Olteanu et al., NSDI 2022): credit. A sender begins with a window of it, of its own accord. Its packets say how much more
//!   it wants; receivers grant that through the host's paced [`PullQueue`](crate::pull::PullQueue), what was trimmed first.
//! - **RCCC** (Ultra Ethernet 1.0, receiver-credit congestion control): the same, and all wishes are alike.
//! - **NSCC** (network-signal-based congestion control): a window by round trips and marks.
//!
//! Senders choose paths by an *entropy* in each packet, which switches hash with the flow (ECMP), and learn from acknowledgements
//! which of them are congested.
//!
//! Not here: messages and their ordering modes, loss detection without trimming (SLEEK), the receiver's
//! own limits (`PCIe`, oversubscription), security. The two most important types are [`Sender`] and [`Receiver`].

mod config;
mod credit;
mod entropy;
mod header;
mod nscc;
mod receiver;
mod sender;

#[cfg(test)]
mod tests;

pub use config::{Control, Spraying, UecConfig};
pub use header::Header;
pub use receiver::Receiver;
pub use sender::Sender;

use crate::Endpoint;
use crate::ends::hand_on;

/// Either end of a connection.
#[derive(Clone, Debug)]
pub enum Connection {
    /// The end that has the object.
    Sender(Sender),
    /// The end that wants it.
    Receiver(Receiver),
}

impl Endpoint for Connection {
    type Header = Header;

    hand_on!(basic);
    hand_on!(available);
    hand_on!(pulls);
    hand_on!(turns);

    fn congestion_window(&self) -> Option<u64> {
        match self {
            Self::Sender(end) => end.congestion_window(),
            Self::Receiver(_) => None,
        }
    }
}
