//! The end that has the object: pushes a window, then sends what it is asked for, lost packets first.

use super::NdpConfig;
use super::header::{Header, Stamp};
use super::timer::NEVER;
use super::window::Window;
use crate::demotion::Demotion;
use crate::object::{ENDLESS, Object};
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};
use std::num::NonZeroU16;

mod credit;
mod fates;
mod reply_timer;

use credit::Credit;
use fates::Fates;
use reply_timer::{Remedy, ReplyTimer};

/// The sending end of a connection. Reports `Closed` when the receiver has everything, or `Failed`.
#[derive(Clone, Debug)]
pub struct Sender {
    object: Object,
    /// Packets that the application has provided; `u64::MAX`: all.
    available: u64,
    window: Window,
    credit: Credit,
    timer: ReplyTimer,
    fates: Fates,
    demotion: Demotion,
    header: u32,
    /// Whether returned headers mean anything.
    takes_returns: bool,
    done: bool,
    event: Option<Event>,
    stats: Stats,
}

impl Sender {
    /// Sends an object of `object_bytes`; `None` for a stream without end. `cfg` must be valid.
    pub fn new(cfg: &NdpConfig, object_bytes: Option<u64>) -> Self {
        let object = Object::new(object_bytes.unwrap_or(ENDLESS), cfg.payload());
        Self {
            object,
            available: u64::MAX,
            window: Window::new(object.packets()),
            credit: Credit::new(cfg.initial_window, object.packets()),
            timer: ReplyTimer::new(cfg),
            fates: Fates::default(),
            demotion: Demotion::new(&cfg.priority_thresholds, cfg.priority_by, object.bytes()),
            header: cfg.header.0 as u32,
            takes_returns: cfg.return_to_sender,
            done: false,
            event: None,
            stats: Stats::default(),
        }
    }

    /// The account of one of several receivers.
    pub(super) fn of_group(cfg: &NdpConfig, object_bytes: Option<u64>) -> Self {
        let mut account = Self::new(cfg, object_bytes);
        account.timer.count_rounds();
        account
    }

    /// The receiver spoke of packet `seq`; everything below `below` is there. False if it speaks of packets never sent.
    #[inline]
    fn on_reply(&mut self, now: Time, seq: u64, below: u64) -> bool {
        if seq >= self.window.next() || below > self.window.next() {
            return false;
        }
        self.window.acknowledge_below(below);
        if self.timer.on_reply() {
            self.arm(now);
        }
        true
    }

    #[inline]
    fn on_ack(&mut self, now: Time, seq: u64, below: u64, sent: Stamp) {
        if self.window.overdue() > 0 && self.window.sent_again_since(seq, sent) {
            // The first copy has arrived, so the timeout was too short (RFC 3522).
            self.window.revive();
        }
        if self.on_reply(now, seq, below) {
            self.window.acknowledge(seq);
            // A packet that overtook others in its host's queue left before the time that it was stamped with.
            let round_trip = sent.elapsed(now);
            if round_trip > Duration::ZERO && self.timer.sample(round_trip) {
                self.arm(now);
            }
            self.fates.on_reply(true);
        }
    }

    /// NDP §3.2: the packet is queued for retransmission; it leaves with the next pull.
    fn on_nack(&mut self, now: Time, seq: u64, below: u64) {
        if self.on_reply(now, seq, below) {
            self.window.lose(seq);
            self.fates.on_reply(false);
        }
    }

    /// A switch had no room even for the header and sent it back (NDP §3.2). Sending it again at once would repeat the
    /// incast, so it normally waits for a pull. It leaves at once if no pull can be expected, because nothing of ours
    /// is with the receiver or on the way there; or if most of the last packets were received whole, so that not
    /// the receiver's link but this one path must have been congested.
    fn on_returned(&mut self, seq: u64, pull: u64) {
        if !self.takes_returns || !self.window.lose(seq) {
            return;
        }
        self.fates.on_returned();
        let promised = self.fates.promised() > self.credit.last_pull();
        let pull_expected = self.window.in_flight() > 0 || self.credit.asked() > 0 || promised;
        if !pull_expected || self.fates.mostly_received() {
            self.window.urge();
            self.credit.allow_instead(pull);
            if !self.timer.has_reply() {
                self.credit.open_with_one();
            }
        }
    }

    fn finish(&mut self, event: Event) {
        self.done = true;
        self.event = Some(event);
        self.timer.stop();
        self.window.forget_lost();
    }

    /// Whether new packets are left that the application has not provided.
    fn lacks_data(&self) -> bool {
        let next = self.window.next();
        next < self.object.packets() && next >= self.available
    }

    /// Whether there is nothing to send until the application provides more.
    fn starved(&self) -> bool {
        self.window.lost() == 0 && self.lacks_data()
    }

    fn arm(&mut self, now: Time) {
        self.timer.arm(now, self.window.oldest(), self.starved());
    }

    /// Whether the receiver has everything, or was given up.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Takes it that the receiver is gone.
    pub(super) fn give_up(&mut self) {
        self.finish(Event::Failed(FailureReason::TimedOut));
    }

    /// Whether the receiver has ever answered.
    pub(super) fn is_heard(&self) -> bool {
        self.timer.has_reply()
    }

    /// Whether it may send a packet, if it has one.
    pub(super) fn may_send(&self) -> bool {
        !self.credit.is_empty()
    }

    /// Whether that packet need not be asked for.
    pub(super) fn may_send_unasked(&self) -> bool {
        self.credit.may_send_unasked()
    }

