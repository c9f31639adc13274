//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019): a sender's window, by what every switch on the way writes into
//! its packets ([telemetry](crate::telemetry)): what its link has sent, and what waits there.
//!
//! From two packets in a row a sender knows how full each link is: bytes in flight, those that it sends in a round trip and those that wait,
//! over its bandwidth-delay product (`MeasureInflight`). It goes by the fullest: above the target the window becomes what
//! reaches the target, below it grows by a little, some steps long, then in proportion, too (`ComputeWind`). Each acknowledgement changes the window, but from a
//! reference that changes once in a round trip, so that no queue is answered twice (`NewAck`).

use crate::config::ConfigError;
use crate::telemetry::{Hop, MAX_HOPS, Telemetry};
use crate::units::{Bytes, Duration, PS_PER_S, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where no fabric says it: the round trip of the fat tree of the authors' simulator, at 100 Gbps.
const BASE_RTT: Duration = Duration::from_us(13);

/// Parameters of HPCC; all others are those of `transport.roce`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HpccConfig {
    /// How full links shall be, eta: 0.5 to 1. Default 0.95 (the paper's).
    pub target: f64,
    /// Round trips below the target in which the window grows by `additive_increase` only, `maxStage`: at most 1000. Default 5 (the paper's; its authors' simulator has 0).
    pub max_stage: u32,
    /// What the window grows by, `W_AI`: above 0. Default: `(1 - target) / flows` of the first window, so that so many flows on a link still leave no queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Bytes>,
    /// Flows on a link for which `additive_increase` is made: 1 to 1000000. Default 100, which gives the 80 B of the paper's fabric at 100 Gbps.
    pub flows: u32,
    /// Round trip without queues, T: 100 ns to 1 s. The first window is what the host's link sends in it. Default: that of the fabric's longest
    /// path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Duration>,
    /// Bytes of telemetry in every packet and acknowledgement, beside `transport.roce.header`: at most 1000 B. Default 42 B: room for five switches
    /// (its authors' simulator).
    pub telemetry: Bytes,
}

impl Default for HpccConfig {
    fn default() -> Self {
        let telemetry = Bytes(8 * MAX_HOPS as u64 + 2);
        Self { target: 0.95, max_stage: 5, additive_increase: None, flows: 100, base_rtt: None, telemetry }
    }
}

impl HpccConfig {
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
        let is_time = |time: Duration| (Duration::from_ns(100)..=Duration::from_secs(1)).contains(&time);
        check((0.5..=1.0).contains(&self.target), "target", format!("{} is not from 0.5 to 1", self.target))?;
        check(self.max_stage <= 1000, "max_stage", format!("{} is more than 1000", self.max_stage))?;
        check(self.additive_increase != Some(Bytes(0)), "additive_increase", "must be above 0".into())?;
        check((1..=1_000_000).contains(&self.flows), "flows", format!("{} is not from 1 to 1000000", self.flows))?;
        let rtt = self.base_rtt.unwrap_or(BASE_RTT);
        check(is_time(rtt), "base_rtt", format!("{rtt} is not from 100ns to 1s"))?;
        check(self.telemetry.0 <= 1000, "telemetry", format!("{} is more than 1000B", self.telemetry))?;
        // Without an increase nothing would grow again.
        let grows = self.target < 1.0 || self.additive_increase.is_some();
        check(grows, "target", "1 leaves no increase: give additive_increase".into())
    }
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// All packets before this one have arrived.
    pub(super) expected: u64,
    /// The packet that the sender will send next.
    pub(super) next: u64,
    /// What switches wrote into the packet that is acknowledged.
    pub(super) telemetry: Telemetry,
}

