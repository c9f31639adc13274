//! Hosts on a network that loses, repeats, reorders, damages, trims and delays datagrams, all drawn from one seed.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

pub mod rogue;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_host::wire::{Object as Wanted, Reason, Refusal};
use anabranch_host::{
    Delivery, Ecn, Failure, Host, HostConfig, HostEvent, Manifest, Marking, ObjectName, Outcome, Protection, Psk,
    Received, SessionId, SigningKey,
};
use anabranch_transport::{Duration, Rate, Time};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// So many seeds of a test that draws its networks, or as many as `PROPTEST_CASES` says.
pub fn cases(usual: u64) -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// What the network does to each datagram: probabilities, but for times and sizes.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub loss: f64,
    /// Once a datagram is lost, the next one that leaves within a millisecond is with this probability, too.
    pub burst: f64,
    pub duplicate: f64,
    pub damage: f64,
    pub trim: f64,
    /// Bytes that trimming leaves.
    pub trimmed_to: usize,
    pub delay: Duration,
    /// Up to so much more, drawn for each datagram: this reorders.
    pub jitter: Duration,
    /// Larger datagrams vanish.
    pub mtu: usize,
    /// Bits per second of each host's link in each direction.
    pub rate_mbps: u64,
    /// Bytes that may wait before a link.
    pub queue: usize,
    /// Behind more than so many bytes, datagrams that are ECN-capable are marked.
    pub mark: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            burst: 0.0,
            duplicate: 0.0,
            damage: 0.0,
            trim: 0.0,
            trimmed_to: 80,
            delay: Duration::from_us(100),
            jitter: Duration::ZERO,
            mtu: 65_535,
            rate_mbps: 1000,
            queue: 200_000,
            mark: usize::MAX,
        }
    }
}

/// What an object's receiver does about offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    #[default]
    Takes,
    Refuses,
    Has,
    /// It never decides.
    Ponders,
    /// It takes them, and never tells whether the hash is right.
    Forgets,
    /// It reads a file before it decides about offers and requests: tests say when.
    Reads,
}

/// One host with what its application knows.
pub struct Node {
    pub address: SocketAddr,
    pub host: Host,
    pub manner: Manner,
    /// Members of groups.
    pub joined: Vec<SocketAddr>,
    /// With what it signs what it sends.
    pub signs: Option<SigningKey>,
    /// Objects that it serves, by name.
    pub objects: BTreeMap<String, Vec<u8>>,
    /// What it says that its objects are, whatever they are.
    pub claims: Option<Manifest>,
    /// What it has of each object's beginning, from an earlier session.
    pub begun: Vec<u8>,
    /// It keeps nothing of what comes, which may be too much for a test.
    pub discards: bool,
    /// What it is receiving, and which bytes of it are there: 1, not true, as the library looks for bytes many at a time.
    receiving: BTreeMap<SessionId, (Manifest, Vec<u8>, Vec<u8>)>,
    /// What it has received, and whether the hash was right.
    pub received: Vec<(Manifest, Vec<u8>, bool)>,
    /// What became of receivers, by session.
    pub outcomes: BTreeMap<SessionId, BTreeMap<usize, Outcome>>,
    /// How symbols reached receivers from when on, where that changed.
    pub deliveries: Vec<(Time, usize, Delivery)>,
    /// Bytes under way, where that limited the rate.
    pub full: Vec<u64>,
    pub failures: Vec<(SessionId, Failure)>,
    /// Offers that it refused by its settings: of whom, and what was answered.
    pub declined: Vec<(SocketAddr, Refusal)>,
    /// Servers that were left out of its sessions, and why.
    pub excluded: Vec<(SocketAddr, String)>,
    /// Sessions whose peers have shown that they are there, after they were told to wait.
    pub confirmed: Vec<SessionId>,
    /// Servers that were left out since the path from them carries smaller packets.
    pub narrow: Vec<String>,
    /// The permission bits of what was complete.
    pub modes: Vec<Option<u16>>,
    /// Servers that did not send in time what they alone were asked for.
    pub withheld: Vec<SocketAddr>,
    /// The last that was complete.
    pub checking: Option<SessionId>,
    pub closed: Vec<SessionId>,
    pub bytes_sent: usize,
    /// For how long all datagrams together have waited before the link, and how many they were.
    pub waited: (Duration, u32),
    pub bytes_arrived: usize,
    /// It neither sends nor receives.
    pub dead: bool,
    /// Its link towards the network, if that differs from the others': its rate, and bytes that may wait before it.
    pub uplink: Option<(Rate, usize)>,
    /// How much longer what it sends is under way.
    pub away: Duration,
    /// Its links are free from then on.
    out_free: Time,
    in_free: Time,
    last_loss: Option<Time>,
}

