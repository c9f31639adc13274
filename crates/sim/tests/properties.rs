//! What must hold of every run, whatever the fabric, the workload, the transports and the switches.
//!
//! Small random worlds, hostile ones included: queues of one packet, links that fail, transports on switches that were
//! not made for them. Whoever loses packets may take long, but everything arrives, no packet vanishes, nobody beats
//! light, a run repeats exactly, and looking at it changes nothing. `PROPTEST_CASES=5000` looks longer.

use crate::common::*;
use crate::scenes::settings;
use crate::worlds::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::fabric::topology::{FatTree, Layers, LeafSpine};
use anabranch_sim::measure::{BlockRow, FlowRow, LinkRow, RunRecord};
use anabranch_sim::network::{Change, Network, Sampling, Scheduling, Setup, Stop, Target};
use anabranch_sim::workload::{Barrier, Connections, Mode, Session};
use anabranch_transport::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The time below which no transfer of this size between these hosts can be: the links of either carry all of it, at the
/// highest rate that any link is set to.
fn bound_by_host_links(world: &World, graph: &Graph, flow: &FlowRow) -> Duration {
    let links = |h: u32| graph.links.iter().filter(move |l| l.a == h || l.b == h);
    let quarters = |trouble: &Trouble| if let Trouble::Rate { quarters, .. } = trouble { *quarters } else { 4 };
    let highest = world.trouble.iter().map(|(_, trouble)| quarters(trouble)).fold(4, u64::max);
    let rate = |h: u32| Rate(links(h).map(|l| l.rate.bps() * highest / 4).sum());
    let delay = |h: u32| links(h).map(|l| l.delay).min().expect("a host has a link");
    let (from, to) = (flow.src_host, flow.dst_host);
    // Two hosts may share their only link.
    rate(from).min(rate(to)).transmit_time(flow.size_bytes) + delay(from).max(delay(to))
}

/// Sums up a counter that every flow of a session repeats.
fn over_sessions(record: &RunRecord, counter: fn(&FlowRow) -> u64) -> u64 {
    let mut seen = BTreeSet::new();
    record.flows.iter().filter(|f| seen.insert(f.session)).map(counter).sum()
}

proptest! {
    #![proptest_config(settings(100))]

    /// [`finish`] checks that everything completes, that the packets balance, and that none is left.
    #[test]
    fn everything_completes_and_nobody_beats_light(world in worlds()) {
        let record = world.run();
        let (graph, sessions) = (world.graph(), world.setup().sessions);
        for (flow, session) in record.flows.iter().map(|f| (f, &sessions[f.session as usize])) {
            let took = flow.end.expect("complete").since(flow.start);
            prop_assert!(took.ps() >= flow.ideal_ps, "{took} is less than the ideal: {flow:?}");
            if session.sources.len() > 1 {
                continue;
            }
            let bound = bound_by_host_links(&world, &graph, flow);
            prop_assert!(took >= bound, "{took} is less than {bound}: {flow:?}");
        }
        prop_assert_eq!(over_sessions(&record, |f| f.packets_dropped), record.conservation.dropped);
        let trimmed: u64 = record.links.iter().map(|l| l.trimmed).sum();
        prop_assert_eq!(over_sessions(&record, |f| f.packets_trimmed), trimmed);
        prop_assert!(record.conservation.trimmed <= trimmed + record.conservation.replicated);
    }

    #[test]
    fn a_run_repeats_and_being_watched_does_not_change_it(world in worlds(), interval in 1_000_u64..1_000_000_000) {
        let (first, second) = (world.run(), world.run());
        prop_assert_eq!(first.fingerprint, second.fingerprint);
        prop_assert_eq!(&first.flows, &second.flows);
        prop_assert_eq!(&first.links, &second.links);
        // A run lasts up to seconds of waiting: no more than about 1000 samples.
        let interval = Duration(interval.max(first.simulated.ps() / 1_000));
        let windows = (0..world.sessions.len() as u32).collect();
        let watched = Setup { sampling: Sampling { interval, queues: true, links: true, windows, goodput: true, volumes: true, operations: true, warmup: interval * 3, window: Some(interval * 7) }, ..world.setup() };
        let watched = finish(watched);
        prop_assert_eq!(first.fingerprint, watched.fingerprint);
        // Only which flows count differs, and the time over which links are measured.
        let flows: Vec<_> = watched.flows.into_iter().map(|row| FlowRow { measured: true, ..row }).collect();
        let all = |rows: Vec<LinkRow>| rows.into_iter().map(|row| LinkRow { utilisation_window: None, ..row }).collect::<Vec<_>>();
        prop_assert_eq!(&first.flows, &flows);
        prop_assert_eq!(all(first.links), all(watched.links));
        prop_assert_eq!(first.conservation, watched.conservation);
    }
}