/// The window of a connection, and its pace: a window in each round trip.
#[derive(Clone, Debug)]
pub(super) struct WindowControl {
    /// Seconds.
    base_rtt: f64,
    target: f64,
    max_stage: u32,
    /// Bytes.
    increase: f64,
    first: f64,
    window: f64,
    /// What the window is computed from, and in how many round trips in a row it only grew.
    reference: f64,
    stage: u32,
    /// How full the fullest link is: bytes in flight over the bandwidth-delay product.
    inflight: f64,
    /// The reference changes when a packet beyond this one is acknowledged. `None`: nothing has been heard.
    update_beyond: Option<u64>,
    /// What the last acknowledgement told, and when.
    last: Telemetry,
    answered: Time,
    /// When the last packet left, and its bytes.
    sent: (Time, u64),
}

impl WindowControl {
    /// Begins with what a link of this rate sends in a round trip.
    pub(super) fn new(config: &HpccConfig, line: Rate) -> Self {
        let base_rtt = config.base_rtt.unwrap_or(BASE_RTT).as_secs_f64();
        let first = line.bps() as f64 * base_rtt / 8.0;
        let share = first * (1.0 - config.target) / f64::from(config.flows);
        Self {
            base_rtt,
            target: config.target,
            max_stage: config.max_stage,
            increase: config.additive_increase.map_or(share, |bytes| bytes.0 as f64),
            first,
            window: first,
            reference: first,
            stage: 0,
            inflight: 1.0,
            update_beyond: None,
            last: Telemetry::EMPTY,
            answered: Time::ZERO,
            sent: (Time::ZERO, 0),
        }
    }

