//! Attacks of servers that send bytes which are not of the object, or hashes that are not. Here nothing is sealed, so that datagrams can be changed on
//! their way: what the receiver sees is what a server with the key could have sent.

use std::net::SocketAddr;

use anabranch_host::wire::{Datagram, SymbolRepr};
use anabranch_host::{Failure, HostConfig, Outcome, Protection};
use anabranch_raptorq::{PlanCache, SourceBlockEncoder};
use anabranch_transport::Duration;

use crate::world::{self, Faults, World, address, bytes, manifest};

/// Symbols of a source block, but for the last ones.
const K: u32 = 100;

/// A host that fetches, and servers that have the object.
fn world_with_servers(seed: u64, servers: &[usize], object: &[u8], faults: Faults) -> World {
    let mut world = World::with(seed, 4, faults, |_| HostConfig::new(Protection::None));
    for &n in servers {
        world.nodes[n].objects.insert("object".to_owned(), object.to_vec());
    }
    world
}

/// Changes the symbols of a host that `is_wrong`.
fn tamper(of: SocketAddr, mut is_wrong: impl FnMut(&SymbolRepr) -> bool + 'static) -> world::Tamper {
    Box::new(move |from, bytes| {
        let symbol = match Datagram::parse(bytes) {
            Ok(Datagram::Symbol(packet)) => SymbolRepr::parse(&packet),
            _ => return,
        };
        if from == of && is_wrong(&symbol) {
            bytes[40] ^= 0x55;
        }
    })
}

/// Which symbols are wrong.
type IsWrong = fn(&SymbolRepr) -> bool;

#[test]
fn a_rogue_among_three_servers_is_named_and_the_others_deliver() {
    let object = bytes(51, 6_000_000);
    let ways: [(&str, IsWrong, f64); 5] = [
        ("all", |_| true, 0.0),
        ("one in fifty", |symbol| (symbol.block * 31 + symbol.esi) % 50 < 3, 0.0),
        ("from some block on", |symbol| symbol.block >= 20, 0.01),
        ("repair symbols alone", |symbol| symbol.esi >= K, 0.03),
        ("only where it is not found out by being asked alone", |symbol| symbol.esi < 50, 0.01),
    ];
    for (way, is_wrong, loss) in ways {
        for rogue in [1, 2, 3] {
            let faults = Faults { loss, jitter: Duration::from_us(50), ..Faults::default() };
            let mut world = world_with_servers(rogue as u64, &[1, 2, 3], &object, faults);
            world.tamper = Some(tamper(address(rogue), is_wrong));
            world.fetch(0, &[1, 2, 3], "object");
            assert!(world.run_for(60), "{way}");
            let node = &world.nodes[0];
            assert!(node.failures.is_empty() && node.received[0].1 == object, "{way}: {:?}", node.failures);
            let [(peer, why)] = &*node.excluded else { panic!("{way}, {rogue}: {:?}", node.excluded) };
            assert_eq!((*peer, &**why), (address(rogue), "sent bytes that are not of the object"), "{way}");
            let outcome = world.nodes[rogue].outcomes.values().flat_map(|outcomes| outcomes.values()).next();
            assert_eq!(outcome, Some(&Outcome::Failed(Failure::Hash)), "{way}: it is told, its memory may be broken");
            let arrived = node.bytes_arrived as f64 / object.len() as f64;
            assert!(arrived < 5.0, "{way}: {arrived} times the object has come");
        }
    }
}

#[test]
fn a_rogue_that_withholds_what_it_alone_is_asked_for_does_not_stop_the_others() {
    let object = bytes(62, 6_000_000);
    let mut named = 0;
    for rogue in [1, 2, 3] {
        for seed in 8..11 {
            let mut world = world_with_servers(seed, &[1, 2, 3], &object, Faults::default());
            world.tamper = Some(Box::new(move |from, bytes| {
                let symbol = match Datagram::parse(bytes) {
                    Ok(Datagram::Symbol(packet)) => SymbolRepr::parse(&packet),
                    _ => return,
                };
                // Wrong at first, so that the block is fetched again; then headers alone.
                if from == address(rogue) && symbol.block == 3 {
                    if symbol.esi < K { bytes[40] ^= 0x55 } else { bytes.truncate(80) }
                }
            }));
            world.fetch(0, &[1, 2, 3], "object");
            assert!(world.run_for(60), "{rogue} {seed}");
            let node = &world.nodes[0];
            assert!(node.failures.is_empty() && node.received[0].1 == object, "{rogue} {seed}: {:?}", node.failures);
            assert_eq!(node.excluded.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [address(rogue)]);
            assert!(node.withheld.iter().all(|peer| *peer == address(rogue)), "{rogue} {seed}: {:?}", node.withheld);
            named += node.withheld.len();
        }
    }
    assert!(
        (1..=9).contains(&named),
        "who is asked alone is drawn by lot: {named} times it was the one, and is named once each time"
    );
}

