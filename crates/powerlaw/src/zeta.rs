//! The power law of whole numbers: p(x) = x^-alpha / zeta(alpha, `x_min`), with Hurwitz's zeta function.

use crate::law::Law;
use crate::sample::{Sample, Shares, ln_ratio};

/// `B_2j / (2j)!` for j = 1, 2, ...: the coefficients of the Euler-Maclaurin formula.
const COEFFICIENTS: [f64; 10] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
];

/// How far beyond alpha the formula begins: there its terms fall below 1e-16 within [`COEFFICIENTS`].
const BEYOND: f64 = 12.0;

/// Terms that are smaller than this, to the sum, change nothing.
const NOTHING: f64 = 1e-18;

/// Steps of Newton's method; four are usual.
const STEPS: usize = 200;

/// The sum over j >= 0 of (1 + j / a)^-alpha, which is a^alpha zeta(alpha, a), and its first two derivatives by alpha.
#[derive(Debug, Clone, Copy)]
struct Sums {
    value: f64,
    first: f64,
    second: f64,
}

impl Sums {
    /// For alpha above 1 and a of at least 1.
    fn of(alpha: f64, a: f64) -> Self {
        let mut sums = Self { value: 0.0, first: 0.0, second: 0.0 };
        let mut b = a;
        while b < alpha + BEYOND {
            let log = ln_ratio(b, a);
            let term = (-alpha * log).exp();
            sums.value += term;
            sums.first -= log * term;
            sums.second += log * log * term;
            b += 1.0;
            if term < NOTHING * sums.value {
                return sums;
            }
        }
        // The rest, from b on, is (b / a)^-alpha rest(alpha).
        let log = ln_ratio(b, a);
        let scale = (-alpha * log).exp();
        let rest = Self::rest(alpha, b);
        sums.value += scale * rest.value;
        sums.first += scale * (rest.first - log * rest.value);
        sums.second += scale * (log * (log * rest.value - 2.0 * rest.first) + rest.second);
        sums
    }

    /// The Euler-Maclaurin formula: `b / (alpha - 1) + 1/2` and, for each j,
    /// `B_2j / (2j)! alpha (alpha + 1) ... (alpha + 2j - 2) b^(1 - 2j)`.
    fn rest(alpha: f64, b: f64) -> Self {
        let excess = alpha - 1.0;
        let integral = b / excess;
        let mut sums =
            Self { value: integral + 0.5, first: -integral / excess, second: 2.0 * integral / (excess * excess) };
        // The product of a term, and its logarithmic derivative with the derivative of that.
        let (mut product, mut slope, mut bend) = (alpha / b, 1.0 / alpha, -1.0 / (alpha * alpha));
        for (j, coefficient) in COEFFICIENTS.iter().enumerate() {
            let term = coefficient * product;
            sums.value += term;
            sums.first += term * slope;
            sums.second += term * slope.mul_add(slope, bend);
            if term.abs() < NOTHING * sums.value {
                break;
            }
            for i in [2 * j + 1, 2 * j + 2] {
                let factor = alpha + i as f64;
                product *= factor / b;
                slope += factor.recip();
                bend -= factor.powi(-2);
            }
        }
        sums
    }

    /// The value alone.
    fn value(alpha: f64, a: f64) -> f64 {
        let mut sum = 0.0;
        let mut b = a;
        while b < alpha + BEYOND {
            let term = (-alpha * ln_ratio(b, a)).exp();
            sum += term;
            b += 1.0;
            if term < NOTHING * sum {
                return sum;
            }
        }
        let mut rest = b / (alpha - 1.0) + 0.5;
        let mut product = alpha / b;
        for (j, coefficient) in COEFFICIENTS.iter().enumerate() {
            let term = coefficient * product;
            rest += term;
            if term.abs() < NOTHING * rest {
                break;
            }
            product *= (alpha + (2 * j + 1) as f64) * (alpha + (2 * j + 2) as f64) / (b * b);
        }
        sum + (-alpha * ln_ratio(b, a)).exp() * rest
    }

    /// Mean and variance of ln(x / a).
    fn moments(self) -> (f64, f64) {
        let mean = -self.first / self.value;
        (mean, self.second / self.value - mean * mean)
    }
}

/// The exponent of greatest likelihood: that at which ln(x / `x_min`) has the mean of the sample (eq. 3.4).
pub(crate) fn exponent(x_min: f64, mean_log: f64) -> Option<f64> {
    if !(mean_log > 0.0 && mean_log.is_finite()) {
        return None;
    }
    // Eq. 3.7 is the start. The mean falls as 1 / (alpha - 1) where x_min is large, and as x_min^-alpha where it is small: its
    // logarithm over that of alpha - 1 is concave and falls in both, so that Newton's method comes down to the root from above.
    let mut excess = (mean_log - (-0.5 / x_min).ln_1p()).recip();
    for _ in 0..STEPS {
        let (mean, variance) = Sums::of(1.0 + excess, x_min).moments();
        let step = (mean / mean_log).ln() * mean / (excess * variance);
        if !step.is_finite() {
            return None;
        }
        excess *= step.clamp(-1.5, 1.5).exp();
        if step.abs() < 1e-11 {
            break;
        }
    }
    let alpha = 1.0 + excess;
    (alpha.is_finite() && alpha > 1.0).then_some(alpha)
}

