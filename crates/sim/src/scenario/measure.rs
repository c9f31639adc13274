//! `[measure]` and `[run]`: what is recorded, and when a run ends.

use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What counts, and time series, in `series.parquet`. The tables of flows and links are always written. Measuring never changes a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each series")]
pub struct Measure {
    /// Time between two samples. Needed by any series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Length of every queue, in bytes and packets.
    pub queues: bool,
    /// Utilisation of every link.
    pub links: bool,
    /// Congestion window of every session.
    pub cwnd: bool,
    /// Goodput of every session: what its receivers delivered to their applications since the last sample.
    pub goodput: bool,
    /// Bytes that every link has sent since the last sample, headers included; nothing for those that sent none. A packet
    /// counts as a whole when its transmission starts.
    pub volumes: bool,
    /// Flows that are requested before this time do not count in statistics: the fabric fills. With it begins the measured window,
    /// over which `utilisation_window` of links is taken.
    pub warmup: Duration,
    /// How long the measured window lasts; flows requested later do not count either. Default: until the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
}

impl Measure {
    /// Whether any series is asked for.
    pub fn any(&self) -> bool {
        self.queues || self.links || self.cwnd || self.goodput || self.volumes
    }

    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = self.check_interval();
        if self.window == Some(Duration::ZERO) {
            faults.push(Fault::new("window", "must be above 0").hint("leave it out: it lasts until the last request"));
        }
        faults
    }

    fn check_interval(&self) -> Vec<Fault> {
        match self.interval {
            Some(Duration::ZERO) => vec![Fault::new("interval", "must be above 0")],
            None if self.any() => {
                vec![Fault::new("", "time series need an `interval`").hint("interval = \"100us\"")]
            }
            Some(_) if !self.any() => vec![
                Fault::new("interval", "nothing is sampled: no series is on")
                    .hint("for queue lengths: queues = true")
                    .warn(),
            ],
            _ => Vec::new(),
        }
    }
}

/// When a run ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// The run ends at this simulated time at the latest. Without it, when `stop` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Duration>,
    /// Which sessions it waits for.
    pub stop: Stop,
    /// Of these, the run waits for objects up to this size only; larger ones may be unfinished when it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_size: Option<Bytes>,
    /// Memory that the run may take, by an estimate before it starts and of its packets and samples while it runs. Default:
    /// 4GB. Results do not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Bytes>,
}

/// Which sessions a run waits for. None waits for sessions without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// All that have an end.
    All,
    /// Those that are not background traffic.
    #[default]
    Foreground,
}

impl Run {
    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        match self.time_limit {
            Some(Duration::ZERO) => vec![Fault::new("time_limit", "must be above 0")],
            _ => Vec::new(),
        }
    }
}
