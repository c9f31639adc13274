//! Which receivers of a group hold the others back.
//!
//! A symbol leaves once all receivers have asked for it, and all have windows of the same size. So while no receiver is slow, all have asked for
//! about the same; a slow receiver has asked for a window less than the others, which wait for it. Batching and host scheduling cause such gaps for
//! some milliseconds, so only the mean over some time counts.
//!
//! Receivers that have part of the object from an earlier session may be ahead by far more than a window, and wait for the receiver that has the
//! least. That one catches up alone, and nothing shows how fast the others would be. So it is given some time, provided that it uses it: a receiver
//! that does not steadily close the gap, because it is slow, has too little or does not answer, holds the others back.
//!
//! Those are slow receivers. A broken or hostile one may ask for more than all others and hold them back all the same: it asks for later blocks
//! before the first, or completes nothing, so that no further block can be begun. It is recognised by what it has asked for beyond its first
//! incomplete block, which is about a window for any other, and whatever the policy is it leaves the group, even if it has accomplices. The last
//! resort is time: who holds others back and completes no block for long leaves the group, too.

use anabranch_transport::scdp::Demand;
use anabranch_transport::{Duration, Time};

use crate::limits::LIVE_BLOCKS;

/// A receiver whose mean lag exceeds this fraction of a window holds the others back.
const BEHIND: f64 = 0.5;
/// Windows that a receiver can lag by if it began with as much as the others: a window, plus the repair symbols that those ahead have asked for.
const APART: u64 = 4;
/// A receiver that began with less must catch up within this many averaging times.
const CATCHES_UP_WITHIN: u64 = 10;
/// The averaging time where slow receivers are waited for, and only broken ones leave.
const WAITING: Duration = Duration::from_secs(1);
/// Blocks that a receiver may have asked for beyond its first incomplete one while it holds others back: half of those that may be in progress.
const OPEN_BLOCKS: u64 = LIVE_BLOCKS / 2;
/// While a receiver holds others back, it must complete a block within this many averaging times, or within `give_up_after` where slow ones are
/// waited for.
const COMPLETES_WITHIN: u64 = 10;

/// Which receivers are to leave a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// The averaging time for slow receivers; `None`: they are waited for.
    pub(super) slow_for: Option<Duration>,
    /// Time in which even a receiver that is waited for must complete a block.
    pub(super) patience: Duration,
    /// Symbols of a window, and of a block.
    pub(super) window: u32,
    pub(super) block: u32,
}

/// One receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// While it holds others back: since when, or since it last completed a block, and what it had completed then.
    holds: Option<(Time, u64)>,
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
    /// Symbols that a receiver may have asked for beyond what it has completed, while it holds others back.
    most_open: u64,
    /// Averaging time.
    time: Duration,
    waits_for_slow: bool,
    completes_within: Duration,
    last: Time,
    members: Vec<Member>,
    asked: Vec<u64>,
}

impl Lag {
    pub(super) fn new(now: Time, rule: Rule, receivers: usize) -> Self {
        let (window, time) = (u64::from(rule.window), rule.slow_for.unwrap_or(WAITING));
        Self {
            window,
            most_open: (OPEN_BLOCKS * u64::from(rule.block)).max(APART * window),
            time,
            waits_for_slow: rule.slow_for.is_none(),
            completes_within: if rule.slow_for.is_some() { time * COMPLETES_WITHIN } else { rule.patience },
            last: now,
            members: vec![Member::default(); receivers],
            asked: Vec::new(),
        }
    }

