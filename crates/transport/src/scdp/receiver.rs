//! The receiving end (SCDP Algorithm 2, with pipelined blocks and several senders): routes symbols, timeouts and pulls between its parts.
//!
//! [`Requests`] holds the blocks in progress and the senders that owe their symbols, [`Decoding`] what becomes of symbols, [`Checks`] what the
//! application finds wrong.

use super::block::{Collected, Decode};
use super::config::ScdpConfig;
use super::header::{Header, Options, Symbol};
use crate::{Arrival, Event, FailureReason, Stats, Time};
use std::collections::VecDeque;
use std::sync::Arc;

mod application;
mod blocks;
mod checks;
mod choice;
mod decoding;
mod endpoint;
mod lane;
mod lanes;
mod order;
mod pace;
mod pull_pace;
mod requests;
mod session;
mod taking_over;
mod timer;
mod window;

use blocks::Blocks;
use checks::Checks;
use decoding::Decoding;
use lane::{Lane, Message};
use lanes::Lanes;
use requests::{Requests, Taken};
use session::Session;

/// How far the session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Receiving,
    /// It has the whole object, and answers late symbols until the time at which `Closed` is reported.
    Completed(Option<Time>),
    Failed,
}

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
    events: VecDeque<Event>,
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
            events: VecDeque::new(),
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
    fn lane(&self, lane: u32) -> &Lane {
        self.requests.lanes().at(lane as usize)
    }

    #[inline]
    fn lane_mut(&mut self, lane: u32) -> &mut Lane {
        self.requests.lanes_mut().at_mut(lane)
    }

    /// Whether nothing more is asked for.
    #[inline]
    fn over(&self) -> bool {
        self.state != State::Receiving
    }

    #[inline]
    fn is_completed(&self) -> bool {
        matches!(self.state, State::Completed(_))
    }

    fn fail(&mut self, reason: FailureReason) {
        self.state = State::Failed;
        self.events.push_back(Event::Failed(reason));
    }

    /// A packet arrived, with these bytes of a symbol: T, or fewer for the object's last source symbol, whose padding need not
    /// be sent (RFC 6330 §4.4.2). The decoder gets them if they are useful. A symbol counts if the decoder accepts it.
    pub fn handle_payload(&mut self, now: Time, arrival: &Arrival<Header>, payload: &[u8]) {
        if self.state == State::Failed || self.lanes().get(arrival.from).is_none_or(Lane::is_excluded) {
            return;
        }
        match &arrival.header {
            Header::Symbol(symbol) => {
                self.lane_mut(u32::from(arrival.from)).pace_pulls(now, arrival.trimmed);
                self.on_symbol(now, arrival, symbol, payload);
                self.take_over(now);
            }
            // A receiver that has the whole object answers with *done*, as it does to symbols.
            Header::GivenUp if self.is_completed() => self.lane_mut(u32::from(arrival.from)).owe(Message::Done),
            Header::GivenUp if self.lanes().is_single() => self.fail(FailureReason::GivenUp),
            Header::GivenUp | Header::Pull(_) => {}
        }
    }

    /// The first symbol of a session describes it (Algorithm 2, lines 5-10). Its initial window is in flight.
    fn establish(&mut self, now: Time, options: &Options) -> Option<Session> {
        let session =
            Session::new(options, &self.config).filter(|session| session.lanes as usize == self.lanes().len())?;
        self.session = Some(session);
        self.requests.establish(now, &session);
        self.events.push_back(Event::Connected);
        Some(session)
    }

    /// A symbol arrived: takes it in, then adjusts the window.
    fn on_symbol(&mut self, now: Time, arrival: &Arrival<Header>, symbol: &Symbol, payload: &[u8]) {
        self.take_in(now, arrival, symbol, payload);
        let lane = u32::from(arrival.from);
        if let Some(session) = &self.session
            && !self.lane(lane).window().is_fixed()
        {
            self.requests.adjust(lane, session, self.decoding.is_full(), self.state != State::Receiving);
        }
    }

    fn take_in(&mut self, now: Time, arrival: &Arrival<Header>, symbol: &Symbol, payload: &[u8]) {
        let (lane, trimmed) = (u32::from(arrival.from), arrival.trimmed);
        let session = match self.session {
            Some(session) => session,
            None => match self.establish(now, &symbol.options) {
                Some(session) if self.decoding.takes_symbols_of(&session) => session,
                Some(_) => return self.fail(FailureReason::SymbolSize),
                None => return,
            },
        };
        if symbol.syn && !session.is_of(&symbol.options) {
            return;
        }
        let Some(place) = session.place(symbol, lane) else { return };
        if !trimmed && self.decoding.carries_bytes() && !self.decoder_takes(&session, symbol, place, lane, payload) {
            return;
        }
        if trimmed {
            self.stats.trimmed_received += 1;
        } else {
            self.stats.data_received += 1;
        }
        self.stats.marked_received += u64::from(arrival.ce);
        self.requests.on_symbol(now, &session, arrival, symbol, place);
        if self.is_completed() || self.blocks().is_over(symbol.block) {
            return self.on_late_symbol(now, lane, symbol, trimmed);
        }
        if symbol.block >= session.layout.blocks {
            return;
        }
        match self.requests.take_in(now, &session, arrival, symbol, place, self.decoding.is_full()) {
            Taken::Known => self.answer_probe(lane, false),
            Taken::OfCompleteBlock => {
                self.stats.overhead_symbols += u64::from(!trimmed);
                self.answer_probe(lane, false);
            }
            Taken::Surplus => self.stats.overhead_symbols += u64::from(!trimmed),
            Taken::Counted(index) if self.blocks().at(index).can_try() => self.try_complete(now, index, &session),
            Taken::Counted(_) | Taken::Trimmed => {}
        }
    }

    /// A symbol of a block that had its turn.
    fn on_late_symbol(&mut self, now: Time, lane: u32, symbol: &Symbol, trimmed: bool) {
        self.stats.overhead_symbols += u64::from(!trimmed);
        if self.is_completed() {
            self.lane_mut(lane).owe(Message::Done);
        }
        if let State::Completed(Some(at)) = &mut self.state {
            *at = (*at).max(now + self.config.linger);
        }
        self.answer_probe(lane, symbol.syn);
    }

    /// Gives a symbol to the decoder, if it is useful. False if it cannot be what its header says: it is then ignored.
    fn decoder_takes(&mut self, session: &Session, symbol: &Symbol, place: u32, lane: u32, payload: &[u8]) -> bool {
        if self.is_completed() || self.blocks().is_over(symbol.block) || symbol.block >= session.layout.blocks {
            return true;
        }
        let wanted = self.blocks().wants(symbol, lane, place, self.decoding.is_full());
        !wanted || self.decoding.take_in(session, symbol, payload)
    }

    /// For a block that is complete as it is, or may be decoded.
    fn try_complete(&mut self, now: Time, index: usize, session: &Session) {
        let block = self.blocks().at(index);
        if !block.has_all_source() {
            let (source_symbols, received) = (block.source_symbols(), block.received());
            let collected = Collected { block: self.blocks().number(index), source_symbols, received };
            match self.decoding.try_decode(now, collected) {
                Decode::Decoded { .. } => {}
                Decode::NeedsMore => return self.requests.blocks_mut().failed(index),
                Decode::Pending => {
                    self.requests.blocks_mut().decode_later(index);
                    // Whether more symbols are needed is unknown: what is still in flight is not waited for.
                    return self.requests.free_window(index);
                }
            }
            self.stats.decoded_blocks += 1;
        }
        self.complete(now, index, session);
    }

    fn complete(&mut self, now: Time, index: usize, session: &Session) {
        let block = self.blocks().at(index);
        self.stats.overhead_symbols += u64::from(block.received() - block.source_symbols());
        // What is still in flight will find the block complete: the window is free for other blocks.
        self.requests.free_window(index);
        self.requests.blocks_mut().complete(index);
        let number = self.blocks().number(index);
        if self.decoding.complete(number) {
            self.events.push_back(Event::BlockReady(number));
        }
        self.advance(now, session);
    }

    /// Releases blocks at the front.
    fn advance(&mut self, now: Time, session: &Session) {
        let all = self.requests.blocks_mut().release(session, self.checks.may_fetch_again());
        self.checks.watch(now, self.requests.blocks());
        if !all {
            return;
        }
        if self.requests.blocks_mut().begin_second_turn(session) {
            self.lane_mut(0).forget_pull();
            return self.advance(now, session);
        }
        let at = now.max(self.decoding.available());
        self.state = State::Completed(Some(at + self.config.linger));
        self.requests.lanes_mut().owe_done();
        self.events.push_back(Event::Completed { at });
    }

    /// A useless symbol arrived. If nothing is requested from its sender now, the symbol may be a probe. Where silence is only counted
    /// in timeouts, of which very many are allowed, no answer is needed, unless the application may be slow to take blocks. `outright`:
    /// the symbol carries the options, as probes do. Then the receiver answers even while it waits for symbols that it
    /// has requested: other receivers of its group may have to catch up first.
    fn answer_probe(&mut self, lane: u32, outright: bool) {
        let asked = self.config.give_up_after.is_some() || self.decoding.is_limited();
        if asked && (outright || self.lane(lane).outstanding() == 0) && !self.is_completed() {
            self.lane_mut(lane).owe(Message::Keepalive);
        }
    }

    /// Lets senders take over what blocks have waited for too long.
    #[inline]
    fn take_over(&mut self, now: Time) {
        if let Some(session) = self.session.as_ref().filter(|session| session.takes_over && !self.over()) {
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
