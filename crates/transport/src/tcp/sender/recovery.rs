//! Loss recovery: fast recovery (RFC 5681 and 6582) and recovery with SACK (RFC 6675), either with proportional rate
//! reduction (RFC 9937) if it is on.

use super::super::prr::{Feedback, ProportionalRateReduction};
use super::super::scoreboard::Next;
use super::super::segment::Segment;
use super::{Mode, Sender};
use crate::tcp::congestion::Control;
use crate::tcp::flow::Flow;
use crate::tcp::scoreboard::DUP_THRESHOLD;
use crate::units::Time;

impl Sender {
    /// Duplicate ACKs that only answer go-back-N's repetitions must not start a recovery: the cumulative ACK has to
    /// cover more than `recover` (RFC 6582 §3.2 step 1; RFC 6675 §5.1 is content with all of it). Kept for Reno too,
    /// where only timeouts set `recover`.
    pub(super) fn may_enter_recovery(&self) -> bool {
        self.recover == 0 || self.una > self.recover || (self.board.is_some() && self.una == self.recover)
    }

    /// `newly_sacked`: by the ACK that says so.
    pub(super) fn enter_recovery(&mut self, newly_sacked: u64, flow: &Flow) {
        // RFC 5681 §3.2 step 2, RFC 6675 §5 step 4.2: what limited transmit sent does not count.
        let flight = self.nxt - self.una - self.limited_sent;
        self.window.ssthresh = self.control.on_loss(&self.window, flight, flow);
        self.limited_since = Time::MAX; // a new epoch begins
        self.limited_sent = 0;
        self.reduced_until = self.max;
        self.cwr_due = self.ecn;
        self.seen_partial_ack = false;
        self.timed_end = 0;
        if self.board.is_some() || self.control.keeps_recovering_on_partial_ack() {
            self.recover = self.max;
        }
        self.retransmit_first = true;
        let ssthresh = self.window.ssthresh;
        let first_end = self.segment_end(self.una).min(self.max);
        if self.board.is_some() {
            // RFC 6675 §5 step 4.
            self.mode = Mode::SackRecovery;
            self.window.set(ssthresh);
            self.measure_pipe();
            self.begin_proportional_reduction(newly_sacked);
            if let Some(board) = &mut self.board {
                board.begin_recovery(first_end);
            }
            self.measure_pipe();
        } else {
            // RFC 5681 §3.2 step 3: the three segments that caused the duplicates have left the network.
            self.mode = Mode::FastRecovery;
            self.window.set(ssthresh + u64::from(DUP_THRESHOLD) * self.window.mss);
            self.begin_proportional_reduction(self.window.mss);
        }
    }

    /// RFC 9937 §6: recovery begins with an ACK that told of `delivered` bytes.
    fn begin_proportional_reduction(&mut self, delivered: u64) {
        if !self.wants_prr {
            return;
        }
        // Without SACK duplicate ACKs stand for it.
        let duplicated = u64::from(self.dup_acks) * self.window.mss;
        let arrived = self.board.as_ref().map_or(duplicated, |board| board.count_between(self.una, self.nxt));
        // §6.1: in flight before this ACK, without what was known to have arrived.
        let flight = (self.nxt - self.una + delivered).saturating_sub(arrived);
        let prr = ProportionalRateReduction::new(flight, self.window.ssthresh, self.window.mss);
        self.prr = Some(Box::new(if self.board.is_some() { prr } else { prr.without_sack(duplicated) }));
        self.reduce_proportionally(delivered, false);
    }

    /// RFC 9937 §6: an ACK in recovery has told of `delivered` bytes; `safe`, if it told of progress and of no further loss.
    pub(super) fn reduce_proportionally(&mut self, delivered: u64, safe: bool) {
        let Some(prr) = self.prr.as_mut().filter(|_| delivered > 0) else { return };
        if let Some(board) = &self.board {
            let in_flight = board.pipe();
            self.window.set(in_flight + prr.on_ack(&Feedback { delivered, in_flight, safe }));
        } else {
            // The first segment is lost, and not in the network before it has been repeated.
            let (outstanding, first) = (self.nxt - self.una, if self.retransmit_first { self.window.mss } else { 0 });
            let in_flight = outstanding.saturating_sub(prr.duplicated() + first);
            let may_send = prr.on_ack(&Feedback { delivered, in_flight, safe });
            // The window is inflated by what has left the network, as it is in RFC 5681 §3.2.
            self.window.set(outstanding + may_send.saturating_sub(first));
        }
    }

