//! One direction of a link: the egress port with its queue, and the wire behind it.
//!
//! A link costs **one event per packet**, and at most one is pending: the arrival, at the far end, of the first packet in
//! flight. When a transmission ends and who is next need no event of their own, because nobody can notice before the
//! next packet's arrival, which lies at least the propagation delay later. So a port *catches up* whenever it is
//! touched: it starts, at the times at which they really start, all transmissions that are due.

use super::jitter::Jitter;
use super::queue::{Discipline, Enqueued, Passing, Queue, Setting};
use super::tap::{Noted, Tap};
use crate::engine::arena::{Fifo, Hot, Movers, NO_PACKET, PacketId};
use crate::engine::boxes::Arrival;
use crate::engine::pending::Pending;
use crate::engine::wheel::Entity;
use crate::random;
use anabranch_transport::{Duration, Rate};

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
    busy_until: u64,
    /// When the next transmission of a packet that waits is due: `busy_until`, or `NEVER` if none waits.
    next_start: u64,
    in_flight: Fifo,
    delay: u64,
    packets: u64,
    bytes: u64,
    peer: u32,
    /// Packets in the queue.
    waiting: u32,
    /// Picoseconds per byte, or 0 when that is not an integer, or too large a one.
    ps_per_byte: u32,
    /// Whether packets that come are offered to the queue and nothing else: the link works, and nobody captures.
    plain: bool,
    /// Whether the queue must be asked about packets that need not wait.
    inspects_passing: bool,
    /// Whether what it sends goes into the [boxes](crate::engine::boxes) of the switch at the far end.
    boxed: bool,
    /// Whether transmissions start with a pause, or somebody captures them.
    particular: bool,
    /// See [`PortCounters::waited`].
    waited: u128,
    /// Bytes in the queue.
    queued: u64,
    /// Longest queue so far.
    max_bytes: u64,
    max_packets: u32,
    /// The window for which it is [listed](Port::list), or [`UNLISTED`].
    listed: u32,
    trimmed: u64,
    rate: Rate,
    rare: Box<Rare>,
    queue: Queue,
}

const _: () = assert!(size_of::<Port>() == 256, "a port fills four cache lines");

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

/// No packet waits.
const NEVER: u64 = u64::MAX;
/// No window has this number as long as ports are listed.
const UNLISTED: u32 = u32::MAX;

impl Port {
    /// A port with an empty queue, towards node `peer`.
    pub fn new(rate: Rate, delay: Duration, peer: u32, queue: Queue) -> Self {
        let mut port = Self {
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
            boxed: false,
            particular: false,
            waited: 0,
            queued: 0,
            max_bytes: 0,
            max_packets: 0,
            listed: UNLISTED,
            trimmed: 0,
            rate,
            rare: Box::default(),
            queue,
        };
        port.set_rate(rate);
        port
    }

