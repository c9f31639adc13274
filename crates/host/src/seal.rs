//! Makes datagrams: one direction of a session from its sender's point of view.

use thiserror::Error;

use crate::keys::DirectionKeys;
use crate::wire::{
    Answer, Control, HANDSHAKE_HEADER, HashesRepr, Kind, MAC, MAX_DATAGRAM_BYTES, MAX_ESI, MIN_OPEN_BYTES, NUMBER,
    Open, PREFIX, Prefix, PullRepr, SYMBOL_COVERED, SYMBOL_HEADER, SymbolRepr, VERSION, emit_handshake, flag,
};

/// Maximum number of datagrams in one direction of a session: 2^36, or 96 TB of symbols of 1400 B. AES-GCM can be told from an ideal cipher with
/// probability of about 2^-44 after that many (88 blocks each: (2^36 · 88)² / 2^129).
pub const MAX_DATAGRAMS: u64 = 1 << 36;

/// Why a datagram cannot be made. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// All numbers of this direction are used. The session must be opened again, with another salt.
    #[error("a session cannot have more than 2^36 datagrams in one direction")]
    Exhausted,
    /// A symbol that is empty or does not fit into a datagram.
    #[error("a symbol of {0} bytes does not fit a datagram")]
    Payload(usize),
    /// An ESI that does not fit into the header.
    #[error("encoding symbol {0} has a number of more than 24 bits")]
    Esi(u32),
}

/// Makes the datagrams of one direction of a session, and numbers them: no two have the same number. It appends each to `out`, so that several can be
/// sent from one buffer; it allocates nothing while `out` has capacity.
#[derive(Debug)]
pub struct Sealer {
    keys: DirectionKeys,
    next: u64,
    version: u8,
}

impl Sealer {
    /// A sealer with these keys.
    pub fn new(keys: DirectionKeys) -> Self {
        Self { keys, next: 0, version: VERSION }
    }

    /// The same for datagrams of another version of the format, below 16: answers to its hosts.
    #[must_use]
    pub fn with_version(mut self, version: u8) -> Self {
        debug_assert!(version < 16, "it has four bits");
        self.version = version;
        self
    }

    /// How many datagrams it has made.
    pub fn datagrams(&self) -> u64 {
        self.next
    }

    /// Bytes of a symbol's datagram besides the symbol: 36, and 16 where it is sealed.
    pub fn symbol_overhead(&self) -> usize {
        SYMBOL_HEADER + self.keys.tag_bytes()
    }

    /// Appends a symbol: the content is copied once, and sealed in place.
    ///
    /// # Errors
    /// [`SealError`].
    #[inline]
    pub fn symbol(
        &mut self,
        session: u32,
        symbol: &SymbolRepr,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let length = payload.len() + self.keys.tag_bytes();
        if payload.is_empty() || SYMBOL_HEADER + length > MAX_DATAGRAM_BYTES {
            return Err(SealError::Payload(payload.len()));
        }
        if symbol.esi > MAX_ESI {
            return Err(SealError::Esi(symbol.esi));
        }
        let number = self.number()?;
        let mut header = symbol.emit(session, self.keys.sealed(), length as u16, number);
        let (covered, mac) = header.split_at_mut(SYMBOL_COVERED);
        mac.copy_from_slice(&self.keys.mac(covered));
        out.reserve(SYMBOL_HEADER + length);
        out.extend_from_slice(&header);
        let body = out.len();
        out.extend_from_slice(payload);
        if let Some(tag) = self.keys.seal(number, &header[..SYMBOL_COVERED], &mut out[body..]) {
            out.extend_from_slice(tag.as_ref());
        }
        Ok(())
    }

    /// Appends a packet of pulls. Their numbers are authenticated, not encrypted.
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn pull(&mut self, session: u32, pulls: &PullRepr, out: &mut Vec<u8>) -> Result<(), SealError> {
        let number = self.number()?;
        let start = self.begin(Kind::Pull, pulls.flags(), session, number, out);
        pulls.emit_body(out);
        self.end(Kind::Pull, start, out);
        Ok(())
    }

    /// Appends a message of an open session.
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn control(&mut self, session: u32, message: Control, out: &mut Vec<u8>) -> Result<(), SealError> {
        let number = self.number()?;
        let start = self.begin(Kind::Control, 0, session, number, out);
        message.emit(out);
        self.seal_body(Kind::Control, start, number, out);
        Ok(())
    }

