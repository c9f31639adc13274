//! Sessions whose receivers have the beginning of the object from an earlier one.

use crate::world::{self, Faults, World, bytes, cases, group};
use anabranch_host::{Failure, Outcome, SessionId, Straggler, StragglerPolicy};
use anabranch_transport::{Duration, Time};

/// Bytes of the object, and of a span: what is less than a span is fetched again.
const SIZE: usize = 4_000_000;
const SPAN: usize = 128 << 10;

/// Kinds of datagrams: a symbol, and an answer.
const SYMBOL: u8 = 1;
const ANSWER: u8 = 6;

fn kind(datagram: &[u8]) -> u8 {
    datagram[0] & 0xf
}

/// One sender, and receivers that have so much of the object, by a group or as copies.
fn sending(seed: u64, begun: &[usize], grouped: bool, faults: Faults) -> (World, SessionId, Vec<u8>) {
    let mut world = World::new(seed, begun.len() + 1, faults);
    let object = bytes(seed, SIZE);
    for (n, &begun) in (1..).zip(begun) {
        world.nodes[n].begun = object[..begun].to_vec();
        world.nodes[n].joined.push(group());
    }
    let to: Vec<usize> = (1..=begun.len()).collect();
    let id = world.send(0, &to, &object, "object", grouped.then(group));
    (world, id, object)
}

/// Runs until these receivers have the object.
fn run_until_received(world: &mut World, receivers: &[usize], within: Duration) -> Duration {
    let begun = world.now;
    while receivers.iter().any(|&n| world.nodes[n].received.is_empty()) {
        assert!(world.now - begun < within, "{:?}", world.nodes[0].host.describe());
        world.run_until(world.now + Duration::from_us(500));
    }
    world.now - begun
}

/// Bytes sent by each host, as parts of the object.
fn sent(world: &World) -> f64 {
    world.nodes[0].bytes_sent as f64 / SIZE as f64
}

#[test]
fn one_receiver_goes_on_from_what_it_has() {
    for (fetched, begun, most) in [(false, 3_000_000, 0.4), (true, 3_000_000, 0.4), (false, SIZE, 0.1)] {
        let mut world = World::new(5, 2, Faults::default());
        let object = bytes(5, SIZE);
        world.nodes[1].begun = object[..begun].to_vec();
        if fetched {
            world.nodes[0].objects.insert("object".to_owned(), object.clone());
            world.fetch(1, &[0], "object");
        } else {
            world.send(0, &[1], &object, "object", None);
        }
        assert!(world.run_for(30));
        assert!(world.nodes[1].received[0].1 == object && world.nodes[1].received[0].2);
        assert!(sent(&world) < most, "{fetched}, {begun}: {}", sent(&world));
    }
}

#[test]
fn a_group_goes_on_from_what_the_one_has_that_has_the_least() {
    for begun in
        [[3_000_000; 3], [3_000_000, 2_000_000, 3_999_999], [3_000_000, 0, 3_000_000], [0, 500_000, 0], [SIZE; 3]]
    {
        for grouped in [true, false] {
            let (mut world, id, object) = sending(7, &begun, grouped, Faults::default());
            assert!(world.run_for(30));
            for n in 1..=3 {
                assert!(world.nodes[n].received[0].1 == object && world.nodes[n].received[0].2, "{begun:?} {grouped}");
                assert_eq!(world.nodes[0].outcomes[&id][&(n - 1)], Outcome::Verified);
            }
            let least = begun.into_iter().min().expect("three") / SPAN * SPAN;
            let copies = if grouped { 1.0 } else { 3.0 };
            // Besides that: the first window, headers, hashes, offers, and what is lost while the windows are found.
            let most = copies * ((SIZE - least) as f64 / SIZE as f64 * 1.06 + 0.08);
            assert!(sent(&world) < most, "{begun:?}, {grouped}: {} of at most {most}", sent(&world));
        }
    }
}

#[test]
fn whose_answer_is_lost_goes_on_with_the_group() {
    let (mut world, _, object) = sending(8, &[3_000_000; 3], true, Faults::default());
    let mut answers = 0;
    world.filter = Some(Box::new(move |from, _, datagram| {
        let is_lost = from == world::address(2) && kind(datagram) == ANSWER && answers < 1;
        answers += u32::from(is_lost);
        !is_lost
    }));
    run_until_received(&mut world, &[1, 2, 3], Duration::from_secs(1));
    assert!(world.nodes[1..].iter().all(|node| node.received[0].1 == object));
    assert!(sent(&world) < 0.38, "{}", sent(&world));
}

