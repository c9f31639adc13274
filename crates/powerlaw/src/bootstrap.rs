//! How sure the fit is: the spread of its parameters, and whether a power law is plausible at all.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::discrete::DiscretePowerLaw;
use crate::fit::{Inconclusive, PowerLaw, XMin};
use crate::random::Random;
use crate::sample::Sample;

/// How much work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Synthetic samples. Section 4.1 advises 2500 for a p-value to about 0.01.
    pub replicates: usize,
    /// Seed: the same gives the same answer, on any number of threads.
    pub seed: u64,
    /// Threads; 0 means one for each core.
    pub threads: usize,
}

/// Parameters of fits to resampled data, in order of the replicates.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertainty {
    /// Exponents.
    pub alpha: Vec<f64>,
    /// Lower bounds.
    pub x_min: Vec<f64>,
    /// Sizes of the tails.
    pub n_tail: Vec<usize>,
    /// Replicates that had no fit, for want of two different values.
    pub failed: usize,
}

/// The goodness-of-fit test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodness {
    /// Share of synthetic samples that are as far from their own fit as the data are from theirs, or farther. Small values
    /// rule the power law out; the paper's threshold is 0.1.
    pub p: f64,
    /// Standard error of `p`.
    pub standard_error: f64,
    /// Synthetic samples that had a fit.
    pub replicates: usize,
}

/// A model with a tail, as the bootstrap needs it.
trait Model: Copy + Send + Sync {
    fn fit(sample: &Sample, x_min: XMin) -> Result<Self, Inconclusive>;
    fn summary(&self) -> Summary;
    /// The number that the model exceeds, or reaches, with a probability.
    fn quantile_above(&self, share: f64) -> f64;
}

/// What models have in common.
#[derive(Debug, Clone, Copy)]
struct Summary {
    alpha: f64,
    x_min: f64,
    distance: f64,
    n_tail: usize,
}

impl Model for PowerLaw {
    fn fit(sample: &Sample, x_min: XMin) -> Result<Self, Inconclusive> {
        sample.fit(x_min)
    }

    fn summary(&self) -> Summary {
        let Self { alpha, x_min, distance, n_tail } = *self;
        Summary { alpha, x_min, distance, n_tail }
    }

    fn quantile_above(&self, share: f64) -> f64 {
        Self::quantile_above(self, share)
    }
}

impl Model for DiscretePowerLaw {
    fn fit(sample: &Sample, x_min: XMin) -> Result<Self, Inconclusive> {
        sample.fit_whole(x_min)
    }

    fn summary(&self) -> Summary {
        let Self { alpha, x_min, distance, n_tail } = *self;
        Summary { alpha, x_min, distance, n_tail }
    }

    fn quantile_above(&self, share: f64) -> f64 {
        Self::quantile_above(self, share)
    }
}

/// Refits resampled data (the non-parametric bootstrap of section 3.3, drawn with replacement from the whole sample).
///
/// With [`XMin::Fitted`] the bound is fitted anew in each replicate, so that its spread is in that of alpha.
pub fn uncertainty(sample: &Sample, x_min: XMin, effort: Effort) -> Uncertainty {
    refitted::<PowerLaw>(sample, x_min, effort)
}

/// The same with the power law of whole numbers, [`Sample::fit_discrete`].
///
/// # Errors
///
/// [`Inconclusive::NotWhole`] if the sample has other numbers.
pub fn uncertainty_discrete(sample: &Sample, x_min: XMin, effort: Effort) -> Result<Uncertainty, Inconclusive> {
    match sample.fit_discrete(x_min) {
        Err(Inconclusive::NotWhole) => Err(Inconclusive::NotWhole),
        _ => Ok(refitted::<DiscretePowerLaw>(sample, x_min, effort)),
    }
}

fn refitted<M: Model>(sample: &Sample, x_min: XMin, effort: Effort) -> Uncertainty {
    let data = sample.sorted();
    let fits = parallel(effort, |random| {
        if data.is_empty() {
            return Err(Inconclusive::NoValues);
        }
        let drawn = (0..data.len()).map(|_| data[random.below(data.len())]).collect();
        M::fit(&Sample::from_positive(drawn), x_min).map(|fit| fit.summary())
    });
    let good: Vec<Summary> = fits.iter().copied().flatten().collect();
    Uncertainty {
        alpha: good.iter().map(|f| f.alpha).collect(),
        x_min: good.iter().map(|f| f.x_min).collect(),
        n_tail: good.iter().map(|f| f.n_tail).collect(),
        failed: fits.len() - good.len(),
    }
}

