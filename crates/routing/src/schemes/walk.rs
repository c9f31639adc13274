//! Walks over shortest paths, which most schemes are made of.

use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::Scalar;
use anabranch_sim::fabric::graph::{NodeId, PortId};
use anabranch_sim::random::mix;

const NONE: u32 = u32::MAX;

/// The shares of one pair, with the memory to add them up; kept from pair to pair.
#[derive(Clone, Debug)]
pub struct Shares<S> {
    /// Ports with a share above zero, each once.
    pub ports: Vec<(PortId, S)>,
    /// Place of each port in `ports`.
    place: Vec<u32>,
    /// Traffic that has arrived at each node of the present layer; number of paths that lead there.
    mass: Vec<S>,
    prefixes: Vec<u64>,
    layer: Vec<NodeId>,
    next: Vec<NodeId>,
    seen: Vec<bool>,
}

impl<S: Scalar> Shares<S> {
    /// Room for the shares of a fabric.
    pub fn new(fabric: &Fabric) -> Self {
        let nodes = fabric.graph.nodes.len();
        Self {
            ports: Vec::new(),
            place: vec![NONE; fabric.graph.ports() as usize],
            mass: vec![S::zero(); nodes],
            prefixes: vec![0; nodes],
            layer: Vec::new(),
            next: Vec::new(),
            seen: vec![false; nodes],
        }
    }

    /// Forgets the last pair.
    pub fn clear(&mut self) {
        for (port, _) in self.ports.drain(..) {
            self.place[port as usize] = NONE;
        }
    }

    /// Adds a share to a port.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn add(&mut self, port: PortId, share: S) -> RoutingResult<()> {
        match self.place[port as usize] {
            NONE => {
                self.place[port as usize] = self.ports.len() as u32;
                self.ports.push((port, share));
            }
            place => {
                let sum = &mut self.ports[place as usize].1;
                *sum = sum.plus(share).ok_or_else(RoutingError::overflow)?;
            }
        }
        Ok(())
    }

    /// Makes the shares those of one scheme for one pair.
    ///
    /// # Errors
    ///
    /// What the scheme says.
    pub fn fill(&mut self, scheme: &dyn super::Scheme<S>, fabric: &Fabric, s: u32, d: u32) -> RoutingResult<()> {
        self.clear();
        scheme.shares(fabric, s, d, self)
    }

    /// The links to the hosts, which carry everything. Returns the nodes between which there is a choice, if they differ.
    pub(super) fn ends(&mut self, fabric: &Fabric, s: u32, d: u32) -> RoutingResult<Option<(NodeId, u32)>> {
        for port in [fabric.first_port(s), fabric.last_port(d)].into_iter().flatten() {
            self.add(port, S::one())?;
        }
        let (from, to) = (fabric.rack(s), fabric.rack(d));
        Ok((from != to).then(|| (fabric.racks.node[from as usize], to)))
    }

    /// Goes one path: at each node `choose` picks among the number of ports that lie on shortest paths.
    pub(super) fn path(
        &mut self,
        fabric: &Fabric,
        from: NodeId,
        to: u32,
        share: S,
        mut choose: impl FnMut(NodeId, usize) -> usize,
    ) -> RoutingResult<()> {
        let mut node = from;
        while fabric.distance(node, to) > 0 {
            let open = fabric.next_ports(node, to);
            let at = if open.len() > 1 { choose(node, open.len()) } else { 0 };
            let port = *open.get(at).expect("a connected fabric has a next hop");
            self.add(port, share)?;
            node = fabric.graph.port_peer(port);
        }
        Ok(())
    }

    /// Splits `amount` equally at every node; `next` lists the ports on the way.
    pub(super) fn split<I: Iterator<Item = PortId>>(
        &mut self,
        fabric: &Fabric,
        from: NodeId,
        amount: S,
        next: impl Fn(NodeId) -> I,
    ) -> RoutingResult<()> {
        self.layer.clear();
        self.layer.push(from);
        self.mass[from as usize] = amount;
        while !self.layer.is_empty() {
            for i in 0..self.layer.len() {
                let node = self.layer[i];
                let choices = next(node).count() as u64;
                if choices == 0 {
                    continue;
                }
                let each = self.mass[node as usize].times(S::ratio(1, choices)).ok_or_else(RoutingError::overflow)?;
                for port in next(node) {
                    self.add(port, each)?;
                    let peer = fabric.graph.port_peer(port);
                    if std::mem::replace(&mut self.seen[peer as usize], true) {
                        let sum = &mut self.mass[peer as usize];
                        *sum = sum.plus(each).ok_or_else(RoutingError::overflow)?;
                    } else {
                        self.mass[peer as usize] = each;
                        self.next.push(peer);
                    }
                }
            }
            self.turn();
        }
        Ok(())
    }

    /// Visits every port on a shortest path with the number of shortest paths through it.
    pub(super) fn by_paths(
        &mut self,
        fabric: &Fabric,
        from: NodeId,
        to: u32,
        share: impl Fn(u64) -> S,
    ) -> RoutingResult<()> {
        self.layer.clear();
        self.layer.push(from);
        self.prefixes[from as usize] = 1;
        while !self.layer.is_empty() {
            for i in 0..self.layer.len() {
                let node = self.layer[i];
                let prefixes = self.prefixes[node as usize];
                for &port in fabric.next_ports(node, to) {
                    let peer = fabric.graph.port_peer(port);
                    let through = prefixes.checked_mul(fabric.paths(peer, to)?).ok_or_else(RoutingError::overflow)?;
                    self.add(port, share(through))?;
                    if std::mem::replace(&mut self.seen[peer as usize], true) {
                        self.prefixes[peer as usize] += prefixes;
                    } else {
                        self.prefixes[peer as usize] = prefixes;
                        self.next.push(peer);
                    }
                }
            }
            self.turn();
        }
        Ok(())
    }

    fn turn(&mut self) {
        std::mem::swap(&mut self.layer, &mut self.next);
        self.next.clear();
        for &node in &self.layer {
            self.seen[node as usize] = false;
        }
    }
}

