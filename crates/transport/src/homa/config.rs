//! Homa's parameters, with their ranges and sources.

use super::priorities::{MOST, Priorities, equal_cutoffs, share};
use crate::config::{ConfigError, LARGEST_PACKET, check_packet, check_time};
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most messages that are granted at once.
const MOST_GRANTED: u8 = 64;

/// Parameters of Homa (SIGCOMM 2018). Both ends of a message must have the same. The defaults are for links of 10 Gbps and round trips of 7.75 us,
/// as in the paper's simulations (§5.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HomaConfig {
    /// A full data packet on the wire, all headers included. More than `header`, at most 65535 B. Default 1500 B.
    pub packet: Bytes,
    /// Headers of a data packet, and all of a GRANT, RESEND, BUSY or acknowledgement. At least 1 B. Default 58 B: `HomaSimulation`'s full packets
    /// carry 1442 B of 1500 B.
    pub header: Bytes,
    /// `RTTbytes`: bytes of a message that are granted and have not arrived, rounded up to full packets. Above 0, at most 1 GB. Default 9.7 KB,
    /// what 10 Gbps carry in a round trip of 7.75 us (§5.2).
    pub rtt_bytes: Bytes,
    /// Bytes that a message begins with unasked, rounded up to full packets. Above 0, at most 1 GB. Default: those of `rtt_bytes` (§3.2). The paper's
    /// incast control (§3.6) has a few hundred bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscheduled_bytes: Option<Bytes>,
    /// Priorities of the switches that are used, 1 to 8; with 1, scheduled and unscheduled bytes share it. Default 8 (§5.2).
    #[schemars(range(min = 1, max = 8))]
    pub priorities: u8,
    /// How many of these are for unscheduled bytes, the highest: 1 to `priorities - 1`. Default: their share of all bytes of the messages of the run, as in
    /// §3.4; or as many as `unscheduled_cutoffs` separate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscheduled_priorities: Option<u8>,
    /// Sizes of messages after which the next lower unscheduled priority begins: strictly increasing, fewer than there are unscheduled priorities.
    /// Default: those that divide the unscheduled bytes of the messages of the run equally (§3.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscheduled_cutoffs: Option<Vec<Bytes>>,
    /// Messages that a receiver grants to at once, each from another sender: the shortest by what has not arrived. 1 to 64. Default: as many as there
    /// are scheduled priorities (§3.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overcommitment: Option<u8>,
    /// Silence after which a receiver asks again for what it has granted; after twice as much, a sender that has sent all that it may asks whether it has
    /// arrived. Above zero. Default 5 ms (`HomaModule`, `resend_ticks`; the paper has "a few milliseconds", §3.7).
    pub resend_timeout: Duration,
    /// Such timeouts in a row, with nothing from the other end in between, after which an end gives up. At least 1. Default 1000, so that congestion alone
    /// ends no message; `HomaModule` gives a peer up after 100 ms (`timeout_ticks`), which are 20.
    pub retries: u32,
    /// How long a receiver that has everything still answers, counted from the last arrival. More than twice `resend_timeout`, after which a sender asks
    /// whether its message has arrived; at most 100 s. Default 500 ms.
    pub linger: Duration,
}

impl Default for HomaConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(58),
            rtt_bytes: Bytes(9700),
            unscheduled_bytes: None,
            priorities: MOST,
            unscheduled_priorities: None,
            unscheduled_cutoffs: None,
            overcommitment: None,
            resend_timeout: Duration::from_ms(5),
            retries: 1000,
            linger: Duration::from_ms(500),
        }
    }
}

impl HomaConfig {
    /// Application bytes in a full packet. At least 1 in a valid configuration.
    pub fn payload(&self) -> u64 {
        self.packet.0.saturating_sub(self.header.0)
    }

    /// Packets of a message that are on their way at most.
    pub(super) fn window(&self) -> u64 {
        self.rtt_bytes.0.div_ceil(self.payload())
    }

