//! The tail loss probe (RFC 8985 §7): if nothing is heard for two round trips, one segment more is sent, so that its ACK tells what is lost
//! before the retransmission timer fires.

use super::config::{TcpConfig, WindowRules};
use super::segment::Segment;
use crate::units::{Duration, Time};

/// Probes of one sender.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    /// When the next is due (PTO); [`Time::MAX`]: none is.
    due_at: Time,
    /// One has to leave now.
    leaves: bool,
    /// `TLP.end_seq`: everything before this had been sent when the last one left; none if it is answered.
    end: Option<u64>,
    /// `TLP.is_retrans`: it repeated a segment.
    is_repetition: bool,
    /// A round trip was measured since the last one. None is due before the connection's first.
    has_sample: bool,
    /// `TLP.max_ack_delay`: for how long the receiver may hold back the ACK of a single segment.
    ack_delay: Duration,
    /// How much later timers fire than they should.
    granularity: Duration,
}

impl Probe {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            due_at: Time::MAX,
            leaves: false,
            end: None,
            is_repetition: false,
            has_sample: true,
            ack_delay: match (config.window_rules, config.delayed_ack) {
                (WindowRules::Linux61, _) => config.rto_min,
                (_, true) => config.delayed_ack_timeout,
                (_, false) => Duration::ZERO,
            },
            granularity: config.clock_granularity,
        }
    }

    pub(super) fn due_at(&self) -> Time {
        self.due_at
    }

    /// `TLP_calc_PTO()` (§7.2): how long to wait, if a round trip takes `srtt` and `single`, if one segment is outstanding.
    pub(super) fn wait(&self, srtt: Duration, single: bool) -> Duration {
        srtt * 2 + self.granularity + if single { self.ack_delay } else { Duration::ZERO }
    }

    /// Whether one has left that is not answered.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.end.is_some()
    }

    /// The next is due then.
    pub(super) fn schedule(&mut self, at: Time) {
        self.due_at = at;
    }

    /// None is due.
    pub(super) fn cancel(&mut self) {
        (self.due_at, self.leaves) = (Time::MAX, false);
    }

    /// A recovery begins: what the last probe would tell is known.
    pub(super) fn reset(&mut self) {
        self.cancel();
        self.end = None;
    }

    /// A round trip was measured.
    pub(super) fn on_sample(&mut self) {
        self.has_sample = true;
    }

    /// Its time has come, perhaps. Whether one has to leave: only if none is on its way and a round trip was measured since the last (§7.3).
    pub(super) fn fire(&mut self, now: Time) -> bool {
        if now < self.due_at {
            return false;
        }
        self.due_at = Time::MAX;
        self.leaves = self.end.is_none() && self.has_sample;
        self.leaves
    }

    /// Whether one has to leave; it is being sent.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.leaves)
    }

    /// It leaves. Then everything before `end` has been sent.
    pub(super) fn on_sent(&mut self, end: u64, is_repetition: bool) {
        (self.end, self.is_repetition, self.has_sample) = (Some(end), is_repetition, false);
    }

    /// `TLP_process_ack()` (§7.4): whether the probe has repaired a loss that nothing else has told of. `is_progress`: the ACK
    /// acknowledges something new. Receivers send no DSACK: a duplicate without SACK tells that both copies have arrived.
    pub(super) fn on_ack(&mut self, segment: &Segment, is_progress: bool) -> bool {
        let Some(end) = self.end.filter(|end| segment.ack >= *end) else { return false };
        let repairs = self.is_repetition && segment.ack > end;
        let is_duplicate = !is_progress && segment.sack_blocks().next().is_none();
        if !self.is_repetition || repairs || is_duplicate {
            self.end = None;
        }
        repairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        Probe::new(&TcpConfig { delayed_ack: true, ..TcpConfig::default() })
    }

    fn ack(ack: u64) -> Segment {
        Segment { ack, ..Segment::default() }
    }

    #[test]
    fn two_round_trips_pass_and_for_a_single_segment_the_delay_of_an_ack() {
        let ms = Duration::from_ms;
        let tick = Duration::from_us(1);
        assert_eq!(probe().wait(ms(3), false), ms(6) + tick);
        assert_eq!(probe().wait(ms(3), true), ms(46) + tick);
        let linux = TcpConfig { window_rules: WindowRules::Linux61, ..TcpConfig::default() };
        assert_eq!(Probe::new(&linux).wait(ms(3), true), ms(206) + tick);
    }

    #[test]
    fn one_is_on_its_way_at_a_time_and_a_round_trip_is_measured_in_between() {
        let mut probe = probe();
        probe.schedule(Time(5));
        assert!(!probe.fire(Time(4)) && probe.fire(Time(5)) && probe.take() && !probe.take());
        probe.on_sent(10, false);
        probe.on_sample();
        probe.schedule(Time(9));
        assert!(!probe.fire(Time(9)), "the first is on its way");
        assert!(!probe.on_ack(&ack(10), true));
        probe.schedule(Time(20));
        assert!(probe.fire(Time(20)));
        probe.on_sent(20, false);
        probe.on_ack(&ack(20), true);
        probe.schedule(Time(30));
        assert!(!probe.fire(Time(30)), "no round trip was measured");
    }

    #[test]
    fn a_repetition_repairs_a_loss_unless_both_copies_arrive() {
        for (answers, expected) in [
            (vec![(10, true), (12, true)], vec![false, true]),
            (vec![(10, true), (10, false), (12, true)], vec![false, false, false]),
            (vec![(9, true), (11, true), (12, true)], vec![false, true, false]),
        ] {
            let mut probe = probe();
            probe.on_sent(10, true);
            let told: Vec<bool> = answers.iter().map(|&(una, progress)| probe.on_ack(&ack(una), progress)).collect();
            assert_eq!(told, expected, "{answers:?}");
        }
    }
}
