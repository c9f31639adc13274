//! Flows that controllers place on paths: what becomes of their packets, and what Hedera and Mahout make of traffic that collides.

use crate::common::control::{at_times, custom};
use crate::common::*;
use crate::scenes::settings;
use crate::worlds::*;
use anabranch_sim::control::{Action, AnyController, Hedera, Mahout, Placing, SharedController, Watch};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::{self, PerFlow, PerPacket};
use anabranch_sim::fabric::topology::{FatTree, Layers, LeafSpine, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;

use anabranch_sim::network::{Change, Ending, Network, Scheduling, Setup, Stop, Target};
use anabranch_sim::random;
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Time};
use proptest::prelude::*;
use std::path::Path;

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Graph {
    let layers = Layers::default();
    let config = LeafSpine { leaves, spines, hosts_per_leaf, oversubscription: None, rate: GBPS, delay: DELAY, layers };
    TopologyConfig::LeafSpine(config).build(Path::new("")).expect("the fabric is possible")
}

fn fat_tree(k: u32) -> Graph {
    let config = FatTree { k, rate: GBPS, delay: DELAY, layers: Layers::default() };
    TopologyConfig::FatTree(config).build(Path::new("")).expect("the fabric is possible")
}

/// DCTCP, whose windows recover within milliseconds.
fn dctcp() -> Protocol {
    let config = TcpConfig { rto_min: ms(5), congestion: Algorithm::Dctcp, ecn: true, ..TcpConfig::default() };
    Protocol::Tcp(config)
}

/// The port of a link by the names of its ends.
fn port(graph: &Graph, name: &str) -> u32 {
    graph.port_named(name).unwrap_or_else(|| panic!("no port {name}"))
}

/// A path by the names of its nodes.
fn path(graph: &Graph, nodes: &[&str]) -> Vec<u32> {
    nodes.windows(2).map(|pair| port(graph, &format!("{}-{}", pair[0], pair[1]))).collect()
}

/// Data packets that a link carried.
fn carried(record: &RunRecord, src: &str, dst: &str) -> u64 {
    record.links.iter().find(|row| (&*row.src, &*row.dst) == (src, dst)).map_or(0, |row| row.packets)
}

/// One flow from host 0 to host 4, which begins at 200 us, after what happens at 100 us; others at whole multiples of 100 us.
fn one_flow(mode: RoutingMode, actions: Vec<(u64, Action)>) -> Setup {
    let sessions = vec![Session { start: at(50), ..unicast(0, 4, 3_000_000) }];
    let mut setup = setup(leaf_spine(2, 4, 4), drop_tail(100), tcp(Algorithm::NewReno), mode, sessions);
    setup.controllers = vec![at_times(actions.into_iter().map(|(when, action)| (us(when), action)).collect())];
    setup
}

fn by_spine(n: u32) -> Action {
    let spine = format!("spine{n}");
    Action::Place(0, path(&leaf_spine(2, 4, 4), &["h0", "leaf0", &spine, "leaf1", "h4"]))
}

#[test]
fn a_placed_flow_takes_its_path() {
    for n in 0..4 {
        let record = complete(one_flow(PerFlow, vec![(100, by_spine(n)), (10_000, by_spine((n + 1) % 4))]));
        let sent = [0, 1, 2, 3].map(|spine| carried(&record, "leaf0", &format!("spine{spine}")));
        let [first, second] = [n, (n + 1) % 4].map(|spine| sent[spine as usize]);
        // A few packets are under way before the first placement.
        assert!(first > 500 && second > 500, "{sent:?}");
        assert!(sent.iter().sum::<u64>() - first - second < 20, "{sent:?}");
        let rows: Vec<_> = record.series.iter().map(|row| (row.time, row.metric, row.id)).collect();
        assert_eq!(rows, [(us(100).ps(), "set_path", 0), (us(10_000).ps(), "set_path", 0)]);
        assert_eq!(record.series[0].value as u32, port(&leaf_spine(2, 4, 4), &format!("spine{n}-leaf1")));
    }
}

