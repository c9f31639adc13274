//! Random early detection (Floyd and Jacobson 1993), with the gentle slope of Floyd 2000, dropping or marking (RFC 3168).
//!
//! Unlike [`ecn`](super::ecn), which looks at the queue as it is, it decides by a moving average of the queue's length, and
//! at random: bursts pass, and a flow's share of the marks or drops is its share of the packets.

use super::drop_tail::DropTail;
use super::{Discipline, Enqueued, Limit, Passing};
use crate::engine::arena::{Hot, PacketId, flag};
use crate::random;

/// Parameters of random early detection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each rule")]
pub struct RedParameters {
    /// What the queue may hold.
    pub buffer: Limit,
    /// The lower threshold (`min_th`) and the upper (`max_th`) of the average length, in packets, or both in bytes.
    pub min: f64,
    /// See `min`.
    pub max: f64,
    /// Whether lengths are in bytes.
    pub in_bytes: bool,
    /// Marking probability when the average is just below `max` (`max_p`).
    pub max_probability: f64,
    /// Weight of an arrival in the average.
    pub weight: f64,
    /// Whether the marking probability rises from `max_probability` to 1 between `max` and twice that, instead of at once.
    pub gentle: bool,
    /// Whether marks are spread evenly, with the counter of 1993, which doubles their share; else each packet is judged by itself.
    pub spread: bool,
    /// Whether packets that may be marked are marked instead of dropped.
    pub mark: bool,
    /// Whether it marks only, and drops nothing: where all packets are marked from `max` on, as DCQCN's switches do.
    pub keeps: bool,
    /// Bytes of a typical packet: an idle queue's average falls as if such packets had arrived all the time.
    pub packet: u64,
}

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedAction {
    Admit,
    /// Mark it, or drop it where it cannot be marked.
    Mark,
    /// The average is beyond all bounds: drop it (RFC 3168 §7 asks for that even where marks are possible).
    Drop,
}

/// A queue with random early detection.
#[derive(Clone, Debug)]
pub struct Red {
    queue: DropTail,
    parameters: RedParameters,
    average: f64,
    /// Arrivals since the last mark or drop (1993's `count`); -1 while the average is below `min`.
    count: i64,
    random: u64,
}

impl Red {
    /// An empty queue; `seed` is that of its random numbers.
    pub fn new(parameters: RedParameters, seed: u64) -> Self {
        let queue = DropTail::new(parameters.buffer);
        Self { queue, parameters, average: 0.0, count: -1, random: random::mix(seed) }
    }

    /// Uniform in 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.random = random::mix(self.random);
        random::uniform(self.random)
    }

    /// The marking probability at this average, `p_b` (1993 §IV; Floyd 2000); 1: every packet is dropped.
    fn probability(&self) -> f64 {
        let RedParameters { min, max, max_probability: top, gentle, .. } = self.parameters;
        if self.average < min {
            0.0
        } else if self.average < max {
            top * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            top + (1.0 - top) * (self.average - max) / max
        } else {
            1.0
        }
    }

    fn judge(&mut self) -> RedAction {
        let probability = self.probability();
        if probability >= 1.0 {
            self.count = 0;
            return RedAction::Drop;
        }
        if self.average < self.parameters.min {
            self.count = -1;
            return RedAction::Admit;
        }
        // 1993 §IV: `p_a` = p_b / (1 - count p_b) makes the gaps between marks uniform.
        self.count += 1;
        let left = if self.parameters.spread { 1.0 - self.count as f64 * probability } else { 1.0 };
        if left <= 0.0 || self.uniform() < probability / left {
            self.count = 0;
            return RedAction::Mark;
        }
        RedAction::Admit
    }

    /// Whether the packet may stay, and whether it was marked.
    fn apply(&self, verdict: RedAction, hot: &mut Hot) -> (bool, bool) {
        let RedParameters { mark, keeps, .. } = self.parameters;
        match verdict {
            RedAction::Admit => (true, false),
            RedAction::Mark | RedAction::Drop
                if mark && hot.has(flag::ECT) && (verdict == RedAction::Mark || keeps) =>
            {
                let news = !hot.has(flag::CE);
                hot.flags |= flag::CE;
                (true, news)
            }
            RedAction::Mark | RedAction::Drop => (keeps, false),
        }
    }
}

/// `x` to the power of `n` by multiplications only, which IEEE 754 rounds the same everywhere.
pub(super) fn power(mut x: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 && result > 0.0 {
        if n & 1 == 1 {
            result *= x;
        }
        x *= x;
        n >>= 1;
    }
    result
}

