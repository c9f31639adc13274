//! Gaps: symbols that later ones of their sender have overtaken count as lost.
//!
//! A sender emits the symbols of its lane in order, and its blocks in order as far as they were requested in order. So a whole symbol shows
//! that those before it were sent. Symbols that will never arrive must not hold the receiver's window.

use super::live::LiveBlocks;
use crate::scdp::config::ScdpConfig;
use crate::scdp::layout::lane_source;

/// When a gap counts as loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// Once so many later symbols have arrived; 0: never.
    tolerance: u32,
}

impl Gaps {
    pub(super) fn new(config: &ScdpConfig) -> Self {
        Self { tolerance: config.reorder_tolerance }
    }

    /// The `j`-th symbol of one of so many `lanes` has arrived whole in this block: what should have arrived long before is lost. Returns how
    /// many symbols that is.
    #[inline]
    pub(super) fn find(self, blocks: &mut LiveBlocks, index: usize, lane: u32, j: u32, lanes: u32) -> u32 {
        if self.tolerance == 0 {
            return 0;
        }
        let lost = blocks.sweep(index, lane, j.saturating_sub(self.tolerance));
        if index == 0 || j >= lane_source(blocks.at(index).source_symbols(), lane, lanes) {
            return lost;
        }
        lost + self.find_earlier(blocks, index, lane, j, lanes)
    }

    /// Source symbols of earlier blocks were emitted before those of this one, and so were their repair symbols, if those
    /// were requested before.
    fn find_earlier(self, blocks: &mut LiveBlocks, index: usize, lane: u32, j: u32, lanes: u32) -> u32 {
        let mut lost = 0;
        let (mut ahead, asked) = (j, blocks.at(index).lane(lane).first_asked + u64::from(j));
        for earlier in (0..index).rev() {
            let source = lane_source(blocks.at(earlier).source_symbols(), lane, lanes);
            ahead += source;
            if !blocks.at(earlier).is_complete() && blocks.at(earlier).lane(lane).outstanding > 0 {
                lost += blocks.sweep(earlier, lane, ahead.saturating_sub(self.tolerance).min(source));
                if blocks.at(earlier).lane(lane).last_asked + u64::from(self.tolerance) <= asked {
                    lost += blocks.lose(earlier, lane);
                }
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::header::{Mode, Options};
    use crate::scdp::receiver::blocks::Blocks;
    use crate::scdp::receiver::session::Session;

    /// Ten blocks of ten symbols, from `lanes` senders that push `window` each.
    fn session(lanes: u16, window: u16) -> Session {
        let options =
            Options { object_bytes: 100, symbol_bytes: 1, block_symbols: 10, window, lanes, mode: Mode::Unicast };
        Session::new(&options, &ScdpConfig::default()).unwrap()
    }

    /// The same, when these are on their way. A lost one costs two more.
    fn blocks(session: &Session) -> Blocks {
        let mut blocks = Blocks::new(&ScdpConfig { overhead: 2, ..ScdpConfig::default() });
        blocks.establish(session);
        for lane in 0..session.lanes {
            let mut asked = 0;
            blocks.push_initial(session, lane, |blocks, index, count| {
                blocks.live.request(index, lane, count, asked);
                asked += u64::from(count);
            });
        }
        blocks
    }

    /// Symbol `j` of a lane arrives whole; returns how many others are lost for it, where three may overtake one.
    fn arrive(blocks: &mut Blocks, index: usize, lane: u32, j: u32, lanes: u32) -> u32 {
        let place = j * lanes + lane;
        assert!(blocks.live.note(index, place));
        blocks.live.arrived(index, lane, j);
        blocks.live.receive(index, place);
        let lost = Gaps { tolerance: 3 }.find(&mut blocks.live, index, lane, j, lanes);
        blocks.live.check(lanes);
        lost
    }

    #[test]
    fn a_symbol_that_later_ones_have_overtaken_is_lost_and_costs_the_overhead_once() {
        let mut blocks = blocks(&session(1, 10));
        let lost: Vec<u32> = [0, 2, 3, 4, 6, 8, 9].into_iter().map(|j| arrive(&mut blocks, 0, 0, j, 1)).collect();
        assert_eq!(lost, [0, 0, 0, 0, 1, 0, 1], "1 after 6, 5 after 9");
        // Two lost and two more: 7 is still in flight.
        assert_eq!((blocks.wanted(true), blocks.live.at(0).missing()), (4, 5));
    }

    #[test]
    fn source_symbols_of_earlier_blocks_are_lost_when_later_blocks_arrive() {
        let mut blocks = blocks(&session(1, 20));
        arrive(&mut blocks, 0, 0, 0, 1);
        assert_eq!(arrive(&mut blocks, 1, 0, 0, 1), 6, "1 to 6, of ten");
        assert_eq!(arrive(&mut blocks, 1, 0, 9, 1), 3 + 5, "7 to 9, and 1 to 5 of this one");
        assert_eq!(blocks.live.check(1), [3]);
    }

    #[test]
    fn repair_symbols_of_earlier_blocks_are_lost_only_if_they_were_requested_before() {
        let session = session(1, 20);
        let mut blocks = blocks(&session);
        // The first block's eleventh was requested after all others.
        blocks.live.request(0, 0, 1, 20);
        assert_eq!(arrive(&mut blocks, 1, 0, 9, 1), 10 + 6, "all source symbols, and 0 to 5 of this one");
        assert_eq!(blocks.live.at(0).lane(0).outstanding, 1);
        // The third block was asked for after that.
        blocks.reach(2, &session);
        blocks.live.request(2, 0, 10, 21);
        assert_eq!(arrive(&mut blocks, 2, 0, 2, 1), 3, "6 to 8 of the second block");
        assert_eq!(arrive(&mut blocks, 2, 0, 3, 1), 1, "three symbols asked for later have overtaken it");
    }

    #[test]
    fn each_sender_has_gaps_of_its_own() {
        let mut blocks = blocks(&session(2, 5));
        assert_eq!([4, 3].map(|j| arrive(&mut blocks, 0, 1, j, 2)), [1, 0], "its first");
        assert_eq!(blocks.live.check(2), [5, 2]);
    }

    #[test]
    fn without_a_tolerance_nothing_is_lost() {
        let mut blocks = blocks(&session(1, 10));
        let gaps = Gaps::new(&ScdpConfig { reorder_tolerance: 0, ..ScdpConfig::default() });
        assert_eq!(gaps.find(&mut blocks.live, 0, 0, 9, 1), 0);
    }
}
