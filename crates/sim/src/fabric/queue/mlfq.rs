//! Multi-level feedback queueing: strict priority among bands that share one buffer, dropping (PIAS) or trimming (SCDP
//! §IV-B).
//!
//! Senders tag packets with a priority that falls as a session goes on; the switch serves the most urgent band that is
//! not empty. SCDP's switch adds a header band above them, served by weighted round robin against the data bands so
//! that a switch cannot end up forwarding headers only.

use super::bands::Bands;
use super::trim::{WeightedRoundRobin, cut};
use super::{Discipline, Enqueued, Limit, Setting};
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use std::sync::Arc;

/// Most data bands that a switch can have: as many as [`Hot::tag`] tells apart.
pub const MAX_PRIORITIES: u8 = 8;

/// Who loses when the shared buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The packet that arrives, whatever its priority.
    Arriving,
    /// The newest packet of the least urgent band, if less urgent than the arrival; else the arrival.
    Lowest,
}

/// Parameters of a multi-level feedback queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlfqParameters {
    /// Number of data bands, 1 to [`MAX_PRIORITIES`]; a packet tagged beyond the last is put into the last.
    pub priorities: u8,
    /// What all data bands together may hold.
    pub buffer: Limit,
    /// Trim (with a header band) instead of dropping.
    pub trim: bool,
    /// What the header band may hold.
    pub header_buffer: Limit,
    /// Headers served for each data packet while both wait.
    pub weight: u32,
    /// Who loses when the buffer is full.
    pub victim: Victim,
    /// Mark arrivals when this much data waits (PIAS runs on DCTCP).
    pub mark: Option<Limit>,
}

/// A multi-level feedback queue.
#[derive(Clone, Debug)]
pub struct Mlfq {
    headers: Bands<1>,
    data: Bands<{ MAX_PRIORITIES as usize }>,
    /// Of all ports the same, until one is changed.
    parameters: Arc<MlfqParameters>,
    schedule: WeightedRoundRobin,
}

impl Mlfq {
    /// An empty queue. Many can share the parameters.
    pub fn new(parameters: impl Into<Arc<MlfqParameters>>) -> Self {
        let parameters = parameters.into();
        let schedule = WeightedRoundRobin::new(parameters.weight);
        Self { headers: Bands::EMPTY, data: Bands::EMPTY, parameters, schedule }
    }

    fn enqueue_header(&mut self, hots: &mut [Hot], id: PacketId) -> PacketId {
        let limit = self.parameters.header_buffer;
        if limit.admits(self.headers.packets, self.headers.bytes, hots[id as usize].size) {
            self.headers.push(hots, 0, id);
            return NO_PACKET;
        }
        id
    }

    fn overflow(&mut self, hots: &mut [Hot], id: PacketId, band: usize) -> Enqueued {
        let mut victim = id;
        if self.parameters.victim == Victim::Lowest {
            let lowest = self.data.pop_least_urgent(hots, band);
            if lowest != NO_PACKET {
                self.data.push(hots, band, id);
                victim = lowest;
            }
        }
        if !self.parameters.trim || !hots[victim as usize].trimmable() {
            return Enqueued::rejected(victim);
        }
        cut(&mut hots[victim as usize]);
        Enqueued { rejected: self.enqueue_header(hots, victim), trimmed: victim, marked: false }
    }
}

