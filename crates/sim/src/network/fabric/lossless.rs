//! Switches that lose nothing: priority flow control ([`pfc`](crate::fabric::pfc)).
//!
//! Elsewhere the ports of a switch do not know of each other. Here they do: a packet takes memory of the port by which it came until it
//! leaves by another, and a pause frame overtakes what waits at a third. So each of these switches handles what happens at it in
//! one order: of time; at the same time what its ports send, by number, and then what arrives.
//!
//! Between nodes nothing changes. A pause frame is a packet that arrives at the far end of a link at the earliest a link's delay after it
//! was due, like any other. So a window that is no longer than the least delay holds all that concerns a switch: what arrives is
//! known when the window begins, pause frames included, and what it makes its neighbours do, it makes them do in a later window. The
//! same holds between parts of a run.
//!
//! Event by event, a switch needs events of its own: when its ports send is of no consequence elsewhere before a packet arrives, but
//! here it may end a pause. They are no events of the run: in windows there are none.

use super::{Fabric, Senders, drop_packet};
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::engine::boxes::Arrival;
use crate::engine::wheel::Entity;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::pfc::{FRAME, Pfc, Room, Taken, headroom};
use crate::fabric::port::Port;
use crate::fabric::queue::lossless::{Lossless, OWN};
use crate::fabric::queue::{Discipline as _, Limit, Queue, drop_tail::DropTail};
use crate::fabric::routing::Hop;
use crate::host::stack::Header;
use crate::network::engine::{Engine, Moment, Trace};
use crate::network::ledger::Ledger;
use crate::network::setup::Setup;
use anabranch_transport::udp;

use super::windowed::Bench;

/// The switches of a fabric that loses nothing.
#[derive(Clone)]
pub(super) struct Switches {
    pfc: Pfc,
    /// The ports of each node.
    ports: Vec<Vec<PortId>>,
    /// Of each node: bytes that its ports hold of what they share, and what is set aside as headroom.
    used: Vec<u64>,
    headroom: Vec<u64>,
    /// Lists that are used again.
    nodes: Vec<NodeId>,
}

impl Switches {
    pub(super) fn new(pfc: Pfc, graph: &Graph) -> Self {
        let nodes = graph.nodes.len();
        Self { pfc, ports: graph.ports_by_node(), used: vec![0; nodes], headroom: vec![0; nodes], nodes: Vec::new() }
    }

    fn room(&self, node: NodeId) -> Room {
        self.pfc.threshold.room(self.used[node as usize], self.headroom[node as usize])
    }
}

/// The queue of a port that can be paused: with the discipline of the scenario for each priority, or a host's, which loses nothing.
pub(super) fn queue(pfc: &Pfc, setup: &Setup, port: PortId, packet: u64) -> Queue {
    let link = setup.graph.links[(port / 2) as usize];
    let of_host = setup.graph.is_host(setup.graph.port_owner(port));
    let own = |_| if of_host { Queue::DropTail(DropTail::new(Limit::NONE)) } else { (setup.queue)(port) };
    let bytes = pfc.headroom.unwrap_or_else(|| headroom(link.rate, link.delay, packet, pfc.priorities));
    Queue::Lossless(Box::new(Lossless::new((0..pfc.priorities).map(own), if of_host { 0 } else { bytes })))
}

fn lossless(ports: &mut [Port], port: PortId) -> &mut Lossless {
    let lossless = ports[port as usize].lossless_mut();
    #[expect(clippy::expect_used, reason = "a fabric loses nothing at all of its ports or at none")]
    lossless.expect("every port can be paused")
}

impl Fabric {
    /// Whether its switches pause who sends to them.
    #[inline]
    pub(in crate::network) fn is_lossless(&self) -> bool {
        self.lossless.is_some()
    }

    /// Pause frames on their way: no host has sent them.
    pub(in crate::network) fn pause_frames_alive(&self) -> u64 {
        let pauses = self.ports.iter().filter_map(Port::lossless).map(Lossless::pauses);
        pauses.fold(0_u64, |alive, pauses| alive.wrapping_add(pauses.frames).wrapping_sub(pauses.came))
    }

    pub(super) fn switch_ports(&self, node: NodeId) -> &[PortId] {
        self.lossless.as_ref().map_or(&[], |switches| &switches.ports[node as usize])
    }

