//! How long an end waits before it takes silence for loss: measured round trips (RFC 6298 §2) and exponential back-off.
//!
//! NDP §3.2 has a fixed, short timeout. That holds for queues in the fabric, which are a few packets long; a sender's
//! own interface may hold the windows of many connections, for much longer than 1 ms at 1 Gbit/s. A fixed timeout would
//! then send everything twice, so round trips are measured and the configured time is only the minimum.

use crate::round_trip::RoundTrip;
use crate::units::{Duration, Time};

/// Pauses double this many times at most. A try is one packet, trimmed where queues are full, and may carry the payload
/// through: eight times the first pause is calm enough, and longer ones would leave a link idle after a large incast.
const MOST_DOUBLINGS: u32 = 3;

/// How many of the shortest pauses an end waits when nothing is known to be lost and the peer has to move first.
/// Pulls of a connection come once a round of its host's queue: hundreds of milliseconds where thousands share it.
const TRUST: u64 = 256;

/// Round trips are not believed beyond this many times the minimum, lest a forged stamp stops a connection.
const MOST_MINIMA: u64 = 1000;

/// A timeout that follows the round-trip time and doubles on silence.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    minimum: Duration,
    round_trip: RoundTrip,
    /// Timeouts in a row with nothing heard in between.
    silences: u32,
}

impl Patience {
    pub(super) fn new(minimum: Duration) -> Self {
        Self { minimum, round_trip: RoundTrip::default(), silences: 0 }
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, round_trip: Duration) {
        self.round_trip.sample(round_trip.min(self.minimum * MOST_MINIMA));
    }

    /// How long to wait now.
    pub(super) fn interval(&self) -> Duration {
        self.calm() * (1 << self.silences.min(MOST_DOUBLINGS))
    }

    /// How long to wait when nothing is known to be lost and the peer has to move first.
    pub(super) fn trust(&self) -> Duration {
        self.calm() * TRUST
    }

    /// The peer was heard: back to the shortest pause. Whether the pause had grown.
    pub(super) fn heard(&mut self) -> bool {
        std::mem::take(&mut self.silences) > 0
    }

    /// A timeout came with nothing heard since the last one. Returns how many did in a row.
    pub(super) fn silence(&mut self) -> u32 {
        self.silences += 1;
        self.silences
    }

    fn calm(&self) -> Duration {
        self.minimum.max(self.round_trip.timeout())
    }
}

/// Deadlines compare as times: this is the one that never comes.
pub(super) const NEVER: Time = Time::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_round_trips_but_not_below_the_minimum() {
        let mut p = Patience::new(Duration::from_us(100));
        assert_eq!(p.interval(), Duration::from_us(100));
        p.sample(Duration::from_us(10));
        assert_eq!(p.interval(), Duration::from_us(100));
        let mut p = Patience::new(Duration::from_us(100));
        p.sample(Duration::from_us(80));
        assert_eq!(p.interval(), Duration::from_us(80 + 4 * 40));
        p.sample(Duration::from_us(80));
        assert_eq!(p.interval(), Duration::from_us(80 + 4 * 30));
    }

    #[test]
    fn doubles_on_silence_up_to_eight_times() {
        let mut p = Patience::new(Duration::from_us(1));
        let pauses: Vec<u64> = (0..5)
            .map(|_| {
                p.silence();
                p.interval().0 / 1_000_000
            })
            .collect();
        assert_eq!(pauses, [2, 4, 8, 8, 8]);
        assert!(p.heard());
        assert!(!p.heard());
        assert_eq!(p.interval(), Duration::from_us(1));
    }
}
