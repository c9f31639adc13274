//! Random numbers for the bootstrap: a stream for each replicate, the same on every machine and for any number of threads.

/// xoshiro256++ (Blackman and Vigna 2019), seeded by `SplitMix64` as its authors advise.
#[derive(Debug, Clone)]
pub(crate) struct Random([u64; 4]);

impl Random {
    /// The stream of a replicate.
    pub(crate) fn new(seed: u64, replicate: u64) -> Self {
        // The replicate goes through the mixer first, so that neighbouring seeds and replicates share no states.
        let mut state = seed ^ split_mix(&mut replicate.wrapping_add(0x243f_6a88_85a3_08d3));
        Self(std::array::from_fn(|_| split_mix(&mut state)))
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in (0, 1]: a logarithm of it is finite.
    pub(crate) fn open(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform among 0, ..., n - 1, for n of at least 1 (Lemire 2019; the bias of n / 2^64 is far below any count here).
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generators_are_the_published_ones() {
        // First outputs of SplitMix64 from 0, and of xoshiro256++ from the state 1, 2, 3, 4 (reference implementations).
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf);
        let mut random = Random([1, 2, 3, 4]);
        assert_eq!([random.next(), random.next(), random.next()], [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn numbers_are_uniform_and_streams_differ() {
        let mut random = Random::new(1, 0);
        let mean = (0..10_000).map(|_| random.open()).sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.015, "{mean}"); // five standard errors
        let mut counts = [0; 7];
        (0..7000).for_each(|_| counts[random.below(7)] += 1);
        assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
        assert_ne!(Random::new(1, 0).next(), Random::new(1, 1).next());
        assert_ne!(Random::new(1, 0).next(), Random::new(2, 0).next());
    }
}
