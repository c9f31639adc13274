//! The controllers of a run: when each decides, and what has been decided and does not take effect yet.

use super::admission::Admission;
use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use super::ledger::Ledger;
use super::monitor::Monitor;
use super::schedule::Target;
use crate::control::{Action, Controller, FlowView, Rule, Sessions, SharedController, Verdict, View};
use crate::engine::periodic::Periodic;
use crate::engine::wheel::Entity;
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::queue::{Limit, Setting};
use crate::host::EndpointId;
use crate::workload::Mode;
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
    /// How long flows that have ended are remembered, in picoseconds: the longest period of a controller that watches flows.
    flows_kept: Option<u64>,
    /// Which sessions may begin.
    pub(super) admission: Admission,
    /// Something impossible was decided: what.
    refused: Option<String>,
    periodic: Periodic,
}

impl Controllers {
    /// How many entities so many controllers have.
    pub(super) fn entities(controllers: usize) -> u32 {
        EACH * controllers as u32
    }

    pub(super) fn new(configs: &[SharedController], graph: &Graph, seed: u64, engine: &Engine) -> Self {
        let start = |config: &SharedController| {
            let (period, delay) = (config.period().ps(), config.delay().ps());
            Running { controller: config.start(graph, seed), period, delay, decided: VecDeque::new() }
        };
        let running = configs.iter().map(start).collect();
        let watching = configs.iter().filter(|config| config.watches().flows);
        let flows_kept = watching.map(|config| config.period().ps()).max();
        Self {
            running,
            flows_kept,
            admission: Admission::default(),
            refused: None,
            periodic: Periodic::new(engine.entities.sampler..engine.entities.requests),
        }
    }

    /// Schedules the first decisions, a period from now.
    pub(super) fn start(&self, engine: &mut Engine) {
        for (i, running) in (0..).zip(&self.running) {
            engine.pending.wheel.schedule(engine.entities.controllers + EACH * i, running.period);
        }
    }

    /// Whether there are any.
    pub(super) fn exist(&self) -> bool {
        !self.running.is_empty()
    }

    /// What has been decided and does not take effect yet.
    pub(super) fn decided(&self) -> usize {
        self.running.iter().map(|running| running.decided.len()).sum()
    }

    /// The first decision that was impossible, and why.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// An entity of a controller comes up.
    pub(super) fn handle(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        hosts: &mut Hosts,
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
            if let Some(oldest) = self.flows_kept.map(|kept| engine.now.saturating_sub(kept)) {
                fabric.retain_flows(|endpoint, flow| {
                    flow.last.ps() >= oldest || ledger.is_under_way(ledger.session_of(endpoint))
                });
            }
            let sessions = Known { hosts: &*hosts, ledger };
            let view =
                View::new(engine.now(), fabric.graph(), fabric.routes(), fabric.ports(), fabric.links_up(), &sessions);
            let actions = running.controller.decide(&view);
            let due = engine.now + running.delay;
            for action in actions {
                match action {
                    // What is seen is seen at once.
                    Action::Note(metric, port, value) => monitor.record(engine.now, metric, port, value),
                    _ => running.decided.push_back((due, action)),
                }
            }
            let next = engine.now + running.period;
            if self.admission.waiting() > 0 && running.controller.waits() {
                engine.pending.wheel.schedule(entity, next);
            } else {
                self.periodic.again(&mut engine.pending, entity, next);
            }
        }
        while running.decided.front().is_some_and(|(due, _)| *due <= engine.now) {
            let Some((_, action)) = running.decided.pop_front() else { break };
            let taken = match action {
                Action::Place(session, path) => place(fabric, hosts, ledger, session, &path),
                other => self.admission.take(fabric, engine, &other),
            };
            match taken {
                Ok(rows) => rows.iter().for_each(|&(metric, id, value)| monitor.record(engine.now, metric, id, value)),
                Err(why) => {
                    self.refused
                        .get_or_insert_with(|| format!("controller {}, at {}: {why}", number / EACH, engine.now()));
                }
            }
        }
        if let Some(&(due, _)) = running.decided.front()
            && engine.pending.wheel.due(effect).is_none()
        {
            engine.pending.wheel.schedule(effect, due);
        }
    }

    /// Goes on deciding, at whole periods, after a time in which nothing could happen.
    pub(super) fn wake(&self, engine: &mut Engine) {
        for (entity, running) in (engine.entities.controllers..).step_by(EACH as usize).zip(&self.running) {
            if engine.pending.wheel.due(entity).is_none() {
                let next = (engine.now / running.period + 1).saturating_mul(running.period);
                engine.pending.wheel.schedule(entity, next);
            }
        }
    }
}

