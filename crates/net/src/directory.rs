//! A directory into which objects are received.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use anabranch_host::wire::{Reason, Refusal};
use anabranch_host::{Failure, Host, HostEvent, Manifest, SessionId};
use anabranch_transport::Time;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::NetError;
use crate::files::{Finisher, Input, Output, OutputError};
use crate::report::Report;
use crate::waker::Waker;

/// Files that are received or finished at once, at most: each uses one or two descriptors, and a process is often limited to 1024.
const FILES: usize = 128;

/// What a receiver accepts, and where it stores it.
#[derive(Clone, Debug, Default)]
pub struct ReceiveOptions {
    /// An existing file is replaced by an object of the same name.
    pub overwrite: bool,
    /// The name under which the object is stored, instead of its own.
    pub name: Option<anabranch_host::ObjectName>,
    /// Maximum number of objects to accept, including those that turn out to be there already. Default: no limit.
    pub limit: Option<u64>,
}

/// An object in progress.
#[derive(Debug)]
struct Receiving {
    output: Output,
    manifest: Manifest,
    bytes: u64,
}

/// Receives objects into a directory.
#[derive(Debug)]
pub(crate) struct Directory {
    dir: Dir,
    options: ReceiveOptions,
    receiving: BTreeMap<SessionId, Receiving>,
    /// Complete objects: their hashes are compared, and they are written to the disk.
    finishing: BTreeMap<SessionId, Manifest>,
    finisher: Finisher,
    /// Objects that were accepted.
    taken: u64,
}

impl Directory {
    /// `waker` wakes the thread that asks what is [finished](Self::finished).
    pub(crate) fn new(dir: Dir, options: ReceiveOptions, waker: Waker) -> Self {
        let (receiving, finishing) = (BTreeMap::new(), BTreeMap::new());
        Self { dir, options, receiving, finishing, finisher: Finisher::new(waker), taken: 0 }
    }

