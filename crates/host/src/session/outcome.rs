//! How sessions end.

use std::fmt;
use std::net::SocketAddr;

use crate::wire::Refusal;

/// What became of one receiver of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has the object, and has compared its hash.
    Verified,
    /// It had the object before.
    AlreadyThere,
    /// It does not want it, or could not keep it.
    Refused(Refusal),
    /// It will not get it.
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
    /// Nothing has come from the peer for too long, or ever.
    #[error("no answer")]
    TimedOut,
    /// Senders are there, and tell no hashes of the object's parts: nothing that they send can be checked.
    #[error("no hashes of the object's parts came from {}: nothing that is sent can be checked", list(.from))]
    NoHashes {
        /// Who was asked.
        from: Vec<SocketAddr>,
    },
    /// The others have it, and this one was too slow to be waited for.
    #[error("too slow: the others went on without it")]
    GivenUp,
    /// The peer has ended the session.
    #[error("cancelled by the other side")]
    Cancelled,
    /// It was stopped here.
    #[error("stopped")]
    Stopped,
    /// It has all symbols, but did not say whether the object is right.
    #[error("has received everything, but did not confirm it")]
    Unconfirmed,
    /// The object that arrived is not the one that was announced.
    #[error("the content differs from its announced hash: did the file change while it was sent?")]
    Hash,
    /// Bytes came that are not of the object that was announced. Nothing of them was handed over.
    #[error("{peer} sent bytes that are not of the announced object: did the file change while it was sent?")]
    WrongBytes {
        /// Whose symbols they were decoded from.
        peer: SocketAddr,
    },
    /// Servers that were asked for one object have different ones.
    #[error("the replicas differ")]
    ReplicasDiffer,
    /// All that were asked refused.
    #[error("{0}")]
    Refused(String),
    /// The object could not be read.
    #[error("cannot read the object: {0}")]
    Read(String),
    /// What the peer announces is more than this host takes, or makes no sense.
    #[error("{0}")]
    Unacceptable(String),
}

fn list(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ")
}
