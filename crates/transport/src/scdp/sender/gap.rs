//! The longest time between two pulls of a receiver, which says how long its silence may be without meaning anything.

use crate::{Duration, Time};

/// A gap is forgotten by half once all gaps have been shorter for this many times as long.
const REMEMBERED_FOR: u64 = 8;

/// The longest recent gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PullGap {
    longest: Duration,
    since: Time,
}

impl PullGap {
    /// A pull arrives; the one before arrived at `last`.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, last: Time) {
        let gap = now - last;
        if gap >= self.longest {
            *self = Self { longest: gap, since: now };
        } else if now - self.since > self.longest * REMEMBERED_FOR {
            *self = Self { longest: (self.longest / 2).max(gap), since: now };
        }
    }

    pub(super) fn longest(self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// The longest gap after pulls at these times.
    fn after(times: impl Iterator<Item = u64>) -> Duration {
        let (mut gap, mut last) = (PullGap::default(), Time::ZERO);
        for ms in times {
            gap.on_pull(at(ms), last);
            last = at(ms);
        }
        gap.longest()
    }

    #[test]
    fn one_pause_is_forgotten_and_a_habit_is_not() {
        let pause = 500;
        let steady = |until: u64| after((1..10).chain(9 + pause..until));
        assert_eq!(steady(10 + pause), Duration::from_ms(pause));
        assert_eq!(steady(9 + pause * 9), Duration::from_ms(pause), "it may come again");
        assert_eq!(steady(11 + pause * 9), Duration::from_ms(pause / 2));
        assert!(steady(20 * pause) < Duration::from_ms(8), "{}", steady(20 * pause));
        // A host with many sessions gives each its turn every 40 ms, in bursts.
        assert_eq!(after((1..100_000).filter(|ms| ms % 50 < 10)), Duration::from_ms(41));
    }
}
