//! The sending end (SCDP Algorithm 1, with pipelined blocks and several receivers).

use super::config::{MAX_BLOCK_SYMBOLS, Repair, ScdpConfig, WindowControl};
use super::header::{Header, Mode, Options, Pull, Symbol};
use super::layout::{Layout, esi_limit, lane_source, repair_start};
use super::receiver::{LIVE_BLOCKS, back_off, initial_window};
use crate::demotion::Demotion;
use crate::units::earliest;
use crate::{Arrival, Endpoint, Event, FailureReason, GROUP, Peer, Stats, Time, Transmit};
use apart::Apart;
use demand::Surplus;
use gap::PullGap;
use std::collections::VecDeque;
use std::sync::Arc;
pub use watch::Excuse;
use watch::Watch;

mod apart;
mod demand;
mod gap;
mod late;
mod watch;

/// Repair symbols of a small block that not all receivers have asked for: as many as may be lost in a row in front of a full link.
const REPAIRS_FOR_ANY: u32 = 100;

/// One receiver, as the sender sees it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what it is, and what it is due, are independent of each other")]
struct Member {
    /// It has all blocks before this one.
    base: u32,
    /// Symbols it has asked for in all, for each block in progress, from its own base on.
    upto: VecDeque<u32>,
    last_pull: Time,
    /// A pull may have to wait for its turn in the host's pull queue.
    gap: PullGap,
    /// What it asks for beyond what its blocks need.
    surplus: Surplus,
    /// When its last pull arrived, or it was last due to be probed.
    silent_since: Time,
    /// Probes since its last pull.
    tries: u32,
    /// It has the whole object, or has left the group: it no longer counts.
    done: bool,
    /// It has left the group: for a session of its own, or because it was silent for too long.
    left: bool,
    /// The others go on without it until it comes.
    absent: bool,
    /// It came late, and was asked to take the blocks from this one on first.
    joins_at: Option<u32>,
    probe_due: bool,
}

impl Member {
    /// Whether the others wait for it.
    #[inline]
    fn counts(&self) -> bool {
        !self.done && !self.absent
    }

    /// Symbols that it has asked for in a block.
    #[inline]
    fn asked(&self, block: u32) -> u32 {
        block.checked_sub(self.base).and_then(|index| self.upto.get(index as usize)).copied().unwrap_or(0)
    }

    /// It asks for `upto` symbols of a block in all, if that is more than before.
    #[inline]
    fn ask(&mut self, block: u32, upto: u32) {
        let Some(index) = block.checked_sub(self.base) else { return };
        let index = index as usize;
        if index >= self.upto.len() {
            self.upto.resize(index + 1, 0);
        }
        self.upto[index] = self.upto[index].max(upto);
    }

    /// It has all blocks before `base`. Returns whether that is news.
    fn has_before(&mut self, base: u32) -> bool {
        let new = base.saturating_sub(self.base);
        self.upto.drain(..(new as usize).min(self.upto.len()));
        self.base += new;
        if new > 0 {
            self.surplus = Surplus::default();
        }
        new > 0
    }

    fn finish(&mut self) {
        self.done = true;
        self.upto.clear();
    }
}

/// One symbol to send.
#[derive(Clone, Copy, Debug)]
struct Due {
    block: u32,
    index: u32,
    urgent: bool,
}

