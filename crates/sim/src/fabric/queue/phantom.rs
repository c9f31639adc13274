//! HULL's phantom queue (Alizadeh et al., NSDI 2012): marks as the queue of a slower link would, so that senders slow down before
//! packets wait.
//!
//! Beside a drop-tail queue, packets that leave are counted as if they went on by a virtual link with a share of the port's rate.
//! What would wait there decides about marks; nothing does. First in, first out means that a packet's end of transmission is known
//! when it arrives, so that it is counted then.

use super::drop_tail::DropTail;
use super::{Discipline, Enqueued, Limit, Passing, Setting};
use crate::engine::arena::{Hot, PacketId, flag};
use anabranch_transport::{Duration, Rate};

/// A drop-tail queue with a phantom queue.
#[derive(Clone, Debug)]
pub struct Phantom {
    queue: DropTail,
    /// Rate of the virtual link over that of the port.
    drain: f64,
    /// Bytes in the phantom queue beyond which packets are marked.
    threshold: u64,
    rate: Rate,
    virtual_rate: Rate,
    /// When the last bit of all packets so far has left the port.
    sent_at: u64,
    /// When it would have left the virtual link.
    virtually_sent_at: u64,
}

impl Phantom {
    /// A queue of at most `limit` with a virtual link of `drain`, above 0 and at most 1, times the port's rate, whose queue makes
    /// packets marked when it holds more than `threshold` bytes.
    pub fn new(limit: Limit, drain: f64, threshold: u64) -> Self {
        let rate = Rate(u64::MAX);
        let queue = DropTail::new(limit);
        Self { queue, drain, threshold, rate, virtual_rate: rate, sent_at: 0, virtually_sent_at: 0 }
    }

    /// A packet that will be sent: marks it if it finds too much in the phantom queue. Whether it got a mark that it did not have.
    #[inline]
    fn count(&mut self, hot: &mut Hot) -> bool {
        let bytes = u64::from(hot.size);
        self.sent_at = self.sent_at.max(hot.at).saturating_add(self.rate.transmit_time(bytes).ps());
        let ahead = self.virtual_rate.bytes_in(Duration(self.virtually_sent_at.saturating_sub(self.sent_at)));
        let begins = self.virtually_sent_at.max(self.sent_at);
        self.virtually_sent_at = begins.saturating_add(self.virtual_rate.transmit_time(bytes).ps());
        let mark = ahead > self.threshold && hot.has(flag::ECT) && !hot.has(flag::CE);
        if mark {
            hot.flags |= flag::CE;
        }
        mark
    }
}

impl Discipline for Phantom {
    #[inline]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let outcome = self.queue.enqueue(hots, id);
        let marked = outcome.is_queued() && self.count(&mut hots[id as usize]);
        Enqueued { marked, ..outcome }
    }

    delegate!(queue: dequeue, move_packets, head, packets, bytes);

    #[inline]
    fn pass(&mut self, hot: &mut Hot, _idle: u64) -> Passing {
        if self.count(hot) { Passing::Marked } else { Passing::Unmarked }
    }

    fn inspects_passing(&self) -> bool {
        true
    }

    fn set(&mut self, setting: Setting) -> bool {
        self.queue.set(setting)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.virtual_rate = Rate(((rate.bps() as f64 * self.drain) as u64).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, insert};
    use super::*;
    use crate::engine::arena::Arena;

    fn phantom() -> Phantom {
        let mut queue = Phantom::new(Limit::Packets(100), 0.95, 1000);
        queue.set_rate(Rate::from_gbps(1));
        queue
    }

    fn capable(at_ns: u64) -> Hot {
        Hot { at: at_ns * 1000, flags: flag::DATA | flag::ECT, ..data(0) }
    }

    /// Which of packets that arrive at these times, in nanoseconds, are marked.
    fn marked(queue: &mut Phantom, times: impl Iterator<Item = u64>) -> Vec<usize> {
        let passes = times.enumerate().map(|(n, at)| (n, queue.pass(&mut capable(at), 0)));
        passes.filter(|(_, passing)| *passing == Passing::Marked).map(|(n, _)| n).collect()
    }

    #[test]
    fn back_to_back_packets_add_what_the_virtual_link_is_slower() {
        // While a packet of 1500 B leaves, 12 us, the virtual link sends 1425 B: 75 B more wait for each. The 15th finds
        // 14 * 75 = 1050 B, more than 1000 B.
        let times = (0..20).map(|n| 12_000 * n);
        assert_eq!(marked(&mut phantom(), times), [14, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn at_the_virtual_links_rate_nothing_is_marked() {
        // 12 us / 0.95 = 12631.6 ns.
        let times = (0..2000).map(|n| 12_632 * n);
        assert!(marked(&mut phantom(), times).is_empty());
    }

    #[test]
    fn an_idle_time_empties_it() {
        // After 20 packets, 240 us, 19 * 75 + 1500 = 2925 B are left, which take 24.6 us.
        let mut queue = phantom();
        let _ = marked(&mut queue, (0..20).map(|n| 12_000 * n));
        assert_eq!((queue.virtually_sent_at - queue.sent_at) / 1000, 24_631, "in ns");
        // A packet whose last bit leaves 16 us later finds 2925 B - 1900 B = 1025 B, one 16.6 us later 953 B.
        assert_eq!(queue.clone().pass(&mut capable(240_000 + 4_000), 0), Passing::Marked);
        assert_eq!(queue.pass(&mut capable(240_000 + 4_600), 0), Passing::Unmarked);
    }

    #[test]
    fn a_burst_counts_as_it_leaves_and_not_as_it_arrives() {
        let (mut queue, mut arena) = (phantom(), Arena::new());
        let outcomes: Vec<bool> = (0..16)
            .map(|n| {
                let id = insert(&mut arena, capable(0), n);
                queue.enqueue(arena.hots(), id).marked
            })
            .collect();
        assert_eq!(outcomes.iter().position(|&marked| marked), Some(14));
        assert_eq!((queue.packets(), queue.sent_at), (16, 16 * 12_000_000));
    }

    #[test]
    fn what_is_dropped_or_cannot_be_marked_is_no_mark() {
        let (mut queue, mut arena) = (Phantom::new(Limit::Packets(1), 0.5, 0), Arena::new());
        queue.set_rate(Rate::from_gbps(1));
        let ids: Vec<_> = (0..2).map(|n| insert(&mut arena, capable(0), n)).collect();
        assert_eq!(queue.enqueue(arena.hots(), ids[0]), Enqueued::QUEUED);
        assert_eq!(queue.enqueue(arena.hots(), ids[1]), Enqueued::rejected(ids[1]));
        assert_eq!(queue.sent_at, 12_000_000, "the second was never sent");
        assert_eq!(queue.pass(&mut Hot { at: 12_000_000, ..data(0) }, 0), Passing::Unmarked);
        assert_eq!(queue.pass(&mut capable(24_000), 0), Passing::Marked);
    }

    #[test]
    fn a_virtual_link_that_never_gets_done_marks_all_from_the_second_packet_on() {
        // 1 bps: a packet takes 12,000 s, and 1600 of them more picoseconds than there are.
        let mut queue = Phantom::new(Limit::Packets(100), 1e-12, 1000);
        queue.set_rate(Rate::from_gbps(1));
        assert_eq!(marked(&mut queue, (0..1600).map(|n| 12_000 * n)), (1..1600).collect::<Vec<_>>());
    }
}
