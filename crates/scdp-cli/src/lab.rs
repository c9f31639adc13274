//! `scdp lab`: hosts around one switch, built from network namespaces, and the programs that run in them.

mod results;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anabranch_lab::{Cleaned, Executor, LabError, Plan, Run, Standing, can_unshare, clean, hidden, permitted, unshare};
use clap::Args;
use serde_json::{Map, Value};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::Json;
use crate::events::Event;
use crate::failure::{CliError, FAILED, USAGE};
use crate::output::Output;
use crate::save::{self, save};
use crate::table;

pub(crate) const EXAMPLES: &str = "Examples:\n  \
    sudo scdp lab labs/replicate.toml\n  \
    sudo scdp lab labs/replicate.toml --shell a\n  \
    sudo scdp lab --clean\n\n\
    A lab file runs commands with your rights: read a stranger's first. docs/reference/lab.md has all its keys.\n\
    Needs Linux, iproute2, and root or a kernel that lets users make namespaces. All is taken down at the end, after Ctrl-C and errors, too.\n\
    Exit code 0 only if every run succeeded.";

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "flags of a command line, of which one is given")]
pub(crate) struct Lab {
    /// The lab file
    #[arg(value_name = "FILE", required_unless_present = "clean")]
    pub(crate) file: Option<PathBuf>,
    /// Only check the file
    #[arg(long, group = "instead")]
    pub(crate) check: bool,
    /// Only list the runs
    #[arg(long, group = "instead")]
    pub(crate) dry_run: bool,
    /// Make the network of the first run, start its programs, and keep them until Ctrl-C
    #[arg(long, group = "instead")]
    pub(crate) hold: bool,
    /// Make the network of the first run, start its programs, and open a shell in this host; keep them until it ends
    #[arg(long, value_name = "HOST", group = "instead")]
    pub(crate) shell: Option<String>,
    /// Remove what killed labs have left behind
    #[arg(long, group = "instead", conflicts_with = "file")]
    pub(crate) clean: bool,
    /// Keep the commands' output and the hosts' folders in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Write all results to a file, as JSON
    #[arg(short, long, value_name = "FILE", conflicts_with = "instead")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        let missing = matches!(&error, LabError::Path { error, .. } if error.kind() == std::io::ErrorKind::NotFound);
        let code = if error.is_usage() || missing { USAGE } else { FAILED };
        Self { message: error.to_string(), hint: error.hint(), code }
    }
}

