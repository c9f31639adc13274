//! Which algorithm does each collective of a job that only says what it does.

use super::{Algorithm, CHUNK, Collective, Shape, add};
use crate::builder::Builder;
use crate::error::JobError;
use crate::job::Op;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which algorithm does each collective of a job that only says what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Choice {
    /// Of all-reduce.
    pub all_reduce: Algorithm,
    /// Of all-gather.
    pub all_gather: Algorithm,
    /// Of reduce-scatter.
    pub reduce_scatter: Algorithm,
    /// Of broadcast.
    pub broadcast: Algorithm,
    /// Of all-to-all.
    pub all_to_all: Algorithm,
    /// Bytes of a chunk of `chain` and `double-tree`, above zero; the last one may be shorter.
    pub chunk: Bytes,
    /// Of `hierarchical`: how many consecutive ranks share a server. Default: as many as hosts do (`host.server.hosts`).
    #[serde(rename = "per_server", skip_serializing_if = "is_zero")]
    pub per_server: u32,
    /// Of all-gather by `one-to-many`: how many members send at a time; each begins when it has what the one so many before it sent. Default: all
    /// at once.
    #[serde(rename = "at_once", skip_serializing_if = "is_zero")]
    pub at_once: u32,
}

/// What nobody has said is not written either.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Default for Choice {
    /// As NCCL does without switches that help: rings, point to point at once, and chains in chunks of 512 KiB.
    fn default() -> Self {
        Self {
            all_reduce: Algorithm::Ring,
            all_gather: Algorithm::Ring,
            reduce_scatter: Algorithm::Ring,
            broadcast: Algorithm::Chain,
            all_to_all: Algorithm::Linear,
            chunk: CHUNK,
            per_server: 0,
            at_once: 0,
        }
    }
}

impl Choice {
    /// Whether one of the algorithms depends on which ranks share a server.
    pub fn has_servers(&self) -> bool {
        Collective::ALL.into_iter().any(|collective| self.of(collective).has_servers())
    }

    /// The algorithm of a collective.
    pub fn of(&self, collective: Collective) -> Algorithm {
        match collective {
            Collective::AllReduce => self.all_reduce,
            Collective::AllGather => self.all_gather,
            Collective::ReduceScatter => self.reduce_scatter,
            Collective::Broadcast => self.broadcast,
            Collective::AllToAll => self.all_to_all,
        }
    }
}

/// [Adds](add) a collective by the algorithm chosen for it, in as many chunks as its bytes make.
///
/// # Errors
/// As [`add`].
pub fn add_by_choice(
    job: &mut Builder,
    collective: Collective,
    choice: &Choice,
    members: &[u32],
    size: Bytes,
    after: &[Vec<Op>],
) -> Result<Vec<Vec<Op>>, JobError> {
    let algorithm = choice.of(collective);
    let at_once =
        if (collective, algorithm) == (Collective::AllGather, Algorithm::OneToMany) { choice.at_once } else { 0 };
    let shape = Shape { chunks: algorithm.chunks_of(size, choice.chunk), per_server: choice.per_server, at_once };
    add(job, (collective, algorithm), members, size, shape, after)
}
