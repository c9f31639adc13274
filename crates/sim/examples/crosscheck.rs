//! This simulator's half of the cross-check against ns-3 (`docs/fidelity/crosscheck-ns3.md`).
//!
//! `crosscheck case SCENARIO TRANSPORT SEED` writes a run down in full: links, the route of every flow, flows, TCP
//! parameters. `tests/crosscheck/ns3_crosscheck.cc` reads that and simulates it with ns-3. `crosscheck run SCENARIO
//! TRANSPORT SEED` simulates the same here. Both print the same lines of comma-separated values:
//!
//! ```text
//! flow,source,destination,delivered bytes,completion time in ns (0: endless)
//! port,from,to,bytes sent,time integral of the queue in byte ns,dropped,marked
//! run,simulated ns,events
//! ```
//!
//! Scenarios are `long`, `dumbbell`, `permutation` and `star`; transports `newreno`, `newreno-sack`, `dctcp` and `dctcp-kN`,
//! which marks from N packets on. `KEY=VALUE` after the seed changes one thing of the run (see [`Case::change`]). Routing is
//! by destination alone, on one path, so that ns-3's static routes can follow the same links.

use anabranch_sim::fabric::graph::{Graph, PortId};
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::queue::{Limit, Queue, drop_tail::DropTail, ecn::Ecn};
use anabranch_sim::fabric::routing::{Departing, Ends, FlowPath as _, Routes, Routing, RoutingConfig, RoutingMode};
use anabranch_sim::fabric::topology::{Dumbbell, FatTree, Layers, Star, TopologyConfig};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network, Sampling, SessionGroup, Setup, Stop};
use anabranch_sim::random::{self, Stream};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use rand::RngExt as _;
use rand_distr::Exp1;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(1);
const DELAY: Duration = Duration::from_us(10);
/// The jitter that removes phase effects for good: as long as the bottleneck takes for a packet (Floyd and Jacobson 1991).
const PACKET_TIME: Duration = Duration::from_us(12);
/// The jitter where one host alone should be able to fill a link.
const SHORT_PAUSE: Duration = Duration::from_us(1);
/// Packets that may wait at a switch port.
const BUFFER: u32 = 100;
/// DCTCP's threshold K in packets.
const THRESHOLD: u32 = 20;
const HOSTS_PER_SIDE: u32 = 8;
const LONG_FLOWS: u32 = 4;
/// How long endless flows run.
const LONG_RUN: Duration = Duration::from_secs(2);

/// Joy 2015, Figure 8 and Table 1: ten senders and a receiver, a round trip of four links.
const STAR_SENDERS: u32 = 10;
const STAR_RATE: Rate = Rate::from_mbps(100);
const STAR_DELAY: Duration = Duration::from_us(225);
/// Joy 2015, §3.6.1.4 and §3.6.3.2: flows without end from the first two senders, thirty short ones from any.
const STAR_LONG: u32 = 2;
const STAR_SHORT: u32 = 30;
const STAR_SIZES: [u64; 3] = [250_000, 500_000, 1_000_000];
/// Share of the bottleneck that short flows ask for.
const STAR_LOAD: f64 = 0.11;
/// 4 MB in full packets: nothing is lost before a queue that marks.
const STAR_BUFFER: u32 = 2663;
/// A tenth of what the bottleneck takes for a packet: a host alone fills nine tenths of a link and more.
const STAR_PAUSE: Duration = Duration::from_us(12);

/// A run, before it is handed to either simulator.
struct Case {
    graph: Graph,
    sessions: Vec<Session>,
    tcp: TcpConfig,
    /// When to end; `None`: when all flows that have an end are complete.
    until: Option<Duration>,
    /// Longest random pause of a host before it sends a packet. Without one, equal links keep arrivals in lockstep with
    /// departures; whose packets then find a full queue is a matter of phase (Floyd and Jacobson 1991), that is, of how a
    /// simulator orders simultaneous events, and one flow may lose every packet to another for seconds.
    jitter: Duration,
    /// Packets that may wait at a switch port.
    buffer: u32,
    /// DCTCP's threshold K in packets.
    threshold: u32,
    seed: u64,
    /// What is for ns-3 alone to read.
    for_ns3: Vec<String>,
}

