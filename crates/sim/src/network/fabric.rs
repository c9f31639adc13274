//! The fabric of a run: its ports, and what happens to a packet from the port of its sender until it reaches a host.
//!
//! It knows destinations and not what they are for. What is beyond it is told in three words: what becomes of packets to
//! the [`Ledger`], who is to have a header back by [`Senders`], and what has reached its host by [`Fabric::arrive`].

use super::engine::{Engine, Moment};
use super::ledger::Ledger;
use super::setup::Setup;
use crate::capture::Captures;
use crate::control::{self, Watch};
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::multicast::MulticastGroup;
use crate::fabric::port::Port;
use crate::fabric::queue::{Discipline as _, Enqueued, Queue, fair::Fair, nic::Nic, relay::Relay, watched::Watched};
use crate::fabric::routing::{Hop, Routes, Schemes, ecmp};
use crate::host::{EndpointId, Remote};
use crate::random::{self, Stream};
use anabranch_transport::{Peer, Rate};
use balanced::Balancers;
use ideal::{History, Known};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

mod balanced;
mod captured;
mod changes;
mod deadlock;
mod ideal;
mod lossless;
mod part;
#[cfg(test)]
mod tests;
mod windowed;

pub(super) use ideal::Manner;
pub(super) use part::Message;
pub(super) use windowed::{Bench, MOST_PORTS};

/// Knows who sends: packets say where they go, not where they come from.
pub(super) trait Senders {
    /// The sender of a packet for `endpoint`, which knows it as `from`, and what its host draws from. `None` if the endpoint
    /// has closed.
    fn return_address(&mut self, endpoint: EndpointId, from: Peer) -> Option<(Remote, &mut Stream)>;
}

/// A multicast group as it is installed.
struct Multicast {
    source: u32,
    /// Decides between its equal-cost trees.
    hash: u64,
    group: MulticastGroup,
    /// (host, endpoint) of each receiver, by host.
    receivers: Vec<(u32, EndpointId)>,
}

/// Ports, routes and multicast groups.
pub(super) struct Fabric {
    graph: Arc<Graph>,
    ports: Vec<Port>,
    routes: Routes,
    schemes: Schemes,
    balancers: Balancers,
    /// The routing tables of the fabric as it was built, if they were needed.
    whole: OnceCell<Routes>,
    links_up: Vec<bool>,
    /// `None`: its session is over.
    multicast: Vec<Option<Arc<Multicast>>>,
    /// When a packet of each group was last looked at, in picoseconds.
    multicast_used: Vec<u64>,
    /// Groups that hosts have ended in this window, and when.
    ended: Vec<(u32, Moment)>,
    /// Where copies of a packet go, while they are made.
    branches: Vec<(PortId, PacketId)>,
    /// The most ports that a node has.
    most_branches: usize,
    multicast_trees: u32,
    /// Hosts have several links and choose among them as switches do.
    multi_homed: bool,
    return_to_sender: bool,
    packet_bytes: u64,
    trim_multicast: bool,
    /// What is captured, if anything is.
    captures: Option<Box<Captures>>,
    /// How often routes, rates or weights of paths have changed.
    changes: u32,
    history: History,
    known_ways: RefCell<Known>,
    /// If its switches lose nothing.
    lossless: Option<Box<lossless::Switches>>,
}

