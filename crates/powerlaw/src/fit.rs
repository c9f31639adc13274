//! The fit: exponent, lower bound and distance, or the reason why there is none.

use thiserror::Error;

use crate::law::{Law as _, Pareto, distance};
use crate::sample::{Sample, ln_ratio};
use crate::scan::{Candidate, Scan};

/// How `x_min` is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum XMin {
    /// The value of the sample, of all but the largest, that minimises the Kolmogorov-Smirnov distance (§3.3).
    Fitted,
    /// This number; the smallest of the sample takes the whole sample for the tail.
    At(f64),
}

/// Why there is no answer. Never a NaN in place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Inconclusive {
    /// A power law needs two different values in its tail.
    #[error("fewer than two different values in the tail")]
    TooFewValues,
    /// The lower bound is not a positive number, or, of whole numbers, not a whole one.
    #[error("the lower bound is not a positive, finite number, and whole for whole numbers")]
    NotABound,
    /// The power law of whole numbers was asked for, and there are others, or some of 2^53 or more, which floats do not tell apart.
    #[error("not all values are whole numbers below 2^53")]
    NotWhole,
    /// The best parameters of the alternative are those of which a power law is the limit: the two cannot be told apart.
    #[error("the alternative is best where it becomes a power law: they cannot be told apart")]
    SameAsPowerLaw,
    /// The truncated normal is best where it becomes an exponential.
    #[error("the normal is best where it becomes an exponential: the tail has no curvature of a normal")]
    SameAsExponential,
    /// The likelihood grows towards parameters that the alternative does not have.
    #[error("the likelihood grows beyond the parameters that the alternative allows")]
    OutOfRange,
    /// The log-likelihoods of all values differ by the same amount, so that the ratio has no variance.
    #[error("the likelihood ratio is the same for every value")]
    NoVariance,
    /// The two models' likelihoods are of different numbers of values, or of none.
    #[error("no values to compare")]
    NoValues,
    /// The search for the best parameters did not converge.
    #[error("the search for the best parameters did not converge")]
    NoConvergence,
}

/// A power law `p(x) = (alpha - 1) / x_min (x / x_min)^-alpha` for `x >= x_min`, fitted to the tail of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLaw {
    /// Exponent, above 1: the maximum-likelihood estimate, eq. 3.1 of the paper.
    pub alpha: f64,
    /// Lower bound of the tail.
    pub x_min: f64,
    /// Kolmogorov-Smirnov distance, eq. 3.9: the largest difference between the distribution functions of the model and of the tail at
    /// any number. At a value of the sample, where that of the tail has a step, both of its ends count: where many are equal, a
    /// distance that looks at one side only misses most of it.
    pub distance: f64,
    /// Values in the tail.
    pub n_tail: usize,
}

impl PowerLaw {
    /// Standard error of `alpha` for a given `x_min`: (alpha - 1) / sqrt(n).
    pub fn sigma(&self) -> f64 {
        (self.alpha - 1.0) / (self.n_tail as f64).sqrt()
    }

    /// Logarithm of the density at `x`, which is at least `x_min`.
    pub fn ln_density(&self, x: f64) -> f64 {
        (-self.alpha).mul_add(ln_ratio(x, self.x_min), ((self.alpha - 1.0) / self.x_min).ln())
    }

    /// The value that the model exceeds with probability `share`, in (0, 1].
    pub fn quantile_above(&self, share: f64) -> f64 {
        self.x_min * (-share.ln() / (self.alpha - 1.0)).exp()
    }
}

impl Sample {
    /// Fits a power law.
    ///
    /// With [`XMin::Fitted`] every distinct value but the largest is a candidate. The answer is that of the full scan; of several
    /// candidates at the same distance the smallest wins. A candidate is given up as soon as one value of its tail deviates by more
    /// than the best distance so far, and stretches of the tail that cannot hold the largest deviation, as both distribution
    /// functions are monotone, are skipped.
    ///
    /// # Errors
    ///
    /// [`Inconclusive::TooFewValues`], or [`Inconclusive::NotABound`] for a bound that is not positive.
    pub fn fit(&self, x_min: XMin) -> Result<PowerLaw, Inconclusive> {
        match x_min {
            XMin::Fitted => {
                let Candidate { place, alpha, distance } =
                    Scan::new(self).best::<Pareto>().ok_or(Inconclusive::TooFewValues)?;
                let n_tail = self.len() - self.below[place] as usize;
                Ok(PowerLaw { alpha, x_min: self.values[place], distance, n_tail })
            }
            XMin::At(bound) => self.fit_at(bound),
        }
    }

