//! Which receivers of a group hold the others back.
//!
//! A symbol leaves once all receivers have asked for it. Receivers find their windows by themselves, so the one that has asked for the least is not
//! slow for that: a near receiver needs a smaller window than a far one, and has its symbols sooner. A slow one is *late*, too: it completes blocks
//! after the others, since symbols wait for it in front of its link or at the host. A receiver that loses symbols is late now and then, a slow one
//! always, or by much. So a receiver holds the others back if symbols that others have asked for mostly wait for it, and it has completed several blocks
//! in a row late, or one by the averaging time, by more than its path explains.
//!
//! A receiver that says nothing completes nothing, and while all wait for it nobody else does either. So it holds the others back if all have
//! waited for it alone for that time and a round trip.
//!
//! Receivers that have part of the object from an earlier session may be far ahead of all that was sent, and wait for the receiver that has the
//! least. That one catches up alone, and nothing shows how fast the others would be. So it is given some time, provided that it uses it: a receiver
//! that does not steadily close the gap, because it is slow, has too little or does not answer, holds the others back.

use std::collections::VecDeque;

use super::median;
use crate::round_trip::RoundTrip;
use crate::{Duration, Time};

/// A receiver holds the others back if symbols wait for it in this part of the time, or more.
const MOSTLY: f64 = 0.75;
/// The mean of that is taken over the averaging time divided by this, so that it is known by then.
const MEANS: f64 = 2.0;
/// Blocks that a slow receiver has completed late in a row. With equal losses, one receiver is seldom the last with so many.
const LATE_BLOCKS: u32 = 12;
/// The least time that is late: host timers are late by less, mostly.
const LATE: Duration = Duration::from_ms(1);
/// Round trips in the averaging time, at least: a lost symbol makes a receiver late by one.
const ROUND_TRIPS: u64 = 10;
/// First windows by which receivers may differ that have the same part of the object from an earlier session.
const APART: u64 = 4;
/// A receiver that began with less must catch up within this many averaging times.
const CATCHES_UP_WITHIN: u64 = 10;
/// Blocks of which it is remembered when the median completed them: more than can be in progress.
const REMEMBERED: usize = 128;

/// Where a receiver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scdp) struct Place {
    /// Symbols of the object that it has asked for so far.
    pub(in crate::scdp) asked: u64,
    /// It has all blocks before this one.
    pub(in crate::scdp) base: u32,
    /// It may not get what is sent to the group, which is being found out: it is not judged now. A slow receiver gets little, and thinks so as well.
    pub(in crate::scdp) excused: bool,
}

/// One receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Whether symbols waited for it when last observed: 1 or 0, and the mean of that.
    limits: f64,
    mean: f64,
    /// Since when it has completed no block in time, and how many it has completed since.
    late_since: Option<Time>,
    late_blocks: u32,
    /// Its place when last observed.
    asked: u64,
    base: u32,
    /// The time from the offer to its answer, no less than a round trip, and the mean of those from when a block had been sent to when it had it.
    answer: Option<Duration>,
    trip: RoundTrip,
    /// Since when all wait for it alone, and it has asked for nothing.
    silent: Option<Time>,
    /// While it has the least and the median has much more: since when, and how many symbols it lacked then.
    catches_up: Option<(Time, u64)>,
}

/// How far each receiver of a group is behind.
#[derive(Debug)]
pub(in crate::scdp) struct Lag {
    /// Symbols of the first window.
    window: u64,
    /// Averaging time.
    time: Duration,
    last: Time,
    members: Vec<Member>,
    /// When the median had all blocks before which one, and when all before which one had been sent, the oldest first.
    median_had: Steps,
    sent: Steps,
    /// Kept to reuse its memory.
    sorted: Vec<u64>,
}

impl Lag {
    pub(in crate::scdp) fn new(window: u32, time: Duration, receivers: usize) -> Self {
        let members = vec![Member::default(); receivers];
        let (median_had, sent) = (Steps::default(), Steps::default());
        Self { window: u64::from(window), time, last: Time::ZERO, members, median_had, sent, sorted: Vec::new() }
    }

