//! Runs, one after the other, each in a network of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::clock::{Watch, real};
use crate::error::{Failure, LabError};
use crate::files;
use crate::names::WorkFolder;
use crate::network::{self, Entry, Network};
use crate::plan::{Plan, Run, SWITCH, Scope, Switch};
use crate::process::{self, Ended, Process, Stop, Waited};
use crate::tools;
use crate::unprivileged;

/// How long a command that makes a file may take, and one that checks the switch's settings.
const PREPARE: Duration = Duration::from_secs(60);

/// What became of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Its number, from 1.
    pub run: usize,
    /// What varies, and its values.
    pub values: serde_json::Map<String, Value>,
    /// Its seed.
    pub seed: u64,
    /// Whether all that was asked was so.
    pub ok: bool,
    /// Wall time of the steps that are measured. None if one failed.
    pub seconds: Option<f64>,
    /// Wall time of each step that has ended as expected, until its last host was done.
    pub steps: Vec<f64>,
    /// Bytes that each host has sent while the steps ran, headers of Ethernet included.
    pub sent_bytes: serde_json::Map<String, Value>,
    /// Objects of JSON that programs and steps have printed, each on a line of its own, by where they ran: the last of them.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub said: serde_json::Map<String, Value>,
    /// What the switch has counted, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<Value>,
    /// What failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Which combination, from 0.
    #[serde(skip)]
    pub point: usize,
}

/// Runs the runs of a plan. Dropping it removes its folder.
#[derive(Debug)]
pub struct Executor {
    work: WorkFolder,
    entry: Entry,
}

/// A run's network with its programs. Dropping it ends them and takes it down.
#[derive(Debug)]
pub struct Standing<'l> {
    // Before the network, so that programs end first.
    programs: Vec<(usize, String, Process)>,
    network: Network,
    scope: ScopeOf<'l>,
    entry: &'l Entry,
}

#[derive(Debug)]
struct ScopeOf<'l> {
    run: &'l Run,
    folder: PathBuf,
}

impl ScopeOf<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope { lab: &self.run.lab, seed: self.run.seed, folder: &self.folder }
    }
}

/// Something that fails a run, or all of them.
enum Stopped {
    Run(Failure),
    Lab(LabError),
}

impl From<LabError> for Stopped {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

impl Executor {
    /// Prepares to run. `program` is what `scdp` in commands stands for; `keep` is a folder, new or empty, for what runs leave.
    ///
    /// # Errors
    /// [`LabError::NotPermitted`] without the rights to make namespaces; [`LabError::Missing`] without iproute2; [`LabError::Path`] if there
    /// is no folder to work in.
    pub fn new(program: &Path, keep: Option<&Path>) -> Result<Self, LabError> {
        if !cfg!(target_os = "linux") {
            let (what, hint) =
                ("a lab needs network namespaces, which are of Linux", "run it in a virtual machine with Linux");
            return Err(LabError::NotPermitted { what: what.to_owned(), hint: hint.to_owned() });
        }
        if !tools::permitted() {
            let what = "a lab needs the rights to make network namespaces (CAP_SYS_ADMIN and CAP_NET_ADMIN)";
            return Err(LabError::NotPermitted {
                what: what.to_owned(),
                hint: "run it as root: sudo scdp lab ...".to_owned(),
            });
        }
        for program in ["ip", "tc"] {
            tools::run(program, &["-V"], "")?;
        }
        let entry = Entry { program: program.to_owned(), pdeathsig: tools::pdeathsig() };
        Ok(Self { work: WorkFolder::new(keep)?, entry })
    }

    /// Runs one run. What fails in it is in the outcome.
    ///
    /// # Errors
    /// What is not the fault of the commands: the network cannot be made, the switch does not start, files cannot be written; and
    /// [`LabError::Stopped`] if `stop` says so.
    pub fn run(&self, plan: &Plan, run: &Run, stop: &dyn Fn() -> bool) -> Result<RunResult, LabError> {
        let values =
            plan.columns.iter().cloned().zip(run.values.iter().map(|value| Value::from(value.as_str()))).collect();
        let mut outcome = RunResult {
            run: run.number,
            values,
            seed: run.seed,
            ok: false,
            seconds: None,
            steps: Vec::new(),
            sent_bytes: serde_json::Map::new(),
            said: serde_json::Map::new(),
            switch: None,
            failure: None,
            point: run.point,
        };
        let folder = self.folder(run);
        let result = self.measured(run, &mut outcome, stop);
        self.work.forget(&folder);
        // Input is made again from its seed.
        let _ = fs::remove_dir_all(folder.join("files"));
        match result {
            Ok(()) => outcome.ok = true,
            Err(Stopped::Run(failure)) => {
                outcome.seconds = None;
                outcome.failure = Some(failure.to_string());
            }
            Err(Stopped::Lab(error)) => return Err(error),
        }
        Ok(outcome)
    }

