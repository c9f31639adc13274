//! A port whose packets can be paused by the node at its far end, one priority at a time (IEEE 802.1Qbb).
//!
//! Pause frames go first, then control packets, which are never paused; then data, strictly by priority. Each priority is a queue of any
//! discipline that keeps the order of packets. The port also has the memory of the packets that come by the other direction of its link:
//! that is the switch's account with the node that it can pause.

use super::bands::Bands;
use super::{Discipline, Enqueued, Passing, Queue, Setting};
use crate::engine::arena::{Hot, Movers, NO_PACKET, PacketId, flag};
use crate::fabric::graph::PortId;
use crate::fabric::pfc::{Ingress, MAX_PRIORITIES};
use anabranch_transport::Rate;
use std::collections::VecDeque;

/// How a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The link.
    pub link: PortId,
    /// Of one of several copies, the place of their packet in the account of that link.
    pub copies: Option<u32>,
}

impl Came {
    /// Of packets that take no memory: control, what need not wait, and a host's own.
    pub const OWN: Self = Self { link: PortId::MAX, copies: None };
}

/// A packet has left, or is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// How it came.
    pub came: Came,
    /// Its priority.
    pub priority: u8,
    /// Its bytes.
    pub size: u16,
}

#[derive(Clone, Debug)]
struct Priority {
    queue: Queue,
    /// How each of its packets came, and its bytes, in the same order.
    came: VecDeque<(Came, u16)>,
}

/// What a port with pauses has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Pause frames sent, those that end a pause included.
    pub frames: u64,
    /// Pause frames that have come for it.
    pub came: u64,
    /// For how long at least one priority was paused, in picoseconds.
    pub paused_ps: u64,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Lossless {
    /// Pause frames, then control packets.
    urgent: Bands<2>,
    data: Box<[Priority]>,
    packets: u32,
    bytes: u64,
    /// The priorities that are paused, and those that have packets, one bit each.
    paused: u8,
    occupied: u8,
    /// Since when any is paused.
    since: u64,
    pauses: Pauses,
    /// The memory of what comes by the other direction of the link.
    pub ingress: Ingress,
    /// How the next packet comes that is offered.
    arriving: Came,
    released: Vec<Released>,
}

impl Lossless {
    /// A queue for each priority, the most urgent first. `headroom`: bytes for what comes by the other direction of the link.
    ///
    /// # Panics
    /// Without a queue, or with more than eight.
    pub fn new(queues: impl IntoIterator<Item = Queue>, headroom: u64) -> Self {
        let data: Box<[_]> = queues.into_iter().map(|queue| Priority { queue, came: VecDeque::new() }).collect();
        assert!((1..=MAX_PRIORITIES).contains(&data.len()), "from 1 to 8 priorities can be paused");
        Self {
            urgent: Bands::EMPTY,
            data,
            packets: 0,
            bytes: 0,
            paused: 0,
            occupied: 0,
            since: 0,
            pauses: Pauses::default(),
            ingress: Ingress::new(headroom),
            arriving: Came::OWN,
            released: Vec::new(),
        }
    }

    /// The priority of a packet that takes memory; `None` of all others.
    #[inline]
    pub fn priority_of(&self, hot: &Hot) -> Option<u8> {
        (!is_urgent(hot)).then(|| hot.priority().min(self.data.len() as u8 - 1))
    }

    /// How the packet has come that is offered next.
    pub fn arrives_by(&mut self, came: Came) {
        self.arriving = came;
    }

    /// A packet that has left since this was last asked.
    pub fn take_released(&mut self) -> Option<Released> {
        self.released.pop()
    }

    /// Pauses a priority, or lets it go on.
    pub fn pause(&mut self, priority: u8, paused: bool, now: u64) {
        self.settle(now);
        let bit = 1 << priority;
        self.paused = if paused { self.paused | bit } else { self.paused & !bit };
        self.pauses.came += 1;
    }

    /// Counts the time for which it has been paused until now.
    pub fn settle(&mut self, now: u64) {
        if self.paused != 0 {
            self.pauses.paused_ps += now - self.since;
        }
        self.since = now;
    }

