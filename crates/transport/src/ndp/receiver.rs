//! The end that wants the object: answers every packet at once and asks for more at its own pace.

use super::NdpConfig;
use super::arrived::Arrived;
use super::header::{ANY_PULL, Header};
use super::timer::NEVER;
use crate::demotion::{Demotion, PriorityBy};
use crate::object::Object;
use crate::outbox::Outbox;
use crate::units::Time;
use crate::{Arrival, Bytes, Endpoint, Event, FailureReason, Stats, Transmit};

mod asking;
mod pull_timer;

use asking::Asking;
use pull_timer::{Overdue, PullTimer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No packet has come.
    Listening,
    Receiving,
    /// Everything has come; late copies are still answered (NDP §3.2 calls it time-wait).
    Lingering,
    /// `Closed` was reported; copies are answered for as long as the driver delivers any.
    Closed,
    Failed,
}

/// The receiving end of a connection. Reports `Completed` when it has everything and `Closed` when it need not be kept
/// to answer late copies any more; or `Failed`.
#[derive(Clone, Debug)]
pub struct Receiver {
    state: State,
    /// What the first packet says; nothing before.
    object: Object,
    arrived: Arrived,
    asking: Asking,
    timer: PullTimer,
    /// ACKs and NACKs that have not left.
    replies: Outbox<Header, 1>,
    payload: u64,
    header: u32,
    thresholds: Vec<Bytes>,
    priority_by: PriorityBy,
    completed: Option<Event>,
    ended: Option<Event>,
    stats: Stats,
}

impl Receiver {
    /// Waits for a sender. `cfg` must be valid, and have the sender's `packet` and `header`.
    pub fn new(cfg: &NdpConfig) -> Self {
        Self {
            state: State::Listening,
            object: Object::new(0, cfg.payload()),
            arrived: Arrived::default(),
            asking: Asking::new(cfg.initial_window),
            timer: PullTimer::new(cfg),
            replies: Outbox::default(),
            payload: cfg.payload(),
            header: cfg.header.0 as u32,
            thresholds: cfg.priority_thresholds.clone(),
            priority_by: cfg.priority_by,
            completed: None,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// The first packet to arrive opens the connection, whichever it is (NDP §3.2).
    fn open(&mut self, now: Time, object: Object, burst: u16) {
        self.state = State::Receiving;
        self.object = object;
        self.asking.open(burst);
        self.timer.open(now);
    }

    /// A packet, whole or trimmed, that answers pull `pull`. `news`: it is whole and had not come before.
    fn account(&mut self, now: Time, pull: u64, news: bool) {
        self.timer.on_activity(now);
        let repetition = pull == 0 && news && !self.timer.is_measured();
        if let Some(measured) = self.asking.on_answer(now, pull, repetition) {
            self.timer.sample(now, measured);
        }
        if self.state == State::Receiving {
            self.timer.on_packet(now);
        }
    }

    fn complete(&mut self, now: Time) {
        self.state = State::Lingering;
        self.timer.begin_lingering(now);
        self.completed = Some(Event::Completed { at: now });
    }

    /// What is overdue is written off, so that it is asked for again.
    fn write_off(&mut self, now: Time) {
        let (overdue, quiet) = self.timer.overdue(now);
        let lost = match overdue {
            Overdue::Nothing => 0,
            Overdue::Old => self.asking.age(),
            Overdue::All => self.asking.write_off(),
            Overdue::Unknown => {
                self.asking.repeat_last(quiet);
                if quiet { self.asking.outstanding() } else { 0 }
            }
        };
        self.stats.timeouts += u64::from(lost > 0);
        // With nothing asked for, silence is no wonder: our pulls wait for their turn in the host's queue.
        if quiet && lost > 0 && self.timer.back_off() {
            self.state = State::Failed;
            self.timer.stop();
            self.ended = Some(Event::Failed(FailureReason::TimedOut));
            return;
        }
        self.timer.rearm(now, quiet);
    }

    /// Packets that have not arrived.
    fn missing(&self) -> u64 {
        self.object.packets() - self.arrived.count()
    }

    fn control(&self, header: Header) -> Transmit<Header> {
        Transmit::control(header, 0, self.header)
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let Header::Data { seq, pull, object, sent, syn, .. } = arrival.header else { return };
        if arrival.returned || self.state == State::Failed {
            return;
        }
        if self.state == State::Listening {
            // Without SYN it is a stray of an earlier connection.
            let (Some(burst), object) = (syn, Object::new(object, self.payload)) else { return };
            if seq >= object.packets() || !self.arrived.plausible(seq) {
                return;
            }
            self.open(now, object, burst.get());
        } else if seq >= self.object.packets() || !self.arrived.plausible(seq) {
            return;
        }
        let news = !arrival.trimmed && !self.arrived.contains(seq);
        let pull = if pull == ANY_PULL { self.asking.oldest() } else { pull };
        self.account(now, pull, news);
        self.stats.marked_received += u64::from(arrival.ce);
        let whole = if arrival.trimmed {
            self.stats.trimmed_received += 1;
            // Whoever cut this copy, another one arrived: the sender need not send it again.
            self.arrived.contains(seq)
        } else {
            self.stats.data_received += 1;
            if self.arrived.insert(seq) && self.missing() == 0 {
                self.complete(now);
            }
            true
        };
        let below = self.arrived.base();
        self.replies.push(if whole { Header::Ack { seq, below, sent } } else { Header::Nack { seq, below } });
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.timer.deadline() {
            return;
        }
        match self.state {
            State::Receiving => self.write_off(now),
            State::Lingering if self.timer.lingers_on(now) => {}
            State::Lingering => {
                self.state = State::Closed;
                self.timer.stop();
                self.ended = Some(Event::Closed);
            }
            State::Listening | State::Closed | State::Failed => {}
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        let reply = self.replies.pop()?;
        Some(self.control(reply))
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.timer.deadline() != NEVER).then_some(self.timer.deadline())
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.completed.take().or_else(|| self.ended.take())
    }

    /// One for each packet that came (NDP §3.2), as long as more packets are missing than are already asked for; none
    /// when everything is there (the paper removes queued pulls when the last packet arrives).
    fn pending_pulls(&self) -> u32 {
        if self.state == State::Receiving { self.asking.pending(self.missing()) } else { 0 }
    }

    fn pull_priority(&self) -> u8 {
        let received = self.arrived.count().saturating_mul(self.payload);
        Demotion::new(&self.thresholds, self.priority_by, self.object.bytes()).priority(received)
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.pending_pulls() == 0 {
            return None;
        }
        let (pull, is_new) = self.asking.send(now, self.missing(), self.arrived.base());
        if is_new {
            self.timer.on_activity(now);
        }
        Some(self.control(pull))
    }

    fn stats(&self) -> Stats {
        Stats { bytes_delivered: self.object.bytes_before(self.arrived.base()), ..self.stats }
    }

    fn waiting_for(&self) -> String {
        match self.state {
            State::Listening => "NDP receiver: the first packet of the sender".into(),
            State::Receiving => {
                let (count, lowest) = (self.arrived.count(), self.arrived.base());
                let of = self.object.of_packets();
                let (owed, pulls) = (self.asking.outstanding(), self.pending_pulls());
                format!(
                    "NDP receiver: has {count} packets{of}, the lowest missing is {lowest}; \
                     {owed} are asked for, {pulls} pulls wait for their turn"
                )
            }
            State::Lingering => "NDP receiver: has everything, lingers for late copies".into(),
            State::Closed | State::Failed => "nothing: the connection is over".into(),
        }
    }
}
