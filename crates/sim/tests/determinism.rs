//! The same input gives the same run: on every machine (committed fingerprints) and on any number of threads.
//!
//! A fingerprint changes whenever a run goes another way: on purpose, or not. If on purpose, `UPDATE=1 cargo test -p
//! anabranch-sim --test all determinism::` writes the new ones; say in the commit why they changed, and raise
//! `anabranch_sim::MODEL`, or the version of the part of the model that it concerns (`MODEL_PARTS`), so that stored results
//! are not taken for those of the new model.

use crate::common::*;
use anabranch_sim::MODEL;
use anabranch_sim::control::{AnyController, Hedera, Mahout};
use anabranch_sim::experiment::{Progress, run_all};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::queue::{Limit, Queue, ecn::Ecn, fair::Fair};
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::fabric::topology::{BCube, FatTree, Layers, LeafSpine, Star, TopologyConfig};
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Fallback;
use anabranch_sim::network::{Change, Network, Sampling, Scheduling, SessionGroup, Setup, Stop, Target};
use anabranch_sim::random;
use anabranch_sim::workload::supply::{Series, Spread};
use anabranch_sim::workload::{Mode, Session, Supply};
use anabranch_transport::homa::HomaConfig;
use anabranch_transport::multipath::{FrontBackConfig, MptcpConfig, SubflowControl, Subflows};
use anabranch_transport::phost::PhostConfig;
use anabranch_transport::roce::{Congestion, HpccConfig, RoceConfig, TimelyConfig};
use anabranch_transport::scdp::{Repair, ScdpConfig, Straggler, StragglerPolicy};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::udp::UdpConfig;
use anabranch_transport::uec::{Control, UecConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use rand::Rng as _;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/determinism.txt");

fn build(fabric: &TopologyConfig) -> Graph {
    fabric.build(Path::new("")).expect("the fabric is possible")
}

fn fat_tree() -> Graph {
    build(&TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() }))
}

fn bcube() -> Graph {
    build(&TopologyConfig::BCube(BCube { n: 4, k: 1, rate: GBPS, delay: DELAY }))
}

fn leaf_spine() -> Graph {
    build(&TopologyConfig::LeafSpine(LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        oversubscription: Some(2.0),
        rate: GBPS,
        delay: DELAY,
        layers: Layers::default(),
    }))
}

/// Every host sends to the one `stride` further on, sizes and starts at random.
fn strided(hosts: u32, stride: u32) -> Vec<Session> {
    let mut random = random::stream(7, "strided");
    let mut session = |h| {
        let (size, start) = (1 + random.next_u64() % 200_000, us(random.next_u64() % 300));
        Session { start: at(0) + start, ..unicast(h, (h + stride) % hosts, size) }
    };
    (0..hosts).map(&mut session).collect()
}

fn tcp_with(congestion: Algorithm, change: impl Fn(&mut TcpConfig)) -> Protocol {
    let mut config = TcpConfig { congestion, rto_min: us(1000), rto_initial: us(10_000), ..TcpConfig::default() };
    change(&mut config);
    Protocol::Tcp(config)
}

/// Replicas of one object, an object fetched from replicas, and transfers between others.
fn groups() -> Vec<Session> {
    let one_to_many = Session { mode: Mode::OneToMany, sinks: vec![1, 6, 11, 12].into(), ..unicast(0, 1, 150_000) };
    let many_to_one = Session { mode: Mode::ManyToOne, sources: vec![9, 2, 14].into(), ..unicast(9, 5, 200_000) };
    let mut sessions = vec![one_to_many, many_to_one];
    sessions.extend((0..8).map(|h| unicast(h, 15 - h, 40_000)));
    sessions
}

fn carried_by(fallback: Fallback, mut setup: Setup) -> Setup {
    setup.groups[0].fallback = Some(fallback);
    setup
}

/// SCDP that detaches stragglers.
fn detaching() -> Protocol {
    let straggler = Straggler { policy: StragglerPolicy::Detach, time: us(300), ..Straggler::default() };
    Protocol::Scdp(ScdpConfig { straggler, ..ScdpConfig::default() }.into())
}

