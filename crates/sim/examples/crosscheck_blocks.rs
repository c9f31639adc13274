//! This simulator's half of the cross-check of barrier-synchronised blocks against ns-3 (`docs/fidelity/crosscheck-ns3.md`): Song's
//! workload (Table 5.3, Figures 5.14 to 5.16) on FT(4, 3).
//!
//! `crosscheck_blocks case SCHEME SEED [KEY=VALUE ..]` writes a run down in full: links, the drawn path of each connection in both
//! directions, TCP parameters. `tests/crosscheck/ns3_blocks.cc` reads that and simulates it with ns-3. `crosscheck_blocks run` simulates
//! the same here, on paths of its own drawing. Both print one line:
//!
//! ```text
//! blocks,blocks completed,mean completion time of a block in ns,packets dropped
//! ```
//!
//! Schemes: `nr` (one connection on the leftmost path), `dnvr` (one on a random shortest path), `fb` (Front-Back: two, each on a random
//! path). Keys: `senders`; `buffer` in packets; `new_connections` 1: a connection for each block; `together` 1: one barrier for all
//! clients, no client asks for its next block before all have the last one (with `new_connections` 0 a run here then counts such a block
//! once, not once for each client). `ack_every` 1 or 2, `ack_ms`: delayed ACKs. `window` in bytes; `syn_timeout_ms`.

use anabranch_sim::fabric::graph::{Graph, PortId};
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::queue::{Limit, Queue, drop_tail::DropTail};
use anabranch_sim::fabric::routing::{Routes, RoutingConfig, RoutingMode};
use anabranch_sim::fabric::topology::{Layers, MPortNTree, TopologyConfig};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network, Sampling, SessionGroup, Setup, Stop};
use anabranch_sim::random::{self, Stream};
use anabranch_sim::workload::{Barrier, Connections, Mode, Session};
use anabranch_transport::multipath::FrontBackConfig;
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const HOSTS: u32 = 16;
const FRAGMENT: u64 = 262_144;
const BLOCKS: u32 = 10;

/// One fixed path, one random one, or two random ones with Front-Back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Nr,
    Dnvr,
    Fb,
}

/// A run, before it is handed to either simulator.
struct Case {
    graph: Graph,
    scheme: Scheme,
    tcp: TcpConfig,
    /// Client and server of each pair.
    pairs: Vec<(u32, u32)>,
    buffer: u32,
    new_connections: bool,
    together: bool,
    seed: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [mode, scheme, seed, changes @ ..] => case(scheme, seed, changes).and_then(|case| match mode.as_str() {
            "case" => {
                write_case(&case);
                Ok(())
            }
            "run" => run(case),
            other => Err(format!("unknown mode {other}; expected case or run")),
        }),
        _ => Err("usage: crosscheck_blocks case|run SCHEME SEED [KEY=VALUE ..]".to_owned()),
    };
    if let Err(problem) = result {
        eprintln!("error: {problem}");
        std::process::exit(2);
    }
}

fn case(scheme: &str, seed: &str, changes: &[String]) -> Result<Case, String> {
    let scheme = match scheme {
        "nr" => Scheme::Nr,
        "dnvr" => Scheme::Dnvr,
        "fb" => Scheme::Fb,
        other => return Err(format!("unknown scheme {other}; expected nr, dnvr or fb")),
    };
    let seed = seed.parse().map_err(|e| format!("seed {seed}: {e}"))?;
    let mut settings = BTreeMap::from([
        ("senders", 3),
        ("buffer", 80),
        ("new_connections", 0),
        ("together", 0),
        ("ack_every", 2),
        ("ack_ms", 200),
        ("window", 65535),
        ("syn_timeout_ms", 3000),
    ]);
    for assignment in changes {
        let (key, text) = assignment.split_once('=').ok_or_else(|| format!("{assignment}: expected KEY=VALUE"))?;
        let value: u32 = text.parse().map_err(|e| format!("{assignment}: {e}"))?;
        *settings.get_mut(key).ok_or_else(|| format!("{assignment}: no such key"))? = value;
    }
    let senders = settings["senders"];
    if !(1..HOSTS).contains(&senders) {
        return Err(format!("senders={senders}: expected 1 to {}", HOSTS - 1));
    }
    let tree =
        MPortNTree { m: 4, n: 3, rate: Rate::from_gbps(1), delay: Duration::from_us(500), layers: Layers::default() };
    Ok(Case {
        graph: TopologyConfig::MPortNTree(tree).build(Path::new(".")).map_err(|e| e.to_string())?,
        scheme,
        // Song, Table 5.3; what ns-3 3.14 has where the table is silent. 2 bytes of PPP in every packet.
        tcp: TcpConfig {
            packet: Bytes(1494),
            header: Bytes(42),
            initial_window: 1,
            receive_window: Bytes(settings["window"].into()),
            rto_min: Duration::from_ms(200),
            // `RttEstimator::InitialEstimation`; `TcpSocket::ConnTimeout`.
            rto_initial: Duration::from_secs(1),
            syn_timeout: Some(Duration::from_ms(settings["syn_timeout_ms"].into())),
            delayed_ack: settings["ack_every"] == 2,
            delayed_ack_timeout: Duration::from_ms(settings["ack_ms"].into()),
            // `TcpSocketBase` counts a connection's first segment as its second.
            quick_acks: 1,
            limited_transmit: false,
            congestion: Algorithm::Reno,
            ..TcpConfig::default()
        },
        pairs: balanced(senders, &mut random::stream(seed, "pairs")),
        buffer: settings["buffer"],
        new_connections: settings["new_connections"] == 1,
        together: settings["together"] == 1,
        seed,
    })
}

