//! What a result folder holds: whose it is, which runs have finished, and what would be lost.
//!
//! The only place that decides these questions, for every command and kind of storage.

use crate::StoreError;
use crate::layout::{
    CAPTURES, ENTRY, FABRIC, MANIFEST, OLD_DRAFTS, REPORT, RUNS, TABLE_END, TABLES, draft_name, is_hidden, is_of_run,
    is_token, run_of,
};
use crate::manifest::{Planned, RunEntry, is_final};
use crate::storage::{Kind, Storage};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Names of runs in a message.
const NAMED: usize = 3;

/// What a result folder holds.
#[derive(Debug)]
pub(crate) struct Contents {
    /// By name, what is beside the runs. Where there are only objects, a folder is known by them.
    pub(crate) beside: BTreeMap<String, Kind>,
    /// Something else than runs is in the folder of the runs, and can be seen.
    others_in_runs: bool,
    /// Folders of runs, by name.
    pub(crate) runs: BTreeMap<String, RunFolder>,
    /// The manifest, if there is one of ours.
    manifest: Option<Value>,
}

/// The folder of a run, or of what a killed program left of one.
#[derive(Debug, Default)]
pub(crate) struct RunFolder {
    /// Its files, relative to it.
    pub(crate) files: Vec<String>,
    /// What is no part of a run: a path in it, empty for itself.
    foreign: Option<String>,
    /// Its entry as it is stored, or as the manifest has it if it has none of its own, as runs of earlier versions.
    entry: Option<Value>,
    /// Its own entry.
    pub(crate) stored: Option<Vec<u8>>,
    /// The run's hash, if it has finished and its results are there; empty if the hash is not known.
    pub(crate) finished: Option<String>,
}

impl RunFolder {
    /// The entry of a finished run, if this version can read it.
    pub(crate) fn entry(&self) -> Option<RunEntry> {
        let entry = self.finished.as_ref().and(self.entry.clone())?;
        serde_json::from_value(entry).ok()
    }

    /// The entry that a finished run of an earlier version should have: that in the manifest, as it is there.
    pub(crate) fn only_listed(&self) -> Option<&Value> {
        let listed = self.finished.is_some() && self.stored.is_none();
        self.entry.as_ref().filter(|_| listed)
    }

    fn has(&self, file: &str) -> bool {
        self.files.iter().any(|one| one == file)
    }
}

impl Contents {
    /// What there is, looking into the folders of some runs, and which of these have finished.
    pub(crate) fn read(storage: &dyn Storage, wanted: &dyn Fn(&str) -> bool) -> Result<Self, StoreError> {
        let mut found = Self::list(storage, wanted)?;
        if !found.runs.is_empty() {
            found.read_manifest(storage)?;
            found.read_entries(storage)?;
        }
        Ok(found)
    }

