//! Attacks of an end that has the key and keeps to no rule.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;

use allocation_counter::measure;
use anabranch_host::wire::{Answer, Control, Datagram, Open, Parameters, Reason, Salt, SymbolRepr};
use anabranch_host::{Failure, Host, HostConfig, HostEvent, Outcome, Page, Protection, SigningKey};
use anabranch_transport::scdp::{Mode, Pull};
use anabranch_transport::{Duration, Time};
use rand::RngExt;

use super::{at, random, received, sent, stranger};
use crate::world::rogue::{Opener, Records, Responder, manifest_of, parameters, request};
use crate::world::{self, Faults, Manner, World, address, bytes, psk};

/// A pull that asks for nothing that matters.
fn pull(block: u32, upto: u32) -> Pull {
    Pull { block, upto, base: 0, fin: false, retry: false, done: false }
}

#[test]
fn a_hundred_thousand_opening_packets_take_bounded_memory() {
    for polled in [true, false] {
        let mut host = Host::new(HostConfig::new(psk()), [2; 32]);
        let (mut most, mut kept) = (0, Vec::new());
        let counted = measure(|| {
            for n in 0..100_000_u32 {
                let mut opener = Opener::new(&psk(), n);
                let mut datagram = match n % 2 {
                    0 => opener.offer(manifest_of(1 << 30), parameters()),
                    _ => opener.request(request("object", 1472)),
                };
                host.handle_datagram(Time::ZERO, received(stranger(n % 10_000)), &mut datagram);
                most = most.max(host.sessions());
                if polled {
                    while let Some((id, event)) = host.poll_event() {
                        if let HostEvent::Offered { .. } = event {
                            host.accept(Time::ZERO, id);
                        }
                    }
                    let answers = sent(&mut host, Time::ZERO, &mut kept);
                    assert!(answers < 3 * 1200, "{answers} bytes of answers");
                    kept.clear();
                }
            }
        });
        assert!(most <= host.config().max_sessions && most > 32, "{most}");
        assert!(counted.bytes_max < 10_000_000, "{} bytes", counted.bytes_max);
        for second in 0..60 {
            sent(&mut host, at(second), &mut kept);
            host.handle_timeout(at(second));
        }
        assert_eq!(host.sessions(), 0, "all end");
    }
}

#[test]
fn sessions_that_open_and_end_again_and_again_leave_nothing() {
    let mut host = Host::new(HostConfig::new(psk()), [3; 32]);
    let mut kept = Vec::new();
    let mut round = |from: u32| {
        for n in from..from + 10_000 {
            let mut opener = Opener::new(&psk(), n);
            host.handle_datagram(Time::ZERO, received(stranger(n)), &mut opener.offer(manifest_of(1), parameters()));
            host.handle_datagram(Time::ZERO, received(stranger(n)), &mut opener.control(Control::Cancel));
            sent(&mut host, Time::ZERO, &mut kept);
            kept.clear();
            while host.poll_event().is_some() {}
        }
        assert_eq!(host.sessions(), 0);
    };
    round(0);
    let counted = measure(|| round(10_000));
    assert!(counted.bytes_current.abs() < 20_000, "{} bytes are kept", counted.bytes_current);
}

#[test]
fn one_address_does_not_take_all_sessions() {
    let mut world = World::new(9, 2, Faults::default());
    world.nodes[1].manner = Manner::Ponders;
    for n in 0..1000 {
        let offer = Opener::new(&psk(), n).offer(manifest_of(1), parameters());
        world.inject(SocketAddr::from(([192, 0, 2, 1], 1000 + n as u16)), 1, offer);
    }
    world.run_until(Time::ZERO + Duration::from_ms(5));
    assert_eq!(world.nodes[1].host.sessions(), world.nodes[1].host.config().max_sessions_per_address);
    world.nodes[1].manner = Manner::Takes;
    world.send(0, &[1], &bytes(9, 100_000), "object", None);
    assert!(world.run_for(60));
    assert_eq!(world.nodes[1].received.len(), 1);
}

