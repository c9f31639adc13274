//! Opening and closing transfers, and what is remembered of them.

use super::{Multicast, Network};
use crate::fabric::graph::PortId;
use crate::fabric::multicast::MulticastGroup;
use crate::fabric::routing::Routes;
use crate::host::path::PathPicker;
use crate::host::stack::Stack;
use crate::host::{EndpointId, Hosted, Remote, Remotes};
use crate::measure::ideal::Way;
use crate::random;
use crate::transport::Transport;
use crate::workload::{Mode, Session};
use anabranch_transport::{Bytes, Event, FailureReason, Peer, Stats, Time};
use std::fmt::Write as _;

/// What one receiver of a session saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverRow {
    /// When the whole object was available to the application.
    pub completed: Option<Time>,
    /// Counters of the receiving endpoint.
    pub stats: Stats,
    /// What its sender did when it held the other receivers back.
    pub straggler: Option<Straggler>,
    /// Nobody is left who could complete it: an endpoint that it needs has given up.
    pub lost: bool,
    /// Number of its [way](Network::way).
    pub(super) way: u32,
}

impl ReceiverRow {
    /// Whether the run still waits for it, if it waits for its session.
    fn is_open(&self) -> bool {
        self.completed.is_none() && self.straggler != Some(Straggler::Dropped)
    }
}

/// What became of a receiver that held a one-to-many session back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Straggler {
    /// It left the multicast group and was served by a unicast session of its own.
    Detached,
    /// It was given up: the session ended without it.
    Dropped,
}

impl Straggler {
    /// As in the result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detached => "detached",
            Self::Dropped => "dropped",
        }
    }
}

/// What is remembered of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// One for each sink.
    pub receivers: Vec<ReceiverRow>,
    /// Counters of the sending endpoints, added up.
    pub sent: Stats,
    /// Data packets that switches trimmed.
    pub packets_trimmed: u64,
    /// Packets of any kind that switches dropped.
    pub packets_dropped: u64,
    /// Why it will never finish, if an endpoint gave up.
    pub failure: Option<String>,
    /// Host that actually sent to each receiver.
    pub senders: Vec<u32>,
    /// Connections that must complete before a receiver has its object: more than one where several sources send parts.
    pub(super) parts: u16,
    open_endpoints: u32,
    /// Its multicast groups: one more each time that a receiver leaves, for packets on their way keep theirs.
    groups: Vec<u32>,
    first_endpoint: EndpointId,
    endpoints: u32,
}

/// One connection of a session.
#[derive(Clone, Copy)]
pub(super) struct Leg {
    /// Sending host.
    pub(super) from: u32,
    /// Receiving host.
    pub(super) to: u32,
    /// Which receiver of the session that is.
    pub(super) row: u16,
    /// What it carries.
    pub(super) size: Option<Bytes>,
}

impl Network {
    pub(super) fn schedule_controls(&mut self) {
        if let Some(first) = self.specs.first() {
            self.wheel.schedule(self.entities.next_session, first.start.ps());
        }
        if let Some((time, _)) = self.changes.first() {
            self.wheel.schedule(self.entities.next_change, time.ps());
        }
        if self.sampling.interval.ps() > 0 {
            self.wheel.schedule(self.entities.sampler, self.sampling.interval.ps());
        }
    }

    /// Opens every session whose time has come, and schedules the next.
    pub(super) fn open_sessions(&mut self) {
        while let Some(spec) = self.specs.get(self.sessions.len()) {
            if spec.start.ps() > self.now {
                self.wheel.schedule(self.entities.next_session, spec.start.ps());
                return;
            }
            let spec = spec.clone();
            self.open(&spec);
        }
    }

