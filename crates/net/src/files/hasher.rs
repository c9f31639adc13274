//! The hashes of a folder's files, for sessions that wait for them: what is known is told at once, what is not is read on a [`Worker`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anabranch_host::SessionId;
use cap_std::fs::{Dir, ReadDir};
use rayon::ThreadPool;

use super::hash_cache::{FileHash, HashCache};
use super::hashing::{Hashed, Hashing};
use super::parts;
use super::regular::{FileState, open_in, state_in};
use super::worker::{Owner, Work, WorkId, Worker, network};
use crate::waker::Waker;

/// Names of a folder that are looked at in one piece of work.
const NAMES: usize = 256;

/// Half of the cores: the other half is for sessions.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    rayon::ThreadPoolBuilder::new().num_threads((cores / 2).max(1)).thread_name(|n| format!("hash {n}")).build().ok()
});

/// What is to be done in a folder.
#[derive(Debug)]
enum Errand {
    /// Hashes a file.
    Hash { folder: Arc<Dir>, name: Arc<str>, hashing: Option<Box<Hashing>> },
    /// Lists the files.
    List { folder: Arc<Dir>, entries: Option<ReadDir> },
    /// Removes partial files that nobody has written to for so long.
    Clean { folder: Arc<Dir>, entries: Option<ReadDir>, keep: Duration },
}

/// What comes of it.
#[derive(Debug)]
enum Found {
    Hashed(io::Result<Hashed>),
    Listed(Vec<String>),
    /// That was the whole list.
    All,
}

impl Work for Errand {
    type Output = Found;

    fn piece(&mut self, give: &mut dyn FnMut(Found)) -> Option<u64> {
        match self {
            Self::Hash { folder, name, hashing } => match hash(folder, name, hashing) {
                Ok(0) => {
                    give(Found::Hashed(
                        hashing.take().map_or(Err(io::ErrorKind::NotFound.into()), |done| done.finish()),
                    ));
                    None
                }
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    give(Found::Hashed(Err(error)));
                    None
                }
            },
            Self::List { folder, entries } => {
                let names = next_names(folder, entries, |name| !super::is_hidden(name));
                give(if let Some(names) = &names { Found::Listed(names.clone()) } else { Found::All });
                names.map(|_| 0)
            }
            Self::Clean { folder, entries, keep } => {
                let names = next_names(folder, entries, parts::is_ours)?;
                for name in names {
                    parts::remove_if_old(folder, &name, *keep);
                }
                Some(0)
            }
        }
    }
}

fn hash(folder: &Dir, name: &str, hashing: &mut Option<Box<Hashing>>) -> io::Result<u64> {
    let hashing = match hashing {
        Some(hashing) => hashing,
        none => {
            let (file, state) = open_in(folder, name)?;
            none.insert(Box::new(Hashing::new(file, state)))
        }
    };
    match &*POOL {
        Some(pool) => pool.install(|| hashing.step()),
        None => hashing.step(),
    }
}

/// The next names of a folder that are of interest; `None` if there are no more.
fn next_names(folder: &Dir, entries: &mut Option<ReadDir>, wanted: fn(&str) -> bool) -> Option<Vec<String>> {
    if entries.is_none() {
        *entries = Some(folder.entries().ok()?);
    }
    let mut some = entries.as_mut()?.by_ref().take(NAMES).peekable();
    some.peek()?;
    let names = some.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Some(names.filter(|name| wanted(name)).collect())
}

/// A file that is being hashed.
#[derive(Debug)]
struct Job {
    name: Arc<str>,
    /// Sessions that wait for it.
    waiting: BTreeSet<SessionId>,
    /// This host itself wants to know it.
    own: bool,
}

/// News from the worker.
#[derive(Debug)]
pub(crate) enum Done {
    /// A file has been hashed, or cannot be.
    Hashed {
        name: Arc<str>,
        /// Sessions that have waited for it.
        waiting: BTreeSet<SessionId>,
        result: io::Result<Hashed>,
    },
    /// Some names of the folder.
    Listed(Vec<String>),
    /// All names have been listed.
    AllListed,
}

/// Hashes of the files of a folder.
#[derive(Debug)]
pub(crate) struct Hasher {
    folder: Arc<Dir>,
    cache: HashCache,
    worker: Worker<Errand>,
    jobs: BTreeMap<WorkId, Job>,
    by_name: BTreeMap<Arc<str>, WorkId>,
    /// Whether the hashes of parts are kept: files are to be sent.
    keeps_parts: bool,
    /// The name that was last looked at in order to forget files that are gone.
    swept: Arc<str>,
}

impl Hasher {
    /// Up to `most` hashes are kept, with those of the files' parts if these are to be sent.
    pub(crate) fn new(folder: Arc<Dir>, most: usize, keeps_parts: bool) -> Self {
        Self {
            folder,
            cache: HashCache::new(most),
            worker: Worker::new(),
            jobs: BTreeMap::new(),
            by_name: BTreeMap::new(),
            keeps_parts,
            swept: Arc::from(""),
        }
    }

