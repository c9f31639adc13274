//! Hosts whose applications read a file before they decide: about an offer, whether it is that file; about a request, what its hash is.

use crate::world::rogue::Records;
use crate::world::{self, Faults, Manner, World, address, bytes, group, psk};
use anabranch_host::wire::{Answer, Datagram, Reason, Refusal};
use anabranch_host::{Failure, HostConfig, Outcome, SessionId, Straggler, StragglerPolicy, Unsealer};
use anabranch_transport::{Duration, Time};

/// Longer than a silent host is waited for, and than a session without progress lasts.
const LONG: u64 = 600;

/// Hosts of which these read before they decide.
fn reading(seed: u64, hosts: usize, who: &[usize], faults: Faults) -> World {
    let mut world = World::new(seed, hosts, faults);
    for &n in who {
        world.nodes[n].manner = Manner::Reads;
    }
    world
}

/// Runs, while a host reads more for a session twice a second.
fn work(world: &mut World, n: usize, id: SessionId, seconds: u64) {
    for half in 1..=2 * seconds {
        world.run_until(world.now + Duration::from_ms(500));
        let now = world.now;
        world.nodes[n].host.working(now, id, world.now.ps() + half);
    }
}

/// The session of a host whose peer has shown that it is there.
fn confirmed(world: &World, n: usize) -> SessionId {
    let [id] = world.nodes[n].confirmed[..] else { panic!("one: {:?}", world.nodes[n].confirmed) };
    id
}

fn no_session_is_left(world: &World) {
    for node in &world.nodes {
        assert_eq!(node.host.sessions(), 0, "{:?}", node.host.describe());
    }
}

fn is_answer(bytes: &[u8]) -> bool {
    matches!(Datagram::parse(bytes), Ok(Datagram::Answer(_)))
}

#[test]
fn who_reads_what_it_has_is_waited_for_and_tells_the_end() {
    let refusal = || Refusal::new(Reason::NotWanted, "another file of that name");
    for has in [true, false] {
        let mut world = reading(1, 2, &[1], Faults::default());
        let id = world.send(0, &[1], &bytes(1, 3_000_000), "object", None);
        world.run_for(1);
        let theirs = confirmed(&world, 1);
        work(&mut world, 1, theirs, LONG);
        assert!(world.nodes[0].outcomes.is_empty() && world.nodes[1].failures.is_empty());
        let (now, host) = (world.now, &mut world.nodes[1].host);
        if has {
            host.have(now, theirs);
        } else {
            host.refuse(now, theirs, refusal());
        }
        assert!(world.run_for(60));
        let expected = if has { Outcome::AlreadyThere } else { Outcome::Refused(refusal()) };
        assert_eq!(world.nodes[0].outcomes[&id][&0], expected);
        // The first window leaves before the answer: 32 symbols.
        assert!(world.nodes[0].bytes_sent < 32 * 1500 + 700 * 100, "{}", world.nodes[0].bytes_sent);
        no_session_is_left(&world);
    }
}

#[test]
fn lost_repeated_and_reordered_datagrams_change_nothing_of_that() {
    for seed in 0..40 {
        let faults = Faults { loss: 0.3, duplicate: 0.2, jitter: Duration::from_ms(30), ..Faults::default() };
        let mut world = reading(seed, 2, &[1], faults);
        let id = world.send(0, &[1], &bytes(seed, 50_000), "object", None);
        world.run_for(4);
        let theirs = confirmed(&world, 1);
        work(&mut world, 1, theirs, 20);
        let now = world.now;
        world.nodes[1].host.have(now, theirs);
        assert!(world.run_for(100));
        assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::AlreadyThere, "seed {seed}");
        no_session_is_left(&world);
    }
}

#[test]
fn a_recorded_offer_is_not_worth_any_work() {
    let mut genuine = reading(2, 2, &[1], Faults::default());
    let records = Records::of(&mut genuine);
    genuine.send(0, &[1], &bytes(2, 300_000), "object", None);
    genuine.run_for(5);
    confirmed(&genuine, 1);
    let recorded = records.between(address(0), address(1));
    assert!(recorded.len() > 10);

    // The receiver was restarted. All that its sender said comes again, from its address.
    let mut world = reading(3, 2, &[1], Faults::default());
    world.nodes[0].dead = true;
    for (n, bytes) in (0..).zip(recorded) {
        world.inject_at(Time::ZERO + Duration::from_ms(n * 50), address(0), 1, bytes);
    }
    assert!(world.run_for(2 * LONG));
    assert_eq!(world.nodes[1].confirmed, [], "nothing shows that anybody is there");
    assert_eq!(world.nodes[1].failures.len(), 1, "one session, for one salt");
    assert!(world.nodes[1].bytes_sent < 3 * world.nodes[1].bytes_arrived);
    no_session_is_left(&world);
}

