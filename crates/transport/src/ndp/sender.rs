//! The end that has the object: pushes a window, then sends what it is asked for, lost packets first.

use super::NdpConfig;
use super::header::{ENDLESS, Header, Stamp, packets};
use super::timer::{NEVER, RetransmissionTimer};
use super::window::Window;
use crate::demotion::Demotion;
use crate::units::{Duration, Time};
use crate::{Arrival, Endpoint, Event, FailureReason, Stats, Transmit};
use std::collections::VecDeque;
use std::num::NonZeroU16;

/// A pull this far ahead of the last one is not believed. Real jumps are lost pulls: windows that the receiver asked
/// for and wrote off.
const MOST_PULLS_SKIPPED: u64 = 1 << 20;

/// When the last reply of the receiver came, against the last timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastReply {
    None,
    BeforeTimeout,
    SinceTimeout,
}

/// The sending end of a connection. Reports `Closed` when the receiver has everything, or `Failed`.
#[derive(Clone, Debug)]
pub struct Sender {
    window: Window,
    /// Packets of the object; `u64::MAX` if it has no end.
    total: u64,
    /// Packets that the application has provided; `u64::MAX`: all.
    available: u64,
    object: u64,
    payload: u64,
    header: u32,
    /// Packets known to be lost, in the order in which that became known. May hold some that have arrived since.
    lost: VecDeque<u64>,

    /// Highest pull that came.
    pull: u64,
    /// Last pull answered. Those from here to `pull` are credit: a pull may overtake the NACK that gives it its
    /// meaning.
    answered: u64,
    /// Most credit ever owed.
    initial_window: u32,
    /// Packets that may leave without a pull: the initial window, and what a timeout or a returned header allows.
    unasked: u32,
    /// What the next unasked packet answers all the same: the pull of the returned packet whose place it takes, or 0.
    owed: u64,
    /// Length of the unasked burst, told in its packets.
    burst: u16,

    timer: RetransmissionTimer,
    deadline: Time,
    retries: u32,
    /// When the next packet can leave the host, if that is not at once.
    departure: Time,
    /// When a packet last left the host.
    sent_at: Time,
    last_reply: LastReply,
    /// When packets were last taken for lost.
    timed_out_at: Time,

    /// Whether returned headers mean anything.
    takes_returns: bool,
    /// ACKs and NACKs that came: each promises a pull.
    replies: u64,
    /// The fate of the last packets, the latest in the lowest bit: 1 ACK, 0 NACK or returned.
    fates: u32,
    fates_known: u32,

    demotion: Demotion,
    done: bool,
    event: Option<Event>,
    data_sent: u64,
    retransmitted: u64,
    timeouts: u64,
}

impl Sender {
    /// Sends an object of `object_bytes`; `None` for a stream without end. `cfg` must be valid.
    pub fn new(cfg: &NdpConfig, object_bytes: Option<u64>) -> Self {
        let object = object_bytes.unwrap_or(ENDLESS);
        let payload = cfg.payload();
        let total = packets(object, payload);
        let burst = u64::from(cfg.initial_window).min(total) as u32;
        Self {
            window: Window::new(),
            total,
            available: u64::MAX,
            object,
            payload,
            header: cfg.header.0 as u32,
            lost: VecDeque::new(),
            pull: 0,
            answered: 0,
            initial_window: cfg.initial_window,
            unasked: burst,
            owed: 0,
            burst: burst as u16,
            timer: RetransmissionTimer::new(cfg.rto, cfg.rto_initial),
            deadline: NEVER,
            retries: cfg.retries,
            departure: Time::ZERO,
            sent_at: Time::ZERO,
            last_reply: LastReply::None,
            timed_out_at: Time::ZERO,
            takes_returns: cfg.return_to_sender,
            replies: 0,
            fates: 0,
            fates_known: 0,
            demotion: Demotion::new(&cfg.priority_thresholds, cfg.priority_by, object),
            done: false,
            event: None,
            data_sent: 0,
            retransmitted: 0,
            timeouts: 0,
        }
    }

    fn credit(&self) -> u64 {
        self.pull - self.answered
    }

    /// The receiver spoke of packet `seq`; everything below `below` is there. False if it speaks of packets never sent.
    fn on_reply(&mut self, now: Time, seq: u64, below: u64) -> bool {
        if seq >= self.window.next() || below > self.window.next() {
            return false;
        }
        self.window.acknowledge_below(below);
        self.last_reply = LastReply::SinceTimeout;
        if self.timer.on_packet() {
            self.arm(now);
        }
        true
    }

