//! How transports without group sessions carry sessions of several senders or receivers.

use super::Mode;
use super::error::Fault;
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

    /// What is wrong with it for sessions of this mode.
    pub(super) fn check(self, mode: Mode) -> Option<Fault> {
        if mode == self.mode() {
            return None;
        }
        let message = format!("is for {} sessions; these are {}", self.mode().name(), mode.name());
        let hint = match mode {
            Mode::Unicast => "leave it out: every transport has unicast sessions",
            Mode::OneToMany => "`fallback = \"multi-unicast\"` or `fallback = \"daisy-chain\"`",
            Mode::ManyToOne => "`fallback = \"nearest\"` or `fallback = \"partition\"`",
        };
        Some(Fault::new("fallback", message).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fits_one_mode() {
        assert!(Fallback::DaisyChain.check(Mode::OneToMany).is_none());
        assert!(Fallback::Partition.check(Mode::ManyToOne).is_none());
        let fault = Fallback::Nearest.check(Mode::OneToMany).unwrap();
        assert_eq!(fault.key, "fallback");
        assert!(fault.to_string().contains("is for many_to_one sessions; these are one_to_many"), "{fault}");
        assert!(Fallback::MultiUnicast.check(Mode::Unicast).is_some());
    }
}
