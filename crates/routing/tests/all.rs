//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-routing --test all direct_links::` runs one of them.

mod common;
mod direct_links;
mod findings;
mod properties;
mod tables;
