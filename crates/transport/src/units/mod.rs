//! Time, durations and bit rates as integers in newtypes.
//!
//! Time is counted in picoseconds: one bit at 1 Tbit/s lasts exactly one of them, and a `u64` holds 213 days.

mod text;

pub use text::ParseError;

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A point in time, in picoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A length of time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub u64);

/// A bit rate, in bits per second. Never zero in a valid configuration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A number of bytes (1 KB = 1000 bytes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// The earlier of two timers, of which either may not be set.
#[inline]
pub(crate) fn earliest(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than every event of a run; used for "never".
    pub const MAX: Self = Self(u64::MAX);
    /// The end of the longest run, after 213 days. What 64 bits hold beyond it, 12 hours, is for events that lie ahead then.
    pub const LATEST: Self = Self(213 * 86_400 * PS_PER_S);

    /// Picoseconds since the start of the run.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start of the run, for display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `n` picoseconds.
    pub const fn from_ps(n: u64) -> Self {
        Self(n)
    }
    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * PS_PER_S)
    }
    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Seconds, for display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The longer of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }
    /// The shorter of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }
}

impl Rate {
    /// `n` gigabits (10^9 bits) per second.
    pub const fn from_gbps(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// `n` megabits (10^6 bits) per second.
    pub const fn from_mbps(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// The time that `bytes` take on a link of this rate, rounded up to a picosecond; at most 213 days.
    pub fn transmit_time(self, bytes: u64) -> Duration {
        let bits = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        Duration(u64::try_from(bits.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }

    /// Whole bytes that it serialises in a time; at most `u64::MAX`.
    pub fn bytes_in(self, time: Duration) -> u64 {
        let bytes = u128::from(time.0) * u128::from(self.0) / (8 * u128::from(PS_PER_S));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub for Time {
    type Output = Duration;
    fn sub(self, other: Self) -> Duration {
        self.since(other)
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, d: Self) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration(self.0), f)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}
impl fmt::Display for Duration {
    /// The largest unit that keeps the number exact: `12us`, `1500ns`, `3ps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", PS_PER_S), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        for (name, ps) in units {
            if self.0 != 0 && self.0.is_multiple_of(ps) {
                return write!(f, "{}{name}", self.0 / ps);
            }
        }
        write!(f, "0s")
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("Tbps", PS_PER_S), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000)];
        for (name, bps) in units {
            if self.0 != 0 && self.0.is_multiple_of(bps) {
                return write!(f, "{}{name}", self.0 / bps);
            }
        }
        write!(f, "{}bps", self.0)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, n) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)] {
            if self.0 != 0 && self.0.is_multiple_of(n) {
                return write!(f, "{}{name}", self.0 / n);
            }
        }
        write!(f, "{}B", self.0)
    }
}
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmit_time_is_exact_and_rounds_up() {
        assert_eq!(Rate::from_gbps(1).transmit_time(1500), Duration::from_us(12));
        assert_eq!(Rate(3).transmit_time(1), Duration(2_666_666_666_667));
        assert_eq!(
            Rate(1).transmit_time(5_000_000_000),
            Duration(u64::MAX),
            "what is too long does not come out short"
        );
        assert_eq!(Rate::from_gbps(1).bytes_in(Duration(11_999_999)), 1499);
        assert_eq!(Rate::from_gbps(1).bytes_in(Duration::from_us(12)), 1500);
        assert_eq!(Rate(u64::MAX).bytes_in(Duration(u64::MAX)), u64::MAX);
    }

    #[test]
    fn display_keeps_the_number_exact() {
        assert_eq!(Duration(12_000_000).to_string(), "12us");
        assert_eq!(Duration(1_500).to_string(), "1500ps");
        assert_eq!(Rate::from_mbps(2_500).to_string(), "2500Mbps");
    }
}
