//! The m-port n-tree FT(m, n) of Lin, Chung and Huang (IPDPS 2004), which Song's thesis uses (Song Definition 1.1).
//!
//! `2 (m/2)^n` hosts and `(2n - 1) (m/2)^(n-1)` switches of `m` ports in `n` tiers. Song asks for `m` a power of two;
//! the construction works for every even `m`. FT(m, 3) is the fat-tree of `k = m` with its cores numbered in another
//! order; FT(m, 2) is a leaf-spine fabric; FT(m, 1) is a single switch.
//!
//! A host is P(p0 p1 ... p(n-1)) with p0 < m and the other digits < m/2; its number is that mixed-radix numeral. A switch
//! is SW(w0 ... w(n-2), l), where l = 0 is the top; it is named by its level and label: `edge3.1@2`, `core0.1@0`.

use super::links::{Size, default_delay, default_rate};
use super::{Layers, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Highest `n`: with m = 2 the tree does not grow in hosts, so that only this bounds it.
const MAX_TIERS: u32 = 16;

/// m-port n-tree FT(m, n): 2 (m/2)^n hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MPortNTree {
    /// Ports of every switch: even, from 2.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub m: u32,
    /// Tiers of switches, 1 to 16.
    #[schemars(range(min = 1, max = 16))]
    pub n: u32,
    /// Bit rate of every link in each direction, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Layers with another rate or delay: `host`; `core` for n >= 2; `aggregation` (all of its tiers) for n >= 3.
    #[serde(default, skip_serializing_if = "Layers::is_empty")]
    pub layers: Layers,
}

impl MPortNTree {
    fn check(&self) -> Result<Size, TopologyError> {
        let (m, n) = (self.m, self.n);
        if m < 2 || !m.is_multiple_of(2) {
            return Err(TopologyError::field("m", m, "an even number from 2"));
        }
        if n == 0 || n > MAX_TIERS {
            return Err(TopologyError::field("n", n, format!("1 to {MAX_TIERS} tiers of switches")));
        }
        let half = u64::from(m / 2);
        let per_tier = half.saturating_pow(n - 1);
        let hosts = half.saturating_pow(n).saturating_mul(2);
        let size = Size {
            hosts,
            switches: per_tier.saturating_mul(2 * u64::from(n) - 1),
            racks: if n == 1 { 1 } else { per_tier.saturating_mul(2) },
            links: hosts.saturating_mul(u64::from(n)),
        };
        size.check("m, n", format!("{m}, {n}"))?;
        self.layers.expect_only(match n {
            1 => &[Level::Host],
            2 => &[Level::Host, Level::Core],
            _ => &[Level::Host, Level::Aggregation, Level::Core],
        })?;
        Ok(size)
    }

    /// What the switches of `tier` (0 is the top) are.
    fn level(&self, tier: u32) -> Level {
        match tier {
            t if t == self.n - 1 => Level::Edge,
            0 => Level::Core,
            _ => Level::Aggregation,
        }
    }
}

impl Topology for MPortNTree {
    fn graph(&self, _base_dir: &Path) -> Result<Graph, TopologyError> {
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let size = self.check()?;
        let (half, n) = (self.m / 2, self.n);
        let per_core = half.pow(n - 1);
        // Pods are the top-level sub-fat-trees (Song §3.3.1 property 1), told apart by the first digit. With fewer than
        // three tiers they would be racks.
        let pod = |first_digit| (n >= 3).then_some(first_digit);

        let mut graph = Graph::with_hosts(size.hosts as u32, |h| pod(h / per_core));
        // Tiers from the edge up. The top tier has m/2 values for the first digit, every other tier m.
        let mut first = vec![0; n as usize];
        for tier in (0..n).rev() {
            first[tier as usize] = graph.nodes.len() as NodeId;
            let level = self.level(tier);
            let prefix = if level == Level::Aggregation { "agg" } else { level.name() };
            for w in 0..if tier == 0 { per_core } else { 2 * per_core } {
                let pod = if tier == 0 { None } else { pod(w / (per_core / half)) };
                graph.add_switch(format!("{prefix}{}@{tier}", label(w, n - 1, half)), level, pod);
            }
        }

        let link = self.layers.links(Level::Host, base)?;
        for h in 0..graph.hosts {
            // P(p) hangs off SW(p0 ... p(n-2), n - 1); in FT(m, 1) there is one switch for all.
            let edge = if n == 1 { 0 } else { h / half };
            graph.connect(h, first[n as usize - 1] + edge, link.rate, link.delay);
        }
        for tier in (0..n - 1).rev() {
            // SW(w, l) and SW(w', l + 1) are joined if their labels agree in all digits but digit l.
            let link = self.layers.links(self.level(tier), base)?;
            let weight = half.pow(n - 2 - tier);
            for lower in 0..2 * per_core {
                let values = if tier == 0 { 2 * half } else { half };
                let digit = lower / weight % values;
                for upper_digit in 0..half {
                    let upper = lower - digit * weight + upper_digit * weight;
                    let (lower, upper) = (first[tier as usize + 1] + lower, first[tier as usize] + upper);
                    graph.connect(lower, upper, link.rate, link.delay);
                }
            }
        }
        Ok(graph)
    }
}

/// The `digits` digits of `w`, most significant first; all but the first count to `half`. One digit at least.
fn label(mut w: u32, digits: u32, half: u32) -> String {
    let mut text = Vec::new();
    for _ in 1..digits {
        text.push((w % half).to_string());
        w /= half;
    }
    text.push(w.to_string());
    text.reverse();
    text.join(".")
}
