//! The bounds of Song's dissertation as functions, in units of the base load. [`crate::findings`] says where they do not hold.

use crate::fabric::Tree;
use crate::number::{Exact, Scalar};

/// The four schemes of chapter 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Normal Routing.
    Nr,
    /// Dynamic NIX-vector routing, with the assignment of Theorem 3.2.
    Dnvr,
    /// Equal over ceil(X/k) paths.
    MdnvrK(Exact),
    /// Equal over all paths.
    Mdnvr,
}

/// ceil(sqrt(m/2)) for n = 2, m/2 for n = 3 (Theorem 3.2, Eq. 3.13); `None` for other n.
pub fn mload_dnvr(tree: Tree) -> Option<Exact> {
    match tree.n {
        2 => (1..=tree.half()).find(|r: &u64| r * r >= tree.half()).map(Exact::whole),
        3 => Some(Exact::whole(tree.half())),
        _ => None,
    }
}

fn power(tree: Tree, exponent: u32) -> Exact {
    Exact::whole(tree.half().pow(exponent))
}

fn product(a: Exact, b: u64) -> Exact {
    a.times(Exact::whole(b)).expect("sizes of fabrics are small numbers")
}

/// The most a switch of level `t` can carry under any routing (Corollary 3.1, Eq. 3.12), attained by Normal Routing
/// (Theorem 3.1, Eq. 3.11).
pub fn mloadsw_any(tree: Tree, t: u32) -> Exact {
    product(power(tree, tree.n - t), 2)
}

/// Upper bound of `MLOAD_t`: Theorem 3.2 (3.13), 3.4 (3.17), 3.6 (3.24); for Normal Routing property 5. `None` where the
/// dissertation has none.
pub fn mload_at(tree: Tree, policy: Policy, t: u32) -> Option<Exact> {
    let below = power(tree, tree.n - 1 - t);
    Some(match policy {
        Policy::Nr => below,
        Policy::Dnvr => mload_dnvr(tree)?.min(below),
        Policy::MdnvrK(k) => k.min(below),
        Policy::Mdnvr => Exact::ONE,
    })
}

/// Upper bound of `MLOADSW_t`: Theorems 3.1 (3.11), 3.3 (3.14), 3.4 (3.18), 3.6 (3.25).
pub fn mloadsw_at(tree: Tree, policy: Policy, t: u32) -> Option<Exact> {
    match policy {
        Policy::Nr => Some(mloadsw_any(tree, t)),
        _ => mload_at(tree, policy, t).map(|links| product(links, u64::from(tree.m))),
    }
}

/// Upper bound of MLOADSW over all levels (Table 3.1).
pub fn mloadsw(tree: Tree, policy: Policy) -> Option<Exact> {
    match policy {
        Policy::Nr => Some(mloadsw_any(tree, 0)),
        Policy::Dnvr => mload_dnvr(tree).map(|links| product(links, u64::from(tree.m))),
        Policy::MdnvrK(k) => Some(product(k, u64::from(tree.m))),
        Policy::Mdnvr => Some(Exact::whole(u64::from(tree.m))),
    }
}

/// Lemma 3.1 (3.9): the least possible switch load lies between the base load and this many of them.
pub fn optusw_most(tree: Tree) -> Exact {
    mloadsw_any(tree, 0)
}

/// `PERFSW_t` as claimed by Theorems 5.1 to 5.4 (5.7, 5.8, 5.10, 5.12).
pub fn perfsw_at(tree: Tree, policy: Policy, t: u32) -> Option<Exact> {
    mload_at(tree, policy, t)
}

/// PERF (link) as claimed by Theorems 5.1 (5.7), 5.3 (5.9) and 5.4 (5.11, largest over levels).
pub fn perf(tree: Tree, policy: Policy) -> Option<Exact> {
    mload_at(tree, policy, 0)
}

/// Number of paths between hosts in different top-level subtrees, X = (m/2)^(n-1) (property 2).
pub fn paths(tree: Tree) -> u64 {
    tree.half().pow(tree.n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3.2, to the digit: 16/3 is its 5.33 and 32/3 its 10.67.
    #[test]
    fn table_3_2() {
        let trees = [(2, 2), (4, 2), (4, 3), (8, 3)].map(|(m, n)| Tree { m, n });
        assert_eq!(trees.map(paths), [1, 2, 4, 16]);
        let row = |policy: Policy| trees.map(|t| mloadsw(t, policy).unwrap().to_string());
        assert_eq!(row(Policy::Nr), ["2", "8", "16", "128"]);
        assert_eq!(row(Policy::Dnvr), ["2", "8", "8", "32"]);
        assert_eq!(row(Policy::Mdnvr), ["2", "4", "4", "8"]);
        let part = |num, den| Policy::MdnvrK(Exact::ONE.over(Exact::new(num, den)).unwrap());
        assert_eq!(row(part(1, 2))[1..], ["8", "8", "16"]);
        assert_eq!(row(part(3, 4))[2..], ["16/3", "32/3"]);
    }

    /// Table 3.1: its formulas, level by level, and Lemma 3.1's bound.
    #[test]
    fn table_3_1() {
        for (m, n) in [(2, 2), (4, 2), (4, 3), (8, 2), (8, 3), (16, 3), (32, 3)] {
            let tree = Tree { m, n };
            let half = Exact::whole(u64::from(m / 2));
            assert_eq!(mloadsw(tree, Policy::Nr), Some(Exact::whole(tree.hosts())));
            assert_eq!(optusw_most(tree), Exact::whole(tree.hosts()));
            if n == 3 {
                assert_eq!(mloadsw(tree, Policy::Dnvr), half.times(Exact::whole(u64::from(m))));
            }
            for t in 0..n {
                for policy in [Policy::Dnvr, Policy::Mdnvr, Policy::MdnvrK(Exact::whole(2))] {
                    assert!(mloadsw_at(tree, policy, t) <= mloadsw(tree, policy));
                    // Corollary 3.1 holds for every routing; its bound is the larger one below the top.
                    assert!(
                        mloadsw_at(tree, policy, t).unwrap() <= mloadsw_any(tree, t).max(Exact::whole(u64::from(m)))
                    );
                }
            }
        }
        assert_eq!(mloadsw(Tree { m: 4, n: 4 }, Policy::Dnvr), None);
    }
}
