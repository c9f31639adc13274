//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod kernels;
mod object;
mod rfc;

pub use kernels::Level;
pub use object::{
    BlockLayout, Blocks, EncodingPacket, LayoutError, MAX_ENCODING_SYMBOL_ID, MAX_TRANSFER_LENGTH,
    ObjectTransmissionInformation, OtiError, PacketError, PacketRef, Partition, PayloadId, partition,
};
