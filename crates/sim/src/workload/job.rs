//! A job in a workload: its file, the hosts of its ranks, how hosts carry it out. Its messages are the sessions.

use super::context::Context;
use super::error::Fault;
use super::placement::known_host;
use super::server::ServerConfig;
use super::trace::StartUnit;
use super::{Mode, Session};
use anabranch_job::collective::{self, Algorithm, Choice, Collective, Shape};
use anabranch_job::job::RANKS_MAX;
use anabranch_job::read::chakra::{self, Groups};
use anabranch_job::read::{self, Format as FileFormat};
use anabranch_job::{Action, Builder, Job, JobError, Model, Op, Settings};
use anabranch_transport::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Operations of many ranks that wait for each other: those of a file, of a collective, or of a training step. It replaces `arrivals`, `sizes`, `placement` and
/// `sessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// File name, relative to the scenario file. Of a Chakra trace, that of rank 0, such as `llama.0.et`: the files of the other ranks
    /// are beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A collective operation instead of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveConfig>,
    /// A training step of a transformer instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Format; without it, the ending of the file name tells: `.goal` or `.bin`, `.cm`, `.et`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<JobFormat>,
    /// Of a Chakra trace: a JSON file of its groups, `{"1": [0, 1], "2": [2, 3]}`. Default: all collectives are of all ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// Of a `SimAI` workload that does not say it (`all_gpus`): how many ranks there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ranks: Option<u32>,
    /// Of a Chakra trace, a `SimAI` workload or a `model`: which algorithm does each collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Choice>,
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
    /// Ranks whose computations take longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<SlowRank>,
    /// Each computation takes longer by a share drawn for it, evenly from 0 to this: 0 to 100.
    #[serde(default)]
    pub jitter: f64,
}

/// A rank whose computations take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowRank {
    /// Its number.
    pub rank: u32,
    /// How many times as long they take: above 0, to 1000.
    pub factor: f64,
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
    /// Of `chain` and `double-tree`: chunks that follow each other, at least 1; of two trees, on each. Default: as many of 512 KiB as the bytes make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub chunks: Option<u32>,
    /// How often, one after the other: a rank begins when it is done with the round before. At least 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Of `hierarchical`: how many consecutive ranks share a server. Default: as many as hosts do (`host.server.hosts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub per_server: Option<u32>,
    /// Of an all-gather by `one-to-many`: how many ranks send at a time, at least 1; each begins when it has what the one so many before it
    /// sent. Default: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub at_once: Option<u32>,
}

fn one() -> u32 {
    1
}

impl CollectiveConfig {
    fn what(&self) -> (Collective, Algorithm) {
        (self.kind, self.algorithm)
    }

    /// How it divides its work, on hosts of which so many share a server.
    fn shape(&self, of_hosts: Option<u32>) -> Shape {
        let chunks = self.chunks.unwrap_or_else(|| self.algorithm.chunks_of(self.size, collective::CHUNK));
        Shape { chunks, per_server: self.per_server.or(of_hosts).unwrap_or(0), at_once: self.at_once.unwrap_or(0) }
    }

    fn check(&self, of_hosts: Option<u32>) -> Result<(), Fault> {
        if self.ranks < 2 {
            return Err(Fault::new("ranks", format!("must be at least 2, not {}", self.ranks)));
        }
        if self.rounds == 0 {
            return Err(Fault::new("rounds", "must be at least 1"));
        }
        if self.size.0 == 0 {
            return Err(Fault::new("size", "must be above zero"));
        }
        if self.per_server.is_some() && !self.algorithm.has_servers() {
            return Err(Fault::new("per_server", "only of algorithm = \"hierarchical\""));
        }
        for (key, value) in [("per_server", self.per_server), ("at_once", self.at_once)] {
            if value == Some(0) {
                return Err(Fault::new(key, "must be at least 1"));
            }
        }
        collective::check(self.what(), u64::from(self.ranks), self.shape(of_hosts))
            .map_err(|e| Fault { hint: e.hint, ..Fault::new("", e.message) })
    }

