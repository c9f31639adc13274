//! LIA, the linked increases of RFC 6356: all subflows together grow no faster than one TCP on the best of their paths.
//!
//! Only the increase in congestion avoidance differs from NewReno's (§3). Each ACK of `acked` bytes adds
//! `min(alpha * acked * mss / total, acked * mss / cwnd)`, with `alpha = total * max(w / rtt^2) / (sum(w / rtt))^2`, that is:
//! it counts as if it acknowledged `min(w * max(w / rtt^2) / (sum(w / rtt))^2, 1)` of these bytes.

use super::{Acked, Control, Coupling, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// What is known of the other subflows, if there are any.
#[derive(Clone, Debug)]
pub(crate) struct Lia {
    coupling: Option<Coupling>,
    /// Parts of bytes that were not counted yet.
    carry: f64,
}

impl Lia {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self { coupling: None, carry: 0.0 }
    }

    /// The share of the acknowledged bytes that counts.
    fn share(&self, window: u64) -> f64 {
        match self.coupling {
            Some(c) if c.rate > 0.0 => (window as f64 * c.best / (c.rate * c.rate)).min(1.0),
            _ => 1.0,
        }
    }
}

impl Control for Lia {
    fn on_ack(&mut self, window: &mut Window, ack: &Acked, _flow: &Flow) {
        if window.in_slow_start() {
            window.slow_start(ack.bytes);
            return;
        }
        let counted = ack.bytes as f64 * self.share(window.cwnd) + self.carry;
        self.carry = counted.fract();
        window.additive_increase(counted as u64);
    }

    fn set_coupling(&mut self, coupling: Coupling) {
        self.coupling = Some(coupling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    fn after(share: Option<Coupling>, acked: u64) -> u64 {
        let mut lia = Lia { coupling: share, carry: 0.0 };
        let mut window = Window::new(20_000, 1000);
        window.ssthresh = 1;
        let srtt = Duration::from_ms(10);
        let ack = Acked { now: Time::ZERO, bytes: 1000, una: 0, nxt: 0, ece: false, srtt, rtt: None };
        (0..acked).for_each(|_| lia.on_ack(&mut window, &ack, &Flow::NEW));
        window.cwnd
    }

    #[test]
    fn one_subflow_is_newreno() {
        // w / rtt^2 * w / (w / rtt)^2 = 1.
        let alone = Coupling { rate: 20_000.0 / 0.01, best: 20_000.0 / 0.0001, shift: 0.0 };
        assert_eq!([after(None, 19), after(None, 20)], [20_000, 21_000]);
        assert_eq!([after(Some(alone), 19), after(Some(alone), 20)], [20_000, 21_000]);
    }

    #[test]
    fn two_that_are_alike_grow_by_a_quarter_of_a_segment_each() {
        // alpha = 2 w (w / rtt^2) / (2 w / rtt)^2 = 1/2, of which w has half: w * (w / rtt^2) / (2 w / rtt)^2 = 1/4.
        let both = Coupling { rate: 40_000.0 / 0.01, best: 20_000.0 / 0.0001, shift: 0.0 };
        assert_eq!([after(Some(both), 79), after(Some(both), 80)], [20_000, 21_000]);
    }

    #[test]
    fn no_subflow_grows_faster_than_newreno() {
        let slow_others = Coupling { rate: 1.0, best: 1.0, shift: 0.0 };
        assert_eq!(after(Some(slow_others), 20), 21_000);
    }
}
