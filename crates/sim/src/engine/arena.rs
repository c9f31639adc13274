//! Packets behind small handles.
//!
//! What switches read (`Hot`, 32 bytes, two to a cache line) lies apart from the transport's header, which only hosts
//! read. A packet is in exactly one list at a time (a queue, a link, the free list), so one `next` field serves all.

use super::prefetch::prefetch;
use anabranch_transport::rank::LEAST;
use std::hint::select_unpredictable;

/// Handle of a packet.
pub type PacketId = u32;

/// No packet.
pub const NO_PACKET: PacketId = u32::MAX;

/// Index of an endpoint in the run; never used again.
pub type EndpointId = u32;

/// Packet flags.
pub mod flag {
    /// Pulls, ACKs and NACKs of receiver-driven transports: they travel in a trimming switch's header band.
    pub const CONTROL: u8 = 1;
    /// ECN-capable transport.
    pub const ECT: u8 = 1 << 1;
    /// Congestion experienced.
    pub const CE: u8 = 1 << 2;
    /// The payload was cut off by a switch.
    pub const TRIMMED: u8 = 1 << 3;
    /// `destination` is a multicast group.
    pub const MULTICAST: u8 = 1 << 4;
    /// On its way back to its sender.
    pub const RETURNED: u8 = 1 << 5;
    /// Carries payload (or did, before it was trimmed).
    pub const DATA: u8 = 1 << 6;
    /// A host other than its sender has passed it on.
    pub const RELAYED: u8 = 1 << 7;
    /// Both of these, which no other packet has: a pause frame, for the node at the far end of its link (IEEE 802.1Qbb: to a multicast
    /// address that bridges do not forward).
    pub const PAUSE: u8 = MULTICAST | RETURNED;
}

/// What switches need to know of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Hot {
    /// In flight: when the last bit of the packet after it arrives, if there is one (so that an arrival need not look at the
    /// next packet). Queued: when it was enqueued. Picoseconds.
    pub at: u64,
    /// Next packet in the list that this one is in.
    pub next: PacketId,
    /// Endpoint that it is for.
    pub endpoint: u32,
    /// Destination host, or multicast group.
    pub destination: u32,
    /// Which of the equal-cost paths: a 32-bit fraction, consumed digit by digit at each choice.
    pub path: u32,
    /// Bytes on the wire now.
    pub size: u16,
    /// Bytes on the wire if it is trimmed.
    pub trimmed_size: u16,
    /// The sender's index among the receiver's peers; in unicast sessions, which need none, the [rank](Hot::rank).
    pub from: u16,
    /// See [`Hot::tag`].
    pub tag: u8,
    /// See [`flag`].
    pub flags: u8,
}

impl Hot {
    /// A packet's class, its priority, and whether it was pushed, in one byte. The class, up to 15, tells transports apart
    /// where they have queues of their own; the priority is that of the data bands, 0 highest, and 7 stands for all beyond;
    /// pushed packets belong to an initial window.
    #[inline]
    pub fn tag(class: u8, priority: u8, pushed: bool) -> u8 {
        debug_assert!(class < 16, "class {class} of 16");
        u8::from(pushed) << 7 | (class & 15) << 3 | priority.min(7)
    }
    /// Whether it belongs to an initial window.
    #[inline]
    pub fn pushed(&self) -> bool {
        self.tag >> 7 == 1
    }
    /// Which of a port's fair queues it belongs to.
    #[inline]
    pub fn class(&self) -> u8 {
        self.tag >> 3 & 15
    }
    /// Priority of the data bands, 0 highest, at most 7.
    #[inline]
    pub fn priority(&self) -> u8 {
        self.tag & 7
    }
    /// What remains of its flow, as [`rank`](anabranch_transport::rank) writes it; 0 for all that does not say so, among them
    /// packets with the index of their sender: it goes first.
    #[inline]
    pub fn rank(&self) -> u16 {
        if self.flags & flag::CONTROL == 0 && self.from >= LEAST { self.from } else { 0 }
    }
    /// Whether all of these flags are set.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
    /// Whether it is for one receiver.
    #[inline]
    pub fn is_unicast(&self) -> bool {
        self.flags & flag::MULTICAST == 0
    }
    /// Whether the packet belongs in a trimming switch's header band.
    #[inline]
    pub fn in_header_band(&self) -> bool {
        self.flags & (flag::CONTROL | flag::TRIMMED) != 0
    }
    /// Turns a multicast packet into one for a single receiver.
    pub fn address(&mut self, host: u32, endpoint: u32) {
        self.flags &= !flag::MULTICAST;
        self.destination = host;
        self.endpoint = endpoint;
    }
    /// Whether a switch can still cut it.
    #[inline]
    pub fn trimmable(&self) -> bool {
        self.flags & flag::TRIMMED == 0 && self.trimmed_size < self.size
    }
}

