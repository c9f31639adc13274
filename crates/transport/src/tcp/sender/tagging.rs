//! Priorities of segments (PIAS, NSDI 2015): they fall with the bytes that the flow has sent.
//!
//! They go by what the flow has sent, not by offset: what is sent again has the priority of what is new, and does not count twice.

use crate::demotion::Demotion;
use crate::tcp::config::TcpConfig;

/// Tags the segments of one connection.
#[derive(Clone, Debug)]
pub(super) struct Tagging {
    demotion: Demotion,
    /// Timeouts in a row after which the flow is young again; 0: never.
    reset_after: u32,
    /// Bytes of the flow that no longer count.
    young_from: u64,
    /// Bytes that the flow has sent over its other connections, which count, too.
    sent_elsewhere: u64,
}

impl Tagging {
    /// Of a flow of `size` bytes; `None`: without end.
    pub(super) fn new(config: &TcpConfig, size: Option<u64>) -> Self {
        let demotion = Demotion::new(&config.priority_thresholds, config.priority_by, size.unwrap_or(u64::MAX));
        Self { demotion, reset_after: config.priority_reset.into(), young_from: 0, sent_elsewhere: 0 }
    }

    pub(super) fn set_sent_elsewhere(&mut self, bytes: u64) {
        self.sent_elsewhere = bytes;
    }

    /// Priority of the next segment, when this connection has sent `sent` bytes before it.
    #[inline]
    pub(super) fn priority(&self, sent: u64) -> u8 {
        self.demotion.priority(self.sent_elsewhere + sent - self.young_from)
    }

    /// A timeout, the `consecutive`-th without progress: a flow that starves regains the highest priority (PIAS's kernel module).
    pub(super) fn on_timeout(&mut self, consecutive: u32, sent: u64) {
        if self.reset_after > 0 && consecutive.is_multiple_of(self.reset_after) {
            self.young_from = self.sent_elsewhere + sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    fn tagging() -> Tagging {
        let config = TcpConfig { priority_thresholds: vec![Bytes(100), Bytes(200)], ..TcpConfig::default() };
        Tagging::new(&config, None)
    }

    #[test]
    fn all_connections_of_a_flow_count() {
        let mut tagging = tagging();
        assert_eq!([0, 99, 100, 200].map(|sent| tagging.priority(sent)), [0, 0, 1, 2]);
        tagging.set_sent_elsewhere(60);
        assert_eq!([39, 40].map(|sent| tagging.priority(sent)), [0, 1]);
    }

    #[test]
    fn every_third_timeout_in_a_row_makes_a_flow_young_again() {
        let mut tagging = tagging();
        tagging.set_sent_elsewhere(60);
        tagging.on_timeout(1, 150);
        tagging.on_timeout(2, 150);
        assert_eq!(tagging.priority(150), 2);
        tagging.on_timeout(3, 150);
        assert_eq!([150, 249, 250].map(|sent| tagging.priority(sent)), [0, 0, 1]);
    }
}
