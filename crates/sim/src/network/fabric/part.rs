//! The fabric of one part of a run. A part knows all ports by their numbers; it has those of its own nodes, and of those that lead
//! to its nodes from other parts it has the wire: what is in flight there arrives at its nodes.

use super::{Fabric, History};
use crate::engine::arena::{Arena, Hot, PacketId, Transfer};
use crate::engine::boxes::Arrival;
use crate::engine::pending::Keeps;
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::port::Port;
use crate::fabric::queue::{Discipline as _, Queue, nic::Nic};
use crate::host::stack::Header;
use crate::network::engine::Engine;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

type Packets = Arena<Header>;

/// A packet that is on its way from one part to another.
#[derive(Clone, Copy)]
pub(in crate::network) struct Message {
    port: PortId,
    /// When its last bit is there.
    pub(in crate::network) arrival: u64,
    hot: Hot,
    header: Header,
}

impl Fabric {
    /// That of a part, which has no ports of its own yet.
    pub(in crate::network) fn part(&self) -> Self {
        let ports = (0..).zip(&self.ports).map(|(number, port): (PortId, &Port)| {
            let delay = self.graph.links[(number / 2) as usize].delay;
            Port::new(port.rate(), delay, port.peer(), Queue::Nic(Nic::new()))
        });
        Self {
            ports: ports.collect(),
            schemes: self.schemes.clone(),
            balancers: self.balancers.iter().map(|_| None).collect(),
            routes: self.routes.clone(),
            whole: OnceCell::new(),
            links_up: self.links_up.clone(),
            multicast: Vec::new(),
            multicast_used: Vec::new(),
            ended: Vec::new(),
            branches: Vec::new(),
            most_branches: self.most_branches,
            multicast_trees: self.multicast_trees,
            multi_homed: self.multi_homed,
            return_to_sender: self.return_to_sender,
            packet_bytes: self.packet_bytes,
            trim_multicast: self.trim_multicast,
            captures: None,
            changes: self.changes,
            history: History::default(),
            known_ways: RefCell::default(),
            lossless: self.lossless.clone(),
            graph: Arc::clone(&self.graph),
        }
    }

    /// Whether packets are captured.
    pub(in crate::network) fn is_captured(&self) -> bool {
        self.captures.is_some()
    }

    /// Whether ports of nodes for which `part_of` says different things share a memory.
    pub(in crate::network) fn shares_memory(&self, part_of: &[u16]) -> bool {
        let mut memories = Vec::new();
        for (port, p) in (0..).zip(&self.ports) {
            if let Some(memory) = p.queue().memory() {
                memories.push((memory as usize, part_of[self.graph.port_owner(port) as usize]));
            }
        }
        memories.sort_unstable();
        memories.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
    }

    /// A part learns what has changed of what all know.
    pub(in crate::network) fn tell(&self, part: &mut Self) {
        if part.changes != self.changes {
            part.changes = self.changes;
            part.schemes = self.schemes.clone();
            part.routes = self.routes.clone();
            part.links_up.clone_from(&self.links_up);
            for (known, port) in part.ports.iter_mut().zip(&self.ports) {
                if known.rate() != port.rate() {
                    known.set_rate(port.rate());
                }
            }
        }
        part.multicast.clone_from(&self.multicast);
        part.multicast_used.clone_from(&self.multicast_used);
    }

    /// Learns which groups the parts have installed, all the same ones, and when they have used each.
    pub(in crate::network) fn learn(&mut self, parts: &mut [&mut Self]) {
        let known = self.multicast.len();
        self.multicast.extend(parts[0].multicast.drain(known..));
        self.multicast_used.resize(self.multicast.len(), 0);
        for part in parts {
            part.multicast.clear();
            for (used, theirs) in self.multicast_used.iter_mut().zip(&part.multicast_used) {
                *used = (*used).max(*theirs);
            }
        }
    }

    /// When a packet of a group was last looked at.
    pub(in crate::network) fn group_used(&self, group: u32) -> u64 {
        self.multicast_used[group as usize]
    }

    /// Gives a port to the part that has its node.
    pub(in crate::network) fn give_port(
        &mut self,
        packets: &mut Packets,
        port: PortId,
        to: &mut Self,
        at: &mut Packets,
    ) {
        let (own, theirs) = (&mut self.ports[port as usize], &mut to.ports[port as usize]);
        own.move_packets(&mut Transfer { from: packets, to: at });
        std::mem::swap(own, theirs);
    }

    /// Gives what is on the wire to the part that has the node at the far end.
    pub(in crate::network) fn give_wire(
        &mut self,
        packets: &mut Packets,
        port: PortId,
        to: &mut Self,
        at: &mut Packets,
    ) {
        let (own, theirs) = (&mut self.ports[port as usize], &mut to.ports[port as usize]);
        own.move_wire(theirs, &mut Transfer { from: packets, to: at });
    }

    /// Sends all that a port has to send before a time, and hands over what is on the wire. When the next transmission is due.
    pub(in crate::network) fn send_to_part(
        &mut self,
        engine: &mut Engine,
        port: PortId,
        before: u64,
        mut take: impl FnMut(Message),
    ) -> u64 {
        let p = &mut self.ports[port as usize];
        p.catch_up(port, engine.packets.hots(), &mut engine.pending, before - 1);
        if let Some((mut wire, mut arrival)) = p.take_wire(port, &mut engine.pending) {
            while !wire.is_empty() {
                let id = wire.pop(engine.packets.hots());
                let next = engine.packets.hot(id).at;
                take(message(engine, port, arrival, id));
                arrival = next;
            }
        }
        p.next_due()
    }

    /// Hands over all that goes [elsewhere](Keeps::Elsewhere), and to which node.
    pub(in crate::network) fn send_elsewhere(&self, engine: &mut Engine, mut take: impl FnMut(NodeId, Message)) {
        let mut elsewhere = std::mem::take(&mut engine.pending.elsewhere);
        for Arrival { time, link, packet } in elsewhere.drain(..) {
            take(self.ports[link as usize].peer(), message(engine, link, time, packet));
        }
        engine.pending.elsewhere = elsewhere;
    }

    /// A packet comes from another part.
    pub(in crate::network) fn receive(&mut self, engine: &mut Engine, message: &Message) {
        let Engine { pending, packets, .. } = engine;
        let id = packets.insert(message.hot, message.header);
        pending.stamps.take(id);
        let port = &mut self.ports[message.port as usize];
        let arrival = Arrival { time: message.arrival, link: message.port, packet: id };
        if port.keeps() == Keeps::InBox && pending.boxes.put(port.peer(), arrival) {
            return;
        }
        port.put_on_wire(message.port, packets.hots(), pending, id, message.arrival);
    }
}

/// Takes a packet out.
fn message(Engine { packets, pending, .. }: &mut Engine, port: PortId, arrival: u64, id: PacketId) -> Message {
    if !pending.stamps.is_empty() {
        packets.header_mut(id).append(&pending.stamps.take(id));
    }
    let message = Message { port, arrival, hot: *packets.hot(id), header: *packets.header(id) };
    packets.remove(id);
    message
}