#[test]
fn no_address_gets_three_times_what_comes_from_it() {
    let victim = stranger(1);
    // The longest answer there is: signed, too.
    let long = "x".repeat(255);
    let mut worst: f64 = 0.0;
    for largest in [1200, 1300, 1472, 9000] {
        for repeats in [1, 2, 5, 40] {
            for name in ["object", &long, "nothing of that name"] {
                for max_unvalidated in [0, 32] {
                    let config = |_| HostConfig { largest_packet: 9000, max_unvalidated, ..HostConfig::new(psk()) };
                    let mut world = World::with(10, 1, Faults::default(), config);
                    for name in ["object", &long] {
                        world.nodes[0].objects.insert(name.to_owned(), bytes(10, 2_000_000));
                    }
                    world.nodes[0].signs = Some(SigningKey::from_seed(&[10; 32]));
                    let (mut opener, mut arrived) = (Opener::new(&psk(), 7), 0);
                    for n in 0..repeats {
                        let request = opener.request(request(name, largest));
                        arrived += request.len();
                        world.inject_at(Time::ZERO + Duration::from_ms(n * 50), victim, 0, request);
                    }
                    assert!(world.run_for(60));
                    assert_eq!(world.nodes[0].host.sessions(), 0, "nobody is waited for");
                    worst = worst.max(world.bytes_to[&victim] as f64 / arrived as f64);
                }
            }
        }
    }
    assert!(worst <= 3.0 && worst > 2.0, "{worst}");
}

#[test]
fn who_offers_in_the_name_of_another_does_not_make_a_receiver_flood_it() {
    let victim = stranger(1);
    for manner in [Manner::Takes, Manner::Refuses, Manner::Has, Manner::Ponders] {
        for symbols in [0, 1, 10, 1000] {
            let mut world = World::new(11, 1, Faults::default());
            world.nodes[0].manner = manner;
            let mut opener = Opener::new(&psk(), 1);
            let small = Parameters { symbol_bytes: 1, block_symbols: 1000, window: 65_535, ..parameters() };
            let offer = opener.offer(manifest_of(100_000), small);
            let mut arrived = offer.len();
            world.inject(victim, 0, offer);
            for esi in 0..symbols {
                let symbol = SymbolRepr { block: 0, esi, lane: 0, index: esi, syn: true };
                let datagram = opener.symbol(&symbol, b"x");
                arrived += datagram.len();
                world.inject_at(Time::ZERO + Duration::from_ms(u64::from(esi)), victim, 0, datagram);
            }
            assert!(world.run_for(60));
            let sent = world.bytes_to.get(&victim).copied().unwrap_or(0);
            assert!(sent <= 3 * arrived, "{manner:?} {symbols}: {sent} bytes for {arrived}");
            assert_eq!(world.nodes[0].host.sessions(), 0);
        }
    }
}

#[test]
fn offers_of_objects_with_many_parts_do_not_make_a_receiver_flood_whom_they_name() {
    // A receiver of these asks for hashes, of an address that has not shown that it asks for anything.
    for size in [1 << 19, 900_000, 1 << 30, 1 << 36] {
        let victim = stranger(1);
        let mut world = World::new(13, 1, Faults::default());
        let mut opener = Opener::new(&psk(), 1);
        let offer = opener.offer(manifest_of(size), parameters());
        let mut arrived = offer.len();
        world.inject(victim, 0, offer);
        for esi in 0..3 {
            let datagram = opener.symbol(&SymbolRepr { block: 0, esi, lane: 0, index: esi, syn: true }, &[7; 1420]);
            arrived += datagram.len();
            world.inject_at(Time::ZERO + Duration::from_ms(u64::from(esi)), victim, 0, datagram);
        }
        world.nodes[0].discards = true;
        assert!(world.run_for(60));
        let sent = world.bytes_to.get(&victim).copied().unwrap_or(0);
        assert!(sent > 0 && sent <= 3 * arrived, "{size}: {sent} bytes for {arrived}");
    }
}

