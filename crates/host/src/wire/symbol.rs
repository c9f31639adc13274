//! Symbols: a header of exactly 36 bytes, which a trimming switch keeps as a minimum, and the encoding symbol.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix) |
//! | 8..12 | block |
//! | 12..15 | ESI |
//! | 15 | lane |
//! | 16..20 | index |
//! | 20..28 | number |
//! | 28..36 | MAC of bytes 0..28 |
//! | 36.. | the symbol, sealed: T bytes, or fewer for the object's last source symbol; then the tag of 16 bytes |
//!
//! The MAC does not cover the payload, so that the rest of a trimmed symbol can still be authenticated.

use anabranch_transport::scdp::{Options, Symbol};

use super::prefix::{Kind, Prefix, expect, flag};
use super::{VERSION, WireError, field};

/// Bytes of a symbol's header.
pub const SYMBOL_HEADER: usize = Kind::Symbol.header_bytes();

/// The largest ESI: RFC 6330 §3.2 has 24 bits.
pub const MAX_ESI: u32 = (1 << 24) - 1;

/// Bytes that the MAC covers, which are also authenticated with the payload.
pub(crate) const COVERED: usize = 28;

/// A symbol packet whose lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub struct SymbolPacket<'a> {
    prefix: Prefix,
    bytes: &'a [u8],
}

impl<'a> SymbolPacket<'a> {
    /// The symbol packet in `bytes`.
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; [`WireError::Kind`] for other kinds.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        Ok(Self { prefix: expect(bytes, &[Kind::Symbol])?, bytes })
    }

    /// The prefix of every datagram.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Its number among the datagrams of its direction.
    pub fn number(&self) -> u64 {
        u64::from_be_bytes(field(self.bytes, 20))
    }

    /// The MAC of the header.
    pub fn mac(&self) -> [u8; 8] {
        field(self.bytes, COVERED)
    }

    /// What is left of the payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[SYMBOL_HEADER..]
    }

    /// Whether a switch has trimmed the payload: it is shorter than the header declares.
    pub fn is_trimmed(&self) -> bool {
        self.payload().len() < usize::from(self.prefix.length)
    }
}

/// The content of a symbol's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolRepr {
    /// SBN: number of the source block.
    pub block: u32,
    /// ESI, up to [`MAX_ESI`].
    pub esi: u32,
    /// Lane of the sender, from 0.
    pub lane: u8,
    /// How many symbols of this block its sender had sent before.
    pub index: u32,
    /// Part of the initial window.
    pub syn: bool,
}

impl SymbolRepr {
    /// A transport's symbol, sent in `lane`.
    pub fn new(symbol: &Symbol, lane: u8) -> Self {
        Self { block: symbol.block, esi: symbol.esi, lane, index: symbol.index, syn: symbol.syn }
    }

    /// The transport's form of the symbol. The session's options are not in the header: they were agreed on when it opened.
    pub fn symbol(&self, options: Options) -> Symbol {
        Symbol { block: self.block, esi: self.esi, index: self.index, options, syn: self.syn }
    }

    /// The content of the header of `packet`, which is not authenticated here.
    pub fn parse(packet: &SymbolPacket<'_>) -> Self {
        let [e2, e1, e0, lane] = field(packet.bytes, 12);
        Self {
            block: u32::from_be_bytes(field(packet.bytes, 8)),
            esi: u32::from_be_bytes([0, e2, e1, e0]),
            lane,
            index: u32::from_be_bytes(field(packet.bytes, 16)),
            syn: packet.prefix.flags & flag::SYN != 0,
        }
    }

    /// The header without its MAC. The upper 8 bits of the ESI are dropped.
    #[inline]
    pub(crate) fn emit(&self, session: u32, sealed: bool, length: u16, number: u64) -> [u8; SYMBOL_HEADER] {
        let flags = if self.syn { flag::SYN } else { 0 } | if sealed { flag::SEALED } else { 0 };
        let mut header = [0; SYMBOL_HEADER];
        header[..8].copy_from_slice(&Prefix { version: VERSION, kind: Kind::Symbol, flags, length, session }.emit());
        header[8..12].copy_from_slice(&self.block.to_be_bytes());
        header[12..15].copy_from_slice(&self.esi.to_be_bytes()[1..]);
        header[15] = self.lane;
        header[16..20].copy_from_slice(&self.index.to_be_bytes());
        header[20..28].copy_from_slice(&number.to_be_bytes());
        header
    }
}
