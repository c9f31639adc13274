//! Fair queues for transports that share a port: each class of packets has a queue of its own, with the discipline that
//! its transport was made for, and those that wait share the link by bytes. Not a scheduler of flows: those of a class
//! share its queue as ever.
//!
//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) in its *surplus* form (Adiseshu, Parulkar and Varghese,
//! SIGCOMM 1996): a class sends while it has credit, and its last packet may overdraw it. So nobody needs to know how
//! long the next packet of a class is before it is taken, which a trimming discipline decides only then.

use super::{Discipline, Enqueued, Limit, Passing, Queue, Setting};
use crate::engine::arena::{Hot, Movers, NO_PACKET, PacketId};
use anabranch_transport::Rate;

/// One class of packets.
#[derive(Clone, Debug)]
struct Class {
    queue: Queue,
    /// Bytes that it may still send in this round; negative if the last packet was longer than its credit.
    credit: i64,
}

/// Fair queues, one for each class.
#[derive(Clone, Debug)]
pub struct Fair {
    classes: Box<[Class]>,
    /// The class whose turn it is.
    turn: usize,
    /// Bytes of credit for each turn.
    quantum: i64,
    packets: u32,
    bytes: u64,
}

impl Fair {
    /// One class for each queue, by [`Hot::class`]. `quantum` is what a class may send in its turn, in bytes: a full
    /// packet, so that every turn sends one.
    ///
    /// # Panics
    /// Without a queue, or if the quantum is zero.
    pub fn new(queues: impl IntoIterator<Item = Queue>, quantum: u32) -> Self {
        let classes: Box<[Class]> = queues.into_iter().map(|queue| Class { queue, credit: 0 }).collect();
        assert!(!classes.is_empty() && quantum > 0, "fair queues need a class and a quantum");
        Self { classes, turn: 0, quantum: i64::from(quantum), packets: 0, bytes: 0 }
    }

    /// The class of a packet; what belongs to none is put to the last.
    #[inline]
    fn number(&self, hot: &Hot) -> usize {
        usize::from(hot.class()).min(self.classes.len() - 1)
    }

    #[inline]
    fn class(&mut self, hot: &Hot) -> &mut Class {
        let number = self.number(hot);
        &mut self.classes[number]
    }
}

