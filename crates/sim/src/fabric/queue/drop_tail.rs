//! First in, first out; what arrives at a full queue is dropped.

use super::bands::Bands;
use super::{Discipline, Enqueued, Limit, Setting};
use crate::engine::arena::{Hot, PacketId};

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct DropTail {
    waiting: Bands<1>,
    limit: Limit,
}

impl DropTail {
    /// A queue that holds at most `limit`.
    pub fn new(limit: Limit) -> Self {
        Self { waiting: Bands::EMPTY, limit }
    }
}

impl Discipline for DropTail {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        if !self.limit.admits(self.waiting.packets, self.waiting.bytes, hots[id as usize].size) {
            return Enqueued::rejected(id);
        }
        self.waiting.push(hots, 0, id);
        Enqueued::QUEUED
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        self.waiting.pop(hots)
    }

    waiting_in!(waiting);

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::Buffer(limit) => self.limit = limit,
            Setting::MarkingThreshold(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{data, drain, insert};
    use super::*;
    use crate::engine::arena::Arena;

    #[test]
    fn drops_what_arrives_last() {
        let mut arena = Arena::new();
        let mut queue = DropTail::new(Limit::Packets(2));
        let ids: Vec<_> = (0..3).map(|label| insert(&mut arena, data(0), label)).collect();
        assert_eq!(queue.enqueue(arena.hots(), ids[0]), Enqueued::QUEUED);
        assert_eq!(queue.enqueue(arena.hots(), ids[1]), Enqueued::QUEUED);
        assert_eq!(queue.enqueue(arena.hots(), ids[2]), Enqueued::rejected(ids[2]));
        assert_eq!(queue.bytes(), 3000);
        assert_eq!(drain(&mut queue, &mut arena), [0, 1]);
        assert_eq!(queue.bytes(), 0);
    }

    #[test]
    fn a_limit_in_bytes_counts_bytes() {
        let mut arena = Arena::new();
        let mut queue = DropTail::new(Limit::Bytes(1600));
        let big = insert(&mut arena, data(0), 0);
        let big2 = insert(&mut arena, data(0), 1);
        let small = insert(&mut arena, Hot { size: 100, ..data(0) }, 2);
        assert_eq!(queue.enqueue(arena.hots(), big), Enqueued::QUEUED);
        assert_eq!(queue.enqueue(arena.hots(), big2), Enqueued::rejected(big2));
        assert_eq!(queue.enqueue(arena.hots(), small), Enqueued::QUEUED);
        assert_eq!(drain(&mut queue, &mut arena), [0, 2]);
    }
}
