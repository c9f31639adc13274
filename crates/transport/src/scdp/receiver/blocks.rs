//! Which blocks are in progress, and which come next.

use super::live::LiveBlocks;
use super::order::Order;
use super::session::Session;
use crate::scdp::block::Block;
use crate::scdp::config::ScdpConfig;
use crate::scdp::header::Symbol;
use crate::scdp::layout::{LIVE_BLOCKS, initial_window};
use std::collections::VecDeque;

/// The blocks of one session, from the first that is not complete on.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Those in progress.
    pub(super) live: LiveBlocks,
    /// Those to come: what is received first and what afterwards, if the group has gone on without this receiver.
    order: Order,
    /// Those in progress when the receiver joined its group at a later block.
    aside: VecDeque<Block>,
}

impl Blocks {
    pub(super) fn new(config: &ScdpConfig) -> Self {
        Self { live: LiveBlocks::new(config), order: Order::default(), aside: VecDeque::new() }
    }

    /// Those before `first` are here from an earlier session.
    pub(super) fn begin_at(&mut self, first: u32) {
        self.live.begin_at(first);
        self.order = Order::from(first);
    }

    /// The first symbol has arrived.
    pub(super) fn establish(&mut self, session: &Session) {
        let base = self.live.base().min(session.layout.blocks - 1);
        self.live.begin_at(base);
        self.order.establish(&session.layout, base);
    }

    /// The blocks of a lane's initial window: calls `push(self, index, count)`.
    pub(super) fn push_initial(&mut self, session: &Session, lane: u32, mut push: impl FnMut(&mut Self, usize, u32)) {
        initial_window(&session.layout, lane, session.lanes, session.window, |block, count| {
            if let Some(index) = self.live.index_of(block) {
                self.reach(index, session);
                push(self, index, count);
            }
        });
    }

    /// Whether a symbol of a block is of no use, however many of its block have arrived: it had its turn, or has it later.
    #[inline]
    pub(super) fn is_over(&self, block: u32) -> bool {
        block < self.live.base() || self.order.is_past(block)
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

    /// Whether a whole symbol is of use to its block, which has not had its turn.
    #[inline]
    pub(super) fn wants(&self, symbol: &Symbol, lane: u32, place: u32, full: bool) -> bool {
        let index = (symbol.block - self.live.base()) as usize;
        let is_new = self.live.get(index).is_none_or(|b| b.takes(lane) && b.wants(place, symbol.esi));
        is_new && self.has_room(index, full)
    }

    /// Whether the `index`-th block is in progress, or may be begun: not while the application is to take others first (`full`).
    fn has_room(&self, index: usize, full: bool) -> bool {
        index < self.live.len() || index <= LIVE_BLOCKS && !full
    }

    /// Whether the next block may be begun, if there is one.
    #[inline]
    pub(super) fn may_open(&self, full: bool) -> bool {
        self.order.unbegun() > 0 && self.live.len() < LIVE_BLOCKS && !full
    }

    /// Symbols to ask for, those of blocks that may be begun included.
    #[inline]
    pub(super) fn wanted(&self, full: bool) -> u32 {
        let future = if self.may_open(full) { self.order.unbegun() } else { 0 };
        self.live.need().saturating_add(future).min(u64::from(u32::MAX)) as u32
    }

    /// Whether the session waits for just one more symbol, of this block.
    pub(super) fn lacks_one(&self, index: usize) -> bool {
        self.order.unbegun() == 0 && self.live.at(index).missing() == 1 && self.live.missing() == 1
    }

    /// Source symbols that are here if no block in progress counts; in a session without end, theirs count, too.
    pub(super) fn symbols(&self, session: &Session) -> u64 {
        let complete = self.order.symbols_before(&session.layout, self.live.base());
        if session.layout.endless() { complete + self.live.received() } else { complete }
    }

    /// A symbol of a block has arrived, which is begun if it was not: another receiver of the group is ahead. Returns the block's
    /// index; `None` if there is no room for it.
    #[inline]
    pub(super) fn begin(&mut self, block: u32, session: &Session, full: bool) -> Option<usize> {
        let index = (block - self.live.base()) as usize;
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
        while index >= self.live.len() {
            self.open(session);
        }
    }

    fn open(&mut self, session: &Session) {
        let number = self.live.number(self.live.len());
        let passed = self.order.begin(number, &session.layout);
        self.live.push(session.layout.source_symbols(number), session.lanes, passed);
    }

    /// What was sent to others while there was no room for it is sent to this receiver as well.
    pub(super) fn forget_passed(&mut self) {
        self.order.forget_passed();
    }

    /// Releases blocks at the front that are complete and, where they may be fetched again (`checks`), confirmed. Whether none is left.
    pub(super) fn release(&mut self, session: &Session, checks: bool) -> bool {
        let end = self.order.end(session.layout.blocks);
        self.live.release(checks, end);
        self.live.base() == end
    }

    /// Whether the receiver may leave blocks before `first` for later, and take them from there on.
    pub(super) fn may_join_at(&self, first: u32) -> bool {
        first > self.live.base() && !self.order.has_joined() && !self.live.iter().any(Block::is_pending)
    }

    /// The blocks before `first` are received in the second turn. Returns those that have to be received from the beginning then.
    pub(super) fn join_at(&mut self, first: u32, session: Option<&Session>) -> Vec<u32> {
        let base = self.live.base();
        self.aside = self.live.split_before(first);
        self.order.join(first, session.map(|_| base));
        let Some(session) = session else { return Vec::new() };
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
        self.live.swap(first, std::mem::take(&mut self.aside));
        self.begin_turn(session);
        true
    }

    /// Some blocks of this turn are in progress already.
    fn begin_turn(&mut self, session: &Session) {
        self.order.begin_turn(&session.layout, self.live.number(self.live.len()));
    }
}

#[cfg(test)]
mod tests;