proptest! {
    #![proptest_config(settings(100))]

    /// Clients at barriers, whatever carries them and whatever fails meanwhile: all blocks come, in order, each as a whole.
    #[test]
    fn blocks_come_in_order(world in worlds(), blocks in 1..4_u32, [kept, together] in any::<[bool; 2]>(), size in 1_500..60_000_u64, think in 0..2_u64) {
        let mut setup = world.setup();
        let transport = &setup.groups[0].transport;
        let connections = if kept && transport.waits() { Connections::Kept } else { Connections::New };
        let barrier = Barrier { blocks, connections, think: Duration::from_us(50 * think), together };
        let hosts = setup.graph.hosts;
        let (servers, copies, of_session) = (hosts.min(6) - 1, barrier.copies(), barrier.session_size(Bytes(size)));
        // Two clients, each served by those before it.
        let sessions = [0, 1].map(|request| (0..copies).flat_map(move |block| (1..=servers).map(move |server| {
            let client = hosts - 1 - request.min(hosts - 2);
            Session { block, request, size: Some(of_session), ..unicast((client + server) % hosts, client, 1) }
        })));
        setup.sessions = sessions.into_iter().flatten().collect();
        setup.groups[0].barrier = Some(barrier.clone());
        let record = finish(setup);
        prop_assert_eq!(record.blocks.len() as u32, 2 * blocks);
        for client in record.blocks.chunks(blocks as usize) {
            for (n, block) in client.iter().enumerate() {
                prop_assert_eq!((block.block, block.servers, block.size_bytes), (n as u32, servers, size * u64::from(servers)));
                prop_assert!(block.end > Some(block.start));
            }
            for pair in client.windows(2) {
                let waits_for = |row: &&BlockRow| row.block == pair[0].block && (together || row.request == pair[0].request);
                let last = record.blocks.iter().filter(waits_for).map(|row| row.end).max().flatten();
                prop_assert_eq!(Some(pair[1].start), last.map(|end| end + barrier.think));
            }
        }
        for flow in record.flows.iter().filter(|flow| flow.block.is_some()) {
            let block = record.blocks.iter().find(|b| (b.request, Some(b.block)) == (flow.request, flow.block)).unwrap();
            prop_assert_eq!(flow.start, block.start);
            prop_assert!(flow.end <= block.end);
        }
    }
}

/// What may be asked of a run besides.
#[derive(Clone, Debug)]
struct Asked {
    stop: Stop,
    /// Between samples, if there are any.
    interval: Option<Duration>,
    /// The sessions of the second group go on until they are stopped after this time, and nobody waits for them.
    endless: Option<Duration>,
    time_limit: Option<Duration>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let time = || prop::option::weighted(0.3, (10_000_000..3_000_000_000_u64).prop_map(Duration));
    let stop = select(vec![Stop::Idle, Stop::Foreground, Stop::Foreground]);
    (stop, time(), time(), time()).prop_map(|(stop, interval, endless, time_limit)| Asked {
        stop,
        interval,
        endless,
        time_limit,
    })
}

impl Asked {
    fn of(&self, mut setup: Setup) -> Setup {
        if let Some(lasts) = self.endless.filter(|_| setup.groups[1].transport.retransmits()) {
            (setup.groups[1].duration, setup.groups[1].background, setup.groups[1].awaited) =
                (Some(lasts), true, false);
            for session in setup.sessions.iter_mut().filter(|s| s.group == 1 && s.mode == Mode::Unicast) {
                session.size = None;
            }
        }
        if let Some(interval) = self.interval {
            let windows = (0..setup.sessions.len() as u32).collect();
            let sampling = Sampling {
                interval,
                queues: true,
                links: true,
                windows,
                goodput: true,
                volumes: true,
                operations: true,
                warmup: interval * 2,
                window: None,
            };
            setup.sampling = sampling;
        }
        // What waits forever is looked at forever.
        let limit = self.time_limit.or(self.interval.map(|interval| interval * 3000));
        Setup { stop: self.stop, time_limit: limit.map_or(setup.time_limit, |limit| Time::ZERO + limit), ..setup }
    }
}

