//! An end that has the key and keeps to no rule, and somebody without it who records what passes.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use anabranch_host::wire::{
    Answer, Control, Datagram, Held, Object, Offer, Open, Parameters, PullRepr, Request, Salt, SymbolRepr,
};
use anabranch_host::{Manifest, ObjectName, Protection, Sealer, Unsealer};
use anabranch_transport::scdp::{Mode, Pull};

use super::World;

/// From whom, to whom, and what.
type Record = (SocketAddr, SocketAddr, Vec<u8>);

/// Datagrams that have left hosts.
#[derive(Clone, Default)]
pub struct Records(Rc<RefCell<Vec<Record>>>);

impl Records {
    /// Records all that passes from now on.
    pub fn of(world: &mut World) -> Self {
        let records = Self::default();
        let kept = records.clone();
        world.tap = Some(Box::new(move |from, to, bytes| kept.0.borrow_mut().push((from, to, bytes.to_vec()))));
        records
    }

    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut self.0.borrow_mut())
    }

    /// What went from one address to another since the last call; the rest is forgotten.
    pub fn between(&self, from: SocketAddr, to: SocketAddr) -> Vec<Vec<u8>> {
        self.take().into_iter().filter(|(f, t, _)| (*f, *t) == (from, to)).map(|(_, _, bytes)| bytes).collect()
    }
}

pub fn parameters() -> Parameters {
    Parameters { symbol_bytes: 1420, block_symbols: 100, window: 32, lanes: 1, mode: Mode::Unicast }
}

pub fn manifest_of(size: u64) -> Manifest {
    // Of sevens, or so much that nobody receives it.
    let hash = if size < 1 << 20 { *blake3::hash(&vec![7; size as usize]).as_bytes() } else { [0x5a; 32] };
    Manifest { hash, size, name: ObjectName::new("forged").expect("a name"), signature: None }
}

pub fn request(name: &str, largest_packet: u16) -> Request {
    let object = Object::Name(ObjectName::new(name).expect("a name"));
    Request { object, lane: 0, lanes: 1, window: 32, largest_packet, cookie: None }
}

/// Who opens a session.
pub struct Opener {
    protection: Protection,
    pub session: u32,
    salt: Salt,
    pub shared: Sealer,
    /// Once the answer has come.
    pub confirmed: Option<Sealer>,
    from: Option<Salt>,
}

impl Opener {
    pub fn new(protection: &Protection, number: u32) -> Self {
        let mut salt = [0x33; 16];
        salt[..4].copy_from_slice(&number.to_be_bytes());
        let salt = Salt(salt);
        let shared = Sealer::new(protection.opener(salt));
        Self { protection: protection.clone(), session: number, salt, shared, confirmed: None, from: None }
    }

    /// The same with another version of the wire format.
    pub fn of_version(protection: &Protection, number: u32, version: u8) -> Self {
        let opener = Self::new(protection, number);
        Self { shared: opener.shared.with_version(version), ..opener }
    }

    pub fn open(&mut self, open: &Open) -> Vec<u8> {
        let mut out = Vec::new();
        self.shared.open(self.session, 0, open, &mut out).expect("sealed");
        out
    }

    pub fn offered(manifest: Manifest, parameters: Parameters) -> Offer {
        Offer { manifest, parameters, group: None, receivers: 1 }
    }

    pub fn offer(&mut self, manifest: Manifest, parameters: Parameters) -> Vec<u8> {
        self.open(&Open::Offer(Self::offered(manifest, parameters)))
    }

    pub fn request(&mut self, request: Request) -> Vec<u8> {
        self.open(&Open::Request(request))
    }

    /// The answer among these datagrams, if there is one.
    pub fn read(&mut self, datagrams: &[Vec<u8>]) -> Option<Answer> {
        datagrams.iter().find_map(|bytes| {
            let Ok(Datagram::Answer(packet)) = Datagram::parse(bytes) else { return None };
            let mut unsealer = Unsealer::new(self.protection.responder(self.salt, packet.salt(), 0));
            let answer = unsealer.answer(&mut bytes.clone()).ok()?;
            self.from = Some(packet.salt());
            self.confirmed = Some(Sealer::new(self.protection.confirmed(self.salt, packet.salt(), 0)));
            Some(answer)
        })
    }

    /// A message of who has answered.
    pub fn understands(&self, bytes: &[u8]) -> Option<Control> {
        let keys = self.protection.responder(self.salt, self.from?, 0);
        Unsealer::new(keys).control(&mut bytes.to_vec()).ok()
    }

    pub fn symbol(&mut self, symbol: &SymbolRepr, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.shared.symbol(self.session, symbol, payload, &mut out).expect("sealed");
        out
    }

    pub fn pulls(&mut self, pulls: &[Pull]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut repr = PullRepr::new(&pulls[0]);
        pulls[1..].iter().for_each(|pull| _ = repr.push(pull));
        self.confirmed.as_mut().expect("answered").pull(self.session, &repr, &mut out).expect("sealed");
        out
    }

    pub fn control(&mut self, control: Control) -> Vec<u8> {
        let mut out = Vec::new();
        let sealer = self.confirmed.as_mut().unwrap_or(&mut self.shared);
        sealer.control(self.session, control, &mut out).expect("sealed");
        out
    }
}

/// Who answers an offer.
pub struct Responder {
    pub session: u32,
    pub sealer: Sealer,
}

impl Responder {
    /// Answers the offer among these datagrams: with its index.
    pub fn to(protection: &Protection, datagrams: &[Vec<u8>]) -> Option<(Self, Vec<u8>)> {
        datagrams.iter().find_map(|bytes| {
            let Ok(Datagram::Open(packet)) = Datagram::parse(bytes) else { return None };
            let session = packet.prefix().session;
            let mut sealer = Sealer::new(protection.responder(packet.salt(), Salt([0x44; 16]), packet.index()));
            let mut out = Vec::new();
            let answer = Answer::AcceptOffer { largest_packet: 1472, held: Held::None };
            sealer.answer(session, &answer, &mut out).expect("sealed");
            Some((Self { session, sealer }, out))
        })
    }

    pub fn pull(&mut self, pull: &Pull) -> Vec<u8> {
        self.pulls(std::slice::from_ref(pull))
    }

    /// Pulls with the same base and flags.
    pub fn pulls(&mut self, pulls: &[Pull]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut repr = PullRepr::new(&pulls[0]);
        assert!(pulls[1..].iter().all(|pull| repr.push(pull)), "they fit one packet");
        self.sealer.pull(self.session, &repr, &mut out).expect("sealed");
        out
    }

    pub fn control(&mut self, control: Control) -> Vec<u8> {
        let mut out = Vec::new();
        self.sealer.control(self.session, control, &mut out).expect("sealed");
        out
    }
}
