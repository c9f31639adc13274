//! A receiver that comes late to a group, which has gone on without it.
//!
//! It takes the blocks that are still to come together with the others, and those before them afterwards, by itself: nothing is sent twice to the
//! others. So its blocks have two turns: from where it joins to the end, then from where it would have begun to where it joined.

use super::{Receiver, Session};
use crate::scdp::block::Block;
use crate::scdp::layout::Layout;
use std::collections::VecDeque;

/// The order in which blocks are received.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// The first block that is needed at all: earlier ones are here from an earlier session.
    first: u32,
    /// Where it joined a group that had gone on without it.
    joined: Option<u32>,
    /// The blocks before that are received now, those from there on are complete.
    second: bool,
    /// Blocks before that were in progress when it joined.
    begun: VecDeque<Block>,
}

impl Turns {
    /// Blocks before `first` are here.
    pub(super) fn from(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// The object has so many blocks: the last one is needed in any case.
    pub(super) fn establish(&mut self, blocks: u32) {
        self.first = self.first.min(blocks - 1);
        self.joined = self.joined.map(|joined| joined.min(blocks - 1)).filter(|joined| *joined > self.first);
    }

    /// The block at which this turn ends.
    pub(super) fn end(&self, blocks: u32) -> u32 {
        self.joined.filter(|_| self.second).unwrap_or(blocks)
    }

    /// Whether a block had its turn, and is complete.
    #[inline]
    pub(super) fn is_past(&self, block: u32) -> bool {
        self.second && self.joined.is_some_and(|joined| block >= joined)
    }

    /// Whether a block is never asked for in this turn: a symbol of it was sent to others.
    #[inline]
    pub(super) fn is_of_others(&self, block: u32) -> bool {
        let from = self.joined.filter(|_| !self.second).unwrap_or(self.first);
        block < from || self.is_past(block)
    }

    /// Source symbols that this receiver has if all blocks before `base` had their turn.
    pub(super) fn symbols_before(&self, layout: &Layout, base: u32) -> u64 {
        let before = layout.symbols_before(base);
        match self.joined {
            None => before,
            Some(joined) if self.second => before + (layout.symbols - layout.symbols_before(joined)),
            Some(joined) => before - layout.symbols_before(joined) + layout.symbols_before(self.first),
        }
    }
}

impl Receiver {
    /// The group has gone on without this receiver: it takes the blocks from `first` on with the others, and the earlier ones afterwards. Pulls of the
    /// second turn are for blocks before `first`, and follow when the first turn is over. No effect with several senders, once it has joined, or if
    /// it has all blocks before `first`. Returns whether it does so.
    pub fn join_at(&mut self, first: u32) -> bool {
        let is_behind = first > self.base && self.session.is_none_or(|session| first < session.layout.blocks);
        let may = self.lanes.len() == 1 && self.turns.joined.is_none() && !self.over() && is_behind;
        if !may || self.blocks.iter().any(Block::is_pending) {
            return false;
        }
        self.turns.joined = Some(first);
        if let Some(session) = self.session {
            self.turns.first = self.base;
            self.lay_aside(session, first);
        }
        self.base = first;
        self.awaited.0 = first;
        true
    }

    /// This receiver is sent symbols of its own from now on: what was sent to others while it had no room for it is sent to it as well.
    pub fn on_detached(&mut self) {
        self.passed = 0;
    }

    /// The blocks in progress before `first` are received in the second turn.
    fn lay_aside(&mut self, session: Session, first: u32) {
        for index in 0..self.blocks.len() {
            self.free_window(index, session);
        }
        let later = self.blocks.split_off(((first - self.base) as usize).min(self.blocks.len()));
        let mut begun = std::mem::replace(&mut self.blocks, later);
        for (number, block) in (self.base..).zip(begun.iter_mut()).filter(|(_, block)| !block.is_complete()) {
            // Their symbols are sent again from the beginning.
            block.renew(session.layout.source_symbols(number), session.lanes);
            if let Some(decoder) = &mut self.decoder {
                decoder.forget(number);
            }
        }
        self.turns.begun = begun;
        self.passed = 0;
        if let Some(untaken) = &mut self.untaken {
            // They, and those that share a span of hashes with them, can only be checked in the second turn.
            untaken.blocks.retain(|block| *block >= first);
            untaken.limit *= 2;
        }
        self.count(session, first, session.layout.blocks);
    }

    /// The first turn is over. Returns whether there is a second one, which begins.
    pub(super) fn begin_second_turn(&mut self, session: Session) -> bool {
        let Some(joined) = self.turns.joined.filter(|_| !self.turns.second) else { return false };
        self.turns.second = true;
        self.blocks = std::mem::take(&mut self.turns.begun);
        (self.base, self.passed) = (self.turns.first, 0);
        self.count(session, self.base, joined);
        self.lanes[0].timer.forget_pull();
        true
    }

    /// Counts what the blocks from `first` to `end` need.
    fn count(&mut self, session: Session, first: u32, end: u32) {
        let begun = first + self.blocks.len() as u32;
        self.need = self.blocks.iter().map(|block| u64::from(block.need())).sum();
        self.future = session.layout.symbols_before(end) - session.layout.symbols_before(begun.min(end));
    }
}
