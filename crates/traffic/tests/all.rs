//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-traffic --test all captures::` runs one of them.

mod captures;
mod common;
mod documents;
mod doubtful;
mod hostile;
mod least;
mod operators;
mod several;
mod shared;
mod tables;
