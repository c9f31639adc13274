//! Events at hosts: packets reach endpoints, endpoints send, pulls are paced, timers fire.

use super::barrier::Barriers;
use super::engine::Engine;
use super::fabric::{Fabric, Senders};
use super::ledger::Ledger;
use super::setup::Setup;
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::fabric::graph::PortId;
use crate::fabric::routing::{Departing, FlowPath as _};
use crate::host::stack::{Header, Seen, Stack};
use crate::host::{EndpointId, Feed, Hosted, Remote};
use crate::random::{self, Stream};
use anabranch_transport::{GROUP, Peer, Time, Transmit};
use interfaces::Interfaces;
use rand::Rng as _;
use std::ops::Range;

mod application;
mod blocks;
mod events;
mod interfaces;
mod part;
mod paths;

/// Hosts, their interfaces, and the endpoints that run on them.
pub(super) struct Hosts {
    /// Of each host, for routing.
    random: Vec<Stream>,
    interfaces: Interfaces,
    /// `None`: closed, or being processed right now.
    endpoints: Vec<Option<Box<Hosted>>>,
    /// How many of them are open.
    open_endpoints: usize,
    pulls_by_priority: bool,
    pub(super) barriers: Barriers,
    /// In a part of a run: the hosts that belong to it.
    part: Option<part::Ownership>,
}

impl Senders for Hosts {
    fn return_address(&mut self, endpoint: EndpointId, from: Peer) -> Option<(Remote, &mut Stream)> {
        let Some(hosted) = self.endpoints[endpoint as usize].as_deref() else {
            self.undo("a switch sends a header back");
            return None;
        };
        let sender = hosted.remotes.get(from);
        if !self.owns(sender.host) {
            self.undo("a switch sends a header back");
            return None;
        }
        Some((sender, &mut self.random[sender.host as usize]))
    }
}

impl Hosts {
    /// Hosts without endpoints. Full packets have `packet_bytes` bytes.
    pub(super) fn new(setup: &Setup, packet_bytes: u64) -> Self {
        let interfaces = Interfaces::new(&setup.graph, packet_bytes, setup.pull_pace);
        let stream = |host| random::substream(setup.seed, "spraying", u64::from(host));
        let random = (0..setup.graph.hosts).map(stream).collect();
        let barriers = Barriers::new(&setup.sessions, &setup.groups);
        let pulls_by_priority = setup.pulls_by_priority;
        Self { random, interfaces, endpoints: Vec::new(), open_endpoints: 0, pulls_by_priority, barriers, part: None }
    }

    /// The number of the endpoint that will be added next.
    pub(super) fn next_endpoint(&self) -> EndpointId {
        self.endpoints.len() as EndpointId
    }

    pub(super) fn add(&mut self, hosted: Hosted) {
        self.endpoints.push(Some(Box::new(hosted)));
        self.open_endpoints += 1;
    }

    /// How many interfaces all hosts have.
    pub(super) fn interfaces(&self) -> u32 {
        self.interfaces.ports.len() as u32
    }

    /// The first interface of a host.
    pub(super) fn interface(&self, host: u32) -> u32 {
        self.interfaces.first_of(host)
    }

    /// Lets `relay` send on what `receiver`, an endpoint on the same host, receives, as it arrives; so far nothing has.
    pub(super) fn relay(&mut self, receiver: EndpointId, relay: EndpointId, now: Time) {
        if let Some(upstream) = &mut self.endpoints[receiver as usize] {
            upstream.feeds = Some(Feed::Relay(relay));
            if let Some(relay) = &mut self.endpoints[relay as usize] {
                relay.stack.set_available(now, 0);
            }
        }
    }

    fn open(&self, endpoints: Range<EndpointId>) -> impl Iterator<Item = &Hosted> {
        self.endpoints[endpoints.start as usize..endpoints.end as usize].iter().flatten().map(|hosted| &**hosted)
    }

    /// What the open ones among these endpoints wait for, human-readable.
    pub(super) fn states(&self, endpoints: Range<EndpointId>) -> String {
        let states = self.open(endpoints).map(|hosted| {
            let side = if hosted.receiver.is_some() { "receiver" } else { "sender" };
            format!("{side} h{} {}", hosted.host, hosted.stack.waiting_for())
        });
        states.collect::<Vec<_>>().join("; ")
    }

    /// Bytes that the open ones among these endpoints have delivered to their applications.
    pub(super) fn delivered(&self, endpoints: Range<EndpointId>) -> u64 {
        let receivers = self.open(endpoints).filter(|hosted| hosted.receiver.is_some());
        receivers.map(|hosted| hosted.stack.stats().bytes_delivered).sum()
    }

