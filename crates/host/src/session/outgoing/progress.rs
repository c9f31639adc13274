//! When a session that sends last made progress, and when it must.

use anabranch_transport::{Duration, Time};

use crate::session::Bounds;

/// The last progress.
#[derive(Debug)]
pub(super) struct Progress {
    began: Time,
    last: Time,
    /// Blocks that receivers have completed, and how many receivers need nothing.
    step: (u64, usize),
    bounds: Bounds,
}

impl Progress {
    /// A session begins.
    pub(super) fn new(now: Time, bounds: Bounds) -> Self {
        Self { began: now, last: now, step: (0, 0), bounds }
    }

    /// How long a receiver may leave a question unanswered.
    pub(super) fn give_up_after(&self) -> Duration {
        self.bounds.give_up_after
    }

    /// Takes the blocks that receivers have completed and the number of receivers that need nothing: a change is progress.
    pub(super) fn on_step(&mut self, now: Time, step: (u64, usize)) {
        if step != self.step {
            (self.step, self.last) = (step, now);
        }
    }

    /// Restarts the time until the deadline, as after progress.
    pub(super) fn restart(&mut self, now: Time) {
        self.last = now;
    }

    /// When the slowest receiver is given up without progress. A peer that does not show that it receives the answer may never have asked.
    pub(super) fn deadline(&self, is_unvalidated: bool) -> Time {
        self.bounds.deadline(self.last, is_unvalidated.then_some(self.began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn only_a_new_step_gives_more_time() {
        let bounds = Bounds { give_up_after: Duration::from_secs(10), stall_after: Duration::from_secs(300) };
        let mut progress = Progress::new(at(5), bounds);
        assert_eq!((progress.deadline(false), progress.deadline(true)), (at(305), at(15)));
        for (second, step, deadline) in [(6, (0, 0), 305), (7, (1, 0), 307), (8, (1, 0), 307), (9, (1, 1), 309)] {
            progress.on_step(at(second), step);
            assert_eq!((progress.deadline(false), progress.deadline(true)), (at(deadline), at(15)));
        }
        progress.restart(at(20));
        assert_eq!(progress.deadline(false), at(320));
    }
}
