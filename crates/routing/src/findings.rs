//! Where claims of Song's dissertation do not hold, each as a computation whose result a test pins.
//!
//! The theorems' upper bounds hold as stated for Normal Routing, MDNVR, `MDNVRk`, and for DNVR *with the assignment that
//! Theorem 3.2 constructs*; `tests/theorems.rs` checks that over all permutations of a small tree and over random matrices.
//! What follows does not hold.

use crate::error::RoutingResult;
use crate::fabric::{Fabric, Tree};
use crate::loads::Loads;
use crate::number::{Exact, Scalar};
use crate::optimum::optusw;
use crate::schemes::{Balanced, Dnvr, Mdnvr, MdnvrK, Scheme};
use crate::theorems::{self, Policy};
use crate::traffic::{Pattern, TrafficMatrix};
use crate::worst::WorstCase;
use anabranch_sim::fabric::topology::TopologyConfig;
use std::path::Path;

/// FT(m, n).
///
/// # Errors
///
/// An odd `m`, or `n` out of range.
pub fn tree(m: u32, n: u32) -> RoutingResult<Fabric> {
    let config = TopologyConfig::MPortNTree(anabranch_sim::fabric::topology::MPortNTree {
        m,
        n,
        rate: anabranch_sim::fabric::topology::MAX_RATE,
        delay: anabranch_sim::fabric::topology::MAX_DELAY,
        layers: anabranch_sim::fabric::topology::Layers::default(),
    });
    Fabric::build(&config, Path::new(""), &[])
}

/// A claim and what is computed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The statement of the dissertation.
    pub claim: &'static str,
    /// What the dissertation says, in units of the base load.
    pub claimed: Exact,
    /// What holds.
    pub found: Exact,
}

/// The lower bound of (3.24) and (3.25), base load <= `MLOAD_t` and `MLOADSW_t`, fails for t < n - 1: one pair within an edge
/// switch loads nothing above it, and one pair of different pods loads each core link of MDNVR with 1/X of the base load.
///
/// # Errors
///
/// None for these fabrics.
pub fn lower_bound_below_the_edge() -> RoutingResult<[Finding; 3]> {
    let fabric = tree(4, 3)?;
    let one = |s, d| -> RoutingResult<TrafficMatrix> {
        let mut tm = TrafficMatrix::empty(16);
        tm.add(s, d, Exact::ONE)?;
        Ok(tm)
    };
    let mdnvr = |tm: &TrafficMatrix| Loads::<Exact>::of(&fabric, &Mdnvr, tm);
    let (near, far) = (mdnvr(&one(0, 1)?)?, mdnvr(&one(0, 15)?)?);
    let finding = |claim, found| Finding { claim, claimed: Exact::ONE, found };
    Ok([
        finding("(3.24), t = 1: base load <= MLOAD_1, one pair within an edge switch", near.mload_at(&fabric, 1)),
        finding("(3.24), t = 0: base load <= MLOAD_0(MDNVR), one pair of different pods", far.mload_at(&fabric, 0)),
        finding(
            "(3.25), t = 0: base load <= MLOADSW_0(MDNVR), one pair of different pods",
            far.mloadsw(&fabric, Some(0)),
        ),
    ])
}

/// Worst cases of a scheme: MLOAD, and MLOADSW at each level, from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstLoads {
    /// MLOAD under its worst permutation: the oblivious ratio PERF, as OPTU is the base load.
    pub link: Exact,
    /// `MLOADSW_t` under the worst permutation for each level.
    pub switch: Vec<Exact>,
}

/// Exact worst cases over all traffic of base load one.
///
/// # Errors
///
/// Fractions that do not fit.
pub fn worst_loads(fabric: &Fabric, scheme: &dyn Scheme<Exact>) -> RoutingResult<WorstLoads> {
    let worst = WorstCase::new(fabric, scheme)?;
    let levels = fabric.level_names.len() as u32;
    let switch = (0..levels).map(|t| Ok(worst.switches_at(t)?.value.reduced())).collect::<RoutingResult<_>>()?;
    Ok(WorstLoads { link: worst.links()?.value.reduced(), switch })
}

/// Theorem 3.2 bounds DNVR by its best assignment of paths. DNVR as chapter 2 defines it and the simulations run it draws paths
/// at random, and its exact worst case is then that of Normal Routing at every draw tried: (m/2)^(n-1).
///
/// # Errors
///
/// None for trees with n of 2 or 3.
pub fn random_paths(m: u32, n: u32, seeds: u64) -> RoutingResult<Vec<Finding>> {
    let fabric = tree(m, n)?;
    let claimed = theorems::mload_dnvr(Tree { m, n }).unwrap_or(Exact::ZERO);
    let worst = |seed| -> RoutingResult<Finding> {
        let found = WorstCase::<Exact>::new(&fabric, &Dnvr::new(seed))?.links()?.value.reduced();
        Ok(Finding { claim: "(3.13), Theorem 3.2, of randomly drawn single paths", claimed, found })
    };
    (1..=seeds).map(worst).collect()
}