    fn on_ack(&mut self, now: Time, seq: u64, below: u64, sent: Stamp) {
        if self.window.overdue() > 0 && self.window.sent_again_since(seq, sent) {
            // The first copy has arrived, so the timeout was too short (RFC 3522).
            self.window.revive();
        }
        if self.on_reply(now, seq, below) {
            self.window.acknowledge(seq);
            // A packet that overtook others in its host's queue left before the time that it was stamped with.
            let round_trip = sent.elapsed(now);
            if round_trip > Duration::ZERO && self.timer.sample(round_trip) {
                // The timer was set for a time that nothing was known of.
                self.arm(now);
            }
            self.note_fate_of_reply(1);
        }
    }

    /// NDP §3.2: the packet is queued for retransmission; it leaves with the next pull.
    fn on_nack(&mut self, now: Time, seq: u64, below: u64) {
        if self.on_reply(now, seq, below) {
            if self.window.lose(seq) {
                self.lost.push_back(seq);
            }
            self.note_fate_of_reply(0);
        }
    }

    /// Pull numbers are cumulative (NDP §3.2): one that jumps by `n` asks for `n` packets, one that is late for none.
    fn on_pull(&mut self, now: Time, number: u64, void: u64, pushed: bool, below: u64) {
        if !self.on_reply(now, 0, below) {
            return;
        }
        if !pushed {
            // While the application was slow, the receiver has given up the rest of the initial window, and asks for it.
            self.unasked = 0;
        }
        if number > self.pull && number - self.pull <= MOST_PULLS_SKIPPED {
            self.pull = number;
            let forgotten = number.saturating_sub(u64::from(self.initial_window));
            self.answered = self.answered.max(void.min(number)).max(forgotten);
        }
    }

    /// A switch had no room even for the header and sent it back (NDP §3.2). Sending it again at once would repeat the
    /// incast, so it normally waits for a pull. It leaves at once if no pull can be expected, because nothing of ours
    /// is with the receiver or on the way there; or if most of the last packets were received whole, so that not
    /// the receiver's link but this one path must have been congested.
    fn on_returned(&mut self, seq: u64, pull: u64) {
        if !self.takes_returns || !self.window.lose(seq) {
            return;
        }
        self.fate(0);
        let pull_expected = self.window.in_flight() > 0 || self.credit() > 0 || self.replies > self.pull;
        let bad_path = self.fates.count_ones() * 2 > self.fates_known;
        if pull_expected && !bad_path {
            self.lost.push_back(seq);
        } else {
            self.lost.push_front(seq);
            (self.unasked, self.owed) = (1, pull);
            if self.last_reply == LastReply::None {
                self.burst = 1;
            }
        }
    }

    fn note_fate_of_reply(&mut self, received: u32) {
        self.replies += 1;
        self.fate(received);
    }

    fn fate(&mut self, received: u32) {
        self.fates = self.fates << 1 | received;
        self.fates_known = (self.fates_known + 1).min(u32::BITS);
    }

    fn finish(&mut self, event: Event) {
        self.done = true;
        self.event = Some(event);
        self.deadline = NEVER;
        self.lost = VecDeque::new();
    }

    /// Whether there is nothing to send until the application provides more.
    fn starved(&self) -> bool {
        self.lost.is_empty() && self.window.next() < self.total && self.window.next() >= self.available
    }

    /// Sets the timer: for the oldest packet in flight; if none is, for the pull that should come. The receiver sees to
    /// that one with a timer of its own, and many connections may share its pull queue, so the timeout is long.
    fn arm(&mut self, now: Time) {
        let interval = self.timer.timeout();
        self.deadline = match self.window.oldest() {
            // The whole window, lest the rest of it be repeated at the first answer.
            Some(_) if self.last_reply == LastReply::None => self.sent_at + interval,
            Some(sent_at) => sent_at + interval,
            None if self.starved() => NEVER,
            None => (self.sent_at + self.timer.pull_wait()).max(now + interval),
        };
    }

    fn data(&self, departure: Time, seq: u64, pull: u64) -> Transmit<Header> {
        let offset = seq * self.payload;
        let last = seq + 1 == self.total;
        let payload = if last { self.object - offset } else { self.payload };
        let syn = if self.last_reply == LastReply::None { NonZeroU16::new(self.burst) } else { None };
        let header = Header::Data { seq, pull, object: self.object, sent: Stamp::of(departure), syn, last };
        Transmit {
            header,
            to: 0,
            size: self.header + payload as u32,
            trimmed_size: self.header,
            priority: self.demotion.priority(offset),
            control: false,
            ect: false,
            pushed: syn.is_some(),
            rank: 0,
            subflow: 0,
        }
    }
}

