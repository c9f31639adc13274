//! Numbers that an endpoint draws, from a seed that its driver gives.

/// The finaliser of `SplitMix64`.
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    state: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of `0..count`; as good as uniform for a `count` far below 2^32.
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (((mix(self.state) >> 32) * u64::from(count)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_every_number_about_as_often() {
        let mut draw = Draw::new(1);
        let mut seen = [0; 8];
        (0..8000).for_each(|_| seen[draw.below(8) as usize] += 1);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!(draw.below(1), 0);
    }
}
