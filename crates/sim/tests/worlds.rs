//! Small random worlds for properties, hostile ones included: queues of one packet, links that fail, transports on switches that were not made
//! for them.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::queue::mlfq::{MAX_PRIORITIES, Mlfq, MlfqParameters, Victim};
use anabranch_sim::fabric::queue::pfabric::Pfabric;
use anabranch_sim::fabric::queue::phantom::Phantom;
use anabranch_sim::fabric::queue::pooled::{Pool, Pooled};
use anabranch_sim::fabric::queue::{
    Limit, Queue, drop_tail::DropTail, ecn::Ecn, express::Express, fair::Fair, trim::Trim, trim_ecn::Marking,
    trim_ecn::TrimEcn,
};
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::fabric::topology::{
    BCube, DCell, Dumbbell, FatTree, Jellyfish, LayerLinks, Layers, LeafSpine, MPortNTree, Star, TopologyConfig, Vl2,
};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Fallback;
use anabranch_sim::network::{Change, Ending, Network, SessionGroup, Setup, Target};
use anabranch_sim::random;
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::homa::HomaConfig;
use anabranch_transport::multipath::{
    FrontBackConfig, MptcpConfig, MptcpScheduler, Scheduler, SubflowControl, Subflows,
};
use anabranch_transport::ndp::{Multicast, NdpConfig};
use anabranch_transport::phost::PhostConfig;
use anabranch_transport::roce::{Congestion, DcqcnConfig, HpccConfig, RoceConfig, Rules, TimelyConfig, Variant};
use anabranch_transport::scdp::{MAX_BLOCK_SYMBOLS, Repair, ScdpConfig, Straggler, StragglerPolicy};
use anabranch_transport::tcp::{Algorithm, SwiftConfig, TcpConfig, WindowRules};
use anabranch_transport::uec::{Control, Spraying, UecConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::path::Path;
use std::sync::Arc;

/// Everything that makes a run.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a switch each")]
pub(crate) struct World {
    pub(crate) fabric: TopologyConfig,
    /// Each link has a rate and a delay of its own, drawn from this; within a factor of four of the fabric's.
    pub(crate) unequal: Option<u64>,
    pub(crate) queue: Discipline,
    pub(crate) groups: Vec<(Protocol, RoutingMode, Option<Fallback>)>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) trouble: Vec<(Time, Trouble)>,
    pub(crate) jitter: Duration,
    pub(crate) multicast_trees: u32,
    pub(crate) return_to_sender: bool,
    pub(crate) trim_multicast: bool,
    pub(crate) pulls_by_priority: bool,
    pub(crate) fair_hosts: bool,
    pub(crate) pfc: Option<Pfc>,
    pub(crate) reorder: Option<Duration>,
    pub(crate) seed: u64,
}

