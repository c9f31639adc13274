//! One run on several threads, where it decides by itself when that pays. That a run is the same in parts is tested with those of
//! `determinism.rs` and with the random worlds of `properties.rs`; here it is what is around that.

use crate::common::*;
use anabranch_sim::experiment::{Parallelism, Progress, run_all};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::fabric::topology::{FatTree, LayerLinks, Layers, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network, Sampling, Setup, Stop, Undone};
use anabranch_sim::workload::Session;
use anabranch_transport::Bytes;
use anabranch_transport::ndp::NdpConfig;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};

fn fat_tree(k: u32) -> Graph {
    let fat_tree = FatTree { k, rate: GBPS, delay: DELAY, layers: Layers::default() };
    TopologyConfig::FatTree(fat_tree).build(Path::new("")).expect("the fabric is possible")
}

/// 128 hosts, each of which sends to one in another pod: enough for two threads.
fn permutation(stop: Stop) -> Setup {
    let sessions = (0..128).map(|h| unicast(h, (h + 37) % 128, 150_000)).collect();
    let ndp = Protocol::Ndp(NdpConfig { initial_window: 12, return_to_sender: true, ..NdpConfig::default() });
    Setup { stop, ..setup(fat_tree(8), trim(8), ndp, RoutingMode::PerPacketPermuted, sessions) }
}

/// The same, and then 100 hosts send to one: its switch has to send headers back to them.
fn incast_with_returned_headers() -> Setup {
    let mut setup = Setup { return_to_sender: true, ..permutation(Stop::Foreground) };
    let incast = (1..=100).map(|h| Session { start: at(300), ..unicast(h, 0, 50_000) });
    setup.sessions.extend(incast);
    setup
}

/// What a single run leaves behind on so many threads, how many events were told of, and whether it was divided.
fn on_threads(threads: usize, make: impl Fn() -> Setup + Sync) -> (RunRecord, (u64, Parallelism)) {
    let (record, progress) = (Mutex::new(None), Progress::new(1));
    let build = |_| Ok::<_, Infallible>(Network::new(make()));
    let keep = |_, ended, _| {
        *record.lock().expect("nobody panics") = Some(ended);
        Ok(())
    };
    run_all(&[0], threads, &progress, build, keep).expect("nothing fails");
    (record.into_inner().expect("nobody panics").expect("the run ends"), (progress.events(), progress.shared()))
}

#[test]
fn a_run_on_two_threads_is_the_same_and_most_of_it_is_divided() {
    for stop in [Stop::Foreground, Stop::Idle] {
        let (serial, _) = on_threads(1, || permutation(stop));
        let (divided, told) = on_threads(2, || permutation(stop));
        assert_same(&serial, &divided, "on two threads");
        assert_eq!(told, (serial.events, Parallelism { divided: 1, ..Parallelism::default() }));
        let mut network = Network::new(permutation(stop));
        let (ending, division) = network.run_on(2, |n| n.conservation().holds()).expect("it can be divided");
        assert_eq!(ending, Ending::Complete);
        let in_parts: u64 = division.events.iter().sum();
        assert!(in_parts * 4 > 3 * serial.events, "{division:?} of {}", serial.events);
        assert!(division.critical * 10 < in_parts * 8, "the parts have as much to do: {division:?}");
    }
}

#[test]
fn a_run_that_shares_the_cores_unasked_is_the_same() {
    let (serial, _) = on_threads(1, || permutation(Stop::Foreground));
    let (shared, (events, _)) = on_threads(0, || permutation(Stop::Foreground));
    assert_same(&serial, &shared, "on the cores that are left");
    assert_eq!(events, serial.events);
    let mut network = Network::new(permutation(Stop::Foreground));
    let (ending, _) = network.run_on_spare(3, |n| n.conservation().holds()).expect("it can be divided");
    assert_same(&serial, &RunRecord::take(&mut network, ending), "on three that may be taken away");
}

#[test]
fn of_many_threads_a_run_takes_as_many_as_have_enough_to_do() {
    let mut network = Network::new(permutation(Stop::Foreground));
    let (_, division) = network.run_on(64, |_| true).expect("it can be divided");
    assert!(division.phases > 0, "on fewer it pays: {division:?}");
    assert!((4..16).contains(&division.events.len()), "{division:?}");
    assert!(division.events.iter().all(|&events| events > 0), "{division:?}");
}

