//! Attacks of an end that has the key of all, on hosts that take only what certain others have signed.

use anabranch_host::wire::{Answer, Control, Datagram, Parameters, Reason, Salt, SymbolRepr};
use anabranch_host::{
    Failure, Host, HostConfig, HostEvent, Manifest, ObjectName, Outcome, Protection, PublicKey, Sealer, SigningKey,
    Unsealer,
};
use anabranch_transport::scdp::Mode;
use anabranch_transport::{Duration, Time};

use super::{received, sent, stranger};
use crate::world::rogue::{Opener, Records, manifest_of, parameters};
use crate::world::{Faults, World, address, bytes, group, psk, signed};

/// Who is trusted, and a member of the group who is not.
fn trusted() -> SigningKey {
    SigningKey::from_seed(&[1; 32])
}

fn rogue() -> SigningKey {
    SigningKey::from_seed(&[2; 32])
}

fn asks_for(signer: PublicKey) -> HostConfig {
    HostConfig { signers: vec![signer], ..HostConfig::new(psk()) }
}

/// What a rogue can announce, and what is said about it: objects of the same size, which symbols of any content go with.
fn forgeries() -> Vec<(Manifest, &'static str)> {
    const OTHER: &str = "signed with a key that this host does not trust, scdp-verify-1:";
    const WRONG: &str = "the signature does not match the manifest";
    // What the one who is trusted has signed at some time.
    let genuine = signed(manifest_of(14_200), Some(&trusted()));
    let other_signature = signed(manifest_of(14_200), Some(&rogue())).signature.expect("signed");
    let signature = genuine.signature.expect("signed");
    let changed = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = genuine.clone();
        change(&mut manifest);
        manifest
    };
    let with_signature = |signature| Manifest { signature: Some(signature), ..genuine.clone() };
    vec![
        (manifest_of(14_200), "not signed, and this host takes only what is signed"),
        (with_signature(other_signature), OTHER),
        (with_signature(anabranch_host::Signature { key: trusted().public(), ..other_signature }), WRONG),
        (with_signature(anabranch_host::Signature { key: rogue().public(), ..signature }), OTHER),
        (changed(&|m| m.hash[0] ^= 1), WRONG),
        (changed(&|m| m.size += 1), WRONG),
        (changed(&|m| m.name = ObjectName::new("other").expect("a name")), WRONG),
        (changed(&|m| m.signature.as_mut().expect("signed").signature[63] ^= 0x10), WRONG),
        (with_signature(anabranch_host::Signature { key: PublicKey([0; 32]), signature: [0; 64] }), OTHER),
    ]
}

/// Ten symbols, all of the object.
fn symbols() -> impl Iterator<Item = SymbolRepr> {
    (0..10).map(|esi| SymbolRepr { block: 0, esi, lane: 0, index: esi, syn: true })
}

/// What became of an offer at a host that asks for signatures: the answer, and all events.
fn offered(manifest: Manifest, protection: &Protection) -> (Option<Answer>, Vec<HostEvent>) {
    let (from, now) = (received(stranger(1)), Time::ZERO);
    let config = HostConfig { protection: protection.clone(), ..asks_for(trusted().public()) };
    let mut host = Host::new(config, [7; 32]);
    let (mut opener, mut kept, mut events) = (Opener::new(protection, 1), Vec::new(), Vec::new());
    host.handle_datagram(now, from, &mut opener.offer(manifest, parameters()));
    let mut turn = |host: &mut Host, kept: &mut Vec<Vec<u8>>| {
        while let Some((id, event)) = host.poll_event() {
            // An application that takes whatever it is shown.
            host.accept(now, id);
            events.push(event);
        }
        sent(host, now, kept);
    };
    turn(&mut host, &mut kept);
    let answer = opener.read(&kept);
    host.handle_datagram(now, from, &mut opener.control(Control::KeepAlive));
    host.handle_datagram(now, from, &mut opener.control(Control::Mode(0o644)));
    for symbol in symbols() {
        host.handle_datagram(now, from, &mut opener.symbol(&symbol, &[7; 1420]));
    }
    turn(&mut host, &mut kept);
    (answer, events)
}

