//! The sending end: data is handed out to its connections by the segment, when their windows have room for one.

use super::bundle::{Bundle, Set, members, next_of};
use super::config::{MultipathConfig, Policy};
use super::coupling;
use super::front_back_data::Blocks;
use super::header::Header;
use super::mapping::Mappings;
use super::mptcp::DataLevel;
use super::packet::{reset, wrap};
use super::session::Scheduler;
use crate::endpoint::{Endpoint, Event, FailureReason, Stats, Transmit};
use crate::tcp::{Connection, Flags, FlowSpec, Segment};
use crate::units::Time;
use std::ops::Range;

/// Which data is sent next, and on which subflow.
#[derive(Clone, Debug)]
enum Data {
    FrontBack(Blocks),
    Mptcp(DataLevel),
}

impl Data {
    fn provide(&mut self, end: u64) {
        match self {
            Self::FrontBack(blocks) => blocks.provide(end),
            Self::Mptcp(data) => data.provide(end),
        }
    }

    /// Which of these subflows gets the next segment.
    fn choose(&self, candidates: Set, ends: &[Connection], turn: usize) -> Option<usize> {
        match self {
            Self::FrontBack(_) => next_of(candidates, turn),
            Self::Mptcp(data) => data.choose(candidates, ends, turn),
        }
    }

    fn take(&mut self, i: usize, ends: &[Connection], map: &Mappings) -> Option<Range<u64>> {
        match self {
            Self::FrontBack(blocks) => blocks.take(i, ends),
            Self::Mptcp(data) => {
                data.take().or_else(|| data.take_oldest(|byte| map.carries(ends[i].unacknowledged(), byte)))
            }
        }
    }

    /// Whether no subflow will be given any more data of an object of this size. With MPTCP only once all of it has arrived: until then
    /// it may have to be sent on another subflow.
    fn is_over(&self, size: u64, provided: u64) -> bool {
        match self {
            Self::FrontBack(blocks) => provided >= size && blocks.is_exhausted(),
            Self::Mptcp(data) => data.acknowledged() >= size,
        }
    }
}

/// The active end.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    config: Box<MultipathConfig>,
    bundle: Bundle,
    maps: Vec<Mappings>,
    data: Data,
    /// Bytes of the object; `u64::MAX`: a stream without end.
    size: u64,
    /// Bytes that the application has provided, and those that the data level knows of.
    available: u64,
    provided: u64,
    /// Subflows that may be opened: with MPTCP the first one alone until it is established (RFC 8684 §3.2).
    open: Set,
    /// The subflow that is asked first for the next packet.
    turn: usize,
    /// Whether the subflows know that there is no more data.
    over: bool,
    /// Subflows that ended without a FIN, and those for which the other end must be told so.
    aborted: Set,
    resets: Set,
    /// The rest of a segment whose bytes belong in several places.
    split: Option<(usize, Transmit<Segment>)>,
    departure: Time,
    connected: bool,
    event: Option<Event>,
    closed_told: bool,
    further_packets: u64,
    /// Packets that only end a subflow: not data packets, except for an object without data.
    bare_fins: u64,
}

impl Sender {
    pub(super) fn new(config: &MultipathConfig, flow: FlowSpec, now: Time) -> Self {
        let n = config.subflows(flow.paths);
        let ends = (0..n).map(|_| Connection::subflow(&config.tcp, flow, now)).collect();
        let segment = config.tcp.mss();
        let data = match config.policy {
            Policy::FrontBack(scheduler) => {
                // A stream without end has neither parts nor a back.
                let scheduler = if flow.bytes.is_none() { Scheduler::RoundRobin } else { scheduler };
                Data::FrontBack(Blocks::new(scheduler, n, segment))
            }
            Policy::Mptcp { scheduler, opportunistic } => {
                Data::Mptcp(DataLevel::new(scheduler, opportunistic, segment, config.tcp.receive_window.0))
            }
        };
        let bundle = Bundle::new(ends);
        let size = flow.bytes.unwrap_or(u64::MAX);
        let mut sender = Self {
            open: if config.is_mptcp() && config.tcp.handshake { 1 } else { bundle.all() },
            config: Box::new(config.clone()),
            bundle,
            maps: vec![Mappings::default(); n],
            data,
            size,
            available: size,
            provided: 0,
            turn: 0,
            over: false,
            aborted: 0,
            resets: 0,
            split: None,
            departure: Time::ZERO,
            connected: false,
            event: None,
            closed_told: false,
            further_packets: 0,
            bare_fins: 0,
        };
        (0..n).for_each(|i| sender.take_events(i));
        sender
    }

