//! What the programs tell their caller.

use std::net::SocketAddr;

use anabranch_host::{Failure, Manifest, ObjectName, Outcome, PublicKey};

/// What became of each receiver of a file; of one that was not tried, since it did not answer before, none.
pub type Outcomes = Vec<Option<Outcome>>;

/// What happened, for the caller, who answers whether to go on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Report {
    /// An object is received from now on.
    Began {
        /// From whom, of several the first to answer.
        peer: SocketAddr,
        /// What.
        manifest: Manifest,
        /// Bytes that are here from an earlier session.
        from: u64,
        /// Who vouches for it: the key of its signature, if it has one that fits.
        signer: Option<PublicKey>,
    },
    /// One of several servers that an object is fetched from has refused, or has sent what is not of the object: nothing of it is taken any more, and the
    /// others go on.
    Excluded {
        /// Which.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// One of several servers did not send in time what it alone was asked for. Another is asked; nothing that it has sent is known to be wrong.
    Withheld {
        /// Its address.
        peer: SocketAddr,
    },
    /// What was offered was refused by the [settings](anabranch_host::HostConfig): it or its packets are too large, or none of the signers there has signed it.
    Declined {
        /// Of whom.
        peer: SocketAddr,
        /// What it is called.
        name: ObjectName,
        /// Why.
        why: String,
    },
    /// Ten times a second: how far it is.
    Progress {
        /// Bytes that are written, or acknowledged by the slowest receiver, of all files.
        bytes: u64,
        /// Bytes in all.
        size: u64,
    },
    /// An object is complete, right, and on the disk.
    Received {
        /// What.
        manifest: Manifest,
    },
    /// The object that was offered is there already.
    AlreadyThere {
        /// What.
        manifest: Manifest,
    },
    /// An object could not be received.
    NotReceived {
        /// What it was called.
        name: ObjectName,
        /// Why.
        why: Failure,
        /// Bytes that are kept for the next session. Nothing else is left of it.
        kept: u64,
    },
    /// A file is offered to its receivers.
    Sending {
        /// Its place in the list of files.
        file: usize,
    },
    /// What became of one receiver of a file.
    Receiver {
        /// The file's place in the list of files.
        file: usize,
        /// The receiver's place in the list of receivers.
        index: usize,
        /// What became of it.
        outcome: Outcome,
    },
    /// A file is done with.
    Sent {
        /// Its place in the list of files.
        file: usize,
        /// What became of its receivers.
        outcomes: Outcomes,
        /// Bytes of all datagrams that were sent for it, without the headers of UDP and IP. What goes to a group counts once.
        sent_bytes: u64,
        /// Encoding symbols that were sent. One of which several receivers got a copy counts once.
        symbols: u64,
    },
    /// An object is served.
    Serving {
        /// To whom.
        peer: SocketAddr,
        /// What.
        manifest: Manifest,
    },
    /// A request was declined.
    NotServed {
        /// Of whom.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// A session that sent something is over.
    Served {
        /// To whom.
        peer: SocketAddr,
        /// What.
        manifest: Manifest,
        /// What became of it.
        outcome: Outcome,
        /// Bytes of all datagrams that were sent in it, without the headers of UDP and IP.
        sent_bytes: u64,
        /// Encoding symbols that were sent.
        symbols: u64,
    },
}

impl Report {
    /// Whether it tells what became of something: the rest is on the way to that.
    pub fn is_outcome(&self) -> bool {
        match self {
            Self::Received { .. }
            | Self::AlreadyThere { .. }
            | Self::NotReceived { .. }
            | Self::Receiver { .. }
            | Self::Sent { .. }
            | Self::Served { .. } => true,
            Self::Began { .. }
            | Self::Declined { .. }
            | Self::Excluded { .. }
            | Self::Withheld { .. }
            | Self::Progress { .. }
            | Self::Sending { .. }
            | Self::Serving { .. }
            | Self::NotServed { .. } => false,
        }
    }
}
