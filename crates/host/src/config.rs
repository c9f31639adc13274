//! A host's limits, and how it sends.

use anabranch_transport::scdp::{MAX_BLOCK_SYMBOLS, ScdpConfig, Straggler, StragglerPolicy, StragglerRule, hosts};
use anabranch_transport::{Bytes, ConfigError, Duration, Rate};

use crate::keys::HEADERS;
use crate::limits::{LIVE_BLOCKS, Limits};
use crate::marking::{Class, Dscp, Ecn, Marking};
use crate::wire::{MAX_DATAGRAM_BYTES, MIN_OPEN_BYTES};
use crate::{Protection, PublicKey};

/// T: bytes of a symbol whose packet has `largest_packet` bytes.
pub(crate) fn symbol_bytes(largest_packet: u16) -> u16 {
    largest_packet.max(MIN_OPEN_BYTES as u16) - HEADERS as u16
}

/// A host's limits, and how it sends.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// How sessions are protected. Both ends must agree.
    pub protection: Protection,
    /// Bytes of a UDP datagram at most, 1200 (what every path carries without fragments) to 65507. Default: 1472, for Ethernet with IPv4.
    pub largest_packet: u16,
    /// Symbols of a source block at most, 1 to 56403: fewer where the blocks in flight would take more than `max_session_bytes`.
    /// Default: 100, as in the papers.
    pub block_symbols: u32,
    /// Symbols that are sent before the first answer, 1 to 65535. Default: 32.
    pub initial_window: u32,
    /// A sending rate, above 0, that all objects together which this host offers do not exceed, nor each one that is requested of it. It is kept although
    /// timers fire late: what they were late by is made up for, up to 25 ms. So in an interval of length t, at most what the rate allows in t and 26 ms
    /// is sent, and a packet. Default: none; receivers find the rate.
    pub rate: Option<Rate>,
    /// DSCP of datagrams with symbols, which switches may drop or trim. Default: 0, best effort.
    pub dscp: Dscp,
    /// DSCP of all others: they are small, and each that is lost costs time. Default: 0, best effort.
    pub control_dscp: Dscp,
    /// Silence after which a peer is given up, at least 100 ms. Default: 10 s.
    pub give_up_after: Duration,
    /// Time without progress after which a session ends although its peer shows signs of life, at least `give_up_after`. Progress is the next
    /// complete block, or that the application has [checked](crate::Host::checked) the object. Time in which `rate` holds a sender back does not
    /// count. Default: 5 min.
    pub stall_after: Duration,
    /// What a sender does about receivers that hold others back. They are told by lateness. Default: `detach`, after 100 ms. One that completes
    /// nothing leaves the group as well: with `detach` after ten times that, with `wait` after [`give_up_after`](Self::give_up_after).
    pub stragglers: Straggler,
    /// Concurrent sessions. Further ones are refused. Default: 256.
    pub max_sessions: usize,
    /// Concurrent sessions that one IPv4 address, or one /64 of IPv6, may have opened. Default: 64.
    pub max_sessions_per_address: usize,
    /// Requests from addresses that are not validated, before further ones are answered with a cookie. Default: 32.
    pub max_unvalidated: usize,
    /// Keys of which one must have [signed](crate::Manifest::sign) each object that is received: other objects are refused before any of their bytes
    /// are handed over. Default: none, and nothing needs to be signed.
    pub signers: Vec<PublicKey>,
    /// Maximum size of an object that is received, in bytes. Default: 1 TB.
    pub max_object_bytes: u64,
    /// Bytes that the blocks in flight of one session may take at an end, together with the bytes that the application has not taken. Objects that
    /// need more are refused. The codec's work areas come on top, and repair symbols, of which there are few unless a peer with the key sends too
    /// many: up to four times as much. At least 650 symbols; default: 64 MiB.
    pub max_session_bytes: u64,
}

impl HostConfig {
    /// The defaults.
    pub fn new(protection: Protection) -> Self {
        Self {
            protection,
            largest_packet: hosts::DATAGRAM,
            block_symbols: hosts::BLOCK_SYMBOLS,
            initial_window: hosts::INITIAL_WINDOW,
            rate: None,
            dscp: Dscp::BEST_EFFORT,
            control_dscp: Dscp::BEST_EFFORT,
            give_up_after: hosts::GIVE_UP_AFTER,
            stragglers: Straggler::on_hosts(StragglerPolicy::Detach),
            stall_after: Duration::from_secs(300),
            max_sessions: 256,
            max_sessions_per_address: 64,
            max_unvalidated: 32,
            signers: Vec::new(),
            max_object_bytes: 1_000_000_000_000,
            max_session_bytes: 64 << 20,
        }
    }

