//! Either end of a transfer over several connections.

use super::config::MultipathConfig;
use super::header::Header;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::endpoint::{Arrival, Endpoint, Event, Stats, Transmit};
use crate::tcp::FlowSpec;
use crate::units::Time;

/// One end of a transfer over several TCP connections: Front-Back's or MPTCP's.
#[derive(Clone, Debug)]
pub struct Connection(End);

#[derive(Clone, Debug)]
enum End {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

impl Connection {
    /// The active end, which sends an object from `now` on.
    pub fn connect(config: &MultipathConfig, flow: FlowSpec, now: Time) -> Self {
        Self(End::Sender(Box::new(Sender::new(config, flow, now))))
    }

    /// The passive end of the same flow.
    pub fn listen(config: &MultipathConfig, flow: FlowSpec) -> Self {
        Self(End::Receiver(Box::new(Receiver::new(config, flow))))
    }

    /// Jumps of the subflows' pointers into the reassembly buffer so far (Song 2017, §4.1), at a sender with the Front-Back session layer;
    /// 0 elsewhere.
    pub fn context_switches(&self) -> u64 {
        match &self.0 {
            End::Sender(sender) => sender.context_switches(),
            End::Receiver(_) => 0,
        }
    }
}

macro_rules! either {
    ($self:ident, $end:ident => $call:expr) => {
        match &$self.0 {
            End::Sender($end) => $call,
            End::Receiver($end) => $call,
        }
    };
    (mut $self:ident, $end:ident => $call:expr) => {
        match &mut $self.0 {
            End::Sender($end) => $call,
            End::Receiver($end) => $call,
        }
    };
}

impl Endpoint for Connection {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let Arrival { header, from, trimmed, ce, returned } = *arrival;
        let inner = Arrival { header: header.segment(), from, trimmed, ce, returned };
        either!(mut self, end => end.handle_packet(now, &header, &inner));
    }
    fn handle_timeout(&mut self, now: Time) {
        either!(mut self, end => end.handle_timeout(now));
    }
    fn set_departure(&mut self, at: Time) {
        either!(mut self, end => end.set_departure(at));
    }
    fn uses_departure(&self) -> bool {
        true
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        either!(mut self, end => end.poll_transmit(now))
    }
    fn poll_timeout(&self) -> Option<Time> {
        either!(self, end => end.poll_timeout())
    }
    fn poll_event(&mut self) -> Option<Event> {
        either!(mut self, end => end.poll_event())
    }
    fn set_available(&mut self, _now: Time, bytes: u64) {
        if let End::Sender(sender) = &mut self.0 {
            sender.set_available(bytes);
        }
    }
    fn stats(&self) -> Stats {
        either!(self, end => end.stats())
    }
    fn subflows(&self) -> u8 {
        either!(self, end => end.subflows())
    }
    fn congestion_window(&self) -> Option<u64> {
        match &self.0 {
            End::Sender(sender) => Some(sender.congestion_window()),
            End::Receiver(_) => None,
        }
    }
    fn waiting_for(&self) -> String {
        either!(self, end => end.waiting_for())
    }
}
