//! Receivers that have left the group: those with a session of their own, those given up, and those lost.
//!
//! A receiver is detached by *forking* the sender. The receiver has asked for all that was emitted to the group until then,
//! for no symbol leaves before every receiver has asked for it. So the fork resumes exactly where the group is, for one receiver
//! only, and neither the fork nor the group sends it anything twice.

use super::watch::Watch;
use super::{Due, Member, Sender};
use crate::scdp::header::{Header, Mode, Options};
use crate::{Arrival, Endpoint as _, Event, Peer, Stats, Time, Transmit};
use std::collections::VecDeque;

/// What a one-to-many sender keeps when it does not just wait for stragglers, or has lost a receiver.
#[derive(Debug)]
pub(super) struct Apart {
    /// `None`: no receiver is judged; all that answer are waited for.
    pub(super) watch: Option<Watch>,
    /// See [`Sender::quorum`].
    quorum: Option<usize>,
    pub(super) detached: Vec<(Peer, Sender)>,
    /// Receivers given up, and whether each is still to be told.
    pub(super) dropped: Vec<(Peer, bool)>,
    /// Until when receivers that were given up are told so if they send a pull.
    until: Option<Time>,
    /// Counters of detached senders that have closed.
    stats: Stats,
    /// How far each receiver is; kept to reuse its memory.
    reached: Vec<u32>,
}

impl Apart {
    pub(super) fn new(watch: Option<Watch>, quorum: Option<usize>) -> Self {
        Self {
            watch,
            quorum,
            detached: Vec::new(),
            dropped: Vec::new(),
            until: None,
            stats: Stats::default(),
            reached: Vec::new(),
        }
    }

    /// Whether there is something left to do for receivers outside the group.
    pub(super) fn is_busy(&self) -> bool {
        !self.detached.is_empty() || self.until.is_some()
    }

    pub(super) fn has_due(&self) -> bool {
        self.detached.iter().any(|(_, sender)| sender.has_due())
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let senders = self.detached.iter().filter_map(|(_, sender)| sender.poll_timeout());
        senders.chain(self.watch.as_ref().and_then(Watch::due)).chain(self.until).min()
    }

    pub(super) fn poll_transmit(&mut self, now: Time, departure: Time, header_size: u32) -> Option<Transmit<Header>> {
        for (peer, sender) in &mut self.detached {
            sender.set_departure(departure);
            if let Some(transmit) = sender.poll_transmit(now) {
                return Some(Transmit { to: *peer, ..transmit });
            }
        }
        let (peer, untold) = self.dropped.iter_mut().find(|(_, untold)| *untold)?;
        *untold = false;
        Some(Transmit {
            header: Header::GivenUp,
            to: *peer,
            size: header_size,
            trimmed_size: header_size,
            priority: 0,
            control: true,
            ect: false,
            pushed: false,
            rank: 0,
            subflow: 0,
        })
    }

    /// As [`poll_transmit`](Self::poll_transmit), but the detached senders take turns.
    fn poll_in_turn(&mut self, now: Time, departure: Time, header_size: u32) -> Option<Transmit<Header>> {
        let transmit = self.poll_transmit(now, departure, header_size)?;
        if let Some(at) = self.detached.iter().position(|(peer, _)| *peer == transmit.to) {
            self.detached.rotate_left(at + 1);
        }
        Some(transmit)
    }

    /// Blocks that detached receivers have completed in order.
    pub(super) fn completed_blocks(&self) -> u64 {
        self.detached.iter().map(|(_, sender)| sender.completed_blocks()).sum()
    }

    /// Adds the counters of all detached senders.
    pub(super) fn stats(&self, group: Stats) -> Stats {
        self.detached.iter().fold(added(group, self.stats), |sum, (_, sender)| added(sum, sender.stats()))
    }
}

fn added(a: Stats, b: Stats) -> Stats {
    Stats {
        data_sent: a.data_sent + b.data_sent,
        retransmitted: a.retransmitted + b.retransmitted,
        timeouts: a.timeouts + b.timeouts,
        ..a
    }
}

/// The `n`-th largest number, `n` from 1. Linear time, as it runs for each pull of a receiver.
fn largest(numbers: &mut [u32], n: usize) -> Option<u32> {
    let place = numbers.len().checked_sub(n).filter(|_| n > 0)?;
    Some(*numbers.select_nth_unstable(place).1)
}

