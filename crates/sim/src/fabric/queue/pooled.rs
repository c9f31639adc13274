//! A memory that all ports of a switch share, with dynamic thresholds (Choudhury and Hahne 1998): a port may hold `alpha` times
//! what is free, so that one busy port gets much of it and several share it.
//!
//! Any discipline may stand behind it, with limits of its own. Memory is free again as bits leave, the packet that is being sent included: a
//! port that sends whenever it has something has `rate` times the time for which it still has to send. So nobody need be told when other
//! ports have sent something.

use super::{Discipline, Enqueued, Limit, Passing, Queue, Setting};
use crate::engine::arena::{Hot, Movers, NO_PACKET, PacketId};
use anabranch_transport::{Duration, Rate};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A port's part of the memory. Atomic only because a network may go from thread to thread: one at a time has it.
#[derive(Debug, Default)]
struct Share {
    /// When all that the port has will have been sent.
    sent_at: AtomicU64,
    /// Bits per second.
    rate: AtomicU64,
}

impl Share {
    fn bytes(&self, now: u64) -> u64 {
        let left = self.sent_at.load(Relaxed).saturating_sub(now);
        if left == 0 { 0 } else { Rate(self.rate.load(Relaxed)).bytes_in(Duration(left)) }
    }
}

/// The memory of a switch.
#[derive(Debug)]
pub struct Pool {
    size: u64,
    alpha: f64,
    shares: Box<[Share]>,
}

impl Pool {
    /// Of `size` bytes, for so many ports.
    pub fn new(size: u64, alpha: f64, ports: usize) -> Self {
        Self { size, alpha, shares: (0..ports).map(|_| Share::default()).collect() }
    }

    /// Bytes in use.
    fn used(&self, now: u64) -> u64 {
        self.shares.iter().map(|share| share.bytes(now)).sum()
    }

    /// Whether a port may take in a packet of `size` bytes.
    fn admits(&self, port: usize, now: u64, size: u16) -> bool {
        let used = self.used(now);
        let free = self.size.saturating_sub(used);
        free >= u64::from(size) && (self.shares[port].bytes(now) as f64) < self.alpha * free as f64
    }
}

/// A port's queue in a shared memory.
#[derive(Clone, Debug)]
pub struct Pooled {
    queue: Queue,
    pool: Arc<Pool>,
    port: usize,
}

impl Pooled {
    /// The queue of the `port`-th port of those that share `pool`.
    pub fn new(queue: Queue, pool: Arc<Pool>, port: usize) -> Self {
        Self { queue, pool, port }
    }

    /// So many bytes more, or less, have to be sent.
    fn changed(&self, now: u64, before: u64, after: u64) {
        let share = &self.pool.shares[self.port];
        let time = |bytes: u64| Rate(share.rate.load(Relaxed).max(1)).transmit_time(bytes).ps();
        let sent_at = share.sent_at.load(Relaxed).max(now);
        let sent_at = if after >= before {
            sent_at.saturating_add(time(after - before))
        } else {
            sent_at.saturating_sub(time(before - after))
        };
        share.sent_at.store(sent_at, Relaxed);
    }
}

