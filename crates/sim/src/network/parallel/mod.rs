//! One run on several threads, with the same result as on one thread.
//!
//! The nodes are [divided](partition) among parts. While nothing happens that concerns the whole run, the parts are simulated in
//! parallel, in [windows]; for everything else (failures, samples, the last request, the end) they are merged and continue as a run
//! on one thread does. Events are ordered by time, and at the same time by a function of time and entity, so each part sees its
//! own events in the order of the whole run; nothing else decides what happens.
//!
//! What only the whole run could decide, and what cannot be foreseen, is detected when it happens: for example that an endpoint gives
//! up. Then the run is [undone](Undone), and must be repeated on one thread.

mod barrier;
mod divided;
mod gain;
mod horizon;
mod pace;
mod part;
mod partition;
mod windows;

use super::{Ending, Needs, Network};
use divided::Divided;
use gain::Gain;
use pace::{Pace, When};
use std::time::Duration;

/// After the run was divided, something happened that takes the whole run to decide: what. The run must be repeated on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone(pub &'static str);

/// How a run was divided, and how much of it could be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// Number of events in each part.
    pub events: Vec<u64>,
    /// Why the run was never divided, if it was not despite several threads.
    pub whole: Option<&'static str>,
    /// Phases in parts: how often the run was divided.
    pub phases: u64,
    /// Windows in which the parts were simulated in parallel.
    pub windows: u64,
    /// Events of the part with the most events, summed over the windows. The run's total divided by this is the best possible
    /// speedup.
    pub critical: u64,
    /// The longest window, in picoseconds: the lookahead.
    pub window: u64,
    /// Processor time of all threads except the one that runs the network.
    pub helpers: Duration,
}

impl Network {
    /// Runs as [`run`](Self::run) does, with the same outcome, on up to `threads` threads where that is faster. Meanwhile only the
    /// [time](Self::now) and the number of [events](Self::events) that `keep_going` sees are current.
    ///
    /// # Errors
    /// If the run must be repeated with [`run`](Self::run).
    pub fn run_on(
        &mut self,
        threads: usize,
        keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        self.run_divided(threads, When::Pays, keep_going)
    }

    /// The same on threads that other programs may need: on one of them for as long as several are not faster by the clock.
    ///
    /// # Errors
    /// As those of [`run_on`](Self::run_on).
    pub fn run_on_spare(
        &mut self,
        threads: usize,
        keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        self.run_divided(threads, When::Faster, keep_going)
    }

    /// The same, but divided whenever possible, however slow: for tests.
    ///
    /// # Errors
    /// As those of [`run_on`](Self::run_on).
    #[doc(hidden)]
    pub fn run_in_parts(
        &mut self,
        parts: usize,
        keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        self.run_divided(parts, When::Always, keep_going)
    }

    fn run_divided(
        &mut self,
        threads: usize,
        when: When,
        mut keep_going: impl FnMut(&Self) -> bool,
    ) -> Result<(Ending, Division), Undone> {
        if threads < 2 {
            return Ok((self.run(keep_going), Division::default()));
        }
        let mut divided = match Divided::new(self, threads) {
            Ok(divided) => divided,
            Err(why) => return Ok((self.run(keep_going), Division { whole: Some(why), ..Division::default() })),
        };
        let mut pace = Pace::new(when);
        let mut gain = (when == When::Faster).then(|| Gain::new(self.events()));
        loop {
            let (events, now) = (self.events(), self.engine.now);
            if let Some(ending) = self.advance(pace.chunk()) {
                return match ending {
                    // When this is detected depends on how many events are handled at a time.
                    Ending::TooLarge(Needs::Packets, _) => Err(Undone("too many packets")),
                    ending => Ok((ending, divided.division)),
                };
            }
            if !keep_going(self) {
                return Ok((Ending::Interrupted, divided.division));
            }
            if !pace.tries_after(self.events() - events, self.engine.now - now) {
                continue;
            }
            if gain.as_mut().is_some_and(|gain| !gain.allows(self.events())) {
                pace.stays_whole();
                divided.stays_whole();
                continue;
            }
            let (events, now, until) = (self.events(), self.engine.now, self.divisible_until());
            divided.ask_for(&self.fabric, pace.parts(divided.division.window));
            let divides = pace.divides(&divided.prospect(self, until));
            if let Some(gain) = &mut gain {
                gain.is_divided(divides, events);
            }
            if !divides {
                pace.was_not_divided();
                continue;
            }
            self.leave_windows();
            if !divided.phase(self, until, pace.rate(), gain.as_mut(), &mut keep_going)? {
                return Ok((Ending::Interrupted, divided.division));
            }
            pace.was_divided(self.events() - events, self.engine.now - now);
        }
    }
}
