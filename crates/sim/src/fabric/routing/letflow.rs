//! `LetFlow` (Vanini, Pan, Alizadeh, Taheri, Edsall, NSDI 2017): a switch sends each new flowlet by a port drawn at random, and does nothing
//! else. Flowlets change their size with the path: where it is congested they are short, so that more of them leave it.
//!
//! [`flowlet`](super::flowlet) lets the sending host watch for pauses, before its own queue and with an exact clock for each flow.
//! Here each switch does, with a [table](FlowletTable).

use super::balancer::{Arrived, Balancer, Ports};
use super::flowlet_table::{FlowletTable, Flowlets};
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `LetFlow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Letflow(pub Flowlets);

impl Scheme for Letflow {
    /// What stands for its addresses and port numbers where switches hash them.
    type Flow = u32;
    const OWN_BITS: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> u32 {
        random.next_u32()
    }

    fn balancer(&self, _graph: &Graph, node: NodeId, seed: u64) -> Option<Box<dyn Balancer>> {
        let mut random = random::substream(seed, "letflow", u64::from(node));
        let flowlets = FlowletTable::new(self.0.clone(), random.next_u64());
        Some(Box::new(Switch { flowlets, random }))
    }
}

#[derive(Debug)]
struct Switch {
    flowlets: FlowletTable,
    random: Stream,
}

impl Balancer for Switch {
    fn egress(&mut self, hop: &Hop<'_>, packet: Arrived<'_>, _ports: &mut dyn Ports) -> Option<PortId> {
        let ways = hop.routes.next_ports(hop.node, hop.destination);
        if ways.len() < 2 {
            return ways.first().copied();
        }
        let draw = |_| ways[random::below(&mut self.random, ways.len())];
        Some(self.flowlets.port(*packet.bits, packet.now, ways, draw))
    }
}

#[cfg(test)]
mod tests {
    use super::super::drill::tests::Queues;
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::fabric;
    use anabranch_transport::Duration;
    use std::collections::BTreeSet;

    #[test]
    fn flowlets_are_spread_evenly_and_keep_their_port() {
        let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
        let (routes, node) = (Routes::build(&graph, |_| true), graph.racks()[0]);
        let settings = Letflow(Flowlets { gap: Duration(100), ..Flowlets::default() });
        let mut switch = settings.balancer(&graph, node, 1).expect("a switch has one");
        let mut takes = |now: u64, destination: u32| {
            let hop = Hop { routes: &routes, node, destination };
            let packet = Arrived { now, size: 1500, priority: Some(0), bits: &mut 77 };
            switch.egress(&hop, packet, &mut Queues::default()).expect("there are ways")
        };
        let ports = routes.next_ports(node, 3);
        let mut taken = vec![0_u32; 4];
        for flowlet in 0..20_000_u64 {
            let of_flowlet: BTreeSet<PortId> = (0..3).map(|packet| takes(300 * flowlet + packet, 3)).collect();
            assert_eq!(of_flowlet.len(), 1, "{of_flowlet:?}");
            let place = ports.iter().position(|port| of_flowlet.contains(port)).expect("it leads on");
            taken[place] += 1;
        }
        // Five standard deviations of 61.
        assert!(taken.iter().all(|taken| taken.abs_diff(5000) < 306), "{taken:?}");
        assert_eq!(takes(0, 1), routes.next_ports(node, 1)[0], "to a host of its own there is one way");
    }
}
