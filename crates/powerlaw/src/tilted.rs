//! Densities exp(a u - b g(u)) / Z on u >= 0 with a convex g, b >= 0: an exponential distribution, tilted.
//!
//! With u = ln(x / `x_min`) the untilted one (b = 0, a = 1 - alpha) is the power law, and g decides what it is tilted to: u² gives the
//! log-normal cut off at `x_min`, e^u - 1 - u the gamma distribution and the power law with exponential cut-off, x^(a+b-1) exp(-b x / `x_min`).
//! (e^u - 1 alone would do, but is hardly to be told from u where the data are narrow.) With u = x - `x_min`, u²
//! gives the normal. The log-likelihood is concave in (a, b), so that its maximum is found by Newton's method, and its slope at b = 0
//! says whether that maximum is the untilted density: no search that may end anywhere else.

use crate::fit::Inconclusive;
use crate::quadrature::integrate;

/// The convex function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tilt {
    /// u².
    Square,
    /// e^u - 1 - u.
    Exponential,
}

impl Tilt {
    pub(crate) fn of(self, u: f64) -> f64 {
        match self {
            Self::Square => u * u,
            Self::Exponential if u < 0.25 => {
                // The series, from the last term that counts: the difference would lose its digits.
                let series = (3..=16).rev().fold(1.0, |sum, k| 1.0 + sum * u / f64::from(k));
                u * u / 2.0 * series
            }
            Self::Exponential => u.exp_m1() - u,
        }
    }

    /// Its mean under an exponential distribution of this mean.
    fn mean_untilted(self, mean: f64) -> f64 {
        match self {
            Self::Square => 2.0 * mean * mean,
            Self::Exponential if mean < 1.0 => mean * mean / (1.0 - mean),
            Self::Exponential => f64::INFINITY,
        }
    }

    /// Where a u - b g(u) is largest on u >= 0, for b > 0.
    fn mode(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Square => (a / (2.0 * b)).max(0.0),
            Self::Exponential => (a / b).max(0.0).ln_1p(),
        }
    }
}

/// The two numbers that the likelihood knows of the data: means of u and of g(u).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means {
    pub(crate) u: f64,
    pub(crate) g: f64,
}

impl Means {
    pub(crate) fn of(tilt: Tilt, u: &[f64]) -> Self {
        let n = u.len() as f64;
        Self { u: u.iter().sum::<f64>() / n, g: u.iter().map(|u| tilt.of(*u)).sum::<f64>() / n }
    }
}

/// A density of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tilted {
    pub(crate) tilt: Tilt,
    pub(crate) a: f64,
    pub(crate) b: f64,
    ln_z: f64,
}

/// The density's normaliser and moments.
struct Moments {
    ln_z: f64,
    u: f64,
    g: f64,
    var_u: f64,
    var_g: f64,
    cov: f64,
}

/// Newton steps at most; ten are usual.
const STEPS: usize = 200;

/// The search ends when the next step promises to add less than this to the mean log-likelihood.
const PROMISE: f64 = 1e-15;

impl Tilted {
    pub(crate) fn ln_density(&self, u: f64) -> f64 {
        self.a * u - self.b * self.tilt.of(u) - self.ln_z
    }

    /// The most likely density, or that it is the untilted one.
    ///
    /// # Errors
    ///
    /// `untilted` if b = 0 is most likely; [`Inconclusive::NoConvergence`] if floats do not suffice.
    pub(crate) fn fit(tilt: Tilt, means: Means, untilted: Inconclusive) -> Result<Self, Inconclusive> {
        if means.g >= tilt.mean_untilted(means.u) {
            return Err(untilted);
        }
        Self::search(tilt, means, true)
    }

    /// The most likely density with a = -b, for when the most likely one of all has a larger a than is allowed.
    pub(crate) fn fit_edge(tilt: Tilt, means: Means) -> Result<Self, Inconclusive> {
        Self::search(tilt, means, false)
    }

    fn search(tilt: Tilt, means: Means, free_a: bool) -> Result<Self, Inconclusive> {
        let mut at = if free_a { (-1.0 / means.u, 1.0 / means.g) } else { (-1.0 / means.u, 1.0 / means.u) };
        let mut moments = Moments::of(tilt, at.0, at.1).ok_or(Inconclusive::NoConvergence)?;
        let gain = |(a, b): (f64, f64), m: &Moments| a * means.u - b * means.g - m.ln_z;
        for _ in 0..STEPS {
            let (slope_a, slope_b) = (means.u - moments.u, moments.g - means.g);
            let (step_a, step_b) = moments.step(slope_a, slope_b, at.1, free_a);
            let promise = slope_a * step_a + slope_b * step_b;
            if !promise.is_finite() {
                return Err(Inconclusive::NoConvergence);
            }
            if promise < PROMISE {
                return Ok(Self { tilt, a: at.0, b: at.1, ln_z: moments.ln_z });
            }
            // Only uphill.
            let mut length = 1.0;
            let here = gain(at, &moments);
            loop {
                let to = (at.0 + length * step_a, at.1 + length * step_b);
                if let Some(there) = Moments::of(tilt, to.0, to.1)
                    && gain(to, &there) > here
                {
                    (at, moments) = (to, there);
                    break;
                }
                length /= 2.0;
                if length < 1e-12 {
                    // No step goes uphill any more: this is the top, to the digits of the integrals.
                    let top = promise < 1e-9;
                    let found = Self { tilt, a: at.0, b: at.1, ln_z: moments.ln_z };
                    return if top { Ok(found) } else { Err(Inconclusive::NoConvergence) };
                }
            }
        }
        Err(Inconclusive::NoConvergence)
    }
}

