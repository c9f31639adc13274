//! Multipath routing via dynamic NIX-vectors, all paths: the same share on each shortest path (Song §3.3.3.3).

use super::{Matters, Scheme, Shares};
use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::Scalar;

/// Equal over all shortest paths, counted by paths.
#[derive(Clone, Copy, Debug)]
pub struct Mdnvr;

impl<S: Scalar> Scheme<S> for Mdnvr {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let all = fabric.paths(from, to)?;
        out.by_paths(fabric, from, to, |through| S::ratio(through, all))
    }
}
