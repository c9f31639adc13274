//! Pacing: segments are spaced by the rate that the congestion control asks for.
//!
//! After each segment the sender waits for as long as that segment, headers included, takes at the rate: the earliest departure
//! time of Linux (`tcp_update_skb_after_send`), without its allowance for late timers and for the first ten segments. So there
//! are no bursts, not even the initial window that RFC 9002 §7.7 allows, and idle times give no credit. Retransmissions are
//! spaced, too. A rate that changes counts at once.

use crate::units::{Duration, Rate, Time};

/// Spaces the segments of one sender.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    /// Bytes of the last segment on the wire; 0 before the first.
    last: u32,
    header: u32,
    /// When the last segment left.
    sent_at: Time,
    /// When the segment that is held back may leave; [`Time::MAX`] if none is.
    release: Time,
}

impl Pacing {
    /// `header`: bytes of a segment beside its payload.
    pub(super) fn new(header: u32) -> Self {
        Self { last: 0, header, sent_at: Time::ZERO, release: Time::MAX }
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, payload: u16) {
        self.sent_at = now;
        self.last = self.header + u32::from(payload);
    }

    /// For how long no segment has left.
    #[inline]
    pub(super) fn idle(&self, now: Time) -> Duration {
        now.since(self.sent_at)
    }

    /// Whether the next segment has to wait at `rate` (`None`: as fast as the window allows).
    #[inline]
    pub(super) fn holds(&mut self, now: Time, rate: Option<Rate>) -> bool {
        self.release = Time::MAX;
        let Some(rate) = rate.filter(|_| self.last > 0) else { return false };
        let release = self.sent_at + Rate(rate.bps().max(1)).transmit_time(u64::from(self.last));
        if release > now {
            self.release = release;
        }
        release > now
    }

    /// When to ask again; [`Time::MAX`] if nothing is held back.
    #[inline]
    pub(super) fn release(&self) -> Time {
        self.release
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_waits_for_as_long_as_the_one_before_it_takes() {
        let rate = Some(Rate::from_mbps(100));
        let mut pacing = Pacing::new(40);
        assert!(!pacing.holds(Time(5), rate), "nothing was sent");
        pacing.on_sent(Time::ZERO, 1460);
        // 1500 bytes take 120 us.
        assert!(pacing.holds(Time(119_999_999), rate));
        assert_eq!(pacing.release(), Time(120_000_000));
        assert!(!pacing.holds(Time(120_000_000), rate));
        assert_eq!(pacing.release(), Time::MAX);
        // A rate that changes, or that is no longer wanted, counts at once.
        assert!(!pacing.holds(Time(60_000_000), Some(Rate::from_mbps(200))));
        assert!(!pacing.holds(Time(1), None));
        assert!(pacing.holds(Time(1), Some(Rate(0))), "no division by nothing");
        assert_eq!(pacing.idle(Time(7)), Duration(7));
    }
}
