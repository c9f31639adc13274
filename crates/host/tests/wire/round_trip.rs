//! What is sealed is taken, once, in whatever order.

use anabranch_host::wire::{Datagram, MAX_PULLS, MIN_OPEN_BYTES, PullRepr, SymbolRepr, WireError};
use anabranch_host::{MAX_DATAGRAMS, Protection, SealError, Sealer};
use anabranch_transport::scdp::{Options, Pull};
use proptest::prelude::*;

use super::examples::{examples, parameters};
use super::message::{Ends, Message, OPENER_SALT, SESSION, both, keyed};
use super::strategies::message;

proptest! {
    #[test]
    fn messages_come_back_as_they_were(
        messages in prop::collection::vec(message(), 1..8),
        order in any::<prop::sample::Index>(),
        key in any::<bool>(),
    ) {
        let protection = if key { keyed() } else { Protection::None };
        let mut ends = Ends::new(&protection);
        // All in one buffer, as for one call to the kernel.
        let (mut buffer, mut starts) = (Vec::new(), vec![0]);
        for message in &messages {
            ends.seal(message, &mut buffer);
            starts.push(buffer.len());
        }
        let mut datagrams: Vec<_> = starts.windows(2).map(|w| buffer[w[0]..w[1]].to_vec()).zip(&messages).collect();
        let first = order.index(datagrams.len());
        datagrams.rotate_left(first);
        for (datagram, message) in datagrams {
            if let Message::Open(..) = message {
                prop_assert!(datagram.len() >= MIN_OPEN_BYTES);
            }
            prop_assert_eq!(&ends.take(&mut datagram.clone()), &Ok(message.clone()));
            let again = ends.take(&mut datagram.clone());
            match message {
                // What opens a session is taken by keys of its own here, and nobody vouches for a retry.
                Message::Open(..) | Message::Answer(_) | Message::Retry(_) => prop_assert!(again.is_ok()),
                _ => prop_assert_eq!(again, Err(WireError::Replayed)),
            }
        }
    }
}

#[test]
fn views_tell_what_anyone_can_read() {
    for protection in both() {
        let mut ends = Ends::new(&protection);
        let mut numbers = [0; 2];
        for (name, message) in examples() {
            let mut bytes = Vec::new();
            ends.seal(&message, &mut bytes);
            let mut next = |direction: usize| {
                numbers[direction] += 1;
                numbers[direction] - 1
            };
            let prefix = match (Datagram::parse(&bytes).expect(name), &message) {
                (Datagram::Symbol(packet), Message::Symbol(symbol, payload)) => {
                    assert_eq!((SymbolRepr::parse(&packet), packet.number()), (*symbol, next(0)));
                    assert_eq!(packet.payload().starts_with(payload), matches!(protection, Protection::None));
                    assert!(!packet.is_trimmed());
                    packet.prefix()
                }
                (Datagram::Pull(packet), Message::Pull(pulls)) => {
                    assert_eq!((PullRepr::parse(&packet), packet.number()), (Ok(*pulls), next(1)));
                    packet.prefix()
                }
                (Datagram::Control(packet), Message::Control(_)) | (Datagram::Hashes(packet), Message::Hashes(_)) => {
                    assert_eq!(packet.number(), next(0));
                    packet.prefix()
                }
                (Datagram::Open(packet), Message::Open(index, _)) => {
                    assert_eq!((packet.number(), packet.index(), packet.salt()), (next(0), *index, OPENER_SALT));
                    packet.prefix()
                }
                (Datagram::Answer(packet), Message::Answer(_)) => {
                    assert_eq!(packet.number(), next(1));
                    packet.prefix()
                }
                (Datagram::Retry(packet), Message::Retry(_)) => {
                    assert!(!packet.prefix().sealed());
                    assert_eq!(packet.prefix().session, SESSION);
                    continue;
                }
                (packet, _) => panic!("{name} became {packet:?}"),
            };
            assert_eq!((prefix.session, prefix.sealed()), (SESSION, !matches!(protection, Protection::None)), "{name}");
        }
    }
}

#[test]
fn pulls_of_one_packet_share_flags_and_base() {
    let pull = Pull { block: 1, upto: 2, base: 3, fin: true, retry: false, done: true };
    let mut pulls = PullRepr::new(&pull);
    for other in [
        Pull { base: 4, ..pull },
        Pull { fin: false, ..pull },
        Pull { retry: true, ..pull },
        Pull { done: false, ..pull },
    ] {
        assert!(!pulls.push(&other));
    }
    let more: Vec<_> = (1..MAX_PULLS as u32).map(|block| Pull { block, upto: block * 7, ..pull }).collect();
    assert!(more.iter().all(|more| pulls.push(more)));
    assert!(!pulls.push(&pull), "full");
    assert!(pulls.pulls().eq([pull].into_iter().chain(more)));
}

#[test]
fn symbols_become_the_transports_again() {
    let options = parameters(anabranch_transport::scdp::Mode::Unicast).options(1_000_000).expect("valid");
    let repr = SymbolRepr { block: 1, esi: 2, lane: 3, index: 4, syn: true };
    assert_eq!(SymbolRepr::new(&repr.symbol(options), 3), repr);
    assert_eq!(Options { object_bytes: 0, ..options }.window, 12);
}

#[test]
fn what_cannot_be_sealed_is_refused_and_uses_no_number() {
    let symbol = SymbolRepr { block: 0, esi: (1 << 24) - 1, lane: 0, index: 0, syn: false };
    for protection in both() {
        let mut sealer = Sealer::new(protection.opener(OPENER_SALT));
        let most = 65_507 - sealer.symbol_overhead();
        let mut out = vec![1, 2, 3];
        let mut seal = |symbol: &SymbolRepr, bytes: usize| sealer.symbol(SESSION, symbol, &vec![9; bytes], &mut out);
        assert_eq!(seal(&symbol, 0), Err(SealError::Payload(0)));
        assert_eq!(seal(&symbol, most + 1), Err(SealError::Payload(most + 1)));
        assert_eq!(seal(&SymbolRepr { esi: 1 << 24, ..symbol }, 1), Err(SealError::Esi(1 << 24)));
        assert_eq!(seal(&symbol, most), Ok(()));
        assert_eq!((out.len(), sealer.datagrams()), (3 + 65_507, 1));
    }
    const { assert!(MAX_DATAGRAMS < 1 << 63) };
}
