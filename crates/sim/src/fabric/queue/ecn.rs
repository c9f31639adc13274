//! Drop-tail that marks packets at an instantaneous threshold, as DCTCP asks of switches (RFC 8257 §3.1, SIGCOMM 2010
//! §3.1: "mark every arriving packet if the queue occupancy is greater than K upon its arrival").

use super::drop_tail::DropTail;
use super::{Discipline, Enqueued, Limit, Passing, Setting};
use crate::engine::arena::{Hot, PacketId, flag};

/// A drop-tail queue with ECN threshold marking.
#[derive(Clone, Debug)]
pub struct Ecn {
    queue: DropTail,
    threshold: Limit,
}

impl Ecn {
    /// A queue of at most `limit` that marks arrivals while `threshold` or more waits.
    pub fn new(limit: Limit, threshold: Limit) -> Self {
        Self { queue: DropTail::new(limit), threshold }
    }
}

impl Discipline for Ecn {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let full = self.threshold.reached(self.queue.packets(), self.queue.bytes());
        let mut outcome = self.queue.enqueue(hots, id);
        let hot = &mut hots[id as usize];
        if full && hot.has(flag::ECT) && outcome == Enqueued::QUEUED {
            outcome.marked = !hot.has(flag::CE);
            hot.flags |= flag::CE;
        }
        outcome
    }

    delegate!(queue: dequeue, move_packets, head, packets, bytes);

    #[inline]
    fn pass(&mut self, hot: &mut Hot, _idle: u64) -> Passing {
        // An empty queue has reached a threshold of zero only.
        let mark = self.threshold.reached(0, 0) && hot.has(flag::ECT) && !hot.has(flag::CE);
        if mark {
            hot.flags |= flag::CE;
        }
        if mark { Passing::Marked } else { Passing::Unmarked }
    }

    fn inspects_passing(&self) -> bool {
        self.threshold.reached(0, 0)
    }

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::MarkingThreshold(threshold) => self.threshold = threshold,
            Setting::Buffer(_) => return self.queue.set(setting),
        }
        true
    }

    fn marking_threshold(&self) -> Option<Limit> {
        Some(self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, insert};
    use super::*;
    use crate::engine::arena::Arena;

    #[test]
    fn marks_capable_packets_from_the_threshold_on() {
        let mut arena = Arena::new();
        let mut queue = Ecn::new(Limit::Packets(4), Limit::Packets(2));
        let capable = Hot { flags: flag::DATA | flag::ECT, ..data(0) };
        let marked: Vec<_> = [capable, capable, capable, data(0)]
            .into_iter()
            .map(|hot| {
                let id = insert(&mut arena, hot, 0);
                let outcome = queue.enqueue(arena.hots(), id);
                assert_eq!(outcome.marked, arena.hot(id).has(flag::CE));
                outcome.marked
            })
            .collect();
        assert_eq!(marked, [false, false, true, false]);
        let id = insert(&mut arena, capable, 0);
        assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::rejected(id));
    }
}
