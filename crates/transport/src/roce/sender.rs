//! The end that has a message: sends its packets at a pace, and goes back where the receiver says, or after a timeout.

use super::congestion::Control;
use super::hpcc::Feedback;
use super::repairs::Repairs;
use super::segments::Packet;
use super::{Bth, Congestion, Header, Repeat, RoceConfig, packets, whole};
use crate::retries::Retries;
use crate::{Arrival, Event, FailureReason, Rate, Stats, Time, Transmit};

/// A sender of one message.
#[derive(Clone, Debug)]
pub struct Sender {
    config: RoceConfig,
    /// Bytes of the message, and those that the application has.
    message: u64,
    available: u64,
    /// Packets that are acknowledged, the next one to send, and the first that has never been sent.
    acknowledged: u64,
    next: u64,
    fresh: u64,
    /// What is to be sent again besides; empty if it goes back.
    repairs: Repairs,
    /// When the pace allows the next packet, and whether that time has come.
    paced: Time,
    due: bool,
    /// The rate of the link by which its first packet left.
    line: Option<Rate>,
    control: Option<Box<Control>>,
    /// When it goes back, if nothing is acknowledged.
    timeout: Option<Time>,
    retries: Retries,
    event: Option<Event>,
    over: bool,
    stats: Stats,
}

impl Sender {
    /// Sends a message; `None` has no end.
    pub fn new(config: &RoceConfig, bytes: Option<u64>) -> Self {
        let message = bytes.unwrap_or(u64::MAX);
        Self {
            config: config.clone(),
            message,
            available: message,
            acknowledged: 0,
            next: 0,
            fresh: 0,
            repairs: Repairs::default(),
            paced: Time::ZERO,
            due: true,
            line: None,
            control: None,
            timeout: None,
            retries: Retries::default(),
            event: None,
            over: false,
            stats: Stats::default(),
        }
    }

    fn packets(&self) -> u64 {
        packets(self.message, self.config.payload())
    }

    /// Bytes of the message in a packet.
    fn payload(&self, psn: u64) -> u64 {
        let before = psn.saturating_mul(self.config.payload());
        (self.message - before).min(self.config.payload())
    }

    /// Whether there is a packet to send, if the time has come.
    fn has_packet(&self) -> bool {
        let next = self.next_psn();
        let end = || next.saturating_mul(self.config.payload()) + self.payload(next);
        !self.over && next < self.packets() && end() <= self.available && (next < self.next || self.has_room())
    }

    /// The packet that it sends next: first what is missing.
    fn next_psn(&self) -> u64 {
        self.repairs.next().unwrap_or(self.next)
    }

    /// Whether a window, if it has one, lets it send.
    fn has_room(&self) -> bool {
        let on_their_way = || {
            let packets = self.next - self.acknowledged - self.repairs.arrived();
            packets.saturating_mul(self.config.packet.0)
        };
        self.window().is_none_or(|window| on_their_way() < window)
    }

    pub(super) fn set_line(&mut self, rate: Rate) {
        self.line.get_or_insert(rate);
    }

    /// Its congestion control, once the rate of the link is known.
    fn control(&mut self, now: Time) -> Option<&mut Control> {
        if let (None, Some(congestion)) = (&self.control, &self.config.congestion) {
            self.control = Control::new(congestion, self.config.rate, self.line, now).map(Box::new);
        }
        self.control.as_deref_mut()
    }

    fn on_cnp(&mut self, now: Time) {
        if let Some(control) = self.control(now) {
            control.on_cnp(now);
        }
    }

    pub(super) fn provide(&mut self, bytes: u64) {
        self.available = bytes.min(self.message);
    }

    pub(super) fn receive(&mut self, now: Time, arrival: &Arrival<Header>) {
        self.on_answer(now, arrival);
        self.due = self.paced <= now;
    }