/// Fair queues for SCDP and DCTCP.
fn fair(packets: u32) -> impl Fn(u32) -> Queue + Send {
    let (scdp, dctcp) = (mlfq_trim(packets), ecn(40, 8));
    move |port| Queue::Fair(Fair::new([scdp(port), dctcp(port)], 1500))
}

/// The same run with flows of DCTCP beside.
fn beside_dctcp(setup: Setup) -> Setup {
    let transport = Transport { name: "dctcp".to_owned(), protocol: tcp_with(Algorithm::Dctcp, |_| {}) };
    let dctcp = SessionGroup { transport, routing: RoutingMode::PerFlow, class: 1, ..setup.groups[0].clone() };
    let mut sessions = setup.sessions;
    sessions.extend(strided(16, 6).into_iter().map(|s| Session { group: 1, ..s }));
    sessions.sort_by_key(|s| s.start);
    Setup { groups: vec![setup.groups[0].clone(), dctcp], sessions, host_classes: 2, ..setup }
}

/// Traffic that follows a volume series at random instants, beside NewReno.
fn volumes() -> Setup {
    let udp = Protocol::Udp(UdpConfig::default());
    let transport = Transport { name: "udp".to_owned(), protocol: udp.clone() };
    let bytes = vec![90_000, 0, 31_234, 180_000, 5];
    let series = Arc::new(Series { bin: us(2000), bytes, chunk: 1500, spread: Spread::Poisson });
    let size = Some(Bytes(transport.object(series.total())));
    let follow = |first| Session {
        supply: Some(Supply { series: Arc::clone(&series), first, seed: u64::from(first) }),
        size,
        ..unicast(first, first + 8, 1)
    };
    let sessions = (0..4).map(follow).collect();
    let udp = setup(fat_tree(), drop_tail(100), udp, RoutingMode::PerFlow, sessions);
    let transport = Transport { name: "newreno".to_owned(), protocol: tcp_with(Algorithm::NewReno, |_| {}) };
    let newreno = SessionGroup { transport, ..udp.groups[0].clone() };
    let beside = strided(16, 6).into_iter().map(|s| Session { group: 1, ..s });
    let mut sessions: Vec<Session> = udp.sessions.into_iter().chain(beside).collect();
    sessions.sort_by_key(|s| s.start);
    Setup { groups: vec![udp.groups[0].clone(), newreno], sessions, ..udp }
}

