//! SCDP as on real hosts: what decides there, and what `scdp` uses. The simulator's preset `hosts` is made of the same.
//!
//! Timers of hosts are coarse, paths lose packets without trimming them, rates are unknown, and peers die.

use super::config::{PullPacing, ScdpConfig, WindowControl};
use super::straggler::{Straggler, StragglerPolicy, StragglerRule};
use crate::{Bytes, Duration};

/// Largest UDP datagram: Ethernet with IPv4.
pub const DATAGRAM: u16 = 1472;
/// Bytes of a symbol's datagram besides the symbol: 36 of SCDP, and the tag.
pub const HEADERS: u16 = 36 + 16;
/// What a datagram has around it on the wire: 8 B of UDP, 20 B of IPv4, 14 B of Ethernet.
pub const FRAME: u16 = 8 + 20 + 14;

/// Symbols that are sent before the first answer.
pub const INITIAL_WINDOW: u32 = 32;
/// Symbols that follow the answer to a request. With it they are less than three times the request, whose address may not be validated. All servers of
/// an object send as many, whether they have asked for a cookie or not: the receiver knows how many are on their way to it.
pub const PUSHED_BY_SERVERS: u32 = 2;
/// Symbols of a source block at most.
pub const BLOCK_SYMBOLS: u32 = 100;
/// Silence after which a peer is given up.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// Bytes that a system call or a network card may handle at once: the limit of an IP packet (generic segmentation offload).
const OFFLOAD: u64 = 65_536;

impl Straggler {
    /// As on real hosts: receivers have windows of their own, so those that are late hold the others back.
    pub fn on_hosts(policy: StragglerPolicy) -> Self {
        let (time, grace) = (Duration::from_ms(100), Duration::from_secs(1));
        Self { policy, rule: StragglerRule::Lateness, time, grace, ..Self::default() }
    }
}

impl ScdpConfig {
    /// As on real hosts, for packets of this size with headers of this size.
    ///
    /// A receiver finds its window by itself. A symbol for several leaves when all have asked for it, so a group follows the receiver for which the
    /// least may be in flight.
    pub fn on_hosts(packet: Bytes, header: Bytes) -> Self {
        let symbol = packet.0.saturating_sub(header.0).max(1);
        Self {
            packet,
            header,
            initial_window: INITIAL_WINDOW,
            initial_window_many_to_one: PUSHED_BY_SERVERS,
            block_symbols: BLOCK_SYMBOLS,
            pull_timeout: Duration::from_ms(4),
            probe_timeout: Duration::from_ms(16),
            linger: Duration::from_secs(4),
            window_control: WindowControl::Bbr,
            pull_pacing: PullPacing::Arrivals,
            host_batch: (OFFLOAD / symbol).max(1) as u32,
            ecn: true,
            // One marked branch would slow down the whole group, where a receiver that is too slow leaves it.
            ecn_in_groups: false,
            give_up_after: Some(GIVE_UP_AFTER),
            straggler: Straggler::on_hosts(StragglerPolicy::Detach),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_valid() {
        for packet in [DATAGRAM, 1200, u16::MAX] {
            let config = ScdpConfig::on_hosts(Bytes(packet.into()), Bytes(HEADERS.into()));
            assert_eq!(config.validate(), Ok(()));
        }
        assert_eq!(ScdpConfig::on_hosts(Bytes(1514), Bytes(94)).host_batch, 46, "64 KiB of 1420 B");
    }
}
