//! From a resolved scenario to a network that is ready to run.

use super::cost::{Estimate, Prepared};
use super::failure::changes;
use super::{
    Plan, PullOrder, QueueKind, RunPlan, Scenario, ScenarioError, SwitchConfig, TransportName, WindowRule,
    WorkloadConfig,
};
use crate::control::AnyController;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::fabric::queue::pooled::{Pool, Pooled};
use crate::fabric::queue::{Discipline as _, Queue, fair::Fair};
use crate::host::protocol::Transport;
use crate::network::{self, Change, Needs, Network, Sampling, SessionGroup, Setup, Stop};
use crate::random;
use crate::workload::{Connections, Context, Fault, PlacedJob, Session, Workload, WorkloadError, generate};
use anabranch_transport::{Bytes, Duration, Time};
use rand::Rng as _;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Plan {
    /// Builds the fabric of a run and generates its sessions.
    ///
    /// # Errors
    /// What is impossible in this fabric, at its place in the scenario.
    pub fn prepare(&self, run: &RunPlan) -> Result<Prepared, Box<ScenarioError>> {
        let scenario = &run.scenario;
        let at = |fault: &Fault| Box::new(self.fault_error(run, fault));
        let graph = self
            .fabrics
            .get(&scenario.fabric, &self.base)
            .map_err(|e| at(&super::fabric::fault(&e).under("fabric")))?;
        let context = Context::from_graph(&graph).with_base(&self.base);
        let context = context.with_sessions_max(scenario.sessions_max());
        let mut workloads: Vec<Workload> = scenario.workload.iter().map(WorkloadConfig::workload).collect();
        for (workload, config) in scenario.workload.iter().enumerate() {
            let Some(job) = &config.job else { continue };
            let error = |fault: Fault| WorkloadError { workload, fault: fault.under("job") };
            let seed = random::substream(run.seed, "computations", workload as u64).next_u64();
            let placed = job
                .open(&context, scenario.host.server.as_ref(), seed)
                .map_err(|f| Box::new(self.workload_error(run, &error(f))))?;
            workloads[workload].job = Some(Arc::new(placed));
        }
        let sessions = generate(&workloads, &context, run.seed)
            .and_then(|sessions| cut_to_packets(sessions, scenario))
            .map_err(|e| Box::new(self.workload_error(run, &e)))?;
        scenario.check_clock(&graph, &sessions).map_err(|fault| at(&fault))?;
        let jobs = workloads.into_iter().map(|workload| workload.job).collect();
        let prepared = Prepared { graph, sessions, jobs };
        prepared.estimate(scenario).check(scenario).map_err(|fault| at(&fault))?;
        Ok(prepared)
    }

    /// What the runs of the plan will take: that of the first seed of a sweep point stands for all its seeds.
    ///
    /// # Errors
    /// The first run that is impossible in its fabric, or too large, at its place in the scenario.
    pub fn estimates(&self) -> Result<Vec<Estimate>, Box<ScenarioError>> {
        let mut estimates: Vec<Estimate> = Vec::with_capacity(self.runs.len());
        for (i, run) in self.runs.iter().enumerate() {
            let same = i > 0 && Arc::ptr_eq(&self.runs[i - 1].scenario, &run.scenario);
            let estimate = if same { estimates[i - 1] } else { self.prepare(run)?.estimate(&run.scenario) };
            estimates.push(estimate);
        }
        Ok(estimates)
    }

    /// The error of a run that needed more memory than it may take: `why` says for what.
    pub fn too_large(&self, run: &RunPlan, needs: Needs, why: &str) -> Box<ScenarioError> {
        let key = match needs {
            Needs::Samples => "measure.interval",
            Needs::Packets => "run.memory_limit",
        };
        let fault = Fault::new(key, format!("{}: {why}", run.name()));
        Box::new(self.fault_error(run, &fault.hint("in [run], set a higher memory_limit")))
    }

    /// The error of a run in which a controller decided something impossible: `why` says what.
    pub fn refused(&self, run: &RunPlan, why: &str) -> Box<ScenarioError> {
        Box::new(self.fault_error(run, &Fault::new("controller", format!("{}: {why}", run.name()))))
    }

    /// The network of a run, at time zero.
    ///
    /// # Errors
    /// What is impossible in this fabric, at its place in the scenario.
    pub fn network(&self, run: &RunPlan) -> Result<Network, Box<ScenarioError>> {
        let Prepared { graph, sessions, jobs } = self.prepare(run)?;
        let changes =
            changes(&run.scenario.failure, &graph).map_err(|fault| Box::new(self.fault_error(run, &fault)))?;
        let scenario = &run.scenario;
        let follows = scenario.transport.window != WindowRule::Given;
        let paths = (follows || scenario.needs_round_trip() || scenario.needs_packet_time()).then(|| {
            let paths = self.fabrics.paths(&scenario.fabric, &self.base);
            paths.map_err(|e| Box::new(self.fault_error(run, &super::fabric::fault(&e).under("fabric"))))
        });
        let paths = paths.transpose()?;
        let carrier = |name| scenario.carrier(name, paths.as_ref()).for_sizes(|| sizes(scenario, &sessions, name));
        let transports: BTreeMap<TransportName, Transport> =
            classes(scenario).into_iter().map(|name| (name, carrier(name))).collect();
        Ok(Network::new(setup(scenario, &transports, graph, (sessions, jobs), run.seed, changes)))
    }
}