    /// Pauses at random before each transmission, as hosts do. A full packet has `packet` bytes.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Jitter, packet: u64, seed: u64) -> Self {
        self.rare.jitter = jitter;
        self.rare.packet = packet;
        self.rare.random = random::mix(seed);
        self.set_rate(self.rate);
        self
    }

    #[cold]
    fn pause(&mut self) -> u64 {
        self.rare.random = random::mix(self.rare.random);
        ((u128::from(self.rare.random) * u128::from(self.rare.pause.ps())) >> 64) as u64
    }

    /// When a transmission starts that could start at `start`. The tap is told.
    #[cold]
    fn start_of(&mut self, hot: &Hot, id: PacketId, start: u64) -> u64 {
        let at = if self.is_jittery() { start + self.pause() } else { start };
        let arrival = at + self.transmit_time(hot.size) + self.delay;
        if let Some(tap) = &mut self.rare.tap {
            tap.note(Noted::Started { id, hot: *hot, at, arrival });
        }
        at
    }

    /// Tells from now on what becomes of packets, by [`tap`](Self::tap).
    pub fn capture(&mut self) {
        self.rare.tap = Some(Tap::default());
        self.update_flags();
    }

    /// What it has to tell, if somebody captures.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.rare.tap.as_mut()
    }

    /// No transmission that has not started yet will start before this time, if none came after `now`.
    pub fn next_start(&self, now: u64) -> u64 {
        self.next_start.min(now)
    }

    fn update_flags(&mut self) {
        self.plain = !self.rare.down && self.rare.tap.is_none();
        self.particular = self.is_jittery() || self.rare.tap.is_some();
    }

    fn is_jittery(&self) -> bool {
        self.rare.pause > Duration::ZERO
    }

    /// Node at the far end.
    #[inline]
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// The packet that will arrive next at the far end.
    #[inline]
    pub fn first_in_flight(&self) -> PacketId {
        self.in_flight.head()
    }

    /// The packet that will probably be sent next, or [`NO_PACKET`].
    #[inline]
    pub fn next_waiting(&self) -> PacketId {
        if self.waiting > 0 { self.queue.head() } else { NO_PACKET }
    }

    /// What it has done so far.
    pub fn counters(&self) -> PortCounters {
        let sent = self.rate.transmit_time(self.bytes - self.rare.bytes_before).ps();
        let busy_ps = self.rare.busy_before + sent;
        PortCounters {
            packets: self.packets,
            bytes: self.bytes,
            busy_ps,
            max_packets: self.max_packets,
            max_bytes: self.max_bytes,
            waited: self.waited,
            dropped: self.rare.dropped,
            trimmed: self.trimmed,
            marked: self.rare.marked,
        }
    }

    /// Its queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The rate at which it sends now.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn transmit_time(&self, size: u16) -> u64 {
        if self.ps_per_byte != 0 {
            return u64::from(size) * u64::from(self.ps_per_byte);
        }
        self.rate.transmit_time(u64::from(size)).ps()
    }

    /// Puts a packet on the wire at `start`. The link's event is scheduled if this is the only packet in flight.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each transmission of each packet")]
    fn start(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, id: PacketId, start: u64) {
        let start = if self.particular { self.start_of(&hots[id as usize], id, start) } else { start };
        let size = hots[id as usize].size;
        self.packets += 1;
        self.bytes += u64::from(size);
        self.busy_until = start + self.transmit_time(size);
        let time = self.busy_until + self.delay;
        if !(self.boxed && pending.boxes.put(self.peer, Arrival { time, link: entity, packet: id })) {
            self.put_on_wire(entity, hots, pending, id, time);
        }
    }

    /// A packet is on the wire that will arrive after all others there. The link's event is scheduled if it is the only one.
    #[inline]
    pub fn put_on_wire(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, id: PacketId, arrival: u64) {
        if self.in_flight.is_empty() {
            pending.wheel.schedule(entity, arrival);
        } else {
            hots[self.in_flight.last() as usize].at = arrival;
        }
        self.in_flight.push(hots, id);
    }

    /// When all packets that it has will have left, if none came meanwhile; with jitter, at the latest.
    #[inline]
    pub fn idle_at(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> u64 {
        let jittery = self.particular && self.is_jittery();
        if jittery || self.ps_per_byte == 0 {
            // Catch up first, so that jitter and rounding don't depend on who looks.
            self.catch_up(entity, hots, pending, now);
        }
        if self.waiting == 0 {
            return self.busy_until;
        }
        let bytes = self.queued;
        let mut time = match self.ps_per_byte {
            0 => self.rate.transmit_time(bytes).ps(),
            each => bytes.saturating_mul(u64::from(each)),
        };
 if jittery {
            time = time.saturating_add(self.rare.pause.ps().saturating_mul(u64::from(self.waiting)));
        }
        self.busy_until.saturating_add(time)
    }

    /// Starts all transmissions that were due by `now`: before the port is looked at or changed. A transmission due exactly
    /// now starts before a packet that arrives exactly now is looked at.
    #[inline]
    pub fn catch_up(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        // Mostly none is due: that takes one comparison, where it is asked.
        if self.next_start <= now {
            self.start_due(entity, hots, pending, now);
        }
    }

    #[inline(never)]
    fn start_due(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        while self.next_start <= now {
            let id = self.queue.dequeue(hots);
            self.waiting -= 1;
            let hot = &hots[id as usize];
            let start = self.busy_until;
            self.queued -= u64::from(hot.size);
            self.waited += u128::from(start - hot.at) * u128::from(hot.size);
            self.start(entity, hots, pending, id, start);
            self.next_start = if self.waiting > 0 { self.busy_until } else { NEVER };
        }
    }

    /// A packet wants to leave by this port. `None`: it waits or is sent, and there is nothing to tell.
    #[inline]
    pub fn send(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        id: PacketId,
        now: u64,
    ) -> Option<Enqueued> {
        if !self.plain {
            return Some(self.send_otherwise(entity, hots, pending, id, now));
        }
        let outcome = self.offer(entity, hots, pending, id, now);
        (!outcome.is_queued()).then_some(outcome)
    }

    /// A packet wants to leave by a port whose link does not work, or where somebody captures.
    #[cold]
    fn send_otherwise(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        id: PacketId,
        now: u64,
    ) -> Enqueued {
        if let Some(tap) = &mut self.rare.tap {
            tap.note(Noted::Came { id, flags: hots[id as usize].flags });
        }
        if self.rare.down {
            self.rare.dropped += 1;
            self.queue.lost(&hots[id as usize], false);
            return Enqueued::rejected(id);
        }
        self.offer(entity, hots, pending, id, now)
    }

    /// A packet comes to the queue, or passes it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet; captures call it, too")]
    fn offer(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, id: PacketId, now: u64) -> Enqueued {
        self.catch_up(entity, hots, pending, now);
        if self.busy_until <= now {
            let passing = if self.inspects_passing {
                hots[id as usize].at = now;
                let idle = self.rate.bytes_in(Duration(now - self.busy_until.max(self.rare.asked_at)));
                self.queue.pass(&mut hots[id as usize], idle)
            } else {
                Passing::Unmarked
            };
            if passing == Passing::Rejected {
                self.rare.asked_at = now;
                self.rare.dropped += 1;
                return Enqueued::rejected(id);
            }
            let marked = passing == Passing::Marked;
            if marked {
                self.rare.marked += 1;
            }
            self.start(entity, hots, pending, id, now);
            return Enqueued { marked, ..Enqueued::QUEUED };
        }
        hots[id as usize].at = now;
        let outcome = self.queue.enqueue(hots, id);
        self.waiting += u32::from(outcome.rejected == NO_PACKET);
        self.next_start = if self.waiting > 0 { self.busy_until } else { NEVER };
        self.max_packets = self.max_packets.max(self.waiting);
        self.queued += u64::from(hots[id as usize].size);
        if !outcome.is_queued() {
            self.queued = self.queue.bytes();
            self.rare.marked += u64::from(outcome.marked);
            self.trimmed += u64::from(outcome.trimmed != NO_PACKET);
            self.rare.dropped += u64::from(outcome.rejected != NO_PACKET);
        }
        self.max_bytes = self.max_bytes.max(self.queued);
        outcome
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
        let id = self.in_flight.pop(hots);
        if !self.in_flight.is_empty() {
            pending.wheel.schedule(entity, hots[id as usize].at);
        }
        id
    }

    /// From now on what it sends goes into boxes at the far end, or on the wire.
    pub fn set_boxed(&mut self, boxed: bool) {
        (self.boxed, self.listed) = (boxed, UNLISTED);
    }

    /// If packets wait, the port is listed among those that are to [catch up](Self::catch_up) in the window in which it sends the
    /// next: its own event does not tell when that is due.
    #[inline]
    pub fn list(&mut self, entity: Entity, pending: &mut Pending) {
        if self.waiting > 0 {
            self.listed = pending.boxes.list(entity, self.next_start, self.listed);
        }
    }

    /// It was listed for a window, whose end it has come to, but for a moment: sends what was due in it.
    #[inline]
    pub fn come_up(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) {
        // It may have been listed anew since.
        if self.listed == pending.boxes.window() {
            self.listed = UNLISTED;
            self.catch_up(entity, hots, pending, now);
            self.list(entity, pending);
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
        self.next_start
    }

    /// The far end is simulated elsewhere: takes what is on the wire, and when the first of these packets arrives there. Call
    /// [`Port::catch_up`] first.
    #[inline]
    pub fn take_wire(&mut self, entity: Entity, pending: &mut Pending) -> Option<(Fifo, u64)> {
        if self.in_flight.is_empty() {
            return None;
        }
        let arrival = pending.wheel.due(entity);
        debug_assert!(arrival.is_some(), "what is on a wire is due");
        let arrival = arrival?;
        pending.wheel.cancel(entity);
        Some((std::mem::replace(&mut self.in_flight, Fifo::EMPTY), arrival))
    }

    /// All its packets, those on the wire included, get other handles.
    pub fn move_packets(&mut self, movers: &mut dyn Movers) {
        movers.fifo(&mut self.in_flight);
        self.queue.move_packets(movers);
    }

    /// Another port with the same link gets what is on the wire; the packets get other handles.
    pub fn move_wire(&mut self, to: &mut Self, movers: &mut dyn Movers) {
        movers.fifo(&mut self.in_flight);
        to.in_flight = std::mem::replace(&mut self.in_flight, Fifo::EMPTY);
    }

    /// Changes the rate. Transmissions that have started keep the old one. Call [`Port::catch_up`] first.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rare.busy_before = self.counters().busy_ps;
        self.rare.bytes_before = self.bytes;
        self.rate = rate;
        self.queue.set_rate(rate);
        let exact = anabranch_transport::units::PS_PER_S * 8;
        let whole = exact.is_multiple_of(rate.bps()).then(|| exact / rate.bps());
        self.ps_per_byte = whole.and_then(|ps| u32::try_from(ps).ok()).unwrap_or(0);
        self.rare.pause = self.rare.jitter.longest(rate.transmit_time(self.rare.packet));
        self.update_flags();
    }

    /// Changes a setting of the queue. False if it has no such setting. Call [`Port::catch_up`] first.
    pub fn set_queue(&mut self, setting: Setting) -> bool {
        let changed = self.queue.set(setting);
        self.inspects_passing = self.queue.inspects_passing();
        changed
    }

    /// Its queue, to be changed in what is counted only.
    pub fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// Cuts the link: what waits and what is in flight is lost and returned to the caller.
    pub fn cut(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, now: u64) -> Vec<PacketId> {
        self.catch_up(entity, hots, pending, now);
        pending.wheel.cancel(entity);
        self.rare.down = true;
        self.update_flags();
        let mut lost = Vec::new();
        loop {
            let dequeued = self.in_flight.is_empty();
            let id = if dequeued { self.queue.dequeue(hots) } else { self.in_flight.pop(hots) };
            if id == NO_PACKET {
                break;
            }
            self.queue.lost(&hots[id as usize], dequeued);
            lost.push(id);
        }
        self.waiting = 0;
        self.next_start = NEVER;
        self.queued = 0;
        self.busy_until = now;
        self.rare.dropped += lost.len() as u64;
        lost
    }

    /// Restores a link that was cut.
    pub fn restore(&mut self, now: u64) {
        self.rare.down = false;
        self.update_flags();
        self.busy_until = self.busy_until.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::testing::{data, insert};
    use super::super::queue::{Limit, drop_tail::DropTail, nic::Nic};
    use super::*;
    use crate::engine::arena::Arena;
    use crate::engine::wheel::Wheel;

    fn port(queue: Queue) -> Port {
        Port::new(Rate::from_gbps(1), Duration::from_us(10), 0, queue)
    }

    #[test]
    fn packets_arrive_back_to_back_with_one_event_pending() {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = port(Queue::Nic(Nic::new()));
        for label in 0..50 {
            let id = insert(&mut arena, data(0), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
            assert_eq!(pending.wheel.len(), 1);
        }
        for n in 0..50 {
            let (now, _) = pending.wheel.pop().expect("an arrival is pending");
            assert_eq!(now, (n + 1) * 12_000_000 + 10_000_000);
            let id = port.arrive(0, arena.hots(), &mut pending, now);
            assert_eq!(*arena.header(id), n as u32);
        }
        assert!(pending.is_empty());
        assert_eq!(port.counters().busy_ps, 50 * 12_000_000);
        // The n-th packet waited 12 us for each one before it.
        assert_eq!(port.counters().waited, (0..50).map(|n| n * 12_000_000 * 1500).sum());
    }

    #[test]
    fn an_urgent_packet_overtakes_only_what_has_not_started() {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = port(Queue::Nic(Nic::new()));
        for label in 0..3 {
            let id = insert(&mut arena, data(3), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
        }
        // At 12 us packet 1 starts, although no event told the port; the urgent one comes after it.
        let urgent = insert(&mut arena, data(0), 9);
        port.send(0, arena.hots(), &mut pending, urgent, 12_000_000);
        let mut order = Vec::new();
        while let Some((now, _)) = pending.wheel.pop() {
            let id = port.arrive(0, arena.hots(), &mut pending, now);
            order.push(*arena.header(id));
        }
        assert_eq!(order, [0, 1, 9, 2]);
    }

    /// Packets that wait for hours: their bytes times their picoseconds do not fit into 64 bits.
    #[test]
    fn hours_of_waiting_are_counted() {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = Port::new(Rate(1), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
        for label in 0..3 {
            let id = insert(&mut arena, data(0), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
        }
        for _ in 0..3 {
            let (now, _) = pending.wheel.pop().expect("an arrival is pending");
            port.arrive(0, arena.hots(), &mut pending, now);
        }
        // 12000 bits at a bit each second: one waits for one packet before it, the other for two.
        assert_eq!(port.counters().waited, 3 * 12_000 * 1_000_000_000_000 * 1500);
    }

    #[test]
    fn jitter_is_a_pause_before_each_packet_and_keeps_their_order() {
        for jitter in [Jitter::Time(Duration::from_us(30)), Jitter::Packets(2.5)] {
            let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
            let mut port = port(Queue::Nic(Nic::new())).with_jitter(jitter, 1500, 7);
            let mut pauses = Vec::new();
            for burst in 0..200 {
                let now = burst * 1_000_000_000;
                for label in 0..3 {
                    let id = insert(&mut arena, data(0), label);
                    port.send(0, arena.hots(), &mut pending, id, now);
                }
                let arrivals: Vec<u64> = (0..3)
                    .map(|label| {
                        let (now, _) = pending.wheel.pop().expect("an arrival is pending");
                        let id = port.arrive(0, arena.hots(), &mut pending, now);
                        assert_eq!(*arena.header(id), label, "in order");
                        arena.remove(id);
                        now
                    })
                    .collect();
                pauses.push(arrivals[0] - now - 22_000_000);
                pauses.extend(arrivals.windows(2).map(|pair| pair[1] - pair[0] - 12_000_000));
            }
            assert!(pauses.iter().all(|&p| p < 30_000_000));
            let mean = pauses.iter().sum::<u64>() / pauses.len() as u64;
            assert!((12_000_000..18_000_000).contains(&mean), "uniform from 0 to 30 us: mean {mean} ps");
        }
        // Told in packets, it follows the rate.
        let mut port = port(Queue::Nic(Nic::new())).with_jitter(Jitter::Packets(0.5), 1500, 7);
        assert_eq!(port.rare.pause, Duration::from_us(6));
        port.set_rate(Rate::from_mbps(10));
        assert_eq!(port.rare.pause, Duration::from_us(600));
    }

    #[test]
    fn when_it_is_idle_does_not_depend_on_when_it_was_looked_at() {
        // At 7 Gbps each transmission is rounded up to a picosecond.
        let idle_at = |look: bool| {
            let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
            let mut port = Port::new(Rate::from_gbps(7), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
            for label in 0..20 {
                let id = insert(&mut arena, data(0), label);
                port.send(0, arena.hots(), &mut pending, id, 0);
            }
            if look {
                port.catch_up(0, arena.hots(), &mut pending, 9_000_000);
            }
            port.idle_at(0, arena.hots(), &mut pending, 9_500_000)
        };
        assert_eq!(idle_at(false), idle_at(true));
    }

    #[test]
    fn a_very_slow_link_is_idle_very_late() {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = Port::new(Rate(1), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
        for label in 0..2000 {
            let id = insert(&mut arena, data(0), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
        }
        assert_eq!(port.idle_at(0, arena.hots(), &mut pending, 1), u64::MAX);
    }

    #[test]
    fn a_cut_link_loses_everything() {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = port(Queue::DropTail(DropTail::new(Limit::Packets(10))));
        for label in 0..5 {
            let id = insert(&mut arena, data(0), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
        }
        let lost = port.cut(0, arena.hots(), &mut pending, 15_000_000);
        assert_eq!(lost.len(), 5);
        assert!(pending.is_empty());
        let id = insert(&mut arena, data(0), 6);
        assert_eq!(port.send(0, arena.hots(), &mut pending, id, 16_000_000), Some(Enqueued::rejected(id)));
        port.restore(20_000_000);
        assert_eq!(port.send(0, arena.hots(), &mut pending, id, 20_000_000), None);
        assert_eq!(pending.wheel.pop().map(|e| e.0), Some(42_000_000));
    }
}
