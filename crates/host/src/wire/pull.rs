//! Pulls: several in one packet, for a receiver whose timers are coarser than its packets.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix), with the flags *fin*, *retry* and *done* |
//! | 8..16 | number |
//! | 16..24 | MAC of the whole packet |
//! | 24..28 | base: all blocks before this one are complete |
//! | 28 | count, 1 to 32 |
//! | 29..32 | reserved, 0 |
//! | 32.. | count times: block (4 bytes), upto (4 bytes) |
//!
//! A pull reveals nothing that the symbols' headers do not reveal as well, so its body is authenticated but not encrypted.

use anabranch_transport::scdp::Pull;

use super::prefix::{Kind, Prefix, expect, flag};
use super::{NUMBER, Reader, WireError, field};

/// Bytes of the header of a packet of pulls.
pub const PULL_HEADER: usize = Kind::Pull.header_bytes();

/// Maximum number of pulls in a packet.
pub const MAX_PULLS: usize = 32;

/// A packet of pulls whose lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub struct PullPacket<'a> {
    prefix: Prefix,
    bytes: &'a [u8],
}

impl<'a> PullPacket<'a> {
    /// The packet of pulls in `bytes`.
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; [`WireError::Kind`] for other kinds.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { prefix: expect(bytes, &[Kind::Pull])?, bytes })
    }

    /// The prefix of every datagram.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Its number among the datagrams of its direction.
    pub fn number(&self) -> u64 {
        u64::from_be_bytes(field(self.bytes, NUMBER.start))
    }
}

/// Pulls with the same flags and the same base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullRepr {
    base: u32,
    fin: bool,
    retry: bool,
    done: bool,
    count: u8,
    /// Block and upto; entries from `count` on are 0.
    entries: [(u32, u32); MAX_PULLS],
}

impl PullRepr {
    /// A packet with one pull.
    pub fn new(pull: &Pull) -> Self {
        let &Pull { block, upto, base, fin, retry, done } = pull;
        let mut entries = [(0, 0); MAX_PULLS];
        entries[0] = (block, upto);
        Self { base, fin, retry, done, count: 1, entries }
    }

    /// Adds a pull. Returns `false`, without adding it, if the packet is full or the pull's flags or base differ.
    pub fn push(&mut self, pull: &Pull) -> bool {
        let alike = (self.base, self.fin, self.retry, self.done) == (pull.base, pull.fin, pull.retry, pull.done);
        let fits = alike && usize::from(self.count) < MAX_PULLS;
        if fits {
            self.entries[usize::from(self.count)] = (pull.block, pull.upto);
            self.count += 1;
        }
        fits
    }

    /// The pulls, in the order in which they were added.
    pub fn pulls(&self) -> impl ExactSizeIterator<Item = Pull> + '_ {
        let &Self { base, fin, retry, done, .. } = self;
        self.entries[..usize::from(self.count)].iter().map(move |&(block, upto)| Pull {
            block,
            upto,
            base,
            fin,
            retry,
            done,
        })
    }

    /// The content of `packet`, which is not authenticated here.
    ///
    /// # Errors
    /// [`WireError::Length`] or [`WireError::Field`]: the body does not consist of pulls.
    pub fn parse(packet: &PullPacket<'_>) -> Result<Self, WireError> {
        let mut body = Reader::new(&packet.bytes[PULL_HEADER..]);
        let base = body.u32()?;
        let count = body.u8()?;
        if !(1..=MAX_PULLS).contains(&usize::from(count)) {
            return Err(WireError::Field("number of pulls"));
        }
        if body.array()? != [0; 3] {
            return Err(WireError::Field("reserved"));
        }
        let mut entries = [(0, 0); MAX_PULLS];
        for entry in &mut entries[..usize::from(count)] {
            *entry = (body.u32()?, body.u32()?);
        }
        body.end()?;
        let set = |flag| packet.prefix.flags & flag != 0;
        let (fin, retry, done) = (set(flag::FIN), set(flag::RETRY), set(flag::DONE));
        Ok(Self { base, fin, retry, done, count, entries })
    }

    pub(crate) fn flags(&self) -> u8 {
        [(self.fin, flag::FIN), (self.retry, flag::RETRY), (self.done, flag::DONE)]
            .iter()
            .fold(0, |flags, &(set, flag)| if set { flags | flag } else { flags })
    }

    pub(crate) fn emit_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.base.to_be_bytes());
        out.extend_from_slice(&[self.count, 0, 0, 0]);
        for (block, upto) in &self.entries[..usize::from(self.count)] {
            out.extend_from_slice(&block.to_be_bytes());
            out.extend_from_slice(&upto.to_be_bytes());
        }
    }
}
