//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015): a sender's rate.
//!
//! A receiver answers marked packets with congestion notification packets (CNPs), at most one in an interval (*notification point*). Each CNP
//! cuts the rate by an estimate of congestion, which falls while none comes; a timer and a byte counter raise it again, first to where it was
//! (fast recovery), then beyond (*reaction point*, Figures 5 and 7 and equations 1 to 4). Switches mark as RED does, by the queue as it is
//! (*congestion point*): `switch.queue = "red"` with `weight = 1` and `gentle = false`.

use crate::config::ConfigError;
use crate::units::{Bytes, Duration, PS_PER_S, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `transport.roce.packet` is no larger.
const LARGEST_PACKET: u64 = 9000;

/// Whose constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Constants {
    /// Of the paper's deployment at 40 Gbps, §5 (timers 55 us, bytes 10 MB, F = 5, g = 1/256, CNPs every 50 us); increases of 40 and 200 Mbps and
    /// a least rate of 100 Mbps from its authors' simulator (`mix/config.txt` of ns3-rdma).
    #[default]
    Paper,
    /// Of the HPCC simulator (`run.py`, mode `dcqcn`), made for the rules `connectx`. Timers 300 us and 1 us, no byte counter, F = 1, CNPs every 4 us, increases of 1/5000 and 1/500
    /// of the line's rate.
    Hpcc,
}

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rules {
    /// The paper's, Figures 5 and 7.
    #[default]
    Paper,
    /// Those of the HPCC simulator, after Mellanox's adapters: a cut that follows a cut keeps the target rate, every marked packet is notified, bytes raise
    /// nothing, hyper increase goes by the timer.
    Connectx,
}

impl Rules {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Parameters of DCQCN; all others are those of `transport.roce`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DcqcnConfig {
    /// What the keys below are if they are not given.
    pub constants: Constants,
    /// Whose rules. Default `paper`.
    #[serde(skip_serializing_if = "Rules::is_default")]
    pub rules: Rules,
    /// Time without a CNP after which the rate is raised, T: 1 us to 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Duration>,
    /// Bytes after which it is raised, B: at least 9000 B, the largest packet. Not with the rules `connectx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Bytes>,
    /// What the target rate gains with each raise after fast recovery: above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Rate>,
    /// What it gains in hyper increase: above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper_increase: Option<Rate>,
    /// Raises of fast recovery, F: 1 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_recovery: Option<u32>,
    /// Time without a CNP after which the estimate of congestion falls; with `connectx`, between two looks at it: 1 us to 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_timer: Option<Duration>,
    /// Least rate: above 0. Default 100 Mbps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Rate>,
    /// Least time between two CNPs of a receiver; with `connectx`, between two cuts of a sender: 1 us to 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Duration>,
}

impl DcqcnConfig {
    /// Whether nothing is said: scenarios then leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Least time between two CNPs of a receiver, if it waits.
    pub(super) fn cnp_interval(&self) -> Option<Duration> {
        (self.rules == Rules::Paper).then(|| self.interval())
    }

    fn interval(&self) -> Duration {
        self.cnp_interval.unwrap_or(match self.constants {
            Constants::Paper => Duration::from_us(50),
            Constants::Hpcc => Duration::from_us(4),
        })
    }

    /// All numbers, on a line of this rate.
    pub(super) fn parameters(&self, line: Rate) -> Parameters {
        let line = line.bps() as f64;
        let (timer, alpha_timer, byte_counter, fast_recovery, additive, hyper) = match self.constants {
            Constants::Paper => (55, 55, 10_000_000, 5, 40e6, 200e6),
            Constants::Hpcc => (300, 1, u64::MAX, 1, line / 5000.0, line / 500.0),
        };
        let bps = |rate: Option<Rate>, other| rate.map_or(other, |rate| rate.bps() as f64);
        Parameters {
            timer: self.timer.unwrap_or(Duration::from_us(timer)),
            alpha_timer: self.alpha_timer.unwrap_or(Duration::from_us(alpha_timer)),
            cnp_interval: self.interval(),
            byte_counter: self.byte_counter.map_or(byte_counter, |bytes| bytes.0),
            fast_recovery: self.fast_recovery.unwrap_or(fast_recovery),
            gain: 1.0 / 256.0,
            additive: bps(self.additive_increase, additive),
            hyper: bps(self.hyper_increase, hyper),
            least: bps(self.min_rate, 100e6).min(line),
            line,
        }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (field, time) in
            [("timer", self.timer), ("cnp_interval", self.cnp_interval), ("alpha_timer", self.alpha_timer)]
        {
            if time.is_some_and(|time| time < Duration::from_us(1) || time > Duration::from_secs(1)) {
                return Err(ConfigError { field, problem: "is not from 1us to 1s".into() });
            }
        }
        // A packet raises the rate once at most.
        if self.byte_counter.is_some_and(|bytes| bytes.0 < LARGEST_PACKET) {
            let problem = format!("is less than {LARGEST_PACKET}B, the largest packet");
            return Err(ConfigError { field: "byte_counter", problem });
        }
        if self.byte_counter.is_some() && self.rules == Rules::Connectx {
            let problem = "does not apply with rules = \"connectx\": bytes raise nothing".into();
            return Err(ConfigError { field: "byte_counter", problem });
        }
        for (field, rate) in [
            ("additive_increase", self.additive_increase),
            ("hyper_increase", self.hyper_increase),
            ("min_rate", self.min_rate),
        ] {
            if rate == Some(Rate(0)) {
                return Err(ConfigError { field, problem: "must be above 0".into() });
            }
        }
        if self.fast_recovery.is_some_and(|raises| raises == 0 || raises > 1000) {
            return Err(ConfigError { field: "fast_recovery", problem: "is not from 1 to 1000".into() });
        }
        Ok(())
    }
}

/// All numbers of a connection's rate: see [`DcqcnConfig`]. Rates in bits per second.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    pub(super) timer: Duration,
    pub(super) alpha_timer: Duration,
    pub(super) cnp_interval: Duration,
    pub(super) byte_counter: u64,
    pub(super) fast_recovery: u32,
    pub(super) gain: f64,
    pub(super) additive: f64,
    pub(super) hyper: f64,
    pub(super) least: f64,
    pub(super) line: f64,
}

