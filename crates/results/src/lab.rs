//! From a plan to a result folder: runs everything, writes each run as it ends, and the manifest from the first to the last.

use crate::manifest::{FAILED, INTERRUPTED, Remark};
use crate::{Draft, Manifest, RunEntry, SCHEMA, Store, StoreError};
use anabranch_sim::experiment::{Progress, Spent, Stopped, run_all};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Conservation, Ending, Network};
use anabranch_sim::scenario::{Plan, RunPlan, ScenarioError};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
    let book = Book::open(plan, request)?;
    let missing = book.missing(plan)?;
    progress.keep(plan.runs.len() - missing.len());
    let outcome = run_all(
        &missing,
        request.threads,
        progress,
        |i| begin(plan, &plan.runs[i], &book.store.draft(&plan.runs[i].name())),
        |i, record, spent| {
            let draft = book.store.draft(&plan.runs[i].name());
            let entry = end(plan, &plan.runs[i], &draft, record, spent, progress.limit())?;
            book.store.finish(&entry.run, &draft)?;
            Ok(book.enter(i, entry)?)
        },
    );
    let closed = book.close();
    // What stopped the runs says more than that the manifest could not be written either.
    outcome.map_err(|stopped| LabError::from_stopped(plan, stopped))?;
    Ok(closed?)
}

/// Runs one run of a plan, by its number, into a folder of its own, which is made: what is in it is what [`run`] makes of the run.
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
            let entry = end(plan, &plan.runs[i], &draft, record, spent, progress.limit())?;
            *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
            Ok(())
        },
    );
    if outcome.is_err() {
        let _ = draft.remove();
    }
    outcome.map_err(|stopped| LabError::from_stopped(plan, stopped))?;
    // Without an entry it was interrupted before it began.
    Ok(ended.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(|| RunEntry::not_run(&plan.runs[i])))
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

/// Writes what came of a run into its draft.
fn end(
    plan: &Plan,
    run: &RunPlan,
    draft: &Draft,
    record: RunRecord,
    spent: Spent,
    limit: Option<Duration>,
) -> Result<RunEntry, LabError> {
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
    draft.write(&entry, &record)?;
    Ok(entry)
}

/// A result folder while runs end: its lock, and its manifest.
pub struct Book {
    store: Store,
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
    /// If the folder holds anything else or cannot be written, or the first run's fabric is impossible.
    pub fn open(plan: &Plan, request: &Request<'_>) -> Result<Self, LabError> {
        let (store, kept) =
            if request.resume { Store::resume(request.out)? } else { (Store::create(request.out)?, Vec::new()) };
        write_fabric(&store, plan)?;
        let adopted = adopt(&store, plan, kept)?;
        Ok(Self::begin(store, plan, request, adopted)?)
    }

