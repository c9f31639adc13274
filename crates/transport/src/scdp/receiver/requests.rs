//! What is in flight: symbols that blocks wait for are those that senders owe, at all times. So it says, too, what becomes of a symbol
//! that arrives.

use super::blocks::Blocks;
use super::choice::Choice;
use super::gaps::Gaps;
use super::lanes::{Arrived, Lanes, Silence};
use super::session::Session;
use super::taking_over::Idle;
use crate::scdp::block::Block;
use crate::scdp::config::ScdpConfig;
use crate::scdp::header::{Header, Symbol};
use crate::{Arrival, Peer, Time};
use std::sync::Arc;

/// Blocks in progress, and the senders that they are requested from.
#[derive(Debug)]
pub(super) struct Requests {
    blocks: Blocks,
    gaps: Gaps,
    lanes: Lanes,
    /// Symbols that one pull asks for at most.
    per_pull: u32,
}

/// A pull: how many symbols of a block a sender is to have emitted in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) index: usize,
    pub(super) upto: u32,
    /// The session waits for just one more symbol (Algorithm 2, line 29).
    pub(super) fin: bool,
    /// How many of them were not asked for before.
    pub(super) more: u32,
}

/// What becomes of a symbol of a block that is received now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It has arrived before, or there is no room for its block.
    Known,
    OfCompleteBlock,
    /// Its block is made of another sender's symbols, or another sender drew the same repair symbol.
    Surplus,
    /// Its header alone has arrived.
    Trimmed,
    /// It is one more symbol of the block at this index.
    Counted(usize),
}

impl Requests {
    /// Of up to `senders` senders. `seed`: for what windows draw.
    pub(super) fn new(config: &Arc<ScdpConfig>, senders: u16, seed: u64) -> Self {
        let lanes = Lanes::new(Arc::clone(config), senders, seed);
        let per_pull = config.symbols_per_pull.unwrap_or(1);
        Self { blocks: Blocks::new(config), gaps: Gaps::new(config), lanes, per_pull }
    }