    /// What a switch may hold of the packets of a link when it lets more come, if all its ports hold `used` bytes of what they share.
    pub(super) fn resume_threshold(&self, node: NodeId, used: u64) -> u64 {
        let room = |switches: &Switches| switches.pfc.threshold.room(used, switches.headroom[node as usize]);
        self.lossless.as_deref().map_or(0, |switches| room(switches).resume)
    }

    fn switches(&self) -> std::ops::Range<NodeId> {
        if self.is_lossless() { self.graph.hosts..self.graph.nodes.len() as NodeId } else { 0..0 }
    }

    /// The event of a link: what [`arrive`](Self::arrive) does where switches lose nothing.
    #[inline(never)]
    pub(super) fn arrive_lossless(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        port: PortId,
    ) -> Option<PacketId> {
        let from_host = self.graph.is_host(self.graph.port_owner(port));
        let p = &mut self.ports[port as usize];
        let node = p.peer();
        // What a switch sends, it sends in its own order.
        let id = if from_host && !engine.pending.boxes.in_use() {
            p.arrive(port, engine.packets.hots(), &mut engine.pending, engine.now)
        } else {
            p.take_arrival(port, engine.packets.hots(), &mut engine.pending)
        };
        if node < self.graph.hosts {
            return Some(id);
        }
        let arrival = Arrival { time: engine.now, link: port, packet: id };
        self.at_switch(engine, ledger, senders, node, arrival);
        self.await_sending(engine, node);
        None
    }

    /// Whether a packet that has reached a host is a pause frame: then it has been heeded.
    #[inline]
    pub(in crate::network) fn heeds_pause(&mut self, engine: &mut Engine, link: PortId, id: PacketId) -> bool {
        if self.lossless.is_none() || !engine.packets.hot(id).has(flag::PAUSE) {
            return false;
        }
        self.heed(engine, link, id, engine.now);
        if engine.pending.boxes.in_use() {
            self.ports[(link ^ 1) as usize].list(link ^ 1, &mut engine.pending);
        }
        true
    }

    /// A pause frame has come by a link: the other direction of it is paused, or goes on.
    fn heed(&mut self, engine: &mut Engine, link: PortId, id: PacketId, now: u64) {
        let hot = *engine.packets.hot(id);
        engine.packets.remove(id);
        let port = link ^ 1;
        let p = &mut self.ports[port as usize];
        p.pause(port, engine.packets.hots(), &mut engine.pending, now, hot.priority(), hot.path != 0);
    }

    /// A packet arrives at a switch, which has done all that was due before.
    fn at_switch(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        Arrival { time, link, packet }: Arrival,
    ) {
        self.send_due(engine, node, time);
        let hot = engine.packets.hot_mut(packet);
        if hot.has(flag::PAUSE) {
            self.heed(engine, link, packet, time);
            return self.release(engine, node, link ^ 1, time);
        }
        if hot.has(flag::MULTICAST) {
            let mut copies = std::mem::take(&mut self.branches);
            self.copies(engine, ledger, node, packet, engine.moment(time, link), &mut copies);
            for (port, copy) in copies.drain(..) {
                self.take_in(engine, ledger, senders, node, link, (port, copy, time));
            }
            self.branches = copies;
            return;
        }
        let hop = Hop { routes: &self.routes, node, destination: hot.destination };
        match self.schemes.egress(&hop, &mut hot.path) {
            Some(port) => self.take_in(engine, ledger, senders, node, link, (port, packet, time)),
            None => drop_packet(engine, ledger, packet),
        }
    }

