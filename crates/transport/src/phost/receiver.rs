//! The end that wants the data: gives out tokens, one for each turn of its host, and acknowledges the whole flow.

use super::PhostConfig;
use super::header::Header;
use super::issue::Issue;
use crate::arrived::Arrived;
use crate::object::Object;
use crate::standings::{Claim, ClaimChange, Standing};
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};

/// The sender, for the receiver.
const SENDER: crate::Peer = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing has come.
    Listening,
    Receiving,
    /// Everything has come; until this time the sender is answered.
    Lingering(Time),
    /// `Closed` was reported; answers for as long as the driver delivers anything.
    Closed,
    Failed,
}

/// The receiving end of a flow. Reports `Completed` when it has everything and `Closed` when it need not be kept to answer any more; or `Failed`.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: State,
    /// What the first packet says; nothing before.
    flow: Object,
    arrived: Arrived,
    issue: Issue,
    claim: Claim,
    /// Whether its flow is the one of its host that may have a token.
    stands: bool,
    /// Turns of its host that pass while the packets of free tokens come.
    hold: u32,
    /// When something arrived last, and whether that is so long ago that its sender, which announces itself again and again, must be cut off.
    last_arrival: Time,
    silent: bool,
    config: PhostConfig,
    /// An answer that has not left.
    reply: Option<Header>,
    completed: Option<Event>,
    ended: Option<Event>,
    stats: Stats,
}

impl Receiver {
    /// Waits for a sender. `config` must be valid, and be the sender's.
    pub fn new(config: &PhostConfig) -> Self {
        Self {
            state: State::Listening,
            flow: Object::new(0, config.payload()),
            arrived: Arrived::default(),
            issue: Issue::new(config),
            claim: Claim::default(),
            stands: false,
            hold: 0,
            last_arrival: Time::ZERO,
            silent: false,
            config: config.clone(),
            reply: None,
            completed: None,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// The first packet to arrive tells of the flow, whichever it is. False if it is of another one.
    fn opens(&mut self, now: Time, bytes: u64) -> bool {
        if self.state == State::Listening {
            self.state = State::Receiving;
            self.flow = Object::new(bytes, self.config.payload());
            let packets = self.flow.packets();
            let free = self.config.free_tokens(packets);
            self.issue.open(now, packets, free, self.config.reissue_timeout(free));
            self.hold = free as u32;
        }
        self.flow.bytes() == bytes
    }

    fn receive(&mut self, now: Time, seq: u64) {
        self.stats.data_received += 1;
        let new = self.arrived.insert(seq);
        if self.state == State::Receiving {
            if self.arrived.count() == self.flow.packets() {
                self.state = State::Lingering(now);
                self.reply = Some(Header::Ack);
                self.completed = Some(Event::Completed { at: now });
            }
        } else if !new {
            // Its acknowledgement may be lost.
            self.reply = Some(Header::Ack);
        }
    }

    /// Whether a token is wanted, and may be given.
    fn wants(&self) -> bool {
        self.state == State::Receiving && self.issue.is_open()
    }

    /// Bytes that have not arrived: what receivers rank by.
    fn remaining(&self) -> u64 {
        self.flow.bytes() - self.flow.bytes_before(self.arrived.count())
    }

    /// How long it turns to others. A sender that is there but busy announces its flow again and again; one that is not need not be tried more often.
    fn downgrade(&self) -> Duration {
        let own = self.config.downgrade();
        if self.silent { own.max(self.config.resend_timeout) } else { own }
    }

    /// When a sender that has been silent is given up.
    fn give_up_at(&self) -> Time {
        self.last_arrival + self.config.resend_timeout * (u64::from(self.config.retries) + 1)
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if arrival.returned || self.state == State::Failed {
            return;
        }
        match arrival.header {
            Header::Rts { flow, again } => {
                let known = self.state != State::Listening;
                if !self.opens(now, flow) {
                    return;
                }
                match self.state {
                    State::Receiving if again && known => self.reply = Some(Header::Wait),
                    State::Receiving => {}
                    _ => self.reply = Some(Header::Ack),
                }
            }
            Header::Data { seq, token, flow } => {
                if seq >= Object::new(flow, self.config.payload()).packets() || !self.opens(now, flow) {
                    return;
                }
                self.stats.marked_received += u64::from(arrival.ce);
                self.issue.on_answer(token);
                if arrival.trimmed {
                    self.stats.trimmed_received += 1;
                } else {
                    self.receive(now, seq);
                }
            }
            _ => return,
        }
        (self.last_arrival, self.silent) = (now, false);
        if let State::Lingering(until) = &mut self.state {
            *until = now + self.config.linger;
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match self.state {
            State::Lingering(until) if until <= now => {
                self.state = State::Closed;
                self.ended = Some(Event::Closed);
            }
            State::Receiving if self.give_up_at() <= now => {
                self.state = State::Failed;
                self.reply = None;
                self.ended = Some(Event::Failed(FailureReason::TimedOut));
            }
            State::Receiving if self.issue.deadline(self.downgrade()).is_some_and(|deadline| deadline <= now) => {
                self.stats.timeouts += u64::from(self.issue.on_deadline());
                self.silent = now.since(self.last_arrival) > self.config.resend_timeout * 2;
            }
            _ => {}
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        let header = self.reply.take()?;
        Some(Transmit::control(header, SENDER, self.config.header.0 as u32))
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            State::Receiving => self.issue.deadline(self.downgrade()).into_iter().chain([self.give_up_at()]).min(),
            State::Lingering(until) => Some(until),
            State::Listening | State::Closed | State::Failed => None,
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.completed.take().or_else(|| self.ended.take())
    }

    fn pending_pulls(&self) -> u32 {
        u32::from(self.stands && self.wants())
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.pending_pulls() == 0 {
            return None;
        }
        let given = self.issue.give(now, &self.arrived, self.flow.packets());
        let header = Header::Token { number: given.number, seq: given.seq, remaining: self.remaining() };
        Some(Transmit::control(header, SENDER, self.config.header.0 as u32))
    }

    fn poll_hold(&mut self) -> u32 {
        std::mem::take(&mut self.hold)
    }

    fn poll_claim(&mut self) -> Option<ClaimChange> {
        let wish = self.wants().then(|| self.remaining());
        self.stands &= wish.is_some();
        self.claim.poll(wish, 1)
    }

    fn claim(&self) -> Option<u64> {
        self.claim.told()
    }

    fn set_standing(&mut self, _now: Time, standing: Option<Standing>) {
        self.stands = standing.is_some();
    }

    fn stats(&self) -> Stats {
        Stats { bytes_delivered: self.flow.bytes_before(self.arrived.base()), ..self.stats }
    }

    fn waiting_for(&self) -> String {
        let (has, of) = (self.arrived.count(), self.flow.of_packets());
        match self.state {
            State::Listening => "pHost receiver: the first packet of the sender".into(),
            State::Receiving => {
                let lowest = self.arrived.base();
                let what =
                    if self.wants() { "its turn to give a token" } else { "packets that it has given tokens for" };
                format!("pHost receiver: {what}; has {has}{of} packets, the lowest missing is {lowest}")
            }
            State::Lingering(_) => "pHost receiver: has everything, lingers for late copies".into(),
            State::Closed | State::Failed => "nothing: the flow is over".into(),
        }
    }
}
