//! pFabric's switch (Alizadeh et al., SIGCOMM 2013, §4.2): a few packets, of which that of the flow with the least left goes first,
//! and that of the flow with the most left is dropped.
//!
//! Packets say what remained of their flow when they were sent. The packet with the smallest number names the flow that is served, and
//! of that flow the one that arrived first leaves, so that a flow is not starved of its own old packets. ACKs, and packets of
//! transports that say nothing, have the smallest number. Buffers are of two bandwidth-delay products, so that all is a search in a short list.

use super::{Discipline, Enqueued, Limit, Setting};
use crate::engine::arena::{Hot, Movers, NO_PACKET, PacketId};

/// Packets in order of arrival, with what has to be looked at of each.
#[derive(Clone, Debug)]
pub struct Pfabric {
    waiting: Vec<Waiting>,
    bytes: u64,
    limit: Limit,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: PacketId,
    rank: u16,
    size: u16,
    /// Destination and endpoint: of one flow, and of no other.
    flow: (u32, u32),
}

impl Pfabric {
    /// A queue that holds at most `limit`.
    pub fn new(limit: Limit) -> Self {
        Self { waiting: Vec::new(), bytes: 0, limit }
    }

    fn remove(&mut self, place: usize) -> PacketId {
        let gone = self.waiting.remove(place);
        self.bytes -= u64::from(gone.size);
        gone.id
    }

    fn admits(&self, size: u16) -> bool {
        self.limit.admits(self.waiting.len() as u32, self.bytes, size)
    }
}

impl Discipline for Pfabric {
    /// A packet that finds no room takes that of the newest packet with the largest number, if its own is smaller. One makes room for
    /// one: a full packet after an ACK may be a few bytes too much for a limit in bytes.
    fn enqueue(&mut self, hots: &mut [Hot], id: PacketId) -> Enqueued {
        let hot = &hots[id as usize];
        let own = Waiting { id, rank: hot.rank(), size: hot.size, flow: (hot.destination, hot.endpoint) };
        let mut outcome = Enqueued::QUEUED;
        if !self.admits(own.size) {
            let worst = self.waiting.iter().enumerate().max_by_key(|(place, packet)| (packet.rank, *place));
            match worst {
                Some((place, packet)) if packet.rank > own.rank => outcome = Enqueued::rejected(self.remove(place)),
                _ => return Enqueued::rejected(id),
            }
        }
        self.bytes += u64::from(own.size);
        self.waiting.push(own);
        outcome
    }

    fn dequeue(&mut self, _hots: &[Hot]) -> PacketId {
        // The first of several with the same number.
        let Some(best) = self.waiting.iter().min_by_key(|packet| packet.rank) else { return NO_PACKET };
        let flow = best.flow;
        match self.waiting.iter().position(|packet| packet.flow == flow) {
            Some(place) => self.remove(place),
            None => NO_PACKET,
        }
    }

    fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.waiting.iter_mut().for_each(|packet| packet.id = movers.packet(packet.id));
    }

    fn packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn set(&mut self, setting: Setting) -> bool {
        match setting {
            Setting::Buffer(limit) => self.limit = limit,
            Setting::MarkingThreshold(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{control, data, drain, insert};
    use super::*;
    use crate::engine::arena::Arena;
    use anabranch_transport::rank::rank;

    /// A packet of a flow of which so much remains.
    fn of(flow: u32, remaining: u64) -> Hot {
        Hot { endpoint: flow, from: rank(remaining), ..data(0) }
    }

    #[test]
    fn senders_of_one_object_are_alike_and_go_before_all_flows() {
        // `from` is their index. Flow 9, a single byte, goes after them, and they go in order of arrival.
        let sender = |index: u16| Hot { endpoint: 7, destination: 1, from: index, ..data(0) };
        let others = [3, 1, 2].map(sender).map(|hot| Hot { endpoint: u32::from(hot.from), ..hot });
        let packets = [of(9, 1), others[0], others[1], others[2]];
        let (mut queue, mut arena, _) = filled(Limit::Packets(24), &packets);
        assert_eq!(drain(&mut queue, &mut arena), [1, 2, 3, 0]);
        let (_, _, rejected) = filled(Limit::Packets(2), &packets[1..]);
        assert_eq!(rejected, [2], "none is less than another");
    }

    /// Labels are places in `packets`; those of the packets that were rejected.
    fn filled(limit: Limit, packets: &[Hot]) -> (Pfabric, Arena<u32>, Vec<u32>) {
        let (mut queue, mut arena) = (Pfabric::new(limit), Arena::new());
        let mut rejected = Vec::new();
        for (label, &hot) in packets.iter().enumerate() {
            let id = insert(&mut arena, hot, label as u32);
            let outcome = queue.enqueue(arena.hots(), id);
            if outcome.rejected != NO_PACKET {
                rejected.push(*arena.header(outcome.rejected));
            }
        }
        (queue, arena, rejected)
    }

    #[test]
    fn the_flow_with_the_least_left_goes_first_and_its_oldest_packet_of_all() {
        // Flow 1's last packet says 300, less than flow 2's 400 and 500: all of flow 1 goes before, in order.
        let packets = [of(2, 500), of(1, 900), of(2, 400), of(1, 600), of(1, 300)];
        let (mut queue, mut arena, rejected) = filled(Limit::Packets(24), &packets);
        assert!(rejected.is_empty());
        // After packets 1 and 3 of flow 1 its smallest number still is 300.
        assert_eq!(drain(&mut queue, &mut arena), [1, 3, 4, 0, 2]);
        assert_eq!((queue.packets(), queue.bytes()), (0, 0));
    }

    #[test]
    fn acks_go_before_all_and_equals_in_order_of_arrival() {
        let (mut queue, mut arena, _) =
            filled(Limit::Packets(24), &[of(1, 70), of(2, 70), Hot { from: 9, ..control() }, data(0)]);
        assert_eq!(drain(&mut queue, &mut arena), [2, 3, 0, 1]);
    }

    #[test]
    fn of_a_full_buffer_the_packet_with_the_most_left_goes() {
        let (mut queue, mut arena, rejected) = filled(
            Limit::Packets(3),
            &[of(1, 50), of(2, 900), of(2, 900), of(3, 60), of(4, 900), of(5, 40), of(6, 60)],
        );
        // 3 takes the place of the newest with 900; 4 is not less than what waits; 5 takes that of the other 900; 6 is equal
        // to the largest.
        assert_eq!(rejected, [2, 4, 1, 6]);
        assert_eq!(drain(&mut queue, &mut arena), [5, 0, 3]);
    }

    #[test]
    fn a_limit_in_bytes_is_kept_with_packets_of_one_size() {
        let (queue, _, rejected) = filled(Limit::Bytes(3100), &[of(1, 9), of(1, 8), of(2, 3), of(3, 10)]);
        assert_eq!(rejected, [0, 3]);
        assert_eq!((queue.packets(), queue.bytes()), (2, 3000));
    }
}
