//! A result folder without a command that has opened it: what commands ask before they do, and what workers do.

use crate::contents::Contents;
use crate::layout::{ENTRY, RUNS};
use crate::lock;
use crate::manifest::WALL_LIMIT;
use crate::storage::{Kind, Storage};
use crate::{Directory, Planned, RunEntry, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a command may ask of a result folder without opening it.
#[derive(Clone, Debug)]
pub struct Place(pub Arc<dyn Storage>);

impl Place {
    /// Checks that the runs of a plan may be made there: there is nothing, or a result folder that loses no finished run by
    /// it, unless `force` allows that. Returns the finished runs, without second copies.
    ///
    /// # Errors
    /// If not, or if the folder cannot be read.
    pub fn check(&self, plan: &[Planned], resume: bool, force: bool) -> Result<BTreeMap<String, String>, StoreError> {
        let there = Contents::read(&*self.0, &|_| true)?;
        there.check(self.0.shown(""), resume)?;
        if !force {
            there.guard(self.0.shown(""), plan, resume)?;
        }
        Ok(finished(there.distinct()))
    }

    /// The finished runs: name of the folder to hash, empty where it is not known.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn finished(&self) -> Result<BTreeMap<String, String>, StoreError> {
        Ok(finished(Contents::read(&*self.0, &|_| true)?.finished()))
    }

    /// The entry of a run that a worker stored, as text: finished, or at its limit on the wall. Runs of earlier sweeps with
    /// that status were removed when this one began.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn stored(&self, run: &str, hash: &str) -> Result<Option<String>, StoreError> {
        let file = format!("{RUNS}/{run}/{ENTRY}");
        let found = self.0.read(std::slice::from_ref(&file)).map_err(StoreError::read(self.0.shown(&file)))?;
        let text = found.into_iter().flatten().next().and_then(|text| String::from_utf8(text).ok());
        let same = |text: &String| {
            let entry: Option<RunEntry> = serde_json::from_str(text).ok();
            entry.is_some_and(|e| e.scenario_hash == hash && (e.is_final() || e.status == WALL_LIMIT))
        };
        Ok(text.filter(same))
    }

    /// Stores a run that is complete in a folder on this machine; returns its entry. A worker has the token of its sweep, and
    /// stores nothing when that is gone. Where folders can be renamed, the draft is beside its place; if the same run is there
    /// already, that one stays. An object is replaced.
    ///
    /// # Errors
    /// If it cannot be stored, or the sweep is gone: another may write there.
    pub fn publish(&self, draft: &Path, run: &str, hash: &str, token: Option<&str>) -> Result<String, StoreError> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = draft.join(ENTRY);
        let entry = fs::read_to_string(&file).map_err(StoreError::read(file.display().to_string()))?;
        let place = format!("{RUNS}/{run}");
        if self.0.renames() {
            self.check_held(token)?;
            return match self.0.rename(&format!("{RUNS}/{}", name(draft)), &place) {
                Ok(()) => Ok(entry),
                Err(error) => self.stored(run, hash)?.ok_or_else(|| StoreError::write(self.0.shown(&place))(error)),
            };
        }
        for file in local_files(draft).map_err(StoreError::read(draft.display().to_string()))? {
            self.check_held(token)?;
            let target = format!("{place}/{file}");
            self.0.upload(&draft.join(&file), &target).map_err(StoreError::write(self.0.shown(&target)))?;
        }
        Ok(entry)
    }

    /// Checks that the sweep of a worker goes on.
    fn check_held(&self, token: Option<&str>) -> Result<(), StoreError> {
        let Some(token) = token else { return Ok(()) };
        let held = if self.0.renames() {
            let there = self.0.read(&[token.to_owned()]).map_err(StoreError::read(self.0.shown(token)))?;
            there.iter().any(Option::is_some)
        } else {
            lock::token(&*self.0)?.as_deref() == Some(token)
        };
        if held { Ok(()) } else { Err(StoreError::Superseded(self.0.shown(""))) }
    }
}

/// Finished runs: name to hash.
fn finished<'a>(runs: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    runs.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
}

/// The files of a run in a folder of this machine, the entry last.
fn local_files(draft: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let items = Directory::new(draft).list(&|_| true)?;
    files.extend(items.into_iter().filter(|item| item.kind == Kind::File).map(|item| item.path));
    files.sort_by_key(|file| (file == ENTRY, file.clone()));
    Ok(files)
}
