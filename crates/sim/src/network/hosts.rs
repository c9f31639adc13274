//! Events at hosts: packets reach endpoints, endpoints send, pulls are paced, timers fire.

use super::barrier::Barriers;
use super::engine::Engine;
use super::fabric::{Fabric, Senders};
use super::job::Jobs;
use super::ledger::Ledger;
use super::setup::Setup;
use crate::engine::arena::{Hot, PacketId, flag};
use crate::engine::prefetch::{prefetch, prefetch_lines};
use crate::fabric::graph::PortId;
use crate::host::stack::Seen;
use crate::host::{EndpointId, Feed, Hosted, Place, Remote};
use crate::random::{self, Stream};
use anabranch_transport::{Duration, Peer, Time};
use attending::{Act, Arrive, Rarely, Turn};
use interfaces::Interfaces;
use ranking::Ranking;
use std::ops::Range;
use turns::Turns;

mod application;
mod attending;
mod blocks;
mod events;
mod interfaces;
mod part;
mod paths;
mod ranking;
mod reorder;
mod turns;

/// Hosts, their interfaces, and the endpoints that run on them.
pub(super) struct Hosts {
    /// Of each host, for routing.
    random: Vec<Stream>,
    interfaces: Interfaces,
    turns: Turns,
    /// `None`: closed, or being processed right now.
    endpoints: Vec<Option<Hosted>>,
    /// How many of them are open.
    open_endpoints: usize,
    pulls_by_priority: bool,
    /// See [`Setup::reorder`].
    reorder: Option<Duration>,
    ranking: Ranking,
    pub(super) barriers: Barriers,
    pub(super) jobs: Jobs,
    /// In a part of a run: the hosts that belong to it.
    part: Option<part::Ownership>,
}

impl Senders for Hosts {
    fn return_address(&mut self, endpoint: EndpointId, from: Peer) -> Option<(Remote, &mut Stream)> {
        let Some(hosted) = &self.endpoints[endpoint as usize] else {
            self.undo("a switch sends a header back");
            return None;
        };
        let sender = hosted.place().remotes.get(from);
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
        let mut interfaces = Interfaces::new(&setup.graph, packet_bytes, setup.pull_pace);
        interfaces.particular |= setup.reorder.is_some();
        let takes_turns = setup.groups.iter().any(|group| group.transport.takes_turns());
        let turns = Turns::new(if takes_turns { interfaces.ports.len() } else { 0 });
        let stream = |host| random::substream(setup.seed, "spraying", u64::from(host));
        let random = (0..setup.graph.hosts).map(stream).collect();
        let barriers = Barriers::new(&setup.sessions, &setup.groups);
        let jobs = Jobs::new(&setup.sessions, &setup.groups);
        let pulls_by_priority = setup.pulls_by_priority;
        Self {
            random,
            interfaces,
            turns,
            endpoints: Vec::new(),
            open_endpoints: 0,
            pulls_by_priority,
            reorder: setup.reorder,
            ranking: Ranking::default(),
            barriers,
            jobs,
            part: None,
        }
    }

    /// The number of the endpoint that will be added next.
    pub(super) fn next_endpoint(&self) -> EndpointId {
        self.endpoints.len() as EndpointId
    }

    pub(super) fn add(&mut self, hosted: Hosted) {
        self.endpoints.push(Some(hosted));
        self.open_endpoints += 1;
    }

    /// How many interfaces all hosts have.
    pub(super) fn interfaces(&self) -> u32 {
        self.interfaces.ports.len() as u32
    }

    /// Of how many interfaces flows wait for their turn.
    pub(super) fn interfaces_with_turns(&self) -> u32 {
        self.turns.interfaces()
    }

    /// The first interface of a host.
    pub(super) fn interface(&self, host: u32) -> u32 {
        self.interfaces.first_of(host)
    }

