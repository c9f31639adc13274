//! What a port does with packets, compiled for each queue discipline: it sends them one after the other, lets others wait, and
//! counts.

use super::Rare;
use crate::engine::arena::{Fifo, Hot, NO_PACKET, PacketId};
use crate::engine::boxes::Arrival;
use crate::engine::pending::{Keeps, Pending};
use crate::engine::stamps::Stamps;
use crate::engine::wheel::Entity;
use crate::fabric::queue::{Discipline, Enqueued, Passing, Visit};
use crate::fabric::tap::Noted;
use crate::random;
use anabranch_transport::telemetry::Hop;
use anabranch_transport::{Duration, Rate};

/// No packet waits.
pub(super) const NEVER: u64 = u64::MAX;
/// No window has this number.
pub(super) const UNLISTED: u32 = u32::MAX;

/// All of a port but the queue, in two cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Transmitter {
    pub(super) busy_until: u64,
    /// When the next transmission of a packet that waits is due: `busy_until`, or `NEVER` if none waits.
    pub(super) next_start: u64,
    pub(super) in_flight: Fifo,
    pub(super) delay: u64,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) peer: u32,
    /// Packets in the queue.
    pub(super) waiting: u32,
    /// Picoseconds per byte, or 0 when that is not an integer, or too large a one.
    pub(super) ps_per_byte: u32,
    /// Whether packets that come are offered to the queue and nothing else: the link works, and nobody captures.
    pub(super) plain: bool,
    /// Whether the queue must be asked about packets that need not wait.
    pub(super) inspects_passing: bool,
    /// Where what it sends is until it arrives.
    pub(super) keeps: Keeps,
    /// Whether transmissions start with a pause, somebody captures them, packets are written into, or the far end may pause them.
    pub(super) particular: bool,
    /// See [`PortCounters::waited`](super::PortCounters::waited).
    pub(super) waited: u128,
    /// Bytes in the queue.
    pub(super) queued: u64,
    /// Longest queue so far.
    pub(super) max_bytes: u64,
    pub(super) max_packets: u32,
    /// The window for which it is [listed](super::Port::list), or [`UNLISTED`].
    pub(super) listed: u32,
    pub(super) trimmed: u64,
    pub(super) rate: Rate,
    pub(super) rare: Box<Rare>,
}

const _: () = assert!(size_of::<Transmitter>() == 128, "a transmitter fills two cache lines");

/// What happens at a port for a while: packets come, in the order of time, and then time passes.
pub(super) struct Run<'a, A, T> {
    pub(super) transmitter: &'a mut Transmitter,
    pub(super) entity: Entity,
    pub(super) hots: &'a mut [Hot],
    pub(super) pending: &'a mut Pending,
    /// When each packet comes, and which.
    pub(super) arrivals: A,
    /// At last what waits is sent as far as it is due by this time.
    pub(super) until: u64,
    /// Is told what happened to packets besides waiting and being sent; where somebody captures, of every packet that comes.
    pub(super) tell: T,
}

impl<A: Iterator<Item = (u64, PacketId)>, T: FnMut(Enqueued)> Visit for Run<'_, A, T> {
    type Output = ();

    #[inline]
    fn visit<Q: Discipline>(self, queue: &mut Q) {
        let Self { transmitter, entity, hots, pending, arrivals, until, mut tell } = self;
        for (now, id) in arrivals {
            if !transmitter.plain {
                tell(transmitter.offer_otherwise(queue, entity, hots, pending, id, now));
                continue;
            }
            let outcome = transmitter.offer(queue, entity, hots, pending, id, now);
            if !outcome.is_queued() {
                tell(outcome);
            }
        }
        transmitter.catch_up(queue, entity, hots, pending, until);
    }
}

/// A packet comes to a port: what comes of it, as [`Run`] tells it.
pub(super) struct Send<'a> {
    pub(super) transmitter: &'a mut Transmitter,
    pub(super) entity: Entity,
    pub(super) hots: &'a mut [Hot],
    pub(super) pending: &'a mut Pending,
    pub(super) id: PacketId,
    pub(super) now: u64,
}

impl Visit for Send<'_> {
    type Output = Option<Enqueued>;

    #[inline]
    fn visit<Q: Discipline>(self, queue: &mut Q) -> Option<Enqueued> {
        let Self { transmitter, entity, hots, pending, id, now } = self;
        if !transmitter.plain {
            return Some(transmitter.offer_otherwise(queue, entity, hots, pending, id, now));
        }
        let outcome = transmitter.offer(queue, entity, hots, pending, id, now);
        (!outcome.is_queued()).then_some(outcome)
    }
}

impl Transmitter {
    #[cold]
    fn pause(&mut self) -> u64 {
        self.rare.random = random::mix(self.rare.random);
        ((u128::from(self.rare.random) * u128::from(self.rare.pause.ps())) >> 64) as u64
    }

