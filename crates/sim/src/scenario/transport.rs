//! `[transport]`: which transport, and its parameters.

use super::switch::{QueueKind, RoutingMode};
use crate::transport::{Protocol, Transport};
use crate::workload::Fault;
use anabranch_transport::ConfigError;
use anabranch_transport::ndp::NdpConfig;
use anabranch_transport::scdp::ScdpConfig;
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// Receiver-driven and rateless; also one-to-many and many-to-one.
    Scdp,
    /// Receiver-driven over trimming switches.
    Ndp,
    /// TCP NewReno (RFC 6582).
    Newreno,
    /// TCP Reno (RFC 5681).
    Reno,
    /// TCP CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
}

impl TransportName {
    /// As in scenario files and result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scdp => "scdp",
            Self::Ndp => "ndp",
            Self::Newreno => "newreno",
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Dctcp => "dctcp",
        }
    }

    /// The queue discipline that the transport was made for: `switch.queue = "auto"`.
    pub fn queue(self) -> QueueKind {
        match self {
            Self::Scdp => QueueKind::MlfqTrim,
            Self::Ndp => QueueKind::Trim,
            Self::Dctcp => QueueKind::Ecn,
            Self::Newreno | Self::Reno | Self::Cubic => QueueKind::DropTail,
        }
    }

    /// `routing.mode = "auto"`: transports that do not mind reordering spray, TCP hashes flows.
    pub fn routing(self) -> RoutingMode {
        match self {
            Self::Scdp | Self::Ndp => RoutingMode::PerPacket,
            Self::Newreno | Self::Reno | Self::Cubic | Self::Dctcp => RoutingMode::PerFlow,
        }
    }
}

/// Which transport, and the parameters of all of them: a sweep over `transport.name` uses each in its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportConfig {
    /// The transport.
    pub name: TransportName,
    /// Parameters of SCDP.
    #[serde(default)]
    pub scdp: ScdpConfig,
    /// Parameters of NDP.
    #[serde(default)]
    pub ndp: NdpConfig,
    /// Parameters of TCP with any congestion control.
    #[serde(default)]
    pub tcp: TcpConfig,
}

impl TransportConfig {
    /// This transport, all parameters as by default.
    pub fn by_default(name: TransportName) -> Self {
        Self { name, scdp: ScdpConfig::default(), ndp: NdpConfig::default(), tcp: TcpConfig::default() }
    }

    /// What a transport's name stands for, with the parameters given.
    pub fn transport(&self, name: TransportName) -> Transport {
        let tcp = |congestion| Protocol::Tcp(TcpConfig { congestion, ..self.tcp.clone() });
        let protocol = match name {
            TransportName::Scdp => Protocol::Scdp(self.scdp.clone()),
            TransportName::Ndp => Protocol::Ndp(self.ndp.clone()),
            TransportName::Newreno => tcp(Algorithm::NewReno),
            TransportName::Reno => tcp(Algorithm::Reno),
            TransportName::Cubic => tcp(Algorithm::Cubic),
            TransportName::Dctcp => tcp(Algorithm::Dctcp),
        };
        Transport { name: name.name().to_owned(), protocol }
    }

    /// What is wrong with the parameters.
    pub fn check(&self) -> Vec<Fault> {
        let fault = |table: &str, result: Result<(), ConfigError>| {
            result.err().map(|e| Fault::new(format!("{table}.{}", e.field), e.problem))
        };
        [fault("scdp", self.scdp.validate()), fault("ndp", self.ndp.validate()), fault("tcp", self.tcp.validate())]
            .into_iter()
            .flatten()
            .collect()
    }
}