    /// `demands`: how far each receiver is, `None` if it needs no more or has left the group. Returns the first receiver that holds the others back,
    /// if there is one.
    pub(super) fn observe(
        &mut self,
        now: Time,
        demands: impl Iterator<Item = Option<Demand>> + Clone,
    ) -> Option<usize> {
        self.asked.clear();
        self.asked.extend(demands.clone().flatten().map(|demand| demand.in_order));
        self.asked.sort_unstable_by(|a, b| b.cmp(a));
        // Of the two in the middle, the one ahead: half of a group never waits for one receiver.
        let median = self.asked.get(self.asked.len().saturating_sub(1) / 2).copied()?;
        let (most, least) = (self.asked.first().copied()?, self.asked.last().copied()?);
        let complete = demands.clone().flatten().map(|demand| demand.complete);
        let (most_complete, least_complete) = (complete.clone().max()?, complete.min()?);
        let apart = APART * self.window;
        let passed = now - self.last;
        self.last = now;
        let mut straggler = None;
        for (index, (demand, member)) in demands.zip(&mut self.members).enumerate() {
            let Some(demand) = demand else {
                *member = Member::default();
                continue;
            };
            let asked = demand.in_order;
            let lacks = median.saturating_sub(asked);
            let is_behind = demand.complete < most_complete || asked < most;
            // A receiver that is ahead of another waits for it.
            let completes_least = demand.complete == least_complete && demand.complete < most_complete;
            let asks_least = most - asked > self.window / 2 && asked - least <= apart;
            let is_late = if is_behind && demand.open > self.most_open {
                member.catches_up = None;
                member.averages(passed, self.time, 1.0)
            } else if self.waits_for_slow {
                member.averages(passed, self.time, 0.0)
            } else if lacks > apart {
                (member.behind, member.mean) = (0.0, 0.0);
                // A receiver that is far ahead of the least waits for it, as those ahead do.
                if asked - least <= apart {
                    member.is_late(now, lacks, self.time)
                } else {
                    member.catches_up = None;
                    false
                }
            } else {
                member.catches_up = None;
                member.averages(passed, self.time, (lacks as f64 / self.window as f64).min(1.0))
            };
            let never_completes = member.holds_for(now, completes_least || asks_least, demand.complete) > self.completes_within;
            if (is_late || never_completes || demand.exhausted) && straggler.is_none() {
                straggler = Some(index);
                *member = Member::default();
            }
        }
        // The last one holds nobody back.
        straggler.filter(|_| self.asked.len() > 1)
    }
}

impl Member {
    /// It was `behind` as last noted for the time that has `passed`. Returns whether it is behind in the mean.
    fn averages(&mut self, passed: Duration, time: Duration, behind: f64) -> bool {
        let (passed, time) = (passed.ps() as f64, time.ps() as f64);
        self.mean += (self.behind - self.mean) * (passed / (passed + time));
        self.behind = behind;
        self.mean > BEHIND
    }

    /// For how long it has held others back without completing a block.
    fn holds_for(&mut self, now: Time, holds: bool, complete: u64) -> Duration {
        let since = self.holds.filter(|(_, before)| holds && *before == complete).map_or(now, |(since, _)| since);
        self.holds = holds.then_some((since, complete));
        now - since
    }

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

    fn lag(waits: bool, receivers: usize) -> Lag {
        let slow_for = (!waits).then_some(Duration::from_ms(100));
        let rule = Rule { slow_for, patience: Duration::from_secs(10), window: 32, block: 100 };
        Lag::new(Time::ZERO, rule, receivers)
    }

    /// An honest receiver that has asked for so much, and completed all blocks of that but the last.
    fn honest(asked: u64) -> Demand {
        let complete = asked.saturating_sub(32) / 100 * 100;
        Demand { in_order: asked, complete, open: asked - complete, exhausted: false }
    }

