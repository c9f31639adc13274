//! The ledger of a part of a run: its entries go into a journal, which the ledger of the whole run reads when the parts are
//! merged.
//!
//! All entries are of one of these kinds, and their order among each other does not matter: sums; the fate of a
//! receiver, which only one part knows; and which endpoints have closed, with the times. One part keeps the row of a session that is
//! opened; all parts count sessions and endpoints, so that each knows the numbers of its own.

use super::{Conservation, Ledger};
use crate::host::EndpointId;
use anabranch_transport::{Stats, Time};
use std::sync::Arc;

/// What has happened since a part began.
#[derive(Default)]
pub(super) struct Journal {
    /// Number of sessions opened in the whole run, and of their endpoints.
    pub(super) opened: (u32, EndpointId),
    /// The sessions of the rows.
    pub(super) kept: Vec<u32>,
    pub(super) completed: Vec<(u32, u16, Time)>,
    pub(super) stats: Vec<(u32, Option<u16>, Stats)>,
    /// Sessions that lost an endpoint, and when.
    pub(super) closed: Vec<(u64, u32)>,
    /// By endpoint.
    packets: Vec<Packets>,
}

/// Fates of the packets for, or of, an endpoint.
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
    /// Where the row of a session is.
    pub(super) fn place_of(&self, session: u32) -> usize {
        match &self.journal {
            None => session as usize,
            Some(journal) => {
                debug_assert_eq!(
                    journal.kept.last(),
                    Some(&session),
                    "a part looks at the row of the last session only"
                );
                self.rows.len() - 1
            }
        }
    }

    /// Other parts of the run open the next session, which has `endpoints` endpoints.
    pub(in crate::network) fn open_elsewhere(&mut self, endpoints: u32) {
        let Some(journal) = &mut self.journal else { return };
        journal.opened.0 += 1;
        journal.opened.1 += endpoints;
    }

    /// Another part keeps the row of the session that was opened last.
    pub(in crate::network) fn leave_row(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        journal.kept.pop();
        self.rows.pop();
    }

    /// The ledger of a part of the run, from the current state.
    pub(in crate::network) fn part(&self) -> Self {
        Self {
            specs: Arc::clone(&self.specs),
            groups: Arc::clone(&self.groups),
            rows: super::Rows::default(),
            session_of: Vec::new(),
            journal: Some(Journal { opened: self.opened(), ..Journal::default() }.into()),
            unfinished: 0,
            never_complete: 0,
            last_completion: Time(0),
            ideal_paths: super::IdealPaths::default(),
            counts: Conservation::default(),
        }
    }

    /// For a part: the number of rows of sessions opened since it began, and of entries on receivers and endpoints.
    pub(in crate::network) fn journal_len(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| self.rows.len() + journal.closed.len() + journal.completed.len())
    }

    /// Merges all parts. Returns the multicast groups that are no longer needed, and since when.
    pub(in crate::network) fn join(&mut self, mut parts: Vec<Self>) -> Vec<(u32, u64)> {
        self.join_rows(&mut parts);
        let mut closed = Vec::new();
        for part in parts {
            let Some(journal) = part.journal else { continue };
            self.counts += part.counts;
            for (session, receiver, at) in journal.completed {
                self.completed(session, receiver, at);
            }
            for (session, receiver, stats) in journal.stats {
                self.keep_stats(session, receiver, stats);
            }
            for (endpoint, packets) in journal.packets.into_iter().enumerate() {
                if packets.trimmed + packets.dropped > 0 {
                    let row = self.row_mut(self.session_of[endpoint]);
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

    /// Takes the rows of the sessions that the parts have opened, in order.
    fn join_rows(&mut self, parts: &mut [Self]) {
        let mut rows: Vec<_> = parts
            .iter_mut()
            .map(|part| {
                let numbers = part.journal.as_mut().map(|journal| std::mem::take(&mut journal.kept));
                let rows = numbers.unwrap_or_default().into_iter().zip(part.rows.take_all());
                (rows.peekable(), &part.ideal_paths)
            })
            .collect();
        loop {
            let session = self.rows.len() as u32;
            let own = rows.iter_mut().find_map(|(rows, paths)| Some((rows.next_if(|row| row.0 == session)?.1, paths)));
            let Some((mut row, paths)) = own else { break };
            for receiver in &mut row.receivers {
                receiver.ideal_path = self.ideal_paths.number(paths.get(receiver.ideal_path).clone());
            }
            self.session_of.extend(std::iter::repeat_n(session, row.endpoints as usize));
            self.rows.push(row);
        }
        debug_assert!(rows.iter_mut().all(|(rows, _)| rows.next().is_none()), "each session has a row");
    }
}
