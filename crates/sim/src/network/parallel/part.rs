//! One part of a run, a *logical process*: some of the nodes, and all that happens at them.

use super::super::arrivals::{Arrivals, Next};
use super::super::engine::{Engine, Moment};
use super::super::events::{at_node, reaches_host};
use super::super::fabric::{Bench, Fabric, Message};
use super::super::hosts::Hosts;
use super::super::ledger::Ledger;
use super::super::prefetcher::Prefetcher;
use super::super::sessions;
use crate::engine::prefetch::prefetch_lines;
use crate::engine::wheel::Entity;
use crate::fabric::graph::PortId;

/// How many ports ahead memory is prefetched when scanning all ports.
const AHEAD: usize = 8;

/// A part of a run. It handles the run's packets, timers and pulls; what concerns the whole run is handled before
/// the run is divided and after.
pub(super) struct Part {
    pub(super) number: u16,
    pub(super) engine: Engine,
    pub(super) fabric: Fabric,
    pub(super) hosts: Hosts,
    pub(super) ledger: Ledger,
    pub(super) prefetcher: Option<Prefetcher>,
    /// The run's seed.
    pub(super) seed: u64,
    /// Channels to other parts: its ports that lead there, each with the part that it leads to.
    pub(super) channels: Vec<(PortId, u16)>,
    /// While it goes in windows: lists, and the time before which all events have been handled.
    pub(super) bench: Bench,
    pub(super) arrivals: Arrivals,
    pub(super) at: u64,
}

impl Part {
    /// From now on it goes in windows of its own, which are no longer than those of all parts.
    pub(super) fn enter_windows(&mut self) {
        let Self { engine, fabric, hosts, .. } = self;
        fabric.use_boxes(engine, |node| hosts.owns(node));
        self.at = self.engine.now;
    }

    /// Goes on event by event.
    pub(super) fn leave_windows(&mut self) {
        if self.engine.pending.boxes.in_use() {
            self.fabric.empty_boxes(&mut self.engine);
        }
    }

    /// Handles all events before a time.
    pub(super) fn run_before(&mut self, limit: u64) {
        while self.engine.pending.boxes.in_use() {
            let next = self.engine.pending.next_bound().max(self.at);
            if next >= limit {
                self.at = limit;
                return;
            }
            self.engine.pending.boxes.go_to(next);
            let end = self.engine.pending.boxes.end().min(limit);
            self.hosts_before(end);
            let Self { engine, fabric, hosts, ledger, .. } = self;
            fabric.run_window(engine, ledger, hosts, &mut self.bench, Moment::of(end));
            self.at = end;
        }
        self.events_before(limit);
    }

    fn events_before(&mut self, limit: u64) {
        loop {
            if let Some(prefetcher) = &mut self.prefetcher {
                prefetcher.step(&mut self.engine, &self.fabric, &self.hosts, limit);
            }
            let Some((now, entity)) = self.engine.pending.wheel.pop_before(limit) else { return };
            self.dispatch(now, entity);
        }
    }

    /// Handles what happens at hosts in a window before a time.
    fn hosts_before(&mut self, end: u64) {
        self.arrivals.take(&mut self.engine);
        while let Some(next) = self.arrivals.next(&mut self.engine, &self.fabric, &self.hosts, end) {
            let Self { engine, fabric, hosts, ledger, .. } = self;
            match next {
                Next::Packet(arrival) => reaches_host(engine, fabric, hosts, ledger, arrival),
                Next::Event(now, entity) => {
                    if entity >= engine.entities.pacers || !fabric.puts_in_box(engine, entity, now) {
                        self.dispatch(now, entity);
                    }
                }
            }
        }
        self.arrivals.put_back(&mut self.engine);
    }

    #[inline]
    fn dispatch(&mut self, now: u64, entity: Entity) {
        let Self { engine, fabric, hosts, ledger, .. } = self;
        if (engine.entities.next_session..engine.entities.controllers).contains(&entity) {
            engine.now = now;
            if engine.entities.is_switch(entity) {
                return fabric.switch_sends(engine, entity);
            }
            debug_assert_eq!(entity, engine.entities.next_session);
            return self.open_sessions();
        }
        engine.begin_event(now);
        engine.trace_event(entity);
        let handled = at_node(engine, fabric, hosts, ledger, entity);
        debug_assert!(handled, "parts have no other entities");
    }

    /// Opens this part's share of every session whose time has come, and schedules the next. All parts do; the event counts once.
    #[cold]
    fn open_sessions(&mut self) {
        let Self { engine, fabric, hosts, ledger, seed, .. } = self;
        if self.number == 0 {
            engine.begin_event(engine.now);
            engine.trace_event(engine.entities.next_session);
        }
        while let Some(spec) = ledger.next().filter(|spec| spec.start <= engine.now()) {
            if let Some(endpoints) = sessions::elsewhere(hosts, ledger.group_of(spec), spec) {
                ledger.open_elsewhere(endpoints);
                hosts.add_elsewhere(endpoints);
                continue;
            }
            let session = ledger.open();
            sessions::open(engine, fabric, hosts, ledger, *seed, session);
        }
        if let Some(next) = ledger.next() {
            engine.pending.wheel.schedule(engine.entities.next_session, next.start.ps());
        }
    }

    /// Hands over the packets sent before a time by links to other parts: `take` gets the packets and the parts that they go to. The part
    /// sends nothing new before the time that is returned.
    pub(super) fn send(&mut self, before: u64, mut take: impl FnMut(u16, Message)) -> u64 {
        let Self { engine, fabric, hosts, channels, at, .. } = self;
        if engine.pending.boxes.in_use() {
            fabric.send_elsewhere(engine, |node, message| take(hosts.part_of(node), message));
            // Boxes know of whole windows only.
            return engine.pending.next_bound().max(*at);
        }
        let mut next = engine.pending.next_bound();
        for (n, &(port, to)) in channels.iter().enumerate() {
            if let Some(&(soon, _)) = channels.get(n + AHEAD) {
                prefetch_lines(&fabric.ports()[soon as usize], 0..1);
            }
            next = next.min(fabric.send_to_part(engine, port, before, |message| take(to, message)));
        }
        next
    }
}
