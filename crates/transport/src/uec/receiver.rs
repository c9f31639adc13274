//! The end that wants the object: acknowledges, and gives credit at its own pace.

use super::UecConfig;
use super::config::Control;
use super::header::{ACKS_A_REQUEST, Header, map_base};
use crate::ndp::Stamp;
use crate::ndp::arrived::Arrived;
use crate::object::Object;
use crate::outbox::Outbox;
use crate::pull::IN_TURN;
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, Stats, Transmit};

/// Urgency of credit: for packets that were trimmed, for others, and for a sender that wants none now.
const AGAIN: u8 = IN_TURN - 1;
const NEW: u8 = IN_TURN;
const IDLE: u8 = IN_TURN + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No packet has come.
    Listening,
    Receiving,
    /// Everything has come; late copies are still answered.
    Lingering,
    /// `Closed` was reported; copies are answered for as long as the driver delivers any.
    Closed,
}

/// The receiving end of a connection. Reports `Completed` when it has everything and `Closed` when it need not be kept to answer late
/// copies any more.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: State,
    /// What the first packet says; nothing before.
    object: Object,
    arrived: Arrived,
    /// Bytes of all packets that have arrived, and of those since the last acknowledgement; headers included.
    received: u64,
    unacknowledged: u64,
    /// An acknowledgement was asked for while packets were missing: another one is due when none is.
    asked: bool,
    /// Highest target, packets that were trimmed, and credit given.
    target: u64,
    trims: u64,
    given: u64,
    /// Of the trimmed packets, those for which none was given yet.
    again: u64,
    /// Most that is given beyond what is wanted.
    ahead: u64,
    /// What was given is told once more: it may be lost.
    repeats: bool,
    control: Control,
    /// Acknowledgements that have not left.
    replies: Outbox<Header, 1>,
    payload: u64,
    header: u32,
    ack_bytes: u64,
    linger: Duration,
    deadline: Option<Time>,
    completed: Option<Event>,
    closed: Option<Event>,
    stats: Stats,
}

impl Receiver {
    /// Waits for a sender. `config` must be valid, and the sender's.
    pub fn new(config: &UecConfig) -> Self {
        Self {
            state: State::Listening,
            object: Object::new(0, config.payload()),
            arrived: Arrived::default(),
            received: 0,
            unacknowledged: 0,
            asked: false,
            target: 0,
            trims: 0,
            given: 0,
            again: 0,
            ahead: if config.control == Control::Eqds { u64::from(config.first_window()) } else { 0 },
            repeats: false,
            control: config.control,
            replies: Outbox::default(),
            payload: config.payload(),
            header: config.header.0 as u32,
            ack_bytes: config.ack_bytes(),
            linger: config.linger,
            deadline: None,
            completed: None,
            closed: None,
            stats: Stats::default(),
        }
    }

    /// Packets that have not arrived.
    fn missing(&self) -> u64 {
        self.object.packets() - self.arrived.count()
    }

    /// All credit that the sender has wanted. Its target may be forged.
    fn demand(&self) -> u64 {
        self.target.saturating_add(self.trims)
    }

    /// Credit that the sender still wants.
    fn wanted(&self) -> u64 {
        self.demand().saturating_sub(self.given)
    }

    /// Whether it may give credit that nobody wants yet: what its sender wants is told a round trip late.
    fn gives_ahead(&self) -> bool {
        self.given < self.demand().saturating_add(self.ahead)
    }

    /// The first packet to arrive opens the connection, whichever it is.
    fn open(&mut self, object: u64) {
        if self.state == State::Listening {
            self.state = State::Receiving;
            self.object = Object::new(object, self.payload);
        }
    }

    fn acknowledge(&mut self, seq: u64, sent: Stamp, entropy: u16, marked: bool) {
        let below = self.arrived.base();
        let map = self.arrived.map(map_base(below, seq));
        self.unacknowledged = 0;
        self.replies.push(Header::Ack { below, seq, map, received: self.received, sent, entropy, marked });
    }

