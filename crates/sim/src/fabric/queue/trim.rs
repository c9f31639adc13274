//! NDP's trimming switch (SIGCOMM 2017 §3.1; thesis chapter 4): a short data queue, a header queue, and weighted round
//! robin between them.
//!
//! A data packet that finds the data queue full is trimmed to its header; with probability one half it is the packet at
//! the queue's tail that is trimmed instead, which breaks the phase effects of synchronised senders. Headers and control
//! packets share the header queue. When that overflows too, the packet is rejected: dropped, or returned to its sender.

use super::bands::Bands;
use super::{Discipline, Enqueued, Limit, Room, Setting};
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::random;
use std::hint::select_unpredictable;

/// Serves a header band and data bands, `weight` headers for each data packet while both wait (NDP §3.1: 10:1).
#[derive(Clone, Debug)]
pub(super) struct WeightedRoundRobin {
    weight: u32,
    headers_in_row: u32,
}

impl WeightedRoundRobin {
    pub(super) fn new(weight: u32) -> Self {
        Self { weight, headers_in_row: 0 }
    }

    /// Whether the next packet comes from the header band.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "without branches: which of the two waits cannot be foreseen")]
    pub(super) fn header_next(&mut self, headers_wait: bool, data_waits: bool) -> bool {
        let in_turn = headers_wait & (self.headers_in_row < self.weight);
        self.headers_in_row = (self.headers_in_row + 1) * u32::from(data_waits & in_turn);
        !data_waits | in_turn
    }
}

/// Cuts the payload off.
#[inline]
pub(super) fn cut(hot: &mut Hot) {
    hot.size = hot.trimmed_size;
    hot.flags |= flag::TRIMMED;
}

/// A trimming queue.
#[derive(Clone, Debug)]
pub struct Trim {
    headers: Bands<1>,
    data: Bands<1>,
    header_room: Room,
    data_room: Room,
    schedule: WeightedRoundRobin,
    /// State of the random choice between arrival and tail; `None`: what arrives is trimmed.
    random: Option<u64>,
}

impl Trim {
    /// `data_limit` for whole packets (NDP: 8 packets), `header_limit` for headers and control packets (NDP: the same
    /// memory), `weight` headers for each data packet, and the seed of the random choice of the packet that is trimmed.
    pub fn new(data_limit: Limit, header_limit: Limit, weight: u32, seed: u64) -> Self {
        Self {
            headers: Bands::EMPTY,
            data: Bands::EMPTY,
            header_room: header_limit.into(),
            data_room: data_limit.into(),
            schedule: WeightedRoundRobin::new(weight),
            random: Some(random::mix(seed)),
        }
    }

    /// The same, without a random choice: what arrives at a full queue is trimmed.
    #[must_use]
    pub fn of_arrivals(self) -> Self {
        Self { random: None, ..self }
    }

    /// Packets and bytes of data that wait.
    #[inline]
    pub(super) fn data_waiting(&self) -> (u32, u64) {
        (self.data.packets, self.data.bytes)
    }

    fn heads(&mut self) -> bool {
        let Some(state) = &mut self.random else { return false };
        *state = random::mix(*state);
        *state >> 63 == 1
    }

    fn enqueue_header(&mut self, hots: &mut [Hot], id: PacketId) -> PacketId {
        if self.header_room.admits(self.headers.packets, self.headers.bytes, hots[id as usize].size) {
            self.headers.push(hots, 0, id);
            return NO_PACKET;
        }
        id
    }

    /// A packet finds no room in its queue.
    #[inline(never)]
    fn overflow(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        if hots[id as usize].in_header_band() {
            return Enqueued::rejected(id);
        }
        let mut victim = id;
        if !self.data.is_empty() && self.heads() {
            victim = self.data.pop_newest(hots, 0);
            self.data.push(hots, 0, id);
        }
        if !hots[victim as usize].trimmable() {
            return Enqueued::rejected(victim);
        }
        cut(&mut hots[victim as usize]);
        let rejected = self.enqueue_header(hots, victim);
        Enqueued { rejected, trimmed: victim, marked: false }
    }
}

