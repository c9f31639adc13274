//! Which sender the next pull goes to, and for which block (many-to-one, SCDP §IV-E).
//!
//! Every sender holds a share of each block's source symbols, and can send repair symbols instead. A block whose source
//! symbols all arrive needs no decoding (§IV-G), so source symbols are preferred: the sender that is furthest behind is asked next,
//! and a sender that has sent its share of a block moves on to the next block while the others catch up. A sender that is more
//! than two windows ahead of another, or much faster, waits no longer: its repair symbols replace the slow sender's source symbols.

use super::blocks::Blocks;
use super::lanes::Lanes;
use super::session::Session;
use crate::scdp::block::Block;
use crate::scdp::layout::lane_source;
use crate::{Duration, Peer};

/// Blocks and senders, at the moment when one has to be chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub(super) blocks: &'a Blocks,
    pub(super) lanes: &'a Lanes,
    pub(super) session: &'a Session,
    /// The application has to take blocks before others are begun.
    pub(super) full: bool,
}

impl Choice<'_> {
    /// The sender of the next pull, and the index of its block, which may be the first one not begun. `None`
    /// if there is nothing to ask for now.
    #[inline]
    pub(super) fn next(&self) -> Option<(usize, usize)> {
        let can_come = |b: &Block| b.sole().is_none_or(|lane| self.lanes.in_use(self.lanes.at(lane as usize)));
        let may_open = self.blocks.may_open(self.full);
        let first = match self.blocks.live.iter().position(|b| b.need() > 0 && can_come(b)) {
            Some(index) => index,
            None if may_open => self.blocks.live.len(),
            None => return None,
        };
        if self.session.lanes == 1 {
            return self.lanes.in_use(self.lanes.at(0)).then_some((0, first));
        }
        if let Some(sole) = self.blocks.live.get(first).and_then(Block::sole) {
            return Some((sole as usize, first));
        }
        self.among_several(first, may_open)
    }

    fn among_several(&self, first: usize, may_open: bool) -> Option<(usize, usize)> {
        if let Some(lane) = self.furthest_behind(first) {
            return Some((lane, first));
        }
        if let Some(turn) = self.turn(first)
            && !self.is_awaited(first, turn)
        {
            return Some((turn, first));
        }
        let last = self.blocks.live.len() + usize::from(may_open);
        let needy = |&index: &usize| self.blocks.live.get(index).is_none_or(|b| b.need() > 0 && b.sole().is_none());
        let later = (first + 1..last).filter(needy).find_map(|index| Some((self.furthest_behind(index)?, index)));
        later.or_else(|| self.in_place_of_a_slow_one(first))
    }

    /// The next sender that may be asked for a block, in turn.
    fn turn(&self, index: usize) -> Option<usize> {
        self.lanes.in_turn().find(|&lane| self.may_ask(index, lane))
    }

    /// Among the senders in use with source symbols of a block left, the one that was asked for the fewest; in turn where
    /// several were.
    fn furthest_behind(&self, index: usize) -> Option<usize> {
        let can = |&lane: &usize| self.may_ask(index, lane) && self.held(index, lane) > 0;
        self.lanes.in_turn().filter(can).min_by_key(|&lane| self.asked(index, lane))
    }

    /// The source symbols of a block that have not been requested from the sender that they fall to.
    fn held(&self, index: usize, lane: usize) -> u32 {
        let k = self.session.layout.source_symbols(self.blocks.live.number(index));
        lane_source(k, lane as u32, self.session.lanes).saturating_sub(self.asked(index, lane))
    }

    /// Symbols of a block that were requested from a sender.
    fn asked(&self, index: usize, lane: usize) -> u32 {
        self.blocks.live.get(index).map_or(0, |b| b.lane(lane as u32).requested)
    }

    /// Whether `lane` leaves a block to the senders that hold the rest of its source symbols: no symbol of the block was lost, those
    /// senders answer, and they are not too far behind.
    fn is_awaited(&self, index: usize, lane: usize) -> bool {
        let asked = |lane: usize| self.blocks.live.from(index).map(|b| b.lane(lane as u32).requested).sum::<u32>();
        let reach = asked(lane).saturating_sub(2 * self.lanes.at(lane).credits.window().symbols());
        let in_reach = |other| {
            self.lanes.in_touch(self.lanes.at(other)) && reach <= asked(other) && !self.is_passed_over(index, other)
        };
        let whole = self.blocks.live.get(index).is_some_and(|b| !b.is_lossy());
        let mut holders = (0..self.lanes.len()).filter(|&other| self.held(index, other) > 0).peekable();
        whole && holders.peek().is_some() && holders.all(in_reach)
    }

    /// Whether a sender may be asked for symbols of a block: not if others send in its place.
    #[inline]
    fn may_ask(&self, index: usize, lane: usize) -> bool {
        self.lanes.in_use(self.lanes.at(lane)) && !self.is_replaced(index, lane)
    }

    /// Whether others do not wait for a sender to send its share of a block.
    fn is_passed_over(&self, index: usize, lane: usize) -> bool {
        self.lanes.is_slow(lane as Peer) || self.is_replaced(index, lane)
    }

    /// Whether others that answer send in a sender's place what a block waits for.
    fn is_replaced(&self, index: usize, lane: usize) -> bool {
        let Some(block) = self.blocks.live.get(index) else { return false };
        let is_overtaken = |lane: usize| block.lane(lane as u32).overtaken;
        let in_touch = |lane: usize| self.lanes.in_touch(self.lanes.at(lane));
        is_overtaken(lane) && (0..self.lanes.len()).any(|other| in_touch(other) && !is_overtaken(other))
    }

    /// The longest that a sender in use may take to answer that is not slow.
    pub(super) fn bar(&self) -> Option<Duration> {
        self.lanes.bar(|lane| self.lanes.in_use(lane))
    }

    /// While there is nothing else to ask for: the next sender, and the first block of which another holds more than it can send in time.
    fn in_place_of_a_slow_one(&self, first: usize) -> Option<(usize, usize)> {
        let bar = self.bar()?;
        let takes_long = |index: usize, lane: usize| {
            let held = self.held(index, lane).min(self.blocks.live.at(index).need());
            let credits = &self.lanes.at(lane).credits;
            let most = u64::from(credits.most().max(1));
            let taken = credits.response().map(|response| response + response * u64::from(held) / most);
            held > 0 && taken.is_some_and(|taken| taken > bar)
        };
        (first..self.blocks.live.len()).filter(|&index| self.blocks.live.at(index).need() > 0).find_map(|index| {
            let waits = self.blocks.live.at(index).sole().is_none()
                && (0..self.lanes.len()).any(|lane| takes_long(index, lane));
            Some((self.turn(index).filter(|_| waits)?, index))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;
    use crate::scdp::ScdpConfig;
    use crate::scdp::header::{Mode, Options};
    use std::sync::Arc;

    /// A session of which nothing has been asked for.
    struct Fixture {
        blocks: Blocks,
        lanes: Lanes,
        session: Session,
    }

    impl Fixture {
        /// Two blocks of twelve symbols, of senders that may owe eight each.
        fn new(senders: u16) -> Self {
            let config = ScdpConfig { overhead: 0, ..ScdpConfig::default() };
            let options = Options {
                object_bytes: 24,
                symbol_bytes: 1,
                block_symbols: 12,
                window: 8,
                lanes: senders,
                mode: Mode::ManyToOne,
            };
            let session = Session::new(&options, &config).unwrap();
            let (mut blocks, mut lanes) = (Blocks::new(&config), Lanes::new(Arc::new(config), senders, 1));
            blocks.establish(&session);
            lanes.establish(&session);
            (0..session.lanes).for_each(|lane| lanes.begin(Time::ZERO, lane, &session, 0));
            Self { blocks, lanes, session }
        }

        fn choice(&self, full: bool) -> Choice<'_> {
            Choice { blocks: &self.blocks, lanes: &self.lanes, session: &self.session, full }
        }

        /// Asks for what is next, as often as possible: the senders that are asked, for each block.
        fn ask_all(&mut self) -> [Vec<usize>; 2] {
            let mut asked = [const { Vec::new() }; 2];
            while let Some((lane, index)) = self.choice(false).next() {
                self.blocks.reach(index, &self.session);
                self.lanes.spend(Time::ZERO, lane as u32);
                self.blocks.live.request(index, lane as u32, 1, 0);
                asked[index].push(lane);
            }
            asked
        }
    }

    #[test]
    fn senders_send_equal_shares_of_one_block_after_the_other() {
        let asked = Fixture::new(3).ask_all();
        assert_eq!(asked, [[0, 1, 2].repeat(4), [0, 1, 2].repeat(4)]);
        assert_eq!(Fixture::new(1).ask_all(), [vec![0; 8], vec![]], "one may be asked for no more");
    }

    #[test]
    fn others_send_repair_symbols_for_the_share_of_one_that_is_out_of_touch() {
        let mut fixture = Fixture::new(3);
        fixture.lanes.exclude(1);
        let [first, second] = fixture.ask_all();
        assert_eq!((first, second), ([0, 2].repeat(6), [0, 2].repeat(2)));
    }

    #[test]
    fn a_block_of_one_sender_alone_does_not_hold_up_the_next_one() {
        let mut fixture = Fixture::new(3);
        fixture.blocks.reach(0, &fixture.session);
        fixture.blocks.live.restart(0, Some(2));
        let asked = fixture.ask_all();
        assert_eq!(
            asked,
            [vec![2; 8], [0, 1].repeat(4)],
            "it may be asked for no more, and keeps its share of the next one"
        );
    }

    #[test]
    fn while_the_application_has_to_take_blocks_no_other_is_begun() {
        let mut fixture = Fixture::new(3);
        assert_eq!((fixture.choice(true).next(), fixture.choice(false).next()), (None, Some((0, 0))));
        fixture.blocks.reach(0, &fixture.session);
        assert_eq!(fixture.choice(true).next(), Some((0, 0)));
    }
}
