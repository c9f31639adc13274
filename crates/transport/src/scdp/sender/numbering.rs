//! The symbols that one sender can send of each block, and their numbers.

use crate::scdp::config::Repair;
use crate::scdp::layout::{Layout, esi_limit, initial_window, lane_source, repair_start};

/// One sender's lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbering {
    layout: Layout,
    lane: u32,
    lanes: u32,
    repair: Repair,
    /// Of its repair symbols, where senders draw them independently.
    seed: u64,
}

impl Numbering {
    pub(super) fn new(layout: Layout, lane: u32, lanes: u32, repair: Repair) -> Self {
        Self { layout, lane, lanes, repair, seed: 0 }
    }

    pub(super) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    #[inline]
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Symbols that there are of a block.
    #[inline]
    pub(super) fn count(&self, block: u32) -> u32 {
        (esi_limit(self.layout.source_symbols(block), self.lanes) - self.lane).div_ceil(self.lanes)
    }

    /// ESI of the `index`-th symbol of a block.
    #[inline]
    pub(super) fn esi(&self, block: u32, index: u32) -> u32 {
        let k = self.layout.source_symbols(block);
        let place = index * self.lanes + self.lane;
        if place < k || self.repair == Repair::Partitioned {
            return place;
        }
        repair_start(k, self.seed, block) + index - lane_source(k, self.lane, self.lanes)
    }

    /// How many symbols of which blocks are pushed first.
    pub(super) fn initial_window(&self, window: u32, push: impl FnMut(u32, u32)) {
        initial_window(&self.layout, self.lane, self.lanes, window, push);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_draw_repair_symbols_of_their_own_where_they_are_random() {
        let layout = Layout::new(1000, 10, 100).expect("fits");
        let esis = |repair, lane, seed| {
            let mut numbering = Numbering::new(layout, lane, 2, repair);
            numbering.set_seed(seed);
            [0, 49, 50, 51].map(|index| numbering.esi(0, index))
        };
        assert_eq!(esis(Repair::Partitioned, 1, 7), [1, 99, 101, 103]);
        let [first, last, repair, next] = esis(Repair::Random, 1, 7);
        assert_eq!(
            (first, last, next),
            (1, 99, repair + 1),
            "source symbols are shared, repair symbols follow each other"
        );
        assert_ne!(repair, esis(Repair::Random, 1, 8)[2]);
    }
}