    #[inline]
    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// For what does not change what is in flight.
    #[inline]
    pub(super) fn blocks_mut(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    #[inline]
    pub(super) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// For what does not change what is in flight.
    #[inline]
    pub(super) fn lanes_mut(&mut self) -> &mut Lanes {
        &mut self.lanes
    }

    /// The first symbol has arrived: the initial windows are in flight.
    pub(super) fn establish(&mut self, now: Time, session: &Session) {
        let Self { blocks, lanes, .. } = self;
        blocks.establish(session);
        lanes.establish(session);
        for lane in 0..session.lanes {
            let mut pushed = 0;
            blocks.push_initial(session, lane, |blocks, index, count| {
                request(now, blocks, lanes, index, lane, count);
                pushed += count;
            });
            lanes.begin(now, lane, session, pushed);
        }
    }

    /// Whom to ask for what. `full`: the application has to take blocks before others are begun.
    #[inline]
    fn choice<'a>(&'a self, session: &'a Session, full: bool) -> Choice<'a> {
        Choice { blocks: &self.blocks, lanes: &self.lanes, session, full }
    }

    /// How many symbols could be asked for, starting now; 0 if none can.
    #[inline]
    pub(super) fn wanted(&self, session: Option<&Session>, full: bool) -> u32 {
        let credits = self.lanes.credits();
        if credits == 0 {
            return 0;
        }
        let wanted = self.blocks.wanted(full);
        if self.lanes.is_single() {
            return credits.min(wanted);
        }
        if wanted == 0 || session.is_none_or(|session| self.choice(session, full).next().is_none()) {
            return 0;
        }
        self.lanes.usable_credits().min(wanted)
    }

    /// Symbols that one pull asks for at most. Several senders take turns; and while one pull gathers, at least half of the window is on its way.
    #[inline]
    fn most_per_pull(&self) -> u32 {
        if self.per_pull == 1 || !self.lanes.is_single() {
            return 1;
        }
        self.per_pull.min(self.lanes.at(0).credits.window().symbols() / 2).max(1)
    }

    /// Whether the next pull waits until it can ask for more symbols: some are on their way, and more are wanted than may be asked for now.
    ///
    /// Receivers of a group wait for each other, so none may gather for ever. Nobody does whose next block has lost a symbol, to whom nothing
    /// has come for long, or who has completed blocks of which its sender has not been told (`news`): others may wait for that. All others ask for the same
    /// symbols in the same order; what is on its way to the one that has asked for the fewest waits for nobody.
    #[inline]
    pub(super) fn is_gathering(&self, full: bool, news: bool) -> bool {
        let most = self.most_per_pull();
        if most == 1 {
            return false;
        }
        let lane = self.lanes.at(0);
        let is_short = lane.credits.left() < most.min(self.blocks.wanted(full)) && lane.credits.outstanding() > 0;
        let is_told = !news || lane.is_told(self.blocks.live.base());
        let next = || self.blocks.live.iter().find(|block| block.need() > 0);
        is_short && is_told && lane.retransmission.timeouts() == 0 && !next().is_some_and(Block::is_lossy)
    }

    /// Asks for the next symbols, if there are some to ask for: of a sender, and what it is asked.
    pub(super) fn next(&mut self, now: Time, session: &Session, full: bool) -> Option<(u32, Asked)> {
        let (lane, index) = self.choice(session, full).next()?;
        let lane = lane as u32;
        self.blocks.reach(index, session);
        let fin = self.blocks.lacks_one(index);
        let left = self.lanes.at(lane as usize).credits.left();
        let more = self.most_per_pull().min(left).min(self.blocks.live.at(index).need()).max(1);
        let coming = self.lanes.spend(now, lane);
        for _ in 1..more {
            self.lanes.spend(now, lane);
        }
        let upto = request(now, &mut self.blocks, &mut self.lanes, index, lane, more);
        // In a group a repair symbol may be on its way already, since another has asked for it: that is no round trip.
        let is_round_trip = !self.lanes.is_in_group() || upto <= self.blocks.live.at(index).source_symbols();
        let block = self.blocks.live.number(index);
        self.lanes.at_mut(lane).on_pull(now, block, upto - 1, is_round_trip, coming);
        Some((lane, Asked { index, upto, fin, more }))
    }

    /// The pull to repeat, if one is due to a sender.
    #[inline]
    pub(super) fn retry(&mut self, lane: u32) -> Option<Asked> {
        if !self.lanes.at_mut(lane).retransmission.take_due() {
            return None;
        }
        let index = self.blocks.live.suspect_loss(lane)?;
        self.lanes.at_mut(lane).retransmission.on_repeated();
        let upto = self.blocks.live.at(index).lane(lane).requested;
        Some(Asked { index, upto, fin: self.blocks.lacks_one(index), more: 0 })
    }

    /// A symbol has arrived, whatever becomes of it: what it says about its sender and the path.
    #[inline]
    pub(super) fn on_symbol(
        &mut self,
        now: Time,
        session: &Session,
        arrival: &Arrival<Header>,
        symbol: &Symbol,
        place: u32,
    ) {
        let lane = u32::from(arrival.from);
        let is_fixed = self.lanes.at(lane as usize).credits.window().is_fixed();
        let is_before = self.lanes.is_in_group() && symbol.block < self.blocks.live.base();
        let arrived = Arrived {
            // A symbol that its sender repeats because it hears nothing has no news if the first has arrived: it must not postpone
            // the repetition of a pull for ever.
            is_repeated: symbol.syn && !is_fixed && self.blocks.live.has_arrived(symbol.block, place),
            is_of_others: is_before || self.blocks.is_of_others(symbol.block),
            ..Arrived::new(arrival, symbol, session.lanes)
        };
        self.lanes.on_symbol(now, lane, &arrived);
    }

    /// Takes in a symbol, or its header, of a block that has not had its turn.
    #[inline]
    pub(super) fn take_in(
        &mut self,
        now: Time,
        session: &Session,
        arrival: &Arrival<Header>,
        symbol: &Symbol,
        place: u32,
        full: bool,
    ) -> Taken {
        let (lane, trimmed) = (u32::from(arrival.from), arrival.trimmed);
        let Some(index) = self.blocks.begin(symbol.block, session, full) else { return Taken::Known };
        if self.blocks.live.at(index).is_complete() {
            return Taken::OfCompleteBlock;
        }
        if !self.blocks.live.note(index, place) {
            return Taken::Known;
        }
        self.arrived(now, index, lane, symbol.index, trimmed);
        if !self.blocks.live.at(index).takes(lane) {
            return Taken::Surplus;
        }
        if trimmed {
            self.blocks.live.trimmed(index);
            return Taken::Trimmed;
        }
        if place != symbol.esi && !self.blocks.live.note_repair(index, symbol.esi) {
            return Taken::Surplus;
        }
        self.blocks.live.receive(index, symbol.esi);
        self.find_gaps(index, lane, symbol.index);
        Taken::Counted(index)
    }

    /// A symbol of a sender has been taken in: its window, if the receiver finds that itself, may have changed, or allow more than there is to ask
    /// for. `over`: nothing is asked for any more.
    #[inline]
    pub(super) fn adjust(&mut self, lane: u32, session: &Session, full: bool, over: bool) {
        if self.lanes.at(lane as usize).credits.window().is_fixed() {
            return;
        }
        self.lanes.refresh(lane);
        if self.lanes.is_in_group() && !over {
            self.make_room(lane);
        }
        let credits = &self.lanes.at(lane as usize).credits;
        let is_idle = credits.left() > 0 && (over || self.wanted(Some(session), full) == 0);
        // Other senders may have been chosen instead.
        let is_passed_over = !self.lanes.is_single() && credits.left() > credits.window().symbols() / 2;
        if is_idle || credits.is_held_back() || is_passed_over {
            self.lanes.at_mut(lane).credits.on_limited();
        }
    }

    /// A new symbol or header has arrived: the `j`-th of a sender in this block, or the answer to a repeated pull.
    #[inline]
    fn arrived(&mut self, now: Time, index: usize, lane: u32, j: u32, trimmed: bool) {
        // What others of a group wait for does not show that nothing was lost.
        self.lanes.at_mut(lane).retransmission.on_new_symbol(now);
        if self.blocks.live.arrived(index, lane, j) {
            self.lanes.no_longer_waits(lane, 1);
            self.lanes.at_mut(lane).credits.on_useful();
        }
        // A header may have overtaken the symbols before it.
        if self.lanes.at(lane as usize).retransmission.is_unanswered()
            && !trimmed
            && self.blocks.live.confirms_loss(index, lane, j)
        {
            self.lanes.at_mut(lane).retransmission.on_answer();
            let lost = self.blocks.live.confirm_loss(lane);
            self.lanes.on_lost(lane, lost);
        }
    }

    /// It was whole: what should have arrived long before is lost.
    #[inline]
    fn find_gaps(&mut self, index: usize, lane: u32, j: u32) {
        let lost = self.gaps.find(&mut self.blocks.live, index, lane, j, self.lanes.len() as u32);
        self.lanes.on_lost(lane, lost);
    }

    /// A block no longer waits for what is in flight from a sender, which is not lost.
    fn give_up(&mut self, index: usize, lane: u32) {
        let coming = self.blocks.live.give_up(index, lane);
        self.lanes.no_longer_waits(lane, coming);
    }

    /// The same of all senders.
    fn free_window(&mut self, index: usize) {
        (0..self.lanes.len() as u32).for_each(|lane| self.give_up(index, lane));
    }

    /// A block is complete: what is still in flight will find it so, and the window is free for other blocks.
    pub(super) fn complete(&mut self, index: usize) {
        self.free_window(index);
        self.blocks.live.complete(index);
    }

    /// A block is decoded elsewhere: whether more symbols are needed is unknown, and what is still in flight is not waited for.
    pub(super) fn decode_later(&mut self, index: usize) {
        self.blocks.live.decode_later(index);
        self.free_window(index);
    }

    /// Releases blocks at the front; see [`Blocks::release`]. The second turn begins when the first one is over. Whether none is left.
    pub(super) fn release(&mut self, session: &Session, checks: bool) -> bool {
        if !self.blocks.release(session, checks) {
            return false;
        }
        if !self.blocks.begin_second_turn(session) {
            return true;
        }
        self.lanes.at_mut(0).retransmission.forget_pull();
        self.release(session, checks)
    }

    /// What a block waits for from a sender is lost.
    fn lose(&mut self, index: usize, lane: u32) {
        let lost = self.blocks.live.lose(index, lane);
        self.lanes.on_lost(lane, lost);
    }

    /// A block restarts, from all senders or from one alone.
    pub(super) fn restart(&mut self, index: usize, sole: Option<u32>) {
        for lane in (0..self.lanes.len() as u32).filter(|&lane| sole.is_some_and(|sole| sole != lane)) {
            self.give_up(index, lane);
        }
        self.blocks.live.restart(index, sole);
    }

    /// Blocks that are requested from one sender alone.
    pub(super) fn requested_from_alone(&self, lane: u32) -> Vec<usize> {
        let waits = |block: &Block| !block.is_complete() && block.sole() == Some(lane);
        (0..self.blocks.live.len()).filter(|&index| waits(self.blocks.live.at(index))).collect()
    }

    /// A sender has sent wrong symbols: it owes none any more. Returns the blocks that have some of them, if that is news.
    pub(super) fn exclude(&mut self, sender: Peer) -> Option<Vec<usize>> {
        let lane = u32::from(sender);
        if !self.lanes.exclude(sender) {
            return None;
        }
        (0..self.blocks.live.len()).for_each(|index| self.lose(index, lane));
        self.lanes.refresh(lane);
        let has_some = |block: &Block| !block.is_complete() && block.sole().is_none() && block.has_any_of(lane);
        Some((0..self.blocks.live.len()).filter(|&index| has_some(self.blocks.live.at(index))).collect())
    }

    /// The receiver goes on at a later block, and receives those before it afterwards. Returns those to be received from the beginning then.
    pub(super) fn join_at(&mut self, first: u32, session: Option<&Session>) -> Vec<u32> {
        (0..self.blocks.live.len()).for_each(|index| self.free_window(index));
        self.blocks.join_at(first, session)
    }

    /// Nothing has arrived from a sender for too long. What it owes is lost if it is left out.
    pub(super) fn on_timeout(&mut self, now: Time, lane: u32) -> Silence {
        let silence = self.lanes.on_timeout(now, lane);
        if silence == Silence::LeaveOut {
            (0..self.blocks.live.len()).for_each(|index| self.lose(index, lane));
        }
        silence
    }

    /// After a window has shrunk, symbols of later blocks may fill it, and in a group those may wait for receivers that wait for
    /// this receiver's first block: some of these symbols are written off to make room for it. In a group they have not been sent, and so
    /// say nothing about the path.
    pub(super) fn make_room(&mut self, lane: u32) {
        let waits = |first: &Block| first.need() > 0 && first.takes(lane) && first.lane(lane).outstanding == 0;
        if !self.blocks.live.get(0).is_some_and(waits) || self.lanes.at(lane as usize).credits.window().is_fixed() {
            return;
        }
        for index in (1..self.blocks.live.len()).rev() {
            if self.lanes.at(lane as usize).credits.left() > 0 {
                return;
            }
            if self.lanes.is_in_group() {
                self.give_up(index, lane);
            } else {
                self.lose(index, lane);
            }
        }
    }

    /// When senders may have to take over what blocks wait for.
    #[inline]
    pub(super) fn next_take_over(&self, session: &Session, full: bool) -> Option<Time> {
        Idle::find(&self.choice(session, full))?.next(&self.blocks.live, &self.lanes)
    }

    /// Lets senders take over what blocks have waited for too long, as much as they may be asked for.
    #[inline]
    pub(super) fn take_over(&mut self, now: Time, session: &Session, full: bool) {
        let Some(idle) = Idle::find(&self.choice(session, full)) else { return };
        let mut room = idle.room(&self.lanes);
        for index in 0..self.blocks.live.len() {
            for lane in 0..self.lanes.len() {
                let since = idle.late_since(self.blocks.live.at(index), lane, &self.lanes);
                if room > 0 && since.is_some_and(|since| since <= now) {
                    room -= self.stop_waiting(index, lane as u32, room);
                }
            }
        }
    }

    /// A block no longer waits for up to `most` symbols of a sender. Returns for how many.
    fn stop_waiting(&mut self, index: usize, lane: u32, most: u32) -> u32 {
        let number = self.blocks.live.at(index).lane(lane).last_asked;
        let count = self.blocks.live.overtake(index, lane, most);
        self.lanes.at_mut(lane).credits.on_late(number);
        self.lanes.no_longer_waits(lane, count);
        count
    }

    /// Checks the bookkeeping, and returns the symbols in flight plus the credits: the sum of the windows.
    #[cfg(test)]
    pub(super) fn check(&self) -> u32 {
        let coming = self.blocks.live.check(self.lanes.len() as u32);
        for (i, lane) in self.lanes.iter().enumerate() {
            assert_eq!(lane.credits.outstanding(), coming.get(i).copied().unwrap_or(0), "lane {i}");
        }
        self.lanes.check() + coming.iter().sum::<u32>()
    }
}

/// Requests `count` more symbols of a block from a lane; returns the total requested of the block from that lane.
#[inline]
fn request(now: Time, blocks: &mut Blocks, lanes: &mut Lanes, index: usize, lane: u32, count: u32) -> u32 {
    let credits = &mut lanes.at_mut(lane).credits;
    let before = credits.ask(count);
    let upto = blocks.live.request(index, lane, count, before);
    credits.on_asked(now, blocks.live.number(index), upto);
    upto
}

#[cfg(test)]
mod tests;
