//! The ledger: the planned sessions, those that have been opened, and the fate of each session and packet.
//!
//! Written by the other components, one short method for each kind of event; it calls none of them.

use super::session_group::SessionGroup;
use crate::fabric::ideal::{IdealPath, IdealPaths};
use crate::host::EndpointId;
use crate::workload::{HostList, Session};
use anabranch_transport::{Peer, Stats, Time};
use journal::Journal;
use rows::Rows;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

mod journal;
mod rows;
#[cfg(test)]
mod tests;

/// What one receiver of a session saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverRow {
    /// When the whole object was available to the application.
    pub completed: Option<Time>,
    /// Counters of the receiving endpoint.
    pub stats: Stats,
    /// What its sender did when it held the other receivers back.
    pub straggler: Option<Straggler>,
    /// No endpoint is left that could complete it: one that it needs has given up.
    pub lost: bool,
    /// Number of its ideal path, and how often the fabric had changed when that was noted.
    ideal_path: u32,
    changes: u32,
}

impl ReceiverRow {
    /// Whether the run still waits for it, if it waits for its session.
    fn is_open(&self) -> bool {
        self.completed.is_none() && self.straggler != Some(Straggler::Dropped)
    }

    /// How often the fabric had changed when its ideal path was noted.
    pub(super) fn changes_before(&self) -> u32 {
        self.changes
    }
}

/// What became of a receiver that held a one-to-many session back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Straggler {
    /// It left the multicast group and was served by a unicast session of its own.
    Detached,
    /// It was given up: the session ended without it.
    Dropped,
}

impl Straggler {
    /// As in the result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detached => "detached",
            Self::Dropped => "dropped",
        }
    }
}

/// The record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// One for each sink.
    pub receivers: SmallVec<[ReceiverRow; 1]>,
    /// Counters of the sending endpoints, added up.
    pub sent: Stats,
    /// Data packets that switches trimmed.
    pub packets_trimmed: u64,
    /// Packets of any kind that switches dropped.
    pub packets_dropped: u64,
    /// Why it will never finish, if an endpoint gave up.
    pub failure: Option<String>,
    /// Host that actually sent to each receiver.
    pub senders: HostList,
    /// Connections that must complete before a receiver has its object: more than one where several sources send parts.
    parts: u16,
    open_endpoints: u32,
    /// Its multicast groups: one more each time a receiver leaves, for packets in flight keep theirs.
    groups: Vec<u32>,
    first_endpoint: EndpointId,
    endpoints: u32,
}

impl SessionRow {
    /// Of a session of which nothing is known but what it is.
    fn new(spec: &Session, first_endpoint: EndpointId) -> Self {
        Self {
            receivers: smallvec![ReceiverRow::default(); spec.sinks.len()],
            sent: Stats::default(),
            packets_trimmed: 0,
            packets_dropped: 0,
            failure: None,
            senders: smallvec![spec.sources[0]; spec.sinks.len()],
            parts: 1,
            open_endpoints: 0,
            groups: Vec::new(),
            first_endpoint,
            endpoints: 0,
        }
    }
}

/// Where every packet has gone. `sent + replicated = delivered + trimmed + dropped + in_flight` holds at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Conservation {
    /// Packets that hosts put on the wire.
    pub sent: u64,
    /// Copies that switches, and hosts with several links, made for multicast.
    pub replicated: u64,
    /// Packets that reached a host whole.
    pub delivered: u64,
    /// Packets that reached a host as a header.
    pub trimmed: u64,
    /// Packets dropped by switches and relaying hosts.
    pub dropped: u64,
    /// Packets alive now, counted independently by the arena.
    pub in_flight: u64,
}

impl std::ops::AddAssign for Conservation {
    /// Adds the packets of several parts of a run.
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.replicated += more.replicated;
        self.delivered += more.delivered;
        self.trimmed += more.trimmed;
        self.dropped += more.dropped;
        self.in_flight += more.in_flight;
    }
}