#[test]
fn who_has_less_and_says_nothing_more_or_nothing_at_all_does_not_hold_the_others_back_for_long() {
    for answers in [true, false] {
        let (mut world, id, object) = sending(9, &[3_000_000, 0, 3_000_000], true, Faults::default());
        world.filter =
            Some(Box::new(move |from, _, datagram| from != world::address(2) || answers && kind(datagram) == ANSWER));
        // It is waited for for 100 ms, and 1 MB takes 9 ms.
        let took = run_until_received(&mut world, &[1, 3], Duration::from_ms(500));
        assert!(took > Duration::from_ms(100), "{took}");
        assert!([1, 3].iter().all(|&n| world.nodes[n].received[0].1 == object));
        world.run_for(30);
        assert_eq!(world.nodes[0].outcomes[&id][&1], Outcome::Failed(Failure::TimedOut));
        assert!(sent(&world) < 0.6, "{}", sent(&world));
    }
}

#[test]
fn who_has_less_and_is_slow_leaves_the_group_and_goes_on_from_what_it_has() {
    let (mut world, _, object) = sending(10, &[3_900_000, 2_000_000, 3_900_000], true, Faults::default());
    let mut of_what_it_has = 0;
    world.tap = Some(Box::new(move |_, to, datagram| {
        if to == world::address(2) && kind(datagram) == SYMBOL {
            let block = u32::from_be_bytes(datagram[8..12].try_into().expect("4 bytes"));
            of_what_it_has += u32::from(block < 14);
            assert!(of_what_it_has < 40, "what it has is not sent to it");
        }
    }));
    // Its link carries 10 Mbit/s: what it lacks takes 1.6 s.
    let mut free = Time::ZERO;
    world.slow = Some(Box::new(move |now, to| {
        if to == 2 {
            free = free.max(now) + Duration::from_us(1200);
        }
        free.since(now) * u64::from(to == 2)
    }));
    let took = run_until_received(&mut world, &[1, 3], Duration::from_secs(1));
    run_until_received(&mut world, &[2], Duration::from_secs(20));
    assert!(world.nodes[1..].iter().all(|node| node.received[0].1 == object), "{took}");
    assert!(sent(&world) < 0.65, "{}", sent(&world));
}

#[test]
fn who_waits_long_for_others_is_not_given_up_and_does_not_give_up() {
    // 4 MB at 1 Mbit/s take 32 s: more than the 10 s after which who says nothing is given up, and than the 12 s after which who comes no further is.
    let faults = Faults { rate_mbps: 1, queue: 2_000_000, ..Faults::default() };
    let mut world = World::with(11, 3, faults, |_| anabranch_host::HostConfig {
        stragglers: Straggler::on_hosts(StragglerPolicy::Wait),
        stall_after: Duration::from_secs(12),
        ..anabranch_host::HostConfig::new(world::psk())
    });
    let object = bytes(11, SIZE);
    for (n, begun) in [(1, 3_900_000), (2, 0)] {
        world.nodes[n].begun = object[..begun].to_vec();
        world.nodes[n].joined.push(group());
    }
    let id = world.send(0, &[1, 2], &object, "object", Some(group()));
    assert!(world.run_for(120));
    assert!(
        world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified),
        "{:?}",
        world.nodes[0].outcomes
    );
    // Who waits asks now and then whether the sender is there, and is sent a symbol.
    assert!(sent(&world) < 1.15, "{}", sent(&world));
}

#[test]
fn who_waits_long_for_others_is_asked_whether_it_is_there_although_the_sender_keeps_a_rate() {
    // At 1 Mbit/s symbols for those that have less leave no time in between: 32 s, and 10 s is how long who says nothing is waited for.
    for (stragglers, begun) in [
        (Straggler::on_hosts(StragglerPolicy::Wait), vec![3_900_000, 0]),
        (anabranch_host::HostConfig::new(world::psk()).stragglers, vec![3_900_000, 0, 0]),
    ] {
        let mut world = World::with(12, begun.len() + 1, Faults::default(), |n| anabranch_host::HostConfig {
            stragglers,
            rate: (n == 0).then(|| anabranch_transport::Rate::from_mbps(1)),
            ..anabranch_host::HostConfig::new(world::psk())
        });
        let object = bytes(12, SIZE);
        for (n, &begun) in (1..).zip(&begun) {
            world.nodes[n].begun = object[..begun].to_vec();
            world.nodes[n].joined.push(group());
        }
        let to: Vec<usize> = (1..=begun.len()).collect();
        let id = world.send(0, &to, &object, "object", Some(group()));
        assert!(world.run_for(120));
        assert!(
            world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified),
            "{stragglers:?}: {:?}",
            world.nodes[0].outcomes
        );
    }
}

#[test]
fn groups_that_lose_a_lot_go_on_whatever_each_has() {
    for seed in 0..cases(25) {
        let faults = Faults { loss: 0.05, burst: 0.5, ..Faults::default() };
        let begun: Vec<usize> = (0..3).map(|n| (seed as usize * 7919 + n * 104_729) % 40 * SIZE / 40).collect();
        let (mut world, _, object) = sending(seed, &begun, seed % 2 == 0, faults);
        run_until_received(&mut world, &[1, 2, 3], Duration::from_secs(20));
        assert!(world.nodes[1..].iter().all(|node| node.received[0].1 == object), "{begun:?}");
    }
}