/// The path of a flow that is over, or over a link that has failed, changes nothing.
#[test]
fn what_comes_too_late_changes_nothing() {
    let late = complete(one_flow(PerFlow, vec![(100, by_spine(0)), (900_000, by_spine(1))]));
    assert_eq!(late.series.len(), 1);
    let cut_first = |actions| {
        let link = port(&leaf_spine(2, 4, 4), "spine2-leaf1") / 2;
        complete(Setup { changes: vec![cut(link, at(70))], ..one_flow(PerFlow, actions) })
    };
    let record = cut_first(vec![(100, by_spine(2))]);
    assert_eq!(record.series.len(), 0);
    assert_eq!(record.flows, cut_first(Vec::new()).flows);
}

#[test]
fn impossible_placements_end_the_run_with_the_reason() {
    let ending = |mode, action| Network::new(one_flow(mode, vec![(100, action)])).run(|_| true);
    let refused = |why: &str| Ending::Refused(format!("controller 0, at 100us: {why}"));
    let why = "session 0 has no path that could be chosen: it is no flow of one connection with per-flow routing";
    assert_eq!(ending(PerPacket, by_spine(0)), refused(why));
    assert_eq!(ending(PerFlow, Action::Place(1, vec![])), refused("there is no session 1, only 1"));
    assert_eq!(ending(PerFlow, Action::Place(0, vec![999])), refused("there is no port 999, only 32"));
    let back = path(&leaf_spine(2, 4, 4), &["h4", "leaf1", "spine0", "leaf0", "h0"]);
    assert_eq!(ending(PerFlow, Action::Place(0, back.clone())), refused(&format!("no path from h0 to h4: {back:?}")));
    let weight = Action::Path(anabranch_sim::control::PathWeight { port: 16, to: None, weight: 2 });
    let ending = Network::new(one_flow(PerFlow, vec![(100, weight), (200, by_spine(0))])).run(|_| true);
    assert_eq!(
        ending,
        Ending::Refused("controller 0, at 200us: flows are placed where no paths have weights".to_owned())
    );
}

/// Controllers see what waits in a host: all of an object that has been handed over, less what has arrived.
#[test]
fn what_waits_is_what_has_not_arrived() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&seen);
    let mut setup = one_flow(PerFlow, Vec::new());
    setup.controllers = vec![custom(us(500), us(0), Watch::NOTHING, false, move |view| {
        kept.lock().unwrap().extend(view.flows().iter().map(|flow| (flow.waiting.0, flow.delivered.0, flow.placeable)));
        Vec::new()
    })];
    complete(setup);
    let seen = seen.lock().unwrap();
    assert!(
        seen.len() > 40
            && seen.iter().all(|&(waiting, delivered, placeable)| waiting + delivered == 3_000_000 && placeable)
    );
}

fn hedera(placement: Placing) -> Hedera {
    Hedera { period: us(500), delay: us(20), placement, ..Hedera::default() }
}

fn controllers() -> Vec<(&'static str, Vec<SharedController>)> {
    controllers_with(us(500), Mahout::default().threshold)
}

fn controllers_with(period: Duration, threshold: Bytes) -> Vec<(&'static str, Vec<SharedController>)> {
    let own = |placement| AnyController::Hedera(Hedera { period, ..hedera(placement) });
    let (fit, annealing) = (own(Placing::GlobalFirstFit), own(Placing::SimulatedAnnealing));
    let mahout = AnyController::Mahout(Mahout { period, delay: us(20), threshold });
    let named = [("first-fit", fit), ("annealing", annealing), ("mahout", mahout)];
    named.into_iter().map(|(name, controller)| (name, vec![controller.shared()])).collect()
}

/// Long flows from every host to the one `stride` further on.
fn stride(graph: &Graph, stride: u32, bytes: u64) -> Vec<Session> {
    (0..graph.hosts).map(|host| unicast(host, (host + stride) % graph.hosts, bytes)).collect()
}

/// Bytes per second of all flows together, as a share of what a switch that never blocks would carry.
fn goodput(record: &RunRecord) -> f64 {
    let rate = |n: usize| record.flows[n].size_bytes as f64 * 8.0 / fct(record, n).as_secs_f64() / 1e9;
    (0..record.flows.len()).map(rate).sum::<f64>() / record.flows.len() as f64
}

