//! What remains of a flow, in the sixteen bits that a packet has for it (pFabric, SIGCOMM 2013 §4: "a single number in each
//! packet's header").

/// Bits of a remainder that count.
const DIGITS: u32 = 11;

/// The smallest number of a flow. Those below say nothing of what remains.
pub const LEAST: u16 = 8192;

/// Of a flow without end.
pub const ENDLESS: u16 = u16::MAX;

/// The number for so many remaining bytes: more bytes never have a smaller one. Exact below 2 KiB, above that to 1/1024.
#[inline]
pub fn rank(remaining: u64) -> u16 {
    let shift = (u64::BITS - remaining.leading_zeros()).saturating_sub(DIGITS);
    LEAST + ((shift << (DIGITS - 1)) + (remaining >> shift) as u32) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bytes_never_have_a_smaller_number() {
        let above = [0, 1, 2047, 2048, 2049, 2050, 4096].map(|bytes| rank(bytes) - LEAST);
        assert_eq!(above, [0, 1, 2047, 2048, 2048, 2049, 3072]);
        let sizes = (0..64).flat_map(|bit| (0..3000_u64).map(move |n| (1_u64 << bit).saturating_add(n << (bit / 2))));
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        assert!(sizes.windows(2).all(|pair| rank(pair[0]) <= rank(pair[1])));
        assert!(rank(u64::MAX) < ENDLESS);
    }

    #[test]
    fn sizes_that_differ_by_a_thousandth_are_told_apart() {
        for size in [10_000_u64, 1_000_000, 30_000_000_000] {
            assert!(rank(size) < rank(size + size / 512), "{size}");
        }
    }
}
