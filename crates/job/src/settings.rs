//! How hosts carry a job out.

use crate::job::Op;
use anabranch_transport::{Bytes, Duration};

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
}

impl Settings {
    /// How long a computation takes.
    pub(crate) fn computes(&self, op: Op, rank: u32, time: Duration) -> Duration {
        if self.jitter == 0.0 && self.slow.is_empty() {
            return time;
        }
        let slow = self.slow.iter().find(|(slow, _)| *slow == rank).map_or(1.0, |(_, times)| *times);
        let share = mix(self.seed ^ mix(u64::from(op))) as f64 / u64::MAX as f64;
        // Both are exact functions of their arguments on every machine.
        Duration((time.ps() as f64 * slow * (1.0 + self.jitter * share)) as u64)
    }
}

/// A number that looks random (the finaliser of splitmix64).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
