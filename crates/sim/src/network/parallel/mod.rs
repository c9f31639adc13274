//! One run on several threads, with the result that it has on one.
//!
//! The nodes are [divided](partition) among parts. While nothing happens that concerns the whole run, the parts are simulated side by
//! side, in [windows]; for all else they are one again, and go on as a run on one thread does: at failures, samples, the last
//! request, the end. Events are ordered by time, and at the same time by a function of time and entity, so that each part sees its
//! own in the order in which the whole run would; nothing else decides what happens.
//!
//! What only the whole run could decide, and what cannot be foreseen, is found when it happens: a run in which an endpoint gives
//! up, say. Then the run is [undone](Undone), and is to be done anew on one thread.

mod gate;
mod part;
mod partition;
mod windows;

use super::engine::Entities;
use super::look_ahead::LookAhead;
use super::{Ending, Network, Stop};
use crate::stopwatch::Stopwatch;
use crate::workload::Session;
use anabranch_transport::units::PS_PER_S;
use part::Part;
use partition::Partition;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;
use windows::Windows;

/// Something happened that takes the whole run to decide, after it had been divided: what. It has to be done anew, on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone(pub &'static str);

/// How a run was divided, and what of it could be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// Events of each part.
    pub events: Vec<u64>,
    /// How often the run was divided.
    pub stretches: u64,
    /// Windows in which the parts were simulated side by side.
    pub windows: u64,
    /// Events of the part that had most of them, added up over the windows. All events over this is how many times as fast the
    /// run can be at best.
    pub critical: u64,
    /// The longest window, in picoseconds.
    pub window: u64,
    /// Time that the threads besides the one that runs the network had processors.
    pub helpers: Duration,
}

/// When it pays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Pays,
    Always,
}

/// Events in a part and window that are worth the waiting for the others.
const EVENTS_PER_WINDOW: f64 = 100.0;
/// How many events of a stretch are worth dividing the run once, for each port and endpoint.
const EVENTS_PER_PLACE: f64 = 2.0;
/// Events on one thread between two tries to divide the run.
const BETWEEN: u32 = 16_384;
/// So many of these pass, at most, after the run could not be divided.
const PATIENCE: u32 = 64;

impl Network {
    /// Runs as [`run`](Self::run) does, with the same outcome, on so many threads where that is faster. While it does, only the
    /// [time](Self::now) and the number of [events](Self::events) that `keep_going` sees are those of that moment.
    ///
    /// # Errors
    /// If the run has to be done anew with [`run`](Self::run).
    pub fn run_on(
        &mut self,
        threads: usize,
        keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        self.run_divided(threads, When::Pays, keep_going)
    }

    /// The same, divided whenever that is possible, however slow: for tests.
    ///
    /// # Errors
    /// As those of [`run_on`](Self::run_on).
    #[doc(hidden)]
    pub fn run_in_parts(
        &mut self,
        parts: usize,
        keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        self.run_divided(parts, When::Always, keep_going)
    }

    fn run_divided(
        &mut self,
        threads: usize,
        when: When,
        mut keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        let Some(mut divided) = Divided::new(self, threads) else {
            return Ok((self.run(keep_going), Division::default()));
        };
        let always = when == When::Always;
        // An event is all that tells how far the run has come.
        let (mut chunk, mut patience, mut wait) = (if always { 1 } else { BETWEEN }, 1, 0);
        let mut dense = 0.0;
        loop {
            let (events, now) = (self.events(), self.engine.now);
            if let Some(ending) = self.advance(chunk) {
                return match ending {
                    // When that is found depends on how many events are handled at a time.
                    Ending::TooLarge(super::Needs::Packets, _) => Err(Undone("too many packets")),
                    ending => Ok((ending, divided.division)),
                };
            }
            if !keep_going(self) {
                return Ok((Ending::Interrupted, divided.division));
            }
            if chunk == BETWEEN {
                dense = (self.events() - events) as f64 / ((self.engine.now - now) as f64).max(1.0);
            }
            if wait > 0 {
                wait -= 1;
                continue;
            }
            let until = self.divisible_until();
            if always && until > self.engine.now || divided.pays(self, until, dense) {
                let (events, now) = (self.events(), self.engine.now);
                let going = divided.stretch(self, until, dense, &mut keep_going)?;
                if !going {
                    return Ok((Ending::Interrupted, divided.division));
                }
                dense = (self.events() - events) as f64 / ((self.engine.now - now) as f64).max(1.0);
                chunk = if always { 1 } else { 64 };
                patience = 1;
            } else if !always {
                chunk = BETWEEN;
                wait = patience;
                patience = (2 * patience).min(PATIENCE);
            }
        }
    }

