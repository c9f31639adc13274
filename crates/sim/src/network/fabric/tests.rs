//! The fabric by itself: no host runs, and no session does anything.

use super::*;
use crate::engine::arena::Hot;
use crate::fabric::graph::{Level, Link, Node};
use crate::fabric::jitter::Jitter;
use crate::fabric::pfc::Pfc;
use crate::fabric::queue::{Limit, drop_tail::DropTail};
use crate::fabric::routing::{RoutingConfig, RoutingMode};
use crate::host::protocol::{Protocol, Transport};
use crate::host::stack::Header;
use crate::network::engine::Entities;
use crate::network::schedule::Target;
use crate::network::{Conservation, Sampling, SessionGroup, Stop};
use crate::workload::{Mode, Session};
use anabranch_transport::{Bytes, Duration, Rate, Time, udp};

/// Nobody has sent anything.
struct Nobody;

impl Senders for Nobody {
    fn return_address(&mut self, _: EndpointId, _: Peer) -> Option<(Remote, &mut Stream)> {
        None
    }
}

/// Host 0 and endpoint 0 have sent all headers.
struct First(Stream);

impl Senders for First {
    fn return_address(&mut self, _: EndpointId, from: Peer) -> Option<(Remote, &mut Stream)> {
        Some((Remote { host: 0, endpoint: 0, from }, &mut self.0))
    }
}

/// Four hosts, 0 and 1 at switch 4, 2 and 3 at switch 5, and a link between the switches: number 4.
const MIDDLE: u32 = 4;

fn graph() -> Graph {
    let mut graph = Graph { hosts: 4, ..Graph::default() };
    let mut node = |name: String, level| graph.nodes.push(Node { name, level, pod: None });
    (0..4).for_each(|h| node(format!("h{h}"), Level::Host));
    (0..2).for_each(|s| node(format!("s{s}"), Level::Edge));
    let (rate, delay) = (Rate::from_gbps(1), Duration::from_us(10));
    let ends = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)];
    graph.links = ends.iter().map(|&(a, b)| Link { a, b, rate, delay }).collect();
    graph
}

pub(super) struct Bench {
    engine: Engine,
    ledger: Ledger,
    fabric: Fabric,
}

impl Bench {
    /// With a session of two endpoints, for the ledger. Queues of switches hold one packet.
    fn new(return_to_sender: bool) -> Self {
        Self::with(None, return_to_sender)
    }

    /// A fabric whose switches pause who sends to them.
    pub(super) fn lossless(pfc: Pfc) -> Fabric {
        Self::with(Some(pfc), false).fabric
    }

    fn with(pfc: Option<Pfc>, return_to_sender: bool) -> Self {
        let lossy = pfc.is_none();
        let protocol = Protocol::Udp(udp::UdpConfig::default());
        let transport = Transport { name: "udp".to_owned(), protocol };
        let session = Session {
            start: Time::ZERO,
            size: Some(Bytes(1)),
            supply: None,
            mode: Mode::Unicast,
            sources: vec![0].into(),
            sinks: vec![3].into(),
            group: 0,
            request: 0,
            block: 0,
        };
        let setup = Setup {
            graph: Arc::new(graph()),
            queue: Box::new(move |_| {
                Queue::DropTail(DropTail::new(if lossy { Limit::Packets(1) } else { Limit::NONE }))
            }),
            pfc,
            groups: vec![SessionGroup::new("test", transport, RoutingMode::PerPacket)],
            sessions: vec![session],
            seed: 1,
            stop: Stop::Idle,
            time_limit: Time::MAX,
            changes: Vec::new(),
            sampling: Sampling::default(),
            controllers: Vec::new(),
            routing: RoutingConfig { multicast_trees: 1, ..RoutingConfig::default() },
            memory_limit: u64::MAX,
            host_jitter: Jitter::NONE,
            pull_pace: 1.0,
            return_to_sender,
            host_classes: 1,
            trim_multicast: true,
            reorder: None,
            pulls_by_priority: false,
        };
        let fabric = Fabric::new(&setup, 1500);
        let engine = Engine::new(Entities::new(setup.graph.ports(), [4, 0], 0, 0, 0), 22_000_000, 1, u64::MAX);
        let mut ledger = Ledger::new(setup.sessions, setup.groups);
        let session = ledger.open();
        ledger.add_endpoint(session);
        ledger.add_endpoint(session);
        Self { engine, ledger, fabric }
    }

    /// Host 0 sends a full packet with these flags.
    fn send(&mut self, destination: u32, flags: u8, senders: &mut impl Senders) {
        let hot = Hot {
            at: 0,
            next: NO_PACKET,
            endpoint: 1,
            destination,
            path: 0,
            size: 1500,
            trimmed_size: 64,
            from: 0,
            tag: 0,
            flags,
        };
        let header = Header::Udp(udp::Header { seq: 0, object: 1 });
        let id = self.engine.packets.insert(hot, header);
        self.ledger.packet_sent();
        self.fabric.send(&mut self.engine, &mut self.ledger, senders, 0, id);
    }