impl Conservation {
    /// Whether no packet has vanished or appeared.
    pub fn holds(&self) -> bool {
        self.sent + self.replicated == self.delivered + self.trimmed + self.dropped + self.in_flight
    }
}

/// Sessions and packets, and what became of them.
pub(super) struct Ledger {
    /// In order of start.
    specs: Arc<Vec<Session>>,
    groups: Arc<Vec<SessionGroup>>,
    /// Rows of the sessions opened so far.
    rows: Rows,
    /// The session of each endpoint.
    session_of: Vec<u32>,
    /// In a part of a run: what to report to the ledger of the whole run.
    journal: Option<Box<Journal>>,
    /// Receivers of awaited sessions that still wait for their object.
    unfinished: u64,
    /// Of these, receivers that no endpoint can complete any more.
    never_complete: u64,
    last_completion: Time,
    ideal_paths: IdealPaths,
    counts: Conservation,
}

impl Ledger {
    /// None of these sessions has been opened.
    pub(super) fn new(specs: Vec<Session>, groups: Vec<SessionGroup>) -> Self {
        let awaited = |s: &&Session| groups[usize::from(s.group)].awaits(s);
        Self {
            rows: Rows::default(),
            session_of: Vec::new(),
            unfinished: specs.iter().filter(awaited).map(|s| s.sinks.len() as u64).sum(),
            never_complete: 0,
            last_completion: Time(0),
            ideal_paths: IdealPaths::default(),
            counts: Conservation::default(),
            specs: Arc::new(specs),
            groups: Arc::new(groups),
            journal: None,
        }
    }

    // Queries.

    pub(super) fn specs(&self) -> &[Session] {
        &self.specs
    }

    /// Sessions that have begun and have open endpoints.
    pub(super) fn under_way(&self) -> impl Iterator<Item = u32> {
        (0..self.rows.len() as u32).filter(|&session| self.is_under_way(session))
    }

    pub(super) fn groups(&self) -> &[SessionGroup] {
        &self.groups
    }

    /// The group of a session.
    pub(super) fn group_of(&self, spec: &Session) -> &SessionGroup {
        &self.groups[usize::from(spec.group)]
    }

    /// How many sessions have been opened, or wait for their operations.
    pub(super) fn sessions(&self) -> usize {
        self.rows.len()
    }

    /// The sessions that have not come.
    pub(super) fn to_come(&self) -> &[Session] {
        &self.specs[self.rows.len()..]
    }

    /// The next session to be opened.
    pub(super) fn next(&self) -> Option<&Session> {
        self.specs.get(self.opened().0 as usize)
    }

    /// Number of sessions opened so far, and of their endpoints.
    fn opened(&self) -> (u32, EndpointId) {
        let all = || (self.rows.len() as u32, self.session_of.len() as EndpointId);
        self.journal.as_ref().map_or_else(all, |journal| journal.opened)
    }