    /// Bytes that may be on their way.
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, now: Time, size: u64) {
        self.sent = (now, size);
    }

    /// When the next packet may leave, at the pace of now.
    pub(super) fn next_at(&self) -> Time {
        let (at, size) = self.sent;
        at + Duration((size as f64 * self.base_rtt / self.window * PS_PER_S as f64).round() as u64)
    }

    /// An acknowledgement has come (`NewAck`). The first one tells how things are, and not how they change; so does one from
    /// another path.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let last = std::mem::replace(&mut self.last, feedback.telemetry);
        let elapsed = now.since(std::mem::replace(&mut self.answered, now));
        let Some(beyond) = self.update_beyond.filter(|_| last.has_same_path(&self.last)) else {
            self.update_beyond = Some(feedback.next);
            return;
        };
        if !self.measure_inflight(&last, elapsed) {
            return;
        }
        let updates = feedback.expected > beyond;
        self.compute_window(updates);
        if updates {
            self.update_beyond = Some(feedback.next.max(beyond));
        }
    }

    /// How full the fullest link is, smoothed over a round trip. False if there is no link whose state has changed.
    fn measure_inflight(&mut self, last: &Telemetry, elapsed: Duration) -> bool {
        let (Some(hops), Some(before)) = (self.last.hops(), last.hops()) else { return false };
        let states = hops.zip(before).filter_map(|(hop, before)| self.state_of(hop, before, elapsed));
        let Some((fullness, time)) = states.reduce(|fullest, state| if state.0 > fullest.0 { state } else { fullest })
        else {
            return false;
        };
        let weight = (time / self.base_rtt).min(1.0);
        self.inflight = (1.0 - weight) * self.inflight + weight * fullness;
        true
    }

    /// Bytes in flight over the bandwidth-delay product of a link, and in how many seconds that was measured.
    fn state_of(&self, hop: Hop, before: Hop, elapsed: Duration) -> Option<(f64, f64)> {
        let ((sent, time), rate) = (hop.since(&before, elapsed), hop.rate.rate());
        if time == Duration::ZERO || rate.bps() == 0 {
            return None;
        }
        let (line, time) = (rate.bps() as f64 / 8.0, time.as_secs_f64());
        let queue = hop.queue.min(before.queue).0 as f64 / (line * self.base_rtt);
        Some((queue + sent.0 as f64 / time / line, time))
    }

    fn compute_window(&mut self, updates: bool) {
        let (window, stage) = if self.inflight >= self.target || self.stage >= self.max_stage {
            (self.reference * self.target / self.inflight.max(f64::MIN_POSITIVE) + self.increase, 0)
        } else {
            (self.reference + self.increase, self.stage + 1)
        };
        self.window = window.min(self.first);
        if updates {
            (self.reference, self.stage) = (self.window, stage);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::RateCode;

    const LINE: Rate = Rate::from_gbps(8);
    /// A byte in a nanosecond: 10 kB in a round trip of 10 us.
    fn config() -> HpccConfig {
        HpccConfig { base_rtt: Some(Duration::from_us(10)), flows: 5, ..HpccConfig::default() }
    }

    /// A packet that a link sent at `ns`, after `sent` bytes and before `queue` others.
    fn through(hops: &[(u64, u64, u64)]) -> Telemetry {
        let mut telemetry = Telemetry::EMPTY;
        for (port, &(ns, sent, queue)) in hops.iter().enumerate() {
            telemetry.push(port as u32, Hop::new(RateCode::of(LINE), ns * 1000, sent, queue));
        }
        telemetry
    }

    struct Sender {
        control: WindowControl,
        now: Time,
    }

    impl Sender {
        fn new(config: &HpccConfig) -> Self {
            Self { control: WindowControl::new(config, LINE), now: Time::ZERO }
        }

        /// The acknowledgement of packet `expected - 1` is there 1 us later, when `next` is to be sent: the window.
        fn gets(&mut self, expected: u64, next: u64, telemetry: Telemetry) -> f64 {
            self.now += Duration::from_us(1);
            self.control.on_feedback(self.now, &Feedback { expected, next, telemetry });
            self.control.window()
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, not {b}");
    }

    #[test]
    fn the_first_window_fills_the_link_and_sets_the_pace() {
        let mut control = WindowControl::new(&config(), LINE);
        close(control.window(), 10_000.0);
        control.on_sent(Time::ZERO + Duration::from_us(7), 1000);
        assert_eq!(control.next_at(), Time::ZERO + Duration::from_us(8));
        // Half of the window: half of the pace, from now on.
        control.window = 5000.0;
        assert_eq!(control.next_at(), Time::ZERO + Duration::from_us(9));
        // 5 % of it for five flows.
        close(control.increase, 100.0);
        // The paper's fabric: 100 Gbps and 13 us, 80 B.
        let paper = WindowControl::new(&HpccConfig::default(), Rate::from_gbps(100));
        close(paper.increase, 81.25);
    }

    #[test]
    fn a_full_link_takes_the_window_to_the_target() {
        let mut sender = Sender::new(&config());
        close(sender.gets(1, 10, through(&[(0, 0, 0)])), 10_000.0);
        // 10,240 B in 10.24 us, the link's rate, and 2 kB behind both packets (2400 behind one): 1.2, with all of the weight.
        close(sender.gets(2, 11, through(&[(10_240, 10_240, 2400)])), 10_000.0 * 0.95 / 1.0 + 100.0);
        close(sender.gets(3, 12, through(&[(20_480, 20_480, 2000)])), 10_000.0 * 0.95 / 1.2 + 100.0);
        // Packet 10 is the first one that was sent by the new window: the reference changes.
        close(sender.gets(11, 20, through(&[(30_720, 30_720, 2000)])), 10_000.0 * 0.95 / 1.2 + 100.0);
        let reference = sender.control.window();
        close(sender.gets(12, 21, through(&[(40_960, 40_960, 2000)])), reference * 0.95 / 1.2 + 100.0);
    }

    #[test]
    fn what_is_measured_in_less_than_a_round_trip_weighs_less() {
        let mut sender = Sender::new(&config());
        sender.gets(1, 10, through(&[(0, 0, 0)]));
        // Half of the rate, in 2.56 of 10 us: 1 before.
        sender.gets(2, 11, through(&[(2560, 1280, 0)]));
        close(sender.control.inflight, 0.744 + 0.256 * 0.5);
    }

    #[test]
    fn the_fullest_link_counts() {
        let mut sender = Sender::new(&config());
        sender.gets(1, 10, through(&[(0, 0, 0), (50, 0, 800), (90, 0, 0)]));
        sender.gets(2, 11, through(&[(10_240, 1280, 0), (10_290, 5120, 800), (10_330, 5120, 0)]));
        close(sender.control.inflight, 0.5 + 0.08);
    }

    #[test]
    fn below_the_target_it_grows_by_a_little_and_then_to_the_target() {
        let mut sender = Sender::new(&HpccConfig { max_stage: 3, ..config() });
        sender.control.window = 1000.0;
        sender.control.reference = 1000.0;
        sender.gets(1, 1, through(&[(0, 0, 0)]));
        let windows = [1, 2, 3, 4, 5].map(|n| sender.gets(n + 1, n + 1, through(&[(10_240 * n, 5120 * n, 0)])));
        for (window, expected) in windows.into_iter().zip([1100.0, 1200.0, 1300.0, 1300.0 * 0.95 / 0.5 + 100.0, 2670.0])
        {
            close(window, expected);
        }
        // Never beyond the first.
        for n in 6..100 {
            assert!(sender.gets(n + 1, n + 1, through(&[(10_240 * n, 5120 * n, 0)])) <= 10_000.0);
        }
        close(sender.control.window(), 10_000.0);
    }

    #[test]
    fn another_path_begins_anew() {
        let mut sender = Sender::new(&config());
        sender.gets(1, 10, through(&[(0, 0, 0)]));
        let mut elsewhere = Telemetry::EMPTY;
        elsewhere.push(77, Hop::new(RateCode::of(LINE), 0, 1_000_000, 9600));
        close(sender.gets(2, 11, elsewhere), 10_000.0);
        close(sender.gets(3, 12, through(&[(10_240, 10_240, 9600)])), 10_000.0);
        assert!(sender.gets(4, 13, through(&[(20_480, 20_480, 9600)])) < 5000.0);
        // More switches than a packet has room for: nothing is known.
        let before = sender.control.window();
        let long = through(&[(0, 0, 0); 6]);
        close(sender.gets(5, 14, long), before);
        close(sender.gets(6, 15, long), before);
        // And none at all.
        close(sender.gets(7, 16, Telemetry::EMPTY), before);
        close(sender.gets(8, 17, Telemetry::EMPTY), before);
    }

    /// A small window sends so rarely that times come round between two packets. It grows again all the same.
    #[test]
    fn a_crawling_sender_recovers() {
        let mut sender = Sender::new(&HpccConfig { max_stage: 0, ..config() });
        (sender.control.window, sender.control.reference, sender.control.inflight) = (100.0, 100.0, 5.0);
        sender.gets(1, 2, through(&[(0, 0, 0)]));
        sender.now += Duration::from_ms(50);
        // A packet in 50 ms: the link is idle.
        assert!(sender.gets(3, 3, through(&[(50_001_000, 1280, 0)])) > 9000.0);
    }

    #[test]
    fn impossible_values_are_named() {
        let bad = |change: fn(&mut HpccConfig)| {
            let mut config = HpccConfig::default();
            change(&mut config);
            config.validate().unwrap_err().field
        };
        assert_eq!(HpccConfig::default().validate(), Ok(()));
        assert_eq!(
            HpccConfig { target: 1.0, additive_increase: Some(Bytes(80)), ..HpccConfig::default() }.validate(),
            Ok(())
        );
        assert_eq!(bad(|c| c.target = 0.4), "target");
        assert_eq!(bad(|c| c.target = f64::NAN), "target");
        assert_eq!(bad(|c| c.target = 1.0), "target");
        assert_eq!(bad(|c| c.max_stage = 1001), "max_stage");
        assert_eq!(bad(|c| c.additive_increase = Some(Bytes(0))), "additive_increase");
        assert_eq!(bad(|c| c.flows = 0), "flows");
        assert_eq!(bad(|c| c.base_rtt = Some(Duration::ZERO)), "base_rtt");
        assert_eq!(bad(|c| c.telemetry = Bytes(1001)), "telemetry");
    }
}
