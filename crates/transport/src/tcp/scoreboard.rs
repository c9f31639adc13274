//! The sender's SACK scoreboard (RFC 6675): what has arrived beyond the cumulative ACK, what counts as lost, how much
//! is in the network, and what to send next.
//!
//! With [`Rack`] that decides what is lost, how much is in the network and what is sent again.
//!
//! It is kept across retransmission timeouts: receivers here never renege (RFC 6675 §5.1).

use super::config::{DUP_THRESHOLD, TcpConfig};
use super::rack::Rack;
use super::segment::Segment;
use crate::ranges::RangeSet;

/// Everything that only a connection with SACK needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sacked: RangeSet,
    /// `HighRxt`: one past the highest offset retransmitted in this recovery.
    high_rxt: u64,
    /// `RescueRxt`: one past the highest offset that a rescue retransmission covered.
    rescue_rxt: u64,
    /// Octets below that are neither acknowledged nor sacked are lost (`IsLost`).
    lost_below: u64,
    /// `pipe`: octets estimated to be in the network.
    pipe: u64,
    /// What decides by time instead which octets are lost (RFC 8985).
    rack: Option<Box<Rack>>,
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

/// What `NextSeg()` chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Retransmit `0..1`.
    Old(u64, u64),
    /// Send new data, if there is any.
    New,
    /// Retransmit the last outstanding segment, but nothing before this offset.
    Rescue(u64),
}