/// A change to a link or switch that the fabric may or may not have.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    Cut {
        whole_switch: bool,
        which: Index,
        lasts: Duration,
    },
    /// To another rate, in quarters of its own.
    Rate {
        which: Index,
        quarters: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Discipline {
    DropTail(Limit),
    Ecn(Limit, Limit),
    Trim(Limit, Limit),
    TrimEcn(Limit, Limit),
    Mlfq(MlfqParameters),
    Phantom(Limit, f64),
    Pfabric(Limit),
    /// All ports of the fabric in one memory, or those of each node in one of theirs.
    Pooled(Box<Discipline>, u64, bool),
    /// Queues of their own for two groups.
    Fair(Box<[Discipline; 2]>),
    /// Pushed packets before all others.
    Express(Box<Discipline>),
}

impl Discipline {
    fn queue(&self, port: u32) -> Queue {
        match self {
            Self::DropTail(limit) => Queue::DropTail(DropTail::new(*limit)),
            Self::Ecn(limit, threshold) => Queue::Ecn(Ecn::new(*limit, *threshold)),
            Self::Trim(data, headers) => Queue::Trim(Trim::new(*data, *headers, 10, u64::from(port))),
            Self::TrimEcn(data, headers) => {
                let seed = u64::from(port);
                let trim = Trim::new(*data, *headers, 10, seed);
                Queue::TrimEcn(Box::new(TrimEcn::new(trim, Marking::new(*data, 0.2, 0.8), seed)))
            }
            Self::Mlfq(parameters) => Queue::Mlfq(Mlfq::new(*parameters)),
            Self::Phantom(limit, drain) => Queue::Phantom(Box::new(Phantom::new(*limit, *drain, 1000))),
            Self::Pfabric(limit) => Queue::Pfabric(Box::new(Pfabric::new(*limit))),
            Self::Pooled(queue, ..) => queue.queue(port),
            Self::Express(others) => Queue::Express(Box::new(Express::new(others.queue(port)))),
            Self::Fair(classes) => Queue::Fair(Fair::new(classes.each_ref().map(|d| d.queue(port)), 1500)),
        }
    }
}

impl World {
    pub(crate) fn graph(&self) -> Graph {
        let mut graph = self.fabric.build(Path::new("")).expect("the fabric is possible");
        let Some(seed) = self.unequal else { return graph };
        let mut random = random::stream(seed, "links");
        for link in &mut graph.links {
            link.rate = Rate(link.rate.bps() * [1, 2, 4][random.random_range(0..3)]);
            link.delay = Duration(random.random_range(0..=2 * link.delay.ps()));
        }
        graph
    }

    pub(crate) fn setup(&self) -> Setup {
        let graph = self.graph();
        let changes = self.changes(&graph);
        let (queue, (protocol, path, _)) = (self.queue.clone(), self.groups[0].clone());
        let ports = graph.ports();
        let pools: Vec<Arc<Pool>> = match &queue {
            Discipline::Pooled(_, size, each) => {
                let pools = if *each { graph.nodes.len() } else { 1 };
                (0..pools).map(|_| Arc::new(Pool::new(*size, 1.0, ports as usize))).collect()
            }
            _ => Vec::new(),
        };
        let pool_of: Vec<usize> = (0..ports).map(|port| graph.port_owner(port) as usize % pools.len().max(1)).collect();
        let make = move |port: u32| match pools.get(pool_of[port as usize]) {
            Some(pool) => Queue::Pooled(Box::new(Pooled::new(queue.queue(port), Arc::clone(pool), port as usize))),
            None => queue.queue(port),
        };
        let base = setup(graph, make, protocol, path, self.sessions.clone());
        let group =
            |(class, (protocol, path, fallback)): (usize, &(Protocol, RoutingMode, Option<Fallback>))| SessionGroup {
                class: class as u8,
                transport: Transport { name: "random".to_owned(), protocol: protocol.clone() },
                routing: *path,
                fallback: *fallback,
                ..base.groups[0].clone()
            };
        Setup {
            groups: self.groups.iter().enumerate().map(group).collect(),
            host_classes: if self.fair_hosts { 2 } else { 1 },
            pfc: self.pfc,
            reorder: self.reorder,
            seed: self.seed,
            changes,
            host_jitter: Jitter::Time(self.jitter),
            routing: trees(self.multicast_trees),
            return_to_sender: self.return_to_sender,
            trim_multicast: self.trim_multicast,
            pulls_by_priority: self.pulls_by_priority,
            ..base
        }
    }

    fn changes(&self, graph: &Graph) -> Vec<(Time, Change)> {
        let mut changes = Vec::new();
        for (time, trouble) in &self.trouble {
            let link = |which: &Index| which.index(graph.links.len());
            match trouble {
                Trouble::Rate { which, quarters } => {
                    let rate = Rate(graph.links[link(which)].rate.bps() * quarters / 4);
                    changes.push((*time, Change::Rate(Target::Link(link(which) as u32), rate)));
                }
                Trouble::Cut { whole_switch, which, lasts } => {
                    let switches = graph.nodes.len() - graph.hosts as usize;
                    let switch = Target::Switch(graph.hosts + which.index(switches) as u32);
                    let target = if *whole_switch { switch } else { Target::Link(link(which) as u32) };
                    changes.extend([(*time, Change::Cut(target)), (*time + *lasts, Change::Restore(target))]);
                }
            }
        }
        changes.sort_by_key(|(time, _)| *time);
        changes
    }

    pub(crate) fn run(&self) -> RunRecord {
        finish(self.setup())
    }
}

/// Runs to the end, which must be a good one and must come: worlds this small need less than a million events.
pub(crate) fn finish(setup: Setup) -> RunRecord {
    let mut network = Network::new(setup);
    let ending = network.run(|n| {
        assert!(n.conservation().holds(), "{:?}", n.conservation());
        n.events() < 4_000_000
    });
    let waits = network.unfinished();
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete, "{waits} wait after {} events, {}", record.events, record.simulated);
    assert!(record.conservation.holds() && record.conservation.in_flight == 0, "{:?}", record.conservation);
    assert!(record.flows.iter().all(|f| f.end.is_some()));
    record
}

