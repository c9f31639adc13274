//! What was not sealed like this is an error, or a symbol that was trimmed.

use anabranch_host::wire::{
    Answer, Control, Datagram, HashesRepr, Open, PullPacket, PullRepr, Reason, VERSION, WireError,
};
use anabranch_host::{Payload, Protection, Psk, Sealer, Unsealer};
use proptest::prelude::*;

use super::examples::examples;
use super::message::{Ends, Message, OPENER_SALT, RESPONDER_SALT, SESSION, both, keyed, sealed, taken};
use super::strategies::message;

/// A symbol's header is all that a receiver of a trimmed one needs.
const HEADER: usize = 36;

#[test]
fn every_truncation_is_an_error_or_a_trim() {
    for protection in both() {
        for (name, message) in examples() {
            let whole = sealed(&protection, &message);
            assert_eq!(taken(&protection, &whole), Ok(message.clone()), "{name}");
            for length in 0..whole.len() {
                match (taken(&protection, &whole[..length]), &message) {
                    (Ok(Message::Trimmed(found)), Message::Symbol(sent, _)) if length >= HEADER => {
                        assert_eq!(found, *sent);
                    }
                    (Ok(found), _) => panic!("{name}, {length} bytes: {found:?}"),
                    (Err(_), Message::Symbol(..)) => assert!(length < HEADER),
                    (Err(_), _) => {}
                }
            }
            let longer = [&whole[..], &[0]].concat();
            assert!(taken(&protection, &longer).is_err(), "{name}");
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error() {
    for protection in both() {
        for (name, message) in examples() {
            let whole = sealed(&protection, &message);
            let lengths =
                if matches!(message, Message::Symbol(..)) { vec![HEADER, whole.len()] } else { vec![whole.len()] };
            for length in lengths {
                for bit in 0..length * 8 {
                    let mut flipped = whole[..length].to_vec();
                    flipped[bit / 8] ^= 1 << (bit % 8);
                    let found = taken(&protection, &flipped);
                    match (&message, &protection) {
                        // Nobody vouches for it: it is of another session or salt, or its cookie will not do.
                        (Message::Retry(_), _) => assert_ne!(found, Ok(message.clone())),
                        // Without a key the payload has no checksum of its own: UDP has one, and the object a hash.
                        (Message::Symbol(sent, _), Protection::None) if bit >= HEADER * 8 => {
                            assert!(matches!(found, Ok(Message::Symbol(found, _)) if found == *sent));
                        }
                        _ => assert!(found.is_err(), "{name}, {length} bytes, bit {bit}: {found:?}"),
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_change_of_any_message_is_an_error_or_a_trim(
        message in message().prop_filter("protected", |message| !matches!(message, Message::Retry(_))),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let whole = sealed(&keyed(), &message);
        let mut bytes = whole.clone();
        for (at, change) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        let found = taken(&keyed(), &bytes);
        if bytes == whole {
            prop_assert_eq!(found, Ok(message));
        } else if let Message::Symbol(symbol, _) = &message
            && bytes.len() < whole.len()
            && bytes.get(..HEADER) == Some(&whole[..HEADER])
        {
            prop_assert_eq!(found, Ok(Message::Trimmed(*symbol)));
        } else {
            prop_assert!(found.is_err());
        }
    }

    /// Bytes that look like a datagram more often than chance would have it.
    #[test]
    fn garbage_is_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..1400), kind in 0u8..8, honest in any::<bool>()) {
        if bytes.len() >= 44 {
            bytes[0] = 0x20 | kind;
            bytes[1] &= 3;
            if honest {
                let header = [0, HEADER, 24, 24, 44, 24, 44, 0][usize::from(kind)];
                let length = (bytes.len() - header) as u16;
                bytes[2..4].copy_from_slice(&length.to_be_bytes());
            }
        }
        if let Ok(packet) = Datagram::parse(&bytes) {
            let retry = matches!(packet, Datagram::Retry(_));
            for protection in both() {
                prop_assert_eq!(taken(&protection, &bytes).is_ok(), retry);
            }
        }
    }

    /// Behind the MAC, where only who has the key can send: still total, and what is taken is said in one way.
    #[test]
    fn bodies_that_are_taken_are_written_back(
        seed in 0..examples().len(),
        changes in prop::collection::vec((0usize..300, any::<u8>()), 0..3),
        length in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (_, message) = examples().swap_remove(seed);
        let header = match message {
            Message::Open(..) | Message::Answer(_) => 44,
            Message::Control(_) | Message::Hashes(_) => 24,
            _ => return Ok(()),
        };
        let mut body = sealed(&Protection::None, &message)[header..].to_vec();
        if let Some(length) = length {
            body.truncate(length.index(body.len()));
        }
        let end = body.len().max(1);
        for (at, value) in changes {
            if let Some(byte) = body.get_mut(at % end) {
                *byte = value;
            }
        }
        let written = |message| sealed(&Protection::None, &message)[header..].to_vec();
        match message {
            Message::Control(_) => {
                if let Ok(control) = Control::parse(&body) {
                    prop_assert_eq!(written(Message::Control(control)), body);
                }
            }
            Message::Hashes(_) => {
                if let Ok(hashes) = HashesRepr::parse(&body) {
                    prop_assert_eq!(written(Message::Hashes(hashes)), body);
                }
            }
            Message::Open(..) => {
                if let Ok(open) = Open::parse(&body) {
                    body.resize(body.len().max(1200 - header), 0);
                    prop_assert_eq!(written(Message::Open(0, open)), body);
                }
            }
            _ => {
                if let Ok(answer) = Answer::parse(&body) {
                    if body[0] == 3 && usize::from(body[1]) >= Reason::ALL.len() {
                        body[1] = 0; // a reason of a later version
                    }
                    prop_assert_eq!(written(Message::Answer(answer)), body);
                }
            }
        }
    }
}

#[test]
fn a_trimmed_symbol_uses_up_its_number_and_a_forged_payload_does_not() {
    for protection in both() {
        let (_, message) = examples().swap_remove(0);
        let whole = sealed(&protection, &message);
        let mut ends = Ends::new(&protection);
        assert!(matches!(ends.take(&mut whole[..HEADER + 5].to_vec()), Ok(Message::Trimmed(_))));
        assert_eq!(ends.take(&mut whole.clone()), Err(WireError::Replayed));
        assert_eq!(ends.take(&mut whole[..HEADER].to_vec()), Err(WireError::Replayed));
    }
    let (_, message) = examples().swap_remove(0);
    let whole = sealed(&keyed(), &message);
    let mut ends = Ends::new(&keyed());
    let mut forged = whole.clone();
    forged[HEADER..].fill(0);
    assert_eq!(ends.take(&mut forged), Err(WireError::Tag));
    assert_eq!(ends.take(&mut whole.clone()), Ok(message));
}

#[test]
fn other_keys_directions_salts_and_receivers_take_nothing() {
    let other_key = Protection::Psk(Psk::new([0xee; 32]).expect("not zero"));
    for (name, message) in examples().into_iter().filter(|(_, message)| !matches!(message, Message::Retry(_))) {
        let whole = sealed(&keyed(), &message);
        assert_eq!(taken(&other_key, &whole), Err(WireError::Mac), "{name}");
        assert_eq!(taken(&Protection::None, &whole), Err(WireError::Protection { sealed: true }), "{name}");
        let plain = sealed(&Protection::None, &message);
        assert_eq!(taken(&keyed(), &plain), Err(WireError::Protection { sealed: false }), "{name}");
    }
    let mut out = Vec::new();
    Sealer::new(keyed().opener(OPENER_SALT)).control(SESSION, Control::Cancel, &mut out).expect("valid");
    for keys in [
        keyed().opener(RESPONDER_SALT),
        keyed().responder(OPENER_SALT, OPENER_SALT, 0),
        keyed().responder(OPENER_SALT, RESPONDER_SALT, 0),
    ] {
        assert_eq!(Unsealer::new(keys).control(&mut out.clone()), Err(WireError::Mac));
    }
    let mut unsealer = Unsealer::new(keyed().opener(OPENER_SALT));
    // Each way of taking takes its kind alone, and what was refused can still be taken.
    assert_eq!(unsealer.pull(&mut out), Err(WireError::Kind(3)));
    assert_eq!(unsealer.open(&mut out), Err(WireError::Kind(3)));
    assert_eq!(unsealer.answer(&mut out), Err(WireError::Kind(3)));
    assert_eq!(unsealer.symbol(&mut out).err(), Some(WireError::Kind(3)));
    assert_eq!(unsealer.control(&mut out), Ok(Control::Cancel));
}

#[test]
fn a_group_hears_one_sender_and_each_receiver_has_keys_of_its_own() {
    let mut out = Vec::new();
    let mut sealer = Sealer::new(keyed().opener(OPENER_SALT));
    let (_, message) = examples().swap_remove(0);
    let Message::Symbol(symbol, payload) = message else { panic!("the first example is a symbol") };
    sealer.symbol(SESSION, &symbol, &payload, &mut out).expect("valid");
    for _ in 0..3 {
        let mut receiver = Unsealer::new(keyed().opener(OPENER_SALT));
        assert_eq!(receiver.symbol(&mut out.clone()), Ok((symbol, Payload::Whole(&payload))));
    }
}

#[test]
fn a_sealed_symbol_has_more_than_a_tag() {
    let (_, message) = examples().swap_remove(0);
    let mut bytes = sealed(&keyed(), &message);
    bytes[2..4].copy_from_slice(&16u16.to_be_bytes());
    assert_eq!(taken(&keyed(), &bytes[..52]), Err(WireError::Length));
}

#[test]
fn a_datagram_that_was_refused_can_be_tried_with_other_keys() {
    let mut out = Vec::new();
    Sealer::new(keyed().opener(OPENER_SALT)).control(SESSION, Control::Cancel, &mut out).expect("valid");
    let whole = out.clone();
    assert_eq!(Unsealer::new(keyed().opener(RESPONDER_SALT)).control(&mut out), Err(WireError::Mac));
    assert_eq!(out, whole);
    assert_eq!(Unsealer::new(keyed().opener(OPENER_SALT)).control(&mut out), Ok(Control::Cancel));
}

/// One field at a time, at its place in a body or datagram that is right.
#[test]
fn impossible_fields_are_errors() {
    let plain = |name: &str| {
        let message = examples().into_iter().find(|(other, _)| *other == name).expect("one of them").1;
        sealed(&Protection::None, &message)
    };
    let changed = |mut bytes: Vec<u8>, at: usize, value: &[u8]| {
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let error = WireError::Field;

    let request = plain("open-request-hash").split_off(44);
    for (at, value, field) in [
        (0, &[3][..], "opening message"),
        (1, &[3], "object"),
        (34, &[0, 3], "lane"), // of 3
        (36, &[0, 0], "lane"),
        (36, &[1, 1], "lane"),
        (38, &[0, 0], "window"),
        (40, &[0x04, 0xaf], "largest packet"),
        (42, &[65], "cookie"),
        (43, &[1], "padding"),
    ] {
        assert_eq!(Open::parse(&changed(request.clone(), at, value)), Err(error(field)), "{at} {value:?}");
    }
    assert!(Open::parse(&changed(request.clone(), 34, &[0, 2])).is_ok());
    assert!(Open::parse(&changed(request, 40, &[0x04, 0xb0])).is_ok());
    let named = plain("open-request").split_off(44);
    assert_eq!(Open::parse(&changed(named, 5, b"/")), Err(error("name")));

    // Message, hash, size, name of 9 bytes, no signature; parameters; no group; receivers.
    let offer = plain("open-offer-unicast").split_off(44);
    for (at, value, field) in [
        (33, &[255; 8][..], "size"),
        (42, &[0xff], "text"),
        (42, b"\\", "name"),
        (51, &[2], "neither yes nor no"),
        (52, &[0, 0], "options"),
        (60, &[3], "mode"),
        (61, &[5], "group"),
        (62, &[0, 0], "receivers"),
    ] {
        assert_eq!(Open::parse(&changed(offer.clone(), at, value)), Err(error(field)), "{at} {value:?}");
    }

    let answer = plain("answer-offer").split_off(44);
    for (at, value, field) in
        [(0, &[5][..], "answer"), (1, &[0x04, 0xaf], "largest packet"), (3, &[2], "neither yes nor no")]
    {
        assert_eq!(Answer::parse(&changed(answer.clone(), at, value)), Err(error(field)));
    }
    assert_eq!(Answer::parse(&[&answer[..], &[0]].concat()), Err(WireError::Length));
    assert_eq!(Control::parse(&[12]), Err(error("control message")));
    assert_eq!(Control::parse(&[9, 2]), Err(error("neither yes nor no")));
    assert_eq!(Control::parse(&[10, 0, 2, 0, 0]), Ok(Control::Probe { padding: 2 }));
    assert_eq!(Control::parse(&[10, 0, 2, 0, 1]), Err(error("padding")));
    assert_eq!(Control::parse(&[10, 0, 2, 0]), Err(WireError::Length));
    assert_eq!(Control::parse(&[10, 0, 2, 0, 0, 0]), Err(WireError::Length));
    assert_eq!(Control::parse(&[11, 0]), Err(WireError::Length));
    assert_eq!(Control::parse(&[17, 2, 0]), Err(error("mode")), "set-user-ID is nobody's business");
    assert_eq!(Control::parse(&[17, 1]), Err(WireError::Length));
    assert_eq!(Control::parse(&[8, 0, 0, 0]), Err(WireError::Length));
    assert_eq!(Control::parse(&[7]), Err(WireError::Length));
    assert_eq!(Control::parse(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(error("level")));

    let hashes = plain("hashes").split_off(24);
    for (at, value, expected) in [
        (0, 0, error("level")),
        (1, 0, error("number of hashes")),
        (1, 33, error("number of hashes")),
        (1, 1, WireError::Length),
        (1, 3, WireError::Length),
    ] {
        assert_eq!(HashesRepr::parse(&changed(hashes.clone(), at, &[value])), Err(expected), "{at} {value}");
    }
    assert_eq!(Control::parse(&[0]), Err(error("control message")));
    assert_eq!(Control::parse(&[1, 0]), Err(WireError::Length));

    let pull = plain("pull");
    let pulls = |bytes: &[u8]| PullRepr::parse(&PullPacket::new(bytes).expect("lengths are right"));
    assert!(pulls(&pull).is_ok());
    for reserved in 29..32 {
        assert_eq!(pulls(&changed(pull.clone(), reserved, &[1])), Err(error("reserved")));
    }
    assert_eq!(pulls(&changed(pull.clone(), 28, &[0])), Err(error("number of pulls")));
    assert_eq!(pulls(&changed(pull.clone(), 28, &[33])), Err(error("number of pulls")));
    assert_eq!(pulls(&changed(pull.clone(), 28, &[1])), Err(WireError::Length));
    assert_eq!(pulls(&changed(pull, 28, &[3])), Err(WireError::Length));
    for (name, at) in [("open-offer", 42), ("answer-offer", 43)] {
        assert_eq!(Datagram::parse(&changed(plain(name), at, &[1])).err(), Some(error("reserved")));
    }
    let mut retry = plain("retry");
    retry.resize(24 + 65, 0);
    retry[3] = 65;
    assert_eq!(Datagram::parse(&retry).err(), Some(error("cookie")));
    retry.truncate(24);
    retry[3] = 0;
    assert_eq!(Datagram::parse(&retry).err(), Some(error("cookie")));
}

#[test]
fn the_index_is_that_of_a_receiver_that_there_is() {
    for (name, message) in examples() {
        let Message::Open(_, open) = message else { continue };
        let receivers = if name.starts_with("open-offer") { 3 } else { 1 };
        for index in 0..5 {
            let message = Message::Open(index, open.clone());
            let expected = if index < receivers { Ok(message.clone()) } else { Err(WireError::Field("index")) };
            assert_eq!(taken(&keyed(), &sealed(&keyed(), &message)), expected, "{name}");
        }
    }
}

#[test]
fn the_prefix_says_what_is_wrong() {
    let error = |bytes: &[u8]| Datagram::parse(bytes).expect_err("wrong");
    assert_eq!(error(&[]), WireError::Truncated);
    assert_eq!(error(&[0x23; 7]), WireError::Truncated);
    assert_eq!(error(&[0x23; 23]), WireError::Flags(0x23));
    assert_eq!(error(&[0x13; 40]), WireError::Version { found: 1, ours: VERSION });
    assert_eq!(error(&[0x34; 40]), WireError::Version { found: 3, ours: VERSION });
    assert_eq!(error(&[0x20; 40]), WireError::Kind(0));
    assert_eq!(error(&[0x28; 40]), WireError::Kind(8));
    assert_eq!(error(&[0x23, 0, 0, 0, 0, 0, 0, 0]), WireError::Truncated);
    let mut symbol = [0; 60];
    symbol[0] = 0x21;
    assert_eq!(error(&symbol[..36]), WireError::Length, "a symbol of no bytes");
    symbol[3] = 23;
    assert_eq!(error(&symbol), WireError::Length, "longer than declared");
    symbol[1] = 4;
    assert_eq!(error(&symbol), WireError::Flags(4));
}
