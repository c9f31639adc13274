//! Network-signal-based congestion control (Ultra Ethernet 1.0, NSCC): a window by marks and round trips.
//!
//! After uet-htsim's `uec.cpp` (commit 40ccb05), function by function. An acknowledgement says whether its packet was marked, and by its
//! round trip how long it waited: neither grows the window in proportion to what is missing to the target, marks with a long wait
//! shrink it, a long wait alone grows it slowly, and a mark alone is of its path only. *Quick adapt* sets the window to what has arrived in
//! a round trip when that is far less. Where uet-htsim counts whole bytes, fractions are kept here.

use super::config::{REFERENCE_RATE, REFERENCE_ROUND_TRIP, UecConfig};
use crate::units::{Duration, Rate, Time};

/// Weight of a round trip in the average (`_delay_alpha`).
const AVERAGE_GAIN: f64 = 0.0125;
/// How strongly the window shrinks (`_gamma`), and by how much at most.
const DECREASE: f64 = 0.8;
const MOST_DECREASE: f64 = 0.5;
/// A wait up to which the path is taken for idle (`fast_increase`).
const IDLE_WAIT: Duration = Duration::from_us(1);
/// Quick adapt: when less than the largest window divided by this has arrived (`_qa_gate` = 2^3), or the wait is so many targets.
const QUICK_SHARE: f64 = 8.0;
const QUICK_TARGETS: u64 = 4;
/// Packets after whose arrival increases are applied (`_adjust_bytes_threshold`).
const ADJUST_PACKETS: f64 = 8.0;

/// Constants, scaled to the network (`initNsccParams`).
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Least window, and what increases are counted in: a full packet.
    packet: f64,
    rate: Rate,
    round_trip: Duration,
    target: Duration,
    /// Bytes x bytes for each picosecond that is missing to the target.
    proportional: f64,
    /// Bytes x bytes, where packets wait and are not marked.
    fair: f64,
    /// Bytes for each acknowledged byte, where nothing waits.
    fast: f64,
    /// Bytes for each round trip.
    always: f64,
}

impl Scale {
    fn new(config: &UecConfig) -> Self {
        let (rate, round_trip) = config.network();
        let target = config.target_delay.unwrap_or(Duration(round_trip.ps() / 4 * 3));
        let size = carried(rate, round_trip) / carried(REFERENCE_RATE, REFERENCE_ROUND_TRIP);
        let delay = target.ps() as f64 / REFERENCE_ROUND_TRIP.ps() as f64;
        let payload = config.payload() as f64;
        Self {
            packet: config.packet.0 as f64,
            rate,
            round_trip,
            target,
            proportional: 4.0 * payload * size * delay / target.ps() as f64,
            fair: 5.0 * payload * size,
            fast: 0.25 * size,
            always: 0.15 * payload * size,
        }
    }
}

/// Bytes that a link carries in a time.
fn carried(rate: Rate, time: Duration) -> f64 {
    rate.bps() as f64 / 8e12 * time.ps() as f64
}

/// The largest window: one and a half times what the path carries (`initNscc`).
fn most(rate: Rate, round_trip: Duration) -> f64 {
    1.5 * carried(rate, round_trip)
}

/// Quick adapt: what has arrived since when, and what is not listened to after it.
#[derive(Clone, Copy, Debug, Default)]
struct Quick {
    /// When the present period ends; none before the first answer.
    until: Option<Time>,
    arrived: f64,
    /// A packet was trimmed since it last acted.
    trimmed: bool,
    /// Bytes whose marks are of before it acted, and how many of these have been answered.
    stale: f64,
    answered: f64,
}

