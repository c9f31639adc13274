//! The end that has the message: sends what is unscheduled at once, and the rest as it is granted.

use super::header::Header;
use super::silence::Silence;
use super::{ENDLESS, HomaConfig};
use crate::object::Object;
use crate::ranges::RangeSet;
use crate::standings::{Claim, ClaimChange, Standing};
use crate::turn::Turn;
use crate::units::Time;
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};

/// The receiver, for the sender.
const RECEIVER: crate::Peer = 0;

/// The sending end of a message. Reports `Closed` when the receiver has everything, or `Failed`.
#[derive(Clone, Debug)]
pub struct Sender {
    message: Object,
    /// Packets that the application has provided.
    available: u64,
    /// Packets that it may send: unscheduled or granted.
    granted: u64,
    /// The first packet that has not been sent.
    next: u64,
    /// Packets to be sent again.
    again: RangeSet,
    /// Of unscheduled packets, of which there are so many.
    unscheduled: u64,
    unscheduled_priority: u8,
    /// Of the packets granted last, and of those sent again.
    granted_priority: u8,
    again_priority: u8,
    claim: Claim,
    turn: Turn,
    silence: Silence,
    /// What it has to say besides data.
    busy: bool,
    need_ack: bool,
    header: u32,
    closed: bool,
    ended: Option<Event>,
    stats: Stats,
}

impl Sender {
    /// Sends a message of `bytes` bytes; `None` has no end. `config` must be valid.
    pub fn new(config: &HomaConfig, bytes: Option<u64>) -> Self {
        let message = Object::new(bytes.unwrap_or(ENDLESS), config.payload());
        let unscheduled = config.unscheduled().min(message.packets());
        let priority = config.priorities().unscheduled(message.bytes());
        Self {
            message,
            available: message.packets(),
            granted: unscheduled,
            next: 0,
            again: RangeSet::default(),
            unscheduled,
            unscheduled_priority: priority,
            granted_priority: priority,
            again_priority: 0,
            claim: Claim::default(),
            turn: Turn::Others,
            silence: Silence::of_receiver(config),
            busy: false,
            need_ack: false,
            header: config.header.0 as u32,
            closed: false,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// Whether it may send a packet, if it is its turn.
    fn has_packet(&self) -> bool {
        !self.closed && (!self.again.is_empty() || self.next < self.granted.min(self.available))
    }

    /// Whether all has been sent that the receiver allows. What the application has not provided is not missed.
    fn waits(&self) -> bool {
        !self.closed && self.next == self.granted && self.again.is_empty()
    }

    /// Bytes to send, those that are not granted included: what senders rank by (§3.2).
    fn remaining(&self) -> u64 {
        let end = self.message.bytes();
        let new = end - self.message.bytes_before(self.next);
        self.again.as_slice().iter().fold(new, |sum, range| {
            sum.saturating_add(self.message.bytes_before(range.end) - self.message.bytes_before(range.start))
        })
    }

    fn grant(&mut self, below: u64, priority: u8) {
        if self.may_send(below) {
            self.granted_priority = priority;
        }
    }

    /// It may send the packets below this one. Returns whether that is news.
    fn may_send(&mut self, below: u64) -> bool {
        let news = below > self.granted;
        self.granted = self.granted.max(below.min(self.message.packets()));
        news
    }

    /// Packets are missed. Of these, those that were sent are sent again, at a priority of their own; those that were not may be, at theirs. If nothing
    /// can leave now, the receiver is told.
    fn resend(&mut self, from: u64, to: u64, priority: u8) {
        let waited = self.has_packet() && self.turn == Turn::Others;
        self.may_send(to);
        let sent = to.min(self.next);
        if from < sent {
            self.again.insert(from, sent);
            self.again_priority = priority;
        }
        self.busy |= waited || !self.has_packet();
    }

    /// The next packet, which leaves now.
    fn send(&mut self, now: Time) -> Transmit<Header> {
        let (seq, priority) = if let Some(first) = self.again.as_slice().first() {
            let seq = first.start;
            self.again.remove_below(seq + 1);
            self.stats.retransmitted += 1;
            (seq, self.again_priority)
        } else {
            let seq = self.next;
            self.next += 1;
            (seq, if seq < self.unscheduled { self.unscheduled_priority } else { self.granted_priority })
        };
        self.stats.data_sent += 1;
        self.silence.begins(now);
        self.turn = Turn::Own;
        let header = Header::Data { seq, message: self.message.bytes() };
        let size = self.header + self.message.payload_of(seq);
        Transmit { priority, ..Transmit::data(header, RECEIVER, size, self.header) }
    }

    fn end(&mut self, event: Event) {
        self.closed = true;
        self.again = RangeSet::default();
        (self.busy, self.need_ack) = (false, false);
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
            Header::Grant { below, priority } => self.grant(below, priority),
            Header::Resend { from, to, priority } => self.resend(from, to, priority),
            Header::Busy => {}
            Header::Ack => self.end(Event::Closed),
            Header::Data { .. } | Header::NeedAck { .. } => return,
        }
        self.silence.broken(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if !self.waits() || now < self.silence.deadline() {
            return;
        }
        self.stats.timeouts += 1;
        if self.silence.is_final(now) {
            return self.end(Event::Failed(FailureReason::TimedOut));
        }
        self.need_ack = true;
    }

    fn set_departure(&mut self, at: Time) {
        self.turn.set_departure(at);
    }

    fn uses_departure(&self) -> bool {
        self.turn == Turn::Own && self.has_packet()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if std::mem::take(&mut self.busy) {
            return Some(Transmit::control(Header::Busy, RECEIVER, self.header));
        }
        if std::mem::take(&mut self.need_ack) {
            let header = Header::NeedAck { message: self.message.bytes() };
            return Some(Transmit::control(header, RECEIVER, self.header));
        }
        (self.has_packet() && self.turn.has_come(now)).then(|| self.send(now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.turn {
            Turn::At(time) if self.has_packet() => Some(time),
            _ => self.waits().then(|| self.silence.deadline()),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.ended.take()
    }

    fn poll_claim(&mut self) -> Option<ClaimChange> {
        let wish = self.has_packet().then(|| self.remaining());
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
        self.available = self.message.packets_in(bytes);
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn waiting_for(&self) -> String {
        let (next, of) = (self.next, self.message.of_packets());
        if self.closed {
            return "nothing: the message is over".into();
        }
        if self.has_packet() {
            return format!("Homa sender: its turn, after {next}{of} packets");
        }
        if !self.waits() {
            return format!("Homa sender: its application, after {next}{of} packets");
        }
        let what = if next == self.message.packets() { "the acknowledgement" } else { "a grant" };
        format!("Homa sender: {what}, after {next}{of} packets")
    }
}