impl Sender {
    /// The next packet for receivers outside the group. [`poll_transmit`](crate::Endpoint::poll_transmit) returns such packets only when
    /// there is nothing for the group. For drivers that send packets at a limited rate: the group could use up the whole rate, and
    /// receivers outside it would get nothing.
    pub fn poll_apart(&mut self, now: Time) -> Option<Transmit<Header>> {
        let apart = self.apart.as_mut().filter(|_| !self.closed)?;
        apart.poll_in_turn(now, self.departure, self.header_size)
    }

    /// Handles a packet from a receiver that has left the group; false if the receiver is still a member.
    pub(super) fn handle_apart(&mut self, now: Time, arrival: &Arrival<Header>) -> bool {
        let Some(apart) = &mut self.apart else { return false };
        if self.closed {
            return true;
        }
        if let Some((_, sender)) = apart.detached.iter_mut().find(|(peer, _)| *peer == arrival.from) {
            sender.handle_packet(now, &Arrival { from: 0, ..*arrival });
            self.poll_detached(now);
            return true;
        }
        let Some(at) = apart.dropped.iter().position(|(peer, _)| *peer == arrival.from) else { return false };
        match &arrival.header {
            // It had the whole object before it was told.
            Header::Pull(pull) if pull.done => {
                apart.dropped.swap_remove(at);
                self.completed += 1;
                self.events.push_back(Event::PeerCompleted(arrival.from));
                if self.apart.as_ref().is_some_and(|apart| apart.dropped.is_empty()) {
                    self.end_of_telling();
                }
            }
            Header::Pull(_) => apart.dropped[at].1 = true,
            Header::Symbol(_) | Header::GivenUp => {}
        }
        true
    }

    pub(super) fn timeout_apart(&mut self, now: Time) {
        let Some(apart) = &mut self.apart else { return };
        for (_, sender) in &mut apart.detached {
            sender.handle_timeout(now);
        }
        if apart.until.is_some_and(|until| until <= now) {
            self.end_of_telling();
        }
        self.poll_detached(now);
        self.judge(now);
    }

    fn end_of_telling(&mut self) {
        if let Some(apart) = &mut self.apart {
            apart.until = None;
        }
        self.close_if_done();
    }

    /// How many receivers set the pace of the group, if not all that are left: until that many have the whole object.
    pub(super) fn quorum(&self) -> Option<usize> {
        self.apart.as_ref()?.quorum.filter(|&quorum| (self.completed as usize) < quorum)
    }

    /// How many symbols of a block the group is to have been sent at the pace of a quorum.
    pub(super) fn asked_by(&mut self, quorum: usize, block: u32) -> u32 {
        let Some(apart) = &mut self.apart else { return 0 };
        let needy = self.members.iter().filter(|m| !m.done && m.base <= block);
        apart.reached.clear();
        apart.reached.extend(needy.map(|m| m.asked(block)));
        let have = self.members.iter().filter(|m| !m.left).count() - apart.reached.len();
        // The most that as many receivers have asked for as the quorum lacks, or as are left. Zero if the quorum
        // lacks none.
        let lacks = quorum.saturating_sub(have).min(apart.reached.len());
        largest(&mut apart.reached, lacks).unwrap_or(0)
    }

    /// All blocks before this one are complete at a quorum of receivers.
    pub(super) fn complete_at(&mut self, quorum: usize) -> u32 {
        let Some(apart) = &mut self.apart else { return 0 };
        apart.reached.clear();
        let left = self.members.iter().filter(|m| !m.left);
        apart.reached.extend(left.map(|m| if m.done { self.layout.blocks } else { m.base }));
        let quorum = quorum.min(apart.reached.len());
        largest(&mut apart.reached, quorum).unwrap_or(0)
    }

    /// A receiver leaves the group and is sent symbols of its own.
    pub(super) fn detach(&mut self, peer: Peer) {
        let Some(member) = self.members.get(usize::from(peer)).filter(|m| m.counts()) else { return };
        // Not yet sent to the group, and so not to this receiver either.
        let due = self.due.iter().copied().filter(|due| due.block >= member.base).collect();
        let mut alone = self.alone(member.clone(), self.base, self.emitted.clone(), due);
        alone.release();
        // It may have asked for more of a later block than the others have.
        let asked = alone.members[0].upto.len() as u32;
        for block in alone.base..alone.base + asked {
            alone.reach(block);
            alone.advance(block, false);
        }
        self.leave(peer, alone);
        // Not for its second turn.
        self.members[usize::from(peer)].joins_at = None;
    }

