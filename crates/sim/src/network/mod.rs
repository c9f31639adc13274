//! A run: fabric, hosts, sessions and the event loop that joins them.
//!
//! [`Network`] owns everything that moves. Its parts: this file (state and event loop), `forward` (what happens to a
//! packet between hosts), `hosts` (what happens at hosts), `sessions` (opening and closing transfers), `supply`
//! (objects that become available little by little), `control` (failures and sampling).

mod control;
mod fallback;
mod forward;
mod hosts;
mod sessions;
mod supply;

use crate::engine::arena::Arena;
use crate::engine::periodic::Periodic;
use crate::engine::wheel::Wheel;
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::jitter::Jitter;
use crate::fabric::multicast;
use crate::fabric::port::Port;
use crate::fabric::queue::{Queue, fair::Fair, nic::Nic, relay::Relay};
use crate::fabric::routing::{Routes, disjoint_paths};
use crate::host::path::PathMode;
use crate::host::stack::Header;
use crate::host::{EndpointId, Host, Hosted};
use crate::measure::ideal::{Way, Ways};
use crate::random;
use crate::transport::Transport;
use crate::workload::{Fallback, Session};
use anabranch_transport::pull::PullQueue;
use anabranch_transport::tcp::FlowSpec;
use anabranch_transport::units::PS_PER_S;
use anabranch_transport::{Bytes, Duration, Rate, Time};
pub use control::{Change, Sample, Sampling, Target};
use rand::Rng as _;
pub use sessions::{ReceiverRow, SessionRow, Straggler};
use std::cell::OnceCell;
use std::sync::Arc;

/// Bytes of a sample, from when it is taken until it is written: here, in a list that doubles when it is full, and in the
/// columns of its table.
pub const SAMPLE_BYTES: u64 = 3 * size_of::<Sample>() as u64;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// When every awaited session is complete at all its receivers.
    Foreground,
    /// When nothing is left to happen: lingering endpoints have closed and every packet has arrived.
    Idle,
    /// At the time limit.
    Limit,
}

/// A group of sessions with something in common: one `[[workload]]` of a scenario.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name, for the result tables.
    pub name: String,
    /// The transport that its sessions run on.
    pub transport: Transport,
    /// How its packets find their paths.
    pub path: PathMode,
    /// Class of its packets, up to 31: which queue is theirs at ports with [fair queues](crate::fabric::queue::fair).
    pub class: u8,
    /// Background traffic, kept apart in results.
    pub background: bool,
    /// [`Stop::Foreground`] waits for its sessions, if they have an end.
    pub awaited: bool,
    /// Of these, it waits for objects up to this size only.
    pub awaited_size: Bytes,
    /// Sessions without end stop after this time; `None`: with the run.
    pub duration: Option<Duration>,
    /// Time from its start within which a session is to be complete; `None`: no deadline.
    pub deadline: Option<Duration>,
    /// Destination port of its connections; 0: none is given.
    pub port: u16,
    /// How sessions with several ends are carried if the transport has none of its own; `None`: by the default of their mode.
    pub fallback: Option<Fallback>,
}

impl Group {
    /// Foreground sessions without anything special.
    pub fn new(name: &str, transport: Transport, path: PathMode) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            path,
            class: 0,
            background: false,
            awaited: true,
            awaited_size: Bytes(u64::MAX),
            duration: None,
            deadline: None,
            port: 0,
            fallback: None,
        }
    }

    /// What its transport is told of a connection that carries so many bytes.
    fn flow(&self, bytes: Option<Bytes>) -> FlowSpec {
        FlowSpec { bytes: bytes.map(|b| b.0), deadline: self.deadline, port: self.port, class: self.class }
    }

    /// Whether [`Stop::Foreground`] waits for a session of this group.
    pub fn awaits(&self, session: &Session) -> bool {
        self.awaited && session.size.map_or(self.duration.is_some(), |size| size <= self.awaited_size)
    }
}