    fn open(&mut self, spec: &Session) {
        let session = self.sessions.len() as u32;
        let first_endpoint = self.endpoints.len() as EndpointId;
        self.sessions.push(SessionRow {
            receivers: vec![ReceiverRow::default(); spec.sinks.len()],
            sent: Stats::default(),
            packets_trimmed: 0,
            packets_dropped: 0,
            failure: None,
            senders: vec![spec.sources[0]; spec.sinks.len()],
            parts: 1,
            open_endpoints: 0,
            groups: Vec::new(),
            first_endpoint,
            endpoints: 0,
        });
        let transport = self.groups[usize::from(spec.group)].transport.clone();
        // One sender and one receiver need no group: "unicast is a specialisation" (thesis, chapter 3).
        let opened = match spec.mode {
            Mode::OneToMany if spec.sinks.len() > 1 => self.open_one_to_many(session, spec, &transport),
            Mode::ManyToOne if spec.sources.len() > 1 => self.open_many_to_one(session, spec, &transport),
            Mode::Unicast | Mode::OneToMany | Mode::ManyToOne => false,
        };
        if !opened {
            self.open_fallback(session, spec, &transport);
        }
        let row = &mut self.sessions[session as usize];
        row.endpoints = self.endpoints.len() as u32 - first_endpoint;
        self.note_ways(session, spec);
        if let Some(supply) = &spec.supply {
            self.supply(first_endpoint, supply.clone(), spec.size, &transport);
        }
        // Receivers are passive until spoken to, so the order of waking does not matter.
        for id in first_endpoint..self.endpoints.len() as EndpointId {
            self.with_endpoint(id, |_, _| {});
        }
        if spec.supply.is_some() {
            self.await_supply(first_endpoint);
        }
    }

    /// Remembers the ways to the receivers of a session that begins now. One that nothing leads to at the moment has its
    /// way in the fabric as it was built.
    fn note_ways(&mut self, session: u32, spec: &Session) {
        for (r, &sink) in spec.sinks.iter().enumerate() {
            let sender = self.sessions[session as usize].senders[r];
            let sources = if spec.mode == Mode::ManyToOne { &spec.sources[..] } else { &[sender] };
            let now = self.routes.ideal_path(&self.graph, |port| self.ports[port as usize].rate(), sender, sink);
            let way = if now.is_empty() {
                let whole = self.whole.get_or_init(|| Routes::build(&self.graph, |_| true));
                let rate = |port: PortId| self.graph.links[(port / 2) as usize].rate;
                let path = whole.ideal_path(&self.graph, rate, sender, sink);
                Way { path, ways: self.disjoint_ways(whole, sources, sink) }
            } else {
                Way { path: now, ways: self.disjoint_ways(&self.routes, sources, sink) }
            };
            self.sessions[session as usize].receivers[r].way = self.ideals.number(way);
        }
    }

    /// Opens one connection; returns its sender and its receiver.
    pub(super) fn open_unicast(
        &mut self,
        session: u32,
        spec: &Session,
        transport: &Transport,
        leg: Leg,
    ) -> (EndpointId, EndpointId) {
        let first = self.endpoints.len() as EndpointId;
        let seed = self.endpoint_seed(first);
        let flow = self.groups[usize::from(spec.group)].flow(leg.size);
        let (sender, receiver) = transport.unicast(flow, Time(self.now), seed);
        let to_receiver = Remotes::One(Remote { host: leg.to, endpoint: first + 1, from: 0 });
        let to_sender = Remotes::One(Remote { host: leg.from, endpoint: first, from: 0 });
        self.add(session, spec, leg.from, None, sender, to_receiver, None);
        self.add(session, spec, leg.to, Some(leg.row), receiver, to_sender, None);
        (first, first + 1)
    }

    /// False if the transport has no such sessions.
    fn open_one_to_many(&mut self, session: u32, spec: &Session, transport: &Transport) -> bool {
        let (source, sinks) = (spec.sources[0], &spec.sinks);
        let first = self.endpoints.len() as EndpointId;
        let group = self.multicast.len() as u32;
        let seed = self.endpoint_seed(first);
        let Some((sender, receivers)) = transport.one_to_many(spec.size, sinks.len() as u16, seed) else {
            return false;
        };
        let remotes = sinks.iter().zip(first + 1..).map(|(&host, endpoint)| Remote { host, endpoint, from: 0 });
        self.add(session, spec, source, None, sender, Remotes::Many(remotes.collect()), Some(group));
        for (row, (&sink, receiver)) in sinks.iter().zip(receivers).enumerate() {
            let hub = Remote { host: source, endpoint: first, from: row as Peer };
            self.add(session, spec, sink, Some(row as u16), receiver, Remotes::One(hub), None);
        }
        let mut members: Vec<_> = sinks.iter().copied().zip(first + 1..).collect();
        members.sort_unstable();
        self.install(session, members);
        true
    }

    /// Installs a multicast group of a session. `receivers` by host.
    fn install(&mut self, session: u32, receivers: Vec<(u32, EndpointId)>) -> u32 {
        let id = self.multicast.len() as u32;
        let group = self.trees(session, &receivers);
        self.multicast.push(Some(Box::new(Multicast { group, receivers })));
        self.sessions[session as usize].groups.push(id);
        id
    }

