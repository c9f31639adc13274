//! What is wrong with a job that is complete: operations that wait in a circle, messages with one end.

use crate::error::JobError;
use crate::job::{Action, Job, Op, Operation, Place};
use anabranch_transport::Bytes;
use std::collections::BTreeMap;

/// Operations must not wait for each other in a circle.
pub(crate) fn order(job: &Job) -> Result<(), JobError> {
    let mut waits = job.waits().to_vec();
    let mut ready: Vec<Op> = (0..).zip(&waits).filter(|(_, n)| **n == 0).map(|(op, _)| op).collect();
    let mut done = 0;
    while let Some(op) = ready.pop() {
        done += 1;
        for &next in job.after_end(op).iter().chain(job.after_start(op)) {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    if done == job.operations().len() {
        return Ok(());
    }
    let circle = circle(job, &waits);
    let names: Vec<String> = circle.iter().take(6).map(|&op| job.operations()[op as usize].to_string()).collect();
    let more = circle.len().saturating_sub(6);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let line = job.operations()[circle[0] as usize].place.line();
    Err(JobError::at(line, format!("operations wait for each other in a circle: {}{more}", names.join("; "))))
}

/// Operations each of which waits for the one before, and the first for the last. Some still wait.
fn circle(job: &Job, waits: &[u32]) -> Vec<Op> {
    // One that waits is waited for by others in a circle or behind it: go back from any until one comes again.
    let mut before: BTreeMap<Op, Op> = BTreeMap::new();
    for op in (0..job.operations().len() as Op).filter(|&op| waits[op as usize] > 0) {
        for &next in job.after_end(op).iter().chain(job.after_start(op)) {
            before.entry(next).or_insert(op);
        }
    }
    let start = (0..).zip(waits).find(|(_, n)| **n > 0).map_or(0, |(op, _)| op);
    let (mut seen, mut way) = (BTreeMap::new(), Vec::new());
    let mut at = start;
    while let std::collections::btree_map::Entry::Vacant(new) = seen.entry(at) {
        new.insert(way.len());
        way.push(at);
        at = before[&at];
    }
    let mut circle = way.split_off(seen[&at]);
    circle.reverse();
    circle
}

/// Every message must be received, and every receive must get one.
pub(crate) fn messages(job: &Job) -> Result<(), JobError> {
    let any = job.wildcards();
    let key = |to: u32, from: u32, tag: u32| if any[to as usize] { (to, 0, 0) } else { (to, from, tag) };
    let mut ends = Vec::new();
    for (op, operation) in (0..).zip(job.operations()) {
        match operation.action {
            Action::Send { bytes, tag, .. } => {
                for &to in job.receivers(op) {
                    ends.push(End { key: key(to, operation.rank, tag), receives: false, bytes, op });
                }
            }
            Action::Receive { from, bytes, tag } => {
                let key = key(operation.rank, from.unwrap_or(0), tag.unwrap_or(0));
                ends.push(End { key, receives: true, bytes, op });
            }
            Action::Calc(_) | Action::Wait(_) => {}
        }
    }
    ends.sort_unstable();
    for alike in ends.chunk_by(|a, b| a.key == b.key) {
        let (sent, received) = alike.split_at(alike.partition_point(|end| !end.receives));
        both_ends(job, sent, received)?;
    }
    Ok(())
}

/// The same for messages that may be exchanged for each other, by size.
fn both_ends(job: &Job, sent: &[End], received: &[End]) -> Result<(), JobError> {
    // The first that lacks its other end.
    let at = (0..sent.len().max(received.len()))
        .find(|&n| sent.get(n).map(|end| end.bytes) != received.get(n).map(|end| end.bytes));
    let Some(at) = at else { return Ok(()) };
    let (sends, receives) = (sent.get(at), received.get(at));
    let lost = receives.is_none_or(|receive| sends.is_some_and(|send| send.bytes < receive.bytes));
    let (end, what) = if lost { (sends, "nobody receives it") } else { (receives, "nobody sends it") };
    let Some(end) = end else { return Ok(()) };
    let operation = job.operations()[end.op as usize];
    let counts = if sent.len() == received.len() {
        "the numbers agree, the sizes do not".to_owned()
    } else {
        format!("{} sent, {} received", sent.len(), received.len())
    };
    // The line is told beside the message.
    let place = if matches!(operation.place, Place::Line(_)) { Place::None } else { operation.place };
    let message = format!("{}: {what} ({counts})", Operation { place, ..operation });
    Err(JobError::at(operation.place.line(), message))
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// Receiver, sender and tag; the receiver only, where one of its receives takes any message.
    key: (u32, u32, u32),
    receives: bool,
    bytes: Bytes,
    op: Op,
}
