//! How transports without group sessions carry sessions of several senders or receivers.

use crate::workload::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a transport without group sessions carries one-to-many or many-to-one sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// One-to-many, the default: a connection to each receiver, all at once.
    MultiUnicast,
    /// One-to-many: a connection to the first receiver, one from there to the second, and so on; each forwards what has
    /// arrived in order.
    DaisyChain,
    /// Many-to-one, the default: one connection, from a sender in the receiver's rack, or else from a random one.
    Nearest,
    /// Many-to-one: each of n senders sends a part of its own, one n-th of the object, all at once.
    Partition,
}

impl Fallback {
    /// What it is for.
    pub fn mode(self) -> Mode {
        match self {
            Self::MultiUnicast | Self::DaisyChain => Mode::OneToMany,
            Self::Nearest | Self::Partition => Mode::ManyToOne,
        }
    }
}
