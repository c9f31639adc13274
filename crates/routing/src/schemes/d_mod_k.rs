//! Destination-modulo-k routing (Song §2.3.2): on the way up, the digits of the destination's number choose the ports, the
//! lowest first.
//!
//! A switch with a choice among n ports takes the one whose number is the rest of the division by n, and leaves the
//! quotient to the next; outside fat-trees, too.

use super::{Matters, Scheme, Shares};
use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::Scalar;

/// d-mod-k.
#[derive(Clone, Copy, Debug)]
pub struct DModK;

impl<S: Scalar> Scheme<S> for DModK {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Host)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let mut rest = d as usize;
        out.path(fabric, from, to, S::one(), |_, choices| {
            let digit = rest % choices;
            rest /= choices;
            digit
        })
    }
}