/// A fabric's rates lie within a factor of four. Receiver-driven transports pull at the pace of the hosts' links and have
/// no other congestion control: a link that is a hundred times slower drowns in their pulls.
fn rates() -> impl Strategy<Value = Rate> {
    // 3 Gbps and the odd one do not divide into whole picoseconds per byte.
    select(vec![100_000_000, 123_456_789, 1_000_000_000, 3_000_000_000, 40_000_000_000]).prop_map(Rate)
}

fn layer_rate(base: Rate) -> impl Strategy<Value = Option<Rate>> {
    prop::option::of(select(vec![base.bps() / 2, base.bps() * 2])).prop_map(|rate| rate.map(Rate))
}

fn delays() -> impl Strategy<Value = Duration> {
    prop_oneof![select(vec![0, 1, 500_000, 10_000_000, 12_000_001, 300_000_000]), 0..50_000_000_u64].prop_map(Duration)
}

fn layer(base: Rate) -> impl Strategy<Value = Option<LayerLinks>> {
    let links = (layer_rate(base), prop::option::of(delays()));
    prop::option::of(links.prop_map(|(rate, delay)| LayerLinks { rate, delay }))
}

/// On the heap: a world's value tree would not fit on a test's stack without optimisation.
fn fabrics() -> BoxedStrategy<TopologyConfig> {
    let of = |(rate, delay)| prop_oneof![2 => switch_centric(rate, delay), 1 => server_centric(rate, delay)].boxed();
    (rates(), delays()).prop_flat_map(of).boxed()
}

fn switch_centric(rate: Rate, delay: Duration) -> impl Strategy<Value = TopologyConfig> {
    let layers = || (layer(rate), layer(rate), layer(rate));
    prop_oneof![
        (2..16_u32).prop_map(move |hosts| Star { hosts, rate, delay }.into_config()),
        (1..6_u32, 1..6_u32, layer_rate(rate), prop::option::of(delays())).prop_map(
            move |(left, right, bottleneck_rate, bottleneck_delay)| {
                Dumbbell { left, right, rate, delay, bottleneck_rate, bottleneck_delay }.into_config()
            }
        ),
        (select(vec![2_u32, 4]), layers()).prop_map(move |(k, (host, aggregation, core))| {
            FatTree { k, rate, delay, layers: Layers { host, aggregation, core } }.into_config()
        }),
        (1..4_u32, 1..4_u32, 2..5_u32, layers()).prop_map(move |(leaves, spines, hosts_per_leaf, (host, _, core))| {
            let layers = Layers { host, aggregation: None, core };
            LeafSpine { leaves, spines, hosts_per_leaf, oversubscription: None, rate, delay, layers }.into_config()
        }),
        (select(vec![(2, 1), (2, 3), (4, 1), (4, 2), (4, 3), (6, 2)]), layers()).prop_map(
            move |((m, n), (host, aggregation, core))| {
                let (aggregation, core) = (aggregation.filter(|_| n >= 3), core.filter(|_| n >= 2));
                MPortNTree { m, n, rate, delay, layers: Layers { host, aggregation, core } }.into_config()
            }
        ),
        (4..9_u32, 1..3_u32, any::<u64>(), layer_rate(rate)).prop_map(
            move |(switches, hosts_per_switch, seed, switch_rate)| {
                let ports = hosts_per_switch + if switches % 2 == 0 { 3 } else { 4.min(switches - 1) };
                Jellyfish { switches, ports, hosts_per_switch, seed, rate, delay, switch_rate }.into_config()
            }
        ),
        (select(vec![(2_u32, 4_u32), (4, 2), (4, 4)]), 1..3_u32, layer_rate(rate)).prop_map(
            move |((d_a, d_i), hosts_per_tor, switch_rate)| {
                let switch_rate = Some(switch_rate.unwrap_or(rate));
                Vl2 { d_a, d_i, hosts_per_tor, rate, switch_rate, delay }.into_config()
            }
        ),
    ]
}