    /// The same for results that are kept elsewhere: only manifest and fabric are written into the folder. `kept` are the
    /// entries of the runs that are there, under the names that they have in the plan.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn elsewhere(plan: &Plan, request: &Request<'_>, kept: Vec<RunEntry>) -> Result<Self, LabError> {
        let store = Store::create(request.out)?;
        let mut kept: BTreeMap<String, RunEntry> = kept.into_iter().map(|entry| (entry.run.clone(), entry)).collect();
        let known = |run: &RunPlan| kept.remove(&run.name()).filter(|e| e.is_final() && e.scenario_hash == run.hash);
        let adopted = plan.runs.iter().map(known).collect();
        write_fabric(&store, plan)?;
        Ok(Self::begin(store, plan, request, adopted)?)
    }

    /// Begins with the entries that were adopted.
    fn begin(
        store: Store,
        plan: &Plan,
        request: &Request<'_>,
        adopted: Vec<Option<RunEntry>>,
    ) -> Result<Self, StoreError> {
        let ended = adopted.iter().map(Option::is_some).collect();
        let entries = adopted.into_iter().zip(&plan.runs);
        let manifest = Manifest {
            schema: SCHEMA,
            anabranch_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: request.command.clone(),
            name: plan.runs.first().map_or_else(String::new, |r| r.scenario.name.clone()),
            description: plan.runs.first().map_or_else(String::new, |r| r.scenario.description.clone()),
            scenario_file: plan.file.clone(),
            scenario_toml: plan.text.clone(),
            overrides: plan.overrides.clone(),
            sweep: plan.sweep.iter().map(|(key, values)| (key.clone(), values.clone().into())).collect(),
            runs: entries.map(|(entry, run)| entry.unwrap_or_else(|| RunEntry::not_run(run))).collect(),
        };
        store.write_manifest(&manifest)?;
        Ok(Self { store, state: Mutex::new(State { manifest, ended, unwritten: 0 }) })
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
    /// If the manifest cannot be written.
    pub fn fail(&self, plan: &Plan, i: usize, message: String) -> Result<(), StoreError> {
        let entry = RunEntry { status: FAILED.to_owned(), message: Some(message), ..RunEntry::not_run(&plan.runs[i]) };
        self.enter(i, entry)
    }

    /// Notes that a run has ended. The manifest, which lists all runs, is written each time that a 32nd part of them is
    /// new, so that all writing together stays proportional to the runs. What it does not tell yet, `run.json` does.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn enter(&self, i: usize, entry: RunEntry) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.manifest.runs[i] = entry;
        state.ended[i] = true;
        state.unwritten += 1;
        if state.unwritten > state.ended.len() / 32 {
            self.store.write_manifest(&state.manifest)?;
            state.unwritten = 0;
        }
        Ok(())
    }

    /// Writes the manifest for the last time.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(self) -> Result<Manifest, StoreError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.store.write_manifest(&state.manifest)?;
        Ok(state.manifest)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the fabric of the first run.
fn write_fabric(store: &Store, plan: &Plan) -> Result<(), LabError> {
    if let Some(first) = plan.runs.first() {
        store.write_fabric(&plan.prepare(first)?.graph)?;
    }
    Ok(())
}

/// Puts the runs that should take longest first, so that at the end no thread waits for one that began late.
fn longest_first(plan: &Plan, mut runs: Vec<usize>) -> Result<Vec<usize>, LabError> {
    if runs.len() > 1 {
        let estimates = plan.estimates()?;
        runs.sort_by_key(|&i| Reverse(estimates[i].packets));
    }
    Ok(runs)
}

/// Finds the runs of the plan among those that are there, by their hashes, and gives them the names that they have in the
/// plan. Runs that the plan does not have stay, for another plan, unless they are in the way.
fn adopt(store: &Store, plan: &Plan, mut kept: Vec<RunEntry>) -> Result<Vec<Option<RunEntry>>, StoreError> {
    kept.sort_by(|a, b| a.run.cmp(&b.run));
    // Points that differ in name only have one hash.
    let mut by_hash: BTreeMap<String, VecDeque<RunEntry>> = BTreeMap::new();
    for entry in kept {
        by_hash.entry(entry.scenario_hash.clone()).or_default().push_back(entry);
    }
    let found: Vec<Option<RunEntry>> =
        plan.runs.iter().map(|run| by_hash.get_mut(&run.hash).and_then(VecDeque::pop_front)).collect();
    let strangers: BTreeSet<&str> = by_hash.values().flatten().map(|entry| entry.run.as_str()).collect();
    let names: BTreeSet<String> = plan.runs.iter().map(RunPlan::name).collect();
    let in_the_way: Vec<&str> =
        strangers.iter().copied().filter(|&run| names.contains(run) || names.contains(own_name(run))).collect();
    store.remove_runs(&in_the_way)?;
    let sources = found.iter().map(|entry| entry.as_ref().map(|entry| entry.run.as_str()));
    for (from, to) in renames(sources.zip(plan.runs.iter().map(RunPlan::name)), |name| store.has_run(name)) {
        store.rename_run(&from, &to)?;
    }
    let mut adopted = Vec::new();
    for (entry, run) in found.into_iter().zip(&plan.runs) {
        // The point is told as this plan names it; decoder and remarks too, which older entries do not tell.
        let (point, decode_latency, remarks) = (run.point.clone(), run.scenario.decode_latency(), Remark::all(run));
        let entry = entry.map(|e| RunEntry { run: run.name(), point, decode_latency, remarks, ..e });
        if let Some(entry) = &entry {
            store.write_entry(entry)?;
        }
        adopted.push(entry);
    }
    Ok(adopted)
}

