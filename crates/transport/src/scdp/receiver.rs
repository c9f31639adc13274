//! The receiving end (SCDP Algorithm 2, with pipelined blocks and several senders).

use super::block::{Block, BlockDecoder, Collected, Decode};
use super::config::{PullPacing, ScdpConfig, WindowControl};
use super::header::{Header, Options, Symbol};
use super::layout::{Layout, lane_source, mix, place};
use crate::demotion::Demotion;
use crate::{Arrival, Duration, Endpoint, Event, FailureReason, Peer, Stats, Time, Transmit};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

mod asking;
mod checking;
mod choosing;
mod joining;
mod losing;
mod pace;
mod pull_pace;
mod taking_over;
mod timer;
mod window;
mod withholding;

use joining::Turns;
use pace::Pace;
use pull_pace::PullPace;
use timer::{MOST_MINIMA, RetransmissionTimer};
use window::{Seen, Window};

/// In a group a round trip may be this many times the least one: the rest of the time, symbols wait for other receivers.
const ROUND_TRIP_WITHIN: u64 = 4;

/// Blocks in progress at once; more are not begun, which bounds the memory of both ends.
pub(super) const LIVE_BLOCKS: usize = 64;
/// Timeouts in a row that one of several senders may have before it is left out. Few, as the others can do its share.
const LEFT_OUT_AFTER: u32 = 1;

/// One sender, as the receiver sees it.
#[derive(Clone, Debug, Default)]
struct Lane {
    window: Window,
    /// Pulls that may be sent: the window less what is in flight. 0 while more is in flight than the window, which has shrunk.
    credits: u32,
    outstanding: u32,
    /// How fast it answers, where others may take over from it.
    pace: Option<Box<Pace>>,
    last_arrival: Time,
    /// Since when nothing that was asked for has arrived.
    silent_since: Time,
    /// Timeouts in a row.
    timeouts: u32,
    timer: RetransmissionTimer,
    /// A pull was repeated and not yet answered.
    retried: bool,
    /// Symbols asked for in all, across blocks: it gives the order of requests.
    asked: u64,
    retry_due: bool,
    /// What its sender is to be told besides requests for symbols.
    word_due: Option<Word>,
    /// Blocks that were requested from it alone and did not arrive in time.
    withheld: u32,
    /// None of its symbols are accepted.
    excluded: bool,
}

/// What a sender that is asked for nothing is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// The receiver is alive, and asks for nothing now.
    Sign,
    /// The receiver has the whole object.
    Done,
}

/// Complete blocks that the application has not taken.
#[derive(Debug)]
struct Untaken {
    blocks: BTreeSet<u32>,
    limit: usize,
}

/// What is known once the first symbol has arrived.
#[derive(Clone, Copy, Debug)]
struct Session {
    layout: Layout,
    lanes: u32,
    symbol_bytes: u64,
    object_bytes: u64,
    /// The options that all this was derived from.
    options: Options,
}

impl Session {
    /// Whether a symbol that carries its options belongs to this object, cut in this way. Senders may push different windows, and a
    /// sender that detaches a receiver continues in another mode.
    fn is_of(&self, options: &Options) -> bool {
        let Options { window, mode, .. } = self.options;
        self.options == Options { window, mode, ..*options }
    }
}

/// The receiving end of a session.
#[derive(Debug)]
pub struct Receiver {
    session: Option<Session>,
    /// The first block that is not complete, of those received now.
    base: u32,
    /// What is received first and what afterwards, if the group has gone on without this receiver.
    turns: Turns,
    blocks: VecDeque<Block>,
    spare: Vec<Block>,
    lanes: Vec<Lane>,
    /// Symbols that the blocks in progress need and that are not in flight.
    need: u64,
    /// Source symbols of the blocks not begun.
    future: u64,
    /// The last block with a symbol that there was no room for: a quorum of the group has reached it.
    passed: u32,
    /// The first block that is not complete, and since when it has been the first, or was requested anew.
    awaited: (u32, Time),
    /// Senders that have withheld a block for the first time, still to be reported to the application.
    withholding: Vec<Peer>,
    /// Credits of all lanes in use.
    credits: u32,
    next_lane: usize,
    /// When all blocks that have been decoded are available.
    available: Time,
    completed: bool,
    failed: bool,
    /// When the application began to wait for the first symbol, if it said so.
    started_at: Option<Time>,
    closed_at: Option<Time>,
    events: VecDeque<Event>,
    stats: Stats,
    seed: u64,
    decoder: Option<Box<dyn BlockDecoder>>,
    /// Symbols carry bytes, which the decoder gets.
    carries_bytes: bool,
    untaken: Option<Untaken>,
    /// The application checks complete blocks.
    checks: bool,
    /// Symbols that may be in flight from each sender, however much is lost, where the window is not fixed.
    least_window: u32,
    /// Its own pace, where pulls do not wait for the host's pull queue.
    pull_pace: Option<Box<PullPace>>,
    config: Arc<ScdpConfig>,
}