    /// A whole packet: to be acknowledged if it is asked for, is news of some kind, or if enough has come.
    fn on_data(&mut self, now: Time, arrival: &Arrival<Header>, size: u64) {
        let Header::Data { seq, sent, entropy, asks, .. } = arrival.header else { return };
        self.stats.data_received += 1;
        let first = self.received == 0;
        let news = self.arrived.insert(seq);
        if news {
            self.received += size;
            self.unacknowledged += size;
        }
        self.asked |= asks;
        let in_order = self.arrived.base() == self.arrived.count();
        let filled = in_order && std::mem::take(&mut self.asked);
        let complete = news && self.missing() == 0;
        if complete {
            self.state = State::Lingering;
            self.completed = Some(Event::Completed { at: now });
        }
        let due = self.unacknowledged >= self.ack_bytes;
        if arrival.ce || asks || filled || first || due || complete || !news {
            self.acknowledge(seq, sent, entropy, arrival.ce);
        }
    }

    /// A packet without its payload.
    fn on_trimmed(&mut self, arrival: &Arrival<Header>) {
        let Header::Data { seq, sent, entropy, .. } = arrival.header else { return };
        self.stats.trimmed_received += 1;
        if self.arrived.contains(seq) {
            // Whoever cut this copy, another one arrived: the sender need not send it again.
            return self.acknowledge(seq, sent, entropy, false);
        }
        self.trims += 1;
        self.again += 1;
        self.replies.push(Header::Nack { seq, below: self.arrived.base(), entropy });
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if arrival.returned {
            return;
        }
        self.stats.marked_received += u64::from(arrival.ce);
        match arrival.header {
            Header::Data { seq, object, target, .. } => {
                let known =
                    if self.state == State::Listening { Object::new(object, self.payload) } else { self.object };
                if seq >= known.packets() || !self.arrived.plausible(seq) {
                    return;
                }
                self.open(object);
                self.target = self.target.max(target);
                if arrival.trimmed {
                    self.on_trimmed(arrival);
                } else {
                    let size = u64::from(self.header + self.object.payload_of(seq));
                    self.on_data(now, arrival, size);
                }
            }
            Header::Request { object, total, sent, entropy } => {
                self.open(object);
                self.target = self.target.max(total.saturating_sub(self.trims));
                self.repeats = true;
                self.again = self.again.max(1);
                self.acknowledge(ACKS_A_REQUEST, sent, entropy, false);
            }
            Header::Ack { .. } | Header::Nack { .. } | Header::Pull { .. } => return,
        }
        if self.state == State::Lingering {
            self.deadline = Some(now + self.linger);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            self.state = State::Closed;
            self.closed = Some(Event::Closed);
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        let reply = self.replies.pop()?;
        Some(Transmit::control(reply, 0, self.header))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.completed.take().or_else(|| self.closed.take())
    }

    /// As much credit as the sender wants; none when everything is here.
    fn pending_pulls(&self) -> u32 {
        if self.state != State::Receiving || !self.control.has_credit() {
            return 0;
        }
        self.wanted().min(u64::from(u32::MAX)).max(u64::from(self.repeats || self.gives_ahead())) as u32
    }

    const RANKS_PULLS: bool = true;

    fn pull_priority(&self) -> u8 {
        if self.control != Control::Eqds {
            NEW
        } else if self.again > 0 {
            AGAIN
        } else if self.wanted() > 0 || self.repeats {
            NEW
        } else {
            IDLE
        }
    }

    fn poll_pull(&mut self, _now: Time) -> Option<Transmit<Header>> {
        if self.pending_pulls() == 0 {
            return None;
        }
        if self.wanted() > 0 || self.gives_ahead() {
            self.given += 1;
            self.again = self.again.saturating_sub(1);
        }
        self.repeats = false;
        Some(Transmit::control(Header::Pull { number: self.given }, 0, self.header))
    }

    fn stats(&self) -> Stats {
        Stats { bytes_delivered: self.object.bytes_before(self.arrived.base()), ..self.stats }
    }

    fn waiting_for(&self) -> String {
        match self.state {
            State::Listening => "receiver: the first packet of the sender".into(),
            State::Receiving => {
                let (count, lowest, of) = (self.arrived.count(), self.arrived.base(), self.object.of_packets());
                format!(
                    "receiver: has {count} packets{of}, the lowest missing is {lowest}; has given {} credits, {} are wanted",
                    self.given,
                    self.wanted()
                )
            }
            State::Lingering => "receiver: has everything, lingers for late copies".into(),
            State::Closed => "nothing: the connection is over".into(),
        }
    }
}
