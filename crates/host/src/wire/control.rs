//! Control: messages of an open session besides symbols and pulls.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix) |
//! | 8..16 | number |
//! | 16..24 | MAC of the whole packet |
//! | 24.. | the message, sealed: a code and what belongs to it; then the tag of 16 bytes |

use super::prefix::{Kind, Prefix, expect};
use super::{NUMBER, Reader, WireError, field};
use crate::hash_tree::Page;

/// Bytes of the header of a control packet.
pub const CONTROL_HEADER: usize = Kind::Control.header_bytes();

/// Bytes of a [probe](Control::Probe)'s datagram besides its padding and the tag.
pub(crate) const PROBE: usize = CONTROL_HEADER + 3;
/// All permission bits of a file: reading, writing and executing, of its owner, its group and others.
const MOST_MODE: u16 = 0o777;

/// A control packet whose lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub struct ControlPacket<'a> {
    prefix: Prefix,
    bytes: &'a [u8],
}

impl<'a> ControlPacket<'a> {
    /// The control packet in `bytes`.
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; [`WireError::Kind`] for kinds other than this and that of hashes, which has the same header.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { prefix: expect(bytes, &[Kind::Control, Kind::Hashes])?, bytes })
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

/// A message of an open session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The session ends before it is complete, at its user's request.
    Cancel,
    /// The receiver has everything and will send no more.
    Close {
        /// Whether the content has the manifest's hash.
        verified: bool,
    },
    /// The sender of a one-to-many session has given this receiver up.
    GivenUp,
    /// The sender of this message is still there.
    KeepAlive,
    /// The sender of a one-to-many session sends this receiver symbols of its own from now on: the group's packets are not for it any more.
    Detached,
    /// No packet to the group reaches this receiver: it asks for copies of its own.
    NoMulticast,
    /// The receiver asks for a page of hashes.
    AskHashes(Page),
    /// No symbol reaches the receiver: it asks for datagrams of several sizes, in order to find out which do.
    AskProbes {
        /// Of all common sizes, rather than of the session's and of the smallest.
        all: bool,
    },
    /// A datagram that is sent for its size.
    Probe {
        /// Zeros that follow.
        padding: u16,
    },
    /// Datagrams of the session's size do not reach the receiver: the session ends.
    Narrow {
        /// The largest size that does, or 0 if none does that a session can have.
        bytes: u16,
    },
    /// The receiver asks for the file's permission bits.
    AskMode,
    /// The sender tells the file's permission bits.
    Mode(u16),
    /// The others have part of the object already: the receiver is to take blocks with them from this one on, and the earlier ones afterwards.
    Join {
        /// The block.
        first: u32,
    },
}

impl Control {
    /// Parses the message in the body of a control packet, after decryption.
    ///
    /// # Errors
    /// [`WireError::Field`] or [`WireError::Length`].
    pub fn parse(body: &[u8]) -> Result<Self, WireError> {
        let mut body = Reader::new(body);
        let message = match body.u8()? {
            1 => Self::Cancel,
            2 => Self::Close { verified: body.bool()? },
            3 => Self::GivenUp,
            4 => Self::KeepAlive,
            5 => Self::NoMulticast,
            6 => Self::Detached,
            7 => match (body.u8()?, body.u64()?) {
                (0, _) => return Err(WireError::Field("level")),
                (level, index) => Self::AskHashes(Page { level, index }),
            },
            9 => Self::AskProbes { all: body.bool()? },
            10 => {
                let padding = body.u16()?;
                if body.bytes(usize::from(padding))?.iter().any(|&byte| byte != 0) {
                    return Err(WireError::Field("padding"));
                }
                Self::Probe { padding }
            }
            11 => Self::Narrow { bytes: body.u16()? },
            16 => Self::AskMode,
            17 => match body.u16()? {
                mode @ 0..=MOST_MODE => Self::Mode(mode),
                _ => return Err(WireError::Field("mode")),
            },
            8 => Self::Join { first: body.u32()? },
            _ => return Err(WireError::Field("control message")),
        };
        body.end()?;
        Ok(message)
    }

    pub(crate) fn emit(self, out: &mut Vec<u8>) {
        match self {
            Self::Cancel => out.push(1),
            Self::Close { verified } => out.extend_from_slice(&[2, u8::from(verified)]),
            Self::GivenUp => out.push(3),
            Self::KeepAlive => out.push(4),
            Self::NoMulticast => out.push(5),
            Self::Detached => out.push(6),
            Self::AskHashes(Page { level, index }) => {
                out.extend_from_slice(&[7, level]);
                out.extend_from_slice(&index.to_be_bytes());
            }
            Self::AskProbes { all } => out.extend_from_slice(&[9, u8::from(all)]),
            Self::Probe { padding } => {
                out.push(10);
                out.extend_from_slice(&padding.to_be_bytes());
                out.resize(out.len() + usize::from(padding), 0);
            }
            Self::Narrow { bytes } => {
                out.push(11);
                out.extend_from_slice(&bytes.to_be_bytes());
            }
            Self::AskMode => out.push(16),
            Self::Mode(mode) => {
                out.push(17);
                out.extend_from_slice(&mode.to_be_bytes());
            }
            Self::Join { first } => {
                out.push(8);
                out.extend_from_slice(&first.to_be_bytes());
            }
        }
    }
}
