//! Poisson arrivals over the whole network.

use super::{ArrivalLaw, Demand, Starts};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Time;
use anabranch_transport::units::PS_PER_S;
use rand::RngExt as _;
use rand_distr::Exp1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Poisson arrivals: give either `rate` or `load`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Poisson {
    /// Requests per second in the whole network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Target load, a fraction of the aggregate capacity of all host links (one direction):
    /// `load = rate * mean bytes per request * 8 / sum of the host links' rates`. A session counts its object once, however
    /// many senders or receivers it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
}

impl ArrivalLaw for Poisson {
    fn check(&self) -> Vec<Fault> {
        let positive = |key: &str, value: f64| {
            (!(value > 0.0 && value.is_finite())).then(|| Fault::new(key, format!("must be above 0, not {value}")))
        };
        match (self.rate, self.load) {
            (Some(rate), None) => positive("rate", rate).into_iter().collect(),
            (None, Some(load)) => {
                let excess = (load > 1.0 && load.is_finite()).then(|| {
                    Fault::new("load", format!("{load} is more than the hosts can send: queues grow without bound"))
                        .hint("a load is a fraction of the capacity: 0.6 means 60 %")
                        .warn()
                });
                positive("load", load).into_iter().chain(excess).collect()
            }
            (None, None) => vec![Fault::new("", "poisson arrivals need `rate` (requests per second) or `load`")],
            (Some(_), Some(_)) => vec![Fault::new("load", "give either `rate` or `load`, not both")],
        }
    }

    fn decisive(&self) -> &'static str {
        if self.load.is_some() { "load" } else { "rate" }
    }

    fn starts(&self, demand: &Demand) -> Result<Starts, Fault> {
        let rate = self.rate(demand).ok_or_else(|| match self.load {
            Some(_) => Fault::new("load", "a load needs sizes with a mean; these sessions have no end")
                .hint("use `rate`, or synchronised arrivals"),
            None => Fault::new("", "poisson arrivals need `rate` or `load`"),
        })?;
        let mean_gap_ps = PS_PER_S as f64 / rate;
        let mut now = 0_u64;
        Ok(Box::new(move |rng: &mut Stream| {
            let unit: f64 = rng.sample(Exp1);
            // Rounded gap by gap: the sum stays an exact integer. The cast saturates.
            now = now.saturating_add((unit * mean_gap_ps).round() as u64);
            Some(Time(now))
        }))
    }

    fn rate(&self, demand: &Demand) -> Option<f64> {
        let by_load = || Some(self.load? * demand.capacity_bps / (8.0 * demand.bytes_per_request?));
        self.rate.or_else(by_load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn mean_gap_s(law: &Poisson, demand: &Demand, n: u32) -> f64 {
        let (mut rng, mut starts) = (stream(7, "arrivals"), law.starts(demand).unwrap());
        let last = (0..n).filter_map(|_| starts(&mut rng)).last().unwrap();
        last.as_secs_f64() / f64::from(n)
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let law = Poisson { rate: Some(2500.0), load: None };
        let demand = Demand { bytes_per_request: None, capacity_bps: 1e9 };
        let (mut rng, mut starts) = (stream(3, "arrivals"), law.starts(&demand).unwrap());
        let times: Vec<f64> = (0..100_000).map(|_| starts(&mut rng).unwrap().as_secs_f64()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 0.3 %; the coefficient of variation of an exponential is 1.
        assert!((mean * 2500.0 - 1.0).abs() < 0.013, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
        // P(gap > 2 means) = e^-2.
        let tail = gaps.iter().filter(|g| **g > 2.0 / 2500.0).count() as f64 / gaps.len() as f64;
        assert!((tail - (-2.0_f64).exp()).abs() < 0.005, "{tail}");
    }

    #[test]
    fn load_is_a_fraction_of_the_access_capacity() {
        // 250 hosts at 1 Gbps, 1 MB objects, load 0.6: 0.6 * 250e9 / 8e6 = 18 750 requests per second.
        let law = Poisson { rate: None, load: Some(0.6) };
        let demand = Demand { bytes_per_request: Some(1e6), capacity_bps: 250e9 };
        assert!((mean_gap_s(&law, &demand, 100_000) * 18_750.0 - 1.0).abs() < 0.013);
        let error = law.starts(&Demand { bytes_per_request: None, ..demand }).err().unwrap();
        assert_eq!(error.key, "load");
    }

    #[test]
    fn rejects_impossible_parameters() {
        let keys =
            |rate, load| Poisson { rate, load }.check().into_iter().map(|f| (f.key, f.warning)).collect::<Vec<_>>();
        assert_eq!(keys(Some(1.0), None), []);
        assert_eq!(keys(Some(0.0), None), [("rate".to_owned(), false)]);
        assert_eq!(keys(Some(f64::NAN), None), [("rate".to_owned(), false)]);
        assert_eq!(keys(None, Some(-0.1)), [("load".to_owned(), false)]);
        assert_eq!(keys(None, Some(1.2)), [("load".to_owned(), true)]);
        assert_eq!(keys(None, None), [(String::new(), false)]);
        assert_eq!(keys(Some(1.0), Some(0.5)), [("load".to_owned(), false)]);
    }
}
