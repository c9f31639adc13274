//! What a TCP packet says.
//!
//! Offsets are absolute positions in the byte stream: the first byte of the object is 0, SYN occupies no offset, FIN
//! occupies the one behind the last byte. Nothing wraps.

use std::fmt;
use std::ops::{BitOr, Range};

/// Control bits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bit at all.
    pub const NONE: Self = Self(0);
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Of several connections for one transfer: this one is over, whatever is outstanding.
    pub const RST: Self = Self(0x04);
    /// Of several connections for one transfer: with this packet's data the transfer's data ends (RFC 8684 §3.3.3), which real
    /// MPTCP says in an option.
    pub const DATA_FIN: Self = Self(0x08);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// On a SYN: the SACK-permitted option (RFC 2018 §2), which real TCP carries as an option.
    pub const SACK_PERMITTED: Self = Self(0x20);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `self` but for these bits.
    #[must_use]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `self` if `condition`, otherwise nothing.
    #[inline]
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::SYN, "S"),
            (Self::FIN, "F"),
            (Self::RST, "R"),
            (Self::DATA_FIN, "D"),
            (Self::ACK, "A"),
            (Self::ECE, "E"),
            (Self::CWR, "W"),
            (Self::SACK_PERMITTED, "K"),
        ];
        names.iter().filter(|(flag, _)| self.has(*flag)).try_for_each(|(_, name)| f.write_str(name))
    }
}

/// SACK blocks that fit beside the other options of a real header (RFC 2018 §3).
pub(crate) const MAX_SACK_BLOCKS: usize = 3;

/// The header of a TCP packet.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of the first payload byte.
    pub seq: u64,
    /// Next offset expected from the other end; everything before it has arrived.
    pub ack: u64,
    /// Bytes that the sender of this segment accepts beyond `ack` (already scaled, RFC 7323).
    pub window: u32,
    /// Payload bytes.
    pub len: u16,
    /// Control bits.
    pub flags: Flags,
    pub(crate) sack_count: u8,
    /// Start and end of each block, in bytes beyond `ack`.
    pub(crate) sack: [(u32, u32); MAX_SACK_BLOCKS],
}

impl Segment {
    /// Adds a block of received bytes `start..end`, which must lie beyond `ack`; ignored when three are there.
    pub(super) fn push_sack(&mut self, start: u64, end: u64) {
        if let Some(block) = self.sack.get_mut(usize::from(self.sack_count)) {
            *block = ((start - self.ack) as u32, (end - self.ack) as u32);
            self.sack_count += 1;
        }
    }

    /// Blocks received beyond `ack` as absolute offsets `(start, end)`, the most recent first (RFC 2018 §4).
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack[..usize::from(self.sack_count)]
            .iter()
            .map(|&(start, end)| (self.ack + u64::from(start), self.ack + u64::from(end)))
    }

    /// The blocks as they are kept: start and end in bytes beyond `ack`.
    pub(crate) fn relative_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count)]
    }

    /// The same segment with these blocks, as [`relative_blocks`](Self::relative_blocks) has them; the first three at most.
    pub(crate) fn with_relative_blocks(mut self, blocks: &[(u32, u32)]) -> Self {
        let count = blocks.len().min(MAX_SACK_BLOCKS);
        self.sack[..count].copy_from_slice(&blocks[..count]);
        self.sack_count = count as u8;
        self
    }

    /// Offsets of its payload, with one for its FIN; `None` of a segment that has neither.
    pub fn span(&self) -> Option<Range<u64>> {
        let end = self.seq + u64::from(self.len) + u64::from(self.flags.has(Flags::FIN));
        (end > self.seq && !self.flags.has(Flags::SYN)).then_some(self.seq..end)
    }

    /// Bytes of the SACK option, padded to a multiple of four (RFC 2018 §3: 8 n + 2).
    pub(crate) fn option_bytes(&self) -> u32 {
        if self.sack_count == 0 { 0 } else { 4 + 8 * u32::from(self.sack_count) }
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?} seq {} len {} ack {} win {}", self.flags, self.seq, self.len, self.ack, self.window)?;
        for (start, end) in self.sack_blocks() {
            write!(f, " sack {start}..{end}")?;
        }
        f.write_str("]")
    }
}

// Packets live in an arena of one cache line each; the engine needs some of that line for itself.
const _: () = assert!(size_of::<Segment>() <= 56);
