//! What the application of a receiver calls: what it is made for, blocks taken and checked, and where it joins its group.

use super::Receiver;
use super::checks::UNCHECKED;
use crate::scdp::block::{Block, BlockDecoder};
use crate::{Event, Peer, Time};

impl Receiver {
    /// The same with a decoder. If that is for symbols that carry bytes, the driver calls [`handle_payload`](Self::handle_payload). Without one, any
    /// K symbols of a block suffice, and decoding takes no time.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Box<dyn BlockDecoder>) -> Self {
        self.decoding.set_decoder(decoder);
        self
    }

    /// The same, for an application that may be slow: while `limit` complete blocks (at least 1) have not been taken with
    /// [`take_block`](Self::take_block), no other block is begun. Blocks in progress still complete, so that the decoder holds
    /// up to 65 blocks more.
    #[must_use]
    pub fn with_untaken_limit(mut self, limit: usize) -> Self {
        self.decoding.limit_untaken(limit);
        self
    }

    /// The same, where the blocks before `first` are present from an earlier session: they are not requested, and no event reports them.
    /// The last block is always received again. Symbols of present blocks that the sender pushes unasked are useless. A group starts at
    /// the first block that any member lacks; members that have more wait.
    #[must_use]
    pub fn with_first(mut self, first: u32) -> Self {
        self.requests.blocks_mut().begin_at(first);
        self
    }

    /// The same for a receiver of several, where `window` symbols may be in flight however much is lost, unless windows are fixed. The receiver
    /// that loses most sets the pace, and a loss is only found at once if enough symbols overtake it.
    #[must_use]
    pub fn with_least_window(mut self, window: u32) -> Self {
        self.requests.lanes_mut().set_least_window(window);
        self
    }

    /// The same, where the application checks blocks, and reports with [`confirm`](Self::confirm) or [`reject`](Self::reject). Until then
    /// blocks of several senders count as in progress; with one sender some more blocks may be unchecked, and a wrong one cannot be
    /// fetched again.
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checks.enable();
        if self.lanes().is_single() { self.with_untaken_limit(UNCHECKED) } else { self }
    }

    /// The application begins to wait for the first symbol: if none arrives for [`give_up_after`](crate::scdp::ScdpConfig::give_up_after), the session fails.
    /// If this is never called, a receiver waits for its first symbol forever.
    pub fn start(&mut self, now: Time) {
        self.started_at.get_or_insert(now);
    }
}

impl Receiver {
    /// Takes the source symbols of a complete block, one after the other, including the padding of the object's last. Empty if the
    /// block is not complete, has been taken, or if symbols carry no bytes. The receiver may want to send pulls afterwards.
    pub fn take_block(&mut self, block: u32) -> Vec<u8> {
        let is_complete = |index: usize| self.blocks().live.get(index).is_some_and(Block::is_complete);
        if !self.blocks().is_past(block) && !self.blocks().live.index_of(block).is_none_or(is_complete) {
            return Vec::new();
        }
        self.decoding.take(block, self.checks.are_on())
    }

    /// The result of decoding a block for which the decoder returned [`Decode::Pending`](crate::scdp::Decode::Pending): its source symbols are available, or more
    /// symbols are needed. Ignored for any other block.
    pub fn decoded(&mut self, now: Time, block: u32, complete: bool) {
        let Some(session) = self.session.filter(|_| !self.state.is_over()) else { return };
        let Some(index) = self.blocks().live.index_of(block) else { return };
        if !self.blocks().live.get(index).is_some_and(Block::is_pending) {
            return;
        }
        let more = self.requests.blocks_mut().live.end_decoding(index);
        if complete {
            self.stats.decoded_blocks += 1;
            self.complete(now, index, &session);
        } else if more == Some(true) && self.blocks().live.at(index).can_try() {
            self.try_complete(now, index, &session);
        } else {
            self.requests.blocks_mut().live.failed(index);
        }
    }

    /// The decoder, if symbols carry bytes. [`take_block`](Self::take_block) takes complete blocks from it.
    pub fn decoder(&mut self) -> Option<&mut (dyn BlockDecoder + 'static)> {
        self.decoding.decoder()
    }

    /// All blocks before this one are complete.
    pub fn complete_blocks(&self) -> u32 {
        self.blocks().live.base()
    }

