//! A result folder that is being written: one command at a time, which may be killed at any moment.
//!
//! What holds between any two calls of [`Storage`], so that a command that is killed leaves what the next one can use:
//!
//! - A finished run is in one folder of its own in whole, whatever the folder's name. It is removed only if nobody asks for
//!   it, by the rule of [`Contents::guard`], which every command is under unless it says `--force`.
//! - A run is complete by its entry, written last. Where folders cannot be renamed, it is also removed first, so that it
//!   tells of a whole run at every moment. Where they can, a run comes into its place in one step, and its tables are removed
//!   first: folders of earlier versions have no entries.
//! - From the first manifest on there always is one. So the folder stays known as ours, even while it holds no run. Until the
//!   runs are in their places, the manifest tells only of those that are.

use crate::contents::Contents;
use crate::layout::{
    ENTRY, FABRIC, MANIFEST, OLD_DRAFTS, REPORT, RUNS, TABLES, draft_name, is_hidden, is_token, run_of,
};
use crate::lock::LockObject;
use crate::moves::{self, Move};
use crate::storage::{Kind, Locking, Storage};
use crate::{Manifest, Planned, RunEntry, StoreError};
use serde_json::Value;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// How a folder is to be opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Keep finished runs of the plan, and those of other plans that are in nobody's way.
    pub resume: bool,
    /// Finished runs that are neither kept nor made again may be deleted.
    pub force: bool,
    /// Workers write there, and know the folder by this.
    pub token: Option<String>,
}

/// A result folder that is being written.
#[derive(Debug)]
pub struct Folder {
    storage: Arc<dyn Storage>,
    token: Option<String>,
    /// Keeps others from writing there as long as this is open.
    lock: Lock,
}

#[derive(Debug)]
enum Lock {
    /// The system keeps it.
    System {
        _held: Box<dyn Any + Send + Sync>,
    },
    Object(LockObject),
}

impl Folder {
    /// Opens a folder for results, making it if need be. The manifest comes with the plan's runs, none of them begun; the
    /// runs that are kept get their entries in it. Returns also which they are.
    ///
    /// # Errors
    /// If the folder holds anything but results, or runs that would be lost; if another command writes there; if it cannot
    /// be read or written.
    pub fn open(
        storage: Arc<dyn Storage>,
        how: &Opening,
        manifest: &mut Manifest,
        fabric: &Value,
    ) -> Result<(Self, Vec<bool>), StoreError> {
        let shown = storage.shown("");
        Contents::list(&*storage, &|_| true)?.check(shown.clone(), how.resume)?;
        storage.make().map_err(StoreError::write(shown.clone()))?;
        let token = how.token.clone().unwrap_or_default();
        let lock = match storage.lock().map_err(StoreError::write(shown.clone()))? {
            Locking::Held(held) => Lock::System { _held: held },
            Locking::Busy => return Err(StoreError::Busy(shown)),
            Locking::Object(who) => {
                Lock::Object(LockObject::acquire(Arc::clone(&storage), token, &who, &manifest.command)?)
            }
        };
        if storage.renames() {
            remove_tokens(&*storage)?;
        }
        // What was there before the lock may be another command's doing.
        let there = Contents::read(&*storage, &|_| true)?;
        there.check(shown.clone(), how.resume)?;
        let plan: Vec<Planned> = manifest.runs.iter().map(Planned::from).collect();
        if !how.force {
            there.guard(shown.clone(), &plan, how.resume)?;
        }
        let kept = if how.resume { found(&plan, &there) } else { vec![None; plan.len()] };
        let useless = useless(&plan, &there, &kept, how.resume);
        there.check_removal(shown, useless.iter())?;

        let folder = Self { storage, token: how.token.clone(), lock };
        folder.note_listed(&there)?;
        folder.remove_stale(&there, how)?;
        folder.begin(manifest, fabric, &there, &kept)?;
        folder.remove_runs(&there, &useless)?;
        let moved = folder.put_in_place(manifest, &there, &kept)?;
        if moved {
            folder.write_manifest(manifest)?;
        }
        if let Some(token) = how.token.as_ref().filter(|_| folder.storage.renames()) {
            let created = folder.storage.create(token, b"");
            created.map_err(StoreError::write(folder.storage.shown(token)))?;
        }
        Ok((folder, kept.iter().map(Option::is_some).collect()))
    }

