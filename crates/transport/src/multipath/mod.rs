//! Several TCP connections for one transfer, each on a path of its own.
//!
//! [`Session`] is the session layer of the Front-Back algorithm (Song 2014, chapter 4), without any transport; [`pair`] runs it over
//! paths whose rates are given.

mod divide;
mod front_back;
pub mod pair;
mod session;
mod tally;

#[cfg(test)]
mod tests;

pub use session::{Scheduler, Session};
