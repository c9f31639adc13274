//! The ledger of a part of a run: what it is told goes into a journal, which the ledger of the whole reads when the parts are one
//! again.
//!
//! All that is written is of one of these kinds, and their order among each other does not matter: sums, what becomes of a
//! receiver, which only one part knows, and which endpoints have closed, with the times.

use super::{Conservation, Ledger};
use crate::host::EndpointId;
use anabranch_transport::{Stats, Time};
use std::sync::Arc;

/// What has happened since a part began.
#[derive(Default)]
pub(super) struct Journal {
    /// Sessions and endpoints that there were then.
    before: (u32, EndpointId),
    pub(super) completed: Vec<(u32, u16, Time)>,
    pub(super) stats: Vec<(u32, Option<u16>, Stats)>,
    /// Sessions that lost an endpoint, and when.
    pub(super) closed: Vec<(u64, u32)>,
    /// By endpoint.
    packets: Vec<Packets>,
}

/// What has become of the packets for, or of, an endpoint.
#[derive(Clone, Copy, Default)]
pub(super) struct Packets {
    pub(super) trimmed: u32,
    pub(super) dropped: u32,
}

impl Journal {
    pub(super) fn of(&mut self, endpoint: EndpointId) -> &mut Packets {
        let place = endpoint as usize;
        if place >= self.packets.len() {
            self.packets.resize(place + 1, Packets::default());
        }
        &mut self.packets[place]
    }
}

impl Ledger {
    /// Sessions and endpoints that there were before this part of a run began; none of the whole.
    #[inline]
    pub(super) fn before(&self) -> (u32, EndpointId) {
        self.journal.as_ref().map_or((0, 0), |journal| journal.before)
    }

    /// The ledger of a part of the run, as everything is now.
    pub(in crate::network) fn part(&self) -> Self {
        let before = (self.rows.len() as u32, self.session_of.len() as EndpointId);
        Self {
            specs: Arc::clone(&self.specs),
            groups: Arc::clone(&self.groups),
            rows: Vec::new(),
            session_of: Vec::new(),
            journal: Some(Journal { before, ..Journal::default() }.into()),
            unfinished: 0,
            never_complete: 0,
            last_completion: Time(0),
            ideal_paths: super::IdealPaths::default(),
            counts: Conservation::default(),
        }
    }

    /// Of a part: sessions that were opened since it began, and what became of any.
    pub(in crate::network) fn journal_len(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| self.rows.len() + journal.closed.len() + journal.completed.len())
    }

    /// All parts are one again. The multicast groups that are no longer needed, with the times since when.
    pub(in crate::network) fn join(&mut self, parts: Vec<Self>) -> Vec<(u32, u64)> {
        let mut closed = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            let Some(journal) = part.journal else { continue };
            // All parts have opened the same sessions.
            if number == 0 {
                for mut row in part.rows {
                    for receiver in &mut row.receivers {
                        let path = part.ideal_paths.get(receiver.ideal_path).clone();
                        receiver.ideal_path = self.ideal_paths.number(path);
                    }
                    self.rows.push(row);
                }
                self.session_of.extend(part.session_of);
            }
            self.counts += part.counts;
            for (session, receiver, at) in journal.completed {
                self.completed(session, receiver, at);
            }
            for (session, receiver, stats) in journal.stats {
                self.keep_stats(session, receiver, stats);
            }
            for (endpoint, packets) in journal.packets.into_iter().enumerate() {
                if packets.trimmed + packets.dropped > 0 {
                    let row = &mut self.rows[self.session_of[endpoint] as usize];
                    row.packets_trimmed += u64::from(packets.trimmed);
                    row.packets_dropped += u64::from(packets.dropped);
                }
            }
            closed.extend(journal.closed);
        }
        closed.sort_unstable();
        let groups = |(now, session)| self.endpoint_closed(session, now).into_iter().map(move |group| (group, now));
        closed.into_iter().flat_map(groups).collect()
    }
}
