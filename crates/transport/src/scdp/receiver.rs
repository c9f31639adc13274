//! The receiving end (SCDP Algorithm 2, with pipelined blocks and several senders).

use super::block::{Block, BlockDecoder};
use super::config::ScdpConfig;
use super::header::{Header, Options, Pull, Symbol};
use super::layout::{Layout, lane_source};
use crate::{Arrival, Duration, Endpoint, Event, FailureReason, Peer, Stats, Time, Transmit};
use std::collections::VecDeque;

/// Blocks under way at once; more are not begun, so that neither end needs more memory.
pub(super) const LIVE_BLOCKS: usize = 64;
/// Repair symbols per block that are believed: an ESI from outside must not make the receiver allocate.
const REPAIR_LIMIT: u32 = 1 << 16;
/// Timeouts in a row after which a sender of several is left out.
const LEFT_OUT_AFTER: u32 = 3;

/// One sender, as the receiver sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Pulls that may be sent: the window less what is on its way.
    credits: u32,
    outstanding: u32,
    last_heard: Time,
    /// Timeouts in a row.
    timeouts: u32,
    /// A pull was repeated and not yet answered.
    retried: bool,
    retry_due: bool,
    done_due: bool,
}

/// What is known once the first symbol has arrived.
#[derive(Clone, Copy, Debug)]
struct Session {
    layout: Layout,
    lanes: u32,
}

/// The receiving end of a session.
#[derive(Debug)]
pub struct Receiver {
    session: Option<Session>,
    /// The first block that is not complete.
    base: u32,
    blocks: VecDeque<Block>,
    spare: Vec<Block>,
    lanes: Vec<Lane>,
    /// Symbols that the blocks under way need and that are not on their way.
    need: u64,
    /// Source symbols of the blocks not begun.
    future: u64,
    /// Credits of all lanes in use.
    credits: u32,
    next_lane: u32,
    /// When the decoder has done what it has.
    decoder_free: Time,
    completed: bool,
    closed_at: Option<Time>,
    events: VecDeque<Event>,
    stats: Stats,
    seed: u64,
    decoder: Option<Box<dyn BlockDecoder>>,
    config: Box<ScdpConfig>,
}

impl Receiver {
    /// Waits for a session of up to `senders` senders. `config` must be valid. `seed` decides which decodings fail.
    pub fn new(config: &ScdpConfig, senders: u16, seed: u64) -> Self {
        Self {
            session: None,
            base: 0,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            lanes: vec![Lane::default(); usize::from(senders.max(1))],
            need: 0,
            future: 0,
            credits: 0,
            next_lane: 0,
            decoder_free: Time::ZERO,
            completed: false,
            closed_at: None,
            events: VecDeque::new(),
            stats: Stats::default(),
            seed,
            decoder: None,
            config: Box::new(config.clone()),
        }
    }

    /// The same, with a decoder that knows the symbols' bytes.
    #[must_use]
    pub fn with_decoder(mut self, decoder: Box<dyn BlockDecoder>) -> Self {
        self.decoder = Some(decoder);
        self
    }

    /// The first symbol of a session tells what it is (Algorithm 2, lines 5-10). Its initial window is on its way.
    fn establish(&mut self, now: Time, options: &Options) -> Option<Session> {
        let layout = Layout::from_options(options)?;
        let session = Session { layout, lanes: u32::from(options.lanes) };
        if session.lanes as usize != self.lanes.len() {
            return None;
        }
        self.session = Some(session);
        self.future = layout.symbols;
        for lane in 0..session.lanes {
            let mut pushed = 0;
            initial_window(&layout, lane, session.lanes, u32::from(options.window), |block, count| {
                while self.base as usize + self.blocks.len() <= block as usize {
                    self.open_block(session);
                }
                self.change(block as usize, |b| b.request(lane, count));
                pushed += count;
            });
            let window = u32::from(options.window);
            self.lanes[lane as usize] =
                Lane { credits: window - pushed, outstanding: pushed, last_heard: now, ..Lane::default() };
            self.credits += window - pushed;
        }
        self.events.push_back(Event::Connected);
        Some(session)
    }

