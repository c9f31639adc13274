//! Which receivers of a group hold the others back for ever, whatever they say.
//!
//! A slow receiver is found by [`Lag`](super::Lag), and waited for if that is wanted. A broken or hostile one holds the others back in other ways:
//! it completes nothing, so that no further block can be begun, leaves blocks out, or asks for more and more. It leaves the group whatever the policy
//! is, even if it has accomplices, so others are no measure, only that they are ahead. An honest receiver may be behind by all blocks that may be in
//! progress, if its path is long, but it completes blocks all the time. The last resort is time: who holds others back and completes
//! no block for long leaves the group, too.

use crate::scdp::header::Options;
use crate::scdp::layout::LIVE_BLOCKS;
use crate::{Duration, Time};

/// Who keeps the others from beginning blocks for so long where slow receivers are waited for, and completes none, is broken.
const BLOCKS_FOR: Duration = Duration::from_secs(1);
/// While a receiver holds others back, it must complete a block within this many times the time after which a slow one leaves.
const COMPLETES_WITHIN: u64 = 10;
/// Who keeps the others from beginning blocks, or gets no repair symbols for them, has asked for more than this many blocks that it has not completed:
/// half of those that may be in progress.
const OPEN_BLOCKS: u64 = LIVE_BLOCKS as u64 / 2;
/// First windows by which receivers may differ, those that wait for one included.
const APART: u64 = 4;
/// Round trips that it takes to complete a block, though symbols are lost and repaired.
const ROUND_TRIPS: u64 = 10;
/// Whoever answers an offer later than this is not far away.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(1);

/// How far a receiver is, in symbols of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::scdp) struct Demand {
    /// It has all blocks before this one.
    pub base: u32,
    /// Those it has asked for in order, repair symbols included: up to the first block of which it has not asked for as many as it has source symbols.
    pub in_order: u64,
    /// Those of the blocks that it has completed in order.
    pub complete: u64,
    /// Those it has asked for beyond `complete`, in any order and repair symbols included.
    pub open: u64,
    /// It has asked for so much more than it needs that it gets no more until it completes a block.
    pub exhausted: bool,
}

/// How long receivers are waited for that complete no block.
#[derive(Clone, Copy, Debug)]
pub(in crate::scdp) struct Patience {
    /// If they have asked for all that they may.
    blocks: Duration,
    /// In any case.
    holds: Duration,
}

impl Patience {
    /// Where slow receivers leave after so long.
    pub(in crate::scdp) fn with_slow_for(time: Duration) -> Self {
        Self { blocks: time, holds: time * COMPLETES_WITHIN }
    }

    /// Where slow receivers are waited for, and silent ones for so long.
    pub(in crate::scdp) fn with_silent_for(time: Duration) -> Self {
        Self { blocks: BLOCKS_FOR.min(time), holds: time }
    }
}

/// One receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// While it is behind others: since when, or since it last completed a block, and what it had completed then.
    behind: Option<(Time, u64)>,
    /// The same while it is so far behind that they cannot begin blocks.
    far_behind: Option<(Time, u64)>,
    round_trip: Duration,
}

/// Which receivers hold others back without completing anything.
#[derive(Debug)]
pub(in crate::scdp) struct Holding {
    patience: Patience,
    /// Symbols of the first window, and of the blocks that a receiver may have asked for while it completes none.
    window: u64,
    most_open: u64,
    members: Vec<Member>,
}

impl Holding {
    pub(in crate::scdp) fn new(patience: Patience, options: &Options, receivers: usize) -> Self {
        let most_open = OPEN_BLOCKS * u64::from(options.block_symbols);
        Self { patience, window: u64::from(options.window), most_open, members: vec![Member::default(); receivers] }
    }

    /// A receiver has answered the offer so long after it.
    pub(in crate::scdp) fn on_answer(&mut self, receiver: usize, after: Duration) {
        self.members[receiver].round_trip = after.min(LONGEST_ROUND_TRIP);
    }

    /// `demands`: how far each receiver is, `None` if it needs no more or is not waited for. Returns the first receiver that has to leave, if there is
    /// one.
    pub(in crate::scdp) fn observe(
        &mut self,
        now: Time,
        demands: impl Iterator<Item = Option<Demand>> + Clone,
    ) -> Option<usize> {
        let others = demands.clone().flatten();
        let most_asked = others.clone().map(|demand| demand.in_order).max()?;
        let least_asked = others.clone().map(|demand| demand.in_order).min()?;
        let most_complete = others.clone().map(|demand| demand.base).max()?;
        let least_complete = others.clone().map(|demand| demand.base).min()?;
        let mut leaves = None;
        for (index, (demand, member)) in demands.zip(&mut self.members).enumerate() {
            let Some(demand) = demand else {
                *member = Member { round_trip: member.round_trip, ..Member::default() };
                continue;
            };
            // Receivers that have part of the object from an earlier session are ahead of all, and wait as the others do.
            let completes_least = demand.base == least_complete && demand.base < most_complete;
            let asks_least =
                most_asked - demand.in_order > self.window / 2 && demand.in_order - least_asked <= APART * self.window;
            let is_behind = demand.base < most_complete || demand.in_order < most_asked;
            let is_far = is_behind && demand.open > self.most_open;
            let held = held_for(&mut member.behind, now, completes_least || asks_least, demand.complete);
            let blocked = held_for(&mut member.far_behind, now, is_far, demand.complete);
            let slack = member.round_trip * ROUND_TRIPS;
            let is_broken = held > self.patience.holds + slack || blocked > self.patience.blocks + slack;
            if (is_broken || demand.exhausted) && leaves.is_none() {
                leaves = Some(index);
                *member = Member::default();
            }
        }
        leaves.filter(|_| others.count() > 1)
    }
}

