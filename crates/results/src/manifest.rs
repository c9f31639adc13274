//! `manifest.json`: what was run, with what, and how each run ended.

use crate::layout::CAPTURES;
use anabranch_sim::capture::CaptureRow;
use anabranch_sim::experiment::Spent;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Conservation, Ending};
use anabranch_sim::scenario::RunPlan;
use anabranch_sim::workload::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Version of the layout of a result folder.
pub const SCHEMA: u32 = 1;

/// Table of contents of a result folder.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program that wrote it.
    pub anabranch_version: String,
    /// The command line that reproduces it.
    pub command: Vec<String>,
    /// Name of the scenario.
    pub name: String,
    /// What question the scenario answers.
    pub description: String,
    /// Path of the scenario file, as given.
    pub scenario_file: String,
    /// Exact text of the scenario, before overrides.
    pub scenario_toml: String,
    /// `key=value` given on the command line.
    pub overrides: Vec<String>,
    /// Sweep keys and their values, in order.
    pub sweep: Map<String, Value>,
    /// One entry per run, in order of sweep point and seed.
    pub runs: Vec<RunEntry>,
}

/// One run in the manifest; also `run.json` in the folder of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunEntry {
    /// Name of its folder.
    pub run: String,
    /// Sweep key -> value of this run.
    pub point: Map<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// Transport of its main workload.
    pub transport: String,
    /// Where the decode latency of SCDP's blocks comes from; `None` if nothing is decoded.
    pub decode_latency: Option<String>,
    /// What to know before trusting the run: windows that do not fill the fabric, loads that it does not carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// `complete`, `stalled`, `time_limit`, `wall_limit`, `interrupted`, `failed`.
    pub status: String,
    /// For a run that is not complete: which flows wait for what.
    pub message: Option<String>,
    /// 16 hex digits over the event trace.
    pub fingerprint: String,
    /// Events handled.
    pub events: u64,
    /// Simulated time.
    pub simulated_ns: f64,
    /// Time between the samples of the time series, if there are any.
    #[serde(default)]
    pub interval_ns: Option<f64>,
    /// Ends of the measured window; nothing if it had no length, and in older results.
    #[serde(default)]
    pub window_ns: Option<(f64, f64)>,
    /// Wall-clock time that the run took.
    pub wall_s: f64,
    /// Time on a processor, which other programs do not lengthen. Older runs do not tell.
    #[serde(default)]
    pub cpu_s: Option<f64>,
    /// Hash of the resolved scenario and seed.
    pub scenario_hash: String,
    /// Packet counts.
    pub conservation: Conservation,
    /// Packet captures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
}

/// A remark in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The sentence.
    pub text: String,
    /// What would change it.
    pub hint: Option<String>,
}

impl Remark {
    /// Those of a run.
    pub fn all(run: &RunPlan) -> Vec<Self> {
        let one = |fault: &Fault| Self { text: fault.message.clone(), hint: fault.hint.clone() };
        run.remarks.iter().map(|remark| one(&remark.fault)).collect()
    }
}

/// A packet capture in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Its file below the folder of the run.
    pub file: String,
    /// The file with the packets that were dropped at its links, if there were any.
    pub dropped_file: Option<String>,
    /// The directed links in it, by the names of their ends.
    pub links: Vec<String>,
    /// Packets in the file.
    pub packets: u64,
    /// Bytes that these had on the wire.
    pub bytes: u64,
    /// Packets that were dropped at its links.
    pub dropped: u64,
    /// When it had reached its limit, in nanoseconds: it holds nothing after that.
    pub full_at_ns: Option<u64>,
}

impl Capture {
    fn new(row: &CaptureRow) -> Self {
        let path = |file: &String| format!("{CAPTURES}/{file}");
        Self {
            file: row.files.first().map_or_else(String::new, path),
            dropped_file: row.files.get(1).map(path),
            links: row.links.clone(),
            packets: row.packets,
            bytes: row.bytes,
            dropped: row.dropped,
            full_at_ns: row.full_at.map(|time| time.ps() / 1000),
        }
    }
}

