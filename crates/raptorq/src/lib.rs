#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod block;
#[cfg(feature = "fountain")]
pub mod fountain;
mod kernels;
mod memory;
mod object;
mod rfc;
#[cfg(feature = "fountain")]
pub mod siblings;
mod solve;
mod threads;

pub use block::{
    Added, BlockError, DecodeError, ENCODING_SYMBOL_IDS, EncodingPlan, NotYet, RepairMatrix, SourceBlockDecoder,
    SourceBlockEncoder,
};
pub use kernels::{Level, LevelError};
#[cfg(feature = "std")]
pub use object::PlanCache;
pub use object::{
    BlockEncoder, BlockLayout, BlockStatus, Blocks, Decoder, DecoderError, DecoderLimits, Encoder, EncoderError,
    EncodingPacket, LayoutError, LoadedBlocks, MAX_TRANSFER_LENGTH, ObjectTransmissionInformation, OtiError,
    PacketError, PacketRef, Packets, Partition, PayloadId, Progress, partition,
};

// A page of the documentation, whose examples run as tests; no module of the library.
#[cfg(all(doc, feature = "std"))]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}
