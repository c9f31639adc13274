//! Paths that carry smaller packets than a session has: its end says so soon, and which would arrive; the next session has those.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::world::{Faults, Manner, World, address, bytes, group, psk};
use anabranch_host::{HostConfig, Outcome, Protection, SessionId, Straggler, StragglerPolicy};
use anabranch_transport::{Duration, Time};

/// How soon a path that is too small must be found, in seconds.
const SOON: u64 = 2;

/// What fits into an IPv4 packet of so many bytes.
fn datagram(mtu: usize) -> usize {
    mtu - 28
}

/// Why a receiver does not have an object, as its sender's user reads it.
fn outcome(world: &World, id: SessionId, index: usize) -> String {
    world.nodes[0].outcomes.get(&id).and_then(|all| all.get(&index)).map_or_else(String::new, Outcome::to_string)
}

/// Why a host's sessions that receive have failed.
fn failures(world: &World, node: usize) -> Vec<String> {
    world.nodes[node].failures.iter().map(|(_, failure)| failure.to_string()).collect()
}

fn there(peer: usize, needed: usize, carried: usize) -> String {
    let peer = address(peer);
    format!("packets of {needed} B do not arrive at {peer}, packets of {carried} B do")
}

fn here(peer: usize, needed: usize, carried: usize) -> String {
    let peer = address(peer);
    format!("packets of {needed} B from {peer} do not arrive, packets of {carried} B do")
}

/// Larger IPv4 packets than these vanish on their way to some hosts, from a time on.
fn narrow(
    world: &mut World,
    mtu: usize,
    is_narrow: impl Fn(SocketAddr, SocketAddr) -> bool + 'static,
) -> Rc<Cell<bool>> {
    let active = Rc::new(Cell::new(true));
    let asked = Rc::clone(&active);
    world.filter =
        Some(Box::new(move |from, to, bytes| bytes.len() <= datagram(mtu) || !asked.get() || !is_narrow(from, to)));
    active
}

#[test]
fn one_receiver_behind_a_small_path_is_told_soon_and_gets_the_next_session() {
    for protection in [psk(), Protection::None] {
        for (mtu, found) in [(1492, 1492), (1400, 1400), (1399, 1390), (1280, 1280), (1228, 1228)] {
            for size in [2_000, 3_000_000] {
                let faults = Faults { mtu: datagram(mtu), ..Faults::default() };
                let mut world = World::with(70, 2, faults, |_| HostConfig::new(protection.clone()));
                let object = bytes(70, size);
                let first = world.send(0, &[1], &object, "object", None);
                world.run_for(SOON);
                // Without a key, datagrams are 16 B smaller.
                let needed = if matches!(protection, Protection::None) { 1484 } else { 1500 };
                if needed <= mtu {
                    assert_eq!(outcome(&world, first, 0), "verified");
                    continue;
                }
                assert_eq!(outcome(&world, first, 0), there(1, needed, found), "{size}");
                assert_eq!(failures(&world, 1), [here(0, needed, found)]);
                let second = world.send(0, &[1], &object, "object", None);
                world.run_for(SOON);
                assert_eq!(outcome(&world, second, 0), "verified", "{mtu} {size}");
                assert!(world.nodes[1].received[0].1 == object);
                assert!(world.run_for(60), "all sessions end");
            }
        }
    }
}

#[test]
fn an_object_that_fits_a_small_packet_arrives() {
    let mut world = World::new(70, 2, Faults { mtu: datagram(1400), ..Faults::default() });
    for size in [0, 1, 1000] {
        let id = world.send(0, &[1], &bytes(70, size), "object", None);
        world.run_for(1);
        assert_eq!(outcome(&world, id, 0), "verified", "{size}");
    }
}

#[test]
fn jumbo_packets_on_a_path_without() {
    for mtu in [1500, 4352, 8000] {
        let faults = Faults { mtu: datagram(mtu), ..Faults::default() };
        let mut world = World::with(71, 3, faults, |_| HostConfig { largest_packet: 8972, ..HostConfig::new(psk()) });
        let object = bytes(71, 3_000_000);
        let first = world.send(0, &[1], &object, "object", None);
        world.run_for(SOON);
        assert_eq!(outcome(&world, first, 0), there(1, 9000, mtu));
        let second = world.send(0, &[1], &object, "object", None);
        world.run_for(SOON);
        assert_eq!(outcome(&world, second, 0), "verified");
        let other = world.send(0, &[2], &object, "object", None);
        world.run_for(SOON);
        assert_eq!(outcome(&world, other, 0), there(2, 9000, mtu), "nothing is assumed of other paths");
    }
}

