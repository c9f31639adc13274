//! A divided run: its parts, and how their state moves there and back.

use super::super::Network;
use super::super::Stop;
use super::super::arrivals::Arrivals;
use super::super::engine::Entities;
use super::super::fabric::{Bench, Fabric};
use super::super::prefetcher::Prefetcher;
use super::gain::Gain;
use super::pace::{CHUNK, Prospect};
use super::part::Part;
use super::partition::Partition;
use super::windows::{Limits, Windows};
use super::{Division, Undone};
use crate::stopwatch::Stopwatch;
use std::panic::resume_unwind;
use std::thread;

/// Total journal entries before the parts are merged. This bounds their memory, by a share of that of
/// the whole ledger where that is large, so that the work of joining them is in proportion to the number of entries.
const JOURNAL_MIN: usize = 1 << 17;
const JOURNAL_SHARE: usize = 2;

/// A run that can be divided.
pub(super) struct Divided {
    /// How many parts were asked for last.
    asked: usize,
    partition: Partition,
    /// How many threads there are.
    threads: usize,
    /// None before the run is divided for the first time, and after it [stays whole](Self::stays_whole).
    parts: Vec<Part>,
    /// Whether each goes in windows of its own, from switch to switch.
    in_windows: bool,
    pub(super) division: Division,
}

/// Divides a fabric into so many parts.
///
/// # Errors
/// If that cannot be: why.
fn partition(fabric: &Fabric, parts: usize) -> Result<Partition, &'static str> {
    let partition = Partition::new(fabric.graph(), parts)?;
    if fabric.shares_memory(&partition.part_of) {
        return Err("ports of several switches share a memory");
    }
    Ok(partition)
}

