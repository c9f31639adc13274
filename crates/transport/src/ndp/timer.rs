//! The retransmission timer of either end: measured round trips (RFC 6298 §2) and exponential back-off.
//!
//! NDP §3.2 has a fixed, short timeout, because queues in the fabric are a few packets long. Links may be slow or long all
//! the same, so round trips are measured, the configured time is only the minimum, and before the first measurement
//! another one holds (as in htsim). A packet's time runs from its departure: it may wait in the host's own queue first.

use crate::retries::Retries;
use crate::round_trip::RoundTrip;
use crate::units::{Duration, Time};

/// Pauses double this many times at most. A try is one packet, trimmed where queues are full, and may carry the payload
/// through: eight times the first pause is slow enough, and longer ones would leave a link idle after a large incast.
const MOST_DOUBLINGS: u32 = 3;

/// How many of the shortest pauses an end waits when nothing is known to be lost and the peer has to move first.
/// Pulls of a connection come once a round of its host's queue: hundreds of milliseconds where thousands share it.
const PULL_WAIT: u64 = 256;

/// Round trips are not believed beyond this many times the minimum, lest a forged stamp stops a connection.
const MOST_MINIMA: u64 = 1000;

/// The shortest silence after which an end gives up that pauses for `minimum` at least and retries so often.
pub(super) fn shortest_patience(minimum: Duration, retries: u32) -> Duration {
    let doubled = retries.min(MOST_DOUBLINGS);
    let pauses = (2 << doubled) - 1 + (u64::from(retries - doubled) << MOST_DOUBLINGS);
    minimum * pauses
}

/// A timeout that follows the round-trip time and doubles with each timeout in a row.
#[derive(Clone, Debug)]
pub(crate) struct RetransmissionTimer {
    minimum: Duration,
    /// How long to wait before a round trip was measured.
    first: Duration,
    round_trip: RoundTrip,
    /// Whether all that is known of the round trip is a sample that may be too long.
    provisional: bool,
    /// Timeouts in a row with nothing from the peer in between.
    retries: Retries,
    most_retries: u32,
}

impl RetransmissionTimer {
    pub(crate) fn new(minimum: Duration, first: Duration, most_retries: u32) -> Self {
        Self {
            minimum,
            first: first.max(minimum),
            round_trip: RoundTrip::default(),
            provisional: false,
            retries: Retries::default(),
            most_retries,
        }
    }

    /// A round trip was measured. Whether it is the first.
    pub(crate) fn sample(&mut self, round_trip: Duration) -> bool {
        let first = !self.is_measured();
        if std::mem::take(&mut self.provisional) {
            self.round_trip = RoundTrip::default();
        }
        self.round_trip.sample(round_trip.min(self.minimum * MOST_MINIMA));
        first && self.is_measured()
    }

    /// A round trip of something that was sent twice, counted from the first time: it may be too long (Karn's algorithm, RFC
    /// 6298 §3, would ignore it). Where it is the first, it is believed until there is another one; a path that is longer than
    /// the first timeout would else never be measured. Whether it is the first.
    pub(crate) fn sample_at_most(&mut self, round_trip: Duration) -> bool {
        let first = !self.is_measured() && self.sample(round_trip);
        self.provisional |= first;
        first
    }

    /// Whether a round trip has been measured.
    pub(crate) fn is_measured(&self) -> bool {
        self.round_trip.is_known()
    }

    /// How long to wait now.
    pub(crate) fn timeout(&self) -> Duration {
        let pause = self.base() * (1 << self.retries.timeouts().min(MOST_DOUBLINGS));
        if self.is_measured() { pause } else { pause.max(self.first) }
    }

    /// How long to wait when nothing is known to be lost and the peer has to move first.
    pub(crate) fn pull_wait(&self) -> Duration {
        self.base() * PULL_WAIT
    }

    /// A packet of the peer has come: back to the shortest timeout. Whether it had grown.
    pub(crate) fn on_packet(&mut self) -> bool {
        self.retries.on_answer()
    }

    /// A timeout came with nothing from the peer since the last one. Returns whether the peer is given up.
    pub(crate) fn back_off(&mut self) -> bool {
        self.retries.on_timeout(self.most_retries)
    }

    fn base(&self) -> Duration {
        self.round_trip.timeout(self.minimum)
    }
}

/// Deadlines compare as times: this is the one that never comes.
pub(crate) const NEVER: Time = Time::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeds_round_trips_by_the_minimum_at_least() {
        let new = || RetransmissionTimer::new(Duration::from_us(100), Duration::from_us(500), 9);
        let mut p = new();
        assert_eq!(p.timeout(), Duration::from_us(500), "nothing is known");
        assert!(p.sample(Duration::from_us(10)));
        assert_eq!(p.timeout(), Duration::from_us(10 + 100));
        let mut p = new();
        p.sample(Duration::from_us(80));
        assert_eq!(p.timeout(), Duration::from_us(80 + 4 * 40));
        assert!(!p.sample(Duration::from_us(80)), "the second");
        assert_eq!(p.timeout(), Duration::from_us(80 + 4 * 30));
        (0..100).for_each(|_| _ = p.sample(Duration::from_us(80)));
        assert_eq!(p.timeout(), Duration::from_us(80 + 100), "not even where all take as long");
    }

    #[test]
    fn doubles_up_to_eight_times() {
        let mut p = RetransmissionTimer::new(Duration::from_us(1), Duration::from_us(1), 9);
        let pauses: Vec<u64> = (0..5)
            .map(|_| {
                p.back_off();
                p.timeout().0 / 1_000_000
            })
            .collect();
        assert_eq!(pauses, [2, 4, 8, 8, 8]);
        assert!(p.on_packet());
        assert!(!p.on_packet());
        assert_eq!(p.timeout(), Duration::from_us(1));
    }

    #[test]
    fn patience_is_the_sum_of_all_pauses() {
        for retries in 1..9 {
            let mut p = RetransmissionTimer::new(Duration::from_us(1), Duration::from_us(1), retries);
            let mut sum = p.timeout();
            while !p.back_off() {
                sum = sum + p.timeout();
            }
            assert_eq!(shortest_patience(Duration::from_us(1), retries), sum);
        }
    }
}