/// Hosts with several links, which relay.
fn server_centric(rate: Rate, delay: Duration) -> impl Strategy<Value = TopologyConfig> {
    let bcube = select(vec![(2, 1), (3, 1), (4, 1), (2, 2), (2, 3)]);
    let dcell = select(vec![(2, 1), (3, 1), (2, 2)]);
    prop_oneof![
        bcube.prop_map(move |(n, k)| BCube { n, k, rate, delay }.into_config()),
        dcell.prop_map(move |(n, k)| DCell { n, k, rate, delay }.into_config()),
    ]
}

/// Wraps a topology's own struct.
pub(crate) trait IntoConfig {
    fn into_config(self) -> TopologyConfig;
}
macro_rules! into_config {
    ($($name:ident),+) => {
        $(impl IntoConfig for $name { fn into_config(self) -> TopologyConfig { TopologyConfig::$name(self) } })+
    };
}
into_config!(Star, Dumbbell, FatTree, LeafSpine, MPortNTree, BCube, DCell, Jellyfish, Vl2);

/// From one packet up; never less than a full packet in bytes.
fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![(1..30_u32).prop_map(Limit::Packets), (1500..40_000_u64).prop_map(Limit::Bytes)]
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    let fair = [single_queues(), single_queues()].prop_map(|classes| Discipline::Fair(Box::new(classes)));
    let express = single_queues().prop_map(|others| Discipline::Express(Box::new(others)));
    let pooled = (single_queues(), 30_000..300_000_u64, any::<bool>())
        .prop_map(|(queue, size, each)| Discipline::Pooled(Box::new(queue), size, each));
    prop_oneof![4 => single_queues(), 1 => fair, 1 => express, 1 => pooled].boxed()
}

fn single_queues() -> impl Strategy<Value = Discipline> {
    let victim = select(vec![Victim::Arriving, Victim::Lowest]);
    prop_oneof![
        limits().prop_map(Discipline::DropTail),
        (limits(), limits()).prop_map(|(limit, threshold)| Discipline::Ecn(limit, threshold)),
        (limits(), limits()).prop_map(|(data, headers)| Discipline::Trim(data, headers)),
        (limits(), limits()).prop_map(|(data, headers)| Discipline::TrimEcn(data, headers)),
        (limits(), 0.3..1.0_f64).prop_map(|(limit, drain)| Discipline::Phantom(limit, drain)),
        limits().prop_map(Discipline::Pfabric),
        (1..=MAX_PRIORITIES, limits(), any::<bool>(), limits(), victim, prop::option::of(limits())).prop_map(
            |(priorities, buffer, trim, header_buffer, victim, mark)| {
                Discipline::Mlfq(MlfqParameters { priorities, buffer, trim, header_buffer, weight: 10, victim, mark })
            }
        ),
    ]
    .boxed()
}

