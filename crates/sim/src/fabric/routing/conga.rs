//! CONGA: congestion-aware load balancing (Alizadeh et al., SIGCOMM 2014), in leaf-spine fabrics.
//!
//! A leaf sends each new flowlet by the uplink whose path to the other leaf is least congested. How congested links are, switches estimate
//! ([`Dre`]). Packets gather the worst on their way, in an overlay [`Header`]; the leaf that they reach keeps it, and gives it back on packets that go
//! the other way. All of this takes 31 of a packet's path bits, and the one that is left tells whether a packet has the header.

use super::balancer::{Arrived, Balancer, Ports};
use super::flowlet_table::{FlowletTable, Flowlets};
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use anabranch_transport::Duration;
use dre::Dre;
use header::{Header, LEAVES, UPLINKS};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use tables::{FromLeaf, ToLeaf};

mod dre;
mod header;
mod tables;
#[cfg(test)]
mod tests;

/// CONGA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conga {
    /// How leaves tell flowlets apart.
    pub flowlets: Flowlets,
    /// The time after which the estimate of a link's load is reduced, `T_dre`, from 1 us to 1 s. Default 30 us, as in the ns-3 code of CONGA by Zhang et al.:
    /// with `dre_gain` a time constant of 150 us.
    pub dre_period: Duration,
    /// The share by which it is reduced, alpha, above 0 and below 1. Default 0.2, as there.
    pub dre_gain: f64,
    /// Bits of a congestion metric, Q, from 1 to 3. Default 3 (CONGA §3.2).
    #[schemars(range(min = 1, max = 3))]
    pub metric_bits: u32,
    /// A metric that has not been heard of for longer counts as 0. Default 10 ms (CONGA §3.3).
    pub metric_age: Duration,
    #[serde(skip)]
    #[schemars(skip)]
    leaves: Option<Arc<Leaves>>,
}

impl Conga {
    /// Whether a fabric is one of leaves and spines.
    ///
    /// # Errors
    /// If it is not: why.
    pub(crate) fn fits(graph: &Graph) -> Result<(), String> {
        Leaves::of(graph).map(drop)
    }
}

impl Default for Conga {
    fn default() -> Self {
        Self {
            flowlets: Flowlets::default(),
            dre_period: Duration::from_us(30),
            dre_gain: 0.2,
            metric_bits: 3,
            metric_age: Duration::from_ms(10),
            leaves: None,
        }
    }
}

/// The leaves of a fabric.
#[derive(Debug, PartialEq)]
struct Leaves {
    /// The number of each host's leaf.
    of_host: Vec<u32>,
    /// The number of each leaf, and its ports to spines.
    leaves: BTreeMap<NodeId, (u32, Vec<PortId>)>,
}

impl Leaves {
    /// Those of a fabric.
    ///
    /// # Errors
    /// If it is not of leaves and spines: why.
    fn of(graph: &Graph) -> Result<Self, String> {
        if graph.multi_homed() {
            return Err("a host has several links".to_owned());
        }
        let racks = graph.racks();
        let mut leaves: BTreeMap<NodeId, (u32, Vec<PortId>)> =
            racks.iter().map(|&leaf| (leaf, (0, Vec::new()))).collect();
        (0..).zip(leaves.values_mut()).for_each(|(number, leaf)| leaf.0 = number);
        if leaves.len() > LEAVES {
            return Err(format!("it has {} leaves, of at most {LEAVES}", leaves.len()));
        }
        if leaves.len() + graph.hosts as usize == graph.nodes.len() {
            return Err("it has no spines".to_owned());
        }
        let name = |node: NodeId| graph.nodes[node as usize].name.as_str();
        for port in (0..graph.ports())
            .filter(|&port| !graph.is_host(graph.port_owner(port)) && !graph.is_host(graph.port_peer(port)))
        {
            let (from, to) = (graph.port_owner(port), graph.port_peer(port));
            if leaves.contains_key(&from) == leaves.contains_key(&to) {
                return Err(format!("its switches {} and {} are linked", name(from), name(to)));
            }
            if let Some((_, uplinks)) = leaves.get_mut(&from) {
                uplinks.push(port);
            }
        }
        if let Some((&leaf, (_, uplinks))) = leaves.iter().find(|(_, (_, uplinks))| uplinks.len() > UPLINKS) {
            return Err(format!("{} has {} links to spines, of at most {UPLINKS}", name(leaf), uplinks.len()));
        }
        let of_host = racks.iter().map(|leaf| leaves[leaf].0).collect();
        Ok(Self { of_host, leaves })
    }
}

