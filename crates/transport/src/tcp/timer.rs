//! TCP's retransmission timer (RFC 6298 §2 and §5): the timeout with its bounds, back-off and the deadline itself.
//!
//! One segment is timed at a time and never a retransmitted one (Karn's algorithm, RFC 6298 §3); the caller picks it.

use super::config::TcpConfig;
use crate::retries::Retries;
use crate::round_trip::RoundTrip;
use crate::units::{Duration, Time};

/// Retransmission timer of one end.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    /// When to fire; [`Time::MAX`] when stopped.
    deadline: Time,
    /// Until when what is handed over now waits in the host's own queue. What has not left is not lost (Linux checks the same
    /// when the timer fires: `skb_still_in_host_queue`).
    departure: Time,
    /// The timeout in force, back-off included.
    rto: Duration,
    round_trip: RoundTrip,
    min: Duration,
    max: Duration,
    granularity: Duration,
    /// Timeouts since the last progress.
    retries: Retries,
    most_retries: u32,
}

impl RetransmissionTimer {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let mut timer = Self {
            deadline: Time::MAX,
            departure: Time::ZERO,
            // RFC 6298 §2.1: 1 s until there is a sample, for the SYN and whatever follows.
            rto: config.rto_initial.max(config.rto_min).min(config.rto_max),
            round_trip: RoundTrip::default(),
            min: config.rto_min,
            max: config.rto_max,
            granularity: config.clock_granularity,
            retries: Retries::default(),
            most_retries: config.retries.into(),
        };
        if let Some(rtt) = config.known_rtt {
            timer.sample(rtt);
        }
        timer
    }

    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    #[inline]
    pub(super) fn srtt(&self) -> Duration {
        self.round_trip.smoothed()
    }

    /// RFC 6298 §5.1: the SYN is sent, for the first time with the timeout of SYNs.
    pub(super) fn start_with(&mut self, now: Time, timeout: Duration) {
        if self.retries.timeouts() == 0 {
            self.rto = timeout;
        }
        self.restart(now);
    }

    #[inline]
    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    /// So long after what is handed over now has left the host.
    #[inline]
    pub(super) fn after(&self, now: Time, wait: Duration) -> Time {
        now.max(self.departure) + wait
    }

    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.deadline = self.after(now, self.rto);
    }

    /// RFC 6298 §5.1: sending starts the timer unless it runs.
    #[inline]
    pub(super) fn start(&mut self, now: Time) {
        if self.deadline == Time::MAX {
            self.restart(now);
        }
    }

    #[inline]
    pub(super) fn stop(&mut self) {
        self.deadline = Time::MAX;
    }

    /// The other end acknowledged something new.
    #[inline]
    pub(super) fn progress(&mut self) {
        self.retries.on_answer();
    }

    /// Timeouts since the last progress.
    pub(super) fn consecutive(&self) -> u32 {
        self.retries.timeouts()
    }

    /// A round-trip time of a segment that was sent once (RFC 6298 §2). Ends the back-off.
    pub(super) fn sample(&mut self, rtt: Duration) {
        self.round_trip.sample(rtt);
        self.rto = self.round_trip.timeout(self.granularity).max(self.min).min(self.max);
    }

    /// The timer fired: doubles the timeout (RFC 6298 §5.5) and stops. `false` when the retries are exhausted.
    pub(super) fn fire(&mut self) -> bool {
        self.deadline = Time::MAX;
        if self.retries.on_timeout(self.most_retries) {
            return false;
        }
        self.rto = (self.rto * 2).min(self.max);
        true
    }

    /// RFC 6298 §5.7: when a SYN had to be repeated there is no sample, and data starts with 3 s. Three times an initial
    /// timeout that is shorter than the 1 s of §2.1, so that a scenario with such a one keeps its scale; no less than a
    /// longer one.
    pub(super) fn reset_after_lost_syn(&mut self, initial: Duration) {
        self.rto = (initial * 3).min(Duration::from_secs(3)).max(initial).max(self.min).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(min: Duration, granularity: Duration) -> RetransmissionTimer {
        RetransmissionTimer::new(&TcpConfig { rto_min: min, clock_granularity: granularity, ..TcpConfig::default() })
    }

    #[test]
    fn steady_round_trips_leave_the_granularity_as_margin() {
        let mut t = timer(Duration::from_us(10), Duration::from_us(1));
        for _ in 0..200 {
            t.sample(Duration::from_us(40));
        }
        assert_eq!(t.rto(), Duration::from_us(41));
    }

    #[test]
    fn the_bounds_hold_and_back_off_ends_with_a_sample() {
        let mut t = timer(Duration::from_ms(200), Duration::from_us(1));
        t.sample(Duration::from_us(100));
        assert_eq!(t.rto(), Duration::from_ms(200));
        for _ in 0..15 {
            assert!(t.fire());
        }
        assert!(!t.fire(), "15 retries");
        assert_eq!(t.rto(), Duration::from_secs(60));
        t.sample(Duration::from_us(100));
        assert_eq!(t.rto(), Duration::from_ms(200));
    }
}
