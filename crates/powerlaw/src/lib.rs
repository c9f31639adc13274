#![doc = include_str!("../README.md")]

mod alternative;
mod bootstrap;
mod compare;
mod discrete;
mod fit;
mod law;
mod quadrature;
mod random;
mod sample;
mod scan;
mod tilted;
mod weibull;
mod zeta;

pub use alternative::{Alternative, Parameters};
pub use bootstrap::{Effort, Goodness, Uncertainty, goodness, goodness_discrete, uncertainty, uncertainty_discrete};
pub use compare::{Comparison, likelihood_ratio};
pub use discrete::DiscretePowerLaw;
pub use fit::{Inconclusive, PowerLaw, XMin};
pub use sample::{Sample, SampleError};
