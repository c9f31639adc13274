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
}

impl Order {
    /// Blocks before `first` are here.
    pub(super) fn from(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// The object has so many blocks: the last one is needed in any case.
    pub(super) fn establish(&mut self, blocks: u32) {
        self.first = self.first.min(blocks - 1);
        self.joined = self.joined.map(|joined| joined.min(blocks - 1)).filter(|joined| *joined > self.first);
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

    /// The first turn is over. Where the second one begins and ends, if there is one.
    pub(super) fn begin_second(&mut self) -> Option<(u32, u32)> {
        let joined = self.joined.filter(|_| !self.second)?;
        self.second = true;
        Some((self.first, joined))
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
        turns.establish(10);
        let layout = Layout::new(100, 1, 10).unwrap();
        assert_eq!((turns.end(10), turns.is_of_others(1), turns.is_of_others(2)), (10, true, false));
        turns.join(6, Some(3));
        assert_eq!((turns.is_of_others(5), turns.is_of_others(6), turns.is_past(6)), (true, false, false));
        assert_eq!(turns.symbols_before(&layout, 8), 50, "0, 1, 2, 6 and 7");
        assert_eq!((turns.begin_second(), turns.end(10)), (Some((3, 6)), 6));
        assert_eq!((turns.is_past(5), turns.is_past(6), turns.is_of_others(3)), (false, true, false));
        assert_eq!(turns.symbols_before(&layout, 4), 80, "all but 4 and 5");
        assert_eq!(turns.begin_second(), None);
    }

    #[test]
    fn the_last_block_is_needed_in_any_case() {
        let mut turns = Order::from(12);
        turns.establish(10);
        assert_eq!((turns.is_of_others(8), turns.is_of_others(9)), (true, false));
    }
}
