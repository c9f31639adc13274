//! Result tables: the files that a run leaves behind. The only crate that touches Arrow.
//!
//! What the files and columns mean is written in `docs/reference/results.md`. [`Store`] is a result folder;
//! [`Manifest`] is its table of contents. Everything appears by rename when it is complete: a reader never sees half a
//! file, and an interrupted experiment keeps the runs that had finished.

mod captures;
pub mod lab;
mod manifest;
mod store;
mod tables;

pub use manifest::{Capture, Manifest, Remark, RunEntry, SCHEMA};
pub use store::{Draft, Store, StoreError};
