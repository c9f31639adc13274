//! Files: those to send are read at any offset; received ones appear under their name once they are complete and their hash matches.

mod begun;
mod finisher;
mod input;
mod output;

pub(crate) use finisher::Finisher;
pub use input::Input;
pub use output::{Output, OutputError};