    /// Its messages, at most.
    fn messages(&self, of_hosts: Option<u32>) -> u64 {
        let once = collective::messages_at_most(self.what(), u64::from(self.ranks), self.shape(of_hosts));
        once.saturating_mul(u64::from(self.rounds))
    }

    fn job(&self, of_hosts: Option<u32>) -> Result<Job, Fault> {
        self.check(of_hosts)?;
        let mut job = Builder::new(self.ranks);
        let members: Vec<u32> = (0..self.ranks).collect();
        let mut last = vec![Vec::new(); members.len()];
        let fault = |e: JobError| Fault { hint: e.hint, ..Fault::new("", e.message) };
        for _ in 0..self.rounds {
            let shape = self.shape(of_hosts);
            last = collective::add(&mut job, self.what(), &members, self.size, shape, &last).map_err(fault)?;
            last = collective::join(&mut job, &members, &last);
        }
        job.build().map_err(fault)
    }
}

/// Format of a file that describes a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobFormat {
    /// GOAL, text or binary.
    Goal,
    /// htsim connection matrix, with triggers.
    Cm,
    /// Chakra execution trace.
    Chakra,
    /// Workload of `SimAI`, as AICB writes it.
    Simai,
}

/// What a job is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobSummary {
    /// Where it comes from, for a person.
    pub name: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// How many messages they send.
    pub messages: u64,
    /// Bytes of these messages, those for several ranks once.
    pub bytes: u64,
    /// How many computations there are.
    pub computations: u64,
    /// All operations: of messages one at each end, computations, and waits.
    pub operations: u64,
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
    /// The messages that need the network, ascending, by their numbers in the job: those that stay inside a server do not.
    pub network: Vec<u32>,
}

impl PartialEq for PlacedJob {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.job, &other.job)
            && (&self.hosts, &self.settings, self.start) == (&other.hosts, &other.settings, other.start)
    }
}

impl JobConfig {
    fn format(&self) -> Option<JobFormat> {
        self.format.or_else(|| match Path::new(self.file.as_ref()?).extension()?.to_str()? {
            "goal" | "bin" => Some(JobFormat::Goal),
            "et" => Some(JobFormat::Chakra),
            "cm" => Some(JobFormat::Cm),
            _ => None,
        })
    }