/// Everything that a run needs to know.
pub struct Setup {
    /// The fabric.
    pub graph: Arc<Graph>,
    /// Makes the queue of switch port `p`, and that of port `p` of a relaying host for the packets of others.
    pub queue: Box<dyn Fn(PortId) -> Queue + Send>,
    /// Groups that sessions refer to.
    pub groups: Vec<Group>,
    /// Sessions in order of start.
    pub sessions: Vec<Session>,
    /// The run's seed.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
    /// When to give up.
    pub time_limit: Time,
    /// Links and switches that change, in order of time.
    pub changes: Vec<(Time, Change)>,
    /// What to record over time.
    pub sampling: Sampling,
    /// Multicast trees installed for each group; packets are sprayed over them. At least 1.
    pub multicast_trees: u32,
    /// Bytes of memory for packets and for samples: a run that needs more ends.
    pub memory_limit: u64,
    /// Longest random pause of a host before it begins to send.
    pub host_jitter: Jitter,
    /// Pace of pulls: full packets that they ask for, over those that the incoming link carries. Above 0; 1 fills the link.
    pub pull_pace: f64,
    /// Switches send headers back to the sender when their header queue is full (NDP §3.2.4).
    pub return_to_sender: bool,
    /// Fair queues of a host's own port, one for each class of packets. 1: one queue for all.
    pub host_classes: u8,
    /// Switches that trim cut multicast packets as well. If not, one that would be cut is dropped.
    pub trim_multicast: bool,
    /// Whether hosts grant pulls to the most urgent sessions first. Otherwise sessions take turns.
    pub pulls_by_priority: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As asked by [`Stop`].
    Complete,
    /// Sessions were not finished, but nothing was scheduled any more, or all of them had given up.
    Stalled(String),
    /// The time limit came first.
    TimeLimit(String),
    /// The caller asked for it.
    Interrupted,
    /// It needs more memory than it may take; the message says for what.
    TooLarge(Needs, String),
}

/// What a run needs more memory for than it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Packets on their way.
    Packets,
    /// Rows of the time series.
    Samples,
}

/// Where every packet has gone. `sent + replicated = delivered + trimmed + dropped + in_flight` holds at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Conservation {
    /// Packets that hosts put on the wire.
    pub sent: u64,
    /// Copies that switches, and hosts with several links, made for multicast.
    pub replicated: u64,
    /// Packets that reached a host whole.
    pub delivered: u64,
    /// Packets that reached a host as a header.
    pub trimmed: u64,
    /// Packets dropped by switches and relaying hosts.
    pub dropped: u64,
    /// Packets alive now, counted independently by the arena.
    pub in_flight: u64,
}

impl Conservation {
    /// Whether no packet has vanished or appeared.
    pub fn holds(&self) -> bool {
        self.sent + self.replicated == self.delivered + self.trimmed + self.dropped + self.in_flight
    }
}

/// Numbers of the entities in the scheduler. Ports come first: a port's entity is its index.
#[derive(Clone, Copy)]
struct Entities {
    pacers: u32,
    next_session: u32,
    next_change: u32,
    sampler: u32,
    timers: u32,
}

struct Multicast {
    group: multicast::MulticastGroup,
    /// (host, endpoint) of each receiver, by host.
    receivers: Vec<(u32, EndpointId)>,
}

/// The links of hosts, seen from the hosts. Where each host has one, interface `h` is that of host `h`.
struct Interfaces {
    /// The port by which each host sends.
    ports: Vec<PortId>,
    /// Turns of the receiver-driven endpoints that are reached by an interface, paced at the rate of its link.
    pulls: Vec<PullQueue<EndpointId>>,
    /// The first interface of each host.
    first: Vec<u32>,
    /// Whether some host has several, so that hosts choose among them as switches do.
    several: bool,
    /// If so: the interface that each port leads to.
    reached_by: Vec<u32>,
}

impl Interfaces {
    fn new(graph: &Graph, packet_bytes: u64, pull_pace: f64) -> Self {
        let several = graph.multi_homed();
        let (mut ports, mut first) = (Vec::new(), Vec::new());
        for of_host in graph.ports_by_node().into_iter().take(graph.hosts as usize) {
            first.push(ports.len() as u32);
            ports.extend(of_host);
        }
        let mut reached_by = vec![u32::MAX; if several { graph.ports() as usize } else { 0 }];
        if several {
            for (interface, port) in (0..).zip(&ports) {
                reached_by[(port ^ 1) as usize] = interface;
            }
        }
        let pulls = ports.iter().map(|p| {
            let rate = graph.links[(p / 2) as usize].rate;
            PullQueue::new(pull_interval(rate, packet_bytes, pull_pace))
        });
        Self { pulls: pulls.collect(), ports, first, several, reached_by }
    }
}