impl Discipline for Pooled {
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let Hot { at, size, .. } = hots[id as usize];
        if !self.pool.admits(self.port, at, size) {
            return Enqueued::rejected(id);
        }
        let before = self.queue.bytes();
        let outcome = self.queue.enqueue(hots, id);
        self.changed(at, before, self.queue.bytes());
        outcome
    }

    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        self.queue.dequeue(hots)
    }

    fn head(&self) -> PacketId {
        if self.queue.packets() == 0 { NO_PACKET } else { self.queue.head() }
    }

    fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.queue.move_packets(movers);
    }

    fn memory(&self) -> Option<*const Pool> {
        Some(Arc::as_ptr(&self.pool))
    }

    delegate!(queue: packets, bytes, classes);

    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        if !self.pool.admits(self.port, hot.at, hot.size) {
            return Passing::Rejected;
        }
        let passing = if self.queue.inspects_passing() { self.queue.pass(hot, idle) } else { Passing::Unmarked };
        if passing != Passing::Rejected {
            self.changed(hot.at, 0, u64::from(hot.size));
        }
        passing
    }

    fn inspects_passing(&self) -> bool {
        true
    }

    fn set(&mut self, setting: Setting) -> bool {
        self.queue.set(setting)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.pool.shares[self.port].rate.store(rate.bps(), Relaxed);
        self.queue.set_rate(rate);
    }

    fn marking_threshold(&self) -> Option<Limit> {
        self.queue.marking_threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, insert};
    use super::super::{drop_tail::DropTail, ecn::Ecn, mlfq};
    use super::*;
    use crate::engine::arena::{Arena, flag};

    /// Ports of 1 Gbps that share `size` bytes.
    fn ports(size: u64, alpha: f64, queues: Vec<Queue>) -> Vec<Pooled> {
        let pool = Arc::new(Pool::new(size, alpha, queues.len()));
        let ports = queues.into_iter().enumerate().map(|(port, queue)| Pooled::new(queue, Arc::clone(&pool), port));
        let mut ports: Vec<_> = ports.collect();
        for port in &mut ports {
            port.set_rate(Rate::from_gbps(1));
        }
        ports
    }

    fn unlimited(n: usize) -> Vec<Queue> {
        (0..n).map(|_| Queue::DropTail(DropTail::new(Limit::NONE))).collect()
    }

    /// How many of 1000 packets that arrive at once are taken in.
    fn fill(port: &mut Pooled, arena: &mut Arena<u32>, at: u64) -> u32 {
        let offer = |_: &u32| {
            let id = insert(arena, Hot { at, ..data(0) }, 0);
            port.enqueue(arena.hots(), id) == Enqueued::QUEUED
        };
        (0..1000_u32).filter(offer).count() as u32
    }

    #[test]
    fn a_port_alone_gets_half_and_a_second_one_half_of_the_rest() {
        let (mut arena, mut ports) = (Arena::new(), ports(120_000, 1.0, unlimited(3)));
        // alpha = 1: q < B - q up to q = B / 2 = 40 packets. The second: q < B / 2 - q up to 20; the third 10.
        assert_eq!([0, 1, 2].map(|n| fill(&mut ports[n], &mut arena, 0)), [40, 20, 10]);
    }

    #[test]
    fn alpha_says_how_much_one_port_may_have() {
        // q < alpha (B - q): B alpha / (1 + alpha) of 80 packets: 16 and 64, of the rest the same share.
        for (alpha, expected) in [(0.25, [16, 13]), (4.0, [64, 13])] {
            let (mut arena, mut ports) = (Arena::new(), ports(120_000, alpha, unlimited(2)));
            assert_eq!([0, 1].map(|n| fill(&mut ports[n], &mut arena, 0)), expected, "{alpha}");
        }
    }

    #[test]
    fn memory_is_free_as_bits_leave_whether_or_not_the_port_was_touched() {
        let (mut arena, mut ports) = (Arena::new(), ports(120_000, 1.0, unlimited(2)));
        assert_eq!(fill(&mut ports[0], &mut arena, 0), 40);
        // Twenty packets take 240 us: 20 are left, and 60 are free, of which the other port may have half.
        assert_eq!(ports[1].pool.used(240_000_000), 30_000);
        assert_eq!(fill(&mut ports[1], &mut arena, 240_000_000), 30);
        assert_eq!(ports[0].pool.used(1_000_000_000), 0);
    }

    #[test]
    fn limits_and_marks_of_the_discipline_stay() {
        let marking = Queue::Ecn(Ecn::new(Limit::Packets(5), Limit::Packets(2)));
        let (mut arena, mut ports) = (Arena::new(), ports(1_500_000, 1.0, vec![marking]));
        let marked = |n: u32, arena: &mut Arena<u32>, port: &mut Pooled| {
            let id = insert(arena, Hot { flags: flag::DATA | flag::ECT, ..data(0) }, n);
            port.enqueue(arena.hots(), id).marked
        };
        let marks: Vec<bool> = (0..3).map(|n| marked(n, &mut arena, &mut ports[0])).collect();
        assert_eq!(marks, [false, false, true]);
        assert_eq!(fill(&mut ports[0], &mut arena, 0), 2, "five in all");
        assert_eq!(ports[0].pool.used(0), 5 * 1500);
    }

    #[test]
    fn what_a_discipline_trims_takes_less() {
        let parameters = mlfq::MlfqParameters {
            priorities: 1,
            buffer: Limit::Packets(2),
            trim: true,
            header_buffer: Limit::NONE,
            weight: 10,
            victim: mlfq::Victim::Arriving,
            mark: None,
        };
        let (mut arena, mut ports) =
            (Arena::new(), ports(1_500_000, 1.0, vec![Queue::Mlfq(mlfq::Mlfq::new(parameters))]));
        for n in 0..3 {
            let id = insert(&mut arena, data(0), n);
            ports[0].enqueue(arena.hots(), id);
        }
        assert_eq!(ports[0].pool.used(0), 2 * 1500 + 64);
    }

    #[test]
    fn a_packet_that_is_being_sent_is_in_memory_too() {
        let mut ports = ports(2000, 1.0, unlimited(2));
        assert_eq!(ports[0].pass(&mut data(0), 0), Passing::Unmarked);
        assert_eq!(ports[1].pass(&mut data(0), 0), Passing::Rejected, "500 B are free");
        assert_eq!(ports[1].pass(&mut Hot { at: 12_000_000, ..data(0) }, 0), Passing::Unmarked);
    }
}
