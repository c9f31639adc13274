//! What a host keeps of a flow whose packets carry vectors.

use crate::fabric::routing::{Departing, FlowPath};
use crate::random::Stream;
use std::fmt;
use std::sync::Arc;

/// Whoever knows the paths between hosts.
pub(in crate::fabric::routing) trait PathSource: fmt::Debug + Send + Sync {
    /// The [path bits](super::interfaces) of so many flows between two hosts.
    fn path_bits(&self, source: u32, destination: u32, flows: u8, random: &mut Stream) -> Vec<u32>;
}

/// The vectors of a flow. The hub of a session with several ends has one for each of them.
#[derive(Clone, Debug)]
pub struct Vectors {
    destination: u32,
    bits: u32,
    others: Box<Others>,
}

/// What the vectors to other destinations are built from, and those that are.
#[derive(Clone, Debug)]
struct Others {
    paths: Arc<dyn PathSource>,
    source: u32,
    known: Vec<(u32, u32)>,
}

impl Vectors {
    /// So many flows between the same ends.
    pub(in crate::fabric::routing) fn flows(
        paths: &Arc<impl PathSource + 'static>,
        source: u32,
        destination: u32,
        flows: u8,
        random: &mut Stream,
    ) -> Vec<Self> {
        let others = || Box::new(Others { paths: Arc::clone(paths) as Arc<dyn PathSource>, source, known: Vec::new() });
        let bits = paths.path_bits(source, destination, flows, random);
        bits.into_iter().map(|bits| Self { destination, bits, others: others() }).collect()
    }

    /// "A routing cache is first searched for a previously built NIX-Vector for the destination" (Song §2.2.1).
    #[cold]
    fn other(&mut self, destination: u32, random: &mut Stream) -> u32 {
        let Others { paths, source, known } = &mut *self.others;
        if let Some((_, bits)) = known.iter().find(|(to, _)| *to == destination) {
            return *bits;
        }
        let bits = paths.path_bits(*source, destination, 1, random)[0];
        known.push((destination, bits));
        bits
    }
}

impl FlowPath for Vectors {
    #[inline]
    fn next(&mut self, packet: &Departing, random: &mut Stream) -> u32 {
        if packet.destination == self.destination { self.bits } else { self.other(packet.destination, random) }
    }
}