fn protocols() -> impl Strategy<Value = Protocol> {
    let rto_min = select(vec![Duration::from_us(10), Duration::from_ms(1), Duration::from_ms(200)]);
    let tcp = (select(Algorithm::ALL.to_vec()), rto_min, prop::array::uniform5(any::<bool>()), 1..20_u32).prop_map(
        |(congestion, rto_min, [sack, ecn, delayed_ack, linux, rack], initial_window)| {
            // Its target is shorter than many of these paths: with the least window by default a packet leaves each thousand round trips.
            let patient = SwiftConfig { min_window: 0.1, ..SwiftConfig::default() };
            let swift = (congestion == Algorithm::Swift).then(|| Box::new(patient));
            let plain = TcpConfig {
                congestion,
                swift,
                rto_min,
                sack,
                ecn,
                delayed_ack,
                initial_window,
                fast_retransmit: rack || initial_window % 4 > 0,
                ..TcpConfig::default()
            };
            let as_linux = TcpConfig { prr: true, window_rules: WindowRules::Linux61, ..plain.clone() };
            let ruled = if linux && as_linux.validate().is_ok() { as_linux } else { plain };
            let timed = TcpConfig { rack, ..ruled.clone() };
            Protocol::Tcp(if timed.validate().is_ok() { timed } else { ruled })
        },
    );
    let thresholds = prop_oneof![Just(vec![]), Just(vec![Bytes(10_000), Bytes(100_000)])];
    let multicast = select(vec![None, Some(Multicast::RepeatToAll), Some(Multicast::RepeatToOne)]);
    let ndp = (1..40_u32, any::<bool>(), thresholds, multicast).prop_map(
        |(initial_window, return_to_sender, thresholds, multicast)| {
            Protocol::Ndp(NdpConfig {
                initial_window,
                return_to_sender,
                priority_thresholds: thresholds,
                multicast,
                ..NdpConfig::default()
            })
        },
    );
    let repair = select(vec![Repair::Partitioned, Repair::Random]);
    // Under the third policy not everybody completes.
    let policy = select(vec![StragglerPolicy::Wait, StragglerPolicy::Detach]);
    let straggler = (policy, 0..3_000_u64).prop_map(|(policy, us)| Straggler {
        policy,
        time: Duration::from_us(us),
        ..Straggler::default()
    });
    let windows = (1..40_u32, 1..20_u32);
    let scdp = (windows, select(vec![3, 100, MAX_BLOCK_SYMBOLS]), select(vec![0, 1, 24]), repair, straggler).prop_map(
        |(windows, block_symbols, reorder_tolerance, repair, straggler)| {
            let (initial_window, initial_window_many_to_one) = windows;
            let config = ScdpConfig {
                initial_window,
                initial_window_many_to_one,
                block_symbols,
                reorder_tolerance,
                repair,
                straggler,
                ..ScdpConfig::default()
            };
            Protocol::Scdp(config.into())
        },
    );
    let parts = prop_oneof![(1..6_u8).prop_map(Subflows::Count), Just(Subflows::ALL)];
    let schedulers = select(vec![Scheduler::FrontBack, Scheduler::Divide, Scheduler::RoundRobin]);
    let controls = select(vec![SubflowControl::Reno, SubflowControl::Dctcp, SubflowControl::Lia, SubflowControl::Olia]);
    let multipath = (parts, schedulers, controls, prop::array::uniform3(any::<bool>())).prop_map(
        |(subflows, scheduler, congestion, [sack, mptcp, turns])| {
            let rack = sack && turns;
            let tcp = TcpConfig { sack, rack, rto_min: Duration::from_ms(1), ..TcpConfig::default() };
            Protocol::Multipath(if mptcp {
                let scheduler = if turns { MptcpScheduler::RoundRobin } else { MptcpScheduler::MinRtt };
                MptcpConfig { subflows, scheduler, congestion, opportunistic: !sack }.over(&tcp)
            } else {
                FrontBackConfig { subflows, scheduler, congestion }.over(&tcp)
            })
        },
    );
    let levels = prop_oneof![Just(vec![]), Just(vec![Bytes(2000), Bytes(20_000)])];
    let homa = (1..40_u64, prop::option::of(1..20_000_u64), levels, 4..9_u8, prop::option::of(1..5_u8)).prop_map(
        |(window, unscheduled, cutoffs, priorities, overcommitment)| {
            Protocol::Homa(HomaConfig {
                rtt_bytes: Bytes(1442 * window),
                unscheduled_bytes: unscheduled.map(Bytes),
                priorities,
                unscheduled_cutoffs: Some(cutoffs),
                overcommitment,
                retries: 1000,
                ..HomaConfig::default()
            })
        },
    );
    // Boxed: all strategies together would not fit on a test thread's stack.
    prop_oneof![3 => tcp, 2 => ndp, 2 => scdp, 2 => multipath, 2 => homa, 2 => phost(), 2 => uec()].boxed()
}

/// pHost.
fn phost() -> impl Strategy<Value = Protocol> {
    // A rate that need not be that of the links: its timeouts may be too short or too long.
    (1..20_u32, prop::option::of(0..20_u32), rates(), 2..4_u8, prop::option::of(1..3_000_u64)).prop_map(
        |(window, free_tokens, rate, priorities, timeout)| {
            Protocol::Phost(PhostConfig {
                window,
                free_tokens,
                rate: Some(rate),
                priorities,
                reissue_timeout: timeout.map(Duration::from_us),
                resend_timeout: Duration::from_ms(20),
                ..PhostConfig::default()
            })
        },
    )
}