    /// Packets that a message begins with unasked.
    pub(super) fn unscheduled(&self) -> u64 {
        self.unscheduled_bytes.unwrap_or(self.rtt_bytes).0.div_ceil(self.payload())
    }

    /// The same with all decided that follows the sizes of the messages (§3.4: receivers measure them; in the paper's simulations they are known
    /// beforehand). `sizes` are those of the messages to come, `u64::MAX` of one without end.
    pub fn for_sizes(&mut self, sizes: &mut dyn Iterator<Item = u64>) {
        if self.unscheduled_cutoffs.is_some() {
            return;
        }
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        let blind = self.unscheduled() * self.payload();
        let levels = match self.unscheduled_priorities {
            None if self.priorities > 1 => share(self.priorities, &sizes, blind),
            given => given.unwrap_or(1),
        };
        let cutoffs = equal_cutoffs(levels, &sizes, blind);
        (self.unscheduled_priorities, self.unscheduled_cutoffs) =
            (Some(levels), Some(cutoffs.into_iter().map(Bytes).collect()));
    }

    /// The priorities of its packets. Where nothing is known of sizes, all unscheduled bytes have the highest.
    pub fn priorities(&self) -> Priorities {
        let cutoffs = self.unscheduled_cutoffs.as_deref().unwrap_or_default();
        let unscheduled = self.unscheduled_priorities.unwrap_or(cutoffs.len() as u8 + 1);
        Priorities::new(self.priorities, unscheduled, cutoffs.iter().map(|cutoff| cutoff.0))
    }

    /// Messages that a receiver grants to at once.
    pub(super) fn granted_at_once(&self) -> u8 {
        self.overcommitment.unwrap_or_else(|| self.priorities().levels())
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        check_packet(self.packet, self.header, LARGEST_PACKET)?;
        let most = Bytes(1_000_000_000);
        for (field, bytes) in [("rtt_bytes", Some(self.rtt_bytes)), ("unscheduled_bytes", self.unscheduled_bytes)] {
            if let Some(bytes) = bytes.filter(|bytes| bytes.0 == 0 || *bytes > most) {
                return fail(field, format!("{bytes} is not above zero and at most {most}"));
            }
        }
        self.validate_priorities()?;
        if let Some(messages) = self.overcommitment.filter(|n| !(1..=MOST_GRANTED).contains(n)) {
            return fail("overcommitment", format!("{messages} is not 1 to {MOST_GRANTED} messages"));
        }
        for (field, time) in [("resend_timeout", self.resend_timeout), ("linger", self.linger)] {
            check_time(field, time)?;
        }
        let (linger, silence) = (self.linger, self.resend_timeout * 2);
        if linger <= silence {
            let asks = "after which a sender asks whether all has arrived";
            return fail("linger", format!("{linger} is not above twice resend_timeout, {silence}, {asks}"));
        }
        if self.retries == 0 {
            return fail("retries", "must be at least 1".into());
        }
        Ok(())
    }

