//! Clocks: time that this thread spent on a processor, and the time of day.
//!
//! The first does not pass while another process runs. What a thread makes the system do for it counts, so allocating
//! memory does.

use std::time::{Duration, Instant};

/// A clock that knows what reading it costs.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    now: fn() -> Duration,
    reading: Duration,
}

impl Clock {
    /// The processor time of the thread that reads it.
    pub fn of_thread() -> Self {
        Self::new(thread_now)
    }

    /// The time of day: for what several threads do at once.
    pub fn of_day() -> Self {
        Self::new(|| wall_now().duration_since(*START))
    }

    /// Measures what reading the clock costs, which [`Clock::time`] leaves out.
    fn new(now: fn() -> Duration) -> Self {
        let reading = (0..10_000).map(|_| {
            let start = now();
            now().saturating_sub(start)
        });
        Self { now, reading: reading.min().unwrap_or_default() }
    }

    /// Says how many seconds have passed since.
    pub fn start(self) -> impl Fn() -> f64 {
        let start = (self.now)();
        move || (self.now)().saturating_sub(start).as_secs_f64()
    }

    /// Seconds that `operation` takes.
    pub fn time(self, operation: impl FnOnce()) -> f64 {
        let start = (self.now)();
        operation();
        (self.now)().saturating_sub(start).saturating_sub(self.reading).as_secs_f64()
    }
}

#[cfg(unix)]
fn thread_now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Where there is no clock of threads, the time of day has to do.
#[cfg(not(unix))]
fn thread_now() -> Duration {
    wall_now().duration_since(*START)
}

static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(wall_now);

#[allow(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn wall_now() -> Instant {
    Instant::now()
}
