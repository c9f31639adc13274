//! A queue of any discipline whose packets are counted by class and by flow, as a switch counts them for a controller that
//! polls it. Only ports that a controller watches have one: nothing is counted for nobody.

use super::{Discipline, Enqueued, Passing, Queue};
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use anabranch_transport::Time;
use std::collections::BTreeMap;

/// Counters of a port besides [`PortCounters`](crate::fabric::port::PortCounters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Packets by class.
    pub classes: bool,
    /// Data packets by flow.
    pub flows: bool,
}

impl Watch {
    /// Nothing.
    pub const NOTHING: Self = Self { classes: false, flows: false };
    /// Classes and flows.
    pub const ALL: Self = Self { classes: true, flows: true };

    /// What either counts.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { classes: self.classes || other.classes, flows: self.flows || other.flows }
    }
}

/// Counters of the packets of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets that found no room, or were on a link that was cut.
    pub dropped: u64,
    /// Packets cut to a header.
    pub trimmed: u64,
    /// Packets marked.
    pub marked: u64,
}

/// What a flow has sent by a port: data packets, headers that were left of some included. A flow is known from when its first
/// packet waits, so that none is missed whose packets wait while a controller looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, headers and retransmissions included.
    pub bytes: u64,
    /// When the first of them came to the port.
    pub first: Time,
    /// When the last of them came to the port.
    pub last: Time,
}

/// A queue and its counters.
#[derive(Clone, Debug)]
pub struct Watched {
    queue: Queue,
    /// None if classes are not counted.
    classes: Vec<ClassCounters>,
    /// By the endpoint that packets are for; in multicast, that they are from. `None` if flows are not counted.
    flows: Option<BTreeMap<u32, FlowCounters>>,
}

impl Watched {
    /// Counts what `watch` says.
    pub fn new(queue: Queue, watch: Watch) -> Self {
        let classes = if watch.classes { usize::from(queue.classes()) } else { 0 };
        Self { classes: vec![ClassCounters::default(); classes], flows: watch.flows.then(BTreeMap::new), queue }
    }

    /// Counters of each class; none if they are not counted.
    pub fn class_counters(&self) -> &[ClassCounters] {
        &self.classes
    }

    /// Counters of each flow that has sent anything and was not forgotten; `None` if flows are not counted.
    pub fn flow_counters(&self) -> Option<&BTreeMap<u32, FlowCounters>> {
        self.flows.as_ref()
    }

    /// Keeps the counters of these flows only.
    pub fn retain_flows(&mut self, keep: impl Fn(u32, &FlowCounters) -> bool) {
        if let Some(flows) = &mut self.flows {
            flows.retain(|&endpoint, counters| keep(endpoint, counters));
        }
    }

    fn class(&mut self, hot: &Hot) -> Option<&mut ClassCounters> {
        let class = if self.classes.is_empty() { 0 } else { self.queue.class_of(hot) };
        self.classes.get_mut(usize::from(class))
    }

    fn sent(&mut self, hot: &Hot) {
        if let Some(class) = self.class(hot) {
            class.packets += 1;
            class.bytes += u64::from(hot.size);
        }
        if let Some(flow) = self.flow(hot) {
            flow.packets += 1;
            flow.bytes += u64::from(hot.size);
        }
    }

    /// The flow of a packet of which any part has come to the port; `None` if it bears no data, or flows are not counted.
    fn flow(&mut self, hot: &Hot) -> Option<&mut FlowCounters> {
        let flows = self.flows.as_mut().filter(|_| hot.has(flag::DATA))?;
        let at = Time(hot.at);
        let flow = flows.entry(hot.endpoint).or_insert(FlowCounters { packets: 0, bytes: 0, first: at, last: at });
        flow.last = flow.last.max(at);
        Some(flow)
    }

    fn count(&mut self, hots: &[Hot], id: PacketId, what: impl FnOnce(&mut ClassCounters)) {
        if id != NO_PACKET
            && let Some(class) = self.class(&hots[id as usize])
        {
            what(class);
        }
    }
}

