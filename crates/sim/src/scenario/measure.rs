//! `[measure]` and `[run]`: what is recorded, and when a run ends.

use super::BufferSize;
use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What counts, time series, in `series.parquet`, and packet captures. The tables of flows and links are always written. Measuring never changes
/// a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// When each operation of jobs began and ended, in `operations.parquet`: the timelines of ranks in the report. Off
    /// by default; needs no `interval`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub operations: bool,
    /// Flows that are requested before this time do not count in statistics: the fabric fills. With it begins the measured window,
    /// over which `utilisation_window` of links is taken.
    pub warmup: Duration,
    /// How long the measured window lasts; flows requested later do not count either. Default: until the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// Where packets are captured into pcapng files, which Wireshark reads: a port, by the names of its node and of the node that it
    /// leads to, `"edge0-h4"`, or all ports of a host or switch by its name, `"h3"`. Of each port a file with both directions; at most
    /// 100.
    pub packets: Vec<String>,
    /// What each of these files holds at most, `"1000 packets"` or `"100MB"`; the run goes on without it, and the manifest says when.
    /// `auto`: 1GB.
    pub packets_limit: BufferSize,
    /// Bytes of each packet that are stored at most, 20 B to 65535 B. Headers are at most 100 B, and payload is never stored.
    pub packets_snap: Bytes,
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            interval: None,
            queues: false,
            links: false,
            cwnd: false,
            goodput: false,
            volumes: false,
            operations: false,
            warmup: Duration::ZERO,
            window: None,
            packets: Vec::new(),
            packets_limit: BufferSize::Auto,
            packets_snap: Bytes(128),
        }
    }
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
