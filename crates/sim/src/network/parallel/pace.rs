//! When a run is divided: where parallel simulation is worth the synchronisation, and the cost of dividing the run and merging
//! it again.

/// When a run is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Where dividing is faster.
    Pays,
    /// There, and for as long as the clock agrees (`gain.rs`).
    Faster,
    /// Whenever possible.
    Always,
}

/// Events per part and window that are worth waiting for the other parts.
const EVENTS_PER_WINDOW: f64 = 100.0;
/// Events of a phase that are worth starting its threads and waiting for the last of them, which took 0.4 ms. A fat-tree of k = 8 with
/// samples every 50 us, and so phases of 7 500 events, took 1.2 times as long on two threads as on one; with samples every 100 us,
/// 0.9 times.
const EVENTS_PER_PHASE: f64 = 10_000.0;
/// The same for moving a port to its part and back.
const EVENTS_PER_PORT: f64 = 2.0;
/// The same for an open endpoint, and for a closed one, of which only the number is moved.
const EVENTS_PER_ENDPOINT: f64 = 1.0;
const EVENTS_PER_NUMBER: f64 = 0.2;
/// The same for a session that starts: both its ends are created by both of their parts, which is more work than on one thread. 300 000
/// sessions of one packet, with 12 events each, took 1.5 times the processor time in two parts; with 30 events, 1.1 times.
const EVENTS_PER_START: f64 = 20.0;
/// Events on one thread between two attempts to divide the run.
pub(super) const CHUNK: u32 = 16_384;
/// Events on one thread after a phase in parts: those at the instant that ended it.
const FEW: u32 = 64;
/// Maximum number of chunks to wait after the run could not be divided.
const BACKOFF: u32 = 64;

/// A possible phase in parts, starting now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prospect {
    /// How long it lasts, and how long each of its windows, in picoseconds.
    pub(super) span: u64,
    pub(super) window: u64,
    pub(super) parts: u16,
    /// Ports and open endpoints to be moved.
    pub(super) ports: usize,
    pub(super) open: usize,
    /// All endpoints so far, open or closed.
    pub(super) endpoints: usize,
    /// Sessions that will start.
    pub(super) starts: usize,
}

/// A run's recent rate of events, and when it is to be divided.
pub(super) struct Pace {
    when: When,
    /// Events at a time on one thread.
    chunk: u32,
    /// Events per picosecond.
    rate: f64,
    /// Chunks until the next attempt.
    pause: u32,
    /// Chunks to wait after the next attempt that fails: exponential backoff.
    backoff: u32,
}

impl Pace {
    pub(super) fn new(when: When) -> Self {
        let chunk = if when == When::Always { 1 } else { CHUNK };
        Self { when, chunk, rate: 0.0, pause: 0, backoff: 1 }
    }

    /// Events to handle now, before the next attempt.
    pub(super) fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Recent events per picosecond.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// `events` events have been handled on one thread, in `time` picoseconds. Returns whether to attempt to divide the run.
    pub(super) fn tries_after(&mut self, events: u64, time: u64) -> bool {
        // Few events say little about the rate.
        if self.chunk == CHUNK {
            self.rate = events as f64 / (time as f64).max(1.0);
        }
        let tries = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        tries
    }

    /// In how many parts a window of so many picoseconds can be divided, so that each has enough events.
    pub(super) fn parts(&self, window: u64) -> usize {
        if self.when == When::Always {
            return usize::MAX;
        }
        (self.rate * window as f64 / EVENTS_PER_WINDOW) as usize
    }

    /// Whether a phase in parts is to begin.
    pub(super) fn divides(&self, ahead: &Prospect) -> bool {
        ahead.span > 0 && (self.when == When::Always || self.pays(ahead))
    }

    fn pays(&self, ahead: &Prospect) -> bool {
        let window = self.rate * ahead.window as f64 / f64::from(ahead.parts);
        let cost = EVENTS_PER_PHASE
            + ahead.ports as f64 * EVENTS_PER_PORT
            + ahead.open as f64 * EVENTS_PER_ENDPOINT
            + ahead.endpoints as f64 * EVENTS_PER_NUMBER
            + ahead.starts as f64 * EVENTS_PER_START;
        window >= EVENTS_PER_WINDOW && self.rate * ahead.span as f64 >= cost
    }

