//! Time, events and packets of a run, and its fingerprint. Knows what entities there are, not what they do.

use crate::engine::arena::Arena;
use crate::engine::pending::Pending;
use crate::engine::wheel::{Entity, Wheel};
use crate::host::EndpointId;
use crate::host::stack::Header;
use anabranch_transport::{Bytes, Time};

const _: () = assert!(Arena::<Header>::HEADER == 64, "a header fills one cache line");

/// Numbers of the entities in the scheduler. Ports come first: a port's entity is its index.
#[derive(Clone, Copy)]
pub(super) struct Entities {
    pub(super) pacers: Entity,
    /// Of the same interfaces, where flows wait for their turns; else there are none.
    pub(super) turns: Entity,
    pub(super) next_session: Entity,
    pub(super) next_change: Entity,
    pub(super) sampler: Entity,
    /// Where switches lose nothing: one for each of them, then the look for deadlocks. Like the sampler they leave no trace.
    pub(super) switches: Entity,
    pub(super) controllers: Entity,
    /// Requests for blocks, where clients wait at barriers, and what is due in jobs.
    pub(super) requests: Entity,
    pub(super) timers: Entity,
}

impl Entities {
    /// For so many ports, so many interfaces of hosts, those of them at which flows take turns (all or none), and so many that switches that lose nothing, controllers and requests for blocks need.
    /// Endpoints have timers, as many as there will be.
    pub(super) fn new(
        ports: u32,
        [interfaces, turns]: [u32; 2],
        lossless: u32,
        controllers: u32,
        requests: u32,
    ) -> Self {
        let next_session = ports + interfaces + turns;
        let switches = next_session + 3;
        Self {
            pacers: ports,
            turns: ports + interfaces,
            next_session,
            next_change: next_session + 1,
            sampler: next_session + 2,
            switches,
            controllers: switches + lossless,
            requests: switches + lossless + controllers,
            timers: switches + lossless + controllers + requests,
        }
    }

    /// Whether an event leaves no trace: it looks at the network, or is a switch's own.
    #[inline]
    pub(super) fn leaves_no_trace(&self, entity: Entity) -> bool {
        (self.sampler..self.controllers).contains(&entity)
    }

    /// Whether it is that of a switch that sends something.
    #[inline]
    pub(super) fn is_switch(&self, entity: Entity) -> bool {
        (self.switches..self.controllers.saturating_sub(1)).contains(&entity)
    }

    /// The look for deadlocks, where switches lose nothing.
    pub(super) fn deadlocks(&self) -> Option<Entity> {
        (self.controllers > self.switches).then(|| self.controllers - 1)
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

    /// The next turn of the flows that wait at an interface.
    #[inline]
    pub(super) fn turn(&self, interface: u32) -> Entity {
        debug_assert!(self.turns + interface < self.next_session, "some transport takes turns");
        self.turns + interface
    }

    /// The interface whose pacer or turn it is.
    pub(super) fn interface(&self, entity: Entity) -> u32 {
        if entity < self.turns { entity - self.pacers } else { entity - self.turns }
    }

    /// The timer of an endpoint.
    #[inline]
    pub(super) fn timer(&self, endpoint: EndpointId) -> Entity {
        self.timers + endpoint
    }
}

/// When something happens, and what decides among things at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    /// Picoseconds.
    pub(super) time: u64,
    tie: u32,
    entity: Entity,
}

impl Moment {
    /// Before everything that happens at a time.
    pub(super) fn of(time: u64) -> Self {
        Self { time, tie: 0, entity: 0 }
    }
}

/// What something that happens adds to the fingerprint. That is a sum, so that parts of a run that are simulated side by side can
/// add up theirs: the order of events is in their times, and at the same time a function of their entities.
#[inline]
fn print(time: u64, what: u64) -> u64 {
    let product = u128::from(time ^ 0x9e37_79b9_7f4a_7c15) * u128::from(what ^ 0xbf58_476d_1ce4_e5b9);
    product as u64 ^ (product >> 64) as u64
}

/// Several events, on their way to the fingerprint.
#[derive(Default)]
pub(super) struct Trace {
    events: u64,
    fingerprint: u64,
    latest: u64,
}

impl Trace {
    /// An event of an entity at a time.
    #[inline]
    pub(super) fn add(&mut self, time: u64, entity: u64) {
        self.events += 1;
        self.fingerprint = self.fingerprint.wrapping_add(print(time, entity));
        self.latest = self.latest.max(time);
    }
}

/// What every part of a run moves on.
pub(super) struct Engine {
    /// Picoseconds.
    pub(super) now: u64,
    pub(super) pending: Pending,
    pub(super) packets: Arena<Header>,
    pub(super) entities: Entities,
    memory_limit: Bytes,
    fingerprint: u64,
    events: u64,
    /// Packets that are in parts of the run.
    away: u32,
    /// While hosts are ahead of switches: whose events have been handled now.
    ahead: Vec<Entity>,
}

