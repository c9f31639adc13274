//! Normal Routing: one fixed shortest path, the first port at every switch (Song §3.3.3.1).

use super::{Matters, Scheme, Shares};
use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::Scalar;

/// The leftmost shortest path.
#[derive(Clone, Copy, Debug)]
pub struct NormalRouting;

impl<S: Scalar> Scheme<S> for NormalRouting {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        out.path(fabric, from, to, S::one(), |_, _| 0)
    }
}
