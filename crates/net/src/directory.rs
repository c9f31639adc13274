//! A directory into which objects are received.
//!
//! One session at a time receives under a name. Another sender of the same object is asked to offer it again when that session has ended; of another
//! object, it is refused. A session whose sender is silent, or has never shown that it is there, gives way to one that is there.

mod deferred;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anabranch_host::wire::{Reason, Refusal};
use anabranch_host::{Failure, Host, HostEvent, Manifest, SessionId};
use anabranch_transport::{Duration, Time};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::NetError;
use crate::files::{Finisher, Hasher, Output, OutputError, is_hidden};
use crate::report::Report;
use crate::waker::Waker;
use deferred::{Deferred, Purpose};

/// Files that are received, compared or finished at once, at most: each uses one or two descriptors, and a process is often limited to 1024.
const FILES: usize = 128;

/// Hashes of files that were there already, at most.
const HASHES: usize = 65_536;

/// How often old partial files are looked for.
const CLEAN: Duration = Duration::from_secs(3600);

/// What a receiver accepts, and where it stores it.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// An existing file is replaced by an object of the same name.
    pub overwrite: bool,
    /// The name under which the object is stored, instead of its own.
    pub name: Option<anabranch_host::ObjectName>,
    /// Files whose names begin with a dot are taken under such a name: many programs obey them without being asked. A [name](Self::name) that is given,
    /// and one that is [fetched](crate::fetch) by name, is asked for. Default: false.
    pub allow_hidden: bool,
    /// Maximum number of objects to accept, including those that turn out to be there already. Default: no limit.
    pub limit: Option<u64>,
    /// Partial files in the directory to which nothing was written for so long are removed, whatever they are parts of. Default: 7 days.
    pub keep_parts: std::time::Duration,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        let keep_parts = std::time::Duration::from_secs(7 * 24 * 3600);
        Self { overwrite: false, name: None, allow_hidden: false, limit: None, keep_parts }
    }
}

/// Who begins sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Senders offer objects, and can offer them again.
    Receives,
    /// This host asks for one object.
    Fetches,
}

/// An object in progress.
#[derive(Debug)]
struct Receiving {
    peer: SocketAddr,
    since: Time,
    output: Output,
    manifest: Manifest,
    bytes: u64,
    /// Its sender has shown that it is there: room for the object is reserved.
    confirmed: bool,
}

/// Receives objects into a directory.
#[derive(Debug)]
pub(crate) struct Directory {
    dir: Arc<Dir>,
    options: ReceiveOptions,
    role: Role,
    receiving: BTreeMap<SessionId, Receiving>,
    /// Complete objects: their hashes are compared, and they are written to the disk.
    finishing: BTreeMap<SessionId, (SocketAddr, Manifest)>,
    finisher: Finisher,
    /// Offers that are not decided.
    deferred: BTreeMap<SessionId, Deferred>,
    hasher: Hasher,
    /// When old partial files were last looked for.
    cleaned: Option<Time>,
    /// Objects that were accepted.
    taken: u64,
}

/// What there is under an object's name.
enum Place {
    /// Room for it.
    Free(Box<Output>),
    /// The object.
    Same,
    /// A file of its size.
    Unknown,
}

impl Directory {
    /// `waker` wakes the thread that asks what is [finished](Self::finished) and [compared](Self::compared).
    pub(crate) fn new(dir: Dir, options: ReceiveOptions, role: Role, waker: Waker) -> Self {
        let dir = Arc::new(dir);
        let mut hasher = Hasher::new(Arc::clone(&dir), HASHES, false);
        hasher.set_waker(waker.clone());
        Self {
            dir,
            options,
            role,
            receiving: BTreeMap::new(),
            finishing: BTreeMap::new(),
            finisher: Finisher::new(waker),
            deferred: BTreeMap::new(),
            hasher,
            cleaned: None,
            taken: 0,
        }
    }

