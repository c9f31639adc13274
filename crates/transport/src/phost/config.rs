//! pHost's parameters, with their ranges and sources.

use crate::config::{ConfigError, LARGEST_PACKET, check_packet, check_time};
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most packets of a window: a gigabyte of the smallest ones that are usual.
const LONGEST_WINDOW: u32 = 1 << 24;

/// Parameters of pHost (CoNEXT 2015). Both ends of a flow must have the same. Where no other source is named, defaults are those of its authors'
/// simulator (NetSys/simulator, `py/run_experiments.py`), in packet times: what a full packet takes at `rate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhostConfig {
    /// A full data packet on the wire, all headers included. More than `header`, at most 65535 B. Default 1500 B.
    pub packet: Bytes,
    /// Headers of a data packet, and all of an RTS, a token or an ACK. At least 1 B. Default 40 B.
    pub header: Bytes,
    /// Tokens of a flow that are not answered, at most, in packets: the bandwidth-delay product. 1 to 16777216. Default 8.
    pub window: u32,
    /// Flows of at most so many packets begin with a free token for each. Default: `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_tokens: Option<u32>,
    /// How long a token is good for after it has arrived; free ones so much longer than their packets take. Default: 1.5 packet times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_lifetime: Option<Duration>,
    /// How long a receiver turns to others, since its last token, when a whole window of a flow's tokens is not answered; then it tries one. Default:
    /// three windows and one packet time (25 packet times; 151 with the window of 49 that DCPIM's authors use at 100 Gbps).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgrade: Option<Duration>,
    /// How long a receiver waits when it has given a token for each packet of a flow, before it gives others for what has not arrived. Default: a window
    /// and one packet time; after free tokens, twice as long as their packets take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reissue_timeout: Option<Duration>,
    /// Rate of the hosts' links, for the packet times above. Default: that of the slowest link of a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Priorities of the switches that are used: 3, of which the highest is for control packets and the second for flows with free tokens; or 2, so that
    /// all data share one. Default 3.
    #[schemars(range(min = 2, max = 3))]
    pub priorities: u8,
    /// Silence, in which nothing is sent either, after which a sender announces its flow again. Above zero. Default 1 ms. Not in the simulator, which loses
    /// no control packets.
    pub resend_timeout: Duration,
    /// Such timeouts in a row, with nothing from the other end in between, after which an end gives up. At least 1. Default 5000.
    pub retries: u32,
    /// How long a receiver that has everything still answers, counted from the last arrival. More than twice `resend_timeout`; at most 100 s. Default
    /// 500 ms.
    pub linger: Duration,
}

impl Default for PhostConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(40),
            window: 8,
            free_tokens: None,
            token_lifetime: None,
            downgrade: None,
            reissue_timeout: None,
            rate: None,
            priorities: 3,
            resend_timeout: Duration::from_ms(1),
            retries: 5000,
            linger: Duration::from_ms(500),
        }
    }
}