/// Tests whether the data may be of the fitted model: the semi-parametric bootstrap of section 4.1.
///
/// A synthetic sample has as many values as the data. Each is drawn from the fitted power law with the probability that a value of the
/// data is in the tail, and otherwise from the data below `x_min`. Each synthetic sample is fitted as the data were.
///
/// # Errors
///
/// [`Inconclusive::NoValues`] if no synthetic sample had a fit, or there were none.
pub fn goodness(sample: &Sample, x_min: XMin, effort: Effort) -> Result<Goodness, Inconclusive> {
    tested(sample, sample.fit(x_min)?, x_min, effort)
}

/// The same for the power law of whole numbers, [`Sample::fit_discrete`].
///
/// # Errors
///
/// As [`goodness`], and [`Inconclusive::NotWhole`] if the sample has other numbers.
pub fn goodness_discrete(sample: &Sample, x_min: XMin, effort: Effort) -> Result<Goodness, Inconclusive> {
    tested(sample, sample.fit_discrete(x_min)?, x_min, effort)
}

fn tested<M: Model>(sample: &Sample, fit: M, x_min: XMin, effort: Effort) -> Result<Goodness, Inconclusive> {
    let data = sample.sorted();
    let Summary { distance, n_tail, .. } = fit.summary();
    let body = &data[..data.len() - n_tail];
    let farther = parallel(effort, |random| {
        let drawn = (0..data.len())
            .map(|_| match random.below(data.len()) {
                place if place < body.len() => body[random.below(body.len())],
                _ => fit.quantile_above(random.open()),
            })
            .filter(|x| x.is_finite())
            .collect();
        M::fit(&Sample::from_positive(drawn), x_min).map(|f| f.summary().distance >= distance)
    });
    let verdicts: Vec<bool> = farther.into_iter().flatten().collect();
    if verdicts.is_empty() {
        return Err(Inconclusive::NoValues);
    }
    let n = verdicts.len() as f64;
    let p = verdicts.iter().filter(|v| **v).count() as f64 / n;
    Ok(Goodness { p, standard_error: (p * (1.0 - p) / n).sqrt(), replicates: verdicts.len() })
}