    /// Whether a priority is paused.
    pub fn is_paused(&self, priority: u8) -> bool {
        self.paused >> priority & 1 == 1
    }

    /// The paused priorities.
    pub fn paused(&self) -> impl Iterator<Item = u8> {
        (0..MAX_PRIORITIES as u8).filter(|&priority| self.is_paused(priority))
    }

    /// A pause frame is about to be sent.
    pub fn count_frame(&mut self) {
        self.pauses.frames += 1;
    }

    /// What it has done.
    pub fn pauses(&self) -> Pauses {
        self.pauses
    }

    /// The packets of a priority that wait and came by a link: how, and their bytes.
    pub fn waiting_from(&self, link: PortId, priority: u8) -> impl Iterator<Item = (Came, u64)> {
        let came = self.data.get(usize::from(priority)).into_iter().flat_map(|data| &data.came);
        came.filter(move |came| came.0.link == link).map(|&(came, size)| (came, u64::from(size)))
    }

    /// Bytes that go before a packet of a priority that comes now, were nothing paused; before a control packet (`None`) control alone.
    pub fn bytes_before(&self, priority: Option<u8>) -> u64 {
        let last = priority.map_or(0, |priority| usize::from(priority) + 1).min(self.data.len());
        self.urgent.bytes + self.data[..last].iter().map(|data| data.queue.bytes()).sum::<u64>()
    }

    fn ready(&self) -> u8 {
        self.occupied & !self.paused
    }
}

/// Pause frames and control.
fn is_urgent(hot: &Hot) -> bool {
    hot.has(flag::PAUSE) || hot.in_header_band()
}