#[test]
fn an_offer_without_padding_is_taken_of_who_has_shown_that_it_is_there_and_of_nobody_else() {
    let mut world = World::new(14, 2, Faults::default());
    let small = |n| {
        let mut opener = Opener::new(&psk(), n);
        let offer = Open::Offer(Opener::offered(manifest_of(1), parameters()));
        let mut out = Vec::new();
        opener.shared.open_unpadded(n, 0, &offer, &mut out).expect("sealed");
        assert!(out.len() < 200);
        out
    };
    let mut next = 0;
    let mut sessions_after = |world: &mut World, from: SocketAddr| {
        next += 1;
        let (offer, before) = (small(next), world.bytes_to.get(&from).copied().unwrap_or(0));
        let size = offer.len();
        world.inject(from, 1, offer);
        world.run_until(world.now + Duration::from_us(1));
        let sessions = world.nodes[1].host.sessions();
        assert!(world.run_for(400));
        let answered = world.bytes_to[&from] - before;
        assert!(sessions > 0 || answered < size, "{answered} bytes for {size}");
        world.now += Duration::from_secs(61);
        sessions
    };
    assert_eq!(sessions_after(&mut world, stranger(1)), 0);
    assert_eq!(sessions_after(&mut world, address(0)), 0);
    world.send(0, &[1], &bytes(14, 1000), "object", None);
    world.run_until(world.now + Duration::from_secs(20));
    assert_eq!(world.nodes[1].received.len(), 1);
    let request = {
        let mut opener = Opener::new(&psk(), 99);
        let mut out = Vec::new();
        opener.shared.open_unpadded(99, 0, &Open::Request(request("object", 1472)), &mut out).expect("sealed");
        out
    };
    let (size, before) = (request.len(), world.bytes_to[&address(0)]);
    world.inject(address(0), 1, request);
    world.run_until(world.now + Duration::from_us(1));
    assert_eq!(world.nodes[1].host.sessions(), 0, "a request is answered with more");
    assert!((1..size).contains(&(world.bytes_to[&address(0)] - before)));
    assert_eq!(sessions_after(&mut world, stranger(1)), 0);
    world.send(0, &[1], &bytes(15, 1000), "object", None);
    world.run_until(world.now + Duration::from_secs(20));
    assert_eq!(sessions_after(&mut world, address(0)), 1);
    assert_eq!(sessions_after(&mut world, address(0)), 0, "it was long ago");
}

#[test]
fn offers_that_would_take_too_much_are_refused_with_a_reason() {
    let mut world = World::new(12, 1, Faults::default());
    let records = Records::of(&mut world);
    for (n, size, change, expected) in [
        (1, 2_000_000_000_000, parameters(), Reason::TooLarge),
        (2, 1 << 30, Parameters { symbol_bytes: 65_535, ..parameters() }, Reason::Unsupported),
        (3, 1 << 30, Parameters { block_symbols: 56_403, ..parameters() }, Reason::Unsupported),
        (4, 1 << 39, Parameters { block_symbols: 56_403, symbol_bytes: 1, ..parameters() }, Reason::Unsupported),
        (5, 1 << 30, Parameters { lanes: 7, mode: Mode::ManyToOne, ..parameters() }, Reason::Unsupported),
    ] {
        let mut opener = Opener::new(&psk(), n);
        let offer = opener.offer(manifest_of(size), change);
        world.inject(stranger(n), 0, offer);
        world.run_until(world.now + Duration::from_ms(5));
        let answer = opener.read(&records.between(address(0), stranger(n)));
        assert!(matches!(&answer, Some(Answer::Refuse(refusal)) if refusal.reason == expected), "{n}: {answer:?}");
        // The answer was lost: it is given again.
        let offer = opener.offer(manifest_of(size), change);
        world.inject(stranger(n), 0, offer);
        world.run_until(world.now + Duration::from_ms(5));
        assert_eq!(opener.read(&records.between(address(0), stranger(n))), answer);
    }
    assert!(world.nodes[0].host.sessions() == 0 && world.nodes[0].closed.is_empty());
}

