//! D2TCP (Vamanan, Hasan and Vijaykumar, SIGCOMM 2012): DCTCP in which a flow with a near deadline yields less, and one with a
//! far deadline more, than a flow without.
//!
//! The share of marked bytes is DCTCP's alpha; the reduction is by `p = alpha^d` (gamma correction), where the imminence
//! `d` is the time that the flow still needs over the time that is left. Growth and reaction to loss are DCTCP's.

use super::dctcp::{Dctcp, reduced};
use super::power::power;
use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// The bounds of d: a far deadline must not starve a flow, nor a near one make it deaf to congestion.
const D_MIN: f64 = 0.5;
const D_MAX: f64 = 2.0;

/// No state beyond DCTCP's: all else is of the flow.
#[derive(Clone, Debug)]
pub(crate) struct D2tcp {
    dctcp: Dctcp,
}

impl D2tcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { dctcp: Dctcp::new(config) }
    }
}

/// Deadline imminence d = Tc / D. A flow whose deadline has passed is as urgent as one just before it. 1 without a deadline.
fn imminence(window: &Window, flow: &Flow) -> f64 {
    let (Some(deadline), Some(to_send)) = (flow.deadline, flow.to_send) else { return 1.0 };
    if flow.srtt.ps() == 0 {
        return 1.0;
    }
    let left = deadline.since(flow.now).as_secs_f64();
    if left <= 0.0 {
        return D_MAX;
    }
    // Tc = B / (3/4 W) round trips: the window is a sawtooth between W / 2 and W.
    let round_trips = (to_send - flow.sent) as f64 / (0.75 * window.cwnd as f64);
    (round_trips * flow.srtt.as_secs_f64() / left).clamp(D_MIN, D_MAX)
}

impl Control for D2tcp {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        self.dctcp.on_feedback(ack, flow);
    }

    /// cwnd = cwnd * (1 - alpha^d / 2).
    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        reduced(window, power(self.dctcp.alpha(), imminence(window, flow)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    const MSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        Window::new(segments * MSS, MSS)
    }

    /// A flow that has `remaining` bytes to send and `left` until its deadline, over 100 us round trips.
    fn flow(remaining: u64, left: Duration) -> Flow {
        let now = Time(5_000_000_000);
        let (sent, srtt) = (70 * MSS, Duration::from_us(100));
        Flow { now, srtt, to_send: Some(sent + remaining), sent, deadline: Some(now + left), ..Flow::NEW }
    }

    #[test]
    fn imminence_is_the_time_needed_over_the_time_left_within_a_half_and_two() {
        // 300 segments at 3/4 of 40 segments for each round trip of 100 us: Tc = 10 round trips = 1 ms.
        let d = |left_us: u64| imminence(&window(40), &flow(300 * MSS, Duration::from_us(left_us)));
        for (left_us, expected) in [(1000, 1.0), (800, 1.25), (1600, 0.625), (500, 2.0), (499, 2.0), (2500, 0.5), (1, 2.0)] {
            assert!((d(left_us) - expected).abs() < 1e-12, "{left_us} us: {} instead of {expected}", d(left_us));
        }
        assert!((d(0) - 2.0).abs() < 1e-12, "now, or long ago");
        let none = Flow { deadline: None, ..flow(300 * MSS, Duration::from_us(500)) };
        assert!((imminence(&window(40), &none) - 1.0).abs() < 1e-12, "no deadline: DCTCP");
        let endless = Flow { to_send: None, ..flow(300 * MSS, Duration::from_us(500)) };
        assert!((imminence(&window(40), &endless) - 1.0).abs() < 1e-12, "no end to be late with");
        let unmeasured = Flow { srtt: Duration::ZERO, ..flow(300 * MSS, Duration::from_us(500)) };
        assert!((imminence(&window(40), &unmeasured) - 1.0).abs() < 1e-12, "no round-trip time yet");
    }

    #[test]
    fn the_reduction_is_gamma_corrected() {
        let reduce = |alpha: f64, left_us: u64| {
            let mut control = D2tcp { dctcp: Dctcp::new(&TcpConfig::default()).with_alpha(alpha) };
            control.on_ecn(&window(40), &flow(300 * MSS, Duration::from_us(left_us)))
        };
        // alpha = 1/4: p = 1/16 near the deadline (d = 2), 1/4 as in DCTCP (d = 1), 1/2 far from it (d = 1/2).
        assert_eq!(reduce(0.25, 500), 38_750);
        assert_eq!(reduce(0.25, 1000), 35_000);
        assert_eq!(reduce(0.25, 2000), 30_000);
        // With every byte marked, all halve their windows; with none marked, nobody gives up anything.
        for left_us in [500, 1000, 2000] {
            assert_eq!(reduce(1.0, left_us), 20_000);
            assert_eq!(reduce(0.0, left_us), 40_000);
        }
    }
}