/// Ultra Ethernet's transport, and EQDS.
fn uec() -> impl Strategy<Value = Protocol> {
    let controls = select(vec![Control::Nscc, Control::Rccc, Control::Both, Control::Eqds]);
    let sprayings = select(vec![
        None,
        Some(Spraying::Oblivious),
        Some(Spraying::Bitmap),
        Some(Spraying::Reps),
        Some(Spraying::Mixed),
    ]);
    (controls, sprayings, 0..7_u32, 1..40_u32, any::<bool>()).prop_map(
        |(control, spraying, entropies, initial_window, slow)| {
            Protocol::Uec(UecConfig {
                control,
                spraying,
                entropies: 1 << entropies,
                initial_window: Some(initial_window),
                rto: Duration::from_us(if slow { 1000 } else { 50 }),
                ..UecConfig::default()
            })
        },
    )
}

fn sizes() -> impl Strategy<Value = Bytes> {
    prop_oneof![select(vec![1, 1436, 1437, 1460, 1461, 300_000]), 1..3_000_u64, 1..300_000_u64].prop_map(Bytes)
}

fn starts() -> impl Strategy<Value = Time> {
    prop_oneof![Just(Time::ZERO), (0..2_000_000_000_u64).prop_map(Time)]
}

/// Sessions of any kind between hosts in random order.
fn mixture(hosts: u32) -> impl Strategy<Value = Vec<Session>> {
    let order = Just((0..hosts).collect::<Vec<_>>()).prop_shuffle();
    let mode = select(vec![Mode::Unicast, Mode::OneToMany, Mode::ManyToOne]);
    let session = (order, mode, 1..8_usize, sizes(), starts(), 0..2_u16).prop_map(
        move |(order, mode, others, size, start, group)| {
            let (one, rest) = (vec![order[0]], &order[1..]);
            let others = rest[..others.min(rest.len())].to_vec();
            let (sources, sinks) = match mode {
                Mode::Unicast => (one, others[..1].to_vec()),
                Mode::OneToMany => (one, others),
                Mode::ManyToOne => (others, one),
            };
            Session {
                start,
                size: Some(size),
                supply: None,
                mode,
                sources: sources.into(),
                sinks: sinks.into(),
                group,
                request: 0,
                block: 0,
            }
        },
    );
    prop::collection::vec(session, 1..12)
}

/// All hosts send to the first at once.
fn incast(hosts: u32) -> impl Strategy<Value = Vec<Session>> {
    sizes().prop_map(move |size| (1..hosts).map(|h| unicast(h, 0, size.0)).collect())
}

fn sessions(hosts: u32) -> impl Strategy<Value = Vec<Session>> {
    prop_oneof![4 => mixture(hosts), 1 => incast(hosts)]
}

fn troubles() -> impl Strategy<Value = Vec<(Time, Trouble)>> {
    let cut = (any::<bool>(), any::<Index>(), 1_000_000..50_000_000_000_u64)
        .prop_map(|(whole_switch, which, lasts)| Trouble::Cut { whole_switch, which, lasts: Duration(lasts) });
    let rate = (any::<Index>(), select(vec![2, 3, 8])).prop_map(|(which, quarters)| Trouble::Rate { which, quarters });
    let trouble = (starts(), prop_oneof![2 => cut, 1 => rate]);
    prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(trouble, 1..3)]
}

/// Half of all hosts put packets in order: they wait for less than a packet takes, or for longer than timers.
fn reorder_of(seed: u64) -> Option<Duration> {
    let times = [1, 1_000_000, 100_000_000, 20_000_000_000];
    times.get((seed % 8) as usize).copied().map(Duration)
}

