//! Blocks that the application checks, which may know hashes of theirs: what is wrong is thrown away and fetched again, of one sender alone.
//!
//! Symbols that have arrived once are not asked for again. Since a sender's stream of symbols does not end, each can send a block by itself:
//! K symbols that come after all it has sent. If it is wrong then, too, it is known who sends wrong symbols.
//!
//! With one sender there is nobody else to ask: what is wrong ends the session. So its blocks are done with when they are complete; others of its
//! group that lack some may need symbols that only leave if nobody waits for anything else. But of those not checked there are not many.

use super::{Receiver, Session};
use crate::scdp::block::Block;
use crate::{Peer, Time};

/// Blocks of a single sender that are complete and not yet checked, before no other is begun.
const UNCHECKED: usize = 32;

impl Receiver {
    /// The same, where the application finds out whether blocks are right, and tells with [`confirm`](Self::confirm) or
    /// [`reject`](Self::reject). Until then those of several senders count among the blocks that are under way; with one sender there may be some more
    /// of them, and a wrong one cannot be had again.
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checks = true;
        if self.lanes.len() == 1 {
            self = self.with_untaken_limit(UNCHECKED);
        }
        self
    }

    /// Whether a block may be fetched again, and is kept in mind until it is known to be right.
    pub(super) fn may_fetch_again(&self) -> bool {
        self.checks && self.lanes.len() > 1
    }

    /// Where a complete block is that was neither confirmed nor rejected.
    fn unchecked(&self, block: u32) -> Option<(usize, Session)> {
        let index = block.checked_sub(self.base)? as usize;
        let waits = self.blocks.get(index).is_some_and(|block| block.is_complete() && !block.is_confirmed());
        self.session.filter(|_| waits && !self.over()).map(|session| (index, session))
    }

    /// A complete block is right.
    pub fn confirm(&mut self, now: Time, block: u32) {
        if let Some(untaken) = &mut self.untaken {
            untaken.blocks.remove(&block);
        }
        let Some((index, session)) = self.unchecked(block) else { return };
        self.blocks[index].confirm();
        if let Some(decoder) = &mut self.decoder {
            decoder.forget(block);
        }
        self.advance(now, session);
    }

    /// A complete block is wrong: it is fetched again, of one sender alone.
    pub fn reject(&mut self, now: Time, block: u32, sender: Peer) {
        if let Some((index, _)) = self.unchecked(block)
            && self.may_fetch_again()
            && usize::from(sender) < self.lanes.len()
        {
            self.restart(now, index, Some(u32::from(sender)));
        }
    }

    /// The sender whose symbols alone a block is made of.
    pub fn sole_sender(&self, block: u32) -> Option<Peer> {
        if self.lanes.len() == 1 {
            return Some(0);
        }
        let index = block.checked_sub(self.base)? as usize;
        self.blocks.get(index)?.sole().map(|lane| lane as Peer)
    }

    /// A sender that answers: of those that have withheld the fewest blocks, in turn, the one after `last`.
    pub fn another_sender(&self, last: Peer) -> Option<Peer> {
        let (count, last) = (self.lanes.len(), usize::from(last));
        let in_turn = (last + 1..count).chain(0..count.min(last + 1));
        let answering = in_turn.filter(|&lane| self.in_touch(&self.lanes[lane]));
        answering.min_by_key(|&lane| self.lanes[lane].withheld).map(|lane| lane as Peer)
    }

    /// A sender has sent what is wrong: nothing of it is taken any more. Blocks that are not complete and have symbols of it begin anew.
    pub fn exclude(&mut self, now: Time, sender: Peer) {
        let (lane, index) = (u32::from(sender), usize::from(sender));
        if self.lanes.get(index).is_none_or(|lane| lane.excluded) {
            return;
        }
        self.lanes[index].excluded = true;
        if !self.lanes.iter().any(|lane| self.in_touch(lane)) {
            // Those that were left out as they were silent are all that there is.
            self.lanes.iter_mut().for_each(|lane| lane.timeouts = 0);
        }
        (self.lanes[index].retry_due, self.lanes[index].word_due) = (false, None);
        for index in 0..self.blocks.len() {
            self.write_off(index, lane);
            let block = &self.blocks[index];
            if !block.is_complete() && block.sole().is_none() && block.has_any_of(lane) {
                self.restart(now, index, None);
            }
        }
        self.pass_on_blocks_of(now, lane);
    }

    /// Blocks that were asked of one sender alone are asked of another.
    pub(super) fn pass_on_blocks_of(&mut self, now: Time, lane: u32) {
        let waits = |block: &Block| !block.is_complete() && block.sole() == Some(lane);
        for index in 0..self.blocks.len() {
            if waits(&self.blocks[index]) {
                let other = self.another_sender(lane as Peer);
                self.restart(now, index, other.map(u32::from));
            }
        }
    }

    /// A block begins anew.
    pub(super) fn restart(&mut self, now: Time, index: usize, sole: Option<u32>) {
        let overhead = self.config.overhead;
        for lane in 0..self.lanes.len() as u32 {
            if sole.is_some_and(|sole| sole != lane) {
                let coming = self.change(index, |b| b.write_off(lane));
                self.credit(lane, coming);
            }
        }
        self.change(index, |b| b.restart(overhead, sole));
        let block = self.base + index as u32;
        if self.awaited.0 == block {
            self.awaited.1 = now;
        }
        self.watch(now);
        if let Some(decoder) = &mut self.decoder {
            decoder.forget(block);
        }
        if let Some(untaken) = &mut self.untaken {
            untaken.blocks.remove(&block);
        }
    }
}
