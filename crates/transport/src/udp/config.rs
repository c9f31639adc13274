//! UDP's parameters, with their ranges and sources.

use crate::config::{ConfigError, LARGEST_PACKET, check_packet, check_time};
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most urgent priority is 0; switches have eight.
const LAST_PRIORITY: u8 = 7;

/// Parameters of UDP. Both ends of a transfer must have the same `packet` and `header`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UdpConfig {
    /// A full packet on the wire, headers included: more than `header`, at most 65535 B. Default 1500 B, as the other
    /// transports.
    pub packet: Bytes,
    /// Headers of every packet: 1 B or more. Default 28 B (IPv4 and UDP); the payload of a full packet is
    /// `packet - header`.
    pub header: Bytes,
    /// Priority of all packets in multi-level queues, 0 (the highest, the default) to 7.
    pub priority: u8,
    /// Whether packets say that congestion may be marked instead of dropping them (RFC 3168). The sender does nothing
    /// about marks. Default false.
    pub ect: bool,
    /// How long after its last packet a sender takes what has not arrived for lost; the run waits for it no longer. Above 0,
    /// at most 100 s, and longer than packets wait in the host's queue and on their way. Default 1 s.
    pub linger: Duration,
}

impl Default for UdpConfig {
    fn default() -> Self {
        Self { packet: Bytes(1500), header: Bytes(28), priority: 0, ect: false, linger: Duration::from_secs(1) }
    }
}

impl UdpConfig {
    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        if self.priority > LAST_PRIORITY {
            let problem = format!("{} is not 0 to {LAST_PRIORITY}", self.priority);
            return Err(ConfigError { field: "priority", problem });
        }
        check_time("linger", self.linger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_impossible_value_is_named() {
        assert_eq!(UdpConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut UdpConfig)| {
            let mut cfg = UdpConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(28)), "packet");
        assert_eq!(bad(|c| c.packet = Bytes(65_536)), "packet");
        assert_eq!(bad(|c| c.priority = 8), "priority");
        assert_eq!(bad(|c| c.linger = Duration::ZERO), "linger");
        assert_eq!(bad(|c| c.linger = Duration::from_secs(101)), "linger");
    }
}
