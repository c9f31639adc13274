//! The scenario file format: what to run, as data.
//!
//! A TOML file says fabric, transport, switches, workloads, failures, measurement, repetition and sweep. [`load`] reads
//! one and gives a [`Plan`]: one [`RunPlan`] for each sweep point and seed, each with its resolved [`Scenario`]. All
//! errors of a file are reported at once, each with file, line, column, key and, where there is one, a suggestion.
//!
//! How it works: the text becomes a tree whose nodes remember where they were written (`tree`); overrides and sweep
//! points are set in the tree, and presets below them; the tree is checked against the JSON Schema of [`Scenario`] (`check`), decoded by serde,
//! and the decoded values are checked for sense (`validate`). Nothing here runs anything.

use crate::control::AnyController;
use crate::fabric::topology::TopologyConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod build;
mod captures;
mod check;
mod clock;
mod cost;
mod decoding;
mod error;
mod expand;
mod fabric;
mod failure;
mod hash;
mod host;
mod jitter;
mod linux_red;
mod lossless;
mod measure;
mod overload;
mod path;
mod pfc;
mod phantom;
mod preset_names;
mod presets;
mod queue;
mod red;
mod reference;
mod remarks;
mod round_trip;
mod routing;
mod scdp;
mod suggest;
mod switch;
mod telemetry;
mod thresholds;
mod transport;
mod transport_info;
mod tree;
mod trim_ecn;
mod validate;
mod weighted_paths;
mod window_rule;
mod windows;
mod workload;

pub use crate::fabric::buffer::BufferSize;
pub use crate::fabric::routing::{RoutingConfig, RoutingMode};
pub use cost::Estimate;
pub use error::{ScenarioError, ScenarioErrors};
pub use expand::{Plan, RunPlan, list, load, parse};
pub use failure::{Action, Failure};
pub use host::{HostConfig, PullOrder, ReorderConfig};
pub use linux_red::LinuxRedConfig;
pub use measure::{Measure, Run, Stop};
pub use pfc::PfcConfig;
pub use phantom::PhantomConfig;
pub use preset_names::PresetNames;
pub use presets::TransportPreset;
pub use queue::{QueueKind, Switch, Victim};
pub use red::RedConfig;
pub use reference::{reference, schema};
pub use remarks::Remark;
pub use scdp::{Preset, ScdpKeys};
pub use switch::SwitchConfig;
pub use transport::{TransportConfig, TransportName};
pub use transport_info::{Named, TransportInfo, transports};
pub use window_rule::WindowRule;
pub use workload::WorkloadConfig;

/// One experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name for people; the file's name by default.
    #[serde(default)]
    pub name: String,
    /// What question the scenario answers.
    #[serde(default)]
    pub description: String,
    /// First seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// Number of seeds: `seed`, `seed + 1` and so on. At least 1.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// The network.
    pub fabric: TopologyConfig,
    /// The transport of all workloads that name no other.
    pub transport: TransportConfig,
    /// Every output port of every switch.
    #[serde(default)]
    pub switch: SwitchConfig,
    /// Hosts.
    #[serde(default)]
    pub host: HostConfig,
    /// How switches choose among equal paths.
    #[serde(default)]
    pub routing: RoutingConfig,
    /// Who sends what to whom, and when; at least one.
    pub workload: Vec<WorkloadConfig>,
    /// What breaks, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure: Vec<Failure>,
    /// What controls the fabric while it runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controller: Vec<AnyController>,
    /// What is recorded besides the tables of flows and links.
    #[serde(default)]
    pub measure: Measure,
    /// When a run ends.
    #[serde(default)]
    pub run: Run,
    /// Keys that take several values: one run for each combination, the last key varying fastest. `"a, b" = [[1, 2],
    /// [3, 4]]` varies two keys together. An element of a list of tables is named by its index or its `name`:
    /// `"workload.0.sessions"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sweep: BTreeMap<String, Vec<serde_json::Value>>,
}

fn one() -> u64 {
    1
}

fn once() -> u32 {
    1
}

#[cfg(test)]
mod tests;
