//! Pulls at the rate at which whole symbols arrive while switches trim.
//!
//! A trimmed header arrives at once, by a queue of its own. A receiver that pulls another symbol for each of them at once gets more trimmed headers,
//! as fast as the path takes them; so the receivers of NDP and SCDP pull at the rate of their links (NDP §3.2.1, SCDP §IV-C). A real host knows
//! neither where the bottleneck is nor its rate. But while the bottleneck trims, whole symbols arrive at just that rate.

use crate::pacer::Pacer;
use crate::{Duration, Time};

/// The shortest time over which the rate is measured.
const MEASURED_OVER: Duration = Duration::from_ms(1);
/// Weight of a new measurement in the mean.
const GAIN: f64 = 0.25;
/// The time between pulls, as a fraction of the time between whole symbols. Less than 1: the rate may have grown, and idle time at the bottleneck is
/// lost for good.
const INTERVAL_PER_SYMBOL: f64 = 0.95;
/// The longest time per symbol.
const SLOWEST: Duration = Duration::from_ms(10);
/// Pulls leave faster by this factor, again and again, whenever nothing has been trimmed for this long, or for this many symbols' time if that is
/// longer: the bottleneck may carry more than before. Pulls of the whole window at once would find out sooner, and most of it would be trimmed.
const SPEED_UP: f64 = 1.25;
const SPEED_UP_AFTER: Duration = Duration::from_ms(10);
const SPEED_UP_AFTER_SYMBOLS: f64 = 40.0;
/// How much a late timer may make up for: the bottleneck is idle meanwhile, but trims what is more than its queue holds.
const LATE: Duration = Duration::from_ms(4);

/// Whole symbols that arrive from a full queue.
///
/// It begins with a trimmed header, since the bottleneck's queue is full then: time in which nobody pulled, so that the bottleneck was idle, says
/// nothing about its rate. It lasts from a whole symbol to a whole symbol. A host handles at once what has arrived since it last woke, so symbols
/// that are handled at the same time belong to the time before.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    /// The first whole symbol; the trimmed header before there is one.
    since: Time,
    /// The latest whole symbol, and how many came after the first.
    until: Option<Time>,
    whole: u32,
}

impl Measurement {
    const fn from_trimmed(at: Time) -> Self {
        Self { since: at, until: None, whole: 0 }
    }

    const fn from_whole(at: Time) -> Self {
        Self { since: at, until: Some(at), whole: 0 }
    }

    fn on_whole(&mut self, now: Time) {
        if self.until.is_none_or(|until| now.since(until) > SLOWEST) {
            *self = Self::from_whole(now);
        } else if now > self.since {
            (self.until, self.whole) = (Some(now), self.whole + 1);
        }
    }

    /// Once it is complete, for something that arrives now: the time per symbol, and the next measurement if the queue has been full meanwhile.
    fn complete(&self, now: Time, last_trimmed: Time) -> Option<(Duration, Option<Self>)> {
        let Some(until) = self.until else {
            return (now.since(self.since) >= SLOWEST).then_some((SLOWEST, Some(Self::from_trimmed(now))));
        };
        let elapsed = until.since(self.since);
        let next = (last_trimmed > self.since).then_some(Self::from_whole(until));
        (now > until && elapsed >= MEASURED_OVER).then(|| (elapsed / u64::from(self.whole), next))
    }
}

/// When the next pull may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct PullPace {
    measurement: Option<Measurement>,
    /// The mean time between whole symbols, in picoseconds. `None` until a symbol is trimmed.
    ps_per_symbol: Option<f64>,
    last_trimmed: Option<Time>,
    pacer: Pacer,
    /// When the next pull may leave, if one has been asked for too early.
    due: Option<Time>,
}

impl Default for PullPace {
    fn default() -> Self {
        Self { measurement: None, ps_per_symbol: None, last_trimmed: None, pacer: Pacer::new(LATE), due: None }
    }
}

