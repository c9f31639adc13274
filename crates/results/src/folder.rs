//! A result folder that is being written: one command at a time, which may be killed at any moment.
//!
//! What holds between any two calls of [`Storage`], so that a command that is killed leaves what the next one can use:
//!
//! - A finished run is in one folder of its own in whole, whatever the folder's name. If the plan makes it again, it steps
//!   aside and is removed when that is done. Others are removed if nobody asks for them, by the rule of [`Contents::guard`],
//!   which every command is under unless it says `--force`.
//! - A run is complete by its entry, written last. Where folders cannot be renamed, it is also removed first, so that it
//!   tells of a whole run at every moment. Where they can, a run comes into its place in one step, and its tables are removed
//!   first: folders of earlier versions have no entries.
//! - From the first manifest on there always is one. So the folder stays known as ours, even while it holds no run. Until the
//!   runs are in their places, the manifest tells only of those that are.

use crate::contents::{Contents, RunFolder};
use crate::homes::Homes;
use crate::layout::{
    CAPTURES, ENTRY, FABRIC, MANIFEST, OLD_DRAFTS, REPORT, RUNS, TABLES, draft_name, is_hidden, run_of,
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
    /// Finished runs that are aside until the plan has made them again, by their names in the plan.
    old: BTreeMap<String, (String, RunFolder)>,
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
        // A lock object among other files is removed again; here nothing is made among them.
        if storage.renames() {
            Contents::list(&*storage, &|_| true)?.check(shown.clone(), how.resume)?;
            storage.make().map_err(StoreError::write(shown.clone()))?;
        }
        let token = how.token.clone().unwrap_or_default();
        let lock = match storage.lock().map_err(StoreError::write(shown.clone()))? {
            Locking::Held(held) => Lock::System { _held: held },
            Locking::Busy => return Err(StoreError::Busy(shown)),
            Locking::Object(who) => {
                Lock::Object(LockObject::acquire(Arc::clone(&storage), token, &who, &manifest.command)?)
            }
        };
        let plan: Vec<Planned> = manifest.runs.iter().map(Planned::from).collect();
        // What was there before the lock may be another command's doing.
        let examine = || -> Result<(Contents, Homes), StoreError> {
            let there = Contents::read(&*storage, &|_| true)?;
            there.check(shown.clone(), how.resume)?;
            if !how.force {
                there.guard(shown.clone(), &plan, how.resume)?;
            }
            let homes = Homes::find(&plan, &there, how.resume);
            there.check_removal(shown.clone(), homes.removed())?;
            Ok((there, homes))
        };
        let (mut there, mut homes) = examine()?;
        // Earlier sweeps end, whose commands are gone: from now on their workers store no more runs, but may have done so.
        let tokens = if storage.renames() { there.tokens() } else { Vec::new() };
        if !tokens.is_empty() {
            storage.remove(&tokens).map_err(StoreError::write(shown.clone()))?;
            (there, homes) = examine()?;
        }

        let mut folder = Self { storage, token: how.token.clone(), old: BTreeMap::new(), lock };
        folder.note_listed(&mut there)?;
        folder.remove_stale(&there, how)?;
        folder.begin(manifest, fabric, &there, &homes)?;
        let useless: Vec<_> = homes.useless.iter().map(|name| (name.as_str(), &there.runs[name])).collect();
        folder.remove_runs(&useless)?;
        let moved = folder.put_in_place(manifest, &there, &homes)?;
        if moved {
            folder.write_manifest(manifest)?;
        }
        let old = homes.again.into_iter();
        folder.old = old.filter_map(|(run, (home, aside))| Some((run, (aside, there.runs.remove(&home)?)))).collect();
        if let Some(token) = how.token.as_ref().filter(|_| folder.storage.renames()) {
            let created = folder.storage.create(token, b"");
            created.map_err(StoreError::write(folder.storage.shown(token)))?;
        }
        Ok((folder, homes.kept.iter().map(Option::is_some).collect()))
    }

    /// Gives finished runs without an entry, which are of earlier versions, the manifest's: it is about to be replaced.
    fn note_listed(&self, there: &mut Contents) -> Result<(), StoreError> {
        for (name, run) in &mut there.runs {
            if let Some(entry) = run.only_listed() {
                self.write_json(&format!("{RUNS}/{name}/{ENTRY}"), entry)?;
                run.files.push(ENTRY.to_owned());
            }
        }
        Ok(())
    }

    /// Removes what would tell of another experiment, and drafts of programs that were killed: the lock is ours.
    fn remove_stale(&self, there: &Contents, how: &Opening) -> Result<(), StoreError> {
        let drafts = [MANIFEST, FABRIC].map(draft_name);
        let stale = |name: &str| {
            name == REPORT
                || (name == FABRIC && !how.resume)
                || drafts.iter().map(String::as_str).chain(OLD_DRAFTS).any(|draft| draft == name)
        };
        let names = there.beside.iter().filter(|&(name, kind)| *kind != Kind::Folder && stale(name));
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        self.storage.remove(&names).map_err(StoreError::write(self.storage.shown("")))
    }

    /// Writes the manifest, with the entries of those kept runs that are in their places already, and the fabric.
    fn begin(
        &self,
        manifest: &mut Manifest,
        fabric: &Value,
        there: &Contents,
        homes: &Homes,
    ) -> Result<(), StoreError> {
        for (entry, home) in manifest.runs.iter_mut().zip(&homes.kept) {
            if home.as_ref() == Some(&entry.run) {
                adopt(entry, there.runs[&entry.run].entry());
            }
        }
        self.write_manifest(manifest)?;
        self.write_json(FABRIC, fabric)
    }

    /// Lets those runs step aside that the plan makes again, and gives kept ones the names and entries that they have in it.
    /// Returns whether any of these had another name.
    fn put_in_place(&self, manifest: &mut Manifest, there: &Contents, homes: &Homes) -> Result<bool, StoreError> {
        let aside = homes.again.values().filter(|(home, aside)| home != aside);
        let aside: Vec<_> = aside.map(|(home, aside)| (home.as_str(), aside.as_str(), &there.runs[home])).collect();
        self.move_runs(&aside)?;
        let mut targets = BTreeMap::new();
        for (i, (entry, home)) in manifest.runs.iter_mut().zip(&homes.kept).enumerate() {
            match home {
                Some(home) if *home == entry.run => self.write_entry(entry, there.runs[home].stored.as_deref())?,
                Some(home) => {
                    adopt(entry, there.runs[home].entry());
                    targets.insert(home.clone(), (entry.run.clone(), i));
                }
                None => {}
            }
        }
        let names: BTreeMap<String, String> =
            targets.iter().map(|(home, (run, _))| (home.clone(), run.clone())).collect();
        let aside = homes.again.values().map(|(_, aside)| aside);
        let taken: BTreeSet<String> = there.runs.keys().chain(names.values()).chain(aside).cloned().collect();
        // Where the run is now that had a folder at first.
        let mut places: BTreeMap<String, String> = targets.keys().map(|home| (home.clone(), home.clone())).collect();
        for Move { from, to } in moves::order(names, &taken) {
            let first = places.remove(&from).unwrap_or_else(|| from.clone());
            let (run, (name, i)) = (&there.runs[&first], &targets[&first]);
            self.move_runs(&[(&from, &to, run)])?;
            if to == *name {
                self.write_entry(&manifest.runs[*i], run.stored.as_deref())?;
            }
            places.insert(to, first);
        }
        Ok(!targets.is_empty())
    }

    /// Gives the folders of runs other names, which are free: from, to.
    fn move_runs(&self, runs: &[(&str, &str, &RunFolder)]) -> Result<(), StoreError> {
        if self.storage.renames() {
            return runs.iter().try_for_each(|(from, to, _)| {
                let (from, to) = (format!("{RUNS}/{from}"), format!("{RUNS}/{to}"));
                self.storage.rename(&from, &to).map_err(StoreError::write(self.storage.shown(&from)))
            });
        }
        for entries in [false, true] {
            let files = runs.iter().flat_map(|(from, to, run)| run.files.iter().map(move |file| (from, to, file)));
            let files = files.filter(|(_, _, file)| (*file == ENTRY) == entries);
            let pairs: Vec<_> = files
                .map(|(from, to, file)| (format!("{RUNS}/{from}/{file}"), format!("{RUNS}/{to}/{file}")))
                .collect();
            self.storage.copy(&pairs).map_err(StoreError::write(self.storage.shown(RUNS)))?;
        }
        let left: Vec<_> = runs.iter().map(|(from, _, run)| (*from, *run)).collect();
        self.remove_files(&left)
    }

    /// Removes the folders of runs, which hold nothing else.
    fn remove_runs(&self, runs: &[(&str, &RunFolder)]) -> Result<(), StoreError> {
        self.remove_files(runs)?;
        for (name, _) in runs {
            for folder in [format!("{RUNS}/{name}/{CAPTURES}"), format!("{RUNS}/{name}")] {
                match self.storage.remove_folder(&folder) {
                    // A worker of an earlier sweep still writes there. Nobody else needs that name.
                    Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && is_hidden(name) => {}
                    removed => removed.map_err(StoreError::write(self.storage.shown(&folder)))?,
                }
            }
        }
        Ok(())
    }

    /// Removes what was aside of a run that has been made again. What cannot be removed, the next command removes.
    ///
    /// # Errors
    /// If that is interrupted.
    pub fn replaced(&self, run: &str) -> Result<(), StoreError> {
        let old = self.old.get(run).filter(|_| self.is_held());
        match old.map(|(name, old)| self.remove_runs(&[(name, old)])) {
            Some(Err(error)) if error.is_interruption() => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the files of runs: of all runs first that without which they do not count as finished.
    fn remove_files(&self, runs: &[(&str, &RunFolder)]) -> Result<(), StoreError> {
        let sign = if self.storage.renames() { TABLES[0] } else { ENTRY };
        for signs in [true, false] {
            let files = runs.iter().flat_map(|(name, run)| run.files.iter().map(move |file| (name, file)));
            let files = files.filter(|(_, file)| (*file == sign) == signs);
            let paths: Vec<String> = files.map(|(name, file)| format!("{RUNS}/{name}/{file}")).collect();
            self.storage.remove(&paths).map_err(StoreError::write(self.storage.shown(RUNS)))?;
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
        if self.is_held() { self.write_json(MANIFEST, manifest) } else { Ok(()) }
    }

    fn is_held(&self) -> bool {
        match &self.lock {
            Lock::Object(lock) => lock.is_held(),
            Lock::System { .. } => true,
        }
    }

    /// Writes the entry of a run in its place, unless it is there as it should be.
    fn write_entry(&self, entry: &RunEntry, stored: Option<&[u8]>) -> Result<(), StoreError> {
        let file = format!("{RUNS}/{}/{ENTRY}", entry.run);
        let text = json(entry, || self.storage.shown(&file))?;
        if stored == Some(&text) { Ok(()) } else { self.write(&file, &text) }
    }

    fn write_json(&self, file: &str, value: &impl serde::Serialize) -> Result<(), StoreError> {
        self.write(file, &json(value, || self.storage.shown(file))?)
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

    /// Removes what workers that died have left of runs: drafts, and complete ones if the run has its name by now, because
    /// another worker made it again. What cannot be removed, the next command removes.
    fn remove_left(&self) {
        let Ok(left) = Contents::read(&*self.storage, &is_hidden) else { return };
        if left.runs.is_empty() {
            return;
        }
        let complete: BTreeSet<&str> = left.finished().filter_map(|(name, _)| run_of(name)).collect();
        let named = Contents::read(&*self.storage, &|name| complete.contains(name));
        let named: BTreeMap<&str, &str> = named.iter().flat_map(Contents::finished).collect();
        let is_named = |name: &str, hash: &str| run_of(name).and_then(|run| named.get(run)) == Some(&hash);
        // Each by itself: a worker may still write into one.
        for (name, run) in &left.runs {
            let useless = run.finished.as_deref().is_none_or(|hash| is_named(name, hash));
            if useless && left.check_removal(String::new(), [name].into_iter()).is_ok() {
                let _ = self.remove_runs(&[(name, run)]);
            }
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
            self.remove_left();
        }
        match self.lock {
            Lock::Object(lock) => lock.release(),
            Lock::System { .. } => Ok(()),
        }
    }
}

/// Gives an entry of the plan what is known of the run, under the name and point that it has in the plan. Decoder and
/// remarks are told as the plan has them, too: older entries do not tell them.
fn adopt(planned: &mut RunEntry, known: Option<RunEntry>) {
    if let Some(known) = known {
        let RunEntry { run, point, decode_latency, remarks, .. } = planned.clone();
        *planned = RunEntry { run, point, decode_latency, remarks, ..known };
    }
}

/// The text of a file of JSON, with its path for an error.
pub(crate) fn json(value: &impl serde::Serialize, path: impl FnOnce() -> String) -> Result<Vec<u8>, StoreError> {
    let encoded = serde_json::to_vec_pretty(value);
    let mut text = encoded.map_err(|e| StoreError::Encode { path: path(), message: e.to_string() })?;
    text.push(b'\n');
    Ok(text)
}
