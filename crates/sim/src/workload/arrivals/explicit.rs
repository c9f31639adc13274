//! Start times one by one.

use super::{ArrivalLaw, Demand, Starts};
use crate::workload::error::Fault;
use anabranch_transport::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The start times of all requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// Start times, in ascending order.
    pub times: Vec<Duration>,
}

impl ArrivalLaw for Explicit {
    fn check(&self) -> Vec<Fault> {
        if self.times.is_empty() {
            return vec![Fault::new("times", "at least one start time is needed")];
        }
        let unsorted = (1..self.times.len()).filter(|i| self.times[*i] < self.times[i - 1]);
        unsorted
            .map(|i| {
                let (now, before) = (self.times[i], self.times[i - 1]);
                Fault::new(format!("times.{i}"), format!("start times must ascend: {now} comes after {before}"))
            })
            .collect()
    }

    fn starts(&self, _: &Demand) -> Result<Starts, Fault> {
        let mut times = self.times.clone().into_iter();
        Ok(Box::new(move |_| times.next().map(|t| Time(t.ps()))))
    }

    fn requests(&self) -> Option<u64> {
        Some(self.times.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_time_that_goes_backwards() {
        let us = |n: &[u64]| Explicit { times: n.iter().map(|t| Duration::from_us(*t)).collect() };
        assert_eq!(us(&[0, 1, 1, 5]).check(), []);
        assert_eq!(us(&[0, 5, 1]).check()[0].key, "times.2");
        assert_eq!(us(&[]).check()[0].key, "times");
    }
}
