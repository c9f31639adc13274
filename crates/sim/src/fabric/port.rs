//! One direction of a link: the egress port with its queue, and the wire behind it.
//!
//! A link costs **one event per packet**, and at most one is pending: the arrival, at the far end, of the first packet in
//! flight. When a transmission ends and who is next need no event of their own, because nobody can notice before the
//! next packet's arrival, which lies at least the propagation delay later. So a port *catches up* whenever it is
//! touched: it starts, at the times at which they really start, all transmissions that are due.
//!
//! In [windows](crate::engine::boxes) most ports have no event: what they send lies in a box. A port at
//! which packets wait is *listed*, and catches up at the end of the window in which it sends the next.

use super::jitter::Jitter;
use super::queue::lossless::Lossless;
use super::queue::{Discipline, Enqueued, Queue, Setting};
use super::tap::Tap;
use crate::engine::arena::{Fifo, Hot, Movers, NO_PACKET, PacketId};
use crate::engine::pending::{Keeps, Pending};
use crate::engine::wheel::Entity;
use crate::random;
use anabranch_transport::telemetry::RateCode;
use anabranch_transport::{Duration, Rate};
use std::iter;
use transmitter::{NEVER, Run, Send, Transmitter, UNLISTED};

#[cfg(test)]
mod tests;
mod transmitter;

/// What a port has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Time spent sending, in picoseconds.
    pub busy_ps: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Packets cut to a header.
    pub trimmed: u64,
    /// Packets marked.
    pub marked: u64,
    /// Longest queue, in packets.
    pub max_packets: u32,
    /// Longest queue, in bytes.
    pub max_bytes: u64,
    /// Sum over packets of size times waiting time, in byte-picoseconds: by Little's law the time integral of the queue.
    pub waited: u128,
}

/// An egress port. Its entity in the scheduler is its own index.
///
/// Four cache lines: what every packet needs, what is counted of those that wait, and, in two, the queue.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    tx: Transmitter,
    queue: Queue,
}

/// Cold state of a port: drops, marks, changes of the rate, cut links, jitter, capture.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// Packets that found no room.
    dropped: u64,
    /// Packets marked.
    marked: u64,
    /// The link was cut.
    down: bool,
    /// Where somebody captures.
    tap: Option<Tap>,
    /// If it writes its state into packets: into those that have all of these flags, and how it writes its rate.
    writes: Option<(u8, RateCode)>,
    /// When the queue last rejected a packet that need not have waited: it has been told of the idle time until then.
    asked_at: u64,
    /// Bytes that had been sent, and how long that had taken, when the rate was last set.
    bytes_before: u64,
    busy_before: u64,
    /// Longest random pause before a transmission (zero: there is none), how that is told, and the generator's state.
    pause: Duration,
    jitter: Jitter,
    packet: u64,
    random: u64,
}

const _: () = assert!(size_of::<Port>() == 256, "a port fills four cache lines");

impl Port {
    /// A port with an empty queue, towards node `peer`.
    pub fn new(rate: Rate, delay: Duration, peer: u32, queue: Queue) -> Self {
        let tx = Transmitter {
            busy_until: 0,
            next_start: NEVER,
            in_flight: Fifo::EMPTY,
            ps_per_byte: 0,
            delay: delay.ps(),
            packets: 0,
            bytes: 0,
            peer,
            waiting: 0,
            plain: true,
            inspects_passing: queue.inspects_passing(),
            keeps: Keeps::OnWire,
            particular: false,
            waited: 0,
            queued: 0,
            max_bytes: 0,
            max_packets: 0,
            listed: UNLISTED,
            trimmed: 0,
            rate,
            rare: Box::default(),
        };
        let mut port = Self { tx, queue };
        port.set_rate(rate);
        port
    }

