//! How hosts carry a job out.

use crate::job::Op;
use crate::servers::Servers;
use anabranch_transport::{Bytes, Duration};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::SplitMix64;
use std::sync::Arc;

/// How hosts carry a job out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Time that each message takes of a stream of its sender before it leaves, and of its receiver when it has arrived: `o` of `LogGP`.
    pub overhead: Duration,
    /// The sender of a message of at most so many bytes goes on when it has left. Of a larger one, when all of it is acknowledged.
    pub eager: Bytes,
    /// Ranks whose computations take so many times as long.
    pub slow: Vec<(u32, f64)>,
    /// Each computation takes longer by a share that is drawn for it, evenly from 0 to this.
    pub jitter: f64,
    /// Of these draws.
    pub seed: u64,
    /// Ranks that have links of their own to one another.
    pub servers: Option<Arc<Servers>>,
}

impl Settings {
    /// How long a computation takes.
    pub(crate) fn computes(&self, op: Op, rank: u32, time: Duration) -> Duration {
        if self.jitter == 0.0 && self.slow.is_empty() {
            return time;
        }
        let slow = self.slow.iter().find(|(slow, _)| *slow == rank).map_or(1.0, |(_, times)| *times);
        // A generator for each, so that the order of events decides nothing.
        let share: f64 = SplitMix64::seed_from_u64(self.seed ^ u64::from(op).rotate_left(32)).random();
        Duration((time.ps() as f64 * slow * (1.0 + self.jitter * share)) as u64)
    }
}
