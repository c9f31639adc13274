//! How fast groups and copies are, on paths of all delays, and whatever one receiver's path does.
//!
//! The windows of a group follow the delays of its members, so it takes about as long as one receiver alone; copies share the sender's link.

mod world;

use anabranch_host::{Delivery, Outcome};
use anabranch_transport::{Duration, Time};
use world::{Faults, World, bytes, group};

/// Round trips in microseconds.
const ROUND_TRIPS: [u64; 4] = [100, 1000, 10_000, 100_000];

/// The paths of all have a round trip of so many microseconds.
fn path(round_trip: u64) -> Faults {
    Faults { delay: Duration::from_us(round_trip / 2), ..Faults::default() }
}

/// So many receivers, of a group or of copies, and an object of so many bytes.
struct Run {
    receivers: usize,
    grouped: bool,
    size: usize,
}

impl Run {
    /// How many seconds it took until the sender knew that all have the object, in a world as prepared.
    fn on(&self, faults: Faults, prepare: impl FnOnce(&mut World)) -> (f64, World) {
        let &Self { receivers, grouped, size } = self;
        let mut world = World::new(receivers as u64, receivers + 1, faults);
        (1..=receivers).for_each(|n| world.nodes[n].joined.push(group()));
        prepare(&mut world);
        let to: Vec<usize> = (1..=receivers).collect();
        let id = world.send(0, &to, &bytes(1, size), "object", grouped.then(group));
        while world.nodes[0].outcomes.get(&id).is_none_or(|outcomes| outcomes.len() < receivers) {
            assert!(world.now < Time::ZERO + Duration::from_secs(120), "{:#?}", world.nodes[0].host.describe());
            world.run_until(world.now + Duration::from_ms(1));
        }
        let outcomes = &world.nodes[0].outcomes[&id];
        assert!(outcomes.values().all(|outcome| *outcome == Outcome::Verified), "{outcomes:?}");
        (world.now.since(Time::ZERO).as_secs_f64(), world)
    }
}

fn one(size: usize) -> Run {
    Run { receivers: 1, grouped: false, size }
}

fn of_group(receivers: usize, size: usize) -> Run {
    Run { receivers, grouped: true, size }
}

/// How many times the object was sent.
fn times(world: &World, size: usize) -> f64 {
    world.nodes[0].bytes_sent as f64 / size as f64
}

#[test]
fn a_group_takes_as_long_as_one_receiver_whatever_the_delay() {
    for round_trip in ROUND_TRIPS {
        for (receivers, size) in [(2, 20_000_000), (3, 10_000_000), (16, 4_000_000)] {
            let (alone, single) = one(size).on(path(round_trip), |_| {});
            let (took, world) = of_group(receivers, size).on(path(round_trip), |_| {});
            let (sent, by_one) = (times(&world, size), times(&single, size));
            println!(
                "{round_trip} us, group of {receivers}: {took} s, {sent} times, one receiver {alone} s, {by_one} times"
            );
            assert!(took < 1.3 * alone + 0.002, "{round_trip} us, {receivers} receivers: {took} s, alone {alone} s");
            assert_eq!(world.nodes[0].deliveries, [], "nobody is slower than the others");
            // Until the windows are found, more is lost than later.
            assert!(sent < by_one + 0.25, "{round_trip} us, {receivers} receivers: {sent} times, by one {by_one}");
        }
    }
}

#[test]
fn copies_take_their_share_of_the_link_whatever_the_delay() {
    for round_trip in ROUND_TRIPS {
        for (receivers, size) in [(2, 10_000_000), (3, 5_000_000), (16, 1_000_000)] {
            // One receiver has the whole link: copies are as many bytes as an object that is so much larger.
            let (alone, _) = one(receivers * size).on(path(round_trip), |_| {});
            let (took, world) = Run { receivers, grouped: false, size }.on(path(round_trip), |_| {});
            let sent = times(&world, size);
            println!(
                "{round_trip} us, {receivers} copies: {took} s, {sent} times, one receiver {alone} s; {:?}",
                world.nodes[0].deliveries
            );
            let most = if receivers <= 3 { 1.5 } else { 3.0 };
            assert!(took < most * alone + 0.002, "{round_trip} us, {receivers} copies: {took} s, alone {alone} s");
        }
    }
}

