//! One message of each kind, and of each way to say it: those of the page, and the first inputs of the fuzz target.

use anabranch_host::wire::{
    Answer, Control, Cookie, HashesRepr, Held, Object, Offer, Open, Parameters, PullRepr, Reason, Refusal, Request,
    RetryRepr, SymbolRepr,
};
use anabranch_host::{Manifest, ObjectName, Page, SigningKey};
use anabranch_transport::scdp::{Mode, Pull};

use super::message::{INDEX, Message, OPENER_SALT, SESSION};

pub(crate) fn manifest() -> Manifest {
    let name = ObjectName::new("model.bin").expect("a name");
    Manifest { hash: [0x5a; 32], size: 1_000_000, name, signature: None }
}

pub(crate) fn parameters(mode: Mode) -> Parameters {
    Parameters { symbol_bytes: 1400, block_symbols: 100, window: 12, lanes: 1, mode }
}

fn request(cookie: Option<Cookie>, object: Object) -> Message {
    let request = Request { object, lane: 1, lanes: 3, window: 6, largest_packet: 1472, cookie };
    Message::Open(0, Open::Request(request))
}

/// Name and message. Names that begin alike are of the same kind.
pub(crate) fn examples() -> Vec<(&'static str, Message)> {
    let symbol = SymbolRepr { block: 7, esi: 0x01_0203, lane: 1, index: 21, syn: true };
    let pull = |block, upto| Pull { block, upto, base: 6, fin: false, retry: true, done: false };
    let mut pulls = PullRepr::new(&pull(7, 22));
    assert!(pulls.push(&pull(9, 3)));
    let mut signed = manifest();
    signed.sign(&SigningKey::from_seed(&[0x77; 32]));
    let offer = |manifest, group: Option<&str>| {
        let group = group.map(|group| group.parse().expect("an address"));
        let parameters = parameters(Mode::OneToMany);
        Message::Open(INDEX, Open::Offer(Offer { manifest, parameters, group, receivers: 3 }))
    };
    let cookie = Cookie::new(&[0xc0; 16]);
    let name = || Object::Name(ObjectName::new("model.bin").expect("a name"));
    vec![
        ("symbol", Message::Symbol(symbol, b"an encoding symbol".to_vec())),
        ("pull", Message::Pull(pulls)),
        ("control-close", Message::Control(Control::Close { verified: true })),
        ("control-cancel", Message::Control(Control::Cancel)),
        ("control-given-up", Message::Control(Control::GivenUp)),
        ("control-keep-alive", Message::Control(Control::KeepAlive)),
        ("control-ask-probes", Message::Control(Control::AskProbes { all: true })),
        ("control-probe", Message::Control(Control::Probe { padding: 12 })),
        ("control-narrow", Message::Control(Control::Narrow { bytes: 1372 })),
        ("control-ask-hashes", Message::Control(Control::AskHashes(Page { level: 1, index: 2 }))),
        ("control-ask-mode", Message::Control(Control::AskMode)),
        ("control-mode", Message::Control(Control::Mode(0o640))),
        ("open-offer", offer(manifest(), Some("239.1.2.3:4000"))),
        ("open-offer-signed", offer(signed.clone(), Some("[ff15::1]:4000"))),
        ("open-offer-unicast", offer(manifest(), None)),
        ("open-request", request(cookie.clone(), name())),
        ("open-request-hash", request(None, Object::Hash([0x5a; 32]))),
        ("retry", Message::Retry(RetryRepr { session: SESSION, salt: OPENER_SALT, cookie: cookie.expect("16 bytes") })),
        ("answer-offer", Message::Answer(Answer::AcceptOffer { largest_packet: 1472, held: Held::None })),
        (
            "answer-request",
            Message::Answer(Answer::AcceptRequest { manifest: signed, parameters: parameters(Mode::Unicast) }),
        ),
        (
            "hashes",
            Message::Hashes(HashesRepr { page: Page { level: 1, index: 2 }, hashes: vec![[0x1a; 32], [0x1b; 32]] }),
        ),
        ("answer-wait", Message::Answer(Answer::Wait { read: 0x0123_4567_89ab })),
        ("answer-refuse", Message::Answer(Answer::Refuse(Refusal::new(Reason::NotFound, "no such object")))),
    ]
}
