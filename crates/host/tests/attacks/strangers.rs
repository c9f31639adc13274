//! Attacks of somebody without the key, who sees, sends, repeats and changes any datagram.

use allocation_counter::measure;
use anabranch_host::wire::{Answer, Cookie, Datagram, HANDSHAKE_HEADER, Kind, PREVIOUS, Reason, RetryRepr};
use anabranch_host::{Failure, Host, HostConfig, Outcome, Protection};
use anabranch_transport::{Duration, Time};
use rand::{Rng, RngExt};

use super::{random, received, sent, stranger};
use crate::world::rogue::{Opener, Records, manifest_of, parameters};
use crate::world::{Faults, World, address, bytes, psk};

#[test]
fn datagrams_of_strangers_make_no_state_and_no_answer() {
    let mut genuine = World::new(1, 2, Faults::default());
    let records = Records::of(&mut genuine);
    genuine.send(0, &[1], &bytes(1, 200_000), "object", None);
    assert!(genuine.run_for(30));
    let models: Vec<Vec<u8>> = records.take().into_iter().map(|(_, _, bytes)| bytes).collect();

    let mut random = random(1);
    let mut host = Host::new(HostConfig::new(psk()), [1; 32]);
    let (mut datagram, mut kept) = (Vec::with_capacity(2000), Vec::new());
    let counted = measure(|| {
        for n in 0..100_000_u32 {
            datagram.clear();
            datagram.extend_from_slice(&models[random.random_range(0..models.len())]);
            match n % 3 {
                0 => random.fill_bytes(&mut datagram[8..]),
                1 => {
                    // Any change at all: one bit of a datagram, all of which is covered until a session is open.
                    let bit = random.random_range(0..datagram.len() * 8);
                    datagram[bit / 8] ^= 1 << (bit % 8);
                }
                _ => datagram.truncate(random.random_range(0..datagram.len())),
            }
            host.handle_datagram(Time::ZERO, received(stranger(n % 60_000)), &mut datagram);
        }
        assert_eq!(sent(&mut host, Time::ZERO, &mut kept), 0);
    });
    assert_eq!((host.sessions(), host.refused_datagrams()), (0, 100_000));
    assert!(host.poll_event().is_none() && host.poll_timeout().is_none());
    assert_eq!(counted.bytes_current, 0, "nothing is kept");
}

#[test]
fn a_recorded_object_is_not_taken_again_by_a_receiver_that_was_restarted() {
    let mut genuine = World::new(2, 2, Faults::default());
    let records = Records::of(&mut genuine);
    genuine.send(0, &[1], &bytes(2, 300_000), "object", None);
    assert!(genuine.run_for(30));
    assert_eq!(genuine.nodes[1].received.len(), 1);
    let recorded = records.between(address(0), address(1));

    let mut world = World::new(3, 2, Faults::default());
    world.nodes[0].dead = true;
    for (n, bytes) in (0..).zip(recorded) {
        world.inject_at(Time::ZERO + Duration::from_us(n * 100), address(0), 1, bytes);
    }
    assert!(world.run_for(60));
    let node = &world.nodes[1];
    assert!(node.host.stats(*node.closed.first().expect("it has begun")).is_none());
    assert!(node.received.is_empty(), "it would be an old version of a file");
    assert_eq!(node.failures.iter().map(|(_, failure)| failure).collect::<Vec<_>>(), [&Failure::TimedOut]);
    assert_eq!(node.host.sessions(), 0);
}

#[test]
fn a_recorded_request_does_not_make_a_restarted_server_flood_its_victim() {
    let mut genuine = World::new(4, 2, Faults::default());
    let records = Records::of(&mut genuine);
    let object = bytes(4, 2_000_000);
    genuine.nodes[0].objects.insert("object".to_owned(), object.clone());
    genuine.fetch(1, &[0], "object");
    assert!(genuine.run_for(30));
    let recorded = records.between(address(1), address(0));

    let mut world = World::new(5, 2, Faults::default());
    world.nodes[0].objects.insert("object".to_owned(), object);
    world.nodes[1].dead = true;
    let mut arrived = 0;
    for (n, bytes) in (0..).zip(recorded) {
        arrived += if matches!(Datagram::parse(&bytes), Ok(Datagram::Open(_))) { bytes.len() } else { 0 };
        world.inject_at(Time::ZERO + Duration::from_ms(n), address(1), 0, bytes);
    }
    assert!(world.run_for(60));
    assert!(world.bytes_to[&address(1)] <= 3 * arrived, "{} for {arrived}", world.bytes_to[&address(1)]);
    assert_eq!(world.nodes[0].host.sessions(), 0);
}

#[test]
fn copies_pieces_and_changes_of_all_datagrams_do_no_harm() {
    for seed in 0..20 {
        let mut world = World::new(seed, 4, Faults::default());
        let records = Records::of(&mut world);
        let object = bytes(seed, 400_000);
        let id = world.send(0, &[1, 2], &object, "object", None);
        world.nodes[1].objects.insert("other".to_owned(), object.clone());
        world.fetch(3, &[1], "other");
        let mut random = random(seed);
        for step in 1..400 {
            world.run_until(Time::ZERO + Duration::from_us(step * 100));
            for (from, to, bytes) in records.take() {
                let to = (0..4).find(|&n| address(n) == to).expect("a host");
                let mut copy = bytes.clone();
                match random.random_range(0..4) {
                    0 => copy.truncate(random.random_range(0..copy.len())),
                    1 => copy[random.random_range(0..bytes.len())] ^= 1 << random.random_range(0..8),
                    _ => {}
                }
                let from = if random.random_bool(0.8) { from } else { stranger(7) };
                let to = if random.random_bool(0.8) { to } else { random.random_range(0..4) };
                world.inject_at(world.now + Duration::from_us(random.random_range(0..3000)), from, to, copy);
            }
        }
        world.tap = None;
        assert!(world.run_for(60));
        for n in [1, 2, 3] {
            let genuine: Vec<_> =
                world.nodes[n].received.iter().filter(|(_, bytes, right)| *right && *bytes == object).collect();
            assert_eq!((genuine.len(), world.nodes[n].received.len()), (1, 1), "seed {seed}: host {n} has it once");
        }
        assert!(world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified));
        assert!(world.nodes.iter().all(|node| node.host.sessions() == 0));
    }
}

