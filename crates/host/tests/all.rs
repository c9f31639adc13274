//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-host --test all sessions::` runs one of them.

mod allocation;
mod attacks;
mod deferring;
mod faults;
mod groups;
mod late;
mod losses;
mod modes;
mod multicast;
mod path_size;
mod replicas;
mod resuming;
mod sessions;
mod wire;
mod world;