    /// What is wrong with the parameters.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let kinds = [self.file.is_some(), self.collective.is_some(), self.model.is_some()];
        match kinds.iter().filter(|&&given| given).count() {
            0 => faults.push(
                Fault::new("", "a job needs `file`, `collective` or `model`")
                    .hint("collective = { kind = \"all-reduce\", algorithm = \"ring\", ranks = 16, size = \"64MB\" }"),
            ),
            1 => {}
            _ => faults.push(Fault::new("", "a job is one of `file`, `collective` and `model`, not several")),
        }
        if let Some(file) = &self.file
            && self.format().is_none()
        {
            faults.push(
                Fault::new("file", format!("the ending of {file:?} does not tell the format"))
                    .hint("add `format = \"goal\"`, or \"cm\", \"chakra\", \"simai\""),
            );
        }
        if self.file.is_none() && self.format.is_some() {
            faults.push(Fault::new("format", "only with `file`"));
        }
        // How many hosts share a server is known later.
        let collective = self.collective.as_ref().and_then(|collective| collective.check(Some(1)).err());
        faults.extend(collective.map(|fault| fault.under("collective")));
        let model = self.model.iter().flat_map(Model::check);
        faults.extend(model.map(|(key, message)| Fault::new(key, message).under("model")));
        let format = self.format().filter(|_| self.file.is_some());
        let only = [
            ("start_unit", self.start_unit.is_some(), &[JobFormat::Cm][..], "for connection matrices"),
            ("groups", self.groups.is_some(), &[JobFormat::Chakra], "for Chakra traces"),
            ("ranks", self.ranks.is_some(), &[JobFormat::Simai], "for SimAI workloads"),
            (
                "algorithms",
                self.algorithms.is_some(),
                &[JobFormat::Chakra, JobFormat::Simai],
                "for what does not say it: Chakra traces, SimAI workloads and models",
            ),
        ];
        for (key, given, of, what) in only {
            let of_model = key == "algorithms" && self.model.is_some();
            if given && !of_model && format.is_none_or(|format| !of.contains(&format)) {
                faults.push(Fault::new(key, format!("only {what}")));
            }
        }
        if self.algorithms.is_some_and(|algorithms| algorithms.chunk.0 == 0) {
            faults.push(Fault::new("algorithms.chunk", "must be above zero"));
        }
        if self.algorithms.is_some_and(|algorithms| algorithms.per_server > 0 && !algorithms.has_servers()) {
            faults.push(Fault::new("algorithms.per_server", "only of \"hierarchical\", and none of them is"));
        }
        if self.algorithms.is_some_and(|choice| choice.at_once > 0 && choice.all_gather != Algorithm::OneToMany) {
            faults.push(Fault::new("algorithms.at_once", "only of all-gather = \"one-to-many\""));
        }
        if !(0.0..=100.0).contains(&self.jitter) {
            faults.push(Fault::new("jitter", format!("must be from 0 to 100, not {}", self.jitter)));
        }
        for (n, slow) in self.slow.iter().enumerate() {
            if self.slow[..n].iter().any(|before| before.rank == slow.rank) {
                faults.push(Fault::new("slow", format!("rank {} is named twice", slow.rank)));
            }
            if !(slow.factor > 0.0 && slow.factor <= 1000.0) {
                faults.push(Fault::new("slow", format!("`factor` must be above 0, to 1000, not {}", slow.factor)));
            }
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

    /// The operations, and where they come from, for a person. `of_hosts`: how many hosts share a server.
    fn read(&self, base: &Path, of_hosts: Option<u32>) -> Result<(Job, String), Fault> {
        if let Some(collective) = &self.collective {
            let name = format!("the {}", collective.kind.name());
            return collective.job(of_hosts).map(|job| (job, name)).map_err(|f| f.under("collective"));
        }
        let mut choice = self.algorithms.unwrap_or_default();
        if choice.per_server == 0 {
            choice.per_server = of_hosts.unwrap_or(0);
        }
        if let Some(model) = &self.model {
            let fault = |e: JobError| Fault { hint: e.hint, ..Fault::new("model", e.message) };
            return model.job(&choice).map(|job| (job, "the model".to_owned())).map_err(fault);
        }
        let Some(file) = &self.file else { return Err(Fault::new("", "a job needs `file`, `collective` or `model`")) };
        let format = match self.format() {
            Some(JobFormat::Chakra) => return self.read_chakra(base, file, &choice),
            Some(JobFormat::Goal) => FileFormat::Goal,
            Some(JobFormat::Cm) => FileFormat::ConnectionMatrix { us: self.start_unit == Some(StartUnit::Us) },
            Some(JobFormat::Simai) => FileFormat::SimAi { ranks: self.ranks, choice },
            None => return Err(Fault::new("file", "the ending does not tell the format")),
        };
        let bytes = super::read_bytes(base, file).map_err(|f| f.under("file"))?;
        let job = read::read(&bytes, format).map_err(|e| Fault::of_job(Path::new(file), e).under("file"))?;
        Ok((job, file.clone()))
    }

    /// The same of a Chakra trace.
    fn read_chakra(&self, base: &Path, file: &str, choice: &Choice) -> Result<(Job, String), Fault> {
        let groups = match &self.groups {
            None => Groups::new(),
            Some(name) => {
                let text = super::read_file(base, name).map_err(|f| f.under("groups"))?;
                chakra::groups(&text).map_err(|e| Fault::of_job(Path::new(name), e).under("groups"))?
            }
        };
        let (folder, own) = file.rsplit_once('/').unwrap_or(("", file));
        let (before, after) =
            own.rsplit_once(".0.").or_else(|| Some((own.strip_suffix(".0")?, ""))).ok_or_else(|| {
                Fault::new("file", format!("{own:?} is not named as that of rank 0")).hint("file = \"trace.0.et\"")
            })?;
        let (dot, slash) = (if after.is_empty() { "" } else { "." }, if folder.is_empty() { "" } else { "/" });
        let name = |rank: &str| format!("{folder}{slash}{before}.{rank}{dot}{after}");
        let ranks = 1 + last_rank(&base.join(folder), before, &format!("{dot}{after}"));
        let mut read = |rank: u32| {
            super::read_bytes(base, &name(&rank.to_string())).map_err(|fault| JobError::at(0, fault.message))
        };
        let job = chakra::job(ranks, &mut read, &groups, choice);
        let all = name("*");
        let job = job.map_err(|e| Fault::of_job(Path::new(&all), e).under("file"))?;
        Ok((job, all))
    }

    /// Whether some messages may be for several ranks, as one session that the fabric copies.
    pub(crate) fn may_copy(&self) -> bool {
        self.may_use(|algorithm| algorithm == Algorithm::OneToMany)
    }

    /// Whether some member may have several messages to send at once, which it sends one after the other.
    pub(crate) fn may_queue(&self) -> bool {
        self.may_use(Algorithm::sends_in_turn)
    }

    /// Whether a collective may be done by one of these algorithms.
    fn may_use(&self, which: impl Fn(Algorithm) -> bool) -> bool {
        let by_choice = self.model.is_some() || matches!(self.format(), Some(JobFormat::Chakra | JobFormat::Simai));
        let choice = by_choice.then(|| self.algorithms.unwrap_or_default());
        let chosen = choice.into_iter().flat_map(|choice| Collective::ALL.map(|collective| choice.of(collective)));
        chosen.chain(self.collective.as_ref().map(|own| own.algorithm)).any(which)
    }

    /// Receivers of the largest of these messages; `None` if there are none, or only a file knows it.
    pub(crate) fn receivers_of_a_message(&self) -> Option<u32> {
        let by_collective = self.collective.as_ref().filter(|own| own.algorithm == Algorithm::OneToMany);
        let all_gather = self.algorithms.is_some_and(|choice| choice.all_gather == Algorithm::OneToMany);
        let by_model = self.model.as_ref().filter(|_| all_gather).map(|model| model.data.max(model.tensor));
        by_collective.map(|own| own.ranks).or(by_model).map(|ranks| ranks.saturating_sub(1))
    }

    /// What it is, without a fabric: relative file names start at `base`.
    ///
    /// # Errors
    /// If a parameter makes no sense, the file cannot be read, or is no job that can end.
    pub fn summary(&self, base: &Path, server: Option<&ServerConfig>) -> Result<JobSummary, Vec<Fault>> {
        let faults = self.check();
        if !faults.is_empty() {
            return Err(faults);
        }
        let (job, name) = self.read(base, server.map(|server| server.hosts)).map_err(|fault| vec![fault])?;
        let operations = job.operations().len() as u64;
        let mut summary = JobSummary { name, ranks: job.ranks(), operations, ..JobSummary::default() };
        for operation in job.operations() {
            match operation.action {
                Action::Send { bytes, .. } => {
                    summary.messages += 1;
                    summary.bytes = summary.bytes.saturating_add(bytes.0);
                }
                Action::Calc(_) => summary.computations += 1,
                Action::Receive { .. } | Action::Wait(_) => {}
            }
        }
        Ok(summary)
    }

    /// Reads the file, or expands the collective, and finds the hosts of its ranks. `server`: hosts with links of their own to one another.
    /// `seed`: of what is drawn.
    ///
    /// # Errors
    /// If the file cannot be read, is no job that can end, or has more ranks than there are hosts.
    pub fn open(&self, fabric: &Context, server: Option<&ServerConfig>, seed: u64) -> Result<PlacedJob, Fault> {
        let of_hosts = server.map(|server| server.hosts);
        let too_few = |key: &'static str| {
            let message = format!("there are {} hosts, each for one rank", fabric.fabric_hosts());
            Err(Fault::new(key, message).hint("a larger fabric"))
        };
        if self.model.as_ref().is_some_and(|model| model.ranks() > u64::from(fabric.fabric_hosts())) {
            return too_few("model");
        }
        if let Some(collective) = &self.collective {
            if collective.ranks > fabric.fabric_hosts() {
                return too_few("collective.ranks");
            }
            if collective.messages(of_hosts) > fabric.sessions_max {
                let most = fabric.sessions_max;
                let message = format!("more messages than the {most} sessions for which there is memory");
                return Err(Fault::new("collective", message).hint("fewer ranks, or in [run] a higher memory_limit"));
            }
        }
        let (job, name) = self.read(&fabric.base, of_hosts)?;
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
        if let Some(slow) = self.slow.iter().find(|slow| slow.rank >= ranks) {
            return Err(Fault::new("slow", format!("there is no rank {}: {name} has {ranks}", slow.rank)));
        }
        let varies = !self.slow.is_empty() || self.jitter > 0.0;
        if varies && !job.operations().iter().any(|operation| matches!(operation.action, Action::Calc(_))) {
            let key = if self.slow.is_empty() { "jitter" } else { "slow" };
            return Err(Fault::new(key, format!("is about computations: {name} has none")));
        }
        let settings = Settings {
            overhead: self.overhead,
            eager: self.eager,
            slow: self.slow.iter().map(|slow| (slow.rank, slow.factor)).collect(),
            jitter: self.jitter,
            seed,
            servers: server.map(|server| Arc::new(server.of_ranks(&hosts))),
        };
        let placed = PlacedJob::new(Arc::new(job), hosts, settings, Time::ZERO + self.start);
        if placed.network.is_empty() {
            let message = format!("all messages of {name} stay inside a server: it needs no network");
            return Err(Fault::new("", message).hint(
                "a fabric without servers, such as leaf-spine; or hosts = [0, 8, ...]: ranks of several servers",
            ));
        }
        Ok(placed)
    }
}

