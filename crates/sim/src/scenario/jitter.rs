//! How `host.jitter` is written: `"20us"` or `"0.5 packets"`.

use crate::fabric::jitter::Jitter;
use crate::text::text_setting;
use anabranch_transport::Duration;
use std::fmt;
use std::str::FromStr;

/// More than this many packets are a mistake in the unit.
const PACKETS_MAX: f64 = 1e6;

impl FromStr for Jitter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        for word in ["packets", "packet"] {
            if let Some(number) = trimmed.strip_suffix(word) {
                let share = number.trim().parse().ok().filter(|share| (0.0..=PACKETS_MAX).contains(share));
                return share.map(Self::Packets).ok_or_else(|| {
                    format!("{text:?} is not a jitter: {:?} is not a number from 0 to {PACKETS_MAX}", number.trim())
                });
            }
        }
        trimmed.parse::<Duration>().map(Self::Time).map_err(|_| {
            format!("{text:?} is not a jitter: write it like \"1us\", \"0.5 packets\" or, for none, \"0us\"")
        })
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(longest) => write!(f, "{longest}"),
            Self::Packets(share) => write!(f, "{share} packets"),
        }
    }
}

text_setting!(
    Jitter,
    ["1us", "0.5 packets"],
    r"^[0-9][0-9_]*(\.[0-9]+)? *(packets?|ps|ns|us|ms|s)$",
    "a longest pause, for example 1us, or 0.5 packets: half of what a full packet takes on the host's link"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_or_a_number_of_packets() {
        for (text, jitter) in [
            ("20us", Jitter::Time(Duration::from_us(20))),
            ("0s", Jitter::NONE),
            ("0.1 packets", Jitter::Packets(0.1)),
            ("1packet", Jitter::Packets(1.0)),
        ] {
            assert_eq!(text.parse(), Ok(jitter));
            assert_eq!(jitter.to_string().parse(), Ok(jitter));
        }
        for wrong in ["", "3", "-1 packets", "many packets", "inf packets", "NaN packets", "1 parsec"] {
            assert!(wrong.parse::<Jitter>().is_err(), "{wrong}");
        }
    }
}