    /// Gives finished runs without an entry, which are of earlier versions, the manifest's: it is about to be replaced.
    fn note_listed(&self, there: &Contents) -> Result<(), StoreError> {
        let listed = there.runs.iter().filter_map(|(name, run)| Some((name, run.only_listed()?)));
        listed.into_iter().try_for_each(|(name, entry)| self.write_json(&format!("{RUNS}/{name}/{ENTRY}"), entry))
    }

    /// Removes what would tell of another experiment, and drafts of programs that were killed: the lock is ours.
    fn remove_stale(&self, there: &Contents, how: &Opening) -> Result<(), StoreError> {
        let drafts = [MANIFEST, FABRIC].map(draft_name);
        let stale = |name: &str| {
            name == REPORT
                || (name == FABRIC && !how.resume)
                || drafts.iter().map(String::as_str).chain(OLD_DRAFTS).any(|draft| draft == name)
        };
        let names = there.beside().filter(|&(name, kind)| *kind != Kind::Folder && stale(name));
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        self.storage.remove(&names).map_err(StoreError::write(self.storage.shown("")))
    }

    /// Writes the manifest, with the entries of those kept runs that are in their places already, and the fabric.
    fn begin(
        &self,
        manifest: &mut Manifest,
        fabric: &Value,
        there: &Contents,
        kept: &[Option<String>],
    ) -> Result<(), StoreError> {
        for (entry, home) in manifest.runs.iter_mut().zip(kept) {
            if home.as_ref() == Some(&entry.run) {
                adopt(entry, there.runs[&entry.run].entry());
            }
        }
        self.write_manifest(manifest)?;
        self.write_json(FABRIC, fabric)
    }

    /// Gives kept runs the names and entries that they have in the plan; returns whether any had another name.
    fn put_in_place(
        &self,
        manifest: &mut Manifest,
        there: &Contents,
        kept: &[Option<String>],
    ) -> Result<bool, StoreError> {
        let mut targets = BTreeMap::new();
        for (i, (entry, home)) in manifest.runs.iter_mut().zip(kept).enumerate() {
            match home {
                Some(home) if *home == entry.run => self.write_entry(entry, there.runs[home].stored.as_deref())?,
                Some(home) => {
                    adopt(entry, there.runs[home].entry());
                    targets.insert(home.clone(), (entry.run.clone(), i));
                }
                None => {}
            }
        }
        let taken: BTreeSet<String> =
            there.runs.keys().cloned().chain(targets.values().map(|(run, _)| run.clone())).collect();
        let names = targets.iter().map(|(home, (run, _))| (home.clone(), run.clone())).collect();
        // Where the run is now that had a folder at first.
        let mut homes: BTreeMap<String, String> = targets.keys().map(|home| (home.clone(), home.clone())).collect();
        for Move { from, to } in moves::order(names, &taken) {
            let first = homes.remove(&from).unwrap_or_else(|| from.clone());
            let run = &there.runs[&first];
            let (_, i) = &targets[&first];
            self.move_run(&from, &to, &run.files, run.stored.as_deref(), &manifest.runs[*i])?;
            homes.insert(to, first);
        }
        Ok(!targets.is_empty())
    }

    /// Gives a run's folder another name, and the entry of the plan when it has the plan's name.
    fn move_run(
        &self,
        from: &str,
        to: &str,
        files: &[String],
        stored: Option<&[u8]>,
        entry: &RunEntry,
    ) -> Result<(), StoreError> {
        let place = |folder: &str, file: &str| format!("{RUNS}/{folder}/{file}");
        if self.storage.renames() {
            let (old, new) = (format!("{RUNS}/{from}"), format!("{RUNS}/{to}"));
            self.storage.rename(&old, &new).map_err(StoreError::write(self.storage.shown(&old)))?;
            return if to == entry.run { self.write_entry(entry, stored) } else { Ok(()) };
        }
        let tables = files.iter().filter(|file| *file != ENTRY);
        let pairs: Vec<_> = tables.map(|file| (place(from, file), place(to, file))).collect();
        self.storage.copy(&pairs).map_err(StoreError::write(self.storage.shown(RUNS)))?;
        self.write_json(&place(to, ENTRY), entry)?;
        self.remove_files(&[from.to_owned()], |_| files)
    }

