//! The scan for `x_min`: exact, but without looking at most of what the full scan looks at.

use crate::sample::Sample;

/// Candidates tried before the others, spread over the sample, so that there is a good distance to beat early.
const PILOTS: usize = 64;

/// Room for rounding when a stretch is skipped: far above an error of the exponential, far below any distance.
const SLACK: f64 = 1e-15;

/// A lower bound and how well it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// Index of the distinct value.
    pub(crate) place: usize,
    pub(crate) alpha: f64,
    pub(crate) distance: f64,
}

/// Values `low < k < high` not looked at yet, and the model's share below either end.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    low: usize,
    high: usize,
    model_low: f64,
    model_high: f64,
}

pub(crate) struct Scan<'a> {
    sample: &'a Sample,
    /// Where the last candidate was given up: the next one most often fails there, too.
    witness: usize,
    now: Vec<Stretch>,
    next: Vec<Stretch>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        Self { sample, witness: 0, now: Vec::new(), next: Vec::new() }
    }

    /// The candidate of least distance, the smallest of several; none for fewer than two distinct values.
    pub(crate) fn best(mut self) -> Option<Candidate> {
        let candidates = self.sample.distinct().checked_sub(1)?;
        let mut best: Option<Candidate> = None;
        for place in (0..candidates).step_by((candidates / PILOTS).max(1)).chain(0..candidates) {
            let bound = best.map_or(f64::INFINITY, |b| b.distance);
            let Some(alpha) = self.alpha(place) else { continue };
            let Some(distance) = self.distance(place, alpha, bound) else { continue };
            let better = |b: Candidate| distance < b.distance || (distance <= b.distance && place < b.place);
            if best.is_none_or(better) {
                best = Some(Candidate { place, alpha, distance });
            }
        }
        best
    }

    /// Maximum-likelihood exponent of the tail that begins with a distinct value; none if it is not finite.
    fn alpha(&self, place: usize) -> Option<f64> {
        let count = self.sample.len() as f64 - self.sample.below[place];
        let alpha = 1.0 + count / self.sample.log_sums[place];
        (alpha.is_finite() && alpha > 1.0).then_some(alpha)
    }

    /// Largest deviation over the tail, or none as soon as it is known to be above `bound`.
    fn distance(&mut self, place: usize, alpha: f64, bound: f64) -> Option<f64> {
        let Sample { below, logs, .. } = self.sample;
        let count = self.sample.len() as f64 - below[place];
        let exponent = alpha - 1.0;
        let model = |k: usize| 1.0 - (-exponent * (logs[k] - logs[place])).exp();
        let share = |k: usize| (below[k] - below[place]) / count;
        if self.witness > place && (model(self.witness) - share(self.witness)).abs() > bound {
            return None;
        }
        let last = self.sample.distinct() - 1;
        let model_high = model(last);
        let mut worst = (model_high - share(last)).abs();
        if worst > bound {
            self.witness = last;
            return None;
        }
        self.now.clear();
        self.now.push(Stretch { low: place, high: last, model_low: 0.0, model_high });
        // From coarse to fine, so that a large deviation is met early.
        while !self.now.is_empty() {
            self.next.clear();
            for &Stretch { low, high, model_low, model_high } in &self.now {
                if high - low < 2 {
                    continue;
                }
                // Neither function can leave the values that it has at the ends.
                let possible = (model_high - share(low + 1)).max(share(high - 1) - model_low);
                if possible + SLACK <= worst {
                    continue;
                }
                let middle = low.midpoint(high);
                let model_middle = model(middle);
                let deviation = (model_middle - share(middle)).abs();
                if deviation > worst {
                    worst = deviation;
                    if worst > bound {
                        self.witness = middle;
                        return None;
                    }
                }
                self.next.push(Stretch { low, high: middle, model_low, model_high: model_middle });
                self.next.push(Stretch { low: middle, high, model_low: model_middle, model_high });
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Some(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Every candidate, every value.
    fn full(sample: &Sample) -> Option<(usize, f64)> {
        let Sample { values, below, logs, log_sums, .. } = sample;
        let mut best: Option<(usize, f64)> = None;
        for i in 0..values.len().saturating_sub(1) {
            let count = sample.len() as f64 - below[i];
            // As the code under test: the exponent goes by way of alpha.
            let alpha = 1.0 + count / log_sums[i];
            if !(alpha.is_finite() && alpha > 1.0) {
                continue;
            }
            let distance = (i..values.len())
                .map(|k| (1.0 - (-(alpha - 1.0) * (logs[k] - logs[i])).exp() - (below[k] - below[i]) / count).abs())
                .fold(0.0, f64::max);
            if best.is_none_or(|b| distance < b.1) {
                best = Some((i, distance));
            }
        }
        best
    }

    fn check(numbers: &[f64]) -> Result<(), TestCaseError> {
        let sample = Sample::new(numbers).unwrap();
        let found = Scan::new(&sample).best().map(|c| (c.place, c.distance));
        prop_assert_eq!(found, full(&sample));
        Ok(())
    }

    proptest! {
        #[test]
        fn the_scan_equals_the_full_scan_to_the_last_bit(numbers in prop::collection::vec(1e-3..1e12_f64, 0..400)) {
            check(&numbers)?;
        }

        #[test]
        fn with_many_ties_too(numbers in prop::collection::vec(1_u32..30, 0..300)) {
            check(&numbers.into_iter().map(f64::from).collect::<Vec<_>>())?;
        }

        #[test]
        fn and_on_tails_heavy_light_and_narrow(seed: u64, n in 2_usize..600, shape in 0.02..20.0_f64) {
            let mut random = Random::new(seed, 0);
            check(&(0..n).map(|_| (-random.open().ln() * shape).exp() * 1e6).collect::<Vec<_>>())?;
            check(&(0..n).map(|_| (-random.open().ln()).powf(shape) + 1e-9).collect::<Vec<_>>())?;
        }
    }
}