/// The sending end of a session.
#[derive(Debug)]
pub struct Sender {
    layout: Layout,
    options: Options,
    lane: u32,
    members: Vec<Member>,
    /// The first block that some receiver may still need.
    base: u32,
    /// The first block needed by the receivers that set the pace; blocks are begun up to [`LIVE_BLOCKS`] further. Ahead of
    /// `base` where a quorum has left other receivers behind.
    front: u32,
    /// Symbols emitted in each block from `base` on, including those in `due`: the only state kept for blocks that only
    /// stragglers still need.
    emitted: VecDeque<u32>,
    due: VecDeque<Due>,
    /// Symbols of the initial window still to push: urgent, with the flag *syn*.
    initial: u32,
    bytes_sent: u64,
    demotion: Demotion,
    not_done: u32,
    /// Receivers that have the whole object.
    completed: u32,
    /// When the next symbol can leave the host, if not at once.
    departure: Time,
    /// When a symbol for the whole group last left the host.
    sent_at: Time,
    /// When it was first asked for packets.
    started_at: Option<Time>,
    closed: bool,
    events: VecDeque<Event>,
    stats: Stats,
    /// The most symbols by which a pull may be ahead of what was emitted.
    gap_limit: u32,
    symbol_size: u32,
    /// Size of the packet with the object's last source symbol, which is sent without its padding (RFC 6330 §4.4.2).
    last_size: u32,
    header_size: u32,
    /// Symbols are ECN-capable.
    ect: bool,
    repair_seed: u64,
    /// A repair symbol leaves when one receiver has asked for it.
    repairs_for_any: bool,
    config: Arc<ScdpConfig>,
    /// For a one-to-many session that does not just wait for stragglers, or has lost one.
    apart: Option<Box<Apart>>,
}

impl Sender {
    /// Sends an object (`None`: without end) to one receiver. `config` must be valid.
    ///
    /// # Panics
    /// If the object exceeds [`ScdpConfig::max_object_bytes`].
    pub fn unicast(config: impl Into<Arc<ScdpConfig>>, object_bytes: Option<u64>) -> Self {
        let config = config.into();
        let window = config.initial_window;
        Self::new(config, object_bytes, Mode::Unicast, window, 1, 0, 1)
    }

    /// Sends an object to `receivers` receivers at once, peers 0, 1 ...; symbols go to [`GROUP`].
    ///
    /// # Panics
    /// If the object exceeds [`ScdpConfig::max_object_bytes`], or there is no receiver.
    pub fn one_to_many(config: impl Into<Arc<ScdpConfig>>, object_bytes: Option<u64>, receivers: u16) -> Self {
        assert!(receivers > 0, "a session has a receiver");
        let config = config.into();
        let window = config.initial_window;
        Self::new(config, object_bytes, Mode::OneToMany, window, receivers, 0, 1)
    }

    /// Sends the share of sender `index` of `senders` of an object that all of them have.
    ///
    /// # Panics
    /// If the object exceeds [`ScdpConfig::max_object_bytes`], or `index` is not below `senders`.
    pub fn many_to_one(
        config: impl Into<Arc<ScdpConfig>>,
        object_bytes: Option<u64>,
        index: u16,
        senders: u16,
    ) -> Self {
        assert!(index < senders, "sender {index} of {senders}");
        let config = config.into();
        let window = config.initial_window_many_to_one;
        Self::new(config, object_bytes, Mode::ManyToOne, window, 1, u32::from(index), senders)
    }

    /// The seed of this sender's repair symbols, where senders draw them independently.
    #[must_use]
    pub fn with_repair_seed(mut self, seed: u64) -> Self {
        self.repair_seed = seed;
        self
    }

    /// Source symbols wait until all receivers have asked for them. Repair symbols of a block leave when one of them asks, up to as many as the block has
    /// source symbols, and 100 of a smaller one. Receivers that lose different symbols ask at different times. If each had to wait until all others have
    /// the block and those before it, it would take the symbols that wait for lost ones, since it has asked for them before others that arrive. What
    /// a receiver has not asked for exceeds its window by no more than that.
    #[must_use]
    pub fn with_repairs_for_any(mut self) -> Self {
        self.repairs_for_any = true;
        self
    }

