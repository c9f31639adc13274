//! From received symbols to a program that computes the intermediate symbols (RFC 6330 §5.4.2).
//!
//! The steps are those of the RFC's inactivation decoding, arranged so that none works on symbols:
//! [`skeleton`] holds the rows of a K', [`peel`] orders columns and sets some aside, [`bits`] says what the peeled
//! columns owe to those set aside, and [`eliminate`] solves for these. [`Solver`] goes through them.

mod bits;
mod eliminate;
mod peel;
mod skeleton;
mod solver;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use eliminate::Deficit;
pub(crate) use skeleton::{Skeleton, push_symbol, row_columns};
pub(crate) use solver::{Received, Solver};
pub(crate) use work::Work;
