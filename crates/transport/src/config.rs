//! What is wrong with a value in a transport's configuration.

use crate::units::{Bytes, Duration};
use std::fmt;

/// Largest packet: that of IPv4.
pub(crate) const LARGEST_PACKET: u64 = 65_535;

/// Longest time that any timer may be set to; keeps sums of times far from overflow.
const LONGEST_TIME: Duration = Duration::from_secs(100);

/// A configuration value that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The key, as written in the scenario.
    pub field: &'static str,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}
impl std::error::Error for ConfigError {}

/// Checks full packets and their headers, where a packet of `largest` bytes is the largest. Its fields are `packet` and `header`.
pub(crate) fn check_packet(packet: Bytes, header: Bytes, largest: u64) -> Result<(), ConfigError> {
    let fail = |field, problem: String| Err(ConfigError { field, problem });
    if header.0 == 0 {
        return fail("header", "must be at least 1 B".into());
    }
    if packet <= header || packet.0 > largest {
        return fail("packet", format!("{packet} is not above the header's {header} and at most {largest}B"));
    }
    Ok(())
}

/// Checks the time that a timer is set to.
pub(crate) fn check_time(field: &'static str, time: Duration) -> Result<(), ConfigError> {
    if time == Duration::ZERO || time > LONGEST_TIME {
        let problem = format!("{time} is not above zero and at most {LONGEST_TIME}");
        return Err(ConfigError { field, problem });
    }
    Ok(())
}
