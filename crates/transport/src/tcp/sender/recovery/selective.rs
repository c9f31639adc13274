//! SACK recovery (RFC 6675): the scoreboard says what is lost and how much is in the network.
//!
//! Without proportional rate reduction the window stays at the threshold, and what the scoreboard counts out of the network makes
//! room. With it (RFC 9937) the window is what is in the network and what may be sent.

use super::Step;
use crate::tcp::prr::{Feedback, ProportionalRateReduction};
use crate::tcp::scoreboard::{Next, Scoreboard};
use crate::tcp::segment::Segment;
use crate::tcp::sender::space::SendSpace;
use crate::tcp::sender::window::Change;

/// A SACK recovery.
#[derive(Clone, Debug)]
pub(super) struct SackRecovery {
    /// Where the window is to be at its end.
    ssthresh: u64,
    mss: u64,
    /// An ACK of everything before this ends it.
    until: u64,
    prr: Option<Box<ProportionalRateReduction>>,
}

impl SackRecovery {
    /// It begins. The window has fallen to `ssthresh`.
    pub(super) fn new(ssthresh: u64, mss: u64, until: u64) -> Self {
        Self { ssthresh, mss, until, prr: None }
    }

    /// The window is to fall in proportion, from the ACK on that says so and has told of `delivered` bytes.
    pub(super) fn reduce_proportionally(&mut self, delivered: u64, board: &Scoreboard, space: &SendSpace) -> Change {
        let arrived = board.count_between(space.una(), space.nxt());
        // RFC 9937 §6.1: in flight before this ACK, without what was known to have arrived.
        let flight = (space.in_flight() + delivered).saturating_sub(arrived);
        self.prr = Some(Box::new(ProportionalRateReduction::new(flight, self.ssthresh, self.mss)));
        self.reduce(delivered, false, board)
    }

    /// The window goes on to fall as it has begun to, for an ACK that has told of `delivered` bytes.
    pub(super) fn go_on_with(
        &mut self,
        reduction: Box<ProportionalRateReduction>,
        delivered: u64,
        board: &Scoreboard,
    ) -> Change {
        self.prr = Some(reduction);
        self.reduce(delivered, false, board)
    }

    /// An ACK of `bytes` new bytes.
    pub(super) fn on_ack(&mut self, segment: &Segment, bytes: u64, board: &mut Scoreboard, space: &SendSpace) -> Step {
        let before = self.sacked(board);
        board.update(segment, space.una());
        if space.una() >= self.until {
            // RFC 6675 §5 step A.
            return Step::End(self.ssthresh);
        }
        let more_lost = board.measure_pipe(space.una(), space.max(), self.mss);
        let change = self.reduce(bytes + self.sacked(board) - before, !more_lost, board);
        Step::Continue { change, restart: true, repeats_first: false }
    }

    /// An ACK of nothing new.
    pub(super) fn on_duplicate(&mut self, segment: &Segment, board: &mut Scoreboard, space: &SendSpace) -> Change {
        let before = self.sacked(board);
        board.update(segment, space.una());
        board.measure_pipe(space.una(), space.max(), self.mss);
        self.reduce(self.sacked(board) - before, false, board)
    }

    /// RFC 6675 §5 step C: whether the pipe leaves room for a segment in a window of `cwnd` bytes.
    pub(super) fn has_room(&self, board: &Scoreboard, cwnd: u64) -> bool {
        board.pipe() + self.mss <= cwnd
    }

    /// Whether a new segment, if there were one, would be sent next.
    pub(super) fn wants_new_data(&self, board: &Scoreboard, space: &SendSpace) -> bool {
        board.next_segment(space.una(), space.max(), self.mss, true) == Some(Next::New)
    }