proptest! {
    #![proptest_config(settings(100))]

    /// A run is the same on any number of threads, or is done anew on one.
    #[test]
    fn a_run_in_parts_is_the_same(world in worlds(), parts in 2..5_usize, asked in asked()) {
        let serial = scheduled(asked.of(world.setup()), Scheduling::Events);
        if let Some((record, division)) = in_parts_scheduled(asked.of(world.setup()), parts, Scheduling::Events) {
            assert_same(&serial, &record, &format!("{division:?}"));
        }
    }

    /// Where switches pause who sends to them, nothing is lost, and a run is the same event by event, in windows, and in parts.
    #[test]
    fn a_lossless_run_loses_nothing_and_is_the_same_in_windows_and_in_parts(
        world in lossless_worlds(), parts in 2..5_usize, asked in asked(),
    ) {
        let setup = || asked.of(world.setup());
        let one_by_one = scheduled(setup(), Scheduling::Events);
        prop_assert!(one_by_one.links.iter().all(|link| link.headroom_drops == 0 && link.dropped == 0));
        assert_same(&one_by_one, &scheduled(setup(), Scheduling::Windows), "in windows");
        for scheduling in [Scheduling::Events, Scheduling::Windows] {
            if let Some((record, division)) = in_parts_scheduled(setup(), parts, scheduling) {
                assert_same(&one_by_one, &record, &format!("{scheduling:?}, {division:?}"));
            }
        }
    }

    /// A run is the same event by event and in windows, whole and in parts.
    #[test]
    fn a_run_in_windows_is_the_same(world in worlds(), parts in 2..5_usize, asked in asked()) {
        let setup = || asked.of(for_windows(&world));
        let one_by_one = scheduled(setup(), Scheduling::Events);
        assert_same(&one_by_one, &scheduled(setup(), Scheduling::Windows), "in windows");
        if let Some((record, division)) = in_parts_scheduled(setup(), parts, Scheduling::Windows) {
            assert_same(&one_by_one, &record, &format!("in windows, {division:?}"));
        }
    }
}

/// A world without what most often keeps it from going in windows.
fn for_windows(world: &World) -> Setup {
    Setup { return_to_sender: false, ..world.setup() }
}

/// Most worlds can be divided, and most of what happens in these happens in parts; two in five can go in windows: in the others hosts have several links,
/// links have no delay, or ports share a memory.
#[test]
fn most_worlds_are_divided() {
    let mut runner = TestRunner::deterministic();
    let (mut divided, mut undone, mut serial, mut parallel) = (0, 0, 0, 0);
    let mut in_windows = BTreeMap::new();
    for n in 0..300 {
        let world = worlds().new_tree(&mut runner).expect("worlds can be made").current();
        let possible = Network::new(for_windows(&world)).windows_possible();
        *in_windows.entry(possible.err().unwrap_or("possible")).or_insert(0) += 1;
        if n >= 60 {
            continue;
        }
        match in_parts(world.setup(), 2) {
            None => undone += 1,
            Some((_, division)) if division.phases == 0 => serial += 1,
            Some((record, division)) => {
                divided += 1;
                parallel += u32::from(division.events.iter().sum::<u64>() * 2 > record.events);
            }
        }
    }
    assert!(
        divided > 30 && parallel * 10 > divided * 9,
        "{divided} divided, {parallel} of them well; {serial} not, {undone} undone"
    );
    assert!(in_windows["possible"] > 120, "{in_windows:?}");
}

/// The first receiver in the source's rack, where there is one path only, must not keep the group on one tree.
#[test]
fn a_group_spreads_over_its_trees_whoever_is_first() {
    for (path, mode) in [(RoutingMode::PerPacket, Mode::OneToMany), (RoutingMode::PerPacketPermuted, Mode::ManyToOne)] {
        let graph = FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() }.into_config();
        let graph = graph.build(Path::new("")).expect("the fabric is possible");
        let (one, others) = (vec![0], vec![1, 5, 9, 13]);
        let (sources, sinks) = if mode == Mode::OneToMany { (one, others) } else { (others, one) };
        let session = Session { mode, sources: sources.into(), sinks: sinks.into(), ..unicast(0, 1, 300_000) };
        let run = setup(graph, mlfq_trim(20), scdp(12), path, vec![session]);
        let record = complete(Setup { routing: trees(4), ..run });
        // Data to the group, or pulls to the sources: from the first pod up to all four cores.
        let up = |l: &&LinkRow| l.src.starts_with("agg0.") && l.dst.starts_with("core");
        assert_eq!(record.links.iter().filter(up).filter(|l| l.packets > 20).count(), 4, "{mode:?}");
    }
}

/// Routing and trees follow failures: a tree that was installed while a receiver could not be reached reaches it later,
/// and one that loses a link finds another way.
#[test]
fn trees_follow_failures() {
    let spines = LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 2,
        oversubscription: None,
        rate: GBPS,
        delay: DELAY,
        layers: Layers::default(),
    };
    let graph = spines.into_config().build(Path::new("")).expect("the fabric is possible");
    let session = || Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 1_000_000) };
    let world = || setup(graph.clone(), mlfq_trim(20), scdp(12), RoutingMode::Single, vec![session()]);
    let restored = (at(5_000), Change::Restore(Target::Link(3)));
    let record = complete(Setup { changes: vec![cut(3, at(0)), restored], ..world() });
    assert!(record.flows[2].end > Some(at(5_000)));
    // Whichever spine the tree goes through: one of the two cuts hits it, and neither is repaired.
    for spine_link in [4, 5] {
        complete(Setup { changes: vec![cut(spine_link, at(2_000))], ..world() });
    }
}
