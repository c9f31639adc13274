//! Queue disciplines of egress ports.
//!
//! A discipline is one file with a type that implements [`Discipline`], and one line in the registry below. Dispatch is
//! static: a port holds a [`Queue`], the enum that the registry makes.
//!
//! Lengths count waiting packets; the one being serialised has left the queue.

use crate::engine::arena::{Hot, Movers, NO_PACKET, PacketId};
use anabranch_transport::Rate;

/// Methods of [`Discipline`] of a queue whose packets wait in these bands, the most urgent first.
macro_rules! waiting_in {
    (@head $queue:ident $last:ident) => { $queue.$last.head() };
    (@head $queue:ident $first:ident $($rest:ident)+) => {
        if $queue.$first.is_empty() { waiting_in!(@head $queue $($rest)+) } else { $queue.$first.head() }
    };
    (@sum $queue:ident $what:ident $first:ident $($rest:ident)*) => { $queue.$first.$what $(+ $queue.$rest.$what)* };
    ($($bands:ident),+) => {
        #[inline]
        fn head(&self) -> PacketId {
            waiting_in!(@head self $($bands)+)
        }
        fn move_packets(&mut self, movers: &mut dyn $crate::engine::arena::Movers) {
            $(self.$bands.move_packets(movers);)+
        }
        #[inline]
        fn packets(&self) -> u32 {
            waiting_in!(@sum self packets $($bands)+)
        }
        #[inline]
        fn bytes(&self) -> u64 {
            waiting_in!(@sum self bytes $($bands)+)
        }
    };
}

/// Methods of [`Discipline`] that a queue leaves to the one inside it.
macro_rules! delegate {
    ($inner:ident: $($method:ident),+) => { $(delegate!(@ $inner $method);)+ };
    (@ $inner:ident dequeue) => {
        #[inline(always)] // Each hop of each packet.
        fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
            self.$inner.dequeue(hots)
        }
    };
    (@ $inner:ident head) => {
        #[inline]
        fn head(&self) -> PacketId {
            self.$inner.head()
        }
    };
    (@ $inner:ident packets) => {
        #[inline]
        fn packets(&self) -> u32 {
            self.$inner.packets()
        }
    };
    (@ $inner:ident bytes) => {
        #[inline]
        fn bytes(&self) -> u64 {
            self.$inner.bytes()
        }
    };
    (@ $inner:ident inspects_passing) => {
        fn inspects_passing(&self) -> bool {
            self.$inner.inspects_passing()
        }
    };
    (@ $inner:ident move_packets) => {
        fn move_packets(&mut self, movers: &mut dyn $crate::engine::arena::Movers) {
            self.$inner.move_packets(movers);
        }
        fn memory(&self) -> Option<*const $crate::fabric::queue::pooled::Pool> {
            self.$inner.memory()
        }
    };
    (@ $inner:ident classes) => {
        fn urgency(&self) -> u8 {
            self.$inner.urgency()
        }
        fn priorities(&self) -> u8 {
            self.$inner.priorities()
        }
        fn classes(&self) -> u8 {
            self.$inner.classes()
        }
        fn class_of(&self, hot: &$crate::engine::arena::Hot) -> u8 {
            self.$inner.class_of(hot)
        }
    };
    (@ $inner:ident settings) => {
        fn set(&mut self, setting: $crate::fabric::queue::Setting) -> bool {
            self.$inner.set(setting)
        }
        fn set_rate(&mut self, rate: anabranch_transport::Rate) {
            self.$inner.set_rate(rate);
        }
        fn share(&mut self, other: &Self) {
            self.$inner.share(&other.$inner);
        }
        fn marking_threshold(&self) -> Option<$crate::fabric::queue::Limit> {
            self.$inner.marking_threshold()
        }
    };
}

mod bands;
pub mod drop_tail;
pub mod ecn;
pub mod express;
pub mod fair;
pub mod linux_red;
pub mod lossless;
pub mod mlfq;
pub mod nic;
pub mod pfabric;
pub mod phantom;
pub mod pooled;
pub mod red;
pub mod relay;
pub mod trim;
pub mod trim_ecn;
pub mod watched;

/// A limit on what may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(u64),
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self::Packets(u32::MAX);

    /// Whether a packet of `size` bytes may join `packets` packets of `bytes` bytes in all.
    #[inline]
    pub fn admits(self, packets: u32, bytes: u64, size: u16) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit,
        }
    }

    /// Whether a queue of this length has reached the limit (ECN thresholds).
    #[inline]
    pub fn reached(self, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets >= limit,
            Self::Bytes(limit) => bytes >= limit,
        }
    }
}