impl Case {
    /// Changes one thing, to see what it does: `ack_every` 1 or 2, `jitter` in ns, `buffer` and `threshold` in packets,
    /// `initial_window` in segments. What begins with `ns3_` is handed on.
    fn change(&mut self, assignment: &str) -> Result<(), String> {
        let (key, text) = assignment.split_once('=').ok_or_else(|| format!("{assignment}: expected KEY=VALUE"))?;
        if key.starts_with("ns3_") {
            self.for_ns3.push(format!("{key} {text}"));
            return Ok(());
        }
        let value: u32 = text.parse().map_err(|e| format!("{assignment}: {e}"))?;
        match key {
            "ack_every" => self.tcp.delayed_ack = value == 2,
            "jitter" => self.jitter = Duration::from_ns(u64::from(value)),
            "buffer" => self.buffer = value,
            "threshold" => self.threshold = value,
            "initial_window" => self.tcp.initial_window = value,
            _ => return Err(format!("{assignment}: no such key")),
        }
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [mode, scenario, transport, seed, changes @ ..] => {
            changed(scenario, transport, seed, changes).and_then(|case| match mode.as_str() {
                "case" => write_case(&case),
                "run" => run(case),
                other => Err(format!("unknown mode {other}; expected case or run")),
            })
        }
        _ => Err("usage: crosscheck case|run SCENARIO TRANSPORT SEED [KEY=VALUE ..]".to_owned()),
    };
    if let Err(problem) = result {
        eprintln!("error: {problem}");
        std::process::exit(2);
    }
}

fn changed(scenario: &str, transport: &str, seed: &str, changes: &[String]) -> Result<Case, String> {
    let mut case = case(scenario, transport, seed)?;
    changes.iter().try_for_each(|change| case.change(change))?;
    Ok(case)
}

/// Congestion control, SACK and marking threshold.
fn controls(transport: &str) -> Result<(Algorithm, bool, u32), String> {
    let unknown = || format!("unknown transport {transport}; expected newreno, newreno-sack, dctcp or dctcp-kN");
    Ok(match transport {
        "newreno" => (Algorithm::NewReno, false, THRESHOLD),
        "newreno-sack" => (Algorithm::NewReno, true, THRESHOLD),
        "dctcp" => (Algorithm::Dctcp, false, THRESHOLD),
        other => {
            let threshold = other.strip_prefix("dctcp-k").and_then(|k| k.parse().ok()).ok_or_else(unknown)?;
            (Algorithm::Dctcp, false, threshold)
        }
    })
}

fn case(scenario: &str, transport: &str, seed: &str) -> Result<Case, String> {
    let seed = seed.parse().map_err(|e| format!("seed {seed}: {e}"))?;
    let (congestion, sack, threshold) = controls(transport)?;
    let mut tcp = TcpConfig {
        // ns-3's point-to-point links put a PPP header of 2 bytes before every packet.
        packet: Bytes(1502),
        header: Bytes(42),
        receive_window: Bytes(1 << 26),
        rto_min: Duration::from_ms(10),
        rto_initial: Duration::from_ms(10),
        congestion,
        sack,
        ..TcpConfig::default()
    };
    let mut random = random::stream(seed, "crosscheck");
    let mut buffer = BUFFER;
    let (topology, sessions, until, jitter) = match scenario {
        "long" => (dumbbell(LONG_FLOWS), long(&mut random), Some(LONG_RUN), PACKET_TIME),
        "dumbbell" => (dumbbell(HOSTS_PER_SIDE), pairs(&mut random), None, PACKET_TIME),
        "permutation" => (fat_tree(), permutation(&mut random), None, SHORT_PAUSE),
        "star" => {
            tcp.delayed_ack = true;
            tcp.rto_min = Duration::from_ms(200);
            tcp.rto_initial = Duration::from_secs(1);
            if congestion == Algorithm::Dctcp {
                buffer = STAR_BUFFER;
            }
            (star(), long_and_short(&mut random), None, STAR_PAUSE)
        }
        other => return Err(format!("unknown scenario {other}; expected long, dumbbell, permutation or star")),
    };
    let graph = topology.build(Path::new(".")).map_err(|e| e.to_string())?;
    Ok(Case { graph, sessions, tcp, until, jitter, buffer, threshold, seed, for_ns3: Vec::new() })
}

fn dumbbell(side: u32) -> TopologyConfig {
    let hosts =
        Dumbbell { left: side, right: side, rate: RATE, delay: DELAY, bottleneck_rate: None, bottleneck_delay: None };
    TopologyConfig::Dumbbell(hosts)
}