/// `MDNVRk` is said to be min-max optimal among all policies with ceil(X/k) paths (§3.3.3.4). With k = X, one path, the
/// assignment of Theorem 3.2 is such a policy; its worst case is smaller. Returns the worst MLOAD of `MDNVRk` as claimed and
/// that of the assignment.
///
/// # Errors
///
/// None for trees with n of 2 or 3.
pub fn better_than_mdnvr_k(m: u32, n: u32) -> RoutingResult<(Exact, Exact)> {
    let fabric = tree(m, n)?;
    let k = Exact::whole(theorems::paths(Tree { m, n }));
    let drawn = WorstCase::<Exact>::new(&fabric, &MdnvrK::new(k, 1))?.links()?.value.reduced();
    let assigned = WorstCase::<Exact>::new(&fabric, &Balanced::new(&fabric)?)?.links()?.value.reduced();
    Ok((drawn, assigned))
}

/// The performance ratio of single-path routing at level t is (m/2)^(n-1-t) whatever the paths are, not (5.10): one pair alone
/// puts everything on one switch, which all paths together would spread over (m/2)^(n-1-t). Returns what (5.10) claims and
/// what the assignment of Theorem 3.2 has on that pair.
///
/// # Errors
///
/// None for trees with n of 2 or 3.
pub fn one_pair_on_one_path(m: u32, n: u32, t: u32) -> RoutingResult<Finding> {
    let fabric = tree(m, n)?;
    let size = Tree { m, n };
    let mut tm = TrafficMatrix::empty(fabric.hosts());
    tm.add(0, fabric.hosts() - 1, Exact::ONE)?;
    let load = Loads::<Exact>::of(&fabric, &Balanced::new(&fabric)?, &tm)?.mloadsw(&fabric, Some(t));
    let best = optusw::<Exact>(size, &tm, t)?;
    let found = load.over(best).map_or(Exact::ZERO, Exact::reduced);
    Ok(Finding {
        claim: "(5.10), Theorem 5.3: PERFSW_t(DNVR)",
        claimed: theorems::perfsw_at(size, Policy::Dnvr, t).unwrap_or(Exact::ZERO),
        found,
    })
}

/// `MLOADSW_0` of `MDNVRk` with k = X on Stride((m/2)^(n-1)): one random core switch for each of N pairs. Exact distribution over
/// all draws: how likely each maximum is, from 0 on. Table 5.2 reports N.
pub fn draws_of_one_path(pairs: u64, cores: u32) -> Vec<Exact> {
    // Number of ways to place the pairs with none above `most`, by cores: coefficients of a product of truncated exponentials,
    // times factorials.
    let choose = |n: u64, k: u64| (0..k).fold(1_i128, |c, i| c * i128::from(n - i) / i128::from(i + 1));
    let ways = |most: u64| {
        let mut of = vec![0_i128; pairs as usize + 1];
        of[0] = 1;
        for _ in 0..cores {
            let mut next = vec![0_i128; of.len()];
            for placed in 0..=pairs {
                for more in 0..=most.min(placed) {
                    next[placed as usize] += of[(placed - more) as usize] * choose(placed, more);
                }
            }
            of = next;
        }
        of[pairs as usize]
    };
    let all = ways(pairs);
    let below = |most: Option<u64>| most.map_or(0, ways);
    (0..=pairs).map(|v| Exact::new(ways(v) - below(v.checked_sub(1)), all).reduced()).collect()
}

/// What a scheme does under Stride((m/2)^(n-1)), which Theorem 5.5 says attains the upper bounds: `MLOADSW_t` from the top.
///
/// # Errors
///
/// Fractions that do not fit.
pub fn under_stride(fabric: &Fabric, scheme: &dyn Scheme<Exact>) -> RoutingResult<Vec<Exact>> {
    let tree = fabric.need_tree("Theorem 5.5")?;
    let tm = Pattern::Stride(theorems::paths(tree) as u32).matrix(fabric.hosts(), 0)?;
    let loads = Loads::of(fabric, scheme, &tm)?;
    Ok((0..tree.n).map(|t| loads.mloadsw(fabric, Some(t)).reduced()).collect())
}