impl Scoreboard {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { rack: config.rack.then(|| Box::new(Rack::new(config))), ..Self::default() }
    }

    #[inline]
    pub(super) fn rack(&self) -> Option<&Rack> {
        self.rack.as_deref()
    }

    #[inline]
    pub(super) fn rack_mut(&mut self) -> Option<&mut Rack> {
        self.rack.as_deref_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// `Update()`: takes in the blocks of an ACK and forgets what is cumulatively acknowledged. Whether a block told
    /// something new.
    pub(super) fn update(&mut self, segment: &Segment, una: u64) -> bool {
        if let Some(rack) = &mut self.rack {
            rack.on_ack(segment, una, &self.sacked);
        }
        self.sacked.remove_below(una);
        let mut news = false;
        for (start, end) in segment.sack_blocks() {
            let start = start.max(una);
            news |= start < end && self.sacked.insert(start, end);
        }
        news
    }

    /// `IsLost()` for the first outstanding octet, and for every other below the returned offset: three discontiguous
    /// sacked ranges above it, or more than two segments of sacked octets.
    pub(super) fn assess_losses(&mut self, mss: u64) -> u64 {
        let mut octets = 0;
        self.lost_below = 0;
        for (above, range) in (1..).zip(self.sacked.as_slice().iter().rev()) {
            octets += range.len();
            if above >= DUP_THRESHOLD || octets > u64::from(DUP_THRESHOLD - 1) * mss {
                self.lost_below = range.start;
                break;
            }
        }
        self.lost_below
    }

    /// [`assess_losses`](Self::assess_losses), and whether anything that was not acknowledged is newly lost.
    fn find_losses(&mut self, una: u64, mss: u64) -> bool {
        let before = self.lost_below.max(una);
        let after = self.assess_losses(mss);
        after > before && after - before > self.sacked.count_between(before, after)
    }

    /// `Update()`'s losses and `SetPipe()`, with everything before `max` sent. Whether anything is newly lost.
    pub(super) fn measure_pipe(&mut self, una: u64, max: u64, mss: u64) -> bool {
        if let Some(rack) = &mut self.rack {
            return rack.find_losses(true).bytes > 0;
        }
        let more_lost = self.find_losses(una, mss);
        self.set_pipe(una, max);
        more_lost
    }

    /// `SetPipe()`: octets that are neither sacked nor lost, and octets retransmitted since.
    fn set_pipe(&mut self, una: u64, max: u64) {
        let unsacked = |from: u64, to: u64| (to.max(from) - from) - self.sacked.count_between(from, to);
        self.pipe = unsacked(self.lost_below.max(una), max) + unsacked(una, self.high_rxt.max(una));
    }

    pub(super) fn pipe(&self) -> u64 {
        self.rack().map_or(self.pipe, |rack| rack.segments().in_flight())
    }

    /// Step 4.3 of §5: the first segment leaves unconditionally when recovery begins.
    pub(super) fn begin_recovery(&mut self, first_end: u64) {
        self.high_rxt = first_end;
        self.rescue_rxt = first_end;
    }

    /// `NextSeg()`, §4. `new_data`: whether new data may be sent.
    pub(super) fn next_segment(&self, una: u64, max: u64, mss: u64, new_data: bool) -> Option<Next> {
        let (start, end) = self.sacked.gap_from(self.high_rxt.max(una));
        // Rule 1: the first hole beyond HighRxt that is lost and has something SACKed above.
        if let Some(end) = end
            && start < self.lost_below
        {
            return Some(Next::Old(start, end.min(start + mss)));
        }
        // Rule 2: new data.
        if new_data {
            return Some(Next::New);
        }
        // Rule 3: the same hole although it is not known to be lost.
        if let Some(end) = end {
            return Some(Next::Old(start, end.min(start + mss)));
        }
        // Rule 4: once per recovery the last unSACKed segment, so that a lost tail gives feedback.
        (una > self.rescue_rxt && start < max).then_some(Next::Rescue(start))
    }

    /// A segment chosen by [`next_segment`](Self::next_segment) left. `recovery_point`: see rule 4.
    pub(super) fn sent(&mut self, start: u64, end: u64, retransmission: bool, recovery_point: u64) {
        self.pipe += end - start;
        if !retransmission {
            return;
        }
        if self.sacked.end().is_some_and(|top| start < top) {
            self.high_rxt = end;
        } else {
            self.rescue_rxt = recovery_point;
        }
    }

    /// Where sending in order goes on from `nxt`: what is sacked need not be sent again, and has left the network.
    pub(super) fn position(&self, una: u64, nxt: u64) -> Position {
        let (seq, until) = self.sacked.gap_from(nxt);
        let in_flight = seq - una - self.sacked.count_between(una, seq);
        Position { seq, until: until.unwrap_or(u64::MAX), in_flight }
    }

    /// sacked octets in `from..to`.
    pub(super) fn count_between(&self, from: u64, to: u64) -> u64 {
        self.sacked.count_between(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::Flags;
    use super::*;

    const MSS: u64 = 1000;

    /// Segments in thousands: `una..max` outstanding, `sacked` reported, in ranges.
    fn board(una: u64, sacked: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for &(start, end) in sacked {
            let mut ack = Segment { ack: una * MSS, flags: Flags::ACK, ..Segment::default() };
            ack.push_sack(start * MSS, end * MSS);
            assert!(board.update(&ack, una * MSS));
            assert!(!board.update(&ack, una * MSS), "told twice, news once");
        }
        board
    }

    #[test]
    fn a_hole_is_lost_below_three_ranges_or_more_than_two_segments() {
        let lost_below = |sacked: &[(u64, u64)]| board(0, sacked).assess_losses(MSS) / MSS;
        assert_eq!(lost_below(&[]), 0);
        assert_eq!(lost_below(&[(1, 3)]), 0, "two segments are not more than two");
        assert_eq!(lost_below(&[(1, 4)]), 1);
        assert_eq!(lost_below(&[(2, 3), (4, 6)]), 2, "three segments in two ranges");
        let mut thin = board(0, &[]);
        for start in [1000, 2000, 3000] {
            thin.sacked.insert(start, start + 1);
        }
        assert_eq!(thin.assess_losses(MSS), 1000, "three ranges, however short");
    }

    #[test]
    fn the_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_repeated() {
        // 0 and 1 lost, 2..5 sacked, 5 unknown, 6 sacked, 7..10 in flight.
        let mut b = board(0, &[(2, 5), (6, 7)]);
        assert_eq!(b.assess_losses(MSS), 2 * MSS);
        b.set_pipe(0, 10 * MSS);
        assert_eq!(b.pipe(), 4 * MSS);
        b.begin_recovery(MSS);
        b.set_pipe(0, 10 * MSS);
        assert_eq!(b.pipe(), 5 * MSS, "the repeated first segment is in the network again");
    }

    #[test]
    fn the_next_segment_is_a_lost_hole_then_new_data_then_any_hole_then_the_tail() {
        let (una, max) = (0, 10 * MSS);
        let mut b = board(0, &[(2, 5), (6, 7)]);
        b.assess_losses(MSS);
        b.begin_recovery(MSS);
        let next = |b: &Scoreboard, una: u64, new: bool| b.next_segment(una, max, MSS, new);
        assert_eq!(next(&b, una, true), Some(Next::Old(MSS, 2 * MSS)), "rule 1");
        b.sent(MSS, 2 * MSS, true, max);
        assert_eq!(next(&b, una, true), Some(Next::New), "rule 2");
        assert_eq!(next(&b, una, false), Some(Next::Old(5 * MSS, 6 * MSS)), "rule 3");
        b.sent(5 * MSS, 6 * MSS, true, max);
        assert_eq!(next(&b, una, false), None, "rule 4 waits for a cumulative ACK beyond the first repetition");
        b.update(&Segment { ack: 5 * MSS, ..Segment::default() }, 5 * MSS);
        assert_eq!(next(&b, 5 * MSS, false), Some(Next::Rescue(7 * MSS)), "rule 4");
        b.sent(9 * MSS, max, true, max);
        assert_eq!(next(&b, 5 * MSS, false), None, "once");
    }
}
