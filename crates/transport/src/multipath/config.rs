//! Parameters of transports with several connections, where they differ from TCP's.

use super::header::MAX_SUBFLOWS;
use super::session::Scheduler;
use super::subflows::Subflows;
use crate::config::ConfigError;
use crate::tcp::{Algorithm, TcpConfig};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The congestion control of each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubflowControl {
    /// TCP Reno (RFC 5681).
    Reno,
    /// TCP NewReno (RFC 6582).
    Newreno,
    /// TCP CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// Linked increases (RFC 6356).
    Lia,
    /// Opportunistic linked increases (Khalili et al. 2012).
    Olia,
}

impl SubflowControl {
    fn algorithm(self) -> Algorithm {
        match self {
            Self::Reno => Algorithm::Reno,
            Self::Newreno => Algorithm::NewReno,
            Self::Cubic => Algorithm::Cubic,
            Self::Dctcp => Algorithm::Dctcp,
            Self::Lia => Algorithm::Lia,
            Self::Olia => Algorithm::Olia,
        }
    }
}

/// Which of MPTCP's subflows gets the next segment, of those whose windows have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MptcpScheduler {
    /// The one with the shortest smoothed round-trip time.
    #[default]
    MinRtt,
    /// Each in its turn.
    RoundRobin,
}

/// Parameters of the Front-Back algorithm over TCP (Song 2017, chapter 4). All others are those of `transport.tcp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FrontBackConfig {
    /// TCP connections of a session: a number from 1 to 64; `"all"`: as many as there are shortest paths between its ends; or a part of
    /// these, rounded up, as `"1/2"` (Song's `MDNVRk` with k = 2) or `"3/4"` (k = 4/3). 64 at most. Default 2.
    pub subflows: Subflows,
    /// How a block is divided among them. Default `front-back`.
    pub scheduler: Scheduler,
    /// Congestion control of each. Default `reno`. `lia` and `olia` couple them.
    pub congestion: SubflowControl,
}

impl Default for FrontBackConfig {
    fn default() -> Self {
        Self { subflows: Subflows::Count(2), scheduler: Scheduler::FrontBack, congestion: SubflowControl::Reno }
    }
}

impl FrontBackConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.subflows.validate()
    }

    /// With TCP as in `tcp`.
    pub fn over(&self, tcp: &TcpConfig) -> MultipathConfig {
        // Front-Back and Divide mark where a stream continues when it jumps; with round robin each segment says where it belongs.
        let offset = if self.scheduler == Scheduler::RoundRobin { OFFSET } else { 0 };
        let options = Options { data: offset, ..Options::default() };
        MultipathConfig::new(Policy::FrontBack(self.scheduler), self.subflows, self.congestion, options, tcp)
    }
}

/// Parameters of MPTCP (RFC 8684). All others are those of `transport.tcp`; of these `receive_window` is the connection's, shared by
/// its subflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MptcpConfig {
    /// Subflows of a connection: a number from 1 to 64; `"all"`: as many as there are shortest paths between its ends; or a part of
    /// these, rounded up, as `"1/2"`. 64 at most. Default 4.
    pub subflows: Subflows,
    /// Which subflow gets the next segment. Default `min-rtt` (Linux).
    pub scheduler: MptcpScheduler,
    /// When the receive window is full, send the oldest unacknowledged data again, once, on a subflow that has room (Raiciu et al. 2012,
    /// §4.2, mechanism 1). Default false, as in Linux since 5.6.
    pub opportunistic: bool,
    /// Congestion control of each. Default `lia`; all but `lia` and `olia` are not coupled.
    pub congestion: SubflowControl,
}

impl Default for MptcpConfig {
    fn default() -> Self {
        Self {
            subflows: Subflows::Count(4),
            scheduler: MptcpScheduler::MinRtt,
            opportunistic: false,
            congestion: SubflowControl::Lia,
        }
    }
}

impl MptcpConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.subflows.validate()
    }

    /// With TCP as in `tcp`.
    pub fn over(&self, tcp: &TcpConfig) -> MultipathConfig {
        let policy = Policy::Mptcp { scheduler: self.scheduler, opportunistic: self.opportunistic };
        MultipathConfig::new(policy, self.subflows, self.congestion, MPTCP_OPTIONS, tcp)
    }
}

