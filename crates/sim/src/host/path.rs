//! Which of the equal-cost paths a packet takes.
//!
//! A path is a 32-bit fraction of which each switch with a choice consumes one digit
//! ([`select`](crate::fabric::routing::select)). A constant fraction is a single path, one fraction per flow is ECMP
//! hashing, a fresh fraction per packet is spraying.

use crate::random::{self, Stream};
use rand::Rng as _;

/// How paths are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// A random path for each packet.
    PerPacket,
    /// Each packet of an endpoint takes the next path of a random permutation of all of them (NDP §3.1.1).
    PerPacketPermuted,
    /// One random path for each direction of a flow: ECMP on the 5-tuple.
    PerFlow,
    /// One path for each destination ("normal routing").
    Single,
}

/// The path choice of one endpoint.
#[derive(Clone, Debug)]
pub enum PathPicker {
    /// The same path always.
    Fixed(u32),
    /// A random path each time.
    Random,
    /// The paths in a random order, reshuffled each round.
    Permuted {
        /// Indices of the paths, in this round's order.
        order: Box<[u16]>,
        /// Next place in `order`.
        next: u16,
    },
}

impl PathPicker {
    /// The picker of an endpoint that sends to `destination` over `paths` equal-cost paths.
    pub fn new(mode: PathMode, paths: u32, destination: u32, host: &mut Stream) -> Self {
        match mode {
            PathMode::PerPacket if paths > 1 => Self::Random,
            PathMode::PerPacketPermuted if paths > 1 => {
                let order = (0..paths.min(u32::from(u16::MAX)) as u16).collect();
                Self::Permuted { order, next: 0 }
            }
            PathMode::PerFlow => Self::Fixed(host.next_u32()),
            PathMode::PerPacket | PathMode::PerPacketPermuted => Self::Fixed(0),
            PathMode::Single => Self::Fixed((random::mix(u64::from(destination)) >> 32) as u32),
        }
    }

    /// The path of the next packet.
    #[inline]
    pub fn next(&mut self, host: &mut Stream) -> u32 {
        match self {
            Self::Fixed(path) => *path,
            Self::Random => host.next_u32(),
            Self::Permuted { order, next } => {
                if *next == 0 {
                    shuffle(order, host);
                }
                let index = u64::from(order[usize::from(*next)]);
                *next = (*next + 1) % order.len() as u16;
                // The middle of the index-th of equal parts, so that rounding never crosses into a neighbour.
                (((2 * index + 1) << 31) / order.len() as u64) as u32
            }
        }
    }
}

/// Fisher-Yates.
fn shuffle(order: &mut [u16], random: &mut Stream) {
    for i in (1..order.len()).rev() {
        let j = (u64::from(random.next_u32()) * (i as u64 + 1)) >> 32;
        order.swap(i, j as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permuted_round_uses_every_path_once() {
        let mut random = random::stream(1, "test");
        let mut picker = PathPicker::new(PathMode::PerPacketPermuted, 16, 0, &mut random);
        for _ in 0..3 {
            let mut seen: Vec<_> = (0..16).map(|_| picker.next(&mut random) >> 28).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn flows_keep_their_path_and_destinations_theirs() {
        let mut random = random::stream(1, "test");
        let mut flow = PathPicker::new(PathMode::PerFlow, 16, 0, &mut random);
        assert_eq!(flow.next(&mut random), flow.next(&mut random));
        let mut single = |to| PathPicker::new(PathMode::Single, 16, to, &mut random).next(&mut random::stream(2, ""));
        assert_eq!(single(7), single(7));
        assert_ne!(single(7), single(8));
    }
}
