//! pFabric's hosts (Alizadeh et al., SIGCOMM 2013, §4.3): next to no rate control, because switches decide whose packets go.
//!
//! A flow begins at its link's rate, with a window of a bandwidth-delay product. The window grows as TCP's does, but losses are told by
//! timeouts only, which are short and always the same; then the window starts over. After some in a row the sender
//! probes. Each packet says what remains of its flow. The switches' part is the queue discipline `pfabric`; window and timeout
//! are [`PfabricConfig`](crate::tcp::PfabricConfig)'s.

use super::{Control, Window};
use crate::rank::{ENDLESS, rank};
use crate::tcp::TcpConfig;
use crate::tcp::flow::Flow;

/// Where strict priorities are to do what the queue discipline would: the least urgent of eight.
const LAST_LEVEL: u32 = 7;

/// No state beyond the window.
#[derive(Clone, Debug)]
pub(crate) struct Pfabric {
    probe_after: u32,
}

impl Pfabric {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { probe_after: config.probe_after.into() }
    }
}

/// Bytes that are not acknowledged; `None`: without end.
fn remaining(flow: &Flow) -> Option<u64> {
    flow.to_send.map(|bytes| bytes - flow.acknowledged)
}

impl Control for Pfabric {
    /// Half the window, which starts over at one segment.
    fn on_timeout(&mut self, window: &Window, _flight: u64, _: &Flow) -> u64 {
        (window.cwnd / 2).max(window.floor())
    }

    fn heeds_duplicates(&self) -> bool {
        false
    }

    fn probes_after(&self, timeouts: u32) -> bool {
        timeouts >= self.probe_after
    }

    #[inline]
    fn rank(&self, flow: &Flow) -> u16 {
        remaining(flow).map_or(ENDLESS, rank)
    }

    /// For hosts' own queues, and switches with strict priorities: 0 below 4 KiB, one more for each factor of four.
    fn priority(&self, flow: &Flow) -> Option<u8> {
        let bits = remaining(flow).map_or(u64::BITS, |bytes| u64::BITS - bytes.leading_zeros());
        Some((bits.saturating_sub(11) / 2).min(LAST_LEVEL) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(bytes: u64) -> Flow {
        Flow { to_send: Some(5_000_000_000 + bytes), acknowledged: 5_000_000_000, ..Flow::NEW }
    }

    #[test]
    fn packets_say_what_remains() {
        let control = Pfabric::new(&TcpConfig::default());
        assert_eq!([0, 1, 1460, 3000].map(|bytes| control.rank(&left(bytes))), [0, 1, 1460, 3000].map(rank));
        assert_eq!(control.rank(&Flow::NEW), u16::MAX, "without end");
        let levels = [0, 4095, 4096, 16_383, 16_384, 1 << 20, 1 << 24, 1 << 40].map(|bytes| control.priority(&left(bytes)));
        assert_eq!(levels, [0, 0, 1, 1, 2, 5, 7, 7].map(Some));
        assert_eq!(control.priority(&Flow::NEW), Some(7));
    }

    #[test]
    fn a_timeout_halves_the_threshold_and_five_make_it_probe() {
        let mut control = Pfabric::new(&TcpConfig::default());
        assert_eq!(control.on_timeout(&Window::new(12_000, 1000), 3_000, &Flow::NEW), 6_000);
        assert_eq!(control.on_timeout(&Window::new(3_000, 1000), 3_000, &Flow::NEW), 2_000);
        assert_eq!([4, 5, 6].map(|timeouts| control.probes_after(timeouts)), [false, true, true]);
    }
}