#[test]
fn servers_that_announce_what_was_not_asked_for_are_not_believed() {
    let asked = manifest_of(1 << 20);
    let window = |window| Parameters { window, mode: Mode::ManyToOne, ..parameters() };
    for (size, name, parameters, good) in [
        (1 << 20, "forged", window(32), true),
        (1 << 20, "forged", window(33), false),
        (1 << 20, "other", window(32), false),
        (1 << 41, "forged", window(32), false),
        (1 << 30, "forged", Parameters { block_symbols: 56_403, ..window(32) }, false),
        (1 << 20, "forged", Parameters { symbol_bytes: 1421, ..window(32) }, false),
        (1 << 20, "forged", Parameters { lanes: 2, ..window(32) }, false),
    ] {
        let mut world = World::new(13, 1, Faults::default());
        world.nodes[0].manner = Manner::Ponders;
        let records = Records::of(&mut world);
        let wanted = anabranch_host::wire::Object::Name(asked.name.clone());
        world.nodes[0].host.fetch(world.now, wanted, &[stranger(1)]).expect("a session");
        world.run_until(Time::ZERO + Duration::from_ms(1));
        let asks = records.between(address(0), stranger(1));
        let Ok(Datagram::Open(packet)) = Datagram::parse(&asks[0]) else { panic!("a request") };
        let mut sealer = anabranch_host::Sealer::new(psk().responder(packet.salt(), Salt([9; 16]), 0));
        let manifest = anabranch_host::Manifest {
            size,
            name: anabranch_host::ObjectName::new(name).expect("a name"),
            ..asked.clone()
        };
        let mut answer = Vec::new();
        sealer
            .answer(packet.prefix().session, &Answer::AcceptRequest { manifest, parameters }, &mut answer)
            .expect("sealed");
        world.inject(stranger(1), 0, answer);
        world.run_until(Time::ZERO + Duration::from_ms(20));
        assert_eq!(world.nodes[0].failures.is_empty(), good, "{size} {name} {parameters:?}");
    }
}

#[test]
fn forged_symbols_never_make_an_object_and_take_bounded_memory() {
    for seed in 0..12 {
        let mut random = random(seed);
        let most = 10_000_000;
        let config = HostConfig { max_session_bytes: most, ..HostConfig::new(psk()) };
        let mut host = Host::new(config, [4; 32]);
        let mut opener = Opener::new(&psk(), 1);
        let (from, mut kept) = (received(stranger(1)), Vec::new());
        let k = [6, 10, 100][seed as usize % 3];
        let few = Parameters { block_symbols: k, ..parameters() };
        let size = [1, 1 << 16, 1 << 22, 1 << 39][seed as usize / 3];
        host.handle_datagram(Time::ZERO, from, &mut opener.offer(manifest_of(size), few));
        let Some((id, HostEvent::Offered { .. })) = host.poll_event() else { panic!("offered") };
        host.accept(Time::ZERO, id);
        let (mut taken, mut complete, mut failed) = (BTreeSet::new(), false, false);
        let counted = measure(|| {
            for n in 0..40_000_u64 {
                let mut any =
                    |most: u32| if random.random_bool(0.9) { random.random_range(0..most) } else { random.random() };
                let (block, index) = (any(80), any(400));
                let esi = if any(2) == 0 { index } else { any(1 << 24) } & 0xff_ffff;
                let symbol =
                    SymbolRepr { block, esi, lane: (any(2) == 1 && any(9) == 0).into(), index, syn: any(2) == 1 };
                let length = if any(20) == 0 { 1 + any(1420) as usize % 1420 } else { 1420 };
                let mut datagram = opener.symbol(&symbol, &[n as u8; 1420][..length]);
                if any(10) == 0 {
                    datagram.truncate(80);
                }
                let now = Time::ZERO + Duration::from_us(n * 10);
                host.handle_datagram(now, from, &mut datagram);
                host.handle_timeout(now);
                sent(&mut host, now, &mut kept);
                kept.clear();
                while let Some((_, event)) = host.poll_event() {
                    match event {
                        HostEvent::Block { offset, bytes } => {
                            assert!(offset + bytes.len() as u64 <= size && taken.insert(offset), "each once");
                        }
                        HostEvent::Complete => complete = true,
                        HostEvent::Failed(_) => failed = true,
                        _ => {}
                    }
                }
            }
        });
        assert!(!complete, "it has said nothing under the keys of both");
        assert!(counted.bytes_max < 5 * most, "seed {seed}: {} bytes", counted.bytes_max);
        for second in 1..700 {
            host.handle_timeout(at(second));
            sent(&mut host, at(second), &mut kept);
        }
        assert_eq!(host.sessions(), 0, "seed {seed}: it ends, {failed}");
    }
}

