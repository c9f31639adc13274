//! Bounded Pareto sizes.

use super::{SizeLaw, Sizes, whole_bytes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Bounded Pareto: density proportional to `x^-(shape + 1)` on `[min, max]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Tail index, above 0; heavy-tailed flow sizes have 1 to 2.
    pub shape: f64,
    /// Smallest size, at least one byte.
    pub min: Bytes,
    /// Largest size, above `min`.
    pub max: Bytes,
}

impl Pareto {
    fn bounds(&self) -> (f64, f64) {
        (self.min.0 as f64, self.max.0 as f64)
    }

    /// Size with `F(x) = u`: inverse of `F(x) = (1 - (L/x)^a) / (1 - (L/H)^a)`.
    fn quantile(&self, u: f64) -> f64 {
        let (low, high) = self.bounds();
        let tail = libm::pow(low / high, self.shape);
        (low * libm::pow(1.0 - u * (1.0 - tail), -1.0 / self.shape)).clamp(low, high)
    }
}

impl SizeLaw for Pareto {
    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(self.shape > 0.0 && self.shape.is_finite()) {
            faults.push(Fault::new("shape", format!("must be above 0, not {}", self.shape)));
        }
        if self.min.0 == 0 {
            faults.push(Fault::new("min", "an object has at least one byte"));
        }
        if self.max <= self.min {
            faults.push(Fault::new("max", format!("must be above min = {}, not {}", self.min, self.max)));
        }
        faults
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Sizes>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Pareto {
    /// `a L^a / (1 - (L/H)^a)` times the integral of `x^-a` over `[L, H]`, which is a logarithm at `a = 1`.
    fn mean(&self) -> Option<f64> {
        let ((low, high), a) = (self.bounds(), self.shape);
        let log_ratio = libm::log(high / low);
        let integral = if (1.0 - a).abs() < 1e-9 {
            log_ratio
        } else {
            libm::pow(low, 1.0 - a) * libm::expm1((1.0 - a) * log_ratio) / (1.0 - a)
        };
        Some(a * libm::pow(low, a) / -libm::expm1(-a * log_ratio) * integral)
    }

    fn draw(&self, rng: &mut Stream) -> Option<Bytes> {
        Some(whole_bytes(self.quantile(rng.random::<f64>())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::sizes::tests::{assert_mean, assert_share, sample};

    fn pareto(shape: f64) -> Pareto {
        Pareto { shape, min: Bytes(1_000), max: Bytes(10_000_000) }
    }

    #[test]
    fn mean_is_the_integral_of_the_quantile_function() {
        for shape in [0.5, 0.999_999_999_9, 1.0, 1.1, 1.5, 3.0] {
            // Midpoint rule on u in [0, 1], refined towards 1 where the tail is: u = 1 - v^4.
            let n = 200_000;
            let law = pareto(shape);
            let numeric: f64 = (0..n)
                .map(|i| (f64::from(i) + 0.5) / f64::from(n))
                .map(|v| law.quantile(1.0 - v.powi(4)) * 4.0 * v.powi(3) / f64::from(n))
                .sum();
            let exact = law.mean().unwrap();
            assert!((numeric / exact - 1.0).abs() < 1e-3, "shape {shape}: {numeric} against {exact}");
        }
    }

    #[test]
    fn sample_agrees_with_the_law() {
        let law = pareto(1.2);
        assert_mean(&law, 200_000, 4.0);
        let drawn = sample(&law, 100_000);
        assert!(drawn[0] >= 1_000.0 && drawn[99_999] <= 10_000_000.0);
        // F(2 L) = (1 - 2^-1.2) / (1 - 10^-4.8).
        assert_share(&drawn, 2_000.0, (1.0 - 2.0_f64.powf(-1.2)) / (1.0 - 10.0_f64.powf(-4.8)), 0.006);
    }

    #[test]
    fn rejects_impossible_parameters() {
        let bad = Pareto { shape: f64::NAN, min: Bytes(0), max: Bytes(0) };
        assert_eq!(bad.check().iter().map(|f| f.key.as_str()).collect::<Vec<_>>(), ["shape", "min", "max"]);
    }
}