impl Discipline for Trim {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let (size, header) = (hots[id as usize].size, hots[id as usize].in_header_band());
        let room = select_unpredictable(header, self.header_room, self.data_room);
        let band = select_unpredictable(header, &mut self.headers, &mut self.data);
        if !room.admits(band.packets, band.bytes, size) {
            return self.overflow(hots, id);
        }
        band.push(hots, 0, id);
        Enqueued::QUEUED
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        let header = self.schedule.header_next(!self.headers.is_empty(), !self.data.is_empty());
        select_unpredictable(header, &mut self.headers, &mut self.data).pop(hots)
    }

    fn urgency(&self) -> u8 {
        u8::from(self.headers.is_empty())
    }

    waiting_in!(headers, data);

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::Buffer(limit) => self.data_room = limit.into(),
            Setting::MarkingThreshold(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::*;
    use crate::engine::arena::Arena;

    #[test]
    fn trims_either_the_arrival_or_the_tail() {
        let mut arena = Arena::new();
        let mut queue = Trim::new(Limit::Packets(8), Limit::Packets(1000), 10, 1);
        let mut victims = [0, 0];
        for label in 0..200 {
            let id = insert(&mut arena, data(0), label);
            let outcome = queue.enqueue(arena.hots(), id);
            assert_eq!(outcome.trimmed != NO_PACKET, label >= 8);
            if outcome.trimmed != NO_PACKET {
                assert_eq!(arena.hot(outcome.trimmed).size, 64);
                victims[usize::from(outcome.trimmed == id)] += 1;
            }
        }
        assert_eq!(queue.packets(), 200);
        assert_eq!(queue.bytes(), 8 * 1500 + 192 * 64);
        assert!(victims[0] > 60 && victims[1] > 60, "each with probability 1/2: {victims:?}");
    }

    #[test]
    fn without_a_random_choice_it_is_always_the_arrival() {
        let mut arena = Arena::new();
        let mut queue = Trim::new(Limit::Packets(8), Limit::Packets(1000), 10, 1).of_arrivals();
        for label in 0..200 {
            let id = insert(&mut arena, data(0), label);
            let trimmed = queue.enqueue(arena.hots(), id).trimmed;
            assert_eq!(trimmed, if label < 8 { NO_PACKET } else { id });
        }
    }

    #[test]
    fn ten_headers_for_each_data_packet() {
        let mut arena = Arena::new();
        let mut queue = Trim::new(Limit::Packets(8), Limit::Packets(1000), 10, 1);
        for label in 0..2 {
            let id = insert(&mut arena, data(0), 1000 + label);
            queue.enqueue(arena.hots(), id);
        }
        for label in 0..25 {
            let id = insert(&mut arena, control(), label);
            queue.enqueue(arena.hots(), id);
        }
        let order = drain(&mut queue, &mut arena);
        let position = |label| order.iter().position(|&l| l == label);
        assert_eq!((position(1000), position(1001)), (Some(10), Some(21)));
        assert_eq!(order.len(), 27);
    }

    #[test]
    fn rejects_when_the_header_queue_is_full_too() {
        let mut arena = Arena::new();
        let mut queue = Trim::new(Limit::Packets(1), Limit::Bytes(100), 10, 1);
        let ids: Vec<_> = (0..3).map(|label| insert(&mut arena, data(0), label)).collect();
        assert_eq!(queue.enqueue(arena.hots(), ids[0]), Enqueued::QUEUED);
        assert_eq!(queue.enqueue(arena.hots(), ids[1]).rejected, NO_PACKET);
        let outcome = queue.enqueue(arena.hots(), ids[2]);
        assert_ne!(outcome.rejected, NO_PACKET);
        assert_eq!(outcome.rejected, outcome.trimmed, "what is rejected has been cut");
        assert_eq!(queue.packets(), 2);
    }
}
