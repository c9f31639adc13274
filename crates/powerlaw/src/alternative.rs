//! The distributions that a power law is compared with, each cut off below `x_min`.

use crate::fit::{Inconclusive, PowerLaw};
use crate::sample::ln_ratio;
use crate::tilted::{Means, Tilt, Tilted};
use crate::weibull::Weibull;

/// A distribution other than the power law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alternative {
    /// exp(-rate x).
    Exponential,
    /// The logarithm is normal.
    LogNormal,
    /// The normal; the part of it above `x_min`.
    Normal,
    /// Weibull, also called the stretched exponential.
    Weibull,
    /// Gamma, with a positive shape.
    Gamma,
    /// The power law with exponential cut-off, x^-alpha exp(-rate x) with alpha >= 1; the power law is nested in it.
    CutOff,
}

impl Alternative {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Exponential, Self::LogNormal, Self::Normal, Self::Weibull, Self::Gamma, Self::CutOff];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::LogNormal => "lognormal",
            Self::Normal => "normal",
            Self::Weibull => "weibull",
            Self::Gamma => "gamma",
            Self::CutOff => "cutoff",
        }
    }

    /// Whether the power law is a special case of it, which changes the test.
    pub fn nests_power_law(self) -> bool {
        self == Self::CutOff
    }

    /// Fits it to a tail by maximum likelihood; returns what it is, and the logarithm of its density at each value.
    pub(crate) fn fit(self, model: &PowerLaw, tail: &[f64]) -> Result<(Parameters, Vec<f64>), Inconclusive> {
        let x_min = model.x_min;
        let n = tail.len() as f64;
        let logs = || tail.iter().map(|x| ln_ratio(*x, x_min)).collect::<Vec<_>>();
        match self {
            Self::Exponential => {
                let excess = tail.iter().map(|x| x - x_min).sum::<f64>() / n;
                let rate = 1.0 / excess;
                if !(rate.is_finite() && rate > 0.0) {
                    return Err(Inconclusive::OutOfRange);
                }
                let densities = tail.iter().map(|x| rate.ln() - rate * (x - x_min)).collect();
                Ok((Parameters::Exponential { rate }, densities))
            }
            Self::LogNormal => {
                let u = logs();
                let fit = Tilted::fit(Tilt::Square, Means::of(Tilt::Square, &u), Inconclusive::SameAsPowerLaw)?;
                let parameters = Parameters::LogNormal {
                    mu: x_min.ln() + fit.a / (2.0 * fit.b),
                    sigma: (2.0 * fit.b).sqrt().recip(),
                };
                Ok((parameters, in_logs(&u, tail, |u| fit.ln_density(u))))
            }
            Self::Normal => {
                // In units of the mean excess: squares of large volumes stay within floats' range.
                let unit = tail.iter().map(|x| x - x_min).sum::<f64>() / n;
                let u: Vec<f64> = tail.iter().map(|x| (x - x_min) / unit).collect();
                let fit = Tilted::fit(Tilt::Square, Means::of(Tilt::Square, &u), Inconclusive::SameAsExponential)?;
                let parameters =
                    Parameters::Normal { mean: x_min + unit * fit.a / (2.0 * fit.b), sd: unit / (2.0 * fit.b).sqrt() };
                Ok((parameters, u.iter().map(|u| fit.ln_density(*u) - unit.ln()).collect()))
            }
            Self::Weibull => {
                let u = logs();
                let fit = Weibull::fit(&u)?;
                let parameters = Parameters::Weibull { scale: x_min * (-fit.b.ln() / fit.beta).exp(), shape: fit.beta };
                Ok((parameters, in_logs(&u, tail, |u| fit.ln_density(u))))
            }
            Self::Gamma | Self::CutOff => {
                let u = logs();
                let means = Means::of(Tilt::Exponential, &u);
                let fit = Tilted::fit(Tilt::Exponential, means, Inconclusive::SameAsPowerLaw)?;
                let fit = match self {
                    Self::Gamma if fit.a + fit.b <= 0.0 => return Err(Inconclusive::OutOfRange),
                    // The likelihood is concave: where its top has alpha < 1, the best allowed is alpha = 1.
                    Self::CutOff if fit.a + fit.b > 0.0 => Tilted::fit_edge(Tilt::Exponential, means)?,
                    _ => fit,
                };
                let parameters = match self {
                    Self::Gamma => Parameters::Gamma { shape: fit.a + fit.b, scale: x_min / fit.b },
                    _ => Parameters::CutOff { alpha: 1.0 - (fit.a + fit.b), rate: fit.b / x_min },
                };
                Ok((parameters, in_logs(&u, tail, |u| fit.ln_density(u))))
            }
        }
    }
}

/// Densities of values from those of the logarithms.
fn in_logs(u: &[f64], tail: &[f64], ln_density: impl Fn(f64) -> f64) -> Vec<f64> {
    u.iter().zip(tail).map(|(u, x)| ln_density(*u) - x.ln()).collect()
}

/// Parameters of a fitted alternative: of the whole distribution, of which the tail is the part above `x_min`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the textbooks")]
#[non_exhaustive]
pub enum Parameters {
    Exponential { rate: f64 },
    LogNormal { mu: f64, sigma: f64 },
    Normal { mean: f64, sd: f64 },
    Weibull { scale: f64, shape: f64 },
    Gamma { shape: f64, scale: f64 },
    CutOff { alpha: f64, rate: f64 },
}

impl Parameters {
    /// Names and values.
    pub fn named(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Exponential { rate } => vec![("rate", rate)],
            Self::LogNormal { mu, sigma } => vec![("mu", mu), ("sigma", sigma)],
            Self::Normal { mean, sd } => vec![("mean", mean), ("sd", sd)],
            Self::Weibull { scale, shape } => vec![("scale", scale), ("shape", shape)],
            Self::Gamma { shape, scale } => vec![("shape", shape), ("scale", scale)],
            Self::CutOff { alpha, rate } => vec![("alpha", alpha), ("rate", rate)],
        }
    }
}
