//! Events that a host reports to its application.

use std::net::SocketAddr;

use anabranch_transport::Stats;

use crate::Manifest;
use crate::session::{Delivery, Failure, Narrow, Outcome};
use crate::wire::{Object as Wanted, Refusal};

/// A session of a host. IDs are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) u64);

/// An event.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostEvent {
    /// An object is offered, or one that was asked for has been found: [`Host::accept`](crate::Host::accept) or [`Host::refuse`](crate::Host::refuse)
    /// it, or report that it is [already here](crate::Host::have).
    Offered {
        /// The peer that offers it; of several servers, the first that answered.
        peer: SocketAddr,
        /// The object's manifest.
        manifest: Manifest,
    },
    /// An object was offered that the [settings](crate::HostConfig) do not allow: it or its packets are too large, or none of the permitted signers
    /// has signed it. It was refused, and there is no session.
    Declined {
        /// The peer that offered it.
        peer: SocketAddr,
        /// The object's manifest.
        manifest: Manifest,
        /// The answer.
        refusal: Refusal,
    },
    /// The peer of a session that was [deferred](crate::Host::defer) or [accepted](crate::Host::accept) has shown that it is there now, at its
    /// address. From now on, work for this session is not done, and room not kept, for somebody who repeats a recorded packet.
    Confirmed {
        /// The peer.
        peer: SocketAddr,
    },
    /// A peer requests an object: [`Host::serve`](crate::Host::serve) it, or [`Host::refuse`](crate::Host::refuse).
    Requested {
        /// The peer.
        peer: SocketAddr,
        /// The object.
        object: Wanted,
    },
    /// Bytes of an object that is received, checked against its hash. Each byte is reported once; blocks come in any order.
    Block {
        /// Their offset in the object.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// All bytes have been handed over, and their sender is there now: compare the hash, if bytes of an earlier session are among them, and report
    /// the result with [`Host::checked`](crate::Host::checked). What arrived in a session that ends without this event is not the object, though all
    /// its bytes are right.
    Complete,
    /// This receiver was too slow for its group, and is sent symbols of its own. Leaving the group frees the link of the group's packets: see
    /// [`Host::listens_to_groups`](crate::Host::listens_to_groups).
    Detached,
    /// One of several servers that were asked for an object has refused, or has sent unacceptable data: it is ignored from now on. The others
    /// continue.
    Excluded {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// One of several servers did not send in time a block that it alone was asked for, in order to find the sender of wrong bytes. It may be slow,
    /// or withhold the block. Another server is asked for it, and this one is asked last from now on; nothing that it has sent is known to be wrong.
    Withheld {
        /// Its address.
        peer: SocketAddr,
    },
    /// Packets of one of several servers that were asked for an object do not arrive, while smaller ones do: it is ignored from now on. The others
    /// continue. The next session asks for smaller packets.
    Narrow(Narrow),
    /// The outcome for one receiver of an object that is sent.
    Receiver {
        /// Its place in the list of receivers.
        index: usize,
        /// Its address.
        peer: SocketAddr,
        /// The outcome.
        outcome: Outcome,
    },
    /// As many blocks of an object are under way as may be, and have been for a while: its rate is what that many bytes make in a round trip.
    Full {
        /// Bytes of those blocks.
        bytes: u64,
    },
    /// Symbols reach one receiver of an object that is sent in another way from now on.
    Delivery {
        /// Its place in the list of receivers.
        index: usize,
        /// Its address.
        peer: SocketAddr,
        /// How.
        delivery: Delivery,
    },
    /// An object will not be received.
    Failed(Failure),
    /// The session is over: its ID is no longer valid.
    Closed {
        /// Its counters.
        stats: Stats,
        /// Bytes of the datagrams that it has sent, counted once for each destination address: to a group, once.
        sent_bytes: u64,
    },
}

impl HostEvent {
    /// What a session has found out about a path, if the event says that.
    pub(crate) fn narrow(&self) -> Option<Narrow> {
        match self {
            Self::Narrow(narrow)
            | Self::Failed(Failure::Narrow(narrow))
            | Self::Receiver { outcome: Outcome::Failed(Failure::Narrow(narrow)), .. } => Some(*narrow),
            _ => None,
        }
    }
}