/// For how long a receiver has been behind without completing a block.
fn held_for(since: &mut Option<(Time, u64)>, now: Time, is_behind: bool, complete: u64) -> Duration {
    let began = since.filter(|(_, before)| is_behind && *before == complete).map_or(now, |(began, _)| began);
    *since = is_behind.then_some((began, complete));
    now - began
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::header::Mode;

    const OPTIONS: Options = Options {
        object_bytes: 10_000_000,
        symbol_bytes: 1000,
        block_symbols: 100,
        window: 32,
        lanes: 1,
        mode: Mode::OneToMany,
    };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn holding(waits: bool, receivers: usize) -> Holding {
        let patience = if waits {
            Patience::with_silent_for(Duration::from_secs(10))
        } else {
            Patience::with_slow_for(Duration::from_ms(100))
        };
        Holding::new(patience, &OPTIONS, receivers)
    }

    /// An honest receiver that has asked for so much, with `window` symbols in flight, and completed all blocks of the rest.
    fn honest(asked: u64, window: u64) -> Demand {
        let base = asked.saturating_sub(window) / 100;
        Demand { base: base as u32, in_order: asked, complete: 100 * base, open: asked - 100 * base, exhausted: false }
    }

    const STUCK: Demand = Demand { base: 0, in_order: 10, complete: 0, open: 10, exhausted: false };

    /// When receivers leave a group of honest ones, which have asked for so much at each millisecond, and rogues, observed for 20 seconds.
    fn leave(waits: bool, asked: impl Fn(u64) -> u64, rogues: &[Demand], count: usize) -> Vec<(u64, usize)> {
        let mut holding = holding(waits, count + rogues.len());
        let mut left = Vec::new();
        for t in 0..20_000 {
            let here = |index: usize| !left.iter().any(|(_, left)| *left == index);
            let all = (0..count).map(|_| honest(asked(t), 32)).chain(rogues.iter().copied());
            let demands: Vec<_> = all.enumerate().map(|(index, demand)| here(index).then_some(demand)).collect();
            left.extend(holding.observe(ms(t), demands.into_iter()).map(|who| (t, who)));
        }
        left
    }

    #[test]
    fn who_asks_for_much_and_completes_nothing_leaves_whatever_the_policy_and_whoever_helps() {
        let never_completes = Demand { in_order: 6400, open: 6400, ..STUCK };
        let leaves_out_the_first = Demand { in_order: 0, open: 6400, ..STUCK };
        for rogue in [never_completes, leaves_out_the_first] {
            for (waits, latest) in [(false, 200), (true, 1200)] {
                for rogues in [vec![rogue], vec![rogue; 2], vec![rogue; 5]] {
                    // The others can go no further than to where the rogue lets them.
                    let left = leave(waits, |t| (10 * t).min(rogue.in_order + 32), &rogues, 1);
                    let who: Vec<_> = left.iter().map(|(_, who)| *who).collect();
                    assert_eq!(who, (1..=rogues.len()).collect::<Vec<_>>(), "{waits} {rogue:?}");
                    assert!(left[0].0 < latest, "{waits} {left:?}");
                }
            }
        }
        let greedy = Demand { exhausted: true, ..honest(50, 32) };
        assert_eq!(leave(true, |_| 50, &[greedy], 2), [(0, 2)]);
    }

    #[test]
    fn who_holds_others_back_must_complete_a_block_now_and_then() {
        assert_eq!(leave(true, |t| t.min(42), &[STUCK], 3), [(10_028, 3)]);
        assert_eq!(leave(false, |t| t.min(42), &[STUCK; 2], 1).len(), 2, "the majority, too");
        assert_eq!(leave(true, |_| 26, &[STUCK], 3), [], "the others are hardly ahead");
        assert_eq!(leave(true, |_| 10, &[STUCK], 0), [], "and nobody waits for it");
    }

    #[test]
    fn who_is_far_away_has_many_blocks_in_progress_and_stays() {
        for waits in [false, true] {
            let mut holding = holding(waits, 3);
            holding.on_answer(2, Duration::from_ms(90));
            for t in 0..5000_u64 {
                // 70 symbols in a millisecond: the far one has 63 blocks in progress, and loses some now and then, which takes three round trips.
                let has = 70 * t;
                let far = if t % 1000 < 270 { has - 70 * (t % 1000) } else { has };
                let demands =
                    [Some(honest(has + 6300, 200)), Some(honest(has + 6300, 200)), Some(honest(far + 6300, 6300))];
                assert_eq!(holding.observe(ms(t), demands.into_iter()), None, "{t}");
            }
        }
    }

    #[test]
    fn slow_receivers_are_waited_for_where_that_is_wanted() {
        let mut holding = holding(true, 3);
        // One symbol each 30 ms, so that the others wait all the time.
        for t in 0..100_000_u64 {
            let slow = t / 30;
            let demands = [honest(slow + 32, 32), honest(slow, 0), honest(slow + 32, 32)].map(Some);
            assert_eq!(holding.observe(ms(t), demands.into_iter()), None, "{t}");
        }
    }
}