    /// Nothing happens before this time that concerns the whole run.
    fn divisible_until(&self) -> u64 {
        let e = &self.engine.entities;
        let due = |entity| self.engine.wheel.due(entity).unwrap_or(u64::MAX);
        let to_come = &self.ledger.specs()[self.ledger.rows().len()..];
        let last = to_come.last().map_or(u64::MAX, |last| last.start.ps());
        let known = due(e.sampler).min(due(e.next_change)).min(last).min(self.time_limit.saturating_add(1));
        if self.stop != Stop::Foreground || known <= self.engine.now {
            return known;
        }
        let awaited = |spec: &&Session| self.ledger.group_of(spec).awaits(spec);
        match to_come.iter().rev().find(awaited) {
            Some(spec) => known.min(spec.start.ps()),
            None => known.min(self.waits_until()),
        }
    }

    /// All sessions that the run waits for have begun: until when it surely does. Hosts cannot have what is missing before their
    /// links have carried it.
    fn waits_until(&self) -> u64 {
        let graph = self.fabric.graph();
        let mut missing = vec![0_u64; graph.hosts as usize];
        for (session, spec) in (0..).zip(self.ledger.specs()).take(self.ledger.rows().len()) {
            let group = self.ledger.group_of(spec);
            let Some(size) = spec.size.filter(|_| group.awaits(spec) && group.transport.retransmits()) else {
                continue;
            };
            let payload = group.transport.packet_bytes() - group.transport.header_bytes();
            for (receiver, &host) in self.ledger.waiting(session).zip(&spec.sinks) {
                let Some((number, received)) = receiver else { continue };
                let received = received + self.hosts.received(self.ledger.endpoints_of(session), number);
                let packets = (size.0.saturating_sub(received.saturating_mul(payload))) / payload;
                missing[host as usize] += packets * group.transport.packet_bytes();
            }
        }
        let mut rates = vec![0_u64; missing.len()];
        for (port, p) in self.fabric.ports().iter().enumerate() {
            if let Some(rate) = rates.get_mut(p.peer() as usize) {
                *rate += p.rate().bps().max(graph.links[port / 2].rate.bps());
            }
        }
        // The first of these packets may be there at once.
        let largest = self.ledger.groups().iter().map(|group| group.transport.packet_bytes()).max().unwrap_or(0);
        let time = |(bytes, rate): (u64, u64)| {
            let bits = u128::from(bytes.saturating_sub(largest * 4)) * 8;
            (bits * u128::from(PS_PER_S) / u128::from(rate.max(1))) as u64
        };
        self.engine.now.saturating_add(missing.into_iter().zip(rates).map(time).max().unwrap_or(0))
    }
}

/// A run that can be divided.
struct Divided {
    partition: Partition,
    /// None before it is divided for the first time.
    parts: Vec<Part>,
    division: Division,
}

impl Divided {
    /// `None` if the run cannot be divided, or not from its beginning to its end.
    fn new(network: &Network, threads: usize) -> Option<Self> {
        let Network { fabric, hosts, controllers, .. } = network;
        if threads < 2 || fabric.is_captured() || controllers.exist() || hosts.barriers.exist() {
            return None;
        }
        let partition = Partition::new(fabric.graph(), threads)?;
        if fabric.shares_memory(&partition.part_of) {
            return None;
        }
        let events = vec![0; usize::from(partition.parts)];
        let division = Division { events, window: partition.delay, ..Division::default() };
        Some(Self { partition, parts: Vec::new(), division })
    }

