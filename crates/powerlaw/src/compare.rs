//! The likelihood-ratio test between a power law and an alternative, on the same tail.

use crate::alternative::{Alternative, Parameters};
use crate::fit::{Inconclusive, PowerLaw};
use crate::sample::Sample;
use libm::erfc;

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What the power law was compared with, fitted to the same tail.
    pub parameters: Parameters,
    /// Log-likelihood of the alternative.
    pub ln_likelihood: f64,
    /// Sum of the log-likelihood ratios, R: positive for the power law.
    pub ratio: f64,
    /// R / (sigma sqrt(n)), the paper's normalised ratio (eq. C.3): standard normal if the two are equally far from the truth.
    pub normalised: f64,
    /// Probability of a ratio as large if they are: two-sided (Vuong 1989, §C), or by chi-squared with one degree of freedom if the
    /// power law is nested in the alternative.
    pub p: f64,
}

/// R, R / (sigma sqrt(n)) and p from the log-densities of two models at the same values.
///
/// # Errors
///
/// [`Inconclusive::NoValues`] for none, or lists of different lengths; [`Inconclusive::NoVariance`] if all ratios are the same.
pub fn likelihood_ratio(first: &[f64], second: &[f64], nested: bool) -> Result<(f64, f64, f64), Inconclusive> {
    if first.is_empty() || first.len() != second.len() {
        return Err(Inconclusive::NoValues);
    }
    let n = first.len() as f64;
    let differences = || first.iter().zip(second).map(|(a, b)| a - b);
    let ratio: f64 = differences().sum();
    let mean = ratio / n;
    let spread: f64 = differences().map(|d| (d - mean) * (d - mean)).sum(); // n sigma²
    if !(ratio.is_finite() && spread.is_finite() && spread > 0.0) {
        return Err(Inconclusive::NoVariance);
    }
    let normalised = ratio / spread.sqrt();
    let p = if nested { erfc(ratio.abs().sqrt()) } else { erfc(normalised.abs() / std::f64::consts::SQRT_2) };
    Ok((ratio, normalised, p))
}

