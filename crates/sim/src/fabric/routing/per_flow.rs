//! ECMP on the 5-tuple: one random path for each direction of a flow.

use super::{Ends, Scheme};
use crate::random::Stream;
use rand::Rng as _;

/// Per-flow ECMP.
#[derive(Clone, Debug, Default)]
pub struct PerFlow;

impl Scheme for PerFlow {
    type Flow = u32;
    const ONE_PATH: bool = true;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> u32 {
        random.next_u32()
    }
}
