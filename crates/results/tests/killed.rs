//! A command that is killed at any change loses no finished run and locks no folder, whatever the next one does, which is
//! killed, too.

use crate::memory::{LOCK, Memory, State};
use crate::resume::FIRST;
use anabranch_results::{Folder, Manifest, Opening, Place, RunEntry, SCHEMA, Storage, StoreError};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs of a plan: the hash of each, in order of their names.
type Plan = &'static [&'static str];

/// A command into the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Command {
    plan: Plan,
    resume: bool,
    force: bool,
}

const fn command(plan: Plan, resume: bool, force: bool) -> Command {
    Command { plan, resume, force }
}

/// What is in the folder at first.
const BEGIN: Plan = &["a", "b", "c"];

/// Runs change places, all of them or some; go to other places; make room for others; are made again; are replaced.
const COMMANDS: [Command; 7] = [
    command(&["b", "c", "a"], true, false),
    command(&["x", "b", "y", "c", "a"], true, false),
    command(&["b", "a", "x"], true, true),
    command(&["c"], true, true),
    command(&["c", "b", "a"], false, false),
    command(&["x", "y"], false, true),
    command(&["x", "y"], true, false),
];

/// Another experiment, which makes nothing that is there.
const STRANGE: Command = command(&["z"], false, false);

fn name(i: usize) -> String {
    format!("p{i:03}-s1")
}

fn entry(i: usize, hash: &str, status: &str) -> RunEntry {
    let text = json!({
        "run": name(i), "point": {"at": i}, "seed": 1, "transport": "ndp", "decode_latency": null, "status": status,
        "message": null, "fingerprint": "", "events": 0, "simulated_ns": 0.0, "wall_s": 0.0, "scenario_hash": hash,
        "conservation": {"sent": 0, "replicated": 0, "delivered": 0, "trimmed": 0, "dropped": 0, "in_flight": 0},
    });
    serde_json::from_value(text).expect("it is an entry")
}

/// The files of a run but its entry. Some have a series, and a capture.
fn tables(hash: &str) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let others = if has_capture(hash) { ["series.parquet", "packets/a.pcapng"].as_slice() } else { &[] };
    let files = ["flows.parquet", "links.parquet"].into_iter().chain(others.iter().copied());
    files.map(move |file| (file, format!("{hash} PAR1").into_bytes()))
}

fn has_capture(hash: &str) -> bool {
    hash < "b" || hash == "x"
}

/// The files of a run.
fn files(i: usize, hash: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut entry = json!(entry(i, hash, "complete"));
    if has_capture(hash) {
        let capture = json!({"file": "packets/a.pcapng", "dropped_file": null, "links": [], "packets": 0, "bytes": 0, "dropped": 0, "full_at_ns": null});
        entry["captures"] = json!([capture]);
    }
    let text = serde_json::to_vec_pretty(&entry).expect("it is JSON");
    tables(hash).chain([("run.json", text)]).collect()
}

/// A run as a worker has it before it is stored: a draft in a folder of this machine.
fn local(i: usize, hash: &str) -> PathBuf {
    static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let draft = format!("killed/{hash}/.{}.0a1b2c3d.part", name(i));
    let draft = Path::new(env!("CARGO_TARGET_TMPDIR")).join(draft);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.insert(draft.clone()) {
        for (file, content) in files(i, hash) {
            let path = draft.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, content).expect("it can be written");
        }
    }
    draft
}