    /// Checks that every field is in range.
    ///
    /// # Errors
    ///
    /// The first field that is out of range, and its permitted range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let error = |field, problem: String| Err(ConfigError { field, problem });
        let packet = usize::from(self.largest_packet);
        if !(MIN_OPEN_BYTES..=MAX_DATAGRAM_BYTES).contains(&packet) {
            return error("largest_packet", format!("{packet} B is not from {MIN_OPEN_BYTES} to {MAX_DATAGRAM_BYTES}"));
        }
        if !(1..=MAX_BLOCK_SYMBOLS).contains(&self.block_symbols) {
            return error("block_symbols", format!("{} is not from 1 to {MAX_BLOCK_SYMBOLS}", self.block_symbols));
        }
        if !(1..=u32::from(u16::MAX)).contains(&self.initial_window) {
            return error("initial_window", format!("{} is not from 1 to 65535", self.initial_window));
        }
        if self.rate.is_some_and(|rate| rate.bps() == 0) {
            return error("rate", "must be above 0".to_owned());
        }
        // Below this, host timers, which are late by milliseconds, would end sessions.
        if self.give_up_after < Duration::from_ms(100) {
            return error("give_up_after", "must be at least 100 ms".to_owned());
        }
        if self.stall_after < self.give_up_after {
            return error("stall_after", "must be at least give_up_after".to_owned());
        }
        let Straggler { policy, rule, .. } = self.stragglers;
        if policy != StragglerPolicy::Drop && rule != StragglerRule::Lateness {
            return error("stragglers.rule", "must be lateness: windows of receivers differ".to_owned());
        }
        // Blocks of ten of the largest symbols: with fewer to a block, most of what is sent would be overhead.
        let least = LIVE_BLOCKS * 10 * u64::from(self.symbol_bytes());
        if self.max_session_bytes < least {
            return error("max_session_bytes", format!("must be at least {least} for packets of {packet} B"));
        }
        self.transport(self.symbol_bytes(), self.initial_window, 1).validate()
    }

    /// Limits for what peers announce.
    pub(crate) fn limits(&self) -> Limits {
        let &Self { max_object_bytes, max_session_bytes, .. } = self;
        Limits { object: max_object_bytes, session: max_session_bytes, symbol: self.symbol_bytes() }
    }

    /// How datagrams of a class are marked.
    pub(crate) fn marking(&self, class: Class) -> Marking {
        match class {
            Class::Control => Marking { dscp: self.control_dscp, ecn: Ecn::NotEct },
            Class::Symbol(ecn) => Marking { dscp: self.dscp, ecn },
        }
    }

    /// T: bytes of a symbol, such that its packet has the largest size.
    pub(crate) fn symbol_bytes(&self) -> u16 {
        symbol_bytes(self.largest_packet)
    }

    /// The transport's settings for symbols of that size.
    pub(crate) fn transport(&self, symbol_bytes: u16, window: u32, block_symbols: u32) -> ScdpConfig {
        let header = u64::from(hosts::HEADERS);
        ScdpConfig {
            initial_window: window,
            initial_window_many_to_one: window,
            block_symbols,
            give_up_after: Some(self.give_up_after),
            straggler: self.stragglers,
            ..ScdpConfig::on_hosts(Bytes(u64::from(symbol_bytes) + header), Bytes(header))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_faults_are_named() {
        assert_eq!(HostConfig::new(Protection::None).validate(), Ok(()));
        let problem = |change: fn(&mut HostConfig)| {
            let mut config = HostConfig::new(Protection::None);
            change(&mut config);
            config.validate().expect_err("out of range").to_string()
        };
        for (change, expected) in [
            ((|c| c.largest_packet = 1199) as fn(&mut HostConfig), "largest_packet"),
            (|c| c.largest_packet = 65_508, "largest_packet"),
            (|c| c.block_symbols = 0, "block_symbols"),
            (|c| c.block_symbols = 56_404, "block_symbols"),
            (|c| c.initial_window = 0, "initial_window"),
            (|c| c.initial_window = 65_536, "initial_window"),
            (|c| c.rate = Some(Rate::from_mbps(0)), "rate"),
            (|c| c.give_up_after = Duration::from_ms(99), "give_up_after"),
            (|c| c.stall_after = Duration::from_secs(9), "stall_after"),
            (|c| c.stragglers.quorum = 0, "straggler.quorum"),
            (|c| c.max_session_bytes = 650 * 1420 - 1, "max_session_bytes"),
        ] {
            assert!(problem(change).contains(expected), "{expected}: {}", problem(change));
        }
        let extreme = HostConfig {
            largest_packet: 65_507,
            block_symbols: 56_403,
            max_session_bytes: 43_000_000,
            ..HostConfig::new(Protection::None)
        };
        assert_eq!(extreme.validate(), Ok(()));
    }
}
