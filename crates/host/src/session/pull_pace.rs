//! Pulls at the rate at which whole symbols come, while switches trim.
//!
//! A trimmed header comes at once, by a queue of its own. Whoever pulls another symbol for each of them at once gets more trimmed headers,
//! as fast as the path takes them; so the receivers of NDP and SCDP pull at the rate of their links (NDP §3.2.1, SCDP §IV-C). A real host
//! does not know where the bottleneck is, nor its rate. But while it trims, what comes whole comes at just that rate.

use anabranch_transport::{Duration, Time};

/// The rate is measured over so long a time, at least.
const SPAN: Duration = Duration::from_ms(1);
/// Weight of a new measurement.
const GAIN: f64 = 0.25;
/// Pulls leave a little faster than whole symbols come: the rate may have grown, and idle time at the bottleneck is lost for ever.
const FASTER: f64 = 0.95;
/// A span in which only headers came counts as this many times the time for one symbol that was known.
const BACK_OFF: f64 = 2.0;
/// The slowest: so long for one symbol.
const SLOWEST: Duration = Duration::from_ms(10);
/// Pulls are paced until nothing was trimmed for so long.
const RECENT: Duration = Duration::from_ms(10);
/// How much a late timer may make up for at once.
const BURST: Duration = Duration::from_us(500);

/// When the next pull may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PullPace {
    since: Time,
    whole: u32,
    trimmed: u32,
    /// Picoseconds that a whole symbol takes.
    each: Option<f64>,
    trimmed_at: Option<Time>,
    next: Time,
}

impl PullPace {
    /// A symbol has come.
    pub(super) fn on_symbol(&mut self, now: Time, trimmed: bool) {
        if trimmed {
            self.trimmed += 1;
            self.trimmed_at = Some(now);
        } else {
            self.whole += 1;
        }
        let span = now.since(self.since);
        if span < SPAN {
            return;
        }
        if self.trimmed > 0 && span < RECENT {
            let one = match (self.whole, self.each) {
                (0, each) => each.unwrap_or(span.ps() as f64) * BACK_OFF,
                (whole, None) => span.ps() as f64 / f64::from(whole),
                (whole, Some(each)) => each + (span.ps() as f64 / f64::from(whole) - each) * GAIN,
            };
            self.each = Some(one.min(SLOWEST.ps() as f64));
        }
        (self.since, self.whole, self.trimmed) = (now, 0, 0);
    }

    /// Picoseconds for each pull, while pulls are paced.
    fn each(&self, now: Time) -> Option<f64> {
        self.each.filter(|_| self.trimmed_at.is_some_and(|at| now.since(at) < RECENT))
    }

    /// Until when no pull may leave.
    pub(super) fn until(&self, now: Time) -> Option<Time> {
        (self.next > now && self.each(now).is_some()).then_some(self.next)
    }

    /// A pull for one symbol leaves.
    pub(super) fn spend(&mut self, now: Time) {
        if let Some(each) = self.each(now) {
            let earliest = Time(now.ps().saturating_sub(BURST.ps()));
            self.next = self.next.max(earliest) + Duration::from_ps((each * FASTER) as u64);
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
            while !paced || pace.until(now).is_none() {
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
    fn where_nothing_is_trimmed_nothing_waits() {
        let mut pace = PullPace::default();
        for n in 0..10_000 {
            let now = Time::ZERO + Duration::from_us(n);
            assert_eq!(pace.until(now), None);
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
            last = Duration::from_ps(pace.each.unwrap_or(0.0) as u64);
        }
        assert_eq!(last, SLOWEST);
        pace.spend(at(200_000));
        assert!(pace.until(at(200_000)).is_some());
        assert_eq!(pace.until(at(200_000) + RECENT), None);
    }
}
