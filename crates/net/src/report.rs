//! Reports for the caller of the programs.

use std::net::SocketAddr;

use anabranch_host::{Delivery, Failure, Manifest, Narrow, ObjectName, Outcome, PublicKey};

/// The outcome for each receiver of a file; `None` for one that was skipped because it had not answered before.
pub type Outcomes = Vec<Option<Outcome>>;

/// An event for the caller, which decides whether to continue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Report {
    /// Reception of an object begins.
    Began {
        /// The sender; of several, the first that answered.
        peer: SocketAddr,
        /// The object.
        manifest: Manifest,
        /// Bytes that are here from an earlier session.
        from: u64,
        /// The key of its signature, if it has a valid one.
        signer: Option<PublicKey>,
    },
    /// One of several servers that an object is fetched from has refused, or has sent wrong bytes: it is ignored from now on, and the others
    /// continue.
    Excluded {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// One of several servers did not send in time what was asked of it alone. Another server is asked; nothing that this one has sent is known to be
    /// wrong.
    Withheld {
        /// Its address.
        peer: SocketAddr,
    },
    /// Packets do not arrive, while smaller ones do.
    Narrow {
        /// Which, and between whom.
        narrow: Narrow,
        /// The object is sent again with smaller packets, from what is kept of it; otherwise it comes from other servers.
        again: bool,
    },
    /// An offer was refused by the [settings](anabranch_host::HostConfig): the object or its packets are too large, or none of the permitted signers
    /// has signed it. Or it is a hidden file, or another object is being received under its name, or nothing has shown that its sender is there.
    Declined {
        /// The peer that offered it.
        peer: SocketAddr,
        /// The object's name.
        name: ObjectName,
        /// Why.
        why: String,
    },
    /// Progress, ten times a second.
    Progress {
        /// Bytes that have been written, or acknowledged by the slowest receiver, of all files.
        bytes: u64,
        /// Bytes in all.
        size: u64,
    },
    /// An object is complete, verified, and on the disk.
    Received {
        /// The object.
        manifest: Manifest,
    },
    /// The object that was offered is there already.
    AlreadyThere {
        /// The object.
        manifest: Manifest,
    },
    /// An object could not be received.
    NotReceived {
        /// The object's name.
        name: ObjectName,
        /// Why.
        why: Failure,
        /// Bytes that are kept for the next session. Nothing else is left of it.
        kept: u64,
    },
    /// Reception of an object ends because `report` has stopped it.
    Interrupted {
        /// The object's name.
        name: ObjectName,
        /// Its sender; of several, the first that answered.
        peer: SocketAddr,
        /// Bytes that are kept for the next session. Nothing else is left of it.
        kept: u64,
    },
    /// A file is offered to its receivers.
    Sending {
        /// Its place in the list of files.
        file: usize,
    },
    /// As many bytes of a file are under way as may be: its rate is what they make in a round trip.
    Full {
        /// The file's place in the list of files.
        file: usize,
        /// Those bytes.
        bytes: u64,
    },
    /// Symbols of a file reach one receiver in another way from now on.
    Delivery {
        /// The file's place in the list of files.
        file: usize,
        /// The receiver's place in the list of receivers.
        index: usize,
        /// How.
        delivery: Delivery,
    },
    /// The outcome for one receiver of a file.
    Receiver {
        /// The file's place in the list of files.
        file: usize,
        /// The receiver's place in the list of receivers.
        index: usize,
        /// The outcome.
        outcome: Outcome,
    },
    /// A file is finished.
    Sent {
        /// Its place in the list of files.
        file: usize,
        /// The outcomes for its receivers.
        outcomes: Outcomes,
        /// Bytes of all datagrams that were sent for it, without UDP and IP headers. A datagram to a group counts once.
        sent_bytes: u64,
        /// Encoding symbols that were sent. A symbol that several receivers got as copies counts once.
        symbols: u64,
    },
    /// The hash of a file that is served is known.
    Indexed {
        /// The object.
        manifest: Manifest,
    },
    /// A file in the folder that is served cannot be hashed.
    NotIndexed {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// An object is being sent to a peer that requested it.
    Serving {
        /// The peer.
        peer: SocketAddr,
        /// The object.
        manifest: Manifest,
    },
    /// A request was declined.
    NotServed {
        /// The peer.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// A session that sent something is over.
    Served {
        /// The peer.
        peer: SocketAddr,
        /// The object.
        manifest: Manifest,
        /// The outcome.
        outcome: Outcome,
        /// Bytes of all datagrams that were sent in it, without UDP and IP headers.
        sent_bytes: u64,
        /// Encoding symbols that were sent.
        symbols: u64,
    },
}

impl Report {
    /// Whether it reports the outcome of something; the other reports are steps on the way.
    pub fn is_outcome(&self) -> bool {
        match self {
            Self::Received { .. }
            | Self::AlreadyThere { .. }
            | Self::NotReceived { .. }
            | Self::Interrupted { .. }
            | Self::Receiver { .. }
            | Self::Sent { .. }
            | Self::Served { .. } => true,
            Self::Began { .. }
            | Self::Declined { .. }
            | Self::Excluded { .. }
            | Self::Withheld { .. }
            | Self::Narrow { .. }
            | Self::Progress { .. }
            | Self::Sending { .. }
            | Self::Indexed { .. }
            | Self::NotIndexed { .. }
            | Self::Full { .. }
            | Self::Delivery { .. }
            | Self::Serving { .. }
            | Self::NotServed { .. } => false,
        }
    }
}
