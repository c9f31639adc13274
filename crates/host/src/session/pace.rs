//! Pacing: a sending rate that sessions keep together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_transport::pacer::Pacer;
use anabranch_transport::{Duration, Rate, Time};

/// What a late timer of a sender is made up for, at most: a scheduler's turn on a busy host. A longer delay is lost.
const LATE: Duration = Duration::from_ms(25);

/// A sending rate that is kept in the long run, and never exceeded by more than [`LATE`] and [`IDLE`](anabranch_transport::pacer::IDLE) of it. Its copies share it: several sessions
/// together keep the rate.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: Rate,
    pacer: Arc<Mutex<Pacer>>,
}

impl Pace {
    /// Keeps `rate`, which must be above 0.
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, pacer: Arc::new(Mutex::new(Pacer::new(LATE))) }
    }

    /// When the next packet may leave, unless it may now.
    pub(super) fn wait(&mut self, now: Time) -> Option<Time> {
        self.pacer().wait(now)
    }

    fn pacer(&self) -> MutexGuard<'_, Pacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet of `bytes` bytes leaves now.
    pub(super) fn spend(&mut self, now: Time, bytes: u64) {
        let time = self.rate.transmit_time(bytes);
        self.pacer().spend(now, time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::pacer::IDLE;

    const PACKET: u64 = 1500;
    const MBPS: [u64; 6] = [10, 20, 100, 400, 1000, 10_000];

    /// Sends for `seconds` as fast as a pacer of `mbps` allows, with timers that are late by what `late` says of the n-th. Returns when each packet
    /// left.
    fn send(mbps: u64, seconds: u64, late: impl Fn(u64) -> Duration) -> Vec<Time> {
        let (mut pace, mut now, mut left, mut wakes) = (Pace::new(Rate::from_mbps(mbps)), Time::ZERO, Vec::new(), 0);
        while now < Time::ZERO + Duration::from_secs(seconds) {
            if let Some(next) = pace.wait(now) {
                now = next + late(wakes);
                wakes += 1;
            } else {
                pace.spend(now, PACKET);
                left.push(now);
            }
        }
        left
    }

    /// What has left, as a share of what the rate allows.
    fn share(mbps: u64, left: &[Time]) -> f64 {
        let time = left.last().expect("some").since(Time::ZERO).ps() as f64 / 1e12;
        left.len() as f64 * 8.0 * PACKET as f64 / (time * mbps as f64 * 1e6)
    }

    /// In each interval that begins and ends with a packet, no more leaves than the rate and the bounds allow.
    fn assert_bounded(mbps: u64, left: &[Time]) {
        let time = Rate::from_mbps(mbps).transmit_time(PACKET);
        // The largest excess of an interval is that of the largest rise: one pass suffices.
        let mut lowest = i128::MAX;
        for (n, at) in left.iter().enumerate() {
            let ahead = n as i128 * i128::from(time.ps()) - i128::from(at.ps());
            lowest = lowest.min(ahead);
            let most = i128::from((LATE + IDLE + time).ps());
            assert!(
                ahead - lowest <= most,
                "{mbps} Mbit/s: packet {n} leaves {} us early",
                (ahead - lowest) / 1_000_000
            );
        }
    }

    #[test]
    fn late_timers_cost_no_rate_whatever_the_rate() {
        for mbps in MBPS {
            for late_ms in [0, 1, 4, 10, 20] {
                let left = send(mbps, 2, |_| Duration::from_ms(late_ms));
                assert!((share(mbps, &left) - 1.0).abs() < 0.02, "{mbps} Mbit/s, {late_ms} ms: {}", share(mbps, &left));
                assert_bounded(mbps, &left);
            }
            // Mostly little, sometimes a lot, as on a busy host.
            let left = send(mbps, 2, |n| Duration::from_us(if n % 16 == 0 { 20_000 } else { 60 + n % 7 * 100 }));
            assert!((share(mbps, &left) - 1.0).abs() < 0.02, "{mbps} Mbit/s: {}", share(mbps, &left));
            assert_bounded(mbps, &left);
        }
    }

    #[test]
    fn what_is_later_than_the_bound_is_lost_and_no_burst_is_longer() {
        for mbps in MBPS {
            let left = send(mbps, 4, |_| Duration::from_ms(100));
            let expected = (LATE + IDLE).ps() as f64 / Duration::from_ms(100).ps() as f64;
            assert!((expected * 0.9..0.5).contains(&share(mbps, &left)), "{mbps} Mbit/s: {}", share(mbps, &left));
            assert_bounded(mbps, &left);
        }
    }

    #[test]
    fn pauses_for_want_of_packets_make_no_long_bursts() {
        for mbps in MBPS {
            let (mut pace, mut now) = (Pace::new(Rate::from_mbps(mbps)), Time::ZERO);
            let most = IDLE.ps() / Rate::from_mbps(mbps).transmit_time(PACKET).ps() + 2;
            for _ in 0..20 {
                // Nobody asks for anything for a second, and then for a lot. The timer for the next turn was in time.
                let mut burst = 0;
                while pace.wait(now).is_none() {
                    pace.spend(now, PACKET);
                    burst += 1;
                }
                assert!(burst <= most, "{mbps} Mbit/s: {burst} packets at once");
                let next = pace.wait(now).expect("not yet");
                assert_eq!(pace.wait(next), None);
                now = next + Duration::from_secs(1);
            }
        }
    }

    #[test]
    fn what_a_timer_was_late_by_long_ago_is_forgotten() {
        let (mut pace, mut now) = (Pace::new(Rate::from_mbps(100)), Time::ZERO);
        let mut burst = |now: Time, most: u32| {
            let burst = (0..most).take_while(|_| pace.wait(now).is_none().then(|| pace.spend(now, PACKET)).is_some());
            (burst.count(), pace.wait(now))
        };
        now = burst(now, 100).1.expect("not yet") + Duration::from_ms(20);
        assert_eq!(burst(now, 1).0, 1, "nobody asks for more");
        now += Duration::from_ms(LATE.ps() / 1_000_000_000 + 1);
        assert!(burst(now, 1000).0 <= 6);
    }

    #[test]
    fn what_a_late_timer_is_owed_is_made_up_for_in_pieces() {
        // The window of the receivers allows ten packets each millisecond, the rate three; the timer was 20 ms late.
        let rate = Rate::from_mbps(36);
        let (mut pace, mut now) = (Pace::new(rate), Time::ZERO);
        while pace.wait(now).is_none() {
            pace.spend(now, PACKET);
        }
        now = pace.wait(now).expect("not yet") + Duration::from_ms(20);
        let (since, mut sent) = (now, 0);
        for _ in 0..30 {
            for _ in 0..10 {
                if pace.wait(now).is_none() {
                    pace.spend(now, PACKET);
                    sent += 1;
                }
            }
            now += Duration::from_ms(1);
        }
        let expected = (now.since(since) + Duration::from_ms(20)).ps() / rate.transmit_time(PACKET).ps();
        assert!((expected - 4..=expected + 4).contains(&sent), "{sent} of {expected}");
    }
}
