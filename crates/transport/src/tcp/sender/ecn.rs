//! Explicit congestion notification at the sender (RFC 3168 §6.1): one reduction in a window of data, and telling of it.
//!
//! Linux's rules add the CWR state (`tcp_input.c` of 3.2): from a reduction for an echo until what had been sent by then is
//! acknowledged the window does not grow (`tcp_may_raise_cwnd`). Without DCTCP it is the time in which the window falls by a segment
//! with each second ACK (`tcp_cwnd_down`, rate halving); Stanford's DCTCP patch cuts it at once. Two things differ: in slow start
//! Linux lets the ACK with the first echo add a segment before the reduction, and its descent may go on to half of ssthresh
//! (`tcp_cwnd_min`), where ours ends at ssthresh. Losses and timeouts reduce the window by the RFCs.
//!
//! From 3.7 on proportional rate reduction takes the window down in this state, with DCTCP, too (`tcp_enter_cwr` and `tcp_cwnd_reduction` of
//! 6.1), so that about one segment leaves for two that arrive. What tells of losses then still comes, where a window that is cut at
//! once may leave nothing to send, and nothing to be told. A recovery that begins in this state goes on with its reduction
//! (`tcp_enter_recovery`). RFC 9937 is about fast recovery; that a mark is answered at once is RFC 3168's §6.1.2 and RFC 8257's §3.3.

use crate::tcp::config::{TcpConfig, WindowRules};
use crate::tcp::prr::{Feedback, ProportionalRateReduction};

/// Linux's CWR state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cwr {
    /// There is none by the RFCs' rules.
    Absent,
    /// The window may grow.
    Out,
    /// It may not. Whether an odd number of ACKs has come since.
    In { odd: bool },
}

/// A sender's part of ECN.
#[derive(Clone, Debug)]
pub(super) struct Ecn {
    /// Both ends take part.
    on: bool,
    /// As in RFC 3168, not as in DCTCP.
    classic: bool,
    cwr: Cwr,
    /// How echoes reduce the window.
    rules: WindowRules,
    /// The next new segment tells the receiver of a reduction (CWR).
    cwr_due: bool,
    /// An echo counts only once this is acknowledged: one reduction per window of data.
    reduced_until: u64,
    /// In the CWR state of Linux 6.1.
    reduction: Option<Box<ProportionalRateReduction>>,
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
        let rules = config.window_rules;
        Self {
            on: config.wants_ecn(),
            classic: !config.congestion.needs_ecn(),
            cwr: if rules == WindowRules::Linux32 { Cwr::Out } else { Cwr::Absent },
            rules,
            cwr_due: false,
            reduced_until: 0,
            reduction: None,
        }
    }

    /// What the handshake agreed on.
    pub(super) fn agree(&mut self, on: bool) {
        self.on = on;
    }

    /// Whether an echo in an ACK of everything before `una` is the first in its window of data (RFC 3168 §6.1.2).
    pub(super) fn heeds_echo(&self, una: u64) -> bool {
        self.on && una > self.reduced_until
    }

    /// The window was reduced for an echo, when everything before `max` had been sent.
    pub(super) fn on_echo(&mut self, max: u64) {
        self.on_reduced(max);
        if self.cwr != Cwr::Absent {
            self.cwr = Cwr::In { odd: false };
        }
    }

    /// The window was reduced, for a loss or a timeout, when everything before `max` had been sent.
    pub(super) fn on_reduced(&mut self, max: u64) {
        self.reduced_until = max;
        self.cwr_due = self.on;
        self.reduction = None;
        self.leave_cwr();
    }

    fn leave_cwr(&mut self) {
        if self.cwr != Cwr::Absent {
            self.cwr = Cwr::Out;
        }
    }

    /// Whether the window must not grow.
    #[inline]
    pub(super) fn holds_window(&self) -> bool {
        matches!(self.cwr, Cwr::In { .. })
    }

    /// Everything before `una` is acknowledged. Whether this ends a reduction in proportion.
    #[inline]
    pub(super) fn on_ack(&mut self, una: u64) -> bool {
        // tcp_fastretrans_alert: something *above* high_seq has to be acknowledged.
        if una <= self.reduced_until {
            return false;
        }
        if self.holds_window() {
            self.leave_cwr();
        }
        self.reduction.take().is_some()
    }

    /// Whether a reduction is little by little.
    pub(super) fn descends(&self) -> bool {
        self.reduces_in_proportion() || self.cwr != Cwr::Absent && self.classic
    }

    /// Whether a reduction is in proportion to what arrives.
    #[inline]
    pub(super) fn reduces_in_proportion(&self) -> bool {
        self.rules == WindowRules::Linux61
    }

    /// Such a one begins.
    pub(super) fn begin_reduction(&mut self, reduction: ProportionalRateReduction) {
        self.reduction = Some(Box::new(reduction));
    }

    /// Whether such a one is under way.
    #[inline]
    pub(super) fn is_reducing(&self) -> bool {
        self.reduction.is_some()
    }

    /// An ACK came: the bytes that the reduction lets leave now, if one is under way. None if it told of nothing that has arrived.
    pub(super) fn reduce(&mut self, ack: &Feedback) -> Option<u64> {
        self.reduction.as_mut().filter(|_| ack.delivered > 0).map(|reduction| reduction.on_ack(ack))
    }

    /// The reduction under way, with which the recovery goes on that begins now and is to end at `ssthresh`.
    pub(super) fn take_reduction(&mut self, ssthresh: u64) -> Option<Box<ProportionalRateReduction>> {
        self.reduction.take().map(|mut reduction| {
            reduction.aim_at(ssthresh);
            reduction
        })
    }

    /// Whether a loss in a reduction for an echo reduces the window again: with DCTCP (`dctcp_react_to_loss`).
    pub(super) fn hears_losses(&self) -> bool {
        self.reduction.is_none() || !self.classic
    }

    /// An ACK came: whether a step down is due, if the window is on its way down.
    #[inline]
    pub(super) fn take_step(&mut self) -> Option<bool> {
        let Cwr::In { odd } = &mut self.cwr else { return None };
        let due = *odd;
        *odd = !due;
        self.classic.then_some(due)
    }

    /// A segment of so many bytes leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64, retransmission: bool) -> Marking {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(bytes);
        }
        let cwr = self.cwr_due && !retransmission;
        self.cwr_due &= retransmission;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable; DCTCP's are, as in Linux.
        Marking { ect: self.on && !(retransmission && self.classic), cwr }
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
        let sent = [true, false, false].map(|retransmission| ecn.on_sent(1000, retransmission));
        assert_eq!(sent.map(|marking| marking.cwr), [false, true, false], "the first new one, once");
        assert_eq!(sent.map(|marking| marking.ect), [false, true, true]);
    }

    #[test]
    fn retransmissions_of_dctcp_may_be_marked() {
        assert!(ecn(Algorithm::Dctcp).on_sent(1000, true).ect);
    }

    #[test]
    fn without_agreement_nothing_is_said_or_heeded() {
        let mut ecn = ecn(Algorithm::Dctcp);
        ecn.agree(false);
        assert!(!ecn.heeds_echo(1));
        ecn.on_reduced(1000);
        assert_eq!(ecn.on_sent(1000, false), Marking { ect: false, cwr: false });
    }
}
