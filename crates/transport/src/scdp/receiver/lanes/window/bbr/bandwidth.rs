//! The bandwidth of a path: a windowed maximum filter over delivery rates (draft-cardwell-iccrg-bbr-congestion-control-02 §4.5.2.3:
//! `BBR.MaxBwFilter`).

/// Round trips for which a rate is remembered (ACM Queue 14(5): six to ten).
const RATES: usize = 10;

/// The highest delivery rate of the last round trips, in symbols per picosecond.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandwidth {
    /// The newest first.
    rates: [f64; RATES],
}

impl Bandwidth {
    /// 0 before the first round trip.
    pub(super) fn get(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// A round trip is over. The rate of a lane that was not asked for all that it could deliver (`held_back`) says little, unless it exceeds the
    /// known rate.
    pub(super) fn on_round(&mut self, rate: f64, held_back: bool) {
        if held_back && rate <= self.get() {
            return;
        }
        self.rates.rotate_right(1);
        self.rates[0] = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after each of these round trips.
    fn known(rounds: impl IntoIterator<Item = (f64, bool)>) -> Vec<u32> {
        let mut bandwidth = Bandwidth::default();
        let after = |(rate, held_back)| {
            bandwidth.on_round(rate, held_back);
            bandwidth.get() as u32
        };
        rounds.into_iter().map(after).collect()
    }

    #[test]
    fn a_rate_is_remembered_for_ten_round_trips() {
        let rounds = std::iter::once((5.0, false)).chain([(2.0, false); 10]);
        assert_eq!(known(rounds), [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 2]);
    }

    #[test]
    fn who_was_not_asked_for_more_is_only_known_to_be_at_least_that_fast() {
        assert_eq!(known([(5.0, false), (4.0, true), (6.0, true)]), [5, 5, 6]);
        let rounds = std::iter::once((5.0, false)).chain([(2.0, true); 100]);
        assert!(known(rounds).iter().all(|rate| *rate == 5));
    }
}
