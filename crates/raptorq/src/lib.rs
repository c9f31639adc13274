//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod block;
pub mod fountain;
mod kernels;
mod memory;
mod object;
mod rfc;
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

/// The examples of the README and of the how-to page, which run as tests.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/how-to/use-the-codec.md")]
struct Pages;
