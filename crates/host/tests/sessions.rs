//! Sessions between hosts on a network without faults, or with one fault at a time.

use crate::world::{self, Faults, Manner, World, address, bytes, group};
use anabranch_host::{Failure, HostConfig, Outcome, Protection};
use anabranch_transport::{Duration, Time};

fn seconds(time: Time) -> f64 {
    time.ps() as f64 / 1e12
}

#[test]
fn an_object_goes_to_one_receiver() {
    for size in [0, 1, 1000, 1420, 1421, 142_000, 3_000_000] {
        let mut world = World::new(1, 2, Faults::default());
        let object = bytes(size as u64, size);
        let id = world.send(0, &[1], &object, "object", None);
        assert!(world.run_for(30), "{size} bytes: it ends");
        assert_eq!(world.nodes[1].received.len(), 1, "{size} bytes");
        let (manifest, received, right) = &world.nodes[1].received[0];
        assert!(*right && *received == object && manifest.name.as_str() == "object");
        assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Verified);
        for node in &world.nodes {
            assert_eq!((node.host.sessions(), node.closed.len()), (0, 1));
        }
    }
}

#[test]
fn marks_keep_the_queue_of_one_receiver_short_and_are_not_put_on_what_goes_to_groups() {
    let mean_wait = |receivers: usize, mark: usize| {
        let faults =
            Faults { rate_mbps: 200, queue: 1_000_000, mark, delay: Duration::from_ms(2), ..Faults::default() };
        let mut world = World::new(2, receivers + 1, faults);
        (1..=receivers).for_each(|n| world.nodes[n].joined.push(group()));
        let object = bytes(2, 20_000_000);
        let to: Vec<usize> = (1..=receivers).collect();
        world.send(0, &to, &object, "object", (receivers > 1).then(group));
        assert!(world.run_for(30));
        assert!(world.nodes[1].received[0].1 == object);
        // 20 MB at 200 Mbit/s take 0.8 s.
        assert!(seconds(world.now) < 6.0, "{receivers} receivers, marks beyond {mark} B: {}", seconds(world.now));
        let (waited, datagrams) = world.nodes[0].waited;
        waited.ps() as f64 / 1e9 / f64::from(datagrams)
    };
    let (drops, marks) = (mean_wait(1, usize::MAX), mean_wait(1, 30_000));
    assert!(marks < 0.6 * drops, "{drops} ms without marks, {marks} ms with");
    assert_eq!(mean_wait(2, usize::MAX).to_bits(), mean_wait(2, 0).to_bits());
}

#[test]
fn an_object_goes_to_many_by_a_group_for_the_price_of_one() {
    let mut world = World::new(2, 5, Faults::default());
    (1..5).for_each(|n| world.nodes[n].joined.push(group()));
    let object = bytes(2, 5_000_000);
    let id = world.send(0, &[1, 2, 3, 4], &object, "object", Some(group()));
    assert!(world.run_for(30));
    for n in 1..5 {
        assert!(world.nodes[n].received[0].1 == object);
        assert_eq!(world.nodes[0].outcomes[&id][&(n - 1)], Outcome::Verified);
    }
    let ratio = world.nodes[0].bytes_sent as f64 / object.len() as f64;
    // A little is lost while the window is found.
    assert!(ratio < 1.08, "{ratio}");
}

#[test]
fn without_a_group_each_gets_a_copy() {
    let mut world = World::new(3, 4, Faults::default());
    let object = bytes(3, 2_000_000);
    world.send(0, &[1, 2, 3], &object, "object", None);
    assert!(world.run_for(30));
    (1..4).for_each(|n| assert!(world.nodes[n].received[0].1 == object));
    let ratio = world.nodes[0].bytes_sent as f64 / object.len() as f64;
    // Something is lost while the windows are found: less than the object in all.
    assert!((3.0..4.2).contains(&ratio), "{ratio}");
}

#[test]
fn who_comes_late_to_a_group_is_not_sent_copies() {
    // Who is 100 ms behind gets symbols of its own, whatever the reason.
    for late in [Duration::from_ms(5), Duration::from_ms(60)] {
        let mut world = World::new(6, 4, Faults::default());
        (1..4).for_each(|n| world.nodes[n].joined.push(group()));
        let object = bytes(6, 5_000_000);
        world.send(0, &[1, 2, 3], &object, "object", Some(group()));
        world.nodes[3].dead = true;
        world.run_until(world.now + late);
        world.nodes[3].dead = false;
        assert!(world.run_for(30));
        (1..4).for_each(|n| assert!(world.nodes[n].received[0].1 == object));
        let ratio = world.nodes[0].bytes_sent as f64 / object.len() as f64;
        assert!(ratio < 1.1, "{late} late: {ratio}");
    }
}