    /// When a receiver is found to be a straggler, observed each millisecond for a second.
    fn found(asked: impl Fn(u64) -> [Option<u64>; 3]) -> Option<(u64, usize)> {
        let mut lag = lag(false, 3);
        (0..1000).find_map(|t| {
            let demands = asked(t).map(|asked| asked.map(honest));
            lag.observe(ms(t), demands.into_iter()).map(|who| (t, who))
        })
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
        let mut lag = lag(false, 2);
        (0..5000).find_map(|t| {
            has += pace(t);
            let ahead = (more + 32).max(has);
            lag.observe(ms(t), [Some(honest(ahead)), Some(honest(has))].into_iter()).map(|who| (t, who))
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
        let mut lag = lag(false, 5);
        let mut found = Vec::new();
        for t in 0..2000_u64 {
            // The second and the fourth wait for the fifth, which does not answer; then they catch up with the others.
            let other = 9000 + if found.is_empty() { 0 } else { 20 * (t - 101) };
            let last = found.is_empty().then_some(32);
            let asked = [Some(10_000.max(other)), Some(other), Some(10_032.max(other)), Some(other + 9), last];
            found.extend(lag.observe(ms(t), asked.map(|asked| asked.map(honest)).into_iter()));
        }
        assert_eq!(found, [4]);
    }

    /// When receivers leave a group of honest ones, that have asked for so much at each millisecond, and rogues, observed for a minute.
    fn leave(waits: bool, asked: impl Fn(u64) -> u64, rogues: &[Demand], count: usize) -> Vec<(u64, usize)> {
        let mut lag = lag(waits, count + rogues.len());
        let mut left = Vec::new();
        for t in 0..60_000 {
            let here = |index: usize| !left.iter().any(|(_, left)| *left == index);
            let all = (0..count).map(|_| honest(asked(t))).chain(rogues.iter().copied());
            let demands: Vec<_> = all.enumerate().map(|(index, demand)| here(index).then_some(demand)).collect();
            left.extend(lag.observe(ms(t), demands.into_iter()).map(|who| (t, who)));
        }
        left
    }

    #[test]
    fn who_asks_for_much_and_completes_nothing_leaves_whatever_the_policy_and_whoever_helps() {
        let never_completes = Demand { in_order: 6500, complete: 0, open: 6500, exhausted: false };
        let leaves_out_the_first = Demand { in_order: 0, complete: 0, open: 8192, exhausted: false };
        for rogue in [never_completes, leaves_out_the_first] {
            for (waits, latest) in [(false, 200), (true, 2000)] {
                for rogues in [vec![rogue], vec![rogue; 2], vec![rogue; 5]] {
                    // The others can go no further than to where the rogue lets them.
                    let left = leave(waits, |t| (10 * t).min(rogue.in_order + 32), &rogues, 1);
                    let who: Vec<_> = left.iter().map(|(_, who)| *who).collect();
                    assert_eq!(who, (1..=rogues.len()).collect::<Vec<_>>(), "{waits} {rogue:?}");
                    let begun = if rogue.in_order > 0 { 320 } else { 0 };
                    assert!(left[0].0 < begun + latest, "{waits} {left:?}");
                }
            }
        }
        let greedy = Demand { exhausted: true, ..honest(50) };
        assert_eq!(leave(true, |_| 50, &[greedy], 2), [(0, 2)]);
    }

    #[test]
    fn who_holds_others_back_must_complete_a_block_now_and_then() {
        let stuck = Demand { in_order: 10, complete: 0, open: 10, exhausted: false };
        assert_eq!(leave(true, |t| t.min(42), &[stuck], 3), [(10_028, 3)]);
        assert_eq!(leave(false, |t| t.min(42), &[stuck; 2], 1).len(), 2, "the majority, too");
        assert_eq!(leave(true, |_| 26, &[stuck], 3), [], "the others are hardly ahead");
        assert_eq!(leave(true, |_| 10, &[stuck], 0), [], "and nobody waits for it");
    }

    #[test]
    fn slow_receivers_are_waited_for_where_that_is_wanted() {
        let mut lag = lag(true, 3);
        // One symbol each 30 ms, so that the others wait all the time.
        for t in 0..100_000_u64 {
            let slow = t / 30;
            let demands = [Some(honest(slow + 32)), Some(honest(slow)), Some(honest(slow + 32))];
            assert_eq!(lag.observe(ms(t), demands.into_iter()), None, "{t}");
        }
    }
}
