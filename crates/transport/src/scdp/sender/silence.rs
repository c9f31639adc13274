//! How long a receiver has been silent: when it is probed, and when it is given up.

use super::gap::PullGap;
use crate::retries::Retries;
use crate::scdp::config::{LONGEST_TIMEOUT, ScdpConfig};
use crate::{Duration, Time, back_off};

/// One receiver's silence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    last_pull: Time,
    /// A pull may have to wait for its turn in the host's pull queue.
    gap: PullGap,
    /// When its last pull arrived, or it was last due to be probed.
    since: Time,
    /// Probes since its last pull.
    retries: Retries,
    probe_due: bool,
}

impl Silence {
    /// The session begins.
    pub(super) fn begin(&mut self, now: Time) {
        (self.last_pull, self.since) = (now, now);
    }

    #[inline]
    pub(super) fn on_pull(&mut self, now: Time) {
        self.gap.on_pull(now, self.last_pull);
        (self.last_pull, self.since) = (now, now);
        self.retries.on_answer();
    }

    pub(super) fn last_pull(&self) -> Time {
        self.last_pull
    }

    #[inline]
    pub(super) fn is_probe_due(&self) -> bool {
        self.probe_due
    }

    /// It is sent a symbol again, so that it answers or knows that its sender is there.
    pub(super) fn probe(&mut self) {
        self.probe_due = true;
    }

    /// The same, and earlier probes do not count.
    pub(super) fn probe_anew(&mut self) {
        self.retries.on_answer();
        self.probe_due = true;
    }

    /// Nothing is expected of it any more.
    pub(super) fn end(&mut self) {
        self.probe_due = false;
    }

    /// A probe leaves.
    pub(super) fn on_probe(&mut self, departure: Time) {
        self.probe_due = false;
        self.since = self.since.max(departure);
    }

    /// Whether it will be given up soon unless it is probed at once.
    pub(super) fn is_overdue(&self, now: Time, bound: Duration) -> bool {
        self.probe_due && now > self.last_pull + bound / 4
    }

    /// When it is probed, if what it may answer left last at `sent_at`.
    #[inline]
    pub(super) fn probe_at(&self, config: &ScdpConfig, sent_at: Time) -> Option<Time> {
        if self.probe_due {
            return None;
        }
        let shortest = config.probe_timeout;
        let longest = shortest * LONGEST_TIMEOUT;
        // A receiver that answers must be probed often enough not to be given up.
        let longest = config.give_up_after.map_or(longest, |bound| longest.min((bound / 4).max(shortest)));
        let timeout = shortest.max((self.gap.longest() * 2).min(longest));
        Some(self.since.max(sent_at) + back_off(timeout, longest, self.retries.timeouts()))
    }

    /// When it is given up if it stays silent, or has got no more since `exhausted_at` because it asks for too much and completes nothing.
    #[inline]
    pub(super) fn give_up_at(&self, config: &ScdpConfig, exhausted_at: Option<Time>) -> Option<Time> {
        let since = || exhausted_at.map_or(self.last_pull, |at| at.min(self.last_pull));
        config.give_up_after.map(|bound| since() + bound)
    }

    /// It has not answered in time and is to be probed. Returns whether it has left too many probes unanswered.
    pub(super) fn on_timeout(&mut self, now: Time, config: &ScdpConfig) -> bool {
        (self.since, self.probe_due) = (now, true);
        self.retries.on_timeout(config.retries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn config(give_up_after: Option<Duration>) -> ScdpConfig {
        ScdpConfig { probe_timeout: Duration::from_ms(10), retries: 8, give_up_after, ..ScdpConfig::default() }
    }

    /// When a receiver is probed that has sent one pull, and when it is given up.
    fn probes(config: &ScdpConfig, count: usize) -> Vec<u64> {
        let mut silence = Silence::default();
        silence.begin(at(0));
        silence.on_pull(at(1));
        let probe = |_| {
            let due = silence.probe_at(config, at(0)).expect("it waits");
            let lost = silence.on_timeout(due, config);
            assert_eq!(
                (lost, silence.probe_at(config, at(0))),
                (silence.retries.timeouts() > 8, None),
                "not again before this one left"
            );
            silence.on_probe(due);
            due.ps() / 1_000_000_000
        };
        (0..count).map(probe).collect()
    }

    #[test]
    fn probes_come_at_longer_and_longer_intervals() {
        let intervals: Vec<_> = probes(&config(None), 9).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(intervals, [20, 40, 80, 160, 320, 640, 640, 640]);
        let intervals: Vec<_> =
            probes(&config(Some(Duration::from_ms(400))), 6).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(intervals, [20, 40, 80, 100, 100], "four times before it is given up, at least");
    }

    #[test]
    fn what_has_not_left_cannot_be_answered() {
        let silence = Silence::default();
        assert_eq!(silence.probe_at(&config(None), at(70)), Some(at(80)));
    }

    #[test]
    fn who_gets_no_more_is_given_up_although_it_pulls() {
        let bounded = config(Some(Duration::from_ms(400)));
        let mut silence = Silence::default();
        silence.on_pull(at(50));
        assert_eq!(silence.give_up_at(&bounded, None), Some(at(450)));
        assert_eq!(silence.give_up_at(&bounded, Some(at(20))), Some(at(420)));
        assert_eq!(silence.give_up_at(&config(None), Some(at(20))), None);
        silence.probe();
        assert_eq!([150, 151].map(|ms| silence.is_overdue(at(ms), Duration::from_ms(400))), [false, true]);
    }
}