#[test]
fn offers_that_nobody_trusted_has_signed_are_refused_before_a_byte_is_handed_over() {
    for protection in [psk(), Protection::None] {
        for (manifest, expected) in forgeries() {
            let (answer, events) = offered(manifest.clone(), &protection);
            let Some(Answer::Refuse(refusal)) = answer else { panic!("{manifest:?}: {answer:?}") };
            assert_eq!(refusal.reason, Reason::Untrusted);
            assert!(refusal.text().starts_with(expected), "{manifest:?}: {}", refusal.text());
            let [HostEvent::Declined { peer, manifest: told, refusal: why }] = &*events else { panic!("{events:?}") };
            assert_eq!((*peer, told, why), (stranger(1), &manifest, &refusal));
        }
        let genuine = signed(manifest_of(14_200), Some(&trusted()));
        let (answer, events) = offered(genuine.clone(), &protection);
        assert!(matches!(answer, Some(Answer::AcceptOffer { .. })), "{answer:?}");
        assert!(matches!(&events[0], HostEvent::Offered { manifest, .. } if *manifest == genuine), "{events:?}");
        assert!(
            matches!(events.last(), Some(HostEvent::Complete)),
            "the same symbols would make an object: {events:?}"
        );
    }
}

#[test]
fn a_refused_offer_that_is_repeated_is_told_once_and_answered_again() {
    let mut host = Host::new(asks_for(trusted().public()), [8; 32]);
    let (mut opener, mut kept) = (Opener::new(&psk(), 1), Vec::new());
    for _ in 0..100 {
        host.handle_datagram(Time::ZERO, received(stranger(1)), &mut opener.offer(manifest_of(1), parameters()));
    }
    sent(&mut host, Time::ZERO, &mut kept);
    let events = std::iter::from_fn(|| host.poll_event()).count();
    assert!(events == 1 && kept.len() > 10 && host.sessions() == 0, "{events} events, {} answers", kept.len());
}

#[test]
fn servers_of_what_nobody_trusted_has_signed_count_as_refusing() {
    let many_to_one = Parameters { mode: Mode::ManyToOne, ..parameters() };
    let genuine = signed(manifest_of(14_200), Some(&trusted()));
    let all = forgeries().into_iter().map(|(manifest, expected)| (manifest, Some(expected)));
    for (manifest, expected) in all.chain([(genuine, None)]) {
        let mut world = World::with(31, 1, Faults::default(), |_| asks_for(trusted().public()));
        let records = Records::of(&mut world);
        let wanted = anabranch_host::wire::Object::Name(manifest.name.clone());
        world.nodes[0].host.fetch(world.now, wanted, &[stranger(1)]).expect("a session");
        world.run_until(Time::ZERO + Duration::from_ms(1));
        let asks = records.between(address(0), stranger(1));
        let Ok(Datagram::Open(packet)) = Datagram::parse(&asks[0]) else { panic!("a request") };
        let (session, asker, salt) = (packet.prefix().session, packet.salt(), Salt([9; 16]));
        let mut sealer = Sealer::new(psk().responder(asker, salt, 0));
        let mut answer = Vec::new();
        let accept = Answer::AcceptRequest { manifest: manifest.clone(), parameters: many_to_one };
        sealer.answer(session, &accept, &mut answer).expect("sealed");
        world.inject(stranger(1), 0, answer);
        world.run_until(Time::ZERO + Duration::from_ms(2));
        for symbol in symbols() {
            let mut datagram = Vec::new();
            sealer.symbol(session, &symbol, &[7; 1420], &mut datagram).expect("sealed");
            world.inject(stranger(1), 0, datagram);
        }
        assert!(world.run_for(60));
        let node = &world.nodes[0];
        let Some(expected) = expected else {
            assert_eq!((node.received.len(), node.failures.len()), (1, 0), "the same symbols would make an object");
            continue;
        };
        assert!(node.received.is_empty() && node.closed.len() == 1, "{manifest:?}");
        let [(_, Failure::Refused(why))] = &*node.failures else { panic!("{manifest:?}: {:?}", node.failures) };
        assert!(why.starts_with(&format!("{}: {expected}", stranger(1))), "{why}");
        let mut from_asker = Unsealer::new(psk().confirmed(asker, salt, 0));
        let said = records.between(address(0), stranger(1));
        let cancelled = said.iter().any(|bytes| from_asker.control(&mut bytes.clone()) == Ok(Control::Cancel));
        assert!(cancelled, "the server need not wait");
    }
}

