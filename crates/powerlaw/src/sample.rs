//! Positive numbers, sorted, with what every candidate for `x_min` needs at hand.

use thiserror::Error;

/// Numbers that are no sample.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A power law lives on positive, finite numbers.
    #[error("value {value} at position {index}: expected a positive, finite number")]
    NotPositive {
        /// Position in what was given, from 0.
        index: usize,
        /// What stands there.
        value: f64,
    },
}

/// A sample of positive numbers.
#[derive(Debug, Clone)]
pub struct Sample {
    /// All values, ascending.
    sorted: Vec<f64>,
    /// Distinct values, ascending.
    pub(crate) values: Vec<f64>,
    /// For each distinct value, how many of the sample are smaller; then, for what is beyond the largest, how many there are. Whole
    /// numbers, kept as the floats they are used as.
    pub(crate) below: Vec<f64>,
    /// For each distinct value, the logarithm of its ratio to the smallest.
    pub(crate) logs: Vec<f64>,
    /// For each distinct value v, the sum over the tail (values >= v) of ln(x / v).
    pub(crate) log_sums: Vec<f64>,
}

impl Sample {
    /// Takes numbers in any order.
    ///
    /// # Errors
    ///
    /// [`SampleError::NotPositive`] for zero, negative, infinite numbers and NaN.
    pub fn new(numbers: &[f64]) -> Result<Self, SampleError> {
        if let Some((index, &value)) = numbers.iter().enumerate().find(|(_, x)| !(x.is_finite() && **x > 0.0)) {
            return Err(SampleError::NotPositive { index, value });
        }
        Ok(Self::from_positive(numbers.to_vec()))
    }

    /// As [`Sample::new`], for numbers that are known to be positive and finite.
    pub(crate) fn from_positive(mut sorted: Vec<f64>) -> Self {
        sorted.sort_unstable_by(f64::total_cmp);
        let (mut values, mut below) = (Vec::with_capacity(sorted.len()), Vec::with_capacity(sorted.len() + 1));
        for (rank, &x) in sorted.iter().enumerate() {
            if values.last() != Some(&x) {
                values.push(x);
                below.push(rank as f64);
            }
        }
        below.push(sorted.len() as f64);
        let logs = values.iter().map(|x| ln_ratio(*x, values[0])).collect();
        // From the largest value down: every term is positive, so that no digits cancel, however narrow the data.
        let n = sorted.len() as f64;
        let mut log_sums = vec![0.0; values.len()];
        for k in (1..values.len()).rev() {
            log_sums[k - 1] = (n - below[k]).mul_add(ln_ratio(values[k], values[k - 1]), log_sums[k]);
        }
        Self { sorted, values, below, logs, log_sums }
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The numbers in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many distinct numbers.
    pub fn distinct(&self) -> usize {
        self.values.len()
    }

    /// Of the tail that begins with a distinct value, the shares that lie below the distinct value `k`, and up to it.
    pub(crate) fn shares(&self, place: usize, k: usize) -> Shares {
        let count = self.sorted.len() as f64 - self.below[place];
        Shares {
            below: (self.below[k] - self.below[place]) / count,
            up_to: (self.below[k + 1] - self.below[place]) / count,
        }
    }

    /// The numbers that are at least `x_min`, in ascending order.
    pub fn tail(&self, x_min: f64) -> &[f64] {
        &self.sorted[self.sorted.partition_point(|x| *x < x_min)..]
    }
}

/// A distribution function on both sides of a value: of a sample it has a step there, of whole numbers the model's has, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) below: f64,
    pub(crate) up_to: f64,
}

impl Shares {
    /// How far two distribution functions are apart at a value, on the side where they are farther.
    pub(crate) fn apart(self, other: Self) -> f64 {
        (self.below - other.below).abs().max((self.up_to - other.up_to).abs())
    }
}

/// ln(x / base) for x >= base > 0, accurate when they are close, too.
pub(crate) fn ln_ratio(x: f64, base: f64) -> f64 {
    let ratio = x / base;
    if ratio < 2.0 { ((x - base) / base).ln_1p() } else { x.ln() - base.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_positive_are_refused_with_their_position() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Sample::new(&[1.0, bad]).unwrap_err();
            assert!(matches!(error, SampleError::NotPositive { index: 1, .. }), "{error}");
        }
        assert!(Sample::new(&[f64::MIN_POSITIVE, f64::MAX]).is_ok());
    }

    #[test]
    fn ties_are_counted_once_and_weigh_in_the_sums() {
        let sample = Sample::new(&[4.0, 1.0, 2.0, 2.0, 4.0, 4.0]).unwrap();
        assert_eq!(sample.values, [1.0, 2.0, 4.0]);
        assert_eq!(sample.below, [0.0, 1.0, 3.0, 6.0]);
        let ln2 = 2.0_f64.ln();
        for (sum, expected) in sample.log_sums.iter().zip([8.0 * ln2, 3.0 * ln2, 0.0]) {
            assert!((sum - expected).abs() < 1e-14, "{sum} {expected}");
        }
        assert_eq!(sample.tail(2.0).len(), 5);
        assert_eq!(sample.tail(2.5).len(), 3);
        assert!(sample.tail(5.0).is_empty());
    }

    #[test]
    fn the_extremes_of_floats_have_finite_logarithms() {
        let sample = Sample::new(&[f64::MIN_POSITIVE, 1.0, f64::MAX]).unwrap();
        assert!(sample.logs.iter().chain(&sample.log_sums).all(|x| x.is_finite()));
    }
}