    /// The group has gone on without this receiver: it takes the blocks from `first` on with the others, and the earlier ones afterwards. Pulls of the
    /// second turn are for blocks before `first`, and follow when the first turn is over. No effect with several senders, once it has joined, or if
    /// it has all blocks before `first`. Returns whether it does so.
    pub fn join_at(&mut self, first: u32) -> bool {
        let is_there = self.session.is_none_or(|session| first < session.layout.blocks);
        if !self.lanes().is_single() || self.state.is_over() || !is_there || !self.blocks().may_join_at(first) {
            return false;
        }
        if self.session.is_some() {
            self.decoding.lay_aside(first);
        }
        let again = self.requests.join_at(first, self.session.as_ref());
        for block in again {
            self.decoding.forget(block);
        }
        self.checks.continue_at(first);
        true
    }

    /// This receiver is sent symbols of its own from now on: what was sent to others while it had no room for it is sent to it as well.
    pub fn on_detached(&mut self) {
        self.requests.blocks_mut().forget_passed();
    }

    /// Whether a sender takes much longer to answer than another, or has not answered in time.
    pub fn is_slow(&self, sender: Peer) -> bool {
        self.lanes().is_slow(sender)
    }
}

/// What applications that check blocks call.
impl Receiver {
    /// The index of a complete block that was neither confirmed nor rejected.
    fn unchecked(&self, block: u32) -> Option<usize> {
        let index = self.blocks().live.index_of(block)?;
        let waits = self.blocks().live.get(index).is_some_and(|block| block.is_complete() && !block.is_confirmed());
        (waits && !self.state.is_over()).then_some(index)
    }

    /// A complete block is right.
    pub fn confirm(&mut self, now: Time, block: u32) {
        self.decoding.on_taken(block);
        if let Some(index) = self.unchecked(block)
            && let Some(session) = self.session
        {
            self.requests.blocks_mut().live.confirm(index);
            self.decoding.forget(block);
            self.advance(now, &session);
        }
    }

    /// A complete block is wrong: it is fetched again, from `sender` alone.
    pub fn reject(&mut self, now: Time, block: u32, sender: Peer) {
        if let Some(index) = self.unchecked(block)
            && self.checks.may_fetch_again()
            && self.lanes().get(sender).is_some()
        {
            self.restart(now, index, Some(u32::from(sender)));
        }
    }

    /// The only sender whose symbols a block is made of, if there is just one.
    pub fn sole_sender(&self, block: u32) -> Option<Peer> {
        if self.lanes().is_single() {
            return Some(0);
        }
        self.blocks().live.get(self.blocks().live.index_of(block)?)?.sole().map(|lane| lane as Peer)
    }

    /// The sender to ask next: among those that answer and have withheld the fewest blocks, the next in turn after `last`.
    pub fn another_sender(&self, last: Peer) -> Option<Peer> {
        self.lanes().another(last)
    }

    /// A sender has sent wrong symbols: none of its symbols are accepted any more. Incomplete blocks with symbols from it restart.
    pub fn exclude(&mut self, now: Time, sender: Peer) {
        let Some(mixed) = self.requests.exclude(sender) else { return };
        for index in mixed {
            self.restart(now, index, None);
        }
        self.pass_on_blocks_of(now, sender);
    }

    /// Blocks that were requested from one sender alone are requested from another.
    pub(super) fn pass_on_blocks_of(&mut self, now: Time, sender: Peer) {
        for index in self.requests.requested_from_alone(u32::from(sender)) {
            let other = self.lanes().another(sender);
            self.restart(now, index, other.map(u32::from));
        }
    }

    /// A block restarts, from all senders or from one alone.
    fn restart(&mut self, now: Time, index: usize, sole: Option<u32>) {
        self.requests.restart(index, sole);
        let block = self.blocks().live.number(index);
        self.checks.on_restart(now, block);
        self.checks.watch(now, &self.requests.blocks().live);
        self.decoding.restart(block);
    }

    /// Requests a block that is overdue from another sender, with all other blocks requested from its sender alone.
    pub(super) fn pass_on_what_is_withheld(&mut self, now: Time) {
        let deadline = self.checks.deadline(&self.requests.blocks().live, self.requests.lanes());
        let Some((sole, _)) = deadline.filter(|(_, at)| *at <= now) else { return };
        let first_time = self.lane_mut(sole).withholds();
        self.checks.on_withheld(now);
        if self.lanes().another(sole as Peer).is_some_and(|other| u32::from(other) != sole) {
            if first_time {
                self.events.push(Event::PeerWithholds(sole as Peer));
            }
            // The same may hold for all blocks requested from it.
            self.pass_on_blocks_of(now, sole as Peer);
        }
    }
}
