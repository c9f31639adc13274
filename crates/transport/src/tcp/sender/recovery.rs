//! Loss recovery: what tells of a loss, and what is sent until it is repaired.
//!
//! One of three modes: *open* (slow start or congestion avoidance; also go-back-N after a timeout), [*fast recovery*](FastRecovery)
//! (RFC 5681 and 6582) and [*SACK recovery*](SackRecovery) (RFC 6675: the scoreboard decides). In either recovery proportional
//! rate reduction (RFC 9937), if it is on, says how much may be sent. What is to become of the window is returned. With RACK-TLP
//! (RFC 8985) time decides what is lost; [`timed`] has what differs then.

use super::space::SendSpace;
use super::window::Change;
use crate::tcp::config::TcpConfig;
use crate::tcp::congestion::Control;
use crate::tcp::prr::ProportionalRateReduction;
use crate::tcp::rack::Rack;
use crate::tcp::scoreboard::{Position, Scoreboard};
use crate::tcp::segment::Segment;

mod duplicates;
mod fast;
mod selective;
mod timed;

use duplicates::Duplicates;
use fast::FastRecovery;
use selective::SackRecovery;

// With a tag of its own: asking for the mode is one comparison.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Mode {
    Open,
    Fast(FastRecovery),
    Sack(SackRecovery),
}

/// Loss recovery of one sender.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    mode: Mode,
    duplicates: Duplicates,
    /// Present when SACK is in use.
    board: Option<Box<Scoreboard>>,
    /// The segment at SND.UNA must be sent again whatever the window says.
    repeats_first: bool,
    /// Whether a fast recovery goes on after an ACK of a part of what was outstanding (RFC 6582).
    outlasts_partial_acks: bool,
    /// Whether recoveries reduce the window in proportion.
    wants_prr: bool,
    mss: u64,
}

/// What an ACK of nothing new means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// No loss that is not being repaired already.
    NoLoss(Change),
    /// A loss: recovery is to [begin](Recovery::begin).
    Loss { newly_sacked: u64 },
}

/// What an ACK of new data leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Recovery is over, with a window of so many bytes.
    End(u64),
    /// `restart`: the retransmission timer; `repeats_first`: another hole begins at SND.UNA.
    Continue { change: Change, restart: bool, repeats_first: bool },
}

impl Recovery {
    /// For a sender with this congestion control.
    pub(super) fn new(config: &TcpConfig, control: &impl Control) -> Self {
        Self {
            mode: Mode::Open,
            duplicates: Duplicates::new(config, control),
            board: config.sack.then(|| Box::new(Scoreboard::new(config))),
            repeats_first: false,
            outlasts_partial_acks: control.keeps_recovering_on_partial_ack(),
            wants_prr: config.prr,
            mss: config.mss(),
        }
    }

    /// The receiver does not send SACK blocks.
    pub(super) fn disable_sack(&mut self) {
        self.board = None;
        self.duplicates.disable_sack();
    }

