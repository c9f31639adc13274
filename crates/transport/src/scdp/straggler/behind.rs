//! Stragglers by what they ask for: a receiver that is behind can only have asked for less than the others, who may be ahead by the window at
//! most.

use super::{Straggler, median};
use crate::{Duration, Time};

/// Which receivers have asked for too little, and for how long.
#[derive(Debug)]
pub(in crate::scdp) struct Behind {
    /// How far behind is too far, in symbols, and for how long.
    bound: u64,
    time: Duration,
    /// Since when each receiver has been too far behind.
    since: Vec<Option<Time>>,
    /// Kept to reuse its memory.
    sorted: Vec<u64>,
}

impl Behind {
    pub(in crate::scdp) fn new(straggler: &Straggler, window: u32, receivers: usize) -> Self {
        let bound = u64::from(straggler.symbols.unwrap_or((window / 2).max(1)));
        Self { bound, time: straggler.time, since: vec![None; receivers], sorted: Vec::new() }
    }

    /// A pull has arrived: what each receiver has asked for, if it needs more.
    pub(in crate::scdp) fn observe(&mut self, now: Time, asked: impl Iterator<Item = Option<u64>> + Clone) {
        let median = median(&mut self.sorted, asked.clone().flatten()).unwrap_or(0);
        for (since, asked) in self.since.iter_mut().zip(asked) {
            match asked {
                Some(asked) if asked + self.bound <= median => _ = since.get_or_insert(now),
                _ => *since = None,
            }
        }
    }

    /// When a receiver will have been behind for too long.
    pub(in crate::scdp) fn due(&self) -> Option<Time> {
        self.since.iter().flatten().min().map(|since| *since + self.time)
    }

    /// A receiver that has been behind for too long. Each is returned once.
    pub(in crate::scdp) fn straggler(&mut self, now: Time) -> Option<usize> {
        let late = |since: &Option<Time>| since.is_some_and(|since| since + self.time <= now);
        let receiver = self.since.iter().position(late)?;
        self.since[receiver] = None;
        Some(receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn behind() -> Behind {
        Behind::new(&Straggler { time: Duration::from_us(100), ..Straggler::default() }, 12, 3)
    }

    #[test]
    fn who_stays_behind_the_median_for_long_enough_is_detached() {
        let mut rule = behind();
        let asked = [20, 14, 26].map(Some);
        rule.observe(at(0), [20, 15, 26].map(Some).into_iter());
        assert_eq!(rule.due(), None, "by less than half a window");
        rule.observe(at(10), asked.into_iter());
        assert_eq!((rule.due(), rule.straggler(at(109))), (Some(at(110)), None));
        rule.observe(at(50), asked.into_iter());
        assert_eq!(rule.straggler(at(110)), Some(1), "since when it was first seen");
        assert_eq!((rule.straggler(at(110)), rule.due()), (None, None), "told once");
    }

    #[test]
    fn who_catches_up_meanwhile_is_not() {
        let mut rule = behind();
        rule.observe(at(0), [20, 10, 20].map(Some).into_iter());
        rule.observe(at(60), [20, 18, 20].map(Some).into_iter());
        rule.observe(at(90), [26, 18, 26].map(Some).into_iter());
        assert_eq!((rule.due(), rule.straggler(at(150))), (Some(at(190)), None));
    }

    #[test]
    fn neither_a_majority_nor_the_last_one_is_a_straggler() {
        let mut rule = behind();
        for asked in [[Some(50), Some(10), Some(10)], [Some(10), None, None], [None; 3]] {
            rule.observe(at(0), asked.into_iter());
            assert_eq!(rule.due(), None, "{asked:?}");
        }
        rule.observe(at(0), [Some(50), Some(10), None].into_iter());
        assert_eq!(rule.due(), Some(at(100)), "of two, the one behind");
    }
}