/// The sizes of what the connections of a transport will carry; `u64::MAX` of those without end.
fn sizes<'a>(scenario: &'a Scenario, sessions: &'a [Session], name: TransportName) -> impl Iterator<Item = u64> + 'a {
    let workload = move |session: &Session| &scenario.workload[usize::from(session.group)];
    let carried = sessions.iter().filter(move |session| scenario.transport_of(workload(session)) == name);
    let connections = carried.flat_map(move |session| network::sizes(workload(session).fallback, session));
    connections.map(|size| size.map_or(u64::MAX, |size| size.0))
}

/// Sessions that follow volumes are told by bytes on the wire: makes them objects of their transports. Refuses what a
/// transport cannot carry.
fn cut_to_packets(mut sessions: Vec<Session>, scenario: &Scenario) -> Result<Vec<Session>, WorkloadError> {
    let transport_of = |workload| scenario.transport.transport(scenario.transport_of(workload));
    let transports: Vec<Transport> = scenario.workload.iter().map(transport_of).collect();
    for session in &mut sessions {
        let workload = usize::from(session.group);
        let transport = &transports[workload];
        match (session.size, &session.supply) {
            (Some(wire), Some(_)) => session.size = Some(Bytes(transport.object(wire.0).max(1))),
            (None, _) if !transport.retransmits() => {
                return Err(WorkloadError { workload, fault: super::validate::never_ends(&transport.name) });
            }
            _ => {}
        }
        let barrier = scenario.workload[workload].barrier.as_ref();
        let kept = barrier.filter(|barrier| barrier.connections == Connections::Kept);
        if let (Some(barrier), Some(size)) = (kept, session.size) {
            let (fragment, packet) = (size.0 / u64::from(barrier.blocks), transport.object(transport.packet_bytes()));
            if fragment < packet {
                let message = format!(
                    "a fragment of {} is less than a full packet of {}, {}: connections that last carry whole packets",
                    Bytes(fragment),
                    transport.name,
                    Bytes(packet)
                );
                let fault = Fault::new("sizes", message).hint("barrier.connections = \"new\"");
                return Err(WorkloadError { workload, fault });
            }
        }
    }
    Ok(sessions)
}

fn setup(
    scenario: &Scenario,
    transports: &BTreeMap<TransportName, Transport>,
    graph: Arc<Graph>,
    (sessions, jobs): (Vec<Session>, Vec<Option<Arc<PlacedJob>>>),
    seed: u64,
    changes: Vec<(Time, Change)>,
) -> Setup {
    let classes = classes(scenario);
    let groups: Vec<SessionGroup> = scenario
        .workload
        .iter()
        .zip(jobs)
        .enumerate()
        .map(|(index, (workload, job))| {
            let name = scenario.transport_of(workload);
            let background = workload.is_background();
            SessionGroup {
                name: workload.name(index),
                transport: transports[&name].clone(),
                routing: scenario.routing.resolve(name),
                class: classes.iter().position(|&c| c == name).unwrap_or(0) as u8,
                background,
                fallback: workload.fallback,
                awaited: match scenario.run.stop {
                    super::Stop::All => !workload.is_endless(),
                    super::Stop::Foreground => !background,
                },
                awaited_size: scenario.run.stop_size.unwrap_or(Bytes(u64::MAX)),
                duration: workload.duration(),
                deadline: workload.deadline,
                port: workload.port.unwrap_or(0),
                barrier: workload.barrier.clone(),
                job,
            }
        })
        .collect();
    let waits = groups.iter().any(|g| g.awaited);
    let measure = &scenario.measure;
    let windows = if measure.cwnd { (0..sessions.len() as u32).collect() } else { Vec::new() };
    Setup {
        queue: queues(scenario, &classes, &graph, seed),
        pfc: scenario.pfc(&graph),
        host_classes: if scenario.switch.queue == QueueKind::Fair { classes.len() as u8 } else { 1 },
        return_to_sender: groups.iter().any(|g| g.transport.returned_headers()),
        trim_multicast: scenario.switch.trim_multicast,
        reorder: scenario.host.reorder.as_ref().map(|reorder| reorder.timeout),
        pulls_by_priority: scenario.host.pull_order == PullOrder::Priority,
        groups,
        sessions,
        seed,
        stop: if waits { Stop::Foreground } else { Stop::Limit },
        time_limit: scenario.run.time_limit.map_or(Time::MAX, |limit| Time::ZERO + limit),
        changes,
        sampling: Sampling {
            interval: measure.interval.unwrap_or(Duration::ZERO),
            queues: measure.queues,
            links: measure.links,
            windows,
            goodput: measure.goodput,
            volumes: measure.volumes,
            operations: measure.operations,
            warmup: measure.warmup,
            window: measure.window,
        },
        routing: scenario.routing.clone(),
        controllers: scenario.controller.iter().map(AnyController::shared).collect(),
        memory_limit: scenario.memory_limit(),
        host_jitter: scenario.host.jitter,
        pull_pace: scenario.host.pull_pace,
        graph,
    }
}

