//! The `LogGOPS` cost model (Hoefler, Schneider, Lumsdaine: `LogGOPSim`, HPDC 2010): how long a job takes if nothing but hosts and their
//! links cost time. No packets, no congestion inside the fabric: an estimate within a second, and a lower bound to compare with.
//!
//! A message of `s` bytes takes `o + (s - 1) O` of a stream of its sender and `g + (s - 1) G` of the sender's link, which both have to be
//! free; its first byte is there `o + L` later; then it takes `o + (s - 1) max(O, G)` of a stream of its receiver and `g + (s - 1) G` of its
//! link. The sender of at most `S` bytes goes on after its share; of more, when its first byte has found a receive.

use crate::job::{Action, Job, Op};
use crate::matching::{Delivery, Matcher};
use crate::order::Order;
use crate::progress::Times;
use anabranch_transport::{Bytes, Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// The parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGops {
    /// `L`: latency.
    pub latency: Duration,
    /// `o`: time of a stream for a message.
    pub overhead: Duration,
    /// `g`: time of a link for a message.
    pub gap: Duration,
    /// `G`: time of a link for each byte after the first.
    pub gap_per_byte: Duration,
    /// `O`: time of a stream for each byte after the first.
    pub overhead_per_byte: Duration,
    /// `S`: senders of larger messages wait for the receive.
    pub rendezvous: Bytes,
}

impl Default for LogGops {
    /// The defaults of `LogGOPSim`: L = 2.5 us, o = 1.5 us, g = 1 us, G = 6 ns, O = 0, S = 65535 B.
    fn default() -> Self {
        Self {
            latency: Duration::from_ns(2500),
            overhead: Duration::from_ns(1500),
            gap: Duration::from_us(1),
            gap_per_byte: Duration::from_ns(6),
            overhead_per_byte: Duration::ZERO,
            rendezvous: Bytes(65_535),
        }
    }
}

/// What happens at a time. At the same time in this order, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// An operation ends.
    End(Op),
    /// The first byte of a message is at its receiver.
    Arrive(Delivery),
    /// An operation wants to start.
    Start(Op),
}

/// A message on its way to a receiver, until that has it.
#[derive(Clone, Copy, Debug)]
struct OnItsWay {
    op: Op,
    bytes: Bytes,
    to: u32,
    receive: Option<Op>,
    /// When all of it was there.
    there: Option<Time>,
}

struct Model<'a> {
    job: &'a Arc<Job>,
    costs: LogGops,
    order: Order,
    matcher: Matcher,
    times: Vec<Times>,
    on_their_way: BTreeMap<Delivery, OnItsWay>,
    next_delivery: Delivery,
    /// Of each message whose sender waits: how many receivers do not have it.
    awaited: BTreeMap<Op, usize>,
    due: BinaryHeap<Reverse<(Time, What)>>,
    /// When each stream is free, and each link for sending and for receiving.
    streams: BTreeMap<(u32, u8), Time>,
    sends: Vec<Time>,
    receives: Vec<Time>,
}

/// When each operation starts and ends; those that never end have no end.
pub fn estimate(job: &Arc<Job>, costs: &LogGops) -> Vec<Times> {
    let ranks = job.ranks() as usize;
    let mut model = Model {
        job,
        costs: *costs,
        order: Order::new(Arc::clone(job)),
        matcher: Matcher::new(job),
        times: vec![Times::default(); job.operations().len()],
        on_their_way: BTreeMap::new(),
        next_delivery: 0,
        awaited: BTreeMap::new(),
        due: BinaryHeap::new(),
        streams: BTreeMap::new(),
        sends: vec![Time::ZERO; ranks],
        receives: vec![Time::ZERO; ranks],
    };
    model.start_what_may(Time::ZERO);
    while let Some(Reverse((now, what))) = model.due.pop() {
        match what {
            What::End(op) => model.end(op, now),
            What::Arrive(delivery) => model.arrive(delivery, now),
            What::Start(op) => model.start(op, now),
        }
        model.start_what_may(now);
    }
    model.times
}

