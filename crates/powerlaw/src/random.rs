//! Random numbers for the bootstrap: a stream for each replicate, the same on every machine and for any number of threads.

use rand::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// xoshiro256++, seeded by `SplitMix64` as its authors advise.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of a replicate.
    pub(crate) fn new(seed: u64, replicate: u64) -> Self {
        // The replicate goes through the mixer first, so that neighbouring seeds and replicates share no states.
        let mixed = SplitMix64::seed_from_u64(replicate.wrapping_add(0x243f_6a88_85a3_08d3)).next_u64();
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ mixed))
    }

    /// Uniform in (0, 1]: a logarithm of it is finite.
    pub(crate) fn open(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform among 0, ..., n - 1, for n of at least 1 (Lemire 2019; the bias of n / 2^64 is far below any count here).
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_streams_differ() {
        let mut random = Random::new(1, 0);
        let mean = (0..10_000).map(|_| random.open()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.015, "{mean}"); // five standard errors
        let mut counts = [0; 7];
        (0..7000).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
        assert_ne!(Random::new(1, 0).below(1 << 40), Random::new(1, 1).below(1 << 40));
        assert_ne!(Random::new(1, 0).below(1 << 40), Random::new(2, 0).below(1 << 40));
    }
}
