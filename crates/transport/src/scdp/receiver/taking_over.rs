//! A slow sender costs no more than its share: others send what blocks wait for in its place.
//!
//! Any symbols complete a block. Yet the blocks in progress are bounded, and all may wait for what was asked of the slowest sender; so do the
//! last blocks. A sender that could send more, while there is nothing else to ask for, takes over: the first blocks no longer wait
//! for symbols of senders that take much longer to answer, are overdue, or have sent later symbols, and so need others. None of those is asked
//! for the same block again. What still comes from them is at most their share of the link, and soon less (`lanes/pace.rs`).
//!
//! Only where receivers find their windows themselves: fixed ones are for fabrics that trim, in which round trips are alike (SCDP §IV-E).

use super::choice::Choice;
use super::lanes::{Lane, Lanes};
use super::live::LiveBlocks;
use crate::scdp::block::Block;
use crate::{Duration, Time};

/// Senders could send more, while there is nothing to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    /// The longest that others may take.
    bar: Duration,
}

impl Idle {
    /// `None` if there are none.
    #[inline]
    pub(super) fn find(choice: &Choice) -> Option<Self> {
        if !choice.session.takes_over || choice.lanes.credits() == 0 {
            return None;
        }
        let bar = choice.bar()?;
        choice.next().is_none().then_some(Self { bar })
    }

    /// Symbols that they may be asked for.
    pub(super) fn room(self, lanes: &Lanes) -> u32 {
        let in_time = |lane: &&Lane| lanes.in_use(lane) && !lane.credits.is_slower_than(self.bar);
        lanes.iter().filter(in_time).map(|lane| lane.credits.left()).sum()
    }

    /// Since when a block has waited too long for a sender, if it waits for it and others may take over.
    pub(super) fn late_since(self, block: &Block, lane: usize, lanes: &Lanes) -> Option<Time> {
        let awaited = block.lane(lane as u32);
        if awaited.outstanding == 0 || block.missing() == 0 || block.sole().is_some() {
            return None;
        }
        let is_fast = |(other, l): (usize, &Lane)| {
            other != lane && lanes.in_use(l) && l.credits.response().is_some_and(|response| response <= self.bar)
        };
        if !lanes.iter().enumerate().any(is_fast) {
            return None;
        }
        let credits = &lanes.at(lane).credits;
        let in_time = credits.asked_at(awaited.last_asked).filter(|_| !credits.is_slower_than(self.bar));
        Some(in_time.map_or(Time::ZERO, |at| at + credits.response().unwrap_or_default() + self.bar))
    }

    /// When they may have to take over.
    pub(super) fn next(self, blocks: &LiveBlocks, lanes: &Lanes) -> Option<Time> {
        let waits = |block| (0..lanes.len()).filter_map(move |lane| self.late_since(block, lane, lanes));
        blocks.iter().flat_map(waits).min()
    }
}