/// Stride over half of a fat-tree: every flow crosses the core. What hashes make collide, controllers take apart.
#[test]
fn placed_flows_are_faster_than_hashed_ones() {
    for seed in [1, 2, 3] {
        let run = |controllers: Vec<SharedController>| {
            let graph = fat_tree(4);
            let sessions = stride(&graph, 8, 5_000_000);
            goodput(&complete(Setup { seed, controllers, ..setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions) }))
        };
        let ecmp = run(Vec::new());
        for (name, controllers) in controllers() {
            let placed = run(controllers);
            assert!(placed > 1.25 * ecmp, "seed {seed}, {name}: {placed} of what is possible, by hashes {ecmp}");
        }
    }
}

/// What the paper's simulations show of a fat-tree with more hosts, in the order of their figure: under long flows annealing is far ahead of hashes and, on stride,
/// near a switch that never blocks; on a permutation it is ahead of first fit, too.
#[test]
fn on_a_larger_fat_tree_annealing_comes_near_a_switch_that_never_blocks() {
    let goodput = |graph: Graph, to: &dyn Fn(u32) -> u32, placement: Option<Placing>| {
        let sessions = (0..graph.hosts).map(|host| Session { size: None, ..unicast(host, to(host), 1) }).collect();
        let placement = placement.map(|placement| AnyController::Hedera(hedera(placement)).shared());
        let base = setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions);
        let (stop, time_limit) = (Stop::Limit, at(30_000));
        let record = run(Setup { stop, time_limit, controllers: placement.into_iter().collect(), ..base });
        record.flows.iter().map(|flow| flow.size_bytes).sum::<u64>()
    };
    let mut order: Vec<u32> = (0..128).collect();
    let mut random = random::stream(3, "order");
    (1..128).rev().for_each(|n| order.swap(n, random.random_range(0..=n)));
    // A cycle through all hosts.
    let next: Vec<u32> =
        (0..128).map(|host| order[(order.iter().position(|&h| h == host).unwrap() + 1) % 128]).collect();
    let stride = |host: u32| (host + 64) % 128;
    let permutation = |host: u32| next[host as usize];
    let whole = goodput(star(128), &stride, None);
    let mut apart = Vec::new();
    for (name, to, [ecmp_percent, whole_percent]) in [
        ("stride", &stride as &dyn Fn(u32) -> u32, [140, 85]),
        ("permutation", &permutation as &dyn Fn(u32) -> u32, [140, 70]),
    ] {
        let [ecmp, fit, annealing] = [None, Some(Placing::GlobalFirstFit), Some(Placing::SimulatedAnnealing)]
            .map(|placement| goodput(fat_tree(8), to, placement));
        let found = format!("{name}: ECMP {ecmp}, first fit {fit}, annealing {annealing}, one switch {whole}");
        assert!(100 * annealing > ecmp_percent * ecmp && 100 * annealing > whole_percent * whole, "{found}");
        assert!(100 * fit > 120 * ecmp, "{found}");
        apart.push((annealing as f64 / fit as f64, found));
    }
    assert!(apart[1].0 > 1.0, "{apart:?}");
}

/// Long flows among many short ones that come at random: with a period of 500 ms they are over before they are placed.
#[test]
fn a_long_period_is_no_better_than_hashes() {
    let mean_of_long = |period: Option<u64>| {
        let graph = fat_tree(4);
        let mut random = random::stream(4, "heavy tails");
        let session = |n: u32| {
            // Pareto with shape 1.3, from 100 KB to 5 MB.
            let size = (100_000.0 * (1.0 - random.random::<f64>()).powf(-1.0 / 1.3)).min(5e6) as u64;
            Session { start: Time(random.random_range(0..ms(120).ps())), ..unicast(n % 16, (n + 8) % 16, size) }
        };
        let sessions: Vec<Session> = (0..400).map(session).collect();
        let own = |period| Hedera { period: us(period), ..hedera(Placing::SimulatedAnnealing) };
        let controllers = period.map(|period| AnyController::Hedera(own(period)).shared()).into_iter().collect();
        let record = complete(Setup { controllers, ..setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions) });
        let long = (0..record.flows.len()).filter(|&n| record.flows[n].size_bytes > 1_000_000);
        let took: Vec<f64> = long.map(|n| fct(&record, n).as_secs_f64()).collect();
        took.iter().sum::<f64>() / took.len() as f64
    };
    let [hashes, long, short] = [None, Some(500_000), Some(1_000)].map(mean_of_long);
    assert!((long / hashes - 1.0).abs() < 1e-9 && short < 0.95 * hashes, "{hashes} {long} {short}");
}

