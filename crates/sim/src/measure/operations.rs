//! The operations of jobs: what each did, and when it began and ended.

use super::OperationRow;
use crate::network::{JobRow, Network};
use anabranch_job::job::Place;
use anabranch_job::{Action, Op, Peers};
use std::sync::Arc;

/// One for each operation that has begun, where that is recorded.
pub(super) fn rows(network: &Network, jobs: &[JobRow]) -> Vec<OperationRow> {
    jobs.iter().flat_map(|job| of_job(network, job)).collect()
}

fn of_job<'a>(network: &Network, row: &'a JobRow) -> impl Iterator<Item = OperationRow> + use<'a> {
    let workload: Arc<str> = network.groups()[usize::from(row.group)].name.as_str().into();
    let job = &row.placed.job;
    (0..).zip(job.operations()).zip(&row.operations).filter_map(move |((op, operation), &(times, sent))| {
        let (kind, peer, bytes) = match operation.action {
            Action::Send { to: Peers::One(to), bytes, .. } => ("send", Some(to), Some(bytes.0)),
            Action::Send { to: Peers::List(_), bytes, .. } => ("send", None, Some(bytes.0)),
            Action::Receive { from, bytes, .. } => ("receive", from, Some(bytes.0)),
            Action::Calc(_) => ("compute", None, None),
            Action::Wait(_) => ("wait", None, None),
        };
        Some(OperationRow {
            workload: Arc::clone(&workload),
            rank: operation.rank,
            stream: operation.stream,
            kind,
            peer,
            bytes,
            inside: stays_inside(row, op, operation.rank, peer),
            place: match operation.place {
                Place::None => None,
                Place::Line(number) | Place::Node(number) => Some(number),
            },
            sent,
            start: times.started?,
            end: times.ended,
        })
    })
}

/// Whether a message is for ranks of one server alone.
fn stays_inside(row: &JobRow, op: Op, rank: u32, peer: Option<u32>) -> bool {
    let Some(servers) = &row.placed.settings.servers else { return false };
    match row.placed.job.operations()[op as usize].action {
        Action::Send { .. } => servers.hold(&row.placed.job, op),
        Action::Receive { .. } => peer.is_some_and(|from| servers.of[from as usize] == servers.of[rank as usize]),
        Action::Calc(_) | Action::Wait(_) => false,
    }
}
