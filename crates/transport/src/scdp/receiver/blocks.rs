//! The blocks in progress: what they need, and what of that is in flight.

use super::order::Order;
use super::session::Session;
use crate::scdp::block::{Block, Collected};
use crate::scdp::config::ScdpConfig;
use crate::scdp::header::Symbol;
use crate::scdp::layout::{LIVE_BLOCKS, initial_window};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;

/// The blocks of one session, from the first that is not complete on.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The first block that is not complete, of those received now.
    base: u32,
    /// What is received first and what afterwards, if the group has gone on without this receiver.
    order: Order,
    /// Those in progress, from `base` on.
    live: VecDeque<Block>,
    spare: Vec<Block>,
    /// Those in progress when the receiver joined its group at a later block.
    aside: VecDeque<Block>,
    /// Symbols that the blocks in progress need and that are not in flight.
    need: u64,
    /// Symbols beyond K that a block needs once it has lost one.
    overhead: u32,
}

impl Blocks {
    pub(super) fn new(config: &ScdpConfig) -> Self {
        Self {
            base: 0,
            order: Order::default(),
            live: VecDeque::new(),
            spare: Vec::new(),
            aside: VecDeque::new(),
            need: 0,
            overhead: config.overhead,
        }
    }

    /// Those before `first` are here from an earlier session.
    pub(super) fn begin_at(&mut self, first: u32) {
        (self.base, self.order) = (first, Order::from(first));
    }

    /// The first symbol has arrived.
    pub(super) fn establish(&mut self, session: &Session) {
        self.base = self.base.min(session.layout.blocks - 1);
        self.order.establish(&session.layout, self.base);
    }

    /// The blocks of a lane's initial window: calls `push(self, index, count)`.
    pub(super) fn push_initial(&mut self, session: &Session, lane: u32, mut push: impl FnMut(&mut Self, usize, u32)) {
        initial_window(&session.layout, lane, session.lanes, session.window, |block, count| {
            if let Some(index) = self.index_of(block) {
                self.reach(index, session);
                push(self, index, count);
            }
        });
    }

