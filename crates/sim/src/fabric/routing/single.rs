//! One path for each destination: routing without multipath.

use super::{Ends, Scheme};
use crate::random::{self, Stream};

/// Single-path routing.
#[derive(Clone, Debug, Default)]
pub struct Single;

impl Scheme for Single {
    type Flow = u32;
    const ONE_PATH: bool = true;

    fn flow(&self, ends: &Ends, _random: &mut Stream) -> u32 {
        (random::mix(u64::from(ends.destination)) >> 32) as u32
    }
}