    /// A sender for one receiver, which has emitted these symbols of the blocks from `base` on.
    pub(super) fn alone(&self, member: Member, base: u32, emitted: VecDeque<u32>, due: VecDeque<Due>) -> Self {
        Self {
            layout: self.layout,
            options: Options { mode: Mode::Unicast, ..self.options },
            lane: self.lane,
            members: vec![Member { surplus: member.surplus.continued(), ..member }],
            base,
            front: base,
            emitted,
            due,
            initial: 0,
            bytes_sent: self.bytes_sent,
            demotion: self.demotion.clone(),
            not_done: 1,
            completed: 0,
            departure: self.departure,
            sent_at: self.sent_at,
            started_at: self.started_at,
            closed: false,
            events: VecDeque::new(),
            stats: Stats::default(),
            gap_limit: self.gap_limit,
            repair_seed: self.repair_seed,
            repairs_for_any: self.repairs_for_any,
            symbol_size: self.symbol_size,
            last_size: self.last_size,
            header_size: self.header_size,
            ect: self.ect,
            config: self.config.clone(),
            apart: None,
        }
    }

    /// A receiver leaves the group; `alone` sends to it from now on.
    pub(super) fn leave(&mut self, peer: Peer, alone: Self) {
        let member = &mut self.members[usize::from(peer)];
        member.finish();
        member.left = true;
        self.not_done -= 1;
        self.apart.get_or_insert_with(|| Box::new(Apart::new(None, None))).detached.push((peer, alone));
        self.release();
    }

    /// A receiver of the group has been silent for too long. If it sends again, it is told that it was given up.
    pub(super) fn drop_lost(&mut self, peer: Peer) {
        self.apart.get_or_insert_with(|| Box::new(Apart::new(None, None))).dropped.push((peer, false));
        self.events.push_back(Event::PeerDropped(peer));
    }

    /// Gives up all receivers that are not complete.
    pub(super) fn give_up(&mut self, now: Time) {
        let Some(apart) = &mut self.apart else { return };
        for (peer, member) in self.members.iter_mut().enumerate().filter(|(_, m)| !m.done) {
            member.finish();
            apart.dropped.push((peer as Peer, true));
            self.events.push_back(Event::PeerDropped(peer as Peer));
        }
        self.not_done = 0;
        apart.until = (!apart.dropped.is_empty()).then(|| now + self.config.linger);
        self.close_if_done();
    }

    /// Handles the events of detached senders. A receiver whose session fails is told that it was given up, now and when it sends again.
    fn poll_detached(&mut self, now: Time) {
        let Some(apart) = &mut self.apart else { return };
        let mut at = 0;
        while let Some((peer, sender)) = apart.detached.get_mut(at) {
            let mut over = false;
            while let Some(event) = sender.poll_event() {
                match event {
                    Event::PeerCompleted(_) => {
                        self.completed += 1;
                        self.events.push_back(Event::PeerCompleted(*peer));
                    }
                    Event::Failed(_) => {
                        self.events.push_back(Event::PeerDropped(*peer));
                        self.members[usize::from(*peer)].surplus = sender.members[0].surplus;
                        apart.dropped.push((*peer, true));
                        apart.until = Some(now + self.config.linger);
                        over = true;
                    }
                    Event::Closed => over = true,
                    Event::Connected
                    | Event::BlockReady(_)
                    | Event::Completed { .. }
                    | Event::PeerDetached(_)
                    | Event::PeerAbsent(_)
                    | Event::PeerDropped(_)
                    | Event::PeerWithholds(_) => {}
                }
            }
            if over {
                let (_, sender) = apart.detached.swap_remove(at);
                apart.stats = added(apart.stats, sender.stats());
            } else {
                at += 1;
            }
        }
        self.close_if_done();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nth_largest_is_the_most_that_n_have_reached(numbers in prop::collection::vec(0..9_u32, 0..12), n in 0..14_usize) {
            let reached_by_n = |at: &u32| n > 0 && numbers.iter().filter(|other| *other >= at).count() >= n;
            let expected = numbers.iter().copied().filter(reached_by_n).max();
            prop_assert_eq!(largest(&mut numbers.clone(), n), expected);
        }
    }
}