/// The transports in use, each once, in the order of the workloads: the classes that fair queues tell apart.
fn classes(scenario: &Scenario) -> Vec<TransportName> {
    let mut names = Vec::new();
    for workload in &scenario.workload {
        let name = scenario.transport_of(workload);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Makes the queue of each switch port: the discipline of the scenario, resolved for the port's rate.
fn queues(
    scenario: &Scenario,
    classes: &[TransportName],
    graph: &Arc<Graph>,
    seed: u64,
) -> Box<dyn Fn(PortId) -> Queue + Send> {
    let (config, transport, graph) = (scenario.switch.clone(), scenario.transport.name, Arc::clone(graph));
    let packet_of = |&name: &TransportName| (name, scenario.transport.transport(name).packet_bytes());
    let classes: Vec<_> = classes.iter().map(packet_of).collect();
    let first: OnceCell<Queue> = OnceCell::new();
    let pools = pools(&config, &graph);
    let full_packet = scenario.packet_bytes();
    let own_queue = move |graph: &Graph, port: PortId| {
        let rate = graph.links[(port / 2) as usize].rate;
        let seed = random::mix(seed ^ random::mix(u64::from(port)));
        if config.queue == QueueKind::Fair {
            let own = SwitchConfig { queue: QueueKind::Auto, ..config.clone() };
            let queues = classes.iter().map(|&(name, packet)| own.resolve(name, rate, packet).queue(seed));
            return Queue::Fair(Fair::new(queues, full_packet as u32));
        }
        let mut queue = config.resolve(transport, rate, full_packet).queue(seed);
        let first = first.get_or_init(|| queue.clone());
        queue.share(first);
        queue
    };
    Box::new(move |port| {
        let queue = own_queue(&graph, port);
        match pools.get(&graph.port_owner(port)) {
            Some((pool, ports)) => {
                let place = ports.iter().position(|&p| p == port).unwrap_or_default();
                Queue::Pooled(Box::new(Pooled::new(queue, Arc::clone(pool), place)))
            }
            None => queue,
        }
    })
}

/// The memory of each switch and its ports; none if each port has its own.
fn pools(config: &SwitchConfig, graph: &Graph) -> BTreeMap<NodeId, (Arc<Pool>, Vec<PortId>)> {
    let Some(size) = config.shared_buffer.filter(|_| config.pfc.is_none()) else { return BTreeMap::new() };
    let mut ports: BTreeMap<NodeId, Vec<PortId>> = BTreeMap::new();
    for port in (0..graph.ports()).filter(|&port| !graph.is_host(graph.port_owner(port))) {
        ports.entry(graph.port_owner(port)).or_default().push(port);
    }
    let pool = |ports: &[PortId]| Arc::new(Pool::new(size.0, config.shared_alpha, ports.len()));
    ports.into_iter().map(|(switch, ports)| (switch, (pool(&ports), ports))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    /// Homa's levels and cutoffs follow the messages that there are.
    #[test]
    fn each_part_of_an_object_that_several_send_is_a_message() {
        let text = r#"
            fabric = { topology = "star", hosts = 5 }
            transport = { name = "homa" }
            [[workload]]
            sessions = 1
            sizes = { law = "fixed", size = "30001B" }
            placement = { pattern = "replicas", replicas = 3, access = "read", policy = "random" }
        "#;
        for (fallback, expected) in [("partition", [10_000, 10_000, 10_001].as_slice()), ("nearest", &[30_001])] {
            let plan = parse("reads.toml", text, &[format!("workload.0.fallback={fallback}")]).expect("it is right");
            let Prepared { sessions, .. } = plan.prepare(&plan.runs[0]).expect("it is possible");
            let sizes: Vec<u64> = sizes(&plan.runs[0].scenario, &sessions, TransportName::Homa).collect();
            assert_eq!(sizes, expected, "{fallback}");
        }
    }
}