impl Receiver {
    /// Waits for a session of up to `senders` senders. `config` must be valid. `seed`: for what it draws.
    pub fn new(config: impl Into<Arc<ScdpConfig>>, senders: u16, seed: u64) -> Self {
        let config = config.into();
        Self {
            session: None,
            base: 0,
            turns: Turns::default(),
            blocks: VecDeque::new(),
            spare: Vec::new(),
            lanes: vec![Lane::default(); usize::from(senders.max(1))],
            need: 0,
            future: 0,
            passed: 0,
            awaited: (0, Time::ZERO),
            withholding: Vec::new(),
            credits: 0,
            next_lane: 0,
            available: Time::ZERO,
            completed: false,
            failed: false,
            started_at: None,
            closed_at: None,
            events: VecDeque::new(),
            stats: Stats::default(),
            seed,
            decoder: None,
            carries_bytes: false,
            untaken: None,
            checks: false,
            least_window: 0,
            pull_pace: (config.pull_pacing == PullPacing::Arrivals).then(Box::default),
            config,
        }
    }

    /// The same with a decoder. If that is for symbols that carry bytes, the driver calls [`handle_payload`](Self::handle_payload). Without one, any
    /// K symbols of a block suffice, and decoding takes no time.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Box<dyn BlockDecoder>) -> Self {
        self.carries_bytes = decoder.symbol_bytes().is_some();
        self.decoder = Some(decoder);
        self
    }

    /// The same, for an application that may be slow: while `limit` complete blocks (at least 1) have not been taken with
    /// [`take_block`](Self::take_block), no other block is begun. Blocks in progress still complete, so that the decoder holds
    /// up to 65 blocks more.
    #[must_use]
    pub fn with_untaken_limit(mut self, limit: usize) -> Self {
        self.untaken = Some(Untaken { blocks: BTreeSet::new(), limit: limit.max(1) });
        self
    }

    /// The same, where the blocks before `first` are present from an earlier session: they are not requested, and no event reports them.
    /// The last block is always received again. Symbols of present blocks that the sender pushes unasked are useless. A group starts at
    /// the first block that any member lacks; members that have more wait.
    #[must_use]
    pub fn with_first(mut self, first: u32) -> Self {
        self.base = first;
        self.turns = Turns::from(first);
        self
    }

    /// The same for a receiver of several, where `window` symbols may be in flight however much is lost, unless windows are fixed. The receiver
    /// that loses most sets the pace, and a loss is only found at once if enough symbols overtake it.
    #[must_use]
    pub fn with_least_window(mut self, window: u32) -> Self {
        self.least_window = window;
        self
    }

    /// The application begins to wait for the first symbol: if none arrives for [`ScdpConfig::give_up_after`], the session fails.
    /// If this is never called, a receiver waits for its first symbol forever.
    pub fn start(&mut self, now: Time) {
        self.started_at.get_or_insert(now);
    }

    /// A packet arrived, with these bytes of a symbol: T, or fewer for the object's last source symbol, whose padding need not
    /// be sent (RFC 6330 §4.4.2). The decoder gets them if they are useful. A symbol counts if the decoder accepts it.
    pub fn handle_payload(&mut self, now: Time, arrival: &Arrival<Header>, payload: &[u8]) {
        if self.failed || self.lanes.get(usize::from(arrival.from)).is_none_or(|lane| lane.excluded) {
            return;
        }
        match &arrival.header {
            Header::Symbol(symbol) => {
                if let Some(pace) = &mut self.pull_pace {
                    pace.on_symbol(now, arrival.trimmed);
                }
                self.on_symbol(now, arrival, symbol, payload);
                self.take_over(now);
            }
            // A receiver that has the whole object answers with *done*, as it does to symbols.
            Header::GivenUp if self.completed => {
                self.lanes[usize::from(arrival.from)].word_due = Some(Word::Done);
            }
            Header::GivenUp if self.lanes.len() == 1 => self.fail(FailureReason::GivenUp),
            Header::GivenUp | Header::Pull(_) => {}
        }
    }

    /// Takes the source symbols of a complete block, one after the other, including the padding of the object's last. Empty if the
    /// block is not complete, has been taken, or if symbols carry no bytes. The receiver may want to send pulls afterwards.
    pub fn take_block(&mut self, block: u32) -> Vec<u8> {
        let under_way = |index: u32| self.blocks.get(index as usize).is_some_and(Block::is_complete);
        if !self.turns.is_past(block) && !block.checked_sub(self.base).is_none_or(under_way) {
            return Vec::new();
        }
        if let Some(untaken) = self.untaken.as_mut().filter(|_| !self.checks) {
            untaken.blocks.remove(&block);
        }
        self.decoder.as_mut().map_or_else(Vec::new, |decoder| decoder.take(block))
    }

    /// The result of decoding a block for which the decoder returned [`Decode::Pending`]: its source symbols are available, or more
    /// symbols are needed. Ignored for any other block.
    pub fn decoded(&mut self, now: Time, block: u32, complete: bool) {
        let Some(session) = self.session.filter(|_| !self.over()) else { return };
        let Some(index) = block.checked_sub(self.base).map(|index| index as usize) else { return };
        if !self.blocks.get(index).is_some_and(Block::is_pending) {
            return;
        }
        let more = self.change(index, Block::end_decoding);
        if complete {
            self.stats.decoded_blocks += 1;
            self.complete(now, index, session);
        } else if more == Some(true) {
            self.try_complete(now, index, session);
        } else {
            self.change(index, Block::failed);
        }
    }

    /// The decoder, if symbols carry bytes. [`take_block`](Self::take_block) takes complete blocks from it.
    pub fn decoder(&mut self) -> Option<&mut (dyn BlockDecoder + 'static)> {
        self.decoder.as_deref_mut()
    }

    /// All blocks before this one are complete.
    pub fn complete_blocks(&self) -> u32 {
        self.base
    }

    /// Whether nothing more is asked for.
    fn over(&self) -> bool {
        self.completed || self.failed
    }

    /// The first symbol of a session describes it (Algorithm 2, lines 5-10). Its initial window is in flight.
    fn establish(&mut self, now: Time, options: &Options) -> Option<Session> {
        let layout = Layout::from_options(options)?;
        let session = Session {
            layout,
            lanes: u32::from(options.lanes),
            symbol_bytes: u64::from(options.symbol_bytes),
            object_bytes: options.object_bytes,
            options: *options,
        };
        if session.lanes as usize != self.lanes.len() {
            return None;
        }
        self.session = Some(session);
        self.base = self.base.min(layout.blocks - 1);
        self.turns.establish(layout.blocks);
        self.future = layout.symbols - layout.symbols_before(self.base);
        let takes_over = session.lanes > 1 && self.config.window_control != WindowControl::Fixed;
        for lane in 0..session.lanes {
            self.lanes[lane as usize].pace = takes_over.then(Box::default);
            let (window, mut pushed) = (u32::from(options.window), 0);
            initial_window(&layout, lane, session.lanes, window, |block, count| {
                let Some(index) = block.checked_sub(self.base) else { return };
                while self.blocks.len() <= index as usize {
                    self.open_block(session);
                }
                self.request(now, index as usize, lane, count);
                pushed += count;
            });
            let l = &mut self.lanes[lane as usize];
            l.window =
                Window::new(window, self.least_window, &self.config, session.lanes, mix(self.seed ^ u64::from(lane)));
            (l.credits, l.outstanding, l.last_arrival) = (window - pushed, pushed, now);
            l.silent_since = now;
            self.credits += window - pushed;
        }
        self.events.push_back(Event::Connected);
        Some(session)
    }

    fn open_block(&mut self, session: Session) {
        let number = self.base + self.blocks.len() as u32;
        let k = session.layout.source_symbols(number);
        let mut block = self.spare.pop().unwrap_or_default();
        block.renew(k, session.lanes);
        if number < self.passed {
            // Its source symbols were sent while there was no room for them. Only the symbols after them are still to be sent.
            block.extend(0, k - 1);
        }
        self.need += u64::from(block.need());
        if !session.layout.endless() {
            self.future -= u64::from(k);
        }
        self.blocks.push_back(block);
    }

    /// Changes a block and updates the sum of needs.
    #[inline]
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.blocks[index];
        let before = block.need();
        let result = change(block);
        self.need = self.need + u64::from(block.need()) - u64::from(before);
        result
    }

    /// Requests `count` more symbols of a block from a lane; returns the total requested of the block from that lane.
    fn request(&mut self, now: Time, index: usize, lane: u32, count: u32) -> u32 {
        let asked = &mut self.lanes[lane as usize].asked;
        let before = *asked;
        *asked += u64::from(count);
        let upto = self.change(index, |b| b.request(lane, count, before));
        let l = &mut self.lanes[lane as usize];
        if let Some(pace) = &mut l.pace {
            pace.on_request(now, self.base + index as u32, upto, l.asked);
        }
        upto
    }

    /// `count` symbols of a lane are no longer in flight.
    #[inline]
    fn credit(&mut self, lane: u32, count: u32) {
        self.lanes[lane as usize].outstanding -= count;
        self.refresh_credits(lane);
    }

    /// The window of a lane, or the number of its symbols in flight, has changed.
    #[inline]
    fn refresh_credits(&mut self, lane: u32) {
        let l = &mut self.lanes[lane as usize];
        let credits = l.room();
        self.credits = self.credits - l.credits + credits;
        l.credits = credits;
    }

    /// A symbol arrived: takes it in, then adjusts the window.
    fn on_symbol(&mut self, now: Time, arrival: &Arrival<Header>, symbol: &Symbol, payload: &[u8]) {
        self.take_in(now, arrival, symbol, payload);
        let lane = u32::from(arrival.from);
        if self.session.is_none() || self.lanes[lane as usize].window.is_fixed() {
            return;
        }
        self.refresh_credits(lane);
        if self.least_window > 0 {
            self.make_room(lane);
        }
        let l = &self.lanes[lane as usize];
        let idle = l.credits > 0 && self.pulls_wanted() == 0;
        // Other senders may have been chosen instead.
        if idle || l.is_held_back() || self.lanes.len() > 1 && l.credits > l.window.symbols() / 2 {
            self.lanes[lane as usize].window.on_limited();
        }
    }

    fn take_in(&mut self, now: Time, arrival: &Arrival<Header>, symbol: &Symbol, payload: &[u8]) {
        let (lane, trimmed) = (u32::from(arrival.from), arrival.trimmed);
        let session = match self.session {
            Some(session) => session,
            None => match self.establish(now, &symbol.options) {
                Some(session) if self.decodes_symbols_of(session) => session,
                Some(_) => return self.fail(FailureReason::SymbolSize),
                None => return,
            },
        };
        if symbol.syn && !session.is_of(&symbol.options) {
            return;
        }
        let lanes = session.lanes;
        let k = session.layout.source_symbols(symbol.block);
        let Some(place) = place(symbol, k, lane, lanes) else { return };
        if !trimmed && self.carries_bytes && !self.decoder_takes(session, symbol, place, lane, payload) {
            return;
        }
        if trimmed {
            self.stats.trimmed_received += 1;
        } else {
            self.stats.data_received += 1;
        }
        self.stats.marked_received += u64::from(arrival.ce);
        // A probe that repeats a symbol shows that the sender is alive, and nothing about those that are awaited from it: it must not postpone
        // the repetition of a pull for ever.
        let is_fixed = self.lanes[lane as usize].window.is_fixed();
        let is_repeated = symbol.syn && !is_fixed && self.has_arrived(symbol.block, place);
        let (l, is_one_of_several) = (&mut self.lanes[lane as usize], self.least_window > 0);
        l.silent_since = now;
        if !is_one_of_several && !is_repeated {
            l.last_arrival = now;
        }
        // In a group symbols wait for others, which is no round trip.
        let least = l.window.round_trip().filter(|_| is_one_of_several);
        let most = least.map_or(self.config.pull_timeout * MOST_MINIMA, |least| least * ROUND_TRIP_WITHIN);
        l.timer.on_symbol(now, symbol.block, symbol.esi / lanes, most);
        let coming = l.in_flight();
        if let Some(pace) = &mut l.pace {
            pace.on_symbol(now, symbol.block, symbol.index);
        }
        let seen = match (trimmed, arrival.ce) {
            (true, _) => Seen::Trimmed,
            (false, true) => Seen::Marked,
            (false, false) => Seen::Whole,
        };
        // In a group, what others ask for says nothing about what this receiver may ask for.
        let is_of_others = is_one_of_several && symbol.block < self.base || self.turns.is_of_others(symbol.block);
        if !is_of_others {
            l.window.on_symbol(now, symbol.block, symbol.index, seen, coming);
        }
        // A header shows that the sender is alive, but that must not raise the rate of pulls on a path that trims all symbols.
        l.timeouts = if trimmed { l.timeouts.min(LEFT_OUT_AFTER) } else { 0 };
        if self.completed || symbol.block < self.base || self.turns.is_past(symbol.block) {
            self.stats.overhead_symbols += u64::from(!trimmed);
            if self.completed {
                self.lanes[lane as usize].word_due = Some(Word::Done);
            }
            if let Some(at) = &mut self.closed_at {
                *at = (*at).max(now + self.config.linger);
            }
            return self.answer_probe(lane, symbol.syn);
        }
        let index = (symbol.block - self.base) as usize;
        if symbol.block >= session.layout.blocks {
            return;
        }
        if !self.has_room(index) {
            self.passed = self.passed.max(symbol.block);
            return self.answer_probe(lane, false);
        }
        // A symbol of a block not begun here: another receiver of the group is ahead.
        while index >= self.blocks.len() {
            self.open_block(session);
        }
        if self.blocks[index].is_complete() {
            self.stats.overhead_symbols += u64::from(!trimmed);
            return self.answer_probe(lane, false);
        }
        if !self.blocks[index].note(place) {
            return self.answer_probe(lane, false);
        }
        // What others of a group wait for does not show that nothing was lost.
        self.lanes[lane as usize].last_arrival = now;
        self.account(index, lane, symbol.index, trimmed);
        if !self.blocks[index].takes(lane) {
            self.stats.overhead_symbols += u64::from(!trimmed);
            return;
        }
        let overhead = self.config.overhead;
        if trimmed {
            self.change(index, |b| b.lossy(overhead));
            return;
        }
        if place != symbol.esi && !self.blocks[index].note_repair(symbol.esi) {
            // Another sender drew the same repair symbol.
            self.stats.overhead_symbols += 1;
            return;
        }
        self.change(index, |b| b.receive(symbol.esi));
        self.find_gaps(index, lane, symbol.index, lanes);
        self.try_complete(now, index, session);
    }

    /// Whether a symbol has arrived before, or its block is complete.
    fn has_arrived(&self, block: u32, place: u32) -> bool {
        let Some(index) = block.checked_sub(self.base) else { return true };
        self.blocks.get(index as usize).is_some_and(|block| block.is_complete() || block.has_seen(place))
    }

    /// Whether symbols of the `index`-th block can be kept: it is in progress, or may be begun.
    fn has_room(&self, index: usize) -> bool {
        index < self.blocks.len() || index <= LIVE_BLOCKS && !self.is_full()
    }

    /// Whether the application has to take blocks before others are begun.
    fn is_full(&self) -> bool {
        self.untaken.as_ref().is_some_and(|untaken| untaken.blocks.len() >= untaken.limit)
    }

    fn decodes_symbols_of(&self, session: Session) -> bool {
        let expected = self.decoder.as_ref().and_then(|decoder| decoder.symbol_bytes());
        expected.is_none_or(|bytes| bytes as u64 == session.symbol_bytes)
    }

    fn fail(&mut self, reason: FailureReason) {
        self.failed = true;
        self.events.push_back(Event::Failed(reason));
    }

    /// Gives a symbol to the decoder, if it is useful. False if it cannot be what its header says: it is then ignored.
    fn decoder_takes(&mut self, session: Session, symbol: &Symbol, place: u32, lane: u32, payload: &[u8]) -> bool {
        let Some(index) = symbol.block.checked_sub(self.base).map(|index| index as usize) else { return true };
        if self.turns.is_past(symbol.block) {
            return true;
        }
        let wanted = self.blocks.get(index).is_none_or(|b| b.takes(lane) && b.wants(place, symbol.esi));
        if self.completed || !wanted || !self.has_room(index) || symbol.block >= session.layout.blocks {
            return true;
        }
        let size = session.symbol_bytes as usize;
        let last = session.layout.is_last(symbol.block, symbol.esi);
        let least =
            if last { session.layout.last_symbol_bytes(session.object_bytes, size as u64) as usize } else { size };
        let k = session.layout.source_symbols(symbol.block);
        let Some(decoder) = self.decoder.as_mut().filter(|_| [least, size].contains(&payload.len())) else {
            return false;
        };
        if payload.len() == size {
            return decoder.symbol(symbol.block, k, symbol.esi, payload);
        }
        let mut padded = payload.to_vec();
        padded.resize(size, 0);
        decoder.symbol(symbol.block, k, symbol.esi, &padded)
    }

    fn try_complete(&mut self, now: Time, index: usize, session: Session) {
        let block = &self.blocks[index];
        if block.is_pending() {
            return;
        }
        if !block.has_all_source() {
            if !block.can_try() {
                return;
            }
            let number = self.base + index as u32;
            let block = Collected { block: number, source_symbols: block.source_symbols(), received: block.received() };
            let decoder = self.decoder.as_mut();
            match decoder.map_or(Decode::Decoded { at: now }, |decoder| decoder.try_decode(now, block)) {
                Decode::Decoded { at } => self.available = self.available.max(at),
                Decode::NeedsMore => return self.change(index, Block::failed),
                Decode::Pending => {
                    self.change(index, Block::decode_later);
                    // Whether more symbols are needed is unknown: what is still in flight is not waited for.
                    return self.free_window(index, session);
                }
            }
            self.stats.decoded_blocks += 1;
        }
        self.complete(now, index, session);
    }

    fn free_window(&mut self, index: usize, session: Session) {
        for lane in 0..session.lanes {
            let coming = self.change(index, |b| b.write_off(lane));
            self.credit(lane, coming);
        }
    }

    fn complete(&mut self, now: Time, index: usize, session: Session) {
        self.stats.overhead_symbols += u64::from(self.blocks[index].received() - self.blocks[index].source_symbols());
        // What is still in flight will find the block complete: the window is free for other blocks.
        self.free_window(index, session);
        self.change(index, Block::complete);
        if self.carries_bytes {
            let number = self.base + index as u32;
            self.events.push_back(Event::BlockReady(number));
            if let Some(untaken) = &mut self.untaken {
                untaken.blocks.insert(number);
            }
        }
        self.advance(now, session);
    }

    /// Releases blocks at the front that are complete and, where they may be fetched again, confirmed.
    fn advance(&mut self, now: Time, session: Session) {
        let checks = self.may_fetch_again();
        while self.blocks.front().is_some_and(|block| block.is_complete() && (block.is_confirmed() || !checks)) {
            self.spare.extend(self.blocks.pop_front());
            self.base += 1;
        }
        self.watch(now);
        if self.base == self.turns.end(session.layout.blocks) {
            if self.begin_second_turn(session) {
                return self.advance(now, session);
            }
            self.completed = true;
            self.lanes.iter_mut().for_each(|l| l.word_due = Some(Word::Done));
            let at = now.max(self.available);
            self.closed_at = Some(at + self.config.linger);
            self.events.push_back(Event::Completed { at });
        }
    }

    /// Checks the bookkeeping, and returns the symbols in flight plus the credits: the sum of the windows.
    #[cfg(test)]
    pub(super) fn check(&self) -> u32 {
        for (i, lane) in self.lanes.iter().enumerate() {
            let outstanding = self.blocks.iter().map(|b| b.lane(i as u32).outstanding).sum::<u32>();
            assert_eq!(lane.outstanding, outstanding, "lane {i}");
        }
        assert_eq!(self.credits, self.lanes.iter().map(|l| l.credits).sum::<u32>());
        for l in &self.lanes {
            assert_eq!(l.credits, l.room());
        }
        assert_eq!(self.need, self.blocks.iter().map(|b| u64::from(b.need())).sum::<u64>());
        assert!(self.blocks.len() + self.spare.len() <= LIVE_BLOCKS + 1);
        self.credits + self.lanes.iter().map(|l| l.outstanding).sum::<u32>()
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    /// For sessions whose symbols carry no bytes. A receiver with a decoder fails at the first whole symbol that arrives without
    /// its bytes; use [`handle_payload`](Receiver::handle_payload) there.
    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let whole = !arrival.trimmed && matches!(arrival.header, Header::Symbol(_));
        if whole && self.carries_bytes && !self.over() {
            return self.fail(FailureReason::SymbolSize);
        }
        self.handle_payload(now, arrival, &[]);
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(pace) = &mut self.pull_pace {
            pace.on_time(now);
        }
        if let Some(at) = self.closed_at {
            if now >= at {
                self.closed_at = None;
                self.events.push_back(Event::Closed);
            }
            return;
        }
        if self.give_up_at().is_some_and(|at| at <= now) {
            return self.fail(FailureReason::TimedOut);
        }
        if !self.over() {
            self.pass_on_what_is_withheld(now);
        }
        for lane in 0..self.lanes.len() {
            if !self.over() && self.timeout_of(&self.lanes[lane]).is_some_and(|at| at <= now) {
                self.on_timeout(now, lane);
            }
        }
        self.take_over(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        self.next_at_once().or_else(|| self.next_paced(now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.over() {
            return self.closed_at;
        }
        self.lanes
            .iter()
            .filter_map(|l| self.timeout_of(l))
            .chain(self.give_up_at())
            .chain(self.withheld_at())
            .chain(self.pull_pace.as_ref().and_then(|pace| pace.due()))
            .chain(self.next_take_over())
            .min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn pending_pulls(&self) -> u32 {
        if self.pull_pace.is_some() { 0 } else { self.pulls_wanted() }
    }

    /// With several senders, each tags packets by its own share of the bytes, which is less: to switches those packets are more
    /// urgent than their pulls are here.
    fn pull_priority(&self) -> u8 {
        let Some(session) = self.session else { return 0 };
        let received = self.stats.data_received.saturating_mul(session.symbol_bytes);
        let config = &self.config;
        Demotion::new(&config.priority_thresholds, config.priority_by, session.object_bytes).priority(received)
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        self.next_pull(now)
    }

    fn stats(&self) -> Stats {
        let mut stats = self.stats;
        if let Some(session) = self.session {
            let mut symbols = self.turns.symbols_before(&session.layout, self.base);
            if session.layout.endless() {
                // There is no end to wait for: symbols of blocks in progress count.
                symbols += self.blocks.iter().map(|b| u64::from(b.received().min(b.source_symbols()))).sum::<u64>();
            }
            let bytes = symbols.saturating_mul(session.symbol_bytes);
            stats.bytes_delivered = bytes.min(session.object_bytes);
        }
        stats
    }

    fn waiting_for(&self) -> String {
        let Some(session) = self.session else { return "waits for the first symbol".to_owned() };
        let outstanding: u32 = self.lanes.iter().map(|l| l.outstanding).sum();
        format!(
            "waits for block {} of {}: {} symbols missing, {outstanding} asked for, {} timeouts",
            self.base,
            session.layout.blocks,
            self.blocks.front().map_or(0, Block::missing),
            self.stats.timeouts,
        )
    }
}

/// The blocks whose first symbols a sender pushes unasked: calls `push(block, count)`, in order, for source symbols only.
pub(super) fn initial_window(layout: &Layout, lane: u32, lanes: u32, window: u32, mut push: impl FnMut(u32, u32)) {
    let mut left = window;
    for block in 0..layout.blocks.min(LIVE_BLOCKS as u32) {
        if left == 0 {
            return;
        }
        let count = lane_source(layout.source_symbols(block), lane, lanes).min(left);
        if count > 0 {
            push(block, count);
            left -= count;
        }
    }
}

/// Timeouts double up to this many times the first.
const LONGEST_TIMEOUT: u64 = 64;

/// Time between two probes of a silent peer, after `tries` of them.
pub(super) fn back_off(timeout: Duration, tries: u32) -> Duration {
    crate::back_off(timeout, timeout * LONGEST_TIMEOUT, tries)
}
