//! Wire format, version 2: the prefix of every datagram, and one file for each kind.
//!
//! As in smoltcp there are two types per kind: a *packet* is a view of bytes whose lengths have been checked, a *repr* (or message) is their meaning.
//! Views show only what anyone on the path can read; [`Sealer`](crate::Sealer) and [`Unsealer`](crate::Unsealer) turn messages into datagrams and
//! back. All numbers are big endian.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | version (4 bits), kind (4 bits) |
//! | 1 | [flags](flag) |
//! | 2..4 | length: bytes after the kind's header, as they left the sender |
//! | 4..8 | session, chosen at random by its opener |

mod answer;
mod codec;
mod control;
mod error;
mod handshake;
mod hashes;
mod manifest;
mod open;
mod parameters;
mod prefix;
mod pull;
mod retry;
mod symbol;

pub use answer::{Answer, Held, Reason, Refusal};
pub(crate) use codec::{Reader, put_string};
pub(crate) use control::PROBE;
pub use control::{CONTROL_HEADER, Control, ControlPacket};
pub use error::WireError;
pub(crate) use handshake::emit_header as emit_handshake;
pub use handshake::{HANDSHAKE_HEADER, HandshakePacket, Salt};
pub use hashes::{HASHES_HEADER, HashesRepr};
pub use manifest::{Manifest, NameError, ObjectName, Signature};
pub use open::{MIN_OPEN_BYTES, Object, Offer, Open, Request};
pub use parameters::Parameters;
pub(crate) use prefix::expect;
pub use prefix::{Kind, MAX_DATAGRAM_BYTES, PREFIX, PREVIOUS, Prefix, VERSION, flag};
pub use pull::{MAX_PULLS, PULL_HEADER, PullPacket, PullRepr};
pub use retry::{Cookie, MAX_COOKIE_BYTES, RETRY_HEADER, RetryPacket, RetryRepr};
pub(crate) use symbol::COVERED as SYMBOL_COVERED;
pub use symbol::{MAX_ESI, SYMBOL_HEADER, SymbolPacket, SymbolRepr};

/// Position of the number in every kind except symbols and retries, followed by the MAC; symbols have them at 20 and 28.
pub(crate) const NUMBER: std::ops::Range<usize> = 8..16;
pub(crate) const MAC: std::ops::Range<usize> = 16..24;

/// A datagram whose version, kind, flags and lengths have been checked, and nothing else: anyone can have sent it.
#[derive(Clone, Copy, Debug)]
pub enum Datagram<'a> {
    /// An encoding symbol, or what a switch left of it.
    Symbol(SymbolPacket<'a>),
    /// A batch of pulls.
    Pull(PullPacket<'a>),
    /// A message of a session that is open.
    Control(ControlPacket<'a>),
    /// The first message of a session.
    Open(HandshakePacket<'a>),
    /// The stateless answer to a request without a cookie.
    Retry(RetryPacket<'a>),
    /// The answer to an [`Open`](Self::Open).
    Answer(HandshakePacket<'a>),
    /// Hashes of an object's parts: the header is that of control messages.
    Hashes(ControlPacket<'a>),
}

impl<'a> Datagram<'a> {
    /// The datagram in `bytes`, the payload of a UDP packet.
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; and [`WireError::Field`] for an impossible count or reserved field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(match Prefix::parse(bytes)?.kind {
            Kind::Symbol => Self::Symbol(SymbolPacket::new(bytes)?),
            Kind::Pull => Self::Pull(PullPacket::new(bytes)?),
            Kind::Control => Self::Control(ControlPacket::new(bytes)?),
            Kind::Open => Self::Open(HandshakePacket::new(bytes)?),
            Kind::Retry => Self::Retry(RetryPacket::new(bytes)?),
            Kind::Answer => Self::Answer(HandshakePacket::new(bytes)?),
            Kind::Hashes => Self::Hashes(ControlPacket::new(bytes)?),
        })
    }
}

/// The bytes of a field of a view, whose length was checked when the view was made.
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..].first_chunk().copied().expect("the header is complete")
}
