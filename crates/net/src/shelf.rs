//! The files of a directory, for hosts that request them.
//!
//! A file is hashed before it is served: by and by when the shelf is opened, or when it is requested, and again when it has changed. Files are read on
//! a thread of their own while sessions wait, and are open only while they are read or sent.

mod index;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anabranch_host::wire::{Object as Wanted, Reason, Refusal};
use anabranch_host::{Host, HostEvent, Manifest, ObjectName, Outcome, SessionId, SigningKey};
use anabranch_transport::Time;
use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::NetError;
use crate::clock::Clock;
use crate::directory::{decline, open};
use crate::files::{Done, FileHash, FileState, Hashed, Hasher, Reader, is_hidden, refuse_others};
use crate::report::Report;
use crate::waker::Waker;
use index::Index;

/// Known files that are looked at ten times a second, in order to forget those that are gone.
const SWEEP: usize = 16;

/// Files that this host itself has hashed at once.
const OWN: usize = 8;

/// A directory whose files are served, by name or by hash. Files whose names begin with a dot are not: some are incomplete.
#[derive(Debug)]
pub struct Shelf {
    directory: Arc<Dir>,
    hasher: Hasher,
    index: Index,
    /// The key that signs them.
    key: Option<SigningKey>,
    /// Requests that wait until a file has been read.
    waiting: BTreeMap<SessionId, Waiting>,
    sending: BTreeMap<SessionId, Manifest>,
    /// Outcomes of requests, reported once the session is over and its counters are final.
    ended: BTreeMap<SessionId, (SocketAddr, Manifest, Outcome)>,
}

/// A request that waits.
#[derive(Clone, Debug)]
struct Waiting {
    peer: SocketAddr,
    object: Wanted,
    /// When it has shown that it is there, if it has.
    confirmed: Option<Time>,
}

/// A file that was hashed in a state.
#[derive(Debug)]
struct Known {
    name: Arc<str>,
    state: FileState,
    hash: FileHash,
}