impl Fabric {
    /// All links work, and nothing has been sent. Full packets have `packet_bytes` bytes.
    pub(super) fn new(setup: &Setup, packet_bytes: u64) -> Self {
        let graph = Arc::clone(&setup.graph);
        let watch = control::watched_by(&setup.controllers);
        let writes = setup.groups.iter().any(|group| group.transport.reads_telemetry());
        // Hosts that relay write like switches, but not into packets of their own.
        let telemetry = |port: Port, flags| if writes { port.with_telemetry(flags) } else { port };
        let ports = (0..graph.ports())
            .map(|p| {
                let (owner, link) = (graph.port_owner(p), graph.links[(p / 2) as usize]);
                let peer = graph.port_peer(p);
                let lossless = setup.pfc.as_ref().map(|pfc| lossless::queue(pfc, setup, p, packet_bytes));
                if graph.is_host(owner) {
                    let seed = setup.seed ^ random::mix(u64::from(p));
                    let queue = if let Some(queue) = lossless {
                        queue
                    } else if graph.hosts_relay {
                        Queue::Relay(Box::new(Relay::new((setup.queue)(p))))
                    } else {
                        host_queue(setup.host_classes, packet_bytes)
                    };
                    let port = Port::new(link.rate, link.delay, peer, queue);
                    let port = if graph.hosts_relay { telemetry(port, flag::DATA | flag::RELAYED) } else { port };
                    return port.with_jitter(setup.host_jitter, packet_bytes, seed);
                }
                let queue = lossless.unwrap_or_else(|| (setup.queue)(p));
                let queue =
                    if watch == Watch::NOTHING { queue } else { Queue::Watched(Watched::new(queue, watch).into()) };
                telemetry(Port::new(link.rate, link.delay, peer, queue), flag::DATA)
            })
            .collect();
        let mut schemes = Schemes::new(setup.groups.iter().map(|group| group.routing), &setup.routing);
        schemes.install(&graph, &|_| true);
        Self {
            ports,
            balancers: schemes.balancers(&graph, setup.seed),
            schemes,
            routes: Routes::build(&graph, |_| true),
            whole: OnceCell::new(),
            links_up: vec![true; graph.links.len()],
            multicast: Vec::new(),
            multicast_used: Vec::new(),
            ended: Vec::new(),
            branches: Vec::new(),
            most_branches: graph.ports_by_node().iter().map(Vec::len).max().unwrap_or(0),
            multicast_trees: setup.routing.multicast_trees,
            multi_homed: graph.multi_homed(),
            return_to_sender: setup.return_to_sender,
            packet_bytes,
            trim_multicast: setup.trim_multicast,
            captures: None,
            changes: 0,
            history: History::default(),
            known_ways: RefCell::default(),
            lossless: setup.pfc.map(|pfc| Box::new(lossless::Switches::new(pfc, &graph))),
            graph,
        }
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// How packets choose among the ways.
    pub(super) fn schemes(&self) -> &Schemes {
        &self.schemes
    }

    pub(super) fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// A port with all that it has done by now.
    pub(super) fn port(&mut self, engine: &mut Engine, port: PortId) -> &Port {
        if self.is_lossless() {
            self.bring_up(engine, port);
            return &self.ports[port as usize];
        }
        let p = &mut self.ports[port as usize];
        p.catch_up(port, engine.packets.hots(), &mut engine.pending, engine.now);
        p
    }

    /// Brings all ports up to now.
    pub(super) fn catch_up(&mut self, engine: &mut Engine) {
        if self.is_lossless() {
            return self.bring_all_up(engine);
        }
        for port in 0..self.ports.len() as u32 {
            self.port(engine, port);
        }
    }

    /// Which links work.
    pub(super) fn links_up(&self) -> &[bool] {
        &self.links_up
    }

    /// When a port will have sent all that waits for it.
    #[inline]
    pub(super) fn idle_at(&mut self, engine: &mut Engine, port: PortId) -> u64 {
        self.ports[port as usize].idle_at(port, engine.packets.hots(), &mut engine.pending, engine.now)
    }

    /// The rate of a port's link.
    pub(super) fn rate(&self, port: PortId) -> Rate {
        self.ports[port as usize].rate()
    }

    /// What a full packet takes to be sent by a port, in picoseconds.
    pub(super) fn packet_time(&self, port: PortId) -> u64 {
        self.rate(port).transmit_time(self.packet_bytes).ps().max(1)
    }

    /// Whether switches that trim cut multicast packets as well.
    #[inline]
    pub(super) fn trims_multicast(&self) -> bool {
        self.trim_multicast
    }

    /// Whether switches send headers back to their senders.
    pub(super) fn returns_to_sender(&self) -> bool {
        self.return_to_sender
    }

    /// Bytes of a full packet.
    pub(super) fn packet_bytes(&self) -> u64 {
        self.packet_bytes
    }

    /// Whether ports share a memory.
    pub(super) fn shares_any_memory(&self) -> bool {
        self.ports.iter().any(|port| port.queue().memory().is_some())
    }

    /// Trees of each multicast group.
    pub(super) fn multicast_trees(&self) -> u32 {
        self.multicast_trees
    }

    /// The packet whose last bit will be the next to reach the far end of a link, and the node there.
    #[inline]
    pub(super) fn next_arrival<'a>(&self, engine: &'a Engine, port: PortId) -> Option<(&'a Hot, NodeId)> {
        let port = &self.ports[port as usize];
        Some((engine.packets.get(port.first_in_flight())?, port.peer()))
    }

    /// The port by which a packet at a node is to leave, as far as that is known.
    #[inline]
    pub(super) fn egress(&self, node: NodeId, hot: &Hot) -> Option<PortId> {
        let hop = Hop { routes: &self.routes, node, destination: hot.destination };
        let mut path = hot.path;
        self.schemes.egress(&hop, &mut path)
    }

