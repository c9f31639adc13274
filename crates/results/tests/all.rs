//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-results --test all resume::` runs one of them.

mod captures;
mod killed;
mod memory;
mod parallel;
mod resume;
mod workers;