/// Each host has as many clients as servers: permutations without fixed points, no two of which agree anywhere.
fn balanced(senders: u32, random: &mut Stream) -> Vec<(u32, u32)> {
    let mut chosen: Vec<Vec<u32>> = Vec::new();
    while (chosen.len() as u32) < senders {
        let mut servers: Vec<u32> = (0..HOSTS).collect();
        servers.shuffle(random);
        let fits = |(client, server): (usize, &u32)| {
            client as u32 != *server && chosen.iter().all(|earlier| earlier[client] != *server)
        };
        if servers.iter().enumerate().all(fits) {
            chosen.push(servers);
        }
    }
    (0..HOSTS)
        .flat_map(|client| chosen.iter().map(move |of| (client, of[client as usize])).collect::<Vec<_>>())
        .collect()
}

fn write_case(case: &Case) {
    let (graph, tcp) = (&case.graph, &case.tcp);
    let ns = |d: Duration| d.ps() / 1000;
    println!("mss {}", tcp.mss());
    println!("initial_window {}", tcp.initial_window);
    println!("rto_min {}", ns(tcp.rto_min));
    println!("syn_timeout {}", tcp.syn_timeout.map_or(0, ns));
    println!("ack_every {}", 1 + u8::from(tcp.delayed_ack));
    println!("delayed_ack_timeout {}", ns(tcp.delayed_ack_timeout));
    println!("buffer {}", case.buffer);
    println!("fragment {FRAGMENT}");
    println!("blocks {BLOCKS}");
    println!("new_connections {}", u8::from(case.new_connections));
    println!("global_barrier {}", u8::from(case.together));
    println!("hosts {}", graph.hosts);
    println!("nodes {}", graph.nodes.len());
    for link in &graph.links {
        println!("link {} {} {} {}", link.a, link.b, link.rate.bps(), ns(link.delay));
    }
    let routes = Routes::build(graph, |_| true);
    let mut random = random::stream(case.seed, "paths");
    let mut way = |from, to| {
        let fraction = if case.scheme == Scheme::Nr { 0 } else { random.random() };
        let ports: Vec<PortId> = routes.path(graph, from, to, fraction);
        let links: Vec<String> = ports.iter().map(|port| (port / 2).to_string()).collect();
        format!("{} {}", links.len(), links.join(" "))
    };
    for &(client, server) in &case.pairs {
        for _ in 0..if case.scheme == Scheme::Fb { 2 } else { 1 } {
            println!("connection {client} {server} {} {}", way(server, client), way(client, server));
        }
    }
}

/// The sessions of all blocks, or one session for all blocks of a pair.
fn sessions(case: &Case) -> Vec<Session> {
    let blocks = if case.new_connections { BLOCKS } else { 1 };
    let size = if case.new_connections { FRAGMENT } else { FRAGMENT * u64::from(BLOCKS) };
    let one = |&(client, server): &(u32, u32)| {
        (0..blocks).map(move |block| Session {
            start: Time::ZERO,
            size: Some(Bytes(size)),
            supply: None,
            mode: Mode::Unicast,
            sources: vec![server].into(),
            sinks: vec![client].into(),
            group: 0,
            request: client,
            block,
        })
    };
    case.pairs.iter().flat_map(one).collect()
}

fn run(case: Case) -> Result<(), String> {
    let protocol = if case.scheme == Scheme::Fb {
        Protocol::Multipath(FrontBackConfig::default().over(&case.tcp))
    } else {
        Protocol::Tcp(case.tcp.clone())
    };
    let mode = if case.scheme == Scheme::Nr { RoutingMode::Leftmost } else { RoutingMode::NixVector };
    let connections = if case.new_connections { Connections::New } else { Connections::Kept };
    let group = SessionGroup {
        barrier: Some(Barrier { blocks: BLOCKS, connections, think: Duration::ZERO, together: case.together }),
        ..SessionGroup::new("blocks", Transport { name: "blocks".to_owned(), protocol }, mode)
    };
    let limit = Limit::Packets(case.buffer);
    let mut network = Network::new(Setup {
        sessions: sessions(&case),
        graph: Arc::new(case.graph),
        queue: Box::new(move |_| Queue::DropTail(DropTail::new(limit))),
        pfc: None,
        groups: vec![group],
        seed: case.seed,
        stop: Stop::Foreground,
        time_limit: Time::ZERO + Duration::from_secs(1000),
        changes: Vec::new(),
        sampling: Sampling::default(),
        controllers: Vec::new(),
        routing: RoutingConfig { multicast_trees: 1, ..RoutingConfig::default() },
        memory_limit: u64::MAX,
        host_jitter: Jitter::Time(Duration::ZERO),
        pull_pace: 1.0,
        return_to_sender: false,
        trim_multicast: true,
        reorder: None,
        pulls_by_priority: false,
        host_classes: 1,
    });
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    if record.ending != Ending::Complete {
        return Err(format!("the run did not complete: {:?}", record.ending));
    }
    let took = record.blocks.iter().map(|block| block.end.map_or(0, |end| end.since(block.start).ps()));
    let (count, dropped) = (record.blocks.len(), record.links.iter().map(|link| link.dropped).sum::<u64>());
    println!("blocks,{count},{},{dropped}", took.sum::<u64>() / count as u64 / 1000);
    Ok(())
}
