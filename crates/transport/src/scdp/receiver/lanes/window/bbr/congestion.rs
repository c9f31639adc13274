//! What losses and marks say: whether more was sent than the path carries.

/// Part of the symbols that may be lost (draft-cardwell-iccrg-bbr-congestion-control-02 §2.7: `BBRLossThresh`).
const LOSS: f64 = 0.02;
/// Losses are judged over at most this many symbols. Fewer are less significant: by chance more than [`LOSS`] of them may be lost. So the
/// losses must exceed the expected number by [`BEYOND_CHANCE`] standard deviations (of a Poisson distribution).
const JUDGED_BY: u32 = 500;
const BEYOND_CHANCE: f64 = 1.65;
/// Part of a round trip's symbols that, when marked, ends start-up (`ecn_thresh` of Google's second version).
const MARKED: f64 = 0.5;
/// Weight of a round trip in the smoothed part of symbols that are marked (RFC 8257 §3.3: g).
const MARKS_GAIN: f64 = 1.0 / 16.0;

/// Losses since they were last judged, and marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    /// Symbols that have arrived, or are lost.
    judged: u32,
    lost: u32,
    /// Part of the symbols that are marked, smoothed.
    marked: f64,
}

impl Default for Congestion {
    fn default() -> Self {
        // RFC 8257 §3.3: all are, at first.
        Self { judged: 0, lost: 0, marked: 1.0 }
    }
}

/// Whether so many of a round trip's symbols were marked that start-up ends; `marked` from 0 to 1.
pub(super) fn ends_startup(marked: f64) -> bool {
    marked > MARKED
}

impl Congestion {
    /// A symbol has arrived whole.
    pub(super) fn on_arrival(&mut self) {
        self.judged += 1;
    }

    pub(super) fn on_lost(&mut self, count: u32) {
        (self.judged, self.lost) = (self.judged.saturating_add(count), self.lost.saturating_add(count));
    }

    /// A round trip is over. Whether too many symbols were lost, `least` of them at least: counting restarts once that is decided. `marked`:
    /// the part that was marked, from 0 to 1.
    pub(super) fn on_round(&mut self, marked: f64, least: u32) -> bool {
        self.marked += (marked - self.marked) * MARKS_GAIN;
        let allowed = LOSS * f64::from(self.judged);
        let is_lossy = f64::from(self.lost) > allowed + BEYOND_CHANCE * allowed.sqrt() && self.lost >= least;
        if is_lossy || self.judged >= JUDGED_BY {
            (self.judged, self.lost) = (0, 0);
        }
        is_lossy
    }

    /// The part by which marks cut a window, from 0 to 1 (RFC 8257 §3.3).
    pub(super) fn cut(&self) -> f64 {
        self.marked / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a round trip is lossy in which so many arrive and are lost.
    fn round(congestion: &mut Congestion, arrived: u32, lost: u32) -> bool {
        (0..arrived).for_each(|_| congestion.on_arrival());
        congestion.on_lost(lost);
        congestion.on_round(0.0, 0)
    }

    #[test]
    fn two_percent_may_be_lost_and_a_little_more_by_chance() {
        // 2 of 100, and 1.65 times the square root of that.
        let lossy = [0, 2, 4, 5, 100].map(|lost| round(&mut Congestion::default(), 100 - lost, lost));
        assert_eq!(lossy, [false, false, false, true, true]);
        let mut startup = Congestion::default();
        startup.on_lost(7);
        assert!(!startup.on_round(0.0, 8));
        startup.on_lost(1);
        assert!(startup.on_round(0.0, 8));
    }

    #[test]
    fn round_trips_are_judged_together_until_they_are_significant() {
        let mut congestion = Congestion::default();
        let lossy: Vec<bool> = (0..12).map(|_| round(&mut congestion, 19, 1)).collect();
        assert_eq!(lossy.iter().position(|lossy| *lossy), Some(3), "4 of 80, after 3 of 60: {lossy:?}");
        let mut congestion = Congestion::default();
        assert!(!round(&mut congestion, 490, 10));
        assert!(round(&mut congestion, 95, 5), "5 of 100, and not 15 of 600");
    }

    #[test]
    fn marks_cut_in_proportion_to_their_share_of_many_round_trips() {
        let mut congestion = Congestion::default();
        assert!((congestion.cut() - 0.5).abs() < 1e-12 && ends_startup(0.51) && !ends_startup(0.5));
        congestion.on_round(0.0, 0);
        assert!((congestion.cut() - 0.5 * 15.0 / 16.0).abs() < 1e-12);
        (0..1000).for_each(|_| _ = congestion.on_round(0.2, 0));
        assert!((congestion.cut() - 0.1).abs() < 1e-9);
    }
}
