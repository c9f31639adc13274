//! What a run costs: time on the wall, and time on the processor, which other programs do not lengthen.

use std::time::{Duration, Instant};

/// Time that something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time that passed.
    pub wall: Duration,
    /// Time that the thread had a processor; as `wall` where the system does not tell.
    pub cpu: Duration,
}

/// A running clock. It belongs to its thread.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "cost is reported beside the result; it decides on how many threads a run is, and nothing of the result"
    )]
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_time() }
    }

    /// Time that passed since the start.
    pub(crate) fn wall(&self) -> Duration {
        self.wall.elapsed()
    }

    /// What was spent since the start, on the thread that started it.
    pub(crate) fn spent(&self) -> Spent {
        let wall = self.wall.elapsed();
        let cpu = self.cpu.zip(thread_time()).map_or(wall, |(from, to)| to.saturating_sub(from));
        Spent { wall, cpu }
    }
}

#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_costs_no_processor() {
        let clock = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(50));
        let spent = clock.spent();
        assert!(spent.wall >= Duration::from_millis(50));
        assert!(cfg!(not(unix)) || spent.cpu < Duration::from_millis(40), "{spent:?}");
    }
}
