//! A short way to write a run.

use anabranch_sim::fabric::graph::{Graph, Level, Link, Node};
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::queue::{Limit, Queue, drop_tail, ecn, mlfq, trim};
use anabranch_sim::fabric::routing::{RoutingConfig, RoutingMode};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Division, Ending, Network, Sampling, Scheduling, SessionGroup, Setup, Stop};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time, ndp, scdp};
use std::sync::Arc;

pub(crate) mod control;
pub(crate) mod sharing;

pub(crate) const GBPS: Rate = Rate::from_gbps(1);
pub(crate) const DELAY: Duration = Duration::from_us(10);

/// Serialisation time of a full packet of 1500 bytes at 1 Gbps.
pub(crate) const FULL: Duration = Duration::from_us(12);

/// Multicast trees of each group, and the defaults of all schemes.
pub(crate) fn trees(n: u32) -> RoutingConfig {
    RoutingConfig { multicast_trees: n, ..RoutingConfig::default() }
}

pub(crate) fn us(n: u64) -> Duration {
    Duration::from_us(n)
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_ms(n)
}

pub(crate) fn at(n_us: u64) -> Time {
    Time::ZERO + us(n_us)
}

/// `n` hosts on one switch.
pub(crate) fn star(n: u32) -> Graph {
    let mut graph = Graph { hosts: n, ..Graph::default() };
    for h in 0..n {
        graph.nodes.push(Node { name: format!("h{h}"), level: Level::Host, pod: None });
        graph.links.push(Link { a: h, b: n, rate: GBPS, delay: DELAY });
    }
    graph.nodes.push(Node { name: "s0".to_owned(), level: Level::Edge, pod: None });
    graph
}

/// Two hosts at the ends of a chain of `switches` switches.
pub(crate) fn chain(switches: u32) -> Graph {
    let mut graph = Graph { hosts: 2, ..Graph::default() };
    for h in 0..2 {
        graph.nodes.push(Node { name: format!("h{h}"), level: Level::Host, pod: None });
    }
    let link = |a, b| Link { a, b, rate: GBPS, delay: DELAY };
    for s in 0..switches {
        graph.nodes.push(Node { name: format!("s{s}"), level: Level::Edge, pod: None });
        graph.links.push(if s == 0 { link(0, 2) } else { link(1 + s, 2 + s) });
    }
    graph.links.push(link(1 + switches, 1));
    graph
}

pub(crate) fn unicast(source: u32, sink: u32, bytes: u64) -> Session {
    Session {
        start: Time::ZERO,
        size: Some(Bytes(bytes)),
        supply: None,
        mode: Mode::Unicast,
        sources: vec![source].into(),
        sinks: vec![sink].into(),
        group: 0,
        request: 0,
        block: 0,
    }
}

pub(crate) fn tcp(congestion: Algorithm) -> Protocol {
    Protocol::Tcp(TcpConfig { congestion, ..TcpConfig::default() })
}

pub(crate) fn ndp(initial_window: u32) -> Protocol {
    Protocol::Ndp(ndp::NdpConfig { initial_window, ..ndp::NdpConfig::default() })
}

pub(crate) fn scdp(initial_window: u32) -> Protocol {
    Protocol::Scdp(scdp::ScdpConfig { initial_window, ..scdp::ScdpConfig::default() }.into())
}

pub(crate) fn drop_tail(packets: u32) -> impl Fn(u32) -> Queue + Send {
    move |_| Queue::DropTail(drop_tail::DropTail::new(Limit::Packets(packets)))
}

pub(crate) fn ecn(packets: u32, k: u32) -> impl Fn(u32) -> Queue + Send {
    move |_| Queue::Ecn(ecn::Ecn::new(Limit::Packets(packets), Limit::Packets(k)))
}

pub(crate) fn trim(packets: u32) -> impl Fn(u32) -> Queue + Send {
    move |p| {
        Queue::Trim(trim::Trim::new(Limit::Packets(packets), Limit::Bytes(u64::from(packets) * 1500), 10, u64::from(p)))
    }
}

pub(crate) fn mlfq_trim(packets: u32) -> impl Fn(u32) -> Queue + Send {
    let parameters = mlfq::MlfqParameters {
        priorities: 5,
        buffer: Limit::Packets(packets),
        trim: true,
        header_buffer: Limit::Bytes(u64::from(packets) * 1500),
        weight: 10,
        victim: mlfq::Victim::Lowest,
        mark: None,
    };
    move |_| Queue::Mlfq(mlfq::Mlfq::new(parameters))
}

