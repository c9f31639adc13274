//! How large objects are. To add a law: a file beside this one, and one line in the registry below.

use super::error::Fault;
use super::supply::Supply;
use crate::random::Stream;
use anabranch_transport::Bytes;
use std::path::Path;

mod cdf;
mod endless;
mod fixed;
mod log_normal;
mod pareto;
mod volumes;

pub(crate) use cdf::built_in_table;
pub use cdf::{BUILT_IN, CdfTable, Interpolation};
pub use volumes::Start;

/// A law of sizes, ready to be drawn from.
pub trait Sizes {
    /// Exact mean in bytes, before rounding to whole bytes; `None` for objects without end.
    fn mean(&self) -> Option<f64>;

    /// One size, at least one byte; `None` for an object without end.
    fn draw(&self, rng: &mut Stream) -> Option<Bytes>;

    /// How a session's object becomes available, if it does so little by little; its size then counts bytes on the wire.
    fn supply(&self, _: &mut Stream) -> Option<Supply> {
        None
    }
}

/// The configuration of a law of sizes.
pub trait SizeLaw {
    /// What is wrong with the parameters.
    fn check(&self) -> Vec<Fault>;

    /// Prepares the law; relative file names start at `base`.
    ///
    /// # Errors
    /// If a file cannot be read or is not what it should be.
    fn open(&self, base: &Path) -> Result<Box<dyn Sizes>, Fault>;

    /// The data file that it reads, if any: its content is part of a run's hash.
    fn data_file(&self) -> Option<&str> {
        None
    }
}

super::registry! {
    /// How large the objects are.
    pub enum SizesConfig as dyn SizeLaw, tag "law" {
        /// Every object has the same size.
        Fixed(fixed::Fixed),
        /// An empirical distribution, built in or from a file.
        Cdf(cdf::Cdf),
        /// Bounded Pareto.
        Pareto(pareto::Pareto),
        /// Log-normal.
        LogNormal(log_normal::LogNormal),
        /// No end: long flows that last until the run ends.
        Endless(endless::Endless),
        /// Little by little, along a volume series.
        Volumes(volumes::Volumes),
    }
}

/// A drawn size in whole bytes, at least one. The cast saturates; a NaN cannot arise from checked parameters.
fn whole_bytes(size: f64) -> Bytes {
    Bytes((size.round() as u64).max(1))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::random::stream;

    /// Sorted sample of `n` sizes.
    pub(crate) fn sample(law: &dyn SizeLaw, n: usize) -> Vec<f64> {
        let sizes = law.open(Path::new("")).unwrap();
        let mut rng = stream(11, "sizes");
        let mut drawn: Vec<f64> = (0..n).map(|_| sizes.draw(&mut rng).unwrap().0 as f64).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    /// Asserts that the sample mean is within `sigmas` standard errors of the exact mean.
    pub(crate) fn assert_mean(law: &dyn SizeLaw, n: usize, sigmas: f64) {
        let drawn = sample(law, n);
        let exact = law.open(Path::new("")).unwrap().mean().unwrap();
        let mean = drawn.iter().sum::<f64>() / n as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
        let error = (variance / n as f64).sqrt();
        assert!((mean - exact).abs() <= sigmas * error + 0.5, "sample {mean}, exact {exact}, standard error {error}");
    }

    /// Asserts that a share `p` of the sample, within `tolerance`, is at or below `x`.
    pub(crate) fn assert_share(drawn: &[f64], x: f64, p: f64, tolerance: f64) {
        let share = drawn.partition_point(|s| *s <= x) as f64 / drawn.len() as f64;
        assert!((share - p).abs() < tolerance, "P(size <= {x}) is {share}, should be {p}");
    }
}
