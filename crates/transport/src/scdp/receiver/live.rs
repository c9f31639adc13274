//! The account of the blocks in progress: what has arrived of each, what is in flight, and what they need together.
//!
//! All changes to a block are made here, so that the sum of needs stays right.

use crate::scdp::block::{Block, Collected};
use crate::scdp::config::ScdpConfig;
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;

/// The blocks in progress, in order and without gaps; an `index` counts them from the first.
#[derive(Debug)]
pub(super) struct LiveBlocks {
    /// Number of the first in the object.
    base: u32,
    blocks: VecDeque<Block>,
    /// Blocks that are over, whose memory is used again.
    spare: Vec<Block>,
    /// Symbols that they need and that are not in flight.
    need: u64,
    /// Symbols beyond K that a block needs once it has lost one.
    overhead: u32,
}

/// Which there are.
impl LiveBlocks {
    pub(super) fn new(config: &ScdpConfig) -> Self {
        Self { base: 0, blocks: VecDeque::new(), spare: Vec::new(), need: 0, overhead: config.overhead }
    }

    /// The first to come has this number: none is in progress.
    pub(super) fn begin_at(&mut self, base: u32) {
        self.base = base;
    }

    /// Number of the first, which is not complete.
    #[inline]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Blocks in progress.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    #[inline]
    pub(super) fn iter(&self) -> Iter<'_, Block> {
        self.blocks.iter()
    }

    /// Those in progress from the `index`-th on.
    #[inline]
    pub(super) fn from(&self, index: usize) -> Iter<'_, Block> {
        self.blocks.range(index..)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Block> {
        self.blocks.get(index)
    }

    /// The `index`-th block in progress.
    #[inline]
    pub(super) fn at(&self, index: usize) -> &Block {
        &self.blocks[index]
    }

    /// What has arrived of it.
    pub(super) fn collected(&self, index: usize) -> Collected {
        let block = self.at(index);
        Collected { block: self.number(index), source_symbols: block.source_symbols(), received: block.received() }
    }

    /// Its number in the object.
    #[inline]
    pub(super) fn number(&self, index: usize) -> u32 {
        self.base + index as u32
    }

    /// Where a block would be among those in progress; `None` if it is complete or not received now.
    #[inline]
    pub(super) fn index_of(&self, block: u32) -> Option<usize> {
        block.checked_sub(self.base).map(|index| index as usize)
    }

    /// The first block that is not complete.
    pub(super) fn first_incomplete(&self) -> u32 {
        self.base + self.blocks.iter().take_while(|block| block.is_complete()).count() as u32
    }

    /// Whether a symbol has arrived before, or its block is complete.
    pub(super) fn has_arrived(&self, block: u32, place: u32) -> bool {
        let Some(index) = self.index_of(block) else { return true };
        self.get(index).is_some_and(|block| block.is_complete() || block.has_seen(place))
    }

    /// Symbols to ask for.
    #[inline]
    pub(super) fn need(&self) -> u64 {
        self.need
    }

    /// Symbols still missing, including those in flight.
    pub(super) fn missing(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.missing())).sum()
    }

    /// Source symbols of which there are as many, or as many repair symbols.
    pub(super) fn received(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.received().min(b.source_symbols()))).sum()
    }

    /// The next block is begun, of `k` source symbols. `passed`: its source symbols were sent while there was no room for them. Only the
    /// symbols after them are still to be sent.
    pub(super) fn push(&mut self, k: u32, lanes: u32, passed: bool) {
        let mut block = self.spare.pop().unwrap_or_default();
        block.renew(k, lanes);
        if passed {
            block.extend(0, k - 1);
        }
        self.need += u64::from(block.need());
        if self.blocks.capacity() == 0 {
            // Most objects have one block.
            self.blocks.reserve_exact(1);
        }
        self.blocks.push_back(block);
    }

    /// Releases blocks at the front that are complete and, where they may be fetched again (`checks`), confirmed. Those before `end` are
    /// still to come.
    pub(super) fn release(&mut self, checks: bool, end: u32) {
        while self.blocks.front().is_some_and(|block| block.is_complete() && (block.is_confirmed() || !checks)) {
            let more = self.number(self.len()) < end;
            self.spare.extend(self.blocks.pop_front().filter(|_| more));
            self.base += 1;
        }
    }

    /// Those before the block with this number are laid aside, and returned.
    pub(super) fn split_before(&mut self, first: u32) -> VecDeque<Block> {
        let later = self.blocks.split_off(((first - self.base) as usize).min(self.len()));
        self.swap(first, later)
    }

    /// These are in progress instead, from the one with the number `base` on. Returns those that were.
    pub(super) fn swap(&mut self, base: u32, blocks: VecDeque<Block>) -> VecDeque<Block> {
        self.base = base;
        self.need = blocks.iter().map(|block| u64::from(block.need())).sum();
        std::mem::replace(&mut self.blocks, blocks)
    }
}

