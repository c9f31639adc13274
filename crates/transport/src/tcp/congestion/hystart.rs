//! `HyStart++` (RFC 9406): leaves slow start when the round-trip time rises, before a loss says so.
//!
//! A component of [`Window`](super::Window), so that every control whose slow start is the standard one can have it. It
//! serves the initial slow start only (§4.3), and is gone afterwards.
//!
//! Each ACK gives a round-trip time here, which the retransmission timer's one sample for each round trip would not do
//! (§4.2 wants at least eight): the times at which the segments in flight were sent are kept while it lasts.

use super::Acked;
use crate::tcp::TcpConfig;
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// §4.3: samples before a round is judged.
const N_RTT_SAMPLE: u32 = 8;
/// §4.3: the share of a round-trip time by which the next may be longer.
const MIN_RTT_DIVISOR: u64 = 8;
/// §4.3: by how much slower conservative slow start grows.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// §4.3: rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;
/// §4.3: segments by which an ACK may let the window grow; 8 without pacing.
const L: u64 = 8;
/// Longer than any round-trip time.
const INFINITY: Duration = Duration(u64::MAX);

/// State of §4.2.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// `MIN_RTT_THRESH` and `MAX_RTT_THRESH`.
    min_threshold: Duration,
    max_threshold: Duration,
    /// A round ends when this offset is acknowledged. The first is the initial window, and is compared with no other.
    window_end: u64,
    acked: bool,
    last_round_min: Duration,
    round_min: Duration,
    samples: u32,
    /// Conservative slow start: the least round-trip time of the round in which it began, and the rounds since.
    conservative: Option<(Duration, u32)>,
    /// Segments in flight: one past the last offset, and when they were sent.
    sent: VecDeque<(u64, Time)>,
}

