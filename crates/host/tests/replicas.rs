//! An object that is fetched from replicas of which some are slow: these must not cost time.

mod world;

use anabranch_transport::{Duration, Rate, Time};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use world::{Faults, World, address, bytes};

/// A server that has the object.
#[derive(Clone, Copy, Debug)]
struct Replica {
    kbps: u64,
    away: Duration,
    /// Part of what it sends that is lost.
    loss: f64,
    /// When it falls silent.
    silent_after: Option<Duration>,
}

fn of(mbps: u64) -> Replica {
    Replica { kbps: 1000 * mbps, away: Duration::ZERO, loss: 0.0, silent_after: None }
}

/// What a fetch took, and the bytes that all replicas sent for each byte of the object.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    time: Duration,
    sent: f64,
}

/// Fetches an object of `size` bytes.
fn fetch(client_mbps: u64, replicas: &[Replica], size: usize) -> Fetched {
    let object = bytes(60, size);
    let faults = Faults { rate_mbps: client_mbps, ..Faults::default() };
    let mut world = World::new(60, 1 + replicas.len(), faults);
    for (replica, node) in replicas.iter().zip(&mut world.nodes[1..]) {
        node.objects.insert("object".to_owned(), object.clone());
        // 20 ms at its rate may wait, and some packets.
        node.uplink = Some((Rate(1000 * replica.kbps), (replica.kbps * 20 / 8) as usize + 64_000));
        node.away = replica.away;
    }
    let (all, mut random) = (replicas.to_vec(), Xoshiro256PlusPlus::seed_from_u64(60));
    world.filter = Some(Box::new(move |from, _, _| {
        let lost = (1..).zip(&all).find(|(n, _)| address(*n) == from).map_or(0.0, |(_, replica)| replica.loss);
        !random.random_bool(lost)
    }));
    let from: Vec<usize> = (1..=replicas.len()).collect();
    world.fetch(0, &from, "object");
    let mut now = Time::ZERO;
    while world.nodes[0].received.is_empty() {
        now += Duration::from_ms(1);
        let waits = || (world.nodes[0].host.describe(), &world.nodes[0].failures);
        assert!(now < Time::ZERO + Duration::from_secs(60), "{replicas:?}: {:?}", waits());
        world.run_until(now);
        for (replica, node) in replicas.iter().zip(&mut world.nodes[1..]) {
            node.dead = replica.silent_after.is_some_and(|after| now > Time::ZERO + after);
        }
    }
    assert!(world.nodes[0].received[0].1 == object);
    let sent: usize = world.nodes[1..].iter().map(|node| node.bytes_sent).sum();
    Fetched { time: now - Time::ZERO, sent: sent as f64 / size as f64 }
}

/// With the slow ones a fetch takes hardly longer than without them, and hardly more is sent.
#[track_caller]
fn costs_nothing(client_mbps: u64, fast: &[Replica], slow: &[Replica], size: usize) {
    let without = fetch(client_mbps, fast, size);
    let with = fetch(client_mbps, &[fast, slow].concat(), size);
    eprintln!("{client_mbps} {} {slow:?} {size}: {with:?} instead of {without:?}", fast.len());
    if std::env::var("DBG").is_ok() { return; }
    let longest = without.time + without.time / 10 + Duration::from_ms(10);
    assert!(with.time < longest, "{with:?} instead of {without:?}: {slow:?}");
    // The windows that servers push at first may be of no use.
    let pushed = 32.0 * 1500.0 * slow.len() as f64 / size as f64;
    assert!(with.sent < without.sent * 1.1 + pushed, "{with:?} instead of {without:?}: {slow:?}");
}

const SIZE: usize = 20_000_000;

#[test]
fn a_slow_replica_costs_no_time() {
    for (client, fast, slow) in [(1000, 500, 2), (1000, 500, 10), (200, 100, 2), (200, 100, 10), (100, 50, 1)] {
        costs_nothing(client, &[of(fast); 2], &[of(slow)], SIZE);
    }
    costs_nothing(1000, &[of(1000)], &[of(1)], SIZE);
}

#[test]
fn several_slow_replicas_cost_no_time() {
    costs_nothing(1000, &[of(500); 2], &[of(2); 4], SIZE);
    costs_nothing(1000, &[of(800)], &[of(1), of(3), of(30)], SIZE);
}

#[test]
fn a_replica_that_falls_silent_costs_no_time() {
    for ms in [1, 30] {
        for mbps in [2, 400] {
            let silent = Replica { silent_after: Some(Duration::from_ms(ms)), ..of(mbps) };
            costs_nothing(1000, &[of(400); 2], &[silent], SIZE);
        }
    }
}

#[test]
fn a_replica_far_away_costs_no_time() {
    for ms in [20, 200] {
        for mbps in [2, 400] {
            let away = Replica { away: Duration::from_ms(ms), ..of(mbps) };
            costs_nothing(1000, &[of(400); 2], &[away], SIZE);
        }
    }
}

#[test]
fn a_replica_that_loses_much_costs_no_time() {
    for loss in [0.01, 0.2, 0.7] {
        for mbps in [2, 400] {
            costs_nothing(1000, &[of(400); 2], &[Replica { loss, ..of(mbps) }], SIZE);
        }
    }
}

#[test]
fn small_objects_take_no_longer_either() {
    for size in [1000, 50_000, 300_000, 2_000_000] {
        costs_nothing(1000, &[of(500); 2], &[of(2)], size);
    }
}

#[test]
fn replicas_that_are_of_use_are_used() {
    let far = Replica { away: Duration::from_ms(10), ..of(200) };
    for (replicas, less) in [([of(200); 3], 0.72), ([of(200), of(200), of(100)], 0.85), ([of(200), of(200), far], 0.8)] {
        let without = fetch(1000, &replicas[..2], SIZE);
        let with = fetch(1000, &replicas, SIZE);
        eprintln!("{replicas:?}: {with:?} instead of {without:?}");
    if std::env::var("DBG").is_ok() { continue; }
        assert!(with.time.ps() as f64 <= without.time.ps() as f64 * less, "{with:?} instead of {without:?}");
        assert!(with.sent < 1.05, "{with:?}");
    }
}