    /// Whether no loss is being repaired, but for go-back-N after a timeout.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self.mode, Mode::Open)
    }

    /// Whether the scoreboard decides what is sent.
    #[inline]
    pub(super) fn goes_by_sack(&self) -> bool {
        matches!(self.mode, Mode::Sack(_))
    }

    /// Whether a hole may be open, for which the ACK of new data would wait.
    #[inline]
    pub(super) fn has_hole(&self) -> bool {
        !self.is_open() || self.duplicates.any() || self.has_timed_hole()
    }

    /// Whether the segment at SND.UNA is to be sent whatever the window says; it is being sent.
    #[inline]
    pub(super) fn take_first(&mut self) -> bool {
        std::mem::take(&mut self.repeats_first)
    }

    /// An ACK of `bytes` new bytes, which `space` knows of. Whether the retransmission timer is to be restarted, too.
    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment, bytes: u64, space: &SendSpace) -> (Change, bool) {
        let step = match (&mut self.mode, &mut self.board) {
            (Mode::Fast(fast), _) => fast.on_ack(bytes, space.una(), space.in_flight()),
            (Mode::Sack(sack), Some(board)) => sack.on_ack(segment, bytes, board, space),
            _ => {
                self.duplicates.clear();
                self.update_board(segment, space.una());
                return (Change::Nothing, true);
            }
        };
        match step {
            Step::End(window) => {
                self.end();
                (Change::To(window), true)
            }
            Step::Continue { change, restart, repeats_first } => {
                self.repeats_first |= repeats_first;
                (change, restart)
            }
        }
    }

    fn end(&mut self) {
        self.mode = Mode::Open;
        self.duplicates.clear();
        self.repeats_first = false;
    }

    /// An ACK of nothing new.
    pub(super) fn on_duplicate_ack(&mut self, segment: &Segment, space: &SendSpace) -> Meaning {
        match (&mut self.mode, &mut self.board) {
            (Mode::Fast(fast), _) => Meaning::NoLoss(fast.on_duplicate(space.in_flight(), self.repeats_first)),
            (Mode::Sack(sack), Some(board)) => Meaning::NoLoss(sack.on_duplicate(segment, board, space)),
            _ => self.on_duplicate_ack_in_open(segment, space.una()),
        }
    }

    fn on_duplicate_ack_in_open(&mut self, segment: &Segment, una: u64) -> Meaning {
        let before = self.sacked();
        let news = self.update_board(segment, una);
        if self.goes_by_time() {
            return if self.finds_loss() {
                Meaning::Loss { newly_sacked: self.sacked() - before }
            } else {
                Meaning::NoLoss(Change::Nothing)
            };
        }
        let lost = self.board.as_mut().is_some_and(|board| board.assess_losses(self.mss) > una);
        if self.duplicates.tell_of_loss(news, lost, una) {
            Meaning::Loss { newly_sacked: self.sacked() - before }
        } else {
            Meaning::NoLoss(Change::Nothing)
        }
    }

    /// Bytes in flight when a loss is found: what limited transmit sent does not count, from now on (RFC 5681 §3.2 step 2,
    /// RFC 6675 §5 step 4.2).
    pub(super) fn take_flight(&mut self, space: &SendSpace) -> u64 {
        // What a timeout has declared lost is not in flight.
        let rack = self.rack().filter(|rack| rack.repairs_a_timeout());
        rack.map_or(space.in_flight(), Rack::flight_before_loss) - self.duplicates.take_sent()
    }

    /// Recovery begins, after the window has fallen to `ssthresh`. `newly_sacked`: by the ACK that says so. `first_end`: of the
    /// segment at SND.UNA. `reduction`: how the window falls, where the rules of the window say so.
    pub(super) fn begin(
        &mut self,
        newly_sacked: u64,
        first_end: u64,
        space: &SendSpace,
        ssthresh: u64,
        reduction: Option<Box<ProportionalRateReduction>>,
    ) -> Change {
        self.repeats_first = true;
        if let Some(rack) = self.rack_mut() {
            rack.probe.reset();
        }
        if self.board.is_some() || self.outlasts_partial_acks {
            self.duplicates.set_recover(space.max());
        }
        let Some(board) = &mut self.board else {
            let until = self.outlasts_partial_acks.then_some(space.max());
            let mut fast = FastRecovery::new(ssthresh, self.mss, until);
            let change = if self.wants_prr {
                fast.reduce_proportionally(space.in_flight(), self.duplicates.bytes())
            } else {
                fast.first_window()
            };
            self.mode = Mode::Fast(fast);
            return change;
        };
        // RFC 6675 §5 step 4.
        let mut sack = SackRecovery::new(ssthresh, self.mss, space.max());
        board.measure_pipe(space.una(), space.max(), self.mss);
        let reduces = match reduction {
            Some(reduction) => Some(sack.go_on_with(reduction, newly_sacked, board)),
            None => self.wants_prr.then(|| sack.reduce_proportionally(newly_sacked, board, space)),
        };
        board.begin_recovery(first_end);
        board.measure_pipe(space.una(), space.max(), self.mss);
        self.mode = Mode::Sack(sack);
        reduces.unwrap_or(Change::Nothing)
    }

    /// The retransmission timer fired: what is outstanding is sent again in order (RFC 5681 §3.1, RFC 6582 §3.2 step 4).
    pub(super) fn on_timeout(&mut self, space: &SendSpace) {
        self.end();
        self.duplicates.set_recover(space.max());
        if let Some(rack) = self.rack_mut() {
            rack.on_timeout(space.max());
            self.repeats_first = true;
        }
    }

    /// Bytes that may still be in the network. Recovery keeps sending for as long as duplicate ACKs come, so that all that
    /// was sent beyond a hole may be many windows; of these, `ssthresh` have not left. Counted otherwise, the loss of a
    /// retransmission would raise the threshold, which it MUST lower (RFC 5681 §4.3).
    pub(super) fn in_network(&self, space: &SendSpace, ssthresh: u64) -> u64 {
        let sacked = self.board.as_ref().map_or(0, |board| board.count_between(space.una(), space.nxt()));
        let unsacked = self.rack().map_or(space.in_flight() - sacked, |rack| rack.segments().in_flight());
        if self.is_open() { unsacked } else { unsacked.min(ssthresh) }
    }

    /// Where sending in order goes on: after a timeout what is sacked need not be sent again; before one it has left the network.
    #[inline]
    pub(super) fn position(&self, space: &SendSpace) -> Position {
        match self.board.as_ref().filter(|board| !board.is_empty()) {
            None => Position { seq: space.nxt(), until: u64::MAX, in_flight: space.in_flight() },
            Some(board) => board.position(space.una(), space.nxt()),
        }
    }

    /// Whether a new segment may leave on a duplicate ACK although it exceeds the window by `over` (RFC 3042).
    pub(super) fn is_limited_transmit(&self, len: u64, over: u64) -> bool {
        self.is_open() && self.duplicates.let_leave(len, over)
    }

    /// Such a segment leaves; or, with SACK, one for which what was sacked makes room (RFC 6675 §5 step 3).
    pub(super) fn on_sent_beyond_window(&mut self, len: u64) {
        self.duplicates.on_sent(len);
    }

    /// The segment that the scoreboard chooses, which leaves, if there is room in a window of `cwnd` bytes. `new_end`: where new data
    /// would end, if there is some that may be sent; `data`: bytes of the stream that were sent, without the FIN.
    pub(super) fn take_by_sack(
        &mut self,
        space: &SendSpace,
        cwnd: u64,
        new_end: Option<u64>,
        data: u64,
    ) -> Option<(u64, u64)> {
        let (Mode::Sack(sack), Some(board)) = (&self.mode, &mut self.board) else { return None };
        if !sack.has_room(board, cwnd) {
            return None;
        }
        sack.take_segment(board, space, new_end, data)
    }

    /// Whether a full segment of new data, if there were one, could leave now with a window of `cwnd` bytes.
    pub(super) fn lets_new_data_leave(&self, space: &SendSpace, cwnd: u64) -> bool {
        if self.repeats_first {
            return false;
        }
        if let Some(rack) = self.rack() {
            return rack.segments().lost() == 0 && rack.segments().in_flight() + self.mss <= cwnd;
        }
        if let (Mode::Sack(sack), Some(board)) = (&self.mode, &self.board) {
            return sack.has_room(board, cwnd) && sack.wants_new_data(board, space);
        }
        let position = self.position(space);
        // After a timeout what was sent before comes first.
        let over = (position.in_flight + self.mss).saturating_sub(cwnd);
        position.seq >= space.max() && (over == 0 || self.is_limited_transmit(self.mss, over))
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, seq: u64, end: u64) {
        if let Some(rack) = self.rack_mut() {
            rack.on_sent(seq, end);
        }
        let bytes = end - seq;
        match &mut self.mode {
            Mode::Open => {}
            Mode::Fast(fast) => fast.on_sent(bytes),
            Mode::Sack(sack) => sack.on_sent(bytes),
        }
    }

    /// Bytes in the network outside recovery: without those that are known to have arrived.
    pub(super) fn in_flight(&self, space: &SendSpace) -> u64 {
        self.rack().map_or_else(|| self.position(space).in_flight, |rack| rack.segments().in_flight())
    }

    /// Bytes that the scoreboard knows to have arrived; only where proportional rate reduction has to know.
    #[inline]
    pub(super) fn sacked(&self) -> u64 {
        if !self.wants_prr {
            return 0;
        }
        self.board.as_ref().map_or(0, |board| board.count_between(0, u64::MAX))
    }

    /// Takes in SACK blocks. Without SACK every duplicate ACK is news.
    #[inline]
    fn update_board(&mut self, segment: &Segment, una: u64) -> bool {
        self.board.as_mut().is_none_or(|board| board.update(segment, una))
    }
}

#[cfg(test)]
mod tests;
