//! What a job does when: started operations, streams, messages to send.
//!
//! It knows no network but the links inside servers. A driver (a simulator of packets, a cost model) asks it for the messages to send,
//! tells it what has arrived, and comes back when it [is due](Progress::due). All that happens is a function of these calls: at the same
//! time, in order of operations.

use crate::job::{Action, Job, Op};
use crate::links::{Known, Links};
use crate::matching::{Delivery, Matcher};
use crate::order::Order;
use crate::settings::Settings;
use anabranch_transport::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

/// When an operation started and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// A receive starts when it could take a message; others when their stream is theirs.
    pub started: Option<Time>,
    /// When what waits for its end could go on.
    pub ended: Option<Time>,
}

/// The same in half the memory: there are millions. The end of time: not yet.
#[derive(Clone, Copy, Debug)]
struct Span {
    started: Time,
    ended: Time,
}

impl Default for Span {
    fn default() -> Self {
        Self { started: Time::MAX, ended: Time::MAX }
    }
}

impl Span {
    fn has_started(self) -> bool {
        self.started != Time::MAX
    }

    fn has_ended(self) -> bool {
        self.ended != Time::MAX
    }
}

/// The message that a receive has got, or gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The operation that sends it.
    pub send: Op,
    /// When it left.
    pub left: Time,
}

/// A message and its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number: its place in [`Job::sends`].
    pub number: u32,
    /// The operation that sends it.
    pub op: Op,
}

/// How a rank has spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTimes {
    /// When its last operation ended.
    pub ended: Option<Time>,
    /// Time during which at least one of its streams computed, or a time of its own passed ([`Action::Wait`]).
    pub computing: Duration,
    /// Operations that have ended.
    pub operations: u32,
}

/// Something that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A time has passed.
    Waited(Op),
    /// A stream has done what an operation needs of it.
    Ran(Op),
    /// The application of the receiver has a message.
    Arrived(Delivery),
    /// The sender knows that all of its message has arrived.
    Acknowledged(Op),
}

/// Operations of a rank that come one after the other.
#[derive(Clone, Debug, Default)]
struct Stream {
    busy: bool,
    queue: VecDeque<Op>,
}

/// A delivery, until the receive that gets it ends.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    receive: Option<Op>,
    arrived: bool,
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    times: RankTimes,
    /// What computes or waits for a time, and since when anything has.
    computes: u32,
    since: Time,
}

/// A job that goes on.
#[derive(Clone, Debug)]
pub struct Progress {
    job: Arc<Job>,
    settings: Settings,
    order: Order,
    spans: Vec<Span>,
    ranks: Vec<Rank>,
    streams: BTreeMap<(u32, u8), Stream>,
    matcher: Matcher,
    /// Of each message, the number of its first delivery; those to its other receivers follow.
    first_delivery: Vec<Delivery>,
    fates: Vec<Fate>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    outbox: VecDeque<Message>,
    /// Of ranks that share a server.
    links: Links,
    /// Answers that are owed, by the network or the links of servers: an arrival for each receiver, and an acknowledgement.
    owed: u64,
    /// Operations that have not ended.
    left: usize,
}

impl Progress {
    /// A job that starts at a time. Nothing has happened yet: it is due then.
    pub fn new(job: Arc<Job>, settings: Settings, start: Time) -> Self {
        let count = job.operations().len();
        let mut deliveries = 0;
        let first_delivery = job.sends().iter().map(|&op| {
            let first = deliveries;
            deliveries += job.receivers(op).len() as u32;
            first
        });
        let first_delivery = first_delivery.collect();
        let mut progress = Self {
            order: Order::new(Arc::clone(&job)),
            spans: vec![Span::default(); count],
            ranks: vec![Rank::default(); job.ranks() as usize],
            streams: BTreeMap::new(),
            matcher: Matcher::new(&job),
            first_delivery,
            fates: vec![Fate::default(); deliveries as usize],
            due: BinaryHeap::new(),
            outbox: VecDeque::new(),
            links: Links::new(if settings.servers.is_some() { job.ranks() } else { 0 }),
            owed: 0,
            left: count,
            settings,
            job,
        };
        progress.go_on(start);
        progress
    }

    /// The job.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Whether all operations have ended.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// When it is due next: call [`advance`](Self::advance) then.
    pub fn due(&self) -> Option<Time> {
        let own = self.due.peek().map(|Reverse((when, _))| *when);
        own.into_iter().chain(self.links.due()).min()
    }

