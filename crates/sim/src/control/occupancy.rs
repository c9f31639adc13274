//! Marking thresholds that follow the occupancy of queues: down by a step where a queue is longer than its threshold, up by a
//! step where less than half of that waits.
//!
//! An additive rule, as simple as can be, to show what a controller is. Joy's controller takes its place in real experiments.

use super::{Action, Controller, ControllerConfig, View};
use crate::fabric::graph::Graph;
use crate::fabric::queue::{Limit, Setting};
use crate::workload::Fault;
use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Marking thresholds by occupancy. For queues that mark by packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueOccupancy {
    /// Time from one decision to the next, at least 1 us.
    pub period: Duration,
    /// Time until a decision takes effect.
    pub delay: Duration,
    /// Smallest threshold in packets.
    pub min: u32,
    /// Largest threshold in packets; at least `min`.
    pub max: u32,
    /// Packets by which a threshold moves, at least 1.
    pub step: u32,
}

impl Default for QueueOccupancy {
    fn default() -> Self {
        Self { period: Duration::from_ms(1), delay: Duration::from_us(100), min: 5, max: 100, step: 1 }
    }
}

impl Controller for QueueOccupancy {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        for port in view.switch_ports() {
            let seen = view.port(port);
            let Some(Limit::Packets(threshold)) = seen.marking_threshold else { continue };
            let wanted = if seen.packets > threshold {
                threshold.saturating_sub(self.step).max(self.min)
            } else if seen.packets < threshold / 2 {
                threshold.saturating_add(self.step).min(self.max)
            } else {
                threshold
            };
            if wanted != threshold {
                actions.push(Action::Queue(port, Setting::MarkingThreshold(Limit::Packets(wanted))));
            }
        }
        actions
    }
}

impl ControllerConfig for QueueOccupancy {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.step == 0 {
            faults.push(Fault::new("step", "must be at least 1"));
        }
        if self.min > self.max {
            faults.push(Fault::new("min", format!("{} is more than max, {}", self.min, self.max)));
        }
        faults
    }

    fn start(&self, _graph: &Graph, _seed: u64) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
