//! Groups whose packets stop arriving at some or all of the receivers, while unicast still works.

use std::cell::Cell;
use std::rc::Rc;

use crate::world::{self, Faults, World, bytes, group};
use anabranch_host::{Delivery, Outcome, Straggler, StragglerPolicy};
use anabranch_transport::{Duration, Time};

/// Bytes of the object: 0.4 s at 100 Mbit/s.
const SIZE: usize = 5_000_000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// Three receivers on links of 100 Mbit/s; what is sent to the group does not reach one of them at a time when `deaf` says so. When all have the
/// object, and how often it was sent.
fn run(round_trip: u64, size: usize, prepare: impl FnOnce(&mut World)) -> (Duration, f64, World) {
    let faults = Faults { rate_mbps: 100, delay: Duration::from_us(round_trip / 2), ..Faults::default() };
    let mut world = World::new(round_trip, 4, faults);
    (1..4).for_each(|n| world.nodes[n].joined.push(group()));
    prepare(&mut world);
    let object = bytes(5, size);
    let id = world.send(0, &[1, 2, 3], &object, "object", Some(group()));
    while world.nodes[0].outcomes.get(&id).is_none_or(|outcomes| outcomes.len() < 3) {
        assert!(world.now < ms(60_000), "{:#?}", world.nodes[0].host.describe());
        world.run_until(world.now + Duration::from_ms(1));
    }
    let outcomes = &world.nodes[0].outcomes[&id];
    assert!(
        outcomes.values().all(|outcome| *outcome == Outcome::Verified),
        "{outcomes:?} {:?}",
        world.nodes[0].deliveries
    );
    assert!((1..4).all(|n| world.nodes[n].received[0].1 == object));
    (world.now.since(Time::ZERO), world.nodes[0].bytes_sent as f64 / size as f64, world)
}

/// Which receivers are sent what, in the end.
fn deliveries(world: &World) -> Vec<(usize, Delivery)> {
    let mut all: Vec<_> = world.nodes[0].deliveries.iter().map(|&(_, index, how)| (index, how)).collect();
    all.sort_by_key(|(index, _)| *index);
    all
}

#[test]
fn whoever_the_group_stops_reaching_is_sent_copies() {
    for round_trip in [200, 20_000] {
        for (at, cut) in
            [(0, vec![1, 2, 3]), (150, vec![1]), (150, vec![1, 2]), (150, vec![1, 2, 3]), (350, vec![2, 3])]
        {
            let deaf = cut.clone();
            let (took, times, world) = run(round_trip, SIZE, |world| {
                world.deaf = Some(Box::new(move |now, n| now >= ms(at) && deaf.contains(&n)));
            });
            println!(
                "{round_trip} us, {cut:?} from {at} ms on: {took}, {times} times, {:?}",
                world.nodes[0].deliveries
            );
            assert!(
                took < Duration::from_ms(2500 + round_trip / 25),
                "{round_trip} us, {cut:?} from {at} ms on: {took}"
            );
            // A single one may leave the group later, as any receiver that is slower than the others.
            let sent_copies: Vec<_> =
                deliveries(&world).into_iter().filter(|(_, how)| *how == Delivery::Copies).collect();
            let expected: Vec<_> = cut.iter().map(|n| (n - 1, Delivery::Copies)).collect();
            assert_eq!(sent_copies, expected, "{round_trip} us, from {at} ms on: all are treated alike");
            // What had come by the group is not sent again. All windows are too large once a symbol leaves several times, and what exceeds the queue
            // is lost; much more of it where a round trip is as long as the queue.
            let copies = if cut.len() == 3 { 3.0 } else { cut.len() as f64 + 1.0 };
            let lost = if round_trip < 10_000 { 0.3 } else { 1.0 };
            assert!(times < (1.0 + lost) * copies + 0.4, "{round_trip} us, {cut:?} from {at} ms on: {times} times");
        }
    }
}

#[test]
fn a_group_that_comes_back_is_used_again() {
    for back in [300, 1150] {
        let (took, times, world) = run(200, 4 * SIZE, |world| {
            world.deaf = Some(Box::new(move |now, _| (ms(150)..ms(back)).contains(&now)));
        });
        println!("until {back} ms: {took}, {times} times, {:?}", world.nodes[0].deliveries);
        let both = [Delivery::Copies, Delivery::Group];
        assert_eq!(deliveries(&world), (0..3).flat_map(|n| both.map(|how| (n, how))).collect::<Vec<_>>());
        assert!(times < 2.5, "until {back} ms: {times} times, and always as copies 2.8");
    }
}

#[test]
fn a_short_pause_of_the_group_makes_no_copies() {
    let (took, times, world) = run(200, SIZE, |world| {
        world.deaf = Some(Box::new(move |now, _| (ms(150)..ms(190)).contains(&now)));
    });
    println!("{took}, {times} times, {:?}", world.nodes[0].deliveries);
    assert_eq!(deliveries(&world), []);
    assert!(times < 1.2, "{times} times");
}

#[test]
fn a_group_that_dies_in_the_last_block_is_given_up_as_well() {
    for receivers in [vec![1], vec![1, 2, 3]] {
        let last = Rc::new(Cell::new(false));
        let (seen, deaf) = (Rc::clone(&last), receivers.clone());
        let blocks = SIZE.div_ceil(1420).div_ceil(100) as u32;
        let (took, times, world) = run(200, SIZE, |world| {
            world.tap = Some(Box::new(move |_, _, datagram| {
                let block = || u32::from_be_bytes(datagram[8..12].try_into().expect("4 bytes"));
                // A symbol of the last block.
                seen.set(seen.get() || datagram[0] & 0xf == 1 && block() + 1 == blocks);
            }));
            world.deaf = Some(Box::new(move |_, n| last.get() && deaf.contains(&n)));
        });
        println!("{receivers:?}: {took}, {times} times, {:?}", world.nodes[0].deliveries);
        assert!(took < Duration::from_ms(1000) && times < 1.5, "{receivers:?}: {took}, {times} times");
    }
}

#[test]
fn a_member_that_is_waited_for_does_not_make_the_others_give_the_group_up() {
    // The third says nothing for 2 s, and is waited for.
    let faults = Faults { rate_mbps: 100, ..Faults::default() };
    let mut world = World::with(9, 4, faults, |_| anabranch_host::HostConfig {
        stragglers: Straggler::on_hosts(StragglerPolicy::Wait),
        ..anabranch_host::HostConfig::new(world::psk())
    });
    (1..4).for_each(|n| world.nodes[n].joined.push(group()));
    let id = world.send(0, &[1, 2, 3], &bytes(5, SIZE), "object", Some(group()));
    world.run_until(ms(150));
    world.nodes[3].dead = true;
    world.run_until(ms(2150));
    world.nodes[3].dead = false;
    assert!(world.run_for(30));
    assert!(world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified));
    assert_eq!(deliveries(&world), []);
    let times = world.nodes[0].bytes_sent as f64 / SIZE as f64;
    assert!(times < 1.2, "{times} times");
}
