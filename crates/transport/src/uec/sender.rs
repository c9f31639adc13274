//! The end that has the object: sends what credit and window allow, lost packets first.

use super::credit::Credit;
use super::entropy::{Entropies, Path};
use super::header::{ACKS_A_REQUEST, Header, map_base};
use super::nscc::{Answer, Nscc};
use super::{Control, UecConfig};
use crate::ndp::Stamp;
use crate::ndp::timer::{NEVER, RetransmissionTimer};
use crate::ndp::window::Window;
use crate::object::{ENDLESS, Object};
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};

/// How many timeouts a sender waits for credit when nothing is on its way: many senders may share the receiver's link.
const CREDIT_WAIT: u64 = 16;

/// What becomes of a request for credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    None,
    /// One is to be sent.
    Due,
    /// One has been sent, and is not acknowledged.
    Sent,
}

/// The sending end of a connection. Reports `Closed` when the receiver has everything, or `Failed`.
#[derive(Clone, Debug)]
pub struct Sender {
    object: Object,
    /// Packets that the application has provided; `u64::MAX`: all.
    available: u64,
    window: Window,
    /// By the control: at least one of them.
    credit: Option<Credit>,
    nscc: Option<Box<Nscc>>,
    entropies: Entropies,
    /// Bytes that the receiver has, by its last acknowledgement.
    received: u64,
    timer: RetransmissionTimer,
    deadline: Time,
    /// The receiver has answered since the last timeout.
    answered: bool,
    request: Request,
    /// Full packets, and headers.
    packet: u32,
    header: u32,
    event: Option<Event>,
    done: bool,
    stats: Stats,
}

impl Sender {
    /// Sends an object of `object_bytes`; `None` for a stream without end. `config` must be valid; `seed`: for what it draws.
    pub fn new(config: &UecConfig, object_bytes: Option<u64>, seed: u64) -> Self {
        let object = Object::new(object_bytes.unwrap_or(ENDLESS), config.payload());
        Self {
            object,
            available: u64::MAX,
            window: Window::new(object.packets()),
            credit: config.control.has_credit().then(|| {
                let ahead = if config.control == Control::Eqds { config.first_window() } else { 0 };
                Credit::new(config.first_window(), ahead)
            }),
            nscc: config.control.has_window().then(|| Box::new(Nscc::new(config))),
            entropies: Entropies::new(config.spraying(), config.entropies, config.most_skips(), seed),
            received: 0,
            timer: RetransmissionTimer::new(config.rto, config.rto_initial, config.retries),
            deadline: NEVER,
            answered: false,
            request: Request::None,
            packet: config.packet.0 as u32,
            header: config.header.0 as u32,
            event: None,
            done: false,
            stats: Stats::default(),
        }
    }

    /// Bytes that may be on their way, if a window says so.
    pub(super) fn congestion_window(&self) -> Option<u64> {
        self.nscc.as_ref().map(|nscc| nscc.window() as u64)
    }

    /// Bytes of a packet on the wire.
    fn size_of(&self, seq: u64) -> u32 {
        self.header + self.object.payload_of(seq)
    }

    /// Packets that the application has provided and that were never sent.
    fn unsent(&self) -> u64 {
        self.object.packets().min(self.available).saturating_sub(self.window.next())
    }

    /// Packets to send, new ones and lost ones.
    fn work(&self) -> u64 {
        self.unsent().saturating_add(self.window.lost() as u64)
    }

    /// Packets that credit is wanted for: no more than the window has room for, where there is one as well.
    fn wanted(&self) -> u64 {
        let work = self.work();
        self.nscc.as_ref().map_or(work, |nscc| work.min((nscc.window() / f64::from(self.packet)) as u64 + 1))
    }

    /// Whether there is work, and no credit for it.
    fn lacks_credit(&self) -> bool {
        self.work() > 0 && self.credit.as_ref().is_some_and(|credit| !credit.has())
    }

    /// Whether there is something that may leave.
    fn has_packet(&self) -> bool {
        let new = self.unsent() > 0 && self.window.has_room();
        !self.done && (self.request == Request::Due || ((new || self.window.lost() > 0) && self.may_send()))
    }