#[test]
fn receivers_that_the_group_does_not_reach_are_sent_copies() {
    let mut world = World::new(4, 4, Faults::default());
    world.nodes[1].joined.push(group());
    let object = bytes(4, 2_000_000);
    world.send(0, &[1, 2, 3], &object, "object", Some(group()));
    assert!(world.run_for(30));
    (1..4).for_each(|n| assert!(world.nodes[n].received[0].1 == object, "receiver {n}"));
}

#[test]
fn an_object_comes_from_all_that_have_it() {
    let mut world = World::new(5, 4, Faults::default());
    let object = bytes(5, 3_000_000);
    (1..4).for_each(|n| _ = world.nodes[n].objects.insert("object".to_owned(), object.clone()));
    world.fetch(0, &[1, 2, 3], "object");
    assert!(world.run_for(30));
    assert!(world.nodes[0].received[0].1 == object);
    for n in 1..4 {
        let share = world.nodes[n].bytes_sent as f64 / object.len() as f64;
        assert!((0.1..0.7).contains(&share), "server {n} sent {share} of it");
        assert_eq!(world.nodes[n].outcomes.values().next().expect("told")[&0], Outcome::Verified);
    }
}

#[test]
fn a_server_that_does_not_answer_is_done_without() {
    let mut world = World::new(6, 4, Faults::default());
    let object = bytes(6, 2_000_000);
    (1..3).for_each(|n| _ = world.nodes[n].objects.insert("object".to_owned(), object.clone()));
    world.nodes[3].dead = true;
    world.fetch(0, &[1, 2, 3], "object");
    world.run_for(20);
    assert!(world.nodes[0].received[0].1 == object);
}

#[test]
fn what_nobody_has_is_named() {
    let mut world = World::new(7, 3, Faults::default());
    world.fetch(0, &[1, 2], "object");
    assert!(world.run_for(30));
    let Failure::Refused(why) = &world.nodes[0].failures[0].1 else { panic!("{:?}", world.nodes[0].failures) };
    assert!(why.contains("10.0.0.2:7000: no such object; 10.0.0.3:7000"), "{why}");
}

#[test]
fn servers_with_different_objects_are_an_error() {
    let mut world = World::new(8, 3, Faults::default());
    for n in 1..3 {
        world.nodes[n].objects.insert("object".to_owned(), bytes(n as u64, 100_000));
    }
    world.fetch(0, &[1, 2], "object");
    world.run_for(30);
    assert_eq!(world.nodes[0].failures.len(), 1);
    assert_eq!(world.nodes[0].failures[0].1, Failure::ReplicasDiffer);
    assert!(world.nodes[0].received.is_empty());
}

#[test]
fn who_refuses_or_has_it_does_not_hold_up_the_others() {
    let mut world = World::new(9, 5, Faults::default());
    world.nodes[1].manner = Manner::Refuses;
    world.nodes[2].manner = Manner::Has;
    let object = bytes(9, 500_000);
    let id = world.send(0, &[1, 2, 3, 4], &object, "object", None);
    assert!(world.run_for(30));
    let outcomes = &world.nodes[0].outcomes[&id];
    assert!(matches!(&outcomes[&0], Outcome::Refused(refusal) if refusal.text() == "not wanted here"));
    assert_eq!(outcomes[&1], Outcome::AlreadyThere);
    assert_eq!((&outcomes[&2], &outcomes[&3]), (&Outcome::Verified, &Outcome::Verified));
    assert!(seconds(world.now) < 5.0, "nobody was waited for");
}

#[test]
fn a_dead_receiver_is_told_and_the_others_have_it() {
    let mut world = World::new(10, 4, Faults::default());
    world.nodes[2].dead = true;
    let object = bytes(10, 1_000_000);
    let id = world.send(0, &[1, 2, 3], &object, "object", None);
    assert!(world.run_for(60));
    let outcomes = &world.nodes[0].outcomes[&id];
    assert_eq!((&outcomes[&0], &outcomes[&2]), (&Outcome::Verified, &Outcome::Verified));
    assert!(matches!(outcomes[&1], Outcome::Failed(_)), "{:?}", outcomes[&1]);
    assert!(seconds(world.now) < 15.0, "given up after 10 s");
}

