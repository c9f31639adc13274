//! Files: those to send are read at any offset; received ones appear under their name once they are complete and their hash matches.

mod begun;
mod finisher;
mod hash_cache;
mod hasher;
mod hashing;
mod input;
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

/// Whether a file of this name is served: files whose names begin with a dot are not, some of which are incomplete.
pub(crate) fn is_served(name: &str) -> bool {
    !name.starts_with('.')
}
