//! Flows that only yield to losses, and hold the queue of a path.
//!
//! Two and a half times the bandwidth-delay product never takes longer than [`CROWDED`] least round trips. If all of [`CROWDED_ROUNDS`] round
//! trips took longer than this, others hold the queue. Then the window does not fall below what it was before, but grows by one in each, as
//! Reno's does (the competitive mode of Copa, NSDI 2018 §2.2, with AIMD).

use super::ceiling::BETA;

const CROWDED: f64 = 3.0;
const CROWDED_ROUNDS: u32 = 10;

/// Whether others hold the queue, and the window that competes with them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    /// The window before round trips took too long, grown by one in each such round trip.
    window: f64,
    /// How many there were in a row.
    rounds: u32,
}

impl Crowd {
    /// A round trip was measured, with this window.
    pub(super) fn on_round_trip(&mut self, taken: f64, least: Option<f64>, window: f64) {
        let is_free = least.is_none_or(|least| taken <= least * CROWDED);
        (self.window, self.rounds) = if is_free { (window, 0) } else { (self.window + 1.0, self.rounds + 1) };
    }

    /// The least window, in symbols; 0 while nobody else holds the queue.
    pub(super) fn least_window(&self) -> f64 {
        if self.rounds >= CROWDED_ROUNDS { self.window } else { 0.0 }
    }

    /// Too many symbols were lost.
    pub(super) fn on_loss(&mut self) {
        self.window *= BETA;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_ten_long_round_trips_the_window_grows_as_renos() {
        let mut crowd = Crowd::default();
        crowd.on_round_trip(3.0, None, 50.0);
        let least: Vec<u32> = (0..12)
            .map(|_| {
                crowd.on_round_trip(3.1, Some(1.0), 20.0);
                crowd.least_window() as u32
            })
            .collect();
        assert_eq!(least, [0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 61, 62]);
        crowd.on_loss();
        assert_eq!(crowd.least_window() as u32, 43);
        crowd.on_round_trip(3.0, Some(1.0), 20.0);
        assert_eq!(crowd.least_window() as u32, 0, "one short round trip shows that the queue empties");
    }
}