/// One run for each transport, with everything that draws random numbers or decides between equals.
fn runs() -> Vec<(&'static str, Setup)> {
    use RoutingMode::{PerFlow, PerPacket, PerPacketPermuted, Single};
    let incast = (1..16).map(|h| unicast(h, 0, 50_000)).collect();
    let newreno = setup(star(16), drop_tail(20), tcp_with(Algorithm::NewReno, |_| {}), Single, incast);
    let reno = tcp_with(Algorithm::Reno, |c| c.delayed_ack = true);
    let reno = setup(leaf_spine(), mlfq_trim(15), reno, PerPacket, strided(12, 5));
    let cubic = tcp_with(Algorithm::Cubic, |c| (c.sack, c.receive_window) = (true, Bytes(1 << 20)));
    let cubic = setup(fat_tree(), drop_tail(10), cubic, PerFlow, strided(16, 6));
    let dctcp = setup(leaf_spine(), ecn(40, 8), tcp_with(Algorithm::Dctcp, |_| {}), PerFlow, strided(12, 4));
    let ndp_on_trees = setup(fat_tree(), trim(4), ndp(20), PerPacketPermuted, strided(16, 4));
    let scdp_groups = setup(fat_tree(), mlfq_trim(8), scdp(12), PerPacket, groups());
    let pias = tcp_with(Algorithm::Dctcp, |c| c.priority_thresholds = vec![Bytes(10_000), Bytes(100_000)]);
    let pias = setup(fat_tree(), mlfq_trim(10), pias, PerFlow, groups());
    let chains = setup(fat_tree(), trim(6), ndp(12), PerPacket, groups());
    let random = ScdpConfig { repair: Repair::Random, block_symbols: 1000, ..ScdpConfig::default() };
    let polyraptor = setup(fat_tree(), trim(4), Protocol::Scdp(random.into()), PerPacket, groups());
    let relayed = setup(bcube(), mlfq_trim(8), scdp(12), PerPacket, groups());
    let failing = setup(fat_tree(), drop_tail(6), ndp(10), PerPacket, strided(16, 8));
    let detaching = setup(fat_tree(), mlfq_trim(8), detaching(), PerPacket, groups());
    let fair = setup(fat_tree(), fair(8), scdp(12), PerPacket, groups());
    let tcp = TcpConfig { rto_min: us(1000), rto_initial: us(10_000), ..TcpConfig::default() };
    let front_back = FrontBackConfig { subflows: Subflows::ALL, ..FrontBackConfig::default() }.over(&tcp);
    let front_back = setup(fat_tree(), drop_tail(10), Protocol::Multipath(front_back), PerFlow, strided(16, 6));
    let mptcp = MptcpConfig { congestion: SubflowControl::Olia, ..MptcpConfig::default() }.over(&tcp);
    let mptcp = setup(fat_tree(), drop_tail(10), Protocol::Multipath(mptcp), PerFlow, groups());
    let cutoffs = Some(vec![Bytes(5000), Bytes(50_000)]);
    let homa = HomaConfig { unscheduled_cutoffs: cutoffs, resend_timeout: us(500), ..HomaConfig::default() };
    let several = strided(16, 6).into_iter().chain(strided(16, 7)).chain((1..16).map(|h| unicast(h, 0, 30_000)));
    let homa = setup(fat_tree(), priority(24), Protocol::Homa(homa), PerPacket, several.collect());
    let phost = PhostConfig { rate: Some(Rate::from_gbps(1)), ..PhostConfig::default() };
    let several = strided(16, 6).into_iter().chain(strided(16, 7)).chain((1..16).map(|h| unicast(h, 0, 30_000)));
    let phost = setup(fat_tree(), priority(8), Protocol::Phost(phost), PerPacket, several.collect());
    let (core, slow) = (Target::Switch(32), Target::Link(0));
    let pfc = Pfc { priorities: 1, threshold: Threshold::Fixed { xoff: 9000, xon: 6000 }, headroom: None };
    let lossless = |config| setup(fat_tree(), drop_tail(u32::MAX), Protocol::Roce(config), PerFlow, to_one());
    let timely = TimelyConfig { segment: Bytes(2000), ..TimelyConfig::default() };
    let timely = RoceConfig::default().with(Congestion::Timely(timely));
    let hpcc = RoceConfig::default().with(Congestion::Hpcc(HpccConfig::default()));
    let mut runs = vec![
        ("newreno-incast", newreno),
        ("reno-sprayed-jitter", Setup { host_jitter: Jitter::Time(us(1)), ..reno }),
        ("cubic-sack", cubic),
        ("dctcp-oversubscribed", dctcp),
        ("ndp-return-to-sender", Setup { return_to_sender: true, ..ndp_on_trees }),
        ("scdp-groups", Setup { routing: trees(4), ..scdp_groups }),
        ("scdp-groups-relayed", Setup { routing: trees(4), ..relayed }),
        (
            "ndp-failures",
            Setup {
                changes: vec![
                    (at(100), Change::Rate(slow, Rate::from_mbps(123))),
                    (at(200), Change::Cut(core)),
                    (at(900), Change::Restore(core)),
                ],
                ..failing
            },
        ),
        ("pias-partition", carried_by(Fallback::Partition, pias)),
        ("ndp-daisy-chain", carried_by(Fallback::DaisyChain, chains)),
        ("polyraptor-groups", polyraptor),
        (
            "scdp-detaching-unicast-trimming",
            Setup {
                changes: vec![(at(0), Change::Rate(Target::Link(11), Rate::from_mbps(200)))],
                trim_multicast: false,
                ..detaching
            },
        ),
        ("fair-scdp-and-dctcp", beside_dctcp(fair)),
        ("udp-volumes-beside-newreno", volumes()),
        ("front-back-all-paths", front_back),
        ("mptcp-olia-failure", Setup { changes: vec![(at(100), Change::Cut(core))], ..mptcp }),
        (
            "homa-several-failure",
            Setup { changes: vec![(at(300), Change::Cut(core)), (at(900), Change::Restore(core))], ..homa },
        ),
        (
            "phost-several-failure",
            Setup { changes: vec![(at(300), Change::Cut(core)), (at(900), Change::Restore(core))], ..phost },
        ),
        ("roce-incast-lossless", Setup { pfc: Some(pfc), ..lossless(RoceConfig::default()) }),
        ("timely-short-segments-lossless", Setup { pfc: Some(pfc), ..lossless(timely) }),
        ("hpcc-incast-lossless", Setup { pfc: Some(pfc), ..lossless(hpcc) }),
    ];
    runs.extend(sprayed_and_balanced(pfc));
    runs
}

