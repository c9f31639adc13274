//! The one place with a clock.

use std::time::{Duration, Instant};

/// Since when something runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(Instant);

impl Watch {
    #[allow(clippy::disallowed_methods, reason = "a driver, which measures time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A time of a lab file.
pub(crate) fn real(time: anabranch_transport::Duration) -> Duration {
    Duration::from_nanos(time.ps() / 1000)
}
