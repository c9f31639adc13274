//! Any bytes as a datagram, as the body of one, and as a change of a genuine one.
#![no_main]

use anabranch_host::wire::{Answer, Control, Datagram, HashesRepr, Open, PullRepr, RetryRepr, Salt, SymbolRepr};
use anabranch_host::{Payload, Protection, Psk, Sealer, Unsealer};
use libfuzzer_sys::fuzz_target;

const OPENER: Salt = Salt([0xa0; 16]);
const RESPONDER: Salt = Salt([0xb0; 16]);
const SESSION: u32 = 0x0bad_cafe;
const SYMBOL: SymbolRepr = SymbolRepr { block: 7, esi: 9, lane: 1, index: 4, syn: false };

fuzz_target!(|input: &[u8]| {
    let Some((&way, bytes)) = input.split_first() else { return };
    let protection = if way & 1 == 0 {
        Protection::Psk(Psk::new(std::array::from_fn(|i| i as u8)).unwrap())
    } else {
        Protection::None
    };
    match way >> 1 & 3 {
        0 => datagram(&protection, bytes),
        1 => body(&protection, bytes),
        2 => genuine_mac(&protection, bytes),
        _ => changed(&protection, bytes),
    }
});

/// Every way to take a datagram: whatever comes, one kind at most takes it, and none twice.
fn datagram(protection: &Protection, bytes: &[u8]) {
    let parsed = Datagram::parse(bytes);
    let (mut opener, mut responder) = (OPENER, RESPONDER);
    let mut index = 2;
    match &parsed {
        Ok(Datagram::Symbol(packet)) => {
            SymbolRepr::parse(packet);
            assert!(packet.payload().len() <= usize::from(packet.prefix().length));
        }
        Ok(Datagram::Pull(packet)) => {
            if let Ok(pulls) = PullRepr::parse(packet) {
                assert!((1..=32).contains(&pulls.pulls().len()));
            }
        }
        Ok(Datagram::Retry(packet)) => {
            let mut out = Vec::new();
            RetryRepr::parse(packet).emit(&mut out);
            assert_eq!(out, bytes);
        }
        Ok(Datagram::Open(packet)) => opener = packet.salt(),
        Ok(Datagram::Answer(packet)) => (responder, index) = (packet.salt(), packet.index()),
        Ok(Datagram::Control(_) | Datagram::Hashes(_)) | Err(_) => {}
    }
    for keys in [|p: &Protection, o, _, _| p.opener(o), |p: &Protection, o, r, i| p.responder(o, r, i)] {
        let mut unsealer = Unsealer::new(keys(protection, opener, responder, index));
        if take(&mut unsealer, bytes) {
            assert!(parsed.is_ok());
            assert!(!take(&mut unsealer, bytes), "taken twice");
        }
    }
}

/// Each way gets a copy: opening changes bytes.
fn take(unsealer: &mut Unsealer, bytes: &[u8]) -> bool {
    let took = [
        unsealer.symbol(&mut bytes.to_vec()).is_ok(),
        unsealer.pull(&mut bytes.to_vec()).is_ok(),
        unsealer.control(&mut bytes.to_vec()).is_ok(),
        unsealer.open(&mut bytes.to_vec()).is_ok(),
        unsealer.answer(&mut bytes.to_vec()).is_ok(),
        unsealer.hashes(&mut bytes.to_vec()).is_ok(),
    ];
    assert!(took.iter().filter(|&&took| took).count() <= 1);
    took.contains(&true)
}

/// What a parser takes is sealed and taken again.
fn body(protection: &Protection, bytes: &[u8]) {
    let mut out = Vec::new();
    if let Ok(control) = Control::parse(bytes) {
        Sealer::new(protection.opener(OPENER)).control(SESSION, control, &mut out).unwrap();
        assert_eq!(Unsealer::new(protection.opener(OPENER)).control(&mut out), Ok(control));
    }
    if let Ok(open) = Open::parse(bytes) {
        out.clear();
        Sealer::new(protection.opener(OPENER)).open(SESSION, 0, &open, &mut out).unwrap();
        assert_eq!(Unsealer::new(protection.opener(OPENER)).open(&mut out), Ok(open));
    }
    if let Ok(hashes) = HashesRepr::parse(bytes) {
        out.clear();
        Sealer::new(protection.opener(OPENER)).hashes(SESSION, &hashes, &mut out).unwrap();
        assert_eq!(Unsealer::new(protection.opener(OPENER)).hashes(&mut out), Ok(hashes));
    }
    if let Ok(answer) = Answer::parse(bytes) {
        out.clear();
        let keys = || protection.responder(OPENER, RESPONDER, 2);
        Sealer::new(keys()).answer(SESSION, &answer, &mut out).unwrap();
        assert_eq!(Unsealer::new(keys()).answer(&mut out), Ok(answer));
    }
}

/// A symbol of these bytes comes back as they were.
fn genuine_mac(protection: &Protection, bytes: &[u8]) {
    let mut out = Vec::new();
    if Sealer::new(protection.opener(OPENER)).symbol(SESSION, &SYMBOL, bytes, &mut out).is_ok() {
        let mut unsealer = Unsealer::new(protection.opener(OPENER));
        let mut trimmed = out[..36 + (out.len() - 36) / 2].to_vec();
        assert_eq!(unsealer.symbol(&mut out), Ok((SYMBOL, Payload::Whole(bytes))));
        assert!(unsealer.symbol(&mut trimmed).is_err(), "taken twice");
        assert_eq!(Unsealer::new(protection.opener(OPENER)).symbol(&mut trimmed), Ok((SYMBOL, Payload::Trimmed)));
    }
}

/// A genuine symbol, with some of its bytes replaced: pairs of place and value.
fn changed(protection: &Protection, changes: &[u8]) {
    let mut genuine = Vec::new();
    Sealer::new(protection.opener(OPENER)).symbol(SESSION, &SYMBOL, b"an encoding symbol", &mut genuine).unwrap();
    let mut bytes = genuine.clone();
    for pair in changes.chunks_exact(2) {
        let at = usize::from(pair[0]) % bytes.len();
        bytes[at] = pair[1];
    }
    let header_same = bytes[..36] == genuine[..36];
    let all_same = bytes == genuine;
    let taken = Unsealer::new(protection.opener(OPENER)).symbol(&mut bytes).is_ok();
    // Without a key nothing covers the payload.
    let expected = all_same || header_same && matches!(protection, Protection::None);
    assert_eq!(taken, expected);
}
