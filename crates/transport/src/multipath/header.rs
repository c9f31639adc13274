//! The header of a packet of one of several connections: a TCP segment, the connection that it belongs to, and where its data belongs.

use crate::tcp::{Flags, Segment};

/// Maximum number of connections of a transfer.
pub const MAX_SUBFLOWS: u8 = 64;

/// SACK blocks of an ACK: fewer than TCP's three, since the data acknowledgement takes room for options, too (RFC 8684 §3.3.2).
const SACK_BLOCKS: usize = 2;

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Data: where its first byte belongs in the object (data sequence number). ACK: everything before it has arrived (data ACK).
    pub data: u64,
    seq: u64,
    ack: u64,
    window: u32,
    len: u16,
    flags: Flags,
    /// The subflow in the low six bits, the number of blocks above them.
    subflow: u8,
    sack: [(u32, u32); SACK_BLOCKS],
}

impl Header {
    /// A segment of a subflow, with its first two SACK blocks.
    pub(super) fn new(subflow: usize, segment: &Segment, data: u64) -> Self {
        let blocks = segment.relative_blocks();
        let count = blocks.len().min(SACK_BLOCKS);
        let mut sack = [(0, 0); SACK_BLOCKS];
        sack[..count].copy_from_slice(&blocks[..count]);
        let Segment { seq, ack, window, len, flags, .. } = *segment;
        Self { data, seq, ack, window, len, flags, subflow: subflow as u8 | (count as u8) << 6, sack }
    }

    /// The connection that it belongs to.
    pub fn subflow(&self) -> usize {
        usize::from(self.subflow % MAX_SUBFLOWS)
    }

    /// The segment of that connection.
    pub fn segment(&self) -> Segment {
        let Self { seq, ack, window, len, flags, .. } = *self;
        let blocks = &self.sack[..usize::from(self.subflow / MAX_SUBFLOWS)];
        Segment { seq, ack, window, len, flags, ..Segment::default() }.with_relative_blocks(blocks)
    }
}

// As large as TCP's, so that packets of the simulator do not grow.
const _: () = assert!(size_of::<Header>() <= size_of::<Segment>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_survives_but_for_its_third_block() {
        let blocks = [(10, 20), (30, 40), (50, 60)];
        let plain = Segment { seq: 7, ack: 9, window: 5, len: 3, flags: Flags::ACK | Flags::FIN, ..Segment::default() };
        for n in 0..=3 {
            let segment = plain.with_relative_blocks(&blocks[..n]);
            let header = Header::new(63, &segment, 1 << 40);
            assert_eq!((header.subflow(), header.data), (63, 1 << 40));
            assert_eq!(header.segment(), plain.with_relative_blocks(&blocks[..n.min(2)]));
        }
    }
}
