//! FA-DCTCP (Joy, thesis, Ottawa 2015, chapter 3): DCTCP that reduces the windows of short flows less than those of long ones.
//!
//! A flow is long by its destination port or by its size (§3.3.1: "monitoring TCP socket buffer"; here the application hands over
//! its object at once). The reduction is by `alpha^beta` (§3.3.2), all else is DCTCP's.

use super::dctcp::{Dctcp, reduced};
use super::{Acked, Control, Window};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// Alpha above which short flows yield more (Algorithm 1).
const HIGH_CONGESTION: f64 = 0.6;

/// DCTCP's state, and what tells long flows.
#[derive(Clone, Debug)]
pub(crate) struct FaDctcp {
    dctcp: Dctcp,
    long_size: u64,
    long_ports: Box<[u16]>,
}

impl FaDctcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let (long_size, long_ports) = (config.long_flow_size.0, config.long_flow_ports.clone().into());
        Self { dctcp: Dctcp::new(config), long_size, long_ports }
    }

    fn is_long(&self, flow: &Flow) -> bool {
        flow.to_send.is_none_or(|bytes| bytes > self.long_size) || self.long_ports.contains(&flow.port)
    }
}

impl Control for FaDctcp {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        self.dctcp.on_feedback(ack, flow);
    }

    /// Algorithm 1: cwnd = cwnd * (1 - alpha^beta / 2), beta = 1 for long flows; for short ones 2, or 3 while congestion is low.
    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        let alpha = self.dctcp.alpha();
        let share = match (self.is_long(flow), alpha > HIGH_CONGESTION) {
            (true, _) => alpha,
            (false, true) => alpha * alpha,
            (false, false) => alpha * alpha * alpha,
        };
        reduced(window, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_flows_yield_less_and_long_ones_as_in_dctcp() {
        let config = TcpConfig { long_flow_ports: vec![22, 873], ..TcpConfig::default() };
        let reduce = |alpha: f64, to_send: Option<u64>, port: u16| {
            let mut control = FaDctcp { dctcp: Dctcp::new(&config).with_alpha(alpha), ..FaDctcp::new(&config) };
            control.on_ecn(&Window::new(80_000, 1000), &Flow { to_send, port, ..Flow::NEW })
        };
        // alpha = 0.5: beta = 3; alpha = 0.75: beta = 2.
        assert_eq!(reduce(0.5, Some(1_000_000), 0), 75_000);
        assert_eq!(reduce(0.75, Some(1_000_000), 80), 57_500);
        for (size, port) in [(Some(1_000_001), 0), (None, 80), (Some(1), 873)] {
            assert_eq!(reduce(0.5, size, port), 60_000, "{size:?} {port}");
            assert_eq!(reduce(0.75, size, port), 50_000, "{size:?} {port}");
        }
        assert_eq!(reduce(1.0, Some(1), 0), 40_000, "as alpha nears 1 both are DCTCP");
    }
}