#[test]
fn a_receiver_that_dies_midway_does_not_hold_up_the_others_for_ever() {
    let mut world = World::new(11, 3, Faults::default());
    let object = bytes(11, 5_000_000);
    let id = world.send(0, &[1, 2], &object, "object", None);
    world.run_until(Time::ZERO + Duration::from_ms(20));
    assert!(world.nodes[1].received.is_empty());
    world.nodes[2].dead = true;
    world.run_for(60);
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Verified);
    assert!(matches!(world.nodes[0].outcomes[&id][&1], Outcome::Failed(_)));
}

#[test]
fn a_sender_that_dies_is_given_up() {
    let mut world = World::new(12, 2, Faults::default());
    world.send(0, &[1], &bytes(12, 5_000_000), "object", None);
    world.run_until(Time::ZERO + Duration::from_ms(20));
    world.nodes[0].dead = true;
    assert!(world.run_for(60));
    assert_eq!(world.nodes[1].failures.len(), 1);
    assert_eq!(world.nodes[1].failures[0].1, Failure::TimedOut);
    assert_eq!(world.nodes[1].host.sessions(), 0);
}

#[test]
fn a_file_that_changed_while_it_was_sent_is_not_taken() {
    let mut world = World::new(13, 2, Faults::default());
    let (object, mut manifest) = (bytes(13, 100_000), world::manifest("object", &bytes(13, 100_000)));
    manifest.hash[0] ^= 1;
    let id = world.nodes[0].host.send(world.now, Box::new(object), manifest, &[address(1)], None).expect("a session");
    assert!(world.run_for(30));
    assert!(world.nodes[1].received.is_empty());
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Failed(Failure::Hash));
}

#[test]
fn ends_with_different_keys_do_not_speak() {
    let mut world = World::with(14, 2, Faults::default(), |n| {
        HostConfig::new(if n == 0 { world::psk() } else { Protection::None })
    });
    let id = world.send(0, &[1], &bytes(14, 100_000), "object", None);
    assert!(world.run_for(60));
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Failed(Failure::TimedOut));
    assert!(world.nodes[1].received.is_empty() && world.nodes[1].host.refused_datagrams() > 0);
}

#[test]
fn without_keys_it_works_the_same_way() {
    let mut world = World::with(15, 2, Faults::default(), |_| HostConfig::new(Protection::None));
    for size in [0, 1, 1_000_000] {
        let object = bytes(15, size);
        world.send(0, &[1], &object, "object", None);
        assert!(world.run_for(30));
        assert!(world.nodes[1].received.pop().expect("received").1 == object);
    }
}

#[test]
fn a_cancelled_session_ends_at_both_ends() {
    let mut world = World::new(16, 2, Faults::default());
    let id = world.send(0, &[1], &bytes(16, 5_000_000), "object", None);
    world.run_until(Time::ZERO + Duration::from_ms(10));
    world.nodes[0].host.cancel(world.now, id);
    // Asked twice before anything could leave, it tells the other end nevertheless.
    world.nodes[0].host.cancel(world.now, id);
    assert!(world.run_for(10));
    assert_eq!(world.nodes[1].failures[0].1, Failure::Cancelled);
    assert!(seconds(world.now) < 3.0);
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Failed(Failure::Stopped));
}

#[test]
fn a_fetch_that_is_cancelled_before_it_is_answered_stays_cancelled() {
    let mut world = World::new(19, 2, Faults { delay: Duration::from_ms(2), ..Faults::default() });
    world.nodes[1].objects.insert("object".to_owned(), bytes(19, 5_000_000));
    let id = world.fetch(0, &[1], "object");
    world.run_until(Time::ZERO + Duration::from_ms(1));
    world.nodes[0].host.cancel(world.now, id);
    assert!(world.run_for(30));
    assert!(world.nodes[0].received.is_empty() && world.nodes[0].failures.is_empty());
    let outcome = &world.nodes[1].outcomes.values().next().expect("the request had left")[&0];
    assert_eq!(*outcome, Outcome::Failed(Failure::Cancelled), "and not after it has waited for long");
    assert!(seconds(world.now) < 5.0, "{}", world.now);
}

#[test]
fn a_rate_is_kept() {
    let mut world = World::with(17, 2, Faults::default(), |_| HostConfig {
        rate: Some(anabranch_transport::Rate::from_mbps(80)),
        ..HostConfig::new(world::psk())
    });
    let object = bytes(17, 2_000_000);
    world.send(0, &[1], &object, "object", None);
    let mut done = Time::ZERO;
    while world.nodes[1].received.is_empty() {
        done = world.now;
        world.run_until(done + Duration::from_ms(1));
    }
    let ideal = 2_000_000.0 * (1472.0 / 1420.0) * 8.0 / 80e6;
    assert!((0.99..1.05).contains(&(seconds(done) / ideal)), "{} of {ideal} s", seconds(done));
}