/// A [`Limit`] that is asked for each packet, whichever of the two it is.
#[derive(Clone, Copy, Debug)]
struct Room {
    packets: u32,
    bytes: u64,
}

impl Room {
    /// See [`Limit::admits`].
    #[inline]
    fn admits(self, packets: u32, bytes: u64, size: u16) -> bool {
        (packets < self.packets) & (bytes.saturating_add(u64::from(size)) <= self.bytes)
    }
}

impl From<Limit> for Room {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Packets(packets) => Self { packets, bytes: u64::MAX },
            Limit::Bytes(bytes) => Self { packets: u32::MAX, bytes },
        }
    }
}

/// A change of a queue in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// From what length on it marks.
    MarkingThreshold(Limit),
    /// The limit of its length. Packets that wait beyond it stay.
    Buffer(Limit),
}

/// Packets that an arrival dropped, trimmed or marked; usually none, [`Enqueued::QUEUED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// A packet that found no room; the caller owns it again. Not necessarily the one that arrived.
    pub rejected: PacketId,
    /// A packet that lost its payload; it is in the queue.
    pub trimmed: PacketId,
    /// The packet that arrived was marked.
    pub marked: bool,
}

impl Enqueued {
    /// The packet waits; nothing else happened.
    pub const QUEUED: Self = Self { rejected: NO_PACKET, trimmed: NO_PACKET, marked: false };

    /// Whether the packet waits and nothing else happened. Each arrival asks.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.rejected & self.trimmed == NO_PACKET && !self.marked
    }

    /// The packet found no room.
    pub fn rejected(id: PacketId) -> Self {
        Self { rejected: id, ..Self::QUEUED }
    }
}

/// What a queue does to a packet that need not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// It is sent as it is.
    Unmarked,
    /// It is sent with a mark that it did not have.
    Marked,
    /// It is not sent.
    Rejected,
}

/// What is done with a queue, compiled for each discipline.
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<Q: Discipline>(self, queue: &mut Q) -> Self::Output;
}

/// A queue discipline: which packet leaves next, and which has to go when there is no room.
pub trait Discipline {
    /// Whether it may hold packets back although the port is free: [`is_ready`](Self::is_ready) and [`lets_pass`](Self::lets_pass) are
    /// asked. Known when a port is compiled for the discipline, so that all others pay nothing.
    const HOLDS_BACK: bool = false;
    /// Lets somebody do something with it.
    #[inline]
    fn accept<V: Visit>(&mut self, visitor: V) -> V::Output
    where
        Self: Sized,
    {
        visitor.visit(self)
    }
    /// A packet arrives while the port is busy or others wait. Its `at` is the time of arrival.
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued;
    /// The packet to send next, or [`NO_PACKET`].
    fn dequeue(&mut self, hots: &[Hot]) -> PacketId;
    /// All its packets get other handles.
    fn move_packets(&mut self, movers: &mut dyn Movers);
    /// The memory that it shares with other ports, if it does.
    fn memory(&self) -> Option<*const pooled::Pool> {
        None
    }
    /// The packet that [`dequeue`](Self::dequeue) is likely to take, or [`NO_PACKET`].
    fn head(&self) -> PacketId {
        NO_PACKET
    }
    /// Waiting packets.
    fn packets(&self) -> u32;
    /// Waiting bytes.
    fn bytes(&self) -> u64;
    /// A packet comes to an idle port with an empty queue, on whose link `idle` bytes could have been sent
    /// since it has been idle: it never waits, but may still be marked or rejected. Its `at` is the time of arrival.
    fn pass(&mut self, _hot: &mut Hot, _idle: u64) -> Passing {
        Passing::Unmarked
    }
    /// Whether [`pass`](Self::pass) may do anything but let the packet go as it is. Asked once, of a new queue.
    fn inspects_passing(&self) -> bool {
        false
    }
    /// Whether [`dequeue`](Self::dequeue) has a packet to give, where some are held back.
    fn is_ready(&self) -> bool {
        self.packets() > 0
    }
    /// Whether a packet that comes to a free port may be sent at once, where some are held back.
    fn lets_pass(&self, _hot: &Hot) -> bool {
        true
    }
    /// Changes a setting. False if it has no such setting.
    fn set(&mut self, _setting: Setting) -> bool {
        false
    }
    /// The port sends at this rate from now on.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Shares with another queue what the two have in common, which then takes one place in the caches.
    fn share(&mut self, _other: &Self)
    where
        Self: Sized,
    {
    }
    /// From what length on it marks now, if it does by a threshold.
    fn marking_threshold(&self) -> Option<Limit> {
        None
    }
    /// How urgent the packet is that leaves next: 0 for headers and control, from 1 on for data by priority. Says
    /// nothing of an empty queue.
    fn urgency(&self) -> u8 {
        1
    }
    /// Priorities of data that it tells apart.
    fn priorities(&self) -> u8 {
        1
    }
    /// Classes of packets that have queues of their own.
    fn classes(&self) -> u8 {
        1
    }
    /// The class of a packet, below [`classes`](Self::classes).
    fn class_of(&self, _hot: &Hot) -> u8 {
        0
    }
    /// A cut link has lost a packet: one that [`dequeue`](Self::dequeue) gave only to be lost, or one that is not in the
    /// queue.
    fn lost(&mut self, _hot: &Hot, _dequeued: bool) {}
}