    /// The parts, with nothing in them.
    fn empty_parts(partition: &Partition, network: &Network) -> Vec<Part> {
        let Network { engine, fabric, hosts, ledger, seed, .. } = network;
        let graph = fabric.graph();
        let of = |node: u32| partition.part_of[node as usize];
        let part = |number| Part {
            number,
            engine: engine.like(),
            fabric: fabric.part(),
            hosts: hosts.part(number, &partition.part_of),
            ledger: ledger.part(),
            look_ahead: LookAhead::new(graph.ports()),
            seed: *seed,
            outgoing: (0..graph.ports())
                .map(|port| (port, of(graph.port_owner(port)), of(graph.port_peer(port))))
                .filter(|&(_, owner, peer)| owner == number && peer != number)
                .map(|(port, _, peer)| (port, peer))
                .collect(),
        };
        (0..partition.parts).map(part).collect()
    }

    /// Whether to divide the run until a time, with so many events in a picosecond, is faster than not to.
    fn pays(&self, network: &Network, until: u64, dense: f64) -> bool {
        let places = network.fabric.ports().len() + network.hosts.places().len();
        let window = dense * self.partition.delay as f64 / f64::from(self.partition.parts);
        let stretch = dense * until.saturating_sub(network.engine.now) as f64;
        window >= EVENTS_PER_WINDOW && stretch >= EVENTS_PER_PLACE * places as f64
    }

    /// How long a window may be with so many events in a picosecond, for somebody to look at the run every now and then.
    fn longest_window(&self, dense: f64) -> u64 {
        let often = f64::from(BETWEEN) * f64::from(self.partition.parts) / dense;
        // If nothing is known of the events: infinity, which is the largest number.
        self.partition.delay.min(often.max(1.0) as u64)
    }

    /// Simulates the parts side by side until a time, with so many events in a picosecond. False if `keep_going` says no.
    fn stretch(
        &mut self,
        network: &mut Network,
        until: u64,
        dense: f64,
        keep_going: &mut impl FnMut(&Network) -> bool,
    ) -> Result<bool, Undone> {
        let (before, most) = (network.events(), network.engine.packets.most());
        if self.parts.is_empty() {
            self.parts = Self::empty_parts(&self.partition, network);
        }
        self.give(network);
        let away = self.parts.iter().map(|part| part.engine.packets.live()).sum();
        network.engine.show(network.engine.now, before, away);
        let longest = self.longest_window(dense);
        let windows = Windows::new(&mut self.parts, network.engine.now, longest, until, most);
        let mut going = true;
        if let Some((own, others)) = self.parts.split_first_mut() {
            thread::scope(|scope| {
                let work = |part| {
                    let windows = &windows;
                    move || {
                        let clock = Stopwatch::start();
                        windows.work(part, || {});
                        clock.spent().cpu
                    }
                };
                let workers: Vec<_> = others.iter_mut().map(|part| scope.spawn(work(part))).collect();
                let mut told = 0;
                windows.work(own, || {
                    let (now, events) = windows.progress();
                    if events >= told + u64::from(BETWEEN) {
                        told = events;
                        network.engine.show(now, before + events, away);
                        if !keep_going(network) {
                            going = false;
                            windows.stop();
                        }
                    }
                });
                for worker in workers {
                    self.division.helpers += worker.join().unwrap_or_else(|panic| resume_unwind(panic));
                }
            });
        }
        network.engine.show(0, before, 0);
        let places: usize = self.parts.iter().map(|part| part.engine.packets.places()).sum();
        let stuck = self.parts.iter().find_map(|part| part.hosts.stuck());
        for (events, part) in self.division.events.iter_mut().zip(&self.parts) {
            *events += part.engine.events();
        }
        self.division.stretches += 1;
        self.division.windows += windows.count.into_inner();
        self.division.critical += windows.critical.into_inner();
        self.take_back(network);
        if let Some(why) = stuck {
            return Err(Undone(why));
        }
        if places >= most {
            return Err(Undone("too many packets"));
        }
        let closed = self.join(network);
        for (group, since) in closed {
            // Packets that were on their way to nobody have gone on.
            if network.fabric.group_used(group) >= since {
                return Err(Undone("a group ends with packets on the way"));
            }
            network.fabric.remove_group(group);
        }
        if network.stop == Stop::Foreground && network.ledger.waits_for_nothing() {
            return Err(Undone("the run ends"));
        }
        Ok(going)
    }