#[test]
fn a_rate_is_that_of_all_objects_together_and_each_gets_on() {
    for (mbps, objects, size) in [(10, 16, 100_000), (80, 5, 1_000_000), (1, 16, 20_000)] {
        let config =
            HostConfig { rate: Some(anabranch_transport::Rate::from_mbps(mbps)), ..HostConfig::new(Protection::None) };
        let mut world = World::with(7, 2, Faults::default(), |_| config.clone());
        let contents: Vec<Vec<u8>> = (0..objects).map(|n| bytes(n, size)).collect();
        for (n, content) in contents.iter().enumerate() {
            world.send(0, &[1], content, &format!("object{n}"), None);
        }
        let expected = objects as f64 * size as f64 * 8.0 / (mbps as f64 * 1e6);
        let mut halfway = 0;
        while world.nodes[1].received.len() < objects as usize {
            world.run_until(world.now + Duration::from_ms(1));
            assert!(seconds(world.now) < 2.0 * expected + 1.0, "{mbps} Mbit/s: it does not end");
            if seconds(world.now) < expected / 2.0 {
                halfway = world.nodes[1].received.len();
            }
        }
        let took = seconds(world.now);
        assert!((0.98..1.2).contains(&(took / expected)), "{mbps} Mbit/s: {took} s, expected {expected}");
        assert!(halfway == 0, "{mbps} Mbit/s: they take turns: {halfway}");
    }
}

#[test]
fn a_rate_is_shared_with_those_who_have_left_the_group() {
    let mut world = World::with(20, 6, Faults::default(), |_| HostConfig {
        rate: Some(anabranch_transport::Rate::from_mbps(80)),
        ..HostConfig::new(world::psk())
    });
    (1..6).for_each(|n| world.nodes[n].joined.push(group()));
    // Two links carry 10 Mbit/s.
    let mut free = [Time::ZERO; 6];
    world.slow = Some(Box::new(move |now, to| {
        if to < 4 {
            return Duration::ZERO;
        }
        free[to] = free[to].max(now) + Duration::from_us(1200);
        free[to] - now
    }));
    let object = bytes(20, 10_000_000);
    let id = world.send(0, &[1, 2, 3, 4, 5], &object, "object", Some(group()));
    while world.nodes[1].received.is_empty() {
        world.run_until(world.now + Duration::from_ms(10));
    }
    for slow in [4, 5] {
        let got = world.bytes_to[&address(slow)];
        assert!(got > 500_000, "{got} B, while the others got 10 MB");
    }
    assert!(world.run_for(60));
    let outcomes = &world.nodes[0].outcomes[&id];
    assert!(outcomes.values().all(|outcome| *outcome == Outcome::Verified), "{outcomes:?}");
}

#[test]
fn small_objects_take_a_round_trip_and_no_timer() {
    let mut world = World::new(18, 3, Faults::default());
    for round in 0..20 {
        let began = world.now;
        let id = world.send(0, &[1, 2], &bytes(round, 10_000), "object", None);
        while world.nodes[0].outcomes.get(&id).is_none_or(|outcomes| outcomes.len() < 2) {
            world.run_until(world.now + Duration::from_us(50));
        }
        let took = world.now - began;
        assert!(took < Duration::from_us(1000), "{took}: two ways of 100 us, and 20 kB at 1 Gbit/s");
    }
    assert!(world.run_for(1), "both ends know that it is over");
    assert!(seconds(world.now) < 0.1, "and nothing is repeated: {}", world.now);
}

#[test]
fn offers_after_the_first_have_no_padding_unless_they_are_repeated() {
    for (restarted, most) in [(false, 1400), (true, 5000)] {
        let mut world = World::new(30, 2, Faults::default());
        let object = bytes(30, 1000);
        let mut sent = [0; 3];
        for (n, sent) in sent.iter_mut().enumerate() {
            let before = world.nodes[0].bytes_sent;
            world.send(0, &[1], &object, &format!("object {n}"), None);
            assert!(world.run_until(world.now + Duration::from_secs(20)));
            *sent = world.nodes[0].bytes_sent - before;
            assert_eq!(world.nodes[1].received.len(), if restarted { 1 } else { n + 1 });
            if restarted {
                let received = std::mem::take(&mut world.nodes[1].received);
                world.nodes[1].host = World::new(31 + n as u64, 2, Faults::default()).nodes.remove(1).host;
                assert_eq!(received.len(), 1);
            }
        }
        assert!(sent[0] > 2200 && sent[1] < most && sent[2] < most, "{restarted}: {sent:?}");
    }
}
