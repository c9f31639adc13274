//! What happens at hosts in a window, in its order: packets reach them, which lie in their [box](crate::engine::boxes) when the window
//! begins; and events of the wheel come up.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use crate::engine::boxes::Arrival;
use crate::engine::wheel::Entity;

/// In a fabric of more bytes than this, endpoints and their ports do not fit into the second-level cache and are prefetched. In smaller ones
/// that costs more than it gains. Builds with debug assertions do both with small fabrics.
const LARGE: usize = 1 << if cfg!(debug_assertions) { 12 } else { 20 };

/// How many arrivals ahead each step is.
const AHEAD: [usize; 3] = [12, 8, 4];

/// Steps of the insertion sort, per arrival on average, after which a full sort takes over.
const FEW_STEPS: usize = 8;

/// What happens next.
pub(super) enum Next {
    /// A packet reaches its host.
    Packet(Arrival),
    /// The event of an entity comes up.
    Event(u64, Entity),
}

/// The packets that reach hosts in a window.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Those that are left, the latest first.
    left: Vec<Arrival>,
    /// Lists that are used again: what was in the box, and for each interval of the window, where its next arrival goes.
    unsorted: Vec<Arrival>,
    after: Vec<u32>,
}

impl Arrivals {
    /// Takes those of the current window.
    pub(super) fn take(&mut self, engine: &mut Engine) {
        debug_assert!(self.left.is_empty(), "those of the window before have reached their hosts");
        let boxes = &mut engine.pending.boxes;
        self.unsorted.clear();
        boxes.take_hosts(&mut self.unsorted);
        let (from, length) = (boxes.from(), boxes.length());
        self.sort(from, length);
        let moment = |arrival: &Arrival| engine.moment(arrival.time, arrival.link);
        for same in self.left.chunk_by_mut(|a, b| a.time == b.time).filter(|same| same.len() > 1) {
            same.sort_unstable_by_key(|arrival| std::cmp::Reverse(moment(arrival)));
        }
    }

    /// Sorts the arrivals of a window, the latest first: a bucket sort over equal intervals of the window, then an insertion sort.
    fn sort(&mut self, from: u64, length: u64) {
        let Self { left, unsorted, after } = self;
        let times = unsorted.len().next_power_of_two();
        let shift = (length - 1).checked_ilog2().map_or(0, |bits| bits + 1).saturating_sub(times.ilog2());
        let place = |arrival: &Arrival| ((arrival.time - from) >> shift) as usize;
        after.clear();
        after.resize(times, 0);
        for arrival in &*unsorted {
            after[place(arrival)] += 1;
        }
        let mut later = 0;
        for count in after.iter_mut().rev() {
            later += std::mem::replace(count, later);
        }
        left.resize(unsorted.len(), Arrival::default());
        for arrival in &*unsorted {
            let to = &mut after[place(arrival)];
            left[*to as usize] = *arrival;
            *to += 1;
        }
        let mut steps = FEW_STEPS * left.len();
        for next in 1..left.len() {
            let arrival = left[next];
            let mut to = next;
            while to > 0 && left[to - 1].time < arrival.time {
                left[to] = left[to - 1];
                to -= 1;
            }
            left[to] = arrival;
            steps = steps.saturating_sub(next - to);
            if steps == 0 {
                // They all come at nearly the same time.
                return left.sort_unstable_by_key(|arrival| std::cmp::Reverse(arrival.time));
            }
        }
    }

    /// What happens next before a time.
    #[inline]
    pub(super) fn next(&mut self, engine: &mut Engine, fabric: &Fabric, hosts: &Hosts, end: u64) -> Option<Next> {
        let wheel = &mut engine.pending.wheel;
        let event = match self.left.last() {
            Some(arrival) if arrival.time < end => wheel.pop_ahead_of(arrival.time, arrival.link),
            _ => wheel.pop_before(end),
        };
        if let Some((now, entity)) = event {
            return Some(Next::Event(now, entity));
        }
        let next = self.left.pop_if(|arrival| arrival.time < end)?;
        self.prefetch(engine, fabric, hosts);
        Some(Next::Packet(next))
    }

    /// Asks for the memory that the arrivals to come will need, step by step: the packet, then where its endpoint is, then the endpoint.
    #[inline]
    fn prefetch(&self, engine: &Engine, fabric: &Fabric, hosts: &Hosts) {
        let ahead = |n: usize| self.left.len().checked_sub(n).map(|at| self.left[at].packet);
        if let Some(packet) = ahead(AHEAD[0]) {
            engine.packets.prefetch(packet);
        }
        if size_of_val(fabric.ports()) <= LARGE {
            return;
        }
        if let Some(packet) = ahead(AHEAD[1]) {
            hosts.prefetch_place(fabric, engine.packets.hot(packet));
        }
        if let Some(packet) = ahead(AHEAD[2]) {
            hosts.prefetch_endpoint(engine.packets.hot(packet).endpoint);
        }
    }

    /// Puts back what has not happened.
    pub(super) fn put_back(&mut self, engine: &mut Engine) {
        for arrival in self.left.drain(..) {
            // All hosts share a box.
            let near = engine.pending.boxes.put(0, arrival);
            debug_assert!(near, "it was in the current window");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::boxes::{LONGEST, SHORTEST};
    use proptest::prelude::*;

    proptest! {
        /// In windows of any length, spread over them or all within a few picoseconds.
        #[test]
        fn the_latest_comes_first(
            length in prop_oneof![SHORTEST..40, SHORTEST..=LONGEST, Just(LONGEST)],
            from in 0..1_u64 << 50,
            times in prop::collection::vec(any::<u64>(), 0..200),
            spread in 1..=LONGEST,
        ) {
            let within = |time: u64| from + length - 1 - time % spread.min(length);
            let unsorted: Vec<_> =
                (0..).zip(times).map(|(packet, time)| Arrival { time: within(time), link: 0, packet }).collect();
            let mut arrivals = Arrivals { unsorted: unsorted.clone(), ..Arrivals::default() };
            arrivals.sort(from, length);
            prop_assert!(arrivals.left.is_sorted_by_key(|arrival| std::cmp::Reverse(arrival.time)));
            arrivals.left.sort_unstable_by_key(|arrival| arrival.packet);
            prop_assert_eq!(arrivals.left, unsorted);
        }
    }
}
