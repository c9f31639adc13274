//! A block that is asked of one sender alone must come from it in time: the others have it, too.
//!
//! In the end all blocks wait for the first that is not complete. A sender that is never silent, since it sends headers alone or a symbol now and then, would stop the
//! session for ever. So it has several times the time that the block should take; then another is asked, one that has let the receiver wait the
//! fewest times. Each time the time doubles, so that a sender that is just slow is waited for if there is no better one.

use super::Receiver;
use crate::{Peer, Time};

/// Round trips for a block, beside twice those that its symbols take with that window.
const ROUND_TRIPS: u32 = 8;
/// Doublings at most.
const DOUBLINGS: u32 = 10;

impl Receiver {
    /// Blocks are complete, or asked for anew.
    #[inline]
    pub(super) fn watch(&mut self, now: Time) {
        if !self.may_fetch_again() {
            return;
        }
        let first = self.base + self.blocks.iter().take_while(|block| block.is_complete()).count() as u32;
        if self.awaited.0 != first {
            self.awaited = (first, now);
        }
    }

    /// The sender that alone is asked for the first block that is not complete, and when it has let the receiver wait for too long.
    fn deadline_of_sole_sender(&self) -> Option<(usize, Time)> {
        let (block, since) = self.awaited;
        let first = self.blocks.get(block.checked_sub(self.base)? as usize);
        let first = first.filter(|first| !first.is_complete() && !first.is_pending())?;
        let sole = first.sole()? as usize;
        let lane = &self.lanes[sole];
        let rounds = ROUND_TRIPS + 2 * (first.source_symbols() / lane.window.symbols().max(1));
        // Of the fastest: a sender must not win time by answering late.
        let answering = self.lanes.iter().filter(|lane| self.in_touch(lane));
        let round = answering.map(|lane| lane.timer.timeout(self.config.pull_timeout)).min()?;
        Some((sole, since + round * (u64::from(rounds) << lane.withheld.min(DOUBLINGS))))
    }

    /// When a block may have to be asked of another.
    pub(super) fn withheld_at(&self) -> Option<Time> {
        self.deadline_of_sole_sender().map(|(_, at)| at)
    }

    /// A sender that did not send in time what it alone was asked for, so that another was asked. Each is told once.
    pub fn take_withholding(&mut self) -> Option<Peer> {
        self.withholding.pop()
    }

    /// The block is asked of another, and all that its sender is asked for alone, if it does not come.
    pub(super) fn pass_on_what_is_withheld(&mut self, now: Time) {
        let Some((sole, _)) = self.deadline_of_sole_sender().filter(|(_, at)| *at <= now) else { return };
        self.lanes[sole].withheld += 1;
        self.awaited.1 = now;
        if self.another_sender(sole as Peer).is_some_and(|other| usize::from(other) != sole) {
            if self.lanes[sole].withheld == 1 {
                self.withholding.push(sole as Peer);
            }
            // So it may be with all that it is asked for.
            self.pass_on_blocks_of(now, sole as u32);
        }
    }
}
