//! Which priority a packet has (Homa §3.4): unscheduled bytes by the size of their message, scheduled bytes by their message's rank at the receiver.

use crate::standings::Standing;

/// Switches have so many priorities at most.
pub(super) const MOST: u8 = 8;
/// More than any message has.
const NEVER: u64 = u64::MAX;

/// The priorities of all messages to a host, 0 the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// Messages larger than the first cutoff have the second unscheduled priority, and so on. Unused places, at the end, hold [`NEVER`].
    cutoffs: [u64; MOST as usize - 1],
    /// The highest scheduled priority.
    scheduled: u8,
    /// How many scheduled priorities there are, from 1.
    levels: u8,
}

impl Priorities {
    /// The first `unscheduled` of `all` priorities are for unscheduled bytes, the others for scheduled ones; if there is one, for both.
    pub(super) fn new(all: u8, unscheduled: u8, cutoffs: impl IntoIterator<Item = u64>) -> Self {
        let scheduled = unscheduled.min(all - 1);
        let mut places = [NEVER; MOST as usize - 1];
        places.iter_mut().zip(cutoffs).for_each(|(place, cutoff)| *place = cutoff);
        Self { cutoffs: places, scheduled, levels: all - scheduled }
    }

    /// Of the unscheduled bytes of a message of `size` bytes.
    pub(super) fn unscheduled(&self, size: u64) -> u8 {
        self.cutoffs.iter().take_while(|&&cutoff| size > cutoff && cutoff < NEVER).count() as u8
    }

    /// How many scheduled priorities there are.
    pub(super) fn levels(&self) -> u8 {
        self.levels
    }

    /// Of the bytes that a receiver grants to a message of this standing. If not all levels are needed, the lowest are used, so that a new message
    /// that is shorter finds one above them (§3.4); if there are too few, the messages that remain share the lowest.
    pub(super) fn scheduled(&self, standing: Standing) -> u8 {
        let unused = self.levels.saturating_sub(standing.of);
        self.scheduled + (unused + standing.place).min(self.levels - 1)
    }
}

/// How many of `all` priorities, of which there are two at least, unscheduled bytes get: their share of all bytes, and one of each kind at least
/// (§3.4).
pub(super) fn share(all: u8, sizes: &[u64], unscheduled: u64) -> u8 {
    let sum =
        |most: u64| sizes.iter().filter(|&&size| size < NEVER).map(|&size| u128::from(size.min(most))).sum::<u128>();
    let (part, whole) = (sum(unscheduled), sum(NEVER).max(1));
    let rounded = (2 * u128::from(all) * part + whole) / (2 * whole);
    rounded.clamp(1, u128::from(all) - 1) as u8
}

/// The sizes that divide the unscheduled bytes of messages of these sizes equally among `levels` priorities (§3.4). `sizes` are sorted. A size that so
/// many bytes belong to that it takes several shares is a cutoff once, and no cutoff separates the largest size from nothing.
pub(super) fn equal_cutoffs(levels: u8, sizes: &[u64], unscheduled: u64) -> Vec<u64> {
    // A message without payload is a packet, too.
    let bytes = |size: u64| u128::from(size.clamp(1, unscheduled));
    let total: u128 = sizes.iter().map(|&size| bytes(size)).sum();
    let (mut cutoffs, mut below) = (Vec::new(), 0);
    for (at, &size) in sizes.iter().enumerate() {
        below += bytes(size);
        let ends_here = sizes.get(at + 1).is_some_and(|&next| next > size);
        let filled = below * u128::from(levels) >= (cutoffs.len() as u128 + 1) * total;
        if ends_here && filled && cutoffs.len() + 1 < usize::from(levels) {
            cutoffs.push(size);
        }
    }
    cutoffs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(place: u8, of: u8) -> Standing {
        Standing { place, of }
    }

    #[test]
    fn unscheduled_priorities_follow_the_size_of_the_message() {
        let priorities = Priorities::new(8, 4, [100, 1000, 10_000]);
        assert_eq!(
            [1, 100, 101, 1000, 1001, 10_000, 10_001, NEVER].map(|size| priorities.unscheduled(size)),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(Priorities::new(8, 1, []).unscheduled(NEVER), 0);
    }

    #[test]
    fn scheduled_messages_use_the_lowest_levels_and_share_the_last_if_they_are_too_many() {
        let priorities = Priorities::new(8, 4, [100, 1000, 10_000]);
        assert_eq!(priorities.scheduled(standing(0, 1)), 7, "one message: the lowest");
        assert_eq!([0, 1].map(|place| priorities.scheduled(standing(place, 2))), [6, 7]);
        assert_eq!([0, 1, 2, 3].map(|place| priorities.scheduled(standing(place, 4))), [4, 5, 6, 7]);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|place| priorities.scheduled(standing(place, 6))), [4, 5, 6, 7, 7, 7]);
        let one = Priorities::new(1, 1, []);
        assert_eq!(
            (one.unscheduled(5), one.scheduled(standing(2, 3)), one.levels()),
            (0, 0, 1),
            "one priority is for both"
        );
    }

    #[test]
    fn levels_are_shared_out_by_bytes() {
        // Nine messages of 1 kB and one of 91 kB: of 100 kB, 9 kB + 10 kB are unscheduled. 0.19 * 8 = 1.5.
        let sizes = [[1000; 9].as_slice(), &[91_000]].concat();
        assert_eq!(share(8, &sizes, 10_000), 2);
        assert_eq!([share(8, &[10], 10_000), share(8, &[1 << 40], 10_000), share(8, &[], 10_000)], [7, 1, 1]);
        assert_eq!(share(8, &[500, NEVER], 10_000), 7, "what has no end has no share");
    }

    #[test]
    fn cutoffs_divide_the_bytes_of_two_sizes() {
        // 100 messages of 100 B and one of 10 kB: half of the bytes each.
        let sizes = [[100; 100].as_slice(), &[10_000]].concat();
        assert_eq!(equal_cutoffs(2, &sizes, 10_000), [100]);
        // Of four levels the small ones fill two: no cutoff lies inside a size.
        assert_eq!(equal_cutoffs(4, &sizes, 10_000), [100]);
        // Only their first 1000 B count of the large one: the small ones have 10 of 11 kB.
        assert_eq!(equal_cutoffs(2, &sizes, 1000), [100]);
        assert_eq!(equal_cutoffs(1, &sizes, 1000), [] as [u64; 0]);
        assert_eq!(equal_cutoffs(8, &[7, 7, 7], 1000), [] as [u64; 0], "one size needs one level");
    }

    #[test]
    fn cutoffs_of_many_sizes_give_each_level_its_share() {
        let sizes: Vec<u64> = (1..=10_000).map(|n| n * n / 50 + 1).collect();
        let cutoffs = equal_cutoffs(5, &sizes, 100_000);
        assert_eq!(cutoffs.len(), 4);
        let priorities = Priorities::new(8, 5, cutoffs);
        let mut bytes = [0; 5];
        for &size in &sizes {
            bytes[usize::from(priorities.unscheduled(size))] += size.min(100_000);
        }
        let total: u64 = bytes.iter().sum();
        assert!(bytes.iter().all(|&part| part.abs_diff(total / 5) * 1000 < total), "{bytes:?}");
    }
}
