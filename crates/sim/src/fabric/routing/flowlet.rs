//! Flowlet switching (Sinha, Kandula, Katabi 2004; FLARE 2007): a flow that has paused for longer than paths differ in delay may
//! take another path without reordering.
//!
//! The host that sends watches for the pause. CONGA and `LetFlow` let the first switch do so, which sees the packets after
//! the host's own queue: there a burst that the host handed over in two parts may be one. [`letflow`](super::letflow) does that.

use super::{Departing, Ends, FlowPath, Scheme};
use crate::random::Stream;
use anabranch_transport::Duration;
use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flowlet switching.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flowlet {
    /// The pause after which a flow takes a new path. Default 500 us (CONGA §3.4).
    pub gap: Duration,
}

impl Default for Flowlet {
    fn default() -> Self {
        Self { gap: Duration::from_us(500) }
    }
}

/// The flowlet that is being sent.
#[derive(Clone, Debug)]
pub struct Current {
    gap: u64,
    path: u32,
    /// When its last packet was handed over.
    last: u64,
}

impl Scheme for Flowlet {
    type Flow = Current;

    fn flow(&self, _ends: &Ends, random: &mut Stream) -> Current {
        Current { gap: self.gap.ps(), path: random.next_u32(), last: u64::MAX }
    }
}

impl FlowPath for Current {
    #[inline]
    fn next(&mut self, packet: &Departing, random: &mut Stream) -> u32 {
        if packet.now.saturating_sub(self.last) > self.gap {
            self.path = random.next_u32();
        }
        self.last = packet.now;
        self.path
    }
}
