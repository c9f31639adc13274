//! Loss recovery: what tells of a loss, and what is sent until it is repaired.
//!
//! One of three modes: *open* (slow start or congestion avoidance; also go-back-N after a timeout), *fast recovery*
//! (RFC 5681 and 6582: the window is inflated by duplicate ACKs) and *SACK recovery* (RFC 6675: the scoreboard decides).
//! In either recovery proportional rate reduction (RFC 9937), if it is on, says how much may be sent.

use super::space::SendSpace;
use super::window::CongestionWindow;
use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::Control;
use crate::tcp::flow::Flow;
use crate::tcp::prr::{Feedback, ProportionalRateReduction};
use crate::tcp::scoreboard::{DUP_THRESHOLD, Next, Scoreboard};
use crate::tcp::segment::Segment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Open,
    Fast,
    Sack,
}

/// Loss recovery of one sender.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two options and two conditions of a compact struct, one per connection"
)]
pub(super) struct Recovery {
    mode: Mode,
    /// RFC 6582's `recover` and RFC 6675's `RecoveryPoint`: one past the highest offset sent when a loss was last
    /// detected; 0 before the first.
    recover: u64,
    dup_acks: u32,
    limited_transmit: bool,
    /// Bytes sent beyond the window on duplicate ACKs before recovery (RFC 3042; RFC 6675 §5 step 3).
    limited_sent: u64,
    /// Whether recoveries reduce the window in proportion.
    wants_prr: bool,
    /// Present during such a recovery.
    prr: Option<Box<ProportionalRateReduction>>,
    /// The segment at SND.UNA must be sent again whatever the window says.
    repeats_first: bool,
    /// The timer was restarted by a partial ACK of this recovery.
    seen_partial_ack: bool,
    /// Present when SACK is in use.
    board: Option<Box<Scoreboard>>,
}

/// Where sending in order goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The first offset from SND.NXT on that is not known to have arrived.
    pub(super) seq: u64,
    /// Where what is known to have arrived begins again; `u64::MAX` if nowhere.
    pub(super) until: u64,
    /// Bytes before `seq` that may be in the network.
    pub(super) in_flight: u64,
}

