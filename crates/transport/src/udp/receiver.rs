//! The end that wants the object: counts what arrives.

use super::{Header, UdpConfig, packets};
use crate::units::Time;
use crate::{Arrival, Event, Stats};

/// The receiving end. Reports `Completed` and `Closed` when as many bytes have arrived as the object has; if packets were
/// lost, never.
#[derive(Clone, Debug)]
pub struct Receiver {
    payload: u64,
    /// Bytes of the object, as the first packet told them.
    object: Option<u64>,
    delivered: u64,
    /// Events that have not been told, the last one first.
    events: Vec<Event>,
    closed: bool,
    stats: Stats,
}

impl Receiver {
    /// Waits for a sender. `config` must be valid, and have the sender's `packet` and `header`.
    pub fn new(config: &UdpConfig) -> Self {
        Self {
            payload: config.payload(),
            object: None,
            delivered: 0,
            events: Vec::new(),
            closed: false,
            stats: Stats::default(),
        }
    }

    pub(super) fn receive(&mut self, now: Time, arrival: &Arrival<Header>) {
        let Header { seq, object } = arrival.header;
        let foreign = self.object.is_some_and(|known| known != object) || seq >= packets(object, self.payload);
        if self.closed || arrival.returned || foreign {
            return;
        }
        self.stats.marked_received += u64::from(arrival.ce);
        if arrival.trimmed {
            self.stats.trimmed_received += 1;
            return;
        }
        self.object = Some(object);
        self.stats.data_received += 1;
        self.delivered += self.payload.min(object - seq * self.payload);
        if self.delivered >= object {
            self.closed = true;
            self.events = vec![Event::Closed, Event::Completed { at: now }];
        }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    pub(super) fn stats(&self) -> Stats {
        Stats { bytes_delivered: self.delivered, ..self.stats }
    }

    pub(super) fn waiting_for(&self) -> String {
        let (has, closed) = (self.delivered, self.closed);
        match self.object {
            None => "UDP receiver: the first packet of the sender".into(),
            Some(_) if closed => "nothing: everything has arrived".into(),
            Some(object) => format!("UDP receiver: has {has} of {object} bytes; what was lost is not sent again"),
        }
    }
}