impl Discipline for Lossless {
    const HOLDS_BACK: bool = true;

    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let hot = hots[id as usize];
        let came = std::mem::replace(&mut self.arriving, Came::OWN);
        let mut outcome = Enqueued::QUEUED;
        match self.priority_of(&hot) {
            None => self.urgent.push(hots, usize::from(!hot.has(flag::PAUSE)), id),
            Some(priority) => {
                let data = &mut self.data[usize::from(priority)];
                outcome = data.queue.enqueue(hots, id);
                if outcome.rejected != NO_PACKET {
                    debug_assert_eq!(outcome.rejected, id, "its disciplines reject what arrives");
                    return outcome;
                }
                data.came.push_back((came, hot.size));
                self.occupied |= 1 << priority;
            }
        }
        self.packets += 1;
        self.bytes += u64::from(hot.size);
        outcome
    }

    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        let mut id = self.urgent.pop(hots);
        if id == NO_PACKET && self.ready() != 0 {
            let priority = self.ready().trailing_zeros() as u8;
            let data = &mut self.data[usize::from(priority)];
            id = data.queue.dequeue(hots);
            if let Some((came, size)) = data.came.pop_front().filter(|came| came.0 != Came::OWN) {
                self.released.push(Released { came, priority, size });
            }
            self.occupied &= !(u8::from(data.came.is_empty()) << priority);
        }
        if id != NO_PACKET {
            self.packets -= 1;
            self.bytes -= u64::from(hots[id as usize].size);
        }
        id
    }

    fn head(&self) -> PacketId {
        if self.urgent.is_empty() && self.ready() != 0 {
            return self.data[self.ready().trailing_zeros() as usize].queue.head();
        }
        self.urgent.head()
    }

    fn move_packets(&mut self, movers: &mut dyn Movers) {
        debug_assert!(self.released.is_empty(), "the switch knows of all that has left");
        self.urgent.move_packets(movers);
        self.data.iter_mut().for_each(|data| data.queue.move_packets(movers));
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_ready(&self) -> bool {
        !self.urgent.is_empty() || self.ready() != 0
    }

    fn lets_pass(&self, hot: &Hot) -> bool {
        self.priority_of(hot).is_none_or(|priority| !self.is_paused(priority))
    }

    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        self.arriving = Came::OWN;
        match self.priority_of(hot) {
            Some(priority) => self.data[usize::from(priority)].queue.pass(hot, idle),
            None => Passing::Unmarked,
        }
    }

    fn inspects_passing(&self) -> bool {
        self.data.iter().any(|data| data.queue.inspects_passing())
    }

    /// For all priorities alike.
    fn set(&mut self, setting: Setting) -> bool {
        self.data.iter_mut().fold(false, |changed, data| data.queue.set(setting) | changed)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.data.iter_mut().for_each(|data| data.queue.set_rate(rate));
    }

    fn urgency(&self) -> u8 {
        if self.urgent.is_empty() { 1 + self.ready().trailing_zeros() as u8 } else { 0 }
    }

    fn priorities(&self) -> u8 {
        self.data.len() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::super::{Limit, drop_tail::DropTail};
    use super::*;
    use crate::engine::arena::Arena;

    fn queue(priorities: usize) -> Lossless {
        Lossless::new((0..priorities).map(|_| Queue::DropTail(DropTail::new(Limit::NONE))), 0)
    }

    #[test]
    fn a_paused_priority_stays_and_the_others_and_control_go_on() {
        let (mut arena, mut queue) = (Arena::new(), queue(2));
        let frame = Hot { size: 64, flags: flag::PAUSE, ..data(0) };
        for (label, hot) in [data(0), data(5), data(1), control(), frame].into_iter().enumerate() {
            let id = insert(&mut arena, hot, label as u32);
            assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::QUEUED);
        }
        queue.pause(0, true, 0);
        assert!(
            queue.is_ready() && !queue.lets_pass(&data(0)) && queue.lets_pass(&data(1)) && queue.lets_pass(&control())
        );
        // A port asks it as any discipline.
        let any = Queue::Lossless(Box::new(queue.clone()));
        assert!(any.is_ready() && !any.lets_pass(&data(0)) && any.lets_pass(&data(1)) && any.lets_pass(&control()));
        // What is tagged beyond the last priority belongs to the last.
        assert_eq!(drain(&mut queue, &mut arena), [4, 3, 1, 2]);
        assert!(!queue.is_ready());
        assert_eq!((queue.packets(), queue.bytes()), (1, 1500));
        queue.pause(0, false, 7);
        assert_eq!(drain(&mut queue, &mut arena), [0]);
        assert_eq!(queue.pauses(), Pauses { frames: 0, came: 2, paused_ps: 7 });
    }

    #[test]
    fn what_goes_before_a_packet_is_as_urgent_at_least() {
        let (mut arena, mut queue) = (Arena::new(), queue(3));
        let sized = |hot, size| Hot { size, ..hot };
        for hot in
            [sized(data(0), 100), sized(data(2), 1000), sized(data(7), 20), sized(control(), 3), sized(data(1), 7)]
        {
            let id = insert(&mut arena, hot, 0);
            queue.enqueue(arena.hots(), id);
        }
        queue.pause(0, true, 0);
        let before = [None, Some(0), Some(1), Some(2), Some(7)].map(|priority| queue.bytes_before(priority));
        assert_eq!(before, [3, 103, 110, 1130, 1130], "a pause does not make it less");
    }

    #[test]
    fn what_leaves_is_told_with_how_it_came() {
        let (mut arena, mut queue) = (Arena::new(), queue(1));
        let by = |link| Came { link, copies: Some(2 * link) };
        let own = Came::OWN;
        for (came, hot) in [(by(3), data(0)), (by(5), Hot { size: 700, ..data(0) }), (own, data(0)), (own, control())] {
            queue.arrives_by(came);
            let id = insert(&mut arena, hot, came.link);
            queue.enqueue(arena.hots(), id);
        }
        assert_eq!(queue.waiting_from(5, 0).collect::<Vec<_>>(), [(by(5), 700)]);
        assert_eq!(queue.waiting_from(4, 0).count(), 0);
        assert_eq!(drain(&mut queue, &mut arena), [own.link, 3, 5, own.link]);
        let released = [queue.take_released(), queue.take_released(), queue.take_released()];
        let of = |link, size| Some(Released { came: by(link), priority: 0, size });
        assert_eq!(released, [of(5, 700), of(3, 1500), None]);
    }
}
