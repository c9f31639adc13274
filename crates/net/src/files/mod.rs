//! Files: those to send are read at any offset; received ones appear under their name once they are complete and their hash matches.

mod begun;
mod finisher;
mod hash_cache;
mod hasher;
mod hashing;
mod holes;
mod input;
mod mode;
mod output;
mod parts;
mod regular;
mod worker;

pub(crate) use finisher::Finisher;
pub(crate) use hash_cache::FileHash;
pub(crate) use hasher::{Done, Hasher};
pub(crate) use hashing::Hashed;
pub use input::Input;
pub(crate) use input::Reader;
pub use output::{Output, OutputError};
pub(crate) use regular::{FileState, refuse_others};

/// Whether this is the name of a hidden file: one that programs may obey without being asked, or that is not complete. Such files are not served, and
/// are received only if that is asked for.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}
