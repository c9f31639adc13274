//! The clocks, which only drivers have.

use std::ops::Add;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The monotonic clock: counts from its creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "this is the driver: its sessions are told the time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A time of the system's clock, as file systems keep it: nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wall(i128);

impl Wall {
    pub(crate) fn new(seconds: i64, nanoseconds: u64) -> Self {
        Self(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
    }

    pub(crate) const fn from_ms(ms: i64) -> Self {
        Self(ms as i128 * 1_000_000)
    }

    pub(crate) fn is_whole_second(self) -> bool {
        self.0 % 1_000_000_000 == 0
    }

    /// The time that passes until `later`; none if that is earlier.
    pub(crate) fn until(self, later: Self) -> Duration {
        Duration::from_nanos(u64::try_from((later.0 - self.0).max(0)).unwrap_or(u64::MAX))
    }
}

impl Add for Wall {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// The system's clock now.
#[allow(clippy::disallowed_methods, reason = "compared with the times of files, and never told to a session")]
pub(crate) fn wall() -> Wall {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Wall(since.as_nanos() as i128),
        Err(error) => Wall(-(error.duration().as_nanos() as i128)),
    }
}