    /// Bytes of the objects in progress: received, and in all.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let receiving = self.receiving.values().map(|one| (one.bytes, one.manifest.size));
        let finishing = self.finishing.values().map(|manifest| (manifest.size, manifest.size));
        receiving.chain(finishing).fold((0, 0), |(bytes, size), one| (bytes + one.0, size + one.1))
    }

    /// Cancels objects that are not complete, and those that no thread has begun to finish.
    pub(crate) fn cancel(&mut self, host: &mut Host, now: Time) {
        let waiting: Vec<SessionId> = self.finishing.keys().copied().collect();
        let withdrawn = waiting.into_iter().filter(|&id| self.finisher.withdraw(id).is_some());
        let ids: Vec<SessionId> = withdrawn.chain(std::mem::take(&mut self.receiving).into_keys()).collect();
        for id in ids {
            self.finishing.remove(&id);
            host.cancel(now, id);
        }
    }

    /// Handles an event of a session. Returns a report for the user, if there is one.
    pub(crate) fn handle(&mut self, host: &mut Host, now: Time, id: SessionId, event: HostEvent) -> Option<Report> {
        match event {
            HostEvent::Offered { peer, manifest } => {
                if self.options.limit.is_some_and(|limit| self.taken >= limit) {
                    host.refuse(now, id, Refusal::new(Reason::NotWanted, "this host takes no more files"));
                    return None;
                }
                if self.receiving.len() + self.finishing.len() >= FILES {
                    // A disk may be slower than the network.
                    host.refuse(now, id, Refusal::new(Reason::Busy, "too many files at once"));
                    return None;
                }
                self.taken += 1;
                let named = self.named(manifest.clone());
                match self.open(&named) {
                    Ok(Some(output)) => {
                        let bytes = host.accept_rest(now, id, output.begun());
                        let signer = manifest.signer().unwrap_or(None);
                        self.receiving.insert(id, Receiving { output, manifest: named.clone(), bytes });
                        Some(Report::Began { peer, manifest: named, from: bytes, signer })
                    }
                    Ok(None) => {
                        host.have(now, id);
                        Some(Report::AlreadyThere { manifest: named })
                    }
                    Err(error) => {
                        host.refuse(now, id, refusal(&error));
                        let why = Failure::Refused(error.to_string());
                        Some(Report::NotReceived { name: named.name, why, kept: 0 })
                    }
                }
            }
            HostEvent::Declined { peer, manifest, refusal } => {
                Some(Report::Declined { peer, name: manifest.name, why: refusal.text().to_owned() })
            }
            HostEvent::Excluded { peer, why } => Some(Report::Excluded { peer, why }),
            HostEvent::Withheld { peer } => Some(Report::Withheld { peer }),
            HostEvent::Block { offset, bytes } => {
                let receiving = self.receiving.get_mut(&id)?;
                receiving.bytes += bytes.len() as u64;
                let error = receiving.output.write_at(offset, &bytes).err()?;
                host.cancel(now, id);
                self.lose(id, Failure::Refused(error.to_string()))
            }
            HostEvent::Complete => {
                let Receiving { output, manifest, .. } = self.receiving.remove(&id)?;
                self.finishing.insert(id, manifest);
                self.finisher.start(id, output);
                None
            }
            HostEvent::Failed(failure) => {
                if let Some(output) = self.finisher.withdraw(id) {
                    let manifest = self.finishing.remove(&id)?;
                    return Some(Report::NotReceived { name: manifest.name, why: failure, kept: output.kept() });
                }
                self.lose(id, failure)
            }
            _ => None,
        }
    }

    /// Whether there are files that are complete and not yet [finished](Self::finished).
    pub(crate) fn is_finishing(&self) -> bool {
        !self.finishing.is_empty()
    }

    /// A file that has been finished since the last call, or could not be. Notifies the sender and returns a report for the user.
    pub(crate) fn finished(&mut self, host: &mut Host, now: Time) -> Option<Report> {
        let (id, result) = self.finisher.take()?;
        let manifest = self.finishing.remove(&id)?;
        Some(match result {
            Ok(()) => {
                host.checked(now, id, true);
                Report::Received { manifest }
            }
            Err(OutputError::Hash { .. }) => {
                host.checked(now, id, false);
                Report::NotReceived { name: manifest.name, why: Failure::Hash, kept: 0 }
            }
            Err(error) => {
                host.cancel(now, id);
                Report::NotReceived { name: manifest.name, why: Failure::Refused(error.to_string()), kept: 0 }
            }
        })
    }

    fn lose(&mut self, id: SessionId, why: Failure) -> Option<Report> {
        let lost = self.receiving.remove(&id)?;
        Some(Report::NotReceived { kept: lost.output.kept(), name: lost.manifest.name, why })
    }

    fn named(&self, manifest: Manifest) -> Manifest {
        match &self.options.name {
            Some(name) => Manifest { name: name.clone(), ..manifest },
            None => manifest,
        }
    }

    /// Creates the file for an object; `None` if the object is there already.
    fn open(&self, manifest: &Manifest) -> Result<Option<Output>, OutputError> {
        match Output::create(&self.dir, manifest, self.options.overwrite) {
            Err(OutputError::Exists { name }) => {
                if self.has(manifest).unwrap_or(false) {
                    Ok(None)
                } else {
                    Err(OutputError::Exists { name })
                }
            }
            created => created.map(Some),
        }
    }

    /// Whether the file of that name is the object.
    fn has(&self, manifest: &Manifest) -> io::Result<bool> {
        let name = manifest.name.as_str();
        if self.dir.metadata(name)?.len() != manifest.size {
            return Ok(false);
        }
        let file = self.dir.open(name)?.into_std();
        Ok(Input::from_file(file, name)?.manifest().hash == manifest.hash)
    }
}

/// The refusal for the sender.
fn refusal(error: &OutputError) -> Refusal {
    let reason = match error {
        OutputError::Io { error, .. } if error.kind() == io::ErrorKind::StorageFull => Reason::NoSpace,
        OutputError::Exists { .. } => Reason::NotWanted,
        _ => Reason::Other,
    };
    Refusal::new(reason, &error.to_string())
}

/// Opens a directory by its path.
pub(crate) fn open(directory: &Path) -> Result<Dir, NetError> {
    let opened = Dir::open_ambient_dir(directory, ambient_authority());
    opened.map_err(|error| NetError::Open { path: directory.to_owned(), error })
}

/// Declines events that this program has no use for.
pub(crate) fn decline(host: &mut Host, now: Time, id: SessionId, event: &HostEvent) {
    if let HostEvent::Offered { .. } | HostEvent::Requested { .. } = event {
        host.refuse(now, id, Refusal::new(Reason::NotWanted, "this host takes nothing now"));
    }
}
