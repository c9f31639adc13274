//! What switches do in a window: all that arrives is in their boxes when it begins, so that each switch routes its packets in one
//! pass, and each of its ports takes its own few in the order of time and runs to the end of the window.
//!
//! What happens at a port is a function of the packets that come there and of their times. So ports may be run one after the
//! other, and nobody can tell.

use super::{Fabric, Senders, drop_packet};
use crate::engine::arena::{Arena, Hot, PacketId, flag};
use crate::engine::boxes::{Arrival, Boxes, LONGEST_BITS};
use crate::engine::pending::Keeps;
use crate::engine::prefetch::prefetch_lines;
use crate::engine::wheel::Ties;
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::port::Port;
use crate::fabric::queue::Enqueued;
use crate::fabric::routing::{Hop, ecmp};
use crate::host::stack::Header;
use crate::network::engine::{Engine, Moment, Trace};
use crate::network::ledger::Ledger;

/// So many packets are sorted without branches, by comparisons of several at a time.
const FEW: usize = 48;
const LANES: usize = 4;
/// Bits of a key: the port by which a packet leaves, the time since the window began, and its place among the arrivals.
const TIME_BITS: u32 = LONGEST_BITS;
const PLACE_BITS: u32 = 16;
const PORT_SHIFT: u32 = TIME_BITS + PLACE_BITS;
/// The most ports that keys have room for.
pub(in crate::network) const MOST_PORTS: u32 = 1 << (64 - PORT_SHIFT);
/// The most packets of a switch that are sorted at a time.
const MOST_PACKETS: usize = 1 << PLACE_BITS;
/// The key of no packet, after all others. No port has its number.
const NOTHING: u64 = u64::MAX;

/// Lists that are used again for each switch.
#[derive(Default)]
pub(in crate::network) struct Bench {
    nodes: Vec<NodeId>,
    pub(super) ports: Vec<PortId>,
    /// What arrives at the switch, and the copies that it makes.
    pub(super) arrivals: Vec<Arrival>,
    /// Multicast packets among these.
    to_copy: Vec<Arrival>,
    /// What leaves, in any order. See [`PORT_SHIFT`].
    keys: Vec<u64>,
    /// Up to [`FEW`] keys after sorting: by port, then by time, then [`NOTHING`].
    sorted: Vec<u64>,
    /// What happened to packets besides waiting and being sent.
    told: Vec<(PortId, Enqueued)>,
}

impl Bench {
    /// What arrives at a switch in this window; `show` is called with each packet. Where the window is cut at a moment, what comes later
    /// stays where it is.
    #[inline]
    fn take_arrivals(
        &mut self,
        engine: &mut Engine,
        node: NodeId,
        cut: Option<Moment>,
        show: impl Fn(&Arena<Header>, PacketId),
    ) {
        self.arrivals.clear();
        let Engine { packets, pending, .. } = &mut *engine;
        pending.boxes.take(node, &mut self.arrivals, |packet| show(packets, packet));
        if let Some(until) = cut {
            self.arrivals.retain(|&arrival| {
                let now = engine.moment(arrival.time, arrival.link) < until;
                now || !engine.pending.boxes.put(node, arrival)
            });
        }
    }
}

#[inline]
fn key_of(port: PortId, time: u64, place: usize) -> u64 {
    u64::from(port) << PORT_SHIFT | time << PLACE_BITS | place as u64
}

#[inline]
fn place_of(key: u64) -> usize {
    key as usize % MOST_PACKETS
}

impl Bench {
    /// Sorts the keys by port and time, and puts [`NOTHING`] after them; ties of a port are left in any order. Returns the keys, the
    /// arrivals and the list of outcomes.
    #[inline]
    fn sort(&mut self) -> (&mut [u64], &[Arrival], &mut Vec<(PortId, Enqueued)>) {
        let Self { keys, sorted, arrivals, told, .. } = self;
        let n = keys.len();
        keys.extend_from_slice(&[NOTHING; LANES]);
        if n > FEW {
            keys[..n].sort_unstable();
            return (keys, arrivals, told);
        }
        sorted.resize(FEW + 1, NOTHING);
        // Each goes to the place that is the number of smaller ones.
        let others = &keys[..n.next_multiple_of(LANES)];
        for &key in &keys[..n] {
            let smaller = |some: &[u64]| some.iter().map(|&other| usize::from(other < key)).sum::<usize>();
            sorted[others.chunks_exact(LANES).map(smaller).sum::<usize>()] = key;
        }
        sorted[n] = NOTHING;
        (sorted, arrivals, told)
    }
}

