//! What switches do in a window: all that arrives is in their boxes when it begins, so that each switch routes its packets in one
//! pass, and each of its ports takes its own few in the order of time and runs to the end of the window.
//!
//! What happens at a port is a function of the packets that come there and of their times. So ports may be run one after the
//! other, and nobody can tell.

use super::{Fabric, Senders, drop_packet};
use crate::engine::arena::{PacketId, flag};
use crate::engine::boxes::{Arrival, Boxes};
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::routing::Hop;
use crate::network::engine::{Engine, Moment};
use crate::network::ledger::Ledger;
use std::cmp::Ordering;

/// So many packets are sorted by insertion.
const FEW: usize = 16;
const NONE: u32 = u32::MAX;

/// Lists that are used again for each switch.
#[derive(Default)]
pub(in crate::network) struct Bench {
    nodes: Vec<NodeId>,
    ports: Vec<PortId>,
    /// What arrives at the switch, and the copies that it makes.
    arrivals: Vec<Arrival>,
    /// Of each of these, the next that leaves by the same port.
    next: Vec<u32>,
    /// Of each port of the fabric, the first that leaves there.
    first: Vec<u32>,
    /// The ports by which something leaves.
    hit: Vec<PortId>,
    /// Of what leaves by a port, the time since the window began and the place in `arrivals`, 32 bits each.
    keys: Vec<u64>,
}

impl Bench {
    /// Packet `n` of the arrivals leaves by a port.
    #[inline]
    fn leaves(&mut self, n: usize, port: PortId) {
        let first = std::mem::replace(&mut self.first[port as usize], n as u32);
        self.next[n] = first;
        if first == NONE {
            self.hit.push(port);
        }
    }

    /// In the order in which they come there, what leaves by a port in the window that began at `from`.
    #[inline]
    fn sort(&mut self, port: PortId, from: u64, engine: &Engine) {
        self.keys.clear();
        let mut n = std::mem::replace(&mut self.first[port as usize], NONE);
        while n != NONE {
            self.keys.push((self.arrivals[n as usize].time - from) << 32 | u64::from(n));
            n = self.next[n as usize];
        }
        let Self { keys, arrivals, .. } = self;
        let order = |a: &u64, b: &u64| (a >> 32).cmp(&(b >> 32)).then_with(|| tied(*a, *b, arrivals, engine));
        if keys.len() > FEW {
            return keys.sort_unstable_by(order);
        }
        for i in 1..keys.len() {
            let key = keys[i];
            let mut j = i;
            while j > 0 && order(&key, &keys[j - 1]).is_lt() {
                keys[j] = keys[j - 1];
                j -= 1;
            }
            keys[j] = key;
        }
    }
}

/// Which of two packets that come at the same time comes first.
#[cold]
fn tied(a: u64, b: u64, arrivals: &[Arrival], engine: &Engine) -> Ordering {
    let moment = |key: u64| {
        let Arrival { time, link, .. } = arrivals[key as u32 as usize];
        engine.moment(time, link)
    };
    moment(a).cmp(&moment(b))
}

impl Fabric {
    /// From now on what is sent to switches goes into these boxes, which are empty.
    pub(in crate::network) fn use_boxes(&mut self, engine: &mut Engine, boxes: Boxes) {
        engine.pending.boxes = boxes;
        for number in 0..self.ports.len() as u32 {
            let port = &mut self.ports[number as usize];
            port.catch_up(number, engine.packets.hots(), &mut engine.pending, engine.now);
            port.set_boxed(port.peer() >= self.graph.hosts);
            port.list(number, &mut engine.pending);
        }
    }

    /// From now on everything that is sent is on its wire, and so is what was in boxes. Returns these.
    pub(in crate::network) fn empty_boxes(&mut self, engine: &mut Engine) -> Boxes {
        let arrivals = engine.pending.boxes.drain();
        let boxes = std::mem::take(&mut engine.pending.boxes);
        self.onto_wires(engine, arrivals);
        for port in &mut self.ports {
            port.set_boxed(false);
        }
        boxes
    }

    /// An event of the wheel in a window, that of a link: what has arrived at a host.
    #[inline]
    pub(in crate::network) fn arrive_in_window(&mut self, engine: &mut Engine, port: PortId) -> PacketId {
        self.ports[port as usize].take_arrival(port, engine.packets.hots(), &mut engine.pending)
    }