#[test]
fn a_group_or_copies_behind_small_paths() {
    for grouped in [true, false] {
        for mtu in [1400, 1280] {
            let mut world = World::new(72, 4, Faults { mtu: datagram(mtu), ..Faults::default() });
            (1..4).for_each(|n| world.nodes[n].joined.push(group()));
            let object = bytes(72, 3_000_000);
            let first = world.send(0, &[1, 2, 3], &object, "object", grouped.then(group));
            world.run_for(SOON);
            for n in 1..4 {
                assert_eq!(outcome(&world, first, n - 1), there(n, 1500, mtu), "{grouped}");
                assert_eq!(failures(&world, n), [here(0, 1500, mtu)]);
            }
            let second = world.send(0, &[1, 2, 3], &object, "object", grouped.then(group));
            world.run_for(SOON);
            for n in 1..4 {
                assert_eq!(outcome(&world, second, n - 1), "verified", "{grouped}");
                assert!(world.nodes[n].received[0].1 == object);
            }
        }
    }
}

#[test]
fn who_alone_of_several_has_a_small_path_is_told_so_and_the_others_get_the_object() {
    for grouped in [true, false] {
        for stragglers in [Straggler::on_hosts(StragglerPolicy::Wait), Straggler::on_hosts(StragglerPolicy::Detach)] {
            for size in [10_000, 30_000_000] {
                let config = |_| HostConfig { stragglers, ..HostConfig::new(psk()) };
                let mut world = World::with(73, 4, Faults::default(), config);
                // Neither its own packets nor the group's reach the second receiver.
                narrow(&mut world, 1400, |_, to| to == address(2));
                (1..4).filter(|n| *n != 2).for_each(|n| world.nodes[n].joined.push(group()));
                let object = bytes(73, size);
                let id = world.send(0, &[1, 2, 3], &object, "object", grouped.then(group));
                world.run_for(SOON + 1);
                assert_eq!(outcome(&world, id, 1), there(2, 1500, 1400), "{grouped} {stragglers:?} {size}");
                assert!([1, 3].into_iter().all(|n| world.nodes[n].received[0].1 == object));
                assert!(world.run_for(60));
            }
        }
    }
}

#[test]
fn a_fetch_from_one_server_behind_a_small_path() {
    for mtu in [1400, 1280] {
        let mut world = World::new(74, 2, Faults { mtu: datagram(mtu), ..Faults::default() });
        let object = bytes(74, 3_000_000);
        world.nodes[1].objects.insert("object".to_owned(), object.clone());
        world.fetch(0, &[1], "object");
        world.run_for(SOON);
        assert_eq!(failures(&world, 0), [here(1, 1500, mtu)]);
        let server = &world.nodes[1];
        let told: Vec<String> = server.outcomes.values().map(|all| all[&0].to_string()).collect();
        assert_eq!(told, [there(0, 1500, mtu)]);
        world.fetch(0, &[1], "object");
        world.run_for(SOON);
        assert!(world.nodes[0].received[0].1 == object);
    }
}

#[test]
fn a_server_behind_a_small_path_is_left_out_and_if_all_are_that_is_said() {
    for narrow_ones in [&[1][..], &[1, 2]] {
        let mut world = World::new(75, 3, Faults { rate_mbps: 100, ..Faults::default() });
        narrow(&mut world, 1400, move |from, _| narrow_ones.iter().any(|&n| from == address(n)));
        let object = bytes(75, 12_000_000);
        (1..3).for_each(|n| _ = world.nodes[n].objects.insert("object".to_owned(), object.clone()));
        world.fetch(0, &[1, 2], "object");
        world.run_for(SOON);
        if narrow_ones.len() == 1 {
            assert!(world.nodes[0].received[0].1 == object);
            assert_eq!(world.nodes[0].narrow, [here(1, 1500, 1400)]);
            continue;
        }
        let [failed] = &failures(&world, 0)[..] else { panic!("{:?}", failures(&world, 0)) };
        assert!([1, 2].iter().any(|&n| *failed == here(n, 1500, 1400)), "{failed}");
        world.fetch(0, &[1, 2], "object");
        world.run_for(SOON);
        assert!(world.nodes[0].received[0].1 == object);
    }
}

