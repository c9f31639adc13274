//! Power laws as the scan fits them, and that of continuous data.

use crate::sample::{Sample, Shares};

/// A power law of a tail that begins with one of the sample's values.
pub(crate) trait Law: Copy {
    /// Room for rounding when a stretch is skipped: far above an error of [`Law::shares`], far below any distance.
    const SLACK: f64;

    /// The maximum-likelihood fit to the tail that begins with a distinct value; none if its exponent is not finite.
    fn of(sample: &Sample, place: usize) -> Option<Self>;

    /// Its exponent.
    fn alpha(self) -> f64;

    /// Shares of the model below the distinct value `k`, and up to it. They do not fall as `k` grows, and those below a value are at
    /// least those up to the value before.
    fn shares(self, sample: &Sample, k: usize) -> Shares;
}

/// The power law of continuous data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pareto {
    alpha: f64,
    /// Where the tail begins, as [`Sample::logs`] counts.
    log: f64,
}

impl Pareto {
    /// One whose tail begins `shift` before a distinct value, on the scale of logarithms.
    pub(crate) fn before(sample: &Sample, place: usize, shift: f64) -> Option<Self> {
        let count = sample.len() as f64 - sample.below[place];
        let alpha = 1.0 + count / count.mul_add(shift, sample.log_sums[place]);
        (alpha.is_finite() && alpha > 1.0).then(|| Self { alpha, log: sample.logs[place] - shift })
    }
}

impl Law for Pareto {
    const SLACK: f64 = 1e-15;

    fn of(sample: &Sample, place: usize) -> Option<Self> {
        Self::before(sample, place, 0.0)
    }

    fn alpha(self) -> f64 {
        self.alpha
    }

    fn shares(self, sample: &Sample, k: usize) -> Shares {
        let share = 1.0 - (-(self.alpha - 1.0) * (sample.logs[k] - self.log)).exp();
        Shares { below: share, up_to: share }
    }
}

/// The Kolmogorov-Smirnov distance over a tail: the largest difference of the two distribution functions, at any number. Between two
/// values of the sample that of the sample is constant, so that it is next to one of them, on either side.
pub(crate) fn distance<L: Law>(sample: &Sample, place: usize, law: L) -> f64 {
    let apart = |k| law.shares(sample, k).apart(sample.shares(place, k));
    (place..sample.distinct()).map(apart).fold(0.0, f64::max)
}
