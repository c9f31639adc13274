//! Arithmetic on symbols with the instructions at hand. The only `unsafe` code of the crate is below this module.
//!
//! An operation is written once, over [`Lane`], 64 bytes in the registers of one instruction set. [`Kernels::run`] picks
//! the instance for the processor and enters it through a function compiled for those instructions, into which
//! everything is inlined. That function is the only place where a level is chosen: operations do enough work for the
//! choice to cost nothing.
#![allow(unsafe_code, reason = "vector instructions and unchecked indices; every block says why it is sound")]
#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the level's instructions")]

mod encode;
pub(crate) mod execute;
mod horner;
mod invert;
mod lanes;
mod level;
pub(crate) mod product;
pub(crate) mod program;
mod slices;
pub(crate) mod transpose;

pub(crate) use lanes::Lane;
pub(crate) use level::Kernels;
pub use level::{Level, LevelError};

/// Something to do with whole symbols, whatever the instruction set.
pub(crate) trait Operation {
    /// What it returns.
    type Output;

    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled for the caller's instructions.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of `V`.
    unsafe fn run<V: Lane>(self) -> Self::Output;
}

/// Bytes of a lane.
pub(crate) const LANE: usize = 64;