    /// Lets `relay` send on what `receiver`, an endpoint on the same host, receives, as it arrives; so far nothing has.
    pub(super) fn relay(&mut self, receiver: EndpointId, relay: EndpointId, now: Time) {
        if let Some(upstream) = &mut self.endpoints[receiver as usize] {
            upstream.place_mut().feeds = Some(Feed::Relay(relay));
            if let Some(relay) = &mut self.endpoints[relay as usize] {
                relay.set_available(now, 0);
            }
        }
    }

    fn open(&self, endpoints: Range<EndpointId>) -> impl Iterator<Item = &Hosted> {
        self.endpoints[endpoints.start as usize..endpoints.end as usize].iter().flatten()
    }

    /// What the open ones among these endpoints wait for, human-readable.
    pub(super) fn states(&self, endpoints: Range<EndpointId>) -> String {
        let states = self.open(endpoints).map(|hosted| {
            let side = if hosted.place().receiver.is_some() { "receiver" } else { "sender" };
            format!("{side} h{} {}", hosted.place().host, hosted.waiting_for())
        });
        states.collect::<Vec<_>>().join("; ")
    }

    /// Bytes that the open ones among these endpoints have delivered to their applications.
    pub(super) fn delivered(&self, endpoints: Range<EndpointId>) -> u64 {
        let receivers = self.open(endpoints).filter(|hosted| hosted.place().receiver.is_some());
        receivers.map(|hosted| hosted.stats().bytes_delivered).sum()
    }

    /// Data packets received by the open ones among these endpoints that serve a given receiver of their session, or by their hosts for them.
    pub(super) fn received(&self, endpoints: Range<EndpointId>, receiver: u16) -> u64 {
        let receivers = self.open(endpoints).filter(|hosted| hosted.place().receiver == Some(receiver));
        let held = |hosted: &Hosted| hosted.place().resequencer.as_ref().map_or(0, |held| held.waiting() as u64);
        receivers.map(|hosted| hosted.stats().data_received + held(hosted)).sum()
    }

    /// The congestion window of the first open one among these endpoints that has one, in bytes.
    pub(super) fn congestion_window(&self, endpoints: Range<EndpointId>) -> Option<u64> {
        self.open(endpoints).find_map(Hosted::congestion_window)
    }

    /// All endpoints so far; `None`: closed.
    #[inline]
    pub(super) fn endpoints(&self) -> &[Option<Hosted>] {
        &self.endpoints
    }

    /// How many endpoints are open.
    pub(super) fn open_endpoints(&self) -> usize {
        self.open_endpoints
    }

    /// Asks for the memory of what a packet needs at its host besides its endpoint.
    #[inline]
    pub(super) fn prefetch_place(&self, fabric: &Fabric, hot: &Hot) {
        prefetch(&self.endpoints[hot.endpoint as usize]);
        if let Some(&port) = self.interfaces.ports.get(hot.destination as usize) {
            prefetch_lines(&fabric.ports()[port as usize], 0..4);
            prefetch(&self.random[hot.destination as usize]);
            prefetch(&self.interfaces.pulls[hot.destination as usize]);
        }
    }

    /// Asks for the memory of an endpoint.
    #[inline]
    pub(super) fn prefetch_endpoint(&self, endpoint: EndpointId) {
        if let Some(hosted) = &self.endpoints[endpoint as usize] {
            hosted.prefetch();
        }
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
        if hot.has(flag::PAUSE) {
            return fabric.heed_at_host(engine, port, id);
        }
        let header = *engine.packets.header(id);
        if self.interfaces.particular && self.notices(port, &hot) {
            return self.resequence(engine, fabric, ledger, id);
        }
        let seen = accept(engine, ledger, id, &hot);
        self.with_endpoint(engine, fabric, ledger, hot.endpoint, Arrive { packet: id, header, seen });
    }

