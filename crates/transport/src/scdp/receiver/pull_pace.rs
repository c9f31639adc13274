//! Pulls at the rate at which whole symbols arrive while switches trim.
//!
//! A trimmed header arrives at once, by a queue of its own. A receiver that pulls another symbol for each of them at once gets more trimmed headers,
//! as fast as the path takes them; so the receivers of NDP and SCDP pull at the rate of their links (NDP §3.2.1, SCDP §IV-C). A real host knows
//! neither where the bottleneck is nor its rate. But while the bottleneck trims, whole symbols arrive at just that rate.

use crate::pacer::Pacer;
use crate::{Duration, Time};

/// The shortest measurement interval for the rate.
const MEASURED_OVER: Duration = Duration::from_ms(1);
/// Weight of a new measurement in the mean.
const GAIN: f64 = 0.25;
/// The time between pulls, as a fraction of the time between whole symbols. Less than 1: the rate may have grown, and idle time at the bottleneck is
/// lost for good.
const INTERVAL_PER_SYMBOL: f64 = 0.95;
/// A measurement in which only trimmed headers arrived counts as this many times the time per symbol known before.
const BACK_OFF: f64 = 2.0;
/// The longest time per symbol.
const SLOWEST: Duration = Duration::from_ms(10);
/// Pulls are paced until nothing has been trimmed for this long.
const PACED_AFTER_TRIM: Duration = Duration::from_ms(10);
/// How much a late timer may make up for: the bottleneck is idle meanwhile, but trims what is more than its queue holds.
const LATE: Duration = Duration::from_ms(4);

/// When the next pull may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct PullPace {
    /// When the current measurement began, and what has arrived since then.
    measured_since: Time,
    whole_symbols: u32,
    trimmed_headers: u32,
    /// The mean time between whole symbols, in picoseconds. `None` until a symbol is trimmed.
    ps_per_symbol: Option<f64>,
    last_trimmed: Option<Time>,
    pacer: Pacer,
    /// When the next pull may leave, if one has been asked for too early.
    due: Option<Time>,
}

impl Default for PullPace {
    fn default() -> Self {
        Self {
            measured_since: Time::ZERO,
            whole_symbols: 0,
            trimmed_headers: 0,
            ps_per_symbol: None,
            last_trimmed: None,
            pacer: Pacer::new(LATE),
            due: None,
        }
    }
}

impl PullPace {
    /// A symbol has arrived, whole or trimmed.
    pub(super) fn on_symbol(&mut self, now: Time, trimmed: bool) {
        if trimmed {
            self.trimmed_headers += 1;
            self.last_trimmed = Some(now);
        } else {
            self.whole_symbols += 1;
        }
        let elapsed = now.since(self.measured_since);
        if elapsed < MEASURED_OVER {
            return;
        }
        if self.trimmed_headers > 0 && elapsed < PACED_AFTER_TRIM {
            let elapsed_ps = elapsed.ps() as f64;
            let ps_per_symbol = match (self.whole_symbols, self.ps_per_symbol) {
                (0, mean) => mean.unwrap_or(elapsed_ps) * BACK_OFF,
                (whole, None) => elapsed_ps / f64::from(whole),
                (whole, Some(mean)) => mean + (elapsed_ps / f64::from(whole) - mean) * GAIN,
            };
            self.ps_per_symbol = Some(ps_per_symbol.min(SLOWEST.ps() as f64));
        }
        (self.measured_since, self.whole_symbols, self.trimmed_headers) = (now, 0, 0);
    }

    /// Picoseconds per symbol, while pulls are paced.
    fn paced_ps_per_symbol(&self, now: Time) -> Option<f64> {
        self.ps_per_symbol.filter(|_| self.last_trimmed.is_some_and(|at| now.since(at) < PACED_AFTER_TRIM))
    }

    /// Whether a pull may leave now; otherwise one is [due](Self::due) later.
    pub(super) fn may_leave(&mut self, now: Time) -> bool {
        self.due = self.paced_ps_per_symbol(now).and_then(|_| self.pacer.wait(now));
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
        if let Some(ps_per_symbol) = self.paced_ps_per_symbol(now) {
            self.pacer.spend(now, Duration::from_ps((ps_per_symbol * INTERVAL_PER_SYMBOL) as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pulls in a second on a path that takes a whole symbol each 100 us and trims whatever else is sent, 50 us after its pull.
    fn pulls(paced: bool) -> (u32, u32) {
        let (mut pace, mut now, mut free) = (PullPace::default(), Time::ZERO, Time::ZERO);
        let (mut pulls, mut whole) = (0, 0);
        while now < Time::ZERO + Duration::from_secs(1) {
            now += Duration::from_us(10);
            while !paced || pace.may_leave(now) {
                pace.spend(now);
                pulls += 1;
                let trimmed = free > now;
                if !trimmed {
                    free = free.max(now) + Duration::from_us(100);
                    whole += 1;
                }
                pace.on_symbol(now, trimmed);
                if trimmed {
                    break;
                }
            }
        }
        (pulls, whole)
    }

    #[test]
    fn pulls_leave_at_the_rate_of_the_bottleneck() {
        let ((many, all), (paced, whole)) = (pulls(false), pulls(true));
        assert!(many > 9 * all, "unpaced, nearly all is trimmed: {many} pulls, {all} symbols");
        assert!(whole > 9_500, "the bottleneck is busy: {whole} of 10000");
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
        let mut last = Duration::ZERO;
        for n in 0..20_000 {
            pace.on_symbol(at(10 * n), true);
            last = Duration::from_ps(pace.ps_per_symbol.unwrap_or(0.0) as u64);
        }
        assert_eq!(last, SLOWEST);
        pace.spend(at(200_000));
        assert!(!pace.may_leave(at(200_000)));
        assert!(pace.may_leave(at(200_000) + PACED_AFTER_TRIM));
    }
}
