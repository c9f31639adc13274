//! Checks that a decoded scenario makes sense.

use super::fabric::Fabrics;
use super::{QueueKind, Scenario, SwitchConfig, TransportName, WorkloadConfig};
use crate::control::Given;
use crate::fabric::graph::Graph;
use crate::fabric::routing::{Routing, RoutingMode};
use crate::host::decode_table::DecodeTable;
use crate::host::protocol::Transport;
use crate::network::Fallback;
use crate::workload::{Barrier, Connections, Fault, SizesConfig};
use anabranch_transport::Rate;
use std::path::Path;

impl Scenario {
    /// Reads the tables that the parameters name, relative to `base`. Says what is wrong with them, and does without those.
    pub(super) fn read_tables(&mut self, base: &Path, fabrics: &Fabrics) -> Vec<Fault> {
        let scdp = &mut self.transport.scdp;
        // Sizes that make no sense are told of elsewhere.
        let symbol_bytes = scdp.protocol.packet.0.saturating_sub(scdp.protocol.header.0);
        let fault =
            super::decoding::read(&mut scdp.decoding.decode_table, base, symbol_bytes, scdp.protocol.block_symbols)
                .err();
        if fault.is_some() {
            scdp.decoding.decode_table = DecodeTable::default();
        }
        let mut faults: Vec<Fault> = fault.map(|f| f.under("transport.scdp.decode_table")).into_iter().collect();
        if self.routing.mode == RoutingMode::Weighted
            && let Ok(graph) = fabrics.get(&self.fabric, base)
        {
            let fault = super::weighted_paths::read(&mut self.routing.weighted, base, &graph).err();
            faults.extend(fault.map(|f| f.under("routing.weighted")));
        }
        faults
    }