    /// The event of link `port`: a packet's last bit has reached the far end. Returned if that is the host that it is for.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        port: PortId,
    ) -> Option<PacketId> {
        if self.lossless.is_some() {
            return self.arrive_lossless(engine, ledger, senders, port);
        }
        let p = &mut self.ports[port as usize];
        let node = p.peer();
        let id = if engine.pending.boxes.in_use() {
            p.take_arrival(port, engine.packets.hots(), &mut engine.pending)
        } else {
            p.arrive(port, engine.packets.hots(), &mut engine.pending, engine.now)
        };
        if node >= self.graph.hosts {
            self.forward(engine, ledger, senders, node, id);
            None
        } else if self.multi_homed {
            self.reach(engine, ledger, senders, node, id)
        } else {
            Some(id)
        }
    }

    /// A packet has reached a host in a fabric where hosts have several links. It may have further to go.
    fn reach(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        host: u32,
        id: PacketId,
    ) -> Option<PacketId> {
        let hot = engine.packets.hot_mut(id);
        if hot.has(flag::MULTICAST) {
            return self.own_copy(engine, ledger, senders, host, id);
        }
        if hot.destination != host {
            hot.flags |= flag::RELAYED;
            self.forward(engine, ledger, senders, host, id);
            return None;
        }
        Some(id)
    }

    /// A switch, or a host with several links, decides where a packet goes on.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each hop of each packet; a call of six arguments costs 2 % of a run")]
    pub(super) fn forward(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        id: PacketId,
    ) -> Option<PortId> {
        let hot = engine.packets.hot_mut(id);
        if hot.has(flag::MULTICAST) {
            self.replicate(engine, ledger, senders, node, id);
            return None;
        }
        let port = if self.schemes.is_plain() {
            ecmp(&Hop { routes: &self.routes, node, destination: hot.destination }, &mut hot.path)
        } else {
            self.choose(engine, node, id, engine.now)
        };
        match port {
            Some(port) => self.send(engine, ledger, senders, port, id),
            None => drop_packet(engine, ledger, id),
        }
        port
    }

    /// A switch, or a host with several links, copies a multicast packet to every branch of the group's tree.
    fn replicate(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        node: NodeId,
        id: PacketId,
    ) {
        let mut copies = std::mem::take(&mut self.branches);
        self.copies(engine, ledger, node, id, Moment::of(engine.now), &mut copies);
        for (port, copy) in copies.drain(..) {
            self.send(engine, ledger, senders, port, copy);
        }
        self.branches = copies;
    }

    /// A multicast packet and its copies, one for every branch of the group's tree at a node. None, and it is dropped, if
    /// there is no branch, or if the group had been removed at that moment.
    fn copies(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        node: NodeId,
        id: PacketId,
        at: Moment,
        copies: &mut Vec<(PortId, PacketId)>,
    ) {
        let index = engine.packets.hot(id).destination;
        let ended = self.ended.iter().any(|&(group, moment)| group == index && moment < at);
        let Some(group) = self.multicast[index as usize].as_deref().filter(|_| !ended) else {
            return drop_packet(engine, ledger, id);
        };
        let used = &mut self.multicast_used[index as usize];
        *used = (*used).max(at.time);
        let tree = group.group.tree(engine.packets.hot(id).path);
        let branches = tree.of(node);
        for (n, &(_, port)) in branches.iter().enumerate() {
            let copy = if n + 1 < branches.len() {
                ledger.packet_replicated();
                engine.packets.duplicate(id)
            } else {
                id
            };
            let peer = self.ports[port as usize].peer();
            // The last link of its path; hosts with several links may also be in the middle.
            if peer < self.graph.hosts && (!self.multi_homed || tree.of(peer).is_empty()) {
                let at = group.receivers.partition_point(|r| r.0 < peer);
                engine.packets.hot_mut(copy).address(peer, group.receivers[at].1);
            }
            copies.push((port, copy));
        }
        if branches.is_empty() {
            drop_packet(engine, ledger, id);
        }
    }

    /// A multicast packet has reached a host: passes it on if the host is in the middle of the tree, and gives what is for
    /// the host itself.
    fn own_copy(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        host: u32,
        id: PacketId,
    ) -> Option<PacketId> {
        let hot = engine.packets.hot_mut(id);
        hot.flags |= flag::RELAYED;
        self.multicast_used[hot.destination as usize] = engine.now;
        let own = self.multicast[hot.destination as usize].as_deref().and_then(|group| {
            let at = group.receivers.binary_search_by_key(&host, |r| r.0).ok()?;
            Some((group.receivers[at].1, group.group.tree(hot.path).of(host).is_empty()))
        });
        let Some((endpoint, last)) = own else {
            self.replicate(engine, ledger, senders, host, id);
            return None;
        };
        let mut copy = id;
        if !last {
            ledger.packet_replicated();
            copy = engine.packets.duplicate(id);
            self.replicate(engine, ledger, senders, host, id);
        }
        engine.packets.hot_mut(copy).address(host, endpoint);
        Some(copy)
    }

    /// Hands a packet to an egress port.
    #[inline]
    pub(super) fn send(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        port: PortId,
        id: PacketId,
    ) {
        let outcome = self.ports[port as usize].send(port, engine.packets.hots(), &mut engine.pending, id, engine.now);
        if let Some(outcome) = outcome {
            self.on_outcome(engine, ledger, senders, port, outcome);
        }
        if engine.pending.boxes.in_use() {
            self.ports[port as usize].list(port, &mut engine.pending);
        }
    }

    /// Slow path of an arrival: drop, trim, mark or capture.
    #[cold]
    fn on_outcome(
        &mut self,
        engine: &mut Engine,
        ledger: &mut Ledger,
        senders: &mut impl Senders,
        port: PortId,
        outcome: Enqueued,
    ) {
        if outcome.trimmed != NO_PACKET {
            ledger.packet_trimmed(engine.packets.hot(outcome.trimmed).endpoint);
        }
        self.read_tap(engine, port);
        if outcome.rejected == NO_PACKET {
            return;
        }
        let returned = self.return_to_sender && return_header(engine, &self.schemes, senders, outcome.rejected);
        self.capture_rejected(engine, port, outcome.rejected, returned);
        if returned {
            let node = self.graph.port_owner(port);
            self.forward(engine, ledger, senders, node, outcome.rejected);
            return;
        }
        drop_packet(engine, ledger, outcome.rejected);
    }

    /// Installs a multicast group; `receivers` by host. `hash` decides between equal-cost trees. Returns its number.
    pub(super) fn install(&mut self, source: u32, hash: u64, receivers: Vec<(u32, EndpointId)>) -> u32 {
        let group = self.trees(source, hash, &receivers);
        self.multicast.push(Some(Arc::new(Multicast { source, hash, group, receivers })));
        self.multicast_used.push(0);
        self.multicast.len() as u32 - 1
    }

    /// Installs a group like this one without one of its receivers. Packets that are on their way to the old group still
    /// reach that receiver.
    pub(super) fn install_without(&mut self, group: u32, leaver: EndpointId) -> Option<u32> {
        let old = self.multicast[group as usize].as_ref()?;
        let members = old.receivers.iter().copied().filter(|m| m.1 != leaver).collect();
        Some(self.install(old.source, old.hash, members))
    }

    /// Nobody sends to a group any more. If hosts are ahead of switches, as they are in a [window](windowed), switches that
    /// come to this `moment` still know it until then.
    pub(super) fn remove_group(&mut self, group: u32, moment: Option<Moment>) {
        match moment {
            Some(moment) => self.ended.push((group, moment)),
            None => self.multicast[group as usize] = None,
        }
    }

    /// Switches have come to where hosts are.
    fn remove_ended(&mut self) {
        for (group, _) in self.ended.drain(..) {
            self.multicast[group as usize] = None;
        }
    }

    /// Trees from a source to these receivers over the links that work now.
    fn trees(&self, source: u32, hash: u64, receivers: &[(u32, EndpointId)]) -> MulticastGroup {
        let trees = self.multicast_trees;
        let sinks: Vec<u32> = receivers.iter().map(|r| r.0).collect();
        MulticastGroup::build(&self.graph, &self.routes, source, &sinks, trees, hash)
    }
}

