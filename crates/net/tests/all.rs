//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-net --test all loopback::` runs one of them.

mod loopback;
mod marking;
mod tokio;
mod waiting;
