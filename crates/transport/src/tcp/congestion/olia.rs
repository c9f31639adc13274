//! OLIA, the opportunistic linked increases of Khalili et al. (`CoNEXT` 2012; draft-khalili-mptcp-congestion-control-05).
//!
//! Only the increase in congestion avoidance differs from NewReno's: each ACK of `acked` bytes adds
//! `acked * mss * ((w / rtt^2) / (sum(w / rtt))^2 + alpha / w)`. The first term is Kelly and Voice's; `alpha` moves windows from the
//! paths with the largest windows to better ones. Which paths these are, `multipath` finds, from the bytes between losses.

use super::{Acked, Control, Coupling, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// What is known of the other subflows, and of this one's losses.
#[derive(Clone, Debug)]
pub(crate) struct Olia {
    coupling: Option<Coupling>,
    /// Parts of bytes that were not counted yet; negative while the window is to shrink.
    carry: f64,
    /// Bytes acknowledged since the last loss, and between the last two.
    since_loss: u64,
    before: u64,
}

impl Olia {
    pub(super) fn new(_: &TcpConfig) -> Self {
        Self { coupling: None, carry: 0.0, since_loss: 0, before: 0 }
    }

    fn lost(&mut self, window: &Window, flight: u64) -> u64 {
        // As in Linux: what follows a loss at once belongs to it.
        if self.since_loss > 0 {
            (self.before, self.since_loss) = (self.since_loss, 0);
        }
        (flight / 2).max(window.floor())
    }
}

impl Control for Olia {
    fn on_feedback(&mut self, ack: &Acked, _flow: &Flow) {
        self.since_loss += ack.bytes;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acked, _flow: &Flow) {
        if window.in_slow_start() {
            window.slow_start(ack.bytes);
            return;
        }
        let rate = window.cwnd as f64 / ack.srtt.as_secs_f64();
        let share = match self.coupling {
            Some(c) if c.rate > 0.0 && rate.is_finite() => (rate / c.rate) * (rate / c.rate) + c.shift,
            _ => 1.0,
        };
        self.carry += ack.bytes as f64 * share;
        if self.carry >= 1.0 {
            let counted = self.carry as u64;
            self.carry -= counted as f64;
            window.additive_increase(counted);
        } else if self.carry <= -(window.cwnd as f64) {
            self.carry += window.cwnd as f64;
            window.set(window.cwnd.saturating_sub(window.mss()).max(window.mss()));
        }
    }

    fn on_loss(&mut self, window: &Window, flight: u64, _flow: &Flow) -> u64 {
        self.lost(window, flight)
    }

    fn set_coupling(&mut self, coupling: Coupling) {
        self.coupling = Some(coupling);
    }

    fn inter_loss(&self) -> u64 {
        self.since_loss.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    fn ack(bytes: u64) -> Acked {
        let srtt = Duration::from_ms(10);
        Acked { now: Time::ZERO, bytes, una: 0, nxt: 0, ece: false, srtt, rtt: None }
    }

    fn after(shift: f64, acks: u64) -> u64 {
        let mut olia = Olia::new(&TcpConfig::default());
        // Two that are alike: (w / rtt)^2 / (2 w / rtt)^2 = 1/4.
        olia.set_coupling(Coupling { rate: 4_000_000.0, best: 0.0, shift });
        let mut window = Window::new(20_000, 1000);
        window.ssthresh = 1;
        (0..acks).for_each(|_| olia.on_ack(&mut window, &ack(1000), &Flow::NEW));
        window.cwnd
    }

    #[test]
    fn growth_is_kelly_and_voice_s_and_what_is_moved() {
        assert_eq!([after(0.0, 79), after(0.0, 80)], [20_000, 21_000]);
        assert_eq!([after(0.25, 39), after(0.25, 40)], [20_000, 21_000], "a better path: 1/4 + 1/4");
        assert_eq!([after(-0.5, 79), after(-0.5, 80)], [20_000, 19_000], "the largest window: 1/4 - 1/2");
    }

    #[test]
    fn the_distance_of_losses_is_the_larger_of_the_last_two() {
        let mut olia = Olia::new(&TcpConfig::default());
        let window = Window::new(20_000, 1000);
        olia.on_feedback(&ack(9000), &Flow::NEW);
        assert_eq!(olia.inter_loss(), 9000);
        assert_eq!(olia.on_loss(&window, 20_000, &Flow::NEW), 10_000);
        olia.on_loss(&window, 20_000, &Flow::NEW);
        assert_eq!(olia.inter_loss(), 9000, "two losses at once are one");
        olia.on_feedback(&ack(4000), &Flow::NEW);
        olia.on_loss(&window, 20_000, &Flow::NEW);
        assert_eq!(olia.inter_loss(), 4000, "of the last two intervals");
    }
}
