//! A job in a workload: its file, the hosts of its ranks, how hosts carry it out. Its messages are the sessions.

use super::context::Context;
use super::error::Fault;
use super::placement::known_host;
use super::trace::StartUnit;
use super::{Mode, Session};
use anabranch_job::collective::{self, Algorithm, Collective};
use anabranch_job::read::{self, Format as FileFormat};
use anabranch_job::{Action, Builder, Job, JobError, Settings};
use anabranch_transport::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Operations of many ranks that wait for each other: those of a file, or of a collective. It replaces `arrivals`, `sizes`, `placement` and
/// `sessions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// File name, relative to the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A collective operation instead of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveConfig>,
    /// Format; without it, the ending of the file name tells: `.goal` or `.cm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<JobFormat>,
    /// Unit of `start` in a connection matrix: picoseconds in htsim today, microseconds in its early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_unit: Option<StartUnit>,
    /// When the job begins.
    #[serde(default)]
    pub start: Duration,
    /// The host of each rank, all different. Default: rank 0 is on host 0, and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<u32>>,
    /// Time that each message takes of a stream of its sender before it leaves, and of its receiver when it has arrived (`o` in the
    /// `LogGP` model).
    #[serde(default)]
    pub overhead: Duration,
    /// The sender of a message of at most so many bytes goes on when it has left; of a larger one, when all of it is acknowledged.
    #[serde(default)]
    pub eager: Bytes,
}

/// A collective operation, all by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveConfig {
    /// What it does.
    pub kind: Collective,
    /// How it does it.
    pub algorithm: Algorithm,
    /// How many ranks take part, 2 at least.
    #[schemars(range(min = 2))]
    pub ranks: u32,
    /// The vector of all-reduce and reduce-scatter; what each has in the end, of all-gather; the object of broadcast; what each has in
    /// the beginning, its own share included, of all-to-all.
    pub size: Bytes,
    /// Of `chain` and `double-tree`: chunks that follow each other, at least 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// How often, one after the other: a rank begins when it is done with the round before. At least 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub rounds: u32,
}

fn one() -> u32 {
    1
}

impl CollectiveConfig {
    fn job(&self) -> Result<Job, Fault> {
        if self.ranks < 2 {
            return Err(Fault::new("ranks", format!("must be at least 2, not {}", self.ranks)));
        }
        if self.rounds == 0 {
            return Err(Fault::new("rounds", "must be at least 1"));
        }
        let mut job = Builder::new(self.ranks);
        let members: Vec<u32> = (0..self.ranks).collect();
        let mut last = vec![Vec::new(); members.len()];
        let fault = |e: JobError| Fault { hint: e.hint, ..Fault::new("", e.message) };
        for _ in 0..self.rounds {
            let what = (self.kind, self.algorithm);
            last = collective::add(&mut job, what, &members, self.size, self.chunks, &last).map_err(fault)?;
        }
        job.build().map_err(fault)
    }
}

/// Format of a file that describes a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobFormat {
    /// GOAL, as text.
    Goal,
    /// htsim connection matrix, with triggers.
    Cm,
}

/// A job and the hosts of its ranks.
#[derive(Clone, Debug)]
pub struct PlacedJob {
    /// Its operations.
    pub job: Arc<Job>,
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// How hosts carry it out.
    pub settings: Settings,
    /// When it begins.
    pub start: Time,
}

impl PartialEq for PlacedJob {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.job, &other.job)
            && (&self.hosts, self.settings, self.start) == (&other.hosts, other.settings, other.start)
    }
}

impl JobConfig {
    fn format(&self) -> Option<JobFormat> {
        self.format.or_else(|| match Path::new(self.file.as_ref()?).extension()?.to_str()? {
            "goal" => Some(JobFormat::Goal),
            "cm" => Some(JobFormat::Cm),
            _ => None,
        })
    }