    /// A packet that has come by a link is to leave by a port: it finds memory, or is lost. Packets that need not wait take none.
    fn take_in(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        link: PortId,
        (port, id, now): (PortId, PacketId, u64),
    ) {
        let Some(switches) = &mut self.lossless else { return };
        let (hot, back) = (*engine.packets.hot(id), link ^ 1);
        let waits = !self.ports[port as usize].sends_at_once(&hot, now);
        let counted = lossless(&mut self.ports, port).priority_of(&hot).filter(|_| waits);
        if let Some(priority) = counted {
            let room = switches.room(node);
            match lossless(&mut self.ports, back).ingress.take(priority, hot.size, room) {
                Taken::Shared => switches.used[node as usize] += u64::from(hot.size),
                Taken::Headroom => {}
                Taken::Nowhere => {
                    drop_packet(engine, ledger, id);
                    return self.pause_if_due(engine, node, back, priority, now);
                }
            }
        }
        lossless(&mut self.ports, port).arrives_by(if counted.is_some() { link } else { OWN });
        let p = &mut self.ports[port as usize];
        let outcome = p.send(port, engine.packets.hots(), &mut engine.pending, id, now);
        if let Some(outcome) = outcome {
            if outcome.rejected != NO_PACKET
                && let Some(priority) = counted
            {
                switches.used[node as usize] -= lossless(&mut self.ports, back).ingress.give(priority, hot.size);
            }
            self.on_outcome(engine, ledger, senders, port, outcome);
        }
        self.release(engine, node, port, now);
        if let Some(priority) = counted {
            self.pause_if_due(engine, node, back, priority, now);
        }
    }

    /// Pauses the far end of a port if what came by it has begun to take headroom, or has found none.
    fn pause_if_due(&mut self, engine: &mut Engine, node: NodeId, port: PortId, priority: u8, now: u64) {
        if lossless(&mut self.ports, port).ingress.begins_pause(priority) {
            self.send_frame(engine, node, port, priority, true, now);
        }
    }

    /// Sends a pause frame by a port: it goes before all that waits, after what is being sent.
    fn send_frame(&mut self, engine: &mut Engine, node: NodeId, port: PortId, priority: u8, paused: bool, now: u64) {
        let frame = Hot {
            at: now,
            next: NO_PACKET,
            endpoint: 0,
            destination: 0,
            path: u32::from(paused),
            size: FRAME,
            trimmed_size: FRAME,
            from: 0,
            tag: Hot::tag(0, priority, false),
            flags: flag::PAUSE,
        };
        // No endpoint reads it.
        let id = engine.packets.insert(frame, Header::Udp(udp::Header { seq: 0, object: 0 }));
        lossless(&mut self.ports, port).count_frame();
        self.ports[port as usize].send(port, engine.packets.hots(), &mut engine.pending, id, now);
        self.release(engine, node, port, now);
    }

    /// What a port has begun to send frees the memory that it took; that may end pauses.
    fn release(&mut self, engine: &mut Engine, node: NodeId, port: PortId, now: u64) {
        while let Some(released) = lossless(&mut self.ports, port).take_released() {
            let Some(switches) = &mut self.lossless else { return };
            let (back, priority) = (released.link ^ 1, released.priority);
            let ingress = &mut lossless(&mut self.ports, back).ingress;
            switches.used[node as usize] -= ingress.give(priority, released.size);
            if ingress.ends_pause(priority, switches.room(node)) {
                self.send_frame(engine, node, back, priority, false, now);
            }
        }
    }

    /// A switch sends all that is due by a time, in the order of time. Whether that is anything.
    fn send_due(&mut self, engine: &mut Engine, node: NodeId, until: u64) -> bool {
        let mut sends = false;
        while let Some((time, port)) = self.next_due(node).filter(|due| due.0 <= until) {
            self.ports[port as usize].catch_up(port, engine.packets.hots(), &mut engine.pending, time);
            self.release(engine, node, port, time);
            sends = true;
        }
        sends
    }

    /// When a switch sends something next, and by which port.
    fn next_due(&self, node: NodeId) -> Option<(u64, PortId)> {
        self.switch_ports(node).iter().map(|&port| (self.ports[port as usize].next_due(), port)).min()
    }

    /// Sees to it that a switch is asked again when it is to send something next: by the window in which that is, or by an event.
    fn await_sending(&mut self, engine: &mut Engine, node: NodeId) {
        if engine.pending.boxes.in_use() {
            for n in 0..self.switch_ports(node).len() {
                let port = self.switch_ports(node)[n];
                self.ports[port as usize].list(port, &mut engine.pending);
            }
            return;
        }
        let due = self.next_due(node).map(|due| due.0).filter(|&due| due != u64::MAX);
        let (entity, wheel) = (engine.entities.switches + (node - self.graph.hosts), &mut engine.pending.wheel);
        if wheel.due(entity) != due {
            wheel.cancel(entity);
            if let Some(due) = due {
                wheel.schedule(entity, due);
            }
        }
    }

