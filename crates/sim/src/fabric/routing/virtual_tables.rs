//! Virtual Table-Based Multipath Routing (Song §2.3): several static routing tables in every switch, in each of which it has one
//! default port upwards. Two tables are Dual IPv4/IPv6 Routing.
//!
//! Subflow j of a flow of host i takes table (i + j) mod V, so that a transport with V subflows uses all tables and one with a
//! single flow takes the same table for all packets of a host.
//!
//! Song draws the two tables of FT(4, 3) (Fig. 2.2) and gives the loads of its leftmost pod; the general rule is this: in
//! table t, whose number has the digits t0, t1, ... (the lowest first) to the base of the ports upwards, the k-th switch on the
//! way up, of number s among the switches of its level, takes the port numbered (digits of s) + t0 + ... + tk, modulo their
//! number. Hence, in a fat-tree of m ports and n levels,
//!
//! - up to m/2 tables are disjoint between the edge switches of a pair;
//! - (m/2)^(n-1) tables are all shortest paths, each once;
//! - each table leads equally many hosts up by each port of a level, so that tables are balanced alone.
//!
//! On fabrics that are no fat-trees, and after failures, the rule is the same for any switch with a choice among shortest paths:
//! static tables with one port for each destination, which need not be disjoint.

use super::{Ends, Hop, Scheme};
use crate::fabric::graph::{Graph, PortId};
use crate::random::Stream;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Virtual tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VirtualTables {
    /// Tables of each switch, 1 to 65535. Default 2: IPv4 and IPv6.
    #[schemars(range(min = 1))]
    pub tables: u16,
    /// Of each node: its number among those that are as far from the hosts.
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) numbers: Vec<u32>,
}

impl Default for VirtualTables {
    fn default() -> Self {
        Self { tables: 2, numbers: Vec::new() }
    }
}

/// The table of a packet at a host. The upper half of the path bits is what is left of the table's number, the lower half the sum
/// of the digits that were used.
fn in_table(table: u32) -> u32 {
    table << 16
}

/// The sum of the digits of a number.
fn digit_sum(mut number: u32, base: u32) -> u32 {
    let mut sum = 0;
    while number > 0 {
        sum += number % base;
        number /= base;
    }
    sum
}

impl Scheme for VirtualTables {
    type Flow = u32;
    const OWN_BITS: bool = true;
    const ONE_PATH: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, ends: &Ends, _random: &mut Stream) -> u32 {
        in_table(ends.source % u32::from(self.tables))
    }

    fn flows(&self, ends: &Ends, subflows: u8, _random: &mut Stream) -> Vec<u32> {
        let table = |subflow| (u64::from(ends.source) + u64::from(subflow)) % u64::from(self.tables);
        (0..subflows).map(|subflow| in_table(table(subflow) as u32)).collect()
    }

    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        let ports = hop.routes.next_ports(hop.node, hop.destination);
        if ports.len() <= 1 {
            return ports.first().copied();
        }
        let base = ports.len() as u32;
        let (rest, sum) = (*bits >> 16, (*bits & 0xffff) + (*bits >> 16) % base);
        *bits = in_table(rest / base) | sum & 0xffff;
        let own = digit_sum(self.numbers[hop.node as usize], base);
        Some(ports[((own + sum) % base) as usize])
    }

    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        in_table(random.next_u32() % u32::from(self.tables))
    }

    fn install(&mut self, graph: &Graph, _alive: &dyn Fn(u32) -> bool) {
        let mut counted = vec![0_u32; graph.nodes.len() + 1];
        let number = |distance: u32| {
            let next = &mut counted[(distance as usize).min(graph.nodes.len())];
            *next += 1;
            *next - 1
        };
        self.numbers = graph.distances_from_hosts().into_iter().map(number).collect();
    }
}