    /// A receiver has answered the offer so long after it.
    pub(in crate::scdp) fn on_answer(&mut self, receiver: usize, after: Duration) {
        self.members[receiver].answer = Some(after);
    }

    /// `places`: `None` for a receiver that needs no more, or is not waited for. Nothing was sent of blocks from `reached` on. `is_waited_for`: whether
    /// symbols that others have asked for wait for a receiver. Returns the first receiver that holds the others back, if there is one.
    pub(in crate::scdp) fn observe(
        &mut self,
        now: Time,
        places: impl Iterator<Item = Option<Place>> + Clone,
        reached: u32,
        is_waited_for: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let has_base = median(&mut self.sorted, places.clone().flatten().map(|place| u64::from(place.base)))? as u32;
        let median = median(&mut self.sorted, places.clone().flatten().map(|place| place.asked))?;
        let least = self.sorted.last().copied()?;
        let passed = (now - self.last).ps() as f64;
        self.last = now;
        let least_base = places.clone().flatten().map(|place| place.base).min()?;
        self.median_had.reach(now, has_base, least_base);
        // The last block that was begun may not have been sent.
        self.sent.reach(now, reached.saturating_sub(1), least_base);
        let mut straggler = None;
        for (index, place) in places.enumerate() {
            let member = &mut self.members[index];
            let Some(place) = place else {
                *member = member.anew();
                continue;
            };
            if place.excused {
                member.silent = None;
                continue;
            }
            let lacks = median.saturating_sub(place.asked);
            // Equal where the median has all that was sent: so it is at the end of each block, too, without any earlier session. What is known of who
            // is late is then forgotten, and a receiver of a hundredth of the rate leaves after three or four of its blocks; by `>` it would after two.
            // That is too soon for the others, who still look for their windows: what they have asked for doubles within milliseconds once it has
            // left, queues of 200 kB lose whole blocks several times over, and who asks for one so often gets no more and is given up.
            let holds = if has_base >= reached && lacks > APART * self.window {
                (member.limits, member.mean, member.silent, member.late_since) = (0.0, 0.0, None, None);
                // A receiver that is far ahead of the least waits for it, as those ahead do.
                let is_least = place.asked - least <= APART * self.window;
                let late = is_least && member.is_late(now, lacks, self.time);
                if !is_least {
                    member.catches_up = None;
                }
                late
            } else {
                member.catches_up = None;
                let waits_for_it = lacks > 0 && place.asked <= least && is_waited_for(index);
                let is_silent = member.is_silent(now, place, waits_for_it, self.time);
                let time = self.time.max(member.round_trip() * ROUND_TRIPS);
                member.mean += (member.limits - member.mean) * (passed / (passed + time.ps() as f64 / MEANS));
                let behind = member.judge(now, place, &self.median_had, &self.sent);
                let (is_late, is_far_behind) = (member.late_since.is_some(), behind >= time);
                let limits = is_late && (lacks > 0 || is_far_behind) && is_waited_for(index);
                member.limits = f64::from(u8::from(limits));
                let is_late = member.late_since.is_some_and(|since| now.since(since) >= time)
                    && (member.late_blocks >= LATE_BLOCKS || is_far_behind);
                is_silent || is_late && member.mean >= MOSTLY
            };
            (member.asked, member.base) = (place.asked, place.base);
            if holds && straggler.is_none() {
                straggler = Some(index);
                *member = member.anew();
            }
        }
        straggler
    }
}

/// When a block was reached, the oldest first.
#[derive(Clone, Debug, Default)]
struct Steps(VecDeque<(u32, Time)>);

impl Steps {
    /// All blocks before `block` are reached now, if they were not before. Nobody asks for those before `least`.
    fn reach(&mut self, now: Time, block: u32, least: u32) {
        if self.0.back().is_none_or(|(known, _)| *known < block) {
            self.0.push_back((block, now));
        }
        while self.0.len() > REMEMBERED || self.0.front().is_some_and(|(known, _)| *known < least) {
            self.0.pop_front();
        }
    }

