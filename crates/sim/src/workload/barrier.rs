//! Barrier-synchronised requests (Song §1.1.1, §5.3.1.3): a client asks for the next block only when all fragments of the last one
//! have arrived.

use super::Mode;
use super::error::Fault;
use super::sizes::SizesConfig;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More blocks than this have no room in the tables.
const BLOCKS_MAX: u32 = 1_000_000;

/// The sessions of each request together answer a client that asks for block after block: `sizes` are those of a fragment, the
/// part of a block that one server sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// Blocks that a client asks for, 1 to 1000000.
    #[schemars(range(min = 1))]
    pub blocks: u32,
    /// Whether connections last.
    #[serde(default)]
    pub connections: Connections,
    /// Time between the last fragment of a block and the request for the next.
    #[serde(default)]
    pub think: Duration,
    /// Whether all clients of the workload wait for each other: the next block of every one begins when all fragments of all of
    /// them have arrived. Default: each client goes on by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
}

/// What carries the blocks from a server to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// One connection for all blocks: a session is all fragments of a server, and keeps its window from block to block.
    #[default]
    Kept,
    /// A connection for each block: a session is one fragment.
    New,
}

impl Barrier {
    /// Sessions that each session of the placement becomes.
    pub fn copies(&self) -> u32 {
        if self.connections == Connections::New { self.blocks } else { 1 }
    }

    /// Blocks that each session of a request's placement carries, in one session or in several.
    pub(super) fn blocks_of_a_request(&self) -> f64 {
        f64::from(self.blocks)
    }

    /// Bytes of a session whose fragments have so many.
    pub fn session_size(&self, fragment: Bytes) -> Bytes {
        match self.connections {
            Connections::Kept => Bytes(fragment.0.saturating_mul(u64::from(self.blocks))),
            Connections::New => fragment,
        }
    }

    /// What is wrong, for sessions of this size and mode.
    pub(super) fn check(&self, sizes: Option<&SizesConfig>, mode: Option<Mode>) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(1..=BLOCKS_MAX).contains(&self.blocks) {
            faults.push(Fault::new("blocks", format!("must be from 1 to {BLOCKS_MAX}, not {}", self.blocks)));
        }
        if matches!(sizes, Some(SizesConfig::Endless(_) | SizesConfig::Volumes(_))) {
            let fault = Fault::new("", "a block is complete when all of it has arrived: fragments need a size");
            faults.push(fault.hint("sizes = { law = \"fixed\", size = \"256KB\" }"));
        }
        if mode.is_some_and(|mode| mode != Mode::Unicast) {
            let fault = Fault::new("", "fragments come from one server each: the sessions of a barrier are unicast");
            faults.push(fault.hint("placement = { pattern = \"incast\", senders = 8 }"));
        }
        faults
    }
}