/// The network.
pub struct World {
    pub now: Time,
    pub nodes: Vec<Node>,
    pub faults: Faults,
    /// Datagrams under way: when they arrive, in which order they left, to whom, from whom.
    flying: BTreeMap<(Time, u64), (usize, Received, Vec<u8>)>,
    /// The same for those that have not reached the last link.
    before_last_link: BTreeMap<(Time, u64), BeforeLastLink>,
    sent: u64,
    still: u32,
    random: Xoshiro256PlusPlus,
    /// Shown each datagram as it leaves: from whom, to whom.
    pub tap: Option<Tap>,
    /// Asked of each datagram whether it may go on.
    pub filter: Option<Filter>,
    /// Given each datagram as it leaves, to change.
    pub tamper: Option<Tamper>,
    /// Asked how much later a datagram arrives at a host that leaves now.
    pub slow: Option<Slow>,
    /// Asked whether what is sent to a group does not reach a host now.
    pub deaf: Option<Deaf>,
    /// Bytes that left for each address, whether there is a host or not.
    pub bytes_to: BTreeMap<SocketAddr, usize>,
}

/// To whom, from whom, and how much longer than others it takes after the link.
type BeforeLastLink = (usize, Received, Vec<u8>, Duration);

pub type Tap = Box<dyn FnMut(SocketAddr, SocketAddr, &[u8])>;
pub type Tamper = Box<dyn FnMut(SocketAddr, &mut Vec<u8>)>;
pub type Slow = Box<dyn FnMut(Time, usize) -> Duration>;
pub type Deaf = Box<dyn FnMut(Time, usize) -> bool>;
pub type Filter = Box<dyn FnMut(SocketAddr, SocketAddr, &[u8]) -> bool>;

pub fn address(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n as u8 + 1], 7000))
}

pub fn group() -> SocketAddr {
    SocketAddr::from(([239, 1, 2, 3], 7001))
}

pub fn psk() -> Protection {
    Protection::Psk(Psk::new([7; 32]).expect("not zero"))
}

pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

pub fn manifest(name: &str, object: &[u8]) -> Manifest {
    Manifest {
        hash: *blake3::hash(object).as_bytes(),
        size: object.len() as u64,
        name: ObjectName::new(name).expect("a name"),
        signature: None,
    }
}

/// A manifest, signed if there is a key.
pub fn signed(mut manifest: Manifest, key: Option<&SigningKey>) -> Manifest {
    if let Some(key) = key {
        manifest.sign(key);
    }
    manifest
}

impl World {
    /// So many hosts with a shared key.
    pub fn new(seed: u64, hosts: usize, faults: Faults) -> Self {
        Self::with(seed, hosts, faults, |_| HostConfig::new(psk()))
    }