impl Discipline for Mlfq {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let hot = hots[id as usize];
        if self.parameters.trim && hot.in_header_band() {
            return Enqueued { rejected: self.enqueue_header(hots, id), ..Enqueued::QUEUED };
        }
        let band = usize::from(hot.priority().min(self.parameters.priorities - 1));
        if !self.parameters.buffer.admits(self.data.packets, self.data.bytes, hot.size) {
            return self.overflow(hots, id, band);
        }
        let mut outcome = Enqueued::QUEUED;
        if let Some(threshold) = self.parameters.mark
            && threshold.reached(self.data.packets, self.data.bytes)
            && hot.has(flag::ECT)
        {
            outcome.marked = !hot.has(flag::CE);
            hots[id as usize].flags |= flag::CE;
        }
        self.data.push(hots, band, id);
        outcome
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        if self.schedule.header_next(!self.headers.is_empty(), !self.data.is_empty()) {
            self.headers.pop(hots)
        } else {
            self.data.pop(hots)
        }
    }

    fn urgency(&self) -> u8 {
        if self.headers.is_empty() { 1 + self.data.most_urgent() } else { 0 }
    }

    fn priorities(&self) -> u8 {
        self.parameters.priorities
    }

    /// Its bands.
    fn classes(&self) -> u8 {
        self.parameters.priorities
    }

    fn class_of(&self, hot: &Hot) -> u8 {
        hot.priority().min(self.parameters.priorities - 1)
    }

    waiting_in!(headers, data);

    fn share(&mut self, other: &Self) {
        // Those of all ports are the same, until one is changed.
        if self.parameters == other.parameters {
            self.parameters = Arc::clone(&other.parameters);
        }
    }

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::Buffer(limit) => Arc::make_mut(&mut self.parameters).buffer = limit,
            Setting::MarkingThreshold(_) if self.parameters.mark.is_none() => return false,
            Setting::MarkingThreshold(threshold) => Arc::make_mut(&mut self.parameters).mark = Some(threshold),
        }
        true
    }

    fn marking_threshold(&self) -> Option<Limit> {
        self.parameters.mark
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::*;
    use crate::engine::arena::Arena;

    fn parameters() -> MlfqParameters {
        MlfqParameters {
            priorities: 5,
            buffer: Limit::Packets(4),
            trim: true,
            header_buffer: Limit::Packets(100),
            weight: 10,
            victim: Victim::Lowest,
            mark: None,
        }
    }

    #[test]
    fn serves_headers_then_the_most_urgent_band() {
        let mut arena = Arena::new();
        let mut queue = Mlfq::new(parameters());
        for (label, priority) in [(10, 4), (11, 1), (12, 0), (13, 1)] {
            let id = insert(&mut arena, data(priority), label);
            assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::QUEUED);
        }
        let id = insert(&mut arena, control(), 1);
        queue.enqueue(arena.hots(), id);
        assert_eq!(drain(&mut queue, &mut arena), [1, 12, 11, 13, 10]);
    }

    #[test]
    fn an_urgent_arrival_pushes_the_least_urgent_out() {
        let mut arena = Arena::new();
        let mut queue = Mlfq::new(parameters());
        let ids: Vec<_> = [2, 3, 3, 1].into_iter().map(|p| insert(&mut arena, data(p), u32::from(p))).collect();
        for &id in &ids {
            queue.enqueue(arena.hots(), id);
        }
        let urgent = insert(&mut arena, data(0), 0);
        assert_eq!(queue.enqueue(arena.hots(), urgent).trimmed, ids[2], "the newest of the lowest band");
        let low = insert(&mut arena, data(4), 4);
        assert_eq!(queue.enqueue(arena.hots(), low).trimmed, low, "nothing is less urgent than the arrival");
        let equal = insert(&mut arena, data(3), 33);
        assert_eq!(queue.enqueue(arena.hots(), equal).trimmed, equal);
        assert_eq!(queue.bytes(), 4 * 1500 + 3 * 64);
    }

    #[test]
    fn without_trimming_the_victim_is_dropped() {
        let mut arena = Arena::new();
        let mut queue = Mlfq::new(MlfqParameters { trim: false, victim: Victim::Arriving, ..parameters() });
        let ids: Vec<_> = [3, 3, 3, 3, 0].into_iter().map(|p| insert(&mut arena, data(p), 0)).collect();
        for &id in &ids[..4] {
            assert_eq!(queue.enqueue(arena.hots(), id), Enqueued::QUEUED);
        }
        assert_eq!(queue.enqueue(arena.hots(), ids[4]), Enqueued::rejected(ids[4]));
    }

    #[test]
    fn a_setting_of_one_of_the_queues_that_share_parameters_is_its_own() {
        let (mut one, other) = (Mlfq::new(parameters()), Mlfq::new(parameters()));
        one.share(&other);
        assert!(Arc::ptr_eq(&one.parameters, &other.parameters));
        assert!(one.set(Setting::Buffer(Limit::Packets(1))));
        assert_eq!(one.parameters.buffer, Limit::Packets(1));
        assert_eq!(other.parameters.buffer, parameters().buffer);
        one.share(&other);
        assert_eq!(one.parameters.buffer, Limit::Packets(1), "others' parameters are not taken over");
    }
}
