//! The end that wants the message: grants what it has place for, and asks for what is missing.

use super::grants::Grants;
use super::header::Header;
use super::silence::Silence;
use super::{HomaConfig, PRIORITY_OF_RESENT};
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

/// The receiving end of a message. Reports `Completed` when it has everything and `Closed` when it need not be kept to answer any more; or `Failed`.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: State,
    /// What the first packet says; nothing before.
    message: Object,
    arrived: Arrived,
    grants: Grants,
    claim: Claim,
    /// Messages that are granted at once at this host.
    places: u8,
    /// Its sender serves others first, as it says, or is silent: it has no claim until more of it arrives.
    yields: bool,
    silence: Silence,
    linger: Duration,
    /// What it has to say: that it has everything, that it is there, and which packets it misses, from this one on.
    ack: bool,
    busy: bool,
    missing_from: Option<u64>,
    payload: u64,
    header: u32,
    completed: Option<Event>,
    ended: Option<Event>,
    stats: Stats,
}

impl Receiver {
    /// Waits for a sender. `config` must be valid, and be the sender's.
    pub fn new(config: &HomaConfig) -> Self {
        Self {
            state: State::Listening,
            message: Object::new(0, config.payload()),
            arrived: Arrived::default(),
            grants: Grants::new(config),
            claim: Claim::default(),
            places: config.granted_at_once(),
            yields: false,
            silence: Silence::of_sender(config),
            linger: config.linger,
            ack: false,
            busy: false,
            missing_from: None,
            payload: config.payload(),
            header: config.header.0 as u32,
            completed: None,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// The first packet to arrive tells of the message, whichever it is. False if it is of another one.
    fn opens(&mut self, bytes: u64) -> bool {
        if self.state == State::Listening {
            self.state = State::Receiving;
            self.message = Object::new(bytes, self.payload);
            self.grants.open(self.message.packets());
        }
        self.message.bytes() == bytes
    }

    /// Whether packets that the sender may send have not arrived.
    fn waits(&self) -> bool {
        self.state == State::Receiving && self.grants.granted() > self.arrived.count()
    }

    fn receive(&mut self, now: Time, seq: u64) {
        self.stats.data_received += 1;
        self.yields = false;
        let new = self.arrived.insert(seq);
        if self.state == State::Receiving {
            if self.arrived.count() == self.message.packets() {
                self.state = State::Lingering(now + self.linger);
                (self.ack, self.missing_from) = (true, None);
                self.completed = Some(Event::Completed { at: now });
            }
        } else if !new {
            // Its acknowledgement may be lost.
            self.ack = true;
        }
    }

    /// The sender has heard nothing.
    fn answer(&mut self) {
        match self.state {
            State::Receiving if self.waits() => self.missing_from = Some(0),
            State::Receiving => self.busy = true,
            State::Lingering(_) | State::Closed => self.ack = true,
            State::Listening | State::Failed => {}
        }
    }

    /// The next packet that says what is missing of what was granted.
    fn resend(&mut self) -> Option<Header> {
        let gap = self.arrived.gap(self.missing_from?, self.grants.granted());
        self.missing_from = gap.map(|(_, to)| to);
        gap.map(|(from, to)| Header::Resend { from, to, priority: PRIORITY_OF_RESENT })
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if arrival.returned || self.state == State::Failed {
            return;
        }
        match arrival.header {
            Header::Data { seq, message } => {
                let packets = Object::new(message, self.payload).packets();
                if seq >= packets || !self.opens(message) {
                    return;
                }
                self.stats.marked_received += u64::from(arrival.ce);
                if arrival.trimmed {
                    self.stats.trimmed_received += 1;
                } else {
                    self.receive(now, seq);
                }
            }
            Header::NeedAck { message } => {
                if !self.opens(message) {
                    return;
                }
                // Who asks has sent all that it may, and waits for grants.
                self.yields = false;
                self.answer();
            }
            // Overtaken by what it speaks of, it means nothing.
            Header::Busy if self.state != State::Listening => self.yields = self.waits(),
            _ => return,
        }
        self.silence.broken(now);
        if let State::Lingering(until) = &mut self.state {
            *until = now + self.linger;
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match self.state {
            State::Lingering(until) if until <= now => {
                self.state = State::Closed;
                self.ended = Some(Event::Closed);
            }
            State::Receiving if self.waits() && self.silence.deadline() <= now => {
                self.stats.timeouts += 1;
                if self.silence.is_final(now) {
                    self.state = State::Failed;
                    self.missing_from = None;
                    self.ended = Some(Event::Failed(FailureReason::TimedOut));
                } else {
                    self.missing_from = Some(0);
                    self.yields = true;
                }
            }
            _ => {}
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        let header = if std::mem::take(&mut self.ack) {
            Header::Ack
        } else if std::mem::take(&mut self.busy) {
            Header::Busy
        } else if let Some(resend) = self.resend() {
            resend
        } else if self.state == State::Receiving {
            let waited = self.waits();
            let (below, priority) = self.grants.next(self.arrived.count(), self.message.packets())?;
            if !waited {
                self.silence.begins(now);
            }
            Header::Grant { below, priority }
        } else {
            return None;
        };
        Some(Transmit::control(header, SENDER, self.header))
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            State::Lingering(until) => Some(until),
            _ => self.waits().then(|| self.silence.deadline()),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.completed.take().or_else(|| self.ended.take())
    }

    /// A message wants grants as long as it is not granted to its end. It ranks by what has not arrived: by what is not granted, a long message that
    /// has just been granted would go before a short one (a priority inversion, as `HomaModule` notes). Whose sender is busy leaves its place to others,
    /// so that messages that wait for each other's places, as in chains of relays, do not wait for good; so does whose sender is silent, so that one that
    /// is dead holds up nobody else.
    fn poll_claim(&mut self) -> Option<ClaimChange> {
        let (count, packets) = (self.arrived.count(), self.message.packets());
        let wants = self.state == State::Receiving && self.grants.granted() < packets && !self.yields;
        let wish = wants.then(|| self.message.bytes() - self.message.bytes_before(count));
        if wish.is_none() {
            self.grants.set_standing(None);
        }
        self.claim.poll(wish, self.places)
    }

    fn claim(&self) -> Option<u64> {
        self.claim.told()
    }

    fn set_standing(&mut self, _now: Time, standing: Option<Standing>) {
        self.grants.set_standing(standing);
    }

    fn stats(&self) -> Stats {
        Stats { bytes_delivered: self.message.bytes_before(self.arrived.base()), ..self.stats }
    }

    fn waiting_for(&self) -> String {
        let (has, of) = (self.arrived.count(), self.message.of_packets());
        match self.state {
            State::Listening => "Homa receiver: the first packet of the sender".into(),
            State::Receiving => {
                let (granted, lowest) = (self.grants.granted(), self.arrived.base());
                format!("Homa receiver: has {has}{of} packets, the lowest missing is {lowest}; has granted {granted}")
            }
            State::Lingering(_) => "Homa receiver: has everything, lingers for late copies".into(),
            State::Closed | State::Failed => "nothing: the message is over".into(),
        }
    }
}
