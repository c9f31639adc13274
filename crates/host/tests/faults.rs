//! Sessions on networks with every fault at once: each completes right, or fails with a reason; none hangs.

use crate::world::{Faults, World, bytes, group};
use anabranch_host::Outcome;
use anabranch_transport::Duration;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Networks, each with a session or two. The long test has more.
const QUICK: u64 = 300;

fn faults(random: &mut Xoshiro256PlusPlus) -> Faults {
    let mut some = |most: f64| if random.random_bool(0.5) { random.random_range(0.0..most) } else { 0.0 };
    let (loss, burst, duplicate, damage, trim) = (some(0.3), some(0.9), some(0.2), some(0.05), some(0.5));
    Faults {
        loss,
        burst,
        duplicate,
        damage,
        trim,
        trimmed_to: random.random_range(40..1024),
        delay: Duration::from_us(random.random_range(5..20_000)),
        jitter: Duration::from_us(random.random_range(0..5000)),
        mtu: if random.random_bool(0.05) { 1400 } else { 65_535 },
        rate_mbps: [10, 100, 1000, 10_000][random.random_range(0..4)],
        queue: random.random_range(5_000..500_000),
        mark: random.random_range(0..1_000_000),
    }
}

/// One network; what it was, if the session did not complete.
fn session(seed: u64) -> Option<String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let faults = faults(&mut random);
    let receivers = random.random_range(1..5);
    let mut world = World::new(seed, receivers + 1, faults);
    let object = bytes(seed, [0, 1, 5000, 200_000, 700_000][random.random_range(0..5)]);
    let fetched = random.random_bool(0.5);
    if random.random_bool(0.3) {
        let begun = random.random_range(0..=object.len());
        for node in &mut world.nodes {
            let begun = if random.random_bool(0.5) { begun } else { random.random_range(0..=object.len()) };
            node.begun = object[..begun].to_vec();
        }
    }
    let others: Vec<usize> = (1..=receivers).collect();
    if fetched {
        for &n in &others {
            world.nodes[n].objects.insert("object".to_owned(), object.clone());
        }
        world.fetch(0, &others, "object");
    } else {
        let grouped = random.random_bool(0.5);
        for &n in &others {
            if random.random_bool(0.7) {
                world.nodes[n].joined.push(group());
            }
        }
        world.send(0, &others, &object, "object", grouped.then(group));
    }
    assert!(world.run_for(600), "seed {seed}: it hangs with {faults:?}");
    for node in &world.nodes {
        assert_eq!(node.host.sessions(), 0, "seed {seed}");
        for (_, received, right) in &node.received {
            assert!(*right && *received == object, "seed {seed}: wrong bytes");
        }
    }
    let complete = if fetched {
        assert_eq!(world.nodes[0].received.len() + world.nodes[0].failures.len(), 1, "seed {seed}");
        world.nodes[0].received.len() == 1
    } else {
        let outcomes = world.nodes[0].outcomes.values().next().expect("told");
        assert_eq!(outcomes.len(), receivers, "seed {seed}: the fate of each is told");
        for (index, outcome) in outcomes {
            let has = world.nodes[index + 1].received.len() == 1;
            assert!(has || *outcome != Outcome::Verified, "seed {seed}: receiver {index} does not have it");
        }
        outcomes.values().all(Outcome::is_success)
    };
    let reasons = (&world.nodes[0].outcomes, &world.nodes[0].failures);
    let what = if fetched { "fetched from" } else { "sent to" };
    (!complete).then(|| format!("seed {seed}: {} bytes {what} {receivers}: {reasons:?} {faults:?}", object.len()))
}

fn sessions(seeds: std::ops::Range<u64>) {
    let count = seeds.end - seeds.start;
    let failed: Vec<String> = seeds.filter_map(session).collect();
    let unlikely: Vec<&String> = failed.iter().filter(|text| !text.contains("mtu: 1400")).collect();
    println!("{} of {count} did not complete: {unlikely:#?}", failed.len());
    // Too small an MTU carries no symbols, and loss in long bursts may outlast 10 s of silence.
    assert!(unlikely.len() as u64 * 20 < count, "most networks can be lived with");
}

#[test]
fn sessions_complete_right_or_fail_with_a_reason() {
    sessions(0..QUICK);
}

#[test]
#[ignore = "long: ten thousand sessions"]
fn ten_thousand_sessions_complete_right_or_fail_with_a_reason() {
    sessions(0..10_000);
}
