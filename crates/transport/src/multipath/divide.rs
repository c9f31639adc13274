//! `DivideN`, which the dissertation compares the Front-Back algorithm with (Song 2014, §4.3 and §4.4.2).
//!
//! "In each round Divide4 assigns segments to the paths in proportion to the paths' estimated throughputs. When a path completes its
//! assigned segments, Divide4 splits the largest unfinished portion of the other paths' assigned segments with the unfinished
//! portion's path." The path that has not finished goes on where it is; the other gets the end of its portion.

use super::session::{Side, cut, take_front};
use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Divide {
    /// What each path still has to send, upwards.
    portions: Vec<Range<u64>>,
}

impl Divide {
    pub(super) fn new(paths: usize) -> Self {
        Self { portions: vec![0..0; paths] }
    }

    pub(super) fn begin(&mut self, block: Range<u64>, unit: u64, rates: &[f64]) {
        let shares = shares(block, unit, rates);
        self.portions = shares;
    }

    pub(super) fn is_done(&self, path: usize) -> bool {
        self.portions[path].is_empty()
    }

    pub(super) fn is_all_done(&self) -> bool {
        self.portions.iter().all(Range::is_empty)
    }

    pub(super) fn take(&mut self, path: usize, unit: u64, rates: &[f64]) -> Option<Range<u64>> {
        if self.is_done(path) {
            let other = largest(&self.portions)?;
            let rest = self.portions[other].clone();
            let at = cut(&rest, unit, rates[other], rates[path], Side::Second);
            self.portions[other].end = at;
            self.portions[path] = at..rest.end;
        }
        take_front(&mut self.portions[path], unit)
    }
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
        let end = if last { block.end } else { block.end.min(block.start + whole * unit).max(start) };
        parts.push(start..end);
        start = end;
    }
    parts
}

/// The part of which most remains; of several, the first.
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
    fn who_has_finished_takes_the_end_of_the_largest_rest() {
        let mut divide = Divide::new(2);
        divide.begin(0..20, 1, &[1.0, 1.0]);
        for i in 0..10 {
            assert_eq!(divide.take(0, 1, &[1.0, 1.0]), Some(i..i + 1));
        }
        assert_eq!(divide.take(1, 1, &[1.0, 1.0]), Some(10..11));
        assert_eq!(divide.take(0, 1, &[1.0, 1.0]), Some(16..17), "nine remain: five stay, four go");
        assert_eq!(divide.take(1, 1, &[1.0, 1.0]), Some(11..12), "the other goes on where it is");
    }
}
