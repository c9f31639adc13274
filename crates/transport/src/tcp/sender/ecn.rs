//! Explicit congestion notification at the sender (RFC 3168 §6.1): one reduction in a window of data, and telling of it.

use crate::tcp::config::TcpConfig;

/// A sender's part of ECN.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Both ends take part.
    on: bool,
    on_retransmissions: bool,
    /// The next new segment tells the receiver of a reduction (CWR).
    cwr_due: bool,
    /// An echo counts only once this is acknowledged: one reduction per window of data.
    reduced_until: u64,
}

/// What a segment says in its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marking {
    /// Switches may mark it.
    pub(super) ect: bool,
    /// The window has been reduced.
    pub(super) cwr: bool,
}

impl Ecn {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let on_retransmissions = config.congestion.needs_ecn();
        Self { on: config.wants_ecn(), on_retransmissions, cwr_due: false, reduced_until: 0 }
    }

    /// What the handshake agreed on.
    pub(super) fn agree(&mut self, on: bool) {
        self.on = on;
    }

    /// Whether an echo in an ACK of everything before `una` is the first in its window of data (RFC 3168 §6.1.2).
    pub(super) fn heeds_echo(&self, una: u64) -> bool {
        self.on && una > self.reduced_until
    }

    /// The window was reduced for an echo, a loss or a timeout, when everything before `max` had been sent.
    pub(super) fn on_reduced(&mut self, max: u64) {
        self.reduced_until = max;
        self.cwr_due = self.on;
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, retransmission: bool) -> Marking {
        let cwr = self.cwr_due && !retransmission;
        self.cwr_due &= retransmission;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable; DCTCP's are, as in Linux.
        Marking { ect: self.on && (!retransmission || self.on_retransmissions), cwr }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Algorithm;

    fn ecn(congestion: Algorithm) -> Ecn {
        Ecn::new(&TcpConfig { congestion, ecn: true, ..TcpConfig::default() })
    }

    #[test]
    fn a_window_of_data_is_reduced_once_and_the_next_new_segment_says_so() {
        let mut ecn = ecn(Algorithm::NewReno);
        assert!(!ecn.heeds_echo(0) && ecn.heeds_echo(1));
        ecn.on_reduced(1000);
        assert!(!ecn.heeds_echo(1000) && ecn.heeds_echo(1001));
        let sent = [true, false, false].map(|retransmission| ecn.on_sent(retransmission));
        assert_eq!(sent.map(|marking| marking.cwr), [false, true, false], "the first new one, once");
        assert_eq!(sent.map(|marking| marking.ect), [false, true, true]);
    }

    #[test]
    fn retransmissions_of_dctcp_may_be_marked() {
        assert!(ecn(Algorithm::Dctcp).on_sent(true).ect);
    }

    #[test]
    fn without_agreement_nothing_is_said_or_heeded() {
        let mut ecn = ecn(Algorithm::Dctcp);
        ecn.agree(false);
        assert!(!ecn.heeds_echo(1));
        ecn.on_reduced(1000);
        assert_eq!(ecn.on_sent(false), Marking { ect: false, cwr: false });
    }
}
