//! The pulls of a session that receives: those of many symbols are collected and sent in few packets.

use anabranch_transport::scdp::{Header, Pull, Receiver};
use anabranch_transport::{Endpoint, Time};

use crate::wire::{MAX_PULLS, PullRepr};

/// Pulls that are collected before they are sent: as many as symbols may arrive in one batch of datagrams.
const BATCH: usize = 512;

/// Pulls that are to be sent.
#[derive(Debug)]
pub(super) struct Pulls {
    by_lane: Vec<Vec<Pull>>,
}

impl Pulls {
    /// For `lanes` senders.
    pub(super) fn new(lanes: usize) -> Self {
        Self { by_lane: vec![Vec::new(); lanes] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_lane.iter().all(Vec::is_empty)
    }

    /// Nothing more is pulled.
    pub(super) fn clear(&mut self) {
        self.by_lane.iter_mut().for_each(Vec::clear);
    }

    /// Collects the pulls that may leave now.
    pub(super) fn collect(&mut self, now: Time, receiver: &mut Receiver) {
        for _ in 0..BATCH {
            let Some(transmit) = receiver.poll_transmit(now) else { return };
            let Header::Pull(pull) = transmit.header else { continue };
            self.push(usize::from(transmit.to), pull);
        }
    }

    /// The last pull for a block subsumes the earlier ones.
    fn push(&mut self, lane: usize, pull: Pull) {
        let pulls = &mut self.by_lane[lane];
        let alike = |other: &&mut Pull| {
            (other.block, other.base, other.retry, other.done) == (pull.block, pull.base, pull.retry, pull.done)
        };
        match pulls.iter_mut().rfind(alike) {
            Some(other) => (other.upto, other.fin) = (other.upto.max(pull.upto), other.fin | pull.fin),
            None => pulls.push(pull),
        }
    }

    /// The next packet, and its lane.
    pub(super) fn next_packet(&mut self) -> Option<(usize, PullRepr)> {
        let lane = self.by_lane.iter().position(|pulls| !pulls.is_empty())?;
        let pulls = &mut self.by_lane[lane];
        let mut packet = PullRepr::new(&pulls[0]);
        let taken = 1 + pulls[1..].iter().take(MAX_PULLS - 1).take_while(|pull| packet.push(pull)).count();
        pulls.drain(..taken);
        Some((lane, packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(block: u32, upto: u32) -> Pull {
        Pull { block, upto, base: 0, fin: false, retry: false, done: false }
    }

    #[test]
    fn pulls_of_a_block_become_one_and_those_that_say_more_do_not() {
        let mut pulls = Pulls::new(2);
        for upto in [1, 2, 5, 4] {
            pulls.push(1, pull(7, upto));
        }
        pulls.push(1, Pull { fin: true, ..pull(7, 3) });
        pulls.push(1, Pull { retry: true, ..pull(7, 9) });
        pulls.push(0, pull(7, 1));
        let expected = [vec![pull(7, 1)], vec![Pull { fin: true, ..pull(7, 5) }, Pull { retry: true, ..pull(7, 9) }]];
        assert_eq!(pulls.by_lane, expected);
    }

    #[test]
    fn all_leave_once_and_to_each_lane_its_own() {
        let mut pulls = Pulls::new(2);
        for block in 0..100 {
            pulls.push(block as usize % 2, pull(block, 1));
        }
        let mut sent = [Vec::new(), Vec::new()];
        while let Some((lane, packet)) = pulls.next_packet() {
            sent[lane].push(packet.pulls().map(|pull| pull.block).collect::<Vec<u32>>());
        }
        assert!(pulls.is_empty());
        for (first, packets) in (0..).zip(sent) {
            assert_eq!(packets.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_PULLS, 50 - MAX_PULLS]);
            assert!(packets.concat().into_iter().eq((first..100).step_by(2)));
        }
    }
}