/// A run that an experiment makes.
#[derive(Clone, Debug, Deserialize)]
pub struct Planned {
    /// Name of its folder.
    pub run: String,
    /// Sweep key -> value.
    pub point: Map<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// Hash of all that it depends on.
    #[serde(alias = "scenario_hash", default)]
    pub hash: String,
}

impl Planned {
    /// Whether both are the same point and seed under the same name.
    pub(crate) fn is_point_of(&self, other: &Self) -> bool {
        (&self.run, self.seed, &self.point) == (&other.run, other.seed, &other.point)
    }
}

impl From<&RunEntry> for Planned {
    fn from(entry: &RunEntry) -> Self {
        let RunEntry { run, point, seed, scenario_hash, .. } = entry.clone();
        Self { run, point, seed, hash: scenario_hash }
    }
}

/// Whether a run with this status came to an end that it would come to again.
pub(crate) fn is_final(status: &str) -> bool {
    ![INTERRUPTED, WALL_LIMIT, FAILED].contains(&status)
}

/// Status of a run that was cut short.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Status of a run that had taken as long on the wall as it might.
pub(crate) const WALL_LIMIT: &str = "wall_limit";

/// Status of a run that ended with an error.
pub(crate) const FAILED: &str = "failed";

impl RunEntry {
    /// Whether the run came to an end that it would come to again; if not, `--resume` runs it again.
    pub fn is_final(&self) -> bool {
        is_final(&self.status)
    }

    /// The entry of a run that was interrupted before it began: it has no folder.
    pub fn not_run(run: &RunPlan) -> Self {
        Self {
            run: run.name(),
            point: run.point.clone(),
            seed: run.seed,
            transport: run.scenario.transport.name.name().to_owned(),
            decode_latency: run.scenario.decode_latency(),
            remarks: Remark::all(run),
            status: INTERRUPTED.to_owned(),
            message: Some("not begun".to_owned()),
            fingerprint: String::new(),
            events: 0,
            simulated_ns: 0.0,
            interval_ns: None,
            window_ns: None,
            wall_s: 0.0,
            cpu_s: None,
            scenario_hash: run.hash.clone(),
            conservation: Conservation::default(),
            captures: Vec::new(),
        }
    }

    /// The entry of a run that has ended, which might take `limit` on the wall.
    pub fn new(run: &RunPlan, record: &RunRecord, spent: Spent, limit: Option<Duration>) -> Self {
        let (status, message) = match &record.ending {
            Ending::Interrupted if limit.is_some_and(|limit| spent.wall >= limit) => {
                let seconds = spent.wall.as_secs_f64();
                (
                    WALL_LIMIT,
                    Some(format!("stopped after {seconds:.1} s; its tables hold what had happened until then")),
                )
            }
            Ending::Complete => ("complete", None),
            Ending::Stalled(why) => ("stalled", Some(why.clone())),
            Ending::TimeLimit(why) => ("time_limit", Some(why.clone())),
            Ending::Interrupted => (INTERRUPTED, None),
            Ending::TooLarge(_, why) | Ending::Refused(why) => (INTERRUPTED, Some(why.clone())),
        };
        Self {
            status: status.to_owned(),
            message: message.or_else(|| record.fault()),
            fingerprint: format!("{:016x}", record.fingerprint),
            events: record.events,
            interval_ns: run.scenario.measure.interval.map(|interval| interval.ps() as f64 / 1e3),
            window_ns: record.window.map(|(begin, end)| (begin.ps() as f64 / 1e3, end.ps() as f64 / 1e3)),
            simulated_ns: record.simulated.ps() as f64 / 1e3,
            wall_s: spent.wall.as_secs_f64(),
            cpu_s: Some(spent.cpu.as_secs_f64()),
            conservation: record.conservation,
            captures: record.captures.iter().flatten().map(Capture::new).collect(),
            ..Self::not_run(run)
        }
    }
}