    /// How long ago all blocks before `block` were reached, if they are.
    fn since(&self, now: Time, block: u32) -> Option<Duration> {
        let at = self.0.partition_point(|(known, _)| *known < block);
        self.0.get(at).map(|(_, reached)| now.since(*reached))
    }
}

impl Member {
    /// The longest round trip that its path explains.
    fn round_trip(&self) -> Duration {
        let times = self.answer.into_iter().chain(self.trip.is_known().then(|| self.trip.smoothed()));
        times.min().unwrap_or(Duration::ZERO)
    }

    /// What is known of its path is kept when it is judged anew.
    fn anew(&self) -> Self {
        Self { answer: self.answer, trip: self.trip, ..Self::default() }
    }

    /// Whether it completes blocks in time: not much later than the median, beyond what its path explains. Returns how late its next block is already.
    fn judge(&mut self, now: Time, place: Place, median_had: &Steps, sent: &Steps) -> Duration {
        let since_median = |base: u32| median_had.since(now, base).unwrap_or(Duration::ZERO);
        if place.base > self.base
            && let Some(trip) = sent.since(now, place.base)
        {
            // When a block had been sent is only known once others are, so single times may be too short.
            self.trip.sample(trip);
        }
        // It may have a block a round trip later than one that is near, and a queue of half of that in front of its link is usual.
        let allowed = self.round_trip() + LATE.max(self.round_trip() / 2);
        if place.base > self.base {
            if since_median(place.base) < allowed {
                (self.late_since, self.late_blocks) = (None, 0);
            } else {
                self.late_since.get_or_insert(now);
                self.late_blocks += place.base - self.base;
            }
        }
        let behind = since_median(place.base + 1);
        if behind >= allowed {
            self.late_since.get_or_insert(now);
        }
        behind
    }