/// All hosts send to the first, one after the other.
fn to_one() -> Vec<Session> {
    (1..16).map(|h| Session { start: at(u64::from(h)), ..unicast(h, 0, 60_000) }).collect()
}

/// Runs whose senders, switches or controllers choose paths.
fn sprayed_and_balanced(pfc: Pfc) -> Vec<(&'static str, Setup)> {
    use RoutingMode::{PerFlow, Spain};
    let core = Target::Switch(32);
    let tcp = TcpConfig { rto_min: us(1000), rto_initial: us(10_000), ..TcpConfig::default() };
    let uec = |control| Protocol::Uec(UecConfig { control, initial_window: Some(12), ..UecConfig::default() });
    let eqds = setup(fat_tree(), trim(6), uec(Control::Eqds), PerFlow, strided(16, 6));
    let nscc = setup(fat_tree(), drop_tail(6), uec(Control::Nscc), PerFlow, groups());
    let presto = setup(fat_tree(), drop_tail(10), Protocol::Tcp(tcp), RoutingMode::Presto, strided(16, 6));
    let presto = Setup { changes: vec![(at(1500), Change::Cut(core))], reorder: Some(us(500)), ..presto };
    let urgent = TcpConfig { priority_thresholds: vec![Bytes(20_000)], fast_retransmit: false, ..TcpConfig::default() };
    let marking = |_| Queue::Ecn(Ecn::new(Limit::NONE, Limit::Packets(20)));
    let detail = setup(fat_tree(), marking, Protocol::Tcp(urgent), RoutingMode::Detail, to_one());
    let detail = Setup { pfc: Some(Pfc { priorities: 2, ..pfc }), reorder: Some(us(10_000)), ..detail };
    let placed = |controller: AnyController| {
        let dctcp = tcp_with(Algorithm::Dctcp, |_| {});
        let controllers = vec![controller.shared()];
        Setup { controllers, ..setup(fat_tree(), ecn(40, 8), dctcp, PerFlow, strided(16, 8)) }
    };
    let (period, delay) = (us(200), us(20));
    let hedera = placed(AnyController::Hedera(Hedera { period, delay, ..Hedera::default() }));
    let mahout = placed(AnyController::Mahout(Mahout { period, delay, ..Mahout::default() }));
    let spain = setup(leaf_spine(), drop_tail(20), tcp_with(Algorithm::NewReno, |_| {}), Spain, strided(12, 5));
    vec![
        (
            "eqds-failure",
            Setup { changes: vec![(at(100), Change::Cut(core)), (at(900), Change::Restore(core))], ..eqds },
        ),
        ("uec-window-losses", nscc),
        ("newreno-presto-failure", presto),
        ("newreno-detail-lossless", detail),
        ("dctcp-hedera", hedera),
        ("dctcp-mahout", mahout),
        ("newreno-spain-failure", Setup { changes: vec![(at(300), Change::Cut(Target::Link(13)))], ..spain }),
    ]
}

