//! The end that wants the object: answers every packet at once and asks for more at its own pace.

use super::NdpConfig;
use super::arrived::Arrived;
use super::header::{ENDLESS, Header, packets};
use super::pulls::Pulls;
use super::timer::{NEVER, RetransmissionTimer};
use crate::demotion::{Demotion, PriorityBy};
use crate::units::{Duration, Time};
use crate::{Arrival, Bytes, Endpoint, Event, FailureReason, Stats, Transmit};
use std::collections::VecDeque;

/// Silence after which even a receiver that knows no round trip takes for lost what it has asked for: the first timeout of
/// RFC 6298 (§2.1).
const LONGEST_FIRST_ROUND_TRIP: Duration = Duration::from_secs(1);

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
    arrived: Arrived,
    /// Packets of the object; `u64::MAX` if it has no end.
    total: u64,
    object: u64,
    payload: u64,
    header: u32,
    /// ACKs and NACKs that have not left.
    replies: VecDeque<Header>,

    pulls: Pulls,
    /// Packets to keep asked for.
    window: u32,
    /// The pull whose round trip is being measured, when it left, and whether it has left again since.
    timed: Option<(u64, Time, bool)>,
    /// The last pull is to be sent once more: it may be lost.
    repeat_due: bool,

    timer: RetransmissionTimer,
    deadline: Time,
    retries: u32,
    linger: Duration,
    /// When a packet last came, or a pull last left.
    active_at: Time,
    /// When pulls last aged.
    aged_at: Time,

    thresholds: Vec<Bytes>,
    priority_by: PriorityBy,

    completed: Option<Event>,
    ended: Option<Event>,
    timeouts: u64,
    data_received: u64,
    trimmed_received: u64,
    marked_received: u64,
}

impl Receiver {
    /// Waits for a sender. `cfg` must be valid, and have the sender's `packet` and `header`.
    pub fn new(cfg: &NdpConfig) -> Self {
        Self {
            state: State::Listening,
            arrived: Arrived::default(),
            total: 0,
            object: 0,
            payload: cfg.payload(),
            header: cfg.header.0 as u32,
            replies: VecDeque::new(),
            pulls: Pulls::default(),
            window: cfg.initial_window,
            timed: None,
            repeat_due: false,
            timer: RetransmissionTimer::new(cfg.pull_timeout, cfg.rto_initial),
            deadline: NEVER,
            retries: cfg.retries,
            linger: cfg.linger,
            active_at: Time::ZERO,
            aged_at: Time::ZERO,
            thresholds: cfg.priority_thresholds.clone(),
            priority_by: cfg.priority_by,
            completed: None,
            ended: None,
            timeouts: 0,
            data_received: 0,
            trimmed_received: 0,
            marked_received: 0,
        }
    }

    /// The first packet to arrive opens the connection, whichever it is (NDP §3.2).
    fn open(&mut self, now: Time, object: u64, burst: u16) {
        self.state = State::Receiving;
        self.object = object;
        self.total = packets(object, self.payload);
        self.pulls = Pulls::open(u32::from(burst));
        self.aged_at = now;
        self.deadline = now + self.timer.timeout();
    }

    /// A packet, whole or trimmed, that answers pull `pull`. `news`: it is whole and had not come before.
    fn account(&mut self, now: Time, pull: u64, news: bool) {
        self.active_at = now;
        if pull == 0 && news && !self.timer.is_measured() {
            self.pulls.answer_by_repetition();
        } else {
            self.pulls.answer(pull);
        }
        // Each pull has a number of its own, so an answer is ambiguous only if that pull was repeated. If only the answer to
        // a later pull comes, there is no sample this time.
        if let Some((timed, sent_at, repeated)) = self.timed
            && (timed..=self.pulls.sent()).contains(&pull)
        {
            let round_trip = now.since(sent_at);
            let sample = |timer: &mut RetransmissionTimer| {
                if repeated { timer.sample_at_most(round_trip) } else { timer.sample(round_trip) }
            };
            if pull == timed && sample(&mut self.timer) {
                // The timer was set for a time that nothing was known of.
                self.deadline = self.deadline.min(now + self.timer.timeout());
            }
            self.timed = None;
        }
        if self.state == State::Receiving && self.timer.on_packet() {
            self.deadline = self.deadline.min(now + self.timer.timeout());
        }
    }

    fn complete(&mut self, now: Time) {
        self.state = State::Lingering;
        self.deadline = now + self.linger;
        self.completed = Some(Event::Completed { at: now });
    }