    fn folder(&self, run: &Run) -> PathBuf {
        self.work.path.join(format!("run-{}", run.number))
    }

    fn measured(&self, run: &Run, outcome: &mut RunResult, stop: Stop<'_>) -> Result<(), Stopped> {
        let mut standing = self.raise(run, stop)?;
        let before = standing.network.sent_bytes()?;
        let result = standing.steps(outcome, stop).and_then(|()| standing.check(stop));
        standing.network.check_switch()?;
        let after = standing.network.sent_bytes()?;
        let names = run.lab.hosts.iter().map(|host| host.name.clone());
        outcome.sent_bytes =
            names.zip(after.iter().zip(before).map(|(after, before)| Value::from(after - before))).collect();
        for (_, host, process) in &mut standing.programs {
            process.end();
            say(&mut outcome.said, host, process);
        }
        standing.programs.clear();
        outcome.switch = standing.network.end_switch();
        result
    }

    /// Makes files and the network of a run, and starts its programs.
    fn raise<'l>(&'l self, run: &'l Run, stop: Stop<'_>) -> Result<Standing<'l>, Stopped> {
        let scope = ScopeOf { run, folder: self.folder(run) };
        for folder in run
            .lab
            .hosts
            .iter()
            .map(|host| scope.scope().dir(&host.name))
            .chain([scope.scope().dir(SWITCH)])
            .chain([scope.folder.join("files"), scope.folder.join("output")])
        {
            fs::create_dir_all(&folder).map_err(LabError::path(&folder))?;
        }
        make_files(&scope, &self.entry, stop)?;
        let network = Network::build(&run.lab, run.seed, &self.entry, &scope.folder.join("output"), stop)?;
        let mut standing = Standing { programs: Vec::new(), network, scope, entry: &self.entry };
        standing.start_programs(stop)?;
        Ok(standing)
    }

    /// Makes the network of a run, starts its programs, and gives it to `hold`.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`LabError::Failed`] if a program does not start.
    pub fn hold<T>(
        &self,
        run: &Run,
        stop: &dyn Fn() -> bool,
        hold: impl FnOnce(&Standing<'_>) -> T,
    ) -> Result<T, LabError> {
        match self.raise(run, stop) {
            Ok(standing) => Ok(hold(&standing)),
            Err(Stopped::Lab(error)) => Err(error),
            Err(Stopped::Run(failure)) => Err(LabError::Failed(failure)),
        }
    }

    /// Has `scdp switch` check its settings at every point of the sweep.
    ///
    /// # Errors
    /// [`LabError::Settings`] in the words of the switch.
    pub fn check_switches(program: &Path, plan: &Plan, stop: &dyn Fn() -> bool) -> Result<(), LabError> {
        let work = WorkFolder::new(None)?;
        let entry = Entry { program: program.to_owned(), pdeathsig: false };
        let mut seen: Vec<&toml::Table> = Vec::new();
        for run in &plan.runs {
            let Switch::Scdp(table) = &run.lab.switch else { continue };
            if seen.contains(&table) {
                continue;
            }
            seen.push(table);
            let path = work.path.join(format!("switch-{}.toml", run.number));
            network::write_switch(&path, table, run.seed)?;
            let words = entry.resolved(&network::switch_words(&path, &run.lab, &["--check"]));
            let log = work.path.join(format!("switch-{}.log", run.number));
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            let mut process =
                Process::start("the switch".to_owned(), &mut command, &log).map_err(LabError::path(&log))?;
            match process.wait(PREPARE, stop) {
                Waited::Ended(ended) if ended.code() == Some(0) => {}
                Waited::Stopped => return Err(LabError::Stopped),
                _ => {
                    let at: Vec<String> =
                        plan.columns.iter().zip(&run.values).map(|(key, value)| format!("{key} = {value}")).collect();
                    let at = if at.is_empty() { String::new() } else { format!(" with {}", at.join(", ")) };
                    // The file is the lab's own: it is gone when somebody reads this.
                    let path = path.display().to_string();
                    let tail: Vec<String> = process.tail().iter().map(|line| line.replace(&path, "[switch]")).collect();
                    let (what, hint) = network::quoted(&format!("the switch does not take its settings{at}"), &tail);
                    return Err(LabError::Settings { what, hint });
                }
            }
        }
        Ok(())
    }
}