/// A row of the time series: metric, port or other number, value.
type Row = (&'static str, u32, f64);

impl Admission {
    /// Does what was decided; the rows that tell so. None if a queue has no such setting.
    ///
    /// # Errors
    /// If it is impossible: why.
    fn take(&mut self, fabric: &mut Fabric, engine: &mut Engine, action: &Action) -> Result<Vec<Row>, String> {
        let (ports, hosts) = (fabric.graph().ports(), fabric.graph().hosts);
        let port_exists = |port: PortId| match port {
            port if port < ports => Ok(()),
            _ => Err(format!("there is no port {port}, only {ports}")),
        };
        let host_exists = |host: Option<u32>| match host {
            Some(host) if host >= hosts => Err(format!("there is no host {host}, only {hosts}")),
            _ => Ok(()),
        };
        Ok(match *action {
            Action::Queue(port, setting) => {
                port_exists(port)?;
                let taken = fabric.set_queue(engine, port, setting);
                if taken { vec![queue_row(port, setting)] } else { Vec::new() }
            }
            Action::Rate(link, rate) => {
                port_exists(link.saturating_mul(2))?;
                if rate.bps() == 0 {
                    return Err(format!("the rate of link {link} has to be above 0"));
                }
                fabric.set_rate(engine, Target::Link(link), rate);
                vec![("set_rate_bps", 2 * link, rate.bps() as f64)]
            }
            Action::Path(path) => {
                port_exists(path.port)?;
                host_exists(path.to)?;
                fabric.set_path_weight(engine, path)?;
                let to = path.to.map(|host| ("set_path_weight_to", path.port, f64::from(host)));
                to.into_iter().chain([("set_path_weight", path.port, f64::from(path.weight))]).collect()
            }
            Action::Admission(rule, verdict) => {
                host_exists(rule.source)?;
                host_exists(rule.destination)?;
                self.rows_of(rule, verdict)
            }
            Action::Note(metric, port, value) => vec![(metric, port, value)],
            Action::Place(..) => unreachable!("no matter of the fabric's"),
        })
    }

    /// Sets a rule. What it is about is told when it comes up for the first time.
    fn rows_of(&mut self, rule: Rule, verdict: Verdict) -> Vec<Row> {
        let (number, new) = self.set(rule, verdict);
        let about = [
            ("set_admission_source", rule.source.map(f64::from)),
            ("set_admission_destination", rule.destination.map(f64::from)),
            ("set_admission_port", rule.port.map(f64::from)),
            ("set_admission_larger_than_bytes", rule.larger_than.map(|bytes| bytes.0 as f64)),
        ];
        let about = about.into_iter().filter(|_| new).filter_map(|(metric, value)| Some((metric, number, value?)));
        let says = match verdict {
            Verdict::Admit => 0.0,
            Verdict::Hold => 1.0,
            Verdict::Refuse => 2.0,
        };
        about.chain([("set_admission", number, says)]).collect()
    }
}

/// Places a session on a path. The row tells the port by which the path leaves its middle: in a fat-tree, that of the core switch.
///
/// # Errors
/// If that is impossible: why.
fn place(
    fabric: &Fabric,
    hosts: &mut Hosts,
    ledger: &Ledger,
    session: u32,
    path: &[PortId],
) -> Result<Vec<Row>, String> {
    let Some(spec) = ledger.specs().get(session as usize) else {
        return Err(format!("there is no session {session}, only {}", ledger.specs().len()));
    };
    if !ledger.endpoints_of(session).is_empty() && !hosts.is_open(ledger.endpoints_of(session).start) {
        return Ok(Vec::new());
    }
    let Some(sender) = placeable(hosts, ledger, session) else {
        let why = "it is no flow of one connection with per-flow routing";
        return Err(format!("session {session} has no path that could be chosen: {why}"));
    };
    if !fabric.schemes().is_plain() {
        return Err("flows are placed where no paths have weights".to_owned());
    }
    let (source, destination) = (spec.sources[0], spec.sinks[0]);
    fabric.check_path(source, destination, path)?;
    let Some(fraction) = fabric.routes().fraction_of(fabric.graph(), source, destination, path) else {
        return Ok(Vec::new());
    };
    hosts.place(sender, fraction);
    Ok(vec![("set_path", session, f64::from(path[path.len() / 2]))])
}

/// The sender of a session whose path can be chosen now: the first of its endpoints.
fn placeable(hosts: &Hosts, ledger: &Ledger, session: u32) -> Option<EndpointId> {
    let spec = &ledger.specs()[session as usize];
    let one_path = spec.mode == Mode::Unicast && !ledger.group_of(spec).transport.sprays();
    let sender = ledger.endpoints_of(session).next();
    sender.filter(|&sender| one_path && hosts.is_placeable(sender))
}

fn queue_row(port: PortId, setting: Setting) -> Row {
    match setting {
        Setting::MarkingThreshold(Limit::Packets(n)) => ("set_marking_threshold_packets", port, f64::from(n)),
        Setting::MarkingThreshold(Limit::Bytes(n)) => ("set_marking_threshold_bytes", port, n as f64),
        Setting::Buffer(Limit::Packets(n)) => ("set_buffer_packets", port, f64::from(n)),
        Setting::Buffer(Limit::Bytes(n)) => ("set_buffer_bytes", port, n as f64),
    }
}

/// What is known of sessions.
struct Known<'a> {
    hosts: &'a Hosts,
    ledger: &'a Ledger,
}

impl Sessions for Known<'_> {
    fn under_way(&self) -> Vec<FlowView> {
        self.ledger.under_way().map(|session| flow(self.hosts, self.ledger, session)).collect()
    }

    fn of(&self, endpoint: EndpointId) -> FlowView {
        flow(self.hosts, self.ledger, self.ledger.session_of(endpoint))
    }
}

fn flow(hosts: &Hosts, ledger: &Ledger, session: u32) -> FlowView {
    let spec = &ledger.specs()[session as usize];
    let group = ledger.group_of(spec);
    let delivered = ledger.delivered(session) + hosts.delivered(ledger.endpoints_of(session));
    FlowView {
        session,
        source: spec.sources[0],
        destination: spec.sinks[0],
        group: spec.group,
        class: group.class,
        port: group.port,
        delivered: Bytes(delivered),
        waiting: Bytes(hosts.waiting(ledger.endpoints_of(session).start, session, spec.size, delivered)),
        size: spec.size,
        start: Time(spec.start.ps()),
        open: ledger.is_under_way(session),
        placeable: placeable(hosts, ledger, session).is_some(),
    }
}
