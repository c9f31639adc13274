//! The retransmission timer (RFC 6298): round-trip estimate, back-off and the deadline itself.
//!
//! One segment is timed at a time and never a retransmitted one (Karn's algorithm, RFC 6298 §3); the caller picks it.

use super::config::TcpConfig;
use crate::units::{Duration, Time};

/// Retransmission timer of one end.
#[derive(Clone, Debug)]
pub(super) struct RetransmitTimer {
    /// When to fire; [`Time::MAX`] when stopped.
    deadline: Time,
    /// Until when what is handed over now waits in the host's own queue. What has not left is not lost (Linux checks the same
    /// when the timer fires: `skb_still_in_host_queue`).
    departure: Time,
    /// The timeout in force, back-off included.
    rto: Duration,
    /// Smoothed round-trip time; zero before the first sample.
    srtt: Duration,
    variance: Duration,
    min: Duration,
    max: Duration,
    granularity: Duration,
    /// Timeouts since the last progress.
    consecutive: u8,
    retries: u8,
}

impl RetransmitTimer {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            deadline: Time::MAX,
            departure: Time::ZERO,
            // RFC 6298 §2.1: 1 s until there is a sample, for the SYN and whatever follows.
            rto: config.rto_initial.max(config.rto_min).min(config.rto_max),
            srtt: Duration::ZERO,
            variance: Duration::ZERO,
            min: config.rto_min,
            max: config.rto_max,
            granularity: config.clock_granularity,
            consecutive: 0,
            retries: config.retries,
        }
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
        self.srtt
    }

    /// RFC 6298 §5.1: the SYN is sent, for the first time with the timeout of SYNs.
    pub(super) fn start_with(&mut self, now: Time, timeout: Option<Duration>) {
        if self.consecutive == 0
            && let Some(timeout) = timeout
        {
            self.rto = timeout;
        }
        self.restart(now);
    }

    #[inline]
    pub(super) fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.deadline = now.max(self.departure) + self.rto;
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
        self.consecutive = 0;
    }

    /// Timeouts since the last progress.
    pub(super) fn consecutive(&self) -> u8 {
        self.consecutive
    }

    /// A round-trip time of a segment that was sent once (RFC 6298 §2). Ends the back-off.
    pub(super) fn sample(&mut self, rtt: Duration) {
        if self.srtt == Duration::ZERO {
            self.srtt = rtt;
            self.variance = rtt / 2;
        } else {
            let error = Duration(self.srtt.0.abs_diff(rtt.0));
            self.variance = self.variance - self.variance / 4 + error / 4;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        self.rto = (self.srtt + self.granularity.max(self.variance * 4)).max(self.min).min(self.max);
    }

    /// The timer fired: doubles the timeout (RFC 6298 §5.5) and stops. `false` when the retries are exhausted.
    pub(super) fn fire(&mut self) -> bool {
        self.deadline = Time::MAX;
        if self.consecutive >= self.retries {
            return false;
        }
        self.consecutive += 1;
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

    fn timer(min: Duration, granularity: Duration) -> RetransmitTimer {
        RetransmitTimer::new(&TcpConfig { rto_min: min, clock_granularity: granularity, ..TcpConfig::default() })
    }

    #[test]
    fn follows_the_formulas_of_rfc_6298() {
        let mut t = timer(Duration(1), Duration(1));
        t.sample(Duration(8_000));
        assert_eq!(t.rto(), Duration(8_000 + 4 * 4_000), "§2.2: SRTT = R, RTTVAR = R/2");
        t.sample(Duration(16_000));
        // §2.3: RTTVAR = 3/4 * 4000 + 1/4 * |8000 - 16000| = 5000; SRTT = 7/8 * 8000 + 1/8 * 16000 = 9000.
        assert_eq!((t.srtt(), t.rto()), (Duration(9_000), Duration(9_000 + 4 * 5_000)));
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