    /// Appends a page of hashes.
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn hashes(&mut self, session: u32, hashes: &HashesRepr, out: &mut Vec<u8>) -> Result<(), SealError> {
        let number = self.number()?;
        let start = self.begin(Kind::Hashes, 0, session, number, out);
        hashes.emit(out);
        self.seal_body(Kind::Hashes, start, number, out);
        Ok(())
    }

    /// Appends the packet that opens a session with responder `index`, padded to [`MIN_OPEN_BYTES`]. The keys must be the
    /// [opener's](crate::Protection::opener).
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn open(&mut self, session: u32, index: u16, message: &Open, out: &mut Vec<u8>) -> Result<(), SealError> {
        self.open_of(MIN_OPEN_BYTES, session, index, message, out)
    }

    /// As [`open`](Self::open), without padding: for an offer to a responder that knows this end's address.
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn open_unpadded(
        &mut self,
        session: u32,
        index: u16,
        message: &Open,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        self.open_of(0, session, index, message, out)
    }

    fn open_of(
        &mut self,
        least: usize,
        session: u32,
        index: u16,
        message: &Open,
        out: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let number = self.number()?;
        let start = self.begin(Kind::Open, 0, session, number, out);
        emit_handshake(self.keys.salt, index, out);
        message.emit(out);
        out.resize(out.len().max((start + least).saturating_sub(self.keys.tag_bytes())), 0);
        self.seal_body(Kind::Open, start, number, out);
        Ok(())
    }

    /// Appends the answer to an opening packet. The keys must be the [responder's](crate::Protection::responder).
    ///
    /// # Errors
    /// [`SealError::Exhausted`].
    pub fn answer(&mut self, session: u32, message: &Answer, out: &mut Vec<u8>) -> Result<(), SealError> {
        let number = self.number()?;
        let start = self.begin(Kind::Answer, 0, session, number, out);
        emit_handshake(self.keys.salt, self.keys.index, out);
        message.emit(out);
        self.seal_body(Kind::Answer, start, number, out);
        Ok(())
    }

    /// Takes the next number.
    #[inline]
    fn number(&mut self) -> Result<u64, SealError> {
        if self.next >= MAX_DATAGRAMS {
            return Err(SealError::Exhausted);
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Appends prefix, number and room for the MAC. Returns where the datagram begins.
    fn begin(&self, kind: Kind, flags: u8, session: u32, number: u64, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let flags = flags | if self.keys.sealed() { flag::SEALED } else { 0 };
        out.extend_from_slice(&Prefix { version: self.version, kind, flags, length: 0, session }.emit());
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&[0; 8]);
        debug_assert_eq!((out.len() - start, PREFIX), (MAC.end, NUMBER.start));
        start
    }

    /// Seals the body of the datagram that begins at `start`, and completes the datagram.
    fn seal_body(&self, kind: Kind, start: usize, number: u64, out: &mut Vec<u8>) {
        // The length is authenticated with the body, so it must include the tag.
        declare(kind, start, self.keys.tag_bytes(), out);
        let (header, body) = out[start..].split_at_mut(kind.header_bytes());
        if let Some(tag) = self.keys.seal(number, header, body) {
            out.extend_from_slice(tag.as_ref());
        }
        self.end(kind, start, out);
    }

    /// Writes length and MAC.
    fn end(&self, kind: Kind, start: usize, out: &mut [u8]) {
        declare(kind, start, 0, out);
        let mac = self.keys.mac(&out[start..]);
        out[start..][MAC].copy_from_slice(&mac);
    }
}

/// Writes the length of a datagram to which `more` bytes will be appended. All messages are far shorter than 64 KiB.
fn declare(kind: Kind, start: usize, more: usize, out: &mut [u8]) {
    debug_assert!(kind.header_bytes() <= HANDSHAKE_HEADER);
    let length = out.len() - start - kind.header_bytes() + more;
    out[start + 2..start + 4].copy_from_slice(&(length as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Protection, wire::Salt};

    #[test]
    fn no_number_beyond_the_last_is_used() {
        let mut sealer = Sealer::new(Protection::None.opener(Salt([0; 16])));
        sealer.next = MAX_DATAGRAMS - 1;
        let mut out = Vec::new();
        assert_eq!(sealer.control(0, Control::Cancel, &mut out), Ok(()));
        assert_eq!(out[NUMBER], (MAX_DATAGRAMS - 1).to_be_bytes());
        let length = out.len();
        for _ in 0..2 {
            assert_eq!(sealer.control(0, Control::Cancel, &mut out), Err(SealError::Exhausted));
        }
        assert_eq!((out.len(), sealer.datagrams()), (length, MAX_DATAGRAMS));
    }
}
