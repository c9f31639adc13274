//! Probabilities as people write them: `"1%"`.

use std::fmt;
use std::str::FromStr;

use rand::Rng;
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

/// A probability, 0% to 100%.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

/// Why a text is not a probability.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a probability: expected 0% to 100% (write it like \"0.5%\")")]
pub struct ProbabilityError(String);

impl Probability {
    /// It never happens.
    pub const NEVER: Self = Self(0.0);
    /// It always happens.
    pub const ALWAYS: Self = Self(1.0);

    /// Draws an event of this probability. At 0% nothing is drawn from the generator.
    pub(crate) fn sample(self, generator: &mut impl Rng) -> bool {
        // 53 random bits, as many as the fraction of a double has: 0 to just below 1.
        self.0 > 0.0 && ((generator.next_u64() >> 11) as f64) < self.0 * (1_u64 << 53) as f64
    }
}

impl FromStr for Probability {
    type Err = ProbabilityError;

    fn from_str(text: &str) -> Result<Self, ProbabilityError> {
        let number = text.trim().strip_suffix('%').map(str::trim_end);
        let digits = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        digits
            .and_then(|digits| digits.parse::<f64>().ok())
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| Self(percent / 100.0))
            .ok_or_else(|| ProbabilityError(text.to_owned()))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability in quotes, like \"0.5%\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn reads_percent() {
        assert_eq!("0.5%".parse(), Ok(Probability(0.005)));
        assert_eq!(" 100 %".parse(), Ok(Probability::ALWAYS));
        assert_eq!("0%".parse(), Ok(Probability::NEVER));
        for wrong in ["", "%", "1", "0.5", "-1%", "101%", "nan%", "inf%", "1e1%", "1%%", "..%"] {
            let error = wrong.parse::<Probability>().expect_err(wrong);
            assert!(error.to_string().contains("expected 0% to 100%"));
        }
    }

    #[test]
    fn happens_as_often_as_it_says() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut count = |p: Probability| (0..100_000).filter(|_| p.sample(&mut generator)).count();
        assert_eq!(count(Probability::NEVER), 0);
        assert_eq!(count(Probability::ALWAYS), 100_000);
        // Five standard deviations of a binomial distribution are 154.
        let seen = count("1%".parse().expect("a probability"));
        assert!((1000_usize.abs_diff(seen)) < 155, "{seen}");
    }
}
