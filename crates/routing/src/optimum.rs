//! The least possible loads on FT(m, n), in closed form (Song Definitions 3.4 and 3.5).
//!
//! Among routings that go up and then down, all that leaves a subtree is spread over the same switches and links whatever
//! the routing does, so that the best is to spread it evenly; equal shares on all shortest paths do so for every subtree at
//! once. For generic fabrics there is a linear program in `python/anabranch/routing`.

use crate::error::{RoutingError, RoutingResult};
use crate::fabric::{Fabric, Tree};
use crate::number::{Exact, Scalar};
use crate::traffic::TrafficMatrix;
use std::collections::BTreeMap;

/// The least possible largest loads.
#[derive(Clone, Debug)]
pub struct Optimum<S> {
    /// Largest utilisation of a link, the capacity of a host's link being one. Equals the base load where all links are alike.
    pub optu: S,
    /// Largest load of a switch of each level, from the top.
    pub optusw: Vec<S>,
}

impl<S: Scalar> Optimum<S> {
    /// Over all levels.
    pub fn optusw_most(&self) -> S {
        self.optusw.iter().copied().fold(S::zero(), S::larger)
    }
}

/// The optimum on a fat-tree without failures.
///
/// # Errors
///
/// Another fabric; fractions that do not fit.
pub fn on_tree<S: Scalar>(fabric: &Fabric, tm: &TrafficMatrix) -> RoutingResult<Optimum<S>> {
    let tree = fabric.need_tree("the closed form of the optimum")?;
    let mut optu = S::zero();
    // Host links.
    let (sent, received) = tm.sums::<S>()?;
    for (h, load) in (0..).zip(&sent).chain((0..).zip(&received)) {
        let port = fabric.first_port(h).ok_or_else(RoutingError::overflow)?;
        optu = optu.larger(load.over(fabric.capacity(port)).ok_or_else(RoutingError::overflow)?);
    }
    // Links up from the subtrees of level t: as many as the subtree has hosts.
    for t in 1..tree.n {
        let capacity = level_capacity::<S>(fabric, t - 1).times(S::ratio(tree.below(t), 1));
        for flows in crossing::<S>(tree, tm, t)?.values() {
            for flow in [flows.out, flows.into] {
                let use_of = capacity.and_then(|c| flow.over(c)).ok_or_else(RoutingError::overflow)?;
                optu = optu.larger(use_of);
            }
        }
    }
    Ok(Optimum { optu, optusw: (0..tree.n).map(|t| optusw(tree, tm, t)).collect::<RoutingResult<_>>()? })
}

/// OPTUSW of level `t`: of all subtrees, the most that crosses its switches of that level, over their number.
///
/// # Errors
///
/// Fractions that do not fit.
pub fn optusw<S: Scalar>(tree: Tree, tm: &TrafficMatrix, t: u32) -> RoutingResult<S> {
    let switches = switches_of_subtree(tree, t);
    let mut most = S::zero();
    for flows in crossing::<S>(tree, tm, t)?.values() {
        let all = flows.out.plus(flows.into).and_then(|sum| sum.plus(flows.within));
        most = most.larger(all.and_then(|a| a.times(S::ratio(1, switches))).ok_or_else(RoutingError::overflow)?);
    }
    Ok(most)
}

/// Number of switches of level `t` in a subtree of that level: (m/2)^(n-1-t).
pub fn switches_of_subtree(tree: Tree, t: u32) -> u64 {
    tree.half().pow(tree.n - 1 - t)
}

struct Crossing<S> {
    out: S,
    into: S,
    /// Pairs that meet at this level.
    within: S,
}

/// What crosses level `t` in each of its subtrees.
fn crossing<S: Scalar>(tree: Tree, tm: &TrafficMatrix, t: u32) -> RoutingResult<BTreeMap<u64, Crossing<S>>> {
    let mut found: BTreeMap<u64, Crossing<S>> = BTreeMap::new();
    let mut add = |subtree: u64, part: fn(&mut Crossing<S>) -> &mut S, amount: Exact| -> RoutingResult<()> {
        let none = || Crossing { out: S::zero(), into: S::zero(), within: S::zero() };
        let sum = part(found.entry(subtree).or_insert_with(none));
        *sum = sum.plus(S::of(amount)).ok_or_else(RoutingError::overflow)?;
        Ok(())
    };
    for (s, d, amount) in tm.iter() {
        let meeting = tree.meeting(s, d);
        if meeting == t {
            add(tree.subtree(s, t), |c| &mut c.within, amount)?;
        } else if meeting < t {
            add(tree.subtree(s, t), |c| &mut c.out, amount)?;
            add(tree.subtree(d, t), |c| &mut c.into, amount)?;
        }
    }
    Ok(found)
}

fn level_capacity<S: Scalar>(fabric: &Fabric, level: u32) -> S {
    let port = (0..fabric.graph.ports()).find(|&p| fabric.link_level(p) == level && !fabric.is_access(p));
    port.map_or(S::one(), |p| fabric.capacity(p))
}
