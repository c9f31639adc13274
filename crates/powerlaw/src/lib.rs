//! Power laws in data, by the method of Clauset, Shalizi and Newman, *Power-law distributions in empirical data*, SIAM
//! Review 51 (2009), for continuous values.
//!
//! A [`Sample`] is a set of positive numbers. [`Sample::fit`] finds the tail `x >= x_min` that a power law describes best and
//! its exponent; [`PowerLaw::compare`] asks whether another [`Alternative`] describes the same tail better;
//! [`uncertainty`] and [`goodness`] bootstrap the parameters' spread and the fit's p-value.
//!
//! Results equal those of the Python package `powerlaw` 1.5 (tests compare them), but for two things. What that package answers with
//! NaN, or with wherever its search happened to stop, is an [`Inconclusive`] with a reason here. And the scan for `x_min`, which it
//! does in quadratic time, prunes: see [`scan`](crate::Sample::fit).
//!
//! Not here: discrete power laws, and power laws with an upper bound.

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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
