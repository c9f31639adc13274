//! One end of a transfer: handshake, teardown, timers, and the [`Endpoint`] that drivers see.
//!
//! The receiving application closes when it has read the FIN, so the receiver's last ACK carries its own FIN (RFC 9293
//! §3.6 case 1). It repeats that until the sender has acknowledged it, or until its retries are exhausted: a lost last
//! ACK never leaves the sender hanging. The sender is done when its FIN is acknowledged; there is no TIME-WAIT. If the
//! sender's own last ACK is lost and the driver has dropped it, the receiver stays in LAST-ACK for the time of its
//! retries, which delays nothing but its own `Closed`.

use super::config::TcpConfig;
use super::flow::FlowSpec;
use super::receiver::Receiver;
use super::segment::{Flags, Segment};
use super::sender::Sender;
use super::timer::RetransmissionTimer;
use crate::endpoint::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};
use crate::units::{Duration, Time};

mod handshake;
mod subflow;

use handshake::Handshake;

/// The states of RFC 9293 §3.3.2 that a transfer in one direction passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listen,
    SynSent,
    SynReceived,
    /// Data flows; FIN-WAIT too, since the FIN travels with the last segment.
    Established,
    /// Receiver: everything arrived, our FIN is not acknowledged yet.
    LastAck,
    Closed,
    Failed,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a transfer has one of each; what holds a connection is boxed")]
enum Half {
    Sender(Sender),
    Receiver(Receiver),
}

/// Events that wait to be polled, one bit each, in the order in which they are told.
#[derive(Clone, Copy, Debug, Default)]
struct Pending(u8);

impl Pending {
    const CONNECTED: u8 = 1;
    const COMPLETED: u8 = 2;
    const CLOSED: u8 = 4;
    const FAILED: u8 = 8;

    fn set(&mut self, event: u8) {
        self.0 |= event;
    }

    fn take(&mut self, event: u8) -> bool {
        let was = self.0 & event != 0;
        self.0 &= !event;
        was
    }
}

/// What the sender acknowledges without data. The receiver's stream is empty: its FIN is all that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    Ack,
    AckOfFin,
}

/// One end of a TCP transfer: the active sender or the passive receiver.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    pending: Pending,
    owed: Owed,
    handshake: Handshake,
    timer: RetransmissionTimer,
    /// When the object was complete.
    completed_at: Time,
    header: u32,
    /// The window that this end advertises.
    window: u32,
    timeouts: u32,
    half: Half,
}

impl Connection {
    /// The active end, which sends an object of `object_bytes` (`None`: a stream without end) from `now` on.
    pub fn connect(config: &TcpConfig, object_bytes: Option<u64>, now: Time) -> Self {
        Self::connect_with(config, FlowSpec::of(object_bytes), now)
    }

    /// The active end of a flow of which its application says more than the size.
    pub fn connect_with(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let mut connection = Self::new(config, State::SynSent, Half::Sender(Sender::new(config, flow, now)));
        if config.handshake {
            connection.handshake.demand();
        } else {
            connection.state = State::Established;
            connection.pending.set(Pending::CONNECTED);
        }
        connection
    }

    /// The passive end, which receives one object.
    pub fn listen(config: &TcpConfig) -> Self {
        let mut connection = Self::new(config, State::Listen, Half::Receiver(Receiver::new(config)));
        if !config.handshake {
            connection.state = State::SynReceived;
        }
        connection
    }

    fn new(config: &TcpConfig, state: State, half: Half) -> Self {
        let timer = RetransmissionTimer::new(config);
        Self {
            state,
            pending: Pending::default(),
            owed: Owed::Nothing,
            handshake: Handshake::new(config, &timer),
            timer,
            completed_at: Time::ZERO,
            header: config.header.0 as u32,
            window: config.receive_window.0 as u32,
            timeouts: 0,
            half,
        }
    }

