//! A small sorted set of disjoint offset ranges: what arrived out of order, or what was selectively acknowledged.
//!
//! Empty in the common case, and then it owns no memory.

/// Offsets `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Larger when it grew later.
    pub(crate) stamp: u32,
}

impl Range {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Sorted, disjoint, not touching.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: Vec<Range>,
    stamp: u32,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[Range] {
        &self.ranges
    }

    /// One past the highest offset in the set.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|r| r.end)
    }

    /// Adds `start..end`, merging what overlaps or touches. Whether any offset is new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        self.stamp = self.stamp.wrapping_add(1);
        let stamp = self.stamp;
        let first = self.ranges.partition_point(|r| r.end < start);
        let last = first + self.ranges[first..].partition_point(|r| r.start <= end);
        let merged = &self.ranges[first..last];
        let (Some(low), Some(high)) = (merged.first(), merged.last()) else {
            self.ranges.insert(first, Range { start, end, stamp });
            return true;
        };
        let grew = merged.len() > 1 || start < low.start || high.end < end;
        let (start, end) = (start.min(low.start), end.max(high.end));
        self.ranges[first] = Range { start, end, stamp };
        self.ranges.drain(first + 1..last);
        grew
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        let gone = self.ranges.partition_point(|r| r.end <= offset);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(offset);
        }
    }

    /// Takes out the first range if it starts at or below `offset`, and returns its end.
    pub(crate) fn take_reached(&mut self, offset: u64) -> Option<u64> {
        let first = *self.ranges.first()?;
        (first.start <= offset).then(|| {
            self.ranges.remove(0);
            first.end
        })
    }

    /// Members in `from..to`.
    pub(crate) fn count_between(&self, from: u64, to: u64) -> u64 {
        let first = self.ranges.partition_point(|r| r.end <= from);
        let inside = self.ranges[first..].iter().take_while(|r| r.start < to);
        inside.map(|r| r.end.min(to) - r.start.max(from)).sum()
    }

    /// The first gap at or above `from`: where it starts, and where the next range ends it (`None`: nothing above).
    pub(crate) fn gap_from(&self, from: u64) -> (u64, Option<u64>) {
        let mut at = from;
        let first = self.ranges.partition_point(|r| r.end <= from);
        for r in &self.ranges[first..] {
            if at < r.start {
                return (at, Some(r.start));
            }
            at = r.end;
        }
        (at, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain array of booleans.
        #[test]
        fn behaves_like_a_set(steps in proptest::collection::vec((0u64..60, 1u64..12, any::<bool>()), 1..40)) {
            let mut set = RangeSet::default();
            let mut model = [false; 80];
            for (start, len, insert) in steps {
                if insert {
                    let fresh = (start..start + len).any(|i| !model[i as usize]);
                    prop_assert_eq!(set.insert(start, start + len), fresh);
                    (start..start + len).for_each(|i| model[i as usize] = true);
                } else {
                    set.remove_below(start);
                    model[..start as usize].fill(false);
                }
                let count = |from: u64, to: u64| (from..to).filter(|&i| model[i as usize]).count() as u64;
                prop_assert_eq!(set.count_between(0, 80), count(0, 80));
                prop_assert_eq!(set.count_between(start, start + len), count(start, start + len));
                let gap = (start..80).find(|&i| !model[i as usize]).unwrap_or(80);
                let until = (gap..80).find(|&i| model[i as usize]);
                prop_assert_eq!(set.gap_from(start), (gap, until));
                for pair in set.as_slice().windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
            }
        }
    }
}
