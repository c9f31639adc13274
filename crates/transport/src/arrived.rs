//! The packets of a flow that have arrived, or that have been sent.

use crate::ranges::RangeSet;

/// All below a number, and ranges above it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    /// The lowest number missing.
    base: u64,
    above: RangeSet,
    count: u64,
}

impl Arrived {
    /// The lowest number missing.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// How many have arrived.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds a packet; false if it was there.
    pub(crate) fn insert(&mut self, seq: u64) -> bool {
        let new = if seq == self.base {
            self.base += 1;
            if let Some(end) = self.above.take_reached(self.base) {
                self.base = end;
            }
            true
        } else {
            seq > self.base && self.above.insert(seq, seq + 1)
        };
        self.count += u64::from(new);
        new
    }

    /// The first packets missing from `from` on and below `to`, if any.
    pub(crate) fn gap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let (start, end) = self.above.gap_from(from.max(self.base));
        (start < to).then(|| (start, end.map_or(to, |end| end.min(to))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn gaps_are_what_is_missing() {
        let mut arrived = Arrived::default();
        assert!([0, 1, 4, 5, 8].into_iter().all(|seq| arrived.insert(seq)));
        assert!(!arrived.insert(1) && !arrived.insert(4));
        assert_eq!(
            [arrived.gap(0, 12), arrived.gap(4, 12), arrived.gap(8, 12), arrived.gap(8, 9)],
            [Some((2, 4)), Some((6, 8)), Some((9, 12)), None]
        );
        assert_eq!(arrived.gap(0, 3), Some((2, 3)));
    }

    proptest! {
        #[test]
        fn agrees_with_an_ordinary_set(seqs in prop::collection::vec(0u64..100, 1..300)) {
            let (mut arrived, mut plain) = (Arrived::default(), BTreeSet::new());
            for seq in seqs {
                prop_assert_eq!(arrived.insert(seq), plain.insert(seq));
                prop_assert_eq!(arrived.count(), plain.len() as u64);
                prop_assert_eq!(arrived.base(), (0..=100).find(|s| !plain.contains(s)).unwrap());
            }
        }
    }
}
