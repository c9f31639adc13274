//! All senders of a session that receives: the one that offers an object, or servers that are asked for it.

use std::net::SocketAddr;
use std::ops::{Index, IndexMut};

use anabranch_transport::{Duration, Time};

use super::lane::Lane;
use super::lifetime::Ending;
use crate::SealError;
use crate::session::Failure;
use crate::wire::{Object as Wanted, Request};

/// Senders, at least one.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// What servers are asked for; `None` for an offer.
    wanted: Option<Wanted>,
}

impl Lanes {
    /// The one that offers an object.
    pub(super) fn offering(lane: Lane) -> Self {
        Self { lanes: vec![lane], wanted: None }
    }

    /// Servers that are asked for an object from now on.
    pub(super) fn asked(now: Time, mut lanes: Vec<Lane>, wanted: Wanted) -> Self {
        for lane in &mut lanes {
            lane.start(now);
        }
        Self { lanes, wanted: Some(wanted) }
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// One of them, chosen at random: none of them can predict which, unless it sees the requests to the others.
    pub(super) fn drawn(&self) -> usize {
        let drawn = self.lanes.iter().fold(0, |drawn, lane| drawn ^ lane.salt().0[0]);
        usize::from(drawn) % self.lanes.len()
    }

    /// What servers are asked for; `None` for an offer.
    pub(super) fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
    }

    /// Their addresses, and their numbers of the session.
    pub(super) fn peers(&self) -> impl Iterator<Item = (SocketAddr, u32)> + '_ {
        self.lanes.iter().map(|lane| (lane.peer(), lane.session()))
    }

    /// Whether no message is due except repeated ones.
    pub(super) fn are_silent(&self) -> bool {
        self.lanes.iter().all(Lane::is_silent)
    }

    /// Nothing more is expected from one sender. Returns the reason for the failure if it was the last.
    pub(super) fn end(&mut self, index: usize) -> Option<Failure> {
        self.lanes[index].end();
        if !self.lanes.iter().all(Lane::is_ended) {
            return None;
        }
        // With the smallest size that is known to arrive, the next session gets the most servers.
        let narrow = self.lanes.iter().filter_map(Lane::narrow).min_by_key(|narrow| narrow.carried.unwrap_or(u16::MAX));
        if let Some(narrow) = narrow {
            return Some(Failure::Narrow(narrow));
        }
        let refusals: Vec<String> = self.lanes.iter().filter_map(Lane::refusal).collect();
        Some(if refusals.is_empty() { Failure::Cancelled } else { Failure::Refused(refusals.join("; ")) })
    }

    /// The session has failed; notifies the senders that do not know.
    pub(super) fn fail(&mut self) {
        self.lanes.iter_mut().for_each(Lane::fail);
    }

    /// The application has decided; notifies all senders, perhaps by the answer to the offer.
    pub(super) fn close(&mut self, now: Time, ending: &Ending, by_answer: bool) {
        for lane in &mut self.lanes {
            lane.stop();
            if by_answer {
                lane.make_answer_due();
            } else {
                // An answer may be due as well: the object may have been complete before the answer was sent.
                lane.close(now, ending);
            }
        }
    }

    /// One sender has answered the close. Returns whether all have from which an answer is awaited.
    pub(super) fn on_close_answered(&mut self, index: usize) -> bool {
        self.lanes[index].on_close_answered();
        self.lanes.iter().all(|lane| lane.is_ended() || !lane.has_answered())
    }

    /// Whether no sender has answered for `limit`.
    pub(super) fn are_lost(&self, now: Time, limit: Duration) -> bool {
        self.lanes.iter().all(|lane| lane.is_ended() || lane.is_unanswered(now, limit))
    }

    /// Stops asking senders that have not answered for `limit`.
    pub(super) fn stop_asking(&mut self, now: Time, limit: Duration) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.is_unanswered(now, limit)) {
            lane.stop();
        }
    }

    /// Addresses of the senders that can be asked for something now.
    pub(super) fn that_can_be_asked(&self) -> Vec<SocketAddr> {
        self.lanes.iter().filter(|lane| lane.can_be_asked()).map(Lane::peer).collect()
    }

    /// The next sender after `last`, in turn, that can be asked for something now: a slow one only if there is no other.
    pub(super) fn next_to_ask(&self, last: usize, is_slow: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.lanes.len();
        let in_turn = (1..=count).map(|n| (last + n) % count);
        in_turn.filter(|&index| self.lanes[index].can_be_asked()).min_by_key(|&index| is_slow(index))
    }

    /// When a message is due again, or a server is given up.
    pub(super) fn poll_timeout(&self, limit: Duration) -> Option<Time> {
        self.lanes.iter().filter_map(|lane| lane.poll_timeout(limit)).min()
    }

    /// If it is due, sends the request, or once it is answered a confirmation that the answer has arrived. Returns whether it was due.
    pub(super) fn poll_request(
        &mut self,
        now: Time,
        index: usize,
        window: u32,
        largest_packet: u16,
        out: &mut Vec<u8>,
    ) -> Result<bool, SealError> {
        let (lane, lanes) = (index as u16, self.lanes.len() as u16);
        let Some(wanted) = &self.wanted else { return Ok(false) };
        let window = window.min(u32::from(u16::MAX)) as u16;
        let request = |cookie| Request { object: wanted.clone(), lane, lanes, window, largest_packet, cookie };
        self.lanes[index].poll_request(now, request, out)
    }
}

impl Index<usize> for Lanes {
    type Output = Lane;

    fn index(&self, index: usize) -> &Lane {
        &self.lanes[index]
    }
}

impl IndexMut<usize> for Lanes {
    fn index_mut(&mut self, index: usize) -> &mut Lane {
        &mut self.lanes[index]
    }
}
