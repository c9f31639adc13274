//! The header of the packets that open a session and answer to it: they carry the salts that keys are derived from.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix) |
//! | 8..16 | number |
//! | 16..24 | MAC of the whole packet |
//! | 24..40 | salt of the sender, random |
//! | 40..42 | index of the receiver in a one-to-many session, from 0; else 0 |
//! | 42..44 | reserved, 0 |
//! | 44.. | the message, sealed; then the tag of 16 bytes |
//!
//! Both ends contribute a salt. The opener's alone would not suffice: a replayed opening packet would make the responder restart its count under keys
//! that it has used, and two datagrams with the same nonce betray each other.

use super::prefix::{Kind, Prefix, expect};
use super::{NUMBER, WireError, field};

/// Bytes of the header of a packet that opens a session, or answers.
pub const HANDSHAKE_HEADER: usize = Kind::Open.header_bytes();

/// Random bytes that make the keys of a session. Never used twice: draw them anew for each session and each answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Salt(pub [u8; 16]);

/// A packet that opens a session or answers, whose lengths have been checked. Its salt and index tell which keys its sender used, before anything is
/// authenticated.
#[derive(Clone, Copy, Debug)]
pub struct HandshakePacket<'a> {
    prefix: Prefix,
    bytes: &'a [u8],
}

impl<'a> HandshakePacket<'a> {
    /// The packet in `bytes`, of kind [`Open`](Kind::Open) or [`Answer`](Kind::Answer).
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; [`WireError::Kind`] for other kinds; [`WireError::Field`] if the reserved bytes are not 0.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let prefix = expect(bytes, &[Kind::Open, Kind::Answer])?;
        if bytes[42..44] != [0; 2] {
            return Err(WireError::Field("reserved"));
        }
        Ok(Self { prefix, bytes })
    }

    /// The prefix of every datagram.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Its number among the datagrams of its direction.
    pub fn number(&self) -> u64 {
        u64::from_be_bytes(field(self.bytes, NUMBER.start))
    }

    /// The sender's salt.
    pub fn salt(&self) -> Salt {
        Salt(field(self.bytes, 24))
    }

    /// The receiver's index in a one-to-many session.
    pub fn index(&self) -> u16 {
        u16::from_be_bytes(field(self.bytes, 40))
    }
}

/// Appends what follows the MAC in the header.
pub(crate) fn emit_header(salt: Salt, index: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&salt.0);
    out.extend_from_slice(&index.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
}