    /// The sender of a one-to-many session goes on without one of its receivers in the group. Packets that are on their
    /// way to the old group reach that receiver, too: it has asked for them.
    fn leave_group(&mut self, hosted: &mut Hosted, leaver: EndpointId) {
        let Some(old) = hosted.group else { return };
        let Some(members) = self.multicast[old as usize].as_ref().map(|m| &m.receivers) else { return };
        let members = members.iter().copied().filter(|m| m.1 != leaver).collect();
        hosted.group = Some(self.install(hosted.session, members));
    }

    /// The trees of a one-to-many session to these receivers over the links that work now.
    fn trees(&self, session: u32, receivers: &[(u32, EndpointId)]) -> MulticastGroup {
        let hash = random::mix(self.seed ^ random::mix(u64::from(session)));
        let (source, trees) = (self.specs[session as usize].sources[0], self.multicast_trees);
        let sinks: Vec<u32> = receivers.iter().map(|r| r.0).collect();
        MulticastGroup::build(&self.graph, &self.routes, source, &sinks, trees, hash)
    }

    /// Installs the trees of all open groups again, after a change of the links that work.
    pub(super) fn reinstall_trees(&mut self) {
        for session in 0..self.sessions.len() as u32 {
            for group in self.sessions[session as usize].groups.clone() {
                if let Some(mut installed) = self.multicast[group as usize].take() {
                    installed.group = self.trees(session, &installed.receivers);
                    self.multicast[group as usize] = Some(installed);
                }
            }
        }
    }

    /// False if the transport has no such sessions.
    fn open_many_to_one(&mut self, session: u32, spec: &Session, transport: &Transport) -> bool {
        let (sink, sources) = (spec.sinks[0], &spec.sources);
        let first = self.endpoints.len() as EndpointId;
        let seed = self.endpoint_seed(first);
        let Some((senders, receiver)) = transport.many_to_one(spec.size, sources.len() as u16, seed) else {
            return false;
        };
        let remotes = sources.iter().zip(first + 1..).map(|(&host, endpoint)| Remote { host, endpoint, from: 0 });
        self.add(session, spec, sink, Some(0), receiver, Remotes::Many(remotes.collect()), None);
        for (index, (&source, sender)) in sources.iter().zip(senders).enumerate() {
            let hub = Remote { host: sink, endpoint: first, from: index as Peer };
            self.add(session, spec, source, None, sender, Remotes::One(hub), None);
        }
        true
    }

    fn endpoint_seed(&self, id: EndpointId) -> u64 {
        random::mix(random::mix(self.seed) ^ u64::from(id))
    }

    #[expect(clippy::too_many_arguments, reason = "the wiring of an endpoint, used three times above")]
    fn add(
        &mut self,
        session: u32,
        spec: &Session,
        host: u32,
        receiver: Option<u16>,
        stack: Stack,
        remotes: Remotes,
        group: Option<u32>,
    ) {
        let id = self.endpoints.len() as EndpointId;
        let (mode, class) = (self.groups[usize::from(spec.group)].path, self.groups[usize::from(spec.group)].class);
        // A hub's nearest remote may be in its own rack, with a single path; a group's packets choose among trees, too.
        let paths = remotes.all().iter().map(|r| self.routes.path_count(host, r.host)).max().unwrap_or(0);
        let paths = paths.max(group.map_or(0, |_| self.multicast_trees));
        let random = &mut self.hosts[host as usize].random;
        let path = PathPicker::new(mode, paths, remotes.get(0).host, random);
        let interface = self.hosts[host as usize].interface;
        let hosted = Hosted {
            stack,
            host,
            interface,
            session,
            receiver,
            remotes,
            feeds: None,
            failed: false,
            completed: false,
            supply: None,
            group,
            class,
            path,
            pulling: false,
        };
        self.endpoints.push(Some(Box::new(hosted)));
        self.endpoint_session.push(session);
        self.sessions[session as usize].open_endpoints += 1;
        self.wheel.grow((self.entities.timers + id + 1) as usize);
    }