    /// Everything that is due by now happens.
    pub fn advance(&mut self, now: Time) {
        while let Some((at, what)) = self.take_due(now) {
            match what {
                Due::Waited(op) => {
                    self.idle(self.job.operations()[op as usize].rank, at);
                    self.end(op, at);
                }
                Due::Ran(op) => self.ran(op, at),
                Due::Arrived(delivery) => {
                    self.owed -= 1;
                    self.fates[delivery as usize].arrived = true;
                    self.receive_if_there(delivery, at);
                }
                Due::Acknowledged(op) => {
                    self.owed -= 1;
                    if !self.spans[op as usize].has_ended() {
                        self.end(op, at);
                    }
                }
            }
            self.go_on(at);
        }
    }

    fn take_due(&mut self, now: Time) -> Option<(Time, Due)> {
        loop {
            let when = self.due().filter(|when| *when <= now)?;
            // What the links of servers bring goes into the queue of all that is due.
            let (first, due) = (&self.first_delivery, &mut self.due);
            self.links.advance(when, |known| match known {
                Known::Delivered { message, receiver, at } => {
                    due.push(Reverse((at, Due::Arrived(first[message as usize] + u32::from(receiver)))));
                }
                Known::Complete { message, at } => {
                    due.push(Reverse((at, Due::Acknowledged(self.job.sends()[message as usize]))));
                }
            });
            if self.due.peek().is_some_and(|Reverse((own, _))| *own <= when) {
                return self.due.pop().map(|Reverse(due)| due);
            }
        }
    }

    /// Takes a message that leaves now.
    pub fn take_message(&mut self) -> Option<Message> {
        self.outbox.pop_front()
    }

    /// All of a message is there for the application of one of its receivers, the `receiver`-th, at a time not before now.
    pub fn delivered(&mut self, message: u32, receiver: u16, at: Time) {
        let delivery = self.first_delivery[message as usize] + u32::from(receiver);
        self.due.push(Reverse((at, Due::Arrived(delivery))));
    }

    /// The sender of a message learns that all of it has arrived, at a time not before now.
    pub fn acknowledged(&mut self, message: u32, at: Time) {
        let op = self.job.sends()[message as usize];
        self.due.push(Reverse((at, Due::Acknowledged(op))));
    }

    /// Why nothing can happen any more although not all operations have ended: those that wait, the first few.
    pub fn stuck(&self) -> Option<String> {
        (self.left > 0 && self.owed == 0 && self.due.is_empty() && self.outbox.is_empty()).then(|| self.who_waits())
    }

    /// Operations that have not ended, the first few: those that have started before the others.
    pub fn who_waits(&self) -> String {
        const SHOWN: usize = 4;
        let open = |started: bool| {
            let open = (0..).zip(&self.spans).filter(|(_, span)| !span.has_ended());
            open.filter(move |(_, span)| span.has_started() == started).map(|(op, _): (Op, _)| op)
        };
        let mut text = format!("{} of {} operations have not ended", self.left, self.spans.len());
        for op in open(true).chain(open(false)).take(SHOWN) {
            let has = if self.spans[op as usize].has_started() { "started" } else { "not started" };
            let _ = write!(text, "\n  {} ({has})", self.job.operations()[op as usize]);
        }
        if self.left > SHOWN {
            let _ = write!(text, "\n  and {} more", self.left - SHOWN);
        }
        text
    }

    /// When an operation started and ended.
    pub fn times(&self, op: Op) -> Times {
        let Span { started, ended } = self.spans[op as usize];
        let known = |time: Time| (time != Time::MAX).then_some(time);
        Times { started: known(started), ended: known(ended) }
    }

    /// Of each operation that receives and knows its message, which that is; of all others nothing.
    pub fn matched(&self) -> Vec<Option<Matched>> {
        let mut matched = vec![None; self.spans.len()];
        for (&send, &first) in self.job.sends().iter().zip(&self.first_delivery) {
            let Some(began) = self.times(send).started else { continue };
            let own = &self.fates[first as usize..][..self.job.receivers(send).len()];
            for receive in own.iter().filter_map(|fate| fate.receive) {
                matched[receive as usize] = Some(Matched { send, left: began + self.needs(send) });
            }
        }
        matched
    }

    /// How each rank has spent its time.
    pub fn ranks(&self) -> Vec<RankTimes> {
        self.ranks.iter().map(|rank| rank.times).collect()
    }

    /// Starts what is ready, and what that makes ready.
    fn go_on(&mut self, now: Time) {
        while let Some(op) = self.order.take() {
            let operation = self.job.operations()[op as usize];
            match operation.action {
                Action::Receive { from, tag, .. } => {
                    self.start(op, now);
                    if let Some(delivery) = self.matcher.posted(operation.rank, from, tag, op) {
                        self.fates[delivery as usize].receive = Some(op);
                        self.receive_if_there(delivery, now);
                    }
                }
                Action::Wait(time) => {
                    self.start(op, now);
                    self.busy(operation.rank, now);
                    self.due.push(Reverse((now + time, Due::Waited(op))));
                }
                Action::Send { .. } | Action::Calc(_) => self.run(op, now),
            }
        }
    }

