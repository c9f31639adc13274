//! Which receivers of a group hold the others back.
//!
//! A symbol leaves once all receivers have asked for it, and all have windows of the same size. So while no receiver is slow, all have asked for
//! about the same; a slow receiver has asked for a window less than the others, which wait for it. Batching and host scheduling cause such gaps for
//! some milliseconds, so only the mean over some time counts.
//!
//! Receivers that have part of the object from an earlier session may be ahead by far more than a window, and wait for the receiver that has the
//! least. That one catches up alone, and nothing shows how fast the others would be. So it is given some time, provided that it uses it: a receiver
//! that does not steadily close the gap, because it is slow, has too little or does not answer, holds the others back.

use anabranch_transport::{Duration, Time};

/// A receiver whose mean lag exceeds this fraction of a window holds the others back.
const BEHIND: f64 = 0.5;
/// Windows that a receiver can lag by if it began with as much as the others: a window, plus the repair symbols that those ahead have asked for.
const APART: u64 = 4;
/// A receiver that began with less must catch up within this many averaging times.
const CATCHES_UP_WITHIN: u64 = 10;

/// One receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// How many windows it lags behind the median, and the mean of that.
    behind: f64,
    mean: f64,
    /// While it has the least and the median has much more: since when, and how many symbols it lacked then.
    catches_up: Option<(Time, u64)>,
}

/// How far each receiver of a group is behind.
#[derive(Debug)]
pub(super) struct Lag {
    /// Symbols.
    window: u64,
    /// Averaging time.
    time: Duration,
    last: Time,
    members: Vec<Member>,
    asked: Vec<u64>,
}

impl Lag {
    pub(super) fn new(now: Time, window: u32, time: Duration, receivers: usize) -> Self {
        let members = vec![Member::default(); receivers];
        Self { window: u64::from(window), time, last: now, members, asked: Vec::new() }
    }

    /// `asked`: how many symbols each receiver has asked for so far, `None` if it needs no more or has left the group. Returns the first receiver
    /// that holds the others back, if there is one.
    pub(super) fn observe(&mut self, now: Time, asked: impl Iterator<Item = Option<u64>> + Clone) -> Option<usize> {
        self.asked.clear();
        self.asked.extend(asked.clone().flatten());
        self.asked.sort_unstable_by(|a, b| b.cmp(a));
        // Of the two in the middle, the one ahead: half of a group never waits for one receiver.
        let median = self.asked.get(self.asked.len().saturating_sub(1) / 2).copied()?;
        let (least, apart) = (self.asked.last().copied()?, APART * self.window);
        let (passed, time) = ((now - self.last).ps() as f64, self.time.ps() as f64);
        self.last = now;
        let weight = passed / (passed + time);
        let mut straggler = None;
        for (index, (asked, member)) in asked.zip(&mut self.members).enumerate() {
            let lacks = asked.map_or(0, |asked| median.saturating_sub(asked));
            let late = if lacks > apart {
                (member.behind, member.mean) = (0.0, 0.0);
                // A receiver that is far ahead of the least waits for it, as those ahead do.
                let is_least = asked.is_some_and(|asked| asked - least <= apart);
                if is_least {
                    member.is_late(now, lacks, self.time)
                } else {
                    member.catches_up = None;
                    false
                }
            } else {
                member.mean += (member.behind - member.mean) * weight;
                member.behind = (lacks as f64 / self.window as f64).min(1.0);
                member.catches_up = None;
                member.mean > BEHIND && asked.is_some()
            };
            if late && straggler.is_none() {
                straggler = Some(index);
                *member = Member::default();
            }
        }
        straggler
    }
}

impl Member {
    /// This receiver has the least, and lacks `lacks` symbols that others have. Returns whether it fails to catch up.
    fn is_late(&mut self, now: Time, lacks: u64, time: Duration) -> bool {
        let (since, lacked) = *self.catches_up.get_or_insert((now, lacks));
        let passed = now - since;
        let caught_up = u128::from(lacked.saturating_sub(lacks)) * u128::from((time * CATCHES_UP_WITHIN).ps());
        passed > time && caught_up < u128::from(lacked) * u128::from(passed.ps())
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

    /// When a receiver is found to be a straggler, observed each millisecond for a second.
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

    /// The first receiver has `more` symbols more than the second, which asks for `pace` symbols each millisecond until it has as many.
    fn catching_up(more: u64, pace: impl Fn(u64) -> u64) -> Option<(u64, usize)> {
        let mut has = 0;
        let mut lag = Lag::new(Time::ZERO, 32, Duration::from_ms(100), 2);
        (0..5000).find_map(|t| {
            has += pace(t);
            let ahead = (more + 32).max(has);
            lag.observe(ms(t), [Some(ahead), Some(has)].into_iter()).map(|who| (t, who))
        })
    }

    #[test]
    fn who_has_less_is_waited_for_while_it_catches_up() {
        assert_eq!(catching_up(10_000, |_| 12), None, "within 0.8 s");
        assert_eq!(catching_up(10_000, |t| if t % 40 < 20 { 24 } else { 0 }), None, "in bursts");
        assert_eq!(catching_up(10_000, |_| 5), Some((101, 1)), "within 2 s");
        assert_eq!(catching_up(10_000, |_| 0), Some((101, 1)), "it does not answer");
        let (at, _) = catching_up(10_000, |t| if t < 300 { 20 } else { 0 }).expect("it stops");
        assert!((550..650).contains(&at), "it was ahead of its time: {at}");
    }

    #[test]
    fn who_waits_for_one_that_has_less_is_not_taken_for_slow() {
        let mut lag = Lag::new(Time::ZERO, 32, Duration::from_ms(100), 5);
        let mut found = Vec::new();
        for t in 0..2000_u64 {
            // The second and the fourth wait for the fifth, which does not answer; then they catch up with the others.
            let other = 9000 + if found.is_empty() { 0 } else { 20 * (t - 101) };
            let last = found.is_empty().then_some(32);
            let asked = [Some(10_000.max(other)), Some(other), Some(10_032.max(other)), Some(other + 9), last];
            found.extend(lag.observe(ms(t), asked.into_iter()));
        }
        assert_eq!(found, [4]);
    }
}