fn fat_tree() -> TopologyConfig {
    TopologyConfig::FatTree(FatTree { k: 4, rate: RATE, delay: DELAY, layers: Layers::default() })
}

fn star() -> TopologyConfig {
    TopologyConfig::Star(Star { hosts: STAR_SENDERS + 1, rate: STAR_RATE, delay: STAR_DELAY })
}

/// A flow that starts at a random time within `window`.
fn flow(random: &mut Stream, source: u32, sink: u32, size: Option<u64>, window: Duration) -> Session {
    flow_at(random.random_range(0..window.ps() / 1000), source, sink, size)
}

/// A flow that starts at this time: whole nanoseconds, which is ns-3's clock.
fn flow_at(start_ns: u64, source: u32, sink: u32, size: Option<u64>) -> Session {
    Session {
        start: Time::ZERO + Duration::from_ns(start_ns),
        size: size.map(Bytes),
        supply: None,
        mode: Mode::Unicast,
        sources: vec![source].into(),
        sinks: vec![sink].into(),
        group: 0,
        request: 0,
        block: 0,
    }
}

/// Endless flows, each from its own sender to its own receiver.
fn long(random: &mut Stream) -> Vec<Session> {
    (0..LONG_FLOWS).map(|h| flow(random, h, h + LONG_FLOWS, None, Duration::from_ms(1))).collect()
}

/// Flows of 2 to 6 MB, each from its own sender to its own receiver.
fn pairs(random: &mut Stream) -> Vec<Session> {
    let one = |h| {
        let size = random.random_range(2_000_000..6_000_000);
        flow(random, h, h + HOSTS_PER_SIDE, Some(size), Duration::from_ms(20))
    };
    (0..HOSTS_PER_SIDE).map(one).collect()
}

/// 5 MB from each of 16 hosts to another; a host receives from one only.
fn permutation(random: &mut Stream) -> Vec<Session> {
    let hosts = 16;
    let mut sinks: Vec<u32> = (0..hosts).collect();
    // Sattolo's shuffle: one cycle, so that nobody sends to itself.
    for i in (1..hosts as usize).rev() {
        sinks.swap(i, random.random_range(0..i));
    }
    let one = |(source, &sink): (usize, &u32)| flow(random, source as u32, sink, Some(5_000_000), Duration::from_ms(1));
    sinks.iter().enumerate().map(one).collect()
}

/// Joy's workload, all of it to the last host.
fn long_and_short(random: &mut Stream) -> Vec<Session> {
    let receiver = STAR_SENDERS;
    let mut sessions: Vec<_> =
        (0..STAR_LONG).map(|sender| flow(random, sender, receiver, None, Duration::from_ms(100))).collect();
    let mean_size = STAR_SIZES.iter().sum::<u64>() as f64 / STAR_SIZES.len() as f64;
    let mean_gap_ns = 8e9 * mean_size / (STAR_LOAD * STAR_RATE.bps() as f64);
    let mut start_ns = 0;
    for _ in 0..STAR_SHORT {
        start_ns += (random.sample::<f64, _>(Exp1) * mean_gap_ns) as u64;
        let size = STAR_SIZES[random.random_range(0..STAR_SIZES.len())];
        sessions.push(flow_at(start_ns, random.random_range(0..STAR_SENDERS), receiver, Some(size)));
    }
    sessions.sort_by_key(|s| s.start);
    sessions
}

/// The egress ports from `source` to `sink` that the run will use.
fn path(case: &Case, routes: &Routes, source: u32, sink: u32) -> Vec<PortId> {
    let mut random = random::stream(case.seed, "unused by single paths");
    let paths = routes.path_count(source, sink);
    let ends = Ends { source, destination: sink, paths, hops: routes.hop_count(source, sink) };
    let mut flow = Routing::new(RoutingMode::Single, &RoutingConfig::default()).flow(&ends, &mut random);
    let fraction = flow.next(&Departing { now: 0, size: 1500, destination: sink }, &mut random);
    routes.path(&case.graph, source, sink, fraction)
}