    /// An endpoint reports. False if it has closed.
    pub(super) fn note(&mut self, hosted: &mut Hosted, event: Event) -> bool {
        match event {
            Event::Completed { at } => {
                hosted.completed = true;
                let row = &mut self.sessions[hosted.session as usize];
                if let Some(receiver) = hosted.receiver
                    && row.receivers[usize::from(receiver)].completed.is_none()
                {
                    if row.parts > 1 {
                        row.parts -= 1;
                        return true;
                    }
                    let row = &mut row.receivers[usize::from(receiver)];
                    let waited_for = row.is_open();
                    row.completed = Some(at);
                    // What was taken for lost was late.
                    row.straggler.take_if(|s| *s == Straggler::Dropped);
                    self.last_completion = self.last_completion.max(at.ps());
                    if waited_for {
                        self.wait_no_more(hosted.session, receiver);
                    }
                }
                true
            }
            Event::PeerDetached(peer) => {
                self.leave_group(hosted, hosted.remotes.get(peer).endpoint);
                let row = &mut self.sessions[hosted.session as usize].receivers[usize::from(peer)];
                row.straggler = Some(Straggler::Detached);
                true
            }
            Event::PeerDropped(peer) => {
                // A receiver that is gone has everything.
                let Some(peer) = self.row_of(hosted, peer) else { return true };
                let row = &mut self.sessions[hosted.session as usize].receivers[usize::from(peer)];
                // It may have everything, and its word of it be on the way.
                if row.is_open() {
                    row.straggler = Some(Straggler::Dropped);
                    self.wait_no_more(hosted.session, peer);
                }
                true
            }
            // A receiver that was given up: its row says so already.
            Event::Failed(FailureReason::GivenUp) | Event::Closed => false,
            Event::Failed(reason) => {
                let side = if hosted.receiver.is_some() { "receiver" } else { "sender" };
                let message = format!("{side} on h{}: {reason}", hosted.host);
                self.sessions[hosted.session as usize].failure.get_or_insert(message);
                hosted.failed = true;
                false
            }
            Event::Connected | Event::PeerCompleted(_) => true,
        }
    }

    /// Which receiver of its session a sender knows as `peer`: of several connections each has one receiver, number 0.
    fn row_of(&self, hosted: &Hosted, peer: Peer) -> Option<Peer> {
        match &hosted.remotes {
            Remotes::Many(_) => Some(peer),
            Remotes::One(remote) => self.endpoints[remote.endpoint as usize].as_ref().and_then(|r| r.receiver),
        }
    }

    /// An endpoint is gone: keeps its counters and, with the last one of a session, frees the multicast group.
    pub(super) fn close(&mut self, id: EndpointId, hosted: &Hosted) {
        self.wheel.cancel(self.entities.timers + id);
        self.keep_stats(hosted);
        if hosted.failed {
            self.give_up_receivers_of(id, hosted);
        }
        let row = &mut self.sessions[hosted.session as usize];
        row.open_endpoints -= 1;
        if row.open_endpoints == 0 {
            for group in std::mem::take(&mut row.groups) {
                self.multicast[group as usize] = None;
            }
        }
    }

    /// The run no longer waits for a receiver of a session: it is complete, or was given up.
    fn wait_no_more(&mut self, session: u32, receiver: u16) {
        let awaited = u64::from(self.awaited(session));
        let row = &mut self.sessions[session as usize].receivers[usize::from(receiver)];
        self.never_complete -= u64::from(std::mem::take(&mut row.lost)) * awaited;
        self.unfinished -= awaited;
    }

    /// An endpoint has given up: of the receivers that need it, those that nobody else serves will never be complete.
    fn give_up_receivers_of(&mut self, id: EndpointId, hosted: &Hosted) {
        if hosted.receiver.is_some() {
            return self.lose(id, hosted);
        }
        for receiver in hosted.remotes.all().iter().map(|remote| remote.endpoint) {
            let row = &self.sessions[hosted.session as usize];
            let mut others = row.first_endpoint..row.first_endpoint + row.endpoints;
            let serves = |other: &Hosted| {
                other.receiver.is_none() && other.remotes.all().iter().any(|remote| remote.endpoint == receiver)
            };
            if others.any(|other| other != id && self.endpoints[other as usize].as_deref().is_some_and(serves)) {
                continue;
            }
            if let Some(left) = self.endpoints[receiver as usize].take() {
                self.lose(receiver, &left);
                self.endpoints[receiver as usize] = Some(left);
            }
        }
    }

