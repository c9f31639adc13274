//! What can be wrong with an object, or with a packet of it, at the sender and at the receiver.

use super::layout::LayoutError;
use super::oti::OtiError;
use super::packet::PacketError;
use crate::BlockError;

/// Why an object, or a packet of it, cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// The parameters of the object are not acceptable.
    #[error(transparent)]
    Oti(#[from] OtiError),
    /// The object is not as long as its transmission information says.
    #[error("the object has {found} bytes, its transmission information says {expected}")]
    ObjectSize {
        /// F.
        expected: u64,
        /// Bytes of the object.
        found: usize,
    },
    /// The object has fewer blocks.
    #[error("there is no block {number} in an object of {blocks}")]
    NoSuchBlock {
        /// The block's number.
        number: u8,
        /// Z.
        blocks: u8,
    },
    /// The block has no symbols, because the object has more blocks than symbols.
    #[error("block {number} has no symbols")]
    EmptyBlock {
        /// The block's number.
        number: u8,
    },
    /// The packet does not exist, or the buffer for it has the wrong size.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// A buffer has the wrong size, or there is no such source symbol.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The block cannot be encoded.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// Why an object cannot be decoded, or a packet not be used.
///
/// After an error from a packet the decoder is as it was before that packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// The object is larger than the limits allow.
    #[error("the object has {size} bytes; the limit is {limit}")]
    ObjectTooLarge {
        /// F.
        size: u64,
        /// [`DecoderLimits::max_object_bytes`](crate::DecoderLimits::max_object_bytes).
        limit: u64,
    },
    /// The object's blocks are larger than the limits, or the address space, allow.
    #[error("a block has {size} bytes; the limit is {limit}")]
    BlockTooLarge {
        /// K * T of the largest block.
        size: u64,
        /// [`DecoderLimits::max_block_bytes`](crate::DecoderLimits::max_block_bytes), or what the address space allows.
        limit: u64,
    },
    /// The object's blocks have more symbols than the limits allow.
    #[error("a block has {symbols} source symbols; the limit is {limit}")]
    TooManySymbols {
        /// K of the largest block.
        symbols: u32,
        /// [`DecoderLimits::max_source_symbols`](crate::DecoderLimits::max_source_symbols).
        limit: u32,
    },
    /// The packet would start a block while as many are in progress as the limits allow.
    #[error("{limit} blocks are in progress, which is the limit")]
    TooManyBlocks {
        /// [`DecoderLimits::max_blocks_in_progress`](crate::DecoderLimits::max_blocks_in_progress).
        limit: usize,
    },
    /// The block has so many more symbols than it needs, and still cannot be decoded, that they were chosen for that.
    #[error("the block has {limit} symbols more than it needs, which is the limit, and is not decodable")]
    TooManyExtraSymbols {
        /// [`DecoderLimits::max_extra_symbols`](crate::DecoderLimits::max_extra_symbols).
        limit: u32,
    },
    /// There is no memory for the symbols, or for the decoded data.
    #[error("there is no memory for {bytes} bytes")]
    Memory {
        /// How much was asked for.
        bytes: u64,
    },
    /// The bytes are not a packet.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// The object has fewer blocks.
    #[error("there is no block {number} in an object of {blocks}")]
    NoSuchBlock {
        /// SBN of the packet.
        number: u8,
        /// Z.
        blocks: u8,
    },
    /// The packet does not hold whole symbols, nor source symbols up to the padding of the last (§4.4.2).
    #[error("{found} bytes are not symbols of {symbol_size} bytes")]
    PacketSize {
        /// Bytes after the payload ID.
        found: usize,
        /// T.
        symbol_size: u16,
    },
    /// The packet holds source symbols and repair symbols, which §4.4.2 does not allow.
    #[error(
        "the packet begins with source symbol {esi}, and reaches into the repair symbols, which begin at {first_repair}"
    )]
    MixedPacket {
        /// ESI of the packet.
        esi: u32,
        /// K.
        first_repair: u32,
    },
    /// The padding of a source symbol is not zero, as §4.4.1.2 demands: the symbol is damaged.
    #[error("source symbol {esi} ends in padding that is not zero")]
    Padding {
        /// ESI of the symbol.
        esi: u32,
    },
    /// The object is not complete.
    #[error("{blocks} blocks are not decoded")]
    Incomplete {
        /// How many.
        blocks: usize,
    },
    /// A block was handed out by [`Decoder::take_block`](crate::Decoder::take_block), so the object cannot be put together here.
    #[error("block {number} was taken")]
    Taken {
        /// The block's number.
        number: u8,
    },
    /// The buffer does not have the size of what is to be written to it.
    #[error("{expected} bytes are to be written to {found}")]
    BufferSize {
        /// The size it must have.
        expected: u64,
        /// The size it has.
        found: usize,
    },
    /// The block's decoder refused.
    #[error(transparent)]
    Block(#[from] BlockError),
}