    /// What there is, for [`check`](Self::check) alone: which runs have finished is not looked at.
    pub(crate) fn list(storage: &dyn Storage, wanted: &dyn Fn(&str) -> bool) -> Result<Self, StoreError> {
        let mut found = Self { beside: BTreeMap::new(), others_in_runs: false, runs: BTreeMap::new(), manifest: None };
        let wanted = |folder: &str| run_of(folder).is_some() && wanted(folder);
        let into = |path: &str| match path.split('/').collect::<Vec<_>>()[..] {
            [RUNS] => true,
            [RUNS, folder] | [RUNS, folder, CAPTURES] => wanted(folder),
            _ => false,
        };
        let items = storage.list(&into).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotADirectory => StoreError::NoFolder(storage.shown("")),
            _ => StoreError::read(storage.shown(""))(e),
        })?;
        for item in items {
            found.sort_in(&item.path, item.kind, &wanted);
        }
        if found.runs.is_empty() {
            found.read_manifest(storage)?; // Runs would tell whose it is.
        }
        Ok(found)
    }

    fn read_manifest(&mut self, storage: &dyn Storage) -> Result<(), StoreError> {
        if self.beside.get(MANIFEST) == Some(&Kind::File) {
            let read = storage.read(&[MANIFEST.to_owned()]).map_err(StoreError::read(storage.shown(MANIFEST)))?;
            let manifest =
                read.into_iter().flatten().next().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            self.manifest = manifest.filter(|m| m.get("anabranch_version").is_some() && m.get("runs").is_some());
        }
        Ok(())
    }

    /// Puts a path in its place.
    fn sort_in(&mut self, path: &str, kind: Kind, wanted: &dyn Fn(&str) -> bool) {
        let Some((top, below)) = path.split_once('/') else {
            self.beside.insert(path.to_owned(), kind);
            return;
        };
        self.beside.entry(top.to_owned()).or_insert(Kind::Folder);
        if top != RUNS {
            return;
        }
        let (folder, file) = below.split_once('/').map_or((below, None), |(folder, file)| (folder, Some(file)));
        if !wanted(folder) {
            self.others_in_runs |= !is_hidden(folder) && run_of(folder).is_none();
            return;
        }
        let run = self.runs.entry(folder.to_owned()).or_default();
        let foreign = match (file, kind) {
            (None, kind) => kind != Kind::Folder,
            (Some(file), Kind::File) => {
                run.files.push(file.to_owned());
                !is_of_run(file)
            }
            (Some(file), Kind::Folder) => file != CAPTURES,
            (Some(_), Kind::Other) => true,
        };
        if foreign {
            let name = file.unwrap_or_default();
            let first = run.foreign.get_or_insert_with(|| name.to_owned());
            if name < first.as_str() {
                name.clone_into(first);
            }
        }
    }

    /// Reads the entries, and decides which runs have finished.
    fn read_entries(&mut self, storage: &dyn Storage) -> Result<(), StoreError> {
        let with_entry: Vec<String> =
            self.runs.iter().filter(|(_, run)| run.has(ENTRY)).map(|(name, _)| name.clone()).collect();
        let files: Vec<String> = with_entry.iter().map(|name| format!("{RUNS}/{name}/{ENTRY}")).collect();
        let contents = storage.read(&files).map_err(StoreError::read(storage.shown(RUNS)))?;
        for (name, stored) in with_entry.iter().zip(contents) {
            if let Some(run) = self.runs.get_mut(name) {
                run.stored = stored;
            }
        }
        let listed: BTreeMap<&str, &Value> = listed(self.manifest.as_ref()).collect();
        for (name, run) in &mut self.runs {
            let own = run.stored.as_ref().and_then(|text| serde_json::from_slice::<Value>(text).ok());
            let own = own.filter(|entry| told(entry).is_some());
            if own.is_none() {
                run.stored = None;
            }
            // A draft without an entry was not complete, nor are objects. Folders of earlier versions have none.
            let known = !is_hidden(name) && (storage.renames() || run.has(ENTRY));
            let entry = own.or_else(|| known.then(|| listed.get(name.as_str()).copied().cloned()).flatten());
            let hash = match entry.as_ref().and_then(told) {
                Some((status, hash)) => is_final(status).then(|| hash.to_owned()),
                None => known.then(String::new),
            };
            let whole =
                |table: &&str| run.has(table) && storage.ends_with(&format!("{RUNS}/{name}/{table}"), TABLE_END);
            let captures = entry.as_ref().is_none_or(|entry| captures(entry).all(|file| run.has(file)));
            run.finished = hash.filter(|_| captures && TABLES.iter().all(whole));
            run.entry = entry;
        }
        Ok(())
    }

    /// Whether the files are those of an experiment: there are runs, or a manifest, a usual name elsewhere, too.
    fn is_ours(&self) -> bool {
        !self.runs.is_empty() || self.manifest.is_some()
    }

    /// The files by which workers know their sweeps.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let tokens = self.beside.iter().filter(|&(name, kind)| *kind == Kind::File && is_token(name));
        tokens.map(|(name, _)| name.clone()).collect()
    }

    /// Checks that nothing is touched which is not ours.
    ///
    /// Hidden files, drafts and an empty `runs` are in nobody's way, nor is anything beside results, except where a result
    /// has to be written and, if runs are to be removed, in their folders.
    pub(crate) fn check(&self, folder: String, resume: bool) -> Result<(), StoreError> {
        let (manifest, fabric) = (draft_name(MANIFEST), draft_name(FABRIC));
        let (found, why) = if self.is_ours() {
            let in_place = |&(name, kind): &(&String, &Kind)| match name.as_str() {
                MANIFEST | FABRIC | REPORT => *kind == Kind::Folder,
                RUNS => *kind != Kind::Folder,
                name => *kind == Kind::Folder && (name == manifest || name == fabric),
            };
            let beside = self.beside.iter().find(in_place).map(|(name, _)| name.clone());
            let in_runs = || {
                self.runs.iter().find_map(|(name, run)| {
                    foreign(name, run).filter(|_| !resume || run.foreign.as_deref() == Some(""))
                })
            };
            (beside.or_else(in_runs), "where a result has to be written")
        } else {
            let in_the_way = |&(name, kind): &(&String, &Kind)| {
                let begun = name == RUNS && *kind == Kind::Folder && !self.others_in_runs;
                let draft = OLD_DRAFTS.contains(&name.as_str()) && *kind != Kind::Folder;
                let blocked = *kind == Kind::Folder && (*name == manifest || *name == fabric);
                blocked || (!is_hidden(name) && !begun && !draft)
            };
            (self.beside.iter().find(in_the_way).map(|(name, _)| name.clone()), "and it is no result folder")
        };
        found.map_or(Ok(()), |found| Err(StoreError::NotOurs { folder, found, why }))
    }

    /// Checks that runs hold nothing but what runs have.
    pub(crate) fn check_removal<'a>(
        &self,
        folder: String,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<(), StoreError> {
        let mut found = names.filter_map(|name| foreign(name, self.runs.get(name)?));
        let why = "where a run has to be written again";
        found.next().map_or(Ok(()), |found| Err(StoreError::NotOurs { folder, found, why }))
    }

    /// The finished runs: name of the folder to hash, empty where it is not known. Runs that a killed program left under
    /// another name count: they are as finished as the others.
    pub(crate) fn finished(&self) -> impl Iterator<Item = (&str, &str)> {
        self.runs.iter().filter_map(|(name, run)| Some((name.as_str(), run.finished.as_deref()?)))
    }

    /// The finished runs without second copies, which a move or a late worker leaves: of the folders of one run, those with
    /// visible names, or one. Points that differ in name only have one hash, and a folder each.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut known = BTreeSet::new();
        let visible: BTreeSet<&str> =
            self.finished().filter(|(name, _)| !is_hidden(name)).map(|(_, hash)| hash).collect();
        // That of a hidden run is known.
        self.finished().filter(move |(name, hash)| !is_hidden(name) || (!visible.contains(hash) && known.insert(*hash)))
    }

    /// Checks that no finished run would be lost: what the plan makes again is not, nor one of which another copy stays. With
    /// `resume`, runs stay unless the plan needs their names.
    pub(crate) fn guard(&self, folder: String, plan: &[Planned], resume: bool) -> Result<(), StoreError> {
        let made: BTreeSet<&str> = plan.iter().map(|run| run.hash.as_str()).collect();
        let names: BTreeSet<&str> = plan.iter().map(|run| run.run.as_str()).collect();
        let stays = |name: &str| resume && !run_of(name).is_some_and(|run| names.contains(run));
        let staying: BTreeSet<&str> = self.finished().filter(|(name, _)| stays(name)).map(|(_, hash)| hash).collect();
        // Of two runs whose hashes are not known, neither is the other's copy.
        let kept = |name: &str, hash: &str| if hash.is_empty() { stays(name) } else { staying.contains(hash) };
        let lost: Vec<&str> = self
            .distinct()
            .filter(|&(name, hash)| !made.contains(hash) && !kept(name, hash))
            .map(|(name, _)| name)
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        let few = lost[..lost.len().min(NAMED)].join(", ") + if lost.len() > NAMED { " ..." } else { "" };
        Err(StoreError::Lost {
            folder,
            finished: self.distinct().count(),
            origin: self.origin(),
            lost: format!("{} of them ({few})", lost.len()),
            why: self.reason(plan),
        })
    }

    /// Which experiment the folder holds, for a message.
    fn origin(&self) -> String {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let manifest = self.manifest.as_ref();
        let Some(file) = manifest.and_then(|m| text(m.get("scenario_file")?)) else { return String::new() };
        let overrides = manifest.and_then(|m| m.get("overrides")?.as_array());
        let settings: Vec<String> = overrides.into_iter().flatten().filter_map(text).collect();
        let with = if settings.is_empty() { "" } else { " with " };
        format!(" of {file}{with}{}", settings.join(" "))
    }

    /// Why an experiment does not make the runs of the folder again.
    fn reason(&self, plan: &[Planned]) -> &'static str {
        let known = |entry: &Value| serde_json::from_value::<Planned>(entry.clone()).ok();
        let there: Option<Vec<Planned>> = listed(self.manifest.as_ref()).map(|(_, entry)| known(entry)).collect();
        let same = |there: Vec<Planned>| {
            there.len() == plan.len() && there.iter().zip(plan).all(|(one, run)| run.is_point_of(one))
        };
        if there.is_some_and(same) {
            "they are of another version of the scenario or of the simulator, which gives other results now"
        } else {
            "this experiment does not make them again"
        }
    }
}

/// The entries of a manifest, with the names of their runs.
fn listed(manifest: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    let runs = manifest.and_then(|m| m.get("runs")?.as_array());
    runs.into_iter().flatten().filter_map(|entry| Some((entry.get("run")?.as_str()?, entry)))
}

/// Status and hash of an entry.
fn told(entry: &Value) -> Option<(&str, &str)> {
    Some((entry.get("status")?.as_str()?, entry.get("scenario_hash")?.as_str()?))
}

/// The captures that a run has by its entry.
fn captures(entry: &Value) -> impl Iterator<Item = &str> {
    let captures = entry.get("captures").and_then(Value::as_array);
    let captures = captures.into_iter().flatten();
    captures.flat_map(|capture| ["file", "dropped_file"].into_iter().filter_map(|key| capture.get(key)?.as_str()))
}

/// What is in the folder of a run, or in its place, and no part of one: a path in the result folder.
fn foreign(name: &str, run: &RunFolder) -> Option<String> {
    let path = run.foreign.as_ref()?;
    Some(if path.is_empty() { format!("{RUNS}/{name}") } else { format!("{RUNS}/{name}/{path}") })
}
