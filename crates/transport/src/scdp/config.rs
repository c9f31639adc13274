//! Parameters of SCDP.

use super::straggler::Straggler;
use crate::PriorityBy;
use crate::demotion;
use crate::{Bytes, ConfigError, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum source symbols of a block: RFC 6330 §5.1.2.
pub const MAX_BLOCK_SYMBOLS: u32 = 56_403;

/// Timeouts double up to this many times the first.
pub(super) const LONGEST_TIMEOUT: u64 = 64;

/// Parameters of SCDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScdpConfig {
    /// A full symbol packet on the wire, up to 65535 B. SCDP §V: MTU-sized, 1500 B.
    pub packet: Bytes,
    /// IP, UDP and SCDP headers: also the size of a pull and of a trimmed symbol. At least 36 B, below `packet`.
    pub header: Bytes,
    /// Symbols that a sender of a unicast or one-to-many session pushes before the first pull, 1 to 65535. SCDP §V: 12.
    pub initial_window: u32,
    /// The same for each sender of a many-to-one session. SCDP §V: 6.
    pub initial_window_many_to_one: u32,
    /// How a receiver sets its window, the number of symbols in flight to it. Both ends of a session must agree.
    pub window_control: WindowControl,
    /// Largest window for each sender, in symbols, where the receiver sets the window itself, 4 to 65535.
    pub window_limit: u32,
    /// Symbols that hosts send and receive in one batch (offloads, coarse timers), 1 to 65535. A receiver of one sender that sets its window itself
    /// allows up to three times as many in flight, whatever round trip it measures.
    pub host_batch: u32,
    /// Symbols are ECN-capable (RFC 3168): switches may mark them, which lowers windows that the receiver sets itself.
    pub ecn: bool,
    /// Where receivers set windows themselves: symbols of one-to-many sessions are ECN-capable, too. One marked branch of a tree slows the whole
    /// group down. Default: true.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub ecn_in_groups: bool,
    /// Maximum symbols of a source block, 1 to 56403 (RFC 6330 §5.1.2). SCDP §V: 100.
    pub block_symbols: u32,
    /// Symbols beyond K that a block needs once it has lost one (o). SCDP §IV-C: 2.
    pub overhead: u32,
    /// How the senders of a many-to-one session avoid sending the same repair symbol.
    pub repair: Repair,
    /// Bytes of a session after which its symbols are demoted to the next lower priority: strictly increasing, at most 7. SCDP §V.
    pub priority_thresholds: Vec<Bytes>,
    /// What determines the priority: the bytes sent so far, or the size of the flow.
    pub priority_by: PriorityBy,
    /// When a receiver's pulls may leave. Default: `link`.
    #[serde(skip_serializing_if = "PullPacing::is_default")]
    pub pull_pacing: PullPacing,
    /// Symbols that a receiver of one sender asks for in one pull, 1 to 65535, but at most half of its window: a pull says how many symbols are
    /// wanted (SCDP §IV-A), and may bring several (§IV-C). All receivers of a group pull, and their pulls share the sender's link. One of several
    /// senders is asked for one. Default: 1; with `transport.window = "bdp"`, so many that the pulls of the largest group take half of that link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols_per_pull: Option<u32>,
    /// Minimum silence after which a receiver repeats a pull: longer where measured round trips are longer
    /// (RFC 6298); doubled, up to 64 times this value, while the silence lasts. SCDP §IV-B speaks of "a simple timeout mechanism"
    /// without a value.
    pub pull_timeout: Duration,
    /// Minimum silence after which a sender probes a receiver that is not known to be complete, by repeating a symbol; doubled likewise.
    /// Longer for a receiver whose pulls have come at longer intervals.
    pub probe_timeout: Duration,
    /// How long a complete receiver still answers symbols that arrive.
    pub linger: Duration,
    /// Later symbols from the same sender that may overtake a missing symbol before it counts as lost; 0: only timeouts detect loss.
    pub reorder_tolerance: u32,
    /// Consecutive timeouts after which an end gives its peer up, at least 1. A one-to-many sender continues with the others.
    pub retries: u32,
    /// Silence after which a peer is given up, whatever the number of timeouts: a receiver by its sender, or all senders by their
    /// receiver. Above 0, and well above both timeouts doubled a few times. Default: only `retries` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub give_up_after: Option<Duration>,
    /// What a one-to-many sender does about receivers that hold the others back. SCDP §IV-D leaves it to the application.
    pub straggler: Straggler,
}

/// How a receiver sets its window, the number of symbols in flight to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowControl {
    /// Always the initial window, as in SCDP §IV-C: for switches that trim.
    #[default]
    Fixed,
    /// Twice the bandwidth-delay product, with the shortest round trip, and less where more than 2 % are lost; after BBR (ACM Queue 14(5), 2016)
    /// and its version 2: for switches that drop.
    Bbr,
}

/// When a receiver's pulls may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullPacing {
    /// In the turns of a queue that all sessions of a host share, at the rate of its link (NDP §3.2, SCDP §IV-C).
    #[default]
    Link,
    /// As symbols arrive; once one was trimmed, at a rate that falls with the share of symbols that are trimmed, and grows otherwise. For hosts that
    /// know neither the bottleneck nor its rate.
    Arrivals,
}

impl PullPacing {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How senders of the same object divide repair symbols among them. Source symbols are always divided evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// Sender `s` of `n` sends those whose number is `s` modulo `n` (SCDP §IV-E: coordination).
    #[default]
    Partitioned,
    /// Each starts at a random number of its own, so that they are statistically unique (SCDP §IV-E: randomness; Polyraptor).
    Random,
}