    /// A session that has come; in a part of a run, the last one.
    pub(super) fn row(&self, session: u32) -> Cow<'_, SessionRow> {
        let row = self.rows.get(self.place_of(session));
        row.unwrap_or_else(|| Cow::Owned(SessionRow::new(&self.specs[session as usize], 0)))
    }

    fn row_mut(&mut self, session: u32) -> &mut SessionRow {
        let place = self.place_of(session);
        if self.rows.is_waiting(place) {
            let first_endpoint = self.opened().1;
            self.rows.write(place, SessionRow::new(&self.specs[session as usize], first_endpoint));
        }
        self.rows.get_mut(place).expect("it has been written")
    }

    /// The run is over: nobody asks for the jobs of groups any more.
    pub(super) fn forget_jobs(&mut self) {
        for group in Arc::make_mut(&mut self.groups) {
            group.job = None;
        }
    }

    /// All sessions and their groups, for callers that go on to change the ledger.
    pub(super) fn shared(&self) -> (Arc<Vec<Session>>, Arc<Vec<SessionGroup>>) {
        (Arc::clone(&self.specs), Arc::clone(&self.groups))
    }

    pub(super) fn counts(&self) -> Conservation {
        self.counts
    }

    pub(super) fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Whether nothing awaited can be completed any more.
    #[inline]
    pub(super) fn waits_for_nothing(&self) -> bool {
        self.unfinished == self.never_complete
    }

    /// When the last object was complete, if one was.
    pub(super) fn last_completion(&self) -> Option<Time> {
        (self.last_completion > Time(0)).then_some(self.last_completion)
    }

    /// The ideal path of a receiver's flow on the fabric as it was when its session began.
    pub(super) fn ideal_path(&self, receiver: &ReceiverRow) -> &IdealPath {
        self.ideal_paths.get(receiver.ideal_path)
    }

    /// The endpoints of a session; none before it is opened.
    pub(super) fn endpoints_of(&self, session: u32) -> Range<EndpointId> {
        let row = self.rows.get(session as usize);
        row.map_or(0..0, |row| row.first_endpoint..row.first_endpoint + row.endpoints)
    }

    /// The session of an endpoint.
    pub(super) fn session_of(&self, endpoint: EndpointId) -> u32 {
        self.session_of[endpoint as usize]
    }

    /// Whether a session has begun and has open endpoints.
    pub(super) fn is_under_way(&self, session: u32) -> bool {
        self.rows.is_under_way(session as usize)
    }

    /// Whether all endpoints of a session have closed, and its receivers are complete or given up.
    pub(super) fn is_over(&self, session: u32) -> bool {
        self.rows.is_packed(session as usize)
    }

    /// Bytes that the endpoints of a session that have closed had delivered to their applications.
    pub(super) fn delivered(&self, session: u32) -> u64 {
        let row = self.rows.get(session as usize);
        row.map_or(0, |row| row.receivers.iter().map(|r| r.stats.bytes_delivered).sum())
    }

    /// For each receiver of a session: its index, and the data packets that its closed endpoints had received;
    /// `None` if it is not waited for.
    pub(super) fn waiting(&self, session: u32) -> impl Iterator<Item = Option<(u16, u64)>> {
        let rows = (0..).zip(self.row(session).into_owned().receivers);
        rows.map(|(number, row)| (row.is_open() && !row.lost).then_some((number, row.stats.data_received)))
    }

    /// Whether the end of the run waits for a session.
    fn awaited(&self, session: u32) -> bool {
        let spec = &self.specs[session as usize];
        self.group_of(spec).awaits(spec)
    }

    /// Which sessions wait for what: the first few, human-readable. `state` describes a session.
    pub(super) fn who_waits(&self, state: impl Fn(u32) -> String) -> String {
        const SHOWN: usize = 8;
        let waits = |&s: &u32| self.awaited(s) && self.is_open(s);
        let waiting: Vec<u32> = (0..self.rows.len() as u32).filter(waits).collect();
        let unopened = self.specs.len() - self.rows.len();
        let mut text = format!("{} of {} sessions are not finished", waiting.len() + unopened, self.specs.len());
        for &s in waiting.iter().take(SHOWN) {
            let (row, spec) = (self.row(s), &self.specs[s as usize]);
            let _ = write!(text, "\n  session {s} (h{} -> h{}): ", row.senders[0], spec.sinks[0]);
            match &row.failure {
                Some(failure) => {
                    let _ = write!(text, "gave up, {failure}");
                }
                None => text.push_str(&state(s)),
            }
        }
        if waiting.len() > SHOWN {
            let _ = write!(text, "\n  and {} more", waiting.len() - SHOWN);
        }
        if unopened > 0 {
            let _ = write!(text, "\n  {unopened} sessions had not started");
        }
        text
    }

    // Sessions are opened and closed.

    /// Opens the next session; returns its number. Its first endpoint is the next to be [added](Self::add_endpoint).
    pub(super) fn open(&mut self) -> u32 {
        let (session, first_endpoint) = self.opened();
        self.rows.push(SessionRow::new(&self.specs[session as usize], first_endpoint));
        if let Some(journal) = &mut self.journal {
            journal.opened.0 += 1;
            journal.kept.push(session);
        }
        session
    }

    /// The next session comes, but waits for something; returns its number.
    pub(super) fn open_later(&mut self) -> u32 {
        self.rows.push_waiting();
        self.rows.len() as u32 - 1
    }

    /// Sets the start of a session that is opened late, when it is requested.
    pub(super) fn set_start(&mut self, session: u32, start: Time) {
        Arc::make_mut(&mut self.specs)[session as usize].start = start;
    }

    /// The next endpoint is one of the session that began last.
    pub(super) fn add_endpoint(&mut self, session: u32) {
        let endpoint = self.opened().1;
        let row = self.row_mut(session);
        if row.endpoints == 0 {
            // The session may have waited while others began.
            row.first_endpoint = endpoint;
        }
        debug_assert_eq!(row.first_endpoint + row.endpoints, endpoint, "the endpoints of a session follow each other");
        row.endpoints += 1;
        row.open_endpoints += 1;
        match &mut self.journal {
            Some(journal) => journal.opened.1 += 1,
            None => self.session_of.push(session),
        }
    }

    /// A session has a multicast group.
    pub(super) fn add_group(&mut self, session: u32, group: u32) {
        self.row_mut(session).groups.push(group);
    }

    /// The host that sends to a receiver, if it is not the first source.
    pub(super) fn set_sender(&mut self, session: u32, receiver: u16, host: u32) {
        self.row_mut(session).senders[usize::from(receiver)] = host;
    }

    /// `parts` connections bring a receiver of the session its object.
    pub(super) fn set_parts(&mut self, session: u32, parts: u16) {
        self.row_mut(session).parts = parts;
    }

    /// Notes the ideal path of a receiver's flow on a fabric that has changed so often.
    pub(super) fn set_ideal_path(&mut self, session: u32, receiver: usize, path: IdealPath, changes: u32) {
        let number = self.ideal_paths.number(path);
        let row = &mut self.row_mut(session).receivers[receiver];
        (row.ideal_path, row.changes) = (number, changes);
    }

    /// Adds the counters of an endpoint that sends, or that is a receiver.
    pub(super) fn keep_stats(&mut self, session: u32, receiver: Option<u16>, stats: Stats) {
        if let Some(journal) = &mut self.journal {
            return journal.stats.push((session, receiver, stats));
        }
        let row = self.row_mut(session);
        match receiver {
            Some(receiver) => row.receivers[usize::from(receiver)].stats += stats,
            None => row.sent += stats,
        }
    }

    /// An endpoint of a session closes now. With the last one, returns the session's multicast groups, which are no longer needed.
    pub(super) fn endpoint_closed(&mut self, session: u32, now: u64) -> Vec<u32> {
        if let Some(journal) = &mut self.journal {
            journal.closed.push((now, session));
            return Vec::new();
        }
        let row = self.row_mut(session);
        row.open_endpoints -= 1;
        if row.open_endpoints > 0 {
            return Vec::new();
        }
        let groups = std::mem::take(&mut row.groups);
        if !row.receivers.iter().any(ReceiverRow::is_open) {
            self.rows.pack(session as usize);
        }
        groups
    }

    // Fates of receivers.

    /// Whether a session has begun, or could, and is not complete.
    pub(super) fn is_open(&self, session: u32) -> bool {
        (session as usize) < self.rows.len() && self.row(session).receivers.iter().any(ReceiverRow::is_open)
    }

    /// Why a session has failed, if it has.
    pub(super) fn failure(&self, session: u32) -> Option<String> {
        self.rows.get(session as usize)?.into_owned().failure
    }

    /// A session that will never be complete, for a reason outside the session.
    pub(super) fn given_up(&mut self, session: u32, why: &str) {
        // A session that has failed by itself is already lost or refused.
        if self.row_mut(session).failure.is_none() {
            self.failed(session, || why.to_owned());
            for receiver in 0..self.row_mut(session).receivers.len() {
                self.lost(session, receiver as u16);
            }
        }
    }

    /// A connection has brought a receiver all that it was to bring.
    pub(super) fn completed(&mut self, session: u32, receiver: u16, at: Time) {
        if let Some(journal) = &mut self.journal {
            return journal.completed.push((session, receiver, at));
        }
        let row = self.row_mut(session);
        if row.receivers[usize::from(receiver)].completed.is_some() {
            return;
        }
        if row.parts > 1 {
            row.parts -= 1;
            return;
        }
        let row = &mut row.receivers[usize::from(receiver)];
        let waited_for = row.is_open();
        row.completed = Some(at);
        // A receiver counted as lost was only late.
        row.straggler.take_if(|s| *s == Straggler::Dropped);
        self.last_completion = self.last_completion.max(at);
        if waited_for {
            self.wait_no_more(session, receiver);
        }
    }

    /// A receiver has left its multicast group.
    pub(super) fn detached(&mut self, session: u32, receiver: Peer) {
        self.row_mut(session).receivers[usize::from(receiver)].straggler = Some(Straggler::Detached);
    }

    /// A sender has given up a receiver. The receiver may be complete, with its message still in flight: false.
    pub(super) fn dropped(&mut self, session: u32, receiver: Peer) -> bool {
        let row = &mut self.row_mut(session).receivers[usize::from(receiver)];
        if row.is_open() {
            row.straggler = Some(Straggler::Dropped);
            self.wait_no_more(session, receiver);
            return true;
        }
        false
    }

    /// An endpoint has given up; the first to do so says why.
    pub(super) fn failed(&mut self, session: u32, why: impl FnOnce() -> String) {
        self.row_mut(session).failure.get_or_insert_with(why);
    }

    /// A session never begins, and the run does not wait for it.
    pub(super) fn refused(&mut self, session: u32, why: &str) {
        self.failed(session, || why.to_owned());
        for receiver in 0..self.row_mut(session).receivers.len() {
            self.wait_no_more(session, receiver as u16);
        }
    }

    /// No endpoint is left that could complete a receiver.
    pub(super) fn lost(&mut self, session: u32, receiver: u16) {
        let awaited = self.awaited(session);
        let row = &mut self.row_mut(session).receivers[usize::from(receiver)];
        if row.is_open() && !row.lost {
            row.lost = true;
            self.never_complete += u64::from(awaited);
        }
    }

    /// The run no longer waits for a receiver of a session: it is complete, or was given up.
    fn wait_no_more(&mut self, session: u32, receiver: u16) {
        let awaited = u64::from(self.awaited(session));
        let row = &mut self.row_mut(session).receivers[usize::from(receiver)];
        self.never_complete -= u64::from(std::mem::take(&mut row.lost)) * awaited;
        self.unfinished -= awaited;
    }

    // Fates of packets.

    #[inline]
    pub(super) fn packet_sent(&mut self) {
        self.counts.sent += 1;
    }

    pub(super) fn packet_replicated(&mut self) {
        self.counts.replicated += 1;
    }

    /// A packet has reached its host, whole or as a header.
    #[inline]
    pub(super) fn packet_delivered(&mut self, as_header: bool) {
        if as_header {
            self.counts.trimmed += 1;
        } else {
            self.counts.delivered += 1;
        }
    }

    /// A packet for, or of, an endpoint was cut to a header.
    pub(super) fn packet_trimmed(&mut self, endpoint: EndpointId) {
        if let Some(journal) = &mut self.journal {
            return journal.of(endpoint).trimmed += 1;
        }
        self.row_mut(self.session_of[endpoint as usize]).packets_trimmed += 1;
    }

    /// A packet for, or of, an endpoint was dropped.
    pub(super) fn packet_dropped(&mut self, endpoint: EndpointId) {
        self.counts.dropped += 1;
        if let Some(journal) = &mut self.journal {
            return journal.of(endpoint).dropped += 1;
        }
        self.row_mut(self.session_of[endpoint as usize]).packets_dropped += 1;
    }
}