/// How long after a packet of this size the next one may leave at a rate in bits per second.
pub(super) fn pace(size: u64, rate: f64) -> Duration {
    Duration((size as f64 * 8.0 * PS_PER_S as f64 / rate).round() as u64)
}

/// The rate of a connection.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    parameters: Parameters,
    /// Bits per second: current and target.
    current: f64,
    target: f64,
    /// The estimate of congestion, 0 to 1.
    alpha: f64,
    /// When the estimate falls next, and when the timer raises the rate.
    alpha_at: Time,
    raise_at: Time,
    /// Raises since the last CNP, by the timer and by bytes.
    by_timer: u32,
    by_bytes: u32,
    bytes: u64,
}

impl RateControl {
    /// Begins at the rate of the line.
    pub(super) fn new(parameters: Parameters) -> Self {
        Self {
            current: parameters.line,
            target: parameters.line,
            alpha: 1.0,
            // Nothing happens before the first CNP.
            alpha_at: Time::MAX,
            raise_at: Time::MAX,
            by_timer: 0,
            by_bytes: 0,
            bytes: 0,
            parameters,
        }
    }

    /// A CNP has come (equation 1).
    pub(super) fn on_cnp(&mut self, now: Time) {
        self.time_passes(now);
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(self.parameters.least);
        self.alpha = (1.0 - self.parameters.gain) * self.alpha + self.parameters.gain;
        (self.by_timer, self.by_bytes, self.bytes) = (0, 0, 0);
        (self.alpha_at, self.raise_at) = (now + self.parameters.alpha_timer, now + self.parameters.timer);
    }

    /// A packet is sent: how long until the next one may be.
    pub(super) fn on_sent(&mut self, now: Time, size: u64) -> Duration {
        self.time_passes(now);
        self.bytes += size;
        if self.bytes >= self.parameters.byte_counter {
            self.bytes -= self.parameters.byte_counter;
            self.by_bytes += 1;
            self.raise();
        }
        pace(size, self.current)
    }

    /// Timers that have fired since.
    fn time_passes(&mut self, now: Time) {
        while self.alpha_at <= now {
            // Equation 2.
            self.alpha *= 1.0 - self.parameters.gain;
            self.alpha_at += self.parameters.alpha_timer;
            if self.alpha < 1e-9 {
                self.alpha_at = self.alpha_at.max(now + self.parameters.alpha_timer);
            }
        }
        while self.raise_at <= now {
            self.by_timer += 1;
            self.raise();
            self.raise_at += self.parameters.timer;
            if self.target >= self.parameters.line && self.parameters.line - self.current < 1.0 {
                self.raise_at = self.raise_at.max(now + self.parameters.timer);
            }
        }
    }

    /// Figure 7: fast recovery, additive increase, hyper increase; equations 3 and 4.
    fn raise(&mut self) {
        let (most, least) = (self.by_timer.max(self.by_bytes), self.by_timer.min(self.by_bytes));
        if least > self.parameters.fast_recovery {
            self.target += self.parameters.hyper * f64::from(least - self.parameters.fast_recovery);
        } else if most >= self.parameters.fast_recovery {
            self.target += self.parameters.additive;
        }
        self.target = self.target.min(self.parameters.line);
        self.current = f64::midpoint(self.target, self.current);
    }