fn write_case(case: &Case) -> Result<(), String> {
    let (graph, tcp) = (&case.graph, &case.tcp);
    let ns = |d: Duration| d.ps() / 1000;
    println!("congestion {}", tcp.congestion.name());
    println!("mss {}", tcp.mss());
    println!("initial_window {}", tcp.initial_window);
    println!("receive_window {}", tcp.receive_window.0);
    println!("rto_min {}", ns(tcp.rto_min));
    println!("rto_initial {}", ns(tcp.rto_initial));
    println!("clock_granularity {}", ns(tcp.clock_granularity));
    println!("limited_transmit {}", u8::from(tcp.limited_transmit));
    println!("sack {}", u8::from(tcp.sack));
    println!("ack_every {}", 1 + u8::from(tcp.delayed_ack));
    println!("dctcp_gain {}", tcp.dctcp_gain);
    println!("delayed_ack_timeout {}", ns(tcp.delayed_ack_timeout));
    println!("buffer {}", case.buffer);
    println!("threshold {}", case.threshold);
    println!("until {}", case.until.map_or(0, ns));
    println!("jitter {}", ns(case.jitter));
    println!("seed {}", case.seed);
    for line in &case.for_ns3 {
        println!("{line}");
    }
    println!("hosts {}", graph.hosts);
    println!("nodes {}", graph.nodes.len());
    for link in &graph.links {
        println!("link {} {} {} {}", link.a, link.b, link.rate.bps(), ns(link.delay));
    }
    let routes = Routes::build(graph, |_| true);
    let mut table: BTreeMap<(u32, u32), PortId> = BTreeMap::new();
    for session in &case.sessions {
        let (source, sink) = (session.sources[0], session.sinks[0]);
        for (from, to) in [(source, sink), (sink, source)] {
            for port in path(case, &routes, from, to) {
                let node = graph.port_owner(port);
                if *table.entry((node, to)).or_insert(port) != port {
                    return Err(format!("node {node} has two ways to host {to}"));
                }
            }
        }
    }
    for ((node, to), port) in table {
        println!("route {node} {to} {}", port / 2);
    }
    for session in &case.sessions {
        let size = session.size.map_or(0, |s| s.0);
        println!("flow {} {} {size} {}", session.sources[0], session.sinks[0], session.start.ps() / 1000);
    }
    Ok(())
}

fn run(case: Case) -> Result<(), String> {
    let marks = case.tcp.congestion == Algorithm::Dctcp;
    let (limit, threshold) = (Limit::Packets(case.buffer), Limit::Packets(case.threshold));
    let queue = move |_| {
        if marks { Queue::Ecn(Ecn::new(limit, threshold)) } else { Queue::DropTail(DropTail::new(limit)) }
    };
    let transport = Transport { name: "crosscheck".to_owned(), protocol: Protocol::Tcp(case.tcp) };
    let mut sessions = case.sessions;
    sessions.sort_by_key(|s| s.start);
    let mut network = Network::new(Setup {
        graph: Arc::new(case.graph),
        queue: Box::new(queue),
        pfc: None,
        groups: vec![SessionGroup {
            background: case.until.is_some(),
            awaited: case.until.is_none(),
            ..SessionGroup::new("crosscheck", transport, RoutingMode::Single)
        }],
        sessions,
        seed: case.seed,
        stop: if case.until.is_some() { Stop::Limit } else { Stop::Foreground },
        time_limit: Time::ZERO + case.until.unwrap_or(Duration::from_secs(100)),
        changes: Vec::new(),
        sampling: Sampling::default(),
        controllers: Vec::new(),
        routing: RoutingConfig { multicast_trees: 1, ..RoutingConfig::default() },
        memory_limit: u64::MAX,
        host_jitter: Jitter::Time(case.jitter),
        pull_pace: 1.0,
        return_to_sender: false,
        trim_multicast: true,
        reorder: None,
        pulls_by_priority: false,
        host_classes: 1,
    });
    let ending = network.run(|_| true);
    let measured_ns = network.measured_until().ps() as f64 / 1000.0;
    let record = RunRecord::take(&mut network, ending);
    if case.until.is_none() && record.ending != Ending::Complete {
        return Err(format!("the run did not complete: {:?}", record.ending));
    }
    for flow in &record.flows {
        let took = flow.end.map_or(0, |end| end.since(flow.start).ps() / 1000);
        println!("flow,{},{},{},{took}", flow.src_host, flow.dst_host, flow.size_bytes);
    }
    let graph = network.graph();
    for link in record.links.iter().filter(|l| l.packets > 0 && l.src_level != "host") {
        let (from, to) = (graph.port_owner(link.link), graph.port_peer(link.link));
        let integral = link.queue_mean_bytes * measured_ns;
        println!("port,{from},{to},{},{integral:.0},{},{}", link.bytes, link.dropped, link.marked);
    }
    println!("run,{measured_ns:.0},{}", record.events);
    Ok(())
}
