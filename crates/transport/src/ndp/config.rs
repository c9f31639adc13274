//! NDP's parameters, with their ranges and sources.

use crate::PriorityBy;
use crate::config::{ConfigError, LARGEST_PACKET, check_packet, check_time};
use crate::demotion;
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest initial window, in packets: half of what a sender keeps unacknowledged at most.
const LONGEST_WINDOW: u32 = super::window::MAX_SPAN as u32 / 2;

/// How one sender serves several receivers by multicast, where what one of them has lost must be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Multicast {
    /// To all, when all have pulled.
    #[default]
    RepeatToAll,
    /// To that one, when it has pulled.
    RepeatToOne,
}

/// Parameters of NDP. Both ends of a connection must have the same `packet` and `header`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NdpConfig {
    /// A full data packet on the wire, all headers included. More than `header`, at most 65535 B. SCDP §V: one MTU,
    /// 1500 B (the NDP paper itself prefers 9 KB jumbograms, NDP §3).
    pub packet: Bytes,
    /// A trimmed header, an ACK, a NACK or a PULL on the wire; the payload of a full packet is `packet - header`.
    /// At least 1 B. 64 B: the smallest Ethernet frame (NDP §3.1).
    pub header: Bytes,
    /// Packets that a sender pushes unasked, and that the receiver then keeps asked for. 1 to 16384.
    /// SCDP §V: 12 packets.
    pub initial_window: u32,
    /// Smallest time without ACK or NACK, since a packet left its host, after which it is taken for lost; measured round
    /// trips lengthen it. Above zero. NDP §3.2: very short, 1 ms, because queues are.
    pub rto: Duration,
    /// The same before a round trip was measured, and at the receiver instead of `pull_timeout`; not less than these. Above
    /// zero. htsim's NDP experiments wait 50 ms, "to avoid spurious retransmits".
    pub rto_initial: Duration,
    /// Smallest time without an answer after which the receiver takes a pull, or the packet that it pulled, for lost;
    /// measured round trips lengthen it. Before one was measured, the receiver repeats its last pull after `rto_initial`, which
    /// asks for nothing new. Above zero. Not in the paper, which has only the sender's timer.
    pub pull_timeout: Duration,
    /// How long a receiver that has everything still answers late copies before it reports `Closed`; counted from
    /// the last arrival. Should be many times `rto_initial`, or 8 `rto` if that is longer: what a sender pauses before it knows
    /// a round trip. NDP §3.2 keeps time-wait
    /// state for the maximum segment lifetime.
    pub linger: Duration,
    /// Timeouts in a row, with nothing from the peer in between, after which an end gives up. The pauses double, up to
    /// eight times the first; before a round trip is known none is shorter than `rto_initial`. A sender to several waits for
    /// half of the least time that this takes a receiver. At least 1. Not in the paper.
    pub retries: u32,
    /// Whether switches return to the sender the headers that they cannot queue (NDP §3.2), and senders act on it.
    pub return_to_sender: bool,
    /// One-to-many sessions by multicast: each receiver pulls, a packet leaves for all when all have pulled, and what one of them has lost is sent again, to all or
    /// to that one. Default: none; connections carry them, as `fallback` says. Not in the papers, and only in simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<Multicast>,
    /// Bytes of an object after which its packets fall to the next lower priority (NDP+ of SCDP §V): strictly
    /// increasing, at most 7. Empty: one priority, except in `ndp+`, which then takes those of `transport.scdp`. SCDP §V:
    /// 10 KB, 100 KB, 1 MB, 10 MB.
    pub priority_thresholds: Vec<Bytes>,
    /// What priorities follow: the bytes sent, or the size of the flow.
    pub priority_by: PriorityBy,
}

impl Default for NdpConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(64),
            initial_window: 12,
            rto: Duration::from_ms(1),
            rto_initial: Duration::from_ms(50),
            pull_timeout: Duration::from_ms(1),
            linger: Duration::from_ms(500),
            retries: 1000,
            return_to_sender: false,
            multicast: None,
            priority_thresholds: Vec::new(),
            priority_by: PriorityBy::Sent,
        }
    }
}

impl NdpConfig {
    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        if !(1..=LONGEST_WINDOW).contains(&self.initial_window) {
            return fail("initial_window", format!("{} is not 1 to {LONGEST_WINDOW} packets", self.initial_window));
        }
        for (field, time) in [
            ("rto", self.rto),
            ("rto_initial", self.rto_initial),
            ("pull_timeout", self.pull_timeout),
            ("linger", self.linger),
        ] {
            check_time(field, time)?;
        }
        if self.retries == 0 {
            return fail("retries", "must be at least 1".into());
        }
        demotion::validate(&self.priority_thresholds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_impossible_value_is_named() {
        assert_eq!(NdpConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut NdpConfig)| {
            let mut cfg = NdpConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(64)), "packet");
        assert_eq!(bad(|c| c.packet = Bytes(65_536)), "packet");
        assert_eq!(bad(|c| c.initial_window = 0), "initial_window");
        assert_eq!(bad(|c| c.initial_window = 16_385), "initial_window");
        assert_eq!(bad(|c| c.rto = Duration::ZERO), "rto");
        assert_eq!(bad(|c| c.rto_initial = Duration::ZERO), "rto_initial");
        assert_eq!(bad(|c| c.pull_timeout = Duration::ZERO), "pull_timeout");
        assert_eq!(bad(|c| c.linger = Duration::from_secs(101)), "linger");
        assert_eq!(bad(|c| c.retries = 0), "retries");
        assert_eq!(bad(|c| c.priority_thresholds = vec![Bytes(2), Bytes(2)]), "priority_thresholds");
        assert_eq!(bad(|c| c.priority_thresholds = (0..8).map(Bytes).collect()), "priority_thresholds");
    }
}
