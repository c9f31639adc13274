//! Spraying in turns: each packet of a flow takes the next path of a random permutation of all of them (NDP §3.1.1).

use super::{Departing, Ends, FlowPath, Scheme, path_fraction};
use crate::random::{self, Stream};
use smallvec::SmallVec;

/// Per-packet ECMP by permutations.
#[derive(Clone, Debug, Default)]
pub struct Permuted;

/// A round through the paths.
#[derive(Clone, Debug)]
pub struct Round {
    /// Indices of the paths, in this round's order; empty if there is no choice.
    order: SmallVec<[u16; 16]>,
    /// Next place in `order`.
    next: u16,
}

impl Scheme for Permuted {
    type Flow = Round;

    fn flow(&self, ends: &Ends, _random: &mut Stream) -> Round {
        let paths = if ends.paths > 1 { ends.paths.min(u32::from(u16::MAX)) as u16 } else { 0 };
        Round { order: (0..paths).collect(), next: 0 }
    }
}

impl FlowPath for Round {
    #[inline]
    fn next(&mut self, _packet: &Departing, random: &mut Stream) -> u32 {
        let count = self.order.len() as u16;
        if count == 0 {
            return 0;
        }
        if self.next == 0 {
            shuffle(&mut self.order, random);
        }
        let index = self.order[usize::from(self.next)];
        self.next = if self.next + 1 == count { 0 } else { self.next + 1 };
        // The middle of the index-th of equal parts, so that rounding never crosses into a neighbour.
        path_fraction(u32::from(index), u32::from(count))
    }
}

/// Fisher-Yates.
pub(super) fn shuffle<T>(order: &mut [T], random: &mut Stream) {
    for i in (1..order.len()).rev() {
        order.swap(i, random::below(random, i + 1));
    }
}