/// A link of a spine fails: flows that were placed on it go elsewhere, those on others stay, and all is as fast as three spines allow.
#[test]
fn flows_are_placed_anew_when_a_link_fails() {
    for (name, controllers) in controllers() {
        let graph = leaf_spine(2, 4, 3);
        let link = port(&graph, "spine1-leaf1") / 2;
        let sessions = (0..3).map(|host| unicast(host, 3 + host, 10_000_000)).collect();
        let changes = vec![cut(link, at(20_000))];
        let record = complete(Setup { changes, controllers, ..setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions) });
        let share = goodput(&record);
        assert!(share > 0.85, "{name}: {share}");
        assert!(record.series.iter().any(|row| row.time > ms(20).ps()), "{name}: nothing was placed after the failure");
    }
}

/// Among paths of unequal rates: three flows of a gigabit, three spines, of which one has links of a tenth. First fit sees that only one flow's
/// demand is too much for it; annealing that it overloads it; Mahout that it is full.
#[test]
fn a_slow_path_is_avoided() {
    for (name, controllers) in controllers() {
        let mut graph = leaf_spine(2, 4, 3);
        for name in ["leaf0-spine1", "leaf1-spine1"] {
            let link = port(&graph, name) as usize / 2;
            graph.links[link].rate = anabranch_transport::Rate(GBPS.bps() / 10);
        }
        let sessions = (0..3).map(|host| unicast(host, 3 + host, 10_000_000)).collect();
        let record = complete(Setup { controllers, ..setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions) });
        let share = goodput(&record);
        assert!(share > 0.85, "{name}: {share}");
    }
}

/// Small flows are left to their hashes.
#[test]
fn mice_stay_where_their_hashes_put_them() {
    for (name, controllers) in controllers() {
        let world = |controllers| {
            let graph = leaf_spine(4, 4, 4);
            let mut random = random::stream(5, "mice");
            let mouse = |n: u64| {
                let (from, to) = (random.random_range(0..8), random.random_range(8..16));
                Session { start: Time(n * us(100).ps()), ..unicast(from, to, 1_000) }
            };
            let sessions = (0..100).map(mouse).collect();
            Setup { controllers, ..setup(graph, ecn(200, 30), dctcp(), PerFlow, sessions) }
        };
        let (with, without) = (complete(world(controllers)), complete(world(Vec::new())));
        assert_eq!(with.series.len(), 0, "{name}");
        assert_eq!(with.flows, without.flows, "{name}");
        assert_eq!(with.links, without.links, "{name}");
    }
}

#[test]
fn placements_are_the_same_however_they_are_run() {
    for (name, _) in controllers() {
        let world = || {
            let graph = fat_tree(4);
            let mut random = random::stream(9, "transfers");
            let session = |n: u32| {
                let start = at(random.random_range(0..3000));
                Session {
                    start,
                    ..unicast(n % 16, (n + random.random_range(1..16)) % 16, random.random_range(1..600_000))
                }
            };
            let sessions = (0..60).map(session).collect();
            let (_, controllers) = controllers().into_iter().find(|(known, _)| *known == name).expect("as before");
            let (link, back) = (Target::Link(20), Target::Link(20));
            let changes = vec![(at(1_300), Change::Cut(link)), (at(2_900), Change::Restore(back))];
            Setup { changes, controllers, ..setup(graph, drop_tail(40), tcp(Algorithm::NewReno), PerFlow, sessions) }
        };
        let one_by_one = scheduled(world(), Scheduling::Events);
        assert!(one_by_one.series.len() > 10, "{name}: {}", one_by_one.series.len());
        assert_same(&one_by_one, &scheduled(world(), Scheduling::Windows), name);
        let (record, division) = in_parts(world(), 2).expect("it is run, as a whole");
        assert_eq!(division.phases, 0, "what a controller changes, no part could know in time");
        assert_same(&one_by_one, &record, name);
    }
}