    /// An event of the wheel in a window, if it is that of a link to a switch: what arrives goes into the box of this window.
    #[inline]
    pub(in crate::network) fn puts_in_box(&mut self, engine: &mut Engine, port: PortId, now: u64) -> bool {
        let node = self.ports[port as usize].peer();
        if node < self.graph.hosts {
            return false;
        }
        let packet = self.arrive_in_window(engine, port);
        let near = engine.pending.boxes.put(node, Arrival { time: now, link: port, packet });
        debug_assert!(near, "now is in the current window");
        true
    }

    /// Puts packets in boxes on their wires.
    pub(in crate::network) fn onto_wires(&mut self, engine: &mut Engine, mut arrivals: Vec<Arrival>) {
        arrivals.sort_unstable_by_key(|arrival| arrival.link);
        for of_link in arrivals.chunk_by(|a, b| a.link == b.link) {
            let link = of_link[0].link;
            let arrivals = of_link.iter().map(|arrival| (arrival.time, arrival.packet));
            self.ports[link as usize].add_to_wire(link, engine.packets.hots(), &mut engine.pending, arrivals);
        }
    }

    /// What switches, and ports that were listed, do in the current window before a moment.
    pub(in crate::network) fn run_window(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        bench: &mut Bench,
        until: Moment,
    ) {
        let part = until.time < engine.pending.boxes.end();
        let mut nodes = std::mem::take(&mut bench.nodes);
        engine.pending.boxes.take_nodes(&mut nodes);
        for &node in &nodes {
            bench.arrivals.clear();
            engine.pending.boxes.take(node, &mut bench.arrivals);
            if part {
                bench.arrivals.retain(|&arrival| {
                    let now = engine.moment(arrival.time, arrival.link) < until;
                    now || !engine.pending.boxes.put(node, arrival)
                });
            }
            self.route(engine, ledger, node, bench);
            self.serve(engine, ledger, senders, bench, until.time);
        }
        nodes.clear();
        bench.nodes = nodes;
        let mut ports = std::mem::take(&mut bench.ports);
        engine.pending.boxes.take_ports(&mut ports);
        for &port in &ports {
            self.ports[port as usize].come_up(port, engine.packets.hots(), &mut engine.pending, until.time.saturating_sub(1));
        }
        ports.clear();
        bench.ports = ports;
        self.remove_ended();
    }

    /// Decides by which ports of a switch its packets leave.
    #[inline]
    fn route(&mut self, engine: &mut Engine, ledger: &mut Ledger, node: NodeId, bench: &mut Bench) {
        bench.first.resize(self.ports.len(), NONE);
        bench.next.clear();
        bench.next.resize(bench.arrivals.len(), NONE);
        for n in 0..bench.arrivals.len() {
            let arrival = bench.arrivals[n];
            engine.trace_arrival(arrival.time, arrival.link);
            let hot = engine.packets.hot_mut(arrival.packet);
            if hot.has(flag::MULTICAST) {
                self.route_copies(engine, ledger, node, bench, arrival);
                continue;
            }
            let hop = Hop { routes: &self.routes, node, destination: hot.destination };
            match self.schemes.egress(&hop, &mut hot.path) {
                Some(port) => bench.leaves(n, port),
                None => drop_packet(engine, ledger, arrival.packet),
            }
        }
    }

    /// Copies a multicast packet to each branch of its group's tree.
    fn route_copies(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        node: NodeId,
        bench: &mut Bench,
        arrival: Arrival,
    ) {
        let mut copies = Vec::new();
        self.copies(engine, ledger, node, arrival.packet, engine.moment(arrival.time, arrival.link), &mut copies);
        for (port, packet) in copies {
            bench.arrivals.push(Arrival { packet, ..arrival });
            bench.next.push(NONE);
            bench.leaves(bench.arrivals.len() - 1, port);
        }
    }

    /// Each of a port's packets comes there, and the port runs to a time.
    #[inline]
    fn serve(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        bench: &mut Bench,
        until: u64,
    ) {
        let from = engine.pending.boxes.from();
        while let Some(port) = bench.hit.pop() {
            bench.sort(port, from, engine);
            for &key in &bench.keys {
                let Arrival { time, packet, .. } = bench.arrivals[key as u32 as usize];
                let p = &mut self.ports[port as usize];
                let outcome = p.send(port, engine.packets.hots(), &mut engine.pending, packet, time);
                if let Some(outcome) = outcome {
                    self.on_outcome(engine, ledger, senders, port, outcome);
                }
            }
            let p = &mut self.ports[port as usize];
            p.catch_up(port, engine.packets.hots(), &mut engine.pending, until.saturating_sub(1));
            p.list(port, &mut engine.pending);
        }
    }
}