    /// What is wrong with the parameters.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        match (&self.file, &self.collective) {
            (Some(_), Some(_)) => faults.push(Fault::new("collective", "the file says it: not with `file`")),
            (None, None) => faults.push(
                Fault::new("", "a job needs `file` or `collective`")
                    .hint("collective = { kind = \"all-reduce\", algorithm = \"ring\", ranks = 16, size = \"64MB\" }"),
            ),
            (None, Some(collective)) => {
                for (key, given) in [("format", self.format.is_some()), ("start_unit", self.start_unit.is_some())] {
                    if given {
                        faults.push(Fault::new(key, "only with `file`"));
                    }
                }
                faults.extend(collective.job().err().map(|f| f.under("collective")));
            }
            (Some(file), None) if self.format().is_none() => faults.push(
                Fault::new("file", format!("the ending of {file:?} does not tell the format"))
                    .hint("add `format = \"goal\"` or `format = \"cm\"`"),
            ),
            (Some(_), None) => {}
        }
        match self.format() {
            Some(JobFormat::Goal) if self.file.is_some() && self.start_unit.is_some() => {
                faults.push(Fault::new("start_unit", "only for connection matrices: GOAL counts in nanoseconds"));
            }
            _ => {}
        }
        if Time::ZERO + self.start > Time::LATEST {
            faults.push(Fault::new("start", "a run lasts 213 days at most"));
        }
        let mut hosts = self.hosts.clone().unwrap_or_default();
        hosts.sort_unstable();
        if let Some(twice) = (1..hosts.len()).find(|&n| hosts[n - 1] == hosts[n]).map(|n| hosts[n]) {
            faults.push(Fault::new("hosts", format!("host {twice} is named twice: a host has one rank")));
        }
        faults
    }

    /// The operations, and where they come from, for a person.
    fn read(&self, base: &Path) -> Result<(Job, String), Fault> {
        if let Some(collective) = &self.collective {
            let name = format!("the {}", collective.kind.name());
            return collective.job().map(|job| (job, name)).map_err(|f| f.under("collective"));
        }
        let Some(file) = &self.file else { return Err(Fault::new("", "a job needs `file` or `collective`")) };
        let text = super::read_file(base, file).map_err(|f| f.under("file"))?;
        let format = match self.format() {
            Some(JobFormat::Goal) => FileFormat::Goal,
            Some(JobFormat::Cm) => FileFormat::ConnectionMatrix { us: self.start_unit == Some(StartUnit::Us) },
            None => return Err(Fault::new("file", "the ending does not tell the format")),
        };
        let job = read::read(&text, format).map_err(|e| Fault::of_job(Path::new(file), e).under("file"))?;
        Ok((job, file.clone()))
    }

    /// Reads the file, or expands the collective, and finds the hosts of its ranks.
    ///
    /// # Errors
    /// If the file cannot be read, is no job that can end, or has more ranks than there are hosts.
    pub fn open(&self, fabric: &Context) -> Result<PlacedJob, Fault> {
        let (job, name) = self.read(&fabric.base)?;
        if job.sends().is_empty() {
            return Err(Fault::new("", format!("{name} sends nothing: it needs no network")));
        }
        let ranks = job.ranks();
        let hosts = match &self.hosts {
            Some(hosts) if hosts.len() != ranks as usize => {
                let message = format!("names {} hosts, but {name} has {ranks} ranks", hosts.len());
                return Err(Fault::new("hosts", message));
            }
            Some(hosts) => hosts.clone(),
            None if ranks > fabric.fabric_hosts() => {
                let message = format!("{name} has {ranks} ranks, the fabric {} hosts", fabric.fabric_hosts());
                return Err(Fault::new("", message).hint("a larger fabric: each rank has a host of its own"));
            }
            None => (0..ranks).collect(),
        };
        for &host in &hosts {
            known_host(fabric, "hosts", host)?;
        }
        let settings = Settings { overhead: self.overhead, eager: self.eager };
        Ok(PlacedJob { job: Arc::new(job), hosts, settings, start: Time::ZERO + self.start })
    }
}

impl PlacedJob {
    /// A session for each message, in their order. They begin when the job does, or later, when their operations start.
    pub fn sessions(&self, group: u16) -> Vec<Session> {
        let session = |(number, &op): (u32, &u32)| {
            let operation = &self.job.operations()[op as usize];
            let receivers = self.job.receivers(op);
            let bytes = match operation.action {
                Action::Send { bytes, .. } => bytes,
                Action::Receive { .. } | Action::Calc(_) | Action::Wait(_) => Bytes(0),
            };
            Session {
                start: self.start,
                // What carries no data is a message all the same.
                size: Some(bytes.max(Bytes(1))),
                supply: None,
                mode: if receivers.len() > 1 { Mode::OneToMany } else { Mode::Unicast },
                sources: std::iter::once(self.hosts[operation.rank as usize]).collect(),
                sinks: receivers.iter().map(|&rank| self.hosts[rank as usize]).collect(),
                group,
                request: number,
                block: 0,
            }
        };
        (0..).zip(self.job.sends()).map(session).collect()
    }
}