    /// Bytes of the objects in progress: received, and in all.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let receiving = self.receiving.values().map(|one| (one.bytes, one.manifest.size));
        let finishing = self.finishing.values().map(|(_, manifest)| (manifest.size, manifest.size));
        receiving.chain(finishing).fold((0, 0), |(bytes, size), one| (bytes + one.0, size + one.1))
    }

    /// Cancels objects that are not complete, and those that no thread has begun to finish. Returns reports for the user.
    pub(crate) fn cancel(&mut self, host: &mut Host, now: Time) -> Vec<Report> {
        for id in std::mem::take(&mut self.deferred).into_keys() {
            self.hasher.leave(id);
            host.refuse(now, id, Refusal::new(Reason::Other, "this host stops"));
        }
        let waiting: Vec<SessionId> = self.finishing.keys().copied().collect();
        let mut reports = Vec::new();
        for id in waiting {
            if let Some(output) = self.finisher.withdraw(id)
                && let Some((peer, manifest)) = self.finishing.remove(&id)
            {
                host.cancel(now, id);
                reports.push(Report::Interrupted { name: manifest.name, peer, kept: output.kept() });
            }
        }
        for (id, Receiving { peer, output, manifest, .. }) in std::mem::take(&mut self.receiving) {
            host.cancel(now, id);
            reports.push(Report::Interrupted { name: manifest.name, peer, kept: output.kept() });
        }
        reports
    }

    /// Does what is due now and then: tells senders that wait that there is progress, and removes old partial files.
    pub(crate) fn tend(&mut self, host: &mut Host, now: Time) {
        let read = self.hasher.read();
        for &id in self.deferred.keys() {
            host.working(now, id, read);
        }
        if self.cleaned.is_none_or(|last| now.since(last) >= CLEAN) {
            self.cleaned = Some(now);
            self.hasher.clean(self.options.keep_parts);
        }
    }

    /// Handles an event of a session. Returns a report for the user, if there is one.
    pub(crate) fn handle(&mut self, host: &mut Host, now: Time, id: SessionId, event: HostEvent) -> Option<Report> {
        match event {
            HostEvent::Offered { peer, manifest } => self.offered(host, now, id, peer, &manifest),
            HostEvent::Confirmed { .. } => self.confirmed(host, now, id),
            HostEvent::Declined { peer, manifest, refusal } => {
                Some(Report::Declined { peer, name: manifest.name, why: refusal.text().to_owned() })
            }
            HostEvent::Excluded { peer, why } => Some(Report::Excluded { peer, why }),
            HostEvent::Withheld { peer } => Some(Report::Withheld { peer }),
            HostEvent::Narrow(narrow) => Some(Report::Narrow { narrow, again: false }),
            HostEvent::Block { offset, bytes } => {
                let receiving = self.receiving.get_mut(&id)?;
                receiving.bytes += bytes.len() as u64;
                let error = receiving.output.write_at(offset, &bytes).err()?;
                host.cancel(now, id);
                self.lose(id, Failure::Refused(error.to_string()))
            }
            HostEvent::Complete => {
                let Receiving { peer, mut output, manifest, .. } = self.receiving.remove(&id)?;
                output.set_mode(host.mode(id));
                self.finishing.insert(id, (peer, manifest));
                self.finisher.start(id, output);
                None
            }
            HostEvent::Failed(failure) => {
                if self.forget_deferred(id).is_some() {
                    return None;
                }
                if let Some(output) = self.finisher.withdraw(id) {
                    let (_, manifest) = self.finishing.remove(&id)?;
                    return Some(Report::NotReceived { name: manifest.name, why: failure, kept: output.kept() });
                }
                self.lose(id, failure)
            }
            _ => None,
        }
    }

    /// An object is offered.
    fn offered(
        &mut self,
        host: &mut Host,
        now: Time,
        id: SessionId,
        peer: SocketAddr,
        manifest: &Manifest,
    ) -> Option<Report> {
        let named = self.named(manifest.clone());
        let name = named.name.as_str();
        if is_hidden(name) && !self.options.allow_hidden && self.options.name.is_none() {
            let why = format!("{name} begins with a dot: hidden files are not taken here");
            host.refuse(now, id, Refusal::new(Reason::NotWanted, &why));
            return Some(match self.role {
                Role::Receives => Report::Declined { peer, name: named.name, why },
                Role::Fetches => Report::NotReceived { name: named.name, why: Failure::Refused(why), kept: 0 },
            });
        }
        let is_last = self.options.limit.is_some_and(|limit| self.taken >= limit);
        if is_last && !self.has_unconfirmed() {
            host.refuse(now, id, Refusal::new(Reason::NotWanted, "this host takes no more files"));
            return None;
        }
        if self.under_way(&named).is_some() {
            return self.offered_second(host, now, id, peer, named);
        }
        if is_last || self.receiving.len() + self.finishing.len() + self.deferred.len() >= FILES {
            // A disk may be slower than the network; or whoever has the place may not be there, and gives way until this one asks again.
            host.refuse(now, id, Refusal::new(Reason::Busy, "too many files at once"));
            return self.give_way(host, now);
        }
        match self.place(&named) {
            Ok(Place::Free(output)) => {
                self.taken += 1;
                let from = host.accept_rest(now, id, output.begun());
                let signer = manifest.signer().unwrap_or(None);
                let receiving = Receiving {
                    peer,
                    since: now,
                    output: *output,
                    manifest: named.clone(),
                    bytes: from,
                    confirmed: false,
                };
                self.receiving.insert(id, receiving);
                Some(Report::Began { peer, manifest: named, from, signer })
            }
            Ok(Place::Same) => {
                self.taken += 1;
                host.have(now, id);
                Some(Report::AlreadyThere { manifest: named })
            }
            Ok(Place::Unknown) => {
                // It has no place before its sender has shown that it is there.
                self.defer(host, now, id, Deferred { peer, manifest: named, purpose: Purpose::Compare, counts: false });
                None
            }
            // Another process has it. Its sender can offer it again.
            Err(error @ OutputError::UnderWay { .. }) if self.role == Role::Receives => {
                host.refuse(now, id, refusal(&error));
                None
            }
            Err(error) => {
                self.taken += 1;
                host.refuse(now, id, refusal(&error));
                Some(Report::NotReceived { name: named.name, why: Failure::Refused(error.to_string()), kept: 0 })
            }
        }
    }

    /// Whether there are files that are complete and not yet [finished](Self::finished).
    pub(crate) fn is_finishing(&self) -> bool {
        !self.finishing.is_empty()
    }

    /// A file that has been finished since the last call, or could not be. Notifies the sender and returns a report for the user.
    pub(crate) fn finished(&mut self, host: &mut Host, now: Time) -> Option<Report> {
        let (id, result) = self.finisher.take()?;
        let (_, manifest) = self.finishing.remove(&id)?;
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

    /// An object will not be received. It was never one, if nothing has shown that its sender is there.
    fn lose(&mut self, id: SessionId, why: Failure) -> Option<Report> {
        let lost = self.receiving.remove(&id)?;
        if let Failure::Narrow(narrow) = why
            && narrow.is_worth_another_session()
        {
            // The object comes again: its sender offers it, or this host asks for it.
            self.taken -= 1;
            return Some(Report::Narrow { narrow, again: true });
        }
        if !lost.confirmed {
            self.taken -= 1;
            let why = format!("{why}; nothing has shown that its sender is there");
            return Some(Report::Declined { peer: lost.peer, name: lost.manifest.name, why });
        }
        Some(Report::NotReceived { kept: lost.output.kept(), name: lost.manifest.name, why })
    }

    fn named(&self, manifest: Manifest) -> Manifest {
        match &self.options.name {
            Some(name) => Manifest { name: name.clone(), ..manifest },
            None => manifest,
        }
    }

    /// Finds out what is there under an object's name, without reading it, and makes the file if nothing is.
    fn place(&mut self, manifest: &Manifest) -> Result<Place, OutputError> {
        let exists = match Output::create(&self.dir, manifest, self.options.overwrite) {
            Ok(output) => return Ok(Place::Free(Box::new(output))),
            Err(exists @ OutputError::Exists { .. }) => exists,
            Err(error) => return Err(error),
        };
        // A link may lead to a file of the folder, or anywhere.
        let found = self.hasher.look_up(manifest.name.as_str()).ok();
        match found.filter(|(state, _)| state.size() == manifest.size) {
            Some((_, None)) => Ok(Place::Unknown),
            Some((_, Some(hash))) if hash.root == manifest.hash => Ok(Place::Same),
            _ => Err(exists),
        }
    }
}

/// The refusal for the sender.
fn refusal(error: &OutputError) -> Refusal {
    let reason = match error {
        OutputError::Io { error, .. } if error.kind() == io::ErrorKind::StorageFull => Reason::NoSpace,
        OutputError::Exists { .. } | OutputError::NoFile { .. } => Reason::NotWanted,
        OutputError::UnderWay { .. } => Reason::UnderWay,
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
