//! Loads of links and switches under a traffic matrix (Song Eq. 3.3 to 3.6).

use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::Scalar;
use crate::schemes::{Matters, Scheme, Shares};
use crate::traffic::TrafficMatrix;
use anabranch_sim::fabric::graph::{NodeId, PortId};
use std::collections::BTreeMap;

/// Loads, in the units of the traffic matrix.
#[derive(Clone, Debug)]
pub struct Loads<S> {
    /// Load of each directed port.
    pub ports: Vec<S>,
    /// Load of each node: what arrives at it. For a switch that is the traffic through it, counted once (Eq. 3.5), and
    /// twice if it comes by twice, as Valiant's detours may.
    pub nodes: Vec<S>,
}

/// The largest of several loads, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Most<S, I> {
    /// The load.
    pub value: S,
    /// The first port or switch that has it.
    pub at: I,
}

impl<S: Scalar> Loads<S> {
    /// Loads of a scheme under a traffic matrix.
    ///
    /// # Errors
    ///
    /// Fractions that do not fit.
    pub fn of(fabric: &Fabric, scheme: &dyn Scheme<S>, tm: &TrafficMatrix) -> RoutingResult<Self> {
        let mut ports = vec![S::zero(); fabric.graph.ports() as usize];
        let add = |ports: &mut Vec<S>, port: PortId, amount: S| -> RoutingResult<()> {
            let sum = &mut ports[port as usize];
            *sum = sum.plus(amount).ok_or_else(RoutingError::overflow)?;
            Ok(())
        };
        // Pairs that the scheme treats alike are routed once. The links to the hosts are apart from that.
        let (source, destination) = scheme.matters();
        let kind = |m: Matters, h: u32| if m == Matters::Rack { fabric.rack(h) } else { h };
        let mut alike: BTreeMap<(u32, u32), (u32, u32, S)> = BTreeMap::new();
        for (s, d, amount) in tm.iter() {
            let amount = S::of(amount);
            let ends = [fabric.first_port(s), fabric.last_port(d)];
            ends.into_iter().flatten().try_for_each(|port| add(&mut ports, port, amount))?;
            let entry = alike.entry((kind(source, s), kind(destination, d))).or_insert((s, d, S::zero()));
            entry.2 = entry.2.plus(amount).ok_or_else(RoutingError::overflow)?;
        }
        let mut shares = Shares::new(fabric);
        for &(s, d, amount) in alike.values() {
            shares.fill(scheme, fabric, s, d)?;
            for &(port, share) in shares.ports.iter().filter(|(port, _)| !fabric.is_access(*port)) {
                add(&mut ports, port, amount.times(share).ok_or_else(RoutingError::overflow)?)?;
            }
        }
        let mut nodes = vec![S::zero(); fabric.graph.nodes.len()];
        for (port, &load) in ports.iter().enumerate() {
            let node = &mut nodes[fabric.graph.port_peer(port as PortId) as usize];
            *node = node.plus(load).ok_or_else(RoutingError::overflow)?;
        }
        Ok(Self { ports, nodes })
    }

    /// The largest load of the ports that `which` selects.
    pub fn most_port(&self, which: impl Fn(PortId) -> bool) -> Option<Most<S, PortId>> {
        most(
            (0..self.ports.len() as PortId)
                .filter(|&p| which(p))
                .map(|p| Most { value: self.ports[p as usize], at: p }),
        )
    }

    /// MLOAD (Eq. 3.4).
    pub fn mload(&self) -> S {
        self.most_port(|_| true).map_or(S::zero(), |m| m.value)
    }

    /// The largest load of links of level `t`.
    pub fn mload_at(&self, fabric: &Fabric, t: u32) -> S {
        self.most_port(|p| fabric.link_level(p) == t).map_or(S::zero(), |m| m.value)
    }

    /// The largest load of the switches of level `t`, or of all.
    pub fn most_switch(&self, fabric: &Fabric, t: Option<u32>) -> Option<Most<S, NodeId>> {
        let switches = (fabric.hosts()..fabric.graph.nodes.len() as NodeId)
            .filter(|&n| t.is_none() || fabric.level[n as usize] == t);
        most(switches.map(|n| Most { value: self.nodes[n as usize], at: n }))
    }

    /// MLOADSW (Eq. 3.6), of level `t` or of all.
    pub fn mloadsw(&self, fabric: &Fabric, t: Option<u32>) -> S {
        self.most_switch(fabric, t).map_or(S::zero(), |m| m.value)
    }

    /// The largest utilisation: load over capacity, where the capacity of a link of [`Fabric::reference_rate`] is one.
    ///
    /// # Errors
    ///
    /// Fractions that do not fit.
    pub fn most_utilised(&self, fabric: &Fabric) -> RoutingResult<Option<Most<S, PortId>>> {
        let mut found = Vec::with_capacity(self.ports.len());
        for (port, load) in self.ports.iter().enumerate() {
            let value = load.over(fabric.capacity(port as PortId)).ok_or_else(RoutingError::overflow)?;
            found.push(Most { value, at: port as PortId });
        }
        Ok(most(found.into_iter()))
    }
}

fn most<S: Scalar, I>(all: impl Iterator<Item = Most<S, I>>) -> Option<Most<S, I>> {
    all.reduce(|a, b| if b.value.order(&a.value) == std::cmp::Ordering::Greater { b } else { a })
}

impl Fabric {
    /// The bit rate that counts as capacity one: that of the slowest link of a host.
    pub fn reference_rate(&self) -> u64 {
        let of_hosts = self.graph.links.iter().filter(|l| self.graph.is_host(l.a) || self.graph.is_host(l.b));
        of_hosts.map(|l| l.rate.bps()).min().unwrap_or(1)
    }

    /// Capacity of a port over [`Fabric::reference_rate`].
    pub fn capacity<S: Scalar>(&self, port: PortId) -> S {
        S::ratio(self.graph.links[(port / 2) as usize].rate.bps(), self.reference_rate())
    }
}