/// The time between pulls: what a full packet takes on the incoming link, at a pace of 1.
fn pull_interval(rate: Rate, packet_bytes: u64, pace: f64) -> Duration {
    debug_assert!(rate.bps() <= PS_PER_S * 8, "rates are checked on input");
    Duration((rate.transmit_time(packet_bytes).ps() as f64 / pace).round() as u64)
}

/// A run in progress.
pub struct Network {
    now: u64,
    wheel: Wheel,
    packets: Arena<Header>,
    ports: Vec<Port>,
    routes: Routes,
    graph: Arc<Graph>,
    hosts: Vec<Host>,
    interfaces: Interfaces,
    endpoints: Vec<Option<Box<Hosted>>>,
    endpoint_session: Vec<u32>,
    multicast: Vec<Option<Box<Multicast>>>,
    /// The routing tables of the fabric as it was built, if they were needed.
    whole: OnceCell<Routes>,
    links_up: Vec<bool>,
    sessions: Vec<SessionRow>,
    specs: Vec<Session>,
    groups: Vec<Group>,
    unfinished: u64,
    /// Of these, receivers that nobody can complete any more.
    never_complete: u64,
    last_completion: u64,
    ideals: Ways,
    entities: Entities,
    periodic: Periodic,
    changes: Vec<(Time, Change)>,
    changes_done: usize,
    sampling: Sampling,
    samples: Vec<Sample>,
    /// Time that each port had been busy at the last sample.
    sampled_busy: Vec<u64>,
    /// Bytes that each port had sent at the last sample.
    sampled_sent: Vec<u64>,
    /// When the last sample was taken, in picoseconds.
    sampled_at: u64,
    /// Bytes that each session had delivered at the last sample.
    sampled_bytes: Vec<u64>,
    seed: u64,
    stop: Stop,
    time_limit: u64,
    memory_limit: u64,
    return_to_sender: bool,
    trim_multicast: bool,
    pulls_by_priority: bool,
    multicast_trees: u32,
    fingerprint: u64,
    events: u64,
    counts: Conservation,
}

