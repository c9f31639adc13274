//! TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015): a sender's rate, by how its round trips
//! change.
//!
//! Each completed [segment](super::segments) gives a round trip. Below a lower threshold the rate rises, above an upper one it falls in
//! proportion; between the two it goes by the gradient, the smoothed difference of round trips over the least one (Algorithm 1). So TIMELY has no
//! single fixed point: flows may keep unequal rates. The patched variant (Zhu et al., "ECN or Delay", `CoNEXT` 2016, Algorithm 2) has one: there
//! the rate goes by the distance from a reference, too.

use crate::config::ConfigError;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Round trips in a row, each shorter than the one before, from which on the rate rises fivefold (hyper-active increase); once in a round trip it is
/// so many raises in a row.
const HYPER_AFTER: u32 = 5;
const HYPER: f64 = 5.0;
const LARGEST_SEGMENT: u64 = 1_000_000;

/// How the rate moves between the thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// By the gradient (SIGCOMM 2015, Algorithm 1).
    #[default]
    Gradient,
    /// By the distance from `t_low`, which the gradient weighs (`CoNEXT` 2016, Algorithm 2).
    Patched,
    /// By the gradient, in whole steps, once in a round trip: what is sent after a step gives the next one (HPCC's simulator).
    PerRtt,
}

impl Variant {
    /// beta and alpha, if they are not given.
    fn constants(self) -> (f64, f64) {
        match self {
            Self::Gradient | Self::PerRtt => (0.8, 0.02),
            Self::Patched => (0.008, 0.875),
        }
    }
}

/// Parameters of TIMELY; all others are those of `transport.roce`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimelyConfig {
    /// How the rate moves between `t_low` and `t_high`. Default `gradient`.
    pub variant: Variant,
    /// Bytes of a message that leave at the rate of the link, and whose acknowledgement gives a round trip; the rate spaces segments. 1 B to 1 MB; what one
    /// packet holds, or less, measures and spaces each packet. Default 16 kB (of 16 to 64 kB in the paper, §4).
    pub segment: Bytes,
    /// Round trip below which the rate rises whatever the gradient, `T_low`: at most `t_high`; with `variant = "patched"` the reference,
    /// above 0. Default 50 us (the authors' code, for segments of 64 kB; it has 0 for each packet).
    pub t_low: Duration,
    /// Round trip above which the rate falls whatever the gradient, `T_high`: above 0, at most 1 s. Default 500 us (HPCC's simulator; the authors' code
    /// has 1 ms).
    pub t_high: Duration,
    /// Least round trip of the network: above 0, at most 1 s. The gradient is in units of it, and a rate changes by a whole step once in it, but with
    /// `variant = "per-rtt"`. Default 20 us (HPCC's simulator).
    pub min_rtt: Duration,
    /// What the rate gains in a step, delta: above 0. Default 10 Mbps, for links of 10 Gbps.
    pub additive_increase: Rate,
    /// No rate falls below it: above 0. Default `additive_increase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// What the rate loses, beta: above 0, at most 1. Default 0.8; with `variant = "patched"` 0.008.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease: Option<f64>,
    /// Weight of the newest difference of round trips in the smoothed one, alpha: above 0, at most 1. Default 0.02 (the authors' code; HPCC's simulator has
    /// 0.875); with `variant = "patched"` 0.875.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl Default for TimelyConfig {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            segment: Bytes(16_000),
            t_low: Duration::from_us(50),
            t_high: Duration::from_us(500),
            min_rtt: Duration::from_us(20),
            additive_increase: Rate::from_mbps(10),
            min_rate: None,
            decrease: None,
            weight: None,
        }
    }
}