/// The window of a sender, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Nscc {
    scale: Scale,
    window: f64,
    most: f64,
    /// The shortest round trip.
    base: Duration,
    /// Average wait, in picoseconds.
    wait: f64,
    /// Increases that are not applied, in bytes x bytes, and bytes that have arrived meanwhile.
    increase: f64,
    arrived: f64,
    /// Bytes answered in a row by which the path is idle, and whether that made the window grow fast.
    idle: f64,
    fast: bool,
    decreased_at: Time,
    adjusted_at: Time,
    quick: Quick,
}

/// What an answer says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The packet's round trip, if that of a full packet.
    pub(super) round_trip: Option<Duration>,
    pub(super) marked: bool,
    /// Bytes that have arrived since the last answer.
    pub(super) arrived: f64,
    /// Bytes on their way.
    pub(super) in_flight: f64,
}

impl Nscc {
    pub(super) fn new(config: &UecConfig) -> Self {
        let scale = Scale::new(config);
        let most = most(scale.rate, scale.round_trip).max(scale.packet);
        Self {
            scale,
            window: (f64::from(config.first_window()) * scale.packet).min(most),
            most,
            base: scale.round_trip,
            wait: 0.0,
            increase: 0.0,
            arrived: 0.0,
            idle: 0.0,
            fast: false,
            decreased_at: Time::ZERO,
            adjusted_at: Time::ZERO,
            quick: Quick::default(),
        }
    }

    /// Bytes that may be on their way.
    #[inline]
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Packets have been acknowledged (`processAck`, `updateCwndOnAck_NSCC`).
    pub(super) fn on_ack(&mut self, now: Time, answer: &Answer) {
        self.quick.arrived += answer.arrived;
        self.quick.answered += answer.arrived;
        self.arrived += answer.arrived;
        let wait = answer.round_trip.map_or(Duration(self.wait as u64), |round_trip| {
            self.learn_base(round_trip);
            let wait = Duration(round_trip.ps() - self.base.ps());
            self.average(wait, answer.marked);
            wait
        });
        if self.adapt_quickly(now, answer.marked, wait, false, answer.in_flight) {
            return;
        }
        match (answer.marked, wait >= self.scale.target) {
            (false, true) => self.increase += self.scale.fair * answer.arrived,
            (false, false) => self.grow(answer.arrived, wait),
            (true, true) => self.shrink(now),
            (true, false) => {}
        }
        self.bound();
        let due = now.since(self.adjusted_at) > self.scale.round_trip;
        if due || self.arrived > ADJUST_PACKETS * self.scale.packet {
            self.adjust(now);
        }
        self.bound();
    }

    /// A packet of `size` bytes was trimmed (`updateCwndOnNack_NSCC`). `ours`: the receiver's credit does not see to it.
    pub(super) fn on_trimmed(&mut self, now: Time, size: f64, ours: bool, in_flight: f64) {
        self.quick.answered += size;
        // A queue was full: as long a wait as a round trip.
        self.average(self.scale.round_trip, true);
        self.quick.trimmed = true;
        if !self.adapt_quickly(now, true, Duration::ZERO, true, in_flight) && ours {
            self.window -= size;
            self.bound();
        }
    }

    /// A packet of `size` bytes is taken for lost (`mark_packet_for_retransmission`).
    pub(super) fn on_timeout(&mut self, size: f64) {
        self.window = (self.window - size).max(self.scale.packet);
    }

    /// `update_base_rtt`: also the largest window follows the shortest round trip.
    fn learn_base(&mut self, round_trip: Duration) {
        if round_trip < self.base {
            self.base = round_trip;
            self.most = most(self.scale.rate, round_trip).max(self.scale.packet);
        }
    }

    /// `update_delay`: long waits without a mark count as a quarter of a round trip.
    fn average(&mut self, wait: Duration, marked: bool) {
        let counted = if !marked && wait > self.scale.target { self.base.ps() as f64 / 4.0 } else { wait.ps() as f64 };
        self.wait += AVERAGE_GAIN * (counted - self.wait);
    }

