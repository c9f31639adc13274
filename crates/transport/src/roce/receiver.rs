//! The end that wants a message: takes packets in order, and says what it expects.

use super::{Bth, Congestion, Header, Repeat, RoceConfig, packets, whole};
use crate::ranges::RangeSet;
use crate::telemetry::Telemetry;
use crate::{Arrival, Event, Stats, Time, Transmit};

/// A receiver of one message.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: RoceConfig,
    /// The next packet in order.
    expected: u64,
    /// Those after it that are here; none that goes back keeps any.
    early: RangeSet,
    /// Bytes of the message, once known.
    message: Option<u64>,
    /// It has said which packet it expects, and waits for that one (InfiniBand §9.7.5.2.8: one NAK for each gap).
    asked: bool,
    answer: Option<Bth>,
    /// What switches wrote into the packet that is answered.
    telemetry: Telemetry,
    /// A CNP is to be sent, and when the last one was.
    notifies: bool,
    notified: Option<Time>,
    /// When it closes, once all has arrived, if nothing comes.
    deadline: Option<Time>,
    events: [Option<Event>; 2],
    stats: Stats,
}

impl Receiver {
    /// Waits for a message.
    pub fn new(config: &RoceConfig) -> Self {
        Self {
            config: config.clone(),
            expected: 0,
            early: RangeSet::default(),
            message: None,
            asked: false,
            answer: None,
            telemetry: Telemetry::EMPTY,
            notifies: false,
            notified: None,
            deadline: None,
            events: [None; 2],
            stats: Stats::default(),
        }
    }

    /// The number of packets of the message, once known.
    fn packets(&self) -> Option<u64> {
        self.message.map(|bytes| packets(bytes, self.config.payload()))
    }

    /// A packet has arrived.
    pub(super) fn receive(&mut self, now: Time, arrival: &Arrival<Header>) {
        self.stats.trimmed_received += u64::from(arrival.trimmed);
        self.stats.marked_received += u64::from(arrival.ce);
        let Bth::Data { psn, message, asks } = arrival.header.bth else { return };
        if arrival.trimmed || arrival.returned {
            return;
        }
        let psn = whole(psn, self.expected);
        self.telemetry = arrival.header.telemetry;
        self.stats.data_received += 1;
        if let Some(dcqcn) = self.config.congestion.as_ref().filter(|_| arrival.ce).and_then(Congestion::dcqcn)
            && self.notified.is_none_or(|last| dcqcn.cnp_interval().is_none_or(|interval| now >= last + interval))
        {
            (self.notifies, self.notified) = (true, Some(now));
        }
        let message = *self.message.get_or_insert(message);
        let all = packets(message, self.config.payload());
        if psn >= all {
            return;
        }
        if psn > self.expected && self.config.repeat == Repeat::Selective {
            self.early.insert(psn, psn + 1);
            self.answer = Some(Bth::Gap { expected: self.expected, got: psn as u32 });
        } else if psn > self.expected {
            if !std::mem::replace(&mut self.asked, true) {
                self.answer = Some(Bth::Nak(self.expected));
            }
        } else if psn < self.expected {
            // A duplicate: its acknowledgement may be lost.
            self.answer = Some(Bth::Ack(self.expected));
        } else {
            let before = self.expected;
            self.expected = self.early.take_reached(psn + 1).unwrap_or(psn + 1);
            self.asked = false;
            self.stats.bytes_delivered = message.min(self.expected * self.config.payload());
            let every = u64::from(self.config.ack_every);
            if asks || self.expected == all || (every > 0 && self.expected / every > before / every) {
                self.answer = Some(Bth::Ack(self.expected));
            }
            if self.expected == all {
                self.events[0] = Some(Event::Completed { at: now });
            }
        }
        if self.expected == all {
            self.deadline = Some(now + self.config.linger());
        }
    }

    pub(super) fn time_passes(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.events[1] = Some(Event::Closed);
        }
    }

    pub(super) fn next_packet(&mut self, _now: Time) -> Option<Transmit<Header>> {
        if std::mem::take(&mut self.notifies) {
            // With 16 B that are reserved (Annex A17).
            return Some(Transmit::control(Bth::Cnp.into(), 0, self.config.header.0 as u32 + 16));
        }
        let header = Header { bth: self.answer.take()?, telemetry: self.telemetry };
        Some(Transmit::control(header, 0, self.config.header.0 as u32))
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.iter_mut().find_map(Option::take)
    }

    pub(super) fn stats(&self) -> Stats {
        self.stats
    }

    pub(super) fn waiting_for(&self) -> String {
        match self.packets() {
            Some(all) if self.expected == all => "for repetitions, all has arrived".to_owned(),
            Some(all) => format!("for packet {} of {all}", self.expected),
            None => "for the first packet".to_owned(),
        }
    }
}