    /// The application has the first `bytes` bytes of the object; if this is never called, all of it.
    pub(super) fn set_available(&mut self, bytes: u64) {
        self.available = bytes.min(self.size);
    }

    fn provide(&mut self) {
        self.provided = self.available;
        self.data.provide(self.provided);
        self.bundle.wake_all();
        self.finish_if_over();
    }

    pub(super) fn subflows(&self) -> u8 {
        self.bundle.ends.len() as u8
    }

    /// Once nothing more is handed out, FINs follow. With MPTCP a subflow that does not get through is reset, as its data has arrived on
    /// another, and one that is not open yet is given up (RFC 8684 §3.3.3).
    fn finish_if_over(&mut self) {
        if self.over || self.size == u64::MAX || !self.data.is_over(self.size, self.provided) {
            return;
        }
        self.over = true;
        for i in members(self.bundle.all() & !self.bundle.closed()) {
            let end = &mut self.bundle.ends[i];
            let unused = end.is_opening() && (self.size > 0 || i > 0);
            if self.config.is_mptcp() && (unused || end.timeouts_in_a_row() > 0) {
                self.reset(i, !unused);
            } else {
                end.finish();
                self.bundle.touched(i);
            }
        }
    }

    fn reset(&mut self, i: usize, told: bool) {
        self.bundle.ends[i].abort();
        self.bundle.close(i);
        self.aborted |= 1 << i;
        self.resets |= u64::from(told) << i;
    }

    /// Takes a subflow's events.
    fn take_events(&mut self, i: usize) {
        while let Some(event) = self.bundle.ends[i].poll_event() {
            match event {
                Event::Connected if !self.connected => {
                    (self.connected, self.open) = (true, self.bundle.all());
                    self.event = Some(event);
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
        if !self.config.is_mptcp() || (others == 0 && !self.over) {
            self.bundle.ends.iter_mut().for_each(Connection::abort);
            (0..self.bundle.ends.len()).for_each(|j| self.bundle.close(j));
            (self.event, self.closed_told) = (Some(Event::Failed(reason)), true);
        }
    }

    /// A subflow's unacknowledged data is sent on the others, too.
    fn send_again(&mut self, i: usize) {
        let Data::Mptcp(data) = &mut self.data else { return };
        for piece in self.maps[i].data_of(self.bundle.ends[i].unacknowledged()) {
            data.send_again(&piece);
        }
        self.bundle.wake_all();
    }

    pub(super) fn handle_packet(&mut self, now: Time, header: &Header, arrival: &crate::Arrival<Segment>) {
        let i = header.subflow();
        if i >= self.bundle.ends.len() || arrival.trimmed || arrival.returned {
            return;
        }
        let segment = &arrival.header;
        if segment.flags.has(Flags::RST) {
            if !self.bundle.is_closed(i) {
                self.send_again(i);
                self.reset(i, false);
            }
            self.resets &= !(1 << i);
            return;
        }
        if self.aborted & (1 << i) != 0 {
            // RFC 9293 §3.10.7.1: a segment for a connection that does not exist is answered with a reset.
            self.resets |= 1 << i;
            return;
        }
        if self.config.is_coupled() {
            coupling::couple(&mut self.bundle.ends, self.open, i, self.config.tcp.mss());
        }
        self.bundle.ends[i].handle_packet(now, arrival);
        let acknowledged = self.bundle.ends[i].acknowledged();
        self.maps[i].forget_below(acknowledged);
        self.bundle.touched(i);
        if let Data::Mptcp(data) = &mut self.data
            && segment.flags.has(Flags::ACK)
            && !segment.flags.has(Flags::SYN)
            && data.on_ack(header.data, u64::from(segment.window))
        {
            self.bundle.wake_all();
        }
        self.finish_if_over();
        self.take_events(i);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        for i in members(self.bundle.due(now) & self.open) {
            let before = self.bundle.ends[i].timeouts_in_a_row();
            self.bundle.ends[i].handle_timeout(now);
            self.bundle.touched(i);
            // RFC 8684 §3.3.6; Linux does so at the first timeout.
            if before == 0 && self.bundle.ends[i].timeouts_in_a_row() > 0 {
                self.send_again(i);
            }
            self.take_events(i);
        }
    }

    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let deadline = self.bundle.deadline();
        (deadline != Time::MAX).then_some(deadline)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.event.take() {
            return Some(event);
        }
        let over = self.bundle.closed() == self.bundle.all() && self.resets == 0 && !self.closed_told;
        self.closed_told |= over;
        over.then_some(Event::Closed)
    }

    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if let Some((i, rest)) = self.split.take()
            // Unless it has arrived meanwhile.
            && rest.header.seq >= self.bundle.ends[i].acknowledged()
        {
            self.further_packets += 1;
            return Some(self.map(i, rest));
        }
        if let Some(i) = members(self.resets).next() {
            self.resets &= self.resets - 1;
            return Some(self.rst(i));
        }
        if self.available > self.provided || (self.size == 0 && !self.over) {
            self.provide();
        }
        if self.provided == 0 && self.size > 0 {
            // The application opens the connection when it has something to send.
            return None;
        }
        self.poll_waiting(now).or_else(|| self.poll_new(now)).map(|(i, out)| self.map(i, out))
    }

    /// What TCP itself has to send, on subflows that do not wait for data.
    fn poll_waiting(&mut self, now: Time) -> Option<(usize, Transmit<Segment>)> {
        let mut left = self.bundle.ready() & self.open;
        while let Some(i) = next_of(left, self.turn) {
            left &= !(1 << i);
            if !self.bundle.ends[i].wants_data()
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
        if let Some(i) = self.data.choose(candidates, &self.bundle.ends, self.turn)
            && let Some(piece) = self.data.take(i, &self.bundle.ends, &self.maps[i])
        {
            self.maps[i].push(&piece);
            self.bundle.ends[i].hand_out(piece.end - piece.start);
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
            let elsewhere = self.bundle.ends.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, end)| end.sent());
            let sent = elsewhere.sum();
            self.bundle.ends[i].set_sent_elsewhere(sent);
        }
        let out = self.bundle.poll(i, now, self.departure);
        if out.is_some() {
            self.turn = i + 1;
        } else {
            self.take_events(i);
        }
        out
    }