    /// Whether the retransmission timer is to be restarted.
    pub(super) fn on_ack_in_fast_recovery(&mut self, bytes: u64) -> bool {
        let mss = self.window.mss;
        if !self.control.keeps_recovering_on_partial_ack() {
            // RFC 5681 §3.2 step 6.
            self.leave_recovery(self.window.ssthresh);
            return true;
        }
        if self.una >= self.recover {
            // RFC 6582 §3.2 step 3, full acknowledgement, option 1: no burst when little is in flight.
            let flight = (self.nxt - self.una).max(mss);
            self.leave_recovery(self.window.ssthresh.min(flight + mss));
            return true;
        }
        // Partial acknowledgement: the next hole; deflate by what left, add back one segment.
        self.retransmit_first = true;
        if let Some(prr) = &mut self.prr {
            let delivered = prr.on_partial_ack(bytes);
            self.reduce_proportionally(delivered, false);
            return !std::mem::replace(&mut self.seen_partial_ack, true);
        }
        let added = if bytes >= mss { mss } else { 0 };
        self.window.cwnd = (self.window.cwnd.saturating_sub(bytes) + added).max(mss);
        // Only the first one restarts the timer (the "Impatient" variant of RFC 6582 §4).
        !std::mem::replace(&mut self.seen_partial_ack, true)
    }

    /// `bytes`: cumulatively acknowledged.
    pub(super) fn on_ack_in_sack_recovery(&mut self, segment: &Segment, bytes: u64) {
        let before = self.sacked();
        self.update_board(segment);
        if self.una >= self.recover {
            // RFC 6675 §5 step A.
            self.leave_recovery(self.window.ssthresh);
        } else {
            let more_lost = self.measure_pipe();
            self.reduce_proportionally(bytes + self.sacked() - before, !more_lost);
        }
    }

    /// Bytes that the scoreboard knows to have arrived; only where proportional rate reduction has to know.
    pub(super) fn sacked(&self) -> u64 {
        if !self.wants_prr {
            return 0;
        }
        self.board.as_ref().map_or(0, |board| board.count_between(0, u64::MAX))
    }

    fn leave_recovery(&mut self, cwnd: u64) {
        self.mode = Mode::Open;
        self.prr = None;
        self.dup_acks = 0;
        self.retransmit_first = false;
        self.window.set(cwnd);
    }

    /// Takes in SACK blocks. Without SACK every duplicate ACK is news.
    pub(super) fn update_board(&mut self, segment: &Segment) -> bool {
        let Some(board) = &mut self.board else { return true };
        board.update(segment, self.una)
    }

    /// Whether more is lost than was known.
    pub(super) fn measure_pipe(&mut self) -> bool {
        let Some(board) = &mut self.board else { return false };
        let more_lost = board.find_losses(self.una, self.window.mss);
        board.set_pipe(self.una, self.max);
        more_lost
    }

    /// RFC 6675 §5 step C: as long as the pipe leaves room for a segment.
    pub(super) fn next_in_sack_recovery(&mut self) -> Option<(u64, u64)> {
        let mss = self.window.mss;
        let board = self.board.as_ref()?;
        if board.pipe() + mss > self.window.cwnd {
            return None;
        }
        let new_end = if self.max > self.end { self.max } else { self.segment_end(self.max) };
        let fits = new_end.min(self.end) <= self.una + self.peer_window;
        let new_data = new_end > self.max && fits && self.is_available(new_end);
        let (seq, end) = match board.next_segment(self.una, self.max, mss, new_data)? {
            Next::Old(seq, end) => (seq, end),
            Next::New => (self.max, new_end),
            Next::Rescue(from) => (self.max.min(self.end).saturating_sub(mss).max(from), self.max),
        };
        // After a timeout this may lie behind: recovery sends from the top.
        self.nxt = self.max.max(end);
        let (retransmission, recover) = (seq < self.max, self.recover);
        self.board.as_mut()?.sent(seq, end, retransmission, recover);
        Some((seq, end))
    }
}