    /// `quick_adapt`: once in each round trip. Whether it acted, or the answer is of before it did.
    fn adapt_quickly(&mut self, now: Time, marked: bool, wait: Duration, trimmed: bool, in_flight: f64) -> bool {
        let mut acts = false;
        if self.quick.answered < self.quick.stale && marked {
            acts = true;
        } else if self.quick.until.is_none_or(|until| now > until) {
            let bad = self.quick.trimmed || trimmed || wait > self.scale.target * QUICK_TARGETS;
            if self.quick.until.is_some() && bad && self.quick.arrived < self.most / QUICK_SHARE {
                self.window = self.quick.arrived.max(self.scale.packet);
                self.quick = Quick { stale: in_flight, ..Quick::default() };
                acts = true;
            }
            self.quick.arrived = 0.0;
            self.quick.until = Some(now + self.base + self.scale.target);
        }
        if acts {
            (self.increase, self.arrived) = (0.0, 0.0);
        }
        acts
    }

    /// `proportional_increase`, and `fast_increase` where nothing has waited for a whole window.
    fn grow(&mut self, arrived: f64, wait: Duration) {
        if wait < IDLE_WAIT {
            self.idle += arrived;
            if self.idle > self.window || self.fast {
                self.window += arrived * self.scale.fast;
                self.fast = true;
                return;
            }
        } else {
            self.idle = 0.0;
        }
        self.fast = false;
        self.increase += self.scale.proportional * arrived * (self.scale.target.ps() - wait.ps()) as f64;
    }

    /// `multiplicative_decrease`: by the average wait, once in each round trip.
    fn shrink(&mut self, now: Time) {
        (self.fast, self.idle) = (false, 0.0);
        let target = self.scale.target.ps() as f64;
        if self.wait > target && now.since(self.decreased_at) > self.base {
            let factor = 1.0 - DECREASE * (self.wait - target) / self.wait;
            self.window *= factor.max(MOST_DECREASE);
            self.decreased_at = now;
        }
    }

    /// `fulfill_adjustment`.
    fn adjust(&mut self, now: Time) {
        self.window += self.increase / self.window;
        if now.since(self.adjusted_at) >= self.scale.round_trip {
            self.window += self.scale.always;
            self.adjusted_at = now;
        }
        (self.increase, self.arrived) = (0.0, 0.0);
    }

