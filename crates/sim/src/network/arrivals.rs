//! What happens at hosts in a window, in its order: packets reach them, which lie in their [box](crate::engine::boxes) when the window
//! begins; and events of the wheel come up.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use crate::engine::boxes::Arrival;
use crate::engine::wheel::Entity;

/// In a fabric of more bytes than this, endpoints and their ports are not to be had from the second-level cache: their memory is asked for
/// in time. In smaller ones that costs more than it gains. Builds with debug assertions do both with small fabrics.
const LARGE: usize = 1 << if cfg!(debug_assertions) { 12 } else { 20 };

/// How many arrivals ahead each step is.
const AHEAD: [usize; 3] = [12, 8, 4];

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
    /// Lists that are used again: what was in the box, and the order in which it goes.
    unsorted: Vec<Arrival>,
    keys: Vec<u64>,
}

impl Arrivals {
    /// Takes those of the current window.
    pub(super) fn take(&mut self, engine: &mut Engine) {
        debug_assert!(self.left.is_empty(), "those of the window before have reached their hosts");
        let Self { left, unsorted, keys, .. } = self;
        unsorted.clear();
        engine.pending.boxes.take_hosts(unsorted);
        let from = engine.pending.boxes.from();
        keys.clear();
        keys.extend((0..).zip(&*unsorted).map(|(place, arrival): (u64, _)| !((arrival.time - from) << 32 | place)));
        keys.sort_unstable();
        left.extend(keys.iter().map(|&key| unsorted[!key as u32 as usize]));
        let moment = |arrival: &Arrival| engine.moment(arrival.time, arrival.link);
        for same in left.chunk_by_mut(|a, b| a.time == b.time).filter(|same| same.len() > 1) {
            same.sort_unstable_by_key(|arrival| std::cmp::Reverse(moment(arrival)));
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