#[test]
fn a_path_that_becomes_smaller_midway() {
    for manner in ["send", "fetch", "group"] {
        let mut world = World::new(76, 3, Faults { rate_mbps: 100, ..Faults::default() });
        (1..3).for_each(|n| world.nodes[n].joined.push(group()));
        let active = narrow(&mut world, 1400, |_, _| true);
        active.set(false);
        let object = bytes(76, 30_000_000);
        world.nodes[0].objects.insert("object".to_owned(), object.clone());
        let id = match manner {
            "send" => Some(world.send(0, &[1], &object, "object", None)),
            "group" => Some(world.send(0, &[1, 2], &object, "object", Some(group()))),
            _ => {
                world.fetch(1, &[0], "object");
                None
            }
        };
        world.run_until(Time::ZERO + Duration::from_ms(500));
        active.set(true);
        world.run_for(SOON + 1);
        assert_eq!(failures(&world, 1), [here(0, 1500, 1400)], "{manner}");
        if let Some(id) = id {
            assert_eq!(outcome(&world, id, 0), there(1, 1500, 1400), "{manner}");
        }
    }
}

#[test]
fn servers_whose_paths_become_smaller_midway() {
    for narrow_ones in [&[1][..], &[1, 2]] {
        let mut world = World::new(89, 3, Faults { rate_mbps: 100, ..Faults::default() });
        let active = narrow(&mut world, 1400, move |from, _| narrow_ones.iter().any(|&n| from == address(n)));
        active.set(false);
        let object = bytes(89, 12_000_000);
        (1..3).for_each(|n| _ = world.nodes[n].objects.insert("object".to_owned(), object.clone()));
        world.fetch(0, &[1, 2], "object");
        world.run_until(Time::ZERO + Duration::from_ms(300));
        active.set(true);
        world.run_for(SOON + 1);
        if narrow_ones.len() == 1 {
            assert!(world.nodes[0].received[0].1 == object && world.nodes[0].narrow == [here(1, 1500, 1400)]);
        } else {
            assert!(failures(&world, 0)[0].ends_with("packets of 1400 B do"), "{:?}", failures(&world, 0));
        }
    }
}

#[test]
fn a_member_whose_path_becomes_smaller_midway_is_told_so() {
    for grouped in [true, false] {
        let mut world = World::new(77, 4, Faults { rate_mbps: 200, ..Faults::default() });
        let active = narrow(&mut world, 1400, |_, to| to == address(2) || to == group());
        active.set(false);
        (1..4).for_each(|n| world.nodes[n].joined.push(group()));
        let object = bytes(77, 30_000_000);
        let id = world.send(0, &[1, 2, 3], &object, "object", grouped.then(group));
        world.run_until(Time::ZERO + Duration::from_ms(300));
        active.set(true);
        if grouped {
            // A member that the group does not reach any more.
            world.nodes[2].joined.clear();
            world.filter = Some(Box::new(|_, to, bytes| bytes.len() <= datagram(1400) || to != address(2)));
        }
        world.run_for(SOON + 1);
        assert_eq!(outcome(&world, id, 1), there(2, 1500, 1400), "{grouped}");
        world.run_for(10);
        assert!([1, 3].into_iter().all(|n| world.nodes[n].received[0].1 == object), "{grouped}");
    }
}