    pub fn with(seed: u64, hosts: usize, faults: Faults, config: impl Fn(usize) -> HostConfig) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let nodes = (0..hosts).map(|n| Node {
            address: address(n),
            host: Host::new(config(n), random.random()),
            manner: Manner::default(),
            joined: Vec::new(),
            signs: None,
            objects: BTreeMap::new(),
            claims: None,
            begun: Vec::new(),
            discards: false,
            receiving: BTreeMap::new(),
            received: Vec::new(),
            outcomes: BTreeMap::new(),
            deliveries: Vec::new(),
            full: Vec::new(),
            failures: Vec::new(),
            declined: Vec::new(),
            excluded: Vec::new(),
            confirmed: Vec::new(),
            narrow: Vec::new(),
            modes: Vec::new(),
            withheld: Vec::new(),
            checking: None,
            closed: Vec::new(),
            bytes_sent: 0,
            waited: (Duration::ZERO, 0),
            bytes_arrived: 0,
            dead: false,
            uplink: None,
            away: Duration::ZERO,
            out_free: Time::ZERO,
            in_free: Time::ZERO,
            last_loss: None,
        });
        let nodes = nodes.collect();
        Self {
            now: Time::ZERO,
            nodes,
            faults,
            flying: BTreeMap::new(),
            before_last_link: BTreeMap::new(),
            sent: 0,
            still: 0,
            random,
            tap: None,
            filter: None,
            tamper: None,
            slow: None,
            deaf: None,
            bytes_to: BTreeMap::new(),
        }
    }

    pub fn send(
        &mut self,
        from: usize,
        to: &[usize],
        object: &[u8],
        name: &str,
        group: Option<SocketAddr>,
    ) -> SessionId {
        let receivers: Vec<SocketAddr> = to.iter().map(|&n| address(n)).collect();
        let node = &mut self.nodes[from];
        let manifest = signed(manifest(name, object), node.signs.as_ref());
        node.host.send(self.now, Box::new(object.to_vec()), manifest, &receivers, group).expect("a session")
    }

    pub fn fetch(&mut self, by: usize, from: &[usize], name: &str) -> SessionId {
        let servers: Vec<SocketAddr> = from.iter().map(|&n| address(n)).collect();
        let wanted = Wanted::Name(ObjectName::new(name).expect("a name"));
        self.nodes[by].host.fetch(self.now, wanted, &servers).expect("a session")
    }

    /// Puts a datagram on the network.
    pub fn inject(&mut self, from: SocketAddr, to: usize, bytes: Vec<u8>) {
        self.sent += 1;
        let received = Received { from, ce: false, by_group: false };
        self.flying.insert((self.now, self.sent), (to, received, bytes));
    }

    /// Puts a datagram on the network that arrives later.
    pub fn inject_at(&mut self, at: Time, from: SocketAddr, to: usize, bytes: Vec<u8>) {
        self.sent += 1;
        let received = Received { from, ce: false, by_group: false };
        self.flying.insert((at.max(self.now), self.sent), (to, received, bytes));
    }

    /// Runs until something is so, in steps of a millisecond. Fails if that takes longer than so many seconds of this world, or nothing happens any more
    /// before.
    #[track_caller]
    pub fn run_to(&mut self, seconds: u64, is_so: impl Fn(&Self) -> bool) {
        let mut idle = false;
        while !is_so(self) {
            let waits = || self.nodes.iter().map(|node| node.host.describe()).collect::<Vec<_>>();
            assert!(!idle, "nothing happens any more at {}: {:#?}", self.now, waits());
            assert!(self.now < Time::ZERO + Duration::from_secs(seconds), "{:#?}", waits());
            idle = self.run_until(self.now + Duration::from_ms(1));
        }
    }

    /// Runs until nothing happens any more, or this time; true if nothing happens any more.
    pub fn run_until(&mut self, limit: Time) -> bool {
        let (mut out, mut to) = (Vec::new(), Vec::new());
        loop {
            for n in 0..self.nodes.len() {
                if self.nodes[n].dead {
                    continue;
                }
                self.act(n);
                loop {
                    out.clear();
                    let Some(ecn) = self.nodes[n].host.poll_transmit(self.now, &mut out, &mut to) else { break };
                    for &to in &to {
                        self.transmit(n, to, ecn, &out);
                    }
                    self.act(n);
                }
                // What has sent its close is over.
                self.act(n);
            }
            let timers = self.nodes.iter().filter(|node| !node.dead).filter_map(|node| node.host.poll_timeout());
            let arrivals = self.flying.keys().next().into_iter().chain(self.before_last_link.keys().next());
            let Some(next) = timers.chain(arrivals.map(|key| key.0)).min() else { return true };
            if next > limit {
                self.now = limit;
                return false;
            }
            // Time must pass: whoever wakes the host again and again for nothing would keep it from anything else.
            self.still = if next > self.now { 0 } else { self.still + 1 };
            let waits = || self.nodes.iter().map(|node| node.host.describe()).collect::<Vec<_>>();
            assert!(self.still < 100_000, "time stands still at {}: {:#?}", self.now, waits());
            self.now = self.now.max(next);
            self.enter_last_links();
            while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (n, received, mut bytes) = entry.remove();
                if !self.nodes[n].dead {
                    self.nodes[n].bytes_arrived += bytes.len();
                    self.nodes[n].host.handle_datagram(self.now, received, &mut bytes);
                    self.act(n);
                }
            }
            for node in self.nodes.iter_mut().filter(|node| !node.dead) {
                if node.host.poll_timeout().is_some_and(|at| at <= self.now) {
                    node.host.handle_timeout(self.now);
                }
            }
        }
    }

    pub fn run_for(&mut self, seconds: u64) -> bool {
        self.run_until(self.now + Duration::from_secs(seconds))
    }

    /// What the network does to a datagram.
    fn transmit(&mut self, from: usize, to: SocketAddr, marking: Marking, bytes: &[u8]) {
        let source = address(from);
        if let Some(tap) = &mut self.tap {
            tap(source, to, bytes);
        }
        *self.bytes_to.entry(to).or_default() += bytes.len();
        if self.filter.as_mut().is_some_and(|filter| !filter(source, to, bytes)) {
            return;
        }
        let mut bytes = bytes.to_vec();
        if let Some(tamper) = &mut self.tamper {
            tamper(source, &mut bytes);
        }
        let bytes = &*bytes;
        let faults = self.faults;
        let node = &mut self.nodes[from];
        node.bytes_sent += bytes.len();
        let time = |bytes: usize| Duration::from_ps((bytes as u64).saturating_mul(8_000_000) / faults.rate_mbps);
        // The sender's link: what would wait too long is dropped.
        let uplink = node.uplink;
        let outward = |bytes: usize| uplink.map_or_else(|| time(bytes), |(rate, _)| rate.transmit_time(bytes as u64));
        if node.out_free > self.now + outward(uplink.map_or(faults.queue, |(_, queue)| queue)) {
            return;
        }
        let waits = node.out_free.since(self.now);
        let ce = marking.ecn == Ecn::Ect0 && waits > time(faults.mark);
        node.waited = (node.waited.0 + waits, node.waited.1 + 1);
        node.out_free = node.out_free.max(self.now) + outward(bytes.len() + 42);
        let left = node.out_free + node.away;
        let targets: Vec<usize> = (0..self.nodes.len())
            .filter(|&n| self.nodes[n].address == to || (n != from && self.nodes[n].joined.contains(&to)))
            .collect();
        for n in targets {
            if to.ip().is_multicast() && self.deaf.as_mut().is_some_and(|deaf| deaf(self.now, n)) {
                continue;
            }
            let recent = self.nodes[n].last_loss.is_some_and(|at| self.now.since(at) < Duration::from_ms(1));
            let lost = recent && self.random.random_bool(faults.burst) || self.random.random_bool(faults.loss);
            self.nodes[n].last_loss = lost.then_some(self.now);
            if lost || bytes.len() > faults.mtu {
                continue;
            }
            let copies = 1 + usize::from(self.random.random_bool(faults.duplicate));
            for _ in 0..copies {
                let mut bytes = bytes.to_vec();
                if self.random.random_bool(faults.damage) {
                    let at = self.random.random_range(0..bytes.len());
                    bytes[at] ^= 1 << self.random.random_range(0..8);
                }
                if self.random.random_bool(faults.trim) {
                    bytes.truncate(faults.trimmed_to);
                }
                let jitter = Duration::from_ps(self.random.random_range(0..=faults.jitter.ps()));
                let slower = self.slow.as_mut().map_or(Duration::ZERO, |slow| slow(self.now, n));
                let at = left + faults.delay + slower;
                self.sent += 1;
                let received = Received { from: source, ce, by_group: to.ip().is_multicast() };
                self.before_last_link.insert((at, self.sent), (n, received, bytes, jitter));
            }
        }
    }

    /// What has reached the link of its receiver waits there, unless that is too long.
    fn enter_last_links(&mut self) {
        let Faults { rate_mbps, queue, .. } = self.faults;
        let time = |bytes: usize| Duration::from_ps((bytes as u64).saturating_mul(8_000_000) / rate_mbps);
        while let Some(entry) = self.before_last_link.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let ((at, order), (n, received, bytes, jitter)) = entry.remove_entry();
            let node = &mut self.nodes[n];
            if node.in_free <= at + time(queue) {
                node.in_free = node.in_free.max(at) + time(bytes.len() + 42);
                self.flying.insert((node.in_free + jitter, order), (n, received, bytes));
            }
        }
    }

    /// The application of a host.
    fn act(&mut self, n: usize) {
        let now = self.now;
        let node = &mut self.nodes[n];
        while let Some((id, event)) = node.host.poll_event() {
            match event {
                HostEvent::Offered { manifest, .. } => match node.manner {
                    Manner::Takes | Manner::Forgets => {
                        let size = if node.discards { 0 } else { manifest.size as usize };
                        let begun = node.begun.len().min(size);
                        let from = node.host.accept_rest(now, id, begun as u64) as usize;
                        assert!(from <= begun);
                        let (mut object, mut here) = (vec![0; size], vec![0; size]);
                        object[..from].copy_from_slice(&node.begun[..from]);
                        here[..from].fill(1);
                        node.receiving.insert(id, (manifest, object, here));
                    }
                    Manner::Refuses => node.host.refuse(now, id, Refusal::new(Reason::NotWanted, "not wanted here")),
                    Manner::Has => node.host.have(now, id),
                    Manner::Ponders => {}
                    Manner::Reads => node.host.defer(now, id),
                },
                HostEvent::Requested { .. } if node.manner == Manner::Reads => node.host.defer(now, id),
                HostEvent::Confirmed { .. } => node.confirmed.push(id),
                HostEvent::Requested { object, .. } => {
                    let found = node.objects.iter().find(|(name, bytes)| match &object {
                        Wanted::Name(wanted) => wanted.as_str() == name.as_str(),
                        Wanted::Hash(hash) => blake3::hash(bytes) == *hash,
                    });
                    match found.map(|(name, bytes)| (manifest(name, bytes), bytes.clone())) {
                        Some((manifest, bytes)) => {
                            let manifest = node.claims.clone().unwrap_or(manifest);
                            let manifest = signed(manifest, node.signs.as_ref());
                            node.host.serve(now, id, Box::new(bytes), manifest).expect("not too large");
                        }
                        None => node.host.refuse(now, id, Refusal::new(Reason::NotFound, "no such object")),
                    }
                }
                HostEvent::Block { offset, bytes } => {
                    let (_, object, written) = node.receiving.get_mut(&id).expect("accepted");
                    let range = offset as usize..offset as usize + bytes.len();
                    assert!(!written[range.clone()].contains(&1), "bytes are handed over once");
                    written[range.clone()].fill(1);
                    object[range].copy_from_slice(&bytes);
                }
                HostEvent::Complete => {
                    let (manifest, object, written) = node.receiving.remove(&id).expect("accepted");
                    assert!(!written.contains(&0), "all bytes were handed over");
                    node.checking = Some(id);
                    node.modes.push(node.host.mode(id));
                    let right = blake3::hash(&object) == manifest.hash;
                    if node.manner != Manner::Forgets {
                        node.host.checked(now, id, right);
                    }
                    node.received.push((manifest, object, right));
                }
                HostEvent::Receiver { index, peer, outcome } => {
                    assert!(peer.ip().is_ipv4());
                    let old = node.outcomes.entry(id).or_default().insert(index, outcome);
                    assert_eq!(old, None, "the fate of a receiver is told once");
                }
                HostEvent::Failed(failure) => {
                    node.receiving.remove(&id);
                    node.failures.push((id, failure));
                }
                HostEvent::Closed { .. } => node.closed.push(id),
                HostEvent::Declined { peer, refusal, .. } => node.declined.push((peer, refusal)),
                HostEvent::Narrow(narrow) => node.narrow.push(narrow.to_string()),
                HostEvent::Withheld { peer } => node.withheld.push(peer),
                HostEvent::Excluded { peer, why } => node.excluded.push((peer, why)),
                HostEvent::Detached => {}
                HostEvent::Full { bytes } => node.full.push(bytes),
                HostEvent::Delivery { index, delivery, .. } => node.deliveries.push((now, index, delivery)),
                other => panic!("{other:?}"),
            }
        }
    }
}