    /// Everything that is wrong or doubtful, keys relative to the document. Data files are read, relative to `base`.
    pub(super) fn check(&self, base: &Path, fabrics: &Fabrics) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut under = |key: &str, found: Vec<Fault>| faults.extend(found.into_iter().map(|f| f.under(key)));
        match fabrics.get(&self.fabric, base) {
            Ok(graph) => {
                under("", super::failure::changes(&self.failure, &graph).err().into_iter().collect());
                under("routing", self.routing.check_fabric(&graph));
                under("measure", self.check_captures(&graph));
                under("", self.check_pfc(&graph));
                under("", self.check_telemetry(fabrics, base));
                let jobs = self.workload.iter().any(|workload| workload.job.is_some());
                let servers = self.host.server.and_then(|server| server.check_use(&graph, jobs));
                under("host", servers.into_iter().collect());
                let rates = graph.links.iter().map(|link| link.rate);
                let auto = self.switch.check_auto(self.transport.name, rates, self.packet_bytes());
                under("switch", auto.into_iter().collect());
                if graph.hosts_relay && self.switch.queue == QueueKind::Fair {
                    let message = "there are no fair queues in fabrics whose hosts relay";
                    under(
                        "switch",
                        vec![Fault::new("queue", message).hint("choose a fabric where switches do: fat-tree")],
                    );
                }
            }
            Err(error) => under("fabric", vec![super::fabric::fault(&error)]),
        }
        under("transport", self.transport.check());
        let used = self.workload.iter().map(|workload| self.transport_of(workload));
        under("transport", self.transport.check_used(used).into_iter().collect());
        under("switch", self.switch.check(self.packet_bytes()));
        under("host", self.host.check());
        under("routing", self.routing.check());
        for (i, workload) in self.workload.iter().enumerate() {
            under(&format!("workload.{i}"), check_workload(workload, base));
            under(&format!("workload.{i}"), self.check_transport(workload));
        }
        for (i, failure) in self.failure.iter().enumerate() {
            under(&format!("failure.{i}"), failure.check());
        }
        let graph = fabrics.get(&self.fabric, base).ok().filter(|_| !self.controller.is_empty());
        let given = graph.as_deref().map(|graph| self.given(graph));
        for (i, controller) in self.controller.iter().enumerate() {
            under(&format!("controller.{i}"), controller.check(given.as_ref()));
        }
        under("measure", self.measure.check());
        under("measure", super::captures::check(&self.measure));
        under("run", self.run.check());
        under("", self.check_order());
        under("", self.check_document());
        faults
    }

    /// The fabric as its controllers are given it.
    fn given<'a>(&self, graph: &'a Graph) -> Given<'a> {
        let transports: Vec<TransportName> = self.workload.iter().map(|w| self.transport_of(w)).collect();
        // Fair queues are made of those of the transports.
        let queue = if self.switch.queue == QueueKind::Fair { QueueKind::Auto } else { self.switch.queue };
        let own = SwitchConfig { queue, ..self.switch.clone() };
        let (rate, packet) = (graph.links.first().map_or(Rate(1), |link| link.rate), self.packet_bytes());
        let mut weighted =
            transports.iter().map(|&name| Routing::new(self.routing.resolve(name), &self.routing).weighted());
        Given {
            graph,
            weighted: weighted.all(|weighted| weighted),
            placeable: transports.iter().any(|&name| {
                let transport = self.transport.transport(name);
                let one_path = !transport.sprays() && !transport.divides();
                one_path && self.routing.resolve(name) == RoutingMode::PerFlow
            }),
            marks: transports.iter().any(|&name| own.resolve(name, rate, packet).ecn_threshold.is_some()),
        }
    }

    /// Bytes of a full packet; where transports differ, of the largest.
    pub fn packet_bytes(&self) -> u64 {
        let names = self.workload.iter().map(|workload| self.transport_of(workload));
        let packet = |name| self.transport.transport(name).packet_bytes();
        names.map(packet).max().unwrap_or_else(|| packet(self.transport.name))
    }

    /// The transport of a workload.
    pub fn transport_of(&self, workload: &WorkloadConfig) -> TransportName {
        workload.transport.unwrap_or(self.transport.name)
    }

    /// What the transport of a workload cannot carry.
    fn check_transport(&self, workload: &WorkloadConfig) -> Vec<Fault> {
        let name = self.transport_of(workload);
        let transport = self.transport.transport(name);
        let mut faults = Vec::new();
        if workload.has_volumes() && !transport.waits() {
            let message = format!("{} needs the whole object at the start: it cannot follow volumes", name.name());
            faults.push(Fault::new("sizes.law", message).hint("in this workload: transport = \"udp\""));
        }
        if !transport.retransmits() && matches!(workload.sizes, Some(SizesConfig::Endless(_))) {
            faults.push(never_ends(name.name()).under("sizes.law"));
        }
        if let Some(barrier) = &workload.barrier {
            faults.extend(check_barrier(barrier, name.name(), &transport));
        }
        if workload.job.is_some() && !transport.retransmits() {
            let message = format!("{} sends nothing again: a rank would wait for a lost packet for good", name.name());
            faults.push(Fault::new("job", message).hint("in this workload: transport = \"ndp\""));
        }
        if !transport.retransmits() && workload.fallback == Some(Fallback::DaisyChain) {
            let message =
                format!("{} sends nothing again: what one receiver lost, those after it never get", name.name());
            faults.push(Fault::new("fallback", message).hint("fallback = \"multi-unicast\""));
        }
        faults
    }

    fn check_document(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.repeat == 0 {
            faults.push(Fault::new("repeat", "must be at least 1"));
        }
        if self.seed.checked_add(u64::from(self.repeat)).is_none() {
            faults.push(Fault::new("seed", "is too large for so many repetitions"));
        }
        if self.workload.is_empty() {
            faults.push(Fault::new("workload", "at least one workload is needed"));
        }
        for (i, workload) in self.workload.iter().enumerate() {
            let name = workload.name(i);
            if name.is_empty() {
                faults.push(Fault::new(format!("workload.{i}.name"), "a name cannot be empty"));
            } else if let Some(first) = self.workload[..i].iter().enumerate().position(|(j, w)| w.name(j) == name) {
                faults.push(Fault::new(
                    format!("workload.{i}.name"),
                    format!("workload {first} is named {name:?} already"),
                ));
            }
        }
        if self.measure.operations && self.workload.iter().all(|workload| workload.job.is_none()) {
            faults.push(Fault::new("measure.operations", "no workload has a `job`, so there are no operations"));
        }
        if self.run.stop_size.is_some() && self.workload.iter().any(|workload| workload.job.is_some()) {
            faults.push(Fault::new("run.stop_size", "a job goes on whatever the size of its messages: not with `job`"));
        }
        let waits_for_nothing = match self.run.stop {
            super::Stop::All => self.workload.iter().all(WorkloadConfig::is_endless),
            super::Stop::Foreground => self.workload.iter().all(WorkloadConfig::is_background),
        };
        if !self.workload.is_empty() && waits_for_nothing && self.run.time_limit.is_none() {
            let message = "the run waits for no session: every workload is background traffic or has no end";
            faults.push(Fault::new("workload", message).hint("in [run], set time_limit = \"100ms\""));
        }
        faults
    }
}

/// What the transport of a workload with a barrier cannot do.
fn check_barrier(barrier: &Barrier, name: &str, transport: &Transport) -> Option<Fault> {
    if !transport.retransmits() {
        let message = format!("{name} sends nothing again: a client would wait for a lost packet for good");
        return Some(Fault::new("barrier", message).hint("in this workload: transport = \"newreno\""));
    }
    if barrier.connections == Connections::Kept && !transport.waits() {
        let message =
            format!("{name} needs the whole object at the start: a connection cannot wait for the next block");
        return Some(Fault::new("barrier.connections", message).hint("connections = \"new\""));
    }
    None
}

/// The fault of a session without end on a transport that nothing holds back.
pub(super) fn never_ends(transport: &str) -> Fault {
    let message = format!("{transport} sends all that there is at once, which never ends for objects without end");
    Fault::new("", message).hint("sizes = { law = \"volumes\", file = \"series.csv\" }")
}

fn check_workload(workload: &WorkloadConfig, base: &Path) -> Vec<Fault> {
    let mut faults = workload.check();
    if faults.iter().all(|f| f.warning) {
        if let Some(sizes) = &workload.sizes {
            faults.extend(sizes.law().open(base).err().map(|f| f.under("sizes")));
        }
        if let Some(trace) = &workload.trace {
            faults.extend(crate::workload::read_file(base, &trace.file).err().map(|f| f.under("trace.file")));
        }
        if let Some(file) = workload.job.as_ref().and_then(|job| job.file.as_ref()) {
            faults.extend(crate::workload::read_bytes(base, file).err().map(|f| f.under("job.file")));
        }
    }
    faults
}
