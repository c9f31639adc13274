//! Time, events and packets of a run, and its fingerprint. Knows what entities there are, not what they do.

use crate::engine::arena::Arena;
use crate::engine::wheel::{Entity, Wheel};
use crate::host::EndpointId;
use crate::host::stack::Header;
use anabranch_transport::{Bytes, Time};

/// Numbers of the entities in the scheduler. Ports come first: a port's entity is its index.
#[derive(Clone, Copy)]
pub(super) struct Entities {
    pub(super) pacers: Entity,
    pub(super) next_session: Entity,
    pub(super) next_change: Entity,
    pub(super) sampler: Entity,
    pub(super) controllers: Entity,
    /// Requests for blocks, where clients wait at barriers.
    pub(super) requests: Entity,
    pub(super) timers: Entity,
}

impl Entities {
    /// For so many ports, so many interfaces of hosts, and so many that controllers and requests for blocks need. Endpoints have timers, as many as
    /// there will be.
    pub(super) fn new(ports: u32, interfaces: u32, controllers: u32, requests: u32) -> Self {
        let next_session = ports + interfaces;
        Self {
            pacers: ports,
            next_session,
            next_change: next_session + 1,
            sampler: next_session + 2,
            controllers: next_session + 3,
            requests: next_session + 3 + controllers,
            timers: next_session + 3 + controllers + requests,
        }
    }

    /// Whether it is one of a controller's.
    #[inline]
    pub(super) fn is_controller(&self, entity: Entity) -> bool {
        (self.controllers..self.requests).contains(&entity)
    }

    /// The pacer of an interface's pulls.
    #[inline]
    pub(super) fn pacer(&self, interface: u32) -> Entity {
        self.pacers + interface
    }

    /// The timer of an endpoint.
    #[inline]
    pub(super) fn timer(&self, endpoint: EndpointId) -> Entity {
        self.timers + endpoint
    }
}

/// What every part of a run moves on.
pub(super) struct Engine {
    /// Picoseconds.
    pub(super) now: u64,
    pub(super) wheel: Wheel,
    pub(super) packets: Arena<Header>,
    pub(super) entities: Entities,
    memory_limit: Bytes,
    fingerprint: u64,
    events: u64,
}

impl Engine {
    /// At time zero. Most events lie less than `horizon` ahead; `ties` decides among simultaneous ones; packets have
    /// `memory_limit` bytes.
    pub(super) fn new(entities: Entities, horizon: u64, ties: u64, memory_limit: u64) -> Self {
        Self {
            now: 0,
            wheel: Wheel::new(horizon, entities.timers as usize, ties),
            packets: Arena::with_limit(memory_limit),
            entities,
            memory_limit: Bytes(memory_limit),
            fingerprint: 0x616e_6162_7261_6e63,
            events: 0,
        }
    }

    pub(super) fn now(&self) -> Time {
        Time(self.now)
    }

    /// The time comes to that of an event.
    #[inline]
    pub(super) fn begin_event(&mut self, now: u64) {
        self.now = now;
        self.events += 1;
    }

    /// Schedules an entity's event at a time, or leaves it where it is if it is due before.
    #[inline]
    pub(super) fn wake(&mut self, entity: Entity, when: Time) {
        let when = when.ps().max(self.now);
        match self.wheel.due(entity) {
            None => self.wheel.schedule(entity, when),
            Some(due) if due > when => self.wheel.reschedule(entity, when),
            Some(_) => {}
        }
    }

    /// An endpoint is new: room for its timer.
    pub(super) fn add_timer(&mut self, endpoint: EndpointId) {
        self.wheel.grow(self.entities.timer(endpoint) as usize + 1);
    }

    /// If the packets need more memory than they may take: a message.
    pub(super) fn too_large(&self) -> Option<String> {
        let (packets, limit) = (self.packets.live(), self.memory_limit);
        let why = || format!("{packets} packets on their way at {} need more than {limit}", self.now());
        self.packets.is_full().then(why)
    }

    /// Folds a word into the fingerprint of the event trace.
    #[inline]
    pub(super) fn trace(&mut self, word: u64) {
        self.fingerprint = (self.fingerprint.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }
}