/// The largest rank of which there is a file `<before>.<rank><after>` in a folder; 0 if there is none.
fn last_rank(folder: &Path, before: &str, after: &str) -> u32 {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = std::fs::read_dir(here).into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let rank = |name: String| {
        let middle = name.strip_prefix(before)?.strip_prefix('.')?.strip_suffix(after)?;
        let rank: u32 = middle.parse().ok()?;
        (rank.to_string() == middle && rank < RANKS_MAX).then_some(rank)
    };
    names.filter_map(rank).max().unwrap_or(0)
}

impl PlacedJob {
    /// A job with its hosts.
    pub fn new(job: Arc<Job>, hosts: Vec<u32>, settings: Settings, start: Time) -> Self {
        let inside = |op: Op| settings.servers.as_ref().is_some_and(|servers| servers.hold(&job, op));
        let network = (0..).zip(job.sends()).filter(|(_, op)| !inside(**op)).map(|(number, _)| number).collect();
        Self { job, hosts, settings, start, network }
    }

    /// The place of a message among those that need the network.
    pub(crate) fn place_of(&self, message: u32) -> Option<u32> {
        // Of most jobs these are all messages.
        if self.network.len() == self.job.sends().len() {
            return Some(message);
        }
        self.network.binary_search(&message).ok().map(|place| place as u32)
    }

    /// A session for each message that needs the network, in their order. They begin when the job does, or later, when their operations
    /// start.
    pub fn sessions(&self, group: u16) -> Vec<Session> {
        let session = |&number: &u32| {
            let op = self.job.sends()[number as usize];
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
        self.network.iter().map(session).collect()
    }
}
