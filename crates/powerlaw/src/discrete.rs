//! The fit to whole numbers: counts, sizes of packets, rates that were rounded.

use crate::fit::{Inconclusive, XMin};
use crate::law::{Law as _, distance};
use crate::sample::{Sample, ln_ratio};
use crate::scan::{Candidate, Scan};
use crate::zeta::{self, Zeta};

/// Whole numbers from here on have no neighbours among floats.
const WHOLE: f64 = (1_u64 << 53) as f64;

/// A power law `p(x) = x^-alpha / zeta(alpha, x_min)` of the whole numbers `x >= x_min`, fitted to the tail of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscretePowerLaw {
    /// Exponent, above 1: the maximum-likelihood estimate, the root of eq. 3.5 of the paper.
    pub alpha: f64,
    /// Lower bound of the tail, a whole number.
    pub x_min: f64,
    /// Kolmogorov-Smirnov distance, as [`PowerLaw::distance`](crate::PowerLaw::distance); both distribution functions have steps.
    pub distance: f64,
    /// Values in the tail.
    pub n_tail: usize,
}

impl DiscretePowerLaw {
    /// Standard error of `alpha` for a given `x_min`, eq. 3.6.
    pub fn sigma(&self) -> f64 {
        zeta::sigma(self.alpha, self.x_min, self.n_tail)
    }

    /// Logarithm of the probability of a whole number of at least `x_min`.
    pub fn ln_probability(&self, x: f64) -> f64 {
        zeta::ln_probability(x, self.alpha, self.x_min)
    }

    /// Probability of a whole number of at least `x_min`, or a larger one.
    pub fn share_from(&self, x: f64) -> f64 {
        zeta::share_from(x, self.alpha, self.x_min)
    }

