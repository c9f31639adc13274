//! Cutting a length into nearly equal parts (RFC 6330 §4.4.1.2), for blocks and for sub-blocks.

use core::num::NonZeroU32;

/// `(IL, IS, JL, JS) = Partition[I, J]` of §4.4.1.2: I things in J parts whose sizes differ by at most one.
///
/// The first [`large_count`](Self::large_count) parts have the size [`large`](Self::large), the others the size
/// [`small`](Self::small). If J divides I, both sizes are the same and the first count is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// IL: the size of the first parts, I / J rounded up.
    pub large: u32,
    /// IS: the size of the other parts, I / J rounded down.
    pub small: u32,
    /// JL: how many parts have the size `large`.
    pub large_count: u32,
    /// JS: how many parts have the size `small`.
    pub small_count: u32,
}

/// Cuts `total` (I) into `parts` (J), as `Partition[I, J]` of §4.4.1.2 does.
///
/// ```
/// use core::num::NonZeroU32;
/// use anabranch_raptorq::{Partition, partition};
///
/// let ten_in_four = partition(10, NonZeroU32::new(4).unwrap());
/// assert_eq!(ten_in_four, Partition { large: 3, small: 2, large_count: 2, small_count: 2 });
/// ```
pub fn partition(total: u32, parts: NonZeroU32) -> Partition {
    let parts = parts.get();
    let small = total / parts;
    let large_count = total % parts;
    Partition { large: total.div_ceil(parts), small, large_count, small_count: parts - large_count }
}

impl Partition {
    /// The size of part `index` and the sum of the sizes before it; `None` if there is no such part.
    pub(crate) fn part(&self, index: u32) -> Option<(u32, u64)> {
        let (large, small) = (u64::from(self.large), u64::from(self.small));
        if index < self.large_count {
            return Some((self.large, u64::from(index) * large));
        }
        let nth_small = index - self.large_count;
        let before = u64::from(self.large_count) * large + u64::from(nth_small) * small;
        (nth_small < self.small_count).then_some((self.small, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(total: u32, parts: u32) -> (u32, u32, u32, u32) {
        let cut = partition(total, NonZeroU32::new(parts).unwrap());
        (cut.large, cut.small, cut.large_count, cut.small_count)
    }

    #[test]
    fn examples_by_hand() {
        assert_eq!(of(0, 1), (0, 0, 0, 1));
        assert_eq!(of(10, 1), (10, 10, 0, 1));
        assert_eq!(of(10, 3), (4, 3, 1, 2));
        assert_eq!(of(9, 3), (3, 3, 0, 3));
        assert_eq!(of(2, 3), (1, 0, 2, 1));
        assert_eq!(of(14_382_765, 255), (56_403, 56_403, 0, 255));
    }

    #[test]
    fn parts_follow_each_other() {
        let cut = partition(11, NonZeroU32::new(4).unwrap());
        let parts: [_; 5] = core::array::from_fn(|index| cut.part(index as u32));
        assert_eq!(parts, [Some((3, 0)), Some((3, 3)), Some((3, 6)), Some((2, 9)), None]);
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(total in any::<u32>(), parts in 1u32..=65_535) {
            let cut = partition(total, NonZeroU32::new(parts).unwrap());
            prop_assert_eq!(cut.large_count + cut.small_count, parts);
            let sum = u64::from(cut.large) * u64::from(cut.large_count)
                + u64::from(cut.small) * u64::from(cut.small_count);
            prop_assert_eq!(sum, u64::from(total));
            prop_assert!(cut.large - cut.small <= 1);
            let (size, before) = cut.part(parts - 1).unwrap();
            prop_assert_eq!(before + u64::from(size), u64::from(total));
            prop_assert_eq!(cut.part(parts), None);
        }
    }
}
