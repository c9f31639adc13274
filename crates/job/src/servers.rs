//! Servers: ranks with links of their own to one another, such as `NVLink`. A message that stays inside a server needs no network.
//!
//! A switch that never blocks joins the ranks of a server, and copies messages for several. The first byte takes the latency, all bytes the
//! rate of the links.

use crate::job::{Job, Op};
use crate::links::Alone;
use anabranch_transport::{Bytes, Duration, Rate};

/// Which ranks share a server, and the links that join them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The server of each rank.
    pub of: Vec<u32>,
    /// Rate of the link of each rank in either direction, above zero.
    pub rate: Rate,
    /// From the first byte's start to its arrival.
    pub latency: Duration,
}

impl Servers {
    /// Whether what an operation sends is for ranks of the sender's server alone.
    pub fn hold(&self, job: &Job, op: Op) -> bool {
        let of = |rank: u32| self.of[rank as usize];
        let own = of(job.operations()[op as usize].rank);
        job.receivers(op).iter().all(|&to| of(to) == own)
    }

    /// What a message costs.
    pub(crate) fn cost(&self, bytes: Bytes) -> Alone {
        let wire = self.rate.transmit_time(bytes.0);
        Alone { wire, takes: wire + self.latency }
    }
}
