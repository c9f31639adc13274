//! The Front-Back session layer over connections: blocks as the application provides them, throughputs as they are acknowledged.

use super::session::{Scheduler, Session};
use crate::tcp::Connection;
use std::ops::Range;

/// A sender's data under Front-Back.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    session: Session,
    /// Bytes acknowledged on each connection when the block began.
    before: Vec<u64>,
}

impl Blocks {
    pub(super) fn new(scheduler: Scheduler, subflows: usize, segment: u64) -> Self {
        Self { session: Session::new(scheduler, subflows, segment), before: vec![0; subflows] }
    }

    pub(super) fn provide(&mut self, end: u64) {
        self.session.provide(end);
    }

    /// The next segment for this connection.
    pub(super) fn take(&mut self, i: usize, ends: &[Connection]) -> Option<Range<u64>> {
        if self.session.partitions_next(i) && !self.session.is_exhausted() {
            self.estimate(ends);
        }
        self.session.take(i)
    }

    /// Throughputs: bytes acknowledged since the block began, which is the same time for all. The estimates of one block start the next;
    /// before anything is acknowledged, all paths are taken to be equal.
    fn estimate(&mut self, ends: &[Connection]) {
        let acknowledged: Vec<u64> = ends.iter().map(Connection::acknowledged).collect();
        let carried: Vec<f64> = acknowledged.iter().zip(&self.before).map(|(now, then)| (now - then) as f64).collect();
        if carried.iter().any(|&bytes| bytes > 0.0) {
            self.session.estimate(&carried);
        }
        if self.session.is_between_blocks() {
            self.before = acknowledged;
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.session.is_exhausted()
    }

    pub(super) fn context_switches(&self) -> u64 {
        self.session.context_switches()
    }
}
