//! The sending end (SCDP Algorithm 1, with pipelined blocks and several receivers): routes pulls, timeouts and symbols between its parts.
//!
//! [`Members`] holds the receivers and what they ask for, [`Stream`] what has been emitted of it, [`Packets`] what symbols become, [`Watch`] who holds a
//! group back, and [`Apart`] the receivers that have left it.

use super::config::{MAX_BLOCK_SYMBOLS, ScdpConfig};
use super::header::{Header, Mode, Options, Pull};
use super::layout::{LIVE_BLOCKS, Layout};
use crate::outbox::Outbox;
use crate::{Arrival, Event, FailureReason, Peer, Stats, Time};
use apart::Apart;
use member::{LatePull, Member};
use members::Members;
use numbering::Numbering;
use packets::Packets;
use std::sync::Arc;
use stream::Stream;
use surplus::Limits;
pub use watch::Excuse;
use watch::{Finding, Watch};

mod apart;
mod application;
mod endpoint;
mod gap;
mod leaving;
mod member;
mod members;
mod numbering;
mod packets;
mod quorum;
mod silence;
mod stream;
mod surplus;
mod watch;

/// How far the session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It was not asked for packets yet.
    New,
    /// Since it was first asked for packets.
    Open(Time),
    Closed,
}

/// The sending end of a session.
#[derive(Debug)]
pub struct Sender {
    state: State,
    members: Members,
    limits: Limits,
    stream: Stream,
    packets: Packets,
    /// Where receivers may be stragglers.
    watch: Option<Box<Watch>>,
    /// Once a receiver has left the group.
    apart: Option<Box<Apart>>,
    /// When the next symbol can leave the host, if not at once.
    departure: Time,
    /// When a symbol for the whole group last left the host.
    sent_at: Time,
    events: Outbox<Event, 4>,
    stats: Stats,
    config: Arc<ScdpConfig>,
}

impl Sender {
    /// Sends an object (`None`: without end) to one receiver. `config` must be valid.
    ///
    /// # Panics
    /// If the object exceeds [`ScdpConfig::max_object_bytes`].
    pub fn unicast(config: impl Into<Arc<ScdpConfig>>, object_bytes: Option<u64>) -> Self {
        Self::new(config.into(), object_bytes, Mode::Unicast, 1, 0, 1)
    }

    /// Sends an object to `receivers` receivers at once, peers 0, 1 ...; symbols go to [`GROUP`](crate::GROUP).
    ///
    /// # Panics
    /// If the object exceeds [`ScdpConfig::max_object_bytes`], or there is no receiver.
    pub fn one_to_many(config: impl Into<Arc<ScdpConfig>>, object_bytes: Option<u64>, receivers: u16) -> Self {
        assert!(receivers > 0, "a session has a receiver");
        Self::new(config.into(), object_bytes, Mode::OneToMany, receivers, 0, 1)
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
        Self::new(config.into(), object_bytes, Mode::ManyToOne, 1, u32::from(index), senders)
    }

    fn new(
        config: Arc<ScdpConfig>,
        object_bytes: Option<u64>,
        mode: Mode,
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
        let window = if mode == Mode::ManyToOne { config.initial_window_many_to_one } else { config.initial_window };
        let options = Options {
            object_bytes,
            symbol_bytes: symbol_bytes as u16,
            block_symbols: block_symbols as u16,
            window: window as u16,
            lanes,
            mode,
        };
        let mut stream = Stream::from(0, Numbering::new(layout, lane, u32::from(lanes), config.repair));
        let mut member = Member::default();
        stream.push_initial(window, |block, count| member.ask(block, count));
        let count = usize::from(receivers);
        Self {
            state: State::New,
            members: Members::new(member, receivers, config.straggler.quorum(count)),
            limits: Limits::new(&config, window, count),
            stream,
            packets: Packets::new(&config, options, &layout),
            watch: Watch::new(&config, &options, count).map(Box::new),
            apart: None,
            departure: Time::ZERO,
            sent_at: Time::ZERO,
            events: Outbox::default(),
            stats: Stats::default(),
            config,
        }
    }

    /// Emits the symbols of a block that every receiver that still needs it has asked for.
    #[inline]
    fn advance(&mut self, block: u32, urgent: bool) {
        let upto = self.members.wanted(block, self.stream.source_symbols(block));
        self.stream.emit(block, upto, urgent);
    }

