//! The pull queue that all receiver-driven sessions of a host share (NDP §3.2, SCDP §IV-C).
//!
//! It decides *whose* pull leaves next (the most urgent session that wants one, round robin among equals) and *when*
//! (paced, so that the packets pulled fill the host's incoming link and no more). It does not know what a pull looks like:
//! the driver asks the session for it with [`Endpoint::poll_pull`](crate::Endpoint::poll_pull).

use crate::demotion::MOST_THRESHOLDS;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// As many as there are priorities.
const URGENCIES: usize = MOST_THRESHOLDS + 1;

/// The urgency of sessions that take turns: of all, where pulls do not go by priority.
pub const IN_TURN: u8 = 1;

/// Paced queue of sessions that want to send pulls. `K` is the driver's handle of a session.
#[derive(Clone, Debug)]
pub struct PullQueue<K> {
    /// By urgency, the most urgent first; each session at most once.
    turns: [VecDeque<K>; URGENCIES],
    /// Bit `u` is set when somebody of urgency `u` waits.
    waiting: u8,
    interval: Duration,
    /// How many pulls that are late may leave at once besides the one that is due.
    burst: u32,
    next_at: Time,
}

impl<K: Copy + PartialEq> PullQueue<K> {
    /// A queue that lets one pull leave every `interval`: the time that a full-size packet takes on the incoming link.
    /// What a late wake-up misses is lost, as the simulator's wake-ups are never late.
    pub fn new(interval: Duration) -> Self {
        Self::with_burst(interval, 0)
    }

    /// The same for drivers whose timers are coarse: a token bucket of `burst` pulls. Those that should have left before a late
    /// wake-up leave together, `burst` of them at most and the one that is due, so wake-ups that are late by up to `burst`
    /// intervals cost no rate. As many may leave at once after a pause.
    pub fn with_burst(interval: Duration, burst: u32) -> Self {
        Self { turns: Default::default(), waiting: 0, interval, burst, next_at: Time::ZERO }
    }

    /// From the next pull on, one may leave every `interval`.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// `session` wants pulls and is not in the queue yet: it joins at the end of the round of those that are as urgent, 0
    /// the most; from 7 on all are alike. If all have the same, they take turns, as the papers have it.
    pub fn push(&mut self, session: K, urgency: u8) {
        debug_assert!(self.turns.iter().all(|round| !round.contains(&session)), "a session queues once");
        let urgency = usize::from(urgency).min(URGENCIES - 1);
        self.turns[urgency].push_back(session);
        self.waiting |= 1 << urgency;
    }

    /// No pull leaves before the link has had the time for so many packets from now on.
    pub fn hold(&mut self, now: Time, packets: u32) {
        self.next_at = self.next_at.max(now + self.interval * u64::from(packets));
    }

    /// `session`, which waits and was as urgent as `from`, is as urgent as `to`: it joins at the end of that round.
    pub fn raise(&mut self, session: K, from: u8, to: u8) {
        let from = usize::from(from).min(URGENCIES - 1);
        let Some(place) = self.turns[from].iter().position(|waits| *waits == session) else { return };
        self.turns[from].remove(place);
        if self.turns[from].is_empty() {
            self.waiting &= !(1 << from);
        }
        self.push(session, to);
    }