    fn new(
        config: Arc<ScdpConfig>,
        object_bytes: Option<u64>,
        mode: Mode,
        window: u32,
        receivers: u16,
        lane: u32,
        lanes: u16,
    ) -> Self {
        let symbol_bytes = config.symbol_bytes();
        let object_bytes = object_bytes.unwrap_or(u64::MAX);
        // An object of more blocks than can be numbered gets larger blocks.
        let fits = |k: u32| Layout::new(object_bytes, symbol_bytes, k).map(|layout| (layout, k));
        let (layout, block_symbols) = fits(config.block_symbols)
            .or_else(|| fits(MAX_BLOCK_SYMBOLS))
            .expect("the object has no more bytes than ScdpConfig::max_object_bytes");
        let options = Options {
            object_bytes,
            symbol_bytes: symbol_bytes as u16,
            block_symbols: block_symbols as u16,
            window: window as u16,
            lanes,
            mode,
        };
        let member = Member {
            base: 0,
            upto: VecDeque::new(),
            last_pull: Time::ZERO,
            gap: PullGap::default(),
            surplus: Surplus::default(),
            silent_since: Time::ZERO,
            tries: 0,
            done: false,
            left: false,
            absent: false,
            joins_at: None,
            probe_due: false,
        };
        let watch = Watch::new(&config, &options, usize::from(receivers));
        let mut sender = Self {
            layout,
            options,
            lane,
            members: vec![member; usize::from(receivers)],
            base: 0,
            front: 0,
            emitted: VecDeque::new(),
            due: VecDeque::new(),
            initial: 0,
            bytes_sent: 0,
            demotion: Demotion::new(&config.priority_thresholds, config.priority_by, object_bytes),
            not_done: u32::from(receivers),
            completed: 0,
            departure: Time::ZERO,
            sent_at: Time::ZERO,
            started_at: None,
            closed: false,
            events: VecDeque::new(),
            stats: Stats::default(),
            gap_limit: Self::gap_limit(&config, window),
            symbol_size: config.packet.0 as u32,
            last_size: (config.header.0 + layout.last_symbol_bytes(object_bytes, symbol_bytes)) as u32,
            header_size: config.header.0 as u32,
            ect: config.ecn && (mode != Mode::OneToMany || config.ecn_in_groups),
            repair_seed: 0,
            repairs_for_any: false,
            apart: watch
                .map(|watch| Box::new(Apart::new(Some(watch), config.straggler.quorum(usize::from(receivers))))),
            config,
        };
        initial_window(&layout, lane, u32::from(lanes), window, |block, count| {
            sender.reach(block);
            sender.members.iter_mut().for_each(|m| m.ask(block, count));
            sender.emit(block, count, false);
            sender.initial += count;
        });
        sender
    }

    /// How far a pull may be ahead of what was emitted. Where receivers find their own windows, one receiver of a group may be
    /// ahead of another by a window.
    fn gap_limit(config: &ScdpConfig, window: u32) -> u32 {
        let fixed = 4 * window.max(16);
        if config.window_control == WindowControl::Fixed { fixed } else { fixed.max(config.window_limit) }
    }

    /// The receiver that holds back the rest of the group, and when its last pull arrived. What to do about a straggler is the
    /// application's policy (§IV-D). `None` if no receiver is behind.
    pub fn straggler(&self) -> Option<(Peer, Time)> {
        let asked = |m: &Member| m.upto.iter().map(|&u| u64::from(u)).sum::<u64>();
        let waiting = self.members.iter().enumerate().filter(|(_, m)| m.counts());
        let (slowest, fastest) = (
            waiting.clone().min_by_key(|(_, m)| (m.base, asked(m)))?,
            waiting.max_by_key(|(_, m)| (m.base, asked(m)))?,
        );
        let behind = (slowest.1.base, asked(slowest.1)) < (fastest.1.base, asked(fastest.1));
        behind.then_some((slowest.0 as Peer, slowest.1.last_pull))
    }

    /// All blocks before this one are complete at every receiver that still needs something.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The session's options, as carried by symbols of the initial window.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether symbols that receivers have asked for wait to be sent.
    pub fn has_due(&self) -> bool {
        !self.due.is_empty() || self.apart.as_ref().is_some_and(|apart| apart.has_due())
    }

