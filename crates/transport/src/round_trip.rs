//! The round-trip estimate of RFC 6298 §2, for timeouts that the protocols here keep a configured time above it.

use crate::units::Duration;

/// Smoothed round-trip time and its mean deviation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// Zero before the first sample.
    smoothed: Duration,
    deviation: Duration,
}

impl RoundTrip {
    /// A round trip was measured (RFC 6298 §2.2, §2.3: alpha = 1/8, beta = 1/4).
    pub(crate) fn sample(&mut self, round_trip: Duration) {
        if self.smoothed == Duration::ZERO {
            (self.smoothed, self.deviation) = (round_trip, round_trip / 2);
            return;
        }
        let error = Duration(round_trip.0.abs_diff(self.smoothed.0));
        self.deviation = self.deviation - self.deviation / 4 + error / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + round_trip / 8;
    }

    /// Whether there was a sample.
    pub(crate) fn is_known(&self) -> bool {
        self.smoothed > Duration::ZERO
    }

    /// How long an answer may take: SRTT + max(`least`, 4 RTTVAR); just `least` before the first sample. RFC 6298 §2.3 has the
    /// clock's granularity in its place. Where round trips are all alike their deviation vanishes, and one that takes a
    /// little longer would be a timeout; Linux adds its least timeout, too.
    pub(crate) fn timeout(&self, least: Duration) -> Duration {
        self.smoothed + least.max(self.deviation * 4)
    }
}