    /// The segment that the scoreboard chooses, which leaves. `new_end`: where new data would end, if there is some that may be
    /// sent; `data`: bytes of the stream that were sent, without the FIN.
    pub(super) fn take_segment(
        &self,
        board: &mut Scoreboard,
        space: &SendSpace,
        new_end: Option<u64>,
        data: u64,
    ) -> Option<(u64, u64)> {
        let max = space.max();
        let (seq, end) = match board.next_segment(space.una(), max, self.mss, new_end.is_some())? {
            Next::Old(seq, end) => (seq, end),
            Next::New => (max, new_end?),
            Next::Rescue(from) => (data.saturating_sub(self.mss).max(from), max),
        };
        board.sent(seq, end, seq < max, self.until);
        Some((seq, end))
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// Bytes that the scoreboard knows to have arrived; only where proportional rate reduction has to know.
    fn sacked(&self, board: &Scoreboard) -> u64 {
        if self.prr.is_some() { board.count_between(0, u64::MAX) } else { 0 }
    }

    /// RFC 9937 §6: an ACK has told of `delivered` bytes; `safe`, if it told of progress and of no further loss.
    fn reduce(&mut self, delivered: u64, safe: bool, board: &Scoreboard) -> Change {
        let Some(prr) = self.prr.as_mut().filter(|_| delivered > 0) else { return Change::Nothing };
        let in_flight = board.pipe();
        Change::To(in_flight + prr.on_ack(&Feedback { delivered, in_flight, safe }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Flags;

    const MSS: u64 = 1000;

    fn ack(una: u64, sacked: (u64, u64)) -> Segment {
        let mut ack = Segment { ack: una * MSS, flags: Flags::ACK, ..Segment::default() };
        ack.push_sack(sacked.0 * MSS, sacked.1 * MSS);
        ack
    }

    /// Of ten segments three have arrived, but not the first: the window is to fall to five.
    fn lossy() -> (SackRecovery, Scoreboard, SendSpace) {
        let (mut board, mut space) = (Scoreboard::default(), SendSpace::new(1 << 30));
        space.on_sent(10 * MSS);
        board.update(&ack(0, (1, 4)), 0);
        board.measure_pipe(0, 10 * MSS, MSS);
        assert_eq!(board.pipe(), 6 * MSS, "4 to 9 are in the network");
        (SackRecovery::new(5 * MSS, MSS, 10 * MSS), board, space)
    }

    #[test]
    fn the_scoreboard_alone_leaves_the_window_until_all_has_arrived() {
        let (mut recovery, mut board, mut space) = lossy();
        assert_eq!(recovery.on_duplicate(&ack(0, (1, 6)), &mut board, &space), Change::Nothing);
        assert_eq!(board.pipe(), 4 * MSS);
        let bytes = space.acknowledge(6 * MSS);
        let step = recovery.on_ack(&ack(6, (7, 8)), bytes, &mut board, &space);
        assert_eq!(step, Step::Continue { change: Change::Nothing, restart: true, repeats_first: false });
        let bytes = space.acknowledge(10 * MSS);
        assert_eq!(recovery.on_ack(&ack(10, (11, 12)), bytes, &mut board, &space), Step::End(5 * MSS));
    }

    #[test]
    fn holes_come_before_new_data_and_the_tail_comes_last() {
        let (recovery, mut board, mut space) = lossy();
        board.begin_recovery(0);
        board.measure_pipe(0, 10 * MSS, MSS);
        assert!(!recovery.has_room(&board, 6 * MSS) && recovery.has_room(&board, 7 * MSS));
        let mut take = |space: &SendSpace, new_end| recovery.take_segment(&mut board, space, new_end, space.max());
        assert_eq!(take(&space, Some(11 * MSS)), Some((0, MSS)));
        assert_eq!(take(&space, Some(11 * MSS)), Some((10 * MSS, 11 * MSS)));
        space.on_sent(11 * MSS);
        space.acknowledge(5 * MSS);
        assert_eq!(take(&space, None), Some((10 * MSS, 11 * MSS)), "the rescue");
        assert_eq!(take(&space, None), None, "once");
        assert!(recovery.wants_new_data(&board, &space));
    }

    #[test]
    fn in_proportion_the_window_is_what_is_in_the_network_and_what_may_be_sent() {
        let (mut recovery, mut board, space) = lossy();
        // Half of ten: three arrived, of which one and a half may be replaced.
        let change = recovery.reduce_proportionally(3 * MSS, &board, &space);
        assert_eq!(change, Change::To(6 * MSS + 3 * MSS / 2));
        recovery.on_sent(MSS);
        assert_eq!(recovery.on_duplicate(&ack(0, (1, 4)), &mut board, &space), Change::Nothing, "nothing is new");
        let change = recovery.on_duplicate(&ack(0, (1, 5)), &mut board, &space);
        assert_eq!(change, Change::To(5 * MSS), "what is in the network is at the threshold");
    }
}
