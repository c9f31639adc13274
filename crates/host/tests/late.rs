//! Receivers that come when the others of their group have part of the object already.

use crate::world::{self, Faults, World, bytes, group};
use anabranch_host::{Delivery, HostConfig, Outcome, Straggler, StragglerPolicy};
use anabranch_transport::{Duration, Time};

/// Bytes of the object: 1 s at 100 Mbit/s, and 85 blocks, more than are in progress at once.
const SIZE: usize = 12_000_000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// What one receiver, or several, do in a world of four hosts.
struct Run {
    seed: u64,
    grouped: bool,
    /// Who comes when, in milliseconds.
    late: Vec<(usize, u64)>,
    faults: Faults,
    stragglers: Straggler,
}

impl Default for Run {
    fn default() -> Self {
        let stragglers = HostConfig::new(world::psk()).stragglers;
        let faults = Faults { rate_mbps: 100, ..Faults::default() };
        Self { seed: 7, grouped: true, late: vec![(3, 200)], faults, stragglers }
    }
}

impl Run {
    /// How many times the object was sent, and when all had it.
    fn times(&self, prepare: impl FnOnce(&mut World)) -> (f64, Time, World) {
        let stragglers = self.stragglers;
        let mut world =
            World::with(self.seed, 4, self.faults, |_| HostConfig { stragglers, ..HostConfig::new(world::psk()) });
        (1..4).for_each(|n| world.nodes[n].joined.push(group()));
        prepare(&mut world);
        let object = bytes(7, SIZE);
        self.late.iter().for_each(|&(n, _)| world.nodes[n].dead = true);
        let id = world.send(0, &[1, 2, 3], &object, "object", self.grouped.then(group));
        for &(n, at) in &self.late {
            world.run_until(ms(at));
            world.nodes[n].dead = false;
        }
        world.run_to(60, |world| world.nodes[0].outcomes.get(&id).is_some_and(|outcomes| outcomes.len() == 3));
        assert!(world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified));
        assert!((1..4).all(|n| world.nodes[n].received[0].1 == object && world.nodes[n].received[0].2));
        (world.nodes[0].bytes_sent as f64 / SIZE as f64, world.now, world)
    }
}

/// Bytes that each late receiver missed, as parts of the object.
fn late(world: &World) -> Vec<(usize, f64)> {
    let missed = |&(_, index, how): &(_, usize, _)| {
        if let Delivery::Late { missed } = how { Some((index, missed as f64 / SIZE as f64)) } else { None }
    };
    world.nodes[0].deliveries.iter().filter_map(missed).collect()
}

/// What else changed how symbols reached receivers.
fn others(world: &World) -> Vec<(usize, Delivery)> {
    let all = world.nodes[0].deliveries.iter().map(|&(_, index, how)| (index, how));
    all.filter(|(_, how)| !matches!(how, Delivery::Late { .. })).collect()
}

/// What the only late receiver missed.
#[track_caller]
fn missed(world: &World) -> f64 {
    let [(2, missed)] = late(world)[..] else { panic!("{:?}", world.nodes[0].deliveries) };
    missed
}

#[test]
fn who_comes_late_joins_the_group_and_is_sent_what_it_missed() {
    for (at, most) in [(200, 0.25), (500, 0.6)] {
        for grouped in [true, false] {
            let (times, took, world) = Run { grouped, late: vec![(3, at)], ..Run::default() }.times(|_| {});
            assert_eq!(others(&world), [], "{at} ms, {grouped}");
            let missed = missed(&world);
            println!("{at} ms, {grouped}: {times} times, {took}, it missed {missed}");
            // Copies take three times as long. Those that wait for a receiver which says nothing begin with windows that are too large, so they have
            // lost much when it comes, and it is asked to join behind all that was sent.
            let most = if grouped { most } else { 0.7 };
            assert!(missed < most && missed > 0.0, "{at} ms: it missed {missed}");
            let least = if grouped { 1.0 + missed } else { 3.0 };
            let lost = if grouped { 1.15 } else { 1.3 };
            assert!(times < lost * least + 0.05, "{at} ms, {grouped}: {times} times, it missed {missed}");
        }
    }
}

