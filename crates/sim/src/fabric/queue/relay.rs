//! The output queue of a host that relays the packets of others (server-centric fabrics).
//!
//! For the packets of others the port is a store-and-forward output port, and they wait in a queue of the switches'
//! discipline: it drops, marks or trims them as a switch would. The host's own packets wait in a queue without limit, as
//! in any host: no host drops what its own transports send. The port sends the more urgent of the two packets that are
//! next; where both are equally urgent, own packets and those of others take turns.

use super::nic::Nic;
use super::{Discipline, Enqueued, Passing, Queue};
use crate::engine::arena::{Hot, Movers, PacketId, flag};

/// A relaying host's queue.
#[derive(Clone, Debug)]
pub struct Relay {
    own: Nic,
    others: Queue,
    /// Whether an own packet goes first at the next tie.
    own_turn: bool,
}

impl Relay {
    /// An empty queue, where the packets of others wait in `others`.
    pub fn new(others: Queue) -> Self {
        Self { own: Nic::new(), others, own_turn: false }
    }

    fn own_next(&self) -> bool {
        if self.own.packets() == 0 || self.others.packets() == 0 {
            return self.others.packets() == 0;
        }
        // Priorities that switches ignore count for nothing here either.
        let own = self.own.urgency().min(self.others.priorities());
        let others = self.others.urgency();
        own < others || own == others && self.own_turn
    }
}

impl Discipline for Relay {
    #[inline(never)]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        if hots[id as usize].has(flag::RELAYED) { self.others.enqueue(hots, id) } else { self.own.enqueue(hots, id) }
    }

    #[inline(never)]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        let own = self.own_next();
        self.own_turn = !own;
        if own { self.own.dequeue(hots) } else { self.others.dequeue(hots) }
    }

    fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.own.move_packets(movers);
        self.others.move_packets(movers);
    }

    fn memory(&self) -> Option<*const super::pooled::Pool> {
        self.others.memory()
    }

    fn packets(&self) -> u32 {
        self.own.packets() + self.others.packets()
    }

    fn bytes(&self) -> u64 {
        self.own.bytes() + self.others.bytes()
    }

    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        if hot.has(flag::RELAYED) { self.others.pass(hot, idle) } else { Passing::Unmarked }
    }

    delegate!(others: inspects_passing, settings);
}

#[cfg(test)]
mod tests {
    use super::super::mlfq::{Mlfq, MlfqParameters, Victim};
    use super::super::testing::{control, data, drain, insert};
    use super::super::trim::Trim;
    use super::super::{Limit, drop_tail::DropTail, ecn::Ecn};
    use super::*;
    use crate::engine::arena::{Arena, NO_PACKET};

    fn relayed(hot: Hot) -> Hot {
        Hot { flags: hot.flags | flag::RELAYED, ..hot }
    }

    /// Labels below 100 are the host's own.
    fn filled(others: Queue, packets: &[(u32, Hot)]) -> (Relay, Arena<u32>, Vec<Enqueued>) {
        let (mut queue, mut arena) = (Relay::new(others), Arena::new());
        let outcomes = packets
            .iter()
            .map(|&(label, hot)| {
                let id = insert(&mut arena, if label < 100 { hot } else { relayed(hot) }, label);
                queue.enqueue(arena.hots(), id)
            })
            .collect();
        (queue, arena, outcomes)
    }

    fn mlfq() -> Queue {
        Queue::Mlfq(Mlfq::new(MlfqParameters {
            priorities: 5,
            buffer: Limit::Packets(4),
            trim: true,
            header_buffer: Limit::Packets(100),
            weight: 10,
            victim: Victim::Lowest,
            mark: None,
        }))
    }

    #[test]
    fn own_packets_and_those_of_others_take_turns() {
        let packets: Vec<_> = (1..5).chain(101..104).map(|label| (label, data(0))).collect();
        let (mut queue, mut arena, _) = filled(Queue::DropTail(DropTail::new(Limit::Packets(10))), &packets);
        assert_eq!((queue.packets(), queue.bytes()), (7, 7 * 1500));
        assert_eq!(drain(&mut queue, &mut arena), [101, 1, 102, 2, 103, 3, 4]);
    }

    #[test]
    fn the_more_urgent_goes_first() {
        let packets = [(1, data(2)), (2, data(0)), (101, data(1)), (102, data(1)), (103, control()), (3, data(1))];
        let (mut queue, mut arena, _) = filled(mlfq(), &packets);
        assert_eq!(drain(&mut queue, &mut arena), [103, 2, 101, 3, 102, 1]);
    }

    #[test]
    fn priorities_that_switches_ignore_are_ignored() {
        let trim = Queue::Trim(Trim::new(Limit::Packets(4), Limit::Packets(10), 10, 1));
        let packets = [(1, data(4)), (2, data(4)), (101, data(0)), (102, data(0)), (103, control()), (3, control())];
        let (mut queue, mut arena, _) = filled(trim, &packets);
        assert_eq!(drain(&mut queue, &mut arena), [103, 3, 101, 1, 102, 2]);
    }

    #[test]
    fn only_the_packets_of_others_meet_a_limit() {
        let packets: Vec<_> = (1..50).chain(101..106).map(|label| (label, data(0))).collect();
        let (queue, _, outcomes) = filled(mlfq(), &packets);
        assert!(outcomes[..53].iter().all(|&o| o == Enqueued::QUEUED));
        assert_ne!(outcomes[53].trimmed, NO_PACKET);
        assert_eq!(queue.packets(), 54);
    }

    #[test]
    fn only_the_packets_of_others_are_marked() {
        let ect = |hot: Hot| Hot { flags: hot.flags | flag::ECT, ..hot };
        let marking = Queue::Ecn(Ecn::new(Limit::Packets(10), Limit::Packets(0)));
        let (mut queue, _, outcomes) = filled(marking, &[(1, ect(data(0))), (101, ect(data(0)))]);
        assert_eq!([outcomes[0].marked, outcomes[1].marked], [false, true]);
        assert_eq!(queue.pass(&mut ect(data(0)), 0), Passing::Unmarked);
        assert_eq!(queue.pass(&mut relayed(ect(data(0))), 0), Passing::Marked);
    }
}
