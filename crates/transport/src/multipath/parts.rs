//! Parts of a block: divided in proportion, cut in two, taken from either end, in whole segments as far as possible.

use std::ops::Range;

/// The next segment from the front of what remains.
pub(super) fn take_front(rest: &mut Range<u64>, unit: u64) -> Option<Range<u64>> {
    let start = rest.start;
    (!rest.is_empty()).then(|| {
        rest.start = rest.end.min(start.saturating_add(unit));
        start..rest.start
    })
}

/// The next segment from the back of what remains.
pub(super) fn take_back(rest: &mut Range<u64>, unit: u64) -> Option<Range<u64>> {
    let end = rest.end;
    (!rest.is_empty()).then(|| {
        rest.end = rest.start.max(end.saturating_sub(unit));
        rest.end..end
    })
}

/// Where `range` is cut so that its parts are in the proportion `first` to `second`, in whole segments from the start. The side
/// that `asks` gets at least one.
pub(super) fn cut(range: &Range<u64>, unit: u64, first: f64, second: f64, asks: Side) -> u64 {
    let units = (range.end - range.start).div_ceil(unit);
    let total = first + second;
    let share = if total > 0.0 { first / total } else { 0.5 };
    let wanted = (units as f64 * share).round() as u64;
    let whole = match asks {
        Side::First => wanted.max(1),
        Side::Second => wanted.min(units - 1),
    };
    range.end.min(range.start.saturating_add(whole.min(units).saturating_mul(unit)))
}

/// One of two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    First,
    Second,
}

/// Parts of `block` in proportion to `weights`, in this order, in whole segments as far as possible.
pub(super) fn shares(block: Range<u64>, unit: u64, weights: &[f64]) -> Vec<Range<u64>> {
    let total: f64 = weights.iter().sum();
    let units = (block.end - block.start).div_ceil(unit);
    let (mut sum, mut start) = (0.0, block.start);
    let mut parts = Vec::with_capacity(weights.len());
    for (i, weight) in weights.iter().enumerate() {
        sum += weight;
        let share = if total > 0.0 { sum / total } else { (i + 1) as f64 / weights.len() as f64 };
        let last = i + 1 == weights.len();
        let whole = (units as f64 * share).round() as u64;
        let end = if last {
            block.end
        } else {
            block.end.min(block.start.saturating_add(whole.saturating_mul(unit))).max(start)
        };
        parts.push(start..end);
        start = end;
    }
    parts
}

/// The part with the most left; of several, the first.
pub(super) fn largest(parts: &[Range<u64>]) -> Option<usize> {
    let size = |i: usize| parts[i].end - parts[i].start;
    let best = (0..parts.len()).reduce(|best, i| if size(i) > size(best) { i } else { best })?;
    (size(best) > 0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_divided_in_proportion() {
        assert_eq!(shares(0..100, 10, &[3.0, 1.0, 1.0]), [0..60, 60..80, 80..100]);
        assert_eq!(shares(5..8, 1, &[0.0, 0.0]), [5..7, 7..8], "nothing is known");
        assert_eq!(shares(0..1, 1, &[1.0; 3]), [0..0, 0..1, 1..1]);
    }

    #[test]
    fn who_asks_gets_a_segment() {
        assert_eq!(cut(&(0..100), 10, 3.0, 1.0, Side::First), 80, "7.5 of ten segments");
        assert_eq!([cut(&(0..10), 10, 9.0, 1.0, Side::First), cut(&(0..10), 10, 9.0, 1.0, Side::Second)], [10, 0]);
        assert_eq!([cut(&(0..25), 10, 0.0, 0.0, Side::First), cut(&(0..25), 10, 1.0, 0.0, Side::Second)], [20, 20]);
    }

    #[test]
    fn the_largest_block_is_divided_like_any() {
        let parts = shares(0..u64::MAX, 1460, &[1.0, 1.0, 0.0]);
        assert!(parts[0].end.abs_diff(u64::MAX / 2) < 1 << 20 && parts[2].end == u64::MAX, "{parts:?}");
        assert_eq!(cut(&(0..u64::MAX), 1460, 1.0, 0.0, Side::First), u64::MAX);
    }

    #[test]
    fn both_ends_lead_to_the_middle() {
        let mut rest = 0..25;
        assert_eq!([take_front(&mut rest, 10), take_back(&mut rest, 10)], [Some(0..10), Some(15..25)]);
        assert_eq!([take_back(&mut rest, 10), take_front(&mut rest, 10)], [Some(10..15), None]);
    }
}