#[test]
fn a_group_of_near_and_far_receivers_takes_as_long_as_the_far_one() {
    let size = 10_000_000;
    for (near, far) in [(100, 10_000), (100, 60_000), (1000, 90_000)] {
        let (alone, _) = one(size).on(path(far), |_| {});
        for many_far in [false, true] {
            let (took, world) = of_group(3, size).on(path(near), |world| {
                let more = Duration::from_us(far - near);
                // All of the way is on the way there.
                world.slow =
                    Some(Box::new(move |_, n| if n == 3 || many_far && n == 2 { more } else { Duration::ZERO }));
            });
            println!(
                "{near} and {far} us, {many_far}: {took} s, the far one alone {alone}; {:?}",
                world.nodes[0].deliveries
            );
            assert!(took < 1.5 * alone, "{near} and {far} us: {took} s, the far one alone {alone} s");
            assert_eq!(world.nodes[0].deliveries, [], "{near} and {far} us: nobody is slower than its path");
        }
    }
}

#[test]
fn losses_do_not_make_a_small_group_collapse() {
    let size = 5_000_000;
    for (round_trip, loss, queue) in [(100, 0.01, 200_000), (10_000, 0.001, 200_000)] {
        let faults = Faults { loss, queue, ..path(round_trip) };
        let (alone, _) = one(size).on(faults, |_| {});
        for receivers in [2, 3] {
            let (took, world) = of_group(receivers, size).on(faults, |_| {});
            println!(
                "{round_trip} us, {loss}, {queue} B, {receivers}: {took} s, alone {alone} s, {} times; {:?}",
                times(&world, size),
                world.nodes[0].deliveries
            );
            // Before the windows followed the delays, 5 MB took 1.1 s at 10 ms without any loss.
            assert!(
                took < 6.0 * alone + 0.1,
                "{round_trip} us, {loss}, {queue} B, {receivers}: {took} s, alone {alone} s"
            );
        }
    }
}

#[test]
fn who_is_slow_leaves_the_group_and_the_others_go_on_as_fast_as_without_it() {
    let size = 20_000_000;
    for (round_trip, mbps) in [(100, 10), (10_000, 50)] {
        let (without, _) = of_group(2, size).on(path(round_trip), |_| {});
        let mut free = Time::ZERO;
        let mut world = World::new(3, 4, path(round_trip));
        (1..4).for_each(|n| world.nodes[n].joined.push(group()));
        world.slow = Some(Box::new(move |now, n| {
            if n != 2 {
                return Duration::ZERO;
            }
            free = free.max(now) + Duration::from_ns(1514 * 8 * 1000 / mbps);
            free.since(now)
        }));
        world.send(0, &[1, 2, 3], &bytes(1, size), "object", Some(group()));
        while [1, 3].iter().any(|&n| world.nodes[n].received.is_empty()) {
            assert!(world.now < Time::ZERO + Duration::from_secs(60), "{:#?}", world.nodes[0].host.describe());
            world.run_until(world.now + Duration::from_ms(1));
        }
        let took = world.now.since(Time::ZERO).as_secs_f64();
        println!("{round_trip} us, {mbps} Mbit/s: {took} s, without it {without} s; {:?}", world.nodes[0].deliveries);
        let deliveries: Vec<_> = world.nodes[0].deliveries.iter().map(|&(_, index, how)| (index, how)).collect();
        assert_eq!(deliveries, [(1, Delivery::Alone)], "{round_trip} us, {mbps} Mbit/s");
        assert!(took < 2.0 * without + 2.0, "{round_trip} us, {mbps} Mbit/s: {took} s, without it {without} s");
        assert!(world.run_for(60) && world.nodes[2].received.len() == 1);
    }
}
