//! Opens sessions: creates their endpoints, connects them, and installs multicast groups.

use super::engine::Engine;
use super::fabric::{Fabric, Manner};
use super::fallback::Fallback;
use super::hosts::Hosts;
use super::ledger::Ledger;
use super::session_group::SessionGroup;
use crate::capture::Party;
use crate::fabric::ideal::Pieces;
use crate::host::application::Application;
use crate::host::protocol::Transport;
use crate::host::stack::Stack;
use crate::host::{EndpointId, Hosted, Place, Remote, Remotes};
use crate::random;
use crate::workload::{Connections, Mode, Session};
use anabranch_transport::{Bytes, Peer};

mod unicast;

pub(crate) use unicast::sizes;

/// A session that is being opened, and the state needed for that.
pub(super) struct Opening<'a> {
    pub(super) engine: &'a mut Engine,
    pub(super) fabric: &'a mut Fabric,
    pub(super) hosts: &'a mut Hosts,
    pub(super) ledger: &'a mut Ledger,
    /// The run's seed.
    pub(super) seed: u64,
    /// The session's number.
    pub(super) session: u32,
    pub(super) spec: &'a Session,
    pub(super) transport: &'a Transport,
}

/// One connection of a session.
#[derive(Clone, Copy)]
struct Leg {
    /// Sending host.
    from: u32,
    /// Receiving host.
    to: u32,
    /// Index of the receiver within the session.
    row: u16,
    /// Bytes that it carries.
    size: Option<Bytes>,
}

/// Records the ideal paths to the receivers of a session, in the fabric's current state.
pub(super) fn note_ideal_paths(fabric: &Fabric, ledger: &mut Ledger, session: u32) {
    for r in 0..ledger.row(session).senders.len() {
        let (spec, sender) = (&ledger.specs()[session as usize], ledger.row(session).senders[r]);
        let group = ledger.group_of(spec);
        let path = fabric.ideal_path(sender, sources(group, spec, &sender), spec.sinks[r], manner(fabric, group, spec));
        ledger.set_ideal_path(session, r, path, fabric.changes());
    }
}

/// Whether the transport carries a session with several senders or receivers as one.
fn is_group(group: &SessionGroup, spec: &Session) -> bool {
    let several = match spec.mode {
        Mode::Unicast => false,
        Mode::OneToMany => spec.sinks.len() > 1,
        Mode::ManyToOne => spec.sources.len() > 1,
    };
    several && group.transport.has_group_sessions(spec.mode)
}

/// Whether several senders send parts of the object.
fn is_partitioned(group: &SessionGroup, spec: &Session) -> bool {
    spec.mode == Mode::ManyToOne && !is_group(group, spec) && group.fallback == Some(Fallback::Partition)
}

/// Who sends to a receiver, with `sender` alone if it is not all.
pub(super) fn sources<'a>(group: &SessionGroup, spec: &'a Session, sender: &'a u32) -> &'a [u32] {
    let all = spec.mode == Mode::ManyToOne && (is_group(group, spec) || is_partitioned(group, spec));
    if all { &spec.sources } else { std::slice::from_ref(sender) }
}

/// How the packets of a session use the fabric.
pub(super) fn manner(fabric: &Fabric, group: &SessionGroup, spec: &Session) -> Manner {
    let (in_group, partitioned) = (is_group(group, spec), is_partitioned(group, spec));
    let scheme = fabric.schemes().of(group.routing);
    let several = in_group || partitioned || group.transport.divides();
    // What the application provides little by little leaves in packets of any length, and so does what is passed on.
    let chained = spec.mode == Mode::OneToMany && !in_group && group.fallback == Some(Fallback::DaisyChain);
    let kept = group.barrier.as_ref().is_some_and(|barrier| barrier.connections == Connections::Kept);
    let pieces = if partitioned || chained || kept || spec.supply.is_some() {
        Pieces::Any
    } else if group.transport.divides() || in_group && spec.mode == Mode::ManyToOne {
        Pieces::AnyOrder
    } else {
        Pieces::InOrder
    };
    let lanes = if scheme.one_path() && !several && !group.transport.sprays() { 1 } else { u32::MAX };
    Manner { lanes, pieces, shortest: scheme.shortest() }
}