impl TimelyConfig {
    /// Whether nothing is said: scenarios then leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |good: bool, field: &'static str, problem: String| {
            if good { Ok(()) } else { Err(ConfigError { field, problem }) }
        };
        let is_share = |value: f64| value > 0.0 && value <= 1.0;
        let is_time = |time: Duration| time > Duration::ZERO && time <= Duration::from_secs(1);
        let segments = 1..=LARGEST_SEGMENT;
        check(segments.contains(&self.segment.0), "segment", format!("{} is not from 1B to 1MB", self.segment))?;
        check(is_time(self.t_high), "t_high", format!("{} is not above 0 and at most 1s", self.t_high))?;
        let above = format!("{} is above t_high = {}", self.t_low, self.t_high);
        check(self.t_low <= self.t_high, "t_low", above)?;
        let has_reference = self.variant != Variant::Patched || self.t_low > Duration::ZERO;
        check(has_reference, "t_low", "must be above 0 with variant = \"patched\", whose reference it is".into())?;
        check(is_time(self.min_rtt), "min_rtt", format!("{} is not above 0 and at most 1s", self.min_rtt))?;
        check(self.additive_increase.bps() > 0, "additive_increase", "must be above 0".into())?;
        check(self.min_rate.is_none_or(|rate| rate.bps() > 0), "min_rate", "must be above 0".into())?;
        for (field, share) in [("decrease", self.decrease), ("weight", self.weight)] {
            let problem = format!("{} is not above 0 and at most 1", share.unwrap_or_default());
            check(share.is_none_or(is_share), field, problem)?;
        }
        Ok(())
    }
}

/// The rate of a connection.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    variant: Variant,
    /// Seconds.
    t_low: f64,
    t_high: f64,
    min_rtt: f64,
    /// Bits per second.
    increase: f64,
    decrease: f64,
    weight: f64,
    /// Bits per second: the rate, and its bounds.
    rate: f64,
    least: f64,
    line: f64,
    /// The last round trip, and the smoothed difference, in seconds.
    previous: Option<f64>,
    difference: f64,
    /// Round trips in a row that were shorter than the one before; raises in a row.
    falling: u32,
    raises: u32,
    updated: Time,
    /// The first packet that had not been sent at the last step.
    unsent: u64,
}

impl RateControl {
    /// Begins at `rate`, on a link of rate `line`.
    pub(super) fn new(config: &TimelyConfig, rate: Rate, line: Rate, now: Time) -> Self {
        let (line, increase) = (line.bps() as f64, config.additive_increase.bps() as f64);
        let (decrease, weight) = config.variant.constants();
        Self {
            variant: config.variant,
            t_low: config.t_low.as_secs_f64(),
            t_high: config.t_high.as_secs_f64(),
            min_rtt: config.min_rtt.as_secs_f64(),
            increase,
            decrease: config.decrease.unwrap_or(decrease),
            weight: config.weight.unwrap_or(weight),
            rate: (rate.bps() as f64).min(line),
            least: config.min_rate.map_or(increase, |rate| rate.bps() as f64).min(line),
            line,
            previous: None,
            difference: 0.0,
            falling: 0,
            raises: 0,
            updated: now,
            unsent: 0,
        }
    }

    /// Whether the round trip counts that ends when all packets before `expected` are acknowledged, while `next` is the next one to send.
    pub(super) fn counts(&mut self, expected: u64, next: u64) -> bool {
        let counts = self.variant != Variant::PerRtt || expected > self.unsent;
        if counts {
            self.unsent = next;
        }
        counts
    }

    /// A round trip was measured.
    pub(super) fn on_round_trip(&mut self, now: Time, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        let is_first = self.previous.is_none();
        let difference = rtt - self.previous.replace(rtt).unwrap_or(rtt);
        self.falling = if difference < 0.0 { self.falling.saturating_add(1) } else { 0 };
        self.difference = (1.0 - self.weight) * self.difference + self.weight * difference;
        let (gain, loss) = if rtt < self.t_low {
            (self.increase, 0.0)
        } else if rtt > self.t_high {
            (0.0, self.decrease * (1.0 - self.t_high / rtt))
        } else {
            self.between(rtt, self.difference / self.min_rtt)
        };
        let (gain, loss) = match self.variant {
            Variant::PerRtt if is_first => return,
            Variant::PerRtt => self.whole_step(gain, loss),
            Variant::Gradient | Variant::Patched => self.timed_step(now, gain, loss),
        };
        self.rate = (self.rate * (1.0 - loss) + gain).clamp(self.least, self.line);
    }