pub(crate) fn worlds() -> impl Strategy<Value = World> {
    let paths = || {
        select(vec![
            RoutingMode::PerPacket,
            RoutingMode::PerPacketPermuted,
            RoutingMode::PerFlow,
            RoutingMode::Single,
            RoutingMode::Leftmost,
            RoutingMode::Flowlet,
        ])
    };
    // Schemes with path bits of their own are those of all groups.
    let of_all = select(vec![
        None,
        None,
        None,
        Some(RoutingMode::Drill),
        Some(RoutingMode::Letflow),
        // Leaf-spine fabrics; in others switches do as by ECMP.
        Some(RoutingMode::Conga),
        Some(RoutingMode::Presto),
        // Where switches can lose packets, too.
        Some(RoutingMode::Detail),
        Some(RoutingMode::Valiant),
        Some(RoutingMode::DModK),
        Some(RoutingMode::SModK),
        Some(RoutingMode::NixVector),
        Some(RoutingMode::VirtualTables),
        Some(RoutingMode::Weighted),
        Some(RoutingMode::Spain),
    ]);
    let fallbacks = || select(vec![None, Some(Fallback::DaisyChain), Some(Fallback::Partition)]);
    let group = move || (protocols(), paths(), fallbacks());
    let jitter = prop_oneof![Just(Duration::ZERO), (1..2_000_000_u64).prop_map(Duration)];
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let unequal = prop::option::weighted(0.3, any::<u64>());
    let rest = (troubles(), jitter, 1..5_u32, switches, any::<u64>(), of_all, unequal);
    let fabric = fabrics().prop_flat_map(|fabric| {
        let hosts = fabric.build(Path::new("")).expect("the fabric is possible").hosts;
        (Just(fabric), sessions(hosts))
    });
    let fabric = fabric.boxed();
    (fabric, disciplines(), [group(), group()], rest).prop_map(
        |((fabric, sessions), queue, groups, (trouble, jitter, multicast_trees, switches, seed, of_all, unequal))| {
            World {
                fabric,
                unequal,
                queue,
                groups: groups.map(|(protocol, path, fallback)| (protocol, of_all.unwrap_or(path), fallback)).to_vec(),
                sessions,
                trouble,
                jitter,
                multicast_trees,
                return_to_sender: switches.0,
                trim_multicast: switches.1,
                fair_hosts: switches.2,
                pulls_by_priority: switches.3,
                pfc: None,
                reorder: reorder_of(seed),
                seed,
            }
        },
    )
}

/// Worlds whose switches pause who sends to them, from a packet up, and lose nothing. Some deadlock.
pub(crate) fn lossless_worlds() -> impl Strategy<Value = World> {
    let threshold = prop_oneof![
        (1500..30_000_u64, 0..1500_u64).prop_map(|(xoff, xon)| Threshold::Fixed { xoff, xon }),
        (1_000_000..100_000_000_u64, 0.1..2.0_f64, 1500..5000_u64)
            .prop_map(|(memory, alpha, below)| Threshold::Dynamic { memory, alpha, below }),
    ];
    let pfc = (1..=8_u8, threshold).prop_map(|(priorities, threshold)| Pfc { priorities, threshold, headroom: None });
    let fabric = (rates(), delays()).prop_flat_map(|(rate, delay)| switch_centric(rate, delay)).boxed();
    let fabric = fabric.prop_flat_map(|fabric| {
        let hosts = fabric.build(Path::new("")).expect("the fabric is possible").hosts;
        (Just(fabric), sessions(hosts))
    });
    let [patched, per_rtt] = [Variant::Patched, Variant::PerRtt].map(|variant| TimelyConfig {
        variant,
        segment: Bytes(1),
        ..TimelyConfig::default()
    });
    let controls = [
        Congestion::Dcqcn(DcqcnConfig::default()),
        Congestion::Dcqcn(DcqcnConfig { rules: Rules::Connectx, ..DcqcnConfig::default() }),
        Congestion::Timely(TimelyConfig::default()),
        Congestion::Timely(patched),
        Congestion::Timely(per_rtt),
        Congestion::Hpcc(HpccConfig::default()),
    ];
    let controls = [None].into_iter().chain(controls.map(Some)).collect::<Vec<_>>();
    let (worlds, roce) = (worlds(), prop::option::of(select(controls)));
    (worlds, fabric.boxed(), pfc, prop::option::of(1..30_u32), roce).prop_map(
        |(world, (fabric, sessions), pfc, mark, roce)| {
            let mark = mark.map(|packets| Discipline::Ecn(Limit::NONE, Limit::Packets(packets)));
            let queue = mark.unwrap_or(Discipline::DropTail(Limit::NONE));
            let pfc = Some(pfc);
            let mut groups = world.groups.clone();
            if let Some(congestion) = roce {
                // Its retries end a run that deadlocks; otherwise nothing is lost, and a flow has one path.
                let config = RoceConfig { timeout: Duration::from_ms(20), congestion, ..RoceConfig::default() };
                groups[0].0 = Protocol::Roce(config);
                // Schemes with path bits of their own are those of all groups.
                for group in &mut groups {
                    group.1 = RoutingMode::PerFlow;
                }
            }
            World {
                groups,
                fabric,
                sessions,
                queue,
                pfc,
                trouble: vec![],
                return_to_sender: false,
                fair_hosts: false,
                ..world
            }
        },
    )
}
