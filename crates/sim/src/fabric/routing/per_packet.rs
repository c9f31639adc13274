//! Random spraying: each packet takes a random path (per-packet ECMP).

use super::{Departing, Ends, FlowPath, Scheme};
use crate::random::Stream;
use rand::Rng as _;

/// Per-packet ECMP.
#[derive(Clone, Debug, Default)]
pub struct PerPacket;

/// Whether there is a choice.
#[derive(Clone, Debug)]
pub struct Sprayed {
    choice: bool,
}

impl Scheme for PerPacket {
    type Flow = Sprayed;

    fn flow(&self, ends: &Ends, _random: &mut Stream) -> Sprayed {
        Sprayed { choice: ends.paths > 1 }
    }
}

impl FlowPath for Sprayed {
    #[inline]
    fn next(&mut self, _packet: &Departing, random: &mut Stream) -> u32 {
        if self.choice { random.next_u32() } else { 0 }
    }
}
