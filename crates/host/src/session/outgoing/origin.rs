//! How a session that sends began, and how much may be sent to an address that is not validated.

use std::net::SocketAddr;

use crate::wire::Salt;

/// Bytes that may be sent to an address before it is validated, for each byte received from it (RFC 9000 §8.1).
const AMPLIFICATION: usize = 3;

/// How a session began.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This host has offered the object, perhaps to a group.
    Offered {
        /// This host's salt.
        salt: Salt,
        /// Where symbols for all receivers are sent.
        group: Option<SocketAddr>,
    },
    /// The receiver has requested the object.
    Requested {
        /// Bytes that may still be sent before the receiver's address is validated.
        allowance: Option<usize>,
    },
}

impl Origin {
    /// A request of `bytes` bytes has arrived, from an address that is known to be the receiver's own if it is `validated`.
    pub(crate) fn requested(bytes: usize, validated: bool) -> Self {
        Self::Requested { allowance: (!validated).then_some(AMPLIFICATION * bytes) }
    }

    /// Where symbols for all receivers are sent, if there is a group.
    pub(super) fn group(&self) -> Option<SocketAddr> {
        match self {
            Self::Offered { group, .. } => *group,
            Self::Requested { .. } => None,
        }
    }

    /// The salt with which this end opened the session, if it is the opener.
    pub(super) fn opened_with(&self) -> Option<Salt> {
        match self {
            Self::Offered { salt, .. } => Some(*salt),
            Self::Requested { .. } => None,
        }
    }

    /// Whether the receiver's address is not validated yet.
    pub(super) fn is_unvalidated(&self) -> bool {
        matches!(self, Self::Requested { allowance: Some(_) })
    }

    /// The receiver's address is validated.
    pub(super) fn on_authentic(&mut self) {
        if let Self::Requested { allowance } = self {
            *allowance = None;
        }
    }

    /// The request has arrived again.
    pub(super) fn on_repeated_request(&mut self, bytes: usize) {
        if let Self::Requested { allowance: Some(left) } = self {
            *left += AMPLIFICATION * bytes;
        }
    }

    /// Whether `bytes` bytes may be sent.
    pub(super) fn allows(&self, bytes: usize) -> bool {
        !matches!(self, Self::Requested { allowance: Some(left) } if *left < bytes)
    }

    /// `bytes` bytes are sent.
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
