//! A sending rate that is not exceeded: a token bucket.

use anabranch_transport::{Duration, Rate, Time};

/// How much a late timer may make up for at once: host timers fire some 50 to 100 us late, and occasionally much later.
const BURST: Duration = Duration::from_us(500);

/// A token bucket in units of time: a packet may leave when its turn arrives, and then occupies its transmission time at the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: Rate,
    next: Time,
}

impl Pace {
    /// Never exceeds `rate`, which must be above 0.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, next: Time::ZERO }
    }

    /// When the next packet may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A packet of `bytes` bytes leaves now.
    pub(super) fn spend(&mut self, now: Time, bytes: u64) {
        let earliest = Time(now.0.saturating_sub(BURST.ps()));
        self.next = self.next.max(earliest) + self.rate.transmit_time(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wake_ups_lose_no_rate_and_bursts_are_short() {
        let mut pace = Pace::new(Rate::from_mbps(1000));
        let (mut sent, mut now) = (0_u64, Time::ZERO);
        for _ in 0..1000 {
            let mut burst = 0;
            while pace.next() <= now {
                pace.spend(now, 1500);
                burst += 1500;
            }
            assert!(burst <= 1500 + 62_500 + 12_500, "500 us at 1 Gbit/s are 62.5 kB, and 100 us have passed: {burst}");
            sent += burst;
            now = now.max(pace.next()) + Duration::from_us(100);
        }
        let expected = now.0 as f64 / 8e12 * 1e9;
        assert!((sent as f64 / expected - 1.0).abs() < 0.01, "{sent} bytes of {expected}");
    }
}
