//! The end that has the data: announces the flow, and sends a packet for each token that it can use in time.

use super::header::Header;
use super::tokens::{Token, Tokens};
use super::{ENDLESS, PhostConfig};
use crate::arrived::Arrived;
use crate::object::Object;
use crate::retries::Retries;
use crate::standings::{Claim, ClaimChange, Standing};
use crate::turn::Turn;
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};

/// The receiver, for the sender.
const RECEIVER: crate::Peer = 0;

/// The sending end of a flow. Reports `Closed` when the receiver has everything, or `Failed`.
#[derive(Clone, Debug)]
pub struct Sender {
    flow: Object,
    /// Packets that the application has provided.
    available: u64,
    tokens: Tokens,
    /// Tokens that it begins with, and how long they are good for; how long others are.
    free: u64,
    free_lifetime: Duration,
    lifetime: Duration,
    /// Bytes that have not arrived, as the receiver said last: what senders rank by.
    remaining: u64,
    sent: Arrived,
    priority: u8,
    claim: Claim,
    turn: Turn,
    /// An RTS to be sent: `Some(true)` if it is not the first.
    rts: Option<bool>,
    /// When a packet was sent last, and how long after that the flow is announced again.
    since: Time,
    resend_timeout: Duration,
    retries: Retries,
    most_retries: u32,
    header: u32,
    closed: bool,
    ended: Option<Event>,
    stats: Stats,
}

impl Sender {
    /// Sends a flow of `bytes` bytes; `None` has no end. `config` must be valid.
    pub fn new(config: &PhostConfig, bytes: Option<u64>) -> Self {
        let flow = Object::new(bytes.unwrap_or(ENDLESS), config.payload());
        let free = config.free_tokens(flow.packets());
        Self {
            flow,
            available: flow.packets(),
            tokens: Tokens::default(),
            free,
            free_lifetime: config.token_lifetime(free),
            lifetime: config.token_lifetime(0),
            remaining: flow.bytes(),
            sent: Arrived::default(),
            priority: config.priority(flow.packets()),
            claim: Claim::default(),
            turn: Turn::Others,
            rts: Some(false),
            since: Time::ZERO,
            resend_timeout: config.resend_timeout,
            retries: Retries::default(),
            most_retries: config.retries,
            header: config.header.0 as u32,
            closed: false,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// Whether it may send a packet, if it is its turn. Tokens that have expired since it was last asked to send still count.
    fn has_packet(&self) -> bool {
        self.tokens.has_usable(self.available)
    }

    /// Announces the flow. With the first RTS the free tokens begin to be good.
    fn announce(&mut self, now: Time, again: bool) -> Transmit<Header> {
        if !again {
            let expires = now + self.free_lifetime;
            (0..self.free).for_each(|n| self.tokens.insert(Token { expires, number: n, seq: n }));
        }
        self.since = now;
        let header = Header::Rts { flow: self.flow.bytes(), again };
        Transmit::control(header, RECEIVER, self.header)
    }

    fn send(&mut self, now: Time, token: Token) -> Transmit<Header> {
        self.since = now;
        self.turn = Turn::Own;
        self.stats.data_sent += 1;
        self.stats.retransmitted += u64::from(!self.sent.insert(token.seq));
        let header = Header::Data { seq: token.seq, token: token.number, flow: self.flow.bytes() };
        let size = self.header + self.flow.payload_of(token.seq);
        Transmit { priority: self.priority, ..Transmit::data(header, RECEIVER, size, self.header) }
    }

    fn end(&mut self, event: Event) {
        self.closed = true;
        self.tokens.clear();
        self.rts = None;
        self.ended = Some(event);
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if self.closed || arrival.returned {
            return;
        }
        match arrival.header {
            Header::Token { number, seq, remaining } if seq < self.flow.packets() => {
                self.tokens.insert(Token { expires: now + self.lifetime, number, seq });
                self.remaining = remaining.min(self.flow.bytes());
            }
            Header::Wait => {}
            Header::Ack => self.end(Event::Closed),
            _ => return,
        }
        self.retries.on_answer();
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.closed || self.rts.is_some() || now < self.since + self.resend_timeout {
            return;
        }
        self.stats.timeouts += 1;
        if self.retries.on_timeout(self.most_retries) {
            return self.end(Event::Failed(FailureReason::TimedOut));
        }
        self.rts = Some(true);
    }

    fn set_departure(&mut self, at: Time) {
        self.turn.set_departure(at);
    }

    fn uses_departure(&self) -> bool {
        self.turn == Turn::Own && self.has_packet()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if let Some(again) = self.rts.take() {
            return Some(self.announce(now, again));
        }
        self.tokens.expire(now);
        if !self.turn.has_come(now) {
            return None;
        }
        let token = self.tokens.take(self.available)?;
        Some(self.send(now, token))
    }

    fn poll_timeout(&self) -> Option<Time> {
        let turn = match self.turn {
            Turn::At(time) if self.has_packet() => Some(time),
            _ => None,
        };
        let silence = (!self.closed).then(|| self.since + self.resend_timeout);
        turn.into_iter().chain(silence).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.ended.take()
    }

    fn poll_claim(&mut self) -> Option<ClaimChange> {
        let wish = self.has_packet().then_some(self.remaining);
        if wish.is_none() {
            self.turn = Turn::Others;
        }
        self.claim.poll(wish, 1)
    }

    fn claim(&self) -> Option<u64> {
        self.claim.told()
    }

    fn set_standing(&mut self, _now: Time, standing: Option<Standing>) {
        self.turn.set_standing(standing);
    }

    fn set_available(&mut self, _now: Time, bytes: u64) {
        self.available = self.flow.packets_in(bytes);
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn waiting_for(&self) -> String {
        if self.closed {
            return "nothing: the flow is over".into();
        }
        let (sent, of) = (self.sent.count(), self.flow.of_packets());
        let what = match self.has_packet() {
            true => "its turn",
            false if sent == self.flow.packets() => "the acknowledgement",
            false => "a token",
        };
        format!("pHost sender: {what}, after {sent}{of} packets")
    }
}