    /// A step takes `min_rtt`: one that comes sooner is so much smaller, as in the authors' code. None takes more than half of the rate, as there.
    fn timed_step(&mut self, now: Time, gain: f64, loss: f64) -> (f64, f64) {
        let step = (now.since(self.updated).as_secs_f64() / self.min_rtt).min(1.0);
        self.updated = now;
        (gain * step, (loss * step).min(0.5))
    }

    /// A step is a round trip, and may take all of the rate.
    fn whole_step(&mut self, gain: f64, loss: f64) -> (f64, f64) {
        let hyper = if self.raises >= HYPER_AFTER { HYPER } else { 1.0 };
        self.raises = if gain > 0.0 { self.raises.saturating_add(1) } else { 0 };
        (gain * hyper, loss.min(1.0))
    }

    /// What the rate gains, in bits per second, and which share it loses in a whole step between the thresholds.
    fn between(&self, rtt: f64, gradient: f64) -> (f64, f64) {
        match self.variant {
            Variant::Gradient if gradient <= 0.0 => {
                (self.increase * if self.falling >= HYPER_AFTER { HYPER } else { 1.0 }, 0.0)
            }
            Variant::PerRtt if gradient <= 0.0 => (self.increase, 0.0),
            Variant::Gradient | Variant::PerRtt => (0.0, self.decrease * gradient),
            Variant::Patched => {
                // Equation 30 of CoNEXT 2016: from 0 to 1 as the gradient goes from -1/4 to 1/4.
                let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
                let error = (rtt - self.t_low) / self.t_low;
                (self.increase * (1.0 - weight), self.decrease * weight * error)
            }
        }
    }

