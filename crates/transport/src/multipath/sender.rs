//! The sending end: data is handed out to its connections by the segment, when their windows have room for one.
//!
//! [`Data`] says what is handed out, [`Placing`] where it belongs, [`Resets`] which connections are over without a FIN.

use super::bundle::{Bundle, Set, members, next_of};
use super::config::MultipathConfig;
use super::coupling;
use super::data::Data;
use super::events::Events;
use super::header::Header;
use super::packet::reset;
use super::placing::Placing;
use super::resets::Resets;
use crate::endpoint::{Endpoint, Event, FailureReason, Stats, Transmit};
use crate::tcp::{Connection, Flags, FlowSpec, Segment};
use crate::units::Time;

/// The active end.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    config: Box<MultipathConfig>,
    bundle: Bundle,
    data: Data,
    placing: Placing,
    resets: Resets,
    events: Events,
    /// Subflows that may be opened: with MPTCP the first one alone until it is established (RFC 8684 §3.2).
    open: Set,
    /// The subflow that is asked first for the next packet.
    turn: usize,
}

impl Sender {
    pub(super) fn new(config: &MultipathConfig, flow: FlowSpec, now: Time) -> Self {
        let n = config.subflows(flow.paths);
        let bundle = Bundle::new((0..n).map(|_| Connection::subflow(&config.tcp, flow, now)).collect());
        let mut sender = Self {
            open: if config.is_mptcp() && config.tcp.handshake { 1 } else { bundle.all() },
            config: Box::new(config.clone()),
            bundle,
            data: Data::new(config, flow.bytes, n),
            placing: Placing::new(n),
            resets: Resets::default(),
            events: Events::default(),
            turn: 0,
        };
        (0..n).for_each(|i| sender.take_events(i));
        sender
    }

    /// The application has the first `bytes` bytes of the object; if this is never called, all of it.
    pub(super) fn set_available(&mut self, bytes: u64) {
        self.data.set_available(bytes);
    }

    pub(super) fn subflows(&self) -> u8 {
        self.bundle.ends().len() as u8
    }

    /// Once nothing more is handed out, FINs follow. With MPTCP a subflow that does not get through is reset, as its data has arrived on
    /// another, and one that is not open yet is given up (RFC 8684 §3.3.3).
    fn finish_if_over(&mut self) {
        if !self.data.ends() {
            return;
        }
        for i in members(self.bundle.all() & !self.bundle.closed()) {
            let end = self.bundle.end_mut(i);
            let unused = end.is_opening() && (self.data.size() > 0 || i > 0);
            if self.config.is_mptcp() && (unused || end.timeouts_in_a_row() > 0) {
                self.reset(i, !unused);
            } else {
                end.finish();
                self.bundle.touched(i);
            }
        }
    }

    fn reset(&mut self, i: usize, told: bool) {
        self.bundle.abort(i);
        self.resets.end(i, told);
    }

    /// Takes a subflow's events.
    fn take_events(&mut self, i: usize) {
        while let Some(event) = self.bundle.end_mut(i).poll_event() {
            match event {
                Event::Connected if self.events.on_connected() => {
                    self.open = self.bundle.all();
                    self.bundle.wake_all();
                }
                Event::Closed => self.bundle.close(i),
                Event::Failed(reason) => self.give_up(i, reason),
                _ => {}
            }
        }
    }

    /// A subflow has exhausted its retries. MPTCP continues on the others.
    fn give_up(&mut self, i: usize, reason: FailureReason) {
        self.send_again(i);
        self.bundle.close(i);
        let others = self.bundle.all() & self.open & !self.bundle.closed();
        if !self.config.is_mptcp() || (others == 0 && !self.data.is_over()) {
            members(self.bundle.all()).for_each(|j| self.bundle.abort(j));
            self.events.on_failed(reason);
        }
    }

    /// A subflow's unacknowledged data is sent on the others, too.
    fn send_again(&mut self, i: usize) {
        let unacknowledged = self.bundle.ends()[i].unacknowledged();
        if self.data.send_again(self.placing.map(i).data_of(unacknowledged)) {
            self.bundle.wake_all();
        }
    }

