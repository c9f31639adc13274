//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod block;
pub mod fountain;
mod kernels;
mod memory;
mod rfc;
pub mod siblings;
mod solve;

pub use block::{
    Added, BlockError, DecodeError, ENCODING_SYMBOL_IDS, EncodingPlan, NotYet, RepairMatrix, SourceBlockDecoder,
    SourceBlockEncoder,
};
pub use kernels::{Level, LevelError};