/// Opens a session that has arrived and may begin, in a run with this seed.
pub(super) fn open(
    engine: &mut Engine,
    fabric: &mut Fabric,
    hosts: &mut Hosts,
    ledger: &mut Ledger,
    seed: u64,
    session: u32,
) {
    let (specs, groups) = ledger.shared();
    let spec = &specs[session as usize];
    let transport = &groups[usize::from(spec.group)].transport;
    Opening { engine, fabric, hosts, ledger, seed, session, spec, transport }.open();
}

/// Whether a session of this group uses a multicast group, which all switches on its trees must know.
fn is_multicast(group: &SessionGroup, spec: &Session) -> bool {
    spec.mode == Mode::OneToMany && is_group(group, spec)
}

/// In a part of a run: the number of endpoints of a session, if none of it is opened here.
pub(super) fn elsewhere(hosts: &Hosts, group: &SessionGroup, spec: &Session) -> Option<u32> {
    let concerns = spec.sources.iter().chain(&spec.sinks).any(|&host| hosts.owns(host)) || is_multicast(group, spec);
    (!concerns).then(|| endpoints(group, spec))
}

/// How many endpoints of a session send.
fn senders(group: &SessionGroup, spec: &Session) -> u16 {
    if is_multicast(group, spec) {
        1
    } else if spec.mode == Mode::ManyToOne && is_group(group, spec) {
        spec.sources.len() as u16
    } else {
        unicast::connections(group.fallback, spec) as u16
    }
}

/// How many endpoints a session has.
fn endpoints(group: &SessionGroup, spec: &Session) -> u32 {
    if is_multicast(group, spec) {
        1 + spec.sinks.len() as u32
    } else if spec.mode == Mode::ManyToOne && is_group(group, spec) {
        1 + spec.sources.len() as u32
    } else {
        2 * unicast::connections(group.fallback, spec)
    }
}

