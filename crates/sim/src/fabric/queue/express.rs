//! A lane before all others for the packets of initial windows, in front of any discipline.
//!
//! No paper has it. The simulators that SCDP's authors published do: whatever bears *syn*, which every packet of an
//! initial window does, waits in a queue without limit that is served before headers and data. A pushed window is then
//! never trimmed and never waits for data that was pulled.

use super::bands::Bands;
use super::{Discipline, Enqueued, Passing, Queue};
use crate::engine::arena::{Hot, Movers, PacketId};

/// Pushed packets first.
#[derive(Clone, Debug)]
pub struct Express {
    pushed: Bands<1>,
    others: Queue,
}

impl Express {
    /// An empty queue; what is not pushed waits in `others`.
    pub fn new(others: Queue) -> Self {
        Self { pushed: Bands::EMPTY, others }
    }
}

impl Discipline for Express {
    #[inline(never)]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        if hots[id as usize].pushed() {
            self.pushed.push(hots, 0, id);
            return Enqueued::QUEUED;
        }
        self.others.enqueue(hots, id)
    }

    #[inline(never)]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        if self.pushed.is_empty() { self.others.dequeue(hots) } else { self.pushed.pop(hots) }
    }

    fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.pushed.move_packets(movers);
        self.others.move_packets(movers);
    }

    fn memory(&self) -> Option<*const super::pooled::Pool> {
        self.others.memory()
    }

    fn packets(&self) -> u32 {
        self.pushed.packets + self.others.packets()
    }

    fn bytes(&self) -> u64 {
        self.pushed.bytes + self.others.bytes()
    }

    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        if hot.pushed() { Passing::Unmarked } else { self.others.pass(hot, idle) }
    }

    fn urgency(&self) -> u8 {
        if self.pushed.is_empty() { self.others.urgency() } else { 0 }
    }

    fn priorities(&self) -> u8 {
        self.others.priorities()
    }

    fn classes(&self) -> u8 {
        self.others.classes()
    }

    fn class_of(&self, hot: &Hot) -> u8 {
        self.others.class_of(hot)
    }

    delegate!(others: inspects_passing, settings);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::super::{Limit, ecn::Ecn, trim::Trim};
    use super::*;
    use crate::engine::arena::{Arena, NO_PACKET, flag};

    fn pushed(hot: Hot) -> Hot {
        Hot { tag: Hot::tag(hot.class(), hot.priority(), true), ..hot }
    }

    #[test]
    fn pushed_packets_leave_first_and_are_never_trimmed() {
        let mut arena = Arena::new();
        let trim = Trim::new(Limit::Packets(2), Limit::Packets(100), 10, 1);
        let mut queue = Express::new(Queue::Trim(trim));
        let mut put = |hot, label| {
            let id = insert(&mut arena, hot, label);
            queue.enqueue(arena.hots(), id)
        };
        for label in 0..3 {
            assert_eq!(put(data(0), label).trimmed != NO_PACKET, label == 2);
        }
        put(control(), 10);
        for label in 20..40 {
            assert_eq!(put(pushed(data(3)), label), Enqueued::QUEUED);
        }
        assert_eq!((queue.packets(), queue.bytes()), (24, 22 * 1500 + 2 * 64));
        let order = drain(&mut queue, &mut arena);
        assert_eq!(order[..20], (20..40).collect::<Vec<_>>());
        assert_eq!((order.len(), queue.packets(), queue.bytes()), (24, 0, 0));
    }

    #[test]
    fn what_is_not_pushed_is_marked_as_ever() {
        let mut queue = Express::new(Queue::Ecn(Ecn::new(Limit::NONE, Limit::Packets(0))));
        let mut capable = Hot { flags: flag::DATA | flag::ECT, ..data(0) };
        let mut first = pushed(capable);
        assert_eq!(queue.pass(&mut capable, 0), Passing::Marked);
        assert_eq!(queue.pass(&mut first, 0), Passing::Unmarked);
    }
}
