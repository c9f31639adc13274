//! `DivideN`, which the dissertation compares the Front-Back algorithm with (Song 2017, §4.3 and §4.4.2).
//!
//! "In each round Divide4 assigns segments to the paths in proportion to the paths' estimated throughputs. When a path completes its
//! assigned segments, Divide4 splits the largest unfinished portion of the other paths' assigned segments with the unfinished
//! portion's path." The path that has not finished continues where it is; the other gets the end of its portion.

use super::parts::{Side, cut, largest, shares, take_front};
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
        self.portions = shares(block, unit, rates);
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

#[cfg(test)]
mod tests {
    use super::*;

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