impl Moments {
    /// Where the second-order expansion of the mean log-likelihood is largest, not going beyond nine tenths of the way to b = 0.
    ///
    /// The curvature is minus the covariance of (u, -g).
    fn step(&self, slope_a: f64, slope_b: f64, b: f64, free_a: bool) -> (f64, f64) {
        if !free_a {
            let step = (slope_b - slope_a) / (self.var_u + 2.0 * self.cov + self.var_g);
            let step = if step < -0.9 * b { -0.9 * b } else { step };
            return (-step, step);
        }
        let determinant = self.var_u * self.var_g - self.cov * self.cov;
        let step_b = (self.cov * slope_a + self.var_u * slope_b) / determinant;
        // `max` would hide a NaN.
        let step_b = if step_b < -0.9 * b { -0.9 * b } else { step_b };
        ((slope_a + self.cov * step_b) / self.var_u, step_b)
    }

    fn of(tilt: Tilt, a: f64, b: f64) -> Option<Self> {
        let mode = tilt.mode(a, b);
        let phi = |u: f64| a * u - b * tilt.of(u);
        // About a point near the middle, so that variances keep their digits.
        let mut sums = [0.0; 6];
        let (u_0, g_0) = (mode, tilt.of(mode));
        let complete = integrate(phi, mode, |u, w| {
            let (du, dg) = (u - u_0, tilt.of(u) - g_0);
            for (sum, term) in sums.iter_mut().zip([1.0, du, dg, du * du, dg * dg, du * dg]) {
                *sum += w * term;
            }
        });
        let [z, du, dg, uu, gg, ug] = sums;
        let (du, dg) = (du / z, dg / z);
        let moments = Self {
            ln_z: phi(mode) + z.ln(),
            u: u_0 + du,
            g: g_0 + dg,
            var_u: uu / z - du * du,
            var_g: gg / z - dg * dg,
            cov: ug / z - du * dg,
        };
        (complete && moments.ln_z.is_finite() && moments.var_g.is_finite()).then_some(moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_half_normal_are_known() {
        let m = Moments::of(Tilt::Square, 0.0, 0.5).unwrap();
        let pi = std::f64::consts::PI;
        assert!((m.ln_z - (pi / 2.0).sqrt().ln()).abs() < 1e-14);
        assert!((m.u - (2.0 / pi).sqrt()).abs() < 1e-14);
        assert!((m.g - 1.0).abs() < 1e-13);
        assert!((m.var_u - (1.0 - 2.0 / pi)).abs() < 1e-13);
        assert!((m.var_g - 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_tilt_keeps_its_digits_where_the_data_are_narrow() {
        // mpmath: e^u - 1 - u.
        for (u, expected) in [
            (1e-9, 5.000_000_001_666_667e-19),
            (0.01, 5.016_708_416_805_754e-5),
            (0.249_999, 0.034_025_132_662_966_81),
            (0.25, 0.034_025_416_687_741_48),
            (3.0, 16.085_536_923_187_668),
        ] {
            assert!((Tilt::Exponential.of(u) / expected - 1.0).abs() < 1e-13, "{u}: {}", Tilt::Exponential.of(u));
        }
    }

    #[test]
    fn the_fit_has_the_moments_of_the_data() {
        // A maximum-likelihood fit of an exponential family reproduces the means of what it is a function of.
        for (tilt, means) in [
            (Tilt::Square, Means { u: 1.0, g: 1.2 }),
            (Tilt::Square, Means { u: 1.0, g: 1.999 }),
            (Tilt::Square, Means { u: 20.0, g: 401.0 }),
            (Tilt::Exponential, Means { u: 0.3, g: 0.08 }),
            (Tilt::Exponential, Means { u: 2.0, g: 23.0 }),
            (Tilt::Exponential, Means { u: 9.0, g: 3e4 }),
            // Narrow: a normal of mean 3e-8 and standard deviation 1e-8, nearly.
            (Tilt::Exponential, Means { u: 3e-8, g: 5e-16 }),
        ] {
            let fit = Tilted::fit(tilt, means, Inconclusive::SameAsPowerLaw).unwrap();
            let m = Moments::of(tilt, fit.a, fit.b).unwrap();
            assert!(
                (m.u / means.u - 1.0).abs() < 1e-6 && (m.g / means.g - 1.0).abs() < 1e-6,
                "{tilt:?} {means:?} {fit:?}"
            );
        }
    }

    #[test]
    fn data_more_spread_than_an_exponential_are_not_tilted() {
        let fit = |u, g| Tilted::fit(Tilt::Square, Means { u, g }, Inconclusive::SameAsPowerLaw);
        assert_eq!(fit(1.0, 2.0), Err(Inconclusive::SameAsPowerLaw));
        assert_eq!(fit(1.0, 5.0), Err(Inconclusive::SameAsPowerLaw));
        assert!(fit(1.0, 1.9999).is_ok());
    }
}
