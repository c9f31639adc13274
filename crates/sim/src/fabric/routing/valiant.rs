//! Valiant load balancing (Valiant and Brebner 1981; Song §1.3): first to a random intermediate switch, then to the
//! destination, so that any traffic pattern loads the fabric as a random one does.
//!
//! Intermediate switches are those farthest from the hosts: the core of a fat-tree, the spines of a leaf-spine fabric, all
//! switches of a Jellyfish. Two hosts of one switch talk through it alone (VL2 §4.2). Both parts of the way are shortest
//! paths, chosen as by ECMP. If failures cut the intermediate switch off, packets go straight.

use super::{Departing, Ends, FlowPath, Hop, Scheme, Towards, ecmp, select};
use crate::fabric::graph::{Graph, PortId};
use crate::random::{self, Stream};
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The upper half of the path bits is one more than the number of the intermediate switch, and 0 behind it; the lower half
// is the path fraction.
/// Valiant load balancing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Valiant {
    /// How often an intermediate switch is drawn. By flow, packets stay in order.
    pub per: Per,
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) tables: Towards,
}

/// How often something is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Once for each flow and direction.
    #[default]
    Flow,
    /// For each packet.
    Packet,
}

/// How the packets of a flow get their intermediate switch.
#[derive(Clone, Debug)]
pub enum Intermediate {
    /// All the same one, and the same paths to and from it.
    Fixed(u32),
    /// Each one of so many.
    Random(u32),
}

fn draw(switches: u32, random: &mut Stream) -> u32 {
    (random::below(random, switches as usize) as u32 + 1) << 16 | random.next_u32() >> 16
}

impl Scheme for Valiant {
    type Flow = Intermediate;
    const OWN_BITS: bool = true;

    fn flow(&self, ends: &Ends, random: &mut Stream) -> Intermediate {
        let switches = self.tables.roots().len() as u32;
        if ends.hops <= 2 || switches == 0 {
            return Intermediate::Fixed(random.next_u32() >> 16);
        }
        match self.per {
            Per::Flow => Intermediate::Fixed(draw(switches, random)),
            Per::Packet => Intermediate::Random(switches),
        }
    }

    fn egress(&self, hop: &Hop<'_>, bits: &mut u32) -> Option<PortId> {
        let (intermediate, mut fraction) = (*bits >> 16, *bits << 16);
        if intermediate > 0 {
            let ports = self.tables.next_ports(hop.node, intermediate as usize - 1);
            if !ports.is_empty() {
                let port = select(ports, &mut fraction);
                *bits = intermediate << 16 | fraction >> 16;
                return Some(port);
            }
            // It is here, or cut off.
        }
        let port = ecmp(hop, &mut fraction);
        *bits = fraction >> 16;
        port
    }

    /// Straight: a header that comes back hurries.
    fn back(&self, _source: u32, random: &mut Stream) -> u32 {
        random.next_u32() >> 16
    }

    fn install(&mut self, graph: &Graph, alive: &dyn Fn(u32) -> bool) {
        // The upper half of the path bits has room for so many.
        let mut switches = graph.farthest_switches();
        switches.truncate(usize::from(u16::MAX) - 1);
        self.tables = Towards::build(graph, switches, alive);
    }
}

impl FlowPath for Intermediate {
    #[inline]
    fn next(&mut self, _packet: &Departing, random: &mut Stream) -> u32 {
        match *self {
            Self::Fixed(bits) => bits,
            Self::Random(switches) => draw(switches, random),
        }
    }
}
