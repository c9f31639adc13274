//! Links that fail, come back, or change their rate.

use super::{Fabric, Multicast, drop_packet};
use crate::fabric::graph::PortId;
use crate::fabric::queue::watched::FlowCounters;
use crate::fabric::queue::{Queue, Setting};
use crate::fabric::routing::{PathWeight, Routes};
use crate::host::EndpointId;
use crate::network::engine::Engine;
use crate::network::ledger::Ledger;
use crate::network::schedule::Target;
use anabranch_transport::Rate;
use std::sync::Arc;

impl Fabric {
    /// Cuts links: what waits and what is in flight is lost. Routes and trees avoid them.
    pub(in crate::network) fn cut(&mut self, engine: &mut Engine, ledger: &mut Ledger, target: Target) {
        for link in self.links_of(target) {
            // It may have been cut before.
            if std::mem::replace(&mut self.links_up[link as usize], false) {
                for port in ports_of(link) {
                    let p = &mut self.ports[port as usize];
                    let lost = p.cut(port, engine.packets.hots(), &mut engine.pending, engine.now);
                    self.capture_cut(engine, port, &lost);
                    for id in lost {
                        drop_packet(engine, ledger, id);
                    }
                }
            }
        }
        self.reroute(engine.now);
    }

    /// Links are back in service, if they were cut.
    pub(in crate::network) fn restore(&mut self, engine: &Engine, target: Target) {
        for link in self.links_of(target) {
            if !std::mem::replace(&mut self.links_up[link as usize], true) {
                for port in ports_of(link) {
                    self.ports[port as usize].restore(engine.now);
                }
            }
        }
        self.reroute(engine.now);
    }

    /// Links have a new rate. Routes do not react.
    pub(in crate::network) fn set_rate(&mut self, engine: &mut Engine, target: Target, rate: Rate) {
        self.changed(engine.now);
        let links = self.links_of(target);
        self.history.rates(&self.graph, &links, rate);
        for link in links {
            for port in ports_of(link) {
                let p = &mut self.ports[port as usize];
                p.catch_up(port, engine.packets.hots(), &mut engine.pending, engine.now);
                p.set_rate(rate);
            }
        }
    }

    /// Changes a setting of a port's queue. False if it has no such setting.
    pub(in crate::network) fn set_queue(&mut self, engine: &mut Engine, port: PortId, setting: Setting) -> bool {
        let p = &mut self.ports[port as usize];
        p.catch_up(port, engine.packets.hots(), &mut engine.pending, engine.now);
        p.set_queue(setting)
    }

    /// Sets how much of what a switch sends goes by a port.
    ///
    /// # Errors
    /// If that is impossible: why.
    pub(in crate::network) fn set_path_weight(&mut self, engine: &Engine, weight: PathWeight) -> Result<(), String> {
        self.changed(engine.now);
        self.schemes.set_weight(&self.graph, &self.routes, weight)
    }

    /// Whether these ports lead from one host to another.
    ///
    /// # Errors
    /// If they do not: why.
    pub(in crate::network) fn check_path(&self, source: u32, destination: u32, path: &[PortId]) -> Result<(), String> {
        let ports = self.graph.ports();
        if let Some(port) = path.iter().find(|&&port| port >= ports) {
            return Err(format!("there is no port {port}, only {ports}"));
        }
        let mut at = source;
        let joined = path.iter().all(|&port| {
            let here = self.graph.port_owner(port) == at;
            at = self.graph.port_peer(port);
            here
        });
        if joined && at == destination {
            Ok(())
        } else {
            Err(format!("no path from h{source} to h{destination}: {path:?}"))
        }
    }

    /// Keeps what is counted of these flows only, if flows are counted.
    pub(in crate::network) fn retain_flows(&mut self, keep: impl Fn(EndpointId, &FlowCounters) -> bool) {
        for port in &mut self.ports {
            if let Queue::Watched(watched) = port.queue_mut() {
                watched.retain_flows(&keep);
            }
        }
    }

    /// What the ways of flows depend on is changing.
    fn changed(&mut self, now: u64) {
        self.changes += 1;
        self.history.changed(now);
    }

    fn links_of(&self, target: Target) -> Vec<u32> {
        match target {
            Target::Link(link) => vec![link],
            Target::Switch(node) => {
                let touches = |l: &u32| {
                    let link = &self.graph.links[*l as usize];
                    link.a == node || link.b == node
                };
                (0..self.graph.links.len() as u32).filter(touches).collect()
            }
        }
    }

    /// Routes, and the trees of all open groups, over the links that work now.
    fn reroute(&mut self, now: u64) {
        self.changed(now);
        let alive = |link: u32| self.links_up[link as usize];
        self.routes = Routes::build(&self.graph, alive);
        self.schemes.install(&self.graph, &alive);
        self.balancers.iter_mut().flatten().for_each(|balancer| balancer.rerouted());
        for group in 0..self.multicast.len() {
            if let Some(installed) = self.multicast[group].take() {
                let (source, hash, receivers) = (installed.source, installed.hash, installed.receivers.clone());
                let group_of = self.trees(source, hash, &receivers);
                self.multicast[group] = Some(Arc::new(Multicast { source, hash, group: group_of, receivers }));
            }
        }
    }
}

/// Both directions of a link.
fn ports_of(link: u32) -> [PortId; 2] {
    [2 * link, 2 * link + 1]
}
