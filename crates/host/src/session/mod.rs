//! Sessions: the transfer of one object from or to this host.

mod blocks;
mod bounds;
mod incoming;
mod narrow;
mod outcome;
mod outgoing;
mod pace;
mod repeat;
mod unpadded;

pub(crate) use bounds::Bounds;
pub(crate) use incoming::{Ending, Incoming, Lane, News, Terms};
pub use narrow::Narrow;
pub(crate) use narrow::PathSizes;
pub use outcome::{Delivery, Failure, Outcome};
pub(crate) use outgoing::{Beginning, Origin, Outgoing, Remote};
pub(crate) use pace::Pace;
