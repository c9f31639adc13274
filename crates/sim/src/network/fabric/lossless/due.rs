//! When the switches of a fabric that loses nothing send: as soon as a port may, since that frees memory and may end a pause. Event by event
//! each switch has an event of its own for that; in windows each handles its window in the order of time.

use super::{Fabric, Memory, Senders};
use crate::engine::wheel::Entity;
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::queue::Discipline as _;
use crate::network::engine::{Engine, Trace};
use crate::network::fabric::windowed::Bench;
use crate::network::ledger::Ledger;

impl Fabric {
    /// A switch sends all that is due by a time, in the order of time. Whether that is anything.
    pub(super) fn send_due(&mut self, engine: &mut Engine, node: NodeId, until: u64) -> bool {
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
    pub(super) fn await_sending(&mut self, engine: &mut Engine, node: NodeId) {
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
    pub(in crate::network::fabric) fn bring_up(&mut self, engine: &mut Engine, port: PortId) {
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
    pub(in crate::network::fabric) fn bring_all_up(&mut self, engine: &mut Engine) {
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
            let memory = ingresses.fold(Memory::default(), |memory, port| Memory {
                used: memory.used + port.ingress.shared(),
                headroom: memory.headroom + port.ingress.headroom() * u64::from(port.priorities()),
                pausing: memory.pausing + port.ingress.pausing().count(),
            });
            if let Some(switches) = &mut self.lossless {
                switches.memory[node as usize] = memory;
            }
            self.await_sending(engine, node);
        }
    }

    /// To the switches at which something arrives in a window, those that send something in it. Ports of hosts are brought to its end.
    pub(in crate::network::fabric) fn add_sending(
        &mut self,
        engine: &mut Engine,
        bench: &mut Bench,
        nodes: &mut Vec<NodeId>,
        until: u64,
    ) {
        engine.pending.boxes.take_ports(&mut bench.ports);
        for port in bench.ports.drain(..) {
            let (node, p) = (self.graph.port_owner(port), &mut self.ports[port as usize]);
            if self.graph.is_host(node) {
                p.come_up(port, engine.packets.hots(), &mut engine.pending, until.saturating_sub(1));
            } else {
                p.unlist(&engine.pending);
                nodes.push(node);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
    }

    /// What a switch that loses nothing does in a window, in the order of time, with what arrives there.
    pub(in crate::network::fabric) fn run_lossless_switch(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        bench: &mut Bench,
        until: u64,
    ) {
        let mut trace = Trace::default();
        for &arrival in &bench.arrivals {
            trace.add(arrival.time, u64::from(arrival.link));
            self.at_switch(engine, ledger, senders, node, arrival);
        }
        engine.trace_all(&trace);
        self.send_due(engine, node, until.saturating_sub(1));
        self.await_sending(engine, node);
    }
}