impl HyStart {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            min_threshold: config.hystart_min_rtt_thresh,
            max_threshold: config.hystart_max_rtt_thresh,
            window_end: 0,
            acked: false,
            last_round_min: INFINITY,
            round_min: INFINITY,
            samples: 0,
            conservative: None,
            sent: VecDeque::new(),
        }
    }

    /// A new segment leaves; it ends at this offset.
    pub(super) fn on_sent(&mut self, end: u64, now: Time) {
        if !self.acked {
            self.window_end = end;
        }
        self.sent.push_back((end, now));
    }

    /// Every ACK of new data. Whether slow start is over.
    pub(super) fn on_ack(&mut self, ack: &Acked) -> bool {
        self.acked = true;
        let mut last_sent = None;
        while self.sent.front().is_some_and(|(end, _)| *end <= ack.una) {
            last_sent = self.sent.pop_front();
        }
        // The ACK that ends a round still tells of a segment of it.
        if let Some((_, at)) = last_sent {
            self.sample(ack.now.since(at));
        }
        self.end_round(ack)
    }

    /// §4.2: rounds end when what was in flight at their start is acknowledged. A part of a round counts as a round of
    /// conservative slow start. Whether that is over.
    fn end_round(&mut self, ack: &Acked) -> bool {
        if ack.una < self.window_end {
            return false;
        }
        self.window_end = ack.nxt;
        self.last_round_min = std::mem::replace(&mut self.round_min, INFINITY);
        self.samples = 0;
        let Some((_, rounds)) = &mut self.conservative else { return false };
        *rounds += 1;
        *rounds >= CSS_ROUNDS
    }

    fn sample(&mut self, rtt: Duration) {
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if let Some((baseline, _)) = self.conservative {
            if self.round_min < baseline {
                // §4.2: the increase was spurious.
                self.conservative = None;
            }
        } else if self.last_round_min != INFINITY {
            let share = self.last_round_min / MIN_RTT_DIVISOR;
            let threshold = self.min_threshold.max(share.min(self.max_threshold));
            if self.round_min >= self.last_round_min + threshold {
                self.conservative = Some((self.round_min, 0));
            }
        }
    }

    /// §4.2: by how much the window grows.
    pub(super) fn growth(&self, acked: u64, mss: u64) -> u64 {
        let growth = acked.min(L * mss);
        if self.conservative.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Window;
    use super::*;

    const MSS: u64 = 1000;

    fn config() -> TcpConfig {
        TcpConfig { hystart: true, ..TcpConfig::default() }
    }

    /// A window in slow start, driven round by round.
    struct Rounds {
        window: Window,
        una: u64,
        now: Time,
    }

    impl Rounds {
        fn new() -> Self {
            Self { window: Window::new(16 * MSS, MSS).with_hystart(&config()), una: 0, now: Time::ZERO }
        }

        /// Sixteen segments, each acknowledged after this round-trip time. Returns the growth in bytes.
        fn round(&mut self, rtt_ms: u64) -> u64 {
            let before = self.window.cwnd;
            let nxt = self.una + 16 * MSS;
            for i in 1..=16 {
                self.window.on_sent(self.una + i * MSS, self.now);
            }
            self.now += Duration::from_ms(rtt_ms);
            for i in 1..=16 {
                let ack = Acked {
                    now: self.now,
                    bytes: MSS,
                    una: self.una + MSS,
                    // The next round's segments leave as these are acknowledged.
                    nxt: nxt + i * MSS,
                    ece: false,
                    srtt: Duration::ZERO,
                    rtt: None,
                };
                self.una += MSS;
                self.window.observe(&ack);
                if self.window.in_slow_start() {
                    self.window.slow_start(MSS);
                }
            }
            self.window.cwnd - before
        }
    }

    /// The round-trip time is 100 ms; an eighth is 12.5 ms.
    #[test]
    fn a_rise_by_an_eighth_begins_conservative_growth_and_five_rounds_end_slow_start() {
        let mut rounds = Rounds::new();
        for rtt in [100, 100, 112] {
            assert_eq!(rounds.round(rtt), 16 * MSS, "{rtt} ms is no rise");
        }
        // The rise is noticed with the eighth sample.
        let growth = rounds.round(126);
        assert!(growth < 16 * MSS && growth > 8 * MSS, "{growth}");
        for _ in 0..3 {
            assert_eq!(rounds.round(126), 16 * MSS / 4);
            assert_eq!(rounds.window.ssthresh, u64::MAX);
        }
        // The part of a round in which it began counts as one, and the ACK that ends the fifth lets nothing grow.
        assert_eq!(rounds.round(126), 15 * MSS / 4);
        assert_eq!(rounds.window.ssthresh, rounds.window.cwnd, "congestion avoidance");
        assert_eq!(rounds.round(126), 0, "no slow start any more");
    }

    #[test]
    fn a_spurious_rise_ends_conservative_growth() {
        let mut rounds = Rounds::new();
        for rtt in [100, 100, 130, 130] {
            rounds.round(rtt);
        }
        assert_eq!(rounds.round(130), 16 * MSS / 4);
        rounds.round(120);
        assert_eq!(rounds.round(100), 16 * MSS);
        assert_eq!(rounds.window.ssthresh, u64::MAX);
    }

    /// §4.2: the threshold is at least 4 ms and at most 16 ms.
    #[test]
    fn the_threshold_has_bounds() {
        for (base, calm, rise) in [(8, 11, 12), (400, 415, 416)] {
            for (rtt, conservative) in [(calm, false), (rise, true)] {
                let mut rounds = Rounds::new();
                for rtt in [base, base, rtt, rtt] {
                    rounds.round(rtt);
                }
                assert_eq!(rounds.round(rtt) < 16 * MSS, conservative, "{base} to {rtt} ms");
            }
        }
    }

    /// §4.2: fewer than eight samples prove nothing.
    #[test]
    fn seven_samples_are_not_enough() {
        let mut hystart = HyStart::new(&config());
        let mut una = 0;
        for rtt in [100, 100, 200, 400] {
            for i in 0..7 {
                let now = Time::ZERO + Duration::from_secs(una + 1);
                una += 1;
                hystart.on_sent(una, now);
                let nxt = una + 7 - i;
                let now = now + Duration::from_ms(rtt);
                hystart.on_ack(&Acked { now, bytes: 1, una, nxt, ece: false, srtt: Duration::ZERO, rtt: None });
            }
            assert!(hystart.conservative.is_none());
        }
    }

    /// The initial window leaves in one burst: its own serialisation is no rise over a round before.
    #[test]
    fn the_first_round_is_compared_with_none() {
        let mut hystart = HyStart::new(&config());
        for i in 1..=10 {
            hystart.on_sent(i * MSS, Time::ZERO);
        }
        for i in 1..=10 {
            // 20 ms, and 5 ms for each segment.
            let now = Time::ZERO + Duration::from_ms(20 + 5 * i);
            let (una, nxt) = (i * MSS, (10 + 2 * i) * MSS);
            hystart.on_ack(&Acked { now, bytes: MSS, una, nxt, ece: false, srtt: Duration::ZERO, rtt: None });
            assert!(hystart.conservative.is_none(), "at segment {i} of the initial window");
        }
    }

    /// §4.3: it is for the initial slow start.
    #[test]
    fn a_loss_ends_it() {
        let mut rounds = Rounds::new();
        for rtt in [100, 100, 200, 200] {
            rounds.round(rtt);
        }
        rounds.window.ssthresh = 2 * rounds.window.cwnd;
        assert_eq!(rounds.round(400), 16 * MSS, "standard slow start");
    }

    #[test]
    fn an_ack_of_many_segments_counts_for_eight() {
        assert_eq!(HyStart::new(&config()).growth(20 * MSS, MSS), 8 * MSS);
    }
}
