//! Which sender the next pull goes to, and for which block (many-to-one, SCDP §IV-E).
//!
//! Every sender holds a share of each block's source symbols, and can send repair symbols instead. A block whose source
//! symbols all arrive needs no decoding (§IV-G), so source symbols are preferred: the sender that is furthest behind is asked next,
//! and a sender that has sent its share of a block moves on to the next block while the others catch up. A sender that is more
//! than two windows ahead of another, or much faster, waits no longer: its repair symbols replace the slow sender's source symbols.

use super::{Lane, Receiver, Session};
use crate::scdp::block::Block;
use crate::scdp::layout::lane_source;

impl Receiver {
    /// Whether a sender answers, as far as is known.
    #[inline]
    pub(super) fn in_touch(&self, lane: &Lane) -> bool {
        self.lanes.len() == 1 || lane.timeouts <= super::LEFT_OUT_AFTER && !lane.excluded
    }

    /// Whether a pull may go to a sender.
    #[inline]
    pub(super) fn in_use(&self, lane: &Lane) -> bool {
        lane.credits > 0 && self.in_touch(lane)
    }

    /// The sender of the next pull, and the index of its block, which may be the first one not begun. `None`
    /// if there is nothing to ask for now.
    #[inline]
    pub(super) fn choose(&self, session: Session) -> Option<(usize, usize)> {
        let begun = self.blocks.len();
        let can_come = |b: &Block| b.sole().is_none_or(|lane| self.in_use(&self.lanes[lane as usize]));
        let first = match self.blocks.iter().position(|b| b.need() > 0 && can_come(b)) {
            Some(index) => index,
            None if self.may_open() => begun,
            None => return None,
        };
        if session.lanes == 1 {
            return self.in_use(&self.lanes[0]).then_some((0, first));
        }
        if let Some(sole) = self.blocks.get(first).and_then(Block::sole) {
            return Some((sole as usize, first));
        }
        if let Some(lane) = self.furthest_behind(session, first) {
            return Some((lane, first));
        }
        if let Some(turn) = self.turn(first)
            && !self.is_awaited(session, first, turn)
        {
            return Some((turn, first));
        }
        let last = begun + usize::from(self.may_open());
        let needy = |&index: &usize| self.blocks.get(index).is_none_or(|b| b.need() > 0 && b.sole().is_none());
        let later =
            (first + 1..last).filter(needy).find_map(|index| Some((self.furthest_behind(session, index)?, index)));
        later.or_else(|| self.in_place_of_a_slow_one(session, first))
    }

    /// The next sender that may be asked for a block, in turn.
    pub(super) fn turn(&self, index: usize) -> Option<usize> {
        self.in_turn().find(|&lane| self.may_ask(index, lane))
    }

    fn in_turn(&self) -> impl Iterator<Item = usize> {
        let n = self.lanes.len();
        let start = if self.next_lane < n { self.next_lane } else { 0 };
        (start..n).chain(0..start)
    }

    /// Among the senders in use with source symbols of a block left, the one that was asked for the fewest; in turn where
    /// several were.
    fn furthest_behind(&self, session: Session, index: usize) -> Option<usize> {
        let can = |&lane: &usize| self.may_ask(index, lane) && self.holds(session, index, lane);
        self.in_turn().filter(can).min_by_key(|&lane| self.asked(index, lane))
    }

    /// Whether a sender has source symbols of a block that have not been requested from it.
    fn holds(&self, session: Session, index: usize, lane: usize) -> bool {
        self.held(session, index, lane) > 0
    }

    /// The source symbols of a block that have not been requested from the sender that they fall to.
    pub(super) fn held(&self, session: Session, index: usize, lane: usize) -> u32 {
        let k = session.layout.source_symbols(self.base + index as u32);
        lane_source(k, lane as u32, session.lanes).saturating_sub(self.asked(index, lane))
    }

    /// Symbols of a block that were requested from a sender.
    fn asked(&self, index: usize, lane: usize) -> u32 {
        self.blocks.get(index).map_or(0, |b| b.lane(lane as u32).requested)
    }

    /// Whether `lane` leaves a block to the senders that hold the rest of its source symbols: no symbol of the block was lost, those
    /// senders answer, and they are not too far behind.
    fn is_awaited(&self, session: Session, index: usize, lane: usize) -> bool {
        let asked = |lane: usize| self.blocks.range(index..).map(|b| b.lane(lane as u32).requested).sum::<u32>();
        let reach = asked(lane).saturating_sub(2 * self.lanes[lane].window.symbols());
        let in_reach =
            |other| self.in_touch(&self.lanes[other]) && reach <= asked(other) && !self.is_passed_over(index, other);
        let whole = self.blocks.get(index).is_some_and(|b| !b.is_lossy());
        let mut holders = (0..self.lanes.len()).filter(|&other| self.holds(session, index, other)).peekable();
        whole && holders.peek().is_some() && holders.all(in_reach)
    }
}
