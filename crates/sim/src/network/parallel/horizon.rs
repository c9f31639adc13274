//! Until when a run can be divided: how far ahead nothing concerns the whole run.

use super::super::{Network, Stop};
use crate::workload::Session;
use anabranch_transport::units::PS_PER_S;

impl Network {
    /// Nothing happens before this time that concerns the whole run.
    pub(super) fn divisible_until(&self) -> u64 {
        let e = &self.engine.entities;
        let due = |entity| self.engine.pending.wheel.due(entity).unwrap_or(u64::MAX);
        let to_come = self.ledger.to_come();
        let last = to_come.last().map_or(u64::MAX, |last| last.start.ps());
        let deadlocks = e.deadlocks().map_or(u64::MAX, due);
        let known =
            due(e.sampler).min(deadlocks).min(due(e.next_change)).min(last).min(self.time_limit.saturating_add(1));
        if self.stop != Stop::Foreground || known <= self.engine.now {
            return known;
        }
        let awaited = |spec: &&Session| self.ledger.group_of(spec).awaits(spec);
        match to_come.iter().rev().find(awaited) {
            Some(spec) => known.min(spec.start.ps()),
            None => known.min(self.waits_until()),
        }
    }

    /// If all sessions that the run waits for have begun: until when the run surely continues. Hosts cannot have the missing data before their
    /// links have carried it.
    fn waits_until(&self) -> u64 {
        let graph = self.fabric.graph();
        let mut missing = vec![0_u64; graph.hosts as usize];
        for (session, spec) in (0..).zip(self.ledger.specs()).take(self.ledger.sessions()) {
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
        // The first of these packets may arrive at once.
        let largest = self.ledger.groups().iter().map(|group| group.transport.packet_bytes()).max().unwrap_or(0);
        let time = |(bytes, rate): (u64, u64)| {
            let bits = u128::from(bytes.saturating_sub(largest * 4)) * 8;
            (bits * u128::from(PS_PER_S) / u128::from(rate.max(1))) as u64
        };
        self.engine.now.saturating_add(missing.into_iter().zip(rates).map(time).max().unwrap_or(0))
    }
}