#[test]
fn a_run_that_cannot_be_decided_in_parts_is_done_anew() {
    let undone = Network::new(incast_with_returned_headers()).run_on(2, |_| true).map(|(ending, _)| ending);
    assert_eq!(undone, Err(Undone("a switch sends a header back")));
    let (serial, told) = on_threads(1, incast_with_returned_headers);
    assert_eq!(told, (serial.events, Parallelism::default()), "nothing to tell of one thread");
    let (anew, told) = on_threads(2, incast_with_returned_headers);
    assert_same(&serial, &anew, "done anew");
    let why = BTreeMap::from([("a switch sends a header back", 1)]);
    assert_eq!(
        told,
        (serial.events, Parallelism { restarted: why, ..Parallelism::default() }),
        "what was undone does not count"
    );
}

#[test]
fn a_run_that_is_not_divided_says_why() {
    let why = |make: &(dyn Fn() -> Setup + Sync)| {
        let (_, (_, Parallelism { divided, sequential: whole, restarted: anew })) = on_threads(2, make);
        assert_eq!((divided, anew), (0, BTreeMap::new()));
        whole.into_iter().collect::<Vec<_>>()
    };
    let few = || Setup { sessions: vec![unicast(0, 127, 15_000)], ..permutation(Stop::Foreground) };
    assert_eq!(why(&few), [("too little happens at a time", 1)]);
    let rack = || setup(star(4), trim(8), ndp(12), RoutingMode::PerPacketPermuted, vec![unicast(0, 1, 15_000)]);
    assert_eq!(why(&rack), [("all hosts are in one rack", 1)]);
    let core = Some(LayerLinks { rate: None, delay: Some(us(0)) });
    let layers = Layers { core, ..Layers::default() };
    let fabric = TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers });
    let at_once = || Setup {
        graph: Arc::new(fabric.build(Path::new("")).expect("the fabric is possible")),
        ..Setup { sessions: vec![unicast(0, 15, 15_000)], ..permutation(Stop::Foreground) }
    };
    assert_eq!(why(&at_once), [("a link between the parts has no delay", 1)]);
}

#[test]
fn samples_are_the_same() {
    let sampled = || {
        let sampling = Sampling {
            interval: us(400),
            queues: true,
            links: true,
            goodput: true,
            volumes: true,
            ..Sampling::default()
        };
        Setup { sampling, ..permutation(Stop::Foreground) }
    };
    let (serial, _) = on_threads(1, sampled);
    let (divided, _) = on_threads(2, sampled);
    assert!(serial.series.len() > 1000, "{} samples", serial.series.len());
    assert_same(&serial, &divided, "with samples");
}

#[test]
fn a_run_ends_when_it_is_asked_to() {
    let mut network = Network::new(permutation(Stop::Foreground));
    let mut asked = 0;
    let (ending, division) = network
        .run_on(2, |n| {
            asked += 1;
            n.events() < 100_000
        })
        .expect("nothing happens that takes the whole run");
    assert_eq!(ending, Ending::Interrupted);
    assert!(asked > 3 && division.phases > 0, "{asked} times, {division:?}");
    let record = RunRecord::take(&mut network, ending);
    assert!(record.conservation.holds() && record.conservation.in_flight > 0, "{:?}", record.conservation);
    assert!((100_000..200_000).contains(&record.events), "{}", record.events);
}

/// The packets of all parts together may take no more memory than those of the run.
#[test]
fn too_little_memory_is_too_little_for_all_parts_together() {
    let with = |bytes: u64| move || Setup { memory_limit: bytes, ..permutation(Stop::Foreground) };
    let needs = |bytes: u64| matches!(on_threads(1, with(bytes)).0.ending, Ending::TooLarge(..));
    let enough = (0..40).map(|n| 1_u64 << n).find(|&bytes| !needs(bytes)).expect("there is enough somewhere");
    for bytes in [enough, enough / 2, enough * 3 / 4] {
        let ((serial, _), (divided, _)) = (on_threads(1, with(bytes)), on_threads(2, with(bytes)));
        assert_same(&serial, &divided, &format!("{}", Bytes(bytes)));
    }
}