    /// When a transmission starts that could start at `start`. The tap is told, and the port's state written into the packet.
    #[cold]
    fn start_of(&mut self, entity: Entity, hot: &Hot, stamps: &mut Stamps, id: PacketId, start: u64) -> u64 {
        let at = if self.is_jittery() { start + self.pause() } else { start };
        if let Some((flags, rate)) = self.rare.writes
            && hot.has(flags)
        {
            stamps.add(id, entity, Hop::new(rate, at, self.bytes, self.queued));
        }
        let arrival = at + self.transmit_time(hot.size) + self.delay;
        if let Some(tap) = &mut self.rare.tap {
            tap.note(Noted::Started { id, hot: *hot, at, arrival });
        }
        at
    }

    pub(super) fn is_jittery(&self) -> bool {
        self.rare.pause > Duration::ZERO
    }

    #[inline]
    fn transmit_time(&self, size: u16) -> u64 {
        if self.ps_per_byte != 0 {
            return u64::from(size) * u64::from(self.ps_per_byte);
        }
        self.rate.transmit_time(u64::from(size)).ps()
    }

    /// Sends a packet at `start`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each transmission of each packet")]
    fn start(&mut self, entity: Entity, hots: &mut [Hot], pending: &mut Pending, id: PacketId, start: u64) {
        let start = if self.particular {
            self.start_of(entity, &hots[id as usize], &mut pending.stamps, id, start)
        } else {
            start
        };
        let size = hots[id as usize].size;
        self.packets += 1;
        self.bytes += u64::from(size);
        self.busy_until = start + self.transmit_time(size);
        let time = self.busy_until + self.delay;
        let arrival = Arrival { time, link: entity, packet: id };
        match self.keeps {
            Keeps::InBox if pending.boxes.put(self.peer, arrival) => {}
            Keeps::Elsewhere => pending.elsewhere.push(arrival),
            _ => self.put_on_wire(entity, hots, pending, id, time),
        }
    }

    /// A packet is on the wire that will arrive after all others there. The link's event is scheduled if it is the only one.
    #[inline]
    pub(super) fn put_on_wire(
        &mut self,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        id: PacketId,
        arrival: u64,
    ) {
        if self.in_flight.is_empty() {
            pending.wheel.schedule(entity, arrival);
        } else {
            hots[self.in_flight.last() as usize].at = arrival;
        }
        self.in_flight.push(hots, id);
    }

    /// Whether a packet waits that may be sent when the port is free.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn may_send<Q: Discipline>(&self, queue: &Q) -> bool {
        if Q::HOLDS_BACK { queue.is_ready() } else { self.waiting > 0 }
    }

    /// Starts all transmissions that were due by `now`. A transmission due exactly now starts before a packet that arrives
    /// exactly now is looked at.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet")]
    fn catch_up(
        &mut self,
        queue: &mut impl Discipline,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        now: u64,
    ) {
        while self.next_start <= now {
            let id = queue.dequeue(hots);
            self.waiting -= 1;
            let hot = &hots[id as usize];
            let start = self.busy_until;
            self.queued -= u64::from(hot.size);
            self.waited += u128::from(start - hot.at) * u128::from(hot.size);
            self.start(entity, hots, pending, id, start);
            self.next_start = if self.may_send(queue) { self.busy_until } else { NEVER };
        }
    }

    /// A packet comes to a port whose link does not work, or where somebody captures.
    #[cold]
    fn offer_otherwise(
        &mut self,
        queue: &mut impl Discipline,
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
            queue.lost(&hots[id as usize], false);
            return Enqueued::rejected(id);
        }
        self.offer(queue, entity, hots, pending, id, now)
    }

    /// A packet comes to the queue, or passes it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet; captures call it, too")]
    fn offer(
        &mut self,
        queue: &mut impl Discipline,
        entity: Entity,
        hots: &mut [Hot],
        pending: &mut Pending,
        id: PacketId,
        now: u64,
    ) -> Enqueued {
        self.catch_up(queue, entity, hots, pending, now);
        if self.busy_until <= now && passes(queue, &hots[id as usize]) {
            let passing = if self.inspects_passing {
                hots[id as usize].at = now;
                let idle = self.rate.bytes_in(Duration(now - self.busy_until.max(self.rare.asked_at)));
                queue.pass(&mut hots[id as usize], idle)
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
        let outcome = queue.enqueue(hots, id);
        self.waiting += u32::from(outcome.rejected == NO_PACKET);
        self.next_start = if self.may_send(queue) { self.busy_until } else { NEVER };
        self.max_packets = self.max_packets.max(self.waiting);
        self.queued += u64::from(hots[id as usize].size);
        if !outcome.is_queued() {
            self.queued = queue.bytes();
            self.rare.marked += u64::from(outcome.marked);
            self.trimmed += u64::from(outcome.trimmed != NO_PACKET);
            self.rare.dropped += u64::from(outcome.rejected != NO_PACKET);
        }
        self.max_bytes = self.max_bytes.max(self.queued);
        outcome
    }
}

/// Whether a packet that comes to a free port is sent at once.
#[inline(always)]
#[expect(clippy::inline_always, reason = "each hop of each packet")]
fn passes<Q: Discipline>(queue: &Q, hot: &Hot) -> bool {
    !Q::HOLDS_BACK || queue.lets_pass(hot)
}
