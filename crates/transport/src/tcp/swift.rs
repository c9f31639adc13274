//! Parameters of Swift, where they differ from TCP's.

use crate::config::ConfigError;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of Swift (SIGCOMM 2020); all others are those of `transport.tcp`. Windows count full packets. The defaults are those of csg-htsim
/// (`swift.cpp`), which calls most of them guesses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwiftConfig {
    /// Target of the round trip without hops and flow scaling: above 0, at most 100 s. Default 20 us.
    pub base_target: Duration,
    /// What each switch of the shortest path adds to the target (topology scaling): at most 100 s. Default 3.053 us, the base target over 6.55.
    pub hop_target: Duration,
    /// The most that small windows add to the target (flow scaling): at most 100 s; 0: nothing. Default 100 us, five base targets.
    pub scaling_range: Duration,
    /// Window from which on down they add that: above 0, below `scaling_max`. Default 0.1.
    pub scaling_min: f64,
    /// Window from which on up they add nothing: at most 1 000 000. Default 100.
    pub scaling_max: f64,
    /// What a window gains in a round trip below the target, ai: above 0, at most 1000. Default 1.
    pub additive_increase: f64,
    /// Share of the excess over the target by which it shrinks, beta: above 0, at most 1. Default 0.8.
    pub decrease: f64,
    /// The most that it loses in a round trip, and what it loses for a loss: above 0, below 1. Default 0.5.
    pub max_decrease: f64,
    /// Least window: above 0, at most 1. Below 1 a packet leaves each round trip over window. Default 0.001.
    pub min_window: f64,
    /// Largest window: 1 to 1 000 000. Default 1000.
    pub max_window: f64,
}

impl Default for SwiftConfig {
    fn default() -> Self {
        Self {
            base_target: Duration::from_us(20),
            hop_target: Duration::from_ns(3053),
            scaling_range: Duration::from_us(100),
            scaling_min: 0.1,
            scaling_max: 100.0,
            additive_increase: 1.0,
            decrease: 0.8,
            max_decrease: 0.5,
            min_window: 0.001,
            max_window: 1000.0,
        }
    }
}

impl SwiftConfig {
    /// Whether nothing is said: scenarios then leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks ranges and the relations between values.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |good: bool, field: &'static str, problem: String| {
            if good { Ok(()) } else { Err(ConfigError { field, problem }) }
        };
        let most = Duration::from_secs(100);
        let base = self.base_target;
        check(
            base > Duration::ZERO && base <= most,
            "base_target",
            format!("{base} is not above 0 and at most {most}"),
        )?;
        for (field, time) in [("hop_target", self.hop_target), ("scaling_range", self.scaling_range)] {
            check(time <= most, field, format!("{time} is more than {most}"))?;
        }
        let (least, largest) = (self.scaling_min, self.scaling_max);
        check(
            least > 0.0 && least < largest,
            "scaling_min",
            format!("{least} is not above 0 and below scaling_max = {largest}"),
        )?;
        check(largest <= 1e6, "scaling_max", format!("{largest} is more than 1000000"))?;
        let ai = self.additive_increase;
        check(ai > 0.0 && ai <= 1000.0, "additive_increase", format!("{ai} is not above 0 and at most 1000"))?;
        let beta = self.decrease;
        check(beta > 0.0 && beta <= 1.0, "decrease", format!("{beta} is not above 0 and at most 1"))?;
        let mdf = self.max_decrease;
        check(mdf > 0.0 && mdf < 1.0, "max_decrease", format!("{mdf} is not above 0 and below 1"))?;
        let (least, largest) = (self.min_window, self.max_window);
        check(least > 0.0 && least <= 1.0, "min_window", format!("{least} is not above 0 and at most 1"))?;
        check((1.0..=1e6).contains(&largest), "max_window", format!("{largest} is not from 1 to 1000000"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_named() {
        let bad = |change: fn(&mut SwiftConfig)| {
            let mut config = SwiftConfig::default();
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(SwiftConfig::default().validate(), Ok(()));
        assert_eq!(bad(|c| c.base_target = Duration::ZERO), "base_target");
        assert_eq!(bad(|c| c.hop_target = Duration::from_secs(101)), "hop_target");
        assert_eq!(bad(|c| c.scaling_range = Duration::from_secs(101)), "scaling_range");
        assert_eq!(bad(|c| c.scaling_min = 100.0), "scaling_min");
        assert_eq!(bad(|c| c.scaling_min = f64::NAN), "scaling_min");
        assert_eq!(bad(|c| c.scaling_max = 2e6), "scaling_max");
        assert_eq!(bad(|c| c.additive_increase = 0.0), "additive_increase");
        assert_eq!(bad(|c| c.decrease = 1.5), "decrease");
        assert_eq!(bad(|c| c.max_decrease = 1.0), "max_decrease");
        assert_eq!(bad(|c| c.min_window = 0.0), "min_window");
        assert_eq!(bad(|c| c.max_window = 0.5), "max_window");
    }
}
