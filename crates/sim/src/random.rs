//! Named random streams.
//!
//! Each purpose (arrivals, sizes, placement, spraying ...) draws from a stream of its own, derived from the run's seed
//! and the purpose's name. Two runs with the same seed and different transports therefore see the same workload
//! (common random numbers).

use rand::SeedableRng;
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
    use rand::Rng as _;
    SplitMix64::seed_from_u64(x).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn streams_differ_by_seed_name_and_index_and_repeat() {
        let first = |mut s: Stream| s.next_u64();
        let a = first(stream(1, "arrivals"));
        assert_eq!(a, first(stream(1, "arrivals")));
        assert_ne!(a, first(stream(2, "arrivals")));
        assert_ne!(a, first(stream(1, "sizes")));
        assert_ne!(a, first(substream(1, "arrivals", 1)));
    }
}