    fn fit_at(&self, bound: f64) -> Result<PowerLaw, Inconclusive> {
        if !(bound.is_finite() && bound > 0.0) {
            return Err(Inconclusive::NotABound);
        }
        let tail = self.tail(bound);
        let place = self.values.partition_point(|x| *x < bound);
        let (Some(&first), true) = (tail.first(), tail.len() >= 2) else { return Err(Inconclusive::TooFewValues) };
        // A bound below the smallest value of the tail shifts every logarithm by the same amount.
        let law = Pareto::before(self, place, ln_ratio(first, bound)).ok_or(Inconclusive::TooFewValues)?;
        let distance = distance(self, place, law);
        Ok(PowerLaw { alpha: law.alpha(), x_min: bound, distance, n_tail: tail.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_values_by_hand() {
        // ln(4 / 1) over two values: alpha = 1 + 2 / ln 4; the model's share below 4 is 1 - 4^(-2 / ln 4) = 1 - e^-2. The model has
        // nothing up to 1, where half of the tail is; next to 4 they differ by less.
        let fit = Sample::new(&[1.0, 4.0]).unwrap().fit(XMin::Fitted).unwrap();
        assert!((fit.alpha - (1.0 + 2.0 / 4.0_f64.ln())).abs() < 1e-15);
        assert!((fit.distance - 0.5).abs() < 1e-15);
        assert_eq!((fit.x_min, fit.n_tail), (1.0, 2));
    }

    #[test]
    fn ties_by_hand() {
        // Six ones, a two, a four: their logarithms sum to 3 ln 2, alpha - 1 = 8 / (3 ln 2), and
        // the model's share up to 2^k is 1 - e^(-8 k / 3). From the left the distance is 1 - e^(-8/3) - 6/8 = 0.18; at 1 it is 6/8.
        let numbers = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 4.0];
        let sample = Sample::new(&numbers).unwrap();
        let whole = sample.fit(XMin::At(1.0)).unwrap();
        assert!((whole.alpha - (1.0 + 8.0 / (3.0 * 2.0_f64.ln()))).abs() < 1e-14);
        assert!((whole.distance - 0.75).abs() < 1e-15, "{whole:?}");
        // The tail from 2 on is two values, half of which are at the bound.
        let fitted = sample.fit(XMin::Fitted).unwrap();
        assert_eq!((fitted.x_min, fitted.n_tail), (2.0, 2));
        assert!((fitted.distance - 0.5).abs() < 1e-15);
    }

    #[test]
    fn quantiles_of_a_power_law_give_its_exponent_back() {
        let model = PowerLaw { alpha: 2.5, x_min: 3.0, distance: 0.0, n_tail: 1 };
        let n = 20_000;
        let numbers: Vec<f64> = (0..n).map(|i| model.quantile_above((f64::from(i) + 0.5) / f64::from(n))).collect();
        let fit = Sample::new(&numbers).unwrap().fit(XMin::At(3.0)).unwrap();
        assert!((fit.alpha - 2.5).abs() < 1e-3, "{fit:?}");
        assert!(fit.distance < 1e-3, "{fit:?}");
    }

    #[test]
    fn a_bound_between_values_is_the_model_s_bound_and_scales_with_the_data() {
        let numbers = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0];
        let fit = Sample::new(&numbers).unwrap().fit(XMin::At(2.5)).unwrap();
        let expected = 1.0 + 4.0 / [3.0, 5.0, 8.0, 13.0].iter().map(|x: &f64| (x / 2.5).ln()).sum::<f64>();
        assert!((fit.alpha - expected).abs() < 1e-14);
        let larger = Sample::new(&numbers.map(|x| x * 1e9)).unwrap().fit(XMin::At(2.5e9)).unwrap();
        assert!((larger.alpha - fit.alpha).abs() < 1e-12 && (larger.distance - fit.distance).abs() < 1e-12);
    }

    #[test]
    fn too_little_is_said_not_computed() {
        let reasons = [
            (vec![], XMin::Fitted, Inconclusive::TooFewValues),
            (vec![7.0; 5], XMin::Fitted, Inconclusive::TooFewValues),
            (vec![7.0; 5], XMin::At(7.0), Inconclusive::TooFewValues),
            (vec![1.0, 2.0], XMin::At(3.0), Inconclusive::TooFewValues),
            (vec![1.0, 2.0], XMin::At(-3.0), Inconclusive::NotABound),
            (vec![1.0, 2.0], XMin::At(f64::NAN), Inconclusive::NotABound),
        ];
        for (numbers, x_min, reason) in reasons {
            assert_eq!(Sample::new(&numbers).unwrap().fit(x_min), Err(reason), "{numbers:?}");
        }
    }
}