/// Does what a command does: opens the folder, makes the missing runs, and closes it.
fn act(storage: &Arc<Memory>, command: Command) -> Result<(), StoreError> {
    let plan = command.plan;
    // Whether workers write there, each into a draft of its own.
    let shared = !storage.renames() || plan.len().is_multiple_of(2);
    let mut manifest = Manifest {
        schema: SCHEMA,
        anabranch_version: "0".to_owned(),
        command: vec!["run".to_owned()],
        name: String::new(),
        description: String::new(),
        scenario_file: "a.toml".to_owned(),
        scenario_toml: String::new(),
        overrides: Vec::new(),
        sweep: serde_json::Map::new(),
        runs: plan.iter().enumerate().map(|(i, hash)| entry(i, hash, "interrupted")).collect(),
    };
    let token = FIRST.to_owned();
    let place: Arc<dyn Storage> = Arc::<Memory>::clone(storage);
    let how = Opening { resume: command.resume, force: command.force, token: shared.then(|| token.clone()) };
    let (folder, kept) = Folder::open(Arc::clone(&place), &how, &mut manifest, &json!({"nodes": [], "links": []}))?;
    let io = |source| StoreError::Io { act: "write", path: String::new(), source };
    let named = Place(Arc::clone(&place));
    for (i, hash) in plan.iter().enumerate().filter(|&(i, _)| !kept[i]) {
        if place.renames() {
            let writer = local(i, hash).file_name().map(|name| name.to_string_lossy().into_owned());
            let draft =
                writer.filter(|_| shared).map_or_else(|| Folder::draft(&name(i)), |name| format!("runs/{name}"));
            storage.make_folder(&draft).map_err(io)?;
            for (file, content) in files(i, hash) {
                if let Some((folder, _)) = file.split_once('/') {
                    storage.make_folder(&format!("{draft}/{folder}")).map_err(io)?;
                }
                storage.write_plainly(&format!("{draft}/{file}"), &content).map_err(io)?;
            }
            if shared {
                // Of a draft that is there, only its name and the entry are needed on this machine.
                named.publish(&local(i, hash), &name(i), hash, Some(&token))?;
            } else {
                folder.finish(&name(i))?;
            }
        } else {
            named.publish(&local(i, hash), &name(i), hash, Some(&token))?;
        }
        folder.replaced(&name(i))?;
        manifest.runs[i] = entry(i, hash, "complete");
        folder.write_manifest(&manifest)?;
    }
    folder.write_manifest(&manifest)?;
    folder.close()
}

/// The finished runs by the names of their folders, whatever these are, found without the crate's own means.
fn homes(state: &State) -> BTreeMap<String, String> {
    let in_runs = state.files.iter().filter_map(|(path, text)| Some((path.strip_prefix("runs/")?, text)));
    let entries = in_runs.filter_map(|(path, text)| Some((path.strip_suffix("/run.json")?, text)));
    let whole = entries.filter_map(|(folder, text)| {
        let text = std::str::from_utf8(text).ok().filter(|text| text.trim_end().ends_with('}'))?;
        let (hash, _) = text.split_once("\"scenario_hash\": \"")?.1.split_once('"')?;
        let there = |(file, content)| state.files.get(&format!("runs/{folder}/{file}")) == Some(&content);
        let complete = text.contains("\"status\": \"complete\"") && tables(hash).all(there);
        complete.then(|| (folder.to_owned(), hash.to_owned()))
    });
    whole.collect()
}

/// Their hashes.
fn finished(state: &State) -> BTreeSet<String> {
    homes(state).into_values().collect()
}

/// Checks that a command has done all that it should, and left nothing of those that were killed.
fn check_complete(state: &State, command: Command) {
    let read = |path: &str| -> Value { serde_json::from_slice(&state.files[path]).expect("whole JSON") };
    let manifest = read("manifest.json");
    for (i, hash) in command.plan.iter().enumerate() {
        for (file, content) in tables(hash) {
            assert_eq!(state.files[&format!("runs/{}/{file}", name(i))], content, "{file} of {hash}");
        }
        let entry = read(&format!("runs/{}/run.json", name(i)));
        assert_eq!((&entry["run"], &entry["point"]["at"]), (&json!(name(i)), &json!(i)));
        for told in [&entry, &manifest["runs"][i]] {
            assert_eq!((&told["scenario_hash"], &told["status"]), (&json!(hash), &json!("complete")));
        }
    }
    assert_eq!(
        (read("fabric.json"), state.files["notes.txt"].as_slice()),
        (json!({"nodes": [], "links": []}), &b"mine"[..])
    );
    let whole = homes(state);
    for path in state.files.keys() {
        let left = match path.strip_prefix("runs/").and_then(|path| path.split_once('/')) {
            // A finished run of another plan may be aside.
            Some((home, _)) => !whole.contains_key(home) || home.starts_with('.') && !command.resume,
            None => path.starts_with('.'),
        };
        assert!(!left, "{path} is left");
    }
}

