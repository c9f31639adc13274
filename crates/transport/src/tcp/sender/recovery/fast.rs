//! Fast recovery without SACK (RFC 5681 §3.2, RFC 6582): duplicate ACKs inflate the window, partial ACKs tell of further holes.
//!
//! With proportional rate reduction (RFC 9937) that says how much may be sent. The window is then what is outstanding and what may
//! be sent: inflated by what has left the network, as it is in RFC 5681 §3.2.

use super::Step;
use crate::tcp::config::DUP_THRESHOLD;
use crate::tcp::prr::{Feedback, ProportionalRateReduction};
use crate::tcp::sender::window::Change;

/// A fast recovery.
#[derive(Clone, Debug)]
pub(super) struct FastRecovery {
    /// Where the window is to be at its end.
    ssthresh: u64,
    mss: u64,
    /// An ACK of everything before this ends it; `None`: any new ACK does.
    until: Option<u64>,
    /// The timer was restarted by a partial ACK.
    seen_partial_ack: bool,
    prr: Option<Box<ProportionalRateReduction>>,
}

impl FastRecovery {
    /// It begins, and the window is to fall to `ssthresh`.
    pub(super) fn new(ssthresh: u64, mss: u64, until: Option<u64>) -> Self {
        Self { ssthresh, mss, until, seen_partial_ack: false, prr: None }
    }

    /// The window to begin with: the three segments that caused the duplicates have left the network (RFC 5681 §3.2 step 3).
    pub(super) fn first_window(&self) -> Change {
        Change::To(self.ssthresh + u64::from(DUP_THRESHOLD) * self.mss)
    }

    /// The same with a reduction in proportion, when `outstanding` bytes are, for `duplicated` of which duplicate ACKs stand.
    pub(super) fn reduce_proportionally(&mut self, outstanding: u64, duplicated: u64) -> Change {
        // RFC 9937 §6.1: in flight before this ACK, without what was known to have arrived.
        let flight = (outstanding + self.mss).saturating_sub(duplicated);
        let prr = ProportionalRateReduction::new(flight, self.ssthresh, self.mss).without_sack(duplicated);
        self.prr = Some(Box::new(prr));
        self.reduce(self.mss, outstanding, true)
    }

    /// A duplicate ACK, with `outstanding` bytes. `repeats_first`: the first segment is still to be repeated.
    pub(super) fn on_duplicate(&mut self, outstanding: u64, repeats_first: bool) -> Change {
        match &mut self.prr {
            Some(prr) => {
                let delivered = prr.on_duplicate();
                self.reduce(delivered, outstanding, repeats_first)
            }
            None => Change::Inflate,
        }
    }

    /// An ACK of `bytes` new bytes, everything before `una`, that leaves `outstanding`.
    pub(super) fn on_ack(&mut self, bytes: u64, una: u64, outstanding: u64) -> Step {
        let Some(until) = self.until else {
            // RFC 5681 §3.2 step 6.
            return Step::End(self.ssthresh);
        };
        if una >= until {
            // RFC 6582 §3.2 step 3, full acknowledgement, option 1: no burst when little is in flight.
            return Step::End(self.ssthresh.min(outstanding.max(self.mss) + self.mss));
        }
        // Partial acknowledgement: the next hole; deflate by what left, add back one segment.
        let change = match &mut self.prr {
            Some(prr) => {
                let delivered = prr.on_partial_ack(bytes);
                self.reduce(delivered, outstanding, true)
            }
            None => Change::Deflate(bytes),
        };
        // Only the first one restarts the timer (the "Impatient" variant of RFC 6582 §4).
        let restart = !std::mem::replace(&mut self.seen_partial_ack, true);
        Step::Continue { change, restart, repeats_first: true }
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// RFC 9937 §6: an ACK has told of `delivered` bytes.
    fn reduce(&mut self, delivered: u64, outstanding: u64, repeats_first: bool) -> Change {
        let Some(prr) = self.prr.as_mut().filter(|_| delivered > 0) else { return Change::Nothing };
        // The first segment is lost, and not in the network before it has been repeated.
        let first = if repeats_first { self.mss } else { 0 };
        let in_flight = outstanding.saturating_sub(prr.duplicated() + first);
        let may_send = prr.on_ack(&Feedback { delivered, in_flight, safe: false });
        Change::To(outstanding + may_send.saturating_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn each_duplicate_inflates_and_only_the_first_partial_ack_restarts_the_timer() {
        let mut fast = FastRecovery::new(5 * MSS, MSS, Some(10 * MSS));
        assert_eq!(fast.first_window(), Change::To(8 * MSS));
        assert_eq!(fast.on_duplicate(10 * MSS, false), Change::Inflate);
        let restarts = [4, 7].map(|una| fast.on_ack(3 * MSS, una * MSS, (10 - una) * MSS));
        let step = |restart| Step::Continue { change: Change::Deflate(3 * MSS), restart, repeats_first: true };
        assert_eq!(restarts, [step(true), step(false)]);
        assert_eq!(fast.on_ack(3 * MSS, 10 * MSS, 0), Step::End(2 * MSS), "nothing is in flight: no burst");
        assert_eq!(fast.on_ack(3 * MSS, 10 * MSS, 9 * MSS), Step::End(5 * MSS));
    }

    #[test]
    fn reno_s_ends_with_any_new_ack() {
        let mut fast = FastRecovery::new(5 * MSS, MSS, None);
        assert_eq!(fast.on_ack(MSS, MSS, 9 * MSS), Step::End(5 * MSS));
    }

    #[test]
    fn in_proportion_every_other_duplicate_lets_a_segment_leave() {
        // Twenty are outstanding, and the window is to fall to ten.
        let mut fast = FastRecovery::new(10 * MSS, MSS, Some(20 * MSS));
        assert_eq!(fast.reduce_proportionally(20 * MSS, 3 * MSS), Change::To(20 * MSS), "the repetition alone");
        fast.on_sent(MSS);
        let mut outstanding = 20 * MSS;
        for _ in 0..14 {
            let Change::To(window) = fast.on_duplicate(outstanding, false) else { panic!("not in proportion") };
            let room = (window - outstanding) / MSS * MSS;
            fast.on_sent(room);
            outstanding += room;
        }
        assert!((26 * MSS..=28 * MSS).contains(&outstanding), "{outstanding}");
    }
}
