//! A host's own egress queue: unlimited, control packets first, then data by priority.
//!
//! The host never drops what its own transports send: they are window-limited, but for UDP, which hands over all it has.

use super::bands::Bands;
use super::mlfq::MAX_PRIORITIES;
use super::{Discipline, Enqueued};
use crate::engine::arena::{Hot, PacketId};

const BANDS: usize = MAX_PRIORITIES as usize + 1;

/// A host's queue.
#[derive(Clone, Debug)]
pub struct Nic {
    waiting: Bands<BANDS>,
}

impl Nic {
    /// An empty queue.
    pub fn new() -> Self {
        Self { waiting: Bands::EMPTY }
    }
}

impl Default for Nic {
    fn default() -> Self {
        Self::new()
    }
}

impl Discipline for Nic {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let hot = &hots[id as usize];
        let band = if hot.in_header_band() { 0 } else { 1 + usize::from(hot.priority()).min(BANDS - 2) };
        self.waiting.push(hots, band, id);
        Enqueued::QUEUED
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        self.waiting.pop(hots)
    }

    fn urgency(&self) -> u8 {
        self.waiting.most_urgent()
    }

    waiting_in!(waiting);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::*;
    use crate::engine::arena::Arena;

    #[test]
    fn control_first_then_by_priority_and_never_full() {
        let mut arena = Arena::new();
        let mut queue = Nic::new();
        for label in 0..100 {
            let id = insert(&mut arena, data(3), label);
            queue.enqueue(arena.hots(), id);
        }
        for (label, hot) in [(200, data(0)), (300, control())] {
            let id = insert(&mut arena, hot, label);
            queue.enqueue(arena.hots(), id);
        }
        let order = drain(&mut queue, &mut arena);
        assert_eq!(order[..3], [300, 200, 0]);
        assert_eq!(order.len(), 102);
    }
}