impl Opening<'_> {
    /// Creates the endpoints and starts them.
    pub(super) fn open(mut self) {
        let first = self.hosts.next_endpoint();
        // One sender and one receiver need no group: "unicast is a specialisation" (thesis, chapter 3).
        let opened = match self.spec.mode {
            Mode::OneToMany if self.spec.sinks.len() > 1 => self.open_one_to_many(),
            Mode::ManyToOne if self.spec.sources.len() > 1 => self.open_many_to_one(),
            Mode::Unicast | Mode::OneToMany | Mode::ManyToOne => false,
        };
        if !opened {
            self.open_connections();
        }
        debug_assert_eq!(self.hosts.next_endpoint(), first + endpoints(self.ledger.group_of(self.spec), self.spec));
        if self.hosts.owns(self.spec.sources[0]) {
            note_ideal_paths(self.fabric, self.ledger, self.session);
        } else {
            self.ledger.leave_row();
        }
        self.hosts.jobs.opened(self.session, senders(self.ledger.group_of(self.spec), self.spec));
        if let Some(fragment) = self.hosts.barriers.fragment(self.session) {
            let payload = self.transport.object(self.transport.packet_bytes());
            self.hosts.await_blocks(first, fragment, payload, self.engine.now());
        }
        if let Some(supply) = &self.spec.supply {
            let (now, random) = (self.engine.now(), random::stream(supply.seed, "volumes"));
            let application = Application::new(supply.clone(), self.spec.size, self.transport, now, random);
            self.hosts.set_application(first, application, now);
        }
        // Receivers are passive until a packet arrives, so the order of waking does not matter.
        for id in first..self.hosts.next_endpoint() {
            self.hosts.start(self.engine, self.fabric, self.ledger, id);
        }
        if self.spec.supply.is_some() {
            self.hosts.await_chunk(self.engine, first);
        }
    }

    /// Opens one connection; returns its sender and its receiver.
    fn open_unicast(&mut self, leg: Leg) -> (EndpointId, EndpointId) {
        let first = self.hosts.next_endpoint();
        let seed = self.endpoint_seed(first);
        let routes = self.fabric.routes();
        let (paths, links) = (routes.path_count(leg.from, leg.to), routes.hop_count(leg.from, leg.to));
        let held = self.engine.now().since(self.spec.start);
        let flow = self.ledger.group_of(self.spec).flow(leg.size, held, links.saturating_sub(1), paths);
        let (sender, receiver) = self.transport.unicast(flow, self.engine.now(), seed);
        let to_receiver = Remotes::One(Remote { host: leg.to, endpoint: first + 1, from: 0 });
        let to_sender = Remotes::One(Remote { host: leg.from, endpoint: first, from: 0 });
        self.add(leg.from, None, sender, to_receiver, None);
        self.add(leg.to, Some(leg.row), receiver, to_sender, None);
        (first, first + 1)
    }

    /// False if the transport has no such sessions.
    fn open_one_to_many(&mut self) -> bool {
        let (source, sinks) = (self.spec.sources[0], &self.spec.sinks);
        let first = self.hosts.next_endpoint();
        let seed = self.endpoint_seed(first);
        let Some((sender, receivers)) = self.transport.one_to_many(self.spec.size, sinks.len() as u16, seed) else {
            return false;
        };
        let mut members: Vec<_> = sinks.iter().copied().zip(first + 1..).collect();
        members.sort_unstable();
        let group = self.install(members);
        let remotes = sinks.iter().zip(first + 1..).map(|(&host, endpoint)| Remote { host, endpoint, from: 0 });
        self.add(source, None, sender, Remotes::Many(remotes.collect()), Some(group));
        for (row, (&sink, receiver)) in sinks.iter().zip(receivers).enumerate() {
            let hub = Remote { host: source, endpoint: first, from: row as Peer };
            self.add(sink, Some(row as u16), receiver, Remotes::One(hub), None);
        }
        true
    }

    /// Installs the session's multicast group. `receivers` are sorted by host.
    fn install(&mut self, receivers: Vec<(u32, EndpointId)>) -> u32 {
        let hash = random::mix(self.seed ^ random::mix(u64::from(self.session)));
        let group = self.fabric.install(self.spec.sources[0], hash, receivers);
        self.ledger.add_group(self.session, group);
        group
    }

    /// False if the transport has no such sessions.
    fn open_many_to_one(&mut self) -> bool {
        let (sink, sources) = (self.spec.sinks[0], &self.spec.sources);
        let first = self.hosts.next_endpoint();
        let seed = self.endpoint_seed(first);
        let Some((senders, receiver)) = self.transport.many_to_one(self.spec.size, sources.len() as u16, seed) else {
            return false;
        };
        let remotes = sources.iter().zip(first + 1..).map(|(&host, endpoint)| Remote { host, endpoint, from: 0 });
        self.add(sink, Some(0), receiver, Remotes::Many(remotes.collect()), None);
        for (index, (&source, sender)) in sources.iter().zip(senders).enumerate() {
            let hub = Remote { host: sink, endpoint: first, from: index as Peer };
            self.add(source, None, sender, Remotes::One(hub), None);
        }
        true
    }

    fn endpoint_seed(&self, id: EndpointId) -> u64 {
        random::mix(random::mix(self.seed) ^ u64::from(id))
    }

    /// Adds an endpoint to its host.
    fn add(&mut self, host: u32, receiver: Option<u16>, stack: Stack, remotes: Remotes, group: Option<u32>) {
        let id = self.hosts.next_endpoint();
        self.ledger.add_endpoint(self.session);
        if !self.hosts.owns(host) {
            return self.hosts.add_elsewhere(1);
        }
        self.engine.add_timer(id);
        let of = self.ledger.group_of(self.spec);
        let (mode, class) = (of.routing, of.class);
        let paths = self.hosts.paths(self.fabric, mode, host, &remotes, group, stack.subflows());
        self.fabric.introduce(&Party {
            host,
            session: self.session,
            receives: receiver.is_some(),
            subflows: stack.subflows(),
            workload: self.spec.group,
            port: of.port,
            transport: &of.transport,
            remotes: &remotes,
        });
        let interface = self.hosts.interface(host);
        let place = Place {
            host,
            interface,
            leaves_by: interface,
            session: self.session,
            receiver,
            remotes,
            feeds: None,
            failed: false,
            in_turn: false,
            completed: false,
            application: None,
            group,
            class,
            paths,
            pulling: None,
            resequencer: self.hosts.resequencer(receiver.is_some() && of.transport.ordered()),
        };
        self.hosts.add(Hosted::new(stack, place));
    }
}