    /// Whether no session waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// When the next pull may leave; `None` if nobody wants one.
    pub fn poll_timeout(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at)
    }

    /// The session whose turn it is, if one may send now. The caller sends one pull of that session, and pushes it
    /// again if it wants more.
    pub fn poll(&mut self, now: Time) -> Option<K> {
        if now < self.next_at {
            return None;
        }
        let round = self.turns.get_mut(self.waiting.trailing_zeros() as usize)?;
        let session = round.pop_front()?;
        if round.is_empty() {
            self.waiting &= self.waiting - 1; // the lowest bit
        }
        let late_at_most = Duration(self.interval.ps().saturating_mul(u64::from(self.burst)));
        let earliest = Time(now.ps().saturating_sub(late_at_most.ps()));
        self.next_at = self.next_at.max(earliest) + self.interval;
        Some(session)
    }

    /// The session just granted a turn had nothing to send: the turn is not spent.
    pub fn refund(&mut self, now: Time) {
        self.next_at = now.min(Time(self.next_at.ps().saturating_sub(self.interval.ps())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn sessions_take_turns_at_the_pace_of_the_link() {
        let pace = Duration::from_us(12);
        let mut q = PullQueue::new(pace);
        q.push('a', 0);
        q.push('b', 0);
        assert_eq!(q.poll(Time::ZERO), Some('a'));
        q.push('a', 0);
        assert_eq!(q.poll(Time::ZERO), None);
        assert_eq!(q.poll_timeout(), Some(Time::ZERO + pace));
        assert_eq!(q.poll(Time::ZERO + pace), Some('b'));
        assert_eq!(q.poll(Time::ZERO + pace * 2), Some('a'));
        assert_eq!(q.poll_timeout(), None);
    }

    #[test]
    fn the_urgent_go_first_and_equals_take_turns() {
        let mut q = PullQueue::new(Duration::ZERO);
        for (session, urgency) in [('d', 200), ('c', 7), ('a', 1), ('b', 1)] {
            q.push(session, urgency);
        }
        let order: Vec<char> = std::iter::from_fn(|| q.poll(Time::ZERO)).collect();
        assert_eq!(order, ['a', 'b', 'd', 'c'], "beyond the last urgency all are alike");
        assert!(q.is_empty());
    }

    #[test]
    fn who_becomes_more_urgent_goes_sooner() {
        let mut q = PullQueue::new(Duration::ZERO);
        for (session, urgency) in [('a', 1), ('b', 2), ('c', 2)] {
            q.push(session, urgency);
        }
        q.raise('c', 2, 0);
        q.raise('z', 2, 0);
        q.raise('b', 2, 1);
        let order: Vec<char> = std::iter::from_fn(|| q.poll(Time::ZERO)).collect();
        assert_eq!(order, ['c', 'a', 'b']);
        assert!(q.is_empty());
    }

    #[test]
    fn a_turn_that_is_not_used_is_not_spent() {
        let pace = Duration::from_us(10);
        let at = |us| Time::ZERO + Duration::from_us(us);
        for (burst, leaves) in [(0, 1), (3, 4)] {
            let mut q = PullQueue::with_burst(pace, burst);
            q.push('a', 0);
            assert_eq!(q.poll(at(100)), Some('a'));
            q.refund(at(100));
            assert_eq!(granted(&mut q, at(100)), leaves);
            q.set_interval(pace * 3);
            assert_eq!(granted(&mut q, at(110)), 1);
            assert_eq!(q.poll_timeout(), Some(at(140)));
        }
    }

    #[test]
    fn a_hold_lasts_from_now_on_and_holds_do_not_add_up() {
        let pace = Duration::from_us(10);
        let at = |us| Time::ZERO + Duration::from_us(us);
        let mut q = PullQueue::new(pace);
        q.push('a', 0);
        q.hold(at(100), 3);
        q.hold(at(110), 1);
        assert_eq!((q.poll(at(129)), q.poll_timeout()), (None, Some(at(130))));
        assert_eq!(q.poll(at(130)), Some('a'));
    }

    /// Turns taken at once by a session that always wants one.
    fn granted(q: &mut PullQueue<char>, now: Time) -> u64 {
        if q.is_empty() {
            q.push('a', 0);
        }
        let turns = std::iter::from_fn(|| q.poll(now).inspect(|session| q.push(*session, 0)));
        turns.take(1_000_000).count() as u64
    }

    proptest! {
        #[test]
        fn late_wake_ups_cost_no_rate(interval in 1u64..10_000, burst in 0u32..40, late in vec(any::<u64>(), 1..300)) {
            let mut q = PullQueue::with_burst(Duration(interval), burst);
            let first = granted(&mut q, Time::ZERO);
            prop_assert_eq!(first, 1, "nothing is owed at the start of time");
            let (mut now, mut left) = (Time::ZERO, first);
            for late in late {
                let due = q.poll_timeout().expect("it wants more");
                prop_assert!(due > now);
                now = due + Duration(late % (interval * u64::from(burst) + 1));
                let turns = granted(&mut q, now);
                prop_assert!(turns <= u64::from(burst) + 1);
                left += turns;
                // Exactly what a queue that is woken in time would have let go until now.
                prop_assert_eq!(left, now.ps() / interval + 1);
            }
        }

        #[test]
        fn whenever_it_is_woken_no_more_than_its_rate_and_a_burst_leave(
            interval in 1u64..10_000, burst in 0u32..40, pauses in vec(0u64..1_000_000, 1..200),
        ) {
            let mut q = PullQueue::with_burst(Duration(interval), burst);
            let (mut now, mut left) = (Time::ZERO, 0);
            for pause in pauses {
                now += Duration(pause);
                let turns = granted(&mut q, now);
                prop_assert!(turns <= u64::from(burst) + 1);
                left += turns;
                prop_assert!(left <= now.ps() / interval + 1);
            }
        }

        /// Without a burst, a pull leaves an interval after the one before: what was late is lost.
        #[test]
        fn without_a_burst_lateness_is_lost(interval in 1u64..10_000, late in vec(0u64..100_000, 1..200)) {
            let mut q = PullQueue::new(Duration(interval));
            granted(&mut q, Time::ZERO);
            for late in late {
                let now = q.poll_timeout().expect("it wants more") + Duration(late);
                prop_assert_eq!(granted(&mut q, now), 1);
                prop_assert_eq!(q.poll_timeout(), Some(now + Duration(interval)));
            }
        }
    }
}