#[test]
fn wrong_content_is_not_handed_over_and_its_sender_is_told() {
    let mut world = World::new(14, 1, Faults::default());
    let records = Records::of(&mut world);
    let mut opener = Opener::new(&psk(), 1);
    let offer = opener.offer(manifest_of(14_200), parameters());
    world.inject(stranger(1), 0, offer);
    world.run_until(Time::ZERO + Duration::from_ms(1));
    assert!(opener.read(&records.between(address(0), stranger(1))).is_some());
    let keep_alive = opener.control(Control::KeepAlive);
    world.inject(stranger(1), 0, keep_alive);
    for esi in 0..10 {
        let symbol = SymbolRepr { block: 0, esi, lane: 0, index: esi, syn: true };
        let symbol = opener.symbol(&symbol, &[if esi == 3 { 8 } else { 7 }; 1420]);
        world.inject(stranger(1), 0, symbol);
    }
    assert!(world.run_for(60));
    assert!(world.nodes[0].received.is_empty());
    let failures: Vec<_> = world.nodes[0].failures.iter().map(|(_, failure)| failure.clone()).collect();
    assert_eq!(failures, [Failure::WrongBytes { peer: stranger(1) }]);
    let told = records.between(address(0), stranger(1));
    let is_close = |bytes: &Vec<u8>| opener.understands(bytes) == Some(Control::Close { verified: false });
    assert!(told.iter().any(is_close), "it may be a file that changed");
}

/// A server, and who has asked it for an object of so many bytes.
fn asked(size: usize) -> (Host, Opener, SocketAddr) {
    let (from, mut kept) = (stranger(1), Vec::new());
    let mut host = Host::new(HostConfig::new(psk()), [6; 32]);
    let mut opener = Opener::new(&psk(), 1);
    host.handle_datagram(Time::ZERO, received(from), &mut opener.request(request("object", 1472)));
    let Some((id, HostEvent::Requested { .. })) = host.poll_event() else { panic!("requested") };
    let object = vec![7_u8; size];
    let manifest = world::manifest("object", &object);
    host.serve(Time::ZERO, id, Box::new(object), manifest).expect("served");
    sent(&mut host, Time::ZERO, &mut kept);
    assert!(matches!(opener.read(&kept), Some(Answer::AcceptRequest { .. })));
    (host, opener, from)
}