impl Divided {
    /// Prepares to divide a run among `threads` threads.
    ///
    /// # Errors
    /// If the run can never be divided: why.
    pub(super) fn new(network: &Network, threads: usize) -> Result<Self, &'static str> {
        let Network { fabric, hosts, controllers, .. } = network;
        let obstacles = [
            (fabric.is_captured(), "packets are captured"),
            (controllers.exist(), "a controller may change the fabric at any time"),
            (hosts.barriers.exist(), "clients wait at barriers"),
            (hosts.jobs.exist(), "messages wait for each other"),
        ];
        if let Some((_, why)) = obstacles.into_iter().find(|(there, _)| *there) {
            return Err(why);
        }
        let partition = partition(fabric, threads)?;
        let events = vec![0; usize::from(partition.parts)];
        let whole = Some("too little happens at a time");
        let division = Division { events, window: partition.lookahead, whole, ..Division::default() };
        let in_windows = network.wants_windows();
        Ok(Self { asked: threads, partition, threads, parts: Vec::new(), in_windows, division })
    }

    /// Until the run is divided for the first time: asks for so many parts, at most one for each thread.
    pub(super) fn ask_for(&mut self, fabric: &Fabric, parts: usize) {
        let parts = parts.clamp(2, self.threads);
        if self.division.phases > 0 || parts == self.asked {
            return;
        }
        self.asked = parts;
        if let Ok(partition) = partition(fabric, parts) {
            self.division.events = vec![0; usize::from(partition.parts)];
            self.division.window = partition.lookahead;
            self.partition = partition;
        }
    }

    /// For now the run stays whole: gives the memory of the parts back.
    pub(super) fn stays_whole(&mut self) {
        self.parts = Vec::new();
    }

    /// Empty parts.
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
            prefetcher: Prefetcher::new(graph.ports()),
            seed: *seed,
            channels: (0..graph.ports())
                .map(|port| (port, of(graph.port_owner(port)), of(graph.port_peer(port))))
                .filter(|&(_, owner, peer)| owner == number && peer != number)
                .map(|(port, _, peer)| (port, peer))
                .collect(),
            bench: Bench::default(),
            arrivals: Arrivals::default(),
            at: 0,
        };
        (0..partition.parts).map(part).collect()
    }

    /// Gain and cost of dividing the run until a time.
    pub(super) fn prospect(&self, network: &Network, until: u64) -> Prospect {
        let to_come = network.ledger.to_come();
        Prospect {
            span: until.saturating_sub(network.engine.now),
            window: self.partition.lookahead,
            parts: self.partition.parts,
            ports: network.fabric.ports().len(),
            open: network.hosts.open_endpoints(),
            endpoints: network.hosts.endpoints().len(),
            starts: to_come.partition_point(|spec| spec.start.ps() < until),
        }
    }

    /// The longest window at `rate` events per picosecond, so that the run can be inspected now and then. Where parts go in windows of
    /// their own, of length `grid`, these are not cut for it.
    fn longest_window(&self, rate: f64, grid: u64) -> u64 {
        let often = f64::from(CHUNK) * f64::from(self.partition.parts) / rate;
        // If the rate is unknown: infinity, which becomes the largest number.
        self.partition.lookahead.min((often as u64).max(grid))
    }

    /// Simulates the parts in parallel until a time, at `rate` events per picosecond, or for as long as `gain` allows. False if
    /// `keep_going` says no.
    pub(super) fn phase(
        &mut self,
        network: &mut Network,
        until: u64,
        rate: f64,
        mut gain: Option<&mut Gain>,
        keep_going: &mut impl FnMut(&Network) -> bool,
    ) -> Result<bool, Undone> {
        let (before, capacity) = (network.events(), network.engine.packets.capacity());
        if self.parts.is_empty() {
            self.parts = Self::empty_parts(&self.partition, network);
        }
        self.scatter(network);
        if self.in_windows {
            self.parts.iter_mut().for_each(Part::enter_windows);
        }
        let away = self.parts.iter().map(|part| part.engine.packets.live()).sum();
        network.engine.show(network.engine.now, before, away);
        let grid = self.parts.first().map_or(0, |part| part.engine.pending.boxes.length()).max(1);
        let limits = Limits {
            until,
            longest: self.longest_window(rate, grid),
            grid,
            slots: capacity,
            journal: (network.ledger.sessions() / JOURNAL_SHARE).max(JOURNAL_MIN),
        };
        let windows = Windows::new(&mut self.parts, network.engine.now, limits);
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
                    if events >= told + u64::from(CHUNK) {
                        told = events;
                        network.engine.show(now, before + events, away);
                        going = keep_going(network);
                        if !going || gain.as_mut().is_some_and(|gain| !gain.allows(before + events)) {
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
        let slots: usize = self.parts.iter().map(|part| part.engine.packets.slots()).sum();
        let undone = self.parts.iter().find_map(|part| part.hosts.undone());
        for (events, part) in self.division.events.iter_mut().zip(&self.parts) {
            *events += part.engine.events();
        }
        self.division.phases += 1;
        self.division.whole = None;
        self.division.windows += windows.count.into_inner();
        self.division.critical += windows.critical.into_inner();
        self.parts.iter_mut().for_each(Part::leave_windows);
        self.gather(network);
        if let Some(why) = undone {
            return Err(Undone(why));
        }
        if slots >= capacity {
            return Err(Undone("too many packets"));
        }
        let closed = self.join(network);
        for (group, since) in closed {
            // Packets for this group were forwarded after it had ended.
            if network.fabric.group_used(group) >= since {
                return Err(Undone("a group ends with packets on the way"));
            }
            network.fabric.remove_group(group, None);
        }
        if network.stop == Stop::Foreground && network.ledger.waits_for_nothing() {
            return Err(Undone("the run ends"));
        }
        Ok(going)
    }

    /// Moves the run's state to the parts.
    fn scatter(&mut self, network: &mut Network) {
        let Network { engine, fabric, hosts, ledger, .. } = network;
        fabric.rest_switches(engine);
        let part_of = &*self.partition.part_of;
        for part in &mut self.parts {
            part.engine.restart(engine);
            part.ledger = ledger.part();
            fabric.tell(&mut part.fabric);
        }
        for port in 0..fabric.graph().ports() {
            let [near, far] = ends(part_of, fabric, port);
            if near != far {
                fabric.port(engine, port);
            }
        }
        engine.move_stamps_to_headers();
        for port in 0..fabric.graph().ports() {
            let [near, far] = ends(part_of, fabric, port);
            if near != far {
                let part = &mut self.parts[far];
                fabric.give_wire(&mut engine.packets, port, &mut part.fabric, &mut part.engine.packets);
            }
            let part = &mut self.parts[near];
            fabric.give_port(&mut engine.packets, port, &mut part.fabric, &mut part.engine.packets);
        }
        for (node, &part) in (0..).zip(part_of) {
            fabric.give_balancer(node, &mut self.parts[usize::from(part)].fabric);
        }
        let Entities { pacers, next_session, timers, .. } = engine.entities;
        for (entity, time) in engine.pending.wheel.drain(engine.now) {
            let node = if entity < pacers {
                fabric.graph().port_peer(entity)
            } else if entity < next_session {
                hosts.host_of_interface(fabric.graph(), engine.entities.interface(entity))
            } else if entity == next_session {
                for part in &mut self.parts {
                    part.engine.pending.wheel.schedule(entity, time);
                }
                continue;
            } else if let Some(host) = entity.checked_sub(timers).and_then(|endpoint| hosts.host_of(endpoint)) {
                host
            } else {
                engine.pending.wheel.schedule(entity, time);
                continue;
            };
            self.parts[usize::from(part_of[node as usize])].engine.pending.wheel.schedule(entity, time);
        }
        for part in &mut self.parts {
            part.fabric.wake_switches(&mut part.engine);
        }
        // The parts need its memory.
        engine.packets = engine.packets.like();
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.hosts).collect();
        hosts.scatter(&mut theirs, part_of);
    }

    /// Moves all state back, except the ledgers.
    fn gather(&mut self, network: &mut Network) {
        let Network { engine, fabric, hosts, .. } = network;
        let part_of = &*self.partition.part_of;
        for part in &mut self.parts {
            engine.add(&mut part.engine);
            part.engine.move_stamps_to_headers();
        }
        let now = engine.now;
        for (entity, time) in engine.pending.wheel.drain(now) {
            engine.pending.wheel.schedule(entity, time);
        }
        for part in &mut self.parts {
            engine.pending.wheel.grow(part.engine.pending.wheel.entities());
            for (entity, time) in part.engine.pending.wheel.drain(now) {
                // All parts open sessions.
                if engine.pending.wheel.due(entity).is_none() {
                    engine.pending.wheel.schedule(entity, time);
                }
            }
        }
        for port in 0..fabric.graph().ports() {
            let [near, far] = ends(part_of, fabric, port);
            let part = &mut self.parts[near];
            part.fabric.give_port(&mut part.engine.packets, port, fabric, &mut engine.packets);
            if near != far {
                let part = &mut self.parts[far];
                part.fabric.give_wire(&mut part.engine.packets, port, fabric, &mut engine.packets);
            }
        }
        for (node, &part) in (0..).zip(part_of) {
            self.parts[usize::from(part)].fabric.give_balancer(node, fabric);
        }
        fabric.wake_switches(engine);
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.fabric).collect();
        fabric.learn(&mut theirs);
        let mut theirs: Vec<_> = self.parts.iter_mut().map(|part| &mut part.hosts).collect();
        hosts.gather(&mut theirs, part_of);
    }

    /// Merges the ledgers. Returns the groups that have ended, and since when they are unused.
    fn join(&mut self, network: &mut Network) -> Vec<(u32, u64)> {
        let ledger = &mut network.ledger;
        let theirs = self.parts.iter_mut().map(|part| std::mem::replace(&mut part.ledger, ledger.part())).collect();
        ledger.join(theirs)
    }
}

/// The parts at both ends of a link.
fn ends(part_of: &[u16], fabric: &Fabric, port: u32) -> [usize; 2] {
    let graph = fabric.graph();
    [graph.port_owner(port), graph.port_peer(port)].map(|node| usize::from(part_of[node as usize]))
}
