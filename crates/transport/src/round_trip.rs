//! The round-trip estimate of RFC 6298 §2, of which all retransmission timers here are made.
//!
//! They differ in what keeps the timeout above the round trip where these are all alike: TCP has the clock's granularity, as
//! RFC 6298 says, and bounds on the sum; NDP and SCDP have their configured timeout there, and bounds on the samples.

use crate::units::Duration;

/// Smoothed round-trip time and its variation (SRTT and RTTVAR).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// Zero before the first sample.
    smoothed: Duration,
    variation: Duration,
}

impl RoundTrip {
    /// A round trip was measured (RFC 6298 §2.2, §2.3: alpha = 1/8, beta = 1/4).
    pub(crate) fn sample(&mut self, round_trip: Duration) {
        if self.smoothed == Duration::ZERO {
            (self.smoothed, self.variation) = (round_trip, round_trip / 2);
            return;
        }
        let error = Duration(round_trip.0.abs_diff(self.smoothed.0));
        self.variation = self.variation - self.variation / 4 + error / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + round_trip / 8;
    }

    /// Whether there was a sample.
    pub(crate) fn is_known(&self) -> bool {
        self.smoothed > Duration::ZERO
    }

    /// SRTT; zero before the first sample.
    #[inline]
    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// How long an answer may take: SRTT + max(`margin`, 4 RTTVAR); just `margin` before the first sample. In RFC 6298 §2.3 the
    /// margin is the clock's granularity. Where round trips are all alike RTTVAR vanishes, and one that takes a little longer
    /// would be a timeout: a larger margin keeps clear of that, as Linux's does, which is its least timeout.
    pub(crate) fn timeout(&self, margin: Duration) -> Duration {
        self.smoothed + margin.max(self.variation * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_formulas_of_rfc_6298() {
        let mut r = RoundTrip::default();
        assert_eq!((r.is_known(), r.timeout(Duration(1))), (false, Duration(1)));
        r.sample(Duration(8_000));
        assert_eq!(r.timeout(Duration(1)), Duration(8_000 + 4 * 4_000), "§2.2: SRTT = R, RTTVAR = R/2");
        r.sample(Duration(16_000));
        // §2.3: RTTVAR = 3/4 * 4000 + 1/4 * |8000 - 16000| = 5000; SRTT = 7/8 * 8000 + 1/8 * 16000 = 9000.
        assert_eq!((r.smoothed(), r.timeout(Duration(1))), (Duration(9_000), Duration(9_000 + 4 * 5_000)));
        assert_eq!(r.timeout(Duration(30_000)), Duration(9_000 + 30_000));
    }
}