    /// Removes the folders of runs, which hold nothing else.
    fn remove_runs(&self, there: &Contents, names: &[String]) -> Result<(), StoreError> {
        self.remove_files(names, |name| &there.runs[name].files)?;
        for name in names {
            let inner = there.runs[name].folders.iter().map(|folder| format!("{RUNS}/{name}/{folder}"));
            for folder in inner.chain([format!("{RUNS}/{name}")]) {
                match self.storage.remove_folder(&folder) {
                    // A worker of an earlier sweep still writes there. Nobody else needs that name.
                    Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && is_hidden(name) => {}
                    removed => removed.map_err(StoreError::write(self.storage.shown(&folder)))?,
                }
            }
        }
        Ok(())
    }

    /// Removes the files of runs: of all runs first that without which they do not count as finished.
    fn remove_files<'a>(&self, names: &[String], files: impl Fn(&str) -> &'a [String]) -> Result<(), StoreError> {
        let sign = if self.storage.renames() { TABLES[0] } else { ENTRY };
        for signs in [true, false] {
            let of = |name: &'_ String| {
                let paths = files(name).iter().filter(|file| (*file == sign) == signs);
                paths.map(|file| format!("{RUNS}/{name}/{file}")).collect::<Vec<_>>()
            };
            let paths: Vec<String> = names.iter().flat_map(of).collect();
            if !paths.is_empty() {
                self.storage.remove(&paths).map_err(StoreError::write(self.storage.shown(RUNS)))?;
            }
        }
        Ok(())
    }

    /// Where a run is written until it is complete, below a folder on disk.
    pub fn draft(run: &str) -> String {
        format!("{RUNS}/{}", draft_name(run))
    }

    /// Writes `manifest.json`, as long as the folder is ours.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        match &self.lock {
            Lock::Object(lock) if !lock.is_held() => Ok(()),
            _ => self.write_json(MANIFEST, manifest),
        }
    }

    /// Writes the entry of a run in its place, unless it is there as it should be.
    fn write_entry(&self, entry: &RunEntry, stored: Option<&[u8]>) -> Result<(), StoreError> {
        let file = format!("{RUNS}/{}/{ENTRY}", entry.run);
        let text = json(entry).map_err(|message| StoreError::Encode { path: self.storage.shown(&file), message })?;
        if stored == Some(&text) { Ok(()) } else { self.write(&file, &text) }
    }

    fn write_json(&self, file: &str, value: &impl serde::Serialize) -> Result<(), StoreError> {
        let text = json(value).map_err(|message| StoreError::Encode { path: self.storage.shown(file), message })?;
        self.write(file, &text)
    }

    fn write(&self, file: &str, content: &[u8]) -> Result<(), StoreError> {
        self.storage.write(file, content).map_err(StoreError::write(self.storage.shown(file)))
    }

    /// Gives the draft of a run its name: it is complete.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish(&self, run: &str) -> Result<(), StoreError> {
        let (draft, place) = (Self::draft(run), format!("{RUNS}/{run}"));
        self.storage.rename(&draft, &place).map_err(StoreError::write(self.storage.shown(&place)))
    }

    /// Checks that no other client has taken the lock, where a client can lose it.
    ///
    /// # Errors
    /// If it has: then there may be two, and this one must not write on.
    pub fn check_lock(&self) -> Result<(), StoreError> {
        match &self.lock {
            Lock::Object(lock) => lock.check(),
            Lock::System { .. } => Ok(()),
        }
    }

    /// Lets go of the folder, and removes what workers that died have left of runs.
    ///
    /// # Errors
    /// If a lock object cannot be removed.
    pub fn close(self) -> Result<(), StoreError> {
        if let Some(token) = self.token.as_ref().filter(|_| self.storage.renames()) {
            // What cannot be removed now, the next command removes.
            let _ = self.storage.remove(std::slice::from_ref(token));
            if let Ok(there) = Contents::read(&*self.storage, &is_hidden) {
                // Each by itself: a worker may still write into one.
                for (name, _) in there.runs.iter().filter(|(_, run)| run.finished.is_none()) {
                    if there.check_removal(String::new(), [name].into_iter()).is_ok() {
                        let _ = self.remove_runs(&there, std::slice::from_ref(name));
                    }
                }
            }
        }
        match self.lock {
            Lock::Object(lock) => lock.release(),
            Lock::System { .. } => Ok(()),
        }
    }
}