/// The name of a run whose folder a killed program left as a draft or aside.
fn own_name(folder: &str) -> &str {
    let name = folder.trim_start_matches('.');
    name.split_once('.').map_or(name, |(run, _)| run)
}

/// Renames that give each folder its run's name, in order: `(from, to)`. All that are in the way step aside before any takes
/// its place, because two may have to change places. A program may be killed between any two of them, more than once: the
/// names aside begin with dots, are never taken, and the next command finds the runs there.
fn renames<'a>(
    pairs: impl Iterator<Item = (Option<&'a str>, String)>,
    taken: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let moves: Vec<(&str, String)> =
        pairs.filter_map(|(from, to)| from.filter(|&from| from != to).map(|from| (from, to))).collect();
    let targets: BTreeSet<&str> = moves.iter().map(|(_, to)| to.as_str()).collect();
    let (mut aside, mut into_place) = (Vec::new(), Vec::new());
    for (from, to) in &moves {
        let mut place = (*from).to_owned();
        if targets.contains(from) {
            while place == *from || taken(&place) {
                place.insert(0, '.');
            }
            aside.push(((*from).to_owned(), place.clone()));
        }
        into_place.push((place, to.clone()));
    }
    aside.extend(into_place);
    aside
}

impl RunEntry {
    /// The entry of a run that was interrupted before it began: it has no folder.
    fn not_run(run: &RunPlan) -> Self {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sim::scenario::parse;

    /// Folders of runs by name, with the run that each holds.
    type Folders = BTreeMap<String, usize>;

    /// Renames the folders of runs, of which number `i` shall have name `i` of `names`, and is killed after `steps`
    /// renames; returns how many there were to make.
    fn rename_until_killed(folders: &mut Folders, names: &[String], steps: usize) -> usize {
        let place = |i: usize| folders.iter().find(|&(_, &run)| run == i).map(|(name, _)| name.clone());
        let sources: Vec<Option<String>> = (0..names.len()).map(place).collect();
        let pairs = sources.iter().map(Option::as_deref).zip(names.iter().cloned());
        let moves = renames(pairs, |name| folders.contains_key(name));
        for (from, to) in moves.iter().take(steps) {
            let run = folders.remove(from).expect("it is there");
            assert_eq!(folders.insert(to.clone(), run), None, "{to} is taken");
        }
        moves.len()
    }

    #[test]
    fn no_run_is_lost_between_two_renames_however_often_one_is_killed_there() {
        let name = |i: usize| format!("p{i:03}-s1");
        let begin: Folders = (0..4).map(|i| (name(i), i)).collect();
        // All orders of four, and some that have more places.
        let orders: Vec<Vec<String>> = (0..256)
            .map(|n| [n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3])
            .filter(|order| order.iter().collect::<BTreeSet<_>>().len() == 4)
            .map(|order| order.map(name).to_vec())
            .chain([(2..6).map(name).collect(), vec![name(7), name(0), name(9), name(1)]])
            .collect();
        let mut cases = 0;
        for (k, first) in orders.iter().enumerate() {
            for second in [&orders[(k + 7) % orders.len()], &orders[(k + 11) % orders.len()]] {
                for killed in 0..9 {
                    for again in 0..9 {
                        let mut folders = begin.clone();
                        rename_until_killed(&mut folders, first, killed);
                        rename_until_killed(&mut folders, second, again);
                        rename_until_killed(&mut folders, first, usize::MAX);
                        let expected: Folders = first.iter().cloned().zip(0..).collect();
                        assert_eq!(folders, expected);
                        assert_eq!(rename_until_killed(&mut folders, first, usize::MAX), 0);
                        cases += 1;
                    }
                }
            }
        }
        assert_eq!(cases, 26 * 2 * 81);
        assert_eq!((own_name("..p001-s1"), own_name(".p1-s2.0a1b2c3d.part")), ("p001-s1", "p1-s2"));
    }

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
