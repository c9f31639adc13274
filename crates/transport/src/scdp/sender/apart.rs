//! Receivers that have left the group: those with a session of their own, those given up, and those lost.
//!
//! A receiver is detached by *forking* the sender. The receiver has asked for all that was emitted to the group until then,
//! for no symbol leaves before every receiver has asked for it. So the fork resumes exactly where the group is, for one receiver
//! only, and neither the fork nor the group sends it anything twice.

use super::Sender;
use super::packets::Packets;
use super::surplus::Surplus;
use crate::scdp::header::Header;
use crate::{Arrival, Endpoint as _, Event, Peer, Stats, Time, Transmit};

/// What has become of a receiver outside the group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// It has the whole object.
    Completed,
    /// Its session has failed, after so much that it has asked for without need. It is told so, now and when it sends again.
    Failed(Surplus),
}

/// Receivers outside the group.
#[derive(Debug, Default)]
pub(super) struct Apart {
    detached: Vec<(Peer, Sender)>,
    /// Receivers given up, and whether each is still to be told.
    dropped: Vec<(Peer, bool)>,
    /// Until when receivers that were given up are told so if they send a pull.
    until: Option<Time>,
    /// What the group has not been told.
    fates: Vec<(Peer, Fate)>,
    /// Counters of detached senders that have closed.
    stats: Stats,
}

impl Apart {
    /// A receiver has a session of its own.
    pub(super) fn detach(&mut self, peer: Peer, alone: Sender) {
        self.detached.push((peer, alone));
    }

    /// A receiver has been silent for too long. If it sends again, it is told that it was given up.
    pub(super) fn lose(&mut self, peer: Peer) {
        self.dropped.push((peer, false));
    }

    /// A receiver is given up, and told so now and if it sends again.
    pub(super) fn give_up(&mut self, peer: Peer) {
        self.dropped.push((peer, true));
    }

    /// Until when receivers that were given up are told so.
    pub(super) fn tell_until(&mut self, until: Time) {
        self.until = (!self.dropped.is_empty()).then_some(until);
    }

    /// Whether there is something left to do for receivers outside the group.
    pub(super) fn is_busy(&self) -> bool {
        !self.detached.is_empty() || self.until.is_some()
    }

    pub(super) fn has_due(&self) -> bool {
        self.detached.iter().any(|(_, sender)| sender.has_due())
    }

    /// Blocks that detached receivers have completed in order.
    pub(super) fn completed_blocks(&self) -> u64 {
        self.detached.iter().map(|(_, sender)| sender.completed_blocks()).sum()
    }

    /// What detached senders have sent.
    pub(super) fn stats(&self) -> Stats {
        self.detached.iter().fold(self.stats, |sum, (_, sender)| added(sum, sender.stats()))
    }