    fn validate_priorities(&self) -> Result<(), ConfigError> {
        let fail = |field, problem: String| Err(ConfigError { field, problem });
        let all = self.priorities;
        if !(1..=MOST).contains(&all) {
            return fail("priorities", format!("{all} is not 1 to {MOST}"));
        }
        let most = all.saturating_sub(1).max(1);
        if let Some(own) = self.unscheduled_priorities.filter(|own| !(1..=most).contains(own)) {
            return fail(
                "unscheduled_priorities",
                format!("{own} of {all} is not 1 to {most}: scheduled bytes need one, too"),
            );
        }
        let Some(cutoffs) = &self.unscheduled_cutoffs else { return Ok(()) };
        let levels = self.unscheduled_priorities.unwrap_or(most);
        if cutoffs.len() >= usize::from(levels) {
            let given = cutoffs.len();
            return fail(
                "unscheduled_cutoffs",
                format!("{given} cutoffs make {} priorities of at most {levels}", given + 1),
            );
        }
        if let Some([low, high]) = cutoffs.windows(2).find(|pair| pair[0] >= pair[1]) {
            return fail(
                "unscheduled_cutoffs",
                format!("{high} does not exceed {low} before it; expected each to exceed the one before"),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_each_impossible_value_is_named() {
        assert_eq!(HomaConfig::default().validate(), Ok(()));
        let bad = |change: fn(&mut HomaConfig)| {
            let mut cfg = HomaConfig::default();
            change(&mut cfg);
            cfg.validate().unwrap_err().field
        };
        assert_eq!(bad(|c| c.header = Bytes(0)), "header");
        assert_eq!(bad(|c| c.packet = Bytes(58)), "packet");
        assert_eq!(bad(|c| c.packet = Bytes(65_536)), "packet");
        assert_eq!(bad(|c| c.rtt_bytes = Bytes(0)), "rtt_bytes");
        assert_eq!(bad(|c| c.unscheduled_bytes = Some(Bytes(0))), "unscheduled_bytes");
        assert_eq!(bad(|c| c.priorities = 0), "priorities");
        assert_eq!(bad(|c| c.priorities = 9), "priorities");
        assert_eq!(bad(|c| c.unscheduled_priorities = Some(8)), "unscheduled_priorities");
        assert_eq!(bad(|c| c.unscheduled_priorities = Some(0)), "unscheduled_priorities");
        assert_eq!(bad(|c| c.unscheduled_cutoffs = Some(vec![Bytes(5), Bytes(5)])), "unscheduled_cutoffs");
        assert_eq!(bad(|c| c.unscheduled_cutoffs = Some((0..7).map(Bytes).collect())), "unscheduled_cutoffs");
        assert_eq!(bad(|c| c.overcommitment = Some(0)), "overcommitment");
        assert_eq!(bad(|c| c.overcommitment = Some(65)), "overcommitment");
        assert_eq!(bad(|c| c.resend_timeout = Duration::ZERO), "resend_timeout");
        assert_eq!(bad(|c| c.linger = Duration::from_secs(101)), "linger");
        assert_eq!(bad(|c| c.linger = Duration::from_ms(10)), "linger", "a sender asks after 10 ms");
        assert_eq!(bad(|c| c.retries = 0), "retries");
        let mut one = HomaConfig { priorities: 1, unscheduled_priorities: Some(1), ..HomaConfig::default() };
        assert_eq!(one.validate(), Ok(()));
        one.for_sizes(&mut [1, 2, 3].into_iter());
        assert_eq!((one.unscheduled_cutoffs.as_deref(), one.validate()), (Some([].as_slice()), Ok(())));
    }

    #[test]
    fn what_follows_the_sizes_is_valid_and_what_is_given_stays() {
        let mut config = HomaConfig::default();
        config.for_sizes(&mut (1..10_000).rev().map(|n| n * 7));
        assert_eq!(config.validate(), Ok(()));
        let (levels, cutoffs) = (config.unscheduled_priorities.unwrap(), config.unscheduled_cutoffs.clone().unwrap());
        // 10 094 B of 35 kB on average: 0.27 of the bytes.
        assert_eq!((levels, cutoffs.len(), config.granted_at_once()), (2, 1, 6));
        let mut given =
            HomaConfig { unscheduled_cutoffs: Some(vec![Bytes(200), Bytes(5000)]), ..HomaConfig::default() };
        given.for_sizes(&mut [1, 1 << 30].into_iter());
        assert_eq!(
            (given.unscheduled_cutoffs.clone(), given.granted_at_once()),
            (Some(vec![Bytes(200), Bytes(5000)]), 5)
        );
        let mut split = HomaConfig { unscheduled_priorities: Some(6), ..HomaConfig::default() };
        split.for_sizes(&mut (1..1000).map(|n| n * n));
        assert_eq!((split.unscheduled_cutoffs.as_ref().map(Vec::len), split.priorities().levels()), (Some(5), 2));
    }
}