#[test]
fn several_come_late_at_several_times_and_on_bad_paths() {
    let lossy = Faults { rate_mbps: 100, loss: 0.01, jitter: Duration::from_us(300), ..Faults::default() };
    let far = Faults { rate_mbps: 100, delay: Duration::from_ms(20), queue: 600_000, ..Faults::default() };
    for (name, faults, most) in [("lossy", lossy, 1.7), ("far", far, 1.15)] {
        // Which packets are lost is drawn: the draw in the middle counts.
        let mut draws = [7, 8, 9].map(|seed| {
            let late = vec![(2, 400), (3, 700)];
            let (times, took, world) = Run { seed, late, faults, ..Run::default() }.times(|_| {});
            let (missed, others) = (missed(&world), others(&world));
            println!("{name}: {times} times, {took}, it missed {missed}, {others:?}");
            // The majority is waited for, until the first of them comes.
            assert!(missed > 0.05, "{name}: it missed {missed}");
            // One that has lost several in a row may take it that nothing reaches it by the group, for a moment.
            let for_a_moment = |pair: &[(usize, Delivery)]| {
                matches!(pair, [(one, Delivery::Copies), (other, Delivery::Group)] if one == other && *one != 2)
            };
            assert!(others.chunks(2).all(for_a_moment), "{name}: {others:?}");
            assert!(faults.loss > 0.0 || others.is_empty(), "{name}: {others:?}");
            times / (1.0 + missed)
        });
        draws.sort_unstable_by(f64::total_cmp);
        assert!(draws[1] < most + 0.05, "{name}: {draws:?} times what it missed");
    }
}

#[test]
fn who_comes_when_the_others_have_all_is_sent_all() {
    let (times, took, world) = Run { late: vec![(3, 1500)], ..Run::default() }.times(|_| {});
    println!("{times} times, {took}, {:?}", world.nodes[0].deliveries);
    assert_eq!((late(&world), others(&world)), (vec![], vec![(2, Delivery::Alone)]), "there was nothing left to join");
    assert!((1.9..2.35).contains(&times), "{times} times");
}

#[test]
fn who_comes_late_and_has_the_beginning_is_sent_only_what_it_lacks() {
    let begun = SIZE / 4;
    let run = Run { late: vec![(3, 600)], ..Run::default() };
    let (times, _, world) = run.times(|world| world.nodes[3].begun = bytes(7, SIZE)[..begun].to_vec());
    assert_eq!(others(&world), []);
    let missed = missed(&world);
    println!("{times} times, it missed {missed}");
    assert!(missed < 0.45, "{missed}");
    assert!(times < 1.15 * (1.0 + missed) + 0.05, "{times} times, it missed {missed}");
}

#[test]
fn who_does_not_understand_that_it_is_to_join_is_sent_all_by_itself() {
    // The only control message of this size.
    let is_join = |datagram: &[u8]| datagram[0] & 0xf == 3 && datagram.len() == 24 + 5 + 16;
    let (times, took, world) = Run::default().times(|world| {
        world.filter = Some(Box::new(move |_, _, datagram| !is_join(datagram)));
    });
    println!("{times} times, {took}, {:?}", world.nodes[0].deliveries);
    assert!(missed(&world) > 0.0, "it was asked to join");
    assert_eq!(others(&world), [(2, Delivery::Alone)]);
    assert!(times < 2.3, "{times} times");
}

#[test]
fn a_sender_that_waits_for_all_waits_for_who_is_late() {
    let (times, _, world) =
        Run { stragglers: Straggler::on_hosts(StragglerPolicy::Wait), ..Run::default() }.times(|_| {});
    assert_eq!(world.nodes[0].deliveries, []);
    assert!(times < 1.1, "{times} times");
}

#[test]
fn who_comes_late_and_dies_is_given_up() {
    let mut world = World::new(7, 4, Faults { rate_mbps: 100, ..Faults::default() });
    (1..4).for_each(|n| world.nodes[n].joined.push(group()));
    world.nodes[3].dead = true;
    let id = world.send(0, &[1, 2, 3], &bytes(7, SIZE), "object", Some(group()));
    world.run_until(ms(300));
    world.nodes[3].dead = false;
    world.run_until(ms(600));
    world.nodes[3].dead = true;
    assert!(world.run_for(60));
    assert!(missed(&world) > 0.0, "it was asked to join");
    assert_eq!(others(&world), [(2, Delivery::Alone)], "and left when it said nothing more");
    let outcomes = &world.nodes[0].outcomes[&id];
    assert_eq!((&outcomes[&0], &outcomes[&1]), (&Outcome::Verified, &Outcome::Verified));
    assert!(matches!(outcomes[&2], Outcome::Failed(_)), "{:?}", outcomes[&2]);
}
