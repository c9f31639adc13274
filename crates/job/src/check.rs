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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Builder, Peers};
    use anabranch_transport::Duration;

    fn send(to: u32, bytes: u64) -> Action {
        Action::Send { to: Peers::One(to), bytes: Bytes(bytes), tag: 0 }
    }

    fn receive(from: impl Into<Option<u32>>, bytes: u64) -> Action {
        Action::Receive { from: from.into(), bytes: Bytes(bytes), tag: Some(0) }
    }

    fn error(ranks: u32, operations: &[(u32, Action)], after: &[(Op, Op)]) -> String {
        let mut builder = Builder::new(ranks);
        for &(rank, action) in operations {
            builder.add(rank, action);
        }
        for &(op, before) in after {
            builder.after(op, before);
        }
        builder.build().expect_err("it is wrong").message
    }

    #[test]
    fn ranks_are_those_that_there_are() {
        assert_eq!(error(2, &[(0, send(2, 8))], &[]), "there is no rank 2: ranks are numbered 0 to 1");
        assert_eq!(error(2, &[(3, receive(0, 8))], &[]), "there is no rank 3: ranks are numbered 0 to 1");
        assert_eq!(error(2, &[(1, send(1, 8))], &[]), "rank 1 has a message for itself");
        assert_eq!(error(0, &[], &[]), "a job has from 1 to 16777216 ranks, not 0");
        let mut builder = Builder::new(3);
        let to = builder.list(vec![1, 2, 1]);
        builder.add(0, Action::Send { to, bytes: Bytes(1), tag: 0 });
        assert_eq!(builder.build().unwrap_err().message, "rank 1 is to receive the same message twice");
    }

    #[test]
    fn every_message_is_received_and_every_receive_gets_one() {
        let lost = error(2, &[(0, send(1, 8)), (0, send(1, 9)), (1, receive(0, 8))], &[]);
        assert_eq!(lost, "rank 0: send 9B to 1 with tag 0: nobody receives it (2 sent, 1 received)");
        let missing = error(2, &[(1, receive(0, 8))], &[]);
        assert_eq!(missing, "rank 1: receive 8B from 0 with tag 0: nobody sends it (0 sent, 1 received)");
        let other = error(2, &[(0, send(1, 8)), (1, receive(0, 7))], &[]);
        assert_eq!(
            other,
            "rank 1: receive 7B from 0 with tag 0: nobody sends it (the numbers agree, the sizes do not)"
        );
        let smaller = error(2, &[(0, send(1, 8)), (0, send(1, 9)), (1, receive(0, 9))], &[]);
        assert_eq!(smaller, "rank 0: send 8B to 1 with tag 0: nobody receives it (2 sent, 1 received)");
        let any = error(3, &[(0, send(2, 8)), (2, receive(None, 8)), (2, receive(1, 8))], &[]);
        assert_eq!(any, "rank 2: receive 8B from 1 with tag 0: nobody sends it (1 sent, 2 received)");
    }

    #[test]
    fn a_circle_is_named() {
        let calc = Action::Calc(Duration::from_us(1));
        let circle = error(1, &[(0, calc), (0, calc), (0, calc), (0, calc)], &[(1, 0), (2, 1), (1, 2), (3, 2)]);
        assert_eq!(
            circle,
            "operations wait for each other in a circle: rank 0: compute for 1us; rank 0: compute for 1us"
        );
        assert!(error(1, &[(0, calc)], &[(0, 0)]).starts_with("operations wait for each other in a circle"));
    }
}
