//! Offers that cannot be decided at once: a file of that name and size must be read, or another session has the name.
//!
//! Nothing is done for them before their senders have shown that they are there: anybody can repeat a recorded offer.

use std::io;
use std::net::SocketAddr;

use anabranch_host::wire::{Reason, Refusal};
use anabranch_host::{Failure, Host, Manifest, SessionId};
use anabranch_transport::{Duration, Time};

use super::{Directory, Role};
use crate::files::{Done, Hashed, OutputError};
use crate::report::Report;

/// What part of the time that a silent host is waited for a sender may be silent, before it gives way to another one.
const SILENT: u64 = 4;

/// How long a sender may take to show that it is there: longer than round trips are.
const GRACE: Duration = Duration::from_ms(250);

/// An offer that is not decided.
#[derive(Debug)]
pub(super) struct Deferred {
    pub(super) peer: SocketAddr,
    pub(super) manifest: Manifest,
    pub(super) purpose: Purpose,
    /// It counts as one of the objects that are taken.
    pub(super) counts: bool,
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whether the file of that name is the object.
    Compare,
    /// Whether its sender is there: then it takes the place of one that is not.
    Replace,
}

/// Whether the sender of a session that receives is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    There,
    /// Nothing shows it yet.
    New,
    /// It has been silent for long, or nothing has shown in time that it is there.
    Gone,
}

impl Directory {
    pub(super) fn defer(&mut self, host: &mut Host, now: Time, id: SessionId, deferred: Deferred) {
        self.deferred.insert(id, deferred);
        host.defer(now, id);
    }

    /// An offer that was not decided is over.
    pub(super) fn forget_deferred(&mut self, id: SessionId) -> Option<Deferred> {
        let deferred = self.deferred.remove(&id)?;
        self.hasher.leave(id);
        if deferred.counts {
            self.taken -= 1;
        }
        Some(deferred)
    }

    /// The session that receives under an object's name, its sender and its object.
    pub(super) fn under_way(&self, manifest: &Manifest) -> Option<(SessionId, SocketAddr, &Manifest)> {
        let receiving = self.receiving.iter().map(|(&id, one)| (id, one.peer, &one.manifest));
        let finishing = self.finishing.iter().map(|(&id, (peer, manifest))| (id, *peer, manifest));
        receiving.chain(finishing).find(|(_, _, other)| other.name == manifest.name)
    }

    /// Whether the sender of a session that receives is there.
    fn standing(&self, host: &Host, now: Time, id: SessionId) -> Standing {
        // What is being written to the disk is complete.
        let Some(receiving) = self.receiving.get(&id) else { return Standing::There };
        let silent = |last| now.since(last) * SILENT >= host.config().give_up_after;
        match host.is_confirmed(id) {
            true if host.last_arrival(id).is_some_and(|last| !silent(last)) => Standing::There,
            false if now.since(receiving.since) < GRACE => Standing::New,
            _ => Standing::Gone,
        }
    }

    /// An object is offered under a name under which another session receives.
    pub(super) fn offered_second(
        &mut self,
        host: &mut Host,
        now: Time,
        id: SessionId,
        peer: SocketAddr,
        manifest: Manifest,
    ) -> Option<Report> {
        let (first, from, object) = self.under_way(&manifest)?;
        if self.standing(host, now, first) != Standing::There {
            self.defer(host, now, id, Deferred { peer, manifest, purpose: Purpose::Replace, counts: false });
            return None;
        }
        let name = &manifest.name;
        if object.hash == manifest.hash {
            let text = format!("{name} is being received from {from}");
            host.refuse(now, id, Refusal::new(Reason::UnderWay, &text));
            return None;
        }
        let why = format!("another file is being received under the name {name}, from {from}");
        host.refuse(now, id, Refusal::new(Reason::NotWanted, &why));
        Some(Report::Declined { peer, name: manifest.name, why })
    }

    /// Whether some object is received whose sender has not shown that it is there.
    pub(super) fn has_unconfirmed(&self) -> bool {
        self.receiving.values().any(|one| !one.confirmed)
    }

