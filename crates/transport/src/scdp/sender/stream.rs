//! What a sender emits: of each block, the symbols of its lane in order, each once.

use super::numbering::Numbering;
use crate::scdp::layout::LIVE_BLOCKS;
use std::collections::VecDeque;

/// One symbol to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) block: u32,
    pub(super) index: u32,
    pub(super) urgent: bool,
    /// It belongs to the initial window, or is sent again to who has not answered.
    pub(super) syn: bool,
}

/// The symbols emitted so far, and those of them that have not left.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) numbering: Numbering,
    /// The first block that some receiver may still need.
    base: u32,
    /// The first block needed by the receivers that set the pace; blocks are begun up to [`LIVE_BLOCKS`] further. Ahead of
    /// `base` where a quorum has left other receivers behind.
    front: u32,
    /// Symbols emitted in each block from `base` on, including those in `due`: the only state kept for blocks that only
    /// stragglers still need.
    emitted: VecDeque<u32>,
    due: VecDeque<Due>,
}

impl Stream {
    /// Nothing is emitted of the blocks from `base` on, and those before are needed no more.
    pub(super) fn from(base: u32, numbering: Numbering) -> Self {
        Self { numbering, base, front: base, emitted: VecDeque::new(), due: VecDeque::new() }
    }

    /// Emits the initial window. Tells how many symbols of which blocks.
    pub(super) fn push_initial(&mut self, window: u32, mut pushed: impl FnMut(u32, u32)) {
        let numbering = self.numbering;
        numbering.initial_window(window, |block, count| {
            self.emit(block, count, false);
            pushed(block, count);
        });
        self.due.iter_mut().for_each(|due| due.syn = true);
    }

    /// This stream for one receiver alone, which has all blocks before `base`: what is due has not been sent to it either.
    pub(super) fn continued(&self, base: u32) -> Self {
        let due = self.due.iter().filter(|due| due.block >= base).map(|due| Due { syn: false, ..*due });
        Self { front: self.base, emitted: self.emitted.clone(), due: due.collect(), ..*self }
    }

    /// The first block that some receiver may still need.
    #[inline]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// The first block needed by the receivers that set the pace.
    pub(super) fn front(&self) -> u32 {
        self.front
    }

    /// Blocks of the object.
    #[inline]
    pub(super) fn blocks(&self) -> u32 {
        self.numbering.layout().blocks
    }

    /// Source symbols of a block.
    #[inline]
    pub(super) fn source_symbols(&self, block: u32) -> u32 {
        self.numbering.layout().source_symbols(block)
    }

    /// Symbols emitted in a block that some receiver may still need.
    #[inline]
    pub(super) fn emitted(&self, block: u32) -> u32 {
        let index = block.checked_sub(self.base).map(|index| index as usize);
        index.and_then(|index| self.emitted.get(index)).copied().unwrap_or(0)
    }