/// For a single session. Sessions with the same parameters share one, which saves memory and stays in the cache.
impl From<&ScdpConfig> for Arc<ScdpConfig> {
    fn from(config: &ScdpConfig) -> Self {
        Self::new(config.clone())
    }
}

impl Default for ScdpConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(64),
            initial_window: 12,
            initial_window_many_to_one: 6,
            window_control: WindowControl::Fixed,
            window_limit: 8192,
            host_batch: 1,
            ecn: false,
            ecn_in_groups: true,
            block_symbols: 100,
            overhead: 2,
            repair: Repair::Partitioned,
            priority_thresholds: [10_000, 100_000, 1_000_000, 10_000_000].map(Bytes).to_vec(),
            priority_by: PriorityBy::Sent,
            pull_pacing: PullPacing::Link,
            symbols_per_pull: None,
            pull_timeout: Duration::from_ms(2),
            probe_timeout: Duration::from_ms(8),
            linger: Duration::from_ms(200),
            reorder_tolerance: 24,
            retries: 1000,
            give_up_after: None,
            straggler: Straggler::default(),
        }
    }
}

impl ScdpConfig {
    /// T: bytes of a symbol.
    pub fn symbol_bytes(&self) -> u64 {
        self.packet.0 - self.header.0
    }

    /// The largest object that can be cut into blocks.
    pub fn max_object_bytes(&self) -> u64 {
        let symbols = u64::from(MAX_BLOCK_SYMBOLS) * u64::from(u32::MAX - 1);
        symbols.saturating_mul(self.symbol_bytes()).min(u64::MAX - 1)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let error = |field, problem: String| Err(ConfigError { field, problem });
        if self.packet.0 > u64::from(u16::MAX) {
            return error("packet", format!("{} is more than 65535B", self.packet));
        }
        if self.header.0 < 36 {
            return error("header", format!("{} is less than SCDP's own 36B", self.header));
        }
        if self.header >= self.packet {
            return error(
                "header",
                format!("{} leaves no room for a symbol in packets of {}", self.header, self.packet),
            );
        }
        for (field, window) in
            [("initial_window", self.initial_window), ("initial_window_many_to_one", self.initial_window_many_to_one)]
        {
            if !(1..=u32::from(u16::MAX)).contains(&window) {
                return error(field, format!("{window} is not from 1 to 65535"));
            }
        }
        if !(4..=u32::from(u16::MAX)).contains(&self.window_limit) {
            return error("window_limit", format!("{} is not from 4 to 65535", self.window_limit));
        }
        if !(1..=u32::from(u16::MAX)).contains(&self.host_batch) {
            return error("host_batch", format!("{} is not from 1 to 65535", self.host_batch));
        }
        if let Some(symbols) = self.symbols_per_pull
            && !(1..=u32::from(u16::MAX)).contains(&symbols)
        {
            return error("symbols_per_pull", format!("{symbols} is not from 1 to 65535"));
        }
        if !(1..=MAX_BLOCK_SYMBOLS).contains(&self.block_symbols) {
            return error("block_symbols", format!("{} is not from 1 to 56403", self.block_symbols));
        }
        if self.overhead > 1000 {
            return error("overhead", format!("{} is more than 1000", self.overhead));
        }
        demotion::validate(&self.priority_thresholds)?;
        for (field, time) in [("pull_timeout", self.pull_timeout), ("probe_timeout", self.probe_timeout)] {
            if time == Duration::ZERO {
                return error(field, "must be above 0".into());
            }
        }
        if self.retries == 0 {
            return error("retries", "must be at least 1".into());
        }
        if self.give_up_after == Some(Duration::ZERO) {
            return error("give_up_after", "must be above 0".into());
        }
        self.straggler.validate().or_else(|(field, problem)| error(field, problem))?;
        if self.straggler.needs_give_up_after() && self.give_up_after.is_none() {
            return error("straggler.rule", "lateness with policy wait needs give_up_after".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_faults_are_named() {
        assert_eq!(ScdpConfig::default().validate(), Ok(()));
        let field = |change: fn(&mut ScdpConfig)| {
            let mut config = ScdpConfig::default();
            change(&mut config);
            config.validate().expect_err("out of range").field
        };
        assert_eq!(field(|c| c.initial_window = 0), "initial_window");
        assert_eq!(field(|c| c.header = Bytes(1500)), "header");
        assert_eq!(field(|c| c.priority_thresholds = vec![Bytes(2), Bytes(1)]), "priority_thresholds");
        assert_eq!(field(|c| c.priority_thresholds = vec![Bytes(2), Bytes(2)]), "priority_thresholds");
        assert_eq!(field(|c| c.priority_thresholds = (0..8).map(Bytes).collect()), "priority_thresholds");
        assert_eq!(field(|c| c.window_limit = 3), "window_limit");
        assert_eq!(field(|c| c.host_batch = 0), "host_batch");
        assert_eq!(field(|c| c.symbols_per_pull = Some(0)), "symbols_per_pull");
        assert_eq!(field(|c| c.give_up_after = Some(Duration::ZERO)), "give_up_after");
        assert_eq!(field(|c| c.block_symbols = 56_404), "block_symbols");
        assert_eq!(field(|c| c.straggler.symbols = Some(0)), "straggler.symbols");
        assert_eq!(field(|c| c.straggler.quorum = 0), "straggler.quorum");
    }
}