/// The runs that a manifest tells to be complete: the first file of each, and what should be in it.
fn told(manifest: &[u8]) -> Vec<(String, Vec<u8>)> {
    let manifest: Value = serde_json::from_slice(manifest).expect("whole JSON");
    let complete = manifest["runs"].as_array().expect("a list").iter().filter(|told| told["status"] == "complete");
    let file = |told: &Value| {
        let (run, hash) = (told["run"].as_str().expect("a name"), told["scenario_hash"].as_str().expect("a hash"));
        (format!("runs/{run}/flows.parquet"), format!("{hash} PAR1").into_bytes())
    };
    complete.map(file).collect()
}

/// What must be there after a command, killed or not, of what was there before it: with `--force`, what it makes again.
fn protected(before: &State, command: Command) -> BTreeSet<String> {
    let mut there = finished(before);
    there.retain(|hash| !command.force || command.plan.contains(&hash.as_str()));
    there
}

/// Runs a command to its end and checks what there is after each of its changes; returns what it leaves if it is killed
/// there. Nothing if it is refused, for runs that would be lost.
fn run(directory: bool, before: &State, command: Command) -> Option<Vec<State>> {
    let storage = Memory::new(directory, before.clone(), usize::MAX);
    let outcome = act(&storage, command);
    let states = storage.whenever_killed();
    if let Err(error) = outcome {
        assert!(matches!(error, StoreError::Lost { .. }) && !command.force, "{command:?}: {error}\n{before:#?}");
        // But the lock of another command that was killed.
        let others = |path: &String| path != LOCK;
        let content =
            |state: &State| state.files.clone().into_iter().filter(|(path, _)| others(path)).collect::<Vec<_>>();
        assert_eq!(content(&storage.end()), content(before), "nothing is touched");
        return None;
    }
    check_complete(&storage.end(), command);
    let protected = protected(before, command);
    let mut manifests = BTreeMap::new();
    for (at, state) in states.iter().enumerate() {
        let lost: Vec<String> = protected.difference(&finished(state)).cloned().collect();
        assert_eq!(lost, [""; 0], "{command:?}, killed after {at} changes\nbefore: {before:#?}\nafter: {state:#?}");
        // Of no run the manifest tells what is not so.
        if let Some(text) = state.files.get("manifest.json") {
            for (path, flows) in manifests.entry(text).or_insert_with(|| told(text)) {
                assert!(state.files.get(path).is_none_or(|there| there == flows), "{path}");
            }
        }
    }
    Some(states)
}

/// Runs a command to its end; whether it was not refused.
fn ends(directory: bool, before: &State, command: Command) -> bool {
    let storage = Memory::of_survivor(directory, before.clone());
    let outcome = act(&storage, command);
    if let Err(error) = outcome {
        assert!(matches!(error, StoreError::Lost { .. }) && !command.force, "{command:?}: {error}\n{before:#?}");
        assert!(finished(&storage.end()).is_superset(&finished(before)));
        return false;
    }
    check_complete(&storage.end(), command);
    assert!(finished(&storage.end()).is_superset(&protected(before, command)), "{command:?}\n{before:#?}");
    true
}

/// A folder with finished runs.
fn begin(directory: bool) -> State {
    let first = command(BEGIN, false, false);
    let mut other = State::default();
    other.files.insert("notes.txt".to_owned(), b"mine".to_vec());
    let refused = act(&Memory::new(directory, other, usize::MAX), first);
    assert!(matches!(refused, Err(StoreError::NotOurs { .. })), "a folder of other files");
    // From the first change on, the folder is known as ours.
    let storage = Memory::new(directory, State::default(), usize::MAX);
    act(&storage, first).expect("nothing is in the way");
    for state in storage.whenever_killed() {
        for again in [first, Command { resume: true, ..first }] {
            act(&Memory::new(directory, state.clone(), usize::MAX), again).expect("nothing is in the way");
        }
    }
    let mut state = storage.end();
    state.files.insert("notes.txt".to_owned(), b"mine".to_vec());
    check_complete(&state, first);
    state
}

