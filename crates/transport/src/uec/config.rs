//! The parameters, with their ranges and sources.

use crate::config::{ConfigError, LARGEST_PACKET, check_packet, check_time};
use crate::ndp::window::MAX_SPAN;
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest window, in packets.
const LONGEST_WINDOW: u64 = MAX_SPAN / 2;
/// Most bytes that are acknowledged together, if nothing else is said.
const MOST_ACK_BYTES: u64 = 16_384;
/// Most entropies.
const MOST_ENTROPIES: u16 = 4096;
/// The network that Ultra Ethernet's constants are made for (uet-htsim, `UecSrc::initNsccParams`).
pub(super) const REFERENCE_RATE: Rate = Rate(100_000_000_000);
pub(super) const REFERENCE_ROUND_TRIP: Duration = Duration::from_us(12);

/// What decides how much a sender sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// A window of the sender, by round trips and marks (NSCC).
    #[default]
    Nscc,
    /// Credit of the receiver (RCCC).
    Rccc,
    /// Both.
    Both,
    /// Credit of the receiver as in EQDS, what was trimmed first. What the transport `eqds` has.
    Eqds,
}

impl Control {
    /// Whether receivers give credit.
    pub fn has_credit(self) -> bool {
        self != Self::Nscc
    }

    /// Whether senders have a window by round trips and marks.
    pub fn has_window(self) -> bool {
        matches!(self, Self::Nscc | Self::Both)
    }
}

/// How a sender chooses the entropies of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spraying {
    /// All in turn, each round in another order.
    Oblivious,
    /// The same, but those whose packets were marked or trimmed are skipped for some rounds.
    Bitmap,
    /// Those whose packets were acknowledged without a mark are used again, once for each; else one is drawn (REPS).
    Reps,
    /// As `reps`, and where nothing can be used again, as `bitmap`: uet-htsim's default.
    Mixed,
}

/// Parameters of Ultra Ethernet's transport and of EQDS. Both ends of a connection must have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UecConfig {
    /// A full data packet on the wire, all headers included. More than `header`, at most 65535 B. Default 1500 B; uet-htsim has 4150 B,
    /// csg-htsim's EQDS 4160 B.
    pub packet: Bytes,
    /// A trimmed header, an acknowledgement or credit on the wire; the payload of a full packet is `packet - header`. At least 1 B.
    /// Default 64 B.
    pub header: Bytes,
    /// What decides how much a sender sends. Default `nscc`; `eqds` has its own.
    pub control: Control,
    /// How a sender chooses the entropies of its packets. Default `mixed`, and with EQDS `bitmap`.
    pub spraying: Option<Spraying>,
    /// How many entropies a sender has: a power of two, 1 (one path) to 4096. Default 64 (uet-htsim).
    pub entropies: u16,
    /// Packets that a sender sends of its own accord, and most that it ever asks for ahead; with NSCC its first window, which is never
    /// above 1.5 bandwidth-delay products. 1 to 16384. Default: 1.5 bandwidth-delay products of the longest path (uet-htsim).
    pub initial_window: Option<u32>,
    /// Round trip of the network without queues: scales NSCC. Above zero. Default: that of the longest path.
    pub round_trip: Option<Duration>,
    /// Queueing delay that NSCC aims at. Above zero. Default: 0.75 of `round_trip` (uet-htsim, with trimming).
    pub target_delay: Option<Duration>,
    /// Bytes of packets after which a receiver acknowledges; it does so at once if it is asked to, or if a packet was marked. At least 1 B.
    /// Default 16384 B (htsim), or where that is less, a quarter of the bandwidth-delay product of the longest path: a window must not
    /// wait for an acknowledgement.
    pub ack_bytes: Option<Bytes>,
    /// Smallest time without answer, since a packet left its host, after which it is taken for lost; measured round trips lengthen it.
    /// Above zero. Default 100 us (htsim's EQDS).
    pub rto: Duration,
    /// The same before a round trip was measured. Above zero. Default 50 ms, as NDP's in htsim.
    pub rto_initial: Duration,
    /// How long a receiver that has everything still answers late copies. Default 500 ms.
    pub linger: Duration,
    /// Timeouts in a row, with nothing from the peer in between, after which a sender gives up. At least 1. Default 1000.
    pub retries: u32,
    /// Rate of the hosts' links, which the fabric decides.
    #[serde(skip)]
    pub rate: Option<Rate>,
}

impl Default for UecConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(64),
            control: Control::default(),
            spraying: None,
            entropies: 64,
            initial_window: None,
            round_trip: None,
            target_delay: None,
            ack_bytes: None,
            rto: Duration::from_us(100),
            rto_initial: Duration::from_ms(50),
            linger: Duration::from_ms(500),
            retries: 1000,
            rate: None,
        }
    }
}

impl UecConfig {
    /// The same with EQDS's control.
    #[must_use]
    pub fn eqds(&self) -> Self {
        Self { control: Control::Eqds, ..self.clone() }
    }