    /// Congestion window in bytes; `None` at the receiver.
    pub fn cwnd(&self) -> Option<u64> {
        match &self.half {
            Half::Sender(sender) => Some(sender.cwnd()),
            Half::Receiver(_) => None,
        }
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn smoothed_rtt(&self) -> Duration {
        self.timer.srtt()
    }

    #[inline]
    fn transmit(&self, segment: Segment, ect: bool, priority: u8, rank: u16) -> Transmit<Segment> {
        let bare = self.header + segment.option_bytes();
        Transmit { priority, ect, rank, ..Transmit::data(segment, 0, bare + u32::from(segment.len), bare) }
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.timer.stop();
        self.pending.set(Pending::CLOSED);
    }

    fn fail(&mut self) {
        self.state = State::Failed;
        self.timer.stop();
        self.pending.set(Pending::FAILED);
    }

    /// The handshake is over; `is_sample`: what was sent of it is answered.
    fn establish(&mut self, now: Time, is_sample: bool) {
        self.handshake.end(now, &mut self.timer, is_sample);
        self.state = State::Established;
        self.pending.set(Pending::CONNECTED);
    }

    fn on_syn_ack(&mut self, now: Time, segment: &Segment) {
        let Half::Sender(sender) = &mut self.half else { return };
        self.handshake.on_syn_ack(segment.flags);
        let (ecn, sack) = self.handshake.options();
        sender.set_options(ecn, sack, segment.window);
        if self.timer.consecutive() > 0 {
            sender.start_with_one_segment();
        }
        // Data acknowledges as well, where there is any.
        self.owed = if sender.waits_for_data() { Owed::Ack } else { Owed::Nothing };
        self.establish(now, true);
    }

    fn on_syn(&mut self, segment: &Segment) {
        let Half::Receiver(receiver) = &mut self.half else { return };
        match self.state {
            State::Listen | State::SynReceived => {
                self.handshake.on_syn(segment.flags);
                let (ecn, sack) = self.handshake.options();
                receiver.set_options(ecn, sack);
                self.state = State::SynReceived;
            }
            // RFC 9293 §3.10.7.4: an old SYN is answered by an ACK.
            _ => receiver.acknowledge_now(),
        }
    }

    #[inline]
    fn on_packet_at_sender(&mut self, now: Time, segment: &Segment) {
        let Half::Sender(sender) = &mut self.half else { return };
        match self.state {
            State::Established => {
                if segment.flags.has(Flags::SYN) {
                    // The receiver repeated its SYN-ACK: our ACK has not reached it.
                    self.owed = Owed::Ack;
                }
                sender.on_ack(&mut self.timer, now, segment);
                if sender.is_finished() {
                    self.owed = if segment.flags.has(Flags::FIN) { Owed::AckOfFin } else { Owed::Nothing };
                    self.close();
                }
            }
            State::SynSent if segment.flags.has(Flags::SYN | Flags::ACK) => self.on_syn_ack(now, segment),
            State::Closed if segment.flags.has(Flags::FIN) => self.owed = Owed::AckOfFin,
            _ => {}
        }
    }

    #[inline]
    fn on_packet_at_receiver(&mut self, now: Time, segment: &Segment, ce: bool) {
        if segment.flags.has(Flags::SYN) {
            self.on_syn(segment);
            return;
        }
        match self.state {
            State::Listen => return,
            // Any segment with ACK ends the handshake: the sender's third packet already carries data.
            State::SynReceived => {
                let is_answer = self.timer.deadline() != Time::MAX || self.timer.consecutive() > 0;
                self.establish(now, is_answer);
            }
            State::LastAck if segment.ack > 0 => self.close(),
            _ => {}
        }
        let Half::Receiver(receiver) = &mut self.half else { return };
        if segment.len == 0 && !segment.flags.has(Flags::FIN) {
            return;
        }
        receiver.on_data(now, segment, ce);
        if self.state == State::Established && receiver.is_finished() {
            self.state = State::LastAck;
            self.completed_at = now;
            self.pending.set(Pending::COMPLETED);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        let probing = matches!(&self.half, Half::Sender(sender) if sender.keeps_probing());
        let tries_left = self.timer.fire() || probing;
        if !tries_left && self.state == State::LastAck {
            // Everything was delivered; only the farewell got lost.
            self.close();
            return;
        }
        if !tries_left {
            self.fail();
            return;
        }
        self.timeouts += 1;
        match (self.state, &mut self.half) {
            (State::SynSent | State::SynReceived, _) => self.handshake.demand(),
            (State::LastAck, Half::Receiver(receiver)) => receiver.acknowledge_now(),
            (_, Half::Sender(sender)) => sender.on_timeout(&self.timer, now),
            _ => {}
        }
    }

    /// SYN or SYN-ACK.
    fn poll_syn(&mut self, now: Time) -> Transmit<Segment> {
        let flags = self.handshake.send(now, &mut self.timer, matches!(self.half, Half::Receiver(_)));
        self.transmit(Segment { window: self.window, flags, ..Segment::default() }, false, 0, 0)
    }
}

impl Endpoint for Connection {
    type Header = Segment;

    #[inline]
    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Segment>) {
        // TCP knows neither trimming nor return to sender: such a packet fails its checksum, or is not for us.
        if arrival.trimmed || arrival.returned {
            return;
        }
        match self.half {
            Half::Sender(_) => self.on_packet_at_sender(now, &arrival.header),
            Half::Receiver(_) => self.on_packet_at_receiver(now, &arrival.header, arrival.ce),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Half::Receiver(receiver) = &mut self.half {
            receiver.on_timeout(now);
        }
        if now >= self.timer.deadline() {
            self.on_retransmission_timeout(now);
        }
    }

    #[inline]
    fn set_departure(&mut self, at: Time) {
        self.timer.set_departure(at);
    }

    #[inline]
    fn uses_departure(&self) -> bool {
        matches!(self.half, Half::Sender(_)) || self.state != State::Established
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        if self.handshake.is_due() {
            // The application opens the connection when it has something to send.
            let begins = !matches!(&self.half, Half::Sender(sender) if sender.has_nothing());
            return begins.then(|| self.poll_syn(now));
        }
        match &mut self.half {
            Half::Sender(sender) => {
                if self.state == State::Established
                    && let Some(mut out) = sender.poll_transmit(&mut self.timer, now)
                {
                    // Data acknowledges as well.
                    self.owed = Owed::Nothing;
                    out.segment.window = self.window;
                    return Some(self.transmit(out.segment, out.ect, out.priority, out.rank));
                }
                if self.owed == Owed::Nothing {
                    return None;
                }
                let ack = u64::from(self.owed == Owed::AckOfFin);
                self.owed = Owed::Nothing;
                let segment = Segment { ack, window: self.window, flags: Flags::ACK, ..Segment::default() };
                Some(self.transmit(segment, false, 0, 0))
            }
            Half::Receiver(receiver) => {
                let mut segment = receiver.poll_ack()?;
                if self.state == State::LastAck && receiver.is_finished() {
                    segment.flags = segment.flags | Flags::FIN.when(segment.ack > receiver.delivered());
                    self.timer.start(now);
                }
                Some(self.transmit(segment, false, 0, 0))
            }
        }
    }

    fn set_available(&mut self, _now: Time, bytes: u64) {
        if let Half::Sender(sender) = &mut self.half {
            sender.set_available(bytes);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        let deadline = match &self.half {
            Half::Sender(sender) if self.state == State::Established => self.timer.deadline().min(sender.release()),
            Half::Sender(_) => self.timer.deadline(),
            Half::Receiver(receiver) => self.timer.deadline().min(receiver.deadline()),
        };
        (deadline != Time::MAX).then_some(deadline)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        if self.pending.0 == 0 {
            return None;
        }
        if self.pending.take(Pending::CONNECTED) {
            return Some(Event::Connected);
        }
        if self.pending.take(Pending::COMPLETED) {
            return Some(Event::Completed { at: self.completed_at });
        }
        if self.pending.take(Pending::FAILED) {
            return Some(Event::Failed(FailureReason::TimedOut));
        }
        // Not while the last ACK still has to leave.
        (self.owed == Owed::Nothing && self.pending.take(Pending::CLOSED)).then_some(Event::Closed)
    }

    fn stats(&self) -> Stats {
        let stats = match &self.half {
            Half::Sender(sender) => sender.stats(),
            Half::Receiver(receiver) => receiver.stats(),
        };
        Stats { timeouts: self.timeouts.into(), ..stats }
    }

    fn congestion_window(&self) -> Option<u64> {
        self.cwnd()
    }

    fn waiting_for(&self) -> String {
        match (self.state, &self.half) {
            (State::Listen, _) => "a SYN".into(),
            (State::SynSent, _) => format!("the SYN-ACK; timeout {}", self.timer.rto()),
            (State::SynReceived, _) => format!("the first data; timeout {}", self.timer.rto()),
            (State::LastAck, _) => "the ACK of the receiver's FIN; the object is complete".into(),
            (State::Closed, _) => "nothing: closed".into(),
            (State::Failed, _) => "nothing: gave up".into(),
            (State::Established, Half::Sender(sender)) => sender.waiting_for(self.timer.rto()),
            (State::Established, Half::Receiver(receiver)) => receiver.waiting_for(),
        }
    }
}
