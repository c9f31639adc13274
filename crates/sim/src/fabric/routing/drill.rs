//! DRILL: micro load balancing (Ghorbani, Yang, Godfrey, Ganjali, Firoozshahian, SIGCOMM 2017).
//!
//! DRILL(d, m), §3.2: for each packet the switch draws d of the ports that lead on, compares their queues and those of the m ports that
//! it remembers, sends by the port with the least, and remembers the m with the least.

use super::balancer::{Arrived, Balancer, Ports};
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::random::{self, Stream};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::num::NonZeroU32;

/// DRILL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drill {
    /// Ports that a switch draws for each packet, d, at least 1. Default 2 (DRILL §3.2).
    pub choices: NonZeroU32,
    /// Ports that it remembers besides, m. Default 1 (DRILL §3.2); with 0 it is the power of d choices.
    pub memory: u32,
}

impl Default for Drill {
    fn default() -> Self {
        Self { choices: NonZeroU32::MIN.saturating_add(1), memory: 1 }
    }
}

impl Scheme for Drill {
    /// Switches do not read it.
    type Flow = u32;
    const OWN_BITS: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> u32 {
        random.next_u32()
    }

    fn balancer(&self, _graph: &Graph, node: NodeId, seed: u64) -> Option<Box<dyn Balancer>> {
        let random = random::substream(seed, "drill", u64::from(node));
        Some(Box::new(Engine { settings: self.clone(), random, remembered: Vec::new(), drawn: Vec::new() }))
    }
}

/// The forwarding engine of a switch.
#[derive(Debug)]
struct Engine {
    settings: Drill,
    random: Stream,
    /// For each set of ports that lead on, by its number: those that had the least, the least first.
    remembered: Vec<Vec<PortId>>,
    /// A list that is used again: (bytes, port), first what is remembered.
    drawn: Vec<(u64, PortId)>,
}

impl Balancer for Engine {
    fn egress(&mut self, hop: &Hop<'_>, _packet: Arrived<'_>, ports: &mut dyn Ports) -> Option<PortId> {
        let ways = hop.routes.next_ports(hop.node, hop.destination);
        if ways.len() < 2 {
            return ways.first().copied();
        }
        let set = hop.routes.set_number(hop.node, hop.destination);
        if set >= self.remembered.len() {
            self.remembered.resize(set + 1, Vec::new());
        }
        let remembered = &mut self.remembered[set];
        self.drawn.clear();
        self.drawn.extend(remembered.iter().map(|&port| (0, port)));
        draw(ways, self.settings.choices.get() as usize, &mut self.random, |port| {
            if !remembered.contains(&port) {
                self.drawn.push((0, port));
            }
        });
        for (bytes, port) in &mut self.drawn {
            *bytes = ports.backlog(*port);
        }
        // Of equal queues the remembered one stays first, then the one that was drawn first.
        self.drawn.sort_by_key(|&(bytes, _)| bytes);
        remembered.clear();
        remembered.extend(self.drawn.iter().map(|&(_, port)| port).take(self.settings.memory as usize));
        self.drawn.first().map(|&(_, port)| port)
    }

    fn rerouted(&mut self) {
        self.remembered.clear();
    }
}