    /// A rank computes, or lets a time of its own pass.
    fn busy(&mut self, rank: u32, now: Time) {
        let rank = &mut self.ranks[rank as usize];
        if rank.computes == 0 {
            rank.since = now;
        }
        rank.computes += 1;
    }

    /// One of these is over.
    fn idle(&mut self, rank: u32, now: Time) {
        let rank = &mut self.ranks[rank as usize];
        rank.computes -= 1;
        if rank.computes == 0 {
            rank.times.computing = rank.times.computing + now.since(rank.since);
        }
    }

    /// What an operation needs of its stream.
    fn needs(&self, op: Op) -> Duration {
        let operation = &self.job.operations()[op as usize];
        match operation.action {
            Action::Calc(time) => self.settings.computes(op, operation.rank, time),
            Action::Wait(_) => Duration::ZERO,
            Action::Send { .. } | Action::Receive { .. } => self.settings.overhead,
        }
    }

    /// An operation needs its stream now, or as soon as it is free.
    fn run(&mut self, op: Op, now: Time) {
        if self.needs(op) == Duration::ZERO {
            self.start(op, now);
            return self.has_run(op, now);
        }
        let operation = &self.job.operations()[op as usize];
        let stream = self.streams.entry((operation.rank, operation.stream)).or_default();
        if stream.busy {
            stream.queue.push_back(op);
        } else {
            stream.busy = true;
            self.occupy(op, now);
        }
    }

    /// An operation has its stream.
    fn occupy(&mut self, op: Op, now: Time) {
        self.start(op, now);
        let operation = &self.job.operations()[op as usize];
        if matches!(operation.action, Action::Calc(_)) {
            self.busy(operation.rank, now);
        }
        self.due.push(Reverse((now + self.needs(op), Due::Ran(op))));
    }

    /// A stream is free again.
    fn ran(&mut self, op: Op, now: Time) {
        let operation = self.job.operations()[op as usize];
        if matches!(operation.action, Action::Calc(_)) {
            self.idle(operation.rank, now);
        }
        self.has_run(op, now);
        let stream = self.streams.entry((operation.rank, operation.stream)).or_default();
        match stream.queue.pop_front() {
            Some(next) => self.occupy(next, now),
            None => stream.busy = false,
        }
    }

    /// An operation has got what it needs of its stream.
    fn has_run(&mut self, op: Op, now: Time) {
        match self.job.operations()[op as usize].action {
            Action::Send { bytes, .. } => {
                self.send(op, now);
                if bytes <= self.settings.eager {
                    self.end(op, now);
                }
            }
            Action::Receive { .. } | Action::Calc(_) | Action::Wait(_) => self.end(op, now),
        }
    }

    /// A message leaves.
    fn send(&mut self, op: Op, now: Time) {
        let job = Arc::clone(&self.job);
        let Ok(number) = job.sends().binary_search(&op) else { return };
        let operation = &job.operations()[op as usize];
        let Action::Send { tag, bytes, .. } = operation.action else { return };
        let receivers = job.receivers(op);
        self.owed += receivers.len() as u64 + 1;
        match self.settings.servers.as_ref().filter(|servers| servers.hold(&job, op)) {
            Some(servers) => {
                let cost = servers.cost(bytes);
                let to = receivers.iter().map(|&to| (to, cost)).collect();
                self.links.send(number as u32, operation.rank, to, now);
            }
            None => self.outbox.push_back(Message { number: number as u32, op }),
        }
        for (delivery, &to) in (self.first_delivery[number]..).zip(receivers) {
            if let Some(receive) = self.matcher.sent(to, operation.rank, tag, delivery) {
                self.fates[delivery as usize].receive = Some(receive);
                self.receive_if_there(delivery, now);
            }
        }
    }

    /// A receive has got its message if that has arrived.
    fn receive_if_there(&mut self, delivery: Delivery, now: Time) {
        if let Fate { receive: Some(receive), arrived: true } = self.fates[delivery as usize] {
            self.run(receive, now);
        }
    }

    fn start(&mut self, op: Op, now: Time) {
        let span = &mut self.spans[op as usize];
        if !span.has_started() {
            span.started = now;
            self.order.started(op);
        }
    }

    fn end(&mut self, op: Op, now: Time) {
        self.spans[op as usize].ended = now;
        self.left -= 1;
        let rank = &mut self.ranks[self.job.operations()[op as usize].rank as usize].times;
        rank.ended = rank.ended.max(Some(now));
        rank.operations += 1;
        self.order.ended(op);
    }
}

#[cfg(test)]
pub(crate) mod driving;
#[cfg(test)]
mod tests;