#[test]
fn others_of_a_group_do_not_wait_for_who_reads_and_a_quorum_does_not_count_it() {
    for stragglers in [
        Straggler::on_hosts(StragglerPolicy::Wait),
        Straggler::on_hosts(StragglerPolicy::Detach),
        Straggler { grace: Duration::from_ms(200), ..Straggler::on_hosts(StragglerPolicy::Drop) },
    ] {
        for grouped in [true, false] {
            let config = |_| HostConfig { stragglers, ..HostConfig::new(psk()) };
            let mut world = World::with(4, 4, Faults::default(), config);
            let object = bytes(4, 2_000_000);
            world.nodes[1].manner = Manner::Reads;
            world.nodes[1..].iter_mut().for_each(|node| node.joined.push(group()));
            let id = world.send(0, &[1, 2, 3], &object, "object", grouped.then(group));
            world.run_for(2);
            for n in [2, 3] {
                let node = &world.nodes[n];
                assert!(node.received.len() == 1 && node.received[0].1 == object, "{stragglers:?}, {grouped}: {n}");
                assert_eq!(world.nodes[0].outcomes[&id][&(n - 1)], Outcome::Verified);
            }
            let theirs = confirmed(&world, 1);
            work(&mut world, 1, theirs, LONG);
            let now = world.now;
            world.nodes[1].host.have(now, theirs);
            assert!(world.run_for(60));
            assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::AlreadyThere, "{stragglers:?}, {grouped}");
            no_session_is_left(&world);
        }
    }
}

#[test]
fn who_reads_nothing_more_is_given_up() {
    let mut world = reading(5, 2, &[1], Faults::default());
    let id = world.send(0, &[1], &bytes(5, 100_000), "object", None);
    world.run_for(1);
    let theirs = confirmed(&world, 1);
    work(&mut world, 1, theirs, 60);
    world.run_for(9);
    assert!(world.nodes[0].outcomes.is_empty());
    world.run_for(3);
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Failed(Failure::TimedOut));
    assert!(world.run_for(LONG));
    no_session_is_left(&world);
}

#[test]
fn who_reads_for_a_sender_that_died_learns_it() {
    for answered in [true, false] {
        let mut world = reading(6, 2, &[1], Faults::default());
        world.filter = Some(Box::new(move |from, _, _| answered || from == address(0)));
        world.send(0, &[1], &bytes(6, 100_000), "object", None);
        world.run_for(2);
        assert_eq!(world.nodes[1].confirmed.len(), usize::from(answered));
        world.nodes[0].dead = true;
        world.run_for(9);
        assert!(world.nodes[1].failures.is_empty());
        world.run_for(3);
        assert_eq!(world.nodes[1].failures[0].1, Failure::TimedOut);
        assert!(world.run_for(60));
        assert_eq!(world.nodes[1].host.sessions(), 0);
    }
}

#[test]
fn what_must_be_read_before_it_is_served_is_waited_for() {
    for seed in 0..20 {
        let faults = Faults { loss: 0.2, duplicate: 0.1, jitter: Duration::from_ms(10), ..Faults::default() };
        let mut world = reading(seed, 2, &[0], if seed == 0 { Faults::default() } else { faults });
        let object = bytes(seed, 400_000);
        world.fetch(1, &[0], "object");
        world.run_for(4);
        let id = confirmed(&world, 0);
        work(&mut world, 0, id, if seed == 0 { LONG } else { 30 });
        assert!(world.nodes[1].failures.is_empty(), "seed {seed}: {:?}", world.nodes[1].failures);
        let (now, manifest) = (world.now, world::manifest("object", &object));
        world.nodes[0].host.serve(now, id, Box::new(object.clone()), manifest).expect("not too large");
        assert!(world.run_for(60));
        assert!(world.nodes[1].received.len() == 1 && world.nodes[1].received[0].1 == object, "seed {seed}");
        no_session_is_left(&world);
    }
}

#[test]
fn what_is_refused_after_it_was_read_is_told() {
    let mut world = reading(7, 2, &[0], Faults::default());
    world.fetch(1, &[0], "object");
    world.run_for(2);
    let id = confirmed(&world, 0);
    work(&mut world, 0, id, 20);
    let now = world.now;
    world.nodes[0].host.refuse(now, id, Refusal::new(Reason::Busy, "it is being written"));
    assert!(world.run_for(60));
    assert!(matches!(&world.nodes[1].failures[0].1, Failure::Refused(why) if why.contains("it is being written")));
    no_session_is_left(&world);
}

#[test]
fn a_server_that_reads_does_not_keep_the_others_from_sending() {
    let mut world = reading(8, 3, &[0], Faults::default());
    let object = bytes(8, 2_000_000);
    world.nodes[1].objects.insert("object".to_owned(), object.clone());
    world.fetch(2, &[0, 1], "object");
    world.run_for(3);
    assert!(world.nodes[2].received.len() == 1 && world.nodes[2].received[0].1 == object);
    // Its session ends, since nobody asks any more.
    assert!(world.run_for(LONG));
    no_session_is_left(&world);
}

