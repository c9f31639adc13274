//! When a session that sends last made progress, and when it must.

use anabranch_transport::{Duration, Time};

/// The last progress.
#[derive(Debug)]
pub(super) struct Progress {
    began: Time,
    last: Time,
    /// Blocks that receivers have completed, and how many receivers need nothing.
    step: (u64, usize),
    give_up_after: Duration,
    stall_after: Duration,
}

impl Progress {
    /// A session begins that ends `stall_after` after its last progress, or `give_up_after` after its beginning while its receiver is not validated.
    pub(super) fn new(now: Time, give_up_after: Duration, stall_after: Duration) -> Self {
        Self { began: now, last: now, step: (0, 0), give_up_after, stall_after }
    }

    /// How long a receiver may leave a question unanswered.
    pub(super) fn give_up_after(&self) -> Duration {
        self.give_up_after
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

    /// When the slowest receiver is given up without progress.
    pub(super) fn deadline(&self, is_unvalidated: bool) -> Time {
        let stalled = self.last + self.stall_after;
        // A peer that does not show that it receives the answer may never have asked.
        if is_unvalidated { stalled.min(self.began + self.give_up_after) } else { stalled }
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
        let mut progress = Progress::new(at(5), Duration::from_secs(10), Duration::from_secs(300));
        assert_eq!((progress.deadline(false), progress.deadline(true)), (at(305), at(15)));
        for (second, step, deadline) in [(6, (0, 0), 305), (7, (1, 0), 307), (8, (1, 0), 307), (9, (1, 1), 309)] {
            progress.on_step(at(second), step);
            assert_eq!((progress.deadline(false), progress.deadline(true)), (at(deadline), at(15)));
        }
        progress.restart(at(20));
        assert_eq!(progress.deadline(false), at(320));
    }
}
