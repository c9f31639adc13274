//! How fast groups and copies are, on paths of all delays, and whatever one receiver's path does.
//!
//! The windows of a group follow the delays of its members, so it takes about as long as one receiver alone; copies share the sender's link.

use crate::world::{Faults, World, bytes, group};
use anabranch_host::{Delivery, Outcome};
use anabranch_transport::{Duration, Time};

/// Round trips in microseconds.
const ROUND_TRIPS: [u64; 4] = [100, 1000, 10_000, 100_000];
/// Members of a group.
const RECEIVERS: [usize; 4] = [1, 2, 3, 16];

/// The paths of all have a round trip of so many microseconds.
fn path(round_trip: u64) -> Faults {
    Faults { delay: Duration::from_us(round_trip / 2), ..Faults::default() }
}

/// So many receivers, of a group or of copies, and an object of so many bytes. `seed`: which packets are lost, where some are.
struct Run {
    seed: u64,
    receivers: usize,
    grouped: bool,
    size: usize,
}

impl Run {
    /// How many seconds it took until the sender knew that all have the object, in a world as prepared.
    fn on(&self, faults: Faults, prepare: impl FnOnce(&mut World)) -> (f64, World) {
        let &Self { seed, receivers, grouped, size } = self;
        let mut world = World::new(seed << 8 | receivers as u64, receivers + 1, faults);
        (1..=receivers).for_each(|n| world.nodes[n].joined.push(group()));
        prepare(&mut world);
        let to: Vec<usize> = (1..=receivers).collect();
        let id = world.send(0, &to, &bytes(1, size), "object", grouped.then(group));
        world.run_to(120, |world| world.nodes[0].outcomes.get(&id).is_some_and(|all| all.len() == receivers));
        let outcomes = &world.nodes[0].outcomes[&id];
        assert!(outcomes.values().all(|outcome| *outcome == Outcome::Verified), "{outcomes:?}");
        (world.now.since(Time::ZERO).as_secs_f64(), world)
    }
}

fn one(size: usize) -> Run {
    Run { seed: 0, receivers: 1, grouped: false, size }
}

fn of_group(receivers: usize, size: usize) -> Run {
    Run { seed: 0, receivers, grouped: true, size }
}

/// The one in the middle of what each of these seeds gives: a single draw of losses says little.
fn median<const N: usize>(seeds: [u64; N], of_seed: impl FnMut(u64) -> f64) -> f64 {
    let mut all = seeds.map(of_seed);
    all.sort_unstable_by(f64::total_cmp);
    all[N / 2]
}

/// How many times the object was sent.
fn times(world: &World, size: usize) -> f64 {
    world.nodes[0].bytes_sent as f64 / size as f64
}

#[test]
fn a_group_takes_as_long_as_one_receiver_whatever_the_delay() {
    let size = 4_000_000;
    for round_trip in ROUND_TRIPS {
        let (alone, single) = one(size).on(path(round_trip), |_| {});
        for receivers in RECEIVERS {
            let (took, world) = of_group(receivers, size).on(path(round_trip), |_| {});
            let (sent, by_one) = (times(&world, size), times(&single, size));
            let what =
                format!("{round_trip} us, group of {receivers}: {took} s, alone {alone} s; {sent} times, {by_one}");
            println!("{what}");
            assert!(took < 1.3 * alone + 0.002, "{what}");
            assert_eq!(world.nodes[0].deliveries, [], "{what}: nobody is slower than the others");
            // Until the windows are found, more is lost than later.
            assert!(sent < by_one + 0.3, "{what}");
        }
    }
}

#[test]
fn copies_take_their_share_of_the_link_whatever_the_delay() {
    for round_trip in ROUND_TRIPS {
        for (receivers, size) in [(1, 4_000_000), (2, 3_000_000), (3, 2_000_000), (16, 800_000)] {
            // One receiver has the whole link: copies are as many bytes as an object that is so much larger.
            let (alone, _) = one(receivers * size).on(path(round_trip), |_| {});
            let (took, world) = Run { receivers, grouped: false, ..one(size) }.on(path(round_trip), |_| {});
            let what = format!(
                "{round_trip} us, {receivers} copies: {took} s, alone {alone} s; {:?}",
                world.nodes[0].deliveries
            );
            println!("{what}");
            assert!(took < 1.6 * alone + 0.01, "{what}");
        }
    }
}

#[test]
fn receivers_that_lose_symbols_at_random_take_about_as_long_as_one_of_them() {
    let (size, seeds) = (2_000_000, [1, 2, 3]);
    for (round_trip, loss) in [(100, 0.01), (100, 0.05), (1000, 0.01), (1000, 0.05), (10_000, 0.01), (100_000, 0.01)] {
        let faults = Faults { loss, ..path(round_trip) };
        let alone = median(seeds, |seed| Run { seed, ..one(size) }.on(faults, |_| {}).0);
        for (receivers, grouped) in [(2, true), (3, true), (16, true), (3, false)] {
            let mut left = 0;
            let took = median(seeds, |seed| {
                let (took, world) = Run { seed, receivers, grouped, size }.on(faults, |_| {});
                left += world.nodes[0].deliveries.iter().filter(|(_, _, how)| *how == Delivery::Alone).count();
                took
            });
            let share = if grouped { alone } else { alone * receivers as f64 };
            let what = format!("{round_trip} us, {loss}, {receivers}, {grouped}: {took} s, alone {alone} s");
            println!("{what}");
            // Each symbol that any of them loses is sent again, and the one with the smallest window sets the pace. A window of 32 symbols, whatever the
            // delay, would take so long without any loss.
            let fixed = size as f64 / (32.0 * 1420.0) * round_trip as f64 / 1e6;
            assert!(took < (4.0 * share + 0.1).max(fixed), "{what}");
            assert_eq!(left, 0, "{what}: nobody leaves, since all lose as much");
        }
    }
}

#[test]
fn that_all_blocks_are_under_way_is_told() {
    // 9 MB in 300 ms are 240 Mbit/s, and the link has 1 Gbit/s.
    let far = Faults { queue: 20_000_000, ..path(300_000) };
    let (_, world) = of_group(2, 60_000_000).on(far, |_| {});
    assert_eq!(world.nodes[0].full, [64 * 100 * 1420], "{}", world.now);
    let (_, world) = of_group(2, 10_000_000).on(path(1000), |_| {});
    assert!(world.nodes[0].full.is_empty(), "the link limits the rate");
}

#[test]
fn a_group_of_near_and_far_receivers_takes_as_long_as_the_far_one() {
    let size = 5_000_000;
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
        world.run_to(60, |world| [1, 3].iter().all(|&n| !world.nodes[n].received.is_empty()));
        let took = world.now.since(Time::ZERO).as_secs_f64();
        println!("{round_trip} us, {mbps} Mbit/s: {took} s, without it {without} s; {:?}", world.nodes[0].deliveries);
        let deliveries: Vec<_> = world.nodes[0].deliveries.iter().map(|&(_, index, how)| (index, how)).collect();
        assert_eq!(deliveries, [(1, Delivery::Alone)], "{round_trip} us, {mbps} Mbit/s");
        assert!(took < 2.0 * without + 0.6, "{round_trip} us, {mbps} Mbit/s: {took} s, without it {without} s");
        assert!(world.run_for(60) && world.nodes[2].received.len() == 1);
    }
}
