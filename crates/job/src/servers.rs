//! Servers: ranks with links of their own to one another, such as `NVLink`. A message that stays inside a server needs no network.
//!
//! A switch that never blocks joins the ranks of a server. A rank sends one message at a time there, and receives one: what comes later
//! waits. The first byte takes the latency, all bytes the rate of the slower of the two links, which are alike.

use crate::job::{Job, Op};
use anabranch_transport::{Bytes, Duration, Rate, Time};

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
}

/// The links of all ranks, as they are taken.
#[derive(Clone, Debug)]
pub(crate) struct ServerLinks {
    rate: Rate,
    latency: Duration,
    /// When each is free again, for sending and for receiving.
    sends: Vec<Time>,
    receives: Vec<Time>,
}

impl ServerLinks {
    pub(crate) fn new(servers: &Servers) -> Self {
        let free = vec![Time::ZERO; servers.of.len()];
        Self { rate: servers.rate, latency: servers.latency, sends: free.clone(), receives: free }
    }

    /// When all of a message, sent now, has left its sender: at once or behind what it sends already.
    pub(crate) fn leaves(&mut self, from: u32, bytes: Bytes, now: Time) -> Time {
        let free = &mut self.sends[from as usize];
        *free = now.max(*free) + self.rate.transmit_time(bytes.0);
        *free
    }

    /// When one of its receivers has all of it. The switch copies messages for several.
    pub(crate) fn arrives(&mut self, to: u32, bytes: Bytes, left: Time) -> Time {
        let takes = self.rate.transmit_time(bytes.0);
        let first = Time(left.ps() - takes.ps()) + self.latency;
        let free = &mut self.receives[to as usize];
        *free = first.max(*free) + takes;
        *free
    }
}
