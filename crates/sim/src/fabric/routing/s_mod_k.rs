//! Source-modulo-k routing (Song §2.3.2): as [`d-mod-k`](super::d_mod_k), with the digits of the source's number: on the way up
//! the lowest digit chooses the first port, the next digit the next, whatever the destination.

use super::d_mod_k::lowest_digit;
use super::{Ends, Hop, Scheme};
use crate::fabric::graph::PortId;
use crate::random::Stream;

/// s-mod-k. The path bits are what is left of the source's number.
#[derive(Clone, Debug, Default)]
pub struct SModK;

impl Scheme for SModK {
    type Flow = u32;
    const OWN_BITS: bool = true;
    const ONE_PATH: bool = true;
    const SHORTEST: bool = true;

    fn flow(&self, ends: &Ends, _random: &mut Stream) -> u32 {
        ends.source
    }

    fn egress(&self, hop: &Hop<'_>, rest: &mut u32) -> Option<PortId> {
        lowest_digit(hop, rest)
    }

    /// A header on its way back counts as its sender's.
    fn back(&self, source: u32, _random: &mut Stream) -> u32 {
        source
    }
}