/// The versions of the model and of its parts.
fn model() -> String {
    let parts = anabranch_sim::MODEL_PARTS.map(|(part, version, _)| format!(", {part} {version}"));
    format!("{MODEL}{}", parts.concat())
}

#[test]
fn fingerprints_are_those_committed() {
    let mut found = format!("model {}\n", model());
    for (name, setup) in runs() {
        let record = complete(setup);
        writeln!(found, "{name} {:016x} {} events", record.fingerprint, record.events).expect("a string takes it");
    }
    let committed = std::fs::read_to_string(COMMITTED).expect("the file is there");
    if std::env::var_os("UPDATE").is_some() {
        let known = |line: &str| found.lines().any(|f| f == line);
        let only_new_lines = committed.lines().skip(1).all(known);
        assert!(only_new_lines || !known(committed.lines().next().unwrap_or("")), "runs changed: raise MODEL");
        std::fs::write(COMMITTED, &found).expect("the file can be written");
        return;
    }
    assert_eq!(found, committed, "runs went another way; see the head of this file");
}

/// Runs in which something happens that takes the whole run to decide: one that detaches stragglers, and receivers that give up on
/// what UDP does not send again.
const UNDONE: [(&str, Stop); 3] = [
    ("scdp-detaching-unicast-trimming", Stop::Idle),
    ("scdp-detaching-unicast-trimming", Stop::Foreground),
    ("udp-volumes-beside-newreno", Stop::Idle),
];

#[test]
fn windows_do_not_change_the_records() {
    let mut whole = std::collections::BTreeMap::new();
    for stop in [Stop::Idle, Stop::Foreground] {
        for ((name, one_by_one), (_, setup)) in runs().into_iter().zip(runs()) {
            let one_by_one = scheduled(Setup { stop, ..one_by_one }, Scheduling::Events);
            let mut network = Network::new(Setup { stop, ..setup });
            if let Err(why) = network.windows_possible() {
                *whole.entry(why).or_insert(0) += 1;
            }
            network.schedule_in(Scheduling::Windows);
            // It goes on after each window, which is looked at.
            let ending = loop {
                if let Some(ending) = network.advance(1) {
                    break ending;
                }
                assert!(network.conservation().holds(), "{name}: {:?}", network.conservation());
            };
            let in_windows = RunRecord::take(&mut network, ending);
            assert_same(&one_by_one, &in_windows, &format!("{name} in windows until {stop:?}"));
        }
    }
    let few: u32 = whole.values().sum();
    assert!(few as usize * 2 < runs().len(), "{whole:?}");
}

/// Links of a picosecond more than a packet takes, and a look whenever a host has sent one: the last instant of a window, at which a
/// port has more to send.
#[test]
fn the_last_instant_of_a_window_is_part_of_it() {
    let sampled = || {
        let delay = Duration(12_000_001);
        let graph = build(&TopologyConfig::Star(Star { hosts: 4, rate: GBPS, delay }));
        let sessions = (0..3).map(|host| unicast(host, 3, 60_000)).collect();
        let sampling = Sampling { interval: us(12), queues: true, ..Sampling::default() };
        Setup { sampling, ..setup(graph, trim(8), ndp(12), RoutingMode::PerPacketPermuted, sessions) }
    };
    assert_eq!(Network::new(sampled()).windows_possible(), Ok(()));
    let (one_by_one, in_windows) = (Scheduling::Events, Scheduling::Windows);
    assert_same(&scheduled(sampled(), one_by_one), &scheduled(sampled(), in_windows), "in windows");
}