#[test]
fn a_server_whose_answer_makes_no_sense_does_not_keep_a_fetch_from_the_others() {
    let object = bytes(63, 3_000_000);
    for rogue in [1, 2, 3] {
        let mut world = world_with_servers(rogue as u64, &[1, 2, 3], &object, Faults::default());
        world.nodes[rogue].claims = Some(manifest("another", &object));
        world.fetch(0, &[1, 2, 3], "object");
        assert!(world.run_for(60));
        let node = &world.nodes[0];
        assert!(node.failures.is_empty() && node.received[0].1 == object, "{rogue}: {:?}", node.failures);
        assert_eq!(node.excluded, [(address(rogue), "its answer makes no sense".to_owned())]);
    }
}

#[test]
fn two_rogues_among_three_servers_are_named() {
    let object = bytes(52, 3_000_000);
    for honest in [1, 2, 3] {
        let mut world = world_with_servers(honest as u64, &[1, 2, 3], &object, Faults::default());
        world.tamper = Some(Box::new(move |from, bytes| {
            if from != address(honest) && matches!(Datagram::parse(bytes), Ok(Datagram::Symbol(_))) {
                bytes[50] ^= 1;
            }
        }));
        world.fetch(0, &[1, 2, 3], "object");
        assert!(world.run_for(60));
        assert!(world.nodes[0].received[0].1 == object);
        let mut excluded: Vec<SocketAddr> = world.nodes[0].excluded.iter().map(|(peer, _)| *peer).collect();
        excluded.sort_unstable();
        let expected: Vec<SocketAddr> = [1, 2, 3].into_iter().filter(|&n| n != honest).map(address).collect();
        assert_eq!(excluded, expected);
    }
}

#[test]
fn servers_that_all_send_wrong_symbols_are_all_named() {
    let object = bytes(53, 3_000_000);
    let mut world = world_with_servers(1, &[1, 2, 3], &object, Faults::default());
    world.tamper = Some(Box::new(|_, bytes| {
        if matches!(Datagram::parse(bytes), Ok(Datagram::Symbol(_))) {
            bytes[50] ^= 1;
        }
    }));
    world.fetch(0, &[1, 2, 3], "object");
    assert!(world.run_for(60));
    assert!(world.nodes[0].received.is_empty());
    let [(_, Failure::Refused(why))] = &*world.nodes[0].failures else { panic!("{:?}", world.nodes[0].failures) };
    (1..4).for_each(|n| assert!(why.contains(&format!("{}: sent bytes", address(n))), "{why}"));
}

#[test]
fn a_rogue_alone_is_found_out_at_its_first_block() {
    let object = bytes(54, 30_000_000);
    for first_wrong in [0, 50] {
        let mut world = world_with_servers(2, &[1], &object, Faults::default());
        world.tamper = Some(tamper(address(1), move |symbol| symbol.block >= first_wrong && symbol.esi == 7));
        world.fetch(0, &[1], "object");
        assert!(world.run_for(60));
        let node = &world.nodes[0];
        let failures: Vec<_> = node.failures.iter().map(|(_, failure)| failure.clone()).collect();
        assert_eq!(failures, [Failure::WrongBytes { peer: address(1) }]);
        let most = (first_wrong as usize + 10) * 142_000;
        assert!(node.received.is_empty() && node.bytes_arrived < most, "{} bytes came", node.bytes_arrived);
        let outcome = world.nodes[1].outcomes.values().flat_map(|outcomes| outcomes.values()).next();
        assert_eq!(outcome, Some(&Outcome::Failed(Failure::Hash)));
    }
}

#[test]
fn forged_hashes_are_seen_and_their_sender_named() {
    let object = bytes(55, 9_000_000);
    let mut world = world_with_servers(3, &[1, 3], &object, Faults::default());
    // It announces the object, has another one, and tells hashes of that.
    world.nodes[2].objects.insert("object".to_owned(), bytes(56, 9_000_000));
    world.nodes[2].claims = Some(manifest("object", &object));
    world.fetch(0, &[1, 2, 3], "object");
    assert!(world.run_for(60));
    assert!(world.nodes[0].received[0].1 == object);
    assert_eq!(world.nodes[0].excluded.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [address(2)]);
}

