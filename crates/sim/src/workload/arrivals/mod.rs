//! When requests arrive. To add a law: a file beside this one, and one line in the registry below.
//!
//! An arrival is one *request*; a placement answers it with one session, or with several that start together (incast).

use super::error::Fault;
use crate::random::Stream;
use anabranch_transport::{Duration, Time};

mod explicit;
mod interval;
mod poisson;
mod synchronised;

/// Gives the start of one request after the other, in ascending order; `None` when there are no more.
pub type Starts = Box<dyn FnMut(&mut Stream) -> Option<Time>>;

/// What a law may need to know to reach a target load.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Mean bytes of a request, all its sessions together; `None` for sessions without end.
    pub bytes_per_request: Option<f64>,
    /// Aggregate access capacity of the hosts, bits per second in one direction.
    pub capacity_bps: f64,
}

/// An arrival law.
pub trait ArrivalLaw {
    /// What is wrong with the parameters.
    fn check(&self) -> Vec<Fault>;

    /// Starts of successive requests.
    ///
    /// # Errors
    /// If the law needs something that `demand` does not have.
    fn starts(&self, demand: &Demand) -> Result<Starts, Fault>;

    /// Requests each second in the long run; `None`: they have no rate, for they all come at times of their own.
    fn rate(&self, _demand: &Demand) -> Option<f64> {
        None
    }

    /// How many requests there are, where the law itself says so.
    fn requests(&self) -> Option<u64> {
        None
    }

    /// The parameter that decides how far apart requests are: what is wrong where they do not fit into a run.
    fn decisive(&self) -> &'static str {
        ""
    }

    /// Each session starts at its request's start plus a uniform draw from zero to this.
    fn jitter(&self) -> Duration {
        Duration::ZERO
    }
}

super::registry! {
    /// When requests arrive.
    pub enum ArrivalsConfig as dyn ArrivalLaw, tag "law" {
        /// Exponential gaps between requests, by `rate` or by `load`.
        Poisson(poisson::Poisson),
        /// The same gap between all requests.
        Interval(interval::Interval),
        /// Every request at the same time.
        Synchronised(synchronised::Synchronised),
        /// Start times one by one.
        Explicit(explicit::Explicit),
    }
}

impl Default for ArrivalsConfig {
    fn default() -> Self {
        Self::Synchronised(Synchronised::default())
    }
}