/// Runs `work` for each replicate with its own stream, and returns the results in order.
fn parallel<T: Send>(effort: Effort, work: impl Fn(&mut Random) -> T + Sync) -> Vec<T> {
    let Effort { replicates, seed, threads } = effort;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if threads == 0 { cores } else { threads }.min(replicates).max(1);
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let run = || {
            let mut done = Vec::new();
            loop {
                let replicate = next.fetch_add(1, Ordering::Relaxed);
                if replicate >= replicates {
                    return done;
                }
                done.push((replicate, work(&mut Random::new(seed, replicate as u64))));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let joined = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    results.sort_unstable_by_key(|(replicate, _)| *replicate);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power_law(n: usize, alpha: f64, seed: u64) -> Sample {
        let mut random = Random::new(seed, u64::MAX);
        let model = PowerLaw { alpha, x_min: 10.0, distance: 0.0, n_tail: n };
        Sample::new(&(0..n).map(|_| model.quantile_above(random.open())).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn answers_depend_on_the_seed_and_not_on_the_threads() {
        let sample = power_law(300, 2.5, 1);
        let effort = |seed, threads| Effort { replicates: 40, seed, threads };
        let one = uncertainty(&sample, XMin::Fitted, effort(5, 1));
        assert_eq!(one, uncertainty(&sample, XMin::Fitted, effort(5, 4)));
        assert_ne!(one, uncertainty(&sample, XMin::Fitted, effort(6, 4)));
        let p = |threads| goodness(&sample, XMin::Fitted, effort(5, threads)).unwrap();
        assert_eq!(p(1), p(3));
    }

    #[test]
    fn the_spread_of_alpha_is_that_of_theory_when_the_bound_is_given() {
        let sample = power_law(2000, 2.5, 2);
        let fit = sample.fit(XMin::At(10.0)).unwrap();
        let drawn = uncertainty(&sample, XMin::At(10.0), Effort { replicates: 500, seed: 1, threads: 0 });
        let mean = drawn.alpha.iter().sum::<f64>() / 500.0;
        let sd = (drawn.alpha.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 499.0).sqrt();
        assert!((sd / fit.sigma() - 1.0).abs() < 0.2, "{sd} {}", fit.sigma());
        assert_eq!(drawn.failed, 0);
    }

    #[test]
    fn a_power_law_passes_and_an_exponential_does_not() {
        let effort = Effort { replicates: 200, seed: 9, threads: 0 };
        let p = goodness(&power_law(1000, 2.2, 3), XMin::At(10.0), effort).unwrap().p;
        assert!(p > 0.1, "{p}");
        let mut random = Random::new(4, 0);
        let numbers: Vec<f64> = (0..1000).map(|_| 1.0 - random.open().ln()).collect();
        let p = goodness(&Sample::new(&numbers).unwrap(), XMin::At(1.0), effort).unwrap().p;
        assert!(p < 0.01, "{p}");
    }

    #[test]
    fn of_whole_numbers_the_zeta_passes_and_a_geometric_does_not() {
        let effort = Effort { replicates: 100, seed: 9, threads: 0 };
        let model = DiscretePowerLaw { alpha: 2.2, x_min: 3.0, distance: 0.0, n_tail: 1 };
        let mut random = Random::new(5, 0);
        let zeta: Vec<f64> = (0..800).map(|_| model.quantile_above(random.open())).collect();
        let zeta = Sample::new(&zeta).unwrap();
        let p = goodness_discrete(&zeta, XMin::At(3.0), effort).unwrap().p;
        assert!(p > 0.1, "{p}");
        // To the continuous law the ties alone rule it out.
        assert!(goodness(&zeta, XMin::At(3.0), effort).unwrap().p < 0.05);
        let geometric: Vec<f64> = (0..800).map(|_| 1.0 + (-4.0 * random.open().ln()).floor()).collect();
        let geometric = Sample::new(&geometric).unwrap();
        assert!(goodness_discrete(&geometric, XMin::At(1.0), effort).unwrap().p < 0.05);
        let spread = uncertainty_discrete(&zeta, XMin::At(3.0), effort).unwrap();
        let sigma = zeta.fit_discrete(XMin::At(3.0)).unwrap().sigma();
        let mean = spread.alpha.iter().sum::<f64>() / 100.0;
        let sd = (spread.alpha.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 99.0).sqrt();
        assert!((sd / sigma - 1.0).abs() < 0.3, "{sd} {sigma}");
        let fractions = Sample::new(&[1.5, 2.0, 7.0]).unwrap();
        assert_eq!(goodness_discrete(&fractions, XMin::Fitted, effort), Err(Inconclusive::NotWhole));
        assert_eq!(uncertainty_discrete(&fractions, XMin::Fitted, effort).err(), Some(Inconclusive::NotWhole));
    }

    #[test]
    fn p_values_of_true_power_laws_are_uniform() {
        // Forty samples with a fitted bound. Under the null the share of p < 0.3 is 0.3, up to the discreteness of the test.
        let effort = Effort { replicates: 60, seed: 2, threads: 0 };
        let low =
            (0..40).filter(|&s| goodness(&power_law(200, 2.5, 100 + s), XMin::Fitted, effort).unwrap().p < 0.3).count();
        assert!((4..=20).contains(&low), "{low} of 40"); // 12 expected, three standard deviations are 8.7
    }

    #[test]
    fn nothing_to_draw_from_is_said() {
        let effort = Effort { replicates: 10, seed: 0, threads: 2 };
        let empty = Sample::new(&[]).unwrap();
        assert_eq!(uncertainty(&empty, XMin::Fitted, effort).failed, 10);
        assert_eq!(goodness(&empty, XMin::Fitted, effort), Err(Inconclusive::TooFewValues));
        let two = Sample::new(&[1.0, 2.0]).unwrap();
        let none = Effort { replicates: 0, ..effort };
        assert_eq!(goodness(&two, XMin::Fitted, none), Err(Inconclusive::NoValues));
        assert!(uncertainty(&two, XMin::Fitted, none).alpha.is_empty());
    }
}
