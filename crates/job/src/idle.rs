//! How long a job takes if nothing costs time but computations, servers' links, and the links of hosts on an idle fabric: what a measured
//! time is compared with. No packets, no congestion inside the fabric, no control loop.
//!
//! A sender learns that a message has arrived as soon as it has.

use crate::job::Job;
use crate::links::{Known, Links};
use crate::progress::{Progress, RankTimes};
use crate::settings::Settings;
use anabranch_transport::Time;
use std::sync::Arc;

pub use crate::links::Alone;

/// How each rank spends its time from `start` on. `alone` gives the cost of a message, by its number, for one of its receivers.
pub fn times(
    job: &Arc<Job>,
    settings: Settings,
    start: Time,
    mut alone: impl FnMut(u32, u16) -> Alone,
) -> Vec<RankTimes> {
    let mut progress = Progress::new(Arc::clone(job), settings, start);
    let mut links = Links::new(job.ranks());
    let mut now = start;
    loop {
        while let Some(message) = progress.take_message() {
            let to = (0..).zip(job.receivers(message.op));
            let to = to.map(|(receiver, &to)| (to, alone(message.number, receiver))).collect();
            links.send(message.number, job.operations()[message.op as usize].rank, to, now);
        }
        let Some(due) = progress.due().into_iter().chain(links.due()).min() else { return progress.ranks() };
        now = due;
        links.advance(now, |known| match known {
            Known::Delivered { message, receiver, at } => progress.delivered(message, receiver, at),
            Known::Complete { message, at } => progress.acknowledged(message, at),
        });
        progress.advance(now);
    }
}