/// Bytes of an offset in front of each segment's data.
const OFFSET: u32 = 8;

/// Bytes of options by packet, padded to multiples of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// For packets with data, and for the last one of a subflow.
    pub(super) data: u32,
    /// For other packets.
    pub(super) ack: u32,
    /// For the first subflow's SYN and SYN-ACK.
    pub(super) syn: [u32; 2],
    /// For the other subflows' SYN and SYN-ACK.
    pub(super) join: [u32; 2],
}

/// RFC 8684 without checksums. A DSS option has 4 B, with the data ACK 8 B more, with a mapping 14 B more, both of 64 bits, as Linux
/// writes it (§3.3); `MP_CAPABLE` 4 B on the SYN, 12 B on the SYN-ACK (§3.1); `MP_JOIN` 12 B and 16 B (§3.2).
const MPTCP_OPTIONS: Options = Options { data: 28, ack: 12, syn: [4, 12], join: [12, 16] };

/// How data is divided among subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    FrontBack(Scheduler),
    Mptcp { scheduler: MptcpScheduler, opportunistic: bool },
}

/// A transport with several TCP connections: its own parameters and TCP's.
#[derive(Clone, Debug, PartialEq)]
pub struct MultipathConfig {
    /// A full packet on the wire.
    pub packet: Bytes,
    /// Headers of a packet with data, the mapping included.
    pub header: Bytes,
    pub(super) subflows: Subflows,
    pub(super) policy: Policy,
    pub(super) options: Options,
    /// Of each connection. Its `header` is that of a packet with data.
    pub(super) tcp: TcpConfig,
}

impl MultipathConfig {
    fn new(policy: Policy, subflows: Subflows, control: SubflowControl, options: Options, tcp: &TcpConfig) -> Self {
        let header = Bytes(tcp.header.0 + u64::from(options.data));
        let tcp = TcpConfig { header, congestion: control.algorithm(), ..tcp.clone() };
        Self { packet: tcp.packet, header, subflows, policy, options, tcp }
    }

    /// Whether a packet has room for data.
    ///
    /// # Errors
    /// If it has not; the field is TCP's.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let problem = || {
            let (header, options) = (self.bare_header(), self.options.data);
            format!(
                "{} leaves no room for data beside headers of {header}B and {options}B that say where it belongs",
                self.packet
            )
        };
        if self.packet > self.header { Ok(()) } else { Err(ConfigError { field: "packet", problem: problem() }) }
    }

    /// What a receiver accepts beyond what it has acknowledged.
    pub fn receive_window(&self) -> Bytes {
        self.tcp.receive_window
    }

    /// The same from now on.
    pub fn set_receive_window(&mut self, window: Bytes) {
        self.tcp.receive_window = window;
    }

    /// Headers of a packet without options.
    pub(super) fn bare_header(&self) -> u32 {
        self.header.0 as u32 - self.options.data
    }

    /// Connections of a session with `paths` shortest paths between its ends; 0: unknown.
    pub(super) fn subflows(&self, paths: u32) -> usize {
        usize::from(self.subflows.of(paths).min(MAX_SUBFLOWS))
    }

    /// Options of a SYN (0) or SYN-ACK (1) of a subflow.
    pub(super) fn syn_option(&self, subflow: usize, which: usize) -> u32 {
        if subflow == 0 { self.options.syn[which] } else { self.options.join[which] }
    }

    pub(super) fn is_mptcp(&self) -> bool {
        matches!(self.policy, Policy::Mptcp { .. })
    }

    pub(super) fn is_coupled(&self) -> bool {
        matches!(self.tcp.congestion, Algorithm::Lia | Algorithm::Olia)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_carries_less_beside_a_mapping() {
        let tcp = TcpConfig::default();
        assert_eq!(FrontBackConfig::default().over(&tcp).tcp.mss(), 1460);
        let mptcp = MptcpConfig::default().over(&tcp);
        assert_eq!((mptcp.tcp.mss(), mptcp.header, mptcp.bare_header()), (1432, Bytes(68), 40));
        let alternating = FrontBackConfig { scheduler: Scheduler::RoundRobin, ..FrontBackConfig::default() };
        assert_eq!(alternating.over(&tcp).tcp.mss(), 1452);
    }
}
