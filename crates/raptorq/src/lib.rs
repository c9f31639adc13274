//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod fountain;
mod kernels;
mod rfc;
pub mod siblings;

pub use kernels::Level;