impl Scheme for Conga {
    /// What stands for its addresses and port numbers where leaves hash them.
    type Flow = u32;
    const OWN_BITS: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> u32 {
        Header::none(random.next_u32())
    }

    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        Header::none(random.next_u32())
    }

    /// Fabrics of another kind have none.
    fn balancer(&self, _graph: &Graph, node: NodeId, seed: u64) -> Option<Box<dyn Balancer>> {
        let leaves = self.leaves.as_ref()?;
        let leaf = leaves.leaves.get(&node).map(|(number, uplinks)| {
            let mut random = random::substream(seed, "conga", u64::from(node));
            Leaf {
                number: *number,
                uplinks: uplinks.clone(),
                flowlets: FlowletTable::new(self.flowlets.clone(), random.next_u64()),
                to: ToLeaf::new(leaves.leaves.len(), uplinks.len(), self.metric_age),
                from: FromLeaf::new(leaves.leaves.len(), self.metric_age),
                random,
            }
        });
        let links = Links { settings: self.clone(), estimates: BTreeMap::new() };
        Some(Box::new(Switch { leaves: Arc::clone(leaves), leaf, links }))
    }

    /// Which switches are leaves does not change when links fail.
    fn install(&mut self, graph: &Graph, _alive: &dyn Fn(u32) -> bool) {
        if self.leaves.is_none() {
            self.leaves = Leaves::of(graph).ok().map(Arc::new);
        }
    }
}

/// A leaf or a spine.
#[derive(Debug)]
struct Switch {
    leaves: Arc<Leaves>,
    leaf: Option<Leaf>,
    links: Links,
}

/// The links of a switch to others.
#[derive(Debug)]
struct Links {
    settings: Conga,
    /// What goes by each that has been used.
    estimates: BTreeMap<PortId, Dre>,
}

/// What a leaf has besides.
#[derive(Debug)]
struct Leaf {
    number: u32,
    /// In the order of their tags.
    uplinks: Vec<PortId>,
    flowlets: FlowletTable,
    to: ToLeaf,
    from: FromLeaf,
    random: Stream,
}

impl Links {
    /// How congested a link is.
    fn metric(&mut self, port: PortId, now: u64, ports: &dyn Ports) -> u8 {
        let Conga { dre_period, dre_gain, metric_bits, .. } = self.settings;
        let dre = self.estimates.get_mut(&port);
        dre.map_or(0, |dre| dre.metric(now, ports.rate(port), (dre_period, dre_gain), metric_bits))
    }

    /// A packet goes by a link.
    fn count(&mut self, port: PortId, packet: &Arrived<'_>) {
        let Conga { dre_period, dre_gain, .. } = self.settings;
        self.estimates.entry(port).or_default().add(packet.now, packet.size, (dre_period, dre_gain));
    }

    /// A packet is on its way between leaves: it takes the worst that it meets with it. Of several links to its leaf it takes that of its tag.
    fn pass(&mut self, ways: &[PortId], packet: &mut Arrived<'_>, ports: &dyn Ports) -> Option<PortId> {
        let header = Header::of(*packet.bits);
        let tag = header.map_or(*packet.bits, |header| u32::from(header.tag));
        let port = *ways.get(tag as usize % ways.len().max(1))?;
        self.count(port, packet);
        if let Some(header) = header {
            let congestion = header.congestion.max(self.metric(port, packet.now, ports));
            *packet.bits = Header { congestion, ..header }.bits();
        }
        Some(port)
    }
}

impl Leaf {
    /// A packet of a host here is for a host of another leaf: the uplink by which it goes, and its header.
    fn set_out(
        &mut self,
        links: &mut Links,
        (to, ways): (u32, &[PortId]),
        packet: &mut Arrived<'_>,
        ports: &dyn Ports,
    ) -> Option<PortId> {
        if ways.is_empty() {
            return None;
        }
        let Self { number, uplinks, flowlets, to: congestion, from, random } = self;
        let tag = |port: PortId| uplinks.iter().position(|&uplink| uplink == port).unwrap_or(0);
        let port = flowlets.port(*packet.bits, packet.now, ways, |before| {
            let metric =
                |port: PortId| links.metric(port, packet.now, ports).max(congestion.metric(to, tag(port), packet.now));
            let metrics: SmallVec<[u8; UPLINKS]> = ways.iter().copied().map(metric).collect();
            let least = metrics.iter().min();
            let mut best: SmallVec<[PortId; UPLINKS]> = ways.into();
            let mut metric = metrics.iter();
            best.retain(|_| metric.next() == least);
            // A flow moves to what is better only.
            let draw = || best[random::below(random, best.len())];
            before.filter(|before| best.contains(before)).unwrap_or_else(draw)
        });
        let (feedback_tag, feedback) = from.next(to, packet.now);
        let header = Header { leaf: *number, tag: tag(port) as u8, congestion: 0, feedback_tag, feedback };
        *packet.bits = header.bits();
        links.count(port, packet);
        Some(port)
    }
}

impl Balancer for Switch {
    fn egress(&mut self, hop: &Hop<'_>, mut packet: Arrived<'_>, ports: &mut dyn Ports) -> Option<PortId> {
        let ways = hop.routes.next_ports(hop.node, hop.destination);
        let header = Header::of(*packet.bits);
        let to = self.leaves.of_host[hop.destination as usize];
        match &mut self.leaf {
            Some(leaf) if leaf.number == to => {
                if let Some(header) = header {
                    leaf.from.learn(header, packet.now);
                    leaf.to.learn(header, packet.now);
                    *packet.bits = Header::none(0);
                }
                ways.first().copied()
            }
            Some(leaf) if header.is_none() => leaf.set_out(&mut self.links, (to, ways), &mut packet, ports),
            _ => self.links.pass(ways, &mut packet, ports),
        }
    }
}