/// One session alone, and later one of each host: windows are left while little happens in them.
#[test]
fn the_way_changes_with_what_happens() {
    let sparse_then_dense = || {
        let graph =
            build(&TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() }));
        let later =
            (0..16).map(|host| Session { start: Time(us(60_000).ps()), ..unicast(host, (host + 5) % 16, 3_000_000) });
        let sessions = std::iter::once(unicast(0, 15, 6_000_000)).chain(later).collect();
        setup(graph, trim(8), ndp(12), RoutingMode::PerPacketPermuted, sessions)
    };
    let mut network = Network::new(sparse_then_dense());
    let mut ways = Vec::new();
    let ending = loop {
        if let Some(ending) = network.advance(1000) {
            break ending;
        }
        ways.push(network.goes_in_windows());
        ways.dedup();
    };
    assert_eq!(ways, [true, false, true]);
    let adapted = RunRecord::take(&mut network, ending);
    assert_same(&scheduled(sparse_then_dense(), Scheduling::Events), &adapted, "in windows now and then");
}

#[test]
fn parts_do_not_change_the_records() {
    for stop in [Stop::Idle, Stop::Foreground] {
        for parts in [2, 3, 4] {
            for ((name, serial), (_, setup)) in runs().into_iter().zip(runs()) {
                let what = format!("{name} in {parts} parts until {stop:?}");
                let serial = complete(Setup { stop, ..serial });
                let divided = in_parts(Setup { stop, ..setup }, parts);
                assert_eq!(divided.is_none(), UNDONE.contains(&(name, stop)), "{what}");
                let Some((record, division)) = divided else { continue };
                assert_same(&serial, &record, &what);
                // All hosts of the first are at one switch; with a controller a run is one part.
                let whole = ["newreno-incast", "dctcp-hedera", "dctcp-mahout"].contains(&name);
                let in_parts: u64 = division.events.iter().sum();
                assert!(in_parts * 5 > record.events * 4 || whole, "{what}: {division:?}");
            }
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    for (first, second) in runs().into_iter().zip(runs()) {
        let (name, first) = first;
        let second = Setup { seed: 2, ..second.1 };
        assert_ne!(complete(first).fingerprint, complete(second).fingerprint, "{name}");
    }
}

/// What all runs leave behind, run by run.
fn on_threads(threads: usize) -> Vec<RunRecord> {
    const SEEDS: usize = 3;
    let count = runs().len() * SEEDS;
    let records: Vec<_> = (0..count).map(|_| Mutex::new(None)).collect();
    let build = |i: usize| {
        let (_, setup) = runs().swap_remove(i / SEEDS);
        let sampling = Sampling {
            interval: us(200),
            queues: true,
            links: true,
            windows: vec![0, 1],
            goodput: true,
            volumes: true,
            operations: true,
            warmup: us(300),
            window: Some(us(1_100)),
        };
        Ok::<_, Infallible>(Network::new(Setup { seed: (i % SEEDS) as u64, sampling, ..setup }))
    };
    let progress = Progress::new(count);
    let all: Vec<usize> = (0..count).collect();
    run_all(&all, threads, &progress, build, |i, record, _| {
        let before = records[i].lock().expect("nobody panics").replace(record);
        assert!(before.is_none(), "each run ends once");
        Ok(())
    })
    .expect("nothing fails");
    assert_eq!(progress.runs_done(), count);
    let record = |slot: Mutex<Option<RunRecord>>| slot.into_inner().expect("nobody panics").expect("every run ends");
    records.into_iter().map(record).collect()
}

#[test]
fn threads_do_not_change_the_records() {
    let serial = on_threads(1);
    for threads in [2, 4] {
        for (i, (a, b)) in serial.iter().zip(on_threads(threads)).enumerate() {
            assert_eq!(a.ending, b.ending, "run {i}");
            assert_eq!(a.flows, b.flows, "run {i}");
            assert_eq!(a.links, b.links, "run {i}");
            assert_eq!(a.series, b.series, "run {i}");
            assert_eq!(a.conservation, b.conservation, "run {i}");
            assert_eq!((a.fingerprint, a.events, a.simulated), (b.fingerprint, b.events, b.simulated), "run {i}");
        }
    }
}
