//! The files of a directory, for hosts that request them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use anabranch_host::wire::{Object as Wanted, Reason, Refusal};
use anabranch_host::{Host, HostEvent, Manifest, Outcome, SessionId, SigningKey};
use anabranch_transport::Time;
use cap_std::fs::Dir;

use crate::NetError;
use crate::directory::{decline, open};
use crate::files::Input;
use crate::report::Report;

/// A directory whose files are served, by name or by hash. Files whose names begin with a dot are not: some are incomplete.
#[derive(Debug)]
pub struct Shelf {
    directory: Dir,
    /// By name: the hashed files, and their state at that time.
    known: BTreeMap<String, (State, Input)>,
    /// The key that signs them.
    key: Option<SigningKey>,
    sending: BTreeMap<SessionId, Manifest>,
    /// Outcomes of requests, reported once the session is over and its counters are final.
    ended: BTreeMap<SessionId, (SocketAddr, Manifest, Outcome)>,
}

/// Size and time of the last change: while they are the same, so is the hash.
type State = (u64, Option<SystemTime>);

impl Shelf {
    /// The files of a directory, excluding subdirectories.
    ///
    /// # Errors
    ///
    /// [`NetError::Open`].
    pub fn open(directory: &Path) -> Result<Self, NetError> {
        Ok(Self {
            directory: open(directory)?,
            known: BTreeMap::new(),
            key: None,
            sending: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Signs all files, as [`Input::sign`] does one.
    pub fn sign(&mut self, key: SigningKey) {
        for (_, file) in self.known.values_mut() {
            file.sign(&key);
        }
        self.key = Some(key);
    }

    /// Hashes all files, so that the first request need not wait for it: sessions stand still meanwhile. `report` is called for each file, or with
    /// the reason why it is not served, and can stop the operation.
    ///
    /// # Errors
    ///
    /// Any error of reading the directory.
    pub fn index(
        &mut self,
        mut report: impl FnMut(&str, io::Result<&Manifest>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        for name in self.names()? {
            let file = self.file(&name);
            if report(&name, file.as_ref().map(Input::manifest).map_err(clone_error)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Handles an event of a session. Returns a report for the user, if there is one.
    pub(crate) fn handle(&mut self, host: &mut Host, now: Time, id: SessionId, event: HostEvent) -> Option<Report> {
        match event {
            HostEvent::Requested { peer, object } => Some(self.answer(host, now, id, peer, &object)),
            HostEvent::Receiver { peer, outcome, .. } => {
                let manifest = self.sending.remove(&id)?;
                self.ended.insert(id, (peer, manifest, outcome));
                None
            }
            HostEvent::Closed { stats, sent_bytes } => {
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
        for id in std::mem::take(&mut self.sending).keys() {
            host.cancel(now, *id);
        }
    }

    fn answer(&mut self, host: &mut Host, now: Time, id: SessionId, peer: SocketAddr, object: &Wanted) -> Report {
        let found = match object {
            Wanted::Name(name) => self.file(name.as_str()),
            Wanted::Hash(hash) => self.file_with(hash),
        };
        let file = match found {
            Ok(file) => file,
            Err(error) => {
                // The reason why it cannot be read is not disclosed.
                host.refuse(now, id, Refusal::new(Reason::NotFound, "no such object"));
                let what = match object {
                    Wanted::Name(name) => name.to_string(),
                    Wanted::Hash(hash) => format!("blake3:{}", blake3::Hash::from_bytes(*hash).to_hex()),
                };
                return Report::NotServed { peer, why: format!("{what}: {error}") };
            }
        };
        let manifest = file.manifest().clone();
        match host.serve(now, id, Box::new(file), manifest.clone()) {
            Ok(()) => {
                self.sending.insert(id, manifest.clone());
                Report::Serving { peer, manifest }
            }
            Err(failure) => Report::NotServed { peer, why: failure.to_string() },
        }
    }

    fn file(&mut self, name: &str) -> io::Result<Input> {
        if name.starts_with('.') {
            return Err(io::Error::new(io::ErrorKind::NotFound, "names that begin with a dot are not served"));
        }
        let found = self.directory.metadata(name)?;
        let state = (found.len(), found.modified().ok().map(cap_std::time::SystemTime::into_std));
        if let Some((before, input)) = self.known.get(name)
            && *before == state
        {
            return Ok(input.clone());
        }
        let mut input = Input::from_file(self.directory.open(name)?.into_std(), name)?;
        if let Some(key) = &self.key {
            input.sign(key);
        }
        self.known.insert(name.to_owned(), (state, input.clone()));
        Ok(input)
    }

    fn file_with(&mut self, hash: &[u8; 32]) -> io::Result<Input> {
        let names = self.names()?;
        let mut files = names.iter().filter_map(|name| self.file(name).ok());
        files.find(|file| file.manifest().hash == *hash).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The names of all regular files, in order.
    fn names(&self) -> io::Result<Vec<String>> {
        let files = self.directory.entries()?.filter_map(Result::ok);
        let files = files.filter(|entry| entry.metadata().is_ok_and(|found| found.is_file()));
        let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        Ok(names)
    }
}

fn clone_error(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_signed_whenever_they_are_hashed() {
        let folder = tempfile::tempdir().expect("a directory");
        let put = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).expect("written");
        put("before", "first");
        let mut shelf = Shelf::open(folder.path()).expect("opened");
        assert_eq!(shelf.file("before").expect("there").manifest().signature, None);
        let key = SigningKey::from_seed(&[1; 32]);
        let public = key.public();
        shelf.sign(key);
        put("after", "second");
        for _ in 0..2 {
            for name in ["before", "after"] {
                assert_eq!(shelf.file(name).expect("there").manifest().signer(), Ok(Some(public)), "{name}");
            }
            put("after", "changed, and longer");
        }
    }
}