impl PullPace {
    /// A symbol has arrived, whole or trimmed.
    pub(super) fn on_symbol(&mut self, now: Time, trimmed: bool) {
        let complete = self.measurement.zip(self.last_trimmed).and_then(|(one, trimmed)| one.complete(now, trimmed));
        if let Some((per_symbol, next)) = complete {
            let measured = per_symbol.min(SLOWEST).ps() as f64;
            self.ps_per_symbol = Some(self.ps_per_symbol.map_or(measured, |mean| mean + (measured - mean) * GAIN));
            self.measurement = next;
        }
        if trimmed {
            self.last_trimmed = Some(now);
            self.measurement.get_or_insert(Measurement::from_trimmed(now));
        } else if let Some(measurement) = &mut self.measurement {
            measurement.on_whole(now);
        }
    }

    /// Time that a pull takes, in picoseconds, once symbols have been trimmed.
    fn ps_per_pull(&self, now: Time) -> Option<f64> {
        let (ps_per_symbol, quiet) = (self.ps_per_symbol?, now.since(self.last_trimmed?).ps() as f64);
        let step = (SPEED_UP_AFTER.ps() as f64).max(ps_per_symbol * SPEED_UP_AFTER_SYMBOLS);
        // By multiplication, which has the same result on every machine; so many steps end the pacing.
        let steps = ((quiet / step) as u32).min(64);
        Some((0..steps).fold(ps_per_symbol * INTERVAL_PER_SYMBOL, |ps, _| ps / SPEED_UP))
    }

    /// Whether a pull may leave now; otherwise one is [due](Self::due) later.
    pub(super) fn may_leave(&mut self, now: Time) -> bool {
        self.due = self.ps_per_symbol.and_then(|_| self.pacer.wait(now));
        self.due.is_none()
    }

