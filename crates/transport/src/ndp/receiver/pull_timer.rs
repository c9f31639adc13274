//! When a receiver takes for lost what it has asked for, and for how long it lingers once it has everything.

use super::asking::Measured;
use crate::ndp::NdpConfig;
use crate::ndp::timer::{NEVER, RetransmissionTimer};
use crate::units::{Duration, Time};

/// Silence after which even a receiver that knows no round trip takes for lost what it has asked for: the first timeout of
/// RFC 6298 (§2.1).
const LONGEST_FIRST_ROUND_TRIP: Duration = Duration::from_secs(1);

/// What is overdue. While packets come, what has not come for a timeout; when none come, everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Nothing,
    /// What was asked for a timeout ago.
    Old,
    All,
    /// All, perhaps: no round trip is known yet.
    Unknown,
}

/// The timer of a receiver.
#[derive(Clone, Debug)]
pub(super) struct PullTimer {
    timeout: RetransmissionTimer,
    deadline: Time,
    linger: Duration,
    /// When a packet last came, or a pull last left.
    active_at: Time,
    /// When pulls last aged.
    aged_at: Time,
}

impl PullTimer {
    pub(super) fn new(config: &NdpConfig) -> Self {
        Self {
            timeout: RetransmissionTimer::new(config.pull_timeout, config.rto_initial, config.retries),
            deadline: NEVER,
            linger: config.linger,
            active_at: Time::ZERO,
            aged_at: Time::ZERO,
        }
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn open(&mut self, now: Time) {
        self.aged_at = now;
        self.deadline = now + self.timeout.timeout();
    }

    pub(super) fn stop(&mut self) {
        self.deadline = NEVER;
    }

    /// Whether a round trip is known.
    pub(super) fn is_measured(&self) -> bool {
        self.timeout.is_measured()
    }

    /// A packet came, or a new pull leaves.
    pub(super) fn on_activity(&mut self, now: Time) {
        self.active_at = now;
    }

    /// A packet of the object came, while more are missing: the timeout is no longer backed off.
    pub(super) fn on_packet(&mut self, now: Time) {
        if self.timeout.on_packet() {
            self.hasten(now);
        }
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, now: Time, Measured { round_trip, at_most }: Measured) {
        let is_first = if at_most { self.timeout.sample_at_most(round_trip) } else { self.timeout.sample(round_trip) };
        if is_first {
            // The timer was set for a time that nothing was known of.
            self.hasten(now);
        }
    }

    fn hasten(&mut self, now: Time) {
        self.deadline = self.deadline.min(now + self.timeout.timeout());
    }

    /// What is overdue at the deadline, and whether nothing has come for a timeout.
    pub(super) fn overdue(&mut self, now: Time) -> (Overdue, bool) {
        let interval = self.timeout.timeout();
        let silence = now.since(self.active_at);
        let quiet = silence >= interval;
        if !self.is_measured() && silence < LONGEST_FIRST_ROUND_TRIP {
            return (Overdue::Unknown, quiet);
        }
        if !quiet && now.since(self.aged_at) < interval {
            return (Overdue::Nothing, quiet);
        }
        self.aged_at = now;
        (if quiet { Overdue::All } else { Overdue::Old }, quiet)
    }

    /// Another timeout in a row with nothing from the sender. Returns whether it is given up.
    pub(super) fn back_off(&mut self) -> bool {
        self.timeout.back_off()
    }

    /// Sets the timer anew after the deadline; `quiet` as [`overdue`](Self::overdue) said.
    pub(super) fn rearm(&mut self, now: Time, quiet: bool) {
        let since = if quiet { now } else { self.active_at };
        self.deadline = since + self.timeout.timeout();
    }

    /// Everything is here.
    pub(super) fn begin_lingering(&mut self, now: Time) {
        self.deadline = now + self.linger;
    }

    /// Whether packets have come since, so that it goes on: until none have for as long.
    pub(super) fn lingers_on(&mut self, now: Time) -> bool {
        self.deadline = self.active_at + self.linger;
        now < self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn sample(ms: u64) -> Measured {
        Measured { round_trip: Duration::from_ms(ms), at_most: false }
    }

    fn timer() -> PullTimer {
        let mut timer = PullTimer::new(&NdpConfig { retries: 2, ..NdpConfig::default() });
        timer.open(ms(0));
        timer.on_activity(ms(0));
        timer
    }

    #[test]
    fn nothing_is_written_off_before_a_round_trip_is_known_or_could_have_been() {
        let mut timer = timer();
        assert_eq!(timer.deadline(), ms(50), "rto_initial");
        assert_eq!(
            [49, 50, 999, 1000].map(|at| timer.overdue(ms(at))),
            [(Overdue::Unknown, false), (Overdue::Unknown, true), (Overdue::Unknown, true), (Overdue::All, true),]
        );
    }

    #[test]
    fn while_packets_come_pulls_age_and_in_silence_all_are_lost() {
        let mut timer = timer();
        timer.sample(ms(8), sample(8));
        assert_eq!(timer.deadline(), ms(8 + 8 + 16), "the first sample hastens it");
        timer.on_activity(ms(30));
        assert_eq!(timer.overdue(ms(32)), (Overdue::Old, false));
        assert_eq!(timer.overdue(ms(40)), (Overdue::Nothing, false), "they have just aged");
        timer.rearm(ms(40), false);
        assert_eq!((timer.deadline(), timer.overdue(ms(54))), (ms(54), (Overdue::All, true)));
    }

    #[test]
    fn pauses_double_until_retries_are_exhausted_or_a_packet_comes() {
        let mut timer = timer();
        timer.sample(ms(8), sample(8));
        assert!(!timer.back_off() && !timer.back_off());
        timer.rearm(ms(100), true);
        assert_eq!(timer.deadline(), ms(100 + 4 * 24));
        timer.on_packet(ms(101));
        assert_eq!(timer.deadline(), ms(101 + 24));
        assert_eq!([1, 2, 3].map(|_| timer.back_off()), [false, false, true]);
    }

    #[test]
    fn lingers_until_no_copies_come() {
        let mut timer = timer();
        timer.begin_lingering(ms(10));
        timer.on_activity(ms(400));
        assert!(timer.lingers_on(ms(510)));
        assert_eq!((timer.deadline(), timer.lingers_on(ms(900))), (ms(900), false));
    }
}