pub(crate) fn run(arguments: &Lab, output: &Output) -> Result<ExitCode, CliError> {
    let Some(file) = &arguments.file else {
        return remove_left(output);
    };
    let plan = Plan::load(file)?;
    if arguments.dry_run {
        list(&plan, output);
        return Ok(ExitCode::SUCCESS);
    }
    let program =
        std::env::current_exe().map_err(|error| CliError::failed(format!("where is this program? {error}")))?;
    let signals = Signals::catch()?;
    let stop = || signals.last() != 0;
    Executor::check_switches(&program, &plan, &stop).map_err(|error| signals.named(error))?;
    if arguments.check {
        output.tell(&Event::Check { check: "lab file", ok: true, found: summary(&plan), hint: None });
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(host) = arguments.shell.as_ref().filter(|host| !plan.hosts().contains(host)) {
        let hint = format!("hosts are {}", plan.hosts().join(", "));
        return Err(CliError::usage(format!("there is no host {host}")).hint(hint));
    }
    if let Some(path) = &arguments.output {
        save::check(path).map_err(|error| CliError::of_path(path, error))?;
    }
    if !permitted() && can_unshare() {
        let temporary = std::env::temp_dir();
        let given = [&arguments.output, &arguments.keep].into_iter().flatten();
        if let Some(path) = hidden([file, &temporary, &program].into_iter().chain(given).map(PathBuf::as_path)) {
            let hint =
                "move it elsewhere (TMPDIR says where temporary files are), or run it as root: sudo scdp lab ...";
            return Err(
                CliError::of_path(path, "a lab without root has a /run of its own, and cannot see this").hint(hint)
            );
        }
        // Nothing is running yet: the program restarts itself in new namespaces.
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        return Err(CliError::failed(format!("unshare: {}", unshare(&program, &arguments))));
    }
    let executor = Executor::new(&program, arguments.keep.as_deref())?;
    if arguments.hold || arguments.shell.is_some() {
        let Some(first) = plan.runs.first() else { return Ok(ExitCode::SUCCESS) };
        let held = executor.hold(first, &stop, |standing| hold(standing, arguments.shell.as_deref(), &signals, output));
        held.map_err(|error| signals.named(error))??;
        return Ok(ExitCode::SUCCESS);
    }
    run_all(&plan, &executor, arguments.output.as_deref(), &signals, output)
}

/// Removes what killed labs have left, and finally reports what it could not remove.
fn remove_left(output: &Output) -> Result<ExitCode, CliError> {
    let Cleaned { removed, failed } = clean();
    if removed.is_empty() && failed.is_empty() {
        output.text("nothing was left\n");
    }
    for name in removed {
        output.tell(&Event::Removed { name });
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let each = failed.iter().map(|error| format!("\n  | {error}")).collect::<Vec<_>>().concat();
    let hint = if permitted() { None } else { Some("what is of others needs root: sudo scdp lab --clean".to_owned()) };
    Err(CliError { message: format!("{} could not be removed{each}", failed.len()), hint, code: FAILED })
}

/// Runs everything, and shows the results of all completed runs, even if a signal asks to stop.
fn run_all(
    plan: &Plan,
    executor: &Executor,
    file: Option<&Path>,
    signals: &Signals,
    output: &Output,
) -> Result<ExitCode, CliError> {
    let mut outcomes = Vec::new();
    let mut error = None;
    for run in &plan.runs {
        match executor.run(plan, run, &|| signals.last() != 0) {
            Ok(outcome) => {
                output.tell(&results::event(&outcome));
                outcomes.push(outcome);
            }
            Err(why) => {
                error = Some(signals.named(why));
                break;
            }
        }
    }
    let combinations = results::combinations(&outcomes);
    for combination in &combinations {
        output.tell(combination);
    }
    output.text(&results::table(plan, &combinations));
    if let Some(path) = file {
        let all = results::file(plan, &outcomes, &combinations);
        save(path, all.as_bytes()).map_err(|error| CliError::of_path(path, error))?;
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.ok).count();
    match error {
        Some(error) => Err(error),
        None if failed > 0 => Err(CliError::failed(format!("{failed} of {} runs failed", outcomes.len()))),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn values(plan: &Plan, run: &Run) -> Map<String, Value> {
    plan.columns.iter().cloned().zip(run.values.iter().map(|value| Value::from(value.as_str()))).collect()
}

fn list(plan: &Plan, output: &Output) {
    for run in &plan.runs {
        output.tell(&Event::Planned { run: run.number, values: values(plan, run), seed: run.seed });
    }
    let heading: Vec<&str> =
        std::iter::once("run").chain(plan.columns.iter().map(String::as_str)).chain(["seed"]).collect();
    let row = |run: &Run| {
        let cells = std::iter::once(run.number.to_string()).chain(run.values.iter().cloned());
        cells.chain([run.seed.to_string()]).collect()
    };
    output.text(&table::render(&heading, &plan.runs.iter().map(row).collect::<Vec<_>>()));
}

fn summary(plan: &Plan) -> String {
    let combinations = plan.runs.last().map_or(0, |run| run.point + 1);
    let hosts = plan.hosts().len();
    format!("{}: {hosts} hosts; {} runs, of {combinations} combinations", plan.name, plan.runs.len())
}

/// Keeps a network until the shell ends, or until Ctrl-C.
fn hold(standing: &Standing<'_>, shell: Option<&str>, signals: &Signals, output: &Output) -> Result<(), CliError> {
    for (host, address, enter) in standing.hosts() {
        output.tell(&Event::Host { host, address, enter });
    }
    if let Some(host) = shell {
        return standing.shell(host, &|| signals.last() != 0).map_err(|error| signals.named(error));
    }
    output.text(&format!("folders are in {}; Ctrl-C takes all down\n", standing.folder().display()));
    while signals.last() == 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Signals that ask to stop are only recorded: the network is taken down however many arrive.
struct Signals(Arc<AtomicUsize>);

impl Signals {
    fn catch() -> Result<Self, CliError> {
        let last = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&last), signal as usize)
                .map_err(|error| CliError::failed(format!("cannot catch signals: {error}")))?;
        }
        Ok(Self(last))
    }

    fn last(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// The error with the exit code of a program stopped by a signal.
    fn named(&self, error: LabError) -> CliError {
        match error {
            LabError::Stopped => CliError {
                message: "stopped; the network is taken down".to_owned(),
                hint: None,
                code: u8::try_from(128 + self.last()).unwrap_or(u8::MAX),
            },
            error => error.into(),
        }
    }
}