#[test]
fn forged_pulls_make_a_server_neither_grow_nor_stop() {
    for (taken, moves) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut random = random(16);
        let (mut host, mut opener, from) = asked(60_000_000);
        let mut kept = Vec::new();
        let counted = measure(|| {
            for n in 0..20_000_u64 {
                let mut any =
                    |most: u32| if random.random_bool(0.9) { random.random_range(0..most) } else { random.random() };
                let base = if moves { (n / 60) as u32 + any(u32::MAX) % 3 / 2 * (any(60) % 60) } else { 0 };
                let flags = any(8);
                let pulls: Vec<Pull> = (0..32)
                    .map(|_| {
                        let (fin, retry) = (flags & 1 > 0, flags & 2 > 0);
                        Pull { block: base.saturating_add(any(66)), upto: any(70_000), base, fin, retry, done: false }
                    })
                    .collect();
                let now = Time::ZERO + Duration::from_us(n * 10);
                host.handle_datagram(now, received(from), &mut opener.pulls(&pulls));
                if taken && n % 100 == 0 {
                    let (mut out, mut to) = (Vec::new(), Vec::new());
                    for _ in 0..200 {
                        out.clear();
                        host.poll_transmit(now, &mut out, &mut to);
                    }
                }
            }
        });
        assert!(counted.bytes_max < 50_000_000, "{taken}: {} bytes", counted.bytes_max);
        assert_eq!(host.sessions(), 1);
        host.handle_datagram(at(1), received(from), &mut opener.control(Control::Close { verified: true }));
        sent(&mut host, at(1), &mut kept);
        assert_eq!(host.sessions(), 0);
    }
}

#[test]
fn who_asks_for_hashes_for_ever_is_sent_few() {
    // Of 60 MB there are 15 pages, and one above them. A question each 100 us, for ten seconds.
    for says_more in [false, true] {
        let (mut host, mut opener, from) = asked(60_000_000);
        let mut kept = Vec::new();
        let (mut answers, mut questions) = (0_usize, 0_usize);
        for n in 0..100_000_u64 {
            let now = Time::ZERO + Duration::from_us(n * 100);
            let question = opener.control(Control::AskHashes(Page { level: 1, index: n % 15 }));
            questions += 1;
            host.handle_datagram(now, received(from), &mut question.clone());
            if says_more && n % 10 == 0 {
                // Each time it has one block more, or so it says.
                let base = (n / 10) as u32 % 400;
                host.handle_datagram(now, received(from), &mut opener.pulls(&[Pull { base, ..pull(base, 1) }]));
            }
            let before = kept.len();
            sent(&mut host, now, &mut kept);
            answers +=
                kept[before..].iter().filter(|bytes| matches!(Datagram::parse(bytes), Ok(Datagram::Hashes(_)))).count();
            kept.clear();
        }
        // Eight times at first as many as may be wanted at once, which is 8, and so many each second; and eight times those of which it says that it needs them next.
        let most = 8 * 8 + 10 * 8 + if says_more { 8 * 15 } else { 0 };
        assert!((8 * 8..=most).contains(&answers), "{answers} of {questions}, at most {most}");
    }
}

#[test]
fn whoever_loses_almost_everything_gets_all_hashes_that_it_asks_for() {
    // No key, so that it can be seen what is asked for. Half of all is lost on a path with a round trip of 60 ms, so that each page is asked for four times before its first answer may come.
    for delay in [Duration::from_us(100), Duration::from_ms(30)] {
        let faults = Faults { delay, ..Faults::default() };
        let mut world = World::with(41, 2, faults, |_| HostConfig::new(Protection::None));
        let object = bytes(41, 40_000_000);
        let counts = Rc::new(RefCell::new((0_u32, 0_u32)));
        let (seen, mut random) = (Rc::clone(&counts), random(41));
        // The sender understands the receiver once it has its answer, and then says something itself.
        let mut understood = false;
        world.filter = Some(Box::new(move |from, _, datagram| {
            let arrives = random.random_bool(0.5);
            let (kind, message) = (datagram[0] & 0xf, datagram.get(24));
            let mut counts = seen.borrow_mut();
            understood |= from == address(0) && kind == 3;
            counts.0 += u32::from(understood && arrives && kind == 3 && message == Some(&7));
            // Whether it arrives or not.
            counts.1 += u32::from(kind == 7);
            arrives
        }));
        world.send(0, &[1], &object, "object", None);
        assert!(world.run_for(600));
        assert!(world.nodes[1].received[0].1 == object, "it comes in the end");
        let (asked, answered) = *counts.borrow();
        assert!(asked > 10 && answered + 2 >= asked, "{answered} answers to {asked} questions that arrived");
    }
}

