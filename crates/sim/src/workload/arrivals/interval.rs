//! Arrivals at a fixed interval.

use super::{ArrivalLaw, Demand, Starts};
use crate::workload::error::Fault;
use anabranch_transport::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One request every `every`, the first at `at`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Time between two requests.
    pub every: Duration,
    /// Time of the first request.
    #[serde(default)]
    pub at: Duration,
}

impl ArrivalLaw for Interval {
    fn check(&self) -> Vec<Fault> {
        if self.every == Duration::ZERO {
            return vec![
                Fault::new("every", "must be above 0").hint("for requests at the same time use `synchronised`"),
            ];
        }
        Vec::new()
    }

    fn decisive(&self) -> &'static str {
        "every"
    }

    fn starts(&self, _: &Demand) -> Result<Starts, Fault> {
        let (mut next, every) = (Time(self.at.ps()), self.every);
        Ok(Box::new(move |_| {
            let now = next;
            next += every;
            Some(now)
        }))
    }

    fn rate(&self, _: &Demand) -> Option<f64> {
        (self.every > Duration::ZERO).then(|| 1.0 / self.every.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn starts_are_equally_spaced() {
        let law = Interval { every: Duration::from_us(10), at: Duration::from_us(5) };
        let mut starts = law.starts(&Demand { bytes_per_request: None, capacity_bps: 1.0 }).unwrap();
        let mut rng = stream(1, "arrivals");
        let times: Vec<u64> = (0..3).map(|_| starts(&mut rng).unwrap().ps()).collect();
        assert_eq!(times, [5_000_000, 15_000_000, 25_000_000]);
        assert_eq!(Interval { every: Duration::ZERO, at: Duration::ZERO }.check()[0].key, "every");
    }
}
