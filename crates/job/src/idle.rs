//! How long a job takes if nothing costs time but computations, servers' links, and the links of hosts on an idle fabric: what a measured
//! time is compared with. No packets, no congestion inside the fabric, no control loop.
//!
//! A rank sends one message at a time and receives one, at the rate of its link, in the order in which they begin. A sender learns that a
//! message has arrived as soon as it has.

use crate::job::Job;
use crate::progress::{Progress, RankTimes};
use crate::settings::Settings;
use anabranch_transport::{Duration, Time};
use std::sync::Arc;

/// What a message costs that is alone on the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// For how long it takes the links of its hosts.
    pub wire: Duration,
    /// From its start until its receiver has all of it, at least `wire`.
    pub takes: Duration,
}

/// How each rank spends its time from `start` on. `alone` gives the cost of a message, by its number, for one of its receivers.
pub fn times(
    job: &Arc<Job>,
    settings: Settings,
    start: Time,
    mut alone: impl FnMut(u32, u16) -> Alone,
) -> Vec<RankTimes> {
    let mut progress = Progress::new(Arc::clone(job), settings, start);
    let mut sends = vec![start; job.ranks() as usize];
    let mut receives = sends.clone();
    let mut now = start;
    loop {
        while let Some(message) = progress.take_message() {
            let from = job.operations()[message.op as usize].rank as usize;
            let begin = now.max(sends[from]);
            let mut last = begin;
            for (receiver, &to) in (0..).zip(job.receivers(message.op)) {
                let Alone { wire, takes } = alone(message.number, receiver);
                let first = begin + Duration(takes.ps().saturating_sub(wire.ps()));
                let at = first.max(receives[to as usize]) + wire;
                receives[to as usize] = at;
                sends[from] = sends[from].max(begin + wire);
                last = last.max(at);
                progress.delivered(message.number, receiver, at);
            }
            progress.acknowledged(message.number, last);
        }
        let Some(due) = progress.due() else { return progress.ranks() };
        now = due;
        progress.advance(now);
    }
}