    /// Data packets received by the open ones among these endpoints that serve a given receiver of their session.
    pub(super) fn received(&self, endpoints: Range<EndpointId>, receiver: u16) -> u64 {
        let receivers = self.open(endpoints).filter(|hosted| hosted.receiver == Some(receiver));
        receivers.map(|hosted| hosted.stack.stats().data_received).sum()
    }

    /// The congestion window of the first open one among these endpoints that has one, in bytes.
    pub(super) fn congestion_window(&self, endpoints: Range<EndpointId>) -> Option<u64> {
        self.open(endpoints).find_map(|hosted| hosted.stack.congestion_window())
    }

    /// All endpoints so far; `None`: closed.
    #[inline]
    pub(super) fn endpoints(&self) -> &[Option<Box<Hosted>>] {
        &self.endpoints
    }

    /// How many endpoints are open.
    pub(super) fn open_endpoints(&self) -> usize {
        self.open_endpoints
    }

    /// A packet has reached its host through a port.
    #[inline(never)]
    pub(super) fn deliver(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        port: PortId,
        id: PacketId,
    ) {
        let hot = *engine.packets.hot(id);
        let header = *engine.packets.header(id);
        if self.interfaces.several
            && let Some(hosted) = self.endpoints[hot.endpoint as usize].as_deref_mut()
        {
            hosted.interface = self.interfaces.reached_by(port);
        }
        engine.packets.remove(id);
        ledger.packet_delivered(hot.has(flag::TRIMMED));
        engine.trace_delivery(hot.endpoint, hot.size);
        let seen = Seen {
            from: hot.from,
            trimmed: hot.has(flag::TRIMMED),
            ce: hot.has(flag::CE),
            returned: hot.has(flag::RETURNED),
        };
        self.with_endpoint(engine, fabric, ledger, hot.endpoint, |stack, now| {
            stack.handle_packet(now, &header, seen);
        });
    }

    /// An endpoint's wake-up. Endpoints move their deadline on every packet, so the event may be early: timers are lazy.
    pub(super) fn timer_fires(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
    ) {
        let now = engine.now();
        let written = self.take_written(id, now);
        self.with_endpoint(engine, fabric, ledger, id, |stack, _| {
            if let Some(bytes) = written {
                stack.set_available(now, bytes);
            }
            if stack.poll_timeout().is_some_and(|deadline| deadline <= now) {
                stack.handle_timeout(now);
            }
        });
        self.await_chunk(engine, id);
    }

    /// Lets an endpoint of a session that has just been opened send and set its timer.
    pub(super) fn start(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, id: EndpointId) {
        self.with_endpoint(engine, fabric, ledger, id, |_, _| {});
    }

    /// Applies a change to an endpoint, then does what it asks for. Does nothing if it has closed.
    #[inline]
    fn with_endpoint(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        act: impl FnOnce(&mut Stack, Time),
    ) {
        let Some(mut hosted) = self.endpoints[id as usize].take() else { return };
        act(&mut hosted.stack, engine.now());
        let interface = hosted.interface;
        let feeds = hosted.feeds.map(|feed| (feed, hosted.session, hosted.stack.stats().bytes_delivered));
        self.attend(engine, fabric, ledger, id, hosted);
        match feeds {
            None => {}
            Some((Feed::Relay(relay), _, bytes)) => self.feed(engine, fabric, ledger, relay, bytes),
            Some((Feed::Client, session, bytes)) => self.feed_client(engine, ledger, session, bytes),
        }
        if !self.interfaces.pulls[interface as usize].is_empty() {
            self.pace(engine, fabric, ledger, interface);
        }
    }

    /// More of its object has arrived at a relay's host.
    fn feed(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, relay: EndpointId, bytes: u64) {
        self.with_endpoint(engine, fabric, ledger, relay, |stack, now| stack.set_available(now, bytes));
    }

    /// Tells an endpoint until when its host is busy with queued packets. With several links, the one that is busy for
    /// longest counts, since it is unknown by which link the next packet leaves.
    #[inline]
    fn tell_departure(&self, engine: &mut Engine, fabric: &mut Fabric, hosted: &mut Hosted) {
        if !hosted.stack.uses_departure() {
            return;
        }
        let first = self.interfaces.first_of(hosted.host) as usize;
        let mut idle_at = fabric.idle_at(engine, self.interfaces.ports[first]);
        if self.interfaces.several {
            for interface in self.interfaces.of(hosted.host).skip(1) {
                idle_at = idle_at.max(fabric.idle_at(engine, self.interfaces.ports[interface]));
            }
        }
        hosted.stack.set_departure(Time(idle_at.max(engine.now)));
    }

