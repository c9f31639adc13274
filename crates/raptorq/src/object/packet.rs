//! Packets: the FEC payload ID and the symbols after it (RFC 6330 §3.2 and §4.4.2).
//!
//! [`PayloadId`] is the four bytes in front, [`EncodingPacket`] a packet that owns its symbols, [`PacketRef`] one that
//! borrows them. What a packet means depends on the object: only the decoder knows the symbol size.

use alloc::vec::Vec;

use crate::ENCODING_SYMBOL_IDS;

/// Why bytes are not a packet, or numbers not a payload ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// There is no room for the payload ID.
    #[error("a packet starts with a payload ID of 4 bytes; there are {found}")]
    Truncated {
        /// How many bytes there are.
        found: usize,
    },
    /// The encoding symbol ID does not fit its field.
    #[error("encoding symbol ID {esi} needs more than 24 bits")]
    EncodingSymbolId {
        /// The ID.
        esi: u32,
    },
    /// The buffer to write to does not have the size of the packet.
    #[error("the packet has {expected} bytes, the buffer {found}")]
    BufferSize {
        /// Bytes of the packet.
        expected: usize,
        /// Bytes of the buffer.
        found: usize,
    },
}

/// The FEC payload ID (§3.2): which block a packet belongs to, and which of its symbols comes first in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadId {
    source_block_number: u8,
    encoding_symbol_id: u32,
}

impl PayloadId {
    /// Bytes of a payload ID on the wire.
    pub const SIZE: usize = 4;

    /// The ID of symbol `encoding_symbol_id` (ESI) of block `source_block_number` (SBN).
    ///
    /// # Errors
    ///
    /// If the ESI is not below [`ENCODING_SYMBOL_IDS`].
    pub const fn new(source_block_number: u8, encoding_symbol_id: u32) -> Result<Self, PacketError> {
        if encoding_symbol_id >= ENCODING_SYMBOL_IDS {
            return Err(PacketError::EncodingSymbolId { esi: encoding_symbol_id });
        }
        Ok(Self { source_block_number, encoding_symbol_id })
    }

    /// Reads an ID; any four bytes are one.
    pub const fn deserialize(bytes: &[u8; Self::SIZE]) -> Self {
        let [source_block_number, high, middle, low] = *bytes;
        Self { source_block_number, encoding_symbol_id: u32::from_be_bytes([0, high, middle, low]) }
    }

    /// The ID as it is sent: SBN in 8 bits, ESI in 24, big endian.
    pub const fn serialize(self) -> [u8; Self::SIZE] {
        let [_, high, middle, low] = self.encoding_symbol_id.to_be_bytes();
        [self.source_block_number, high, middle, low]
    }

    /// SBN: the number of the block, from 0.
    pub const fn source_block_number(self) -> u8 {
        self.source_block_number
    }

    /// ESI: the number of the symbol. Those below K are the block's source symbols, in order.
    pub const fn encoding_symbol_id(self) -> u32 {
        self.encoding_symbol_id
    }
}

/// As a tag, `SBN << 24 | ESI`, which is how C libraries hand it over.
impl From<PayloadId> for u32 {
    fn from(id: PayloadId) -> Self {
        Self::from_be_bytes(id.serialize())
    }
}

/// From a tag, `SBN << 24 | ESI`.
impl From<u32> for PayloadId {
    fn from(tag: u32) -> Self {
        Self::deserialize(&tag.to_be_bytes())
    }
}

/// A packet whose symbols lie in the buffer it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PacketRef<'a> {
    payload_id: PayloadId,
    data: &'a [u8],
}

impl<'a> PacketRef<'a> {
    /// The packet of these symbols.
    pub const fn new(payload_id: PayloadId, data: &'a [u8]) -> Self {
        Self { payload_id, data }
    }

    /// Reads a packet without copying.
    ///
    /// # Errors
    ///
    /// If `bytes` is shorter than a payload ID.
    pub const fn deserialize(bytes: &'a [u8]) -> Result<Self, PacketError> {
        match bytes.split_first_chunk() {
            Some((id, data)) => Ok(Self { payload_id: PayloadId::deserialize(id), data }),
            None => Err(PacketError::Truncated { found: bytes.len() }),
        }
    }

    /// The ID of the first symbol.
    pub const fn payload_id(self) -> PayloadId {
        self.payload_id
    }

