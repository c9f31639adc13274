//! Receivers of a group that come when the others have part of the object already.
//!
//! The group goes on without a receiver that has not come. When it comes, it takes the blocks that are still to be sent together with the others, from
//! a block on that the group has not begun: [`Sender::joins_at`]. It says that it does so by its pulls, whose base is that block. When it has those,
//! it pulls the blocks before, which a sender of its own sends: what was sent to the others is sent once more to this receiver alone, and no more.

use super::{Member, Sender};
use crate::scdp::header::{Header, Pull};
use crate::{Arrival, Endpoint as _, Event, Peer, Time};
use std::collections::VecDeque;

impl Sender {
    /// The others of a group go on without a receiver that has not come yet, until it comes. No effect on one that has everything or has left.
    pub fn go_on_without(&mut self, receiver: Peer) {
        let others = self.members.iter().enumerate().any(|(peer, m)| peer != usize::from(receiver) && m.counts());
        if let Some(member) = self.members.get_mut(usize::from(receiver)).filter(|m| m.counts() && others) {
            member.absent = true;
            self.events.push_back(Event::PeerAbsent(receiver));
            self.release();
        }
    }

    /// Whether the others go on without a receiver.
    pub fn is_absent(&self, receiver: Peer) -> bool {
        self.members.get(usize::from(receiver)).is_some_and(|member| member.absent && !member.done)
    }

    /// The block from which on a receiver that came late is to take blocks together with the others, until it does.
    pub fn joins_at(&self, receiver: Peer) -> Option<u32> {
        self.members.get(usize::from(receiver)).filter(|m| m.absent && !m.done).and_then(|m| m.joins_at)
    }

    /// Where a receiver that came late has joined the others, or is to.
    pub fn joined_at(&self, receiver: Peer) -> Option<u32> {
        self.members.get(usize::from(receiver)).and_then(|m| m.joins_at)
    }

    /// A receiver that came late does not take blocks from a later one on first: it is sent symbols of its own from the beginning.
    /// [`Event::PeerDetached`] follows.
    pub fn serve_absent(&mut self, receiver: Peer) {
        if self.is_absent(receiver) {
            self.fork(receiver, self.members[usize::from(receiver)].base);
        }
    }

    /// A receiver that others did not wait for has sent a pull, or one that came late. Returns whether that is all: otherwise it is a
    /// member's pull like any other.
    pub(super) fn is_late(&mut self, now: Time, from: Peer, pull: &Pull) -> bool {
        let index = usize::from(from);
        let Member { absent, joins_at, base, .. } = self.members[index];
        match (absent, joins_at) {
            (true, Some(first)) if pull.base < first => {
                // It does not know yet where it joins, or does not understand.
                return true;
            }
            // It has what all members have.
            (true, _) if pull.base >= self.base => {
                let member = &mut self.members[index];
                (member.absent, member.base) = (false, pull.base);
                member.upto.clear();
                // The others may have left meanwhile.
                self.release();
                return false;
            }
            (true, None) => {
                self.members[index].has_before(pull.base);
                // By the time it knows where it joins, what is in flight now has arrived, and as much is in flight again.
                let reached = self.reached();
                let first = reached.saturating_add(reached - self.base).saturating_add(1);
                if first < self.layout.blocks && self.members.iter().any(Member::counts) {
                    self.members[index].joins_at = Some(first);
                    return true;
                }
            }
            // It has got to know of it so late that the group is far ahead again; or this is its second turn.
            (true, Some(_)) => {}
            // The first turn is over when it has asked for the last block: other pulls for earlier ones are old, unless they are repeated.
            (false, Some(first)) if base >= first && pull.block < first && pull.base < first => {
                let member = &self.members[index];
                if member.base + (member.upto.len() as u32) < self.layout.blocks && !pull.retry {
                    return true;
                }
            }
            (false, _) => return false,
        }
        if self.members.len() == 1 {
            // It had left the group before.
            (self.base, self.front) = (pull.base, pull.base);
            self.emitted.clear();
            self.due.clear();
            let member = &mut self.members[index];
            (member.base, member.joins_at) = (pull.base, None);
            member.upto.clear();
            return false;
        }
        self.fork(from, pull.base);
        if let Some((_, alone)) = self.apart.as_mut().and_then(|apart| apart.detached.last_mut()) {
            let header = Header::Pull(*pull);
            alone.handle_packet(now, &Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
        }
        true
    }

    /// A receiver leaves the group and is sent blocks from `base` on, of which nothing was sent to it alone.
    fn fork(&mut self, receiver: Peer, base: u32) {
        let member = &mut self.members[usize::from(receiver)];
        let mut own = Member { base, absent: false, ..member.clone() };
        own.upto.clear();
        let alone = self.alone(own, base, VecDeque::new(), VecDeque::new());
        self.leave(receiver, alone);
        self.events.push_back(Event::PeerDetached(receiver));
    }
}