    /// Pauses at random before each transmission, as hosts do. A full packet has `packet` bytes.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter, packet: u64, seed: u64) -> Self {
        self.tx.rare.jitter = jitter;
        self.tx.rare.packet = packet;
        self.tx.rare.random = random::mix(seed);
        self.set_rate(self.tx.rate);
        self
    }

    /// Tells from now on what becomes of packets, by [`tap`](Self::tap).
    pub fn capture(&mut self) {
        self.tx.rare.tap = Some(Tap::default());
        self.update_flags();
    }

    /// Writes its state into all packets that have these flags, as they are sent.
    #[must_use]
    pub fn with_telemetry(mut self, flags: u8) -> Self {
        self.tx.rare.writes = Some((flags, RateCode::of(self.tx.rate)));
        self.update_flags();
        self
    }

    /// What it has to tell, if somebody captures.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tx.rare.tap.as_mut()
    }

    /// No transmission that has not started yet will start before this time, if none came after `now`.
    pub fn next_start(&self, now: u64) -> u64 {
        self.tx.next_start.min(now)
    }

    fn update_flags(&mut self) {
        self.tx.plain = !self.tx.rare.down && self.tx.rare.tap.is_none();
        let rare = &self.tx.rare;
        self.tx.particular =
            self.tx.is_jittery() || rare.tap.is_some() || rare.writes.is_some() || self.lossless().is_some();
    }

    /// Node at the far end.
    #[inline]
    pub fn peer(&self) -> u32 {
        self.tx.peer
    }

    /// The packet that will arrive next at the far end.
    #[inline]
    pub fn first_in_flight(&self) -> PacketId {
        self.tx.in_flight.head()
    }

    /// The packet that will probably be sent next, or [`NO_PACKET`].
    #[inline]
    pub fn next_waiting(&self) -> PacketId {
        if self.tx.waiting > 0 { self.queue.head() } else { NO_PACKET }
    }

    /// What it has done so far.
    pub fn counters(&self) -> PortCounters {
        let sent = self.tx.rate.transmit_time(self.tx.bytes - self.tx.rare.bytes_before).ps();
        let busy_ps = self.tx.rare.busy_before + sent;
        PortCounters {
            packets: self.tx.packets,
            bytes: self.tx.bytes,
            busy_ps,
            max_packets: self.tx.max_packets,
            max_bytes: self.tx.max_bytes,
            waited: self.tx.waited,
            dropped: self.tx.rare.dropped,
            trimmed: self.tx.trimmed,
            marked: self.tx.rare.marked,
        }
    }

    /// Its queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The rate at which it sends now.
    pub fn rate(&self) -> Rate {
        self.tx.rate
    }

    /// When all packets that it has will have left, if none came meanwhile; with jitter, at the latest.
    #[inline]
    pub fn idle_at(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> u64 {
        if self.tx.particular || self.tx.ps_per_byte == 0 {
            return self.idle_at_otherwise(entity, hots, pending, now);
        }
        if self.tx.waiting == 0 {
            return self.tx.busy_until;
        }
        self.tx.busy_until.saturating_add(self.tx.queued.saturating_mul(u64::from(self.tx.ps_per_byte)))
    }

    /// The same of a link with rests of picoseconds, with jitter, or with pauses. Catches up first, so that these don't depend on who looks.
    #[cold]
    fn idle_at_otherwise(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> u64 {
        self.catch_up(entity, hots, pending, now);
        if self.tx.waiting == 0 {
            return self.tx.busy_until;
        }
        let time = self.tx.rate.transmit_time(self.tx.queued).ps();
        let pauses = self.tx.rare.pause.ps().saturating_mul(u64::from(self.tx.waiting));
        // What is paused leaves later than anybody knows, but not before now.
        let from = if self.tx.next_start == NEVER { self.tx.busy_until.max(now) } else { self.tx.busy_until };
        from.saturating_add(time).saturating_add(pauses)
    }

    /// Bytes that it has yet to send: those that wait, and what is left of the packet that it is sending.
    pub fn backlog(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> u64 {
        self.catch_up(entity, hots, pending, now);
        let sending = Duration(self.tx.busy_until.saturating_sub(now));
        self.tx.queued + self.tx.rate.bytes_in(sending)
    }

    /// Those of them that a packet of a priority would wait for; of a control packet (`None`) control alone. Where packets cannot be paused, all.
    pub fn drain(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        now: u64,
        priority: Option<u8>,
    ) -> u64 {
        let backlog = self.backlog(entity, hots, pending, now);
        self.lossless().map_or(backlog, |queue| backlog - self.tx.queued + queue.bytes_before(priority))
    }

    /// Packets come, in the order of time, and then time passes until a moment: what waits is sent as far as it is due by then. What
    /// happens to packets besides that is told.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each window of each port")]
    pub fn run(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        arrivals: impl Iterator<Item = (u64, PacketId)>,
        until: u64,
        tell: impl FnMut(Enqueued),
    ) {
        let Self { tx: transmitter, queue } = self;
        queue.accept(Run { transmitter, entity, hots, pending, arrivals, until, tell });
    }

    /// Starts all transmissions that were due by `now`: before the port is looked at or changed. A transmission due exactly
    /// now starts before a packet that arrives exactly now is looked at.
    #[inline]
    pub fn catch_up(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        // Mostly none is due: that takes one comparison, where it is asked.
        if self.tx.next_start <= now {
            self.start_due(entity, hots, pending, now);
        }
    }

    #[inline(never)]
    fn start_due(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        self.run(entity, hots, pending, iter::empty(), now, |_| {});
    }

    /// A packet wants to leave by this port. `None`: it waits or is sent, and there is nothing to tell. What is due by now starts before.
    #[inline]
    pub fn send(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        id: PacketId,
        now: u64,
    ) -> Option<Enqueued> {
        let Self { tx: transmitter, queue } = self;
        queue.accept(Send { transmitter, entity, hots, pending, id, now })
    }

    /// A packet is on the wire that will arrive after all others there. The link's event is scheduled if it is the only one.
    pub fn put_on_wire(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, id: PacketId, arrival: u64) {
        self.tx.put_on_wire(entity, hots, pending, id, arrival);
    }

    /// The link's event: the first packet in flight arrives now. Schedules the next arrival.
    #[inline]
    pub fn arrive(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> PacketId {
        // Whatever waits began to be sent at the latest when this packet's last bit left, a propagation delay ago, so
        // after catching up the wire is empty only if the queue is.
        self.catch_up(entity, hots, pending, now);
        self.take_arrival(entity, hots, pending)
    }

    /// The link's event, where the port is [listed](Self::list) when it has something to send: the same, but it does not catch up.
    #[inline]
    pub fn take_arrival(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending) -> PacketId {
        let id = self.tx.in_flight.pop(hots);
        if !self.tx.in_flight.is_empty() {
            pending.wheel.schedule(entity, hots[id as usize].at);
        }
        id
    }

    /// Where what it sends is until it arrives.
    #[inline]
    pub fn keeps(&self) -> Keeps {
        self.tx.keeps
    }

    /// Changes that, for what it sends from now on.
    pub fn keep(&mut self, keeps: Keeps) {
        (self.tx.keeps, self.tx.listed) = (keeps, UNLISTED);
    }

    /// If packets wait that may be sent, the port is listed among those that are to [catch up](Self::catch_up) in the window in which it sends the
    /// next: its own event does not tell when that is due.
    #[inline]
    pub fn list(&mut self, entity: Entity, pending: &mut Pending) {
        if self.tx.next_start != NEVER {
            self.tx.listed = pending.boxes.list(entity, self.tx.next_start, self.tx.listed);
        }
    }

    /// It was listed for a window, whose end it has come to, but for a moment: sends what was due in it.
    #[inline]
    pub fn come_up(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        // It may have been listed anew since.
        if self.tx.listed == pending.boxes.window() {
            self.tx.listed = UNLISTED;
            self.catch_up(entity, hots, pending, now);
            self.list(entity, pending);
        }
    }

    /// It was listed for a window that has come. Whoever asked for that says what it does now.
    pub fn unlist(&mut self, pending: &Pending) {
        if self.tx.listed == pending.boxes.window() {
            self.tx.listed = UNLISTED;
        }
    }

    /// More is on the wire, in any order: (arrival, packet).
    pub fn add_to_wire(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        arrivals: impl IntoIterator<Item = (u64, PacketId)>,
    ) {
        let mut all: Vec<_> = arrivals.into_iter().collect();
        if let Some((mut wire, mut arrival)) = self.take_wire(entity, pending) {
            while !wire.is_empty() {
                let id = wire.pop(hots);
                all.push((arrival, id));
                arrival = hots[id as usize].at;
            }
        }
        all.sort_unstable();
        for (arrival, id) in all {
            self.put_on_wire(entity, hots, pending, id, arrival);
        }
    }

    /// When the next transmission of a packet that waits is due; the end of time if none waits.
    #[inline]
    pub fn next_due(&self) -> u64 {
        self.tx.next_start
    }

    /// The far end is simulated elsewhere: takes what is on the wire, and when the first of these packets arrives there. Call
    /// [`Port::catch_up`] first.
    #[inline]
    pub fn take_wire(&mut self, entity: Entity, pending: &mut Pending) -> Option<(Fifo, u64)> {
        if self.tx.in_flight.is_empty() {
            return None;
        }
        let arrival = pending.wheel.due(entity);
        debug_assert!(arrival.is_some(), "what is on a wire is due");
        let arrival = arrival?;
        pending.wheel.cancel(entity);
        Some((std::mem::replace(&mut self.tx.in_flight, Fifo::EMPTY), arrival))
    }

    /// All its packets, those on the wire included, get other handles.
    pub fn move_packets(&mut self, movers: &mut dyn Movers) {
        movers.fifo(&mut self.tx.in_flight);
        self.queue.move_packets(movers);
    }

    /// Another port with the same link gets what is on the wire; the packets get other handles.
    pub fn move_wire(&mut self, to: &mut Self, movers: &mut dyn Movers) {
        movers.fifo(&mut self.tx.in_flight);
        to.tx.in_flight = std::mem::replace(&mut self.tx.in_flight, Fifo::EMPTY);
    }

    /// Changes the rate. Transmissions that have started keep the old one. Call [`Port::catch_up`] first.
    pub fn set_rate(&mut self, rate: Rate) {
        self.tx.rare.busy_before = self.counters().busy_ps;
        self.tx.rare.bytes_before = self.tx.bytes;
        self.tx.rate = rate;
        self.tx.rare.writes = self.tx.rare.writes.map(|(flags, _)| (flags, RateCode::of(rate)));
        self.queue.set_rate(rate);
        let exact = anabranch_transport::units::PS_PER_S * 8;
        let whole = exact.is_multiple_of(rate.bps()).then(|| exact / rate.bps());
        self.tx.ps_per_byte = whole.and_then(|ps| u32::try_from(ps).ok()).unwrap_or(0);
        self.tx.rare.pause = self.tx.rare.jitter.longest(rate.transmit_time(self.tx.rare.packet));
        self.update_flags();
    }

    /// Changes a setting of the queue. False if it has no such setting. Call [`Port::catch_up`] first.
    pub fn set_queue(&mut self, setting: Setting) -> bool {
        let changed = self.queue.set(setting);
        self.tx.inspects_passing = self.queue.inspects_passing();
        changed
    }

    /// Whether a packet that comes now would be sent at once. What was due by now has been sent.
    pub fn sends_at_once(&self, hot: &Hot, now: u64) -> bool {
        self.tx.busy_until <= now && self.queue.lets_pass(hot)
    }

    /// The far end pauses packets of a priority, or lets them come again, from now on; a packet that is being sent is finished. For queues that
    /// can be paused only.
    pub fn pause(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        now: u64,
        priority: u8,
        paused: bool,
    ) {
        self.catch_up(entity, hots, pending, now);
        if let Queue::Lossless(queue) = &mut self.queue {
            queue.pause(priority, paused, now);
            if queue.is_ready() {
                self.tx.busy_until = self.tx.busy_until.max(now);
                self.tx.next_start = self.tx.busy_until;
            } else {
                self.tx.next_start = NEVER;
            }
        }
        self.catch_up(entity, hots, pending, now);
    }

    /// What it needs besides where packets can be paused.
    #[inline]
    pub fn lossless(&self) -> Option<&Lossless> {
        match &self.queue {
            Queue::Lossless(queue) => Some(queue),
            _ => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub fn lossless_mut(&mut self) -> Option<&mut Lossless> {
        match &mut self.queue {
            Queue::Lossless(queue) => Some(queue),
            _ => None,
        }
    }

    /// Its queue, to be changed in what is counted only.
    pub fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// Cuts the link: what waits and what is in flight is lost and returned to the caller.
    pub fn cut(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> Vec<PacketId> {
        self.catch_up(entity, hots, pending, now);
        pending.wheel.cancel(entity);
        self.tx.rare.down = true;
        self.update_flags();
        let mut lost = Vec::new();
        loop {
            let dequeued = self.tx.in_flight.is_empty();
            let id = if dequeued { self.queue.dequeue(hots) } else { self.tx.in_flight.pop(hots) };
            if id == NO_PACKET {
                break;
            }
            self.queue.lost(&hots[id as usize], dequeued);
            lost.push(id);
        }
        self.tx.waiting = 0;
        self.tx.next_start = NEVER;
        self.tx.queued = 0;
        self.tx.busy_until = now;
        self.tx.rare.dropped += lost.len() as u64;
        lost
    }

    /// Restores a link that was cut.
    pub fn restore(&mut self, now: u64) {
        self.tx.rare.down = false;
        self.update_flags();
        self.tx.busy_until = self.tx.busy_until.max(now);
    }
}