/// The ports of the path with number `index` among the shortest ones, in lexicographic order of ports.
pub(super) fn unrank(fabric: &Fabric, from: NodeId, to: u32, mut index: u64) -> RoutingResult<Vec<PortId>> {
    let (mut node, mut path) = (from, Vec::new());
    while fabric.distance(node, to) > 0 {
        let mut chosen = None;
        for &port in fabric.next_ports(node, to) {
            let count = fabric.paths(fabric.graph.port_peer(port), to)?;
            if index < count {
                chosen = Some(port);
                break;
            }
            index -= count;
        }
        let port = chosen.expect("the index is below the number of paths");
        path.push(port);
        node = fabric.graph.port_peer(port);
    }
    Ok(path)
}

/// All shortest paths between two racks, if they are `most` at most: ports between the racks' nodes.
///
/// # Errors
///
/// More paths than `most`.
pub fn paths_of(fabric: &Fabric, from: u32, to: u32, most: u64) -> RoutingResult<Vec<Vec<PortId>>> {
    let node = fabric.racks.node[from as usize];
    let count = fabric.paths(node, to)?;
    if count > most {
        let name = |r: u32| &fabric.graph.nodes[fabric.racks.node[r as usize] as usize].name;
        return Err(RoutingError::new(format!(
            "{count} shortest paths between {} and {}: expected {most} at most",
            name(from),
            name(to)
        )));
    }
    (0..count).map(|i| unrank(fabric, node, to, i)).collect()
}

/// Random numbers of one pair under one seed, which no other pair changes.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn of(seed: u64, purpose: u64, s: u32, d: u32) -> Self {
        Self(mix(mix(seed ^ purpose) ^ (u64::from(s) << 32 | u64::from(d))))
    }

    /// A number below `n`, each as likely as any other up to 2^-64 n.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = mix(self.0);
        ((u128::from(self.0) * u128::from(n)) >> 64) as u64
    }
}