impl Model<'_> {
    fn at(&mut self, when: Time, what: What) {
        self.due.push(Reverse((when, what)));
    }

    fn start_what_may(&mut self, now: Time) {
        while let Some(op) = self.order.take() {
            self.at(now, What::Start(op));
        }
    }

    fn started(&mut self, op: Op, now: Time) {
        self.times[op as usize].started = Some(now);
        self.order.started(op);
    }

    fn end(&mut self, op: Op, now: Time) {
        self.times[op as usize].ended = Some(now);
        self.order.ended(op);
    }

    /// The bytes after the first, times a cost.
    fn of_bytes(bytes: Bytes, each: Duration) -> Duration {
        each * bytes.0.saturating_sub(1)
    }

    fn start(&mut self, op: Op, now: Time) {
        let job = Arc::clone(self.job);
        let operation = &job.operations()[op as usize];
        let (rank, stream) = (operation.rank, (operation.rank, operation.stream));
        let free = self.streams.get(&stream).copied().unwrap_or(Time::ZERO);
        match operation.action {
            Action::Wait(time) => {
                self.started(op, now);
                self.at(now + time, What::End(op));
            }
            Action::Calc(_) if free > now => self.at(free, What::Start(op)),
            Action::Calc(time) => {
                self.started(op, now);
                self.streams.insert(stream, now + time);
                self.at(now + time, What::End(op));
            }
            Action::Send { bytes, tag, to: _ } => {
                let free = free.max(self.sends[rank as usize]);
                if free > now {
                    return self.at(free, What::Start(op));
                }
                self.started(op, now);
                let costs = self.costs;
                let ran = now + costs.overhead + Self::of_bytes(bytes, costs.overhead_per_byte);
                self.streams.insert(stream, ran);
                self.sends[rank as usize] = now + costs.gap + Self::of_bytes(bytes, costs.gap_per_byte);
                if bytes <= costs.rendezvous {
                    self.at(ran, What::End(op));
                } else {
                    self.awaited.insert(op, job.receivers(op).len());
                }
                for &to in job.receivers(op) {
                    let delivery = self.next_delivery;
                    self.next_delivery += 1;
                    let receive = self.matcher.sent(to, rank, tag, delivery);
                    self.on_their_way.insert(delivery, OnItsWay { op, bytes, to, receive, there: None });
                    self.at(now + costs.overhead + costs.latency, What::Arrive(delivery));
                }
            }
            Action::Receive { from, tag, .. } => {
                self.started(op, now);
                if let Some(delivery) = self.matcher.posted(rank, from, tag, op)
                    && let Some(message) = self.on_their_way.get_mut(&delivery)
                {
                    message.receive = Some(op);
                    self.receive_if_there(delivery, now);
                }
            }
        }
    }

    /// The first byte of a message is there: it takes its share when stream and link of the receiver are free.
    fn arrive(&mut self, delivery: Delivery, now: Time) {
        let Some(message) = self.on_their_way.get_mut(&delivery) else { return };
        let stream = (message.to, message.receive.map_or(0, |op| self.job.operations()[op as usize].stream));
        let link = &mut self.receives[message.to as usize];
        let free = self.streams.get(&stream).copied().unwrap_or(Time::ZERO).max(*link);
        if free > now {
            return self.at(free, What::Arrive(delivery));
        }
        let costs = self.costs;
        let each = costs.overhead_per_byte.max(costs.gap_per_byte);
        let there = now + costs.overhead + Self::of_bytes(message.bytes, each);
        *link = now + costs.gap + Self::of_bytes(message.bytes, costs.gap_per_byte);
        message.there = Some(there);
        self.streams.insert(stream, there);
        self.receive_if_there(delivery, now);
    }

    /// A receive and its message may have found each other.
    fn receive_if_there(&mut self, delivery: Delivery, now: Time) {
        let Some(&OnItsWay { op, receive: Some(receive), there: Some(there), .. }) = self.on_their_way.get(&delivery)
        else {
            return;
        };
        self.on_their_way.remove(&delivery);
        self.at(there.max(now), What::End(receive));
        if let Some(awaited) = self.awaited.get_mut(&op) {
            *awaited -= 1;
            if *awaited == 0 {
                self.awaited.remove(&op);
                self.at(now, What::End(op));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::job::Peers;

    /// The example of `LogGOPSim`'s README: a binomial reduction among 8 hosts with its default parameters. It shows these times,
    /// to the nanosecond; messages have 1024 bytes (`(34914 / 3 - 2 x 1500 - 2500) / 6 + 1`).
    #[test]
    fn the_published_example_to_the_nanosecond() {
        let mut b = Builder::new(8);
        for rank in 0..8_u32 {
            let mut last = None;
            for bit in [1, 2, 4] {
                if rank & bit != 0 {
                    let send = b.add(rank, Action::Send { to: Peers::One(rank - bit), bytes: Bytes(1024), tag: 0 });
                    if let Some(last) = last {
                        b.after(send, last);
                    }
                    break;
                }
                let from = Some(rank + bit);
                let receive = b.add(rank, Action::Receive { from, bytes: Bytes(1024), tag: Some(0) });
                if let Some(last) = last {
                    b.after(receive, last);
                }
                last = Some(receive);
            }
        }
        let job = Arc::new(b.build().unwrap());
        let times = estimate(&job, &LogGops::default());
        let mut ends = vec![0; 8];
        for (operation, times) in job.operations().iter().zip(&times) {
            let end = times.ended.expect("all end").since(Time::ZERO).ps() / 1000;
            ends[operation.rank as usize] = end.max(ends[operation.rank as usize]);
        }
        ends.sort_unstable_by_key(|&end| Reverse(end));
        assert_eq!(ends, [34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500]);
    }
}
