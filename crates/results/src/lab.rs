//! From a plan to a result folder: runs everything, writes each run as it ends, and the manifest from the first to the last.

use crate::manifest::{FAILED, INTERRUPTED};
use crate::{Directory, Draft, Folder, Manifest, Opening, RunEntry, SCHEMA, Storage, StoreError};
use anabranch_sim::experiment::{Progress, Spent, Stopped, run_all};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network};
use anabranch_sim::scenario::{Plan, RunPlan, ScenarioError};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why an experiment could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A run is impossible.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// Results cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run panicked: a fault of the simulator.
    #[error("run {run}: the simulator panicked: {message}")]
    Panic {
        /// Its name.
        run: String,
        /// What the panic said.
        message: String,
    },
}

/// Where and how to run a plan.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Result folder.
    pub out: &'a Path,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// The command line, for the manifest.
    pub command: Vec<String>,
    /// Keep runs that are in the folder already, were not interrupted and have the same hash, instead of running them again.
    pub resume: bool,
    /// Finished runs that are neither kept nor made again may be deleted.
    pub force: bool,
}

impl LabError {
    fn from_stopped(plan: &Plan, stopped: Stopped<Self>) -> Self {
        match stopped {
            Stopped::Failed(error) => error,
            Stopped::Panicked { run, message } => Self::Panic { run: plan.runs[run].name(), message },
        }
    }
}

/// Runs a plan into a folder. Interrupted (through `progress`) or not, the manifest lists every run of the plan; it is there
/// before the first run begins, so that a program that is killed leaves a folder that can be read and resumed.
///
/// # Errors
/// If a run is impossible or a file cannot be written. Runs that had ended are on disk.
pub fn run(plan: &Plan, request: &Request<'_>, progress: &Progress) -> Result<Manifest, LabError> {
    let how = Opening { resume: request.resume, force: request.force, token: None };
    let book = Book::open(plan, Arc::new(Directory::new(request.out)), &how, &request.command)?;
    let draft = |i: usize| Draft::at(request.out.join(Folder::draft(&plan.runs[i].name())));
    let missing = book.missing(plan)?;
    progress.keep(plan.runs.len() - missing.len());
    let outcome = run_all(
        &missing,
        request.threads,
        progress,
        |i| begin(plan, &plan.runs[i], &draft(i)),
        |i, record, spent| {
            let draft = draft(i);
            let (entry, record) = ended_with(plan, &plan.runs[i], &draft, record, spent, progress.limit())?;
            draft.write(&entry, &record)?;
            // A complete run that cannot get its name waits in its draft for the next command.
            book.folder.finish(&entry.run)?;
            Ok(book.enter(i, entry)?)
        },
    );
    let closed = book.close();
    // What stopped the runs says more than that the manifest could not be written either.
    outcome.map_err(|stopped| LabError::from_stopped(plan, stopped))?;
    Ok(closed?)
}

/// Runs one run of a plan, by its number, into a folder of its own, which is made: what is in it is what [`run`] makes of the
/// run. There is none if the run was interrupted: it would have no use.
///
/// # Errors
/// If the run is impossible or a file cannot be written; then nothing is left.
pub fn run_one(plan: &Plan, i: usize, folder: &Path, progress: &Progress) -> Result<RunEntry, LabError> {
    let draft = Draft::at(folder.to_owned());
    let ended = Mutex::new(None);
    let outcome = run_all(
        &[i],
        1,
        progress,
        |i| begin(plan, &plan.runs[i], &draft),
        |i, record, spent| {
            let (entry, record) = ended_with(plan, &plan.runs[i], &draft, record, spent, progress.limit())?;
            if entry.status != INTERRUPTED {
                draft.write(&entry, &record)?;
            }
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
            Ok(())
        },
    );
    if outcome.is_err() {
        let _ = draft.remove();
    }
    outcome.map_err(|stopped| LabError::from_stopped(plan, stopped))?;
    // Without an entry it was interrupted before it began.
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let entry = ended.unwrap_or_else(|| RunEntry::not_run(&plan.runs[i]));
    if entry.status == INTERRUPTED {
        draft.remove()?; // its captures
    }
    Ok(entry)
}

/// The network of a run, with its packet captures, which go into the draft.
fn begin(plan: &Plan, run: &RunPlan, draft: &Draft) -> Result<Network, LabError> {
    let mut network = plan.network(run)?;
    let captures = plan.captures(run, network.graph())?;
    if !captures.is_empty() {
        draft.begin_captures(|files| network.capture(captures, files))?;
    }
    Ok(network)
}

/// The entry of a run that has ended, and the record that it is of, unless there are no results to be written.
fn ended_with(
    plan: &Plan,
    run: &RunPlan,
    draft: &Draft,
    record: RunRecord,
    spent: Spent,
    limit: Option<Duration>,
) -> Result<(RunEntry, RunRecord), LabError> {
    let unfinished = matches!(record.ending, Ending::TooLarge(..) | Ending::Refused(_));
    if unfinished || record.captures.is_err() {
        draft.remove()?;
    }
    if let Ending::TooLarge(needs, why) = &record.ending {
        return Err(plan.too_large(run, *needs, why).into());
    }
    if let Ending::Refused(why) = &record.ending {
        return Err(plan.refused(run, why).into());
    }
    if let Err(source) = record.captures {
        return Err(draft.capture_failed(source).into());
    }
    let entry = RunEntry::new(run, &record, spent, limit);
    Ok((entry, record))
}

/// A result folder while runs end: the folder, and its manifest.
pub struct Book {
    folder: Folder,
    state: Mutex<State>,
}

