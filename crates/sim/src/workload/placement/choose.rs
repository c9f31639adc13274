//! Drawing hosts.

use crate::random::Stream;
use rand::RngExt as _;

/// A uniform draw from `0..n` without `not`.
pub(super) fn other(rng: &mut Stream, n: u32, not: u32) -> u32 {
    let drawn = rng.random_range(0..n - 1);
    if drawn >= not { drawn + 1 } else { drawn }
}

/// Puts a uniform random sample of `count` of the hosts at the front of `hosts`, in random order.
pub(super) fn sample_front(rng: &mut Stream, hosts: &mut [u32], count: usize) {
    for i in 0..count.min(hosts.len()) {
        let j = rng.random_range(i..hosts.len());
        hosts.swap(i, j);
    }
}

/// A uniform random derangement of `0..n`, `n >= 2`: a permutation without a fixed point.
pub(super) fn derangement(rng: &mut Stream, n: usize) -> Vec<u32> {
    let mut image: Vec<u32> = (0..n as u32).collect();
    // A share 1/e of all permutations are derangements, so this takes e tries on average, and rejection keeps them
    // equally likely.
    loop {
        sample_front(rng, &mut image, n);
        if image.iter().enumerate().all(|(i, j)| i as u32 != *j) {
            return image;
        }
    }
}

/// Of each of `0..n`, `degree` others in random order, so that each is among the others of `degree`: a random directed graph.
///
/// It begins with steps around a random circle and exchanges the targets of random pairs of arcs, which leaves all degrees as
/// they are.
pub(super) fn regular(rng: &mut Stream, n: u32, degree: u32) -> Vec<Vec<u32>> {
    let (mut circle, mut steps): (Vec<u32>, Vec<u32>) = ((0..n).collect(), (1..n).collect());
    sample_front(rng, &mut circle, n as usize);
    sample_front(rng, &mut steps, degree as usize);
    let mut of = vec![Vec::new(); n as usize];
    for (place, &node) in circle.iter().enumerate() {
        of[node as usize] =
            steps[..degree as usize].iter().map(|&step| circle[(place + step as usize) % n as usize]).collect();
    }
    for _ in 0..10 * u64::from(n) * u64::from(degree) {
        let mut arc = || (rng.random_range(0..n) as usize, rng.random_range(0..degree) as usize);
        let (one, other) = (arc(), arc());
        let targets = [of[one.0][one.1], of[other.0][other.1]];
        let fits = |from: usize, to: u32| from != to as usize && !of[from].contains(&to);
        if fits(one.0, targets[1]) && fits(other.0, targets[0]) {
            (of[one.0][one.1], of[other.0][other.1]) = (targets[1], targets[0]);
        }
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use std::collections::BTreeMap;

    #[test]
    fn derangements_are_equally_likely() {
        // There are 9 derangements of 4 elements.
        let mut rng = stream(1, "placement");
        let mut seen = BTreeMap::new();
        for _ in 0..9_000 {
            *seen.entry(derangement(&mut rng, 4)).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 9);
        // Each count is binomial with mean 1000 and standard deviation 30.
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
    }

    #[test]
    fn other_is_uniform_over_the_rest() {
        let mut rng = stream(2, "placement");
        let mut count = [0_u32; 5];
        for _ in 0..40_000 {
            count[other(&mut rng, 5, 2) as usize] += 1;
        }
        assert_eq!(count[2], 0);
        assert!([0, 1, 3, 4].iter().all(|i| (9_600..10_400).contains(&count[*i])), "{count:?}");
    }
}
