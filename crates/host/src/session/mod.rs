//! Sessions: the transfer of one object from or to this host.

mod blocks;
mod incoming;
mod lag;
mod outcome;
mod outgoing;
mod pace;
mod pull_pace;
mod repeat;

pub(crate) use incoming::{Ending, Incoming, Lane, News, Terms};
pub use outcome::{Failure, Outcome};
pub(crate) use outgoing::{Beginning, Origin, Outgoing, Remote};
pub(crate) use pace::Pace;