    /// The event of a switch: it sends what is due now.
    pub(in crate::network) fn switch_sends(&mut self, engine: &mut Engine, entity: Entity) {
        let node = self.graph.hosts + (entity - engine.entities.switches);
        self.send_due(engine, node, engine.now);
        self.await_sending(engine, node);
    }

    /// A port of a switch, with all that the switch has done by now.
    pub(super) fn bring_up(&mut self, engine: &mut Engine, port: PortId) {
        let node = self.graph.port_owner(port);
        if !self.graph.is_host(node) {
            if self.send_due(engine, node, engine.now) {
                self.await_sending(engine, node);
            }
            return;
        }
        let p = &mut self.ports[port as usize];
        p.catch_up(port, engine.packets.hots(), &mut engine.pending, engine.now);
    }

    /// Brings all ports up to now, and what is counted of pauses.
    pub(super) fn bring_all_up(&mut self, engine: &mut Engine) {
        for node in self.switches() {
            if self.send_due(engine, node, engine.now) {
                self.await_sending(engine, node);
            }
        }
        for port in 0..self.ports.len() as PortId {
            if self.graph.is_host(self.graph.port_owner(port)) {
                self.bring_up(engine, port);
            }
            if let Some(lossless) = self.ports[port as usize].lossless_mut() {
                lossless.settle(engine.now);
            }
        }
    }

    /// Switches have done all that is due by now, and have no events: these are in windows or in parts of the run from here on.
    pub(in crate::network) fn rest_switches(&mut self, engine: &mut Engine) {
        for node in self.switches() {
            self.send_due(engine, node, engine.now);
            engine.pending.wheel.cancel(engine.entities.switches + (node - self.graph.hosts));
        }
    }

    /// Switches have events again, and know what memory is in use: ports may have come from elsewhere.
    pub(in crate::network) fn wake_switches(&mut self, engine: &mut Engine) {
        for node in self.switches() {
            let ingresses = self.switch_ports(node).iter().filter_map(|&port| self.ports[port as usize].lossless());
            let (used, headroom) = ingresses.fold((0, 0), |(used, headroom), port| {
                let all = port.ingress.headroom() * u64::from(port.priorities());
                (used + port.ingress.shared(), headroom + all)
            });
            if let Some(switches) = &mut self.lossless {
                (switches.used[node as usize], switches.headroom[node as usize]) = (used, headroom);
            }
            self.await_sending(engine, node);
        }
    }

    /// What [`run_window`](Self::run_window) does where switches lose nothing: each switch handles its window in the order of time.
    pub(super) fn run_lossless_window(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        bench: &mut Bench,
        until: Moment,
    ) {
        let part = until.time < engine.pending.boxes.end();
        let mut nodes = self.lossless.as_mut().map_or_else(Vec::new, |switches| std::mem::take(&mut switches.nodes));
        engine.pending.boxes.take_nodes(&mut nodes);
        engine.pending.boxes.take_ports(&mut bench.ports);
        for port in bench.ports.drain(..) {
            let (node, p) = (self.graph.port_owner(port), &mut self.ports[port as usize]);
            if self.graph.is_host(node) {
                p.come_up(port, engine.packets.hots(), &mut engine.pending, until.time.saturating_sub(1));
            } else {
                p.unlist(&engine.pending);
                nodes.push(node);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        for &node in &nodes {
            bench.arrivals.clear();
            engine.pending.boxes.take(node, &mut bench.arrivals, |_| ());
            if part {
                bench.arrivals.retain(|&arrival| {
                    let now = engine.moment(arrival.time, arrival.link) < until;
                    now || !engine.pending.boxes.put(node, arrival)
                });
            }
            bench.arrivals.sort_by_cached_key(|arrival| engine.moment(arrival.time, arrival.link));
            let mut trace = Trace::default();
            for n in 0..bench.arrivals.len() {
                let arrival = bench.arrivals[n];
                trace.add(arrival.time, u64::from(arrival.link));
                self.at_switch(engine, ledger, senders, node, arrival);
            }
            engine.trace_all(&trace);
            self.send_due(engine, node, until.time.saturating_sub(1));
            self.await_sending(engine, node);
        }
        nodes.clear();
        if let Some(switches) = &mut self.lossless {
            switches.nodes = nodes;
        }
        self.remove_ended();
    }
}
