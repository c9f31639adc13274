//! The scan for `x_min`: exact, but without looking at most of what the full scan looks at.

use crate::law::Law;
use crate::sample::Sample;

/// Candidates tried before the others, spread over the sample, so that there is a good distance to beat early.
const PILOTS: usize = 64;

/// A lower bound and how well it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// Index of the distinct value.
    pub(crate) place: usize,
    pub(crate) alpha: f64,
    pub(crate) distance: f64,
}

/// Values `low < k < high` not looked at yet, and the model's shares next to them: up to the lower end and below the upper.
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
    pub(crate) fn best<L: Law>(mut self) -> Option<Candidate> {
        let candidates = self.sample.distinct().checked_sub(1)?;
        let mut best: Option<Candidate> = None;
        for place in (0..candidates).step_by((candidates / PILOTS).max(1)).chain(0..candidates) {
            let bound = best.map_or(f64::INFINITY, |b| b.distance);
            let Some(law) = L::of(self.sample, place) else { continue };
            let Some(distance) = self.distance(place, law, bound) else { continue };
            let better = |b: Candidate| distance < b.distance || (distance <= b.distance && place < b.place);
            if best.is_none_or(better) {
                best = Some(Candidate { place, alpha: law.alpha(), distance });
            }
        }
        best
    }

    /// Largest deviation over the tail, or none as soon as it is known to be above `bound`.
    fn distance<L: Law>(&mut self, place: usize, law: L, bound: f64) -> Option<f64> {
        let sample = self.sample;
        let last = sample.distinct() - 1;
        let mut worst = 0.0_f64;
        for k in [self.witness, place, last] {
            if k < place {
                continue;
            }
            worst = worst.max(law.shares(sample, k).apart(sample.shares(place, k)));
            if worst > bound {
                self.witness = k;
                return None;
            }
        }
        self.now.clear();
        let (first, end) = (law.shares(sample, place), law.shares(sample, last));
        self.now.push(Stretch { low: place, high: last, model_low: first.up_to, model_high: end.below });
        // From coarse to fine, so that a large deviation is met early.
        while !self.now.is_empty() {
            self.next.clear();
            for &Stretch { low, high, model_low, model_high } in &self.now {
                if high - low < 2 {
                    continue;
                }
                // Neither function can leave the values that it has at the ends.
                let (data_low, data_high) = (sample.shares(place, low).up_to, sample.shares(place, high).below);
                let possible = (model_high - data_low).max(data_high - model_low);
                if possible + L::SLACK <= worst {
                    continue;
                }
                let middle = low.midpoint(high);
                let model = law.shares(sample, middle);
                let deviation = model.apart(sample.shares(place, middle));
                if deviation > worst {
                    worst = deviation;
                    if worst > bound {
                        self.witness = middle;
                        return None;
                    }
                }
                self.next.push(Stretch { low, high: middle, model_low, model_high: model.below });
                self.next.push(Stretch { low: middle, high, model_low: model.up_to, model_high });
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Some(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Pareto, distance};
    use crate::random::Random;
    use crate::zeta::Zeta;
    use proptest::prelude::*;

    /// Every candidate, every value.
    fn full<L: Law>(sample: &Sample) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for place in 0..sample.distinct().saturating_sub(1) {
            let Some(law) = L::of(sample, place) else { continue };
            let distance = distance(sample, place, law);
            if best.is_none_or(|b| distance < b.1) {
                best = Some((place, distance));
            }
        }
        best
    }

    fn check<L: Law>(numbers: &[f64]) -> Result<(), TestCaseError> {
        let sample = Sample::new(numbers).unwrap();
        let found = Scan::new(&sample).best::<L>().map(|c| (c.place, c.distance));
        prop_assert_eq!(found, full::<L>(&sample));
        Ok(())
    }

    /// The distance by its definition: the supremum over all numbers, here over a fine grid and just beside every value.
    #[test]
    fn the_distance_is_the_largest_difference_anywhere() {
        let numbers = [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 9.0];
        let sample = Sample::new(&numbers).unwrap();
        for place in 0..sample.distinct() - 1 {
            let law = Pareto::of(&sample, place).unwrap();
            let x_min = sample.values[place];
            let tail = sample.tail(x_min);
            let apart = |x: f64| {
                let model = 1.0 - (x / x_min).powf(1.0 - law.alpha());
                (model - tail.iter().filter(|y| **y <= x).count() as f64 / tail.len() as f64).abs()
            };
            let beside = numbers.iter().flat_map(|x| [*x, x - 1e-12]).filter(|x| *x >= x_min);
            let grid = (0..9000).map(|i| f64::from(i).mul_add(1e-3, x_min)).filter(|x| *x < 10.0);
            let expected = grid.chain(beside).map(apart).fold(0.0, f64::max);
            assert!((distance(&sample, place, law) - expected).abs() < 1e-9, "{place}");
        }
    }

    proptest! {
        #[test]
        fn the_scan_equals_the_full_scan_to_the_last_bit(numbers in prop::collection::vec(1e-3..1e12_f64, 0..400)) {
            check::<Pareto>(&numbers)?;
        }

        #[test]
        fn with_many_ties_too(numbers in prop::collection::vec(1_u32..30, 0..300)) {
            let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
            check::<Pareto>(&numbers)?;
            check::<Zeta>(&numbers)?;
        }

        #[test]
        fn and_on_tails_heavy_light_and_narrow(seed: u64, n in 2_usize..600, shape in 0.02..20.0_f64) {
            let mut random = Random::new(seed, 0);
            check::<Pareto>(&(0..n).map(|_| (-random.open().ln() * shape).exp() * 1e6).collect::<Vec<_>>())?;
            check::<Pareto>(&(0..n).map(|_| (-random.open().ln()).powf(shape) + 1e-9).collect::<Vec<_>>())?;
            check::<Zeta>(&(0..n).map(|_| (-random.open().ln() * shape).exp().min(1e15).floor()).collect::<Vec<_>>())?;
            check::<Zeta>(&(0..n).map(|_| (1e6 + random.open() * 1e3 * shape).floor()).collect::<Vec<_>>())?;
        }
    }
}
