//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-raptorq --test all roundtrip::` runs one of them. `no_memory.rs` is a
//! program of its own: its allocator refuses memory to all threads.

mod all_k;
mod allocation;
mod clones;
mod common;
mod hostile_ids;
mod interop;
mod levels;
mod object;
mod object_interop;
mod object_memory;
mod odd_receivers;
mod reference;
mod roundtrip;
mod serialized;
mod vectors;