    fn bound(&mut self) {
        self.window = self.window.min(self.most).max(self.scale.packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// On the reference network with payloads of 4000 B: scales are 1 and 0.75.
    fn nscc() -> Nscc {
        Nscc::new(&UecConfig { packet: Bytes(4064), ..UecConfig::default() })
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn answer(round_trip_us: u64, marked: bool, arrived: f64) -> Answer {
        Answer { round_trip: Some(Duration::from_us(round_trip_us)), marked, arrived, in_flight: 50_000.0 }
    }

    #[test]
    fn constants_are_those_of_the_reference_network() {
        let Nscc { scale, most, window, .. } = nscc();
        assert_eq!(scale.target, Duration::from_us(9));
        assert_eq!((scale.fair, scale.always, scale.fast), (20_000.0, 600.0, 0.25));
        // 4 x 4000 B x 0.75 in 9 us.
        assert!((scale.proportional * 9e6 - 12_000.0).abs() < 1e-6);
        assert_eq!((most, window), (225_000.0, 225_000.0), "1.5 x 150 000 B");
        let small = Nscc::new(&UecConfig { initial_window: Some(10), ..UecConfig::default() });
        assert_eq!((small.most, small.window), (225_000.0, 15_000.0), "it may grow");
    }

    #[test]
    fn each_signal_does_what_it_should() {
        let after = |answers: &[Answer]| {
            let mut nscc = nscc();
            nscc.window = 100_000.0;
            nscc.on_ack(at(1), &answer(12, false, 0.0));
            (nscc.adjusted_at, nscc.window, nscc.increase) = (at(100), 100_000.0, 0.0);
            for answer in answers {
                nscc.on_ack(at(101), answer);
            }
            nscc
        };
        // 4 us of wait, 5 to the target: 12 000 x 5 / 9 for each byte.
        let close = |nscc: Nscc, expected: f64| assert!((nscc.increase - expected).abs() < 1.0, "{}", nscc.increase);
        close(after(&[answer(16, false, 3000.0)]), 12_000.0 * 5.0 / 9.0 * 3000.0);
        close(after(&[answer(22, false, 3000.0)]), 20_000.0 * 3000.0);
        close(after(&[answer(16, true, 3000.0)]), 0.0);
        // Applied after more than eight packets: 40 000 x 20 000 / 100 000 B; and the round trip's 600 B not yet.
        assert!((after(&[answer(22, false, 40_000.0)]).window - 108_000.0).abs() < 1e-6);
    }

    #[test]
    fn an_idle_path_lets_the_window_grow_by_a_quarter_of_what_arrives_after_a_whole_window() {
        let mut nscc = nscc();
        nscc.window = 10_000.0;
        nscc.on_ack(at(1), &answer(12, false, 9_000.0));
        (nscc.window, nscc.increase, nscc.arrived) = (10_000.0, 0.0, 0.0);
        nscc.adjusted_at = at(1);
        nscc.on_ack(at(2), &answer(12, false, 2_000.0));
        assert!((nscc.window - 10_500.0).abs() < 1e-6, "{}", nscc.window);
    }

    #[test]
    fn marks_with_a_long_wait_shrink_by_the_excess_of_the_average_once_in_a_round_trip() {
        let mut nscc = nscc();
        nscc.on_ack(at(1), &answer(12, false, 0.0));
        (nscc.window, nscc.wait, nscc.adjusted_at) = (100_000.0, 18e6, at(100));
        for _ in 0..3 {
            nscc.on_ack(at(100), &answer(30, true, 1000.0));
        }
        // Waits of 18 us against a target of 9: 1 - 0.8 x 1/2.
        assert!((nscc.window - 60_000.0).abs() < 1e-6, "{}", nscc.window);
        (nscc.wait, nscc.adjusted_at) = (900e6, at(113));
        nscc.on_ack(at(113), &answer(30, true, 1000.0));
        assert!((nscc.window - 30_000.0).abs() < 1e-6, "half at most");
    }

    #[test]
    fn trimmed_packets_take_their_bytes_and_a_starved_sender_adapts_to_what_arrives() {
        let mut nscc = nscc();
        nscc.on_ack(at(1), &answer(12, false, 4000.0));
        let before = nscc.window;
        nscc.on_trimmed(at(2), 4064.0, true, 200_000.0);
        nscc.on_trimmed(at(3), 4064.0, false, 200_000.0);
        assert!((before - nscc.window - 4064.0).abs() < 1e-6, "the receiver's credit sees to the second");
        nscc.on_ack(at(4), &answer(12, false, 9000.0));
        // Its period of 12 + 9 us ends; 9000 B have arrived, less than an eighth of the largest window.
        nscc.on_trimmed(at(30), 4064.0, true, 100_000.0);
        assert!((nscc.window - 9000.0).abs() < 1e-6, "{}", nscc.window);
        // What was on its way then is of the past.
        let kept = nscc.window;
        nscc.on_ack(at(31), &answer(60, true, 50_000.0));
        assert!((nscc.window - kept).abs() < 1e-6);
    }

    #[test]
    fn a_shorter_round_trip_bounds_the_window() {
        let mut nscc = nscc();
        nscc.on_ack(at(1), &answer(4, false, 0.0));
        // 100 Gbps in 4 us: 50 000 B.
        assert!((nscc.window - 75_000.0).abs() < 1e-6);
        nscc.on_timeout(1e9);
        assert!((nscc.window - 4064.0).abs() < 1e-6);
    }
}
