//! Rates and delays of the layers of a fabric, and the limits that every topology shares.
//!
//! A layer is named by its upper end: `host` links join hosts to edge switches, `aggregation` links join edge (or lower
//! aggregation) switches to aggregation switches, `core` links lead up to core switches or spines.

use super::TopologyError;
use crate::fabric::graph::Level;
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More hosts than any experiment of the field has simulated packet by packet; above it a number is a typing error.
pub const MAX_HOSTS: u64 = 1 << 20;
/// Links of one fabric: 2^24 take about 0.5 GB.
pub const MAX_LINKS: u64 = 1 << 24;
/// Entries of the routing table (switches x edge switches; nodes x hosts where hosts have several links): 2^28 take about
/// 1 GB.
pub const MAX_ROUTES: u64 = 1 << 28;
/// 100 Tbps: a bit then lasts less than the clock's picosecond, and nothing is gained by more.
pub const MAX_RATE: Rate = Rate::from_gbps(100_000);
/// Longest propagation delay, so that sums of delays stay far from the end of the clock.
pub const MAX_DELAY: Duration = Duration::from_secs(1_000);

/// 1 Gbps, the link rate of the SCDP evaluation (SCDP §V).
pub(super) const fn default_rate() -> Rate {
    Rate::from_gbps(1)
}

/// 10 us, the link delay of the SCDP evaluation (SCDP §V).
pub(super) const fn default_delay() -> Duration {
    Duration::from_us(10)
}

/// Links of single layers that differ from the fabric's `rate` and `delay`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// Links between hosts and edge switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<LayerLinks>,
    /// Links up to aggregation switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<LayerLinks>,
    /// Links up to core switches or spines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<LayerLinks>,
}

/// Rate and delay of one layer; what is left out is the fabric's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerLinks {
    /// Bit rate in each direction, above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay, 0 to 1000 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// A rate and a delay that passed their range checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bit rate in each direction.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

impl LinkSpec {
    /// Checks both ranges; `prefix` stands before `rate` and `delay` in an error.
    ///
    /// # Errors
    ///
    /// A rate of zero or above [`MAX_RATE`], a delay above [`MAX_DELAY`].
    pub fn checked(rate: Rate, delay: Duration, prefix: &str) -> Result<Self, TopologyError> {
        if rate.bps() == 0 || rate > MAX_RATE {
            let expected = format!("a bit rate above zero, up to {MAX_RATE}");
            return Err(TopologyError::field(format!("{prefix}rate"), rate, expected));
        }
        if delay > MAX_DELAY {
            let expected = format!("a delay of at most {MAX_DELAY}");
            return Err(TopologyError::field(format!("{prefix}delay"), delay, expected));
        }
        Ok(Self { rate, delay })
    }
}

impl Layers {
    /// No overrides: left out when a configuration is written.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The links that lead up from `level`'s lower neighbour to `level` (`Level::Host`: from hosts to edge switches),
    /// where `base` holds what the layer leaves out.
    pub(super) fn links(&self, level: Level, base: LinkSpec) -> Result<LinkSpec, TopologyError> {
        let layer = self.get(level).unwrap_or_default();
        let prefix = format!("layers.{}.", level.name());
        LinkSpec::checked(layer.rate.unwrap_or(base.rate), layer.delay.unwrap_or(base.delay), &prefix)
    }

    /// Fails if a layer is given that this fabric does not have: it would be ignored in silence.
    pub(super) fn expect_only(&self, present: &[Level]) -> Result<(), TopologyError> {
        for level in [Level::Host, Level::Aggregation, Level::Core] {
            if self.get(level).is_some() && !present.contains(&level) {
                let names: Vec<_> = present.iter().map(|l| l.name()).collect();
                let expected = format!("only layers that this fabric has: {}", names.join(", "));
                return Err(TopologyError::field(format!("layers.{}", level.name()), "given", expected));
            }
        }
        Ok(())
    }

    fn get(&self, level: Level) -> Option<LayerLinks> {
        match level {
            Level::Host => self.host,
            Level::Aggregation => self.aggregation,
            Level::Core => self.core,
            Level::Edge => None,
        }
    }
}

/// Leaf-spine links of which a leaf with `hosts` hosts has `spines`, so that its capacity down is `ratio` times its capacity up. `given`: the key
/// of the layer whose rate a scenario says as well, if it does.
///
/// # Errors
///
/// A ratio out of range, or beside a rate, or that leaves no usable rate.
pub(super) fn oversubscribed(
    ratio: f64,
    (host, hosts): (LinkSpec, u32),
    (up, spines): (LinkSpec, u32),
    given: Option<&str>,
) -> Result<LinkSpec, TopologyError> {
    let error = |expected: String| TopologyError::field("oversubscription", ratio, expected);
    if !(ratio > 0.0 && ratio <= 1000.0) {
        return Err(error("a ratio above zero, up to 1000".to_owned()));
    }
    if let Some(layer) = given {
        return Err(error(format!("only one of it and `layers.{layer}.rate`"))
            .with_hint("drop one of the two: each determines the rate of the leaf-spine links"));
    }
    let rate = f64::from(hosts) * host.rate.bps() as f64 / (f64::from(spines) * ratio);
    LinkSpec::checked(Rate(rate.round() as u64), up.delay, "")
        .map_err(|_| error("a usable rate for the leaf-spine links".to_owned()))
}

/// How large a fabric will be, known before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) hosts: u64,
    /// Nodes that choose among links.
    pub(super) switches: u64,
    /// Switches with hosts.
    pub(super) racks: u64,
    pub(super) links: u64,
}

impl Size {
    /// The size of a fabric whose hosts choose among links of their own, if `choosing`: they have rows and columns in the
    /// routing table, as switches and racks have.
    pub(super) fn with_choosing_hosts(self, choosing: bool) -> Self {
        if choosing {
            Self { switches: self.switches.saturating_add(self.hosts), racks: self.hosts, ..self }
        } else {
            self
        }
    }

    /// Fails if the fabric is beyond the limits; the error names `field` and its value `found`.
    pub(super) fn check(self, field: &str, found: impl std::fmt::Display) -> Result<(), TopologyError> {
        let routes = self.switches.saturating_mul(self.racks);
        let too_large = |what: u64, unit: &str, limit: u64| {
            let expected = format!("a fabric of at most {limit} {unit} (this one would have {what})");
            Err(TopologyError::field(field, &found, expected))
        };
        if self.hosts > MAX_HOSTS {
            too_large(self.hosts, "hosts", MAX_HOSTS)
        } else if self.links > MAX_LINKS {
            too_large(self.links, "links", MAX_LINKS)
        } else if routes > MAX_ROUTES {
            too_large(routes, "routes (switches x edge switches, or nodes x hosts where hosts relay)", MAX_ROUTES)
        } else {
            Ok(())
        }
    }
}
