//! The random numbers that sender and receiver of a code must agree on.
//!
//! The generator is `SplitMix64` (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014): a
//! counter in steps of the golden ratio, through a mixing function. It is fixed here for good. Another generator, or
//! another way of drawing from it, would be another code.

/// 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing function of `SplitMix64` (variant 13 of Stafford's list): a bijection.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `SplitMix64` generator.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream that belongs to encoding symbol `id` of a block of `source_symbols`, under `seed`.
    pub(super) fn of_symbol(seed: u64, source_symbols: u32, id: u32) -> Self {
        Self(mix(mix(seed.wrapping_add(GOLDEN)) ^ (u64::from(source_symbols) << 32 | u64::from(id))))
    }

    /// 64 uniform bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `bound`, which is above 0: the upper half of a product, no value being likelier than another by
    /// more than `bound` / 2^64.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs of the published generator for seed 1234567 (Vigna, prng.di.unimi.it/splitmix64.c).
        let mut random = SplitMix64(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first.map(|_: u64| random.next()), first);
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut random = SplitMix64::of_symbol(7, 100, 3);
        let mut counts = [0i32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        // Standard deviation 93: five of them.
        assert!(counts.iter().all(|&n| (n - 10_000).abs() < 465), "{counts:?}");
    }
}