    /// Nothing is left that need not be asked for.
    pub(super) fn give_up_unasked(&mut self) {
        self.credit.give_up_unasked();
    }

    /// The first packet that is to be sent again.
    pub(super) fn first_lost(&mut self) -> Option<u64> {
        self.window.first_lost()
    }

    /// The first packet that was never sent, if there is one and it may be.
    pub(super) fn next_new(&self) -> Option<u64> {
        let next = self.window.next();
        (next < self.object.packets() && self.window.has_room()).then_some(next)
    }

    /// Sends a packet again that is lost, to its receiver alone.
    pub(super) fn repair(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.credit.is_empty() {
            return None;
        }
        let departure = self.timer.departure(now);
        let seq = self.window.send_lost(departure)?;
        self.stats.retransmitted += 1;
        Some(self.spend(departure, seq))
    }

    /// Packet `seq` leaves for all receivers. Whether this one has asked for one.
    pub(super) fn send_with_all(&mut self, now: Time, seq: u64) -> bool {
        let departure = self.timer.departure(now);
        if seq == self.window.next() {
            self.window.send_new(departure);
        } else {
            self.window.send_again(seq, departure);
        }
        self.timer.on_sent(departure);
        self.credit.spend() > 0
    }

    /// That packet.
    pub(super) fn packet_for_all(&self, now: Time, seq: u64, pull: u64) -> Transmit<Header> {
        self.data(self.timer.departure(now), seq, pull)
    }

    /// Packet `seq` leaves, for what it may send.
    fn spend(&mut self, departure: Time, seq: u64) -> Transmit<Header> {
        let pull = self.credit.spend();
        self.stats.data_sent += 1;
        self.timer.on_sent(departure);
        self.data(departure, seq, pull)
    }

    #[inline]
    fn data(&self, departure: Time, seq: u64, pull: u64) -> Transmit<Header> {
        let syn = if self.timer.has_reply() { None } else { NonZeroU16::new(self.credit.burst()) };
        let (object, last, sent) = (self.object.bytes(), self.object.is_last(seq), Stamp::of(departure));
        let (header, size) = (Header::Data { seq, pull, object, sent, syn, last }, self.object.payload_of(seq));
        Transmit {
            priority: self.demotion.priority(self.object.bytes_before(seq)),
            pushed: syn.is_some(),
            ..Transmit::data(header, 0, self.header + size, self.header)
        }
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if self.done {
            return;
        }
        let overdue = self.window.overdue();
        match arrival.header {
            Header::Data { seq, pull, .. } if arrival.returned => self.on_returned(seq, pull),
            _ if arrival.returned => {}
            Header::Ack { seq, below, sent } => self.on_ack(now, seq, below, sent),
            Header::Nack { seq, below } => self.on_nack(now, seq, below),
            Header::Pull { number, void, pushed, below } => {
                if self.on_reply(now, 0, below) {
                    self.credit.on_pull(number, void, pushed);
                }
            }
            Header::Data { .. } => {}
        }
        if self.window.base() == self.object.packets() {
            self.finish(Event::Closed);
        } else if self.window.overdue() < overdue {
            // Packets may be in flight again that no timer was set for.
            self.arm(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.done || now < self.timer.deadline() {
            return;
        }
        let expired = self.window.expire(now, self.timer.interval());
        let silent = self.window.in_flight() == 0 && self.timer.pull_is_overdue(now);
        if expired > 0 || silent && !self.starved() {
            self.stats.timeouts += 1;
            match self.timer.on_timeout(now) {
                Remedy::SendAgain => self.credit.allow(expired.max(1)),
                Remedy::SendOne => {
                    self.credit.allow(1);
                    self.credit.open_with_one();
                }
                Remedy::GiveUp => return self.give_up(),
            }
        }
        self.arm(now);
    }

    #[inline]
    fn set_departure(&mut self, at: Time) {
        self.timer.set_departure(at);
    }

    #[inline]
    fn uses_departure(&self) -> bool {
        !self.credit.is_empty()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.done || self.credit.is_empty() {
            return None;
        }
        let departure = self.timer.departure(now);
        let seq = if let Some(seq) = self.window.send_lost(departure) {
            self.stats.retransmitted += 1;
            seq
        } else if self.lacks_data() {
            // The application provides more later: both pulls and leave to send unasked are kept.
            return None;
        } else if self.window.next() < self.object.packets() && self.window.has_room() {
            self.window.send_new(departure)
        } else {
            self.credit.give_up_unasked();
            return None;
        };
        Some(self.spend(departure, seq))
    }

    fn set_available(&mut self, now: Time, bytes: u64) {
        self.available = self.object.packets_in(bytes);
        if self.timer.deadline() == NEVER && !self.done && !self.starved() {
            self.arm(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.timer.deadline() != NEVER).then_some(self.timer.deadline())
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn waiting_for(&self) -> String {
        let (base, next, flight) = (self.window.base(), self.window.next(), self.window.in_flight());
        let of = self.object.of_packets();
        if self.done {
            "nothing: the connection is over".into()
        } else if flight > 0 {
            format!("NDP sender: an ACK or NACK for {flight} packets in flight (all below {base}{of} are acknowledged)")
        } else {
            let (lost, pull) = (self.window.lost(), self.credit.last_pull());
            format!("NDP sender: a pull after {pull} (sent {next} packets{of}, {lost} of them to be sent again)")
        }
    }
}
