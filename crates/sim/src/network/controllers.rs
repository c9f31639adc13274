//! The controllers of a run: when each decides, and what has been decided and does not take effect yet.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use super::ledger::Ledger;
use super::monitor::Monitor;
use super::schedule::Target;
use crate::control::{Action, AnyController, Controller, FlowView, View};
use crate::engine::periodic::Periodic;
use crate::engine::wheel::Entity;
use crate::fabric::graph::Graph;
use crate::fabric::queue::{Limit, Setting};
use anabranch_transport::{Bytes, Time};
use std::collections::VecDeque;

/// Entities of each controller: its next decision, and when the next action takes effect.
const EACH: u32 = 2;

/// A controller at work.
struct Running {
    controller: Box<dyn Controller>,
    period: u64,
    delay: u64,
    /// Not in effect yet, in order of time.
    decided: VecDeque<(u64, Action)>,
}

/// All controllers of a run.
pub(super) struct Controllers {
    running: Vec<Running>,
    periodic: Periodic,
}

impl Controllers {
    /// How many entities so many controllers have.
    pub(super) fn entities(controllers: usize) -> u32 {
        EACH * controllers as u32
    }

    pub(super) fn new(configs: &[AnyController], graph: &Graph, engine: &Engine) -> Self {
        let start = |any: &AnyController| {
            let config = any.config();
            let (period, delay) = (config.period().ps(), config.delay().ps());
            Running { controller: config.start(graph), period, delay, decided: VecDeque::new() }
        };
        let running = configs.iter().map(start).collect();
        Self { running, periodic: Periodic::new(engine.entities.sampler..engine.entities.timers) }
    }

    /// Schedules the first decisions, a period from now.
    pub(super) fn start(&self, engine: &mut Engine) {
        for (i, running) in (0..).zip(&self.running) {
            engine.wheel.schedule(engine.entities.controllers + EACH * i, running.period);
        }
    }

    /// What has been decided and does not take effect yet.
    pub(super) fn decided(&self) -> usize {
        self.running.iter().map(|running| running.decided.len()).sum()
    }

    /// An entity of a controller comes up.
    pub(super) fn handle(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        hosts: &Hosts,
        ledger: &Ledger,
        monitor: &mut Monitor,
        entity: Entity,
    ) {
        let number = entity - engine.entities.controllers;
        let running = &mut self.running[(number / EACH) as usize];
        let decides = number.is_multiple_of(EACH);
        let effect = entity + u32::from(decides);
        if decides {
            fabric.catch_up(engine);
            let flows = || ledger.under_way().map(|session| flow(hosts, ledger, session)).collect();
            let view = View::new(engine.now(), fabric.graph(), fabric.ports(), fabric.links_up(), &flows);
            let actions = running.controller.decide(&view);
            let due = engine.now + running.delay;
            running.decided.extend(actions.into_iter().map(|action| (due, action)));
            self.periodic.again(&mut engine.wheel, entity, engine.now + running.period);
        }
        while let Some(&(_, action)) = running.decided.front().filter(|(due, _)| *due <= engine.now) {
            running.decided.pop_front();
            if fabric_takes(fabric, engine, action) {
                let (metric, port, value) = row(action);
                monitor.record(engine.now, metric, port, value);
            }
        }
        if let Some(&(due, _)) = running.decided.front()
            && engine.wheel.due(effect).is_none()
        {
            engine.wheel.schedule(effect, due);
        }
    }
}

/// Does what was decided. False if a queue has no such setting.
fn fabric_takes(fabric: &mut Fabric, engine: &mut Engine, action: Action) -> bool {
    match action {
        Action::Queue(port, setting) => fabric.set_queue(engine, port, setting),
        Action::Rate(link, rate) => {
            fabric.set_rate(engine, Target::Link(link), rate);
            true
        }
    }
}

/// A decision as a row of the time series: metric, port, value.
fn row(action: Action) -> (&'static str, u32, f64) {
    match action {
        Action::Queue(port, Setting::MarkingThreshold(Limit::Packets(n))) => {
            ("set_marking_threshold_packets", port, f64::from(n))
        }
        Action::Queue(port, Setting::MarkingThreshold(Limit::Bytes(n))) => {
            ("set_marking_threshold_bytes", port, n as f64)
        }
        Action::Queue(port, Setting::Buffer(Limit::Packets(n))) => ("set_buffer_packets", port, f64::from(n)),
        Action::Queue(port, Setting::Buffer(Limit::Bytes(n))) => ("set_buffer_bytes", port, n as f64),
        Action::Rate(link, rate) => ("set_rate_bps", 2 * link, rate.bps() as f64),
    }
}

fn flow(hosts: &Hosts, ledger: &Ledger, session: u32) -> FlowView {
    let spec = &ledger.specs()[session as usize];
    let group = ledger.group_of(spec);
    FlowView {
        session,
        source: spec.sources[0],
        destination: spec.sinks[0],
        group: spec.group,
        class: group.class,
        port: group.port,
        delivered: Bytes(ledger.delivered(session) + hosts.delivered(ledger.endpoints_of(session))),
        start: Time(spec.start.ps()),
    }
}
