//! A job under construction.

use crate::check;
use crate::error::JobError;
use crate::job::{Action, Job, OPERATIONS_MAX, Op, Operation, Peers, Place, RANKS_MAX};

/// A job under construction.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    ranks: u32,
    operations: Vec<Operation>,
    lists: Vec<Vec<u32>>,
    after_end: Vec<(Op, Op)>,
    after_start: Vec<(Op, Op)>,
}

impl Builder {
    /// Of a job with so many ranks.
    pub fn new(ranks: u32) -> Self {
        Self { ranks, ..Self::default() }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many operations there are so far: the number of the next.
    pub fn next(&self) -> Op {
        self.operations.len() as Op
    }

    /// Adds an operation.
    pub fn add(&mut self, rank: u32, action: Action) -> Op {
        self.push(Operation { rank, stream: 0, action, place: Place::None })
    }

    /// Adds an operation with all that is known of it.
    pub fn push(&mut self, operation: Operation) -> Op {
        self.operations.push(operation);
        self.next() - 1
    }

    /// A list of ranks for [`Peers::List`].
    pub fn list(&mut self, ranks: Vec<u32>) -> Peers {
        self.lists.push(ranks);
        Peers::List(self.lists.len() as u32 - 1)
    }

    /// `op` does not start before `before` has finished.
    pub fn after(&mut self, op: Op, before: Op) {
        self.after_end.push((before, op));
    }

    /// `op` does not start before `before` has started.
    pub fn after_start(&mut self, op: Op, before: Op) {
        self.after_start.push((before, op));
    }

    /// The job.
    ///
    /// # Errors
    /// If an operation names a rank that there is not or its own, operations wait for each other in a circle, a message is never
    /// received, or a receive never gets one.
    pub fn build(mut self) -> Result<Job, JobError> {
        self.check_ranks()?;
        for pairs in [&mut self.after_end, &mut self.after_start] {
            // Whoever is named twice is waited for once.
            pairs.sort_unstable();
            pairs.dedup();
        }
        let job = Job::new(self.ranks, self.operations, self.lists, &self.after_end, &self.after_start);
        check::order(&job)?;
        check::messages(&job)?;
        Ok(job)
    }

    fn check_ranks(&self) -> Result<(), JobError> {
        let ranks = self.ranks;
        if ranks == 0 || ranks > RANKS_MAX {
            return Err(JobError::at(0, format!("a job has from 1 to {RANKS_MAX} ranks, not {ranks}")));
        }
        if self.operations.len() as u64 > OPERATIONS_MAX {
            return Err(JobError::at(0, format!("{} operations are too many", self.operations.len())));
        }
        for operation in &self.operations {
            let wrong = |message: String| Err(JobError::at(operation.place.line(), message));
            let peers = match &operation.action {
                Action::Send { to: Peers::One(to), .. } => std::slice::from_ref(to),
                Action::Send { to: Peers::List(list), .. } => &self.lists[*list as usize][..],
                Action::Receive { from: Some(from), .. } => std::slice::from_ref(from),
                Action::Receive { from: None, .. } | Action::Calc(_) | Action::Wait(_) => &[],
            };
            if let Some(unknown) = peers.iter().chain([&operation.rank]).find(|&&rank| rank >= ranks) {
                return wrong(format!("there is no rank {unknown}: ranks are numbered 0 to {}", ranks - 1));
            }
            if peers.contains(&operation.rank) {
                return wrong(format!("rank {} has a message for itself", operation.rank));
            }
            if matches!(operation.action, Action::Send { .. }) && peers.is_empty() {
                return wrong(format!("a message of rank {} is for nobody", operation.rank));
            }
            let mut sorted = peers.to_vec();
            sorted.sort_unstable();
            let twice = (1..sorted.len()).find(|&n| sorted[n - 1] == sorted[n]).map(|n| sorted[n]);
            if let Some(twice) = twice {
                return wrong(format!("rank {twice} is to receive the same message twice"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_transport::{Bytes, Duration};

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