/// A transport header, in a cache line of its own: a packet's arrival at its host has to fetch one and not two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line<H>(H);

/// All packets of a run; `H` is the transport header.
pub struct Arena<H> {
    hot: Vec<Hot>,
    headers: Vec<Line<H>>,
    free: PacketId,
    live: u32,
    /// More than this are too many.
    capacity: usize,
}

impl<H: Copy> Arena<H> {
    /// Bytes that a header takes.
    pub const HEADER: usize = size_of::<Line<H>>();

    /// An empty arena without a limit but that of the handles.
    pub fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    /// An empty arena that is [full](Arena::is_full) with as many packets as fit into `bytes`.
    pub fn with_limit(bytes: u64) -> Self {
        let packet = (size_of::<Hot>() + size_of::<Line<H>>()) as u64;
        // Lists double when they are full.
        let most = (bytes / (2 * packet)).min(u64::from(NO_PACKET / 2)) as usize;
        Self { hot: Vec::new(), headers: Vec::new(), free: NO_PACKET, live: 0, capacity: most }
    }

    /// Whether there have been as many packets at once as there may be. It takes more, but should not be asked to.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.hot.len() >= self.capacity
    }

    /// An empty arena with the same limit.
    #[must_use]
    pub fn like(&self) -> Self {
        Self { hot: Vec::new(), headers: Vec::new(), free: NO_PACKET, live: 0, capacity: self.capacity }
    }

    /// Packets that it has had place for at once.
    #[inline]
    pub fn slots(&self) -> usize {
        self.hot.len()
    }

    /// How many there may be at once.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Packets alive now.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// A new packet.
    #[inline]
    pub fn insert(&mut self, hot: Hot, header: H) -> PacketId {
        self.live += 1;
        let id = self.free;
        if id == NO_PACKET {
            self.hot.push(hot);
            self.headers.push(Line(header));
            return (self.hot.len() - 1) as PacketId;
        }
        self.free = self.hot[id as usize].next;
        self.hot[id as usize] = hot;
        self.headers[id as usize] = Line(header);
        id
    }

    /// A copy of a packet, as a switch makes for multicast.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        self.insert(self.hot[id as usize], self.headers[id as usize].0)
    }

    /// Gives a packet's place back.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.live -= 1;
        self.hot[id as usize].next = self.free;
        self.free = id;
    }

    /// The transport header.
    #[inline]
    pub fn header(&self, id: PacketId) -> &H {
        &self.headers[id as usize].0
    }

    /// The transport header, to be changed.
    #[inline]
    pub fn header_mut(&mut self, id: PacketId) -> &mut H {
        &mut self.headers[id as usize].0
    }

    /// [Asks for](prefetch) a packet's memory, if it is one.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        if let (Some(hot), Some(header)) = (self.hot.get(id as usize), self.headers.get(id as usize)) {
            prefetch(hot);
            prefetch(header);
        }
    }

    /// [Asks for](prefetch) what switches see of a packet.
    #[inline]
    pub fn prefetch_hot(&self, id: PacketId) {
        if let Some(hot) = self.hot.get(id as usize) {
            prefetch(hot);
        }
    }

    /// What switches see of a packet, if it is one.
    #[inline]
    pub fn get(&self, id: PacketId) -> Option<&Hot> {
        self.hot.get(id as usize)
    }

    /// What switches see.
    #[inline]
    pub fn hot(&self, id: PacketId) -> &Hot {
        &self.hot[id as usize]
    }

    /// What switches see, and change.
    #[inline]
    pub fn hot_mut(&mut self, id: PacketId) -> &mut Hot {
        &mut self.hot[id as usize]
    }

    /// The packets in their memory, for lists that need no headers.
    #[inline]
    pub fn hots(&mut self) -> &mut [Hot] {
        &mut self.hot
    }
}

