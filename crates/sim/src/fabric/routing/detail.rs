//! `DeTail`'s adaptive load balancing (Zats, Das, Mohan, Borthakur, Katz, SIGCOMM 2012): for each packet a switch prefers ports that
//! will soon have sent what goes before it: drain bytes, those of its priority and of more urgent ones.
//!
//! Thresholds divide the ports that lead on into classes by their drain bytes; the packet takes a random one of the best class that has
//! any. Where links are lossless, a congested port far away shows as drain bytes here, since it pauses who sends to it.

use super::balancer::{Arrived, Balancer, Ports};
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use anabranch_transport::Bytes;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `DeTail`'s adaptive load balancing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Detail {
    /// Drain bytes at which a port falls to the next class: strictly increasing, the first above 0. Default 16 KiB and 64 KiB (`DeTail`).
    pub thresholds: Vec<Bytes>,
}

impl Default for Detail {
    fn default() -> Self {
        Self { thresholds: vec![Bytes(1 << 14), Bytes(1 << 16)] }
    }
}

impl Scheme for Detail {
    /// Switches do not read it.
    type Flow = u32;
    const OWN_BITS: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> u32 {
        random.next_u32()
    }

    fn balancer(&self, _graph: &Graph, node: NodeId, seed: u64) -> Option<Box<dyn Balancer>> {
        let thresholds = self.thresholds.iter().map(|bytes| bytes.0).collect();
        let random = random::substream(seed, "detail", u64::from(node));
        Some(Box::new(Switch { thresholds, random, best: Vec::new() }))
    }
}

#[derive(Debug)]
struct Switch {
    thresholds: Vec<u64>,
    random: Stream,
    /// A list that is used again: ports of the best class so far.
    best: Vec<PortId>,
}

impl Balancer for Switch {
    fn egress(&mut self, hop: &Hop<'_>, packet: Arrived<'_>, ports: &mut dyn Ports) -> Option<PortId> {
        let ways = hop.routes.next_ports(hop.node, hop.destination);
        if ways.len() < 2 {
            return ways.first().copied();
        }
        let Self { thresholds, random, best } = self;
        let mut least = usize::MAX;
        for &port in ways {
            let drain = ports.drain(port, packet.priority);
            let class = thresholds.partition_point(|&threshold| threshold <= drain);
            if class < least {
                least = class;
                best.clear();
            }
            if class == least {
                best.push(port);
            }
        }
        Some(best[random::below(random, best.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::fabric;
    use anabranch_transport::Rate;
    use std::collections::BTreeMap;

    /// Bytes of priorities 0 and 1 that wait at each port.
    struct Waiting(BTreeMap<PortId, [u64; 2]>);

    impl Ports for Waiting {
        fn backlog(&mut self, port: PortId) -> u64 {
            self.drain(port, Some(1))
        }

        fn drain(&mut self, port: PortId, priority: Option<u8>) -> u64 {
            self.0[&port][..priority.map_or(0, |priority| usize::from(priority) + 1)].iter().sum()
        }

        fn rate(&self, _port: PortId) -> Rate {
            Rate::from_gbps(1)
        }
    }

    /// How often each of four ports up, at which these bytes wait, is taken by so many packets of a priority.
    fn taken(waiting: [[u64; 2]; 4], priority: Option<u8>, packets: u32) -> [u32; 4] {
        let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
        let (routes, node) = (Routes::build(&graph, |_| true), graph.racks()[0]);
        let mut switch = Detail::default().balancer(&graph, node, 1).expect("a switch has one");
        let ports = routes.next_ports(node, 3).to_vec();
        let mut waiting = Waiting(ports.iter().copied().zip(waiting).collect());
        let hop = Hop { routes: &routes, node, destination: 3 };
        let mut counts = [0; 4];
        for _ in 0..packets {
            let packet = Arrived { now: 0, size: 1500, priority, bits: &mut 0 };
            let port = switch.egress(&hop, packet, &mut waiting).expect("there are ways");
            counts[ports.iter().position(|&p| p == port).expect("it leads on")] += 1;
        }
        counts
    }

    #[test]
    fn a_random_port_of_the_best_class_is_taken() {
        // Below 16 384 B, below 65 536 B, and the rest. Of one class each is taken as often as the others: within five standard deviations of 87.
        for bytes in [[0, 1, 16_000, 16_383], [16_384, 20_000, 30_000, 65_535], [65_536, 1 << 20, 1 << 30, 1 << 40]] {
            let counts = taken(bytes.map(|bytes| [bytes, 0]), Some(0), 40_000);
            assert!(counts.iter().all(|count| count.abs_diff(10_000) < 435), "{bytes:?}: {counts:?}");
        }
        let counts = taken([[16_384, 0], [16_383, 0], [0, 0], [1 << 20, 0]], Some(0), 20_000);
        assert!(counts[0] + counts[3] == 0 && counts[1].abs_diff(10_000) < 355, "{counts:?}");
        assert_eq!(taken([[1 << 20, 0], [65_535, 0], [65_536, 0], [1 << 20, 0]], Some(0), 100), [0, 100, 0, 0]);
    }

    #[test]
    fn what_is_less_urgent_does_not_count() {
        let waiting = [[10_000, 0], [0, 1 << 20], [10_000, 7000], [20_000, 0]];
        // Priority 1 waits for 10, 1049, 17 and 20 kB.
        assert_eq!(taken(waiting, Some(1), 100), [100, 0, 0, 0]);
        // Priority 0 for 10, 0, 10 and 20 kB, control for none.
        assert!(taken(waiting, Some(0), 30_000)[..3].iter().all(|count| count.abs_diff(10_000) < 410));
        assert!(taken(waiting, None, 40_000).iter().all(|count| count.abs_diff(10_000) < 435));
    }
}
