//! The receiving end (SCDP Algorithm 2, with pipelined blocks and several senders): routes symbols, timeouts and pulls between its parts.
//!
//! [`Requests`] holds the blocks in progress and the senders that owe their symbols, [`Decoding`] what becomes of symbols, [`Checks`] what the
//! application finds wrong, [`State`] how far the session is. Pulls and timers are in `endpoint.rs`, what the application calls in `application.rs`.

use super::block::Decode;
use super::config::ScdpConfig;
use super::header::{Header, Options, Symbol};
use crate::outbox::Outbox;
use crate::{Arrival, Event, FailureReason, Stats, Time};
use std::sync::Arc;

mod application;
mod blocks;
mod checks;
mod choice;
mod decoding;
mod endpoint;
mod gaps;
mod lanes;
mod live;
mod order;
mod requests;
mod session;
mod state;
mod taking_over;

use blocks::Blocks;
use checks::Checks;
use decoding::Decoding;
use lanes::{Lane, Lanes, Message};
use requests::{Requests, Taken};
use session::Session;
use state::State;

/// The receiving end of a session.
#[derive(Debug)]
pub struct Receiver {
    state: State,
    /// `None` before the first symbol.
    session: Option<Session>,
    requests: Requests,
    decoding: Decoding,
    checks: Checks,
    /// When the application began to wait for the first symbol, if it said so.
    started_at: Option<Time>,
    /// Turns of the host's pull queue that the last pull takes, if it asks for several symbols.
    turns: u32,
    events: Outbox<Event, 4>,
    stats: Stats,
    config: Arc<ScdpConfig>,
}

impl Receiver {
    /// Waits for a session of up to `senders` senders. `config` must be valid. `seed`: for what it draws.
    pub fn new(config: impl Into<Arc<ScdpConfig>>, senders: u16, seed: u64) -> Self {
        let config = config.into();
        Self {
            state: State::Receiving,
            session: None,
            requests: Requests::new(&config, senders, seed),
            decoding: Decoding::default(),
            checks: Checks::none(senders),
            started_at: None,
            turns: 0,
            events: Outbox::default(),
            stats: Stats::default(),
            config,
        }
    }

    #[inline]
    fn blocks(&self) -> &Blocks {
        self.requests.blocks()
    }

    #[inline]
    fn lanes(&self) -> &Lanes {
        self.requests.lanes()
    }

    #[inline]
    fn lane_mut(&mut self, lane: u32) -> &mut Lane {
        self.requests.lanes_mut().at_mut(lane)
    }

    fn fail(&mut self, reason: FailureReason) {
        self.state = State::Failed;
        self.events.push(Event::Failed(reason));
    }

    /// A packet arrived, with these bytes of a symbol: T, or fewer for the object's last source symbol, whose padding need not
    /// be sent (RFC 6330 §4.4.2). The decoder gets them if they are useful. A symbol counts if the decoder accepts it.
    pub fn handle_payload(&mut self, now: Time, arrival: &Arrival<Header>, payload: &[u8]) {
        if self.state.has_failed() || self.lanes().get(arrival.from).is_none_or(Lane::is_excluded) {
            return;
        }
        let lane = u32::from(arrival.from);
        match &arrival.header {
            Header::Symbol(symbol) => {
                self.lane_mut(lane).pace_pulls(now, arrival.trimmed);
                self.take_in(now, arrival, symbol, payload);
                self.adjust(lane);
                self.take_over(now);
            }
            // A receiver that has the whole object answers with *done*, as it does to symbols.
            Header::GivenUp if self.state.is_completed() => self.lane_mut(lane).owe(Message::Done),
            Header::GivenUp if self.lanes().is_single() => self.fail(FailureReason::GivenUp),
            Header::GivenUp | Header::Pull(_) => {}
        }
    }

    /// The first symbol of a session describes it (Algorithm 2, lines 5-10). Its initial window is in flight.
    fn establish(&mut self, now: Time, options: &Options) -> Option<Session> {
        let is_possible = |session: &Session| session.lanes as usize == self.lanes().len();
        let session = Session::new(options, &self.config).filter(is_possible)?;
        self.session = Some(session);
        self.requests.establish(now, &session);
        self.events.push(Event::Connected);
        if !self.decoding.takes_symbols_of(&session) {
            self.fail(FailureReason::SymbolSize);
            return None;
        }
        Some(session)
    }