    /// A receiving endpoint will never have its object, if it has not got it, nor will those that it passes it on to.
    fn lose(&mut self, id: EndpointId, hosted: &Hosted) {
        if hosted.completed {
            return;
        }
        let awaited = self.awaited(hosted.session);
        let Some(receiver) = hosted.receiver else { return };
        let row = &mut self.sessions[hosted.session as usize].receivers[usize::from(receiver)];
        if row.is_open() && !row.lost {
            row.lost = true;
            self.never_complete += u64::from(awaited);
        }
        let Some(relay) = hosted.feeds.filter(|&relay| relay != id) else { return };
        if let Some(relay_end) = self.endpoints[relay as usize].take() {
            self.give_up_receivers_of(relay, &relay_end);
            self.endpoints[relay as usize] = Some(relay_end);
        }
    }

    fn keep_stats(&mut self, hosted: &Hosted) {
        let stats = hosted.stack.stats();
        let row = &mut self.sessions[hosted.session as usize];
        if let Some(receiver) = hosted.receiver {
            row.receivers[usize::from(receiver)].stats += stats;
        } else {
            row.sent += stats;
        }
    }

    /// Collects the counters of the endpoints that are still open. Call once, at the end.
    pub fn finish(&mut self) {
        self.sample_at_the_end();
        for id in 0..self.endpoints.len() {
            if let Some(hosted) = self.endpoints[id].take() {
                self.keep_stats(&hosted);
            }
        }
    }

    /// Which sessions wait for what: the first few, for a person.
    pub(super) fn who_waits(&self) -> String {
        const SHOWN: usize = 8;
        let waits = |&s: &usize| self.awaited(s as u32) && self.sessions[s].receivers.iter().any(ReceiverRow::is_open);
        let waiting: Vec<usize> = (0..self.sessions.len()).filter(waits).collect();
        let unopened = self.specs.len() - self.sessions.len();
        let mut text = format!("{} of {} sessions are not finished", waiting.len() + unopened, self.specs.len());
        for &s in waiting.iter().take(SHOWN) {
            let (row, spec) = (&self.sessions[s], &self.specs[s]);
            let _ = write!(text, "\n  session {s} (h{} -> h{}): ", row.senders[0], spec.sinks[0]);
            if let Some(failure) = &row.failure {
                let _ = write!(text, "gave up, {failure}");
                continue;
            }
            let range = row.first_endpoint as usize..(row.first_endpoint + row.endpoints) as usize;
            let states = self.endpoints[range].iter().flatten().map(|hosted| {
                let side = if hosted.receiver.is_some() { "receiver" } else { "sender" };
                format!("{side} h{} {}", hosted.host, hosted.stack.waiting_for())
            });
            text.push_str(&states.collect::<Vec<_>>().join("; "));
        }
        if waiting.len() > SHOWN {
            let _ = write!(text, "\n  and {} more", waiting.len() - SHOWN);
        }
        if unopened > 0 {
            let _ = write!(text, "\n  {unopened} sessions had not started");
        }
        text
    }

    /// Whether the end of the run waits for a session.
    fn awaited(&self, session: u32) -> bool {
        let spec = &self.specs[session as usize];
        self.groups[usize::from(spec.group)].awaits(spec)
    }

    /// The application stops a session: its endpoints are gone, and what still comes for them is ignored.
    pub(super) fn end(&mut self, session: u32) {
        let Some(row) = self.sessions.get(session as usize) else { return };
        for id in row.first_endpoint..row.first_endpoint + row.endpoints {
            if let Some(mut hosted) = self.endpoints[id as usize].take() {
                self.note(&mut hosted, Event::Completed { at: Time(self.now) });
                self.close(id, &hosted);
            }
        }
    }

    /// Bytes that the receivers of a session have delivered to their applications.
    pub(super) fn delivered(&self, session: usize) -> u64 {
        let row = &self.sessions[session];
        let closed: u64 = row.receivers.iter().map(|r| r.stats.bytes_delivered).sum();
        let range = row.first_endpoint as usize..(row.first_endpoint + row.endpoints) as usize;
        let open = self.endpoints[range].iter().flatten().filter(|hosted| hosted.receiver.is_some());
        closed + open.map(|hosted| hosted.stack.stats().bytes_delivered).sum::<u64>()
    }

    /// The congestion window of a session's first sender, in bytes, if its transport has one.
    pub(super) fn congestion_window(&self, session: u32) -> Option<u64> {
        let row = self.sessions.get(session as usize)?;
        let range = row.first_endpoint as usize..(row.first_endpoint + row.endpoints) as usize;
        self.endpoints[range].iter().flatten().find_map(|hosted| match &hosted.stack {
            Stack::Tcp(connection) => connection.cwnd(),
            _ => None,
        })
    }
}