/// Whether two keys are of one port and of the same time.
#[inline]
fn same(a: u64, b: u64) -> bool {
    (a ^ b) >> PLACE_BITS == 0
}

/// Sorts the run of tied keys (same port, same time) at the head of the list. Returns how many they are.
#[inline(never)]
fn sort_tied(keys: &mut [u64], arrivals: &[Arrival], ties: Ties) -> usize {
    let first = keys[0];
    let tied = keys.iter().position(|&key| !same(first, key)).unwrap_or(keys.len());
    keys[..tied].sort_unstable_by_key(|&key| {
        let Arrival { time, link, .. } = arrivals[place_of(key)];
        (ties.of(time, link), link)
    });
    tied
}

/// Where the current window is cut, if it is to end before its time.
fn cut(engine: &Engine, until: Moment) -> Option<Moment> {
    (until.time < engine.pending.boxes.end()).then_some(until)
}

/// Takes the arrivals at a switch one after the other.
struct Router<'a> {
    engine: &'a mut Engine,
    ledger: &'a mut Ledger,
    ports: &'a [Port],
    bench: &'a mut Bench,
}

impl Router<'_> {
    /// Chooses each packet's port. Multicast packets are set aside.
    #[inline]
    fn route(&mut self, mut choose: impl FnMut(&mut Hot) -> Option<PortId>) {
        let Self { engine, ledger, ports, bench: Bench { keys, arrivals, to_copy, .. } } = self;
        let from = engine.pending.boxes.from();
        let mut trace = Trace::default();
        keys.clear();
        keys.reserve(arrivals.len() + LANES);
        for (place, &arrival) in arrivals.iter().enumerate() {
            trace.add(arrival.time, u64::from(arrival.link));
            let hot = engine.packets.hot_mut(arrival.packet);
            if hot.has(flag::MULTICAST) {
                to_copy.push(arrival);
                continue;
            }
            match choose(hot) {
                Some(port) => {
                    prefetch_lines(&ports[port as usize], 0..4);
                    keys.push(key_of(port, arrival.time - from, place));
                }
                None => drop_packet(engine, ledger, arrival.packet),
            }
        }
        engine.trace_all(&trace);
    }
}

impl Fabric {
    /// From now on what is sent goes into boxes. In a part of a run, this concerns the nodes that are `ours`.
    pub(in crate::network) fn use_boxes(&mut self, engine: &mut Engine, ours: impl Fn(NodeId) -> bool) {
        self.rest_switches(engine);
        let (least, most) = self.spans();
        let Self { graph, .. } = self;
        let switches = graph.nodes.len() - graph.hosts as usize;
        engine.pending.boxes = Boxes::new(graph.hosts, switches, least, most);
        engine.pending.boxes.go_to(engine.now);
        for number in 0..self.ports.len() as u32 {
            let port = &mut self.ports[number as usize];
            port.keep(if ours(port.peer()) { Keeps::InBox } else { Keeps::Elsewhere });
            port.catch_up(number, engine.packets.hots(), &mut engine.pending, engine.now);
            port.list(number, &mut engine.pending);
        }
    }

    /// From now on everything that is sent is on its wire, and so is what was in boxes.
    pub(in crate::network) fn empty_boxes(&mut self, engine: &mut Engine) {
        debug_assert!(engine.pending.elsewhere.is_empty(), "what goes to other parts is there");
        let arrivals = engine.pending.boxes.drain();
        engine.pending.boxes = Boxes::default();
        self.onto_wires(engine, arrivals);
        for port in &mut self.ports {
            port.keep(Keeps::OnWire);
        }
        self.wake_switches(engine);
    }