    fn on_answer(&mut self, now: Time, arrival: &Arrival<Header>) {
        let (expected, goes_back, got) = match arrival.header.bth {
            Bth::Ack(expected) => (expected, false, None),
            Bth::Nak(expected) => (expected, true, None),
            // What it has got is news even if it expected less then.
            Bth::Gap { expected, got } => (expected.max(self.acknowledged), false, Some(whole(got, expected))),
            Bth::Cnp if !self.over => return self.on_cnp(now),
            Bth::Data { .. } | Bth::Cnp => return,
        };
        // An old one, or one of packets that were never sent.
        let unsent = expected > self.fresh || got.is_some_and(|got| got >= self.fresh);
        if self.over || expected < self.acknowledged || unsent {
            return;
        }
        if expected > self.acknowledged || goes_back {
            self.retries.on_answer();
            self.timeout = (expected < self.fresh).then(|| now + self.config.timeout);
        }
        self.repairs.on_ack(expected);
        let lost = goes_back || got.is_some_and(|got| self.repairs.on_gap(expected, got));
        if let Some(control) = &mut self.control {
            if lost {
                control.on_go_back();
            }
            let feedback = Feedback { expected, next: self.next, telemetry: arrival.header.telemetry };
            self.paced = control.on_ack(now, &feedback).unwrap_or(self.paced);
        }
        self.acknowledged = expected;
        self.next = if goes_back { expected } else { self.next.max(expected) };
        if expected == self.packets() {
            (self.over, self.timeout, self.event) = (true, None, Some(Event::Closed));
        }
    }

    pub(super) fn time_passes(&mut self, now: Time) {
        self.due = self.paced <= now;
        if self.over || self.timeout.is_none_or(|at| now < at) {
            return;
        }
        self.stats.timeouts += 1;
        self.timeout = None;
        match self.config.repeat {
            Repeat::GoBackN => self.next = self.acknowledged,
            Repeat::Selective => self.repairs.on_timeout(self.acknowledged, self.fresh),
        }
        if let Some(control) = &mut self.control {
            control.on_go_back();
        }
        if self.retries.on_timeout(self.config.retries) {
            (self.over, self.event) = (true, Some(Event::Failed(FailureReason::TimedOut)));
        }
    }

    /// Whether a packet only waits for its turn.
    pub(super) fn wants_turn(&self) -> bool {
        self.due && self.has_packet()
    }

    pub(super) fn take_turn(&mut self, now: Time) -> Option<Transmit<Header>> {
        if !self.wants_turn() {
            return None;
        }
        let psn = self.next_psn();
        let (header, repeats) = (self.config.header.0, psn < self.fresh);
        let size = header + self.payload(psn);
        if psn < self.next {
            self.repairs.on_sent(psn);
        } else {
            self.next += 1;
        }
        self.stats.data_sent += 1;
        self.stats.retransmitted += u64::from(repeats);
        self.fresh = self.fresh.max(self.next);
        let asks = self.pace(now, Packet { psn, size, header, repeats });
        self.due = self.paced <= now;
        self.timeout.get_or_insert(now + self.config.timeout);
        let ect = self.config.congestion.as_ref().is_some_and(Congestion::is_marked);
        let bth = Bth::Data { psn: psn as u32, message: self.message, asks };
        let transmit = Transmit::data(Header::from(bth), 0, size as u32, header as u32);
        Some(Transmit { ect, ..transmit })
    }

    /// A packet leaves: when the next one may. Whether this one asks to be acknowledged.
    fn pace(&mut self, now: Time, packet: Packet) -> bool {
        if self.control(now).is_none() {
            if let Some(rate) = self.config.rate {
                self.paced = now + rate.transmit_time(packet.size);
            }
            return false;
        }
        let more = self.has_packet();
        let Some(control) = &mut self.control else { return false };
        let next = control.on_sent(now, packet, more);
        self.paced = next.at;
        next.asks
    }

    /// Bytes that may be on their way, if a window says so.
    pub(super) fn window(&self) -> Option<u64> {
        self.control.as_ref().and_then(|control| control.window())
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let sends = (!self.due && self.has_packet()).then_some(self.paced);
        sends.into_iter().chain(self.timeout).min()
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    pub(super) fn stats(&self) -> Stats {
        self.stats
    }

    pub(super) fn waiting_for(&self) -> String {
        format!("for packet {} of {} to be acknowledged", self.acknowledged, self.packets())
    }
}