struct State {
    manifest: Manifest,
    /// Per run of the plan: whether its entry is that of a run with results.
    ended: Vec<bool>,
    /// Runs that ended after the manifest was last written.
    unwritten: usize,
}

impl Book {
    /// Opens the folder, keeps what there is of the plan if that is asked for, and writes the manifest.
    ///
    /// # Errors
    /// As [`Folder::open`]; or if the first run's fabric is impossible.
    pub fn open(plan: &Plan, storage: Arc<dyn Storage>, how: &Opening, command: &[String]) -> Result<Self, LabError> {
        let first = plan.runs.first();
        let fabric = first.map(|run| plan.prepare(run)).transpose()?.map_or(Value::Null, |run| drawing(&run.graph));
        let mut manifest = Manifest {
            schema: SCHEMA,
            anabranch_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_vec(),
            name: first.map_or_else(String::new, |r| r.scenario.name.clone()),
            description: first.map_or_else(String::new, |r| r.scenario.description.clone()),
            scenario_file: plan.file.clone(),
            scenario_toml: plan.text.clone(),
            overrides: plan.overrides.clone(),
            sweep: plan.sweep.iter().map(|(key, values)| (key.clone(), values.clone().into())).collect(),
            runs: plan.runs.iter().map(RunEntry::not_run).collect(),
        };
        let (folder, ended) = Folder::open(storage, how, &mut manifest, &fabric)?;
        Ok(Self { folder, state: Mutex::new(State { manifest, ended, unwritten: 0 }) })
    }

    /// The runs without results, those that should take longest first.
    ///
    /// # Errors
    /// If a run is impossible.
    pub fn missing(&self, plan: &Plan) -> Result<Vec<usize>, LabError> {
        let state = self.lock();
        longest_first(plan, (0..state.ended.len()).filter(|&i| !state.ended[i]).collect())
    }

    /// Notes that a run has ended with an error, and has no results.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn fail(&self, plan: &Plan, i: usize, message: String) -> Result<(), StoreError> {
        self.enter(
            i,
            RunEntry { status: FAILED.to_owned(), message: Some(message), ..RunEntry::not_run(&plan.runs[i]) },
        )
    }

    /// Notes that a run has ended. The manifest, which lists all runs, is written each time that a 32nd part of them is
    /// new, so that all writing together stays proportional to the runs. What it does not tell yet, `run.json` does. If it
    /// cannot be written, the next run that ends tries it again.
    ///
    /// # Errors
    /// If the manifest was being written, or what the run was before removed, and that was interrupted.
    pub fn enter(&self, i: usize, entry: RunEntry) -> Result<(), StoreError> {
        if entry.is_final() {
            self.folder.replaced(&entry.run)?;
        }
        let mut state = self.lock();
        state.manifest.runs[i] = entry;
        state.ended[i] = true;
        state.unwritten += 1;
        if state.unwritten > state.ended.len() / 32 {
            match self.folder.write_manifest(&state.manifest) {
                Ok(()) => state.unwritten = 0,
                Err(error) if error.is_interruption() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Checks that no other client writes there.
    ///
    /// # Errors
    /// As [`Folder::check_lock`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.folder.check_lock()
    }

    /// Writes the manifest for the last time, and lets go of the folder.
    ///
    /// # Errors
    /// If the manifest cannot be written, or a lock not be removed.
    pub fn close(self) -> Result<Manifest, StoreError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let written = self.folder.write_manifest(&state.manifest);
        written.and(self.folder.close()).map(|()| state.manifest)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `fabric.json` holds, for drawing.
fn drawing(graph: &Graph) -> Value {
    let nodes: Vec<_> =
        graph.nodes.iter().map(|n| json!({"name": n.name, "level": n.level.name(), "pod": n.pod})).collect();
    let links: Vec<_> = graph
        .links
        .iter()
        .map(|l| json!({"a": l.a, "b": l.b, "rate_bps": l.rate.bps(), "delay_ns": l.delay.ps() as f64 / 1e3}))
        .collect();
    json!({"nodes": nodes, "links": links})
}

/// Puts the runs that should take longest first, so that at the end no thread waits for one that began late.
fn longest_first(plan: &Plan, mut runs: Vec<usize>) -> Result<Vec<usize>, LabError> {
    if runs.len() > 1 {
        let estimates = plan.estimates()?;
        runs.sort_by_key(|&i| Reverse(estimates[i].packets));
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sim::scenario::parse;

    #[test]
    fn runs_begin_in_the_order_of_what_they_will_take() {
        let text = r#"
            [fabric]
            topology = "star"
            hosts = 4
            [transport]
            name = "ndp"
            [[workload]]
            sizes = { law = "fixed", size = "20KB" }
            placement = { pattern = "permutation" }
            [sweep]
            "workload.0.sizes.size" = ["20KB", "2MB", "20KB", "200KB"]
        "#;
        let plan = parse("test.toml", text, &[]).expect("the scenario is right");
        let order = longest_first(&plan, vec![0, 1, 2, 3]).expect("all can be run");
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(longest_first(&plan, vec![2, 3]).expect("all can be run"), [3, 2]);
        for threads in [1, 3] {
            let ended = Mutex::new(Vec::new());
            let note = |i, _, _| {
                ended.lock().expect("nobody panics").push(i);
                Ok(())
            };
            let build = |i: usize| Ok(plan.network(&plan.runs[i])?);
            run_all::<LabError>(&order, threads, &Progress::new(4), build, note).expect("nothing fails");
            let mut ended = ended.into_inner().expect("nobody panics");
            if threads > 1 {
                ended.sort_unstable();
                assert_eq!(ended, [0, 1, 2, 3]);
            } else {
                assert_eq!(ended, order);
            }
        }
    }
}
