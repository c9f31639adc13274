//! Applications that do not do their part: they take nothing, decide nothing, or ask for what makes no sense.

use allocation_counter::measure;
use anabranch_host::wire::{Control, Datagram};
use anabranch_host::{Failure, Host, HostConfig, HostEvent, Outcome};
use anabranch_transport::{Duration, Time};

use super::{at, received, sent, stranger};
use crate::world::rogue::{Opener, Records, manifest_of, parameters};
use crate::world::{self, Faults, Manner, World, address, bytes, psk};

#[test]
fn an_application_that_asks_for_no_events_is_not_buried_in_them() {
    let mut host = Host::new(HostConfig::new(psk()), [3; 32]);
    let mut kept = Vec::new();
    let counted = measure(|| {
        for n in 0..50_000 {
            let mut opener = Opener::new(&psk(), n);
            host.handle_datagram(Time::ZERO, received(stranger(n)), &mut opener.offer(manifest_of(1), parameters()));
            host.handle_datagram(Time::ZERO, received(stranger(n)), &mut opener.control(Control::Cancel));
            sent(&mut host, Time::ZERO, &mut kept);
            kept.clear();
        }
    });
    assert!(counted.bytes_max < 3_000_000, "{} bytes", counted.bytes_max);
    assert!((1000..3000).contains(&std::iter::from_fn(|| host.poll_event()).count()));
    host.handle_datagram(
        Time::ZERO,
        received(stranger(0)),
        &mut Opener::new(&psk(), 60_000).offer(manifest_of(1), parameters()),
    );
    assert_eq!(host.sessions(), 1, "it goes on when they are taken");
}

#[test]
fn an_application_that_takes_no_blocks_is_not_buried_in_them() {
    let object = bytes(15, 20_000_000);
    let config = |limit| HostConfig { max_session_bytes: limit, ..HostConfig::new(psk()) };
    let mut world = World::with(15, 2, Faults::default(), |_| config(1_000_000));
    let records = Records::of(&mut world);
    world.nodes[1].dead = true;
    world.send(0, &[1], &object, "object", None);
    let mut host = Host::new(config(1_000_000), [5; 32]);
    let (mut now, mut kept) = (Time::ZERO, Vec::new());
    let mut accepted = false;
    let mut blocks = 0;
    for step in 0..2000 {
        world.run_until(now);
        for mut bytes in records.between(address(0), address(1)) {
            host.handle_datagram(now, received(address(0)), &mut bytes);
        }
        if !accepted && let Some((id, HostEvent::Offered { .. })) = host.poll_event() {
            host.accept(now, id);
            accepted = true;
        }
        host.handle_timeout(now);
        sent(&mut host, now, &mut kept);
        for bytes in kept.drain(..) {
            world.inject(address(1), 0, bytes);
        }
        if step == 1000 {
            while let Some((_, event)) = host.poll_event() {
                if let HostEvent::Block { bytes, .. } = event {
                    blocks += bytes.len();
                }
            }
            assert!((900_000..1_500_000).contains(&blocks), "{blocks} bytes were waiting");
        }
        now += Duration::from_us(500);
    }
    let mut later = 0;
    while let Some((_, event)) = host.poll_event() {
        later += if let HostEvent::Block { bytes, .. } = event { bytes.len() } else { 0 };
    }
    assert!(later > 900_000, "it goes on when there is room: {later}");
}

#[test]
fn applications_that_never_decide_keep_no_session() {
    for manner in [Manner::Ponders, Manner::Forgets] {
        let mut world = World::new(18, 2, Faults::default());
        world.nodes[1].manner = manner;
        let id = world.send(0, &[1], &bytes(18, 100_000), "object", None);
        assert!(world.run_for(2000), "{manner:?}");
        assert!(matches!(world.nodes[0].outcomes[&id][&0], Outcome::Failed(_)));
        assert!(world.nodes.iter().all(|node| node.host.sessions() == 0));
    }
}

#[test]
fn who_checks_a_hash_for_long_is_waited_for() {
    let mut world = World::new(19, 2, Faults::default());
    world.nodes[1].manner = Manner::Forgets;
    let id = world.send(0, &[1], &bytes(19, 100_000), "object", None);
    world.run_until(at(60));
    assert_eq!(world.nodes[1].received.len(), 1);
    let receiving = world.nodes[1].host.sessions();
    assert_eq!(receiving, 1, "it is still there");
    let theirs = world.nodes[1].checking.expect("complete");
    world.nodes[1].host.checked(world.now, theirs, true);
    assert!(world.run_for(60));
    assert_eq!(world.nodes[0].outcomes[&id][&0], Outcome::Verified);
}

#[test]
fn a_refusal_that_is_lost_is_told_again() {
    let mut world = World::new(20, 2, Faults::default());
    world.nodes[1].manner = Manner::Refuses;
    let mut lost = 0;
    world.filter = Some(Box::new(move |_, _, bytes| {
        let answer = matches!(Datagram::parse(bytes), Ok(Datagram::Answer(_)));
        lost += u32::from(answer);
        !answer || lost > 2
    }));
    let id = world.send(0, &[1], &bytes(20, 1000), "object", None);
    world.fetch(0, &[1], "object");
    assert!(world.run_for(60));
    assert!(matches!(&world.nodes[0].outcomes[&id][&0], Outcome::Refused(_)));
    assert!(matches!(&world.nodes[0].failures[0].1, Failure::Refused(why) if why.contains("no such object")));
}

#[test]
fn receivers_are_named_once() {
    let mut world = World::new(22, 2, Faults::default());
    let object = bytes(22, 1000);
    let manifest = world::manifest("object", &object);
    let twice = [address(1), address(1)];
    let error = world.nodes[0].host.send(Time::ZERO, Box::new(object), manifest, &twice, None).expect_err("twice");
    assert_eq!(error, Failure::Unacceptable("a receiver is named twice".to_owned()));
}

#[test]
#[should_panic(expected = "HostConfig: initial_window: 0 is not from 1 to 65535")]
fn a_host_is_not_made_of_nonsense() {
    Host::new(HostConfig { initial_window: 0, ..HostConfig::new(psk()) }, [0; 32]);
}
