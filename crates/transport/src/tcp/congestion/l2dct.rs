//! L2DCT (Munir et al., INFOCOM 2013): DCTCP in which a flow grows less, and yields more, the more it has sent (least attained
//! service), so that short flows pass long ones without anybody telling sizes.
//!
//! A weight `w`, from 2.5 down to 0.125, follows the bytes sent. In congestion avoidance a window grows by `k = w / 2.5`
//! segments for each of its round trips; with marks it becomes `cwnd * (1 - alpha^w / 2)`. Slow start and the reaction to
//! losses are DCTCP's.

use super::dctcp::{Dctcp, reduced};
use super::power::power;
use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// Weight of a flow that has sent little, and of one that has sent much.
const W_MAX: f64 = 2.5;
const W_MIN: f64 = 0.125;
/// Up to here the weight is the greatest; from there on it is the least. Between them it falls with the bytes sent.
const SHORT: u64 = 200_000;
const LONG: u64 = 1_000_000;

/// DCTCP's state, and growth that is no whole byte yet.
#[derive(Clone, Debug)]
pub(crate) struct L2dct {
    dctcp: Dctcp,
    /// Acknowledged bytes, weighted, that have not counted towards the window's growth: below 1.
    rest: f64,
}

impl L2dct {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { dctcp: Dctcp::new(config), rest: 0.0 }
    }
}

/// The weight of a flow that has sent so many bytes.
fn weight(sent: u64) -> f64 {
    let beyond = sent.clamp(SHORT, LONG) - SHORT;
    W_MAX - (W_MAX - W_MIN) * (beyond as f64 / (LONG - SHORT) as f64)
}

impl Control for L2dct {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        self.dctcp.on_feedback(ack, flow);
    }

    /// cwnd = cwnd + k in each round trip: k segments for each window of acknowledged bytes.
    fn on_ack(&mut self, window: &mut Window, ack: &Acked, flow: &Flow) {
        if window.in_slow_start() {
            return window.slow_start(ack.bytes);
        }
        let counted = ack.bytes as f64 * (weight(flow.sent) / W_MAX) + self.rest;
        self.rest = counted - counted.trunc();
        window.additive_increase(counted as u64);
    }

    /// cwnd = cwnd * (1 - alpha^w / 2).
    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        reduced(window, power(self.dctcp.alpha(), weight(flow.sent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    fn sent(sent: u64) -> Flow {
        Flow { sent, ..Flow::NEW }
    }

    #[test]
    fn the_weight_falls_from_200_kb_to_1_mb() {
        // Half way, at 600 KB: 2.5 - 2.375 / 2 = 1.3125. At 300 KB: 2.5 - 2.375 / 8 = 2.203125.
        let expected = [(0, 2.5), (200_000, 2.5), (300_000, 2.203_125), (600_000, 1.3125), (1_000_000, 0.125)];
        for (sent, expected) in expected.into_iter().chain([(u64::MAX, 0.125)]) {
            assert!((weight(sent) - expected).abs() < 1e-12, "{sent}: {} instead of {expected}", weight(sent));
        }
    }

    #[test]
    fn a_flow_that_has_sent_more_yields_more() {
        let reduce = |alpha: f64, flow: Flow| {
            let mut control = L2dct { dctcp: Dctcp::new(&TcpConfig::default()).with_alpha(alpha), rest: 0.0 };
            control.on_ecn(&Window::new(80_000, 1000), &flow)
        };
        // alpha = 1/4, w = 2.5: 1/32, a cut of 80000 / 64. w = 0.125: 0.25^(1/8) = 0.840896, a cut of 33635.8.
        assert_eq!(reduce(0.25, sent(100_000)), 78_750);
        assert_eq!(reduce(0.25, sent(2_000_000)), 46_365);
        // With every byte marked both halve their windows, with none neither gives up anything.
        for bytes in [0, 600_000, 2_000_000] {
            assert_eq!(reduce(1.0, sent(bytes)), 40_000);
            assert_eq!(reduce(0.0, sent(bytes)), 80_000);
        }
    }

    /// Windows of ten segments, acknowledged segment by segment, until it grows.
    fn rounds_until_growth(flow: Flow) -> u32 {
        let mut control = L2dct::new(&TcpConfig::default());
        let mut window = Window::new(10_000, 1000);
        window.ssthresh = 5000;
        let ack = Acked { now: Time(1), bytes: 1000, una: 0, nxt: 0, ece: false, srtt: Duration(1) , rtt: None };
        for n in 1.. {
            control.on_ack(&mut window, &ack, &flow);
            if window.cwnd > 10_000 {
                assert_eq!(window.cwnd, 11_000);
                return n;
            }
        }
        unreachable!("it grows")
    }

    #[test]
    fn a_flow_that_has_sent_more_grows_less() {
        // k = 1: a segment for ten. k = 1.3125 / 2.5 = 0.525: ten segments' worth after 20 (10.5). k = 0.05: after 200.
        assert_eq!([0, 600_000, 1_000_000].map(|bytes| rounds_until_growth(sent(bytes))), [10, 20, 200]);
    }

    #[test]
    fn slow_start_is_that_of_all() {
        let (mut control, mut window) = (L2dct::new(&TcpConfig::default()), Window::new(10_000, 1000));
        let ack = Acked { now: Time(1), bytes: 1000, una: 0, nxt: 0, ece: false, srtt: Duration(1) , rtt: None };
        control.on_ack(&mut window, &ack, &sent(5_000_000));
        assert_eq!(window.cwnd, 11_000);
    }
}
