//! How sessions end.

use std::fmt;
use std::net::SocketAddr;

use super::narrow::Narrow;
use crate::wire::Refusal;

/// How symbols reach a receiver of an object that goes to several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// By the group again, after copies.
    Group,
    /// As copies by unicast: what is sent to the group does not reach the receiver.
    Copies,
    /// By unicast, at its own pace: it held the others back, or came when there was nothing left to join.
    Alone,
    /// With the others from now on: it came when they had part of the object already, and is sent that part afterwards, by unicast.
    Late {
        /// Bytes of that part.
        missed: u64,
    },
}

/// The outcome for one receiver of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has the object and has verified its hash.
    Verified,
    /// It had the object before.
    AlreadyThere,
    /// It does not want the object, or could not store it.
    Refused(Refusal),
    /// It will not get the object.
    Failed(Failure),
}

impl Outcome {
    /// Whether the receiver has the object.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Verified | Self::AlreadyThere)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified => f.write_str("verified"),
            Self::AlreadyThere => f.write_str("had it already"),
            Self::Refused(refusal) => write!(f, "refused: {}", refusal.text()),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

/// Why a session failed, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Nothing has arrived from the peer for too long, or ever.
    #[error("no answer")]
    TimedOut,
    /// Senders are alive but send no hashes of the object's parts, so nothing that they send can be checked.
    #[error("no hashes of the object's parts came from {}: nothing that is sent can be checked", list(.from))]
    NoHashes {
        /// The senders that were asked.
        from: Vec<SocketAddr>,
    },
    /// The other receivers have the object, and this one was too slow to wait for.
    #[error("too slow: the others went on without it")]
    GivenUp,
    /// The receiver asked for many times what it needs, and completed nothing.
    #[error("asked for many times what it needs, and completed nothing")]
    Insatiable,
    /// The peer ended the session.
    #[error("cancelled by the other side")]
    Cancelled,
    /// The session was stopped locally.
    #[error("stopped")]
    Stopped,
    /// The receiver has all symbols but did not report whether the object is right.
    #[error("has received everything, but did not confirm it")]
    Unconfirmed,
    /// The object that arrived is not the one that was announced.
    #[error("the content differs from its announced hash: did the file change while it was sent?")]
    Hash,
    /// Bytes arrived that do not belong to the announced object. None of them was handed over.
    #[error("{peer} sent bytes that are not of the announced object: did the file change while it was sent?")]
    WrongBytes {
        /// The sender of the symbols from which they were decoded.
        peer: SocketAddr,
    },
    /// Servers that were asked for one object have different ones.
    #[error("the replicas differ")]
    ReplicasDiffer,
    /// All servers that were asked refused.
    #[error("{0}")]
    Refused(String),
    /// Packets of a session's size do not arrive, while smaller ones do.
    #[error("{0}")]
    Narrow(Narrow),
    /// The object could not be read.
    #[error("cannot read the object: {0}")]
    Read(String),
    /// What the peer announces exceeds this host's limits or is inconsistent.
    #[error("{0}")]
    Unacceptable(String),
}

fn list(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ")
}