proptest! {
    #![proptest_config(settings(40))]

    /// In any world, whatever fails meanwhile: flows that are moved about at random arrive, and the run repeats, event by event and in windows.
    #[test]
    fn flows_that_are_moved_about_arrive(world in worlds(), seed in any::<u64>()) {
        let moved = || {
            let mut random = random::stream(seed, "moves");
            let mut setup = world.setup();
            setup.controllers = vec![custom(us(300), us(50), Watch::NOTHING, false, move |view| {
                let flows = view.flows().into_iter().filter(|flow| flow.placeable);
                let moves = flows.filter_map(|flow| {
                    let paths = view.paths(flow.source, flow.destination);
                    (!paths.is_empty()).then(|| Action::Place(flow.session, paths[random.random_range(0..paths.len())].clone()))
                });
                moves.collect()
            })];
            setup
        };
        let record = finish(moved());
        let again = scheduled(moved(), Scheduling::Windows);
        prop_assert_eq!(record.fingerprint, again.fingerprint);
        prop_assert_eq!(record.flows, again.flows);
    }
}

proptest! {
    #![proptest_config(settings(20))]

    /// In any world the controllers' own placements are possible ones, and everything arrives. Worlds with timeouts last for seconds: no short periods.
    #[test]
    fn controllers_place_flows_in_any_world(world in worlds(), which in 0..3_usize, threshold in 1..100_000_u64) {
        let controllers = || controllers_with(ms(2), Bytes(threshold)).remove(which).1;
        let run = || finish(Setup { controllers: controllers(), ..world.setup() });
        prop_assert_eq!(run().fingerprint, run().fingerprint);
    }
}

/// Objects with several receivers, or several connections, have no path of their own.
#[test]
fn only_flows_of_one_connection_can_be_placed() {
    let graph = leaf_spine(2, 2, 3);
    let to_two = Session { mode: Mode::OneToMany, sinks: vec![3, 4].into(), ..unicast(0, 3, 100_000) };
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&seen);
    let mut setup = setup(graph, drop_tail(40), tcp(Algorithm::NewReno), PerFlow, vec![to_two, unicast(1, 5, 100_000)]);
    setup.controllers = vec![custom(us(100), us(0), Watch::NOTHING, false, move |view| {
        kept.lock().unwrap().extend(view.flows().iter().map(|flow| (flow.session, flow.placeable)));
        Vec::new()
    })];
    complete(setup);
    let seen = seen.lock().unwrap();
    assert!(seen.contains(&(0, false)) && seen.contains(&(1, true)));
    assert!(seen.iter().all(|&(session, placeable)| placeable == (session == 1)));
}

/// What a scenario cannot have, with the reason.
#[test]
fn scenarios_say_what_they_lack() {
    let error = |fabric: &str, rest: &str| {
        let text = format!(
            "fabric = {{ {fabric} }}\n{rest}\n[[workload]]\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\n\
             placement = {{ pattern = \"random\" }}\nsessions = 1\n"
        );
        let plan = anabranch_sim::scenario::parse("test.toml", &text, &[]);
        plan.map(drop).map_err(|errors| errors.to_string()).err().unwrap_or_default()
    };
    let (tree, servers) = ("topology = \"fat-tree\", k = 4", "topology = \"bcube\", n = 4, k = 1");
    let with = |transport: &str, controller: &str| {
        format!("transport = {{ name = \"{transport}\" }}\ncontroller = [{{ {controller} }}]")
    };
    let (hedera, mahout) = ("law = \"hedera\"", "law = \"mahout\"");
    assert_eq!(error(tree, &with("dctcp", hedera)), "");
    assert_eq!(error(tree, &with("dctcp", mahout)), "");
    for law in [hedera, mahout] {
        let no_flows =
            "controller[0].law: places flows, and no workload has flows with one path each that can be chosen";
        assert!(error(tree, &with("ndp", law)).contains(no_flows), "{}", error(tree, &with("ndp", law)));
        assert!(error(tree, &with("mptcp", law)).contains(no_flows));
        let hosts =
            "controller[0].law: looks at the switch of each host, and in this fabric hosts have several links or relay";
        assert!(error(servers, &with("dctcp", law)).contains(hosts));
    }
    for (setting, said) in [
        ("threshold = 0.0", "controller[0].threshold: must be above 0 and below 1, not 0"),
        ("iterations = 0", "controller[0].iterations: must be at least 1"),
        ("temperature = 0.0", "controller[0].temperature: must be above 0, not 0"),
        ("placement = \"first-fit\"", "controller[0].placement: unknown value"),
        ("period = \"10ns\"", "controller[0].period: must be at least 1us"),
    ] {
        let error = error(tree, &with("dctcp", &format!("{hedera}, {setting}")));
        assert!(error.contains(said), "{error}");
    }
}