    /// Takes a receiver out of the group, whatever the policy is: it gets symbols of its own, at its own pace.
    /// [`Event::PeerDetached`] follows.
    pub fn detach_receiver(&mut self, receiver: Peer) {
        let event = Event::PeerDetached(receiver);
        if self.options.mode == Mode::OneToMany && self.demand(receiver).is_some() && !self.events.contains(&event) {
            self.apart.get_or_insert_with(|| Box::new(Apart::new(None, None)));
            self.events.push_back(event);
        }
    }

    /// A receiver has just joined, and may have missed the pushed symbols: it is sent a symbol again, without waiting for
    /// [`ScdpConfig::probe_timeout`].
    pub fn probe_receiver(&mut self, receiver: Peer) {
        if let Some(member) = self.members.get_mut(usize::from(receiver)).filter(|member| !member.done) {
            (member.probe_due, member.tries) = (true, 0);
        }
    }

    /// A receiver does not want the object, or cannot take it: it no longer counts, and the others continue. It is reported like a
    /// receiver that did not answer. No effect on a receiver that has the whole object, or left the group for a session of its own.
    pub fn drop_receiver(&mut self, now: Time, receiver: Peer) {
        let member = self.members.get(usize::from(receiver));
        if !self.closed && member.is_some_and(|member| !member.done) {
            self.lose(now, usize::from(receiver));
        }
    }

    /// Whether the group has advanced far enough for a block to be begun.
    fn may_begin(&self, block: u32) -> bool {
        block.saturating_sub(self.front) as usize <= LIVE_BLOCKS
    }

    /// Symbols emitted in a block that some receiver may still need.
    fn emitted(&self, block: u32) -> u32 {
        let index = block.checked_sub(self.base).map(|index| index as usize);
        index.and_then(|index| self.emitted.get(index)).copied().unwrap_or(0)
    }

    /// Makes room for a block.
    fn reach(&mut self, block: u32) {
        let wanted = (block - self.base) as usize + 1;
        if self.emitted.len() < wanted {
            self.emitted.resize(wanted, 0);
        }
    }

    /// Queues the next symbols of a block until `upto` have been emitted in all, as far as there are ESIs.
    fn emit(&mut self, block: u32, upto: u32, urgent: bool) {
        let lanes = u32::from(self.options.lanes);
        let limit = (esi_limit(self.layout.source_symbols(block), lanes) - self.lane).div_ceil(lanes);
        let upto = upto.min(limit);
        let emitted = &mut self.emitted[(block - self.base) as usize];
        while *emitted < upto {
            self.due.push_back(Due { block, index: *emitted, urgent });
            *emitted += 1;
        }
    }

    /// Emits the symbols of a block that every receiver that still needs it has asked for.
    #[inline]
    fn advance(&mut self, block: u32, urgent: bool) {
        let upto = match (self.members.as_slice(), self.quorum()) {
            ([only], _) => only.asked(block),
            (_, Some(quorum)) => self.asked_by(quorum, block),
            (members, None) => {
                let asked = members.iter().filter(|m| m.counts() && m.base <= block).map(|m| m.asked(block));
                let least = asked.clone().min().unwrap_or(0);
                let k = self.layout.source_symbols(block);
                if self.repairs_for_any && least >= k {
                    asked.max().unwrap_or(0).min(least + k.max(REPAIRS_FOR_ANY))
                } else {
                    least
                }
            }
        };
        self.emit(block, upto, urgent);
    }

