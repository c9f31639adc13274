//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod kernels;
mod rfc;

pub use kernels::{Level, LevelError};
