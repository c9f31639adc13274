//! Dynamic NIX-vector routing as Song's chapter 2 defines it: one shortest path for each pair, drawn at random (§2.2.2).
//!
//! Each of a pair's shortest paths is equally likely here. Song's breadth-first search in random order is that on a
//! fat-tree; elsewhere it prefers some.

use super::walk::{Draws, unrank};
use super::{Matters, Scheme, Shares, WorstDraw};
use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};

/// One random shortest path for each pair.
#[derive(Clone, Copy, Debug)]
pub struct Dnvr {
    seed: u64,
}

impl Dnvr {
    /// The draw of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl<S: Scalar> Scheme<S> for Dnvr {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Host, Matters::Host)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let index = Draws::of(self.seed, 0x646e_7672, s, d).below(fabric.paths(from, to)?);
        unrank(fabric, from, to, index)?.into_iter().try_for_each(|port| out.add(port, S::one()))
    }

    fn envelope(&self) -> Option<Box<dyn Scheme<S>>> {
        // As many times k as any pair has paths: one path.
        Some(Box::new(WorstDraw { k: Exact::new(i128::from(u64::MAX), 1) }))
    }
}
