//! What a host tells its application.

use std::net::SocketAddr;

use anabranch_transport::Stats;

use crate::Manifest;
use crate::session::{Failure, Outcome};
use crate::wire::{Object as Wanted, Refusal};

/// A session of a host. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub(crate) u64);

/// What happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostEvent {
    /// An object is offered, or one that was asked for has been found: [`Host::accept`](crate::Host::accept) or [`Host::refuse`](crate::Host::refuse) it, or say that
    /// it is [already here](crate::Host::have).
    Offered {
        /// By whom, of several servers the first to answer.
        peer: SocketAddr,
        /// What it is.
        manifest: Manifest,
    },
    /// An object was offered that the [settings](crate::HostConfig) do not allow: it or its packets are too large, or none of the signers there has signed it. It was
    /// refused, and there is no session.
    Declined {
        /// By whom.
        peer: SocketAddr,
        /// What it would have been.
        manifest: Manifest,
        /// The answer.
        refusal: Refusal,
    },
    /// Somebody wants an object: [`Host::serve`](crate::Host::serve) it, or [`Host::refuse`](crate::Host::refuse).
    Requested {
        /// Who.
        peer: SocketAddr,
        /// What.
        object: Wanted,
    },
    /// Bytes of an object that is received, checked against its hash. Each comes once, in any order.
    Block {
        /// Where they belong.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// All bytes were handed over, and their sender is there now: compare the hash, if bytes of an earlier session are among them, and tell with
    /// [`Host::checked`](crate::Host::checked). What there is of a session that ends without this is not the object, though all its bytes are right.
    Complete,
    /// This receiver was too slow for its group, and is sent symbols of its own. Leaving the group frees the link of what is sent there:
    /// see [`Host::listens_to_groups`](crate::Host::listens_to_groups).
    Detached,
    /// One of several servers that an object is asked of has refused, or has sent what is not taken: from now on nothing of it is. The others go on.
    Excluded {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// One of several servers that an object is asked of did not send in time a block that it alone was asked for, to find out who sends wrong bytes. It may be slow, or
    /// withhold it. Another is asked, and it is asked last from now on; nothing that it has sent is known to be wrong.
    Withheld {
        /// Its address.
        peer: SocketAddr,
    },
    /// What became of one receiver of an object that is sent.
    Receiver {
        /// Its place in the list of receivers.
        index: usize,
        /// Its address.
        peer: SocketAddr,
        /// What became of it.
        outcome: Outcome,
    },
    /// An object will not be received.
    Failed(Failure),
    /// The session is over: its number means nothing any more.
    Closed {
        /// Its counters.
        stats: Stats,
        /// Bytes of the datagrams that it has sent, once for each address: of a group, once.
        sent_bytes: u64,
    },
}