    /// A symbol, or its header, is taken in if it is of this session, and can be what its header says.
    fn take_in(&mut self, now: Time, arrival: &Arrival<Header>, symbol: &Symbol, payload: &[u8]) {
        let (lane, trimmed) = (u32::from(arrival.from), arrival.trimmed);
        let session = match self.session {
            Some(session) => session,
            None => match self.establish(now, &symbol.options) {
                Some(session) => session,
                None => return,
            },
        };
        let Some(place) = session.place(symbol, lane) else { return };
        let is_past = self.state.is_completed() || self.blocks().is_over(symbol.block);
        let is_needed = !is_past && symbol.block < session.layout.blocks;
        if is_needed && !trimmed && self.decoding.carries_bytes() {
            let is_wanted = self.blocks().wants(symbol, lane, place, self.decoding.is_full());
            if is_wanted && !self.decoding.take_in(&session, symbol, payload) {
                return;
            }
        }
        if trimmed {
            self.stats.trimmed_received += 1;
        } else {
            self.stats.data_received += 1;
        }
        self.stats.marked_received += u64::from(arrival.ce);
        self.requests.on_symbol(now, &session, arrival, symbol, place);
        if is_past {
            return self.on_late_symbol(now, lane, symbol, trimmed);
        }
        if !is_needed {
            return;
        }
        match self.requests.take_in(now, &session, arrival, symbol, place, self.decoding.is_full()) {
            Taken::Known => self.answer_probe(lane, false),
            Taken::OfCompleteBlock => {
                self.stats.overhead_symbols += u64::from(!trimmed);
                self.answer_probe(lane, false);
            }
            Taken::Surplus => self.stats.overhead_symbols += u64::from(!trimmed),
            Taken::Counted(index) if self.blocks().live.at(index).can_try() => self.try_complete(now, index, &session),
            Taken::Counted(_) | Taken::Trimmed => {}
        }
    }

    /// A symbol of a block that had its turn.
    fn on_late_symbol(&mut self, now: Time, lane: u32, symbol: &Symbol, trimmed: bool) {
        self.stats.overhead_symbols += u64::from(!trimmed);
        if self.state.stay(now + self.config.linger) {
            self.lane_mut(lane).owe(Message::Done);
        } else {
            self.answer_probe(lane, symbol.syn);
        }
    }

    /// A useless symbol arrived, which may be a probe. `outright`: it carries the options, as probes do.
    fn answer_probe(&mut self, lane: u32, outright: bool) {
        self.requests.lanes_mut().on_useless(lane, outright, self.decoding.is_limited());
    }

    /// For a block that is complete as it is, or may be decoded.
    fn try_complete(&mut self, now: Time, index: usize, session: &Session) {
        if !self.blocks().live.at(index).has_all_source() {
            match self.decoding.try_decode(now, self.requests.blocks().live.collected(index)) {
                Decode::Decoded { .. } => self.stats.decoded_blocks += 1,
                Decode::NeedsMore => return self.requests.blocks_mut().live.failed(index),
                Decode::Pending => return self.requests.decode_later(index),
            }
        }
        self.complete(now, index, session);
    }

    fn complete(&mut self, now: Time, index: usize, session: &Session) {
        let (block, number) = (self.blocks().live.at(index), self.blocks().live.number(index));
        self.stats.overhead_symbols += u64::from(block.received() - block.source_symbols());
        self.requests.complete(index);
        if self.decoding.complete(number) {
            self.events.push(Event::BlockReady(number));
        }
        self.advance(now, session);
    }

    /// Releases blocks at the front. The session is complete when none is left.
    fn advance(&mut self, now: Time, session: &Session) {
        let is_complete = self.requests.release(session, self.checks.may_fetch_again());
        self.checks.watch(now, &self.requests.blocks().live);
        if is_complete {
            let at = now.max(self.decoding.available());
            self.state = State::Completed(Some(at + self.config.linger));
            self.requests.lanes_mut().owe_done();
            self.events.push(Event::Completed { at });
        }
    }

    /// A symbol of a sender has been taken in: its window may have changed.
    fn adjust(&mut self, lane: u32) {
        if let Some(session) = &self.session {
            self.requests.adjust(lane, session, self.decoding.is_full(), self.state.is_over());
        }
    }

    /// Lets senders take over what blocks have waited for too long.
    #[inline]
    fn take_over(&mut self, now: Time) {
        if let Some(session) = self.session.as_ref().filter(|session| session.takes_over && !self.state.is_over()) {
            self.requests.take_over(now, session, self.decoding.is_full());
        }
    }
}

#[cfg(test)]
impl Receiver {
    /// Checks the bookkeeping, and returns the symbols in flight plus the credits: the sum of the windows.
    pub(super) fn check(&self) -> u32 {
        self.requests.check()
    }
}
