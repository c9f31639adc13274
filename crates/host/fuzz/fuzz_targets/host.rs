//! Two hosts with a key, and somebody who decides about each datagram, each timer and each call of the applications, and who has the key, too.
#![no_main]

use std::net::SocketAddr;

use anabranch_host::wire::{Control, Datagram, HashesRepr, Object, PullRepr, Reason, Refusal, Salt, SymbolRepr};
use anabranch_host::{
    Host, HostConfig, HostEvent, Manifest, ObjectName, Page, Protection, Psk, Received, Sealer, SessionId,
};
use anabranch_transport::scdp::Pull;
use anabranch_transport::{Duration, Time};
use libfuzzer_sys::fuzz_target;

/// Input, which ends with zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, end: usize) -> usize {
        (usize::from(self.byte()) << 8 | usize::from(self.byte())) % end.max(1)
    }

    /// Small numbers, mostly.
    fn number(&mut self) -> u32 {
        match self.byte() {
            255 => u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
            small => u32::from(small),
        }
    }
}

#[derive(Default)]
struct Application {
    /// Bytes by place, of objects that are received.
    receiving: Vec<(SessionId, Manifest, Vec<Option<u8>>)>,
    waiting: Vec<SessionId>,
    complete: Vec<SessionId>,
}

/// Whoever forges symbols can make wrong bytes arrive: then the hash must tell.
struct World {
    now: Time,
    hosts: [Host; 2],
    applications: [Application; 2],
    /// To which host, from whom, and what.
    flying: Vec<(usize, SocketAddr, Vec<u8>)>,
    last: Vec<u8>,
    protection: Protection,
    objects: Vec<Vec<u8>>,
    calls: usize,
}

fn address(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n as u8 + 1], 7000))
}

