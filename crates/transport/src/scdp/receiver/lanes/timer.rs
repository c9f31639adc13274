//! The retransmission timer of a receiver: when it repeats a pull.
//!
//! Round trips are measured: the time from a pull to the symbol that it asks for, whole or trimmed. One pull is timed at
//! a time, and none across a timeout (Karn's algorithm, RFC 6298 §3); until a round trip is measured, the timeout stays doubled. So a
//! path of slow links costs a few needless repetitions at first and none later. In one-to-many a round trip includes the
//! wait for the others, but never a wait longer than this receiver's own timeout: receivers do not make each other
//! wait longer and longer.

use crate::round_trip::RoundTrip;
use crate::scdp::config::LONGEST_TIMEOUT;
use crate::scdp::layout::LIVE_BLOCKS;
use crate::{Duration, Time, back_off};

/// A timed symbol counts as lost once this many symbols have overtaken it, and another pull is timed.
const OVERTAKEN: u32 = 64;

/// Round trips are capped at this many times the configured timeout: a session that stood still for long, because
/// others had the link, must not wait for that long.
pub(super) const MOST_MINIMA: u64 = 100;

/// A pull whose answer is awaited.
#[derive(Clone, Copy, Debug)]
struct Timed {
    block: u32,
    /// The symbol asked for, within the lane.
    index: u32,
    at: Time,
}

/// What a receiver knows about the pace of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetransmissionTimer {
    round_trip: RoundTrip,
    timed: Option<Timed>,
    /// Timeouts since a round trip was measured.
    doublings: u32,
}

impl RetransmissionTimer {
    /// A pull asks for the `index`-th symbol of the lane in a block.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32) {
        if self.timed.is_none() {
            self.timed = Some(Timed { block, index, at: now });
        }
    }

    /// The `index`-th symbol of the lane in a block has arrived, or its header. No round trip takes longer than `most`.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, block: u32, index: u32, most: Duration) {
        let Some(timed) = self.timed else { return };
        if timed.block - block.min(timed.block) > LIVE_BLOCKS as u32 {
            // Other receivers of the group have less from an earlier session: the wait for them says nothing about the path.
            self.timed = None;
            return;
        }
        if block < timed.block || (block == timed.block && index < timed.index) {
            return;
        }
        if (block, index) == (timed.block, timed.index) {
            self.round_trip.sample((now - timed.at).min(most));
            self.doublings = 0;
        } else if block == timed.block && index - timed.index <= OVERTAKEN || block == timed.block + 1 {
            return;
        }
        self.timed = None;
    }

    /// The symbol that is timed may never arrive.
    pub(super) fn forget_pull(&mut self) {
        self.timed = None;
    }

    /// Nothing arrived for too long, and a pull is repeated.
    pub(super) fn on_timeout(&mut self) {
        self.doublings += 1;
        self.timed = None;
    }

    /// How long to wait. Doubling stops where a back-off from the minimum would: in a group, a round trip includes the
    /// wait for the other receivers, and if those could double it, too, all would wait for each other longer and longer.
    #[inline]
    pub(super) fn timeout(&self, minimum: Duration) -> Duration {
        let measured = self.round_trip.timeout(minimum);
        back_off(measured, minimum * LONGEST_TIMEOUT, self.doublings).max(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMUM: Duration = Duration::from_ms(2);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn exceeds_round_trips_by_the_minimum_at_least() {
        let mut p = RetransmissionTimer::default();
        assert_eq!(p.timeout(MINIMUM), MINIMUM);
        for n in 0..100 {
            p.on_pull(at(10 * n), 0, n as u32);
            p.on_symbol(at(10 * n + 8), 0, n as u32, MINIMUM * MOST_MINIMA);
        }
        let steady = p.timeout(MINIMUM);
        assert!((Duration::from_ms(10)..Duration::from_us(10_100)).contains(&steady), "{steady}");
        for n in 100..200 {
            p.on_pull(at(10 * n), 0, n as u32);
            p.on_symbol(at(10 * n), 0, n as u32, MINIMUM * MOST_MINIMA);
        }
        assert!(p.timeout(MINIMUM) < MINIMUM + Duration::from_us(1));
    }

    #[test]
    fn stays_doubled_until_a_round_trip_without_a_timeout() {
        let mut p = RetransmissionTimer::default();
        p.on_pull(at(0), 0, 5);
        p.on_timeout();
        p.on_symbol(at(9), 0, 5, MINIMUM * MOST_MINIMA);
        assert_eq!(p.timeout(MINIMUM), MINIMUM * 2, "what was asked twice is not timed");
        p.on_pull(at(10), 0, 6);
        p.on_symbol(at(11), 0, 6, MINIMUM * MOST_MINIMA);
        assert_eq!(p.timeout(MINIMUM), Duration::from_ms(3));
    }

    #[test]
    fn a_lost_symbol_gives_way_to_another() {
        for (block, index) in [(0, 70), (2, 0)] {
            let mut p = RetransmissionTimer::default();
            p.on_pull(at(0), 0, 5);
            p.on_symbol(at(1), 0, 6, MINIMUM * MOST_MINIMA);
            p.on_symbol(at(1), 1, 0, MINIMUM * MOST_MINIMA);
            p.on_pull(at(1), 0, 7);
            p.on_symbol(at(2), 0, 7, MINIMUM * MOST_MINIMA);
            assert_eq!(p.timeout(MINIMUM), MINIMUM, "the first pull is still timed");
            p.on_symbol(at(3), block, index, MINIMUM * MOST_MINIMA);
            p.on_pull(at(4), 3, 1);
            p.on_symbol(at(14), 3, 1, MINIMUM * MOST_MINIMA);
            assert_eq!(p.timeout(MINIMUM), Duration::from_ms(30));
        }
    }

    #[test]
    fn a_wait_for_others_that_have_less_is_not_timed() {
        let mut p = RetransmissionTimer::default();
        p.on_pull(at(0), 1000, 0);
        p.on_symbol(at(1), 0, 31, MINIMUM * MOST_MINIMA);
        p.on_symbol(at(500), 1000, 0, MINIMUM * MOST_MINIMA);
        assert_eq!(p.timeout(MINIMUM), MINIMUM);
    }

    #[test]
    fn long_round_trips_are_not_doubled_without_end() {
        let mut p = RetransmissionTimer::default();
        p.on_pull(at(0), 0, 0);
        p.on_symbol(at(20), 0, 0, MINIMUM * MOST_MINIMA);
        let waits = [60, 120, 128, 128].map(Duration::from_ms);
        for (n, expected) in waits.into_iter().enumerate() {
            assert_eq!(p.timeout(MINIMUM), expected, "after {n} timeouts");
            p.on_timeout();
        }
        p.on_pull(at(0), 0, 1);
        p.on_symbol(at(100_000), 0, 1, MINIMUM * MOST_MINIMA);
        let measured = p.timeout(MINIMUM);
        p.on_timeout();
        assert!(measured > Duration::from_ms(128) && p.timeout(MINIMUM) == measured, "{measured}");
    }

    #[test]
    fn a_long_stop_is_believed_up_to_a_limit() {
        let mut p = RetransmissionTimer::default();
        p.on_pull(at(0), 0, 0);
        p.on_symbol(at(100_000), 0, 0, MINIMUM * MOST_MINIMA);
        assert_eq!(p.timeout(MINIMUM), MINIMUM * 300);
    }
}
