//! The order in which blocks are received.
//!
//! A receiver that comes late to a group, which has gone on without it, takes the blocks that are still to come together with the others, and
//! those before them afterwards, by itself: nothing is sent twice to the others. So its blocks have two turns: from where it joins to the end,
//! then from where it would have begun to where it joined.

use crate::scdp::layout::Layout;

/// What is received first, and what afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// The first block that is needed at all: earlier ones are here from an earlier session.
    first: u32,
    /// Where it joined a group that had gone on without it.
    joined: Option<u32>,
    /// The blocks before that are received now, those from there on are complete.
    second: bool,
    /// Source symbols of the blocks of this turn that are not begun.
    unbegun: u64,
    /// The last block with a symbol that there was no room for: a quorum of the group has reached it.
    passed: u32,
}

impl Order {
    /// Blocks before `first` are here.
    pub(super) fn from(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// The object is known: its last block is needed in any case. None from `base` on is begun.
    pub(super) fn establish(&mut self, layout: &Layout, base: u32) {
        let last = layout.blocks - 1;
        self.first = self.first.min(last);
        self.joined = self.joined.map(|joined| joined.min(last)).filter(|joined| *joined > self.first);
        self.unbegun = layout.symbols - layout.symbols_before(base);
    }

    /// Source symbols of the blocks of this turn that are not begun.
    #[inline]
    pub(super) fn unbegun(&self) -> u64 {
        self.unbegun
    }

    /// There is no room for a symbol of a block: its source symbols may have been sent when there is.
    pub(super) fn pass(&mut self, block: u32) {
        self.passed = self.passed.max(block);
    }

    /// What was sent to others while there was no room for it is sent to this receiver as well.
    pub(super) fn forget_passed(&mut self) {
        self.passed = 0;
    }

    /// The next block is begun. Returns whether its source symbols were sent while there was no room for them.
    pub(super) fn begin(&mut self, block: u32, layout: &Layout) -> bool {
        if !layout.endless() {
            self.unbegun -= u64::from(layout.source_symbols(block));
        }
        block < self.passed
    }

    /// It joins the group at a block; those from `first` on are received in the second turn.
    pub(super) fn join(&mut self, at: u32, first: Option<u32>) {
        self.joined = Some(at);
        self.first = first.unwrap_or(self.first);
    }

    /// Whether it joined a group that had gone on without it.
    pub(super) fn has_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// The first turn is over. Where the second one begins, if there is one.
    pub(super) fn begin_second(&mut self) -> Option<u32> {
        self.joined.filter(|_| !self.second)?;
        self.second = true;
        Some(self.first)
    }

    /// A turn begins, in which the blocks before `next` are begun.
    pub(super) fn begin_turn(&mut self, layout: &Layout, next: u32) {
        let end = self.end(layout.blocks);
        self.unbegun = layout.symbols_before(end) - layout.symbols_before(next.min(end));
        self.passed = 0;
    }

    /// The block at which this turn ends.
    pub(super) fn end(&self, blocks: u32) -> u32 {
        self.joined.filter(|_| self.second).unwrap_or(blocks)
    }

    /// Whether a block had its turn, and is complete.
    #[inline]
    pub(super) fn is_past(&self, block: u32) -> bool {
        self.second && self.joined.is_some_and(|joined| block >= joined)
    }

    /// Whether a block is never asked for in this turn: a symbol of it was sent to others.
    #[inline]
    pub(super) fn is_of_others(&self, block: u32) -> bool {
        let from = self.joined.filter(|_| !self.second).unwrap_or(self.first);
        block < from || self.is_past(block)
    }

    /// Source symbols that this receiver has if all blocks before `base` had their turn.
    pub(super) fn symbols_before(&self, layout: &Layout, base: u32) -> u64 {
        let before = layout.symbols_before(base);
        match self.joined {
            None => before,
            Some(joined) if self.second => before + (layout.symbols - layout.symbols_before(joined)),
            Some(joined) => before - layout.symbols_before(joined) + layout.symbols_before(self.first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_before_the_one_it_joined_at_follow_the_last() {
        let mut turns = Order::from(2);
        let layout = Layout::new(100, 1, 10).unwrap();
        turns.establish(&layout, 2);
        assert_eq!((turns.end(10), turns.is_of_others(1), turns.is_of_others(2)), (10, true, false));
        turns.join(6, Some(3));
        assert_eq!((turns.is_of_others(5), turns.is_of_others(6), turns.is_past(6)), (true, false, false));
        assert_eq!(turns.symbols_before(&layout, 8), 50, "0, 1, 2, 6 and 7");
        assert_eq!((turns.begin_second(), turns.end(10)), (Some(3), 6));
        assert_eq!((turns.is_past(5), turns.is_past(6), turns.is_of_others(3)), (false, true, false));
        assert_eq!(turns.symbols_before(&layout, 4), 80, "all but 4 and 5");
        assert_eq!(turns.begin_second(), None);
    }

    #[test]
    fn the_last_block_is_needed_in_any_case() {
        let mut turns = Order::from(12);
        turns.establish(&Layout::new(100, 1, 10).unwrap(), 9);
        assert_eq!((turns.is_of_others(8), turns.is_of_others(9)), (true, false));
    }

    #[test]
    fn each_turn_counts_what_is_not_begun_up_to_its_end() {
        let layout = Layout::new(100, 1, 10).unwrap();
        let mut turns = Order::default();
        turns.establish(&layout, 0);
        assert!(!turns.begin(0, &layout) && !turns.begin(1, &layout));
        assert_eq!(turns.unbegun(), 80);
        turns.join(6, Some(1));
        turns.begin_turn(&layout, 6);
        assert_eq!(turns.unbegun(), 40);
        turns.begin_second();
        turns.begin_turn(&layout, 2);
        assert_eq!(turns.unbegun(), 40, "2 to 5");
        turns.begin_turn(&layout, 9);
        assert_eq!(turns.unbegun(), 0);
    }

    #[test]
    fn of_blocks_that_there_was_no_room_for_the_group_has_sent_the_source_symbols() {
        let layout = Layout::new(100, 1, 10).unwrap();
        let mut turns = Order::default();
        turns.establish(&layout, 0);
        turns.pass(2);
        turns.pass(1);
        assert_eq!([0, 1, 2].map(|block| turns.begin(block, &layout)), [true, true, false]);
        turns.pass(5);
        turns.forget_passed();
        assert!(!turns.begin(3, &layout));
    }
}