    /// The symbols.
    pub const fn data(self) -> &'a [u8] {
        self.data
    }

    /// Bytes of the whole packet.
    pub const fn serialized_size(self) -> usize {
        // A slice has at most `isize::MAX` bytes, so this cannot overflow.
        PayloadId::SIZE + self.data.len()
    }

    /// Writes the packet to a buffer of exactly its size.
    ///
    /// # Errors
    ///
    /// If the buffer has another size.
    pub fn serialize_into(self, out: &mut [u8]) -> Result<(), PacketError> {
        let found = out.len();
        match out.split_first_chunk_mut() {
            Some((id, data)) if data.len() == self.data.len() => {
                *id = self.payload_id.serialize();
                data.copy_from_slice(self.data);
                Ok(())
            }
            _ => Err(PacketError::BufferSize { expected: self.serialized_size(), found }),
        }
    }

    /// The packet as it is sent.
    pub fn serialize(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.serialized_size());
        bytes.extend_from_slice(&self.payload_id.serialize());
        bytes.extend_from_slice(self.data);
        bytes
    }

    /// The packet with a copy of its symbols.
    pub fn to_packet(self) -> EncodingPacket {
        EncodingPacket { payload_id: self.payload_id, data: self.data.to_vec() }
    }
}

/// A packet that owns its symbols.
///
/// Those that an encoder makes hold one symbol each. §4.4.2 allows several in a row in one packet, and the padding of the
/// last source symbol to be left out; the decoder takes these too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct EncodingPacket {
    payload_id: PayloadId,
    data: Vec<u8>,
}

impl EncodingPacket {
    /// The packet of these symbols.
    pub const fn new(payload_id: PayloadId, data: Vec<u8>) -> Self {
        Self { payload_id, data }
    }

    /// Reads a packet, copying its symbols.
    ///
    /// # Errors
    ///
    /// If `bytes` is shorter than a payload ID.
    pub fn deserialize(bytes: &[u8]) -> Result<Self, PacketError> {
        PacketRef::deserialize(bytes).map(PacketRef::to_packet)
    }

    /// The packet as it is sent.
    pub fn serialize(&self) -> Vec<u8> {
        self.borrowed().serialize()
    }

    /// The same packet, borrowed.
    pub fn borrowed(&self) -> PacketRef<'_> {
        PacketRef { payload_id: self.payload_id, data: &self.data }
    }

    /// The ID of the first symbol.
    pub const fn payload_id(&self) -> PayloadId {
        self.payload_id
    }

    /// The symbols.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The ID and the symbols.
    pub fn split(self) -> (PayloadId, Vec<u8>) {
        (self.payload_id, self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_the_block_and_then_the_symbol() {
        let id = PayloadId::new(0xA1, 0x01_02_03).unwrap();
        assert_eq!(id.serialize(), [0xA1, 1, 2, 3]);
        assert_eq!(u32::from(id), 0xA101_0203);
        assert_eq!(PayloadId::from(0xA101_0203), id);
        assert_eq!(PayloadId::new(0, 1 << 24), Err(PacketError::EncodingSymbolId { esi: 1 << 24 }));
        assert!(PayloadId::new(255, ENCODING_SYMBOL_IDS - 1).is_ok());
    }

    #[test]
    fn short_packets_are_errors() {
        for found in 0..PayloadId::SIZE {
            let bytes = vec![0; found];
            assert_eq!(EncodingPacket::deserialize(&bytes), Err(PacketError::Truncated { found }));
        }
        assert!(PacketRef::deserialize(&[0; 4]).unwrap().data().is_empty());
    }

    #[test]
    fn a_buffer_of_another_size_is_an_error_and_stays_as_it_is() {
        let packet = EncodingPacket::new(PayloadId::new(7, 8).unwrap(), vec![9; 3]);
        for size in [0, 3, 4, 6, 8] {
            let mut out = vec![0xEE; size];
            let error = PacketError::BufferSize { expected: 7, found: size };
            assert_eq!(packet.borrowed().serialize_into(&mut out), Err(error));
            assert_eq!(out, vec![0xEE; size]);
        }
    }

    proptest! {
        #[test]
        fn reading_undoes_writing(bytes in prop::collection::vec(any::<u8>(), 4..64)) {
            let packet = EncodingPacket::deserialize(&bytes).unwrap();
            prop_assert_eq!(&packet.serialize(), &bytes);
            let borrowed = PacketRef::deserialize(&bytes).unwrap();
            prop_assert_eq!(borrowed, packet.borrowed());
            let mut out = vec![0; bytes.len()];
            borrowed.serialize_into(&mut out).unwrap();
            prop_assert_eq!(&out, &bytes);
            let (id, data) = packet.split();
            prop_assert_eq!(PayloadId::new(id.source_block_number(), id.encoding_symbol_id()), Ok(id));
            prop_assert_eq!(&data[..], &bytes[4..]);
        }
    }
}
