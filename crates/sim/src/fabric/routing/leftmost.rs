//! Normal routing (Song §3.3.3.1): one fixed path for every pair, the leftmost shortest one, so that all traffic between pods
//! of a fat-tree passes one core switch (Song Theorem 3.1). It is what routing tables with one entry for each destination
//! come to where every switch breaks ties in the same way.
//!
//! [`single`](super::single) has one path for each destination too, but not the same core switch for all destinations.

use super::{Ends, Scheme};
use crate::random::Stream;

/// The leftmost shortest path.
#[derive(Clone, Debug, Default)]
pub struct Leftmost;

impl Scheme for Leftmost {
    type Flow = u32;
    const ONE_PATH: bool = true;

    /// The least path fraction: every switch takes the first of its ports.
    fn flow(&self, _ends: &Ends, _random: &mut Stream) -> u32 {
        0
    }

    fn back(&self, _source: u32, _random: &mut Stream) -> u32 {
        0
    }
}