#[test]
fn a_receiver_that_pulls_now_and_then_and_never_comes_further_is_given_up() {
    let (mut host, mut opener, from) = asked(10_000_000);
    let mut kept = Vec::new();
    let mut ended = None;
    for second in 0..1000 {
        host.handle_datagram(at(second), received(from), &mut opener.pulls(&[pull(0, 1 + second as u32 % 90)]));
        host.handle_datagram(at(second), received(from), &mut opener.control(Control::KeepAlive));
        host.handle_timeout(at(second));
        sent(&mut host, at(second), &mut kept);
        if host.sessions() == 0 {
            ended.get_or_insert(second);
        }
    }
    assert!(ended.is_some_and(|at| (300..=301).contains(&at)), "{ended:?}");
}

#[test]
fn a_sender_that_only_says_that_it_is_there_is_given_up() {
    for manner in [Manner::Takes, Manner::Ponders, Manner::Refuses] {
        let mut world = World::new(17, 1, Faults::default());
        world.nodes[0].manner = manner;
        let records = Records::of(&mut world);
        let mut opener = Opener::new(&psk(), 1);
        for second in 0..1000 {
            let offer = opener.offer(manifest_of(1 << 20), parameters());
            let symbol = opener.symbol(&SymbolRepr { block: 0, esi: 0, lane: 0, index: 0, syn: true }, &[1; 1420]);
            opener.read(&records.between(address(0), stranger(1)));
            let control = opener.control(Control::KeepAlive);
            for bytes in [offer, symbol, control] {
                world.inject_at(at(second), stranger(1), 0, bytes);
            }
            world.run_until(at(second + 1));
            if second > 0 && world.nodes[0].host.sessions() == 0 {
                assert!(second < 320, "{manner:?}");
                break;
            }
        }
        assert_eq!(world.nodes[0].host.sessions(), 0, "{manner:?}");
    }
}

#[test]
fn who_asks_for_probes_for_ever_is_sent_few() {
    let mut world = World::new(31, 1, Faults::default());
    let records = Records::of(&mut world);
    let (rogue, now) = (stranger(1), world.now);
    let object = bytes(31, 100);
    let manifest = world::manifest("object", &object);
    world.nodes[0].host.send(now, Box::new(object), manifest, &[rogue], None).expect("a session");
    world.run_until(Time::ZERO + Duration::from_us(1));
    let (mut responder, answer) = Responder::to(&psk(), &records.between(address(0), rogue)).expect("an offer");
    world.inject(rogue, 0, answer);
    world.tap = None;
    for n in 0..5000 {
        let question = responder.control(Control::AskProbes { all: true });
        world.inject_at(Time::ZERO + Duration::from_ms(1 + n), rogue, 0, question);
    }
    world.run_until(Time::ZERO + Duration::from_ms(100));
    let before = world.bytes_to[&rogue];
    world.run_until(Time::ZERO + Duration::from_secs(5));
    // 48 questions, then four a second, each for some thirty kilobytes.
    assert!((1..=1_500_000).contains(&before), "{before}");
    let later = world.bytes_to[&rogue] - before;
    assert!((1..=700_000).contains(&later), "{later}");
}

