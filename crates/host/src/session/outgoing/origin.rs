//! How a session that sends began, and how much may go to an address that is not known to be the receiver's own.

use std::net::SocketAddr;

use crate::wire::Salt;

/// Bytes that may go to an address before it has shown that it receives them, for each byte that came from it (RFC 9000 §8.1).
const AMPLIFICATION: usize = 3;

/// How a session began.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This host has offered the object, to a group perhaps.
    Offered {
        /// This host's.
        salt: Salt,
        /// Where symbols go that are for all.
        group: Option<SocketAddr>,
    },
    /// The receiver has asked for it, and is answered.
    Requested {
        /// Bytes that may still be sent before the receiver's address is known to be its own.
        allowance: Option<usize>,
    },
}

impl Origin {
    /// A request of so many bytes has come, from an address that is known to be the receiver's own if it is `validated`.
    pub(crate) fn requested(bytes: usize, validated: bool) -> Self {
        Self::Requested { allowance: (!validated).then_some(AMPLIFICATION * bytes) }
    }

    /// Where symbols go that are for all, if there is a group.
    pub(super) fn group(&self) -> Option<SocketAddr> {
        match self {
            Self::Offered { group, .. } => *group,
            Self::Requested { .. } => None,
        }
    }

    /// The salt with which this end opened the session, if it did.
    pub(super) fn opened_with(&self) -> Option<Salt> {
        match self {
            Self::Offered { salt, .. } => Some(*salt),
            Self::Requested { .. } => None,
        }
    }

    /// Whether the receiver has not yet shown that its address is its own.
    pub(super) fn is_unvalidated(&self) -> bool {
        matches!(self, Self::Requested { allowance: Some(_) })
    }

    /// The receiver has shown it.
    pub(super) fn on_authentic(&mut self) {
        if let Self::Requested { allowance } = self {
            *allowance = None;
        }
    }

    /// The request has come again.
    pub(super) fn on_repeated_request(&mut self, bytes: usize) {
        if let Self::Requested { allowance: Some(left) } = self {
            *left += AMPLIFICATION * bytes;
        }
    }

    /// Whether so many bytes may be sent.
    pub(super) fn allows(&self, bytes: usize) -> bool {
        !matches!(self, Self::Requested { allowance: Some(left) } if *left < bytes)
    }

    /// So many bytes are sent.
    pub(super) fn pay(&mut self, bytes: usize) {
        if let Self::Requested { allowance: Some(left) } = self {
            *left = left.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_been_named_by_another_gets_three_times_its_bytes() {
        let mut origin = Origin::requested(100, false);
        origin.pay(250);
        assert!(origin.allows(50) && !origin.allows(51) && origin.is_unvalidated());
        origin.on_repeated_request(10);
        assert!(origin.allows(80) && !origin.allows(81));
        origin.pay(1000);
        assert!(!origin.allows(1));
        origin.on_authentic();
        assert!(origin.allows(usize::MAX) && !origin.is_unvalidated());
        assert!(Origin::requested(1, true).allows(usize::MAX));
    }
}