    /// An event of the wheel in a window, if it is that of a link to a switch: what arrives goes into the box of this window.
    #[inline]
    pub(in crate::network) fn puts_in_box(&mut self, engine: &mut Engine, port: PortId, now: u64) -> bool {
        let p = &mut self.ports[port as usize];
        let node = p.peer();
        if node < self.graph.hosts {
            return false;
        }
        let packet = p.take_arrival(port, engine.packets.hots(), &mut engine.pending);
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

    /// The least delay of a link, and what a full packet takes at most from the start of its transmission to its arrival, in
    /// picoseconds; of the links as they were built.
    pub(in crate::network) fn spans(&self) -> (u64, u64) {
        let delays = || self.graph.links.iter().map(|link| link.delay.ps());
        let transmit = self.graph.links.iter().map(|link| link.rate.transmit_time(self.packet_bytes).ps()).max();
        (delays().min().unwrap_or(0), delays().max().unwrap_or(0).saturating_add(transmit.unwrap_or(0)))
    }

    /// Whether a switch can sort a packet and the copies that it makes of it.
    pub(in crate::network) fn has_room_for_copies(&self) -> bool {
        self.most_branches < MOST_PACKETS
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
        let mut nodes = std::mem::take(&mut bench.nodes);
        engine.pending.boxes.take_nodes(&mut nodes);
        if self.is_lossless() {
            self.add_sending(engine, bench, &mut nodes, until.time);
        }
        if self.is_lossless() || self.is_balanced() {
            self.run_in_order(engine, ledger, senders, bench, &nodes, until);
        } else {
            let cut = cut(engine, until);
            for &node in &nodes {
                bench.take_arrivals(engine, node, cut, Arena::prefetch_hot);
                self.run_switch(engine, ledger, senders, node, bench, until.time);
            }
        }
        nodes.clear();
        bench.nodes = nodes;
        let mut ports = std::mem::take(&mut bench.ports);
        engine.pending.boxes.take_ports(&mut ports);
        for &port in &ports {
            self.ports[port as usize].come_up(
                port,
                engine.packets.hots(),
                &mut engine.pending,
                until.time.saturating_sub(1),
            );
        }
        ports.clear();
        bench.ports = ports;
        self.remove_ended();
    }

    /// Switches that handle their packets in the order of time: those that [look at their ports](super::balanced), and those that
    /// [lose nothing](super::lossless).
    #[inline(never)]
    fn run_in_order(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        bench: &mut Bench,
        nodes: &[NodeId],
        until: Moment,
    ) {
        let cut = cut(engine, until);
        for &node in nodes {
            bench.take_arrivals(engine, node, cut, |_, _| ());
            bench.arrivals.sort_by_cached_key(|arrival| engine.moment(arrival.time, arrival.link));
            if self.is_lossless() {
                self.run_lossless_switch(engine, ledger, senders, node, bench, until.time);
            } else {
                self.run_balanced_switch(engine, ledger, senders, node, bench);
            }
        }
    }

    /// What a switch does before a time with what arrives there.
    #[inline]
    fn run_switch(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        bench: &mut Bench,
        until: u64,
    ) {
        let copied = |arrival: &Arrival| engine.packets.hot(arrival.packet).has(flag::MULTICAST);
        let few = bench.arrivals.len() <= MOST_PACKETS / (1 + self.most_branches);
        if few || (bench.arrivals.len() <= MOST_PACKETS && !bench.arrivals.iter().any(copied)) {
            self.route(engine, ledger, node, bench);
            return self.serve(engine, ledger, senders, bench, until);
        }
        // Too many for the places that keys have room for: some after the other, in the order of time.
        let most = MOST_PACKETS / (1 + self.most_branches);
        let mut all = std::mem::take(&mut bench.arrivals);
        all.sort_by_cached_key(|arrival| engine.moment(arrival.time, arrival.link));
        for first in (0..all.len()).step_by(most) {
            bench.arrivals.clear();
            bench.arrivals.extend(all.iter().skip(first).take(most));
            self.route(engine, ledger, node, bench);
            let until = all.get(first + most).map_or(until, |next| next.time);
            self.serve(engine, ledger, senders, bench, until);
        }
    }

    /// Decides by which ports of a switch its packets leave.
    #[inline]
    fn route(&mut self, engine: &mut Engine, ledger: &mut Ledger, node: NodeId, bench: &mut Bench) {
        if self.schemes.is_plain() {
            let row = self.routes.row(node);
            let mut router = Router { engine, ledger, ports: &self.ports, bench };
            router.route(|hot| row.choose(hot.destination, &mut hot.path));
        } else {
            self.route_by_scheme(engine, ledger, node, bench);
        }
        while let Some(arrival) = bench.to_copy.pop() {
            self.route_copies(engine, ledger, node, bench, arrival);
        }
    }

    /// The same for unicast packets, where the path fraction alone does not decide.
    #[inline(never)]
    fn route_by_scheme(&self, engine: &mut Engine, ledger: &mut Ledger, node: NodeId, bench: &mut Bench) {
        let Self { ports, routes, schemes, .. } = self;
        let hop = |destination| Hop { routes, node, destination };
        let mut router = Router { engine, ledger, ports, bench };
        router.route(|hot| schemes.decide(&hop(hot.destination), &mut hot.path, ecmp));
    }

    /// Copies a multicast packet to each branch of its group's tree.
    #[inline(never)]
    fn route_copies(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        node: NodeId,
        bench: &mut Bench,
        arrival: Arrival,
    ) {
        let (at, from) = (engine.moment(arrival.time, arrival.link), engine.pending.boxes.from());
        let mut copies = std::mem::take(&mut self.branches);
        self.copies(engine, ledger, node, arrival.packet, at, &mut copies);
        for (port, packet) in copies.drain(..) {
            bench.keys.push(key_of(port, arrival.time - from, bench.arrivals.len()));
            bench.arrivals.push(Arrival { packet, ..arrival });
        }
        self.branches = copies;
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
        let (keys, arrivals, told) = bench.sort();
        let ties = engine.pending.wheel.ties();
        // The next key, and how far ties are in order.
        let (mut n, mut ordered) = (0, 0);
        while keys[n] != NOTHING {
            let port = keys[n] >> PORT_SHIFT;
            let coming = std::iter::from_fn(|| {
                let key = keys[n];
                if key >> PORT_SHIFT != port {
                    return None;
                }
                if same(key, keys[n + 1]) && n >= ordered {
                    ordered = n + sort_tied(&mut keys[n..], arrivals, ties);
                }
                let Arrival { time, packet, .. } = arrivals[place_of(keys[n])];
                n += 1;
                Some((time, packet))
            });
            let (port, tell) = (port as PortId, |outcome| told.push((port as PortId, outcome)));
            let p = &mut self.ports[port as usize];
            p.run(port, engine.packets.hots(), &mut engine.pending, coming, until.saturating_sub(1), tell);
            p.list(port, &mut engine.pending);
        }
        let mut told = std::mem::take(&mut bench.told);
        for (port, outcome) in told.drain(..) {
            self.on_outcome(engine, ledger, senders, port, outcome);
        }
        bench.told = told;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::wheel::Wheel;
    use proptest::prelude::*;

    proptest! {
        /// Few keys and many, after more and after fewer, many of them tied.
        #[test]
        fn keys_are_sorted_by_port_time_and_tie(
            batches in prop::collection::vec(prop::collection::vec((0..6_u32, 0..9_u64), 0..3 * FEW), 1..8),
        ) {
            let (mut bench, ties) = (Bench::default(), Wheel::new(1000, 1, 7).ties());
            for batch in batches {
                bench.arrivals = (0..).zip(&batch).map(|(link, &(_, time))| Arrival { time, link, packet: link }).collect();
                bench.keys = batch.iter().enumerate().map(|(place, &(port, time))| key_of(port, time, place)).collect();
                let mut expected: Vec<_> =
                    (0..).zip(&batch).map(|(link, &(port, time))| (port, time, ties.of(time, link), link)).collect();
                expected.sort_unstable();
                let (keys, arrivals, _) = bench.sort();
                let (mut n, mut sorted) = (0, Vec::new());
                while keys[n] != NOTHING {
                    n += if same(keys[n], keys[n + 1]) { sort_tied(&mut keys[n..], arrivals, ties) } else { 1 };
                }
                for &key in &keys[..n] {
                    let Arrival { time, link, .. } = arrivals[place_of(key)];
                    sorted.push(((key >> PORT_SHIFT) as u32, time, ties.of(time, link), link));
                }
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
