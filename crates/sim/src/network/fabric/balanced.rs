//! Switches that [balance load themselves](crate::fabric::routing::Balancer): each looks at its ports when it forwards a packet.
//!
//! So its packets are forwarded in the order in which they arrive, in windows, too. Nothing else is different there: what it sees of
//! its ports depends on what has arrived before, and on nothing that happens elsewhere in the window.

use super::windowed::Bench;
use super::{Fabric, Senders, drop_packet};
use crate::engine::arena::{Hot, PacketId, flag};
use crate::engine::boxes::Arrival;
use crate::engine::pending::Pending;
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::port::Port;
use crate::fabric::routing::{Arrived, Balancer, Hop, Ports, ecmp};
use crate::network::engine::{Engine, Trace};
use crate::network::ledger::Ledger;
use anabranch_transport::Rate;

/// What each switch balances by: of those in other parts of a run, and of all where nobody balances, `None`.
pub(super) type Balancers = Vec<Option<Box<dyn Balancer>>>;

/// The ports at an instant. What is due by then has been sent.
struct Now<'a> {
    ports: &'a mut [Port],
    hots: &'a mut [Hot],
    pending: &'a mut Pending,
    time: u64,
}

impl Ports for Now<'_> {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.ports[port as usize].backlog(port, self.hots, self.pending, self.time)
    }

    fn drain(&mut self, port: PortId, priority: Option<u8>) -> u64 {
        self.ports[port as usize].drain(port, self.hots, self.pending, self.time, priority)
    }

    fn rate(&self, port: PortId) -> Rate {
        self.ports[port as usize].rate()
    }
}

impl Fabric {
    /// The port by which a unicast packet goes on that is at a node now, where the path fraction alone does not say so.
    #[inline(never)]
    pub(super) fn choose(&mut self, engine: &mut Engine, node: NodeId, id: PacketId, now: u64) -> Option<PortId> {
        let Self { graph, ports, routes, schemes, balancers, .. } = self;
        let hot = engine.packets.hot(id);
        let Hot { destination, size, mut path, .. } = *hot;
        let priority = (!hot.in_header_band()).then(|| hot.priority());
        let hop = Hop { routes, node, destination };
        let port = schemes.decide(&hop, &mut path, |hop, bits| {
            // Hosts that relay do not balance.
            let switch = node.checked_sub(graph.hosts).and_then(|switch| balancers.get_mut(switch as usize));
            let Some(balancer) = switch.and_then(Option::as_deref_mut) else { return ecmp(hop, bits) };
            let Engine { packets, pending, .. } = &mut *engine;
            let mut ports = Now { ports, hots: packets.hots(), pending, time: now };
            balancer.egress(hop, Arrived { now, size, priority, bits }, &mut ports)
        });
        engine.packets.hot_mut(id).path = path;
        port
    }

    /// Whether switches balance by what they see.
    pub(super) fn is_balanced(&self) -> bool {
        !self.balancers.is_empty()
    }

    /// Gives all that a node knows of load to the part that has it, or back.
    pub(in crate::network) fn give_balancer(&mut self, node: NodeId, to: &mut Self) {
        let Some(switch) = node.checked_sub(self.graph.hosts).map(|switch| switch as usize) else { return };
        if let (Some(own), Some(theirs)) = (self.balancers.get_mut(switch), to.balancers.get_mut(switch)) {
            std::mem::swap(own, theirs);
        }
    }

    /// What a switch does in a window with what arrives there, one packet after the other. Its ports run to the end of the window later.
    pub(super) fn run_balanced_switch(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        bench: &mut Bench,
    ) {
        let mut trace = Trace::default();
        let mut copies = std::mem::take(&mut self.branches);
        for &Arrival { time, link, packet } in &bench.arrivals {
            trace.add(time, u64::from(link));
            if engine.packets.hot(packet).has(flag::MULTICAST) {
                self.copies(engine, ledger, node, packet, engine.moment(time, link), &mut copies);
            } else if let Some(port) = self.choose(engine, node, packet, time) {
                copies.push((port, packet));
            } else {
                drop_packet(engine, ledger, packet);
            }
            for (port, packet) in copies.drain(..) {
                self.send_at(engine, ledger, senders, time, (port, packet));
            }
        }
        self.branches = copies;
        engine.trace_all(&trace);
    }

    /// Hands a packet to an egress port at a time in the current window.
    fn send_at(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        time: u64,
        (port, id): (PortId, PacketId),
    ) {
        let p = &mut self.ports[port as usize];
        let outcome = p.send(port, engine.packets.hots(), &mut engine.pending, id, time);
        p.list(port, &mut engine.pending);
        if let Some(outcome) = outcome {
            self.on_outcome(engine, ledger, senders, port, outcome);
        }
    }
}
