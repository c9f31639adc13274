//! FA-DCTCP (Joy, thesis, Ottawa 2015, chapter 3): DCTCP that reduces the windows of short flows less than those of long ones.
//!
//! A flow is long by what has waited in its socket's buffer, or by its destination port (§3.3.1). The reduction is by
//! `alpha^beta` (§3.3.2), all else is DCTCP's: "FA-DCTCP algorithm comes to play only during the fast recovery phase" (§3.5).

use super::dctcp::{Dctcp, reduced};
use super::power::power;
use super::{Acked, Control, Window};
use crate::tcp::flow::Flow;
use crate::tcp::{LongFlowBy, TcpConfig};

/// Alpha above which short flows yield more (Algorithm 1: "if (Alpha > .6)").
const HIGH_CONGESTION: f64 = 0.6;

/// DCTCP's state, what tells long flows, and how much less short ones yield.
#[derive(Clone, Debug)]
pub(crate) struct FaDctcp {
    dctcp: Dctcp,
    /// More in the socket's buffer makes a flow long.
    long_queue: u64,
    long_ports: Box<[u16]>,
    /// Of short flows; `None`: by alpha, as in Algorithm 1.
    beta: Option<f64>,
}

impl FaDctcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let by = config.long_flow_by;
        Self {
            dctcp: Dctcp::new(config),
            long_queue: if by == LongFlowBy::Port { u64::MAX } else { config.long_flow_size.0 },
            long_ports: if by == LongFlowBy::Queued { Box::default() } else { config.long_flow_ports.clone().into() },
            beta: config.short_flow_beta,
        }
    }

    /// "Flows whose TCP socket buffer usage exceeds the threshold [..] are marked and flagged" (§3.3.1): for good.
    fn is_long(&self, flow: &Flow) -> bool {
        flow.most_queued > self.long_queue || self.long_ports.contains(&flow.port)
    }

    /// beta of §3.3.2.
    fn beta(&self, flow: &Flow) -> f64 {
        if self.is_long(flow) {
            return 1.0;
        }
        self.beta.unwrap_or(if self.dctcp.alpha() > HIGH_CONGESTION { 2.0 } else { 3.0 })
    }
}

impl Control for FaDctcp {
    #[inline]
    fn on_feedback(&mut self, ack: &Acked, flow: &Flow) {
        self.dctcp.on_feedback(ack, flow);
    }

    /// Algorithm 1: cwnd = cwnd * (1 - alpha^beta / 2).
    fn on_ecn(&mut self, window: &Window, flow: &Flow) -> u64 {
        reduced(window, power(self.dctcp.alpha(), self.beta(flow)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    /// A window of 80 segments after an echo, at this alpha, of a flow that has had so much in its buffer.
    fn reduce(config: &TcpConfig, alpha: f64, most_queued: u64, port: u16) -> u64 {
        let mut control = FaDctcp { dctcp: Dctcp::new(config).with_alpha(alpha), ..FaDctcp::new(config) };
        control.on_ecn(&Window::new(80_000, 1000), &Flow { most_queued, port, ..Flow::NEW })
    }

    #[test]
    fn short_flows_yield_less_and_long_ones_as_in_dctcp() {
        let config = TcpConfig::default();
        // alpha = 0.5, beta = 3: 80000 * (1 - 0.125 / 2). alpha = 0.75, beta = 2: 80000 * (1 - 0.5625 / 2).
        assert_eq!(reduce(&config, 0.5, 1_000_000, 0), 75_000);
        assert_eq!(reduce(&config, 0.75, 1_000_000, 80), 57_500);
        // Long: 80000 * (1 - 0.5 / 2) and 80000 * (1 - 0.75 / 2).
        for most_queued in [1_000_001, u64::MAX] {
            assert_eq!(reduce(&config, 0.5, most_queued, 0), 60_000, "{most_queued}");
            assert_eq!(reduce(&config, 0.75, most_queued, 0), 50_000, "{most_queued}");
        }
        assert_eq!(reduce(&config, 1.0, 1, 0), 40_000, "as alpha nears 1 both are DCTCP");
    }

    #[test]
    fn at_alpha_0_6_congestion_is_still_mild() {
        let config = TcpConfig::default();
        // Algorithm 1 says "> .6" for beta = 2: 0.6^3 / 2 = 0.108 of 80000 is 8640.
        assert_eq!(reduce(&config, 0.6, 1, 0), 71_360);
        // 0.61^2 / 2 = 0.18605 of 80000 is 14884: the reduction jumps there.
        assert_eq!(reduce(&config, 0.61, 1, 0), 65_116);
    }

    #[test]
    fn a_flow_is_long_by_its_buffer_or_by_its_port_as_the_scenario_chooses() {
        let by = |long_flow_by| TcpConfig { long_flow_by, long_flow_ports: vec![22, 873], ..TcpConfig::default() };
        let is_long = |by: &TcpConfig, most_queued, port| reduce(by, 0.5, most_queued, port) == 60_000;
        let table = |config: &TcpConfig| {
            [(1, 80), (1, 873), (1_000_001, 80), (1_000_001, 873)].map(|(size, port)| is_long(config, size, port))
        };
        assert_eq!(table(&by(LongFlowBy::Queued)), [false, false, true, true]);
        assert_eq!(table(&by(LongFlowBy::Port)), [false, true, false, true]);
        assert_eq!(table(&by(LongFlowBy::Either)), [false, true, true, true]);
    }

    #[test]
    fn beta_may_be_fixed_and_is_of_short_flows_only() {
        // alpha = 0.5: 0.5^beta / 2 of 80000.
        for (beta, expected) in [(1.0, 60_000), (2.0, 70_000), (4.0, 77_500), (5.0, 78_750), (6.0, 79_375)] {
            let config = TcpConfig { short_flow_beta: Some(beta), ..TcpConfig::default() };
            assert_eq!(reduce(&config, 0.5, 1, 0), expected, "beta {beta}");
            assert_eq!(reduce(&config, 0.5, 2_000_000, 0), 60_000, "beta {beta} of a long flow is 1");
        }
        // It stays where Algorithm 1 changes it: 80000 * (1 - 0.75^3 / 2).
        let config = TcpConfig { short_flow_beta: Some(3.0), ..TcpConfig::default() };
        assert_eq!(reduce(&config, 0.75, 1, 0), 63_125);
    }

    #[test]
    fn what_cannot_tell_flows_apart_is_refused() {
        let field = |config: TcpConfig| config.validate().err().map(|e| e.field);
        let base = TcpConfig::default;
        assert_eq!(field(TcpConfig { long_flow_by: LongFlowBy::Port, ..base() }), Some("long_flow_by"));
        assert_eq!(field(TcpConfig { long_flow_by: LongFlowBy::Either, ..base() }), Some("long_flow_by"));
        for beta in [0.5, 17.0, f64::NAN] {
            assert_eq!(field(TcpConfig { short_flow_beta: Some(beta), ..base() }), Some("short_flow_beta"));
        }
        let both = TcpConfig { long_flow_by: LongFlowBy::Either, long_flow_ports: vec![22], ..base() };
        assert_eq!(field(TcpConfig { long_flow_size: Bytes(5), short_flow_beta: Some(2.5), ..both }), None);
    }
}