    /// Lets all packets go where they go, until a time: when each reaches which host.
    fn run(&mut self, until_us: u64, senders: &mut impl Senders) -> Vec<(u64, u32)> {
        let mut reached = Vec::new();
        while let Some((now, port)) = self.engine.pending.wheel.pop() {
            if now > until_us * 1_000_000 {
                self.engine.pending.wheel.schedule(port, now);
                break;
            }
            self.engine.begin_event(now);
            if let Some(id) = self.fabric.arrive(&mut self.engine, &mut self.ledger, senders, port) {
                reached.push((now / 1_000_000, self.fabric.ports[port as usize].peer()));
                self.engine.packets.remove(id);
                self.ledger.packet_delivered(false);
            }
        }
        reached
    }

    fn holds(&self) -> bool {
        Conservation { in_flight: u64::from(self.engine.packets.live()), ..self.ledger.counts() }.holds()
    }
}

#[test]
fn a_packet_reaches_its_host() {
    let mut bench = Bench::new(false);
    bench.send(3, 0, &mut Nobody);
    bench.send(1, 0, &mut Nobody);
    // Three links of 12 us + 10 us; and two, behind the first packet.
    assert_eq!(bench.run(1000, &mut Nobody), [(56, 1), (66, 3)]);
    assert!(bench.holds());
}

#[test]
fn a_cut_loses_what_is_on_the_link_and_what_has_no_path() {
    let mut bench = Bench::new(false);
    bench.send(3, 0, &mut Nobody);
    assert_eq!(bench.run(30, &mut Nobody), []);
    bench.fabric.cut(&mut bench.engine, &mut bench.ledger, Target::Link(MIDDLE));
    assert_eq!((bench.ledger.counts().dropped, bench.engine.packets.live()), (1, 0), "it was on the link");
    bench.send(3, 0, &mut Nobody);
    assert_eq!(bench.run(100, &mut Nobody), []);
    assert_eq!(bench.ledger.row(0).packets_dropped, 2, "no path leads there");
    assert_eq!(bench.fabric.ports[2 * MIDDLE as usize].counters().dropped, 1, "routes avoid the link");
    bench.fabric.cut(&mut bench.engine, &mut bench.ledger, Target::Link(MIDDLE));
    bench.fabric.restore(&bench.engine, Target::Link(MIDDLE));
    bench.send(3, 0, &mut Nobody);
    assert_eq!(bench.run(1000, &mut Nobody).len(), 1, "cut twice, restored once");
    assert!(bench.holds());
}

#[test]
fn a_multicast_packet_is_copied_where_its_tree_branches() {
    let mut bench = Bench::new(false);
    let receivers = vec![(1, 0), (2, 1), (3, 1)];
    let group = bench.fabric.install(0, 7, receivers);
    bench.send(group, flag::MULTICAST, &mut Nobody);
    assert_eq!(bench.run(1000, &mut Nobody).iter().map(|r| r.1).sum::<u32>(), 1 + 2 + 3);
    assert_eq!(bench.ledger.counts().replicated, 2);
    let smaller = bench.fabric.install_without(group, 0).expect("the group is installed");
    bench.fabric.remove_group(group, None);
    bench.send(smaller, flag::MULTICAST, &mut Nobody);
    assert_eq!(bench.run(2000, &mut Nobody).iter().map(|r| r.1).sum::<u32>(), 2 + 3, "host 1 has left");
    bench.send(group, flag::MULTICAST, &mut Nobody);
    assert_eq!(bench.run(3000, &mut Nobody), [], "nobody is in a group that was removed");
    assert!(bench.holds());
}

#[test]
fn only_headers_are_returned_and_only_to_senders_that_are_known() {
    // A slow link in the middle: of packets from host 0, one is on it, one waits, the others are rejected.
    for (return_to_sender, flags, known, returned) in [
        (true, flag::TRIMMED, true, 2),
        (true, flag::TRIMMED, false, 0),
        (true, 0, true, 0),
        (true, flag::TRIMMED | flag::CONTROL, true, 0),
        (false, flag::TRIMMED, true, 0),
    ] {
        let mut bench = Bench::new(return_to_sender);
        bench.fabric.set_rate(&mut bench.engine, Target::Link(MIDDLE), Rate(1_000_000));
        let (mut first, mut nobody) = (First(random::stream(1, "test")), Nobody);
        for _ in 0..4 {
            bench.send(3, flags, &mut nobody);
        }
        let reached = if known { bench.run(100_000, &mut first) } else { bench.run(100_000, &mut nobody) };
        let at = |host| reached.iter().filter(|r| r.1 == host).count();
        assert_eq!((at(0), at(3)), (returned, 2), "{return_to_sender} {flags} {known}");
        assert_eq!(bench.ledger.counts().dropped, 2 - returned as u64);
        assert!(bench.holds());
    }
}