    fn on_pull(&mut self, now: Time, from: Peer, pull: &Pull) {
        let Some(member) = self.members.get_mut(from) else { return };
        member.silence.on_pull(now);
        if member.is_done() {
            return;
        }
        if pull.done {
            self.members.complete(from);
            self.events.push(Event::PeerCompleted(from));
            self.close_if_done();
            return self.release();
        }
        // Numbers from the network: nothing far ahead is believed.
        if pull.block >= self.stream.blocks() || pull.base > pull.block {
            return;
        }
        if member.is_late() && !self.takes_late(now, from, pull) {
            return;
        }
        if pull.block < self.stream.base() {
            return;
        }
        if self.members.is_single() && self.members.get_mut(0).is_some_and(|only| only.has_before(pull.base)) {
            // The other senders have advanced the receiver, perhaps by more blocks than are live at once.
            self.release();
        }
        if (pull.block - pull.base) as usize > LIVE_BLOCKS {
            return;
        }
        // Nor is a receiver that asks faster than anything can leave: no receiver has more than a window in flight.
        if self.stream.due() > usize::from(u16::MAX) {
            return;
        }
        let emitted = self.stream.emitted(pull.block);
        let k = self.stream.source_symbols(pull.block);
        let Some(member) = self.members.get_mut(from) else { return };
        let limit = self.limits.surplus(k, member.in_progress());
        let moved = member.has_before(pull.base);
        let upto = pull.upto.min(emitted.saturating_add(self.limits.ahead));
        // What was sent because others have asked for it is not sent again.
        member.request(now, pull.block, upto, k.max(emitted), limit);
        if !self.stream.may_begin(pull.block) {
            // It has many blocks from an earlier session, and waits for group members that have fewer.
            if moved {
                self.release();
            }
            return self.send_keepalive(from, pull);
        }
        if pull.retry && pull.upto <= emitted && pull.block >= member.base() {
            // All of it was emitted, and yet the receiver waits: it was lost.
            // A replacement must not overtake symbols that may still be queued in the network: it is urgent only as the last one.
            let replaced = member.replace(now, emitted, limit);
            return self.stream.emit(pull.block, replaced, pull.fin);
        }
        self.advance(pull.block, pull.fin);
        if moved {
            self.release();
        }
        self.send_keepalive(from, pull);
    }

    /// A pull of a receiver that others did not wait for, or that came late. Returns whether it is to be handled as any other.
    fn takes_late(&mut self, now: Time, from: Peer, pull: &Pull) -> bool {
        match self.members.on_late_pull(from, pull, &self.stream) {
            LatePull::Ignored => return false,
            LatePull::Together => {}
            // The others may have left meanwhile.
            LatePull::Joined => self.release(),
            LatePull::Alone if self.members.is_single() => {
                self.stream = Stream::from(pull.base, self.stream.numbering);
                if let Some(only) = self.members.get_mut(0) {
                    only.begin_second_turn(pull.base);
                }
            }
            LatePull::Alone => {
                self.fork(from, pull.base);
                let header = Header::Pull(*pull);
                let arrival = Arrival { header, from, trimmed: false, ce: false, returned: false };
                self.apart().handle_packet(now, &arrival);
                return false;
            }
        }
        true
    }

    /// A receiver of a group has waited for long, because the symbols it asks for wait for other receivers: it is sent a sign of
    /// life, lest it give up on the sender before the sender has given up the others.
    #[inline]
    fn send_keepalive(&mut self, peer: Peer, pull: &Pull) {
        if !pull.retry || self.members.is_single() || self.config.give_up_after.is_none() {
            return;
        }
        let waits = pull.block < self.stream.base() || self.stream.emitted(pull.block) < pull.upto;
        if let Some(member) = self.members.get_mut(peer).filter(|_| waits && self.stream.due() == 0) {
            member.silence.probe();
        }
    }

    /// A receiver has completed blocks or the whole object: it no longer holds the others back. State of blocks that all
    /// receivers have is dropped.
    fn release(&mut self) {
        let base = self.members.base().unwrap_or(self.stream.base());
        let front = self.members.front(self.stream.blocks());
        self.stream.release(base, front.unwrap_or(base));
        if self.members.is_single() {
            return;
        }
        // A quorum needs nothing before its front. Without one, all remaining receivers count.
        let first = if front.is_some() { self.stream.front() } else { base };
        let end = self.members.end(&self.stream).unwrap_or(first);
        for block in first..end.min(self.stream.end()) {
            self.advance(block, false);
        }
    }

    /// Closes when each receiver has the whole object or is lost, and fails if all are lost.
    fn close_if_done(&mut self) {
        if self.members.not_done() > 0 || self.state == State::Closed {
            return;
        }
        self.stream.clear_due();
        if self.apart.as_ref().is_none_or(|apart| !apart.is_busy()) {
            self.state = State::Closed;
            let failed = Event::Failed(FailureReason::TimedOut);
            self.events.push(if self.members.has_completed() { Event::Closed } else { failed });
        }
    }

    #[inline]
    fn late(&mut self) -> Option<&mut watch::Late> {
        self.watch.as_mut()?.late()
    }

    /// After a pull, or a loss.
    fn watch(&mut self, now: Time) {
        if let Some(watch) = &mut self.watch {
            watch.observe(now, &self.members, self.stream.numbering.layout());
            self.judge(now);
        }
    }

    fn judge(&mut self, now: Time) {
        while let Some(finding) = self.watch.as_mut().and_then(|watch| watch.judge(now)) {
            self.on_finding(finding);
        }
    }

    fn on_finding(&mut self, finding: Finding) {
        match finding {
            // Takes effect when the driver polls the event: from then on a packet to the group does not go to this receiver.
            Finding::Detach(peer) => {
                let event = Event::PeerDetached(peer);
                if self.members.get(peer).is_some_and(Member::counts) && !self.events.contains(&event) {
                    self.events.push(event);
                }
            }
            Finding::GoOnWithout(peer) => self.go_on_without(peer),
            Finding::GiveUpRest(now) => {
                for peer in self.members.leave_rest() {
                    self.apart().give_up(peer);
                    self.events.push(Event::PeerDropped(peer));
                }
                let until = now + self.config.linger;
                self.apart().tell_until(until);
                self.close_if_done();
            }
        }
    }

    /// Checks the bookkeeping.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.stream.check();
        self.members.check(&self.stream);
    }
}
