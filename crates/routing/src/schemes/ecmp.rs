//! Equal-cost multipath as switches do it: each splits what it has for a destination equally over its ports on shortest
//! paths. On a fat-tree that is [`Mdnvr`](super::Mdnvr); elsewhere paths with fewer choices on the way carry more.

use super::{Matters, Scheme, Shares};
use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::Scalar;

/// Equal at every switch.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp;

impl<S: Scalar> Scheme<S> for Ecmp {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        out.split(fabric, from, S::one(), |node| fabric.next_ports(node, to).iter().copied())
    }
}