impl PhostConfig {
    /// Whether nothing of it was given.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0)
    }

    /// What a full packet takes. Where the rate is not known, it is that of the paper's fabric.
    fn packet_time(&self) -> Duration {
        self.rate.unwrap_or(Rate::from_gbps(10)).transmit_time(self.packet.0)
    }

    /// Free tokens of a flow of so many packets.
    pub(super) fn free_tokens(&self, packets: u64) -> u64 {
        if packets <= u64::from(self.free_tokens.unwrap_or(self.window)) { packets } else { 0 }
    }

    /// How long a token is good for, and how long so many free ones are.
    pub(super) fn token_lifetime(&self, free: u64) -> Duration {
        let own = self.token_lifetime.unwrap_or(self.packet_time() * 3 / 2);
        own + self.packet_time() * free
    }

    pub(super) fn downgrade(&self) -> Duration {
        self.downgrade.unwrap_or(self.packet_time() * (3 * u64::from(self.window) + 1))
    }

    /// How long a receiver waits for what it has given tokens for, or for the packets of so many free ones.
    pub(super) fn reissue_timeout(&self, free: u64) -> Duration {
        let packets = if free > 0 { 2 * free } else { u64::from(self.window) + 1 };
        self.reissue_timeout.unwrap_or(self.packet_time() * packets)
    }

    /// The priority of the data of a flow of so many packets; that of control packets is 0.
    pub(super) fn priority(&self, packets: u64) -> u8 {
        if self.priorities > 2 && self.free_tokens(packets) == 0 { 2 } else { 1 }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        if !(1..=LONGEST_WINDOW).contains(&self.window) {
            return fail("window", format!("{} is not 1 to {LONGEST_WINDOW} packets", self.window));
        }
        if let Some(free) = self.free_tokens.filter(|&free| free > LONGEST_WINDOW) {
            return fail("free_tokens", format!("{free} is more than {LONGEST_WINDOW} packets"));
        }
        let times = [
            ("token_lifetime", self.token_lifetime),
            ("downgrade", self.downgrade),
            ("reissue_timeout", self.reissue_timeout),
            ("resend_timeout", Some(self.resend_timeout)),
            ("linger", Some(self.linger)),
        ];
        for (field, time) in times {
            time.map_or(Ok(()), |time| check_time(field, time))?;
        }
        if self.rate.is_some_and(|rate| rate.bps() == 0) {
            return fail("rate", "must be above 0".into());
        }
        if !(2..=3).contains(&self.priorities) {
            return fail("priorities", format!("{} is not 2 or 3", self.priorities));
        }
        let (linger, silence) = (self.linger, self.resend_timeout * 2);
        if linger <= silence {
            let asks = "in which a sender asks whether all has arrived";
            return fail("linger", format!("{linger} is not above twice resend_timeout, {silence}, {asks}"));
        }
        if self.retries == 0 {
            return fail("retries", "must be at least 1".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_impossible_value_is_named() {
        assert_eq!(PhostConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut PhostConfig)| {
            let mut cfg = PhostConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(40)), "packet");
        assert_eq!(bad(|c| c.packet = Bytes(65_536)), "packet");
        assert_eq!(bad(|c| c.window = 0), "window");
        assert_eq!(bad(|c| c.free_tokens = Some(u32::MAX)), "free_tokens");
        assert_eq!(bad(|c| c.token_lifetime = Some(Duration::ZERO)), "token_lifetime");
        assert_eq!(bad(|c| c.downgrade = Some(Duration::ZERO)), "downgrade");
        assert_eq!(bad(|c| c.reissue_timeout = Some(Duration::from_secs(101))), "reissue_timeout");
        assert_eq!(bad(|c| c.rate = Some(Rate(0))), "rate");
        assert_eq!(bad(|c| c.priorities = 1), "priorities");
        assert_eq!(bad(|c| c.resend_timeout = Duration::ZERO), "resend_timeout");
        assert_eq!(bad(|c| c.linger = Duration::from_ms(2)), "linger");
        assert_eq!(bad(|c| c.retries = 0), "retries");
    }

    /// The constants of both simulators that have been published, from one rule: 8, 9 and 25 at a window of 8 packets; 49, 51 and 151 at 49, by DCPIM's
    /// authors, is a packet more at one place and three at the other.
    #[test]
    fn times_follow_the_window_and_the_rate() {
        let times = |config: &PhostConfig| {
            let packet = config.packet_time().ps();
            [config.token_lifetime(0), config.reissue_timeout(0), config.downgrade()]
                .map(|time| time.ps() as f64 / packet as f64)
        };
        let ten = PhostConfig::default();
        assert_eq!((ten.packet_time(), times(&ten)), (Duration::from_ns(1200), [1.5, 9.0, 25.0]));
        assert_eq!([8, 9].map(|packets| ten.free_tokens(packets)), [8, 0]);
        assert_eq!(
            (ten.token_lifetime(8), ten.reissue_timeout(3)),
            (Duration::from_ns(11_400), Duration::from_ns(7200))
        );
        let hundred = PhostConfig { window: 49, rate: Some(Rate::from_gbps(100)), ..ten };
        assert_eq!((hundred.packet_time(), times(&hundred)), (Duration::from_ns(120), [1.5, 50.0, 148.0]));
    }
}
