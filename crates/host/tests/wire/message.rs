//! Any datagram, and a receiver of any datagram: sealing and taking as a host does it.

use anabranch_host::wire::{
    Answer, Control, Datagram, HashesRepr, Open, PullRepr, RetryRepr, Salt, SymbolRepr, WireError,
};
use anabranch_host::{Payload, Protection, Psk, Sealer, Unsealer};

pub(crate) const SESSION: u32 = 0x0bad_cafe;
pub(crate) const OPENER_SALT: Salt = Salt([0xa0; 16]);
pub(crate) const RESPONDER_SALT: Salt = Salt([0xb0; 16]);
pub(crate) const INDEX: u16 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Symbol(SymbolRepr, Vec<u8>),
    Trimmed(SymbolRepr),
    Pull(PullRepr),
    Control(Control),
    /// With its index.
    Open(u16, Open),
    Retry(RetryRepr),
    Answer(Answer),
    Hashes(HashesRepr),
}

/// The shared key of the examples: the bytes 0 to 31.
pub(crate) fn keyed() -> Protection {
    Protection::Psk(Psk::new(std::array::from_fn(|i| i as u8)).expect("not zero"))
}

pub(crate) fn both() -> [Protection; 2] {
    [keyed(), Protection::None]
}

/// Both directions of a session. An opener sends opening packets, symbols, hashes and control messages; responder [`INDEX`]
/// answers and pulls.
pub(crate) struct Ends {
    protection: Protection,
    opener: Sealer,
    responder: Sealer,
    from_opener: Unsealer,
    from_responder: Unsealer,
}

impl Ends {
    pub(crate) fn new(protection: &Protection) -> Self {
        let opener = || protection.opener(OPENER_SALT);
        let responder = || protection.responder(OPENER_SALT, RESPONDER_SALT, INDEX);
        Self {
            protection: protection.clone(),
            opener: Sealer::new(opener()),
            responder: Sealer::new(responder()),
            from_opener: Unsealer::new(opener()),
            from_responder: Unsealer::new(responder()),
        }
    }

    pub(crate) fn seal(&mut self, message: &Message, out: &mut Vec<u8>) {
        match message {
            Message::Symbol(symbol, payload) => self.opener.symbol(SESSION, symbol, payload, out),
            Message::Trimmed(_) => unreachable!("a switch makes them"),
            Message::Pull(pulls) => self.responder.pull(SESSION, pulls, out),
            Message::Control(control) => self.opener.control(SESSION, *control, out),
            Message::Open(index, open) => self.opener.open(SESSION, *index, open, out),
            Message::Answer(answer) => self.responder.answer(SESSION, answer, out),
            Message::Hashes(hashes) => self.opener.hashes(SESSION, hashes, out),
            Message::Retry(retry) => {
                retry.emit(out);
                Ok(())
            }
        }
        .expect("valid");
    }

    /// Takes whatever arrives. Keys of packets that open a session or answer are derived from what their headers say.
    pub(crate) fn take(&mut self, bytes: &mut [u8]) -> Result<Message, WireError> {
        Ok(match Datagram::parse(bytes)? {
            Datagram::Symbol(_) => match self.from_opener.symbol(bytes)? {
                (symbol, Payload::Whole(payload)) => Message::Symbol(symbol, payload.to_vec()),
                (symbol, Payload::Trimmed) => Message::Trimmed(symbol),
            },
            Datagram::Pull(_) => Message::Pull(self.from_responder.pull(bytes)?),
            Datagram::Control(_) => Message::Control(self.from_opener.control(bytes)?),
            Datagram::Open(packet) => {
                let index = packet.index();
                let mut unsealer = Unsealer::new(self.protection.opener(packet.salt()));
                Message::Open(index, unsealer.open(bytes)?)
            }
            Datagram::Answer(packet) => {
                let keys = self.protection.responder(OPENER_SALT, packet.salt(), packet.index());
                Message::Answer(Unsealer::new(keys).answer(bytes)?)
            }
            Datagram::Hashes(_) => Message::Hashes(self.from_opener.hashes(bytes)?),
            Datagram::Retry(packet) => Message::Retry(RetryRepr::parse(&packet)),
        })
    }
}

/// The datagram of a message that is the first of its session.
pub(crate) fn sealed(protection: &Protection, message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    Ends::new(protection).seal(message, &mut out);
    out
}

/// The same in another version of the format: what an opener says.
pub(crate) fn sealed_as(version: u8, protection: &Protection, message: &Message) -> Vec<u8> {
    let (mut out, mut ends) = (Vec::new(), Ends::new(protection));
    ends.opener = ends.opener.with_version(version);
    ends.seal(message, &mut out);
    out
}

/// What a new receiver takes a datagram for.
pub(crate) fn taken(protection: &Protection, bytes: &[u8]) -> Result<Message, WireError> {
    Ends::new(protection).take(&mut bytes.to_vec())
}