    fn on_pull(&mut self, now: Time, from: Peer, pull: &Pull) {
        let Some(member) = self.members.get_mut(usize::from(from)) else { return };
        member.gap.on_pull(now, member.last_pull);
        (member.last_pull, member.silent_since, member.tries) = (now, now, 0);
        if member.done {
            return;
        }
        if pull.done {
            member.finish();
            self.not_done -= 1;
            self.completed += 1;
            self.events.push_back(Event::PeerCompleted(from));
            self.close_if_done();
            return self.release();
        }
        // Numbers from the network: nothing far ahead is believed.
        if pull.block >= self.layout.blocks || pull.base > pull.block {
            return;
        }
        if (member.absent || member.joins_at.is_some()) && self.is_late(now, from, pull) {
            return;
        }
        if pull.block < self.base {
            return;
        }
        if self.members.len() == 1 && self.members[0].has_before(pull.base) {
            // The other senders have advanced the receiver, perhaps by more blocks than are live at once.
            self.release();
        }
        if (pull.block - pull.base) as usize > LIVE_BLOCKS {
            return;
        }
        // Nor is a receiver that asks faster than anything can leave: no receiver has more than a window in flight.
        if self.due.len() > usize::from(u16::MAX) {
            return;
        }
        let emitted = self.emitted(pull.block);
        let (k, limit) = (self.layout.source_symbols(pull.block), self.surplus_limit(from, pull.block));
        let member = &mut self.members[usize::from(from)];
        let moved = member.has_before(pull.base);
        let upto = pull.upto.min(emitted.saturating_add(self.gap_limit));
        // What was sent because others have asked for it is not sent again.
        let free = k.max(member.asked(pull.block)).max(emitted);
        let allowed = member.surplus.allow(now, free, upto, limit);
        member.ask(pull.block, allowed);
        if !self.may_begin(pull.block) {
            // It has many blocks from an earlier session, and waits for group members that have fewer.
            if moved {
                self.release();
            }
            return self.send_keepalive(usize::from(from), pull);
        }
        self.reach(pull.block);
        if pull.retry && pull.upto <= emitted && pull.block >= self.members[usize::from(from)].base {
            // All of it was emitted, and yet the receiver waits: it was lost.
            // A replacement must not overtake symbols that may still be queued in the network: it is urgent only as the last one.
            let replaced = self.members[usize::from(from)].surplus.allow(now, emitted, emitted + 1, limit);
            self.emit(pull.block, replaced, pull.fin);
            return;
        }
        self.advance(pull.block, pull.fin);
        if moved {
            self.release();
        }
        self.send_keepalive(usize::from(from), pull);
    }

    /// A receiver of a group has waited for long, because the symbols it asks for wait for other receivers: it is sent a sign of
    /// life, lest it give up on the sender before the sender has given up the others.
    fn send_keepalive(&mut self, member: usize, pull: &Pull) {
        let held_back = self.due.is_empty() && (pull.block < self.base || self.emitted(pull.block) < pull.upto);
        if pull.retry && held_back && self.members.len() > 1 && self.config.give_up_after.is_some() {
            self.members[member].probe_due = true;
        }
    }

    /// Closes when each receiver has the whole object or is lost, and fails if all are lost.
    fn close_if_done(&mut self) {
        if self.not_done > 0 || self.closed {
            return;
        }
        self.due.clear();
        if self.apart.as_ref().is_none_or(|apart| !apart.is_busy()) {
            self.closed = true;
            let failed = Event::Failed(FailureReason::TimedOut);
            self.events.push_back(if self.completed > 0 { Event::Closed } else { failed });
        }
    }

    /// A receiver no longer answers: it no longer counts, and the others continue.
    fn lose(&mut self, now: Time, index: usize) {
        let member = &mut self.members[index];
        member.finish();
        (member.left, member.probe_due) = (true, false);
        self.not_done -= 1;
        if self.options.mode == Mode::OneToMany {
            self.drop_lost(index as Peer);
        }
        self.close_if_done();
        self.release();
        self.watch(now);
    }

    /// A receiver has completed blocks or the whole object: it no longer holds the others back. State of blocks that all
    /// receivers have is dropped.
    fn release(&mut self) {
        let needed = self.members.iter().filter(|m| m.counts()).map(|m| m.base).min().unwrap_or(self.base);
        self.emitted.drain(..((needed - self.base) as usize).min(self.emitted.len()));
        self.base = needed;
        let quorum = self.quorum();
        let front = if let Some(quorum) = quorum { self.complete_at(quorum) } else { self.base };
        self.front = self.front.max(front);
        if self.members.len() > 1 {
            // A quorum needs nothing before its front. Without one, all remaining receivers count. None asks for anything beyond `end`.
            let first = if quorum.is_some() { self.front } else { self.base };
            let here = self.members.iter().filter(|m| m.counts() && self.may_begin(m.base));
            let end = here.map(|m| m.base + m.upto.len() as u32).max().unwrap_or(first);
            for block in first..end.min(self.front.saturating_add(LIVE_BLOCKS as u32 + 1)) {
                self.reach(block);
                self.advance(block, false);
            }
        }
    }