macro_rules! disciplines {
    ($($(#[doc = $doc:literal])* $name:ident($type:ty),)+) => {
        /// Any of the disciplines.
        #[derive(Clone, Debug)]
        pub enum Queue { $($(#[doc = $doc])* $name($type),)+ }

        impl Discipline for Queue {
            #[inline(always)] // Each hop of each packet: a call would pass all that a port needs by memory.
            fn accept<V: Visit>(&mut self, visitor: V) -> V::Output {
                match self { $(Self::$name(q) => q.accept(visitor),)+ }
            }
            #[inline]
            fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
                match self { $(Self::$name(q) => q.enqueue(hots, id),)+ }
            }
            #[inline]
            fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
                match self { $(Self::$name(q) => q.dequeue(hots),)+ }
            }
            fn move_packets(&mut self, movers: &mut dyn Movers) {
                match self { $(Self::$name(q) => q.move_packets(movers),)+ }
            }
            fn memory(&self) -> Option<*const pooled::Pool> {
                match self { $(Self::$name(q) => q.memory(),)+ }
            }
            #[inline]
            fn head(&self) -> PacketId {
                match self { $(Self::$name(q) => q.head(),)+ }
            }
            #[inline]
            fn packets(&self) -> u32 {
                match self { $(Self::$name(q) => q.packets(),)+ }
            }
            #[inline]
            fn bytes(&self) -> u64 {
                match self { $(Self::$name(q) => q.bytes(),)+ }
            }
            #[inline]
            fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
                match self { $(Self::$name(q) => q.pass(hot, idle),)+ }
            }
            fn inspects_passing(&self) -> bool {
                match self { $(Self::$name(q) => q.inspects_passing(),)+ }
            }
            #[inline]
            fn is_ready(&self) -> bool {
                match self { $(Self::$name(q) => q.is_ready(),)+ }
            }
            #[inline]
            fn lets_pass(&self, hot: &Hot) -> bool {
                match self { $(Self::$name(q) => q.lets_pass(hot),)+ }
            }
            fn set(&mut self, setting: Setting) -> bool {
                match self { $(Self::$name(q) => q.set(setting),)+ }
            }
            fn set_rate(&mut self, rate: Rate) {
                match self { $(Self::$name(q) => q.set_rate(rate),)+ }
            }
            fn share(&mut self, other: &Self) {
                match (self, other) {
                    $((Self::$name(q), Self::$name(other)) => q.share(other),)+
                    _ => {}
                }
            }
            fn marking_threshold(&self) -> Option<Limit> {
                match self { $(Self::$name(q) => q.marking_threshold(),)+ }
            }
            fn urgency(&self) -> u8 {
                match self { $(Self::$name(q) => q.urgency(),)+ }
            }
            fn priorities(&self) -> u8 {
                match self { $(Self::$name(q) => q.priorities(),)+ }
            }
            fn classes(&self) -> u8 {
                match self { $(Self::$name(q) => q.classes(),)+ }
            }
            fn class_of(&self, hot: &Hot) -> u8 {
                match self { $(Self::$name(q) => q.class_of(hot),)+ }
            }
            fn lost(&mut self, hot: &Hot, dequeued: bool) {
                match self { $(Self::$name(q) => q.lost(hot, dequeued),)+ }
            }
        }
    };
}

// The registry: one line per discipline.
disciplines! {
    /// First in, first out; arrivals are dropped when it is full.
    DropTail(drop_tail::DropTail),
    /// Drop-tail that marks at an instantaneous threshold.
    Ecn(ecn::Ecn),
    /// Random early detection.
    Red(Box<red::Red>),
    /// Random early detection as in Linux.
    LinuxRed(Box<linux_red::LinuxRed>),
    /// pFabric's switch: the flow of which least remains goes first.
    Pfabric(Box<pfabric::Pfabric>),
    /// HULL's phantom queue beside a drop-tail queue.
    Phantom(Box<phantom::Phantom>),
    /// NDP's trimming switch.
    Trim(trim::Trim),
    /// The same, with marks.
    TrimEcn(Box<trim_ecn::TrimEcn>),
    /// Multi-level feedback queueing, dropping or trimming.
    Mlfq(mlfq::Mlfq),
    /// A host's own queue: unlimited, control first, then by priority.
    Nic(nic::Nic),
    /// Any of these, in a memory that the ports of a switch share.
    Pooled(Box<pooled::Pooled>),
    /// A queue of any of these for each transport, in fair turns.
    Fair(fair::Fair),
    /// Any of these, with pushed packets before all others.
    Express(Box<express::Express>),
    /// The queue of a host that relays: its own packets as in `Nic`, those of others as in a switch.
    Relay(Box<relay::Relay>),
    /// Priorities that can be paused one by one (IEEE 802.1Qbb).
    Lossless(Box<lossless::Lossless>),
    /// Any of these, counted by class and by flow for controllers.
    Watched(Box<watched::Watched>),
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::engine::arena::{Arena, flag};

    /// A data packet of 1500 bytes that can be trimmed to 64.
    pub(crate) fn data(priority: u8) -> Hot {
        Hot {
            at: 0,
            next: NO_PACKET,
            endpoint: 0,
            destination: 0,
            path: 0,
            size: 1500,
            trimmed_size: 64,
            from: 0,
            tag: Hot::tag(0, priority, false),
            flags: flag::DATA,
        }
    }

    pub(crate) fn control() -> Hot {
        Hot { size: 64, flags: flag::CONTROL, ..data(0) }
    }

    pub(crate) fn insert(arena: &mut Arena<u32>, hot: Hot, label: u32) -> PacketId {
        arena.insert(hot, label)
    }

    /// Labels in the order in which they leave.
    pub(crate) fn drain(queue: &mut impl Discipline, arena: &mut Arena<u32>) -> Vec<u32> {
        let mut labels = Vec::new();
        loop {
            let id = queue.dequeue(arena.hots());
            if id == NO_PACKET {
                return labels;
            }
            labels.push(*arena.header(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{data, insert};
    use super::*;
    use crate::engine::arena::{Arena, flag};
    use std::sync::Arc;

    /// A queue inside each of those that have one.
    fn around(queue: &Queue) -> Vec<(&'static str, Queue)> {
        let inner = || queue.clone();
        let pool = Arc::new(pooled::Pool::new(1_000_000, 1.0, 1));
        vec![
            ("pooled", Queue::Pooled(Box::new(pooled::Pooled::new(inner(), pool, 0)))),
            ("express", Queue::Express(Box::new(express::Express::new(inner())))),
            ("watched", Queue::Watched(Box::new(watched::Watched::new(inner(), watched::Watch::ALL)))),
            ("relay", Queue::Relay(Box::new(relay::Relay::new(inner())))),
            ("fair", Queue::Fair(fair::Fair::new([inner()], 1500))),
        ]
    }

    #[test]
    fn a_queue_inside_another_is_told_the_rate() {
        let phantom = Queue::Phantom(Box::new(phantom::Phantom::new(Limit::Packets(100), 0.95, 1000)));
        for (name, mut queue) in around(&phantom) {
            let mut arena = Arena::new();
            queue.set_rate(Rate::from_gbps(1));
            let marked = (0..16).position(|n| {
                let flags = flag::DATA | flag::ECT | flag::RELAYED;
                let id = insert(&mut arena, Hot { flags, ..data(0) }, n);
                queue.enqueue(arena.hots(), id).marked
            });
            assert_eq!(marked, Some(14), "{name}: the fifteenth finds 14 * 75 B, more than 1000 B");
        }
    }

    #[test]
    fn settings_and_classes_are_those_of_the_queue_inside() {
        let parameters = mlfq::MlfqParameters {
            priorities: 3,
            buffer: Limit::Packets(9),
            trim: false,
            header_buffer: Limit::NONE,
            weight: 10,
            victim: mlfq::Victim::Arriving,
            mark: Some(Limit::Packets(5)),
        };
        for (name, mut queue) in around(&Queue::Mlfq(mlfq::Mlfq::new(parameters))) {
            assert_eq!(queue.marking_threshold(), Some(Limit::Packets(5)), "{name}");
            assert!(queue.set(Setting::MarkingThreshold(Limit::Packets(7))), "{name}");
            assert_eq!(queue.marking_threshold(), Some(Limit::Packets(7)), "{name}");
            // Those of fair queues are its transports; a relaying host has no counters.
            if !matches!(name, "fair" | "relay") {
                assert_eq!((queue.classes(), queue.class_of(&data(2))), (3, 2), "{name}");
            }
        }
    }
}