impl Engine {
    /// At time zero. Most events lie less than `horizon` ahead; `ties` decides among simultaneous ones; packets have
    /// `memory_limit` bytes.
    pub(super) fn new(entities: Entities, horizon: u64, ties: u64, memory_limit: u64) -> Self {
        Self {
            now: 0,
            pending: Pending::new(Wheel::new(horizon, entities.timers as usize, ties)),
            packets: Arena::with_limit(memory_limit),
            entities,
            memory_limit: Bytes(memory_limit),
            fingerprint: 0x616e_6162_7261_6e63,
            events: 0,
            away: 0,
            ahead: Vec::new(),
        }
    }

    /// One of the same kind at the same time, with nothing to do yet. Its events and its fingerprint are to be
    /// [added](Self::add) to this one's.
    pub(super) fn like(&self) -> Self {
        Self {
            now: self.now,
            pending: Pending::new(self.pending.wheel.like(self.now)),
            packets: self.packets.like(),
            entities: self.entities,
            memory_limit: self.memory_limit,
            fingerprint: 0,
            events: 0,
            away: 0,
            ahead: Vec::new(),
        }
    }

    /// Becomes [like](Self::like) another one.
    pub(super) fn restart(&mut self, other: &Self) {
        self.now = other.now;
        self.pending.wheel.drain(other.now);
        self.pending.wheel.grow(other.pending.wheel.entities());
        self.packets = other.packets.like();
        (self.fingerprint, self.events) = (0, 0);
    }

    /// Puts what switches have written into packets into their headers.
    pub(super) fn move_stamps_to_headers(&mut self) {
        let Self { packets, pending, .. } = self;
        for (id, telemetry) in pending.stamps.drain() {
            packets.header_mut(id).append(&telemetry);
        }
    }

    /// How far the parts of the run have come, which have so many packets.
    pub(super) fn show(&mut self, now: u64, events: u64, away: u32) {
        (self.now, self.events, self.away) = (now, events, away);
    }

    /// Packets alive now; of a run that is divided, when it was.
    pub(super) fn packets_alive(&self) -> u32 {
        self.packets.live() + self.away
    }

    /// What has happened elsewhere has happened here. That engine's own count begins anew.
    pub(super) fn add(&mut self, other: &mut Self) {
        self.now = self.now.max(other.now);
        self.fingerprint = self.fingerprint.wrapping_add(std::mem::take(&mut other.fingerprint));
        self.events += std::mem::take(&mut other.events);
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

    /// An event that has begun is none of the run's.
    pub(super) fn uncount_event(&mut self) {
        self.events -= 1;
    }

    /// An event of an entity, in the order of all events.
    #[inline]
    pub(super) fn moment(&self, time: u64, entity: Entity) -> Moment {
        Moment { time, tie: self.pending.wheel.ties().of(time, entity), entity }
    }

    /// In a window hosts come first: the event of this entity is handled while switches are still where the window began.
    #[inline]
    pub(super) fn go_ahead(&mut self, now: u64, entity: Entity) {
        if self.now != now {
            self.ahead.clear();
        }
        self.ahead.push(entity);
    }

    /// Hosts have come to the end of a window, or of the run.
    pub(super) fn wait_for_switches(&mut self) {
        self.ahead.clear();
    }

    /// How far hosts have come while switches are still where the window began: the last in order of the events that have been
    /// handled. An event that was scheduled for the time at which that was done comes after the one that did so.
    pub(super) fn ahead_of_switches(&self) -> Option<Moment> {
        self.ahead.iter().map(|&entity| self.moment(self.now, entity)).max()
    }

    /// Schedules an entity's event at a time, or leaves it where it is if it is due before.
    #[inline]
    pub(super) fn wake(&mut self, entity: Entity, when: Time) {
        let when = when.ps().max(self.now);
        match self.pending.wheel.due(entity) {
            None => self.pending.wheel.schedule(entity, when),
            Some(due) if due > when => self.pending.wheel.reschedule(entity, when),
            Some(_) => {}
        }
    }

    /// An endpoint is new: room for its timer.
    pub(super) fn add_timer(&mut self, endpoint: EndpointId) {
        self.pending.wheel.grow(self.entities.timer(endpoint) as usize + 1);
    }

    /// If the packets need more memory than they may take: a message.
    pub(super) fn too_large(&self) -> Option<String> {
        let (packets, limit) = (self.packets.live(), self.memory_limit);
        let why = || format!("{packets} packets on their way at {} need more than {limit}", self.now());
        self.packets.is_full().then(why)
    }

    /// Adds an event of an entity, now, to the fingerprint.
    #[inline]
    pub(super) fn trace_event(&mut self, entity: Entity) {
        self.trace(u64::from(entity));
    }

    /// Adds arrivals at switches in the current window.
    #[inline]
    pub(super) fn trace_all(&mut self, trace: &Trace) {
        self.now = self.now.max(trace.latest);
        self.events += trace.events;
        self.fingerprint = self.fingerprint.wrapping_add(trace.fingerprint);
    }

    /// Adds a packet of so many bytes that an endpoint gets now to the fingerprint.
    #[inline]
    pub(super) fn trace_delivery(&mut self, endpoint: EndpointId, size: u16) {
        // No entity has such a number.
        self.trace(u64::from(endpoint) << 32 | 1 << 31 | u64::from(size));
    }

    #[inline]
    fn trace(&mut self, what: u64) {
        self.fingerprint = self.fingerprint.wrapping_add(print(self.now, what));
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }
}