impl<H: Copy> Default for Arena<H> {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives packets other handles: those of another arena.
pub trait Movers {
    /// Moves a packet that is in no [`Fifo`]: its new handle.
    fn packet(&mut self, id: PacketId) -> PacketId;
    /// Moves all packets of a list.
    fn fifo(&mut self, list: &mut Fifo);
}

/// Moves packets from one arena to another.
pub struct Transfer<'a, H> {
    /// Where they are.
    pub from: &'a mut Arena<H>,
    /// Where they go.
    pub to: &'a mut Arena<H>,
}

impl<H: Copy> Movers for Transfer<'_, H> {
    fn packet(&mut self, id: PacketId) -> PacketId {
        let moved = self.to.insert(self.from.hot[id as usize], self.from.headers[id as usize].0);
        self.from.remove(id);
        moved
    }

    fn fifo(&mut self, list: &mut Fifo) {
        let mut left = std::mem::replace(list, Fifo::EMPTY);
        loop {
            let id = left.pop(&self.from.hot);
            if id == NO_PACKET {
                return;
            }
            let moved = self.packet(id);
            list.push(&mut self.to.hot, moved);
        }
    }
}

/// A first-in first-out list of packets.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: PacketId,
    tail: PacketId,
}

impl Fifo {
    /// An empty list.
    pub const EMPTY: Self = Self { head: NO_PACKET, tail: NO_PACKET };

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    /// The oldest packet, or [`NO_PACKET`].
    #[inline]
    pub fn head(&self) -> PacketId {
        self.head
    }

    /// The newest packet; anything if there is none.
    #[inline]
    pub fn last(&self) -> PacketId {
        self.tail
    }

    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, hots: &mut [Hot], id: PacketId) {
        let empty = self.head == NO_PACKET;
        let before = select_unpredictable(empty, id, self.tail);
        hots[before as usize].next = id;
        hots[id as usize].next = NO_PACKET;
        self.head = select_unpredictable(empty, id, self.head);
        self.tail = id;
    }

    /// Takes the oldest packet, or [`NO_PACKET`].
    #[inline]
    pub fn pop(&mut self, hots: &[Hot]) -> PacketId {
        let id = self.head;
        if id != NO_PACKET {
            self.head = hots[id as usize].next;
        }
        id
    }

    /// Takes the newest packet, or [`NO_PACKET`]. Walks the list: for rare events in short queues.
    pub fn pop_newest(&mut self, hots: &mut [Hot]) -> PacketId {
        let newest = self.tail;
        if self.head == NO_PACKET || self.head == newest {
            return self.pop(hots);
        }
        let mut before = self.head;
        while hots[before as usize].next != newest {
            before = hots[before as usize].next;
        }
        hots[before as usize].next = NO_PACKET;
        self.tail = before;
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(size: u16) -> Hot {
        Hot {
            at: 0,
            next: NO_PACKET,
            endpoint: 0,
            destination: 0,
            path: 0,
            size,
            trimmed_size: 0,
            from: 0,
            tag: 0,
            flags: 0,
        }
    }

    #[test]
    fn lists_move_from_arena_to_arena_in_order() {
        let (mut from, mut to) = (Arena::new(), Arena::new());
        let (mut list, mut rest) = (Fifo::EMPTY, Fifo::EMPTY);
        for n in 0..20 {
            let id = from.insert(hot(n), n);
            if n % 3 == 0 { &mut rest } else { &mut list }.push(from.hots(), id);
        }
        list.pop(from.hots());
        let other = to.insert(hot(99), 99);
        Transfer { from: &mut from, to: &mut to }.fifo(&mut list);
        assert_eq!((from.live(), to.live()), (8, 13));
        let mut labels = Vec::new();
        while !list.is_empty() {
            let id = list.pop(to.hots());
            labels.push((to.hot(id).size, *to.header(id)));
        }
        let moved = (2..20).filter(|n| n % 3 != 0).map(|n| (n, n));
        assert_eq!(labels, moved.collect::<Vec<_>>());
        assert_eq!(*to.header(other), 99);
        // The other list is as it was, and what was left is free.
        assert_eq!(rest.pop(from.hots()), 0);
        assert_eq!((from.insert(hot(7), 7), from.slots()), (19, 20));
    }
}