/// NDP §3.2.4: a header that finds the header queue full goes back to its sender, once. False if this packet does not.
fn return_header(engine: &mut Engine, schemes: &Schemes, senders: &mut impl Senders, id: PacketId) -> bool {
    let hot = engine.packets.hot_mut(id);
    if hot.flags & (flag::RETURNED | flag::CONTROL | flag::MULTICAST) != 0 || !hot.has(flag::TRIMMED) {
        return false;
    }
    let Some((sender, random)) = senders.return_address(hot.endpoint, hot.from) else { return false };
    hot.flags |= flag::RETURNED;
    hot.destination = sender.host;
    hot.endpoint = sender.endpoint;
    hot.from = sender.from;
    hot.path = schemes.back(sender.host, random);
    true
}

fn drop_packet(engine: &mut Engine, ledger: &mut Ledger, id: PacketId) {
    ledger.packet_dropped(engine.packets.hot(id).endpoint);
    engine.packets.remove(id);
}

/// The queue of a host's own port.
fn host_queue(classes: u8, packet_bytes: u64) -> Queue {
    match classes {
        0 | 1 => Queue::Nic(Nic::new()),
        n => Queue::Fair(Fair::new((0..n).map(|_| Queue::Nic(Nic::new())), packet_bytes as u32)),
    }
}