#[test]
fn servers_that_tell_no_hashes_are_done_without() {
    let object = bytes(57, 9_000_000);
    for (silent, works) in [(vec![1], true), (vec![1, 3], true), (vec![1, 2, 3], false)] {
        let mut world = world_with_servers(4, &[1, 2, 3], &object, Faults::default());
        let mute: Vec<SocketAddr> = silent.iter().map(|&n| address(n)).collect();
        world.filter = Some(Box::new(move |from, _, bytes| {
            !(mute.contains(&from) && matches!(Datagram::parse(bytes), Ok(Datagram::Hashes(_))))
        }));
        world.fetch(0, &[1, 2, 3], "object");
        assert!(world.run_for(60), "{silent:?}");
        let node = &world.nodes[0];
        assert_eq!(node.received.len(), usize::from(works), "{silent:?}");
        if !works {
            let failures: Vec<_> = node.failures.iter().map(|(_, failure)| failure).collect();
            let all = vec![address(1), address(2), address(3)];
            assert_eq!(failures, [&Failure::NoHashes { from: all }]);
            let text = failures[0].to_string();
            assert!(text.contains("hashes") && text.contains("10.0.0.2:7000, 10.0.0.3:7000"), "{text}");
            assert!(node.bytes_arrived < 12_000_000, "what cannot be checked is not asked for");
        }
    }
}

/// Bytes of a symbol's datagram before its content, where nothing is sealed.
const BEFORE_CONTENT: usize = 36;

#[test]
fn nobody_is_blamed_for_padding_that_another_has_chosen() {
    // Of the last symbol 700 bytes are padding, which the hash does not cover.
    let (k, symbol_bytes) = (89, 1420);
    let object = bytes(61, k * symbol_bytes - 700);
    let mut padded = object.clone();
    padded.resize(k * symbol_bytes, 0x77);
    let mut named = 0;
    for rogue in [1, 2, 3] {
        let faults = Faults { loss: 0.1, jitter: Duration::from_us(50), ..Faults::default() };
        let mut world = world_with_servers(7, &[1, 2, 3], &object, faults);
        let plan = PlanCache::global().plan(k as u32).expect("a plan");
        let mut encoder = SourceBlockEncoder::new(plan, k as u32, symbol_bytes).expect("an encoder");
        encoder.load(&padded).expect("of that size");
        // All that the rogue sends is of the object, with another padding.
        world.tamper = Some(Box::new(move |from, bytes| {
            let symbol = match Datagram::parse(bytes) {
                Ok(Datagram::Symbol(packet)) => SymbolRepr::parse(&packet),
                _ => return,
            };
            if from == address(rogue) {
                bytes.resize(BEFORE_CONTENT + symbol_bytes, 0);
                encoder.encode_into(symbol.esi, &mut bytes[BEFORE_CONTENT..]).expect("a symbol");
                bytes[2..4].copy_from_slice(&(symbol_bytes as u16).to_be_bytes());
            }
        }));
        world.fetch(0, &[1, 2, 3], "object");
        assert!(world.run_for(120), "{rogue}");
        let node = &world.nodes[0];
        assert!(node.failures.is_empty() && node.received[0].1 == object, "{rogue}: {:?}", node.failures);
        // What was decoded without its repair symbols may be right.
        assert!(node.excluded.iter().all(|(peer, _)| *peer == address(rogue)), "{rogue}: {:?}", node.excluded);
        named += node.excluded.len();
    }
    assert!(named > 0, "no block was wrong at first, so that nothing is shown");
}

#[test]
fn an_object_of_one_block_is_checked_where_it_is_resumed() {
    let object = bytes(60, 400_000);
    for servers in [&[1][..], &[1, 2, 3]] {
        let mut world = World::with(5, 4, Faults::default(), |_| {
            let mut config = HostConfig::new(Protection::None);
            config.block_symbols = 1000;
            config
        });
        for &n in servers {
            world.nodes[n].objects.insert("object".to_owned(), object.clone());
        }
        world.nodes[0].begun = object[..140_000].to_vec();
        world.tamper = Some(tamper(address(1), |symbol| symbol.esi >= 100));
        world.fetch(0, servers, "object");
        assert!(world.run_for(60));
        let node = &world.nodes[0];
        if servers.len() == 1 {
            let failures: Vec<_> = node.failures.iter().map(|(_, failure)| failure).collect();
            assert_eq!(failures, [&Failure::WrongBytes { peer: address(1) }]);
            assert!(node.received.is_empty(), "nothing wrong is handed over");
        } else {
            assert!(node.received[0].1 == object);
            assert_eq!(node.excluded.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), [address(1)]);
        }
    }
}
