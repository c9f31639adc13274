//! Destination-modulo-k routing (Zahavi et al. 2010; Song §2.3.2): on the way up, the digits of the destination's number
//! choose the ports, the lowest digit first, so that consecutive destinations spread over the ports of every level.
//!
//! A switch with a choice among n ports takes the one whose number is the rest of the division by n, and leaves the
//! quotient to the next. In a fat-tree each destination has one core switch, each core switch equally many destinations,
//! and no two hosts of a rack the same aggregation switch. Elsewhere it is a static route for each destination.

use super::{Departing, Ends, FlowPath, Hop, Scheme};
use crate::fabric::graph::PortId;
use crate::random::Stream;

/// d-mod-k. The path bits are what is left of the destination's number.
#[derive(Clone, Debug, Default)]
pub struct DModK;

/// The same for all flows: each packet begins with the number of its own destination.
#[derive(Clone, Debug)]
pub struct Destination;

impl FlowPath for Destination {
    #[inline]
    fn next(&mut self, packet: &Departing, _random: &mut Stream) -> u32 {
        packet.destination
    }
}

/// The port that the lowest digit of a number chooses, and the number without it.
pub(super) fn lowest_digit(hop: &Hop<'_>, rest: &mut u32) -> Option<PortId> {
    let ports = hop.routes.next_ports(hop.node, hop.destination);
    let choices = u32::try_from(ports.len()).ok().filter(|&n| n > 0)?;
    let port = ports[(*rest % choices) as usize];
    *rest /= choices;
    Some(port)
}

impl Scheme for DModK {
    type Flow = Destination;
    const OWN_BITS: bool = true;
    const ONE_PATH: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, _ends: &Ends, _random: &mut Stream) -> Destination {
        Destination
    }

    fn egress(&self, hop: &Hop<'_>, rest: &mut u32) -> Option<PortId> {
        lowest_digit(hop, rest)
    }

    fn back(&self, source: u32, _random: &mut Stream) -> u32 {
        source
    }
}