    fn open_block(&mut self, session: Session) {
        let k = session.layout.source_symbols(self.base + self.blocks.len() as u32);
        let mut block = self.spare.pop().unwrap_or_default();
        block.renew(k, session.lanes);
        self.need += u64::from(block.need());
        if !session.layout.endless() {
            self.future -= u64::from(k);
        }
        self.blocks.push_back(block);
    }

    /// Changes a block and keeps the sum of needs.
    #[inline]
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Block) -> R) -> R {
        let block = &mut self.blocks[index];
        let before = block.need();
        let result = change(block);
        self.need = self.need + u64::from(block.need()) - u64::from(before);
        result
    }

    /// `count` symbols of a lane are no longer on their way.
    #[inline]
    fn credit(&mut self, lane: u32, count: u32) {
        let l = &mut self.lanes[lane as usize];
        l.outstanding -= count;
        l.credits += count;
        self.credits += count;
    }

    fn on_symbol(&mut self, now: Time, lane: u32, symbol: &Symbol, trimmed: bool) {
        let session = match self.session {
            Some(session) => session,
            None => match self.establish(now, &symbol.options) {
                Some(session) => session,
                None => return,
            },
        };
        let lanes = session.lanes;
        let k = session.layout.source_symbols(symbol.block);
        if lane >= lanes || symbol.esi % lanes != lane || symbol.esi >= k + REPAIR_LIMIT {
            return;
        }
        if trimmed {
            self.stats.trimmed_received += 1;
        } else {
            self.stats.data_received += 1;
        }
        let l = &mut self.lanes[lane as usize];
        (l.last_heard, l.timeouts) = (now, 0);
        if self.completed || symbol.block < self.base {
            self.stats.overhead_symbols += u64::from(!trimmed);
            self.lanes[lane as usize].done_due |= self.completed;
            return;
        }
        let index = (symbol.block - self.base) as usize;
        if symbol.block >= session.layout.blocks || index > LIVE_BLOCKS {
            return;
        }
        // A symbol of a block not begun here: another receiver of the group is ahead.
        while index >= self.blocks.len() {
            self.open_block(session);
        }
        if self.blocks[index].is_complete() {
            self.stats.overhead_symbols += u64::from(!trimmed);
            return;
        }
        if !self.blocks[index].note(symbol.esi) {
            return;
        }
        self.account(index, lane, symbol.esi / lanes);
        let overhead = self.config.overhead;
        self.change(index, |b| if trimmed { b.lossy(overhead) } else { b.receive(symbol.esi) });
        if trimmed {
            return;
        }
        if session.layout.endless() {
            self.stats.bytes_delivered += self.config.symbol_bytes();
        }
        self.find_gaps(index, lane, symbol.esi / lanes, lanes);
        self.try_complete(now, index, session);
    }

    /// Something has arrived of the window, or it answers a repeated pull.
    #[inline]
    fn account(&mut self, index: usize, lane: u32, j: u32) {
        let (was_coming, unasked) = self.change(index, |b| {
            let unasked = b.extend(lane, j);
            (!unasked && b.arrived(lane), unasked)
        });
        if was_coming {
            self.credit(lane, 1);
        }
        if unasked && self.lanes[lane as usize].retried {
            // The sender had emitted all that was asked for: what has not arrived until now is lost.
            self.lanes[lane as usize].retried = false;
            self.write_off(index, lane);
        }
    }

    fn write_off(&mut self, index: usize, lane: u32) {
        let overhead = self.config.overhead;
        let lost = self.change(index, |b| {
            let lost = b.write_off(lane);
            if lost > 0 {
                b.lossy(overhead);
            }
            lost
        });
        self.credit(lane, lost);
    }

    /// The `j`-th symbol of a lane has arrived whole in this block: what should have come long before is lost.
    #[inline]
    fn find_gaps(&mut self, index: usize, lane: u32, j: u32, lanes: u32) {
        let tolerance = self.config.reorder_tolerance;
        if tolerance == 0 {
            return;
        }
        self.sweep(index, lane, j.saturating_sub(tolerance));
        if index == 0 || j >= lane_source(self.blocks[index].source_symbols(), lane, lanes) {
            return;
        }
        // Source symbols of earlier blocks were emitted before those of this one.
        let mut ahead = j;
        for earlier in (0..index).rev() {
            let source = lane_source(self.blocks[earlier].source_symbols(), lane, lanes);
            ahead += source;
            if !self.blocks[earlier].is_complete() && self.blocks[earlier].lane(lane).outstanding > 0 {
                self.sweep(earlier, lane, ahead.saturating_sub(tolerance).min(source));
            }
        }
    }

    #[inline]
    fn sweep(&mut self, index: usize, lane: u32, until: u32) {
        if until == 0 {
            return;
        }
        let overhead = self.config.overhead;
        let lost = self.change(index, |b| {
            let lost = b.sweep(lane, until);
            if lost > 0 {
                b.lossy(overhead);
            }
            lost
        });
        self.credit(lane, lost);
    }

    fn try_complete(&mut self, now: Time, index: usize, session: Session) {
        let block = &self.blocks[index];
        if !block.has_all_source() {
            if !block.can_try() {
                return;
            }
            let (number, k) = (self.base + index as u32, block.source_symbols());
            if !self.decodes(number, k, block.received()) {
                self.change(index, Block::failed);
                return;
            }
            self.stats.decoded_blocks += 1;
            self.decoder_free = self.decoder_free.max(now) + self.config.decode_latency(k);
        }
        self.stats.overhead_symbols += u64::from(self.blocks[index].received() - self.blocks[index].source_symbols());
        // What is still on its way will find the block complete: the window is free for others.
        for lane in 0..session.lanes {
            let coming = self.change(index, |b| b.write_off(lane));
            self.credit(lane, coming);
        }
        self.change(index, Block::complete);
        while self.blocks.front().is_some_and(Block::is_complete) {
            self.spare.extend(self.blocks.pop_front());
            self.base += 1;
        }
        if self.base == session.layout.blocks {
            self.completed = true;
            self.lanes.iter_mut().for_each(|l| l.done_due = true);
            self.closed_at = Some(now + self.config.linger);
            self.events.push_back(Event::Completed { at: now.max(self.decoder_free) });
        }
    }

    /// Whether a block can be decoded with what there is: a pure function of the seed, without a decoder.
    fn decodes(&mut self, block: u32, k: u32, received: u32) -> bool {
        if let Some(decoder) = &mut self.decoder {
            return decoder.try_decode(block);
        }
        let draw = mix(self.seed ^ mix(u64::from(block) << 32 | u64::from(received)));
        (draw >> 11) as f64 / (1u64 << 53) as f64 >= self.config.failure_probability(received - k)
    }

    /// The pull with which a symbol of a block is asked of a lane.
    fn pull(&self, lane: u32, pull: Pull) -> Transmit<Header> {
        let size = self.config.header.0 as u32;
        Transmit {
            header: Header::Pull(pull),
            to: lane as Peer,
            size,
            trimmed_size: size,
            priority: 0,
            control: true,
            ect: false,
        }
    }

    fn all_missing(&self) -> u64 {
        self.future + self.blocks.iter().map(|b| u64::from(b.missing())).sum::<u64>()
    }

    fn timeout_of(&self, lane: &Lane) -> Option<Time> {
        let waits = lane.outstanding > 0 && !lane.retry_due;
        waits.then(|| lane.last_heard + self.config.pull_timeout * (1 << lane.timeouts.min(6)))
    }

    fn on_timeout(&mut self, now: Time, lane: usize) {
        self.stats.timeouts += 1;
        let in_touch = |(i, l): (usize, &Lane)| i != lane && l.timeouts <= LEFT_OUT_AFTER;
        let others = self.lanes.iter().enumerate().any(in_touch);
        let l = &mut self.lanes[lane];
        l.timeouts += 1;
        (l.last_heard, l.retried, l.retry_due) = (now, true, true);
        if others && l.timeouts > LEFT_OUT_AFTER {
            // The others do its share. If it speaks again, it has its window back.
            for index in 0..self.blocks.len() {
                self.write_off(index, lane as u32);
            }
            self.lanes[lane].retry_due = false;
        } else if self.lanes[lane].timeouts > self.config.retries {
            self.events.push_back(Event::Failed(FailureReason::TimedOut));
            self.lanes.iter_mut().for_each(|l| (l.outstanding, l.retry_due) = (0, false));
        }
    }

    /// Whether pulls may go to a lane.
    fn in_use(&self, lane: &Lane) -> bool {
        lane.credits > 0 && (self.lanes.len() == 1 || lane.timeouts <= LEFT_OUT_AFTER)
    }

    /// Whether the next block may be begun.
    fn may_open(&self) -> bool {
        self.future > 0 && self.blocks.len() < LIVE_BLOCKS
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if let Header::Symbol(symbol) = &arrival.header
            && usize::from(arrival.from) < self.lanes.len()
        {
            self.on_symbol(now, u32::from(arrival.from), symbol, arrival.trimmed);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(at) = self.closed_at {
            if now >= at {
                self.closed_at = None;
                self.events.push_back(Event::Closed);
            }
            return;
        }
        for lane in 0..self.lanes.len() {
            if !self.completed && self.timeout_of(&self.lanes[lane]).is_some_and(|at| at <= now) {
                self.on_timeout(now, lane);
            }
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        for lane in 0..self.lanes.len() {
            let l = &mut self.lanes[lane];
            if std::mem::take(&mut l.done_due) {
                let pull = Pull { block: self.base, upto: 0, base: self.base, fin: true, retry: false, done: true };
                return Some(self.pull(lane as u32, pull));
            }
            if l.retry_due {
                l.retry_due = false;
                let waits = |b: &Block| b.lane(lane as u32).outstanding > 0;
                if let Some(index) = self.blocks.iter().position(waits) {
                    let upto = self.blocks[index].lane(lane as u32).requested;
                    let block = self.base + index as u32;
                    let pull = Pull { block, upto, base: self.base, fin: false, retry: true, done: false };
                    return Some(self.pull(lane as u32, pull));
                }
            }
        }
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.completed {
            return self.closed_at;
        }
        self.lanes.iter().filter_map(|l| self.timeout_of(l)).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn pending_pulls(&self) -> u32 {
        if self.credits == 0 || self.completed {
            return 0;
        }
        let future = if self.may_open() { self.future } else { 0 };
        let wanted = self.need.saturating_add(future).min(u64::from(u32::MAX)) as u32;
        if self.lanes.len() == 1 {
            return self.credits.min(wanted);
        }
        self.lanes.iter().filter(|l| self.in_use(l)).map(|l| l.credits).sum::<u32>().min(wanted)
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        let session = self.session?;
        if self.completed {
            return None;
        }
        // Senders take turns, so that each contributes as much as it can (§IV-E).
        let lanes = session.lanes;
        let lane = (0..lanes).map(|i| (self.next_lane + i) % lanes).find(|&l| self.in_use(&self.lanes[l as usize]))?;
        let index = match self.blocks.iter().position(|b| b.need() > 0) {
            Some(index) => index,
            None if self.may_open() => {
                self.open_block(session);
                self.blocks.len() - 1
            }
            None => return None,
        };
        self.next_lane = lane + 1;
        // Algorithm 2, line 29: the last symbol is asked for with *fin*.
        let fin = self.future == 0 && self.blocks[index].missing() == 1 && self.all_missing() == 1;
        let upto = self.change(index, |b| b.request(lane, 1));
        let l = &mut self.lanes[lane as usize];
        if l.outstanding == 0 {
            l.last_heard = now;
        }
        l.outstanding += 1;
        l.credits -= 1;
        self.credits -= 1;
        let block = self.base + index as u32;
        Some(self.pull(lane, Pull { block, upto, base: self.base, fin, retry: false, done: false }))
    }

    fn stats(&self) -> Stats {
        let mut stats = self.stats;
        if let Some(session) = self.session
            && !session.layout.endless()
        {
            let complete = (0..self.base).map(|b| u64::from(session.layout.source_symbols(b))).sum::<u64>();
            stats.bytes_delivered = complete * self.config.symbol_bytes();
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

/// The blocks whose first symbols a sender pushes unasked: calls `push(block, count)`. Source symbols only, in order.
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

/// SplitMix64's finaliser.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Time between two probes of a silent peer, after `tries` of them.
pub(super) fn back_off(timeout: Duration, tries: u32) -> Duration {
    timeout * (1 << tries.min(6))
}