    /// Gives the parts all that is theirs.
    fn give(&mut self, network: &mut Network) {
        let Network { engine, fabric, hosts, ledger, .. } = network;
        let part_of = &*self.partition.part_of;
        for part in &mut self.parts {
            part.engine = engine.like();
            part.ledger = ledger.part();
            fabric.tell(&mut part.fabric);
        }
        for port in 0..fabric.graph().ports() {
            let [near, far] = ends(part_of, fabric, port);
            if near != far {
                fabric.port(engine, port);
                let part = &mut self.parts[far];
                fabric.give_wire(&mut engine.packets, port, &mut part.fabric, &mut part.engine.packets);
            }
            let part = &mut self.parts[near];
            fabric.give_port(&mut engine.packets, port, &mut part.fabric, &mut part.engine.packets);
        }
        let mut rest = engine.wheel.like(engine.now);
        let Entities { pacers, next_session, timers, .. } = engine.entities;
        for (entity, time) in engine.wheel.events() {
            let node = if entity < pacers {
                fabric.graph().port_peer(entity)
            } else if entity < next_session {
                hosts.host_of_interface(fabric.graph(), entity - pacers)
            } else if entity == next_session {
                for part in &mut self.parts {
                    part.engine.wheel.schedule(entity, time);
                }
                continue;
            } else if let Some(host) = entity.checked_sub(timers).and_then(|endpoint| hosts.host_of(endpoint)) {
                host
            } else {
                rest.schedule(entity, time);
                continue;
            };
            self.parts[usize::from(part_of[node as usize])].engine.wheel.schedule(entity, time);
        }
        engine.wheel = rest;
        // Its memory is needed by the parts.
        engine.packets = engine.packets.like();
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.hosts).collect();
        hosts.give(&mut theirs, part_of);
    }

    /// Takes all back but what is in the ledgers.
    fn take_back(&mut self, network: &mut Network) {
        let Network { engine, fabric, hosts, .. } = network;
        let part_of = &*self.partition.part_of;
        for part in &mut self.parts {
            engine.add(&mut part.engine);
        }
        let mut wheel = engine.wheel.like(engine.now);
        wheel.grow(self.parts[0].engine.wheel.entities());
        for (entity, time) in engine.wheel.events() {
            wheel.schedule(entity, time);
        }
        for part in &self.parts {
            for (entity, time) in part.engine.wheel.events() {
                // Sessions are opened by all.
                if wheel.due(entity).is_none() {
                    wheel.schedule(entity, time);
                }
            }
        }
        engine.wheel = wheel;
        for port in 0..fabric.graph().ports() {
            let [near, far] = ends(part_of, fabric, port);
            let part = &mut self.parts[near];
            part.fabric.give_port(&mut part.engine.packets, port, fabric, &mut engine.packets);
            if near != far {
                let part = &mut self.parts[far];
                part.fabric.give_wire(&mut part.engine.packets, port, fabric, &mut engine.packets);
            }
        }
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.fabric).collect();
        fabric.learn(&mut theirs);
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.hosts).collect();
        hosts.take_back(&mut theirs, part_of);
    }

    /// Makes the ledgers one again. The groups that have ended, and since when nobody needs them.
    fn join(&mut self, network: &mut Network) -> Vec<(u32, u64)> {
        let ledger = &mut network.ledger;
        let theirs = self.parts.iter_mut().map(|part| std::mem::replace(&mut part.ledger, ledger.part())).collect();
        ledger.join(theirs)
    }
}

/// The parts at both ends of a link.
fn ends(part_of: &[u16], fabric: &super::fabric::Fabric, port: u32) -> [usize; 2] {
    let graph = fabric.graph();
    [graph.port_owner(port), graph.port_peer(port)].map(|node| usize::from(part_of[node as usize]))
}
