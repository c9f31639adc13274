//! A trimming queue that marks, as Ultra Ethernet's transport wants it: before packets are trimmed, senders hear of the queue.
//!
//! Marks come by chance, more of them the longer the data queue is: none up to `low` of its buffer, all from `high` on (uet-htsim's
//! `CompositeQueue::decide_ECN`, which marks what leaves; here it is what arrives, a queue's length earlier and later told).

use super::trim::Trim;
use super::{Discipline, Enqueued, Limit, Setting};
use crate::engine::arena::{Hot, PacketId, flag};
use crate::random;

/// When packets are marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    buffer: Limit,
    /// Shares of the buffer.
    low: f64,
    high: f64,
}

impl Marking {
    /// From `low` to `high`, shares of the `buffer` for data, 0 to 1. One without limit is never full, and nothing is marked.
    pub fn new(buffer: Limit, low: f64, high: f64) -> Self {
        Self { buffer, low, high }
    }

    /// The probability of a mark while so much data waits.
    fn probability(&self, packets: u32, bytes: u64) -> f64 {
        let share = match self.buffer {
            Limit::Packets(most) => f64::from(packets) / f64::from(most.max(1)),
            Limit::Bytes(most) => bytes as f64 / most.max(1) as f64,
        };
        if share > self.high {
            1.0
        } else if share > self.low {
            (share - self.low) / (self.high - self.low)
        } else {
            0.0
        }
    }
}

/// A trimming queue that marks.
#[derive(Clone, Debug)]
pub struct TrimEcn {
    trim: Trim,
    marking: Marking,
    random: u64,
}

impl TrimEcn {
    /// A queue that marks and trims; `seed` is that of its choices.
    pub fn new(trim: Trim, marking: Marking, seed: u64) -> Self {
        Self { trim, marking, random: random::mix(!seed) }
    }

    /// Uniform in 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.random = random::mix(self.random);
        random::uniform(self.random)
    }
}

impl Discipline for TrimEcn {
    #[inline]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let hot = &hots[id as usize];
        if hot.in_header_band() || !hot.has(flag::ECT) || hot.has(flag::CE) {
            return self.trim.enqueue(hots, id);
        }
        let (packets, bytes) = self.trim.data_waiting();
        let probability = self.marking.probability(packets, bytes);
        let mark = probability > 0.0 && self.uniform() < probability;
        let outcome = self.trim.enqueue(hots, id);
        // Where the packet at the tail is trimmed instead, this one is in the queue.
        let marked = mark && outcome.rejected != id && outcome.trimmed != id;
        if marked {
            hots[id as usize].flags |= flag::CE;
        }
        Enqueued { marked, ..outcome }
    }

    delegate!(trim: dequeue, head, packets, bytes, move_packets, classes);

    fn set(&mut self, setting: Setting) -> bool {
        if let Setting::Buffer(limit) = setting {
            self.marking.buffer = limit;
        }
        self.trim.set(setting)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, insert};
    use super::*;
    use crate::engine::arena::{Arena, NO_PACKET};

    fn queue(buffer: Limit) -> TrimEcn {
        let trim = Trim::new(buffer, Limit::NONE, 10, 1);
        TrimEcn::new(trim, Marking::new(buffer, 0.2, 0.8), 1)
    }

    #[test]
    fn marks_none_below_a_fifth_all_above_four_and_in_between_in_proportion() {
        let marking = Marking::new(Limit::Packets(50), 0.2, 0.8);
        let probabilities = [0, 10, 25, 40, 41, 50].map(|packets| marking.probability(packets, 0));
        for (found, expected) in probabilities.into_iter().zip([0.0, 0.0, 0.5, 1.0, 1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-9, "{probabilities:?}");
        }
        let bytes = Marking::new(Limit::Bytes(100_000), 0.2, 0.8);
        assert!((bytes.probability(1, 35_000) - 0.25).abs() < 1e-9);
        assert!(Marking::new(Limit::NONE, 0.2, 0.8).probability(1_000_000, 0).abs() < 1e-9);
    }

    #[test]
    fn marks_what_may_be_marked_and_trims_what_finds_no_room() {
        let mut arena = Arena::new();
        let mut queue = queue(Limit::Packets(100));
        let (mut marked, mut instead) = (0, 0);
        for label in 0..160 {
            let flags = flag::DATA | if label % 2 == 0 { flag::ECT } else { 0 };
            let id = insert(&mut arena, Hot { flags, ..data(0) }, label);
            let outcome = queue.enqueue(arena.hots(), id);
            assert_eq!(outcome.trimmed != NO_PACKET, label >= 100);
            assert!(!outcome.marked || (arena.hot(id).has(flag::CE) && label % 2 == 0 && label > 20));
            let replaces = outcome.trimmed != NO_PACKET && outcome.trimmed != id;
            assert!(!replaces || outcome.marked == (label % 2 == 0), "the full queue is not told less");
            instead += u32::from(replaces);
            marked += u32::from(outcome.marked && outcome.trimmed == NO_PACKET);
        }
        // Half of the 30 that find 20 to 80 %, and all of the nine after them.
        assert!((17..=31).contains(&marked) && instead > 15, "{marked} {instead}");
        let id = insert(&mut arena, Hot { flags: flag::CONTROL | flag::ECT, ..control() }, 99);
        assert!(!queue.enqueue(arena.hots(), id).marked, "it does not wait behind data");
    }

    #[test]
    fn a_buffer_that_changes_moves_the_marks() {
        let mut queue = queue(Limit::Packets(10));
        assert!(queue.set(Setting::Buffer(Limit::Packets(100))));
        assert!(queue.marking.probability(20, 0).abs() < 1e-9);
        assert!(!queue.set(Setting::MarkingThreshold(Limit::Packets(1))));
    }
}
