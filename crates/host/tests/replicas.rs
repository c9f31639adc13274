//! An object that is fetched from replicas of which some are slow: these must not cost time.

use crate::world::{Faults, World, address, bytes, psk};
use anabranch_host::HostConfig;
use anabranch_transport::{Duration, Rate, Time};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A server that has the object.
#[derive(Clone, Copy, Debug)]
struct Replica {
    kbps: u64,
    /// Bytes that may wait before its link.
    queue: usize,
    away: Duration,
    /// Part of what it sends that is lost.
    loss: f64,
    /// It is silent from the first of these times to the second.
    silent: (Time, Time),
}

fn of(mbps: u64) -> Replica {
    let kbps = 1000 * mbps;
    // 20 ms at its rate may wait, and some packets.
    let queue = (kbps * 20 / 8) as usize + 64_000;
    Replica { kbps, queue, away: Duration::ZERO, loss: 0.0, silent: (Time::ZERO, Time::ZERO) }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// The receiver's link, and what servers do.
#[derive(Clone, Copy, Debug)]
struct Setting {
    client_mbps: u64,
    size: usize,
    largest_packet: u16,
    block_symbols: u32,
    jitter: Duration,
}

impl Setting {
    /// An object of more blocks than are in progress at once.
    fn of(client_mbps: u64) -> Self {
        Self { client_mbps, size: 14_000_000, largest_packet: 1472, block_symbols: 100, jitter: Duration::ZERO }
    }
}

/// What a fetch took, and the bytes that all replicas sent for each byte of the object.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    time: Duration,
    sent: f64,
}

fn fetch(setting: Setting, replicas: &[Replica]) -> Fetched {
    let object = bytes(60, setting.size);
    let faults = Faults { rate_mbps: setting.client_mbps, jitter: setting.jitter, ..Faults::default() };
    let Setting { largest_packet, block_symbols, .. } = setting;
    let config = |_| HostConfig { largest_packet, block_symbols, ..HostConfig::new(psk()) };
    let mut world = World::with(60, 1 + replicas.len(), faults, config);
    for (replica, node) in replicas.iter().zip(&mut world.nodes[1..]) {
        node.objects.insert("object".to_owned(), object.clone());
        node.uplink = Some((Rate(1000 * replica.kbps), replica.queue));
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
        for (replica, node) in replicas.iter().zip(&mut world.nodes[1..]) {
            node.dead = (replica.silent.0..replica.silent.1).contains(&now);
        }
        now += Duration::from_ms(1);
        let waits = || (world.nodes[0].host.describe(), &world.nodes[0].failures);
        assert!(now < at(60_000), "{replicas:?}: {:?}", waits());
        world.run_until(now);
    }
    assert!(world.nodes[0].received[0].1 == object);
    let sent: usize = world.nodes[1..].iter().map(|node| node.bytes_sent).sum();
    Fetched { time: now - Time::ZERO, sent: sent as f64 / setting.size as f64 }
}

/// With any of these sets of slow replicas a fetch takes hardly longer than without them, and hardly more is sent.
#[track_caller]
fn cost_nothing(setting: Setting, fast: &[Replica], slow: &[&[Replica]]) {
    let without = fetch(setting, fast);
    for &slow in slow {
        // The slow ones come first, where they are preferred if anything is.
        let with = fetch(setting, &[slow, fast].concat());
        let longest = without.time + without.time / 10 + Duration::from_ms(10);
        assert!(with.time < longest, "{with:?} instead of {without:?}: {setting:?} {fast:?} {slow:?}");
        // The windows that servers push at first may be of no use.
        let pushed = (32 * usize::from(setting.largest_packet) * slow.len()) as f64 / setting.size as f64;
        assert!(
            with.sent < without.sent * 1.1 + pushed,
            "{with:?} instead of {without:?}: {setting:?} {fast:?} {slow:?}"
        );
    }
}