/// Ends earlier sweeps, whose commands are gone: their workers store no more runs where this one is about to look.
fn remove_tokens(storage: &dyn Storage) -> Result<(), StoreError> {
    let beside = storage.list(&|_| false).map_err(StoreError::read(storage.shown("")))?;
    let tokens = beside.into_iter().filter(|item| item.kind == Kind::File && is_token(&item.path));
    let tokens: Vec<String> = tokens.map(|item| item.path).collect();
    storage.remove(&tokens).map_err(StoreError::write(storage.shown("")))
}

/// Gives an entry of the plan what is known of the run, under the name and point that it has in the plan. Decoder and
/// remarks are told as the plan has them, too: older entries do not tell them.
fn adopt(planned: &mut RunEntry, known: Option<RunEntry>) {
    if let Some(known) = known {
        let RunEntry { run, point, decode_latency, remarks, .. } = planned.clone();
        *planned = RunEntry { run, point, decode_latency, remarks, ..known };
    }
}

/// The folder of every run of a plan that has finished: that of its name if possible.
fn found(plan: &[Planned], there: &Contents) -> Vec<Option<String>> {
    // Points that differ in name only have one hash.
    let mut by_hash: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, hash) in there.finished().filter(|(name, _)| there.runs[*name].entry().is_some()) {
        by_hash.entry(hash).or_default().push(name);
    }
    // Those with visible names first.
    for names in by_hash.values_mut() {
        names.sort_by_key(|name| is_hidden(name));
    }
    let mut take = |run: &Planned, right: &dyn Fn(&str) -> bool| {
        let names = by_hash.get_mut(run.hash.as_str())?;
        let at = names.iter().position(|name| right(name))?;
        Some(names.remove(at).to_owned())
    };
    let mut kept: Vec<Option<String>> = plan.iter().map(|run| take(run, &|name| name == run.run)).collect();
    for (run, home) in plan.iter().zip(&mut kept) {
        if home.is_none() {
            *home = take(run, &|_| true);
        }
    }
    kept
}

/// The folders of runs that are to go. With `resume`: what has not finished, what has a name of the plan, hidden or not, and
/// second copies, which a move leaves that was cut short.
fn useless(plan: &[Planned], there: &Contents, kept: &[Option<String>], resume: bool) -> Vec<String> {
    let names: BTreeSet<&str> = plan.iter().map(|run| run.run.as_str()).collect();
    let hashes: BTreeSet<&str> = plan.iter().map(|run| run.hash.as_str()).collect();
    let kept: BTreeSet<&str> = kept.iter().flatten().map(String::as_str).collect();
    let goes = |name: &str, finished: Option<&str>| match finished {
        _ if !resume => true,
        None => true,
        Some(hash) => {
            let needed = run_of(name).is_some_and(|run| names.contains(run));
            !kept.contains(name) && (needed || (is_hidden(name) && hashes.contains(hash)))
        }
    };
    let folders = there.runs.iter().filter(|(name, run)| goes(name, run.finished.as_deref()));
    folders.map(|(name, _)| name.clone()).collect()
}

/// The text of a file of JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| e.to_string())?;
    text.push(b'\n');
    Ok(text)
}
