//! The benchmark's cases: permutation, incast, storage requests and arrivals on fat-trees, 1500-byte packets, 1 Gbps, 10 us links, or,
//! where the name says 100g, 100 Gbps and 1 us; where it says 1us, 1 Gbps and 1 us.

use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::queue::{Limit, Queue, drop_tail, ecn, mlfq, trim};
use anabranch_sim::fabric::routing::{RoutingConfig, RoutingMode};
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::network::{Network, Sampling, SessionGroup, Setup, Stop};
use anabranch_sim::random;
use anabranch_sim::scenario::WorkloadConfig;
use anabranch_sim::workload::{Context, Mode, Session, generate};
use anabranch_transport::homa::HomaConfig;
use anabranch_transport::roce::{Congestion, DcqcnConfig, HpccConfig, RoceConfig};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time, ndp, scdp};
use std::path::Path;
use std::sync::Arc;

/// Who sends to whom.
#[derive(Clone, Copy)]
enum Pattern {
    /// Every host sends to one other and receives from one other.
    Permutation,
    /// All hosts but one send to that one.
    Incast,
    /// Ten storage requests a host at once, over 100 ms: half of them writes to three random hosts, half reads from one of
    /// them, or from all three where the transport can.
    Storage,
    /// Open loop: Poisson arrivals at 60 % load between random hosts, of sizes from web search or, if `bytes` is not 0, of so many.
    Arrivals {
        /// How many.
        sessions: u32,
    },
}

/// One case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    transport: &'static str,
    k: u32,
    bytes: u64,
    pattern: Pattern,
    gbps: u64,
    delay_us: u64,
    initial_window: u32,
}

const fn case(
    name: &'static str,
    what: &'static str,
    transport: &'static str,
    k: u32,
    bytes: u64,
    pattern: Pattern,
) -> Case {
    Case { name, what, transport, k, bytes, pattern, gbps: 1, delay_us: 10, initial_window: 15 }
}

/// At 100 Gbps, with a window that fills the longest path.
const fn fast(name: &'static str, what: &'static str, transport: &'static str, k: u32, bytes: u64) -> Case {
    Case { gbps: 100, delay_us: 1, initial_window: 100, ..case(name, what, transport, k, bytes, Pattern::Permutation) }
}

/// With links that are short for their rate: in the time that a bit takes over one, it carries a twelfth of a packet.
const fn short(name: &'static str, what: &'static str, transport: &'static str, k: u32, bytes: u64) -> Case {
    Case { delay_us: 1, ..case(name, what, transport, k, bytes, Pattern::Permutation) }
}

/// Sessions that come and go, of this size or, if it is 0, of those of web search.
const fn arrivals(name: &'static str, what: &'static str, transport: &'static str, k: u32, bytes: u64, n: u32) -> Case {
    case(name, what, transport, k, bytes, Pattern::Arrivals { sessions: n })
}

const MB: u64 = 1_000_000;
/// What one packet carries of any transport.
const SMALL: u64 = 1_000;

