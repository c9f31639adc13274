//! The Weibull distribution cut off below `x_min`: one equation in its shape.

use crate::fit::Inconclusive;

/// Density beta b exp(beta u - b (e^(beta u) - 1)) of u = ln(x / `x_min`); the scale is `x_min` b^(-1/beta).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weibull {
    pub(crate) beta: f64,
    pub(crate) b: f64,
}

/// Evaluations of the equation at most; a dozen are usual.
const STEPS: usize = 200;

impl Weibull {
    pub(crate) fn ln_density(&self, u: f64) -> f64 {
        (self.beta * self.b).ln() + self.beta * u - self.b * (self.beta * u).exp_m1()
    }

    /// The most likely one, or that it is the power law, which the Weibull becomes as beta goes to 0.
    ///
    /// For a given shape, b is one over the mean of e^(beta u) - 1, and what remains of the log-likelihood has the slope of
    /// `Slope::at` in beta. At 0 that slope is positive if the mean of u² is below twice the square of the mean of u.
    pub(crate) fn fit(u: &[f64]) -> Result<Self, Inconclusive> {
        let n = u.len() as f64;
        let mean = u.iter().sum::<f64>() / n;
        let square = u.iter().map(|u| u * u).sum::<f64>() / n;
        if square >= 2.0 * mean * mean {
            return Err(Inconclusive::SameAsPowerLaw);
        }
        let slope = |beta: f64| {
            let (mut m, mut dm) = (0.0, 0.0);
            for &u in u {
                let e = (beta * u).exp_m1();
                m += e;
                dm = u.mul_add(e + 1.0, dm);
            }
            // Beyond floats' range the largest value decides: dm / m is its u, and the slope is negative.
            if dm.is_finite() { 1.0 / beta - dm / m + mean } else { f64::NEG_INFINITY }
        };
        let (mut low, mut high) = (1.0 / mean, 1.0 / mean);
        while slope(low) <= 0.0 {
            high = low;
            low /= 2.0;
            if low * mean < 1e-6 {
                return Err(Inconclusive::SameAsPowerLaw);
            }
        }
        while slope(high) > 0.0 {
            low = high;
            high *= 2.0;
            if high * mean > 1e12 {
                return Err(Inconclusive::OutOfRange);
            }
        }
        let beta = root(slope, low, high).ok_or(Inconclusive::NoConvergence)?;
        let b = n / u.iter().map(|u| (beta * u).exp_m1()).sum::<f64>();
        Ok(Self { beta, b })
    }
}

/// Root of a falling function between `low` and `high`: false position with Illinois' correction.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> Option<f64> {
    let (mut f_low, mut f_high) = (f(low), f(high));
    let mut side = 0;
    for _ in 0..STEPS {
        if high - low <= 1e-12 * high {
            return Some(low.midpoint(high));
        }
        let secant = (low * f_high - high * f_low) / (f_high - f_low);
        let x = if secant > low && secant < high { secant } else { low.midpoint(high) };
        let f_x = f(x);
        if f_x == 0.0 || (x - low).min(high - x) < 1e-13 * x {
            return Some(x);
        }
        if f_x > 0.0 {
            (low, f_low) = (x, f_x);
            if side == 1 {
                f_high /= 2.0;
            }
            side = 1;
        } else {
            (high, f_high) = (x, f_x);
            if side == -1 {
                f_low /= 2.0;
            }
            side = -1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_shape_comes_back() {
        let mut random = Random::new(3, 0);
        for (shape, scale, cut) in [(0.7, 5.0, 1.0_f64), (2.0, 9.0, 4.0), (12.0, 100.0, 60.0)] {
            let u: Vec<f64> = (0..50_000)
                .map(|_| scale * ((cut / scale).powf(shape) - random.open().ln()).powf(1.0 / shape))
                .map(|x: f64| (x / cut).max(1.0).ln())
                .collect();
            let fit = Weibull::fit(&u).unwrap();
            let found = cut * fit.b.powf(-1.0 / fit.beta);
            assert!((fit.beta / shape - 1.0).abs() < 0.05 && (found / scale - 1.0).abs() < 0.05, "{fit:?} {found}");
        }
    }

    #[test]
    fn a_tail_more_spread_than_a_power_law_is_one() {
        assert_eq!(Weibull::fit(&[0.0, 0.0, 0.0, 10.0]), Err(Inconclusive::SameAsPowerLaw));
    }
}
