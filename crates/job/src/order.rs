//! What may start now.

use crate::job::{Job, Op};
use std::collections::VecDeque;
use std::sync::Arc;

/// For how many others each operation still waits, and those that wait for none any more.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    job: Arc<Job>,
    waits: Vec<u32>,
    ready: VecDeque<Op>,
}

impl Order {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        let waits = job.waits().to_vec();
        let ready = (0..).zip(&waits).filter(|(_, n)| **n == 0).map(|(op, _)| op).collect();
        Self { job, waits, ready }
    }

    /// Takes an operation that may start.
    pub(crate) fn take(&mut self) -> Option<Op> {
        self.ready.pop_front()
    }

    /// An operation has started.
    pub(crate) fn started(&mut self, op: Op) {
        release(&mut self.waits, &mut self.ready, self.job.after_start(op));
    }

    /// An operation has ended.
    pub(crate) fn ended(&mut self, op: Op) {
        release(&mut self.waits, &mut self.ready, self.job.after_end(op));
    }
}

/// These wait for one less.
fn release(waits: &mut [u32], ready: &mut VecDeque<Op>, ops: &[Op]) {
    for &op in ops {
        let left = &mut waits[op as usize];
        *left -= 1;
        if *left == 0 {
            ready.push_back(op);
        }
    }
}
