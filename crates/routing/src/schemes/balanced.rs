//! The single-path assignment that Theorem 3.2 needs: no link of FT(m, n) carries traffic from, or to, more than
//! ceil(sqrt(m/2)) hosts for n = 2 and m/2 for n = 3 (after Yuan et al. 2009, Theorems 6 and 7).
//!
//! With K = m/2, a top switch c serves the pairs whose source has its number modulo K in A(c) and whose destination in B(c).
//! An upward link then carries traffic from the hosts of A(c) only and a downward link to those of B(c), so that no
//! permutation loads it with more than their number.
//!
//! - n = 3: top switch (x, y) serves sources with number x and destinations with number y, K of each in a pod.
//! - n = 2: K pairs of sets of at most r = ceil(sqrt(K)) numbers have to cover all K x K combinations. Where ceil(K/r)^2 <= K,
//!   as for squares, blocks of r numbers do. The others have tables below, found by simulated annealing and checked by a
//!   test. For K = 15 and most from 17 on that are no squares (m = 64 has K = 32) none is known here: the blocks are then
//!   larger, and [`promise`] says how large.
//! - n > 3: no assignment is known to be best, and there is no scheme.

use super::{Matters, Scheme, Shares};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::Scalar;

/// K, then A(c) and B(c) of each top switch c in hexadecimal digits.
const COVERS: [(usize, &str, &str); 7] = [
    (3, "12 02 01", "01 02 12"),
    (5, "034 123 123 124 012", "013 134 234 024 124"),
    (6, "015 234 023 125 015 034", "015 345 145 024 135 012"),
    (7, "234 356 012 456 123 056 014", "246 234 345 015 015 016 236"),
    (8, "035 367 012 467 357 016 124 245", "136 034 145 156 257 027 236 047"),
    (
        13,
        "45bc 3456 129c 345b 045b 078a 129c 1679 238a 019a 367c 678b 028a",
        "567b 468a 38ac 0239 14ac 479a 2459 067b 17bc 138b 0159 238c 0256",
    ),
    (
        14,
        "157a 1289 07ad abcd 07ad 3469 0bcd 2489 2368 0157 15bc 2368 3456 49bc",
        "156a 068d 05cd 0237 489b 16ac 16ad 247c 359b 2379 48bc 124a 078d 359b",
    ),
];

/// The assignment.
#[derive(Clone, Debug)]
pub struct Balanced {
    half: usize,
    /// Top switch by number of source and destination, for n = 2.
    top: Vec<usize>,
}

fn root_up(k: usize) -> usize {
    (1..=k).find(|r| r * r >= k).unwrap_or(1)
}

/// Sizes of the blocks that cover by a grid with at most `k` blocks.
fn grid(k: usize) -> usize {
    (root_up(k)..=k).find(|size| k.div_ceil(*size).pow(2) <= k).unwrap_or(k)
}

/// The most hosts from which, or to which, a link carries traffic: what the worst permutation loads it with at most.
pub fn promise(m: u32, n: u32) -> Option<u64> {
    let half = (m / 2) as usize;
    match n {
        1 => Some(1),
        2 if COVERS.iter().any(|c| c.0 == half) => Some(root_up(half) as u64),
        2 => Some(grid(half) as u64),
        3 => Some(half as u64),
        _ => None,
    }
}

fn cover(k: usize) -> Vec<usize> {
    if let Some((_, a, b)) = COVERS.iter().find(|c| c.0 == k) {
        let sets = |text: &str| -> Vec<Vec<usize>> {
            let digits = |word: &str| word.chars().filter_map(|c| c.to_digit(16)).map(|d| d as usize).collect();
            text.split(' ').map(digits).collect()
        };
        let (a, b) = (sets(a), sets(b));
        let top = |i: usize, j: usize| (0..k).find(|&c| a[c].contains(&i) && b[c].contains(&j));
        return (0..k * k).map(|ij| top(ij / k, ij % k).expect("the sets cover all pairs")).collect();
    }
    let size = grid(k);
    let blocks = k.div_ceil(size);
    (0..k * k).map(|ij| ij / k / size * blocks + ij % k / size).collect()
}

impl Balanced {
    /// The assignment for a fabric that is FT(m, n) with n <= 3.
    ///
    /// # Errors
    ///
    /// Another fabric.
    pub fn new(fabric: &Fabric) -> RoutingResult<Self> {
        let tree = fabric.need_tree("balanced")?;
        if tree.n > 3 {
            return Err(RoutingError::new(format!(
                "balanced: no best single-path assignment is known for FT({}, {}): expected n of 3 at most",
                tree.m, tree.n
            ))
            .hint("d-mod-k"));
        }
        let half = (tree.m / 2) as usize;
        Ok(Self { half, top: if tree.n == 2 { cover(half) } else { Vec::new() } })
    }
}

impl<S: Scalar> Scheme<S> for Balanced {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Host, Matters::Host)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let (x, y) = (s as usize % self.half, d as usize % self.half);
        let digits = if self.top.is_empty() { [x, y] } else { [self.top[x * self.half + y], 0] };
        let mut next = digits.into_iter();
        out.path(fabric, from, to, S::one(), |_, _| next.next().expect("a tree of three tiers has two choices"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_top_switch_serves_more_numbers_than_promised() {
        for k in 1..=40_usize {
            let top = cover(k);
            assert!(top.iter().all(|&c| c < k), "K = {k}");
            let most = promise(2 * k as u32, 2).unwrap() as usize;
            for c in 0..k {
                let served: Vec<usize> = (0..k * k).filter(|&ij| top[ij] == c).collect();
                for number in [|ij: usize, k: usize| ij / k, |ij, k| ij % k] {
                    let mut used: Vec<usize> = served.iter().map(|&ij| number(ij, k)).collect();
                    used.sort_unstable();
                    used.dedup();
                    assert!(used.len() <= most, "K = {k}: top switch {c} serves {} numbers", used.len());
                }
            }
        }
    }

    #[test]
    fn where_the_square_root_is_reached() {
        let reached: Vec<u32> = (1..=40).filter(|&k| promise(2 * k, 2) == Some(root_up(k as usize) as u64)).collect();
        assert_eq!(
            reached,
            [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 25, 26, 27, 28, 29, 30, 36, 37, 38,
                39, 40
            ]
        );
        assert_eq!(promise(64, 2), Some(7)); // ceil(sqrt(32)) is 6
    }
}
