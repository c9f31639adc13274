//! A network for tests: every message takes as long as a function of its bytes says, whatever else there is.

use super::Progress;
use crate::job::{Action, Job, Op};
use crate::settings::Settings;
use anabranch_transport::{Bytes, Duration, Time};
use std::sync::Arc;

/// Runs a job to its end, or until it is stuck. A message is acknowledged `back` after it has arrived.
pub(crate) fn drive(job: Job, settings: Settings, takes: impl Fn(Bytes) -> Duration, back: Duration) -> Progress {
    let mut progress = Progress::new(Arc::new(job), settings, Time::ZERO);
    let mut now = Time::ZERO;
    loop {
        while let Some(message) = progress.take_message() {
            let Action::Send { bytes, .. } = progress.job().operations()[message.op as usize].action else {
                panic!("only what sends is sent")
            };
            let at = now + takes(bytes);
            for receiver in 0..progress.job().receivers(message.op).len() {
                progress.delivered(message.number, receiver as u16, at);
            }
            progress.acknowledged(message.number, at + back);
        }
        let Some(due) = progress.due() else { return progress };
        now = due;
        progress.advance(now);
    }
}

/// When each operation has ended, in microseconds.
pub(crate) fn ended_us(progress: &Progress) -> Vec<u64> {
    assert_eq!(progress.stuck(), None);
    let ops = 0..progress.job().operations().len() as Op;
    let ended = |op| progress.times(op).ended.expect("it has ended");
    ops.map(|op| ended(op).since(Time::ZERO).ps() / 1_000_000).collect()
}
