//! The hosts of one part of a run. A part numbers all hosts and all endpoints as the run does, but holds only its own.

use super::Hosts;
use super::ranking::Ranking;
use crate::fabric::graph::Graph;
use crate::network::barrier::Barriers;
use crate::network::job::Jobs;
use std::sync::Arc;

/// Which hosts belong to a part.
pub(super) struct Ownership {
    number: u16,
    /// The part of each node.
    part_of: Arc<[u16]>,
    /// Why the run must be repeated.
    undone: Option<&'static str>,
}

impl Hosts {
    /// The hosts of a part, which has no endpoints yet. `part_of` is the part of each node.
    pub(in crate::network) fn part(&self, number: u16, part_of: &Arc<[u16]>) -> Self {
        Self {
            random: self.random.clone(),
            interfaces: self.interfaces.clone(),
            turns: self.turns.clone(),
            endpoints: Vec::new(),
            open_endpoints: 0,
            pulls_by_priority: self.pulls_by_priority,
            reorder: self.reorder,
            ranking: Ranking::default(),
            barriers: Barriers::default(),
            jobs: Jobs::default(),
            part: Some(Ownership { number, part_of: Arc::clone(part_of), undone: None }),
        }
    }

    /// Whether a host is simulated here.
    #[inline]
    pub(in crate::network) fn owns(&self, host: u32) -> bool {
        self.part.as_ref().is_none_or(|own| own.part_of[host as usize] == own.number)
    }

    /// The part that a node belongs to; 0 if this is the whole run.
    pub(in crate::network) fn part_of(&self, node: u32) -> u16 {
        self.part.as_ref().map_or(0, |own| own.part_of[node as usize])
    }

    /// Something happens that one part of a run cannot decide alone: the run must be repeated. False if this is the whole run.
    pub(super) fn undo(&mut self, why: &'static str) -> bool {
        let Some(own) = &mut self.part else { return false };
        own.undone.get_or_insert(why);
        true
    }

    /// Why the run must be repeated, if it must.
    pub(in crate::network) fn undone(&self) -> Option<&'static str> {
        self.part.as_ref()?.undone
    }

    /// The next `endpoints` endpoints are on hosts of other parts.
    pub(in crate::network) fn add_elsewhere(&mut self, endpoints: u32) {
        self.endpoints.resize_with(self.endpoints.len() + endpoints as usize, || None);
    }

    /// The host that an endpoint runs on, if it is open.
    pub(in crate::network) fn host_of(&self, endpoint: u32) -> Option<u32> {
        self.endpoints[endpoint as usize].as_ref().map(|hosted| hosted.place().host)
    }

    /// The host of an interface.
    pub(in crate::network) fn host_of_interface(&self, graph: &Graph, interface: u32) -> u32 {
        graph.port_owner(self.interfaces.ports[interface as usize])
    }

    /// Moves their hosts and endpoints to the parts.
    pub(in crate::network) fn scatter(&mut self, parts: &mut [&mut Self], part_of: &[u16]) {
        for part in &mut *parts {
            part.endpoints.resize_with(self.endpoints.len(), || None);
        }
        for (id, place) in self.endpoints.iter_mut().enumerate() {
            if let Some(hosted) = place.take() {
                let part = usize::from(part_of[hosted.place().host as usize]);
                parts[part].endpoints[id] = Some(hosted);
                parts[part].open_endpoints += 1;
            }
        }
        self.open_endpoints = 0;
        self.swap_hosts(parts, part_of);
    }

    /// Moves the parts' hosts and endpoints back.
    pub(in crate::network) fn gather(&mut self, parts: &mut [&mut Self], part_of: &[u16]) {
        self.endpoints.resize_with(parts[0].endpoints.len(), || None);
        for part in &mut *parts {
            self.open_endpoints += std::mem::take(&mut part.open_endpoints);
            for (place, theirs) in self.endpoints.iter_mut().zip(&mut part.endpoints) {
                if theirs.is_some() {
                    *place = theirs.take();
                }
            }
        }
        self.swap_hosts(parts, part_of);
    }

    fn swap_hosts(&mut self, parts: &mut [&mut Self], part_of: &[u16]) {
        for host in 0..self.random.len() {
            let part = &mut *parts[usize::from(part_of[host])];
            std::mem::swap(&mut self.random[host], &mut part.random[host]);
            self.ranking.swap(host, &mut part.ranking);
            for interface in self.interfaces.of(host as u32) {
                std::mem::swap(&mut self.interfaces.pulls[interface], &mut part.interfaces.pulls[interface]);
                self.turns.swap(interface, &mut part.turns);
            }
        }
    }
}