/// All cases.
pub(crate) const CASES: &[Case] = &[
    case("tcp-k8", "TCP NewReno, permutation, 128 hosts, 20 MB", "newreno", 8, 20 * MB, Pattern::Permutation),
    case("dctcp-k8", "DCTCP, permutation, 128 hosts, 20 MB", "dctcp", 8, 20 * MB, Pattern::Permutation),
    case("ndp-k8", "NDP, permutation, 128 hosts, 20 MB", "ndp", 8, 20 * MB, Pattern::Permutation),
    case("scdp-k8", "SCDP, permutation, 128 hosts, 20 MB", "scdp", 8, 20 * MB, Pattern::Permutation),
    case("ndp-k16", "NDP, permutation, 1024 hosts, 5 MB", "ndp", 16, 5 * MB, Pattern::Permutation),
    case("scdp-k16", "SCDP, permutation, 1024 hosts, 5 MB", "scdp", 16, 5 * MB, Pattern::Permutation),
    case("ndp-incast", "NDP, incast 127:1, 2 MB each", "ndp", 8, 2 * MB, Pattern::Incast),
    case("scdp-incast", "SCDP, incast 127:1, 2 MB each", "scdp", 8, 2 * MB, Pattern::Incast),
    case("ndp-storage", "NDP, 2500 requests of 1 MB, 250 hosts", "ndp", 10, MB, Pattern::Storage),
    case("scdp-storage", "SCDP, 2500 requests of 1 MB, 250 hosts", "scdp", 10, MB, Pattern::Storage),
    case("tcp-small", "TCP NewReno, permutation, 16 hosts, 1 MB", "newreno", 4, MB, Pattern::Permutation),
    case("ndp-small", "NDP, permutation, 16 hosts, 1 MB", "ndp", 4, MB, Pattern::Permutation),
    case("scdp-small", "SCDP, permutation, 16 hosts, 1 MB", "scdp", 4, MB, Pattern::Permutation),
    case("ndp-k32", "NDP, permutation, 8192 hosts, 1 MB", "ndp", 32, MB, Pattern::Permutation),
    case("scdp-k32", "SCDP, permutation, 8192 hosts, 1 MB", "scdp", 32, MB, Pattern::Permutation),
    fast("ndp-k16-100g", "NDP, permutation, 1024 hosts, 5 MB, 100 Gbps", "ndp", 16, 5 * MB),
    fast("scdp-k16-100g", "SCDP, permutation, 1024 hosts, 5 MB, 100 Gbps", "scdp", 16, 5 * MB),
    fast("homa-k8-100g", "Homa, permutation, 128 hosts, 20 MB, 100 Gbps", "homa", 8, 20 * MB),
    fast("dcqcn-k8-100g", "DCQCN, permutation, 128 hosts, 20 MB, 100 Gbps", "dcqcn", 8, 20 * MB),
    fast("hpcc-k8-100g", "HPCC, permutation, 128 hosts, 20 MB, 100 Gbps", "hpcc", 8, 20 * MB),
    short("ndp-k8-1us", "NDP, permutation, 128 hosts, 20 MB, links of 1 us", "ndp", 8, 20 * MB),
    short("dctcp-k8-1us", "DCTCP, permutation, 128 hosts, 20 MB, links of 1 us", "dctcp", 8, 20 * MB),
];

/// Further cases, for runs on several threads.
pub(crate) const FAST: &[Case] = &[
    fast("ndp-k32-100g", "NDP, permutation, 8192 hosts, 1 MB, 100 Gbps", "ndp", 32, MB),
    fast("scdp-k32-100g", "SCDP, permutation, 8192 hosts, 1 MB, 100 Gbps", "scdp", 32, MB),
    arrivals("dctcp-k8-web", "DCTCP, web search at 60 %, 128 hosts", "dctcp", 8, 0, 2_000),
    arrivals("ndp-k8-web", "NDP, web search at 60 %, 128 hosts", "ndp", 8, 0, 2_000),
    arrivals("scdp-k8-web", "SCDP, web search at 60 %, 128 hosts", "scdp", 8, 0, 2_000),
    arrivals("dctcp-k16-web", "DCTCP, web search at 60 %, 1024 hosts", "dctcp", 16, 0, 4_000),
    arrivals("ndp-k16-web", "NDP, web search at 60 %, 1024 hosts", "ndp", 16, 0, 4_000),
    arrivals("scdp-k16-web", "SCDP, web search at 60 %, 1024 hosts", "scdp", 16, 0, 4_000),
    arrivals("dctcp-k8-small", "DCTCP, packets at 60 %, 128 hosts", "dctcp", 8, SMALL, 300_000),
    arrivals("ndp-k8-small", "NDP, packets at 60 %, 128 hosts", "ndp", 8, SMALL, 300_000),
    arrivals("scdp-k8-small", "SCDP, packets at 60 %, 128 hosts", "scdp", 8, SMALL, 300_000),
];

const SEED: u64 = 0x2a;
const TRIMMING_QUEUE: Limit = Limit::Packets(8);
const HEADER_QUEUE: Limit = Limit::Bytes(8 * 1500);
const TCP_QUEUE: Limit = Limit::Packets(100);
const DCTCP_K: Limit = Limit::Packets(20);
/// At 100 Gbps, the least threshold of marks and a pause's of the HPCC simulator in kind.
const MARKS: Limit = Limit::Bytes(400_000);
const PAUSES: Pfc =
    Pfc { priorities: 1, threshold: Threshold::Fixed { xoff: 1_000_000, xon: 990_000 }, headroom: None };

