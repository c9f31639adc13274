//! Which packets count: an expression over the headers, and the direction.
//!
//! A packet whose headers were cut by the snap length, or are of a kind not known here, may leave an expression
//! undecided. Such a packet is left out and counted, never guessed.

mod encapsulation;
mod expression;
mod headers;
mod link;
mod prefix;

pub use expression::Filter;
pub(crate) use headers::{Field, Fields};
pub(crate) use link::Link;
pub(crate) use prefix::Prefix;

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// What is captured of a packet, and what the capture says about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) link: Link,
    pub(crate) data: &'a [u8],
    /// The capture's own mark.
    pub(crate) mark: Option<Way>,
    /// Bytes of frame check sequence that the length includes.
    pub(crate) checksum: u8,
}

impl Fields {
    /// Which way a packet crosses the border; absent if it does not.
    pub(crate) fn way(&self, inside: &[Prefix]) -> Field<Way> {
        let (source, destination) = match (self.source, self.destination) {
            (Field::Is(source), Field::Is(destination)) => (source, destination),
            // Without addresses there is no border to cross; with a header that was cut, who knows.
            (Field::Absent, Field::Absent) => return Field::Absent,
            _ => return Field::Cut,
        };
        let within = |address| inside.iter().any(|prefix| prefix.contains(address));
        match (within(source), within(destination)) {
            (false, true) => Field::Is(Way::In),
            (true, false) => Field::Is(Way::Out),
            _ => Field::Absent,
        }
    }
}