#[test]
fn a_receiver_of_a_group_that_says_anything_at_all_does_not_harm_the_others() {
    for seed in 0..30 {
        let mut random = random(seed);
        let mut world = World::new(seed, 3, Faults::default());
        let records = Records::of(&mut world);
        let object = bytes(seed, 500_000);
        let (rogue, now) = (stranger(1), world.now);
        let receivers = [address(1), rogue, address(2)];
        let manifest = world::manifest("object", &object);
        let host = &mut world.nodes[0].host;
        let id = host.send(now, Box::new(object.clone()), manifest, &receivers, None).expect("a session");
        world.run_until(Time::ZERO + Duration::from_us(1));
        let (mut responder, answer) = Responder::to(&psk(), &records.between(address(0), rogue)).expect("an offer");
        world.inject(rogue, 0, answer);
        world.tap = None;
        for n in 0..3000 {
            let mut any =
                |most: u32| if random.random_bool(0.9) { random.random_range(0..most) } else { random.random() };
            let datagram = match any(40) {
                0 => responder.control(Control::KeepAlive),
                1 => responder.control(Control::NoMulticast),
                2 => responder.control(Control::GivenUp),
                3 if seed % 3 == 1 && any(20) == 0 => responder.control(Control::Cancel),
                4 if seed % 3 == 2 && any(20) == 0 => responder.control(Control::Close { verified: true }),
                5 => responder.control(Control::AskProbes { all: any(2) == 0 }),
                6 => responder.control(Control::Probe { padding: any(1400) as u16 }),
                7 if seed % 3 == 0 && any(20) == 0 => responder.control(Control::Narrow { bytes: any(1400) as u16 }),
                _ => {
                    let (base, flags) = (if any(9) == 0 { any(6) } else { 0 }, any(4));
                    let (fin, retry) = (flags & 1 > 0, flags & 2 > 0);
                    responder.pull(&Pull {
                        block: base.saturating_add(any(6)),
                        upto: any(200),
                        base,
                        fin,
                        retry,
                        done: any(900) == 5,
                    })
                }
            };
            world.inject_at(Time::ZERO + Duration::from_us(n * 20), rogue, 0, datagram);
        }
        assert!(world.run_for(400), "seed {seed}");
        for n in [1, 2] {
            assert!(world.nodes[n].received.len() == 1 && world.nodes[n].received[0].1 == object, "seed {seed}: {n}");
        }
        let outcomes = &world.nodes[0].outcomes[&id];
        assert_eq!((&outcomes[&0], &outcomes[&2]), (&Outcome::Verified, &Outcome::Verified));
        assert_eq!(world.nodes[0].host.sessions(), 0);
    }
}

#[test]
fn messages_before_their_time_are_nothing() {
    for control in
        [Control::Cancel, Control::Close { verified: true }, Control::GivenUp, Control::KeepAlive, Control::NoMulticast]
    {
        let mut world = World::new(21, 2, Faults::default());
        let mut opener = Opener::new(&psk(), 5);
        let offer = opener.offer(manifest_of(1 << 20), parameters());
        world.inject(stranger(1), 1, offer);
        for _ in 0..1000 {
            let control = opener.control(control);
            world.inject(stranger(1), 1, control);
        }
        world.send(0, &[1], &bytes(21, 100_000), "object", None);
        assert!(world.run_for(60));
        let right = world.nodes[1].received.iter().filter(|(_, _, right)| *right).count();
        assert_eq!((right, world.nodes[1].received.len(), world.nodes[1].host.sessions()), (1, 1, 0), "{control:?}");
    }
}

#[test]
fn requests_of_unknown_kinds_of_objects_are_answered_once_each() {
    let mut world = World::new(23, 1, Faults::default());
    let mut opener = Opener::new(&psk(), 1);
    let hash = anabranch_host::wire::Object::Hash([1; 32]);
    let request = Open::Request(anabranch_host::wire::Request { object: hash, ..request("object", 1472) });
    for n in 0..100 {
        let datagram = opener.open(&request);
        world.inject_at(Time::ZERO + Duration::from_ms(n), stranger(1), 0, datagram);
    }
    assert!(world.run_for(60));
    assert_eq!(world.nodes[0].closed.len(), 1, "the application is asked once");
}