/// Kills each command after every change; then the same or another one after every change, too; then lets them end, and one
/// that is under the guard, and one that is not. Returns the number of states from which the last ones began.
fn kill_twice(directory: bool) -> usize {
    let begin = begin(directory);
    // With the commands that end there.
    let mut last: BTreeMap<State, BTreeSet<Command>> = BTreeMap::new();
    for (k, &first) in COMMANDS.iter().enumerate() {
        let once: BTreeSet<State> = run(directory, &begin, first).into_iter().flatten().collect();
        for left in &once {
            let other = COMMANDS[(k + 1) % COMMANDS.len()];
            let again = run(directory, left, first).expect("what it was allowed once it is allowed again");
            for state in again.into_iter().chain(run(directory, left, other).into_iter().flatten()) {
                let thirds = [first, Command { force: true, ..first }, STRANGE, Command { force: true, ..STRANGE }];
                last.entry(state).or_default().extend(thirds);
            }
        }
    }
    for (state, thirds) in &last {
        for &third in thirds {
            let ended = ends(directory, state, third);
            // Wherever a finished run is, no other experiment passes.
            assert!(third != STRANGE || ended == finished(state).is_empty(), "{third:?}\n{state:#?}");
        }
    }
    last.len()
}

#[test]
fn a_folder_outlives_two_commands_that_are_killed() {
    let states = kill_twice(true);
    assert!(states > 2_000, "{states}");
}

#[test]
fn an_object_store_outlives_two_commands_that_are_killed() {
    let states = kill_twice(false);
    assert!(states > 1_000, "{states}");
}

#[test]
fn errors_are_told_whenever_they_come() {
    for directory in [true, false] {
        let begin = begin(directory);
        for command in COMMANDS.into_iter().filter(|&command| run(directory, &begin, command).is_some()) {
            for changes in 1.. {
                let storage = Memory::new(directory, begin.clone(), changes);
                let outcome = act(&storage, command);
                match outcome {
                    Ok(()) => break,
                    Err(StoreError::Io { source, .. }) => assert_eq!(source.to_string(), "killed"),
                    Err(other) => panic!("{other}"),
                }
                // Nothing came after it.
                assert_eq!(storage.whenever_killed().len(), 1 + changes);
            }
        }
    }
}

#[test]
fn of_two_that_see_the_same_lock_or_none_one_gets_it() {
    let first = command(BEGIN, true, false);
    let storage = Memory::new(false, State::default(), usize::MAX);
    act(&storage, first).expect("nothing is in the way");
    let locks = storage.whenever_killed();
    let mut dead = locks.into_iter().find(|state| state.files.contains_key(LOCK)).expect("it was locked");
    let mut rival: Value = serde_json::from_slice(&dead.files[LOCK]).expect("it is JSON");
    rival["token"] = "another".into();
    rival["command"] = "theirs".into();
    let rival = rival.to_string().into_bytes();
    for _ in 0..2 {
        let storage = Memory::new(false, dead.clone(), usize::MAX);
        storage.set_rival(rival.clone());
        let refused = act(&storage, first).expect_err("another one has it");
        assert!(matches!(&refused, StoreError::Locked { holder, .. } if holder.contains("theirs")), "{refused}");
        assert_eq!(storage.end().files[LOCK], rival);
        // Nor where there was no lock.
        dead.files.remove(LOCK);
    }
}

#[test]
fn a_command_that_fails_while_it_locks_leaves_no_lock() {
    for how in [io::ErrorKind::TimedOut, io::ErrorKind::Interrupted] {
        for (call, after) in [("create", 0), ("read", 1)] {
            let storage = Memory::new(false, State::default(), usize::MAX);
            storage.fail_once(call, after, how);
            let error = act(&storage, command(BEGIN, true, false)).expect_err("the store did not answer");
            assert!(matches!(&error, StoreError::Io { source, .. } if source.kind() == how), "{call}: {error}");
            assert_eq!(storage.whenever_killed().len(), 3, "{call}: it was created, and removed");
            assert_eq!(storage.end(), State::default(), "{call}");
        }
    }
}

#[test]
fn a_lock_that_can_be_removed_at_the_second_try_is_no_error() {
    for (how, told) in [(io::ErrorKind::TimedOut, false), (io::ErrorKind::Interrupted, true)] {
        for call in ["read", "remove"] {
            // The lock is read twice to be taken, and by the worker before each file of a run.
            let after = if call == "read" { 2 + files(0, "b").len() } else { 0 };
            let storage = Memory::new(false, State::default(), usize::MAX);
            storage.fail_once(call, after, how);
            assert_eq!(act(&storage, command(&["b"], true, false)).is_err(), told, "{call}: {how}");
            assert!(!storage.end().files.contains_key(LOCK), "{call}: {how}");
        }
    }
}
