//! DCTCP (RFC 8257): an estimate of the share of marked bytes decides how much the window shrinks.
//!
//! Growth is Reno's, the reaction to loss too (§3.5). The receiver's side, which echoes every mark, is in
//! `receiver.rs`.

use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// State of §3.3.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    /// DCTCP.Alpha: estimate of the share of marked bytes, 0 to 1.
    alpha: f64,
    gain: f64,
    /// DCTCP.WindowEnd: when it is acknowledged, an observation window is over.
    window_end: u64,
    bytes_acked: u64,
    bytes_marked: u64,
}

impl Dctcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        // §4.2: alpha SHOULD start at 1, so that the first mark halves the window.
        Self { alpha: 1.0, gain: config.dctcp_gain, window_end: 0, bytes_acked: 0, bytes_marked: 0 }
    }

    /// DCTCP.Alpha, for controls that make something else of it.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    #[cfg(test)]
    pub(super) fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }
}

/// The window without half of `share` of it, 0 to 1; two segments at least. Stanford's patch for Linux subtracts whole segments:
/// `snd_cwnd - ((snd_cwnd * dctcp_alpha) >> 11)`.
pub(super) fn reduced(window: &Window, share: f64) -> u64 {
    let cut = (window.cwnd as f64 * (share / 2.0)) as u64;
    (window.cwnd - window.whole(cut)).max(window.floor())
}

impl Control for Dctcp {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, _: &Flow) {
        // §3.3 steps 1 to 3.
        self.bytes_acked += ack.bytes;
        if ack.ece {
            self.bytes_marked += ack.bytes;
        }
        // Steps 4 to 8.
        if ack.una > self.window_end {
            let marked = self.bytes_marked as f64 / self.bytes_acked as f64;
            self.alpha = self.alpha * (1.0 - self.gain) + self.gain * marked;
            self.window_end = ack.nxt;
            self.bytes_acked = 0;
            self.bytes_marked = 0;
        }
    }

    /// §3.3 step 9: cwnd = cwnd * (1 - alpha / 2).
    fn on_ecn(&mut self, window: &Window, _: &Flow) -> u64 {
        reduced(window, self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Time};

    const MSS: u64 = 1000;

    /// One window of ten segments, the first `marked` of which carry the echo.
    fn window_of_ten(control: &mut Dctcp, una: &mut u64, marked: u64) {
        let end = *una + 10 * MSS;
        for i in 0..10 {
            *una += MSS;
            let ack = Acked {
                now: Time::ZERO,
                bytes: MSS,
                una: *una,
                // Before the segment that this ACK allows: nine are outstanding.
                nxt: end + i * MSS,
                ece: i < marked,
                srtt: Duration::ZERO, rtt: None,
            };
            control.on_feedback(&ack, &Flow::NEW);
        }
    }

    #[test]
    fn alpha_follows_the_moving_average_of_the_marked_share() {
        let config = TcpConfig::default();
        for marked in [0, 3, 10] {
            let mut control = Dctcp::new(&config);
            let mut una = 0;
            // The first ACK closes the empty window that RFC 8257 starts with: one update with that ACK alone.
            window_of_ten(&mut control, &mut una, marked);
            let mut expected = 15.0 / 16.0 + if marked > 0 { 1.0 / 16.0 } else { 0.0 };
            assert!((control.alpha - expected).abs() < 1e-12);
            for _ in 0..200 {
                window_of_ten(&mut control, &mut una, marked);
                // The observation window closes with the first ACK of the next one: ten ACKs, of which the same share
                // is marked.
                expected = expected * 15.0 / 16.0 + (marked as f64 / 10.0) / 16.0;
                assert!((control.alpha - expected).abs() < 1e-9, "{} {expected}", control.alpha);
            }
            assert!((control.alpha - marked as f64 / 10.0).abs() < 1e-4, "converged to the share");
        }
    }

    #[test]
    fn the_cut_is_half_of_alpha_and_never_below_two_segments() {
        let mut control = Dctcp::new(&TcpConfig::default());
        control.alpha = 0.25;
        let mut window = Window::new(80 * MSS, MSS);
        assert_eq!(control.on_ecn(&window, &Flow::NEW), 70 * MSS);
        control.alpha = 1.0;
        window.set(3 * MSS);
        assert_eq!(control.on_ecn(&window, &Flow::NEW), 2 * MSS);
    }

    /// 0.9 of a segment, and 1.5: small windows yield nothing until alpha has grown.
    #[test]
    fn linux_subtracts_whole_segments() {
        let mut control = Dctcp::new(&TcpConfig::default());
        control.alpha = 0.3;
        for (segments, left) in [(6, 6), (10, 9)] {
            let window = Window::new(segments * MSS, MSS).with_rules(crate::tcp::WindowRules::Linux32);
            assert_eq!(control.on_ecn(&window, &Flow::NEW), left * MSS);
        }
    }
}
