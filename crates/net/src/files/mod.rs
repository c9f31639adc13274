//! Files: what is sent is read at any place, what is received appears under its name when it is whole and its hash fits.

mod begun;
mod finisher;
mod input;
mod output;

pub(crate) use finisher::Finisher;
pub use input::Input;
pub use output::{Output, OutputError};