    /// The first block that is not complete, of those received now.
    #[inline]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// Blocks in progress.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    #[inline]
    pub(super) fn iter(&self) -> Iter<'_, Block> {
        self.live.iter()
    }

    /// Those in progress from the `index`-th on.
    #[inline]
    pub(super) fn from(&self, index: usize) -> Iter<'_, Block> {
        self.live.range(index..)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Block> {
        self.live.get(index)
    }

    /// The `index`-th block in progress.
    #[inline]
    pub(super) fn at(&self, index: usize) -> &Block {
        &self.live[index]
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

    /// Whether a symbol of a block is of no use, however many of its block have arrived: it had its turn, or has it later.
    #[inline]
    pub(super) fn is_over(&self, block: u32) -> bool {
        block < self.base || self.order.is_past(block)
    }

    /// Whether a block had its turn.
    pub(super) fn is_past(&self, block: u32) -> bool {
        self.order.is_past(block)
    }

    /// Whether a symbol of a block was sent to others of the group.
    #[inline]
    pub(super) fn is_of_others(&self, block: u32) -> bool {
        self.order.is_of_others(block)
    }

    /// The first block that is not complete.
    pub(super) fn first_incomplete(&self) -> u32 {
        self.base + self.live.iter().take_while(|block| block.is_complete()).count() as u32
    }

    /// Whether a symbol has arrived before, or its block is complete.
    pub(super) fn has_arrived(&self, block: u32, place: u32) -> bool {
        let Some(index) = self.index_of(block) else { return true };
        self.get(index).is_some_and(|block| block.is_complete() || block.has_seen(place))
    }

    /// Whether a whole symbol is of use to its block, which has not had its turn.
    #[inline]
    pub(super) fn wants(&self, symbol: &Symbol, lane: u32, place: u32, full: bool) -> bool {
        let index = (symbol.block - self.base) as usize;
        let is_new = self.get(index).is_none_or(|b| b.takes(lane) && b.wants(place, symbol.esi));
        is_new && self.has_room(index, full)
    }

    /// Whether the `index`-th block is in progress, or may be begun: not while the application is to take others first (`full`).
    fn has_room(&self, index: usize, full: bool) -> bool {
        index < self.len() || index <= LIVE_BLOCKS && !full
    }

    /// Whether the next block may be begun, if there is one.
    #[inline]
    pub(super) fn may_open(&self, full: bool) -> bool {
        self.order.unbegun() > 0 && self.len() < LIVE_BLOCKS && !full
    }

    /// Symbols to ask for, those of blocks that may be begun included.
    #[inline]
    pub(super) fn wanted(&self, full: bool) -> u32 {
        let future = if self.may_open(full) { self.order.unbegun() } else { 0 };
        self.need.saturating_add(future).min(u64::from(u32::MAX)) as u32
    }

    /// Whether the session waits for just one more symbol, of this block.
    pub(super) fn lacks_one(&self, index: usize) -> bool {
        let missing = || self.live.iter().map(|b| u64::from(b.missing())).sum::<u64>();
        self.order.unbegun() == 0 && self.live[index].missing() == 1 && missing() == 1
    }

    /// Source symbols that are here if no block in progress counts; in a session without end, theirs count, too.
    pub(super) fn symbols(&self, session: &Session) -> u64 {
        let complete = self.order.symbols_before(&session.layout, self.base);
        if !session.layout.endless() {
            return complete;
        }
        complete + self.live.iter().map(|b| u64::from(b.received().min(b.source_symbols()))).sum::<u64>()
    }

    /// A symbol of a block has arrived, which is begun if it was not: another receiver of the group is ahead. Returns the block's
    /// index; `None` if there is no room for it.
    #[inline]
    pub(super) fn begin(&mut self, block: u32, session: &Session, full: bool) -> Option<usize> {
        let index = (block - self.base) as usize;
        if !self.has_room(index, full) {
            self.order.pass(block);
            return None;
        }
        self.reach(index, session);
        Some(index)
    }

    /// A symbol of the `index`-th block has arrived, or it is asked for: it and those before it are begun.
    #[inline]
    pub(super) fn reach(&mut self, index: usize, session: &Session) {
        while index >= self.len() {
            self.open(session);
        }
    }

    fn open(&mut self, session: &Session) {
        let number = self.number(self.len());
        let k = session.layout.source_symbols(number);
        let mut block = self.spare.pop().unwrap_or_default();
        block.renew(k, session.lanes);
        if self.order.begin(number, &session.layout) {
            // Its source symbols were sent while there was no room for them. Only the symbols after them are still to be sent.
            block.extend(0, k - 1);
        }
        self.need += u64::from(block.need());
        self.live.push_back(block);
    }

    /// What was sent to others while there was no room for it is sent to this receiver as well.
    pub(super) fn forget_passed(&mut self) {
        self.order.forget_passed();
    }

    /// Changes a block and updates the sum of needs.
    #[inline]
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.live[index];
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
        self.live[index].note(place)
    }

    /// Notes that a repair symbol has arrived whole; false if another sender's copy had arrived.
    pub(super) fn note_repair(&mut self, index: usize, esi: u32) -> bool {
        self.live[index].note_repair(esi)
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
        let index = self.live.iter().position(|b| b.lane(lane).outstanding > 0)?;
        self.live.iter_mut().for_each(|b| b.suspect_loss(lane));
        Some(index)
    }

    /// Whether the `j`-th symbol of a lane is such an answer.
    #[inline]
    pub(super) fn confirms_loss(&self, index: usize, lane: u32, j: u32) -> bool {
        self.live[index].confirms_loss(lane, j)
    }

    /// The sender had emitted all that was requested before the repetition: nothing of that is in flight. Returns how many are lost.
    pub(super) fn confirm_loss(&mut self, lane: u32) -> u32 {
        (0..self.len()).map(|index| self.lose_some(index, |b| b.confirm_loss(lane))).sum()
    }

    /// What is missing among the first `until` symbols of a lane is lost; returns how many.
    #[inline]
    pub(super) fn sweep(&mut self, index: usize, lane: u32, until: u32) -> u32 {
        if until > self.live[index].lane(lane).swept { self.lose_some(index, |b| b.sweep(lane, until)) } else { 0 }
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
        self.live[index].confirm();
    }

    /// A block restarts, from all senders or from one alone.
    pub(super) fn restart(&mut self, index: usize, sole: Option<u32>) {
        let overhead = self.overhead;
        self.change(index, |b| b.restart(overhead, sole));
    }

    /// Releases blocks at the front that are complete and, where they may be fetched again (`checks`), confirmed. Whether none is left.
    pub(super) fn release(&mut self, session: &Session, checks: bool) -> bool {
        while self.live.front().is_some_and(|block| block.is_complete() && (block.is_confirmed() || !checks)) {
            self.spare.extend(self.live.pop_front());
            self.base += 1;
        }
        self.base == self.order.end(session.layout.blocks)
    }

    /// Whether the receiver may leave blocks before `first` for later, and take them from there on.
    pub(super) fn may_join_at(&self, first: u32) -> bool {
        first > self.base && !self.order.has_joined() && !self.live.iter().any(Block::is_pending)
    }

    /// The blocks before `first` are received in the second turn. Returns those that have to be received from the beginning then.
    pub(super) fn join_at(&mut self, first: u32, session: Option<&Session>) -> Vec<u32> {
        let base = std::mem::replace(&mut self.base, first);
        self.order.join(first, session.map(|_| base));
        let Some(session) = session else { return Vec::new() };
        let later = self.live.split_off(((first - base) as usize).min(self.len()));
        self.aside = std::mem::replace(&mut self.live, later);
        let mut again = Vec::new();
        for (number, block) in (base..).zip(&mut self.aside).filter(|(_, block)| !block.is_complete()) {
            block.renew(session.layout.source_symbols(number), session.lanes);
            again.push(number);
        }
        self.begin_turn(session);
        again
    }

    /// The first turn is over. Returns whether there is a second one, which begins.
    pub(super) fn begin_second_turn(&mut self, session: &Session) -> bool {
        let Some(first) = self.order.begin_second() else { return false };
        self.live = std::mem::take(&mut self.aside);
        self.base = first;
        self.begin_turn(session);
        true
    }

    /// Counts what the blocks of this turn need.
    fn begin_turn(&mut self, session: &Session) {
        self.need = self.live.iter().map(|block| u64::from(block.need())).sum();
        self.order.begin_turn(&session.layout, self.number(self.len()));
    }

    /// Checks the bookkeeping, and returns the symbols in flight from each lane.
    #[cfg(test)]
    pub(super) fn check(&self, lanes: u32) -> Vec<u32> {
        assert_eq!(self.need, self.live.iter().map(|b| u64::from(b.need())).sum::<u64>());
        assert!(self.live.len() + self.spare.len() <= LIVE_BLOCKS + 1);
        (0..if self.live.is_empty() { 0 } else { lanes })
            .map(|lane| self.live.iter().map(|b| b.lane(lane).outstanding).sum())
            .collect()
    }
}

#[cfg(test)]
mod tests;