impl Endpoint for Sender {
    type Header = Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        if self.done {
            return;
        }
        let overdue = self.window.overdue();
        match arrival.header {
            Header::Data { seq, pull, .. } if arrival.returned => self.on_returned(seq, pull),
            _ if arrival.returned => {}
            Header::Ack { seq, below, sent } => self.on_ack(now, seq, below, sent),
            Header::Nack { seq, below } => self.on_nack(now, seq, below),
            Header::Pull { number, void, pushed, below } => self.on_pull(now, number, void, pushed, below),
            Header::Data { .. } => {}
        }
        if self.window.base() == self.total {
            self.finish(Event::Closed);
        } else if self.window.overdue() < overdue {
            // Packets may be in flight again that no timer was set for.
            self.arm(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.done || now < self.deadline {
            return;
        }
        let (interval, lost) = (self.timer.timeout(), &mut self.lost);
        let before = lost.len();
        self.window.expire(now, interval, |seq| lost.push_back(seq));
        let expired = (self.lost.len() - before) as u32;
        let silent = self.window.in_flight() == 0 && now.since(self.sent_at) >= self.timer.pull_wait();
        let pull_overdue = silent && !self.starved();
        if expired > 0 || pull_overdue {
            self.timeouts += 1;
            // Those that left one after the other time out so.
            let one_loss = self.last_reply == LastReply::BeforeTimeout && now.since(self.timed_out_at) < interval;
            self.timed_out_at = now;
            if self.last_reply == LastReply::SinceTimeout || one_loss {
                self.last_reply = LastReply::BeforeTimeout;
                // NDP §3.2: packets that time out are sent again at once.
                self.unasked = expired.max(1);
            } else {
                // The receiver may know nothing of us. One packet is enough to open the connection, and whole windows
                // would repeat the incast that may have caused the loss; the rest waits for pulls, which are paced.
                if self.timer.back_off() > self.retries {
                    self.finish(Event::Failed(FailureReason::TimedOut));
                    return;
                }
                (self.unasked, self.burst) = (1, 1);
            }
            self.unasked = self.unasked.saturating_sub(self.credit() as u32);
        }
        self.arm(now);
    }

    fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    fn uses_departure(&self) -> bool {
        true
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        if self.done {
            return None;
        }
        let departure = now.max(self.departure);
        let asked = self.credit() > 0;
        if !asked && self.unasked == 0 {
            return None;
        }
        let again = loop {
            match self.lost.pop_front() {
                Some(seq) if self.window.send_again(seq, departure) => break Some(seq),
                Some(_) => {} // Arrived after all.
                None => break None,
            }
        };
        let seq = match again {
            Some(seq) => {
                self.retransmitted += 1;
                seq
            }
            // The application provides more later: both pulls and leave to send unasked are kept.
            None if self.starved() => return None,
            None if self.window.next() < self.total && self.window.has_room() => self.window.send_new(departure),
            None => {
                // Nothing to send: pulls are kept as credit, leave to send unasked is not.
                self.unasked = 0;
                return None;
            }
        };
        let pull = if asked {
            self.answered += 1;
            self.answered
        } else {
            self.unasked -= 1;
            std::mem::take(&mut self.owed)
        };
        self.data_sent += 1;
        self.sent_at = departure;
        let deadline = departure + self.timer.timeout();
        self.deadline = if self.last_reply == LastReply::None { deadline } else { self.deadline.min(deadline) };
        Some(self.data(departure, seq, pull))
    }

    fn set_available(&mut self, now: Time, bytes: u64) {
        self.available = if bytes >= self.object { self.total } else { bytes / self.payload };
        if self.deadline == NEVER && !self.done && !self.starved() {
            self.arm(now);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != NEVER).then_some(self.deadline)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.event.take()
    }

    fn stats(&self) -> Stats {
        Stats {
            data_sent: self.data_sent,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            ..Stats::default()
        }
    }

    fn waiting_for(&self) -> String {
        let (base, next, flight) = (self.window.base(), self.window.next(), self.window.in_flight());
        let of = if self.object == ENDLESS { String::new() } else { format!(" of {}", self.total) };
        if self.done {
            "nothing: the connection is over".into()
        } else if flight > 0 {
            format!("NDP sender: an ACK or NACK for {flight} packets in flight (all below {base}{of} are acknowledged)")
        } else {
            let lost = self.lost.len();
            format!("NDP sender: a pull after {} (sent {next} packets{of}, {lost} of them to be sent again)", self.pull)
        }
    }
}