    /// Gives the place of a sender up that has not shown in time that it is there.
    pub(super) fn give_way(&mut self, host: &mut Host, now: Time) -> Option<Report> {
        let unconfirmed = self.receiving.iter().filter(|(_, one)| !one.confirmed && now.since(one.since) >= GRACE);
        let (&first, _) = unconfirmed.min_by_key(|(_, one)| one.since)?;
        host.cancel(now, first);
        self.lose(first, Failure::TimedOut)
    }

    /// The sender of an object is there.
    pub(super) fn confirmed(&mut self, host: &mut Host, now: Time, id: SessionId) -> Option<Report> {
        if let Some(receiving) = self.receiving.get_mut(&id) {
            receiving.confirmed = true;
            let error = receiving.output.reserve().err()?;
            host.cancel(now, id);
            return self.lose(id, Failure::Refused(error.to_string()));
        }
        let is_last = self.options.limit.is_some_and(|limit| self.taken >= limit);
        let deferred = self.deferred.get_mut(&id)?;
        if deferred.purpose == Purpose::Compare && !deferred.counts {
            if is_last {
                return self.ask_again(host, now, id, "this host takes no more files");
            }
            (self.taken, deferred.counts) = (self.taken + 1, true);
        }
        let Deferred { peer, manifest, purpose, .. } = self.deferred.get(&id)?;
        match purpose {
            Purpose::Compare => {
                if !self.hasher.hash_for(id, *peer, manifest.name.as_str()) {
                    return self.ask_again(host, now, id, "too many files are being compared");
                }
                None
            }
            Purpose::Replace => {
                let first = self.under_way(manifest).map(|(first, ..)| first);
                match first.map(|first| self.standing(host, now, first)) {
                    Some(Standing::There) => {
                        let Deferred { peer, manifest, .. } = self.forget_deferred(id)?;
                        self.offered_second(host, now, id, peer, manifest)
                    }
                    Some(Standing::New) => {
                        self.ask_again(host, now, id, "another sender has offered a file of that name")
                    }
                    // Its sender has been told to wait, and sends no more: it is accepted when it offers the object again.
                    None | Some(Standing::Gone) => {
                        self.ask_again(host, now, id, "its place has become free");
                        let first = first?;
                        host.cancel(now, first);
                        self.lose(first, Failure::TimedOut)
                    }
                }
            }
        }
    }

    /// The files that have been compared since the last call: tells their senders, and returns reports for the user.
    pub(crate) fn compared(&mut self, host: &mut Host, now: Time) -> Vec<Report> {
        let mut reports = Vec::new();
        while let Some(done) = self.hasher.take() {
            let Done::Hashed { waiting, result, .. } = done else { continue };
            reports.extend(waiting.into_iter().filter_map(|id| self.decide(host, now, id, &result)));
        }
        reports
    }

    /// The file that has the name of an object has been read.
    fn decide(&mut self, host: &mut Host, now: Time, id: SessionId, read: &io::Result<Hashed>) -> Option<Report> {
        let name = self.deferred.get(&id)?.manifest.name.clone();
        let found = self.hasher.look_up(name.as_str());
        let hash = match (read, found) {
            (Ok(read), Ok((state, _))) if read.state == state => read.hash.root,
            (Err(error), _) => return self.ask_again(host, now, id, &format!("{name}: {error}")),
            (Ok(_), _) => return self.ask_again(host, now, id, &format!("{name} was changed meanwhile")),
        };
        let Deferred { manifest, .. } = self.deferred.remove(&id)?;
        if hash == manifest.hash {
            host.have(now, id);
            return Some(Report::AlreadyThere { manifest });
        }
        let error = OutputError::Exists { name: name.to_string() };
        host.refuse(now, id, super::refusal(&error));
        Some(Report::NotReceived { name, why: Failure::Refused(error.to_string()), kept: 0 })
    }

    /// An offer cannot be decided now.
    fn ask_again(&mut self, host: &mut Host, now: Time, id: SessionId, why: &str) -> Option<Report> {
        let Deferred { manifest, .. } = self.forget_deferred(id)?;
        host.refuse(now, id, Refusal::new(Reason::Busy, why));
        let failed = Report::NotReceived { name: manifest.name, why: Failure::Refused(why.to_owned()), kept: 0 };
        (self.role == Role::Fetches).then_some(failed)
    }
}