    pub(super) fn handle_packet(&mut self, now: Time, header: &Header, arrival: &crate::Arrival<Segment>) {
        let i = header.subflow();
        if i >= self.bundle.ends().len() || arrival.trimmed || arrival.returned {
            return;
        }
        let segment = &arrival.header;
        if segment.flags.has(Flags::RST) {
            if !self.bundle.is_closed(i) {
                self.send_again(i);
                self.reset(i, false);
            }
            self.resets.on_reset(i);
            return;
        }
        if self.resets.answer(i) {
            return;
        }
        if self.config.is_coupled() {
            coupling::couple(self.bundle.ends_mut(), self.open, i, self.config.tcp.mss());
        }
        let end = self.bundle.end_mut(i);
        end.handle_packet(now, arrival);
        self.placing.forget_below(i, end.acknowledged());
        self.bundle.touched(i);
        if segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::SYN)
            && self.data.on_ack(header.data, u64::from(segment.window))
        {
            self.bundle.wake_all();
        }
        self.finish_if_over();
        self.take_events(i);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        for i in members(self.bundle.due(now) & self.open) {
            let end = self.bundle.end_mut(i);
            let before = end.timeouts_in_a_row();
            end.handle_timeout(now);
            let is_first = before == 0 && end.timeouts_in_a_row() > 0;
            self.bundle.touched(i);
            // RFC 8684 §3.3.6; Linux does so at the first timeout.
            if is_first {
                self.send_again(i);
            }
            self.take_events(i);
        }
    }

    pub(super) fn set_departure(&mut self, at: Time) {
        self.bundle.set_departure(at);
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.bundle.deadline();
        (deadline != Time::MAX).then_some(deadline)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.poll(self.bundle.is_all_closed() && !self.resets.any_due())
    }

    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        let (size, ends) = (self.data.size(), self.bundle.ends());
        if let Some(rest) = self.placing.take_rest(|i| ends[i].acknowledged(), size, &self.config) {
            return Some(rest);
        }
        if let Some(i) = self.resets.take() {
            return Some(reset(i, self.config.bare_header() + self.config.options.ack));
        }
        if self.data.provide() {
            self.bundle.wake_all();
            self.finish_if_over();
        }
        if !self.data.has_begun() {
            // The application opens the connection when it has something to send.
            return None;
        }
        let (i, out) = self.poll_waiting(now).or_else(|| self.poll_new(now))?;
        Some(self.placing.place(i, out, size, &self.config))
    }

    /// What TCP itself has to send, on subflows that do not wait for data.
    fn poll_waiting(&mut self, now: Time) -> Option<(usize, Transmit<Segment>)> {
        let mut left = self.bundle.ready() & self.open;
        while let Some(i) = next_of(left, self.turn) {
            left &= !(1 << i);
            if !self.bundle.ends()[i].wants_data()
                && let Some(out) = self.poll(i, now)
            {
                return Some((i, out));
            }
        }
        None
    }

    /// New data, for one of the subflows that wait for it.
    fn poll_new(&mut self, now: Time) -> Option<(usize, Transmit<Segment>)> {
        let candidates = self.bundle.ready() & self.open;
        if let Some(i) = self.data.choose(candidates, self.bundle.ends(), self.turn)
            && let Some(piece) = self.data.take(i, self.bundle.ends(), self.placing.map(i))
        {
            self.placing.push(i, &piece);
            self.bundle.end_mut(i).hand_out(piece.end - piece.start);
            self.finish_if_over();
            if let Some(out) = self.poll(i, now) {
                return Some((i, out));
            }
            debug_assert!(false, "who wants data sends it");
        }
        // There is no data, and the subflows are told so.
        members(candidates).find_map(|i| self.poll(i, now).map(|out| (i, out)))
    }

    fn poll(&mut self, i: usize, now: Time) -> Option<Transmit<Segment>> {
        if !self.config.tcp.priority_thresholds.is_empty() {
            let all: u64 = self.bundle.ends().iter().map(Connection::sent).sum();
            let end = self.bundle.end_mut(i);
            end.set_sent_elsewhere(all - end.sent());
        }
        let out = self.bundle.poll(i, now);
        if out.is_some() {
            self.turn = i + 1;
        } else {
            self.take_events(i);
        }
        out
    }

    pub(super) fn stats(&self) -> Stats {
        let sum = self.bundle.stats();
        let data_sent = self.placing.data_packets(sum.data_sent);
        Stats { data_sent, retransmitted: sum.retransmitted + self.data.reinjected(), ..sum }
    }

    pub(super) fn context_switches(&self) -> u64 {
        self.data.context_switches()
    }

    pub(super) fn congestion_window(&self) -> u64 {
        self.bundle.ends().iter().filter_map(Connection::cwnd).sum()
    }

    pub(super) fn waiting_for(&self) -> String {
        self.bundle.waiting_for()
    }
}