impl Recovery {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            mode: Mode::Open,
            recover: 0,
            dup_acks: 0,
            limited_transmit: config.limited_transmit,
            limited_sent: 0,
            wants_prr: config.prr,
            prr: None,
            repeats_first: false,
            seen_partial_ack: false,
            board: config.sack.then(Box::default),
        }
    }

    /// The receiver does not send SACK blocks.
    pub(super) fn disable_sack(&mut self) {
        self.board = None;
    }

    /// Whether no loss is being repaired, but for go-back-N after a timeout.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    /// Whether the scoreboard decides what is sent.
    #[inline]
    pub(super) fn goes_by_sack(&self) -> bool {
        self.mode == Mode::Sack
    }

    /// Whether a hole may be open, for which the ACK of new data would wait.
    #[inline]
    pub(super) fn has_hole(&self) -> bool {
        self.mode != Mode::Open || self.dup_acks > 0
    }

    /// Whether the segment at SND.UNA is to be sent whatever the window says.
    pub(super) fn repeats_first(&self) -> bool {
        self.repeats_first
    }

    /// The same; it is being sent.
    #[inline]
    pub(super) fn take_first(&mut self) -> bool {
        std::mem::take(&mut self.repeats_first)
    }

    /// An ACK of `bytes` new bytes, which `space` knows of. Whether the retransmission timer is to be restarted.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        segment: &Segment,
        bytes: u64,
        space: &SendSpace,
        window: &mut CongestionWindow,
    ) -> bool {
        match self.mode {
            Mode::Open => {
                (self.dup_acks, self.limited_sent) = (0, 0);
                self.update_board(segment, space);
                true
            }
            Mode::Fast => self.on_ack_in_fast_recovery(bytes, space, window),
            Mode::Sack => {
                self.on_ack_in_sack_recovery(segment, bytes, space, window);
                true
            }
        }
    }

    /// An ACK of nothing new. If it tells of a loss, recovery is to [begin](Self::begin): with as many bytes newly sacked.
    pub(super) fn on_duplicate_ack(
        &mut self,
        segment: &Segment,
        space: &SendSpace,
        window: &mut CongestionWindow,
    ) -> Option<u64> {
        // With SACK an ACK is a duplicate when it tells of new octets (RFC 6675 §2).
        let before = self.sacked();
        let news = self.update_board(segment, space);
        let newly_sacked = self.sacked() - before;
        match self.mode {
            Mode::Fast => match &mut self.prr {
                Some(prr) => {
                    let delivered = prr.on_duplicate();
                    self.reduce_proportionally(delivered, false, space, window);
                }
                None => window.inflate(),
            },
            Mode::Sack => {
                self.measure_pipe(space, window.mss());
                self.reduce_proportionally(newly_sacked, false, space, window);
            }
            Mode::Open if !window.control().heeds_duplicates() => {}
            Mode::Open => {
                self.dup_acks += u32::from(news);
                let lost = self.board.as_mut().is_some_and(|board| board.assess_losses(window.mss()) > space.una());
                return ((self.dup_acks >= DUP_THRESHOLD || lost) && self.may_begin(space)).then_some(newly_sacked);
            }
        }
        None
    }

    /// Duplicate ACKs that only answer go-back-N's repetitions must not start a recovery: the cumulative ACK has to
    /// cover more than `recover` (RFC 6582 §3.2 step 1; RFC 6675 §5.1 is content with all of it). Kept for Reno too,
    /// where only timeouts set `recover`.
    fn may_begin(&self, space: &SendSpace) -> bool {
        let una = space.una();
        self.recover == 0 || una > self.recover || (self.board.is_some() && una == self.recover)
    }

    /// Recovery begins. `newly_sacked`: by the ACK that says so. `first_end`: of the segment at SND.UNA.
    pub(super) fn begin(
        &mut self,
        newly_sacked: u64,
        first_end: u64,
        space: &SendSpace,
        window: &mut CongestionWindow,
        flow: &Flow,
    ) {
        // RFC 5681 §3.2 step 2, RFC 6675 §5 step 4.2: what limited transmit sent does not count.
        window.on_loss(space.in_flight() - self.limited_sent, flow);
        self.limited_sent = 0;
        self.seen_partial_ack = false;
        if self.board.is_some() || window.control().keeps_recovering_on_partial_ack() {
            self.recover = space.max();
        }
        self.repeats_first = true;
        if self.board.is_some() {
            // RFC 6675 §5 step 4.
            self.mode = Mode::Sack;
            self.measure_pipe(space, window.mss());
            self.begin_proportional_reduction(newly_sacked, space, window);
            if let Some(board) = &mut self.board {
                board.begin_recovery(first_end);
            }
            self.measure_pipe(space, window.mss());
        } else {
            // RFC 5681 §3.2 step 3: the three segments that caused the duplicates have left the network.
            self.mode = Mode::Fast;
            window.set(window.ssthresh() + u64::from(DUP_THRESHOLD) * window.mss());
            self.begin_proportional_reduction(window.mss(), space, window);
        }
    }

    /// RFC 9937 §6: recovery begins with an ACK that told of `delivered` bytes.
    fn begin_proportional_reduction(&mut self, delivered: u64, space: &SendSpace, window: &mut CongestionWindow) {
        if !self.wants_prr {
            return;
        }
        // Without SACK duplicate ACKs stand for it.
        let duplicated = u64::from(self.dup_acks) * window.mss();
        let arrived = self.board.as_ref().map_or(duplicated, |board| board.count_between(space.una(), space.nxt()));
        // §6.1: in flight before this ACK, without what was known to have arrived.
        let flight = (space.in_flight() + delivered).saturating_sub(arrived);
        let prr = ProportionalRateReduction::new(flight, window.ssthresh(), window.mss());
        self.prr = Some(Box::new(if self.board.is_some() { prr } else { prr.without_sack(duplicated) }));
        self.reduce_proportionally(delivered, false, space, window);
    }

    /// RFC 9937 §6: an ACK in recovery has told of `delivered` bytes; `safe`, if it told of progress and of no further loss.
    fn reduce_proportionally(&mut self, delivered: u64, safe: bool, space: &SendSpace, window: &mut CongestionWindow) {
        let Some(prr) = self.prr.as_mut().filter(|_| delivered > 0) else { return };
        if let Some(board) = &self.board {
            let in_flight = board.pipe();
            window.set(in_flight + prr.on_ack(&Feedback { delivered, in_flight, safe }));
        } else {
            // The first segment is lost, and not in the network before it has been repeated.
            let (outstanding, first) = (space.in_flight(), if self.repeats_first { window.mss() } else { 0 });
            let in_flight = outstanding.saturating_sub(prr.duplicated() + first);
            let may_send = prr.on_ack(&Feedback { delivered, in_flight, safe });
            // The window is inflated by what has left the network, as it is in RFC 5681 §3.2.
            window.set(outstanding + may_send.saturating_sub(first));
        }
    }

    /// Whether the retransmission timer is to be restarted.
    fn on_ack_in_fast_recovery(&mut self, bytes: u64, space: &SendSpace, window: &mut CongestionWindow) -> bool {
        let (ssthresh, mss) = (window.ssthresh(), window.mss());
        if !window.control().keeps_recovering_on_partial_ack() {
            // RFC 5681 §3.2 step 6.
            self.end(ssthresh, window);
            return true;
        }
        if space.una() >= self.recover {
            // RFC 6582 §3.2 step 3, full acknowledgement, option 1: no burst when little is in flight.
            self.end(ssthresh.min(space.in_flight().max(mss) + mss), window);
            return true;
        }
        // Partial acknowledgement: the next hole; deflate by what left, add back one segment.
        self.repeats_first = true;
        if let Some(prr) = &mut self.prr {
            let delivered = prr.on_partial_ack(bytes);
            self.reduce_proportionally(delivered, false, space, window);
        } else {
            window.deflate(bytes);
        }
        // Only the first one restarts the timer (the "Impatient" variant of RFC 6582 §4).
        !std::mem::replace(&mut self.seen_partial_ack, true)
    }

    fn on_ack_in_sack_recovery(
        &mut self,
        segment: &Segment,
        bytes: u64,
        space: &SendSpace,
        window: &mut CongestionWindow,
    ) {
        let before = self.sacked();
        self.update_board(segment, space);
        if space.una() >= self.recover {
            // RFC 6675 §5 step A.
            self.end(window.ssthresh(), window);
        } else {
            let more_lost = self.measure_pipe(space, window.mss());
            self.reduce_proportionally(bytes + self.sacked() - before, !more_lost, space, window);
        }
    }

    fn end(&mut self, cwnd: u64, window: &mut CongestionWindow) {
        self.mode = Mode::Open;
        self.prr = None;
        self.dup_acks = 0;
        self.repeats_first = false;
        window.set(cwnd);
    }

    /// The retransmission timer fired: what is outstanding is sent again in order (RFC 5681 §3.1, RFC 6582 §3.2 step 4).
    pub(super) fn on_timeout(&mut self, space: &SendSpace) {
        self.mode = Mode::Open;
        self.prr = None;
        self.recover = space.max();
        (self.dup_acks, self.limited_sent) = (0, 0);
        self.repeats_first = false;
    }

    /// Bytes that may still be in the network. Recovery keeps sending for as long as duplicate ACKs come, so that all that
    /// was sent beyond a hole may be many windows; of these, `ssthresh` have not left. Counted otherwise, the loss of a
    /// retransmission would raise the threshold, which it MUST lower (RFC 5681 §4.3).
    pub(super) fn in_network(&self, space: &SendSpace, ssthresh: u64) -> u64 {
        let sacked = self.board.as_ref().map_or(0, |board| board.count_between(space.una(), space.nxt()));
        let unsacked = space.in_flight() - sacked;
        if self.is_open() { unsacked } else { unsacked.min(ssthresh) }
    }

    /// Where sending in order goes on: after a timeout what is sacked need not be sent again; before one it has left the network.
    #[inline]
    pub(super) fn position(&self, space: &SendSpace) -> Position {
        match self.board.as_ref().filter(|board| !board.is_empty()) {
            None => Position { seq: space.nxt(), until: u64::MAX, in_flight: space.in_flight() },
            Some(board) => {
                let (seq, until) = board.gap_from(space.nxt());
                let in_flight = seq - space.una() - board.count_between(space.una(), seq);
                Position { seq, until: until.unwrap_or(u64::MAX), in_flight }
            }
        }
    }

    /// RFC 3042: one new segment beyond the window on each of the first two duplicate ACKs. This one would exceed it by `over`.
    pub(super) fn is_limited_transmit(&self, len: u64, over: u64, mss: u64) -> bool {
        let allowed = u64::from(self.dup_acks.min(DUP_THRESHOLD - 1)) * mss;
        let limited = self.limited_transmit && self.mode == Mode::Open && self.board.is_none();
        limited && self.limited_sent + len <= allowed && over <= allowed
    }

    /// Such a segment leaves; or, with SACK, one for which what was sacked makes room (RFC 6675 §5 step 3).
    pub(super) fn on_sent_beyond_window(&mut self, len: u64) {
        self.limited_sent += len;
    }

    /// RFC 6675 §5 step C: whether the pipe leaves room for a segment.
    pub(super) fn pipe_has_room(&self, window: &CongestionWindow) -> bool {
        self.board.as_ref().is_some_and(|board| board.pipe() + window.mss() <= window.size())
    }

    /// The segment that the scoreboard chooses, which leaves. `new_end`: where new data would end, if there is some that may be
    /// sent; `data`: bytes of the stream that were sent, without the FIN.
    pub(super) fn next_by_sack(
        &mut self,
        space: &SendSpace,
        mss: u64,
        new_end: Option<u64>,
        data: u64,
    ) -> Option<(u64, u64)> {
        let (max, recover, board) = (space.max(), self.recover, self.board.as_mut()?);
        let (seq, end) = match board.next_segment(space.una(), max, mss, new_end.is_some())? {
            Next::Old(seq, end) => (seq, end),
            Next::New => (max, new_end?),
            Next::Rescue(from) => (data.saturating_sub(mss).max(from), max),
        };
        board.sent(seq, end, seq < max, recover);
        Some((seq, end))
    }

    /// Whether a full segment of new data, if there were one, could leave now.
    pub(super) fn lets_new_data_leave(&self, space: &SendSpace, window: &CongestionWindow) -> bool {
        let mss = window.mss();
        if self.goes_by_sack() {
            let next = || self.board.as_ref()?.next_segment(space.una(), space.max(), mss, true);
            return self.pipe_has_room(window) && next() == Some(Next::New);
        }
        let position = self.position(space);
        // After a timeout what was sent before comes first.
        let over = (position.in_flight + mss).saturating_sub(window.size());
        position.seq >= space.max() && (over == 0 || self.is_limited_transmit(mss, over, mss))
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// Bytes that the scoreboard knows to have arrived; only where proportional rate reduction has to know.
    fn sacked(&self) -> u64 {
        if !self.wants_prr {
            return 0;
        }
        self.board.as_ref().map_or(0, |board| board.count_between(0, u64::MAX))
    }

    /// Takes in SACK blocks. Without SACK every duplicate ACK is news.
    #[inline]
    fn update_board(&mut self, segment: &Segment, space: &SendSpace) -> bool {
        self.board.as_mut().is_none_or(|board| board.update(segment, space.una()))
    }

    /// Whether more is lost than was known.
    fn measure_pipe(&mut self, space: &SendSpace, mss: u64) -> bool {
        let Some(board) = &mut self.board else { return false };
        let more_lost = board.find_losses(space.una(), mss);
        board.set_pipe(space.una(), space.max());
        more_lost
    }
}

#[cfg(test)]
mod tests;
