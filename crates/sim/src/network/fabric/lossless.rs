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
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::pfc::{FRAME, Pfc, Room, Taken, Threshold, headroom};
use crate::fabric::port::Port;
use crate::fabric::queue::lossless::{Came, Lossless};
use crate::fabric::queue::{Limit, Queue, drop_tail::DropTail};
use crate::fabric::routing::{Hop, ecmp};
use crate::host::stack::Header;
use crate::network::engine::Engine;
use crate::network::ledger::Ledger;
use crate::network::setup::Setup;
use anabranch_transport::udp;

mod due;

/// The switches of a fabric that loses nothing.
#[derive(Clone)]
pub(super) struct Switches {
    pfc: Pfc,
    /// The ports of each node.
    ports: Vec<Vec<PortId>>,
    /// Of each node.
    memory: Vec<Memory>,
}

/// The memory of a switch.
#[derive(Clone, Copy, Default)]
struct Memory {
    /// Bytes that its ports hold of what they share.
    used: u64,
    /// Bytes that are set aside.
    headroom: u64,
    /// Pauses that its ports have asked for, of all priorities.
    pausing: usize,
}

/// Whether a packet has memory already.
enum Kept {
    /// It has no copies.
    Alone,
    /// If one of its copies waits: at this place.
    Copies(Option<u32>),
}

impl Switches {
    pub(super) fn new(pfc: Pfc, graph: &Graph) -> Self {
        let nodes = graph.nodes.len();
        Self { pfc, ports: graph.ports_by_node(), memory: vec![Memory::default(); nodes] }
    }

    fn room(&self, node: NodeId) -> Room {
        let Memory { used, headroom, .. } = self.memory[node as usize];
        self.pfc.threshold.room(used, headroom)
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
        let room = |switches: &Switches| switches.pfc.threshold.room(used, switches.memory[node as usize].headroom);
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

    /// A pause frame has reached a host.
    #[cold]
    pub(in crate::network) fn heed_at_host(&mut self, engine: &mut Engine, link: PortId, id: PacketId) {
        self.heed(engine, link, id, engine.now);
        if engine.pending.boxes.in_use() {
            self.ports[(link ^ 1) as usize].list(link ^ 1, &mut engine.pending);
        }
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
            let mut kept = Kept::Copies(None);
            for (port, packet) in copies.drain(..) {
                let copy = Arrival { time, link, packet };
                self.take_in(engine, ledger, senders, node, copy, (port, &mut kept));
            }
            self.branches = copies;
            return;
        }
        let port = if self.schemes.is_plain() {
            ecmp(&Hop { routes: &self.routes, node, destination: hot.destination }, &mut hot.path)
        } else {
            self.choose(engine, node, packet, time)
        };
        match port {
            Some(port) => {
                let arrival = Arrival { time, link, packet };
                self.take_in(engine, ledger, senders, node, arrival, (port, &mut Kept::Alone));
            }
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
        Arrival { time: now, link, packet: id }: Arrival,
        (port, kept): (PortId, &mut Kept),
    ) {
        let Some(switches) = &mut self.lossless else { return };
        let (hot, back) = (*engine.packets.hot(id), link ^ 1);
        let waits = !self.ports[port as usize].sends_at_once(&hot, now);
        let counted = lossless(&mut self.ports, port).priority_of(&hot).filter(|_| waits);
        let mut came = Came::OWN;
        if let Some(priority) = counted {
            let ingress = &mut lossless(&mut self.ports, back).ingress;
            // What waits does not leave at the same moment.
            let another =
                if let Kept::Copies(place) = *kept { place.filter(|&p| ingress.another_copy(p)) } else { None };
            came = Came { link, copies: another };
            if another.is_none() {
                match ingress.take(priority, hot.size, switches.room(node)) {
                    Taken::Shared => switches.memory[node as usize].used += u64::from(hot.size),
                    Taken::Headroom => {}
                    Taken::Nowhere => {
                        drop_packet(engine, ledger, id);
                        return self.pause_if_due(engine, node, back, priority, now);
                    }
                }
                if let Kept::Copies(place) = kept {
                    came.copies = Some(ingress.first_copy());
                    *place = came.copies;
                }
            }
        }
        lossless(&mut self.ports, port).arrives_by(came);
        let p = &mut self.ports[port as usize];
        let outcome = p.send(port, engine.packets.hots(), &mut engine.pending, id, now);
        if let Some(outcome) = outcome {
            if outcome.rejected != NO_PACKET
                && let Some(priority) = counted
            {
                let ingress = &mut lossless(&mut self.ports, back).ingress;
                switches.memory[node as usize].used -= ingress.give(priority, hot.size, came.copies);
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
        let Some(switches) = &mut self.lossless else { return };
        if lossless(&mut self.ports, port).ingress.begins_pause(priority) {
            switches.memory[node as usize].pausing += 1;
            self.send_frame(engine, node, port, priority, true, now);
        }
    }

    /// Lets packets come again by a port if they were paused and need not be.
    fn resume_if_due(&mut self, engine: &mut Engine, node: NodeId, port: PortId, priority: u8, now: u64) {
        let Some(switches) = &mut self.lossless else { return };
        if lossless(&mut self.ports, port).ingress.ends_pause(priority, switches.room(node)) {
            switches.memory[node as usize].pausing -= 1;
            self.send_frame(engine, node, port, priority, false, now);
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
            let (back, priority) = (released.came.link ^ 1, released.priority);
            let freed = lossless(&mut self.ports, back).ingress.give(priority, released.size, released.came.copies);
            switches.memory[node as usize].used -= freed;
            let for_all = freed > 0 && matches!(switches.pfc.threshold, Threshold::Dynamic { .. });
            self.resume_if_due(engine, node, back, priority, now);
            if for_all {
                self.resume_all_due(engine, node, now);
            }
        }
    }

    /// A switch has more memory free, which its thresholds follow: that may end the pauses of all its ports.
    fn resume_all_due(&mut self, engine: &mut Engine, node: NodeId, now: u64) {
        let ports = self.switch_ports(node).len();
        let none_pauses = |switches: &Switches| switches.memory[node as usize].pausing == 0;
        if self.lossless.as_deref().is_none_or(none_pauses) {
            return;
        }
        for n in 0..ports {
            let port = self.switch_ports(node)[n];
            let pausing: Vec<u8> = lossless(&mut self.ports, port).ingress.pausing().collect();
            for priority in pausing {
                self.resume_if_due(engine, node, port, priority, now);
            }
        }
    }
}