    /// Adds where a segment's data belongs. Data that belongs elsewhere is left for another packet.
    fn map(&mut self, i: usize, mut out: Transmit<Segment>) -> Transmit<Header> {
        let (mut segment, options) = (out.header, self.config.options);
        let mut data = self.size;
        if segment.len > 0 {
            let (at, together) = self.maps[i].at(segment.seq).expect("what is sent has been handed out");
            data = at;
            let len = u64::from(segment.len);
            if together < len {
                let mut rest = out;
                rest.header.seq += together;
                rest.header.len -= together as u16;
                rest.header.flags = segment.flags.without(Flags::CWR);
                rest.size = out.size - together as u32;
                segment.len = together as u16;
                segment.flags = segment.flags.without(Flags::FIN);
                out.size = out.trimmed_size + u32::from(segment.len);
                self.split = Some((i, rest));
            }
        } else if !segment.flags.has(Flags::FIN) {
            let option = if segment.flags.has(Flags::SYN) { self.config.syn_option(i, 0) } else { options.ack };
            out.size = out.size - options.data + option;
            out.trimmed_size = out.size;
            data = 0;
        } else {
            self.bare_fins += 1;
        }
        let carries = segment.len > 0 || segment.flags.has(Flags::FIN);
        let last = carries && self.size != u64::MAX && data + u64::from(segment.len) == self.size;
        segment.flags = segment.flags | Flags::DATA_FIN.when(last);
        out.header = segment;
        wrap(i, &out, data)
    }

    fn rst(&self, i: usize) -> Transmit<Header> {
        reset(i, self.config.bare_header() + self.config.options.ack)
    }

    pub(super) fn stats(&self) -> Stats {
        let mut sum = self.bundle.stats();
        sum.data_sent = (sum.data_sent + self.further_packets).saturating_sub(self.bare_fins);
        if let Data::Mptcp(data) = &self.data {
            sum.retransmitted += data.reinjected;
        }
        sum
    }

    pub(super) fn context_switches(&self) -> u64 {
        match &self.data {
            Data::FrontBack(blocks) => blocks.context_switches(),
            Data::Mptcp(_) => 0,
        }
    }

    pub(super) fn congestion_window(&self) -> u64 {
        self.bundle.ends.iter().filter_map(Connection::cwnd).sum()
    }

    pub(super) fn waiting_for(&self) -> String {
        self.bundle.waiting_for()
    }
}
