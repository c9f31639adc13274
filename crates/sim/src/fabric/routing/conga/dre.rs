//! The discounting rate estimator of a link (CONGA §3.2): X grows by the bytes of each packet and shrinks by the share alpha after each
//! period `T_dre`. While packets come at a rate R, X is about R tau, with tau = `T_dre` / alpha.

use anabranch_transport::{Duration, Rate};

/// Less than this is nothing.
const LEAST: f64 = 1e-3;

/// How many bytes have gone by a link lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dre {
    bytes: f64,
    /// Periods since time 0 that are accounted for.
    periods: u64,
}

impl Dre {
    /// Ends the periods that are over. One by one: how often it is looked at makes no difference.
    fn come_to(&mut self, now: u64, (period, gain): (Duration, f64)) {
        let periods = now / period.ps().max(1);
        let ended = periods - self.periods;
        self.periods = periods;
        for _ in 0..ended {
            if self.bytes < LEAST {
                self.bytes = 0.0;
                return;
            }
            self.bytes *= 1.0 - gain;
        }
    }

    /// A packet goes by the link.
    pub(super) fn add(&mut self, now: u64, size: u16, rule: (Duration, f64)) {
        self.come_to(now, rule);
        self.bytes += f64::from(size);
    }

    /// How congested the link is: X / (C tau), in steps of 1 / 2^bits, at most the last one.
    pub(super) fn metric(&mut self, now: u64, rate: Rate, rule: (Duration, f64), bits: u32) -> u8 {
        self.come_to(now, rule);
        let (period, gain) = rule;
        let full = rate.bps() as f64 / 8.0 * period.as_secs_f64() / gain;
        let steps = 1_u32 << bits;
        (self.bytes / full * f64::from(steps)).min(f64::from(steps - 1)) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: (Duration, f64) = (Duration::from_us(20), 0.2);
    const GIGABIT: Rate = Rate::from_gbps(1);

    #[test]
    fn bytes_are_discounted_at_the_end_of_each_period() {
        // A time constant of 100 us: 12 500 bytes at 1 Gbps, in steps of 1562.5.
        let mut dre = Dre::default();
        for _ in 0..5 {
            dre.add(1_000_000, 1500, RULE);
        }
        // 7500, 6000, 4800, 3840, 3072, 2457.6, 1966.08, 1572.9, 1258.3 bytes.
        let metrics: Vec<u8> = (0..9).map(|n| dre.metric(n * 20_000_000 + 1_000_000, GIGABIT, RULE, 3)).collect();
        assert_eq!(metrics, [4, 3, 3, 2, 1, 1, 1, 1, 0]);
        // Looked at once, it is the same.
        let mut other = Dre::default();
        (0..5).for_each(|_| other.add(1_000_000, 1500, RULE));
        other.come_to(161_000_000, RULE);
        assert_eq!(other.bytes.to_bits(), dre.bytes.to_bits());
    }

    #[test]
    fn a_steady_rate_becomes_its_share_of_the_link() {
        // One packet of 1500 bytes at each share of what the link carries, for ten time constants.
        for (share, metric) in [(0.0625, 0), (0.3125, 2), (0.5625, 4), (0.8125, 6), (1.0, 7)] {
            let every = (12_000_000.0 / share) as u64;
            let mut dre = Dre::default();
            let last = (0..1_000_000_000 / every).map(|n| n * every).inspect(|&now| dre.add(now, 1500, RULE)).last();
            let least = dre.metric(last.unwrap_or(0), GIGABIT, RULE, 3);
            assert!(least.abs_diff(metric) <= 1, "{share}: {least}");
        }
        // It has 2^bits - 1 at most, however much comes at once.
        let mut dre = Dre::default();
        (0..100).for_each(|_| dre.add(0, 9000, RULE));
        assert_eq!([1, 2, 3].map(|bits| dre.metric(0, GIGABIT, RULE, bits)), [1, 3, 7]);
    }

    #[test]
    fn a_link_that_rests_is_free_after_any_time() {
        let mut dre = Dre::default();
        dre.add(0, 1500, RULE);
        assert_eq!(dre.metric(u64::MAX, GIGABIT, RULE, 3), 0);
        assert!(dre.bytes < LEAST);
    }
}