#[test]
fn a_server_that_is_not_trusted_does_not_keep_a_fetch_from_the_others() {
    let (object, other) = (bytes(32, 3_000_000), bytes(33, 3_000_000));
    for seed in 0..10 {
        // The servers' answers come in any order.
        let faults = Faults { jitter: Duration::from_ms(2), loss: 0.01, ..Faults::default() };
        let mut world = World::with(seed, 4, faults, |n| match n {
            0 => asks_for(trusted().public()),
            _ => HostConfig::new(psk()),
        });
        for n in [1, 2, 3] {
            let content = if n == 2 { &other } else { &object };
            world.nodes[n].objects.insert("object".to_owned(), content.clone());
            world.nodes[n].signs = Some(if n == 2 { rogue() } else { trusted() });
        }
        world.fetch(0, &[1, 2, 3], "object");
        assert!(world.run_for(60), "seed {seed}");
        let node = &world.nodes[0];
        assert!(node.failures.is_empty() && node.received.len() == 1, "seed {seed}: {:?}", node.failures);
        let (_, content, right) = &node.received[0];
        assert!(*right && *content == object, "seed {seed}");
        assert!(world.nodes.iter().all(|node| node.host.sessions() == 0), "seed {seed}");
    }
}

#[test]
fn each_receiver_of_a_group_decides_whom_it_trusts() {
    let object = bytes(34, 1_000_000);
    let mut world = World::with(34, 4, Faults::default(), |n| match n {
        1 => asks_for(trusted().public()),
        2 => asks_for(rogue().public()),
        _ => HostConfig::new(psk()),
    });
    world.nodes[0].signs = Some(trusted());
    for n in [1, 2, 3] {
        world.nodes[n].joined = vec![group()];
    }
    let id = world.send(0, &[1, 2, 3], &object, "object", Some(group()));
    assert!(world.run_for(60));
    let outcomes = &world.nodes[0].outcomes[&id];
    assert_eq!((&outcomes[&0], &outcomes[&2]), (&Outcome::Verified, &Outcome::Verified));
    assert!(matches!(&outcomes[&1], Outcome::Refused(refusal) if refusal.reason == Reason::Untrusted), "{outcomes:?}");
    for (n, count) in [(1, 1), (2, 0), (3, 1)] {
        assert_eq!(world.nodes[n].received.len(), count, "{n}");
    }
    assert_eq!(world.nodes[2].declined.len(), 1);
}

/// A host that asks for signatures fetches an object from one that is trusted and from a rogue, who announces another one under its name `when` that is
/// due. All messages that the rogue is told.
fn told_to_a_rogue(when: impl Fn(&World) -> bool) -> Vec<Control> {
    let object = bytes(35, 3_000_000);
    let mut world = World::with(35, 2, Faults::default(), |n| match n {
        0 => asks_for(trusted().public()),
        _ => HostConfig::new(psk()),
    });
    world.nodes[1].objects.insert("object".to_owned(), object);
    world.nodes[1].signs = Some(trusted());
    let records = Records::of(&mut world);
    let name = ObjectName::new("object").expect("a name");
    let wanted = anabranch_host::wire::Object::Name(name.clone());
    world.nodes[0].host.fetch(world.now, wanted, &[address(1), stranger(1)]).expect("a session");
    world.run_until(Time::ZERO + Duration::from_us(1));
    let asks = records.between(address(0), stranger(1));
    let Ok(Datagram::Open(packet)) = Datagram::parse(&asks[0]) else { panic!("a request") };
    let (session, asker, salt) = (packet.prefix().session, packet.salt(), Salt([9; 16]));
    while !when(&world) {
        world.run_until(world.now + Duration::from_us(10));
    }
    let (mut sealer, mut answer, mut keep_alive) =
        (Sealer::new(psk().responder(asker, salt, 0)), Vec::new(), Vec::new());
    let manifest = Manifest { name, ..manifest_of(3_000_000) };
    let parameters = Parameters { mode: Mode::ManyToOne, lanes: 2, ..parameters() };
    sealer.answer(session, &Answer::AcceptRequest { manifest, parameters }, &mut answer).expect("sealed");
    world.inject(stranger(1), 0, answer);
    world.run_until(world.now + Duration::from_us(1));
    // As if what it was told then were lost: it says that it is still there.
    sealer.control(session, Control::KeepAlive, &mut keep_alive).expect("sealed");
    world.inject(stranger(1), 0, keep_alive);
    assert!(world.run_for(60));
    assert!(world.nodes[0].failures.is_empty() && world.nodes[0].received.len() == 1);
    let mut from_asker = Unsealer::new(psk().confirmed(asker, salt, 0));
    let said = records.between(address(0), stranger(1));
    said.into_iter().filter_map(|mut bytes| from_asker.control(&mut bytes).ok()).collect()
}

#[test]
fn a_server_that_is_not_trusted_is_told_that_it_is_not_wanted_and_never_that_its_object_was_right() {
    let in_time = told_to_a_rogue(|_| true);
    let late = told_to_a_rogue(|world| !world.nodes[0].received.is_empty());
    for said in [in_time, late] {
        assert!(!said.is_empty() && said.iter().all(|said| *said == Control::Cancel), "{said:?}");
    }
}
