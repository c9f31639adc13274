//! The receiving end: its connections acknowledge what arrives, and it reassembles the object from what they carry.

use super::bundle::{Bundle, members, next_of};
use super::config::MultipathConfig;
use super::events::Events;
use super::header::Header;
use super::packet::{reset, wrap};
use super::resets::Resets;
use crate::Arrival;
use crate::endpoint::{Endpoint, Event, Stats, Transmit};
use crate::ranges::RangeSet;
use crate::tcp::{Connection, Flags, FlowSpec, Segment};
use crate::units::{Duration, Time};

/// The passive end.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    config: Box<MultipathConfig>,
    bundle: Bundle,
    /// All bytes before this one have arrived.
    next: u64,
    /// Ranges that have arrived beyond `next`.
    beyond: RangeSet,
    /// Bytes of the object, once the packet with the last of them has arrived.
    size: Option<u64>,
    completed: bool,
    /// When it gives up connections that are still open although the object is complete.
    lingers_until: Time,
    resets: Resets,
    events: Events,
    turn: usize,
    /// Packets that only ended a subflow.
    bare_fins: u64,
}

impl Receiver {
    pub(super) fn new(config: &MultipathConfig, flow: FlowSpec) -> Self {
        let ends = (0..config.subflows(flow.paths)).map(|_| Connection::listen(&config.tcp)).collect();
        Self {
            config: Box::new(config.clone()),
            bundle: Bundle::new(ends),
            next: 0,
            beyond: RangeSet::default(),
            size: None,
            completed: false,
            lingers_until: Time::MAX,
            resets: Resets::default(),
            events: Events::default(),
            turn: 0,
            bare_fins: 0,
        }
    }

    pub(super) fn subflows(&self) -> u8 {
        self.bundle.ends().len() as u8
    }

    pub(super) fn handle_packet(&mut self, now: Time, header: &Header, arrival: &Arrival<Segment>) {
        let i = header.subflow();
        if i >= self.bundle.ends().len() || arrival.trimmed || arrival.returned {
            return;
        }
        let segment = &arrival.header;
        if segment.flags.has(Flags::RST) {
            self.resets.on_reset(i);
            self.abort(i);
            return;
        }
        if self.resets.answer(i) {
            return;
        }
        let end = self.bundle.end_mut(i);
        end.handle_packet(now, arrival);
        if !end.is_listening() {
            self.bare_fins += u64::from(segment.len == 0 && segment.flags.has(Flags::FIN));
            self.put(now, header.data, segment);
        }
        self.bundle.touched(i);
        self.take_events(i);
    }

    /// Puts data in its place in the object, even while its own connection waits for earlier data.
    fn put(&mut self, now: Time, data: u64, segment: &Segment) {
        let end = data + u64::from(segment.len);
        if segment.flags.has(Flags::DATA_FIN) {
            self.size = Some(end);
        }
        if segment.len > 0 && end > self.next {
            if data > self.next {
                self.beyond.insert(data, end);
            } else {
                self.next = end;
                while let Some(reached) = self.beyond.take_reached(self.next) {
                    self.next = self.next.max(reached);
                }
            }
        }
        if !self.completed && self.size == Some(self.next) {
            self.completed = true;
            self.events.on_completed(now);
            self.lingers_until = now + LINGER.max(self.config.tcp.rto_initial * 8);
            // Connections that the sender has not opened yet will never be opened.
            for i in 0..self.bundle.ends().len() {
                if self.bundle.ends()[i].is_listening() && self.config.is_mptcp() {
                    self.abort(i);
                }
            }
        }
    }

    fn abort(&mut self, i: usize) {
        self.bundle.abort(i);
        self.resets.end(i, false);
    }

    fn take_events(&mut self, i: usize) {
        while let Some(event) = self.bundle.end_mut(i).poll_event() {
            match event {
                Event::Connected => _ = self.events.on_connected(),
                Event::Closed | Event::Failed(_) => self.bundle.close(i),
                _ => {}
            }
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        for i in members(self.bundle.due(now)) {
            self.bundle.end_mut(i).handle_timeout(now);
            self.bundle.touched(i);
            self.take_events(i);
        }
        if now >= self.lingers_until {
            self.lingers_until = Time::MAX;
            members(self.bundle.all() & !self.bundle.closed()).for_each(|i| self.abort(i));
        }
    }

    pub(super) fn set_departure(&mut self, at: Time) {
        self.bundle.set_departure(at);
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let lingers = if self.bundle.is_all_closed() { Time::MAX } else { self.lingers_until };
        let deadline = self.bundle.deadline().min(lingers);
        (deadline != Time::MAX).then_some(deadline)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.poll(self.bundle.is_all_closed() && !self.resets.any_due() && self.completed)
    }

    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        let bare = self.config.bare_header();
        if let Some(i) = self.resets.take() {
            return Some(reset(i, bare + self.config.options.ack));
        }
        while let Some(i) = next_of(self.bundle.ready(), self.turn) {
            self.turn = i + 1;
            let Some(mut out) = self.bundle.poll(i, now) else {
                self.take_events(i);
                continue;
            };
            let syn = out.header.flags.has(Flags::SYN);
            let option = if syn { self.config.syn_option(i, 1) } else { self.config.options.ack };
            let mut packet = wrap(i, &out, self.next);
            out.header = packet.header.segment();
            packet.size = bare + option + out.header.option_bytes();
            packet.trimmed_size = packet.size;
            return Some(packet);
        }
        None
    }

    pub(super) fn stats(&self) -> Stats {
        let sum = self.bundle.stats();
        let data_received = sum.data_received.saturating_sub(self.bare_fins);
        Stats { bytes_delivered: self.next, data_received, ..sum }
    }

    pub(super) fn waiting_for(&self) -> String {
        format!("byte {} of the object; {}", self.next, self.bundle.waiting_for())
    }
}

/// How long the receiver waits for connections to close after the object is complete; longer with longer timeouts.
const LINGER: Duration = Duration::from_secs(1);
