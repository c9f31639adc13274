//! Packets of a subflow.

use super::header::Header;
use crate::endpoint::Transmit;
use crate::tcp::{Flags, Segment};

/// A subflow's packet, with its data's place in the object.
pub(super) fn wrap(i: usize, out: &Transmit<Segment>, data: u64) -> Transmit<Header> {
    Transmit {
        header: Header::new(i, &out.header, data),
        to: out.to,
        size: out.size,
        trimmed_size: out.trimmed_size,
        priority: out.priority,
        control: out.control,
        ect: out.ect,
        pushed: out.pushed,
        rank: out.rank,
        subflow: i as u8,
    }
}

/// Tells the other end that a subflow is over.
pub(super) fn reset(i: usize, size: u32) -> Transmit<Header> {
    let header = Segment { flags: Flags::RST, ..Segment::default() };
    wrap(i, &Transmit::data(header, 0, size, size), 0)
}