    /// While packets come, what has not come for a timeout is written off; when none come, everything is.
    fn write_off(&mut self, now: Time) {
        let interval = self.timer.timeout();
        let silence = now.since(self.active_at);
        let quiet = silence >= interval;
        let unknown = !self.timer.is_measured() && silence < LONGEST_FIRST_ROUND_TRIP;
        let lost = if unknown {
            // Pull numbers are cumulative (NDP §3.2): the last one asks for all, and a sender that has it for nothing more.
            self.repeat_due = quiet && self.pulls.sent() > self.pulls.void();
            if quiet { self.pulls.outstanding() } else { 0 }
        } else if quiet {
            self.aged_at = now;
            self.pulls.write_off()
        } else if now.since(self.aged_at) >= interval {
            self.aged_at = now;
            self.pulls.age()
        } else {
            0
        };
        self.timeouts += u64::from(lost > 0);
        // With nothing asked for, silence is no wonder: our pulls wait for their turn in the host's queue.
        if quiet && lost > 0 && self.timer.back_off() > self.retries {
            self.state = State::Failed;
            self.deadline = NEVER;
            self.ended = Some(Event::Failed(FailureReason::TimedOut));
            return;
        }
        let since = if quiet { now } else { self.active_at };
        self.deadline = since + self.timer.timeout();
    }

    /// New pulls, as many as packets are missing that are not asked for.
    fn pulls_wanted(&self) -> u32 {
        let missing = self.total - self.arrived.count();
        let wanted = u64::from(self.window).min(missing) as u32;
        wanted.saturating_sub(self.pulls.outstanding())
    }

    fn control(&self, header: Header) -> Transmit<Header> {
        Transmit {
            header,
            to: 0,
            size: self.header,
            trimmed_size: self.header,
            priority: 0,
            control: true,
            ect: false,
            pushed: false,
            rank: 0,
            subflow: 0,
        }
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
            let Some(burst) = syn else { return };
            if seq >= packets(object, self.payload) || !self.arrived.plausible(seq) {
                return;
            }
            self.open(now, object, burst.get());
        } else if seq >= self.total || !self.arrived.plausible(seq) {
            return;
        }
        let news = !arrival.trimmed && !self.arrived.contains(seq);
        self.account(now, pull, news);
        self.marked_received += u64::from(arrival.ce);
        let whole = if arrival.trimmed {
            self.trimmed_received += 1;
            // Whoever cut this copy, another one arrived: the sender need not send it again.
            self.arrived.contains(seq)
        } else {
            self.data_received += 1;
            if self.arrived.insert(seq) && self.arrived.count() == self.total {
                self.complete(now);
            }
            true
        };
        let below = self.arrived.base();
        self.replies.push_back(if whole { Header::Ack { seq, below, sent } } else { Header::Nack { seq, below } });
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        match self.state {
            State::Receiving => self.write_off(now),
            State::Lingering if now.since(self.active_at) < self.linger => self.deadline = self.active_at + self.linger,
            State::Lingering => {
                self.state = State::Closed;
                self.deadline = NEVER;
                self.ended = Some(Event::Closed);
            }
            State::Listening | State::Closed | State::Failed => {}
        }
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Header>> {
        let reply = self.replies.pop_front()?;
        Some(self.control(reply))
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != NEVER).then_some(self.deadline)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.completed.take().or_else(|| self.ended.take())
    }

    /// One for each packet that came (NDP §3.2), as long as more packets are missing than are already asked for; none
    /// when everything is there (the paper removes queued pulls when the last packet arrives).
    fn pending_pulls(&self) -> u32 {
        if self.state != State::Receiving {
            return 0;
        }
        self.pulls_wanted().max(u32::from(self.repeat_due))
    }

    fn pull_priority(&self) -> u8 {
        let received = self.arrived.count().saturating_mul(self.payload);
        Demotion::new(&self.thresholds, self.priority_by, self.object).priority(received)
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.pending_pulls() == 0 {
            return None;
        }
        self.repeat_due = false;
        if self.pulls_wanted() > 0 {
            let number = self.pulls.send();
            self.timed.get_or_insert((number, now, false));
            self.active_at = now;
        } else if let Some((_, _, repeated)) = &mut self.timed {
            // The last pull again. It asks for what the timed one asked for, too.
            *repeated = true;
        }
        let number = self.pulls.sent();
        Some(self.control(Header::Pull {
            number,
            void: self.pulls.void(),
            pushed: self.pulls.expects_pushed(),
            below: self.arrived.base(),
        }))
    }

    fn stats(&self) -> Stats {
        Stats {
            timeouts: self.timeouts,
            data_received: self.data_received,
            trimmed_received: self.trimmed_received,
            marked_received: self.marked_received,
            bytes_delivered: self.arrived.base().saturating_mul(self.payload).min(self.object),
            ..Stats::default()
        }
    }

    fn waiting_for(&self) -> String {
        match self.state {
            State::Listening => "NDP receiver: the first packet of the sender".into(),
            State::Receiving => {
                let (count, lowest) = (self.arrived.count(), self.arrived.base());
                let of = if self.object == ENDLESS { String::new() } else { format!(" of {}", self.total) };
                let (owed, pulls) = (self.pulls.outstanding(), self.pending_pulls());
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