impl PowerLaw {
    /// Compares with an alternative, which is fitted to the same tail of the same sample.
    ///
    /// # Errors
    ///
    /// Why there is no answer, such as an alternative that is best where it becomes the power law itself.
    pub fn compare(&self, sample: &Sample, alternative: Alternative) -> Result<Comparison, Inconclusive> {
        let tail = sample.tail(self.x_min);
        let (parameters, theirs) = alternative.fit(self, tail)?;
        let ours: Vec<f64> = tail.iter().map(|x| self.ln_density(*x)).collect();
        let (ratio, normalised, p) = likelihood_ratio(&ours, &theirs, alternative.nests_power_law())?;
        Ok(Comparison { parameters, ln_likelihood: theirs.iter().sum(), ratio, normalised, p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::XMin;
    use crate::random::Random;
    use proptest::prelude::*;

    #[test]
    fn a_ratio_by_hand() {
        // Differences 1, 2, 3: R = 6, n sigma² = 2, z = 6 / sqrt 2 = 4.2426, p = erfc(3).
        let (ratio, z, p) = likelihood_ratio(&[1.0, 2.0, 3.0], &[0.0; 3], false).unwrap();
        assert!((ratio - 6.0).abs() < 1e-15 && (z - 6.0 / 2.0_f64.sqrt()).abs() < 1e-14);
        assert!((p / 2.209_049_699_858_544e-5 - 1.0).abs() < 1e-12);
        // Nested: P(chi² > 12) = erfc(sqrt 6).
        let (_, _, nested) = likelihood_ratio(&[1.0, 2.0, 3.0], &[0.0; 3], true).unwrap();
        assert!((nested / 5.320_055_051_392_497e-4 - 1.0).abs() < 1e-12, "{nested}");
        assert_eq!(likelihood_ratio(&[1.0; 3], &[0.5; 3], false), Err(Inconclusive::NoVariance));
        assert_eq!(likelihood_ratio(&[], &[], false), Err(Inconclusive::NoValues));
        assert_eq!(likelihood_ratio(&[1.0], &[], false), Err(Inconclusive::NoValues));
    }

    #[test]
    fn the_truth_wins() {
        let mut random = Random::new(11, 0);
        let exponential: Vec<f64> = (0..5000).map(|_| 1.0 - random.open().ln()).collect();
        let sample = Sample::new(&exponential).unwrap();
        let fit = sample.fit(XMin::At(1.0)).unwrap();
        let against = fit.compare(&sample, Alternative::Exponential).unwrap();
        assert!(against.normalised < -5.0 && against.p < 1e-6, "{against:?}");
        let power: Vec<f64> = (0..5000).map(|_| random.open().powf(-0.5)).collect();
        let sample = Sample::new(&power).unwrap();
        let fit = sample.fit(XMin::At(1.0)).unwrap();
        let against = fit.compare(&sample, Alternative::Exponential).unwrap();
        assert!(against.normalised > 5.0 && against.p < 1e-6, "{against:?}");
    }

    #[test]
    fn on_narrow_data_everything_that_becomes_a_normal_agrees() {
        // A millionth wide: log-normal, normal and gamma are one and the same.
        let mut random = Random::new(12, 0);
        let numbers: Vec<f64> = (0..3000).map(|_| 1e6 + random.open() + random.open()).collect();
        let sample = Sample::new(&numbers).unwrap();
        let fit = sample.fit(XMin::At(1e6)).unwrap();
        let r = |alternative| fit.compare(&sample, alternative).unwrap().normalised;
        let normal = r(Alternative::Normal);
        for alternative in [Alternative::LogNormal, Alternative::Gamma] {
            assert!((r(alternative) / normal - 1.0).abs() < 1e-4, "{alternative:?} {} {normal}", r(alternative));
        }
    }

    proptest! {
        #[test]
        fn nothing_is_ever_nan(
            numbers in prop::collection::vec(prop_oneof![1e-300..1e300_f64, 1.0..1.000_001_f64, 1e6..2e9_f64], 0..60),
            fitted: bool,
        ) {
            let sample = Sample::new(&numbers).unwrap();
            let x_min = if fitted { XMin::Fitted } else { XMin::At(numbers.iter().copied().fold(1e301, f64::min)) };
            if let Ok(fit) = sample.fit(x_min) {
                prop_assert!(fit.alpha.is_finite() && fit.alpha > 1.0 && fit.distance.is_finite(), "{:?}", fit);
                for &alternative in Alternative::ALL {
                    if let Ok(c) = fit.compare(&sample, alternative) {
                        let all = [c.ratio, c.normalised, c.p, c.ln_likelihood];
                        prop_assert!(all.iter().all(|x| x.is_finite()), "{:?}", c);
                        prop_assert!(c.parameters.named().iter().all(|(_, x)| x.is_finite()), "{:?}", c);
                        prop_assert!((0.0..=1.0).contains(&c.p));
                    }
                }
            }
        }

        #[test]
        fn verdicts_do_not_depend_on_the_unit(seed: u64, unit in 1e-6..1e9_f64) {
            let mut random = Random::new(seed, 0);
            let numbers: Vec<f64> = (0..300).map(|_| 1.0 - random.open().ln()).collect();
            let scaled: Vec<f64> = numbers.iter().map(|x| x * unit).collect();
            let (a, b) = (Sample::new(&numbers).unwrap(), Sample::new(&scaled).unwrap());
            let (fit_a, fit_b) = (a.fit(XMin::At(a.sorted()[0])).unwrap(), b.fit(XMin::At(b.sorted()[0])).unwrap());
            prop_assert!((fit_a.alpha / fit_b.alpha - 1.0).abs() < 1e-9);
            for &alternative in Alternative::ALL {
                match (fit_a.compare(&a, alternative), fit_b.compare(&b, alternative)) {
                    (Ok(x), Ok(y)) => prop_assert!((x.normalised - y.normalised).abs() < 1e-5, "{:?} {:?}", x, y),
                    (x, y) => prop_assert_eq!(x.err(), y.err()),
                }
            }
        }
    }
}
