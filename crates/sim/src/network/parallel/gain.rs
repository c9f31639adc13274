//! Whether several threads are faster than one, by the clock.
//!
//! Where other programs take the cores, the parts of a run wait for the one that lost its core; only the clock tells. It decides which
//! threads simulate a run, and so nothing of what the run produces.

use crate::stopwatch::Stopwatch;
use std::time::Duration;

/// How many times as fast as on one thread a run in parts must be, to be worth the cores that it takes. On two free cores, runs that were
/// divided at all were 1.1 to 2 times as fast.
const LEAST: f64 = 1.1;
/// Time in which a speed is measured. The first such time in parts does not count: memory is taken, and the system finds cores for threads.
const SPELL: Duration = Duration::from_millis(30);
/// How long a run stays on one thread when several were not faster: at first and at most. The time doubles from one such spell to the
/// next, so that what is lost by trying is a few percent of a run.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How fast a run is on one thread and in parts.
#[derive(Debug)]
pub(super) struct Gain {
    clock: Stopwatch,
    /// Events per second on one thread, as last measured.
    alone: f64,
    /// Whether the run is in parts, and has been for a while.
    in_parts: bool,
    settled: bool,
    /// When the spell began, and how many events the run had then.
    began: Duration,
    events: u64,
    /// Time in parts, and events, since the speed in parts was last measured and before this spell.
    earlier: (Duration, u64),
    /// How long the spell on one thread lasts at least.
    wait: Duration,
    /// How long the next one does if several threads are not faster.
    pause: Duration,
}

impl Gain {
    /// Of a run that begins on one thread, or goes on there, after `events` events.
    pub(super) fn new(events: u64) -> Self {
        let began = Duration::ZERO;
        Self {
            clock: Stopwatch::start(),
            alone: 0.0,
            in_parts: false,
            settled: false,
            began,
            events,
            earlier: (Duration::ZERO, 0),
            wait: SPELL,
            pause: FIRST_PAUSE,
        }
    }

    /// Whether the run may be in parts now, after `events` events.
    pub(super) fn allows(&mut self, events: u64) -> bool {
        self.allows_at(events, self.clock.wall())
    }

    fn allows_at(&mut self, events: u64, now: Duration) -> bool {
        let (mut time, mut events_since) = (now.saturating_sub(self.began), events - self.events);
        if !self.in_parts {
            if time >= SPELL {
                self.alone = events_since as f64 / time.as_secs_f64();
            }
            return time >= self.wait;
        }
        time += self.earlier.0;
        events_since += self.earlier.1;
        if time < SPELL {
            return true;
        }
        self.earlier = (Duration::ZERO, 0);
        if !self.settled {
            self.begin(true, events, now);
            self.settled = true;
            return true;
        }
        let pays = events_since as f64 / time.as_secs_f64() >= LEAST * self.alone;
        self.begin(pays, events, now);
        self.settled = pays;
        (self.wait, self.pause) =
            if pays { (Duration::ZERO, FIRST_PAUSE) } else { (self.pause, (2 * self.pause).min(LONGEST_PAUSE)) };
        pays
    }

    /// The run is divided now, after `events` events, or is not although it might be.
    pub(super) fn is_divided(&mut self, divided: bool, events: u64) {
        self.is_divided_at(divided, events, self.clock.wall());
    }

    fn is_divided_at(&mut self, divided: bool, events: u64, now: Duration) {
        if divided != self.in_parts {
            if self.in_parts {
                // Short phases add up.
                let (time, before) = &mut self.earlier;
                *time += now.saturating_sub(self.began);
                *before += events - self.events;
            }
            self.begin(divided, events, now);
            self.wait = Duration::ZERO;
        }
    }

    fn begin(&mut self, in_parts: bool, events: u64, now: Duration) {
        (self.in_parts, self.events, self.began) = (in_parts, events, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A run that has had 1000 events on one thread in each of 30 ms, and then was in parts for 30 ms.
    fn divided() -> Gain {
        let mut gain = Gain::new(0);
        assert!(!gain.allows_at(29_000, 29 * MS), "the speed on one thread is not known yet");
        assert!(gain.allows_at(30_000, 30 * MS));
        gain.is_divided_at(true, 30_000, 30 * MS);
        assert!(gain.allows_at(31_000, 60 * MS), "this does not count");
        gain
    }

    #[test]
    fn parts_that_are_faster_go_on() {
        let mut gain = divided();
        assert!(gain.allows_at(31_000, 89 * MS), "too soon to tell");
        assert!(gain.allows_at(31_000 + 34_000, 90 * MS));
        assert!(gain.allows_at(65_000 + 60_000, 120 * MS));
        assert!(!gain.allows_at(125_000 + 32_000, 150 * MS), "1.07 times as fast");
    }

    #[test]
    fn after_parts_that_were_slower_the_run_stays_on_one_thread_ever_longer() {
        let (mut gain, mut now, mut events) = (divided(), 60, 31_000);
        for wait in [500, 1000, 2000, 4000, 5000, 5000] {
            now += 30;
            assert!(!gain.allows_at(events, now * MS));
            assert!(!gain.allows_at(events, (now + wait - 1) * MS));
            (now, events) = (now + wait, events + 1000 * u64::from(wait));
            assert!(gain.allows_at(events, now * MS));
            gain.is_divided_at(true, events, now * MS);
            now += 30;
            assert!(gain.allows_at(events, now * MS));
        }
        assert!(gain.allows_at(events + 60_000, (now + 30) * MS));
        assert!(!gain.allows_at(events + 60_000, (now + 60) * MS));
        assert!(gain.allows_at(events + 560_000, (now + 560) * MS), "they were faster once more");
    }

    #[test]
    fn speeds_on_one_thread_are_measured_again() {
        let mut gain = divided();
        gain.is_divided_at(false, 40_000, 70 * MS);
        assert!(gain.allows_at(40_000, 70 * MS), "nothing speaks against parts");
        assert!(gain.allows_at(40_000 + 3000, 100 * MS), "100 events in 1 ms");
        gain.is_divided_at(true, 43_000, 100 * MS);
        assert!(gain.allows_at(43_000 + 1000, 119 * MS), "29 ms in parts: too soon to tell");
        assert!(
            gain.allows_at(43_000 + 1100, 120 * MS),
            "10,100 events in 30 ms, where one thread would have had 3000"
        );
    }

    #[test]
    fn short_phases_add_up_until_they_are_judged() {
        let (mut gain, mut now, mut events) = (divided(), 60, 31_000);
        for phase in 0..4 {
            // Ten milliseconds in parts, at half the speed of one thread, and ten on one thread.
            (now, events) = (now + 10, events + 5000);
            assert_eq!(gain.allows_at(events, now * MS), phase < 2, "phase {phase}");
            gain.is_divided_at(false, events, now * MS);
            if phase == 2 {
                assert!(!gain.allows_at(events + 10_000, (now + 10) * MS), "the run stays on one thread for a while");
                return;
            }
            (now, events) = (now + 10, events + 10_000);
            assert!(gain.allows_at(events, now * MS));
            gain.is_divided_at(true, events, now * MS);
        }
    }
}