/// Standard error of the exponent for a given `x_min`, eq. 3.6.
pub(crate) fn sigma(alpha: f64, x_min: f64, n: usize) -> f64 {
    let (_, variance) = Sums::of(alpha, x_min).moments();
    (n as f64 * variance).sqrt().recip()
}

/// The power law of whole numbers from some number on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zeta {
    alpha: f64,
    /// Where the tail begins, as [`Sample::logs`] counts.
    log: f64,
    /// [`Sums::value`] there.
    total: f64,
}

impl Zeta {
    /// One whose tail begins with a whole number of at most a distinct value, `shift` before it on the scale of logarithms.
    pub(crate) fn before(sample: &Sample, place: usize, x_min: f64, shift: f64) -> Option<Self> {
        let count = sample.len() as f64 - sample.below[place];
        let alpha = exponent(x_min, count.mul_add(shift, sample.log_sums[place]) / count)?;
        Some(Self { alpha, log: sample.logs[place] - shift, total: Sums::value(alpha, x_min) })
    }
}

impl Law for Zeta {
    const SLACK: f64 = 1e-12;

    fn of(sample: &Sample, place: usize) -> Option<Self> {
        Self::before(sample, place, sample.values[place], 0.0)
    }

    fn alpha(self) -> f64 {
        self.alpha
    }

    fn shares(self, sample: &Sample, k: usize) -> Shares {
        let at = (-self.alpha * (sample.logs[k] - self.log)).exp() / self.total;
        let from = at * Sums::value(self.alpha, sample.values[k]);
        Shares { below: 1.0 - from, up_to: 1.0 - (from - at) }
    }
}

/// Probability of `x` or more.
pub(crate) fn share_from(x: f64, alpha: f64, x_min: f64) -> f64 {
    (-alpha * ln_ratio(x, x_min)).exp() * Sums::value(alpha, x) / Sums::value(alpha, x_min)
}

/// Logarithm of the probability of `x`.
pub(crate) fn ln_probability(x: f64, alpha: f64, x_min: f64) -> f64 {
    (-alpha).mul_add(ln_ratio(x, x_min), -Sums::value(alpha, x_min).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zeta(alpha, a) by mpmath 1.4 with 30 digits.
    const KNOWN: [(f64, f64, f64); 8] = [
        (1.01, 1.0, 100.577_943_338_496_78),
        (1.5, 2.0, 1.612_375_348_685_488_4),
        (2.0, 1.0, 1.644_934_066_848_226_4),
        (2.5, 7.0, 0.040_081_757_933_660_7),
        (3.7, 100.0, 1.494_499_104_808_482_5e-06),
        (12.0, 3.0, 1.945_928_308_048_298_7e-06),
        (45.0, 40.0, 1.212_337_114_764_420_7e-72),
        (2.2, 1e6, 5.257_981_025_456_142e-08),
    ];

    #[test]
    fn sums_are_those_of_the_zeta_function() {
        for (alpha, a, zeta) in KNOWN {
            let expected = zeta * a.powf(alpha);
            let (value, sums) = (Sums::value(alpha, a), Sums::of(alpha, a));
            assert!((value / expected - 1.0).abs() < 1e-13, "{alpha} {a}: {value} {expected}");
            assert!((sums.value / expected - 1.0).abs() < 1e-13, "{alpha} {a}: {sums:?} {expected}");
        }
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        for (alpha, a, _) in KNOWN {
            let step = 1e-5 * (alpha - 1.0);
            let sums = Sums::of(alpha, a);
            let (more, less) = (Sums::of(alpha + step, a), Sums::of(alpha - step, a));
            let first = (more.value - less.value) / (2.0 * step);
            let second = (more.first - less.first) / (2.0 * step);
            assert!((sums.first - first).abs() < 1e-7 * sums.value / (alpha - 1.0), "{alpha} {a}: {sums:?} {first}");
            assert!((sums.second / second - 1.0).abs() < 1e-6, "{alpha} {a}: {sums:?} {second}");
        }
    }

    #[test]
    fn the_exponent_has_the_sample_s_mean_logarithm() {
        for alpha in [1.001, 1.5, 2.0, 2.5, 7.0, 30.0, 300.0] {
            for x_min in [1.0, 2.0, 7.0, 100.0, 1e6, 1e12] {
                let (mean, _) = Sums::of(alpha, x_min).moments();
                if mean < 1e-290 {
                    continue; // so steep that there is nothing but x_min
                }
                let found = exponent(x_min, mean).unwrap();
                assert!(((found - 1.0) / (alpha - 1.0) - 1.0).abs() < 1e-9, "{alpha} {x_min}: {found}");
            }
        }
        for mean in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(exponent(1.0, mean), None);
        }
    }

    #[test]
    fn probabilities_add_up() {
        for (alpha, x_min) in [(1.3, 1.0), (2.5, 3.0), (8.0, 40.0)] {
            let below: f64 = (0..200).map(|i| ln_probability(x_min + f64::from(i), alpha, x_min).exp()).sum();
            assert!((below + share_from(x_min + 200.0, alpha, x_min) - 1.0).abs() < 1e-13, "{alpha} {x_min}");
        }
    }
}
