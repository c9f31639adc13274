//! RoCEv2's parameters, with their ranges and sources.

use super::{Congestion, HpccConfig};
use crate::config::{ConfigError, check_packet};
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest packet: an MTU of 4096 B, and headers.
const LARGEST_PACKET: u64 = 9000;

/// What is sent again after a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repeat {
    /// The packet that is missing and all after it (InfiniBand, volume 1, §9.7.5.2.8): receivers keep nothing that is out of order.
    #[default]
    GoBackN,
    /// What is missing (IRN, SIGCOMM 2018, §3.1): receivers keep what comes out of order, and acknowledge each such packet.
    Selective,
}

impl Repeat {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Parameters of RoCEv2. Both ends of a transfer must have the same `packet`, `header`, `ack_every`, `repeat` and `timeout`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoceConfig {
    /// A full packet on the wire, headers included: more than `header`, at most 9000 B. Default 1068 B, an MTU of 1024 B; `"4140B"` has
    /// InfiniBand's largest MTU, 4096 B.
    pub packet: Bytes,
    /// Headers of every packet, and all of an acknowledgement: 1 B or more. Default 44 B: IPv4 20, UDP 8, BTH 12, ICRC 4 (InfiniBand
    /// Annex A17).
    pub header: Bytes,
    /// The receiver acknowledges every so many packets, and the last one of a message; 0: the last one only. Default 1, as in the HPCC
    /// simulator.
    pub ack_every: u32,
    /// Time after which the sender goes back if nothing is acknowledged: 1 us to 100 s. Default 4.194304 ms, InfiniBand's local ACK timeout
    /// 4.096 us x 2^n with n = 10 (volume 1, §9.7.6.1.3).
    pub timeout: Duration,
    /// Timeouts in a row after which a sender gives up. Default 7, the most that InfiniBand's three bits can say.
    pub retries: u32,
    /// What is sent again after a gap. Default `go-back-n`.
    #[serde(skip_serializing_if = "Repeat::is_default")]
    pub repeat: Repeat,
    /// Pace of each connection. Default: as fast as the host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Congestion control, which another name in scenarios adds. Senders then begin at `rate`, or at that of their host's link.
    #[serde(skip)]
    pub congestion: Option<Congestion>,
}

impl Default for RoceConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1068),
            header: Bytes(44),
            ack_every: 1,
            timeout: Duration::from_ns(4096 << 10),
            retries: 7,
            repeat: Repeat::default(),
            rate: None,
            congestion: None,
        }
    }
}

impl RoceConfig {
    /// The same with a congestion control.
    #[must_use]
    pub fn with(&self, congestion: Congestion) -> Self {
        Self { congestion: Some(congestion), ..self.clone() }
    }

    /// What decides when packets leave, in words.
    pub fn driven_by(&self) -> &'static str {
        self.congestion.as_ref().map_or("pauses of switches", Congestion::driven_by)
    }

    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0).max(1)
    }

    /// Its HPCC, if it has that: switches then write into its packets.
    pub fn hpcc(&self) -> Option<&HpccConfig> {
        self.congestion.as_ref().and_then(Congestion::hpcc)
    }

    /// Whether nothing is said: scenarios then leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// How long the end that has heard of all waits for what the other may still ask.
    pub(super) fn linger(&self) -> Duration {
        self.timeout * (u64::from(self.retries) + 1)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        if self.timeout < Duration::from_us(1) || self.timeout > Duration::from_secs(100) {
            return fail("timeout", format!("{} is not from 1us to 100s", self.timeout));
        }
        if self.hpcc().is_some() && self.ack_every != 1 {
            return fail(
                "ack_every",
                format!("must be 1 with HPCC, which goes by every packet, not {}", self.ack_every),
            );
        }
        if self.retries > 1000 {
            return fail("retries", format!("{} is more than 1000", self.retries));
        }
        if self.rate.is_some_and(|rate| rate.bps() == 0) {
            return fail("rate", "must be above 0".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_impossible_value_is_named() {
        assert_eq!(RoceConfig::default().validate(), Ok(()));
        assert_eq!(RoceConfig::default().payload(), 1024);
        let bad = |change: fn(&mut RoceConfig)| {
            let mut cfg = RoceConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(44)), "packet");
        assert_eq!(bad(|c| c.packet = Bytes(9001)), "packet");
        assert_eq!(bad(|c| c.timeout = Duration::ZERO), "timeout");
        assert_eq!(bad(|c| c.timeout = Duration::from_secs(101)), "timeout");
        assert_eq!(bad(|c| c.retries = 1001), "retries");
        assert_eq!(bad(|c| c.rate = Some(Rate(0))), "rate");
        assert_eq!(
            bad(|c| (c.ack_every, c.congestion) = (2, Some(Congestion::Hpcc(HpccConfig::default())))),
            "ack_every"
        );
    }
}