    /// Time has passed: what is due by now is not waited for.
    pub(super) fn on_time(&mut self, now: Time) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// When the next pull may leave, if one waits.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// A pull for one symbol leaves.
    pub(super) fn spend(&mut self, now: Time) {
        if let Some(ps) = self.ps_per_pull(now) {
            self.pacer.spend(now, Duration::from_ps(ps as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Pulls in a second on a path that carries a whole symbol each 100 us, has a queue for eight, and trims whatever else is sent.
    fn pulls(paced: bool) -> (u32, u32) {
        let (mut pace, mut now, mut free) = (PullPace::default(), Time::ZERO, Time::ZERO);
        let (mut pulls, mut arrivals) = (0, VecDeque::new());
        let mut whole = 0;
        while now < Time::ZERO + Duration::from_secs(1) {
            now += Duration::from_us(10);
            while arrivals.pop_front_if(|at: &mut Time| *at <= now).is_some() {
                pace.on_symbol(now, false);
                whole += 1;
            }
            while !paced || pace.may_leave(now) {
                pace.spend(now);
                pulls += 1;
                if free > now + Duration::from_us(800) {
                    pace.on_symbol(now, true);
                    break;
                }
                free = free.max(now) + Duration::from_us(100);
                arrivals.push_back(free);
            }
        }
        (pulls, whole)
    }

    #[test]
    fn pulls_leave_at_the_rate_of_the_bottleneck() {
        let ((many, all), (paced, whole)) = (pulls(false), pulls(true));
        assert!(many > 9 * all, "unpaced, nearly all is trimmed: {many} pulls, {all} symbols");
        assert!(whole > 9_950, "the bottleneck is busy: {whole} of 10000");
        assert!(paced < whole + whole / 10, "{paced} pulls for {whole} symbols");
    }

    #[test]
    fn late_timers_cost_no_pulls() {
        for late in [0, 1, 4].map(Duration::from_ms) {
            // A trimmed header among ten symbols, 100 us each, keeps pulls paced.
            let (mut pace, mut now, mut pulls) = (PullPace::default(), Time::ZERO, 0_u64);
            for n in 0..1000_u64 {
                now += Duration::from_us(100);
                pace.on_symbol(now, n % 10 == 0);
            }
            let (since, mut arrives, mut arrived) = (now, now, 0_u64);
            while now < since + Duration::from_secs(1) {
                while arrives <= now {
                    pace.on_symbol(arrives, arrived.is_multiple_of(10));
                    arrived += 1;
                    arrives += Duration::from_us(100);
                }
                if pace.may_leave(now) {
                    assert!(pulls < 20_000, "unpaced");
                    pace.spend(now);
                    pulls += 1;
                } else {
                    now = pace.due().expect("later") + late;
                }
            }
            assert!((9_300..11_000).contains(&pulls), "{pulls} pulls in a second with timers {late} late");
        }
    }

    #[test]
    fn where_nothing_is_trimmed_nothing_waits() {
        let mut pace = PullPace::default();
        for n in 0..10_000 {
            let now = Time::ZERO + Duration::from_us(n);
            assert!(pace.may_leave(now));
            pace.spend(now);
            pace.on_symbol(now, false);
        }
    }

    #[test]
    fn headers_alone_slow_pulls_down_and_silence_ends_it() {
        let mut pace = PullPace::default();
        let at = |us| Time::ZERO + Duration::from_us(us);
        for n in 0..20_000 {
            pace.on_symbol(at(10 * n), true);
        }
        assert_eq!(pace.ps_per_symbol, Some(SLOWEST.ps() as f64));
        pace.spend(at(200_000));
        assert!(!pace.may_leave(at(200_000)));
        let later = at(200_000) + SPEED_UP_AFTER * 3_000;
        assert!(
            (0..100).all(|_| pace.may_leave(later) && {
                pace.spend(later);
                true
            }),
            "pulls of a whole window leave at once"
        );
    }

    #[test]
    fn idle_time_of_the_bottleneck_says_nothing_about_its_rate() {
        let mut pace = PullPace::default();
        let mut now = Time::ZERO;
        for _ in 0..100 {
            // A queue of ten symbols, 200 us each, that is full, and nothing for as long again.
            now += Duration::from_ms(2);
            pace.on_symbol(now, true);
            for _ in 0..10 {
                now += Duration::from_us(200);
                pace.on_symbol(now, false);
            }
        }
        assert_eq!(pace.ps_per_symbol, Some(Duration::from_us(200).ps() as f64));
    }

    #[test]
    fn symbols_handled_at_once_do_not_look_faster_nor_slower() {
        for batch in [1, 7, 46] {
            let (mut pace, mut now) = (PullPace::default(), Time::ZERO);
            for n in 0..2_000_u64 {
                if n % batch == 0 {
                    now += Duration::from_us(100) * batch;
                }
                pace.on_symbol(now, false);
                if n % 13 == 0 {
                    pace.on_symbol(now, true);
                }
            }
            let us = pace.ps_per_symbol.expect("measured") / 1e6;
            assert!((99.0..101.0).contains(&us), "{us} us in batches of {batch}");
        }
    }

    #[test]
    fn a_bottleneck_that_becomes_faster_is_found_step_by_step() {
        let mut pace = PullPace::default();
        let mut now = Time::ZERO;
        for n in 0..1_000 {
            now += Duration::from_us(100);
            pace.on_symbol(now, n % 20 == 0);
        }
        let per_pull = |pace: &PullPace, now| pace.ps_per_pull(now).expect("paced") / 1e6;
        let before = per_pull(&pace, now);
        assert!((94.0..96.0).contains(&before), "{before} us");
        let since = pace.last_trimmed.expect("some");
        assert_eq!(per_pull(&pace, since + SPEED_UP_AFTER), before / SPEED_UP);
        assert!(per_pull(&pace, since + SPEED_UP_AFTER * 11) < before / 10.0);
    }
}