/// What happens to one of them.
impl LiveBlocks {
    /// Changes a block and updates the sum of needs.
    #[inline]
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.blocks[index];
        let before = block.need();
        let result = change(block);
        self.need = self.need + u64::from(block.need()) - u64::from(before);
        result
    }

    /// `count` more symbols of a block are requested from a lane, which was asked for `asked` of all blocks before. Returns the total
    /// of the block.
    #[inline]
    pub(super) fn request(&mut self, index: usize, lane: u32, count: u32, asked: u64) -> u32 {
        self.change(index, |b| b.request(lane, count, asked))
    }

    /// Notes that a symbol has arrived, whole or trimmed; false if it had arrived before.
    #[inline]
    pub(super) fn note(&mut self, index: usize, place: u32) -> bool {
        self.blocks[index].note(place)
    }

    /// Notes that a repair symbol has arrived whole; false if another sender's copy had arrived.
    pub(super) fn note_repair(&mut self, index: usize, esi: u32) -> bool {
        self.blocks[index].note_repair(esi)
    }

    /// The `j`-th symbol of a lane has arrived, or its header, or the answer to a repeated pull. True if it was in flight.
    #[inline]
    pub(super) fn arrived(&mut self, index: usize, lane: u32, j: u32) -> bool {
        self.change(index, |b| !b.extend(lane, j) && b.arrived(lane))
    }

    /// It was trimmed.
    pub(super) fn trimmed(&mut self, index: usize) {
        let overhead = self.overhead;
        self.change(index, |b| b.lossy(overhead));
    }

    /// A new symbol has arrived whole.
    #[inline]
    pub(super) fn receive(&mut self, index: usize, esi: u32) {
        self.change(index, |b| b.receive(esi));
    }

    /// No more symbols that are in flight from a lane are waited for; returns how many there were. They are not lost.
    pub(super) fn give_up(&mut self, index: usize, lane: u32) -> u32 {
        self.change(index, |b| b.write_off(lane))
    }

    /// Up to `most` symbols of a lane are no longer waited for, because others send in its place; returns how many.
    pub(super) fn overtake(&mut self, index: usize, lane: u32, most: u32) -> u32 {
        self.change(index, |b| b.overtake(lane, most))
    }

    /// What `lost` counts is lost.
    #[inline]
    fn lose_some(&mut self, index: usize, lost: impl FnOnce(&mut Block) -> u32) -> u32 {
        let overhead = self.overhead;
        self.change(index, |b| {
            let lost = lost(b);
            if lost > 0 {
                b.lossy(overhead);
            }
            lost
        })
    }

    /// All symbols of a block that are in flight from a lane are lost; returns how many.
    pub(super) fn lose(&mut self, index: usize, lane: u32) -> u32 {
        self.lose_some(index, |b| b.write_off(lane))
    }

    /// A pull for symbols of a lane is to be repeated: for the first block that waits for some. An answer will show that what has been
    /// requested until now is lost.
    pub(super) fn suspect_loss(&mut self, lane: u32) -> Option<usize> {
        let index = self.blocks.iter().position(|b| b.lane(lane).outstanding > 0)?;
        self.blocks.iter_mut().for_each(|b| b.suspect_loss(lane));
        Some(index)
    }

    /// Whether the `j`-th symbol of a lane is such an answer.
    #[inline]
    pub(super) fn confirms_loss(&self, index: usize, lane: u32, j: u32) -> bool {
        self.blocks[index].confirms_loss(lane, j)
    }

    /// The sender had emitted all that was requested before the repetition: nothing of that is in flight. Returns how many are lost.
    pub(super) fn confirm_loss(&mut self, lane: u32) -> u32 {
        (0..self.len()).map(|index| self.lose_some(index, |b| b.confirm_loss(lane))).sum()
    }

    /// What is missing among the first `until` symbols of a lane is lost; returns how many.
    #[inline]
    pub(super) fn sweep(&mut self, index: usize, lane: u32, until: u32) -> u32 {
        if until > self.blocks[index].lane(lane).swept { self.lose_some(index, |b| b.sweep(lane, until)) } else { 0 }
    }

    /// Decoding has failed: one more symbol.
    pub(super) fn failed(&mut self, index: usize) {
        self.change(index, Block::failed);
    }

    /// Decoding goes on elsewhere.
    pub(super) fn decode_later(&mut self, index: usize) {
        self.change(index, Block::decode_later);
    }

    /// Decoding is over; see [`Block::end_decoding`].
    pub(super) fn end_decoding(&mut self, index: usize) -> Option<bool> {
        self.change(index, Block::end_decoding)
    }

    pub(super) fn complete(&mut self, index: usize) {
        self.change(index, Block::complete);
    }

    /// The application has found a block to be right.
    pub(super) fn confirm(&mut self, index: usize) {
        self.blocks[index].confirm();
    }

    /// A block restarts, from all senders or from one alone.
    pub(super) fn restart(&mut self, index: usize, sole: Option<u32>) {
        let overhead = self.overhead;
        self.change(index, |b| b.restart(overhead, sole));
    }

    /// Checks the bookkeeping, and returns the symbols in flight from each lane.
    #[cfg(test)]
    pub(super) fn check(&self, lanes: u32) -> Vec<u32> {
        assert_eq!(self.need, self.blocks.iter().map(|b| u64::from(b.need())).sum::<u64>());
        assert!(self.blocks.len() + self.spare.len() <= crate::scdp::layout::LIVE_BLOCKS + 1);
        (0..if self.blocks.is_empty() { 0 } else { lanes })
            .map(|lane| self.blocks.iter().map(|b| b.lane(lane).outstanding).sum())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three blocks of ten symbols, from two senders, the first of which is asked for four of the second block.
    fn live() -> LiveBlocks {
        let mut live = LiveBlocks::new(&ScdpConfig { overhead: 2, ..ScdpConfig::default() });
        live.begin_at(5);
        (0..3).for_each(|_| live.push(10, 2, false));
        assert_eq!(live.request(1, 0, 4, 100), 4);
        live
    }

    #[test]
    fn what_is_in_flight_is_missing_and_not_needed() {
        let mut live = live();
        assert_eq!((live.need(), live.missing(), live.check(2)), (26, 30, vec![4, 0]));
        assert!(live.note(1, 0) && !live.note(1, 0) && live.arrived(1, 0, 0));
        live.receive(1, 0);
        assert_eq!((live.need(), live.missing(), live.received()), (26, 29, 1));
        assert_eq!(live.collected(1), Collected { block: 6, source_symbols: 10, received: 1 });
        assert!(!live.arrived(1, 1, 0), "it was not asked for");
        assert_eq!((live.give_up(1, 0), live.need(), live.check(2)), (3, 29, vec![0, 0]));
    }

    #[test]
    fn the_first_loss_of_a_block_costs_the_overhead() {
        let mut live = live();
        assert_eq!((live.lose(1, 0), live.need()), (4, 26 + 4 + 2));
        live.request(1, 1, 3, 104);
        live.trimmed(1);
        assert_eq!((live.lose(1, 1), live.need()), (3, 26 + 4 + 2), "once");
        live.restart(0, Some(1));
        assert_eq!(live.need(), 26 + 4 + 2 + 2, "so does a restart");
        live.check(2);
    }

    #[test]
    fn an_answer_to_a_repeated_pull_shows_that_what_was_asked_before_is_lost() {
        let mut live = live();
        assert_eq!((live.suspect_loss(1), live.suspect_loss(0)), (None, Some(1)));
        assert!(!live.confirms_loss(1, 0, 3) && live.confirms_loss(1, 0, 4));
        live.request(1, 0, 1, 104);
        assert_eq!((live.confirm_loss(0), live.check(2)), (4, vec![1, 0]), "the last was asked for since");
        assert_eq!(live.confirm_loss(0), 0);
    }

    #[test]
    fn while_a_block_is_decoded_elsewhere_it_needs_nothing() {
        let mut live = live();
        live.decode_later(0);
        assert_eq!(live.need(), 16);
        assert_eq!((live.end_decoding(0), live.end_decoding(0), live.need()), (Some(false), None, 26));
        for esi in 0..10 {
            live.receive(0, esi);
        }
        live.failed(0);
        assert_eq!(live.need(), 16 + 1, "one more");
        live.complete(0);
        assert_eq!((live.need(), live.first_incomplete()), (16, 6));
    }

    #[test]
    fn blocks_leave_at_the_front_when_they_are_complete_and_confirmed() {
        let mut live = live();
        live.give_up(1, 0);
        (0..2).for_each(|index| live.complete(index));
        live.confirm(0);
        live.release(true, 4);
        assert_eq!((live.base(), live.len(), live.index_of(5), live.index_of(7)), (6, 2, None, Some(1)));
        live.release(false, 4);
        assert_eq!((live.base(), live.len(), live.check(2)), (7, 1, vec![0, 0]));
        live.push(10, 2, true);
        assert_eq!((live.number(1), live.at(1).lane(0).requested), (8, 10), "only repair symbols are to come");
    }

    #[test]
    fn some_are_laid_aside_and_taken_up_again() {
        let mut live = live();
        let aside = live.split_before(7);
        assert_eq!((live.base(), live.len(), live.need(), aside.len()), (7, 1, 10, 2));
        let later = live.swap(5, aside);
        assert_eq!((live.base(), live.len(), live.need(), later.len()), (5, 2, 16, 1));
        assert_eq!(live.split_before(20).len(), 2, "all");
        assert_eq!((live.base(), live.len()), (20, 0));
    }
}
