//! Multipath routing via dynamic NIX-vectors, ceil(X/k) paths: equal over that many of the X shortest paths, which are drawn
//! at random for each pair (Song §3.3.3.4).

use super::walk::Draws;
use super::{Matters, Scheme, Settings, Shares};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use anabranch_sim::fabric::graph::NodeId;
use std::collections::BTreeSet;

/// Below this many paths each is asked in turn whether it is drawn; above it, as many are drawn as are needed.
const FEW: u64 = 1024;

/// ceil(X/k) random shortest paths for each pair.
#[derive(Clone, Copy, Debug)]
pub struct MdnvrK {
    k: Exact,
    seed: u64,
}

/// How many of `all` paths are used: ceil(all / k), at least one.
fn used(all: u64, k: Exact) -> RoutingResult<u64> {
    let share = Exact::whole(all).over(k).ok_or_else(RoutingError::overflow)?;
    Ok((share.ceil() as u64).clamp(1, all))
}

impl MdnvrK {
    /// `k` from 1.
    pub fn new(k: Exact, seed: u64) -> Self {
        Self { k, seed }
    }

    pub(super) fn from_settings(settings: &Settings<'_>) -> RoutingResult<Self> {
        let k = settings.parameter("mdnvr-k", "a number k from 1, such as 2 or 4/3", Exact::whole(2))?;
        Ok(Self::new(k, settings.seed))
    }

    /// `count` different numbers below `all`, in order.
    fn draw(&self, s: u32, d: u32, count: u64, all: u64) -> Vec<u64> {
        let mut draws = Draws::of(self.seed, 0x6d64_6e76, s, d);
        if all <= FEW {
            // Selection sampling (Knuth 3.4.2, Algorithm S).
            let mut left = count;
            return (0..all)
                .filter(|i| {
                    let chosen = draws.below(all - i) < left;
                    left -= u64::from(chosen);
                    chosen
                })
                .collect();
        }
        // Floyd's algorithm (CACM 30(9), 1987).
        let mut chosen = BTreeSet::new();
        for top in all - count..all {
            let one = draws.below(top + 1);
            if !chosen.insert(one) {
                chosen.insert(top);
            }
        }
        chosen.into_iter().collect()
    }

    /// Adds the shares of the paths with these numbers, those from `node` on having numbers from `base`.
    fn follow<S: Scalar>(
        fabric: &Fabric,
        node: NodeId,
        to: u32,
        mut indices: &[u64],
        mut base: u64,
        all: u64,
        out: &mut Shares<S>,
    ) -> RoutingResult<()> {
        if fabric.distance(node, to) == 0 {
            return Ok(());
        }
        for &port in fabric.next_ports(node, to) {
            let peer = fabric.graph.port_peer(port);
            let end = base + fabric.paths(peer, to)?;
            let mine = indices.partition_point(|&i| i < end);
            if mine > 0 {
                out.add(port, S::ratio(mine as u64, all))?;
                Self::follow(fabric, peer, to, &indices[..mine], base, all, out)?;
            }
            indices = &indices[mine..];
            if indices.is_empty() {
                break;
            }
            base = end;
        }
        Ok(())
    }
}

impl<S: Scalar> Scheme<S> for MdnvrK {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Host, Matters::Host)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let all = fabric.paths(from, to)?;
        let count = used(all, self.k)?;
        if count == all {
            return out.by_paths(fabric, from, to, |through| S::ratio(through, all));
        }
        let indices = self.draw(s, d, count, all);
        Self::follow(fabric, from, to, &indices, 0, count, out)
    }

    fn envelope(&self) -> Option<Box<dyn Scheme<S>>> {
        Some(Box::new(WorstDraw { k: self.k }))
    }
}

/// The largest share that any draw of [`MdnvrK`] gives each port. No routing: the shares of a pair add up to
/// more than one, so that what it puts on a switch is a bound only.
#[derive(Clone, Copy, Debug)]
pub struct WorstDraw {
    /// k, from 1; no less than the number of paths: one path.
    pub k: Exact,
}

impl<S: Scalar> Scheme<S> for WorstDraw {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let count = used(fabric.paths(from, to)?, self.k)?;
        out.by_paths(fabric, from, to, |through| S::ratio(through.min(count), count))
    }
}