impl Shelf {
    /// The files of a directory, excluding subdirectories.
    ///
    /// # Errors
    ///
    /// [`NetError::Open`].
    pub fn open(directory: &Path) -> Result<Self, NetError> {
        let directory = Arc::new(open(directory)?);
        Ok(Self {
            hasher: Hasher::new(Arc::clone(&directory), usize::MAX, true),
            directory,
            index: Index::default(),
            key: None,
            waiting: BTreeMap::new(),
            sending: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Signs all files, as [`Input::sign`](crate::Input::sign) does one.
    pub fn sign(&mut self, key: SigningKey) {
        self.key = Some(key);
    }

    /// Lists all files: they are hashed by and by, also while the shelf serves. Returns their number and their bytes. `report` is told which are not
    /// served, and why ([`Report::NotIndexed`]); subdirectories and links are left out silently.
    ///
    /// # Errors
    ///
    /// Any error of reading the directory.
    pub fn list(&mut self, mut report: impl FnMut(Report)) -> io::Result<(usize, u64)> {
        let (mut names, mut bytes) = (Vec::new(), 0);
        for entry in self.directory.entries()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // It may have been removed meanwhile.
            let Ok(found) = entry.metadata() else { continue };
            let kind = FileType::from_raw_mode(found.mode());
            if matches!(kind, FileType::Directory | FileType::Symlink) || is_hidden(&name) {
                continue;
            }
            match refuse_others(kind).and_then(|()| object_name(&name)) {
                Ok(_) => {
                    bytes += found.len();
                    names.push(name);
                }
                Err(error) => report(Report::NotIndexed { name, why: error.to_string() }),
            }
        }
        names.sort_unstable();
        let files = names.len();
        self.index.extend(names);
        Ok((files, bytes))
    }

    /// Hashes files before anything is served, until all are hashed or `limit` has passed: what is then left is hashed while the shelf serves.
    pub fn hash_for(&mut self, limit: Duration, mut report: impl FnMut(Report)) {
        let clock = Clock::start();
        loop {
            self.feed();
            let left = limit.saturating_sub(clock.elapsed());
            if self.hasher.own_jobs() == 0 || left.is_zero() {
                return;
            }
            match self.hasher.wait(left) {
                Some(Done::Hashed { name, result, .. }) => {
                    self.hashed(&name, &result).into_iter().for_each(&mut report);
                }
                Some(_) => {}
                None => return,
            }
        }
    }

    /// `waker` wakes the thread that asks what is [ready](Self::ready).
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.hasher.set_waker(waker);
    }

    /// Handles an event of a session. Returns a report for the user, if there is one.
    pub(crate) fn handle(&mut self, host: &mut Host, now: Time, id: SessionId, event: HostEvent) -> Option<Report> {
        match event {
            HostEvent::Requested { peer, object } => match self.find(&object) {
                Ok(Some(known)) => Some(self.serve(host, now, id, peer, &known)),
                Ok(None) => {
                    self.waiting.insert(id, Waiting { peer, object, confirmed: None });
                    host.defer(now, id);
                    None
                }
                Err(error) => Some(refuse(host, now, id, peer, &described(&object), &error)),
            },
            HostEvent::Confirmed { .. } => self.confirmed(host, now, id),
            HostEvent::Receiver { peer, outcome, .. } => {
                let manifest = self.sending.remove(&id)?;
                self.ended.insert(id, (peer, manifest, outcome));
                None
            }
            HostEvent::Closed { stats, sent_bytes } => {
                if self.waiting.remove(&id).is_some() {
                    self.hasher.leave(id);
                    return None;
                }
                let (peer, manifest, outcome) = self.ended.remove(&id)?;
                Some(Report::Served { peer, manifest, outcome, sent_bytes, symbols: stats.data_sent })
            }
            other => {
                decline(host, now, id, &other);
                None
            }
        }
    }

    /// Cancels all sessions.
    pub(crate) fn cancel(&mut self, host: &mut Host, now: Time) {
        for id in std::mem::take(&mut self.waiting).into_keys() {
            self.hasher.leave(id);
            host.refuse(now, id, Refusal::new(Reason::Other, "this host stops"));
        }
        for id in std::mem::take(&mut self.sending).keys() {
            host.cancel(now, *id);
        }
    }

    /// A request that waits has shown that it is there: from now on it is worth some work.
    fn confirmed(&mut self, host: &mut Host, now: Time, id: SessionId) -> Option<Report> {
        let waiting = self.waiting.get_mut(&id)?;
        waiting.confirmed = Some(now);
        let Waiting { peer, object, .. } = waiting.clone();
        let known = match self.find(&object) {
            Ok(known) => known,
            Err(error) => return self.decline(host, now, id, &error),
        };
        match (known, object) {
            (Some(known), _) => {
                self.waiting.remove(&id);
                Some(self.serve(host, now, id, peer, &known))
            }
            (None, Wanted::Name(name)) => {
                let waits = self.hasher.hash_for(id, peer, name.as_str());
                if waits { None } else { self.decline(host, now, id, &busy("waits: too many files are being read")) }
            }
            // The folder may have to be listed, and files to be hashed.
            (None, Wanted::Hash(_)) => None,
        }
    }

    /// Finds a file whose hash is known; `None` if it must be read first, or may be among those that must.
    fn find(&mut self, object: &Wanted) -> io::Result<Option<Known>> {
        match object {
            Wanted::Name(name) if is_hidden(name.as_str()) => {
                Err(io::Error::new(io::ErrorKind::NotFound, "names that begin with a dot are not served"))
            }
            Wanted::Name(name) => {
                let name = Arc::from(name.as_str());
                let (state, hash) = self.hasher.look_up(&name)?;
                Ok(hash.map(|hash| Known { name, state, hash }))
            }
            Wanted::Hash(hash) => {
                let names = self.hasher.names(hash);
                Ok(names.into_iter().find_map(|name| {
                    let (state, hash) = self.hasher.look_up(&name).ok()?;
                    hash.map(|hash| Known { name, state, hash })
                }))
            }
        }
    }

    /// Sends a file.
    fn serve(&mut self, host: &mut Host, now: Time, id: SessionId, peer: SocketAddr, known: &Known) -> Report {
        let opened = self.manifest(known).and_then(|manifest| {
            let reader = Reader::open(&self.directory, &known.name, known.state, &known.hash)?;
            Ok((manifest, reader))
        });
        let (manifest, reader) = match opened {
            Ok(opened) => opened,
            Err(error) => return refuse(host, now, id, peer, &known.name, &error),
        };
        match host.serve(now, id, Box::new(reader), manifest.clone()) {
            Ok(()) => {
                self.sending.insert(id, manifest.clone());
                Report::Serving { peer, manifest }
            }
            Err(failure) => Report::NotServed { peer, why: failure.to_string() },
        }
    }

    fn manifest(&self, known: &Known) -> io::Result<Manifest> {
        let (name, hash, size) = (object_name(&known.name)?, known.hash.root, known.state.size());
        let mut manifest = Manifest { hash, size, name, signature: None };
        if let Some(key) = &self.key {
            manifest.sign(key);
        }
        Ok(manifest)
    }

    /// Declines a request that waits.
    fn decline(&mut self, host: &mut Host, now: Time, id: SessionId, error: &io::Error) -> Option<Report> {
        let Waiting { peer, object, .. } = self.waiting.remove(&id)?;
        self.hasher.leave(id);
        Some(refuse(host, now, id, peer, &described(&object), error))
    }

    /// Does what is due now and then, and answers the requests for which files have been read since the last call. Returns reports for the user.
    pub(crate) fn ready(&mut self, host: &mut Host, now: Time) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Some(done) = self.hasher.take() {
            match done {
                Done::Hashed { name, waiting, result } => {
                    reports.extend(self.hashed(&name, &result));
                    let waiting = waiting.into_iter().chain(self.that_want(&result));
                    let answers: Vec<SessionId> = waiting.collect();
                    reports.extend(answers.into_iter().filter_map(|id| self.answer(host, now, id, &name, &result)));
                }
                Done::Listed(names) => {
                    let hasher = &mut self.hasher;
                    self.index.extend(names.into_iter().filter(|name| matches!(hasher.look_up(name), Ok((_, None)))));
                }
                Done::AllListed => self.index.end(now),
            }
        }
        self.feed();
        reports
    }

