//! The sessions of a host: by number, by their datagrams, and by their turn to send.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use anabranch_transport::Time;

use super::any_session::AnySession;
use super::opener::Pending;
use crate::event::SessionId;
use crate::schedule::Schedule;

/// Sessions that are over except for a close that may have to be repeated, at most: beyond that, the oldest is forgotten.
const ENDINGS: usize = 1024;

/// The session that a datagram belongs to, and which of its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) id: SessionId,
    pub(super) index: usize,
}

/// All sessions that are not over.
#[derive(Debug, Default)]
pub(super) struct Table {
    sessions: BTreeMap<SessionId, AnySession>,
    /// By address and session number of the remote end.
    routes: HashMap<(SocketAddr, u32), Route>,
    schedule: Schedule,
    /// Sessions that are over except for a close that may have to be repeated.
    endings: BTreeSet<SessionId>,
    last_id: u64,
}

impl Table {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// How many there are, not counting those that only repeat a close.
    pub(super) fn active(&self) -> usize {
        self.sessions.len() - self.endings.len()
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&AnySession> {
        self.sessions.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut AnySession> {
        self.sessions.get_mut(&id)
    }

    /// All of them, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &AnySession> + '_ {
        self.sessions.values()
    }

    /// The session that a datagram belongs to, by its address and the number that it carries.
    pub(super) fn route(&self, from: SocketAddr, session: u32) -> Option<Route> {
        self.routes.get(&(from, session)).copied()
    }

    /// Datagrams of that address and number belong to session `id` from now on, and to its end with this index.
    pub(super) fn add_route(&mut self, from: SocketAddr, session: u32, id: SessionId, index: usize) {
        self.routes.insert((from, session), Route { id, index });
    }

    /// Whether none of the sessions with these peers has that number.
    pub(super) fn is_free(&self, peers: &[SocketAddr], session: u32) -> bool {
        peers.iter().all(|&peer| !self.routes.contains_key(&(peer, session)))
    }

    /// The ID of a new session.
    pub(super) fn next_id(&mut self) -> SessionId {
        self.last_id += 1;
        SessionId(self.last_id)
    }

    /// A session begins. It may have something to send.
    pub(super) fn insert(&mut self, id: SessionId, session: AnySession) {
        self.sessions.insert(id, session);
        self.schedule.make_ready(id);
    }

    /// Removes a request that waits for an answer. Datagrams of its end still belong to this session.
    pub(super) fn take_pending(&mut self, id: SessionId) -> Option<Box<Pending>> {
        match self.sessions.remove(&id)? {
            AnySession::Pending(pending) => Some(pending),
            other => {
                self.sessions.insert(id, other);
                None
            }
        }
    }

    /// Removes a session that is over, and everything known about it.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<AnySession> {
        let session = self.sessions.remove(&id)?;
        self.forget(id, &session.ends());
        Some(session)
    }

    /// Forgets the routes and timers of a session that was removed.
    pub(super) fn forget(&mut self, id: SessionId, ends: &[(SocketAddr, u32)]) {
        for end in ends {
            if self.routes.get(end).is_some_and(|route| route.id == id) {
                self.routes.remove(end);
            }
        }
        self.schedule.remove(id);
        self.endings.remove(&id);
    }

    /// The session has nothing left to do but repeat a close. Returns whether that is new.
    pub(super) fn end(&mut self, id: SessionId) -> bool {
        self.endings.insert(id)
    }

    /// The oldest session that has only a close to repeat, if there are too many.
    pub(super) fn ending_too_many(&self) -> Option<SessionId> {
        self.endings.first().copied().filter(|_| self.endings.len() > ENDINGS)
    }

    /// Something has happened to a session: it may have something to send.
    pub(super) fn make_ready(&mut self, id: SessionId) {
        self.schedule.make_ready(id);
    }

    /// The session whose turn it is to send.
    pub(super) fn turn(&mut self) -> Option<SessionId> {
        self.schedule.turn()
    }

    /// The session whose turn it is has sent a datagram.
    pub(super) fn sent(&mut self) {
        self.schedule.sent();
    }

    /// A session has nothing to send until its timer fires.
    pub(super) fn wait(&mut self, id: SessionId) {
        self.schedule.wait(id, self.sessions.get(&id).and_then(AnySession::poll_timeout));
    }

    /// Sessions whose timers fire now.
    pub(super) fn due(&self, now: Time) -> Vec<SessionId> {
        let is_due = |id: &SessionId| self.timeout(*id).is_some_and(|at| at <= now);
        self.schedule.due(now).chain(self.schedule.ready().filter(is_due)).collect()
    }

    /// When the first timer fires.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let ready = self.schedule.ready().filter_map(|id| self.timeout(id));
        ready.chain(self.schedule.next_timer()).min()
    }

    fn timeout(&self, id: SessionId) -> Option<Time> {
        self.sessions.get(&id).and_then(AnySession::poll_timeout)
    }
}