    /// Sends what an endpoint wants to send, and handles its events, its pulls and its timer.
    #[inline]
    fn attend(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        mut hosted: Box<Hosted>,
    ) {
        let now = engine.now();
        let mut open = true;
        self.tell_departure(engine, fabric, &mut hosted);
        loop {
            while let Some(transmit) = hosted.stack.poll_transmit(now) {
                self.inject(engine, fabric, ledger, id, &mut hosted, transmit);
                if engine.packets.is_full() {
                    break;
                }
                self.tell_departure(engine, fabric, &mut hosted);
            }
            let Some(event) = hosted.stack.poll_event() else { break };
            open &= self.on_event(engine, fabric, ledger, &mut hosted, event);
        }
        if !open {
            return self.close(engine, fabric, ledger, id, &hosted);
        }
        if !hosted.pulling && hosted.stack.pending_pulls() > 0 {
            hosted.pulling = true;
            let urgency = if self.pulls_by_priority { hosted.stack.pull_priority() } else { 0 };
            self.interfaces.pulls[hosted.interface as usize].push(id, urgency);
        }
        if let Some(deadline) = hosted.stack.poll_timeout() {
            engine.wake(engine.entities.timer(id), deadline);
        }
        self.endpoints[id as usize] = Some(hosted);
    }

    /// Grants the turns that are due in an interface's pull queue, and schedules the next.
    pub(super) fn pace(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, interface: u32) {
        let now = engine.now();
        while let Some(id) = self.interfaces.pulls[interface as usize].poll(now) {
            let Some(mut hosted) = self.endpoints[id as usize].take() else {
                self.interfaces.pulls[interface as usize].refund(now);
                continue;
            };
            hosted.pulling = false;
            match hosted.stack.poll_pull(now) {
                Some(transmit) => self.inject(engine, fabric, ledger, id, &mut hosted, transmit),
                None => self.interfaces.pulls[interface as usize].refund(now),
            }
            let at = hosted.interface;
            self.attend(engine, fabric, ledger, id, hosted);
            if at != interface {
                // Its last packet arrived through another interface, and it queues there now.
                self.wake_pacer(engine, at);
            }
        }
        self.wake_pacer(engine, interface);
    }

    /// Schedules the next turn in an interface's pull queue, if an endpoint waits there.
    fn wake_pacer(&self, engine: &mut Engine, interface: u32) {
        if let Some(next) = self.interfaces.pulls[interface as usize].poll_timeout() {
            let pacer = engine.entities.pacer(interface);
            if engine.wheel.due(pacer).is_none() {
                engine.wheel.schedule(pacer, next.ps().max(engine.now));
            }
        }
    }

    /// Puts an endpoint's packet into its host's queue.
    #[inline]
    fn inject(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        hosted: &mut Hosted,
        transmit: Transmit<Header>,
    ) {
        let mut flags = 0;
        for (set, flag) in [
            (transmit.control, flag::CONTROL),
            (transmit.ect, flag::ECT),
            (transmit.trimmed_size < transmit.size, flag::DATA),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let (destination, endpoint, from) = match hosted.group {
            Some(group) if transmit.to == GROUP => {
                flags |= flag::MULTICAST;
                (group, id, 0)
            }
            _ => {
                let remote = hosted.remotes.get(transmit.to);
                (remote.host, remote.endpoint, remote.from)
            }
        };
        let random = &mut self.random[hosted.host as usize];
        let path = if flags & flag::MULTICAST != 0 && fabric.schemes().own_bits() {
            random.next_u32()
        } else {
            hosted
                .paths
                .of(transmit.subflow)
                .next(&Departing { now: engine.now, size: transmit.size, destination }, random)
        };
        // Copies lose the flag at the last switch, which still has to treat them as multicast packets: equal sizes mark a packet
        // that must not be cut.
        let uncut = flags & flag::MULTICAST != 0 && !fabric.trims_multicast();
        let trimmed_size = if uncut { transmit.size } else { transmit.trimmed_size };
        let hot = Hot {
            at: engine.now,
            next: NO_PACKET,
            endpoint,
            destination,
            path,
            size: transmit.size as u16,
            trimmed_size: trimmed_size as u16,
            // One of the two is 0: only unicast sessions have ranks.
            from: from | transmit.rank,
            tag: Hot::tag(hosted.class, transmit.priority, transmit.pushed),
            flags,
        };
        ledger.packet_sent();
        let packet = engine.packets.insert(hot, transmit.header);
        if self.interfaces.several {
            return fabric.forward(engine, ledger, self, hosted.host, packet);
        }
        let port = self.interfaces.ports[hosted.host as usize];
        fabric.send(engine, ledger, self, port, packet);
    }
}
