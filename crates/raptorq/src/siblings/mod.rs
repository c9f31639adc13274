//! Other fountain codes, to compare RaptorQ with: its ancestors LT and R10, and the random linear fountain, which is what
//! all of them approximate.
//!
//! They are complete and tested, and written to be read: they solve anew for every block and are no match for RaptorQ
//! in speed. All are behind the [`FountainCode`](crate::fountain::FountainCode) trait.

mod linear;
mod lt;
mod r10;
mod random;
mod soliton;
#[cfg(test)]
mod tests;
mod xor;

pub use linear::{Field, RandomLinear};
pub use lt::Lt;
pub use r10::R10;
pub use soliton::Soliton;
