//! A place for results in memory, which knows what a process leaves that is killed between any two of its changes.

use anabranch_results::Storage;
use anabranch_results::storage::{Item, Kind, Locking, Who};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The lock object.
pub(crate) const LOCK: &str = ".anabranch-lock";

/// Files and folders, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) folders: BTreeSet<String>,
}

impl State {
    /// The process has ended of which the lock is, which others of this machine can see.
    fn end_process(&mut self) {
        let lock = self.files.get(LOCK);
        if let Some(mut holder) = lock.and_then(|text| serde_json::from_slice::<serde_json::Value>(text).ok()) {
            holder["started"] = "1".into();
            if holder["machine"] == "" {
                self.files.remove(LOCK); // the system does not tell: a person removes it
            } else {
                self.files.insert(LOCK.to_owned(), holder.to_string().into_bytes());
            }
        }
    }
}

/// A directory, or an object store, as one process has it.
#[derive(Debug)]
pub(crate) struct Memory {
    directory: bool,
    /// What there was after each change, at last what there is.
    states: Mutex<Vec<State>>,
    /// Changes until the process is killed: all later calls fail.
    killed_after: usize,
    /// Whether all states are kept, or the last one alone.
    recording: bool,
    locked: Arc<AtomicBool>,
    /// The lock object that another process has written when this one has looked for it once.
    rival: Mutex<Option<Vec<u8>>>,
    /// The call on the lock object that fails once: its name, the calls before it that do not, and how.
    fault: Mutex<Option<(&'static str, usize, io::ErrorKind)>>,
}

/// Unlocks when it goes, as the system does.
struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The state, to be read, or changed once.
struct Change<'a>(MutexGuard<'a, Vec<State>>);

impl Deref for Change<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.last().expect("there is one")
    }
}

impl DerefMut for Change<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.0.last_mut().expect("there is one")
    }
}

impl Memory {
    /// What a new process finds.
    pub(crate) fn new(directory: bool, state: State, killed_after: usize) -> Arc<Self> {
        Self::begin(directory, state, killed_after, true)
    }

    /// What a process finds that is not killed.
    pub(crate) fn of_survivor(directory: bool, state: State) -> Arc<Self> {
        Self::begin(directory, state, usize::MAX, false)
    }

    fn begin(directory: bool, state: State, killed_after: usize, recording: bool) -> Arc<Self> {
        let (states, locked) = (Mutex::new(vec![state]), Arc::default());
        let (rival, fault) = (Mutex::default(), Mutex::default());
        Arc::new(Self { directory, states, killed_after, recording, locked, rival, fault })
    }

    /// Lets another process write the lock object when this one has looked for it once.
    pub(crate) fn set_rival(&self, lock: Vec<u8>) {
        *self.rival.lock().expect("nobody panics") = Some(lock);
    }

    /// Lets a call on the lock object fail once, after some that do not; what it should do may be done.
    pub(crate) fn fail_once(&self, call: &'static str, after: usize, how: io::ErrorKind) {
        *self.fault.lock().expect("nobody panics") = Some((call, after, how));
    }

    fn fault(&self, call: &str, file: Option<&String>) -> io::Result<()> {
        let mut fault = self.fault.lock().expect("nobody panics");
        if let Some((_, left, how)) =
            fault.as_mut().filter(|(name, ..)| *name == call && file.is_some_and(|f| f == LOCK))
        {
            if *left == 0 {
                let failed = Err((*how).into());
                *fault = None;
                return failed;
            }
            *left -= 1;
        }
        Ok(())
    }

    /// What it leaves at its end.
    pub(crate) fn end(&self) -> State {
        self.states().last().expect("there is one").clone()
    }

    /// What it would leave if it were killed after each of its changes, and before the first.
    pub(crate) fn whenever_killed(&self) -> Vec<State> {
        let mut states = self.states().clone();
        states.iter_mut().for_each(State::end_process);
        states
    }

    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.states.lock().expect("nobody panics")
    }

    fn look(&self) -> io::Result<Change<'_>> {
        let states = self.states();
        if states.len() > self.killed_after { Err(io::Error::other("killed")) } else { Ok(Change(states)) }
    }

    fn change(&self) -> io::Result<Change<'_>> {
        let mut states = self.states();
        if states.len() > self.killed_after {
            return Err(io::Error::other("killed"));
        }
        if self.recording {
            let next = states.last().expect("there is one").clone();
            states.push(next);
        }
        Ok(Change(states))
    }

    /// Writes into the draft of a run as programs write files: they are there by halves.
    pub(crate) fn write_plainly(&self, file: &str, content: &[u8]) -> io::Result<()> {
        for part in [&content[..content.len() / 2], content] {
            self.change()?.files.insert(file.to_owned(), part.to_owned());
        }
        Ok(())
    }

    pub(crate) fn make_folder(&self, folder: &str) -> io::Result<()> {
        self.change()?.folders.insert(folder.to_owned());
        Ok(())
    }
}