    /// Bytes on their way, as if all packets were full ones.
    fn in_flight(&self) -> f64 {
        f64::from(self.window.in_flight()) * f64::from(self.packet)
    }

    /// Whether credit and window have room for a full packet.
    fn may_send(&self) -> bool {
        let room = |nscc: &Nscc| self.in_flight() + f64::from(self.packet) <= nscc.window();
        self.credit.as_ref().is_none_or(Credit::has) && self.nscc.as_deref().is_none_or(room)
    }

    /// The target that the next message tells.
    fn target(&mut self) -> u64 {
        let wanted = self.wanted();
        self.credit.as_mut().map_or(0, |credit| credit.tell(wanted))
    }

    /// The receiver spoke of packet `seq`; everything below `below` is there. False if it speaks of packets never sent.
    fn on_reply(&mut self, now: Time, seq: u64, below: u64) -> bool {
        if seq >= self.window.next() || below > self.window.next() {
            return false;
        }
        self.hear(now);
        self.window.acknowledge_below(below);
        true
    }

    /// The receiver lives.
    fn hear(&mut self, now: Time) {
        self.answered = true;
        if self.timer.on_packet() {
            self.arm(now);
        }
        if let Some(credit) = &mut self.credit {
            credit.on_answer();
        }
    }

    fn on_ack(&mut self, now: Time, header: &Header) {
        let &Header::Ack { below, seq, map, received, sent, entropy, marked } = header else { return };
        let of_request = seq == ACKS_A_REQUEST;
        if !self.on_reply(now, if of_request { 0 } else { seq }, below) {
            return;
        }
        let arrived = received.saturating_sub(self.received);
        self.received += arrived;
        let round_trip = sent.elapsed(now);
        if round_trip > Duration::ZERO && self.timer.sample(round_trip) {
            self.arm(now);
        }
        let base = map_base(below, seq);
        let mut rest = map;
        while rest != 0 {
            self.window.acknowledge(base + u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
        if of_request {
            if self.request == Request::Sent {
                self.request = Request::None;
            }
            return;
        }
        self.window.acknowledge(seq);
        self.entropies.learn(entropy, if marked { Path::Marked } else { Path::Good });
        // A request and a short packet are faster than others.
        let full = self.size_of(seq) == self.packet && round_trip > Duration::ZERO;
        let answer = Answer {
            round_trip: full.then_some(round_trip),
            marked,
            arrived: arrived as f64,
            in_flight: self.in_flight(),
        };
        if let Some(nscc) = &mut self.nscc {
            nscc.on_ack(now, &answer);
        }
    }

    fn on_nack(&mut self, now: Time, seq: u64, below: u64, entropy: u16) {
        if !self.on_reply(now, seq, below) {
            return;
        }
        self.entropies.learn(entropy, Path::Trimmed);
        if let Some(credit) = &mut self.credit {
            credit.on_trimmed();
        }
        if self.window.lose(seq) {
            let (size, in_flight) = (self.size_of(seq), self.in_flight());
            if let Some(nscc) = &mut self.nscc {
                nscc.on_trimmed(now, f64::from(size), self.credit.is_none(), in_flight);
            }
        }
    }

    /// Sets the timer: for the oldest packet in flight; if none is, for the credit that should come.
    fn arm(&mut self, now: Time) {
        let oldest = self.window.oldest();
        self.deadline = oldest.map_or_else(|| self.credit_due(now), |sent_at| sent_at + self.timer.timeout());
    }

    /// When credit should have come, with nothing on its way; never to a sender that waits for its application.
    fn credit_due(&self, now: Time) -> Time {
        if self.work() == 0 {
            return NEVER;
        }
        now + self.timer.timeout() * if self.request == Request::Sent { 1 } else { CREDIT_WAIT }
    }

    fn finish(&mut self, event: Event) {
        self.done = true;
        self.event = Some(event);
        self.deadline = NEVER;
        self.window.forget_lost();
    }

    /// A packet, which leaves for the first time or `again`.
    fn data(&mut self, now: Time, seq: u64, again: bool) -> Transmit<Header> {
        let (entropy, target, size) = (self.entropies.next(), self.target(), self.size_of(seq));
        let spent = self.credit.as_ref().is_some_and(|credit| !credit.has());
        let asks = again || self.work() == 0 || spent || !self.may_send();
        let (object, sent) = (self.object.bytes(), Stamp::of(now));
        let pushed = self.credit.as_ref().is_some_and(Credit::is_speculating);
        Transmit {
            ect: true,
            pushed,
            ..Transmit::data(Header::Data { seq, object, target, sent, entropy, asks }, 0, size, self.header)
        }
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if self.done || arrival.returned {
            return;
        }
        match &arrival.header {
            header @ Header::Ack { .. } => self.on_ack(now, header),
            &Header::Nack { seq, below, entropy } => self.on_nack(now, seq, below, entropy),
            &Header::Pull { number } => {
                // It may be the first answer, which ends what the sender gave itself.
                self.hear(now);
                if let Some(credit) = &mut self.credit {
                    credit.on_pull(number);
                }
            }
            Header::Data { .. } | Header::Request { .. } => return,
        }
        if self.window.base() == self.object.packets() {
            return self.finish(Event::Closed);
        }
        let wanted = self.wanted();
        if self.credit.as_ref().is_some_and(|credit| credit.is_stuck(wanted)) {
            self.request = Request::Due;
        }
        if self.window.in_flight() == 0 {
            self.deadline = self.credit_due(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.done || now < self.deadline {
            return;
        }
        let expired = self.window.expire(now, self.timer.timeout());
        if expired > 0 || self.window.in_flight() == 0 {
            self.stats.timeouts += u64::from(expired > 0);
            if let Some(nscc) = &mut self.nscc {
                nscc.on_timeout(f64::from(expired) * f64::from(self.packet));
            }
            if !std::mem::take(&mut self.answered) && self.timer.back_off() {
                return self.finish(Event::Failed(FailureReason::TimedOut));
            }
            if let Some(credit) = &mut self.credit {
                // What it gave itself was for packets that the receiver answers.
                credit.on_answer();
            }
            if self.lacks_credit() {
                self.request = Request::Due;
            }
        }
        self.arm(now);
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        None
    }

    // What waits in the host's queue can no longer be held back when the receiver answers.
    const TAKES_TURNS: bool = true;

    #[inline]
    fn wants_turn(&self) -> bool {
        self.has_packet()
    }

    fn take_turn(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.done {
            return None;
        }
        if self.request == Request::Due {
            self.request = Request::Sent;
            let (wanted, entropy) = (self.wanted(), self.entropies.next());
            let total = self.credit.as_mut().map_or(0, |credit| credit.ask(wanted));
            let (object, sent) = (self.object.bytes(), Stamp::of(now));
            self.deadline = self.deadline.min(now + self.timer.timeout());
            return Some(Transmit::control(Header::Request { object, total, sent, entropy }, 0, self.header));
        }
        if !self.may_send() {
            return None;
        }
        let lost = self.window.send_lost(now);
        self.stats.retransmitted += u64::from(lost.is_some());
        let seq = if let Some(seq) = lost {
            seq
        } else if self.unsent() > 0 && self.window.has_room() {
            self.window.send_new(now)
        } else {
            return None;
        };
        if let Some(credit) = &mut self.credit {
            credit.spend();
        }
        self.stats.data_sent += 1;
        self.deadline = self.deadline.min(now + self.timer.timeout());
        Some(self.data(now, seq, lost.is_some()))
    }

    fn set_available(&mut self, now: Time, bytes: u64) {
        self.available = self.object.packets_in(bytes);
        if !self.done && self.deadline == NEVER {
            self.arm(now);
        }
        let wanted = self.wanted();
        if !self.done && self.credit.as_ref().is_some_and(|credit| credit.is_stuck(wanted)) {
            self.request = Request::Due;
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != NEVER).then_some(self.deadline)
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
            format!("sender: an answer for {flight} packets in flight (all below {base}{of} are acknowledged)")
        } else {
            let (lost, pulls) = (self.window.lost(), self.credit.as_ref().map_or(0, Credit::pulls));
            format!("sender: credit beyond {pulls} (sent {next} packets{of}, {lost} of them to be sent again)")
        }
    }
}