impl Discipline for Fair {
    #[inline(never)]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let queue = &mut self.class(&hots[id as usize]).queue;
        let before = (queue.packets(), queue.bytes());
        let outcome = queue.enqueue(hots, id);
        // A queue may have shrunk: the packet that it trims or rejects need not be the one that arrived.
        let after = (queue.packets(), queue.bytes());
        self.packets = self.packets + after.0 - before.0;
        self.bytes = self.bytes + after.1 - before.1;
        outcome
    }

    #[inline(never)]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        if self.packets == 0 {
            return NO_PACKET;
        }
        loop {
            let class = &mut self.classes[self.turn];
            if class.queue.packets() > 0 && class.credit > 0 {
                let id = class.queue.dequeue(hots);
                let size = hots[id as usize].size;
                class.credit -= i64::from(size);
                self.packets -= 1;
                self.bytes -= u64::from(size);
                return id;
            }
            if class.queue.packets() == 0 {
                // Nobody saves credit while he has nothing to send.
                class.credit = class.credit.min(0);
            }
            self.turn = if self.turn + 1 == self.classes.len() { 0 } else { self.turn + 1 };
            self.classes[self.turn].credit += self.quantum;
        }
    }

    #[inline]
    fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.classes.iter_mut().for_each(|class| class.queue.move_packets(movers));
    }

    fn memory(&self) -> Option<*const super::pooled::Pool> {
        self.classes.iter().find_map(|class| class.queue.memory())
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        self.class(hot).queue.pass(hot, idle)
    }

    fn inspects_passing(&self) -> bool {
        self.classes.iter().any(|class| class.queue.inspects_passing())
    }

    /// For all classes alike.
    fn set(&mut self, setting: Setting) -> bool {
        let mut changed = false;
        for class in &mut self.classes {
            changed |= class.queue.set(setting);
        }
        changed
    }

    /// Each class has the whole link while the others are silent.
    fn set_rate(&mut self, rate: Rate) {
        self.classes.iter_mut().for_each(|class| class.queue.set_rate(rate));
    }

    fn marking_threshold(&self) -> Option<Limit> {
        self.classes.iter().find_map(|class| class.queue.marking_threshold())
    }

    fn classes(&self) -> u8 {
        self.classes.len() as u8
    }

    fn class_of(&self, hot: &Hot) -> u8 {
        self.number(hot) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::super::{Limit, drop_tail::DropTail, mlfq, nic::Nic};
    use super::*;
    use crate::engine::arena::Arena;
    use proptest::prelude::*;

    fn of_class(hot: Hot, class: u8) -> Hot {
        Hot { tag: Hot::tag(class, hot.priority(), false), ..hot }
    }

    fn drop_tail(packets: u32) -> Queue {
        Queue::DropTail(DropTail::new(Limit::Packets(packets)))
    }

    fn mlfq_trim(packets: u32) -> Queue {
        Queue::Mlfq(mlfq::Mlfq::new(mlfq::MlfqParameters {
            priorities: 5,
            buffer: Limit::Packets(packets),
            trim: true,
            header_buffer: Limit::Packets(100),
            weight: 10,
            victim: mlfq::Victim::Lowest,
            mark: None,
        }))
    }

    #[test]
    fn classes_take_turns_and_an_idle_one_saves_nothing() {
        let mut arena = Arena::new();
        let mut queue = Fair::new([drop_tail(100), drop_tail(100)], 1500);
        let mut put = |queue: &mut Fair, class: u8, label: u32| {
            let id = insert(&mut arena, of_class(data(0), class), label);
            assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::QUEUED);
        };
        (0..6).for_each(|n| put(&mut queue, 0, n));
        (10..12).for_each(|n| put(&mut queue, 1, n));
        assert_eq!((queue.packets(), queue.bytes()), (8, 8 * 1500));
        let order = drain(&mut queue, &mut arena);
        assert_eq!(order[..5].iter().filter(|l| **l >= 10).count(), 2, "one each while both wait: {order:?}");
        assert_eq!((order.len(), queue.packets(), queue.bytes()), (8, 0, 0));
    }

    #[test]
    fn a_class_of_long_packets_gets_no_more_bytes_than_one_of_short_ones() {
        let mut arena = Arena::new();
        let mut queue = Fair::new([drop_tail(1000), drop_tail(1000)], 1500);
        for label in 0..400 {
            let class = u8::from(label % 2 == 1);
            let size = if class == 0 { 1500 } else { 400 };
            let id = insert(&mut arena, Hot { size, ..of_class(data(0), class) }, label);
            queue.enqueue(arena.hots(), id);
        }
        let mut sent = [0_i64; 2];
        for _ in 0..200 {
            let id = queue.dequeue(arena.hots());
            sent[usize::from(arena.hot(id).class())] += i64::from(arena.hot(id).size);
            let lead = sent[0] - sent[1];
            assert!(lead.abs() <= 2 * 1500, "{sent:?}");
        }
    }

    #[test]
    fn each_class_has_a_discipline_and_a_buffer_of_its_own() {
        let mut arena = Arena::new();
        let mut queue = Fair::new([mlfq_trim(2), drop_tail(2)], 1500);
        let mut outcomes = [0, 0, 0];
        for label in 0..8 {
            let id = insert(&mut arena, of_class(data(3), (label % 2) as u8), label);
            let outcome = queue.enqueue(arena.hots(), id);
            outcomes[0] += u32::from(outcome.trimmed != NO_PACKET);
            outcomes[1] += u32::from(outcome.rejected != NO_PACKET);
            outcomes[2] += u32::from(outcome == Enqueued::QUEUED);
        }
        assert_eq!(outcomes, [2, 2, 4], "trimmed in one class, dropped in the other");
        assert_eq!((queue.packets(), queue.bytes()), (6, 4 * 1500 + 2 * 64));
        let id = insert(&mut arena, of_class(control(), 0), 9);
        queue.enqueue(arena.hots(), id);
        // Headers leave first in their class, as its discipline has it; the other class has its turns all the same.
        let order = drain(&mut queue, &mut arena);
        assert_eq!(order.iter().filter(|l| **l % 2 == 0).copied().collect::<Vec<_>>(), [4, 6, 0, 2]);
        assert_eq!(order.len(), 7);
    }

    #[test]
    fn a_class_that_nobody_foresaw_shares_the_last_queue() {
        let mut arena = Arena::new();
        let mut queue = Fair::new([Queue::Nic(Nic::new()), Queue::Nic(Nic::new())], 1500);
        let id = insert(&mut arena, of_class(data(0), 7), 1);
        queue.enqueue(arena.hots(), id);
        assert_eq!(drain(&mut queue, &mut arena), [1]);
    }

    proptest! {
        /// Whatever comes and goes: the sums are right, nothing is lost, and while two classes wait throughout, neither
        /// is ahead by more than a quantum and a packet.
        #[test]
        fn sums_hold_and_waiting_classes_share_by_bytes(
            steps in prop::collection::vec((0..3_u8, 64..=1500_u16, any::<bool>()), 1..400), quantum in 1_u32..4000,
        ) {
            let mut arena = Arena::new();
            let mut queue = Fair::new([mlfq_trim(30), drop_tail(30), drop_tail(30)], quantum);
            // By how many bytes the first of two classes is ahead since both have had something to send.
            let mut leads = [(0, 1, 0_i64), (0, 2, 0), (1, 2, 0)];
            let mut inside = [(0_u32, 0_u64); 3];
            for (n, (class, size, put)) in steps.into_iter().enumerate() {
                if put {
                    let hot = Hot { size, trimmed_size: 64, ..of_class(data(1), class) };
                    let id = insert(&mut arena, hot, n as u32);
                    let outcome = queue.enqueue(arena.hots(), id);
                    if outcome.rejected != NO_PACKET {
                        arena.remove(outcome.rejected);
                    }
                } else {
                    let id = queue.dequeue(arena.hots());
                    prop_assert_eq!(id == NO_PACKET, inside.iter().all(|i| i.0 == 0));
                    if id != NO_PACKET {
                        let (sent, size) = (usize::from(arena.hot(id).class()), i64::from(arena.hot(id).size));
                        for (a, b, lead) in &mut leads {
                            *lead += if sent == *a { size } else if sent == *b { -size } else { 0 };
                        }
                        arena.remove(id);
                    }
                }
                inside = [0, 1, 2].map(|c: usize| (queue.classes[c].queue.packets(), queue.classes[c].queue.bytes()));
                prop_assert_eq!(queue.packets(), inside.iter().map(|i| i.0).sum::<u32>());
                prop_assert_eq!(queue.bytes(), inside.iter().map(|i| i.1).sum::<u64>());
                prop_assert_eq!(queue.packets(), arena.live());
                for (a, b, lead) in &mut leads {
                    if inside[*a].0 == 0 || inside[*b].0 == 0 {
                        *lead = 0;
                    }
                    prop_assert!(lead.abs() <= 2 * (i64::from(quantum) + 1500), "{a} and {b}: {lead}");
                }
            }
        }
    }
}