fn make_files(scope: &ScopeOf<'_>, entry: &Entry, stop: Stop<'_>) -> Result<(), Stopped> {
    for (name, file) in &scope.run.lab.file.files {
        let (path, own) = (scope.scope().file(name), scope.scope().file_dir(name));
        fs::create_dir_all(&own).map_err(LabError::path(&own))?;
        if let Some(size) = file.size {
            files::write_random(&path, name, scope.run.seed, size.0, stop)?;
        }
        if let Some(command) = &file.command {
            let words = entry.resolved(&scope.scope().words(command, None).expect("the plan has checked it"));
            let mut made = Command::new(&words[0]);
            made.args(&words[1..]).current_dir(own);
            let what = format!("the command of file {name}: {:?}", words.join(" "));
            let log = scope.folder.join("output").join(format!("file-{name}.log"));
            let mut process = started(&what, &mut made, &log)?;
            let waited = process.wait(PREPARE, stop);
            expect(&process, waited, 0, PREPARE)?;
        }
    }
    Ok(())
}

/// Keeps what a process has said in JSON.
fn say(said: &mut serde_json::Map<String, Value>, host: &str, process: &Process) {
    let lines = process.json();
    if lines.is_empty() {
        return;
    }
    if let Value::Array(all) = said.entry(host).or_insert_with(|| Value::Array(Vec::new())) {
        all.extend(lines);
    }
}

fn started(what: &str, command: &mut Command, log: &Path) -> Result<Process, Stopped> {
    Process::start(what.to_owned(), command, log)
        .map_err(|error| Stopped::Run(Failure { what: format!("{what}: {error}"), output: Vec::new() }))
}

/// The end as it was expected, or why not.
fn expect(process: &Process, waited: Waited, code: i32, limit: Duration) -> Result<Ended, Stopped> {
    let how = match waited {
        Waited::Ended(ended) if ended.code() == Some(code) => return Ok(ended),
        Waited::Ended(ended) if code == 0 => ended.how(),
        Waited::Ended(ended) => format!("{}, not with {code}", ended.how()),
        Waited::TooLong => format!("takes longer than {} s", limit.as_secs_f64()),
        Waited::Stopped => return Err(LabError::Stopped.into()),
    };
    Err(Stopped::Run(Failure { what: format!("{} {how}", process.name), output: process.tail() }))
}