/// Eight strict priorities; what does not fit is dropped.
pub(crate) fn priority(packets: u32) -> impl Fn(u32) -> Queue + Send {
    let parameters = mlfq::MlfqParameters {
        priorities: 8,
        buffer: Limit::Packets(packets),
        trim: false,
        header_buffer: Limit::NONE,
        weight: 1,
        victim: mlfq::Victim::Arriving,
        mark: None,
    };
    move |_| Queue::Mlfq(mlfq::Mlfq::new(parameters))
}

pub(crate) fn setup(
    graph: Graph,
    queue: impl Fn(u32) -> Queue + Send + 'static,
    protocol: Protocol,
    path: RoutingMode,
    mut sessions: Vec<Session>,
) -> Setup {
    sessions.sort_by_key(|s| s.start);
    let transport = Transport { name: "test".to_owned(), protocol };
    Setup {
        graph: Arc::new(graph),
        queue: Box::new(queue),
        pfc: None,
        groups: vec![SessionGroup::new("test", transport, path)],
        sessions,
        seed: 1,
        stop: Stop::Idle,
        time_limit: Time::ZERO + Duration::from_secs(1000),
        changes: Vec::new(),
        sampling: Sampling::default(),
        controllers: Vec::new(),
        routing: trees(1),
        memory_limit: u64::MAX,
        host_jitter: Jitter::NONE,
        pull_pace: 1.0,
        return_to_sender: false,
        trim_multicast: true,
        reorder: None,
        pulls_by_priority: false,
        host_classes: 1,
    }
}

/// Runs to the end, and checks what must hold of every run.
pub(crate) fn run(setup: Setup) -> RunRecord {
    let endless = setup.sessions.iter().any(|s| s.size.is_none());
    let mut network = Network::new(setup);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert!(record.conservation.holds(), "{:?}", record.conservation);
    if record.ending == Ending::Complete && !endless {
        assert!(record.flows.iter().all(|f| f.end.is_some()));
    }
    record
}

/// Runs to the end, which must be a good one, with nothing left on the way.
pub(crate) fn complete(setup: Setup) -> RunRecord {
    let idle = setup.stop == Stop::Idle;
    let record = run(setup);
    assert_eq!(record.ending, Ending::Complete);
    assert!(!idle || record.conservation.in_flight == 0, "{:?}", record.conservation);
    record
}

/// What every random run must keep to while it goes on.
fn keeps_going(network: &Network) -> bool {
    /// So many events only a run has that never ends.
    const EVENTS: u64 = 30_000_000;
    assert!(network.conservation().holds(), "{:?}", network.conservation());
    assert!(network.events() < EVENTS, "{EVENTS} events by {:?}", network.now());
    true
}

/// Runs to the end, with its events scheduled in this way.
pub(crate) fn scheduled(setup: Setup, scheduling: Scheduling) -> RunRecord {
    let mut network = Network::new(setup);
    network.schedule_in(scheduling);
    let ending = network.run(keeps_going);
    RunRecord::take(&mut network, ending)
}

/// Runs in so many parts to the end, as far as that goes: what came of it, and how it was divided. `None`: it has to be done
/// anew.
pub(crate) fn in_parts(setup: Setup, parts: usize) -> Option<(RunRecord, Division)> {
    in_parts_scheduled(setup, parts, Scheduling::Auto)
}

/// The same, with events scheduled in this way.
pub(crate) fn in_parts_scheduled(setup: Setup, parts: usize, scheduling: Scheduling) -> Option<(RunRecord, Division)> {
    let mut network = Network::new(setup);
    network.schedule_in(scheduling);
    let (ending, division) = network.run_in_parts(parts, keeps_going).ok()?;
    Some((RunRecord::take(&mut network, ending), division))
}

/// Asserts that two records are the same.
pub(crate) fn assert_same(a: &RunRecord, b: &RunRecord, what: &str) {
    assert_eq!((a.events, a.simulated), (b.events, b.simulated), "{what}");
    assert_eq!(a.ending, b.ending, "{what}");
    assert_eq!(a.flows, b.flows, "{what}");
    assert_eq!(a.links, b.links, "{what}");
    assert_eq!(a.blocks, b.blocks, "{what}");
    assert_eq!(a.series, b.series, "{what}");
    assert_eq!((a.conservation, a.window), (b.conservation, b.window), "{what}");
    assert_eq!(a.fingerprint, b.fingerprint, "{what}");
}

/// The completion time of flow `n`.
pub(crate) fn fct(record: &RunRecord, n: usize) -> Duration {
    let flow = &record.flows[n];
    flow.end.expect("the flow is complete").since(flow.start)
}

pub(crate) fn cut(link: u32, when: Time) -> (Time, Change) {
    (when, Change::Cut(anabranch_sim::network::Target::Link(link)))
}
