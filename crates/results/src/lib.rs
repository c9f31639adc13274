//! Result tables: the files that a run leaves behind. The only crate that touches Arrow.
//!
//! What the files and columns mean is written in `docs/reference/results.md`. [`Folder`] is a result folder that is being
//! written, on disk or in an object store ([`Storage`]); [`Manifest`] is its table of contents. Everything appears when it
//! is complete: a reader never sees half a file, and an interrupted experiment keeps the runs that had finished.

mod captures;
mod contents;
mod draft;
mod error;
mod folder;
mod homes;
pub mod lab;
mod layout;
mod lock;
mod manifest;
mod moves;
mod place;
pub mod storage;
mod tables;

pub use draft::Draft;
pub use error::StoreError;
pub use folder::{Folder, Opening};
pub use manifest::{Capture, Manifest, Planned, Remark, RunEntry, SCHEMA};
pub use place::Place;
pub use storage::{Directory, Storage};