impl Standing<'_> {
    /// Starts a command in a host.
    fn start(&self, kind: &str, index: usize, host: &str, command: &crate::file::Words) -> Result<Process, Stopped> {
        let scope = self.scope.scope();
        let words = scope.words(command, Some(host)).expect("the plan has checked it");
        let what = format!("{kind} {} on {host}: {:?}", index + 1, words.join(" "));
        let log = self.scope.folder.join("output").join(format!("{kind}-{}-{host}.log", index + 1));
        let mut command = self.entry.command(self.network.namespace(host), &words);
        started(&what, command.current_dir(scope.dir(host)), &log)
    }

    fn start_programs(&mut self, stop: Stop<'_>) -> Result<(), Stopped> {
        for (index, program) in self.scope.run.lab.file.program.iter().enumerate() {
            let first = self.programs.len();
            for host in program.on.names() {
                let process = self.start("program", index, host, &program.command)?;
                self.programs.push((index, host.clone(), process));
            }
            let Some(ready) = &program.ready else { continue };
            for (_, _, process) in &mut self.programs[first..] {
                let limit = real(program.time_limit);
                let why = match process.wait_for(ready, limit, stop) {
                    Ok(_) => continue,
                    Err(Waited::Stopped) => return Err(LabError::Stopped.into()),
                    Err(Waited::Ended(ended)) => format!("{} before it said {ready:?}", ended.how()),
                    Err(Waited::TooLong) => format!("does not say {ready:?} in {} s", limit.as_secs_f64()),
                };
                return Err(Stopped::Run(Failure { what: format!("{} {why}", process.name), output: process.tail() }));
            }
        }
        Ok(())
    }

    fn steps(&mut self, outcome: &mut RunResult, stop: Stop<'_>) -> Result<(), Stopped> {
        let mut seconds = 0.0;
        for (index, step) in self.scope.run.lab.file.step.iter().enumerate() {
            let limit = real(step.time_limit);
            let watch = Watch::start();
            let mut processes = Vec::new();
            for host in step.on.names() {
                processes.push((watch.elapsed(), self.start("step", index, host, &step.command)?));
            }
            let mut longest = Duration::ZERO;
            for (begun, process) in &mut processes {
                let waited = process.wait(limit.saturating_sub(watch.elapsed()), stop);
                let ended = expect(process, waited, step.expect, limit)?;
                longest = longest.max(*begun + ended.after);
            }
            for (host, (_, process)) in step.on.names().iter().zip(&processes) {
                say(&mut outcome.said, host, process);
            }
            outcome.steps.push(longest.as_secs_f64());
            if step.measure {
                seconds += longest.as_secs_f64();
            }
        }
        self.end_programs(stop)?;
        outcome.seconds = Some(seconds);
        Ok(())
    }

    /// Those that end by themselves are waited for; those that should not have ended must have done so well.
    fn end_programs(&mut self, stop: Stop<'_>) -> Result<(), Stopped> {
        for (index, _, process) in &mut self.programs {
            let limit = self.scope.run.lab.file.program[*index].wait.map(real);
            let waited = match (limit, process.ended()) {
                (None, None) => continue,
                (None, Some(ended)) => Waited::Ended(ended),
                (Some(limit), _) => process.wait(limit, stop),
            };
            expect(process, waited, 0, limit.unwrap_or_default())?;
        }
        Ok(())
    }

    fn check(&self, stop: Stop<'_>) -> Result<(), Stopped> {
        let scope = self.scope.scope();
        for (index, check) in self.scope.run.lab.file.check.iter().enumerate() {
            let paths: Vec<PathBuf> =
                check.same.iter().map(|text| scope.text(text).expect("the plan has checked it").into()).collect();
            for other in &paths[1..] {
                if let Some(what) = files::difference(&paths[0], other, stop)? {
                    return Err(Stopped::Run(Failure {
                        what: format!("check {}: {what}", index + 1),
                        output: Vec::new(),
                    }));
                }
            }
        }
        Ok(())
    }

    /// Name, address and the command that enters it, of each host.
    pub fn hosts(&self) -> Vec<(String, String, String)> {
        let hosts = self.scope.run.lab.hosts.iter();
        hosts
            .map(|host| {
                // In a user's own namespaces the names are known to those only who enter them.
                let own = std::env::var_os(unprivileged::UNSHARED)
                    .map(|_| format!("nsenter -t {} -U --preserve-credentials -m ", std::process::id()));
                let enter =
                    format!("{}ip netns exec {} COMMAND", own.unwrap_or_default(), self.network.namespace(&host.name));
                (host.name.clone(), host.address.to_string(), enter)
            })
            .collect()
    }

    /// The folder of the run, with one for each host inside.
    pub fn folder(&self) -> &Path {
        &self.scope.folder
    }

    /// Runs a shell in a host, on the terminal, until it ends.
    ///
    /// # Errors
    /// [`LabError::Path`] if it does not start, and [`LabError::Stopped`] if `stop` says so: the shell is hung up then, as by a terminal that
    /// is closed.
    pub fn shell(&self, host: &str, stop: &dyn Fn() -> bool) -> Result<(), LabError> {
        let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.network.namespace(host), &shell]);
        command.current_dir(self.scope.scope().dir(host)).env("SCDP_LAB_HOST", host);
        let mut child = command.spawn().map_err(LabError::path("ip"))?;
        process::wait_for_child(&mut child, stop).map_err(LabError::path("ip"))?.ok_or(LabError::Stopped).map(drop)
    }
}
