//! Blocks that the application checks, for instance against hashes: a wrong block is discarded and fetched again, from one sender alone.
//!
//! Symbols that have arrived once are not requested again. Since a sender's stream of symbols does not end, each sender can send a
//! block by itself: K symbols after all those it has already sent. If the block is still wrong, its sender is known to send wrong symbols.
//!
//! With one sender there is no other to ask: a wrong block ends the session. So its blocks are released when they are complete; other
//! receivers of its group that lack some may need symbols that only leave if no receiver waits for anything else. But few blocks are unchecked.

use super::{Receiver, Session};
use crate::scdp::block::Block;
use crate::{Peer, Time};

/// Complete but unchecked blocks of a single sender before no other is begun.
const UNCHECKED: usize = 32;

impl Receiver {
    /// The same, where the application checks blocks, and reports with [`confirm`](Self::confirm) or [`reject`](Self::reject). Until then
    /// blocks of several senders count as in progress; with one sender some more blocks may be unchecked, and a wrong one cannot be
    /// fetched again.
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checks = true;
        if self.lanes.len() == 1 {
            self = self.with_untaken_limit(UNCHECKED);
        }
        self
    }

    /// Whether a block may be fetched again, and is kept until it is confirmed.
    pub(super) fn may_fetch_again(&self) -> bool {
        self.checks && self.lanes.len() > 1
    }

    /// The index of a complete block that was neither confirmed nor rejected.
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

    /// A complete block is wrong: it is fetched again, from `sender` alone.
    pub fn reject(&mut self, now: Time, block: u32, sender: Peer) {
        if let Some((index, _)) = self.unchecked(block)
            && self.may_fetch_again()
            && usize::from(sender) < self.lanes.len()
        {
            self.restart(now, index, Some(u32::from(sender)));
        }
    }

    /// The only sender whose symbols a block is made of, if there is just one.
    pub fn sole_sender(&self, block: u32) -> Option<Peer> {
        if self.lanes.len() == 1 {
            return Some(0);
        }
        let index = block.checked_sub(self.base)? as usize;
        self.blocks.get(index)?.sole().map(|lane| lane as Peer)
    }

    /// The sender to ask next: among those that answer and have withheld the fewest blocks, the next in turn after `last`.
    pub fn another_sender(&self, last: Peer) -> Option<Peer> {
        let (count, last) = (self.lanes.len(), usize::from(last));
        let in_turn = (last + 1..count).chain(0..count.min(last + 1));
        let answering = in_turn.filter(|&lane| self.in_touch(&self.lanes[lane]));
        answering.min_by_key(|&lane| self.lanes[lane].withheld).map(|lane| lane as Peer)
    }

    /// A sender has sent wrong symbols: none of its symbols are accepted any more. Incomplete blocks with symbols from it restart.
    pub fn exclude(&mut self, now: Time, sender: Peer) {
        let (lane, index) = (u32::from(sender), usize::from(sender));
        if self.lanes.get(index).is_none_or(|lane| lane.excluded) {
            return;
        }
        self.lanes[index].excluded = true;
        if !self.lanes.iter().any(|lane| self.in_touch(lane)) {
            // Only senders that were left out for being silent remain.
            self.lanes.iter_mut().for_each(|lane| lane.timeouts = 0);
        }
        let l = &mut self.lanes[index];
        (l.retry_due, l.word_due) = (false, None);
        if let Some(pace) = &mut l.pace {
            pace.forget(l.asked);
        }
        for index in 0..self.blocks.len() {
            self.write_off(index, lane);
            let block = &self.blocks[index];
            if !block.is_complete() && block.sole().is_none() && block.has_any_of(lane) {
                self.restart(now, index, None);
            }
        }
        self.pass_on_blocks_of(now, lane);
    }

    /// Blocks that were requested from one sender alone are requested from another.
    pub(super) fn pass_on_blocks_of(&mut self, now: Time, lane: u32) {
        let waits = |block: &Block| !block.is_complete() && block.sole() == Some(lane);
        for index in 0..self.blocks.len() {
            if waits(&self.blocks[index]) {
                let other = self.another_sender(lane as Peer);
                self.restart(now, index, other.map(u32::from));
            }
        }
    }

    /// A block restarts.
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
