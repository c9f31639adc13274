//! The most that a path is known to carry without loss: the ceiling of BBR's second version.
//!
//! A loss of more than 2 % ends a search for a larger window and leaves a ceiling; below it, room is left for others. Losses between
//! two searches lower the window only until the next one (draft-cardwell-iccrg-bbr-congestion-control-02 §4.3.3.6, §4.5.10: `inflight_hi`
//! and `inflight_lo`). Rates are not known here: a search stops by itself where they bound the window.

use crate::{Duration, Time};

/// The least part of the window that remains after a loss (ibid. §2.7: `BBRBeta`).
pub(super) const BETA: f64 = 0.7;
/// The part of the ceiling that is used between searches (ibid. §2.7: `BBRHeadroom` = 0.15).
const USED: f64 = 0.85;
/// A search begins after at most this many round trips: as many as Reno takes to make up for a loss, up to this (ibid. §4.3.3.6).
const MOST_ROUNDS: u64 = 63;
/// ... or after this time.
const LONGEST: Duration = Duration::from_secs(2);

/// Bounds on a window set by losses and marks, in symbols.
#[derive(Clone, Debug, Default)]
pub(super) struct Ceiling {
    /// Beyond this, more than 2 % were lost.
    high: Option<f64>,
    /// Bound until the next search.
    low: Option<f64>,
    /// Symbols by which the next round trip of a search raises `high`; `None` between searches.
    rise: Option<f64>,
    /// Round trips since the last search.
    rounds: u64,
    since: Option<Time>,
}

impl Ceiling {
    /// The window, given the window `wanted` if there were no losses.
    pub(super) fn bound(&self, wanted: f64) -> f64 {
        let high = self.high.map_or(f64::INFINITY, |high| if self.rise.is_some() { high } else { high * USED });
        wanted.min(high).min(self.low.unwrap_or(f64::INFINITY))
    }

    /// More than 2 % of the symbols of a `window` were lost, and `arrived` of them arrived.
    pub(super) fn on_loss(&mut self, now: Time, window: f64, arrived: f64) {
        let left = arrived.min(window).max(window * BETA);
        if self.rise.take().is_some() || self.high.is_none() {
            (self.high, self.low) = (Some(left), None);
            (self.rounds, self.since) = (0, Some(now));
        } else {
            self.low = Some(left);
        }
    }

    /// Symbols were marked: the window is cut in proportion (RFC 8257 §3.3), `cut` from 0 to 1.
    pub(super) fn on_marks(&mut self, now: Time, window: f64, cut: f64) {
        if self.rise.take().is_some() {
            self.high = Some(window);
            (self.rounds, self.since) = (0, Some(now));
        }
        self.since.get_or_insert(now);
        self.low = Some(window * (1.0 - cut));
    }

    /// A round trip has passed without losses or marks; `window` symbols were in flight, `wanted` if there were no ceiling.
    pub(super) fn on_round(&mut self, now: Time, window: f64, wanted: f64) {
        if self.high.is_none() && self.low.is_none() {
            return;
        }
        self.rounds += 1;
        if let (Some(rise), Some(high)) = (&mut self.rise, &mut self.high) {
            *high += *rise;
            *rise *= 2.0;
            if *high >= wanted {
                // It does not bound the window any more.
                *self = Self::default();
            }
            return;
        }
        if let Some(low) = &mut self.low {
            *low += 1.0;
        }
        let late = self.since.is_some_and(|since| now - since >= LONGEST);
        if late || self.rounds >= MOST_ROUNDS.min(window as u64) {
            let high = self.high.unwrap_or(window).max(window);
            (self.high, self.low, self.rise) = (Some(high), None, Some(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn is(a: f64, b: f64) -> bool {
        a.total_cmp(&b).is_eq() || (a - b).abs() < 1e-9
    }

    #[test]
    fn what_arrived_is_left_and_room_for_others() {
        let mut c = Ceiling::default();
        assert!(is(c.bound(500.0), 500.0));
        c.on_loss(at(1), 200.0, 180.0);
        assert!(is(c.bound(500.0), 180.0 * USED));
        assert!(is(c.bound(100.0), 100.0), "it is a ceiling");
        // Between searches, losses lower the window only for a while, and by no more than BETA.
        c.on_loss(at(2), 153.0, 20.0);
        assert!(is(c.bound(500.0), 153.0 * BETA));
    }

    #[test]
    fn a_search_rises_ever_faster_and_ends_with_a_loss() {
        let mut c = Ceiling::default();
        c.on_loss(at(1), 20.0, 20.0);
        let mut windows = Vec::new();
        for ms in 2..24 {
            c.on_round(at(ms), c.bound(500.0), 500.0);
            windows.push(c.bound(500.0));
        }
        let expected = [17.0; 16].into_iter().chain([20.0, 21.0, 23.0, 27.0, 35.0, 51.0]);
        assert!(windows.iter().zip(expected).all(|(&a, b)| is(a, b)), "as long as Reno takes, then: {windows:?}");
        c.on_loss(at(30), 51.0, 40.0);
        assert!(is(c.bound(500.0), 40.0 * USED));
        // A path whose round trips are long is searched after two seconds.
        c.on_round(at(2_030), 34.0, 500.0);
        assert!(is(c.bound(500.0), 40.0));
        // A search that finds nothing ends where the window is bounded anyway.
        for ms in 0..4 {
            c.on_round(at(2_040 + ms), 40.0, 50.0);
        }
        assert!(is(c.bound(f64::INFINITY), f64::INFINITY));
    }

    #[test]
    fn marks_cut_in_proportion_and_what_they_cut_comes_back() {
        let mut c = Ceiling::default();
        c.on_marks(at(1), 100.0, 0.05);
        assert!(is(c.bound(500.0), 95.0));
        c.on_round(at(2), 95.0, 500.0);
        assert!(is(c.bound(500.0), 96.0));
    }
}
