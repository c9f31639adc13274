//! DCQCN as the simulator of HPCC's authors has it, "Mellanox's version" (`rdma-hw.cc`, alibaba-edu/High-Precision-Congestion-Control): a
//! sender's rate.
//!
//! It differs from [the paper's](super::dcqcn) in four rules. Every marked packet is notified, and the sender looks at fixed intervals whether
//! any was: then alpha rises, else it falls; then the rate is cut, at most once in an interval. A cut that follows a cut keeps the target
//! rate, so that the first raises after a burst of cuts go halfway back to where the rate was before all of them. Bytes raise nothing.
//! Hyper increase goes by the timer alone.

use super::dcqcn::{Parameters, pace};
use crate::units::{Duration, Time};

/// The first cut is this much later than an interval after the first notification, so that alpha is updated before it.
const AFTER_ALPHA: Duration = Duration::from_ns(1);
/// Alpha is as good as 0.
const NO_CONGESTION: f64 = 1e-9;

/// The rate of a connection.
#[derive(Clone, Debug)]
pub(super) struct RateControl {
    parameters: Parameters,
    /// Bits per second: current and target.
    current: f64,
    target: f64,
    /// The estimate of congestion, 0 to 1.
    alpha: f64,
    /// Whether a notification has come since alpha was updated, and since the rate was looked at.
    alpha_notified: bool,
    rate_notified: bool,
    /// When alpha is updated next, the rate is looked at, and the timer raises it.
    alpha_at: Time,
    look_at: Time,
    raise_at: Time,
    /// Raises since the last cut.
    raises: u32,
}

impl RateControl {
    /// Begins at the rate of the line.
    pub(super) fn new(parameters: Parameters) -> Self {
        Self {
            current: parameters.line,
            target: parameters.line,
            alpha: 1.0,
            alpha_notified: false,
            rate_notified: false,
            // Nothing happens before the first notification.
            alpha_at: Time::MAX,
            look_at: Time::MAX,
            raise_at: Time::MAX,
            raises: 0,
            parameters,
        }
    }

    /// A marked packet has arrived.
    pub(super) fn on_cnp(&mut self, now: Time) {
        self.time_passes(now);
        let first = self.look_at == Time::MAX;
        if first {
            self.alpha_at = now + self.parameters.alpha_timer;
            self.look_at = now + self.parameters.cnp_interval + AFTER_ALPHA;
        }
        // Alpha begins at 1, and the first notification is no reason to raise it.
        self.alpha_notified = !first;
        self.rate_notified = true;
    }

    /// A packet is sent: how long until the next one may be.
    pub(super) fn on_sent(&mut self, now: Time, size: u64) -> Duration {
        self.time_passes(now);
        pace(size, self.current)
    }

    /// All that has happened by now, in the order of time.
    fn time_passes(&mut self, now: Time) {
        loop {
            self.pass_over(now);
            let next = self.alpha_at.min(self.look_at).min(self.raise_at);
            if next > now {
                return;
            }
            if next == self.alpha_at {
                self.update_alpha();
            } else if next == self.look_at {
                self.look();
            } else {
                self.raise();
            }
        }
    }

    /// Goes over times at which nothing would change.
    fn pass_over(&mut self, now: Time) {
        let Parameters { cnp_interval, alpha_timer, timer, line, .. } = self.parameters;
        let over = |at: &mut Time, interval: Duration| {
            if *at <= now {
                *at += interval * (now.since(*at).0 / interval.0 + 1);
            }
        };
        if !self.rate_notified {
            over(&mut self.look_at, cnp_interval);
        }
        if self.alpha < NO_CONGESTION && !self.alpha_notified {
            over(&mut self.alpha_at, alpha_timer);
        }
        // Raises are counted up to where hyper increase begins.
        if self.target >= line && line - self.current < 1.0 && self.raises > self.parameters.fast_recovery {
            over(&mut self.raise_at, timer);
        }
    }

    fn update_alpha(&mut self) {
        let gain = self.parameters.gain;
        self.alpha = (1.0 - gain) * self.alpha + if self.alpha_notified { gain } else { 0.0 };
        self.alpha_notified = false;
        self.alpha_at += self.parameters.alpha_timer;
    }

    /// The rate is cut if a notification has come.
    fn look(&mut self) {
        let now = self.look_at;
        self.look_at = now + self.parameters.cnp_interval;
        if !std::mem::take(&mut self.rate_notified) {
            return;
        }
        if self.raises > 0 {
            self.target = self.current;
        }
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(self.parameters.least);
        self.raises = 0;
        self.raise_at = now + self.parameters.timer;
    }

