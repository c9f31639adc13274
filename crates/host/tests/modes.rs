//! Permission bits of files: each receiver is told them, and waits neither for lost answers for ever nor for senders that do not know the question.

use std::io;

use crate::world::{Faults, World, address, bytes, group, manifest};
use anabranch_host::{HostConfig, Object, Outcome, Protection};
use anabranch_transport::{Duration, Time};

/// An object that has permission bits.
struct File(Vec<u8>, u16);

impl Object for File {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, bytes)
    }

    fn mode(&self) -> u16 {
        self.1
    }
}

/// Sends an object from host 0 to all others. Returns when the last one had it.
fn send(world: &mut World, size: usize, mode: u16, by_group: bool) -> Duration {
    let object = bytes(size as u64, size);
    let receivers: Vec<_> = (1..world.nodes.len()).map(address).collect();
    let (now, manifest) = (world.now, manifest("object", &object));
    let to = by_group.then(group);
    let id = world.nodes[0].host.send(now, Box::new(File(object, mode)), manifest, &receivers, to).expect("a session");
    while world.nodes[0].outcomes.get(&id).is_none_or(|outcomes| outcomes.len() < receivers.len()) {
        assert!(world.now.since(now) < Duration::from_secs(60), "it does not end");
        world.run_until(world.now + Duration::from_us(100));
    }
    assert!(world.nodes[0].outcomes[&id].values().all(|outcome| *outcome == Outcome::Verified));
    world.now.since(now)
}

#[test]
fn each_receiver_knows_the_mode_when_it_has_the_object() {
    for (size, mode) in [(0, 0o644), (1, 0o600), (100_000, 0o755), (3_000_000, 0), (3_000_000, 0o777)] {
        for (hosts, by_group) in [(2, false), (4, false), (4, true)] {
            let mut world = World::new(1, hosts, Faults::default());
            (1..hosts).for_each(|n| world.nodes[n].joined.push(group()));
            send(&mut world, size, mode, by_group);
            assert!(world.nodes[1..].iter().all(|node| node.modes == [Some(mode)]), "{size} bytes, {hosts} hosts");
        }
    }
}

#[test]
fn a_mode_survives_losses() {
    for seed in 0..20 {
        let mut world = World::new(seed, 4, Faults { loss: 0.05, ..Faults::default() });
        send(&mut world, 500_000, 0o640, false);
        assert!(world.nodes[1..].iter().all(|node| node.modes == [Some(0o640)]), "seed {seed}");
    }
}

#[test]
fn whoever_fetches_knows_it_of_one_server_and_of_several() {
    for servers in [1, 3] {
        let mut world = World::new(2, 4, Faults::default());
        (1..=servers).for_each(|n| _ = world.nodes[n].objects.insert("object".to_owned(), bytes(3, 300_000)));
        world.fetch(0, &(1..=servers).collect::<Vec<_>>(), "object");
        world.run_for(30);
        assert_eq!(world.nodes[0].modes, [Some(0o600)], "what has no mode is for its owner alone");
    }
}

#[test]
fn a_sender_of_an_earlier_build_is_not_waited_for_long() {
    for (size, most) in [(1000, 400), (5_000_000, 600)] {
        let mut world = World::with(3, 2, Faults::default(), |_| HostConfig::new(Protection::None));
        let mut questions = 0;
        // The kind and the message of a question.
        world.filter = Some(Box::new(move |_, _, datagram| {
            let asks = datagram[0] & 0xf == 3 && datagram.get(24) == Some(&16);
            questions += u32::from(asks);
            assert!(questions <= 8, "it is asked again and again");
            !asks
        }));
        let time = send(&mut world, size, 0o755, false);
        assert!(time < Duration::from_ms(most), "{size} bytes take {time}");
        assert_eq!(world.nodes[1].modes, [None]);
        assert!(world.run_until(Time::ZERO + Duration::from_secs(100)), "and nothing is left to do");
    }
}
