//! Named random streams.
//!
//! Each purpose (arrivals, sizes, placement, spraying ...) draws from a stream of its own, derived from the run's seed
//! and the purpose's name. Two runs with the same seed and different transports therefore see the same workload
//! (common random numbers).

use rand::{Rng as _, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The generator behind every stream.
pub type Stream = Xoshiro256PlusPlus;

/// The stream of `purpose` in the run with this `seed`.
pub fn stream(seed: u64, purpose: &str) -> Stream {
    substream(seed, purpose, 0)
}

/// The `index`-th stream of `purpose`: one for each host, workload group ...
pub fn substream(seed: u64, purpose: &str, index: u64) -> Stream {
    // FNV-1a over the name, so that a stream depends on its name alone and not on the order of declaration.
    let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mixed = mix(mix(seed) ^ name) ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15));
    Stream::seed_from_u64(mixed)
}

/// One step of `SplitMix64`: a cheap, well-mixed function of 64 bits.
pub fn mix(x: u64) -> u64 {
    SplitMix64::seed_from_u64(x).next_u64()
}

/// A number from 0 up to 1, without it, by 53 of the 64 random bits.
#[inline]
pub fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// One of `0..count`, at most 2^32; as good as uniform for a `count` far below that. Always takes one step of the stream.
#[inline]
pub fn below(random: &mut Stream, count: usize) -> usize {
    ((u64::from(random.next_u32()) * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_and_index_and_repeat() {
        let first = |mut s: Stream| s.next_u64();
        let a = first(stream(1, "arrivals"));
        assert_eq!(a, first(stream(1, "arrivals")));
        assert_ne!(a, first(stream(2, "arrivals")));
        assert_ne!(a, first(stream(1, "sizes")));
        assert_ne!(a, first(substream(1, "arrivals", 1)));
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_all_that_is() {
        assert_eq!((uniform(0), uniform(1 << 63)), (0.0, 0.5));
        assert!(uniform(u64::MAX) < 1.0);
        let (mut random, mut seen) = (stream(1, "test"), [0; 7]);
        for _ in 0..7000 {
            seen[below(&mut random, 7)] += 1;
        }
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!(below(&mut random, 1), 0);
    }
}