#[test]
fn a_path_too_small_for_any_session_is_named() {
    let small = |peer: usize, needed: usize| {
        let peer = address(peer);
        (
            format!("packets of {needed} B do not arrive at {peer}, small ones do"),
            format!("packets of {needed} B from {peer} do not arrive, small ones do"),
        )
    };
    for mtu in [1000, 576] {
        let faults = Faults { mtu: datagram(mtu), ..Faults::default() };
        let mut world = World::new(78, 3, faults);
        (1..3).for_each(|n| world.nodes[n].joined.push(group()));
        let object = bytes(78, 100_000);
        for to in [&[1][..], &[1, 2]] {
            let id = world.send(0, to, &object, "object", (to.len() > 1).then(group));
            world.run_for(SOON);
            for (index, &n) in to.iter().enumerate() {
                assert_eq!(outcome(&world, id, index), small(n, 1228).0, "{mtu}");
            }
        }
        world.nodes[1].objects.insert("object".to_owned(), object.clone());
        world.fetch(0, &[1], "object");
        world.run_for(SOON);
        // That a request does not arrive is known to who asks.
        assert_eq!(failures(&world, 0), [small(1, 1228).0]);
    }
    // It becomes so small midway.
    let mut world = World::new(79, 2, Faults { rate_mbps: 100, ..Faults::default() });
    let id = world.send(0, &[1], &bytes(79, 30_000_000), "object", None);
    world.run_until(Time::ZERO + Duration::from_ms(500));
    world.faults.mtu = datagram(1000);
    world.run_for(SOON + 1);
    assert_eq!((outcome(&world, id, 0), failures(&world, 1)), (small(1, 1500).0, vec![small(0, 1500).1]));
}

#[test]
fn a_small_path_is_found_under_loss_and_over_long_ways() {
    for (seed, loss, delay) in [(1, 0.3, 1), (2, 0.3, 1), (3, 0.1, 20), (4, 0.0, 50), (5, 0.3, 20)] {
        let faults = Faults { mtu: datagram(1400), loss, delay: Duration::from_ms(delay), ..Faults::default() };
        let mut world = World::new(seed, 2, faults);
        let id = world.send(0, &[1], &bytes(80, 3_000_000), "object", None);
        world.run_for(4);
        let said = outcome(&world, id, 0);
        let sizes: Vec<&str> = said.split(' ').collect();
        // A lost probe of the right size makes it a smaller one.
        let found: usize = sizes.get(11).and_then(|size| size.parse().ok()).unwrap_or_default();
        assert!((1228..=1400).contains(&found) && said.starts_with(&there(1, 1500, found)), "{seed}: {said:?}");
    }
    for seed in 0..4 {
        let faults = Faults { mtu: datagram(1400), loss: 0.2, burst: 0.5, ..Faults::default() };
        let mut world = World::new(seed, 4, faults);
        (1..4).for_each(|n| world.nodes[n].joined.push(group()));
        let object = bytes(80, 300_000);
        let first = world.send(0, &[1, 2, 3], &object, "object", Some(group()));
        world.run_for(4);
        (0..3).for_each(|index| {
            let said = outcome(&world, first, index);
            assert!(said.starts_with("packets of 1500 B do not arrive"), "{seed}: {said:?}");
        });
        let second = world.send(0, &[1, 2, 3], &object, "object", Some(group()));
        world.run_for(30);
        (0..3).for_each(|index| assert_eq!(outcome(&world, second, index), "verified", "{seed}"));
    }
}

