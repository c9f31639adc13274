//! HULL's hosts (Alizadeh et al., NSDI 2012): DCTCP whose segments are spaced, because a phantom queue takes bursts for congestion.
//!
//! A flow is paced from when it has met marks: short flows end before. Then its rate follows its window, a little faster,
//! so that the window stays the limit. The switches' part is the queue discipline `phantom`.

use super::dctcp::Dctcp;
use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;
use crate::units::{Duration, Rate, Time};

/// ACKs with an echo after which a flow is paced: the mean of HULL's chance of 1/8 for each.
const ECHOES: u32 = 8;
/// A flow that is silent for longer is no longer paced (HULL's `T_i`).
const SILENCE: Duration = Duration::from_ms(10);
/// Windows for each round trip: what waits for the pacer gets away (Linux's ratio in congestion avoidance).
const GAIN: f64 = 1.2;

/// DCTCP's state, and whether the flow is paced.
#[derive(Clone, Debug)]
pub(crate) struct Hull {
    dctcp: Dctcp,
    /// ACKs with an echo since the flow was last silent.
    echoes: u32,
    last_ack: Time,
    /// Bytes on the wire for each byte of payload.
    overhead: f64,
}

impl Hull {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let overhead = config.packet.0 as f64 / config.mss() as f64;
        Self { dctcp: Dctcp::new(config), echoes: 0, last_ack: Time::ZERO, overhead }
    }
}

impl Control for Hull {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        if ack.now.since(self.last_ack) > SILENCE {
            self.echoes = 0;
        }
        self.last_ack = ack.now;
        self.echoes = self.echoes.saturating_add(u32::from(ack.ece));
        self.dctcp.on_feedback(ack, flow);
    }

    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        self.dctcp.on_ecn(window, flow)
    }

    #[inline]
    fn pacing_rate(&self, window: &Window, flow: &Flow) -> Option<Rate> {
        let srtt = flow.srtt.as_secs_f64();
        if self.echoes < ECHOES || srtt <= 0.0 {
            return None;
        }
        Some(Rate((window.cwnd as f64 * 8.0 * self.overhead * GAIN / srtt) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(us: u64, ece: bool) -> Acked {
        let now = Time::ZERO + Duration::from_us(us);
        Acked { now, bytes: 1460, una: 0, nxt: 0, ece, srtt: Duration::from_us(100) , rtt: None }
    }

    #[test]
    fn a_flow_is_paced_from_its_eighth_echo_on_until_it_is_silent() {
        let mut control = Hull::new(&TcpConfig::default());
        let window = Window::new(14_600, 1460);
        let flow = Flow { srtt: Duration::from_us(100), ..Flow::NEW };
        for us in 0..7 {
            control.on_feedback(&ack(us, true), &flow);
            control.on_feedback(&ack(us, false), &flow);
        }
        assert_eq!(control.pacing_rate(&window, &flow), None);
        control.on_feedback(&ack(7, true), &flow);
        // Ten packets of 1500 B, 120 kbit, in 100 us are 1.2 Gbps; times 1.2.
        assert_eq!(control.pacing_rate(&window, &flow), Some(Rate(1_440_000_000)));
        assert_eq!(control.pacing_rate(&window, &Flow::NEW), None, "no round-trip time yet");
        control.on_feedback(&ack(10_007, false), &flow);
        assert!(control.pacing_rate(&window, &flow).is_some(), "10 ms");
        control.on_feedback(&ack(20_008, false), &flow);
        assert_eq!(control.pacing_rate(&window, &flow), None);
    }

    #[test]
    fn its_window_is_dctcp_s() {
        let config = TcpConfig::default();
        let mut control = Hull { dctcp: Dctcp::new(&config).with_alpha(0.25), ..Hull::new(&config) };
        // 80000 * (1 - 0.25 / 2).
        assert_eq!(control.on_ecn(&Window::new(80_000, 1000), &Flow::NEW), 70_000);
    }
}