    /// Handles a packet from a receiver that has left the group; false if the receiver is still a member.
    pub(super) fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) -> bool {
        if let Some((_, sender)) = self.detached.iter_mut().find(|(peer, _)| *peer == arrival.from) {
            sender.handle_packet(now, &Arrival { from: 0, ..*arrival });
            return true;
        }
        let Some(at) = self.dropped.iter().position(|(peer, _)| *peer == arrival.from) else { return false };
        match &arrival.header {
            // It had the whole object before it was told.
            Header::Pull(pull) if pull.done => {
                self.dropped.swap_remove(at);
                self.fates.push((arrival.from, Fate::Completed));
                self.until = self.until.filter(|_| !self.dropped.is_empty());
            }
            Header::Pull(_) => self.dropped[at].1 = true,
            Header::Symbol(_) | Header::GivenUp => {}
        }
        true
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.detached.iter_mut().for_each(|(_, sender)| sender.handle_timeout(now));
        self.until = self.until.filter(|until| *until > now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.detached.iter().filter_map(|(_, sender)| sender.poll_timeout()).chain(self.until).min()
    }

    pub(super) fn poll_transmit(&mut self, now: Time, departure: Time, packets: &Packets) -> Option<Transmit<Header>> {
        for (peer, sender) in &mut self.detached {
            sender.set_departure(departure);
            if let Some(transmit) = sender.poll_transmit(now) {
                return Some(Transmit { to: *peer, ..transmit });
            }
        }
        let (peer, untold) = self.dropped.iter_mut().find(|(_, untold)| *untold)?;
        *untold = false;
        Some(packets.given_up(*peer))
    }

    /// As [`poll_transmit`](Self::poll_transmit), but the detached senders take turns.
    pub(super) fn poll_in_turn(&mut self, now: Time, departure: Time, packets: &Packets) -> Option<Transmit<Header>> {
        let transmit = self.poll_transmit(now, departure, packets)?;
        if let Some(at) = self.detached.iter().position(|(peer, _)| *peer == transmit.to) {
            self.detached.rotate_left(at + 1);
        }
        Some(transmit)
    }

    /// What has become of receivers since the last call. Those whose sessions have failed are told so until `until` if they send again.
    pub(super) fn take_fates(&mut self, until: Time) -> Vec<(Peer, Fate)> {
        let mut at = 0;
        while let Some((peer, sender)) = self.detached.get_mut(at) {
            let peer = *peer;
            let mut over = false;
            while let Some(event) = sender.poll_event() {
                match event {
                    Event::PeerCompleted(_) => self.fates.push((peer, Fate::Completed)),
                    Event::Failed(_) => {
                        self.fates.push((peer, Fate::Failed(sender.surplus())));
                        self.dropped.push((peer, true));
                        self.until = Some(until);
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
                let (_, sender) = self.detached.swap_remove(at);
                self.stats = added(self.stats, sender.stats());
            } else {
                at += 1;
            }
        }
        std::mem::take(&mut self.fates)
    }
}

/// With what another sender has sent.
pub(super) fn added(a: Stats, b: Stats) -> Stats {
    Stats {
        data_sent: a.data_sent + b.data_sent,
        retransmitted: a.retransmitted + b.retransmitted,
        timeouts: a.timeouts + b.timeouts,
        ..a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;
    use crate::scdp::{Pull, ScdpConfig};

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn arrival(from: Peer, done: bool) -> Arrival<Header> {
        let header = Header::Pull(Pull { block: 0, upto: 13, base: 0, fin: false, retry: false, done });
        Arrival { header, from, trimmed: false, ce: false, returned: false }
    }

    /// Receivers 3 and 5 have sessions of their own.
    fn apart(config: &ScdpConfig) -> Apart {
        let mut apart = Apart::default();
        for peer in [3, 5] {
            apart.detach(peer, Sender::unicast(config, Some(1_000_000)));
        }
        apart
    }

    fn packets(sender: &Sender) -> &Packets {
        &sender.packets
    }

    #[test]
    fn each_is_sent_its_own_in_turn_and_ends_for_itself() {
        let (mut apart, group) = (apart(&ScdpConfig::default()), Sender::unicast(ScdpConfig::default(), None));
        assert!(apart.is_busy() && apart.has_due() && !apart.handle_packet(at(0), &arrival(4, true)));
        let turns: Vec<_> =
            std::iter::from_fn(|| apart.poll_in_turn(at(0), at(0), packets(&group))).map(|sent| sent.to).collect();
        assert_eq!((&turns[..4], turns.len()), (&[3, 5, 3, 5][..], 24));
        assert!(apart.handle_packet(at(1), &arrival(5, true)));
        assert!(matches!(apart.take_fates(at(9))[..], [(5, Fate::Completed)]));
        assert!(apart.is_busy(), "the other is not complete");
        assert_eq!(apart.stats().data_sent, 24);
        apart.handle_packet(at(2), &arrival(3, true));
        assert!(matches!(apart.take_fates(at(9))[..], [(3, Fate::Completed)]));
        assert_eq!((apart.is_busy(), apart.stats().data_sent), (false, 24), "what has closed still counts");
    }

    #[test]
    fn one_whose_session_fails_is_told_so_for_some_time() {
        let config = ScdpConfig { give_up_after: Some(Duration::from_ms(100)), ..ScdpConfig::default() };
        let (mut apart, group) = (apart(&config), Sender::unicast(&config, None));
        while apart.poll_transmit(at(0), at(0), packets(&group)).is_some() {}
        apart.handle_packet(at(50), &arrival(3, false));
        apart.handle_timeout(at(100));
        assert!(matches!(apart.take_fates(at(400))[..], [(5, Fate::Failed(_))]));
        let told = |apart: &mut Apart| {
            let sent = std::iter::from_fn(|| apart.poll_transmit(at(101), at(0), packets(&group)));
            sent.filter(|sent| sent.header == Header::GivenUp).map(|sent| sent.to).collect::<Vec<_>>()
        };
        assert_eq!((told(&mut apart), told(&mut apart)), (vec![5], vec![]));
        apart.handle_packet(at(110), &arrival(5, false));
        assert_eq!(told(&mut apart), [5], "it has not heard it");
        apart.handle_packet(at(120), &arrival(3, true));
        apart.take_fates(at(900));
        apart.handle_timeout(at(399));
        assert_eq!((apart.is_busy(), apart.poll_timeout()), (true, Some(at(400))));
        apart.handle_timeout(at(400));
        assert!(!apart.is_busy());
    }

    #[test]
    fn one_that_had_everything_when_it_was_given_up_says_so() {
        let mut apart = Apart::default();
        apart.tell_until(at(10));
        assert!(!apart.is_busy(), "there is nobody to tell");
        apart.give_up(1);
        apart.lose(2);
        apart.tell_until(at(10));
        assert!(apart.handle_packet(at(1), &arrival(1, true)) && apart.is_busy());
        apart.handle_packet(at(1), &arrival(2, true));
        assert_eq!((apart.take_fates(at(99)).len(), apart.is_busy()), (2, false));
    }
}