impl Network {
    /// A network at time zero, nothing sent yet.
    pub fn new(setup: Setup) -> Self {
        let graph = setup.graph;
        let largest = setup.groups.iter().map(|g| g.transport.packet_bytes()).max().unwrap_or(1500);
        let horizon = graph.links.iter().map(|l| l.rate.transmit_time(largest).ps() + l.delay.ps()).max().unwrap_or(1);
        let ports: Vec<_> = (0..graph.ports())
            .map(|p| {
                let (owner, link) = (graph.port_owner(p), graph.links[(p / 2) as usize]);
                let peer = graph.port_peer(p);
                if graph.is_host(owner) {
                    let seed = setup.seed ^ random::mix(u64::from(p));
                    let queue = if graph.hosts_relay {
                        Queue::Relay(Box::new(Relay::new((setup.queue)(p))))
                    } else {
                        host_queue(setup.host_classes, largest)
                    };
                    return Port::new(link.rate, link.delay, peer, queue).with_jitter(setup.host_jitter, largest, seed);
                }
                Port::new(link.rate, link.delay, peer, (setup.queue)(p))
            })
            .collect();
        let interfaces = Interfaces::new(&graph, largest, setup.pull_pace);
        let hosts = (0..graph.hosts)
            .map(|h| {
                let random = random::substream(setup.seed, "spraying", u64::from(h));
                Host { random, interface: interfaces.first[h as usize] }
            })
            .collect();
        let awaited = |s: &Session| setup.groups[usize::from(s.group)].awaits(s);
        let changes = with_ends(setup.changes, &setup.sessions, &setup.groups);
        let pacers = graph.ports();
        let next_session = pacers + interfaces.pulls.len() as u32;
        let entities = Entities {
            pacers,
            next_session,
            next_change: next_session + 1,
            sampler: next_session + 2,
            timers: next_session + 3,
        };
        let mut network = Self {
            now: 0,
            wheel: Wheel::new(horizon, entities.timers as usize, random::stream(setup.seed, "ties").next_u64()),
            packets: Arena::with_limit(setup.memory_limit),
            routes: Routes::build(&graph, |_| true),
            whole: OnceCell::new(),
            links_up: vec![true; graph.links.len()],
            ports,
            hosts,
            interfaces,
            endpoints: Vec::new(),
            endpoint_session: Vec::new(),
            multicast: Vec::new(),
            sessions: Vec::with_capacity(setup.sessions.len()),
            unfinished: setup.sessions.iter().filter(|s| awaited(s)).map(|s| s.sinks.len() as u64).sum(),
            never_complete: 0,
            last_completion: 0,
            ideals: Ways::default(),
            specs: setup.sessions,
            groups: setup.groups,
            entities,
            periodic: Periodic::new(entities.sampler..entities.timers),
            changes,
            changes_done: 0,
            sampling: setup.sampling,
            samples: Vec::new(),
            sampled_busy: vec![0; graph.ports() as usize],
            sampled_sent: vec![0; graph.ports() as usize],
            sampled_at: 0,
            sampled_bytes: Vec::new(),
            seed: setup.seed,
            stop: setup.stop,
            time_limit: setup.time_limit.ps(),
            memory_limit: setup.memory_limit,
            return_to_sender: setup.return_to_sender,
            trim_multicast: setup.trim_multicast,
            pulls_by_priority: setup.pulls_by_priority,
            multicast_trees: setup.multicast_trees,
            fingerprint: 0x616e_6162_7261_6e63,
            events: 0,
            counts: Conservation::default(),
            graph,
        };
        network.schedule_controls();
        network
    }

    /// Runs until the run ends, or until `keep_going`, asked every few thousand events, says no.
    pub fn run(&mut self, mut keep_going: impl FnMut(&Self) -> bool) -> Ending {
        loop {
            if let Some(ending) = self.advance(16_384) {
                return ending;
            }
            if !keep_going(self) {
                return Ending::Interrupted;
            }
        }
    }

    /// Handles so many events; says how the run ended if it did before.
    pub fn advance(&mut self, events: u32) -> Option<Ending> {
        let ending = self.handle(events);
        // Whatever else: what did not fit was not sent.
        self.too_large().or(ending)
    }

    fn handle(&mut self, events: u32) -> Option<Ending> {
        for _ in 0..events {
            if self.unfinished == self.never_complete && self.stop == Stop::Foreground {
                return Some(self.ending());
            }
            if self.wheel.batch().len() == 0 && self.wheel.advance() {
                self.fetch_ahead();
            }
            let Some((now, entity)) = self.wheel.pop() else {
                return Some(self.ending());
            };
            if now > self.time_limit {
                self.wheel.schedule(entity, now);
                self.now = self.time_limit;
                return Some(match (self.unfinished, self.stop) {
                    (0, _) => Ending::Complete,
                    _ => Ending::TimeLimit(self.who_waits()),
                });
            }
            self.now = now;
            self.events += 1;
            // Looking at the network leaves no trace.
            if entity == self.entities.sampler {
                self.sample();
                if self.samples.len() as u64 * SAMPLE_BYTES > self.memory_limit {
                    return self.too_large();
                }
                continue;
            }
            self.trace(now ^ u64::from(entity) << 40);
            self.dispatch(entity);
        }
        None
    }

    /// The ending of a run that needs more memory than it may take.
    fn too_large(&self) -> Option<Ending> {
        let limit = Bytes(self.memory_limit);
        let samples = self.samples.len() as u64 * SAMPLE_BYTES;
        if samples > limit.0 {
            let count = self.samples.len();
            let why = format!("{count} samples at {} need more than {limit}", self.now());
            return Some(Ending::TooLarge(Needs::Samples, why));
        }
        let packets = self.packets.live();
        self.packets.is_full().then(|| {
            let why = format!("{packets} packets on their way at {} need more than {limit}", self.now());
            Ending::TooLarge(Needs::Packets, why)
        })
    }