#[test]
fn nobody_is_suspected_whose_packets_are_only_lost_or_late() {
    // Random and bursty loss.
    for seed in 0..12 {
        for (loss, burst) in [(0.3, 0.0), (0.1, 0.8), (0.5, 0.0)] {
            let mut world = World::new(seed, 3, Faults { loss, burst, ..Faults::default() });
            (1..3).for_each(|n| world.nodes[n].joined.push(group()));
            let object = bytes(81, 300_000);
            let to: &[usize] = if seed % 3 == 0 { &[1] } else { &[1, 2] };
            world.send(0, to, &object, "object", (seed % 3 == 1).then(group));
            world.run_for(120);
            for &n in to {
                assert!(failures(&world, n).iter().all(|why| !why.contains("do not arrive")), "{seed} {loss}");
                assert!(loss > 0.3 || world.nodes[n].received.len() == 1, "{seed} {loss} {burst}");
            }
        }
    }
    // A link of 100 kbit/s with a queue of seconds.
    let mut world = World::new(82, 2, Faults { rate_mbps: 1, delay: Duration::from_ms(300), ..Faults::default() });
    let object = bytes(82, 200_000);
    let id = world.send(0, &[1], &object, "object", None);
    assert!(world.run_for(60));
    assert_eq!(outcome(&world, id, 0), "verified");
    // One that dies, and one that pauses for three seconds.
    for pauses in [false, true] {
        let mut world = World::new(83, 2, Faults { rate_mbps: 100, ..Faults::default() });
        let object = bytes(83, 10_000_000);
        let id = world.send(0, &[1], &object, "object", None);
        world.run_until(Time::ZERO + Duration::from_ms(200));
        world.nodes[1].dead = true;
        world.run_until(Time::ZERO + Duration::from_ms(3200));
        world.nodes[1].dead = !pauses;
        assert!(world.run_for(60));
        assert_eq!(outcome(&world, id, 0), if pauses { "verified" } else { "no answer" });
    }
    // One that starts late, and one whose user thinks it over.
    let mut world = World::new(84, 3, Faults::default());
    let object = bytes(84, 100_000);
    world.nodes[1].dead = true;
    let late = world.send(0, &[1], &object, "object", None);
    world.nodes[2].manner = Manner::Ponders;
    let ponders = world.send(0, &[2], &object, "object", None);
    world.run_for(5);
    world.nodes[1].dead = false;
    world.run_for(20);
    assert_eq!(
        (outcome(&world, late, 0), outcome(&world, ponders, 0)),
        ("verified".to_owned(), "no answer".to_owned())
    );
}

#[test]
fn a_small_size_is_not_remembered_for_ever() {
    let mut world = World::new(85, 2, Faults { mtu: datagram(1400), ..Faults::default() });
    let object = bytes(85, 300_000);
    world.send(0, &[1], &object, "object", None);
    world.run_for(SOON);
    world.faults.mtu = datagram(1500);
    let largest = Rc::new(Cell::new(0));
    let seen = Rc::clone(&largest);
    world.tap = Some(Box::new(move |from, _, bytes| {
        if from == address(0) {
            seen.set(seen.get().max(bytes.len()));
        }
    }));
    for (minutes, expected) in [(0, 1400), (5, 1400), (11, 1500)] {
        world.now = Time::ZERO + Duration::from_secs(60 * minutes + 10);
        largest.set(0);
        let id = world.send(0, &[1], &object, "object", None);
        world.run_for(5);
        assert_eq!(outcome(&world, id, 0), "verified");
        assert_eq!(largest.get(), datagram(expected), "after {minutes} minutes");
    }
}

#[test]
fn probes_go_only_to_who_asks_and_are_few() {
    // Nothing is sent to who has not answered but offers and the first window.
    let mut world = World::new(86, 2, Faults { mtu: datagram(1400), ..Faults::default() });
    world.nodes[1].manner = Manner::Ponders;
    world.tap = Some(Box::new(|from, _, bytes| {
        assert!(from != address(0) || bytes[0] & 15 != 3, "a message to who has not answered");
    }));
    world.send(0, &[1], &bytes(86, 100_000), "object", None);
    world.run_for(5);
    // A request whose author never shows that the answer has arrived.
    let mut world = World::new(87, 2, Faults { mtu: datagram(1400), ..Faults::default() });
    world.nodes[1].objects.insert("object".to_owned(), bytes(87, 1_000_000));
    world.fetch(0, &[1], "object");
    world.run_until(Time::ZERO + Duration::from_us(50));
    world.nodes[0].dead = true;
    let requested = world.nodes[0].bytes_sent;
    world.run_for(20);
    assert!(world.bytes_to[&address(0)] <= 3 * requested, "{} for {requested}", world.bytes_to[&address(0)]);
    // A member that waits for a dead one asks now and then.
    let config = |_| HostConfig { stragglers: Straggler::on_hosts(StragglerPolicy::Wait), ..HostConfig::new(psk()) };
    let mut world = World::with(88, 3, Faults::default(), config);
    world.send(0, &[1, 2], &bytes(88, 3_000_000), "object", None);
    world.nodes[2].dead = true;
    world.run_for(9);
    let sent = world.bytes_to[&address(1)];
    assert!(sent < 400_000, "{sent}");
}
