//! Valiant load balancing: traffic between racks goes by every top switch in equal shares, wherever it is bound; to the top
//! switch and from it, equal at every switch. Traffic within a rack stays there.

use super::{Matters, Scheme, Shares};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::{FAR, Fabric};
use crate::number::Scalar;
use anabranch_sim::fabric::graph::NodeId;

/// Equal over all top switches.
#[derive(Clone, Debug)]
pub struct Vlb {
    tops: Vec<NodeId>,
    /// Hops from each node to each top switch.
    distance: Vec<Vec<u16>>,
}

impl Vlb {
    /// Finds the top switches: those that are farthest from all hosts.
    ///
    /// # Errors
    ///
    /// None of them is left after the failures.
    pub fn new(fabric: &Fabric) -> RoutingResult<Self> {
        let tops = fabric.tops();
        if tops.is_empty() {
            return Err(RoutingError::new("vlb: no top switch reaches every rack any more"));
        }
        let distance = tops.iter().map(|&top| hops(fabric, top)).collect();
        Ok(Self { tops, distance })
    }
}

fn hops(fabric: &Fabric, target: NodeId) -> Vec<u16> {
    let mut distance = vec![FAR; fabric.graph.nodes.len()];
    distance[target as usize] = 0;
    let mut order = vec![target];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        if fabric.graph.is_host(node) && !fabric.graph.hosts_relay {
            continue;
        }
        for peer in fabric.ports[node as usize].iter().map(|&p| fabric.graph.port_peer(p)) {
            if distance[peer as usize] == FAR {
                distance[peer as usize] = distance[node as usize] + 1;
                order.push(peer);
            }
        }
    }
    distance
}

impl<S: Scalar> Scheme<S> for Vlb {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let share = S::ratio(1, self.tops.len() as u64);
        for (&top, distance) in self.tops.iter().zip(&self.distance) {
            let closer = |node: NodeId| {
                let here = distance[node as usize];
                fabric.ports[node as usize].iter().copied().filter(move |&p| {
                    let peer = fabric.graph.port_peer(p);
                    here != 0
                        && distance[peer as usize] == here - 1
                        && (!fabric.graph.is_host(peer) || fabric.graph.hosts_relay)
                })
            };
            out.split(fabric, from, share, closer)?;
            out.split(fabric, top, share, |node| fabric.next_ports(node, to).iter().copied())?;
        }
        Ok(())
    }

    fn shortest(&self) -> bool {
        false
    }
}