    /// How a run ends in which nothing can be waited for any more.
    fn ending(&self) -> Ending {
        match self.unfinished {
            0 => Ending::Complete,
            _ => Ending::Stalled(self.who_waits()),
        }
    }

    /// Touches the memory that the coming batch of events will need. In a large fabric each event meets several cache
    /// misses, each of which waits for the one before (port, then its packet); here those of a whole batch overlap.
    #[inline]
    fn fetch_ahead(&mut self) {
        if self.wheel.batch().len() < 3 {
            return;
        }
        let mut touched = 0;
        for entity in self.wheel.batch() {
            if let Some(port) = self.ports.get(entity as usize) {
                touched ^= port.first_in_flight();
            }
        }
        for entity in self.wheel.batch() {
            if let Some(port) = self.ports.get(entity as usize) {
                touched ^= self.packets.hot(port.first_in_flight()).destination;
            }
        }
        std::hint::black_box(touched);
    }

    #[inline]
    fn dispatch(&mut self, entity: u32) {
        let e = &self.entities;
        if entity < e.pacers {
            self.packet_arrives(entity);
        } else if entity < e.next_session {
            self.pace(entity - e.pacers);
        } else if entity >= e.timers {
            self.timer_fires(entity - e.timers);
        } else if entity == e.next_session {
            self.open_sessions();
        } else {
            debug_assert_eq!(entity, e.next_change);
            self.apply_changes();
        }
    }

    /// Folds a word into the fingerprint of the event trace.
    #[inline]
    fn trace(&mut self, word: u64) {
        self.fingerprint = (self.fingerprint.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A number that two runs share only if they went through the same events.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Where every packet has gone.
    pub fn conservation(&self) -> Conservation {
        Conservation { in_flight: u64::from(self.packets.live()), ..self.counts }
    }

    /// Receivers of awaited sessions that still wait for their object.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Sessions opened so far, in order of start.
    pub fn sessions(&self) -> &[SessionRow] {
        &self.sessions
    }

    /// What the sessions are, in order of start.
    pub fn specs(&self) -> &[Session] {
        &self.specs
    }

    /// The groups that sessions belong to.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The fabric.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The routing tables in force.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The way of a receiver's flow on the fabric as it was when its session began.
    pub fn way(&self, receiver: &ReceiverRow) -> &Way {
        self.ideals.get(receiver.way)
    }

    /// How many shortest ways that share no link lead from any of `sources` to `sink`. Where hosts have one link each that
    /// is one, whatever happens between them.
    fn disjoint_ways(&self, routes: &Routes, sources: &[u32], sink: u32) -> u32 {
        if !self.interfaces.several {
            return 1;
        }
        disjoint_paths(&self.graph, sources, sink, |node| routes.ways(node, sink))
    }

    /// The ports, by index.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Takes the time series recorded so far.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// The time at which the last object was complete; now if none was, or if the run waited for none.
    pub fn measured_until(&self) -> Time {
        if self.last_completion == 0 || self.stop == Stop::Limit || self.unfinished > 0 {
            return Time(self.now);
        }
        Time(self.last_completion.max(1))
    }
}

/// Adds the ends of sessions that stop after a time to what else happens, in order of time.
fn with_ends(mut changes: Vec<(Time, Change)>, sessions: &[Session], groups: &[Group]) -> Vec<(Time, Change)> {
    for (session, spec) in sessions.iter().enumerate() {
        if let (Some(duration), None) = (groups[usize::from(spec.group)].duration, spec.size) {
            changes.push((spec.start + duration, Change::End(session as u32)));
        }
    }
    changes.sort_by_key(|c| c.0);
    changes
}

/// The queue of a host's own port.
fn host_queue(classes: u8, packet_bytes: u64) -> Queue {
    match classes {
        0 | 1 => Queue::Nic(Nic::new()),
        n => Queue::Fair(Fair::new((0..n).map(|_| Queue::Nic(Nic::new())), packet_bytes as u32)),
    }
}
