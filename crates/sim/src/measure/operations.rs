//! The operations of jobs: what each did, and when it began and ended.

use super::OperationRow;
use crate::network::{JobRow, Network};
use anabranch_job::job::Place;
use anabranch_job::progress::Matched;
use anabranch_job::{Action, Op, Peers};
use std::sync::Arc;

/// One for each operation that has begun, where that is recorded.
pub(super) fn rows(network: &Network, jobs: &[JobRow]) -> Vec<OperationRow> {
    jobs.iter().flat_map(|job| of_job(network, job)).collect()
}

fn of_job<'a>(network: &Network, row: &'a JobRow) -> impl Iterator<Item = OperationRow> + use<'a> {
    let workload: Arc<str> = network.groups()[usize::from(row.group)].name.as_str().into();
    let operations = row.placed.job.operations();
    (0..).zip(operations).zip(&row.operations).filter_map(move |((op, operation), &(times, matched))| {
        let sender = matched.map(|matched| operations[matched.send as usize].rank);
        let (kind, peer, bytes) = match operation.action {
            Action::Send { to: Peers::One(to), bytes, .. } => ("send", Some(to), Some(bytes.0)),
            Action::Send { to: Peers::List(_), bytes, .. } => ("send", None, Some(bytes.0)),
            Action::Receive { from, bytes, .. } => ("receive", sender.or(from), Some(bytes.0)),
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
            inside: stays_inside(row, op, matched),
            place: match operation.place {
                Place::None => None,
                Place::Line(number) | Place::Node(number) => Some(number),
            },
            sent: matched.map(|matched| matched.left),
            start: times.started?,
            end: times.ended,
        })
    })
}

/// Whether a message is for ranks of one server alone; of a receive that knows its message.
fn stays_inside(row: &JobRow, op: Op, matched: Option<Matched>) -> bool {
    let (job, servers) = (&row.placed.job, &row.placed.settings.servers);
    let send = match job.operations()[op as usize].action {
        Action::Send { .. } => Some(op),
        Action::Receive { .. } => matched.map(|matched| matched.send),
        Action::Calc(_) | Action::Wait(_) => None,
    };
    servers.as_ref().zip(send).is_some_and(|(servers, send)| servers.hold(job, send))
}