fn manifest(object: &[u8]) -> Manifest {
    let name = ObjectName::new("object").expect("a name");
    Manifest { hash: *blake3::hash(object).as_bytes(), size: object.len() as u64, name, signature: None }
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let key = input.byte();
        let protection =
            if key & 1 == 0 { Protection::Psk(Psk::new([1; 32]).expect("a key")) } else { Protection::None };
        let config = HostConfig {
            largest_packet: 1200,
            block_symbols: 1 + u32::from(key >> 1 & 7),
            initial_window: 1 + u32::from(key >> 4),
            max_sessions: 8,
            max_sessions_per_address: 6,
            max_unvalidated: 2,
            max_session_bytes: 800_000,
            ..HostConfig::new(protection.clone())
        };
        let hosts = [0, 1].map(|n| Host::new(config.clone(), [n; 32]));
        let sizes = [0, 1, 1148, 10_000, 60_000, 400_000];
        let objects = sizes.map(|size| (0..size).map(|i| (i * 7 + i / 251) as u8).collect()).to_vec();
        let (applications, flying, last) = (<[Application; 2]>::default(), Vec::new(), Vec::new());
        Self { now: Time::ZERO, hosts, applications, flying, last, protection, objects, calls: 0 }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let code = input.byte();
        let n = usize::from(code >> 7);
        match code & 15 {
            0 => {
                let ps = 1_000_000 << input.below(24);
                self.now = self.now + Duration::from_ps(ps);
                self.timeouts();
            }
            1 if self.calls < 8 => {
                self.calls += 1;
                let object = self.objects[input.below(self.objects.len())].clone();
                let manifest = manifest(&object);
                let to = if input.byte() & 1 == 0 { vec![address(1 - n)] } else { vec![address(1 - n), address(2)] };
                let group = (input.byte() & 3 == 0).then(|| SocketAddr::from(([239, 0, 0, 1], 7000)));
                _ = self.hosts[n].send(self.now, Box::new(object), manifest, &to, group);
            }
            2 if self.calls < 8 => {
                self.calls += 1;
                let wanted = Object::Name(ObjectName::new("object").expect("a name"));
                let from = if input.byte() & 1 == 0 { vec![address(1 - n)] } else { vec![address(1 - n), address(2)] };
                _ = self.hosts[n].fetch(self.now, wanted, &from);
            }
            3..=7 => self.deliver(input, code),
            8 => self.forge(input, n),
            9 => self.decide(input, n),
            10 => {
                let cut = input.below(self.flying.len());
                self.flying.drain(..cut);
            }
            11 => {
                // All goes well for a while.
                for _ in 0..4 {
                    self.transmit();
                    for (to, from, bytes) in std::mem::take(&mut self.flying) {
                        self.hand(to, from, bytes, false);
                    }
                    self.now = self.now + Duration::from_us(100);
                    self.timeouts();
                }
            }
            12 => {
                let at = input.below(self.applications[n].complete.len());
                if let Some(&id) = self.applications[n].complete.get(at) {
                    self.hosts[n].checked(self.now, id, input.byte() & 7 > 0);
                }
            }
            13 => {
                let ids: Vec<SessionId> =
                    self.applications[n].receiving.iter().map(|(id, ..)| *id).chain(self.applications[n].waiting.clone()).collect();
                if let Some(&id) = ids.get(input.below(ids.len())) {
                    self.hosts[n].cancel(self.now, id);
                }
            }
            _ => self.transmit(),
        }
        self.transmit();
        assert!(self.hosts.iter().all(|host| host.sessions() <= 8 + 8));
    }

    fn timeouts(&mut self) {
        for n in 0..2 {
            if self.hosts[n].poll_timeout().is_some_and(|at| at <= self.now) {
                self.hosts[n].handle_timeout(self.now);
            }
            self.events(n);
        }
    }

    /// One datagram arrives: as it is, damaged, cut, from elsewhere, by a group, or again later.
    fn deliver(&mut self, input: &mut Input<'_>, code: u8) {
        if self.flying.is_empty() {
            return;
        }
        let at = input.below(self.flying.len());
        let (to, mut from, mut bytes) =
            if code & 15 == 3 { self.flying[at].clone() } else { self.flying.remove(at) };
        match code & 15 {
            4 => {
                let bit = input.below(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
                // Without a key nothing covers the content of a symbol: the object's hash does.
            }
            5 => bytes.truncate(input.below(bytes.len())),
            6 if code & 16 > 0 => from = address(3),
            _ => {}
        }
        self.hand(to, from, bytes, code & 32 > 0);
    }

    fn hand(&mut self, to: usize, from: SocketAddr, mut bytes: Vec<u8>, by_group: bool) {
        let received = Received { from, ce: false, by_group };
        self.hosts[to].handle_datagram(self.now, received, &mut bytes);
        self.events(to);
    }

    /// A datagram of somebody who has the key: for a session that opened with the salt of some packet that was sent.
    fn forge(&mut self, input: &mut Input<'_>, to: usize) {
        let Ok(Datagram::Open(packet) | Datagram::Answer(packet)) = Datagram::parse(&self.last) else { return };
        let (salt, session, index) = (packet.salt(), packet.prefix().session, packet.index());
        let other = Salt([input.byte(); 16]);
        let keys = match input.byte() % 3 {
            0 => self.protection.opener(salt),
            1 => self.protection.responder(salt, other, index),
            _ => self.protection.confirmed(salt, other, index),
        };
        let mut sealer = Sealer::new(keys);
        let mut out = Vec::new();
        for _ in 0..input.below(64) {
            // Other numbers than the genuine datagrams have.
            out.clear();
            _ = sealer.control(session, Control::KeepAlive, &mut out);
        }
        out.clear();
        let made = match input.byte() % 4 {
            0 => {
                let (block, esi, index) = (input.number(), input.number() & 0xff_ffff, input.number());
                let symbol = SymbolRepr { block, esi, lane: input.byte() & 1, index, syn: false };
                let length = if input.byte() < 32 { input.below(1200) } else { 1148 };
                sealer.symbol(session, &symbol, &vec![input.byte(); length], &mut out)
            }
            1 => {
                let (block, upto, base, flags) = (input.number(), input.number(), input.number(), input.byte());
                let (fin, retry, done) = (flags & 1 > 0, flags & 2 > 0, flags & 28 == 28);
                sealer.pull(session, &PullRepr::new(&Pull { block, upto, base, fin, retry, done }), &mut out)
            }
            2 => {
                let page = Page { level: 1 + (input.byte() & 1), index: u64::from(input.byte() & 3) };
                let hashes = vec![[input.byte(); 32]; 1 + input.below(32)];
                sealer.hashes(session, &HashesRepr { page, hashes }, &mut out)
            }
            _ => {
                let control = match input.byte() % 13 {
                    0 => Control::Cancel,
                    1 => Control::Close { verified: true },
                    2 => Control::GivenUp,
                    3 => Control::KeepAlive,
                    4 => Control::NoMulticast,
                    5 => Control::AskHashes(Page { level: input.byte() & 3 | 1, index: u64::from(input.byte() & 3) }),
                    6 => Control::AskProbes { all: input.byte() & 1 == 1 },
                    7 => Control::Probe { padding: 8 * u16::from(input.byte()) },
                    8 => Control::Narrow { bytes: 8 * u16::from(input.byte()) },
                    9 => Control::AskMode,
                    10 => Control::Mode(u16::from(input.byte())),
                    11 => Control::Join { first: u32::from(input.byte()) },
                    _ => Control::Close { verified: false },
                };
                sealer.control(session, control, &mut out)
            }
        };
        if made.is_ok() {
            self.hand(to, address(1 - to), out, false);
        }
    }

    /// The application decides about an offer or a request.
    fn decide(&mut self, input: &mut Input<'_>, n: usize) {
        let application = &mut self.applications[n];
        if application.waiting.is_empty() {
            return;
        }
        let id = application.waiting.remove(input.below(application.waiting.len()));
        let (now, host) = (self.now, &mut self.hosts[n]);
        match input.byte() % 8 {
            0 => host.refuse(now, id, Refusal::new(Reason::NotWanted, "no")),
            1 => host.have(now, id),
            2 => host.accept(now, id),
            3 => {
                host.defer(now, id);
                application.waiting.push(id);
            }
            4 => {
                host.working(now, id, u64::from(input.byte()));
                application.waiting.push(id);
            }
            _ => {
                host.accept(now, id);
                let object = self.objects[input.below(self.objects.len())].clone();
                let manifest = manifest(&object);
                _ = host.serve(now, id, Box::new(object), manifest);
            }
        }
        self.events(n);
    }

    fn events(&mut self, n: usize) {
        while let Some((id, event)) = self.hosts[n].poll_event() {
            let application = &mut self.applications[n];
            let known = application.receiving.iter_mut().find(|(other, ..)| *other == id);
            match event {
                HostEvent::Offered { manifest, .. } => {
                    assert!(known.is_none());
                    let size = manifest.size as usize;
                    assert!(size <= 400_000, "no such object was sent");
                    application.receiving.push((id, manifest, vec![None; size]));
                    application.waiting.push(id);
                }
                HostEvent::Requested { .. } => application.waiting.push(id),
                HostEvent::Block { offset, bytes } => {
                    let (.., object) = known.expect("offered");
                    for (place, byte) in object[offset as usize..][..bytes.len()].iter_mut().zip(bytes) {
                        assert_eq!(place.replace(byte), None, "each byte comes once");
                    }
                }
                HostEvent::Complete => {
                    let (_, manifest, object) = known.expect("offered");
                    let object: Vec<u8> = object.iter().map(|byte| byte.expect("all bytes have come")).collect();
                    let right = *blake3::hash(&object).as_bytes() == manifest.hash;
                    assert!(right, "whatever was forged, nothing wrong is handed over");
                    application.complete.push(id);
                }
                HostEvent::Closed { .. } => {
                    application.receiving.retain(|(other, ..)| *other != id);
                    application.waiting.retain(|other| *other != id);
                    application.complete.retain(|other| *other != id);
                    assert!(self.hosts[n].stats(id).is_none());
                }
                _ => {}
            }
        }
    }

    fn transmit(&mut self) {
        let (mut out, mut to) = (Vec::new(), Vec::new());
        for n in 0..2 {
            for _ in 0..200 {
                out.clear();
                if self.hosts[n].poll_transmit(self.now, &mut out, &mut to).is_none() {
                    break;
                }
                for &to in &to {
                    let to = if to.ip().is_multicast() || to == address(2) { 1 - n } else { usize::from(to == address(1)) };
                    if self.flying.len() < 500 {
                        self.flying.push((to, address(n), out.clone()));
                    }
                }
                if matches!(Datagram::parse(&out), Ok(Datagram::Open(_) | Datagram::Answer(_))) {
                    self.last.clone_from(&out);
                }
            }
            self.events(n);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut world = World::new(&mut input);
    while !input.0.is_empty() {
        world.step(&mut input);
    }
    // Without anybody to speak to, all sessions end.
    world.flying.clear();
    for _ in 0..2000 {
        let next = world.hosts.iter().filter_map(Host::poll_timeout).min();
        let Some(next) = next else { break };
        world.now = world.now.max(next);
        world.timeouts();
        let complete: [Vec<SessionId>; 2] = [0, 1].map(|n| world.applications[n].complete.clone());
        for (n, ids) in complete.into_iter().enumerate() {
            ids.into_iter().for_each(|id| world.hosts[n].checked(world.now, id, true));
        }
        world.transmit();
        world.flying.clear();
    }
    assert!(world.hosts.iter().all(|host| host.sessions() == 0), "{:?}", world.hosts.each_ref().map(Host::describe));
});
