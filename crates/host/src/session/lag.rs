//! Which receivers of a group hold the others back.
//!
//! A symbol leaves when all receivers have asked for it, and all have windows of the same size. So while nobody is slow, all have asked
//! for about the same; and who is slow has asked for a window less than the others, who wait. Batches and the scheduling of hosts make
//! that come and go, within milliseconds: what counts is the mean over some time.

use anabranch_transport::{Duration, Time};

/// A receiver that is behind by more than this part of a window, on the mean, holds the others back.
const BEHIND: f64 = 0.5;

/// How far each receiver of a group is behind.
#[derive(Debug)]
pub(super) struct Lag {
    /// Symbols.
    window: f64,
    /// Of the mean.
    time: Duration,
    last: Time,
    /// By how many windows each is behind the median, and the mean of that.
    members: Vec<(f64, f64)>,
    asked: Vec<u64>,
}

impl Lag {
    pub(super) fn new(now: Time, window: u32, time: Duration, receivers: usize) -> Self {
        Self { window: f64::from(window), time, last: now, members: vec![(0.0, 0.0); receivers], asked: Vec::new() }
    }

    /// How many symbols each has asked for by now: `None` of those that need no more, or have left the group. The first that holds the
    /// others back, if one does.
    pub(super) fn observe(&mut self, now: Time, asked: impl Iterator<Item = Option<u64>> + Clone) -> Option<usize> {
        self.asked.clear();
        self.asked.extend(asked.clone().flatten());
        self.asked.sort_unstable_by(|a, b| b.cmp(a));
        // Of two, the one ahead: half of a group never waits for one.
        let median = self.asked.get(self.asked.len().saturating_sub(1) / 2).copied()?;
        let (passed, time) = ((now - self.last).ps() as f64, self.time.ps() as f64);
        self.last = now;
        let weight = passed / (passed + time);
        let mut straggler = None;
        for (index, (asked, (behind, mean))) in asked.zip(&mut self.members).enumerate() {
            *mean += (*behind - *mean) * weight;
            *behind = asked.map_or(0.0, |asked| (median.saturating_sub(asked) as f64 / self.window).min(1.0));
            if *mean > BEHIND && asked.is_some() && straggler.is_none() {
                straggler = Some(index);
                (*behind, *mean) = (0.0, 0.0);
            }
        }
        straggler
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn lag() -> Lag {
        Lag::new(Time::ZERO, 32, Duration::from_ms(100), 3)
    }

    /// When somebody is found to be a straggler, observed each millisecond for a second.
    fn found(asked: impl Fn(u64) -> [Option<u64>; 3]) -> Option<(u64, usize)> {
        let mut lag = lag();
        (0..1000).find_map(|t| lag.observe(ms(t), asked(t).into_iter()).map(|who| (t, who)))
    }

    #[test]
    fn who_is_a_window_behind_is_found_after_some_time() {
        let (at, who) = found(|t| [Some(10 * t + 32), Some(10 * t), Some(10 * t + 32)]).expect("found");
        assert!((50..100).contains(&at) && who == 1, "{at} ms");
        // Bursts: every fourth time it has caught up.
        let (at, who) =
            found(|t| [Some(t + 32), Some(t + 32), Some(if t % 4 == 0 { t + 32 } else { t })]).expect("found");
        assert!((80..200).contains(&at) && who == 2, "{at} ms");
    }

    #[test]
    fn who_pauses_for_a_while_is_not() {
        assert_eq!(found(|t| [Some(t + 32), Some(if t % 200 < 40 { t } else { t + 32 }), Some(t + 32)]), None);
        assert_eq!(found(|t| [Some(t + 32), Some(t + 20), Some(t + 30)]), None, "by less than half a window");
    }

    #[test]
    fn neither_a_majority_nor_the_last_one_is_a_straggler() {
        assert_eq!(found(|t| [Some(t + 32), Some(t), Some(t)]), None);
        assert_eq!(found(|t| [None, Some(t), None]), None);
        assert_eq!(found(|t| [None, Some(t), Some(t + 32)]).expect("of two, the one behind").1, 1);
    }
}
