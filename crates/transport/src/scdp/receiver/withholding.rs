//! A block that is requested from one sender alone must arrive in time: the other senders have it, too.
//!
//! Eventually all blocks wait for the first that is not complete. A sender that is never silent, because it sends only headers, or
//! a symbol now and then, could stall the session forever. So it gets several times the time that the block should take; then the
//! block is requested from another sender, one that has withheld the fewest blocks. The time doubles with each block that a sender
//! has withheld, so that a sender that is merely slow is waited for if there is no better one.

use super::Receiver;
use crate::{Peer, Time};

/// Round trips for a block, besides twice those that its symbols take with the sender's window.
const ROUND_TRIPS: u32 = 8;
/// Maximum number of doublings.
const DOUBLINGS: u32 = 10;

impl Receiver {
    /// Blocks have completed, or are requested anew.
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

    /// The only sender that the first incomplete block is requested from, and when that sender has taken too long.
    fn deadline_of_sole_sender(&self) -> Option<(usize, Time)> {
        let (block, since) = self.awaited;
        let first = self.blocks.get(block.checked_sub(self.base)? as usize);
        let first = first.filter(|first| !first.is_complete() && !first.is_pending())?;
        let sole = first.sole()? as usize;
        let lane = &self.lanes[sole];
        let rounds = ROUND_TRIPS + 2 * (first.source_symbols() / lane.window.symbols().max(1));
        // The fastest sender's timeout: a sender must not gain time by answering late.
        let answering = self.lanes.iter().filter(|lane| self.in_touch(lane));
        let round = answering.map(|lane| lane.timer.timeout(self.config.pull_timeout)).min()?;
        Some((sole, since + round * (u64::from(rounds) << lane.withheld.min(DOUBLINGS))))
    }

    /// When a block may have to be requested from another sender.
    #[inline]
    pub(super) fn withheld_at(&self) -> Option<Time> {
        if !self.may_fetch_again() {
            return None;
        }
        self.deadline_of_sole_sender().map(|(_, at)| at)
    }

    /// A sender that did not send a block requested from it alone in time, so that it was requested from another. Each is returned once.
    pub fn take_withholding(&mut self) -> Option<Peer> {
        self.withholding.pop()
    }

    /// Requests a block that is overdue from another sender, with all other blocks requested from its sender alone.
    pub(super) fn pass_on_what_is_withheld(&mut self, now: Time) {
        let Some((sole, _)) = self.deadline_of_sole_sender().filter(|(_, at)| *at <= now) else { return };
        self.lanes[sole].withheld += 1;
        self.awaited.1 = now;
        if self.another_sender(sole as Peer).is_some_and(|other| usize::from(other) != sole) {
            if self.lanes[sole].withheld == 1 {
                self.withholding.push(sole as Peer);
            }
            // The same may hold for all blocks requested from it.
            self.pass_on_blocks_of(now, sole as u32);
        }
    }
}