impl Storage for Memory {
    fn shown(&self, path: &str) -> String {
        format!("r/{path}").trim_end_matches('/').to_owned()
    }

    fn renames(&self) -> bool {
        self.directory
    }

    fn make(&self) -> io::Result<()> {
        let missing = !self.look()?.folders.contains("runs");
        if missing { self.make_folder("runs") } else { Ok(()) }
    }

    fn lock(&self) -> io::Result<Locking> {
        if !self.directory {
            return Ok(Locking::Object(Who::default()));
        }
        let locked = self.locked.swap(true, Ordering::Relaxed);
        Ok(if locked { Locking::Busy } else { Locking::Held(Box::new(Held(Arc::clone(&self.locked)))) })
    }

    fn list(&self, into: &dyn Fn(&str) -> bool) -> io::Result<Vec<Item>> {
        let state = self.look()?;
        let item = |kind| move |path: &String| Item { path: path.clone(), kind };
        let all = state.files.keys().map(item(Kind::File)).chain(state.folders.iter().map(item(Kind::Folder)));
        let parents = |path: &str| path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>();
        Ok(all.filter(|item| !self.directory || parents(&item.path).iter().all(|folder| into(folder))).collect())
    }

    fn read(&self, files: &[String]) -> io::Result<Vec<Option<Vec<u8>>>> {
        self.fault("read", files.first())?;
        let state = self.look()?;
        let found = files.iter().map(|file| state.files.get(file).cloned()).collect();
        drop(state);
        let rival = self.rival.lock().expect("nobody panics").take_if(|_| files == [LOCK]);
        if let Some(lock) = rival {
            self.change()?.files.insert(LOCK.to_owned(), lock);
        }
        Ok(found)
    }

    fn ends_with(&self, file: &str, mark: &[u8]) -> bool {
        self.states().last().and_then(|state| state.files.get(file)).is_some_and(|content| content.ends_with(mark))
    }

    fn write(&self, file: &str, content: &[u8]) -> io::Result<()> {
        if !self.directory {
            self.change()?.files.insert(file.to_owned(), content.to_owned());
            return Ok(());
        }
        let (folder, name) = file.rsplit_once('/').map_or(("", file), |(folder, name)| (folder, name));
        let draft = format!("{folder}/.{name}.part").trim_start_matches('/').to_owned();
        self.write_plainly(&draft, content)?;
        let mut state = self.change()?;
        state.files.remove(&draft);
        state.files.insert(file.to_owned(), content.to_owned());
        Ok(())
    }

    fn create(&self, file: &str, content: &[u8]) -> io::Result<()> {
        self.change()?.files.entry(file.to_owned()).or_insert_with(|| content.to_owned());
        self.fault("create", Some(&file.to_owned()))
    }

    fn remove(&self, files: &[String]) -> io::Result<()> {
        self.fault("remove", files.first())?;
        for file in files {
            self.change()?.files.remove(file);
        }
        Ok(())
    }

    fn remove_folder(&self, folder: &str) -> io::Result<()> {
        if self.directory && self.look()?.folders.contains(folder) {
            let mut state = self.change()?;
            let inside = |path: &String| path.starts_with(&format!("{folder}/"));
            assert!(!state.files.keys().any(inside) && !state.folders.iter().any(inside), "{folder} is not empty");
            state.folders.remove(folder);
        }
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        assert!(self.directory, "objects cannot be renamed");
        let mut state = self.change()?;
        if !state.folders.contains(from) || state.folders.contains(to) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let renamed = |path: &str| match path.strip_prefix(from) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{to}{rest}"),
            _ => path.to_owned(),
        };
        state.folders = state.folders.iter().map(|path| renamed(path)).collect();
        state.files = std::mem::take(&mut state.files).into_iter().map(|(path, text)| (renamed(&path), text)).collect();
        Ok(())
    }

    fn copy(&self, pairs: &[(String, String)]) -> io::Result<()> {
        for (from, to) in pairs {
            let mut state = self.change()?;
            let content = state.files.get(from).cloned().ok_or(io::ErrorKind::NotFound)?;
            state.files.insert(to.clone(), content);
        }
        Ok(())
    }

    fn upload(&self, local: &Path, file: &str) -> io::Result<()> {
        let content = std::fs::read(local)?;
        self.change()?.files.insert(file.to_owned(), content);
        Ok(())
    }
}