    /// Fast recovery, one additive increase, hyper increase from then on.
    fn raise(&mut self) {
        let Parameters { fast_recovery, additive, hyper, line, timer, .. } = self.parameters;
        let step = match self.raises.cmp(&fast_recovery) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => additive,
            std::cmp::Ordering::Greater => hyper,
        };
        self.target = (self.target + step).min(line);
        self.current = f64::midpoint(self.current, self.target);
        self.raises += 1;
        self.raise_at += timer;
    }
}

#[cfg(test)]
mod tests {
    use super::super::dcqcn::{DcqcnConfig, Rules};
    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A nanosecond after that.
    fn after(us: u64) -> Time {
        at(us) + AFTER_ALPHA
    }

    /// As `run.py --cc dcqcn_paper --bw 100`.
    fn config() -> DcqcnConfig {
        DcqcnConfig {
            rules: Rules::Connectx,
            alpha_timer: Some(Duration::from_us(50)),
            fast_recovery: Some(1),
            additive_increase: Some(Rate::from_mbps(20)),
            min_rate: Some(Rate::from_gbps(1)),
            ..DcqcnConfig::default()
        }
    }

    fn control() -> RateControl {
        RateControl::new(config().parameters(Rate::from_gbps(100)))
    }

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, not {b}");
    }

    #[test]
    fn the_first_cut_comes_an_interval_after_the_first_mark_and_its_alpha_has_fallen_once() {
        let mut c = control();
        c.on_cnp(at(10));
        c.time_passes(at(60));
        close(c.current, 100e9);
        close(c.alpha, 255.0 / 256.0);
        c.time_passes(after(60));
        close(c.current, 100e9 * (1.0 - 255.0 / 512.0));
        close(c.target, 100e9);
    }

    #[test]
    fn a_second_mark_before_alpha_is_updated_keeps_it_at_1() {
        let mut c = control();
        c.on_cnp(at(10));
        c.on_cnp(at(11));
        c.time_passes(after(60));
        close(c.alpha, 1.0);
        close(c.current, 50e9);
    }

    #[test]
    fn cuts_in_a_row_keep_the_target_and_a_raise_between_them_moves_it() {
        let mut c = control();
        (10..200).for_each(|us| c.on_cnp(at(us)));
        // Looked at 60, 110 and 160 us, and marked before each.
        close(c.current, 12.5e9);
        close(c.target, 100e9);
        // Marked after 160, so that it is cut at 210, too; then nothing more. The timer: 265, fast recovery to halfway.
        c.time_passes(at(266));
        close(c.current, f64::midpoint(6.25e9, 100e9));
        // A cut now begins at that.
        let before = c.current;
        c.on_cnp(at(267));
        c.time_passes(after(310));
        close(c.target, before);
        close(c.current, before * (1.0 - c.alpha / 2.0));
        // It was 1 up to 210 us, fell at 260, and rose at 310.
        close(c.alpha, (255.0_f64 / 256.0).powi(2) + 1.0 / 256.0);
    }

    #[test]
    fn raises_go_halfway_then_by_the_step_then_by_the_larger_one() {
        let mut c = control();
        c.on_cnp(at(10));
        c.on_cnp(at(11));
        c.time_passes(after(60));
        c.on_cnp(at(120));
        // 115 us raised it, so that the target is the rate: 75 Gbps.
        c.time_passes(after(160));
        close(c.target, 75e9);
        let (mut rate, mut target) = (c.current, c.target);
        for (n, step) in [0.0, 20e6, 200e6, 200e6].into_iter().enumerate() {
            c.time_passes(after(160 + 55 * (n as u64 + 1)));
            (target, rate) = (target + step, f64::midpoint(rate, target + step));
            close(c.target, target);
            close(c.current, rate);
        }
    }

    #[test]
    fn it_is_never_below_the_least_rate_nor_above_the_line_s() {
        let mut c = control();
        (0..2000).for_each(|us| c.on_cnp(at(us)));
        close(c.current, 1e9);
        c.time_passes(at(2_000_000));
        close(c.current, 100e9);
    }

    proptest! {
        /// What is passed over changes nothing: the same as with every microsecond looked at.
        #[test]
        fn it_does_not_matter_how_often_it_is_asked(
            marks in prop::collection::vec(0_u64..3_000, 1..60), idle in 1_u64..100_000,
        ) {
            let mut marks = marks;
            marks.sort_unstable();
            let (mut often, mut seldom) = (control(), control());
            let end = marks[marks.len() - 1] + idle;
            for us in 0..end {
                often.time_passes(at(us));
                for _ in marks.iter().filter(|&&mark| mark == us) {
                    often.on_cnp(at(us));
                    seldom.on_cnp(at(us));
                }
            }
            let found = [&mut often, &mut seldom].map(|c| (c.on_sent(at(end), 1000), c.target.to_bits()));
            prop_assert_eq!(found[0], found[1]);
        }
    }
}