#[test]
fn a_slow_replica_costs_no_time() {
    cost_nothing(Setting::of(1000), &[of(500); 2], &[&[of(2)], &[of(10)], &[of(2); 4]]);
    cost_nothing(Setting::of(1000), &[of(1000)], &[&[of(1)], &[of(1), of(3), of(30)]]);
    cost_nothing(Setting::of(200), &[of(100); 2], &[&[of(2)], &[of(10)]]);
    // Its queue is deep.
    cost_nothing(Setting::of(1000), &[of(400); 2], &[&[Replica { queue: 4_000_000, ..of(10) }]]);
}

#[test]
fn a_replica_that_falls_silent_costs_no_time() {
    let silent = |mbps, from, until| Replica { silent: (at(from), at(until)), ..of(mbps) };
    let never = 1_000_000;
    let all =
        [silent(2, 0, never), silent(2, 30, never), silent(2, 30, 60), silent(400, 30, never), silent(400, 30, 60)];
    cost_nothing(Setting::of(1000), &[of(400); 2], &all.chunks(1).collect::<Vec<_>>());
}

#[test]
fn a_replica_far_away_costs_no_time() {
    let away = |mbps, ms| Replica { away: Duration::from_ms(ms), ..of(mbps) };
    let far = [away(2, 20), away(80, 20), away(2, 200), away(10, 200), away(80, 200)];
    cost_nothing(Setting::of(200), &[of(80); 2], &far.chunks(1).collect::<Vec<_>>());
    // Blocks are complete before it can answer.
    cost_nothing(Setting { size: 24_000_000, ..Setting::of(1000) }, &[of(400); 2], &[&[away(400, 100)]]);
}

#[test]
fn a_replica_that_loses_much_costs_no_time() {
    let lossy = |mbps, loss| Replica { loss, ..of(mbps) };
    let all = [lossy(2, 0.01), lossy(400, 0.01), lossy(2, 0.2), lossy(400, 0.2), lossy(2, 0.7)];
    cost_nothing(Setting::of(1000), &[of(400); 2], &all.chunks(1).collect::<Vec<_>>());
    // All do.
    cost_nothing(Setting::of(1000), &[lossy(400, 0.01); 2], &[&[lossy(2, 0.01)]]);
}

#[test]
fn small_objects_take_no_longer_either() {
    for size in [1000, 50_000, 300_000, 2_000_000] {
        cost_nothing(Setting { size, ..Setting::of(1000) }, &[of(500); 2], &[&[of(2)]]);
    }
}

#[test]
fn whatever_the_sizes_and_the_order() {
    for (largest_packet, block_symbols) in [(1472, 10), (1472, 1000), (8972, 100), (65_507, 20)] {
        cost_nothing(Setting { largest_packet, block_symbols, ..Setting::of(1000) }, &[of(500); 2], &[&[of(2)]]);
    }
    for us in [50, 2000] {
        let jitter = Duration::from_us(us);
        cost_nothing(Setting { jitter, ..Setting::of(1000) }, &[of(500); 2], &[&[of(2)]]);
    }
}

#[test]
fn replicas_that_are_of_use_are_used() {
    let away = |ms| Replica { away: Duration::from_ms(ms), ..of(200) };
    let slower = [
        (vec![of(200); 3], 0.72),
        (vec![of(200), of(200), of(100)], 0.85),
        (vec![of(200), of(200), away(10)], 0.8),
        (vec![of(80), of(80), Replica { away: Duration::from_ms(20), ..of(80) }], 0.75),
        // Those that are alike are used alike, however far they are.
        (vec![away(5); 3], 0.8),
    ];
    for (replicas, less) in slower {
        let without = fetch(Setting::of(1000), &replicas[..2]);
        let with = fetch(Setting::of(1000), &replicas);
        assert!(
            with.time.ps() as f64 <= without.time.ps() as f64 * less,
            "{with:?} instead of {without:?}: {replicas:?}"
        );
        assert!(with.sent < 1.07, "{with:?}: {replicas:?}");
    }
}