    /// A packet comes to a host with several links, or to one that puts packets in order. Whether it does so with this one.
    #[inline]
    fn notices(&mut self, port: PortId, hot: &Hot) -> bool {
        let Some(hosted) = &mut self.endpoints[hot.endpoint as usize] else { return false };
        let place = hosted.place_mut();
        if self.interfaces.several {
            place.interface = self.interfaces.reached_by(port);
        }
        place.resequencer.is_some()
    }

    /// An endpoint's wake-up. Endpoints move their deadline on every packet, so the event may be early: timers are lazy.
    pub(super) fn timer_fires(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
    ) {
        if self.reorder.is_some() {
            self.release_overdue(engine, fabric, ledger, id);
        }
        let written = self.take_written(id, engine.now());
        self.with_endpoint(engine, fabric, ledger, id, Rarely::Fire { written });
        self.await_chunk(engine, id);
    }

    /// Lets an endpoint of a session that has just been opened send and set its timer.
    pub(super) fn start(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, id: EndpointId) {
        self.with_endpoint(engine, fabric, ledger, id, Rarely::Start);
    }

    /// Acts on an endpoint, then does what it asks for. Does nothing if it has closed.
    #[inline]
    fn with_endpoint(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        act: impl Act,
    ) {
        let Some(hosted) = self.endpoints[id as usize].take() else { return };
        let Place { interface, feeds, session, .. } = *hosted.place();
        let delivered = self.attend(engine, fabric, ledger, id, hosted, act);
        if self.ranking.has_changed() {
            self.tell_standings(engine, fabric, ledger);
        }
        if let Some(interface) = self.turns.take_joined() {
            self.give_turns(engine, fabric, ledger, interface);
        }
        match feeds.zip(delivered) {
            None => {}
            Some((Feed::Relay(relay), bytes)) => self.feed(engine, fabric, ledger, relay, bytes),
            Some((Feed::Client, bytes)) => self.feed_client(engine, ledger, session, bytes),
        }
        if !self.interfaces.pulls[interface as usize].is_empty() {
            self.pace(engine, fabric, ledger, interface);
        }
    }

    /// More of its object has arrived at a relay's host.
    fn feed(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, relay: EndpointId, bytes: u64) {
        self.with_endpoint(engine, fabric, ledger, relay, Rarely::Provide(bytes));
    }

    /// Grants the turns that are due in an interface's pull queue, and schedules the next.
    pub(super) fn pace(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger, interface: u32) {
        let now = engine.now();
        while let Some(id) = self.interfaces.pulls[interface as usize].poll(now) {
            let Some(mut hosted) = self.endpoints[id as usize].take() else {
                self.interfaces.pulls[interface as usize].refund(now);
                continue;
            };
            let place = hosted.place_mut();
            place.pulling = None;
            let at = place.interface;
            self.attend(engine, fabric, ledger, id, hosted, Turn { interface });
            if self.ranking.has_changed() {
                self.tell_standings(engine, fabric, ledger);
            }
            if at != interface {
                // Its last packet arrived through another interface, and it queues there now.
                self.wake_pacer(engine, at);
            }
        }
        self.wake_pacer(engine, interface);
    }

    /// Schedules the next turn in an interface's pull queue, if an endpoint waits there.
    pub(super) fn wake_pacer(&self, engine: &mut Engine, interface: u32) {
        if let Some(next) = self.interfaces.pulls[interface as usize].poll_timeout() {
            let pacer = engine.entities.pacer(interface);
            if engine.pending.wheel.due(pacer).is_none() {
                engine.pending.wheel.schedule(pacer, next.ps().max(engine.now));
            }
        }
    }
}

/// A packet is its endpoint's from now on.
#[inline]
fn accept(engine: &mut Engine, ledger: &mut Ledger, id: PacketId, hot: &Hot) -> Seen {
    engine.packets.remove(id);
    ledger.packet_delivered(hot.has(flag::TRIMMED));
    engine.trace_delivery(hot.endpoint, hot.size);
    Seen { from: hot.from, trimmed: hot.has(flag::TRIMMED), ce: hot.has(flag::CE), returned: hot.has(flag::RETURNED) }
}