#[test]
fn a_server_that_must_read_first_is_not_taken_for_one_of_another_object() {
    let faults = Faults { rate_mbps: 20, ..Faults::default() };
    let mut world = reading(14, 3, &[0], faults);
    let object = bytes(14, 2_000_000);
    world.nodes[1].objects.insert("object".to_owned(), object.clone());
    world.fetch(2, &[0, 1], "object");
    world.run_until(world.now + Duration::from_ms(100));
    let (id, now, manifest) = (confirmed(&world, 0), world.now, world::manifest("object", &object));
    world.nodes[0].host.serve(now, id, Box::new(object.clone()), manifest).expect("not too large");
    assert!(world.run_for(60));
    assert!(world.nodes[2].failures.is_empty() && world.nodes[2].excluded.is_empty());
    assert!(world.nodes[2].received.len() == 1 && world.nodes[2].received[0].1 == object);
    assert!(world.nodes[0].bytes_sent > 300_000, "it sends its share: {}", world.nodes[0].bytes_sent);
}

#[test]
fn a_recorded_request_is_not_worth_any_work() {
    let mut genuine = reading(9, 2, &[0], Faults::default());
    let records = Records::of(&mut genuine);
    genuine.fetch(1, &[0], "object");
    genuine.run_for(5);
    confirmed(&genuine, 0);
    let recorded = records.between(address(1), address(0));
    assert!(recorded.len() > 5);

    // The server was restarted.
    let mut world = reading(10, 2, &[0], Faults::default());
    world.nodes[1].dead = true;
    for (n, bytes) in (0..).zip(recorded) {
        world.inject_at(Time::ZERO + Duration::from_ms(n * 50), address(1), 0, bytes);
    }
    assert!(world.run_for(2 * LONG));
    assert_eq!(world.nodes[0].confirmed, [], "the cookie is of another time");
    assert!(world.nodes[0].bytes_sent < world.nodes[0].bytes_arrived, "nor is it much that is sent");
    no_session_is_left(&world);
}

#[test]
fn a_copy_of_a_request_that_has_shown_its_address_is_not_read_for_again() {
    let mut world = reading(11, 2, &[0], Faults::default());
    let records = Records::of(&mut world);
    world.fetch(1, &[0], "object");
    world.run_for(2);
    let id = confirmed(&world, 0);
    let now = world.now;
    world.nodes[0].host.refuse(now, id, Refusal::new(Reason::NotFound, "no such object"));
    assert!(world.run_for(30));
    for bytes in records.between(address(1), address(0)) {
        world.inject(address(1), 0, bytes);
    }
    assert!(world.run_for(30));
    assert_eq!(world.nodes[0].confirmed.len(), 1);
}

#[test]
fn a_server_that_reads_nothing_more_is_given_up_although_somebody_repeats_what_it_said() {
    let mut world = reading(12, 2, &[0], Faults::default());
    let records = Records::of(&mut world);
    world.fetch(1, &[0], "object");
    world.run_for(2);
    confirmed(&world, 0);
    let said: Vec<_> = records.between(address(0), address(1)).into_iter().filter(|bytes| is_answer(bytes)).collect();
    assert!(!said.is_empty());
    world.nodes[0].dead = true;
    for second in 0..20 {
        for bytes in &said {
            world.inject_at(world.now + Duration::from_secs(second), address(0), 1, bytes.clone());
        }
    }
    world.run_for(12);
    assert_eq!(world.nodes[1].failures.iter().map(|(_, why)| why).collect::<Vec<_>>(), [&Failure::TimedOut]);
}

#[test]
fn a_host_that_asks_to_wait_says_how_much_it_has_read() {
    let mut world = reading(13, 2, &[0], Faults::default());
    let records = Records::of(&mut world);
    world.fetch(1, &[0], "object");
    world.run_for(2);
    let id = confirmed(&world, 0);
    let now = world.now;
    world.nodes[0].host.working(now, id, 4711);
    world.run_for(2);
    let sent = records.take();
    let salt = sent.iter().find_map(|(_, _, bytes)| match Datagram::parse(bytes) {
        Ok(Datagram::Open(packet)) => Some(packet.salt()),
        _ => None,
    });
    let salt = salt.expect("a request");
    let read = sent.into_iter().filter_map(|(_, _, mut bytes)| {
        let Ok(Datagram::Answer(packet)) = Datagram::parse(&bytes) else { return None };
        let keys = psk().responder(salt, packet.salt(), 0);
        Some(Unsealer::new(keys).answer(&mut bytes).expect("an answer"))
    });
    let read: Vec<Answer> = read.collect();
    assert_eq!(read.first(), Some(&Answer::Wait { read: 0 }));
    assert_eq!(read.last(), Some(&Answer::Wait { read: 4711 }));
}