impl Case {
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CASES.iter().chain(FAST).find(|c| c.name == name)
    }

    fn protocol(&self) -> Protocol {
        let initial_window = self.initial_window;
        let tcp = |congestion| Protocol::Tcp(TcpConfig { congestion, ..TcpConfig::default() });
        match self.transport {
            "dctcp" => tcp(Algorithm::Dctcp),
            "newreno" => tcp(Algorithm::NewReno),
            "homa" => {
                let rtt_bytes = Bytes(u64::from(initial_window) * 1442);
                let mut homa = HomaConfig { rtt_bytes, ..HomaConfig::default() };
                homa.for_sizes(&mut std::iter::once(self.bytes));
                Protocol::Homa(homa)
            }
            "dcqcn" => Protocol::Roce(RoceConfig::default().with(Congestion::Dcqcn(DcqcnConfig::default()))),
            "hpcc" => {
                let hpcc = HpccConfig { base_rtt: Some(Duration::from_us(13)), ..HpccConfig::default() };
                let header = Bytes(RoceConfig::default().header.0 + hpcc.telemetry.0);
                Protocol::Roce(RoceConfig { header, ..RoceConfig::default() }.with(Congestion::Hpcc(hpcc)))
            }
            "ndp" => Protocol::Ndp(ndp::NdpConfig { initial_window, ..ndp::NdpConfig::default() }),
            _ => Protocol::Scdp(scdp::ScdpConfig { initial_window, ..scdp::ScdpConfig::default() }.into()),
        }
    }

    fn queue(&self) -> Box<dyn Fn(u32) -> Queue + Send> {
        match self.transport {
            "ndp" => Box::new(|p| Queue::Trim(trim::Trim::new(TRIMMING_QUEUE, HEADER_QUEUE, 10, u64::from(p)))),
            "scdp" => {
                let parameters = Arc::new(mlfq::MlfqParameters {
                    priorities: 5,
                    buffer: TRIMMING_QUEUE,
                    trim: true,
                    header_buffer: HEADER_QUEUE,
                    weight: 10,
                    victim: mlfq::Victim::Lowest,
                    mark: None,
                });
                Box::new(move |_| Queue::Mlfq(mlfq::Mlfq::new(Arc::clone(&parameters))))
            }
            "homa" => {
                let parameters = Arc::new(mlfq::MlfqParameters {
                    priorities: 8,
                    buffer: Limit::NONE,
                    trim: false,
                    header_buffer: Limit::NONE,
                    weight: 10,
                    victim: mlfq::Victim::Lowest,
                    mark: None,
                });
                Box::new(move |_| Queue::Mlfq(mlfq::Mlfq::new(Arc::clone(&parameters))))
            }
            "dcqcn" => Box::new(|_| Queue::Ecn(ecn::Ecn::new(Limit::NONE, MARKS))),
            "hpcc" => Box::new(|_| Queue::DropTail(drop_tail::DropTail::new(Limit::NONE))),
            "dctcp" => Box::new(|_| Queue::Ecn(ecn::Ecn::new(TCP_QUEUE, DCTCP_K))),
            _ => Box::new(|_| Queue::DropTail(drop_tail::DropTail::new(TCP_QUEUE))),
        }
    }

    fn sessions(&self, graph: &Graph) -> Vec<Session> {
        let session = |source: u32, sink: u32| Session {
            start: Time::ZERO,
            size: Some(Bytes(self.bytes)),
            supply: None,
            mode: Mode::Unicast,
            sources: [source].as_slice().into(),
            sinks: [sink].as_slice().into(),
            group: 0,
            request: 0,
            block: 0,
        };
        match self.pattern {
            Pattern::Permutation => {
                // A random cycle through all hosts: nobody sends to itself.
                let mut order: Vec<u32> = (0..graph.hosts).collect();
                order.sort_by_key(|&h| random::mix(SEED ^ random::mix(u64::from(h))));
                (0..order.len()).map(|i| session(order[i], order[(i + 1) % order.len()])).collect()
            }
            Pattern::Incast => (1..graph.hosts).map(|h| session(h, 0)).collect(),
            Pattern::Storage => self.requests(graph.hosts),
            Pattern::Arrivals { sessions } => self.arrivals(sessions, graph),
        }
    }

    fn arrivals(&self, sessions: u32, graph: &Graph) -> Vec<Session> {
        let sizes = match self.bytes {
            0 => "{ law = \"cdf\", name = \"websearch_pfabric\" }".to_owned(),
            bytes => format!("{{ law = \"fixed\", size = \"{bytes}B\" }}"),
        };
        let workload = format!(
            "arrivals = {{ law = \"poisson\", load = 0.6 }}\n\
             placement = {{ pattern = \"random\" }}\n\
             sizes = {sizes}\n\
             sessions = {sessions}"
        );
        let workload: WorkloadConfig = toml::from_str(&workload).expect("it is a workload");
        generate(&[workload.workload()], &Context::from_graph(graph), SEED).expect("it is possible")
    }

    fn requests(&self, hosts: u32) -> Vec<Session> {
        let groups = self.transport == "scdp";
        let mut sessions = Vec::new();
        for request in 0..10 * hosts {
            let mut draws = (0..).map(|n| random::mix(SEED ^ random::mix(u64::from(request) << 32 | n)));
            let start = Time(draws.next().unwrap_or_default() % Duration::from_ms(100).ps());
            let mut members: Vec<u32> = Vec::with_capacity(4);
            while members.len() < 4 {
                let host = (draws.next().unwrap_or_default() % u64::from(hosts)) as u32;
                if !members.contains(&host) {
                    members.push(host);
                }
            }
            let (client, replicas) = (members[0], &members[1..4]);
            let one = |mode, sources: &[u32], sinks: &[u32]| Session {
                start,
                size: Some(Bytes(self.bytes)),
                supply: None,
                mode,
                sources: sources.into(),
                sinks: sinks.into(),
                group: 0,
                request,
                block: 0,
            };
            match (request % 2 == 0, groups) {
                (true, true) => sessions.push(one(Mode::OneToMany, &[client], replicas)),
                (true, false) => sessions.extend(replicas.iter().map(|&sink| one(Mode::Unicast, &[client], &[sink]))),
                (false, true) => sessions.push(one(Mode::ManyToOne, replicas, &[client])),
                (false, false) => sessions.push(one(Mode::Unicast, &replicas[..1], &[client])),
            }
        }
        sessions.sort_by_key(|session| session.start);
        sessions
    }

    /// The network, ready to run.
    pub(crate) fn network(&self) -> Network {
        let (rate, delay) = (Rate::from_gbps(self.gbps), Duration::from_us(self.delay_us));
        let fat_tree = FatTree { k: self.k, rate, delay, layers: Layers::default() };
        let graph = Arc::new(TopologyConfig::FatTree(fat_tree).build(Path::new(".")).expect("k is even"));
        let one_path = matches!(self.transport, "newreno" | "dctcp" | "dcqcn" | "hpcc");
        let path = if one_path { RoutingMode::PerFlow } else { RoutingMode::PerPacketPermuted };
        let transport = Transport { name: self.transport.to_owned(), protocol: self.protocol() };
        let sessions = self.sessions(&graph);
        Network::new(Setup {
            graph,
            pfc: matches!(self.transport, "dcqcn" | "hpcc").then_some(PAUSES),
            queue: self.queue(),
            groups: vec![SessionGroup::new("bench", transport, path)],
            sessions,
            seed: SEED,
            stop: Stop::Foreground,
            time_limit: Time::MAX,
            changes: Vec::new(),
            sampling: Sampling::default(),
            controllers: Vec::new(),
            routing: RoutingConfig::default(),
            memory_limit: u64::MAX,
            host_jitter: Jitter::NONE,
            pull_pace: 1.0,
            return_to_sender: false,
            trim_multicast: true,
            reorder: None,
            pulls_by_priority: false,
            host_classes: 1,
        })
    }

    /// Full-size data packets delivered to applications, times the links on their paths.
    pub(crate) fn packet_hops(&self, network: &Network) -> u64 {
        let transport = Transport { name: String::new(), protocol: self.protocol() };
        let packets = transport.packets(self.bytes).count;
        let rows = network.sessions();
        let sessions = rows.iter().zip(network.specs());
        let ends = sessions.flat_map(|(row, spec)| {
            let complete = row.receivers.iter().zip(&spec.sinks).filter(|(receiver, _)| receiver.completed.is_some());
            complete.map(|(_, &sink)| (spec.sources[0], sink))
        });
        ends.map(|(source, sink)| packets * u64::from(network.routes().hop_count(source, sink))).sum()
    }
}
