//! Global First Fit (Hedera §4.3.1): each new flow takes the first of its paths whose links all have room for its demand.

use super::Demand;
use crate::fabric::graph::PortId;
use std::collections::BTreeMap;

/// Which flows have which paths.
#[derive(Debug, Default)]
pub(super) struct FirstFit {
    assigned: BTreeMap<u32, Vec<PortId>>,
}

impl FirstFit {
    /// The number of the path that each flow is to take, in their order; `None`: the one that its hash has chosen. Ports have this room, in
    /// bit/s. Flows that had a path keep it while its links work; those that are not among `flows` any more give theirs up.
    pub(super) fn place(&mut self, flows: &[Demand], room: impl Fn(PortId) -> u64) -> Vec<Option<usize>> {
        let mut used = BTreeMap::new();
        let kept = |flow: &Demand| {
            let before = self.assigned.get(&flow.session)?;
            flow.paths.iter().position(|path| path == before)
        };
        let mut chosen: Vec<Option<usize>> = flows.iter().map(kept).collect();
        for (flow, path) in flows.iter().zip(&chosen) {
            for &port in path.map_or(&[][..], |path| &flow.paths[path]) {
                *used.entry(port).or_insert(0) += flow.rate;
            }
        }
        for (flow, path) in flows.iter().zip(&mut chosen).filter(|(_, path)| path.is_none()) {
            let free = |port: &PortId| used.get(port).unwrap_or(&0) + flow.rate <= room(*port);
            *path = flow.paths.iter().position(|path| path.iter().all(free));
            for &port in path.map_or(&[][..], |path| &flow.paths[path]) {
                *used.entry(port).or_insert(0) += flow.rate;
            }
        }
        let of = |(flow, path): (&Demand, &Option<usize>)| Some((flow.session, flow.paths[(*path)?].clone()));
        self.assigned = flows.iter().zip(&chosen).filter_map(of).collect();
        chosen
    }
}
