//! What packets say.

use crate::ndp::Stamp;

/// Header of a packet. Numbers count packets, from 0, except where they count credit or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Payload, or what a switch left of it.
    Data {
        /// Which packet of the object: it starts `seq` full payloads after the object's first byte.
        seq: u64,
        /// Bytes of the whole object; [`ENDLESS`](crate::ndp::ENDLESS) if the sender knows no end.
        object: u64,
        /// Credit that the sender wants in all, but for packets that it knows were trimmed: the receiver counts these itself.
        target: u64,
        /// When it left the host, by the sender's clock.
        sent: Stamp,
        /// Which path it takes, by the hash of switches.
        entropy: u16,
        /// It is to be acknowledged at once.
        asks: bool,
    },
    /// The sender has nothing that it may send, and waits for credit (*RTS*).
    Request {
        /// As in data.
        object: u64,
        /// Credit that it wants in all, for whatever packets.
        total: u64,
        /// As in data.
        sent: Stamp,
        /// As in data.
        entropy: u16,
    },
    /// Packets have arrived whole.
    Ack {
        /// Every packet below this one.
        below: u64,
        /// The one that is answered; the largest number if it is a request.
        seq: u64,
        /// Which of 64 have arrived, the first in the lowest bit: those up to the answered one, but none up to `below`.
        map: u64,
        /// Bytes of all packets that have arrived, headers included.
        received: u64,
        /// The answered packet's own.
        sent: Stamp,
        /// The answered packet's own.
        entropy: u16,
        /// The answered packet was marked.
        marked: bool,
    },
    /// A packet arrived without its payload.
    Nack {
        /// Which.
        seq: u64,
        /// Every packet below this one has arrived.
        below: u64,
        /// The answered packet's own.
        entropy: u16,
    },
    /// Credit.
    Pull {
        /// Packets that the sender may send in all besides those of its own accord: a later pull makes up for a lost one.
        number: u64,
    },
}

impl Header {
    /// Which of its flow's paths it takes; 0: the flow's own.
    #[inline]
    pub fn entropy(&self) -> u16 {
        match *self {
            Self::Data { entropy, .. }
            | Self::Request { entropy, .. }
            | Self::Ack { entropy, .. }
            | Self::Nack { entropy, .. } => entropy,
            Self::Pull { .. } => 0,
        }
    }
}

/// In an acknowledgement: of a request, which has no number.
pub(super) const ACKS_A_REQUEST: u64 = u64::MAX;

/// The first packet of an acknowledgement's map: those just below the answered one, and above what has arrived without a gap.
pub(super) fn map_base(below: u64, seq: u64) -> u64 {
    let near = if seq == ACKS_A_REQUEST { 0 } else { (seq + 1).saturating_sub(u64::from(u64::BITS)) };
    near.max(below + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_the_simulators_packet() {
        assert!(size_of::<Header>() <= 48);
    }

    #[test]
    fn a_map_ends_with_the_answered_packet_unless_it_begins_where_the_gap_does() {
        assert_eq!([(0, 100), (10, 20), (90, 100)].map(|(below, seq)| map_base(below, seq)), [37, 11, 91]);
        assert_eq!(map_base(7, ACKS_A_REQUEST), 8);
    }
}
