#![doc = include_str!("../README.md")]

mod alternative;
mod bootstrap;
mod compare;
mod fit;
mod quadrature;
mod random;
mod sample;
mod scan;
mod tilted;
mod weibull;

pub use alternative::{Alternative, Parameters};
pub use bootstrap::{Effort, Goodness, Uncertainty, goodness, uncertainty};
pub use compare::{Comparison, likelihood_ratio};
pub use fit::{Inconclusive, PowerLaw, XMin};
pub use sample::{Sample, SampleError};