    /// Priority of the next symbol: falls with the bytes sent (multi-level feedback queueing, §IV-C).
    fn priority(&self) -> u8 {
        self.demotion.priority(self.bytes_sent)
    }

    fn symbol(&mut self, due: Due, to: Peer, syn: bool) -> Transmit<Header> {
        let priority = if syn || due.urgent { 0 } else { self.priority() };
        let esi = self.esi(due);
        let size = if self.layout.is_last(due.block, esi) { self.last_size } else { self.symbol_size };
        self.bytes_sent += u64::from(size - self.header_size);
        self.stats.data_sent += 1;
        let symbol = Symbol { block: due.block, esi, index: due.index, options: self.options, syn };
        Transmit {
            header: Header::Symbol(symbol),
            to,
            size,
            trimmed_size: self.header_size,
            priority,
            control: false,
            ect: self.ect,
            pushed: syn,
            rank: 0,
            subflow: 0,
        }
    }

    fn esi(&self, due: Due) -> u32 {
        let (k, lanes) = (self.layout.source_symbols(due.block), u32::from(self.options.lanes));
        let place = due.index * lanes + self.lane;
        if place < k || self.config.repair == Repair::Partitioned {
            return place;
        }
        repair_start(k, self.repair_seed, due.block) + due.index - lane_source(k, self.lane, lanes)
    }

    /// The receiver that will be given up soon unless it answers. Symbols for the group do not make it answer if it is ahead of the
    /// group, and at a low rate they may leave no time for a probe in between.
    fn overdue(&self, now: Time) -> Option<usize> {
        let bound = self.config.give_up_after?;
        self.members.iter().position(|m| m.probe_due && !m.done && now > m.last_pull + bound / 4)
    }

    /// Sends a symbol to one receiver, so that it answers.
    fn probe(&mut self, now: Time, silent: usize) -> Transmit<Header> {
        let member = &mut self.members[silent];
        member.probe_due = false;
        // Only this receiver can answer: the other receivers' probes stay due when they were.
        member.silent_since = member.silent_since.max(now).max(self.departure);
        // A receiver that has all that the group has been sent gets the last symbol again.
        let last = self.base + self.emitted.len().saturating_sub(1) as u32;
        let wanted = member.base.max(self.base).min(last);
        let block = (self.base..=wanted).rev().find(|&block| self.emitted(block) > 0).unwrap_or(self.base);
        let emitted = self.emitted(block);
        let due = Due { block, index: emitted.saturating_sub(1), urgent: true };
        if emitted == 0 {
            self.reach(block);
            self.emitted[(block - self.base) as usize] = 1;
        }
        self.stats.retransmitted += 1;
        // It carries the options like the initial window, but does not belong to it.
        Transmit { pushed: false, ..self.symbol(due, silent as Peer, true) }
    }

    fn probe_at(&self, member: &Member) -> Option<Time> {
        if member.done || member.probe_due {
            return None;
        }
        let shortest = self.config.probe_timeout;
        let longest = back_off(shortest, u32::MAX);
        // A receiver that answers must be probed often enough not to be given up.
        let longest = self.config.give_up_after.map_or(longest, |bound| longest.min((bound / 4).max(shortest)));
        let timeout = shortest.max((member.gap.longest() * 2).min(longest));
        // No receiver can answer what has not left. A receiver ahead of the group need not answer what leaves.
        let is_ahead = self.emitted(member.base) == 0;
        let since = if is_ahead { member.silent_since } else { member.silent_since.max(self.sent_at) };
        Some(since + back_off(timeout, member.tries).min(longest))
    }