    /// A phase in parts had `events` events, in `time` picoseconds.
    pub(super) fn was_divided(&mut self, events: u64, time: u64) {
        self.rate = events as f64 / (time as f64).max(1.0);
        self.chunk = if self.when == When::Always { 1 } else { FEW };
        self.backoff = 1;
    }

    /// The run may not be divided now.
    pub(super) fn stays_whole(&mut self) {
        self.chunk = CHUNK;
    }

    /// The run was not divided.
    pub(super) fn was_not_divided(&mut self) {
        if self.when != When::Always {
            self.chunk = CHUNK;
            self.pause = self.backoff;
            self.backoff = (2 * self.backoff).min(BACKOFF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fat-tree of k = 8 with links of 10 us: two parts, 128 hosts with one session each.
    const AHEAD: Prospect = Prospect {
        span: 1_000_000_000,
        window: 10_000_000,
        parts: 2,
        ports: 768,
        open: 256,
        endpoints: 256,
        starts: 0,
    };

    /// Whether dividing pays with `events_per_us` events in a microsecond.
    fn pays(events_per_us: f64, ahead: Prospect) -> bool {
        let mut pace = Pace::new(When::Pays);
        let us = f64::from(CHUNK) / events_per_us;
        assert!(pace.tries_after(u64::from(CHUNK), (us * 1e6) as u64));
        pace.divides(&ahead)
    }

    #[test]
    fn windows_must_have_enough_events() {
        assert!(pays(21.0, AHEAD));
        assert!(!pays(19.0, AHEAD), "less than 100 for each part in 10 us");
        assert!(!pays(21.0, Prospect { parts: 4, ..AHEAD }));
        assert!(!pays(21.0, Prospect { window: 5_000_000, ..AHEAD }));
    }

    #[test]
    fn there_are_as_many_parts_as_have_enough_events() {
        let mut pace = Pace::new(When::Pays);
        pace.tries_after(u64::from(CHUNK), u64::from(CHUNK) * 25_000);
        assert_eq!(pace.parts(10_000_000), 4, "400 events in 10 us");
        assert_eq!(pace.parts(9_000_000), 3);
        assert_eq!(Pace::new(When::Always).parts(1), usize::MAX);
    }

    #[test]
    fn phases_must_have_enough_events_for_what_is_moved() {
        let short = |us: u64| Prospect { span: us * 1_000_000, ..AHEAD };
        assert!(pays(100.0, short(120)));
        assert!(!pays(100.0, short(110)));
        assert!(!pays(100.0, short(0)), "there is none");
        assert!(!pays(100.0, Prospect { ports: 49_152, ..short(200) }));
        assert!(!pays(100.0, Prospect { open: 10_000, ..short(200) }));
    }

    #[test]
    fn endpoints_that_have_closed_hardly_count() {
        let many = Prospect { span: 200_000_000, endpoints: 20_000, ..AHEAD };
        assert!(pays(100.0, many), "20000 events, and 20000 endpoints that there have been");
        assert!(!pays(100.0, Prospect { open: 20_000, ..many }));
        assert!(!pays(100.0, Prospect { endpoints: 100_000, ..many }), "their numbers are looked through, too");
    }

    #[test]
    fn sessions_that_start_must_have_enough_events() {
        let starting = |starts: usize| Prospect { span: 200_000_000, starts, ..AHEAD };
        assert!(pays(100.0, starting(300)), "20000 events, 67 for each session");
        assert!(!pays(100.0, starting(1600)), "12 for each");
    }

    #[test]
    fn tries_that_fail_are_made_ever_more_rarely() {
        let mut pace = Pace::new(When::Pays);
        let mut chunks_to = Vec::new();
        let mut chunks = 0;
        while chunks_to.len() < 10 {
            chunks += 1;
            if pace.tries_after(u64::from(CHUNK), 1) {
                chunks_to.push(std::mem::take(&mut chunks));
                pace.was_not_divided();
            }
        }
        assert_eq!(chunks_to, [1, 2, 3, 5, 9, 17, 33, 65, 65, 65]);
        pace.was_divided(1_000_000, 1_000_000);
        assert_eq!((pace.chunk(), pace.rate()), (FEW, 1.0), "after a phase it is tried again at once");
    }
}