    /// `waker` wakes the thread that [takes](Self::take) the news.
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.worker.set_waker(waker);
    }

    /// The state of a file, and its hash if that is known.
    ///
    /// # Errors
    ///
    /// Any error of the system, and [`io::ErrorKind::InvalidInput`] if it is no regular file.
    pub(crate) fn look_up(&mut self, name: &str) -> io::Result<(FileState, Option<FileHash>)> {
        let state = state_in(&self.folder, name);
        match &state {
            Ok(state) if self.cache.get(name, state).is_some() => {}
            _ => self.cache.remove(name),
        }
        state.map(|state| (state, self.cache.get(name, &state).cloned()))
    }

    /// Names of files that had this content when they were read.
    pub(crate) fn names(&self, hash: &[u8; 32]) -> Vec<Arc<str>> {
        self.cache.names(hash).cloned().collect()
    }

    /// A session waits for the hash of a file. Returns whether there is room: much is already asked for by that peer, or by all.
    pub(crate) fn hash_for(&mut self, id: SessionId, peer: SocketAddr, name: &str) -> bool {
        if let Some(job) = self.by_name.get(name).and_then(|work| self.jobs.get_mut(work)) {
            job.waiting.insert(id);
            return true;
        }
        let owner = Some(network(peer));
        let has_room = self.worker.has_room(owner);
        if has_room {
            self.start(owner, name, BTreeSet::from([id]), false);
        }
        has_room
    }

    /// This host itself wants to know the hash of a file.
    pub(crate) fn hash_own(&mut self, name: &str) {
        match self.by_name.get(name).and_then(|work| self.jobs.get_mut(work)) {
            Some(job) => job.own = true,
            None => self.start(None, name, BTreeSet::new(), true),
        }
    }

    fn start(&mut self, owner: Owner, name: &str, waiting: BTreeSet<SessionId>, own: bool) {
        let name: Arc<str> = Arc::from(name);
        let work = Errand::Hash { folder: Arc::clone(&self.folder), name: Arc::clone(&name), hashing: None };
        let id = self.worker.start(owner, work);
        self.by_name.insert(Arc::clone(&name), id);
        self.jobs.insert(id, Job { name, waiting, own });
    }

    /// A session does not wait any more.
    pub(crate) fn leave(&mut self, id: SessionId) {
        let found = self.jobs.iter_mut().find_map(|(work, job)| job.waiting.remove(&id).then_some((*work, job)));
        if let Some((work, job)) = found
            && job.waiting.is_empty()
            && !job.own
        {
            self.by_name.remove(&job.name);
            self.jobs.remove(&work);
            self.worker.withdraw(work);
        }
    }

    /// Lists the files that may be served.
    pub(crate) fn list(&mut self) {
        self.worker.start(None, Errand::List { folder: Arc::clone(&self.folder), entries: None });
    }

    /// Removes partial files that nobody has written to for so long.
    pub(crate) fn clean(&mut self, keep: Duration) {
        self.worker.start(None, Errand::Clean { folder: Arc::clone(&self.folder), entries: None, keep });
    }

    /// The next news.
    pub(crate) fn take(&mut self) -> Option<Done> {
        loop {
            let (id, found) = self.worker.take()?;
            if let Some(done) = self.handle(id, found) {
                return Some(done);
            }
        }
    }

    /// Waits for the next news.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<Done> {
        let (id, found) = self.worker.wait(limit)?;
        self.handle(id, found)
    }

    /// What has been found; `None` if nobody wants to know it any more.
    fn handle(&mut self, id: WorkId, found: Found) -> Option<Done> {
        let mut result = match found {
            Found::Hashed(result) => result,
            Found::Listed(names) => return Some(Done::Listed(names)),
            Found::All => return Some(Done::AllListed),
        };
        let Job { name, waiting, .. } = self.jobs.remove(&id)?;
        self.by_name.remove(&name);
        if let Ok(hashed) = &mut result {
            if !self.keeps_parts {
                hashed.hash.parts = None;
            }
            if hashed.settled {
                self.cache.insert(&name, hashed.state, hashed.hash.clone());
            }
        }
        Some(Done::Hashed { name, waiting, result })
    }

    /// Files that are being hashed for this host itself.
    pub(crate) fn own_jobs(&self) -> usize {
        self.jobs.values().filter(|job| job.own).count()
    }

    /// Looks at the next known files in turn, and forgets those that are gone or have changed.
    pub(crate) fn sweep(&mut self, files: usize) {
        for _ in 0..files {
            let Some((name, state)) = self.cache.after(&self.swept) else { return };
            self.swept = Arc::clone(name);
            if !state_in(&self.folder, name).is_ok_and(|found| found == *state) {
                let name = Arc::clone(name);
                self.cache.remove(&name);
            }
        }
    }

    /// Bytes that were read for anybody so far: they grow while there is progress.
    pub(crate) fn read(&self) -> u64 {
        self.worker.read()
    }
}
