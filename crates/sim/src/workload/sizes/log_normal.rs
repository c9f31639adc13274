//! Log-normal sizes.

use super::{SizeLaw, Sizes, whole_bytes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use rand::RngExt as _;
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Log-normal: the logarithm of the size is normal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// Mean size (of the sizes themselves, not of their logarithms).
    pub mean: Bytes,
    /// Standard deviation of the natural logarithm of the size, 0 to 8.
    pub sigma: f64,
}

/// Beyond this, more than half of all bytes are in one object out of 10^14: no run would ever see the mean.
const SIGMA_MAX: f64 = 8.0;

impl LogNormal {
    /// Mean of the logarithm: `E[X] = exp(mu + sigma^2 / 2)`.
    fn mu(&self) -> f64 {
        libm::log(self.mean.0 as f64) - self.sigma * self.sigma / 2.0
    }
}

impl SizeLaw for LogNormal {
    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.mean.0 == 0 {
            faults.push(Fault::new("mean", "an object has at least one byte"));
        }
        if !(0.0..=SIGMA_MAX).contains(&self.sigma) {
            faults.push(Fault::new("sigma", format!("must be from 0 to {SIGMA_MAX}, not {}", self.sigma)));
        }
        faults
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Sizes>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for LogNormal {
    fn mean(&self) -> Option<f64> {
        Some(self.mean.0 as f64)
    }

    fn draw(&self, rng: &mut Stream) -> Option<Bytes> {
        let z: f64 = rng.sample(StandardNormal);
        Some(whole_bytes(libm::exp(self.mu() + self.sigma * z)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::sizes::tests::{assert_mean, assert_share, sample};

    #[test]
    fn sample_agrees_with_the_law() {
        let law = LogNormal { mean: Bytes(100_000), sigma: 1.5 };
        assert_mean(&law, 200_000, 4.0);
        let drawn = sample(&law, 100_000);
        // The median is exp(mu); one sigma above it lies Phi(1) = 0.841345.
        assert_share(&drawn, law.mu().exp(), 0.5, 0.006);
        assert_share(&drawn, (law.mu() + 1.5).exp(), 0.841_345, 0.006);
    }

    #[test]
    fn sigma_zero_is_a_constant_and_no_draw_is_below_one_byte() {
        assert!(sample(&LogNormal { mean: Bytes(500), sigma: 0.0 }, 100).iter().all(|s| (s - 500.0).abs() < 0.5));
        assert!(sample(&LogNormal { mean: Bytes(1), sigma: 3.0 }, 1000)[0] >= 1.0);
    }
}