    /// Nothing was emitted of blocks from this one on.
    pub(super) fn reached(&self) -> u32 {
        self.base + self.emitted.iter().rposition(|&emitted| emitted > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Whether the receivers have advanced far enough for a block to be begun.
    #[inline]
    pub(super) fn may_begin(&self, block: u32) -> bool {
        block.saturating_sub(self.front) as usize <= LIVE_BLOCKS
    }

    /// One past the last block that may be begun.
    pub(super) fn end(&self) -> u32 {
        self.front.saturating_add(LIVE_BLOCKS as u32 + 1)
    }

    /// The symbols of a block that were emitted, with room for more.
    #[inline]
    fn place(&mut self, block: u32) -> &mut u32 {
        let index = (block - self.base) as usize;
        if self.emitted.len() <= index {
            self.emitted.resize(index + 1, 0);
        }
        &mut self.emitted[index]
    }

    /// Queues the next symbols of a block until `upto` have been emitted in all, as far as there are any.
    #[inline]
    pub(super) fn emit(&mut self, block: u32, upto: u32, urgent: bool) {
        let upto = upto.min(self.numbering.count(block));
        let emitted = self.place(block);
        let from = std::mem::replace(emitted, upto.max(*emitted));
        for index in from..upto {
            self.due.push_back(Due { block, index, urgent, syn: false });
        }
    }

    /// The next symbol to send.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Due> {
        self.due.pop_front()
    }

    /// Symbols that wait to be sent.
    #[inline]
    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    /// Nobody needs what waits to be sent.
    pub(super) fn clear_due(&mut self) {
        self.due.clear();
    }

    /// A symbol to send again to a receiver that has all blocks before `base`, so that it answers. One that has all that was emitted gets the last
    /// symbol again.
    pub(super) fn repeat(&mut self, base: u32) -> Due {
        let last = self.base + self.emitted.len().saturating_sub(1) as u32;
        let wanted = base.max(self.base).min(last);
        let block = (self.base..=wanted).rev().find(|&block| self.emitted(block) > 0).unwrap_or(self.base);
        let emitted = self.place(block);
        *emitted = (*emitted).max(1);
        Due { block, index: *emitted - 1, urgent: true, syn: true }
    }

    /// No receiver needs blocks before `base`, and those that set the pace none before `front`.
    pub(super) fn release(&mut self, base: u32, front: u32) {
        self.emitted.drain(..((base - self.base) as usize).min(self.emitted.len()));
        self.base = base;
        self.front = self.front.max(front);
    }

    /// Checks the bookkeeping.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.emitted.len() <= self.front.saturating_sub(self.base) as usize + LIVE_BLOCKS + 1);
        assert!(self.due.iter().all(|due| due.block < self.base || due.index < self.emitted(due.block)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::config::Repair;
    use crate::scdp::layout::Layout;

    /// Ten blocks of ten symbols, from one sender.
    fn stream() -> Stream {
        let layout = Layout::new(1000, 10, 10).expect("fits");
        Stream::from(0, Numbering::new(layout, 0, 1, Repair::Partitioned))
    }

    fn sent(stream: &mut Stream) -> Vec<(u32, u32, bool)> {
        std::iter::from_fn(|| stream.next()).map(|due| (due.block, due.index, due.syn)).collect()
    }

    #[test]
    fn each_symbol_is_emitted_once_and_in_order() {
        let mut stream = stream();
        let mut pushed = Vec::new();
        stream.push_initial(12, |block, count| pushed.push((block, count)));
        assert_eq!(pushed, [(0, 10), (1, 2)]);
        for upto in [1, 3, 2] {
            stream.emit(1, upto, false);
        }
        let all: Vec<_> =
            (0..10).map(|index| (0, index, true)).chain([(1, 0, true), (1, 1, true), (1, 2, false)]).collect();
        assert_eq!(sent(&mut stream), all);
        assert_eq!((stream.emitted(0), stream.emitted(1), stream.emitted(2), stream.reached()), (10, 3, 0, 2));
        stream.check();
    }

    #[test]
    fn who_is_sent_the_rest_alone_gets_what_was_due_to_all() {
        let mut stream = stream();
        stream.push_initial(12, |_, _| {});
        assert_eq!(sent(&mut stream).len(), 12);
        (0..2).for_each(|block| stream.emit(block, 12, false));
        let mut alone = stream.continued(1);
        alone.release(1, 1);
        assert_eq!(sent(&mut alone), (2..12).map(|index| (1, index, false)).collect::<Vec<_>>());
        assert_eq!((alone.base(), alone.emitted(1), stream.due()), (1, 12, 12), "the others are sent it as well");
    }

    #[test]
    fn a_silent_receiver_is_sent_the_last_symbol_that_it_may_need() {
        let mut stream = stream();
        let of = |stream: &mut Stream, base| {
            let due = stream.repeat(base);
            (due.block, due.index)
        };
        assert_eq!(of(&mut stream, 0), (0, 0), "the first, if nothing was emitted");
        (0..3).for_each(|block| stream.emit(block, 4, false));
        assert_eq!([0, 1, 9].map(|base| of(&mut stream, base)), [(0, 3), (1, 3), (2, 3)]);
    }

    #[test]
    fn blocks_are_begun_as_far_as_those_are_that_set_the_pace() {
        let mut stream = stream();
        stream.release(0, 2);
        assert_eq!((stream.may_begin(66), stream.may_begin(67), stream.end()), (true, false, 67));
        stream.release(3, 1);
        assert_eq!((stream.base(), stream.front()), (3, 2), "a quorum never falls back");
    }
}