    /// Whether nothing is said: scenarios then leave it out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0).max(1)
    }

    /// How entropies are chosen.
    pub(super) fn spraying(&self) -> Spraying {
        self.spraying.unwrap_or(if self.control == Control::Eqds { Spraying::Bitmap } else { Spraying::Mixed })
    }

    /// Most rounds that an entropy is skipped for (csg-htsim `EqdsSrc::_max_penalty`; uet-htsim `UecMpBitmap::_max_penalty`).
    pub(super) fn most_skips(&self) -> u8 {
        if self.control == Control::Eqds { 1 } else { 15 }
    }

    /// Rate of the links, and round trip without queues: those of the network that the constants are made for, where nobody says.
    pub(super) fn network(&self) -> (Rate, Duration) {
        (self.rate.unwrap_or(REFERENCE_RATE), self.round_trip.unwrap_or(REFERENCE_ROUND_TRIP))
    }

    /// Bytes that fill the path.
    fn carried(&self) -> u64 {
        let (rate, round_trip) = self.network();
        rate.bytes_in(round_trip)
    }

    /// Packets of the first window.
    pub(super) fn first_window(&self) -> u32 {
        let window = || {
            let packets = (u128::from(self.carried()) * 3).div_ceil(2 * u128::from(self.packet.0.max(1)));
            packets.clamp(1, u128::from(LONGEST_WINDOW)) as u32
        };
        self.initial_window.unwrap_or_else(window)
    }

    /// Bytes of packets after which a receiver acknowledges.
    pub(super) fn ack_bytes(&self) -> u64 {
        self.ack_bytes.map_or_else(|| (self.carried() / 4).clamp(1, MOST_ACK_BYTES), |bytes| bytes.0)
    }

    /// What decides when packets leave, in words.
    pub fn driven_by(&self) -> &'static str {
        match self.control {
            Control::Nscc => "the sender's window",
            Control::Rccc | Control::Eqds => "the receiver's credit",
            Control::Both => "the receiver's credit and the sender's window",
        }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        if !self.entropies.is_power_of_two() || self.entropies > MOST_ENTROPIES {
            let problem = format!("{} is not a power of two from 1 to {MOST_ENTROPIES}", self.entropies);
            return fail("entropies", problem);
        }
        if self.initial_window.is_some_and(|window| !(1..=LONGEST_WINDOW).contains(&u64::from(window))) {
            return fail("initial_window", format!("is not 1 to {LONGEST_WINDOW} packets"));
        }
        if self.ack_bytes == Some(Bytes(0)) {
            return fail("ack_bytes", "must be at least 1 B".into());
        }
        let times = [
            ("round_trip", self.round_trip),
            ("target_delay", self.target_delay),
            ("rto", Some(self.rto)),
            ("rto_initial", Some(self.rto_initial)),
            ("linger", Some(self.linger)),
        ];
        for (field, time) in times {
            time.map_or(Ok(()), |time| check_time(field, time))?;
        }
        if self.target_delay.is_some() && !self.control.has_window() {
            return fail("target_delay", "is NSCC's, and the control here has no window".into());
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
        assert_eq!(UecConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut UecConfig)| {
            let mut cfg = UecConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(64)), "packet");
        assert_eq!(bad(|c| c.entropies = 0), "entropies");
        assert_eq!(bad(|c| c.entropies = 48), "entropies");
        assert_eq!(bad(|c| c.entropies = 8192), "entropies");
        assert_eq!(bad(|c| c.initial_window = Some(0)), "initial_window");
        assert_eq!(bad(|c| c.initial_window = Some(16_385)), "initial_window");
        assert_eq!(bad(|c| c.ack_bytes = Some(Bytes(0))), "ack_bytes");
        assert_eq!(bad(|c| c.round_trip = Some(Duration::ZERO)), "round_trip");
        assert_eq!(bad(|c| c.target_delay = Some(Duration::ZERO)), "target_delay");
        assert_eq!(bad(|c| (c.target_delay, c.control) = (Some(Duration(1)), Control::Rccc)), "target_delay");
        assert_eq!(bad(|c| c.rto = Duration::ZERO), "rto");
        assert_eq!(bad(|c| c.rto_initial = Duration::ZERO), "rto_initial");
        assert_eq!(bad(|c| c.linger = Duration::from_secs(101)), "linger");
        assert_eq!(bad(|c| c.retries = 0), "retries");
    }

    #[test]
    fn the_first_window_is_one_and_a_half_times_what_the_path_carries() {
        // 100 Gbps in 12 us: 150 000 B.
        assert_eq!(UecConfig::default().first_window(), 150);
        let slow = UecConfig { rate: Some(Rate(1_000_000_000)), ..UecConfig::default() };
        assert_eq!(slow.first_window(), 2, "1.5 packets");
        assert_eq!([UecConfig::default().ack_bytes(), slow.ack_bytes()], [16_384, 375]);
        assert_eq!(UecConfig { initial_window: Some(50), ..slow }.first_window(), 50);
    }
}