    /// Bits per second.
    #[cfg(test)]
    fn rate(&self) -> f64 {
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(40);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn control(config: &DcqcnConfig) -> RateControl {
        RateControl::new(config.parameters(LINE))
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, not {b}");
    }

    #[test]
    fn a_cnp_cuts_the_rate_by_half_of_alpha() {
        let mut dcqcn = control(&DcqcnConfig::default());
        close(dcqcn.rate(), 40e9);
        // alpha = 1: by half. Then alpha = 255/256 + 1/256 = 1.
        dcqcn.on_cnp(at(10));
        close(dcqcn.rate(), 20e9);
        close(dcqcn.alpha, 1.0);
        dcqcn.on_cnp(at(60));
        close(dcqcn.rate(), 10e9);
        // Never below the least rate.
        (0..20).for_each(|n| dcqcn.on_cnp(at(110 + 50 * n)));
        close(dcqcn.rate(), 100e6);
    }

    #[test]
    fn alpha_falls_every_55_us_without_a_cnp() {
        let mut dcqcn = control(&DcqcnConfig::default());
        dcqcn.on_cnp(at(100));
        dcqcn.time_passes(at(100 + 54));
        close(dcqcn.alpha, 1.0);
        dcqcn.time_passes(at(100 + 165));
        close(dcqcn.alpha, (255.0_f64 / 256.0).powi(3));
        // The cut is by the estimate as it is, and then it moves towards 1.
        let (alpha, before) = (dcqcn.alpha, dcqcn.rate());
        dcqcn.on_cnp(at(270));
        close(dcqcn.rate(), before * (1.0 - alpha / 2.0));
        close(dcqcn.alpha, alpha * 255.0 / 256.0 + 1.0 / 256.0);
    }

    #[test]
    fn five_raises_halve_the_way_back_and_then_the_target_rises() {
        let mut dcqcn = control(&DcqcnConfig::default());
        dcqcn.on_cnp(at(0));
        dcqcn.on_cnp(at(50));
        // From 10 Gbps to 20: four raises in fast recovery (stages 1 to 4 are below F = 5).
        dcqcn.time_passes(at(50 + 4 * 55));
        close(dcqcn.target, 20e9);
        close(dcqcn.rate(), 20e9 - 10e9 / 16.0);
        // The fifth adds 40 Mbps to the target.
        dcqcn.time_passes(at(50 + 5 * 55));
        close(dcqcn.target, 20.04e9);
        close(dcqcn.rate(), f64::midpoint(20.04e9, 20e9 - 10e9 / 16.0));
    }

    #[test]
    fn hyper_increase_needs_both_the_timer_and_the_bytes() {
        let mut dcqcn = control(&DcqcnConfig { byte_counter: Some(Bytes(1000)), ..DcqcnConfig::default() });
        dcqcn.on_cnp(at(0));
        dcqcn.on_cnp(at(1));
        // Six raises by bytes: four in fast recovery, two additive.
        (0..6).for_each(|_| {
            dcqcn.on_sent(at(2), 1000);
        });
        close(dcqcn.target, 20.08e9);
        // Five by the timer: additive, since only one of the two is beyond F.
        dcqcn.time_passes(at(1 + 5 * 55));
        close(dcqcn.target, 20.28e9);
        // The sixth: both are beyond, by one.
        dcqcn.time_passes(at(1 + 6 * 55));
        close(dcqcn.target, 20.48e9);
        // Of 6 and 7 the lesser counts; of 7 and 7, twice 200 Mbps.
        dcqcn.on_sent(at(1 + 6 * 55), 1000);
        close(dcqcn.target, 20.68e9);
        dcqcn.time_passes(at(1 + 7 * 55));
        close(dcqcn.target, 21.08e9);
    }

    #[test]
    fn the_pace_follows_the_rate() {
        let mut dcqcn = control(&DcqcnConfig::default());
        assert_eq!(dcqcn.on_sent(at(0), 1000), Duration::from_ns(200));
        dcqcn.on_cnp(at(0));
        assert_eq!(dcqcn.on_sent(at(0), 1000), Duration::from_ns(400));
    }

    #[test]
    fn the_simulator_s_constants_follow_the_line() {
        let config = DcqcnConfig { constants: Constants::Hpcc, ..DcqcnConfig::default() };
        let mut dcqcn = control(&config);
        dcqcn.on_cnp(at(0));
        dcqcn.time_passes(at(300));
        // F = 1: the first raise is additive, but the target is the line's rate.
        close(dcqcn.rate(), 30e9);
        close(dcqcn.parameters.additive, 8e6);
        assert_eq!(config.cnp_interval(), Some(Duration::from_us(4)));
    }

    #[test]
    fn impossible_values_are_named() {
        let bad = |change: fn(&mut DcqcnConfig)| {
            let mut config = DcqcnConfig::default();
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.timer = Some(Duration::ZERO)), "timer");
        assert_eq!(bad(|c| c.cnp_interval = Some(Duration::from_secs(2))), "cnp_interval");
        assert_eq!(bad(|c| c.byte_counter = Some(Bytes(LARGEST_PACKET - 1))), "byte_counter");
        assert_eq!(bad(|c| (c.rules, c.byte_counter) = (Rules::Connectx, Some(Bytes(10_000_000)))), "byte_counter");
        assert_eq!(bad(|c| c.additive_increase = Some(Rate(0))), "additive_increase");
        assert_eq!(bad(|c| c.hyper_increase = Some(Rate(0))), "hyper_increase");
        assert_eq!(bad(|c| c.min_rate = Some(Rate(0))), "min_rate");
        assert_eq!(bad(|c| c.alpha_timer = Some(Duration::ZERO)), "alpha_timer");
        assert_eq!(bad(|c| c.fast_recovery = Some(0)), "fast_recovery");
    }
}