    /// Whether all have waited for this receiver for too long, and it has said nothing.
    fn is_silent(&mut self, now: Time, place: Place, is_waited_for: bool, time: Duration) -> bool {
        if !is_waited_for || place.asked > self.asked {
            self.silent = None;
        }
        let since = if is_waited_for { *self.silent.get_or_insert(now) } else { return false };
        now.since(since) > time + self.round_trip() * 2
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

    /// Symbols of a block, and of the first window.
    const BLOCK: u64 = 100;
    const WINDOW: u32 = 32;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// A receiver that has so many symbols, and a window of so many.
    #[expect(clippy::unnecessary_wraps, reason = "others have no place")]
    fn at(has: u64, window: u64) -> Option<Place> {
        Some(Place { asked: has + window, base: (has / BLOCK) as u32, excused: false })
    }

    /// Symbols wait for those that have asked for less than others.
    fn waits(places: &[Option<Place>]) -> impl Fn(usize) -> bool {
        let most = places.iter().flatten().map(|place| place.asked).max();
        let less: Vec<_> = places.iter().map(|place| place.map(|place| place.asked) < most).collect();
        move |who| less[who]
    }

    /// When a receiver is found to be a straggler, observed each millisecond for two seconds. Everything has been sent.
    fn found(round_trips: [u64; 3], places: impl Fn(u64) -> [Option<Place>; 3]) -> Option<(u64, usize)> {
        let mut lag = Lag::new(WINDOW, Duration::from_ms(100), 3);
        for (receiver, round_trip) in round_trips.into_iter().enumerate() {
            lag.on_answer(receiver, Duration::from_ms(round_trip));
        }
        (0..2000).find_map(|t| {
            let places = places(t);
            lag.observe(ms(t), places.into_iter(), u32::MAX, waits(&places)).map(|who| (t, who))
        })
    }

    #[test]
    fn who_is_later_and_has_asked_for_less_is_found_after_some_time() {
        // 80 symbols in a millisecond; the second has them 3 ms after the others, which may ask for little more.
        let (at, who) =
            found([0; 3], |t| [at(80 * t, 4), at(80 * t.saturating_sub(3), 200), at(80 * t, 4)]).expect("found");
        assert!((100..250).contains(&at) && who == 1, "{at} ms");
    }

    #[test]
    fn who_is_near_has_a_small_window_and_is_not_slow() {
        let near = |t: u64| at(80 * t, 100);
        let far = |t: u64| at(80 * t.saturating_sub(50), 8000);
        assert_eq!(found([0, 100, 100], |t| [near(t), far(t), far(t)]), None);
        assert_eq!(found([0, 0, 100], |t| [near(t), near(t), far(t)]), None, "and who is far is not late");
        let (_, who) = found([0, 100, 0], |t| [near(t), at(80 * t.saturating_sub(200), 40), near(t)]).expect("found");
        assert_eq!(who, 1, "unless it is later than its path explains");
    }

    #[test]
    fn who_pauses_for_a_while_is_not() {
        let pauses = |t: u64| if t % 200 < 40 { t - t % 200 } else { t };
        assert_eq!(found([0; 3], |t| [at(80 * t, 300), at(80 * pauses(t), 300), at(80 * t, 300)]), None);
    }

    #[test]
    fn who_loses_symbols_is_late_now_and_then_and_not_slow() {
        // It has each second block 3 ms later, and asks for less meanwhile.
        let lossy = |t: u64| at(80 * if (t / 20).is_multiple_of(2) { t.saturating_sub(3) } else { t }, 200);
        assert_eq!(found([0; 3], |t| [at(80 * t, 300), lossy(t), at(80 * t, 300)]), None);
    }

    #[test]
    fn neither_a_majority_nor_the_last_one_is_a_straggler() {
        let (fast, slow) = (|t: u64| at(80 * t, 300), |t: u64| at(80 * t.saturating_sub(5), 100));
        assert_eq!(found([0; 3], |t| [fast(t), slow(t), slow(t)]), None);
        assert_eq!(found([0; 3], |t| [None, slow(t), None]), None);
        assert_eq!(found([0; 3], |t| [None, slow(t), fast(t)]).expect("of two, the one behind").1, 1);
    }

    #[test]
    fn who_says_nothing_while_all_wait_for_it_is_found() {
        // All have asked for as much as they may, and the second for nothing: nothing is sent.
        let waiting = [at(32, 32), at(0, 32), at(32, 32)];
        assert_eq!(found([0, 0, 0], |_| waiting), Some((101, 1)));
        assert_eq!(found([0, 100, 0], |_| waiting), Some((301, 1)), "its answer may take a round trip");
        assert_eq!(found([0; 3], |t| if t % 90 < 2 { [at(32, 32); 3] } else { waiting }), None);
    }

    /// The first receiver has `more` symbols more than the second, which asks for `pace` symbols each millisecond until it has as many.
    fn catching_up(more: u64, pace: impl Fn(u64) -> u64) -> Option<(u64, usize)> {
        let mut has = 0;
        let mut lag = Lag::new(WINDOW, Duration::from_ms(100), 2);
        (0..5000).find_map(|t| {
            has += pace(t);
            let ahead = more.max(has);
            let reached = (has / BLOCK) as u32 + 1;
            let places = [at(ahead, 32), at(has, 0)];
            lag.observe(ms(t), places.into_iter(), reached, waits(&places)).map(|who| (t, who))
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
        let mut lag = Lag::new(WINDOW, Duration::from_ms(100), 5);
        let mut found = Vec::new();
        for t in 0..2000_u64 {
            // The second and the fourth wait for the fifth, which does not answer; then they catch up with the others.
            let other = 9000 + if found.is_empty() { 0 } else { 20 * (t - 101) };
            let last = at(0, 32).filter(|_| found.is_empty());
            let places = [at(10_000.max(other), 0), at(other, 0), at(10_032.max(other), 0), at(other + 9, 0), last];
            let reached = if found.is_empty() { 1 } else { (other / BLOCK) as u32 + 1 };
            found.extend(lag.observe(ms(t), places.into_iter(), reached, waits(&places)));
        }
        assert_eq!(found, [4]);
    }
}
