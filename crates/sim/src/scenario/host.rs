//! `[host]`: jitter, the order and pace of pulls, and what a workload has to know about servers.

use crate::fabric::jitter::Jitter;
use crate::workload::{Fault, ServerConfig};
use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts. Their own queues are unlimited: transports limit what they send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Longest random pause of a host before each packet: a time, or so many times what a full packet takes on its link. A host
    /// with enough to send loses half of it for each packet. Without it (`"0us"`) synchronised senders stay in lockstep.
    pub jitter: Jitter,
    /// Pace of a receiver's pulls: full packets that they ask for, over those that its link carries. Above 0, at most 10. 1 fills
    /// the link; less leaves room for traffic that is not pulled, more makes a queue in front of the host grow until it trims.
    pub pull_pace: f64,
    /// Which of a receiver's sessions may pull next.
    pub pull_order: PullOrder,
    /// Holds packets back that have overtaken others of their flow, so that TCP gets them in order; transports with subflows, and those that are
    /// not TCP, take them as they come. An empty table takes the defaults. Default: no buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderConfig>,
    /// Servers of several hosts, each host being a GPU with its network interface. Messages of jobs inside a server take its own links, such as
    /// `NVLink`, and no packets. Default: every host is alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerConfig>,
}

/// A buffer in front of each receiver, in the place of a network card's or kernel's receive offload (Presto's GRO, `DeTail`, DRILL).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReorderConfig {
    /// The longest time for which a packet waits for others before it: above 0. Longer than the delays of paths differ, queues included; a
    /// loss is found so much later. With `routing.mode = "presto"` a loss inside a flowcell is found at once. Default 500 us, as in
    /// the ns-3 code of Presto by Zhang et al. (its README), and as the gaps of flowlets.
    pub timeout: Duration,
}

impl Default for ReorderConfig {
    fn default() -> Self {
        Self { timeout: Duration::from_us(500) }
    }
}

/// Which of the sessions of a host may pull next (SCDP, NDP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullOrder {
    /// They take turns (NDP §3.2, SCDP §IV-C).
    #[default]
    Turns,
    /// The one whose packets have the highest priority, by the thresholds of its transport; those that have the same take
    /// turns. SCDP §V-I: it "would be straightforward". Where a transport has no thresholds (NDP) all have the same.
    Priority,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self { jitter: Jitter::NONE, pull_pace: 1.0, pull_order: PullOrder::Turns, reorder: None, server: None }
    }
}

impl HostConfig {
    /// What is wrong with the values.
    pub(super) fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(self.pull_pace > 0.0 && self.pull_pace <= 10.0) {
            let fault = Fault::new("pull_pace", format!("must be above 0 and at most 10, not {}", self.pull_pace));
            faults.push(fault.hint("1 asks for as much as the link carries"));
        }
        if self.reorder.as_ref().is_some_and(|reorder| reorder.timeout == Duration::ZERO) {
            let fault =
                Fault::new("reorder.timeout", "must be above 0: a packet waits for those that it has overtaken");
            faults.push(fault.hint("without the table reorder, none waits"));
        }
        faults.extend(self.server.iter().flat_map(ServerConfig::check).map(|fault| fault.under("server")));
        faults
    }
}