    /// Does what is due ten times a second. Returns reports for the user.
    pub(crate) fn tend(&mut self, host: &mut Host, now: Time) -> Vec<Report> {
        self.hasher.sweep(SWEEP);
        let read = self.hasher.read();
        for (&id, _) in self.waiting.iter().filter(|(_, waiting)| waiting.confirmed.is_some()) {
            host.working(now, id, read);
        }
        self.answer_hashes(host, now)
    }

    /// Requests by hash wait until the files that were there when they came have been read, but not for long.
    fn answer_hashes(&mut self, host: &mut Host, now: Time) -> Vec<Report> {
        let (limit, mut late) = (host.config().give_up_after, Vec::new());
        for (&id, waiting) in &self.waiting {
            let (Wanted::Hash(_), Some(asked)) = (&waiting.object, waiting.confirmed) else { continue };
            if self.index.begin(now, asked) {
                self.hasher.list();
            }
            let complete = self.index.is_complete(asked) && self.hasher.own_jobs() == 0;
            if complete || now.since(asked) * 2 >= limit {
                late.push(id);
            }
        }
        let none = || io::Error::new(io::ErrorKind::NotFound, "no file that has been read has this hash");
        late.into_iter().filter_map(|id| self.decline(host, now, id, &none())).collect()
    }

    /// Requests for this content.
    fn that_want(&self, read: &io::Result<Hashed>) -> Vec<SessionId> {
        let Ok(read) = read else { return Vec::new() };
        let wants = |waiting: &Waiting| {
            waiting.confirmed.is_some() && matches!(&waiting.object, Wanted::Hash(hash) if *hash == read.hash.root)
        };
        self.waiting.iter().filter(|(_, waiting)| wants(waiting)).map(|(&id, _)| id).collect()
    }

    /// A file has been read for a request that waits.
    fn answer(
        &mut self,
        host: &mut Host,
        now: Time,
        id: SessionId,
        name: &Arc<str>,
        read: &io::Result<Hashed>,
    ) -> Option<Report> {
        match read {
            Ok(read) => {
                let Waiting { peer, .. } = self.waiting.remove(&id)?;
                let known = Known { name: Arc::clone(name), state: read.state, hash: read.hash.clone() };
                Some(self.serve(host, now, id, peer, &known))
            }
            Err(error) => self.decline(host, now, id, error),
        }
    }