    /// When a receiver is given up that stays silent, or that asks for too much and completes nothing.
    fn give_up_at(&self, member: &Member) -> Option<Time> {
        let bound = self.config.give_up_after.filter(|_| !member.done)?;
        let since = member.surplus.exhausted_at().map_or(member.last_pull, |at| at.min(member.last_pull));
        Some(since + bound)
    }

    #[inline]
    fn timeout_of(&self, member: &Member) -> Option<Time> {
        earliest(self.probe_at(member), self.give_up_at(member))
    }

    /// Checks the bookkeeping.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.emitted.len() <= (self.front.saturating_sub(self.base)) as usize + LIVE_BLOCKS + 1);
        assert!(self.front <= self.base || self.quorum().is_some() || self.apart.is_some());
        for m in &self.members {
            assert!(m.upto.len() <= LIVE_BLOCKS + 1 && (!m.counts() || m.base >= self.base));
        }
        assert_eq!(self.not_done as usize, self.members.iter().filter(|m| !m.done).count());
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let Header::Pull(pull) = &arrival.header else { return };
        if self.apart.is_none() {
            return self.on_pull(now, arrival.from, pull);
        }
        self.note_pull(now);
        if !self.handle_apart(now, arrival) {
            self.on_pull(now, arrival.from, pull);
            self.note_receiver(now, arrival.from);
            self.watch(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.closed {
            return;
        }
        for member in 0..self.members.len() {
            let mut lost = self.give_up_at(&self.members[member]).is_some_and(|at| at <= now);
            if self.probe_at(&self.members[member]).is_some_and(|at| at <= now) {
                let m = &mut self.members[member];
                m.tries += 1;
                (m.silent_since, m.probe_due) = (now, true);
                self.stats.timeouts += 1;
                lost |= m.tries > self.config.retries;
            }
            if lost {
                self.lose(now, member);
            }
        }
        self.timeout_apart(now);
    }

    fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    fn uses_departure(&self) -> bool {
        true
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.closed {
            return None;
        }
        if self.started_at.is_none() {
            self.started_at = Some(now);
            self.members.iter_mut().for_each(|m| (m.last_pull, m.silent_since) = (now, now));
        }
        if let Some(silent) = self.overdue(now) {
            return Some(self.probe(now, silent));
        }
        if let Some(due) = self.due.pop_front() {
            let syn = self.initial > 0;
            self.initial -= u32::from(syn);
            let to = if self.options.mode == Mode::OneToMany { GROUP } else { 0 };
            self.sent_at = now.max(self.departure);
            return Some(self.symbol(due, to, syn));
        }
        if let Some(apart) = &mut self.apart
            && let Some(transmit) = apart.poll_transmit(now, self.departure, self.header_size)
        {
            return Some(transmit);
        }
        let silent = self.members.iter().position(|m| m.probe_due && !m.done)?;
        Some(self.probe(now, silent))
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.closed || self.started_at.is_none() {
            return None;
        }
        match self.members.as_slice() {
            [only] => self.timeout_of(only),
            members => {
                let apart = self.apart.as_ref().and_then(|apart| apart.poll_timeout());
                members.iter().filter_map(|m| self.timeout_of(m)).chain(apart).min()
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if self.apart.is_some() {
            self.consider();
        }
        let event = self.events.pop_front()?;
        if let Event::PeerDetached(peer) = event {
            self.detach(peer);
        }
        Some(event)
    }

    fn stats(&self) -> Stats {
        self.apart.as_ref().map_or(self.stats, |apart| apart.stats(self.stats))
    }

    fn waiting_for(&self) -> String {
        let emitted = self.emitted.front().copied().unwrap_or(0);
        format!(
            "waits for pulls of {} receivers: block {} of {}, {emitted} symbols of it sent, {} probes",
            self.not_done, self.base, self.layout.blocks, self.stats.timeouts,
        )
    }
}