#[test]
fn a_host_is_not_offered_what_it_sends_itself() {
    let mut world = World::new(6, 2, Faults::default());
    let records = Records::of(&mut world);
    world.send(0, &[1], &bytes(6, 50_000), "object", None);
    world.run_until(Time::ZERO + Duration::from_us(1));
    let offers = records.between(address(0), address(1));
    assert!(matches!(Datagram::parse(&offers[0]), Ok(Datagram::Open(_))));
    for offer in offers {
        world.inject(stranger(1), 0, offer);
    }
    world.run_until(Time::ZERO + Duration::from_us(500));
    assert_eq!(world.nodes[0].host.sessions(), 1, "that which it has begun");
    assert!(world.run_for(30));
    assert!(world.nodes[0].received.is_empty() && world.nodes[0].closed.len() == 1);
    assert_eq!(world.nodes[1].received.len(), 1);
}

#[test]
fn offers_that_were_recorded_do_not_keep_others_out() {
    let mut offers = Vec::new();
    for n in 0..600 {
        offers.push(Opener::new(&psk(), n).offer(manifest_of(1 << 20), parameters()));
    }
    let mut world = World::new(7, 2, Faults::default());
    for (n, offer) in (0..).zip(offers) {
        world.inject_at(Time::ZERO + Duration::from_us(u64::from(n) * 500), stranger(n), 1, offer);
    }
    for n in 0..10 {
        world.run_until(Time::ZERO + Duration::from_ms(20 * n));
        world.send(0, &[1], &bytes(n, 100_000), &format!("object {n}"), None);
    }
    assert!(world.run_for(60));
    assert_eq!(world.nodes[1].received.iter().filter(|(_, _, right)| *right).count(), 10);
    assert_eq!(world.nodes[1].host.sessions(), 0);
}

#[test]
fn forged_retries_neither_stop_a_request_nor_multiply_it() {
    let config = |n| HostConfig { max_unvalidated: if n == 1 { 0 } else { 32 }, ..HostConfig::new(psk()) };
    let mut world = World::with(8, 2, Faults { delay: Duration::from_ms(2), ..Faults::default() }, config);
    let records = Records::of(&mut world);
    let object = bytes(8, 100_000);
    world.nodes[1].objects.insert("object".to_owned(), object.clone());
    world.fetch(0, &[1], "object");
    world.run_until(Time::ZERO + Duration::from_us(1));
    let first = records.between(address(0), address(1)).pop().expect("a request");
    let Ok(Datagram::Open(packet)) = Datagram::parse(&first) else { panic!("a request") };
    for n in 0..1000_u32 {
        let mut forged = Vec::new();
        let cookie = Cookie::new(&n.to_be_bytes()).expect("a cookie");
        RetryRepr { session: packet.prefix().session, salt: packet.salt(), cookie }.emit(&mut forged);
        world.inject(address(1), 0, forged);
    }
    world.run_until(Time::ZERO + Duration::from_ms(1));
    assert!(world.nodes[0].bytes_sent <= 2 * 1200, "{}", world.nodes[0].bytes_sent);
    assert!(world.run_for(30));
    assert!(world.nodes[0].received[0].1 == object, "the genuine one counts when it comes");
}

#[test]
fn a_host_of_the_version_before_is_refused_in_words_that_both_ends_read() {
    let refused = |n: u32, version: u8| {
        let mut world = World::with(9, 2, Faults::default(), |_| HostConfig::new(Protection::None));
        let records = Records::of(&mut world);
        let mut opener = Opener::of_version(&Protection::None, n, version);
        let offer = opener.offer(manifest_of(1000), parameters());
        for at in [0, 20] {
            world.inject_at(Time::ZERO + Duration::from_ms(at), stranger(n), 1, offer.clone());
        }
        world.run_until(Time::ZERO + Duration::from_ms(100));
        let declined = world.nodes[1].declined.iter().map(|(_, refusal)| refusal.text().to_owned()).collect::<Vec<_>>();
        (declined, records.between(address(1), stranger(n)), world.nodes[1].host.sessions())
    };
    let (declined, answers, sessions) = refused(1, PREVIOUS);
    let why = "one host has version 1 of the wire format, the other 2: update the older one";
    assert_eq!(
        (&declined[..], sessions, answers.len()),
        (&[why.to_owned()][..], 0, 2),
        "told once, answered each time"
    );
    for answer in answers {
        assert_eq!(answer[0], PREVIOUS << 4 | Kind::Answer as u8, "in its own version");
        let Ok(Answer::Refuse(refusal)) = Answer::parse(&answer[HANDSHAKE_HEADER..]) else { panic!("a refusal") };
        assert_eq!((refusal.reason, refusal.text()), (Reason::Unsupported, why));
    }
    let (declined, answers, _) = refused(2, 3);
    assert!(declined.is_empty() && answers.is_empty(), "of a later version nothing is known");
}