    /// The report on a file that has been read.
    fn hashed(&self, name: &Arc<str>, read: &io::Result<Hashed>) -> Option<Report> {
        let manifest = read.as_ref().map_err(copy).and_then(|read| {
            self.manifest(&Known { name: Arc::clone(name), state: read.state, hash: read.hash.clone() })
        });
        match manifest {
            Ok(manifest) => Some(Report::Indexed { manifest }),
            // It will be complete, or has never been.
            Err(error) if matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::NotFound) => None,
            Err(error) => Some(Report::NotIndexed { name: name.to_string(), why: error.to_string() }),
        }
    }

    /// Hashes the next files.
    fn feed(&mut self) {
        while self.hasher.own_jobs() < OWN
            && let Some(name) = self.index.pop()
        {
            if object_name(&name).is_ok() && matches!(self.hasher.look_up(&name), Ok((_, None))) {
                self.hasher.hash_own(&name);
            }
        }
    }
}

/// Refuses a request. Peers are not told why a file cannot be read.
fn refuse(host: &mut Host, now: Time, id: SessionId, peer: SocketAddr, what: &str, error: &io::Error) -> Report {
    let refusal = match Errno::from_io_error(error) {
        _ if error.kind() == io::ErrorKind::ResourceBusy => Refusal::new(Reason::Busy, &format!("{what} {error}")),
        Some(Errno::MFILE | Errno::NFILE) => Refusal::new(Reason::Busy, "too many files are open"),
        _ => Refusal::new(Reason::NotFound, "no such object"),
    };
    host.refuse(now, id, refusal);
    Report::NotServed { peer, why: format!("{what}: {error}") }
}

fn described(object: &Wanted) -> String {
    match object {
        Wanted::Name(name) => name.to_string(),
        Wanted::Hash(hash) => format!("blake3:{}", blake3::Hash::from_bytes(*hash).to_hex()),
    }
}

fn object_name(name: &str) -> io::Result<ObjectName> {
    ObjectName::new(name).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
}

fn busy(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, why)
}

fn copy(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of a folder's files after they were read.
    fn indexed(shelf: &mut Shelf) -> BTreeMap<String, Manifest> {
        let mut found = BTreeMap::new();
        shelf.list(|report| panic!("{report:?}")).expect("listed");
        shelf.hash_for(Duration::from_secs(60), |report| match report {
            Report::Indexed { manifest } => _ = found.insert(manifest.name.to_string(), manifest),
            other => panic!("{other:?}"),
        });
        found
    }

    #[test]
    fn all_files_are_signed_whenever_they_are_hashed() {
        let folder = tempfile::tempdir().expect("a directory");
        let put = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).expect("written");
        put("file", "first");
        let mut shelf = Shelf::open(folder.path()).expect("opened");
        assert_eq!(indexed(&mut shelf)["file"].signature, None);
        let key = SigningKey::from_seed(&[1; 32]);
        let public = key.public();
        shelf.sign(key);
        for content in ["second", "the third one"] {
            put("file", content);
            put("other", content);
            let found = indexed(&mut shelf);
            for name in ["file", "other"] {
                assert_eq!(found[name].signer(), Ok(Some(public)), "{name}");
                assert_eq!(found[name].hash, *blake3::hash(content.as_bytes()).as_bytes());
            }
        }
    }

    #[test]
    fn what_is_known_is_not_read_again_and_hidden_files_and_folders_are_left_out() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", ".hidden"] {
            std::fs::write(folder.path().join(name), name).expect("written");
        }
        std::fs::create_dir(folder.path().join("folder")).expect("made");
        let mut shelf = Shelf::open(folder.path()).expect("opened");
        // Files that were just written are read once more.
        while !indexed(&mut shelf).is_empty() {}
        let read = shelf.hasher.read();
        assert_eq!(shelf.list(|_| {}).expect("listed"), (2, 2));
        shelf.hash_for(Duration::from_secs(60), |report| panic!("{report:?}"));
        assert_eq!(shelf.hasher.read(), read);
    }
}