    /// The largest whole number that the model reaches, or exceeds, with a probability of at least `share`, in (0, 1].
    ///
    /// Of a number that is uniform in (0, 1] it is one that follows the model. Above 2^53 it is approximate.
    pub fn quantile_above(&self, share: f64) -> f64 {
        let reached = |x: f64| self.share_from(x) >= share;
        // Eq. D.6 is near, and the closer the larger it is.
        let near = ((self.x_min - 0.5) * (-share.ln() / (self.alpha - 1.0)).exp() + 0.5).floor();
        if near >= WHOLE || near.is_nan() {
            return near;
        }
        let (mut low, mut high) = (near.max(self.x_min), near.max(self.x_min));
        let mut step = 1.0;
        while reached(high) {
            low = high;
            high += step;
            step *= 2.0;
        }
        step = 1.0;
        while low > self.x_min && !reached(low) {
            high = low;
            low = (low - step).max(self.x_min);
            step *= 2.0;
        }
        while high - low > 1.0 {
            let middle = (low + (high - low) / 2.0).floor();
            *(if reached(middle) { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

impl Sample {
    /// Fits a power law of whole numbers, as [`Sample::fit`] does one of all numbers: for counts, and for whatever was rounded to a unit, in
    /// that unit. Where `x_min` is large, from about 1000 on, the two agree; where it is small, the continuous one is wrong (§3.4).
    ///
    /// # Errors
    ///
    /// [`Inconclusive::NotWhole`] if a value is no whole number below 2^53; otherwise as [`Sample::fit`].
    pub fn fit_discrete(&self, x_min: XMin) -> Result<DiscretePowerLaw, Inconclusive> {
        if self.values.iter().any(|x| x.fract() != 0.0 || *x >= WHOLE) {
            return Err(Inconclusive::NotWhole);
        }
        self.fit_whole(x_min)
    }

    /// The same for numbers that are known to be whole.
    pub(crate) fn fit_whole(&self, x_min: XMin) -> Result<DiscretePowerLaw, Inconclusive> {
        let bound = match x_min {
            XMin::Fitted => {
                let best = Scan::new(self).best::<Zeta>().ok_or(Inconclusive::TooFewValues)?;
                let Candidate { place, alpha, distance } = best;
                let n_tail = self.len() - self.below[place] as usize;
                return Ok(DiscretePowerLaw { alpha, x_min: self.values[place], distance, n_tail });
            }
            XMin::At(bound) => bound,
        };
        if !(1.0..WHOLE).contains(&bound) || bound.fract() != 0.0 {
            return Err(Inconclusive::NotABound);
        }
        let tail = self.tail(bound);
        let place = self.values.partition_point(|x| *x < bound);
        let (Some(&first), true) = (tail.first(), tail.len() >= 2) else { return Err(Inconclusive::TooFewValues) };
        let law = Zeta::before(self, place, bound, ln_ratio(first, bound)).ok_or(Inconclusive::TooFewValues)?;
        let distance = distance(self, place, law);
        Ok(DiscretePowerLaw { alpha: law.alpha(), x_min: bound, distance, n_tail: tail.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn drawn(alpha: f64, x_min: f64, n: usize, seed: u64) -> Vec<f64> {
        let model = DiscretePowerLaw { alpha, x_min, distance: 0.0, n_tail: n };
        let mut random = Random::new(seed, 0);
        (0..n).map(|_| model.quantile_above(random.open())).collect()
    }

    #[test]
    fn three_values_by_hand() {
        // 1, 1, 2: the mean of ln x is ln 2 / 3. At the root the model's share up to 1 is 1 / zeta(alpha), that of the tail 2/3.
        let fit = Sample::new(&[1.0, 1.0, 2.0]).unwrap().fit_discrete(XMin::At(1.0)).unwrap();
        let log_zeta = |alpha: f64| (1..4_000_000).map(|x| f64::from(x).powf(-alpha)).sum::<f64>().ln();
        let slope = (log_zeta(fit.alpha + 1e-4) - log_zeta(fit.alpha - 1e-4)) / 2e-4;
        assert!((slope + 2.0_f64.ln() / 3.0).abs() < 1e-5, "{fit:?} {slope}");
        let share = |x: i32| (1..=x).map(|x| f64::from(x).powf(-fit.alpha)).sum::<f64>() / log_zeta(fit.alpha).exp();
        let expected = (share(1) - 2.0 / 3.0).abs().max((share(2) - 1.0).abs());
        assert!((fit.distance - expected).abs() < 1e-6, "{fit:?} {expected}");
    }

    #[test]
    fn the_model_s_numbers_give_its_parameters_back() {
        for (alpha, x_min) in [(1.95, 7.0), (2.4, 12.0), (3.5, 1.0), (2.5, 50_000.0)] {
            let sample = Sample::new(&drawn(alpha, x_min, 20_000, 1)).unwrap();
            let fit = sample.fit_discrete(XMin::At(x_min)).unwrap();
            assert!((fit.alpha - alpha).abs() < 4.0 * fit.sigma(), "{fit:?}");
            assert!(fit.distance < 0.01, "{fit:?}");
        }
        // The continuous law of the same small numbers is far off, which is why there is this one.
        let small = Sample::new(&drawn(2.5, 1.0, 20_000, 2)).unwrap();
        let (whole, continuous) = (small.fit_discrete(XMin::At(1.0)).unwrap(), small.fit(XMin::At(1.0)).unwrap());
        assert!((whole.alpha - 2.5).abs() < 0.05 && continuous.alpha > 3.0, "{whole:?} {continuous:?}");
    }

    #[test]
    fn large_whole_numbers_are_fitted_as_continuous_ones() {
        let sample = Sample::new(&drawn(2.2, 1e7, 3000, 3)).unwrap();
        let (whole, continuous) = (sample.fit_discrete(XMin::Fitted).unwrap(), sample.fit(XMin::Fitted).unwrap());
        assert!((whole.alpha / continuous.alpha - 1.0).abs() < 1e-5, "{whole:?} {continuous:?}");
        assert!((whole.x_min - continuous.x_min).abs() < 0.5, "{whole:?} {continuous:?}");
        assert!((whole.sigma() / continuous.sigma() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_bound_below_the_smallest_value_is_the_model_s() {
        let sample = Sample::new(&[3.0, 3.0, 4.0, 6.0, 11.0]).unwrap();
        let fit = sample.fit_discrete(XMin::At(2.0)).unwrap();
        let mean = [3.0, 3.0, 4.0, 6.0, 11.0].iter().map(|x: &f64| (x / 2.0).ln()).sum::<f64>() / 5.0;
        assert!((fit.alpha - zeta::exponent(2.0, mean).unwrap()).abs() < 1e-12);
        // Up to 2 the model has something and the tail has nothing.
        assert!((fit.distance - (1.0 - fit.share_from(3.0))).abs() < 1e-12 || fit.distance > 1.0 - fit.share_from(3.0));
    }

    #[test]
    fn quantiles_and_shares_are_inverse() {
        let model = DiscretePowerLaw { alpha: 2.3, x_min: 4.0, distance: 0.0, n_tail: 1 };
        for x in [4.0, 5.0, 17.0, 1000.0, 123_456.0] {
            let share = model.share_from(x);
            assert!((model.quantile_above(share * (1.0 - 1e-9)) - x).abs() < 0.5, "{x}");
            assert!(
                (model.quantile_above(share * (1.0 + 1e-9)).max(4.0) - (x - 1.0).max(4.0)).abs() < 0.5 || x < 4.5,
                "{x}"
            );
        }
        assert!((model.quantile_above(1.0) - 4.0).abs() < 0.5);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let fit = |numbers: &[f64], x_min| Sample::new(numbers).unwrap().fit_discrete(x_min);
        assert_eq!(fit(&[1.0, 2.5], XMin::Fitted), Err(Inconclusive::NotWhole));
        assert_eq!(fit(&[1.0, 1e300], XMin::Fitted), Err(Inconclusive::NotWhole));
        assert_eq!(fit(&[1.0, 2.0], XMin::At(1.5)), Err(Inconclusive::NotABound));
        assert_eq!(fit(&[1.0, 2.0], XMin::At(0.0)), Err(Inconclusive::NotABound));
        assert_eq!(fit(&[7.0, 7.0], XMin::Fitted), Err(Inconclusive::TooFewValues));
        assert_eq!(fit(&[7.0, 7.0], XMin::At(7.0)), Err(Inconclusive::TooFewValues));
        assert_eq!(fit(&[], XMin::Fitted), Err(Inconclusive::TooFewValues));
    }
}
