//! When a sender hands its next packet to the host.
//!
//! Homa's hosts keep their queues short, so that a shorter message need not wait behind packets of longer ones (§3.2, §4). So the message that stands
//! first hands over one packet when all that was in the host's queue before has left.

use crate::units::Time;

/// The turn of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Others come first.
    Others,
    /// Its own, from now on: when the queue will be empty is not known yet. A driver that never tells hands over only what can leave at once.
    Own,
    /// Its own, as soon as the queue that it found has left.
    At(Time),
}

impl Turn {
    /// Whether a packet may be handed over now.
    pub(super) fn has_come(self, now: Time) -> bool {
        match self {
            Self::Others => false,
            Self::Own => true,
            Self::At(time) => time <= now,
        }
    }
}