    /// Bits per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, not {b}");
    }

    /// At 4 Gbps on a link of 10 Gbps, with a round trip so far; one more, `after` us later.
    fn next_rate(config: &TimelyConfig, before_us: u64, rtt_us: u64, after_us: u64) -> f64 {
        let mut timely = RateControl::new(config, Rate::from_gbps(4), Rate::from_gbps(10), Time::ZERO);
        // No time has passed: nothing changes.
        timely.on_round_trip(Time::ZERO, Duration::from_us(before_us));
        close(timely.rate(), 4e9);
        timely.on_round_trip(Time::ZERO + Duration::from_us(after_us), Duration::from_us(rtt_us));
        timely.rate()
    }

    #[test]
    fn a_round_trip_outside_the_thresholds_decides_alone() {
        let config = TimelyConfig::default();
        // Below 50 us: 10 Mbps, although it has grown.
        close(next_rate(&config, 30, 49, 20), 4.01e9);
        // Half a step after half of the least round trip, and never more than a step.
        close(next_rate(&config, 30, 49, 10), 4.005e9);
        close(next_rate(&config, 30, 49, 1000), 4.01e9);
        // Above 500 us: 4 Gbps * (1 - 0.8 * (1 - 500 / 800)) = 4 * 0.7, although it has fallen.
        close(next_rate(&config, 900, 800, 20), 2.8e9);
        // (1 - 500 / 2500) * 0.8 = 0.64, but no more than half.
        close(next_rate(&config, 2500, 2500, 20), 2e9);
    }

    #[test]
    fn between_them_the_gradient_decides() {
        let config = TimelyConfig { weight: Some(0.875), ..TimelyConfig::default() };
        // A difference of 8 us, of which 7/8 count: a gradient of 7 us / 20 us = 0.35, 4 Gbps * (1 - 0.8 * 0.35).
        close(next_rate(&config, 100, 108, 20), 4e9 * 0.72);
        // Of 100 us, 1/50 count by default: 2 us / 20 us.
        close(next_rate(&TimelyConfig::default(), 100, 200, 20), 4e9 * 0.92);
        // It falls, or stays.
        close(next_rate(&config, 108, 100, 20), 4.01e9);
        close(next_rate(&config, 100, 100, 20), 4.01e9);
    }

    #[test]
    fn the_fifth_shorter_round_trip_in_a_row_raises_the_rate_fivefold() {
        let config = TimelyConfig { weight: Some(1.0), ..TimelyConfig::default() };
        let mut timely = RateControl::new(&config, Rate::from_gbps(1), Rate::from_gbps(10), Time::ZERO);
        let mut now = Time::ZERO;
        timely.on_round_trip(now, Duration::from_us(200));
        let gains = [190, 180, 170, 160, 150, 140, 140, 139].map(|us| {
            now += config.min_rtt;
            let before = timely.rate();
            timely.on_round_trip(now, Duration::from_us(us));
            ((timely.rate() - before) / 1e6).round() as u64
        });
        assert_eq!(gains, [10, 10, 10, 10, 50, 50, 10, 10]);
        // A longer one: by 10 us, a gradient of 1/2.
        let before = timely.rate();
        timely.on_round_trip(now + config.min_rtt, Duration::from_us(149));
        close(timely.rate(), before * 0.6);
    }

    #[test]
    fn the_patched_rate_goes_by_the_distance_from_its_reference() {
        let config = TimelyConfig { variant: Variant::Patched, ..TimelyConfig::default() };
        // No gradient: a weight of 1/2. Of 100 us the error is 1: 4 Gbps * (1 - 0.008 / 2) + 5 Mbps.
        close(next_rate(&config, 100, 100, 20), 4e9 * 0.996 + 5e6);
        // A gradient of 0.875 * 2 / 20 = 0.0875, a weight of 0.675; an error of 1.04.
        close(next_rate(&config, 100, 102, 20), 4e9 * (1.0 - 0.008 * 0.675 * 1.04) + 3.25e6);
        // From -1/4 down it rises alone, from 1/4 up it falls alone: by 0.008 * 2.
        close(next_rate(&config, 150, 100, 20), 4.01e9);
        close(next_rate(&config, 100, 150, 20), 4e9 * 0.984);
    }

    #[test]
    fn at_the_patched_fixed_point_nothing_changes() {
        // CoNEXT 2016, Theorem 5: q* = q' (1 + N delta / (beta C)). 8 flows on 10 Gbps: 50 us * (1 + 80 / 80).
        let config = TimelyConfig { variant: Variant::Patched, ..TimelyConfig::default() };
        let fair = Rate::from_mbps(1250);
        let mut timely = RateControl::new(&config, fair, Rate::from_gbps(10), Time::ZERO);
        for n in 1..100 {
            timely.on_round_trip(Time::ZERO + config.min_rtt * n, Duration::from_us(100));
        }
        close(timely.rate(), 1.25e9);
    }

    /// HPCC's simulator, `rdma-hw.cc`, `UpdateRateTimely`.
    #[test]
    fn once_in_a_round_trip_steps_are_whole_and_the_sixth_raise_in_a_row_is_fivefold() {
        let config = TimelyConfig { variant: Variant::PerRtt, weight: Some(0.875), ..TimelyConfig::default() };
        let mut timely = RateControl::new(&config, Rate::from_gbps(4), Rate::from_gbps(10), Time::ZERO);
        // The first round trip is only remembered; that no time passes matters nothing.
        let gains = [40, 40, 40, 40, 100, 100, 100, 100].map(|us| {
            let before = timely.rate();
            timely.on_round_trip(Time::ZERO, Duration::from_us(us));
            ((timely.rate() - before) / 1e6).round() as i64
        });
        // From 40 to 100 us the gradient is 0.875 * 60 / 20 = 2.625, which would take more than all. An eighth of it, and of that, keep it at the least.
        assert_eq!(gains, [0, 10, 10, 10, -4020, 0, 0, 0]);
        // Raises count below t_low and between the thresholds alike.
        let gains = [99, 98, 49, 48, 47, 46, 45].map(|us| {
            let before = timely.rate();
            timely.on_round_trip(Time::ZERO, Duration::from_us(us));
            ((timely.rate() - before) / 1e6).round() as i64
        });
        assert_eq!(gains, [10, 10, 10, 10, 10, 50, 50]);
        // Above t_high: no more than the share.
        let before = timely.rate();
        timely.on_round_trip(Time::ZERO, Duration::from_us(1000));
        close(timely.rate(), before * 0.6);
    }

    #[test]
    fn what_was_sent_before_the_last_step_gives_no_round_trip() {
        let config = TimelyConfig { variant: Variant::PerRtt, ..TimelyConfig::default() };
        let control = |config| RateControl::new(config, Rate::from_gbps(4), Rate::from_gbps(10), Time::ZERO);
        let acks = [(1, 8), (2, 9), (8, 12), (9, 13), (12, 14), (13, 15), (14, 15), (15, 15), (16, 16)];
        let mut timely = control(&config);
        // Packets 8 and 13 are the first ones after a step.
        assert_eq!(
            acks.map(|(expected, next)| timely.counts(expected, next)),
            [true, false, false, true, false, false, true, false, true]
        );
        let mut each = control(&TimelyConfig::default());
        assert!(acks.iter().all(|&(expected, next)| each.counts(expected, next)));
    }

    #[test]
    fn the_least_rate_may_be_given() {
        let config = TimelyConfig { min_rate: Some(Rate::from_gbps(1)), ..TimelyConfig::default() };
        let mut timely = RateControl::new(&config, Rate::from_gbps(4), Rate::from_gbps(10), Time::ZERO);
        for n in 1..100 {
            timely.on_round_trip(Time::ZERO + config.min_rtt * n, Duration::from_ms(10));
        }
        close(timely.rate(), 1e9);
    }

    #[test]
    fn the_rate_stays_between_a_step_and_the_line() {
        let config = TimelyConfig::default();
        let mut timely = RateControl::new(&config, Rate::from_gbps(40), Rate::from_gbps(10), Time::ZERO);
        close(timely.rate(), 10e9);
        for n in 1..100 {
            timely.on_round_trip(Time::ZERO + config.min_rtt * n, Duration::from_ms(10));
        }
        close(timely.rate(), 10e6);
    }

    #[test]
    fn impossible_values_are_named() {
        let bad = |change: fn(&mut TimelyConfig)| {
            let mut config = TimelyConfig::default();
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(TimelyConfig::default().validate(), Ok(()));
        assert_eq!(bad(|c| c.segment = Bytes(0)), "segment");
        assert_eq!(bad(|c| c.segment = Bytes(LARGEST_SEGMENT + 1)), "segment");
        assert_eq!(bad(|c| c.t_high = Duration::ZERO), "t_high");
        assert_eq!(bad(|c| c.t_low = Duration::from_us(501)), "t_low");
        assert_eq!(bad(|c| (c.variant, c.t_low) = (Variant::Patched, Duration::ZERO)), "t_low");
        assert_eq!(bad(|c| c.min_rtt = Duration::ZERO), "min_rtt");
        assert_eq!(bad(|c| c.additive_increase = Rate(0)), "additive_increase");
        assert_eq!(bad(|c| c.min_rate = Some(Rate(0))), "min_rate");
        assert_eq!(bad(|c| c.decrease = Some(0.0)), "decrease");
        assert_eq!(bad(|c| c.decrease = Some(f64::NAN)), "decrease");
        assert_eq!(bad(|c| c.weight = Some(1.5)), "weight");
    }
}
