//! The round trip of an idle path: a windowed minimum filter over measured ones (draft-cardwell-iccrg-bbr-congestion-control-02 §4.3.4:
//! `BBR.min_rtt`).
//!
//! A symbol may have left before it was asked for, as the answer to a repeated pull of this receiver or another. So a single round trip is
//! never taken as the least, only the longer of two in a row.

use crate::{Duration, Time};

/// The least round trip is valid this long; then it is probed (ibid. §2.8, §4.3.4).
const VALID_FOR: Duration = Duration::from_secs(10);

/// The least round trip of the last seconds, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeastRoundTrip {
    /// With the time at which it was seen.
    least: Option<(f64, Time)>,
    last: Option<f64>,
    /// The least since the probe in progress began.
    probed: f64,
}

impl Default for LeastRoundTrip {
    fn default() -> Self {
        Self { least: None, last: None, probed: f64::INFINITY }
    }
}

impl LeastRoundTrip {
    /// `None` before two in a row were measured.
    pub(super) fn get(&self) -> Option<f64> {
        self.least.map(|(least, _)| least)
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, now: Time, taken: f64) {
        let longer = self.last.replace(taken).map_or(f64::INFINITY, |last| taken.max(last));
        if longer.is_finite() && self.least.is_none_or(|(least, _)| longer <= least) {
            self.least = Some((longer, now));
        }
        self.probed = self.probed.min(longer);
    }

    /// The next round trip does not follow the last one.
    pub(super) fn interrupt(&mut self) {
        self.last = None;
    }

    /// Whether it is so old that the path may have become longer.
    pub(super) fn is_stale(&self, now: Time) -> bool {
        self.least.is_some_and(|(_, seen)| now - seen >= VALID_FOR)
    }

    /// The window is small from now on: round trips are those of an idle path.
    pub(super) fn begin_probe(&mut self) {
        (self.probed, self.last) = (f64::INFINITY, None);
    }

    /// The least one since then is believed, even if it is longer.
    pub(super) fn end_probe(&mut self, now: Time) {
        if self.probed.is_finite() {
            self.least = Some((self.probed, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Time {
        Time::ZERO + Duration::from_secs(secs)
    }

    /// The least of these round trips, in whole picoseconds.
    fn least(round_trips: &[f64]) -> Option<u64> {
        let mut least = LeastRoundTrip::default();
        for taken in round_trips {
            least.sample(at(0), *taken);
        }
        least.get().map(|least| least as u64)
    }

    #[test]
    fn it_is_the_longer_of_two_in_a_row() {
        assert_eq!((least(&[7.0]), least(&[7.0, 9.0]), least(&[7.0, 9.0, 8.0])), (None, Some(9), Some(9)));
        assert_eq!(least(&[9.0, 9.0, 1.0, 9.0, 8.0]), Some(9), "a single short one is not believed");
        assert_eq!(least(&[9.0, 9.0, 1.0, 2.0]), Some(2));
    }

    #[test]
    fn an_interruption_parts_two_in_a_row() {
        let mut least = LeastRoundTrip::default();
        least.sample(at(0), 7.0);
        least.interrupt();
        least.sample(at(0), 7.0);
        assert_eq!(least.get(), None);
    }

    #[test]
    fn after_ten_seconds_a_probe_replaces_it_by_a_longer_one() {
        let mut least = LeastRoundTrip::default();
        (0..2).for_each(|_| least.sample(at(1), 7.0));
        assert!(!least.is_stale(at(10)) && least.is_stale(at(11)));
        least.begin_probe();
        least.sample(at(11), 9.0);
        least.end_probe(at(11));
        assert_eq!(least.get(), Some(7.0), "one alone was measured");
        least.begin_probe();
        for taken in [9.0, 8.0, 8.0] {
            least.sample(at(12), taken);
        }
        least.end_probe(at(12));
        assert_eq!((least.get(), least.is_stale(at(21)), least.is_stale(at(22))), (Some(8.0), false, true));
    }
}
