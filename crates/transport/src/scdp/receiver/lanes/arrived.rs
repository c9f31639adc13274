//! A symbol that has arrived, as far as its sender is concerned.

use crate::Arrival;
use crate::scdp::header::{Header, Symbol};

/// How a symbol arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scdp::receiver) enum Seen {
    Whole,
    /// With the congestion-experienced (CE) mark.
    Marked,
    Trimmed,
}

/// A symbol that has arrived, whole or trimmed.
#[derive(Clone, Copy, Debug)]
pub(in crate::scdp::receiver) struct Arrived {
    pub(in crate::scdp::receiver) block: u32,
    /// How many symbols of the block its sender had emitted before.
    pub(in crate::scdp::receiver) index: u32,
    /// Where a pull for it would have been counted.
    pub(in crate::scdp::receiver) asked_as: u32,
    pub(in crate::scdp::receiver) seen: Seen,
    /// It shows that its sender is alive, and nothing else: the same has arrived before.
    pub(in crate::scdp::receiver) is_repeated: bool,
    /// It was sent to others of the group: it says nothing about what this receiver may ask for.
    pub(in crate::scdp::receiver) is_of_others: bool,
}

impl Arrived {
    /// As it arrived from one of so many `lanes`: for the first time, and as far as is known for this receiver.
    #[inline]
    pub(in crate::scdp::receiver) fn new(arrival: &Arrival<Header>, symbol: &Symbol, lanes: u32) -> Self {
        Self {
            block: symbol.block,
            index: symbol.index,
            asked_as: symbol.esi / lanes,
            seen: match (arrival.trimmed, arrival.ce) {
                (true, _) => Seen::Trimmed,
                (false, true) => Seen::Marked,
                (false, false) => Seen::Whole,
            },
            is_repeated: false,
            is_of_others: false,
        }
    }
}
