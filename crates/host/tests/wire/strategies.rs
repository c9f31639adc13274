//! Any message that there can be.

use std::net::{IpAddr, SocketAddr};

use anabranch_host::wire::{
    Answer, Control, Cookie, HashesRepr, Held, MAX_ESI, MAX_PULLS, Object, Offer, Open, Parameters, PullRepr, Reason,
    Refusal, Request, RetryRepr, Salt, SymbolRepr,
};
use anabranch_host::{Manifest, ObjectName, PAGE_HASHES, Page, PublicKey, Signature};
use anabranch_transport::scdp::{MAX_BLOCK_SYMBOLS, Mode, Pull};
use proptest::prelude::*;

use super::message::Message;

fn symbol() -> impl Strategy<Value = Message> {
    let repr = (any::<u32>(), 0..=MAX_ESI, any::<u8>(), any::<u32>(), any::<bool>());
    (repr, prop::collection::vec(any::<u8>(), 1..1500)).prop_map(|((block, esi, lane, index, syn), payload)| {
        Message::Symbol(SymbolRepr { block, esi, lane, index, syn }, payload)
    })
}

fn pulls() -> impl Strategy<Value = Message> {
    let flags = (any::<u32>(), any::<bool>(), any::<bool>(), any::<bool>());
    let entries = prop::collection::vec(any::<(u32, u32)>(), 1..=MAX_PULLS);
    (flags, entries).prop_map(|((base, fin, retry, done), entries)| {
        let pull = |(block, upto)| Pull { block, upto, base, fin, retry, done };
        let mut pulls = PullRepr::new(&pull(entries[0]));
        for &entry in &entries[1..] {
            assert!(pulls.push(&pull(entry)), "32 fit");
        }
        Message::Pull(pulls)
    })
}

fn page() -> impl Strategy<Value = Page> {
    (1u8.., any::<u64>()).prop_map(|(level, index)| Page { level, index })
}

fn hashes() -> impl Strategy<Value = Message> {
    (page(), prop::collection::vec(any::<[u8; 32]>(), 1..=PAGE_HASHES))
        .prop_map(|(page, hashes)| Message::Hashes(HashesRepr { page, hashes }))
}

fn control() -> impl Strategy<Value = Message> {
    prop_oneof![
        Just(Control::Cancel),
        any::<bool>().prop_map(|verified| Control::Close { verified }),
        Just(Control::GivenUp),
        Just(Control::KeepAlive),
        Just(Control::NoMulticast),
        Just(Control::Detached),
        page().prop_map(Control::AskHashes),
        any::<bool>().prop_map(|all| Control::AskProbes { all }),
        (0u16..9000).prop_map(|padding| Control::Probe { padding }),
        any::<u16>().prop_map(|bytes| Control::Narrow { bytes }),
        Just(Control::AskMode),
        (0u16..=0o777).prop_map(Control::Mode),
        any::<u32>().prop_map(|first| Control::Join { first }),
    ]
    .prop_map(Message::Control)
}

fn name() -> impl Strategy<Value = ObjectName> {
    prop::collection::vec(any::<char>(), 1..255).prop_filter_map("no name", |chars| {
        let allowed = chars.into_iter().filter(|&c| !c.is_control() && c != '/' && c != '\\');
        let mut name = String::new();
        for c in allowed.take_while(|_| true) {
            if name.len() + c.len_utf8() <= 255 {
                name.push(c);
            }
        }
        ObjectName::new(&name).ok()
    })
}

fn manifest() -> impl Strategy<Value = Manifest> {
    // Objects of all sizes that 2^32 blocks of one symbol of one byte can have.
    let size = prop_oneof![0u64..10_000_000, 0u64..u64::from(u32::MAX)];
    let signature = prop::option::of(
        (any::<[u8; 32]>(), any::<[u8; 64]>())
            .prop_map(|(key, signature)| Signature { key: PublicKey(key), signature }),
    );
    (any::<[u8; 32]>(), size, name(), signature).prop_map(|(hash, size, name, signature)| Manifest {
        hash,
        size,
        name,
        signature,
    })
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let mode = prop_oneof![Just(Mode::Unicast), Just(Mode::OneToMany), Just(Mode::ManyToOne)];
    (1u16.., 1..=MAX_BLOCK_SYMBOLS as u16, 1u16.., 1u16..=256, mode).prop_map(
        |(symbol_bytes, block_symbols, window, lanes, mode)| Parameters {
            symbol_bytes,
            block_symbols,
            window,
            lanes,
            mode,
        },
    )
}

fn cookie() -> impl Strategy<Value = Cookie> {
    prop::collection::vec(any::<u8>(), 1..=64).prop_map(|bytes| Cookie::new(&bytes).expect("1 to 64 bytes"))
}

fn open() -> impl Strategy<Value = Message> {
    let group = prop::option::of((any::<IpAddr>(), any::<u16>()).prop_map(|(ip, port)| SocketAddr::new(ip, port)));
    let offer = (manifest(), parameters(), group, 1u16.., any::<u16>()).prop_map(
        |(manifest, parameters, group, receivers, index)| {
            let offer = Offer { manifest, parameters, group, receivers };
            Message::Open(index % receivers, Open::Offer(offer))
        },
    );
    let object = prop_oneof![name().prop_map(Object::Name), any::<[u8; 32]>().prop_map(Object::Hash)];
    let request = (object, any::<u16>(), 1u16..=256, 1u16.., 1200u16.., prop::option::of(cookie())).prop_map(
        |(object, lane, lanes, window, largest_packet, cookie)| {
            let request = Request { object, lane: lane % lanes, lanes, window, largest_packet, cookie };
            Message::Open(0, Open::Request(request))
        },
    );
    prop_oneof![offer, request]
}

fn answer() -> impl Strategy<Value = Message> {
    let held = prop_oneof![Just(Held::None), Just(Held::All)];
    let reason = prop::sample::select(&Reason::ALL[..]);
    prop_oneof![
        (1200u16.., held).prop_map(|(largest_packet, held)| Answer::AcceptOffer { largest_packet, held }),
        (manifest(), parameters()).prop_map(|(manifest, parameters)| Answer::AcceptRequest { manifest, parameters }),
        (reason, any::<String>()).prop_map(|(reason, text)| Answer::Refuse(Refusal::new(reason, &text))),
        any::<u64>().prop_map(|read| Answer::Wait { read }),
    ]
    .prop_map(Message::Answer)
}

fn retry() -> impl Strategy<Value = Message> {
    (any::<u32>(), any::<[u8; 16]>(), cookie())
        .prop_map(|(session, salt, cookie)| Message::Retry(RetryRepr { session, salt: Salt(salt), cookie }))
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![symbol(), pulls(), control(), open(), answer(), retry(), hashes()]
}