impl Discipline for Watched {
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let outcome = self.queue.enqueue(hots, id);
        if outcome.rejected != id {
            self.flow(&hots[id as usize]);
        }
        if !outcome.is_queued() {
            self.count(hots, outcome.rejected, |class| class.dropped += 1);
            self.count(hots, outcome.trimmed, |class| class.trimmed += 1);
            let marked = if outcome.marked { id } else { NO_PACKET };
            self.count(hots, marked, |class| class.marked += 1);
        }
        outcome
    }

    fn dequeue(&mut self, hots: &[Hot]) -> PacketId {
        let id = self.queue.dequeue(hots);
        if id != NO_PACKET {
            self.sent(&hots[id as usize]);
        }
        id
    }

    delegate!(queue: move_packets, head, packets, bytes, settings, classes);

    fn pass(&mut self, hot: &mut Hot, idle: u64) -> Passing {
        let passing = self.queue.pass(hot, idle);
        if passing != Passing::Rejected {
            self.sent(hot);
        }
        if let Some(class) = self.class(hot) {
            class.marked += u64::from(passing == Passing::Marked);
            class.dropped += u64::from(passing == Passing::Rejected);
        }
        passing
    }

    /// Of each packet that passes, to count it.
    fn inspects_passing(&self) -> bool {
        true
    }

    fn lost(&mut self, hot: &Hot, dequeued: bool) {
        if let Some(class) = self.class(hot) {
            class.dropped += 1;
            class.packets -= u64::from(dequeued);
            class.bytes -= u64::from(hot.size) * u64::from(dequeued);
        }
        if dequeued
            && hot.has(flag::DATA)
            && let Some(flow) = self.flows.as_mut().and_then(|flows| flows.get_mut(&hot.endpoint))
        {
            flow.packets -= 1;
            flow.bytes -= u64::from(hot.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, insert};
    use super::super::{Limit, drop_tail::DropTail, ecn::Ecn, fair::Fair};
    use super::*;
    use crate::engine::arena::Arena;

    fn of(class: u8, endpoint: u32, at: u64) -> Hot {
        Hot { tag: Hot::tag(class, 0, false), endpoint, at, flags: flag::DATA | flag::ECT, ..data(0) }
    }

    /// Class 0 marks from one packet on and holds ten; class 1 holds one.
    fn two_classes() -> Queue {
        let marking = Queue::Ecn(Ecn::new(Limit::Packets(10), Limit::Packets(1)));
        Queue::Fair(Fair::new([marking, Queue::DropTail(DropTail::new(Limit::Packets(1)))], 1500))
    }

    #[test]
    fn what_becomes_of_packets_is_counted_by_class_and_by_flow() {
        let mut arena = Arena::new();
        let mut queue = Watched::new(two_classes(), Watch::ALL);
        for hot in [of(0, 7, 10), of(0, 7, 20), of(0, 8, 30), of(1, 9, 40), of(1, 9, 50)] {
            let id = insert(&mut arena, hot, 0);
            queue.enqueue(arena.hots(), id);
        }
        queue.pass(&mut of(1, 5, 60), 0);
        queue.pass(&mut Hot { endpoint: 6, ..control() }, 0);
        assert_eq!(
            queue.class_counters()[0],
            ClassCounters { packets: 1, bytes: 64, marked: 2, ..ClassCounters::default() }
        );
        while queue.packets() > 0 {
            queue.dequeue(arena.hots());
        }
        let sent = |packets, bytes| ClassCounters { packets, bytes, ..ClassCounters::default() };
        assert_eq!(queue.class_counters()[0], ClassCounters { marked: 2, ..sent(4, 4564) });
        assert_eq!(queue.class_counters()[1], ClassCounters { dropped: 1, ..sent(2, 3000) });
        let flows = queue.flow_counters().expect("flows are counted");
        let of_seven = FlowCounters { packets: 2, bytes: 3000, first: Time(10), last: Time(20) };
        assert_eq!(flows[&7], of_seven);
        assert_eq!(flows.keys().copied().collect::<Vec<_>>(), [5, 7, 8, 9], "acknowledgements are no data");
        queue.retain_flows(|endpoint, _| endpoint == 7);
        assert_eq!(queue.flow_counters().map(BTreeMap::len), Some(1));
    }

    #[test]
    fn a_flow_is_known_while_its_only_packet_waits() {
        let mut arena = Arena::new();
        let mut queue = Watched::new(two_classes(), Watch::ALL);
        for hot in [of(1, 7, 10), of(1, 8, 20)] {
            let id = insert(&mut arena, hot, 0);
            queue.enqueue(arena.hots(), id);
        }
        // The packet of 8 found no room.
        let seen = FlowCounters { packets: 0, bytes: 0, first: Time(10), last: Time(10) };
        let flows = queue.flow_counters().expect("flows are counted");
        assert_eq!(flows.iter().map(|(&flow, &counters)| (flow, counters)).collect::<Vec<_>>(), [(7, seen)]);
    }

    #[test]
    fn what_a_cut_link_loses_was_not_sent() {
        let mut arena = Arena::new();
        let mut queue = Watched::new(two_classes(), Watch::ALL);
        let id = insert(&mut arena, of(0, 7, 10), 0);
        queue.enqueue(arena.hots(), id);
        let id = queue.dequeue(arena.hots());
        queue.lost(arena.hot(id), true);
        queue.lost(&of(1, 8, 10), false);
        let lost = ClassCounters { dropped: 1, ..ClassCounters::default() };
        assert_eq!(queue.class_counters(), [lost, lost]);
        assert_eq!(queue.flow_counters().expect("flows are counted")[&7].bytes, 0);
    }

    #[test]
    fn what_is_not_asked_for_is_not_counted() {
        let mut queue = Watched::new(two_classes(), Watch::NOTHING);
        queue.pass(&mut of(1, 5, 60), 0);
        assert_eq!((queue.class_counters().len(), queue.flow_counters()), (0, None));
        let one_class = Watched::new(Queue::DropTail(DropTail::new(Limit::Packets(1))), Watch::ALL);
        assert_eq!(one_class.class_counters().len(), 1);
    }
}