/// Draws so many different ones, or all if there are no more, in random order (Floyd 1987, in the variant that keeps the order random).
fn draw(ways: &[PortId], choices: usize, random: &mut Stream, mut take: impl FnMut(PortId)) {
    let mut places: SmallVec<[usize; 8]> = SmallVec::new();
    for last in ways.len() - choices.min(ways.len())..ways.len() {
        let place = random::below(random, last + 1);
        match places.iter().position(|&taken| taken == place) {
            None => places.insert(0, place),
            Some(before) => places.insert(before + 1, last),
        }
    }
    places.into_iter().for_each(|place| take(ways[place]));
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fabric::routing::Routes;
    use crate::fabric::topology::tests::fabric;
    use anabranch_transport::Rate;
    use std::collections::BTreeMap;

    /// Bytes by port.
    #[derive(Default)]
    pub(in crate::fabric::routing) struct Queues(BTreeMap<PortId, u64>);

    impl Ports for Queues {
        fn backlog(&mut self, port: PortId) -> u64 {
            self.0.get(&port).copied().unwrap_or(0)
        }

        fn drain(&mut self, port: PortId, _priority: Option<u8>) -> u64 {
            self.backlog(port)
        }

        fn rate(&self, _port: PortId) -> Rate {
            Rate::from_gbps(1)
        }
    }

    struct Leaf {
        routes: Routes,
        engine: Box<dyn Balancer>,
        node: NodeId,
        ports: Vec<PortId>,
    }

    impl Leaf {
        fn new(choices: u32, memory: u32) -> Self {
            let settings = Drill { choices: NonZeroU32::new(choices).expect("above 0"), memory };
            let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
            let (routes, node) = (Routes::build(&graph, |_| true), graph.racks()[0]);
            let engine = settings.balancer(&graph, node, 1).expect("a switch has one");
            let ports = routes.next_ports(node, 3).to_vec();
            assert_eq!(ports.len(), 4);
            Self { routes, engine, node, ports }
        }

        /// Which of the ports up it takes when these bytes wait at them.
        fn takes(&mut self, bytes: [u64; 4]) -> usize {
            let mut queues = Queues(self.ports.iter().copied().zip(bytes).collect());
            let hop = Hop { routes: &self.routes, node: self.node, destination: 3 };
            let packet = Arrived { now: 0, size: 1500, priority: Some(0), bits: &mut 0 };
            let port = self.engine.egress(&hop, packet, &mut queues).expect("there are ways");
            self.ports.iter().position(|&p| p == port).expect("it leads on")
        }
    }

    #[test]
    fn with_all_ports_drawn_the_shortest_queue_is_taken() {
        for memory in 0..3 {
            let mut leaf = Leaf::new(4, memory);
            for n in 0..100_usize {
                let mut bytes = [3000; 4];
                bytes[n % 4] = 2999;
                assert_eq!(leaf.takes(bytes), n % 4);
            }
        }
    }

    #[test]
    fn the_best_of_two_is_the_worst_never_and_the_best_half_of_the_times() {
        // Of 6 pairs of 4 ports 3 hold the best, 2 the second without it, 1 the third without either.
        let mut leaf = Leaf::new(2, 0);
        let mut taken = [0; 4];
        for _ in 0..60_000 {
            taken[leaf.takes([0, 1, 2, 3])] += 1;
        }
        assert_eq!(taken[3], 0);
        for (taken, expected) in taken.into_iter().zip([30_000_i32, 20_000, 10_000]) {
            // Five standard deviations of at most 122.
            assert!((taken - expected).abs() < 612, "{taken} instead of {expected}");
        }
    }

    #[test]
    fn what_had_the_least_is_compared_again() {
        // Once the best has been drawn it is remembered: from then on it is taken every time.
        let mut leaf = Leaf::new(1, 1);
        let taken: Vec<usize> = (0..200).map(|_| leaf.takes([5, 4, 1, 6])).collect();
        let first = taken.iter().position(|&port| port == 2).expect("it is drawn in the end");
        assert!(taken[first..].iter().all(|&port| port == 2));
        // What was best and is no longer is not taken, unless what is drawn is worse.
        let next: Vec<usize> = (0..200).map(|_| leaf.takes([5, 4, 9, 6])).collect();
        assert!(!next[1..].contains(&2) && next.last() == Some(&1), "{next:?}");
        // Equal queues: it stays where it is.
        assert!((0..100).all(|_| leaf.takes([4, 4, 4, 4]) == 1));
        // Other routes: nothing is remembered.
        leaf.engine.rerouted();
        let taken: Vec<usize> = (0..50).map(|_| leaf.takes([0, 0, 0, 0])).collect();
        assert!(taken.iter().all(|port| *port == taken[0]), "{taken:?}");
    }

    #[test]
    fn draws_are_different_and_even() {
        let (mut random, ways) = (random::stream(1, "test"), [10, 11, 12, 13]);
        let mut firsts = [0_u32; 4];
        for _ in 0..40_000 {
            let mut drawn = Vec::new();
            draw(&ways, 2, &mut random, |port| drawn.push(port));
            assert!(drawn.len() == 2 && drawn[0] != drawn[1]);
            firsts[(drawn[0] - 10) as usize] += 1;
        }
        // Five standard deviations of 87.
        assert!(firsts.iter().all(|first| first.abs_diff(10_000) < 435), "{firsts:?}");
        let mut all = Vec::new();
        draw(&ways, 9, &mut random, |port| all.push(port));
        all.sort_unstable();
        assert_eq!(all, ways);
    }
}