impl Discipline for Red {
    #[inline(never)]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let length = if self.parameters.in_bytes { self.queue.bytes() as f64 } else { f64::from(self.queue.packets()) };
        self.average += self.parameters.weight * (length - self.average);
        let verdict = self.judge();
        let (stays, marked) = self.apply(verdict, &mut hots[id as usize]);
        if !stays {
            return Enqueued::rejected(id);
        }
        let outcome = self.queue.enqueue(hots, id);
        Enqueued { marked: marked && outcome == Enqueued::QUEUED, ..outcome }
    }

    #[inline(never)]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        self.queue.dequeue(hots)
    }

    delegate!(queue: move_packets, packets, bytes, settings);

    #[inline]
    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        // 1993 §IV: as many packets as could have been sent while the queue was idle, and this one, which finds it empty.
        let found_empty = (idle / self.parameters.packet.max(1)).saturating_add(1);
        self.average *= power(1.0 - self.parameters.weight, found_empty);
        let verdict = self.judge();
        match self.apply(verdict, hot) {
            (false, _) => Passing::Rejected,
            (true, true) => Passing::Marked,
            (true, false) => Passing::Unmarked,
        }
    }

    fn inspects_passing(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, insert};
    use super::*;
    use crate::engine::arena::Arena;

    fn parameters() -> RedParameters {
        RedParameters {
            buffer: Limit::Packets(1000),
            min: 5.0,
            max: 15.0,
            in_bytes: false,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            spread: true,
            mark: true,
            keeps: false,
            packet: 1500,
        }
    }

    /// DCQCN (SIGCOMM 2015) §3.1, Figure 5: the queue as it is, marks by chance from `K_min` to `K_max`, and all from there on.
    #[test]
    fn a_queue_that_loses_nothing_marks_all_from_the_upper_threshold_on() {
        let plain = RedParameters { weight: 0.0, gentle: false, keeps: true, max_probability: 0.01, ..parameters() };
        let dcqcn = RedParameters { spread: false, ..plain };
        let capable = Hot { flags: flag::DATA | flag::ECT, ..data(0) };
        assert_eq!(dropped_and_marked(dcqcn, 15.0, capable), (0.0, 1.0));
        assert_eq!(dropped_and_marked(dcqcn, 15.0, data(0)), (0.0, 0.0));
        // Each packet by itself: 0.25, 0.5 and all of P_max. Twice as many where marks are spread.
        for (average, share) in [(7.5, 0.0025), (10.0, 0.005), (14.999, 0.01)] {
            for (parameters, share) in [(dcqcn, share), (plain, spread(share))] {
                let (dropped, marked) = dropped_and_marked(parameters, average, capable);
                assert!(dropped == 0.0 && (marked - share).abs() < 0.001, "{average}: {marked}, not {share}");
            }
        }
    }

    /// Shares of packets dropped and marked, of many that find this average. The weight is 0, so that they do not change it.
    fn dropped_and_marked(parameters: RedParameters, average: f64, hot: Hot) -> (f64, f64) {
        let mut queue = Red { average, ..Red::new(RedParameters { weight: 0.0, ..parameters }, 7) };
        let (mut dropped, mut marked, n) = (0, 0, 200_000);
        for _ in 0..n {
            match queue.pass(&mut { hot }, 0) {
                Passing::Rejected => dropped += 1,
                Passing::Marked => marked += 1,
                Passing::Unmarked => {}
            }
        }
        (f64::from(dropped) / f64::from(n), f64::from(marked) / f64::from(n))
    }

    /// Even gaps double the probability: with the counter of 1993, Fig. 2, gaps are uniform on 1 to 1/p - 1, whose mean is 1/2p.
    fn spread(probability: f64) -> f64 {
        (2.0 * probability).min(1.0)
    }

    #[test]
    fn the_probability_rises_from_the_lower_threshold_and_gently_beyond_the_upper() {
        let plain = RedParameters { gentle: false, ..parameters() };
        for (average, probability) in [(4.9, 0.0), (7.5, 0.025), (10.0, 0.05), (14.0, 0.09)] {
            for p in [parameters(), plain] {
                let (dropped, marked) = dropped_and_marked(p, average, data(0));
                assert!((dropped - spread(probability)).abs() < 0.01 && marked == 0.0, "{average}: {dropped}");
            }
        }
        // Floyd 2000: 0.1 at 15, 0.55 at 22.5, all from 30 on. Without it, all from 15 on.
        for (average, probability) in [(15.0, 0.1), (22.5, 0.55), (29.9, 0.994), (30.0, 1.0)] {
            let dropped = dropped_and_marked(parameters(), average, data(0)).0;
            assert!(dropped >= probability - 0.01 && dropped <= spread(probability) + 0.02, "{average}: {dropped}");
            assert!(dropped_and_marked(plain, average, data(0)).0 > 0.999);
        }
    }

    #[test]
    fn capable_packets_are_marked_but_where_all_are_dropped() {
        let capable = Hot { flags: flag::DATA | flag::ECT, ..data(0) };
        let (dropped, marked) = dropped_and_marked(parameters(), 10.0, capable);
        assert!(dropped == 0.0 && (marked - spread(0.05)).abs() < 0.01, "{dropped} {marked}");
        assert!(dropped_and_marked(parameters(), 40.0, capable).0 > 0.9999);
        let (dropped, marked) = dropped_and_marked(RedParameters { mark: false, ..parameters() }, 10.0, capable);
        assert!(dropped > 0.0 && marked == 0.0);
    }

    #[test]
    fn an_idle_time_counts_once_however_many_packets_are_dropped_after_it() {
        use super::super::Queue;
        use crate::fabric::port::Port;
        let p = RedParameters { min: 0.001, max: 0.002, gentle: false, weight: 0.002, ..parameters() };
        let wheel = crate::engine::wheel::Wheel::new(22_000_000, 1, 0);
        let (mut arena, mut pending) = (Arena::new(), crate::engine::pending::Pending::new(wheel));
        let queue = Queue::Red(Box::new(Red { average: 29.99, ..Red::new(p, 7) }));
        let mut port =
            Port::new(anabranch_transport::Rate::from_gbps(1), anabranch_transport::Duration::ZERO, 0, queue);
        for n in 0..5 {
            let id = insert(&mut arena, data(0), n);
            port.send(0, arena.hots(), &mut pending, id, 100 * 12_000_000 + u64::from(n));
        }
        let Queue::Red(red) = port.queue() else { unreachable!() };
        let (now, once) = (red.average, 29.99 * 0.998_f64.powi(100));
        assert!((now - once).abs() < 0.5, "{now}, not {once}");
    }

    /// 1993 §V: after n arrivals that find a queue of 100 the average is 100 (1 - (1 - w)^n), and an idle time undoes it.
    #[test]
    fn the_average_moves_slowly_and_falls_while_the_queue_is_idle() {
        let mut arena = Arena::new();
        let parameters = RedParameters { min: 1e6, max: 2e6, ..parameters() };
        let mut queue = Red::new(parameters, 1);
        for label in 0..600 {
            let id = insert(&mut arena, data(0), label);
            assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::QUEUED);
            if queue.packets() > 100 {
                queue.dequeue(arena.hots());
            }
        }
        let (n, average) = (600_i32, queue.average);
        assert!(average > 50.0 && average < 100.0 * (1.0 - 0.998_f64.powi(n)), "{average}");
        queue.pass(&mut data(0), 500 * parameters.packet);
        assert!((queue.average - average * 0.998_f64.powi(501)).abs() < 1e-9);
        queue.pass(&mut data(0), u64::MAX);
        assert!(queue.average < 1e-9);
    }

    /// However close together arrivals come: each that finds the queue empty is a sample of it.
    #[test]
    fn short_idle_times_count_too() {
        let mut queue = Red { average: 40.0, ..Red::new(parameters(), 1) };
        let admitted = (0..2000).filter(|_| queue.pass(&mut data(0), 750) != Passing::Rejected).count();
        assert!(queue.average < 1.0, "{}", queue.average);
        assert!(admitted > 1000, "{admitted}");
    }

    #[test]
    fn lengths_may_be_in_bytes_and_the_buffer_still_ends() {
        let mut arena = Arena::new();
        let p = RedParameters {
            buffer: Limit::Bytes(6000),
            in_bytes: true,
            min: 3000.0,
            max: 4000.0,
            weight: 1.0,
            gentle: false,
            ..parameters()
        };
        let mut queue = Red::new(p, 1);
        let rejected: Vec<bool> = (0..5)
            .map(|label| {
                let id = insert(&mut arena, data(0), label);
                queue.enqueue(arena.hots(), id) == Enqueued::rejected(id)
            })
            .collect();
        // 4500 bytes wait when the fourth arrives.
        assert_eq!(rejected, [false, false, false, true, true]);
    }
}
