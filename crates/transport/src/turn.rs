//! When a sender hands its next packet to the host, where a host sends of all its flows that with the least left.
//!
//! Homa's hosts keep their queues short, so that a shorter message need not wait behind packets of longer ones (SIGCOMM 2018 §3.2, §4), and so do
//! pHost's. So the flow that stands first hands over one packet when all that was in the host's queue before has left.

use crate::standings::Standing;
use crate::units::Time;

/// The turn of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Others come first.
    Others,
    /// Its own, from now on: when the queue will be empty is not known yet. A driver that never tells hands over only what can leave at once.
    Own,
    /// Its own, as soon as the queue that it found has left.
    At(Time),
}

impl Turn {
    /// Whether a packet may be handed over now.
    pub(crate) fn has_come(self, now: Time) -> bool {
        match self {
            Self::Others => false,
            Self::Own => true,
            Self::At(time) => time <= now,
        }
    }

    /// What was in the host's queue when its turn came has left at this time.
    pub(crate) fn set_departure(&mut self, at: Time) {
        if *self == Self::Own {
            *self = Self::At(at);
        }
    }

    /// Its place among the flows of its host has changed.
    pub(crate) fn set_standing(&mut self, standing: Option<Standing>) {
        *self = match (standing, *self) {
            (None, _) => Self::Others,
            (Some(_), Self::Others) => Self::Own,
            (Some(_), turn) => turn,
        };
    }
}
