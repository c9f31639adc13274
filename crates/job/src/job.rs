//! Operations and what each waits for.

use crate::error::JobError;
use anabranch_transport::{Bytes, Duration};
use std::collections::BTreeMap;
use std::fmt;

/// Number of an operation in its job.
pub type Op = u32;

/// A job has at most so many ranks.
pub const RANKS_MAX: u32 = 1 << 24;

/// Who a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// One rank.
    One(u32),
    /// The ranks of a [list](Job::list): one message that the fabric copies.
    List(u32),
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message. It is finished when the sender may use its memory again.
    Send {
        /// Who receives it.
        to: Peers,
        /// Its size.
        bytes: Bytes,
        /// Which receive it is for, of those from this rank.
        tag: u32,
    },
    /// Receives a message.
    Receive {
        /// Who sends it; `None`: whoever does.
        from: Option<u32>,
        /// Its size.
        bytes: Bytes,
        /// Its tag; `None`: any.
        tag: Option<u32>,
    },
    /// Computes for some time.
    Calc(Duration),
    /// Time passes, of no stream.
    Wait(Duration),
}

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The rank whose operation it is.
    pub rank: u32,
    /// Which of the rank's streams it occupies: operations of a stream that need time come one after the other.
    pub stream: u8,
    /// What it does.
    pub action: Action,
    /// Where it stands in its file: the line, from 1. 0: in none.
    pub line: u32,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.rank)?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        match self.action {
            Action::Send { to: Peers::One(to), bytes, tag } => write!(f, ": send {bytes} to {to} with tag {tag}"),
            Action::Send { to: Peers::List(_), bytes, tag } => write!(f, ": send {bytes} to several with tag {tag}"),
            Action::Receive { from, bytes, tag } => {
                let from = from.map_or_else(|| "any".to_owned(), |from| from.to_string());
                let tag = tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
                write!(f, ": receive {bytes} from {from} with {tag}")
            }
            Action::Calc(time) => write!(f, ": compute for {time}"),
            Action::Wait(time) => write!(f, ": wait for {time}"),
        }
    }
}

/// For each operation, those that wait for it: compressed rows.
#[derive(Clone, Debug, Default)]
struct Dependents {
    first: Vec<u32>,
    list: Vec<Op>,
}

impl Dependents {
    /// From pairs of an operation and one that waits for it. The rows are sorted, whatever the order of the pairs.
    fn new(operations: usize, pairs: &[(Op, Op)]) -> Self {
        let mut first = vec![0_u32; operations + 1];
        for &(before, _) in pairs {
            first[before as usize + 1] += 1;
        }
        for row in 0..operations {
            first[row + 1] += first[row];
        }
        let (mut list, mut next) = (vec![0; pairs.len()], first.clone());
        for &(before, after) in pairs {
            let to = &mut next[before as usize];
            list[*to as usize] = after;
            *to += 1;
        }
        for row in 0..operations {
            list[first[row] as usize..first[row + 1] as usize].sort_unstable();
        }
        Self { first, list }
    }

    fn of(&self, op: Op) -> &[Op] {
        &self.list[self.first[op as usize] as usize..self.first[op as usize + 1] as usize]
    }
}

/// Operations of several ranks, and what each waits for.
#[derive(Clone, Debug)]
pub struct Job {
    ranks: u32,
    operations: Vec<Operation>,
    lists: Vec<Vec<u32>>,
    after_end: Dependents,
    after_start: Dependents,
    /// What each waits for, by number.
    waits: Vec<u32>,
    /// The operations that send, in order.
    sends: Vec<Op>,
}

impl Job {
    /// How many ranks it has.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// All operations, by number.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// A list of ranks that get the same message.
    pub fn list(&self, number: u32) -> &[u32] {
        &self.lists[number as usize]
    }

    /// The ranks that receive what an operation sends; none if it sends nothing.
    pub fn receivers(&self, op: Op) -> &[u32] {
        match &self.operations[op as usize].action {
            Action::Send { to: Peers::One(to), .. } => std::slice::from_ref(to),
            Action::Send { to: Peers::List(list), .. } => self.list(*list),
            Action::Receive { .. } | Action::Calc(_) | Action::Wait(_) => &[],
        }
    }

    /// The operations that send a message, in order: the number of a message is its place here.
    pub fn sends(&self) -> &[Op] {
        &self.sends
    }

    /// Those that wait until an operation has finished, in order.
    pub fn after_end(&self, op: Op) -> &[Op] {
        self.after_end.of(op)
    }

    /// Those that wait until an operation has started, in order.
    pub fn after_start(&self, op: Op) -> &[Op] {
        self.after_start.of(op)
    }

    /// For how many others each operation waits.
    pub(crate) fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// Whether a receive of a rank takes messages of any rank, or with any tag.
    pub(crate) fn wildcards(&self) -> Vec<bool> {
        let mut any = vec![false; self.ranks as usize];
        for operation in &self.operations {
            if let Action::Receive { from, tag, .. } = operation.action {
                any[operation.rank as usize] |= from.is_none() || tag.is_none();
            }
        }
        any
    }
}

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
        self.push(Operation { rank, stream: 0, action, line: 0 })
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
        let count = self.operations.len();
        let mut waits = vec![0; count];
        for &(_, op) in self.after_end.iter().chain(&self.after_start) {
            waits[op as usize] += 1;
        }
        let sends = (0..).zip(&self.operations).filter(|(_, o)| matches!(o.action, Action::Send { .. }));
        let sends = sends.map(|(op, _)| op).collect();
        let job = Job {
            after_end: Dependents::new(count, &self.after_end),
            after_start: Dependents::new(count, &self.after_start),
            ranks: self.ranks,
            operations: self.operations,
            lists: self.lists,
            waits,
            sends,
        };
        job.check_order()?;
        job.check_messages()?;
        Ok(job)
    }

    fn check_ranks(&self) -> Result<(), JobError> {
        let ranks = self.ranks;
        if ranks == 0 || ranks > RANKS_MAX {
            return Err(JobError::at(0, format!("a job has from 1 to {RANKS_MAX} ranks, not {ranks}")));
        }
        if self.operations.len() > u32::MAX as usize >> 1 {
            return Err(JobError::at(0, format!("{} operations are too many", self.operations.len())));
        }
        for operation in &self.operations {
            let wrong = |message: String| Err(JobError::at(operation.line as usize, message));
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

impl Job {
    /// Operations must not wait for each other in a circle.
    fn check_order(&self) -> Result<(), JobError> {
        let mut waits = self.waits.clone();
        let mut ready: Vec<Op> = (0..).zip(&waits).filter(|(_, n)| **n == 0).map(|(op, _)| op).collect();
        let mut done = 0;
        while let Some(op) = ready.pop() {
            done += 1;
            for &next in self.after_end(op).iter().chain(self.after_start(op)) {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        if done == self.operations.len() {
            return Ok(());
        }
        let circle = self.circle(&waits);
        let names: Vec<String> = circle.iter().take(6).map(|&op| self.operations[op as usize].to_string()).collect();
        let more = circle.len().saturating_sub(6);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let line = self.operations[circle[0] as usize].line as usize;
        Err(JobError::at(line, format!("operations wait for each other in a circle: {}{more}", names.join("; "))))
    }

    /// Operations each of which waits for the one before, and the first for the last. Some still wait.
    fn circle(&self, waits: &[u32]) -> Vec<Op> {
        // One that waits is waited for by others in a circle or behind it: go back from any until one comes again.
        let mut before: BTreeMap<Op, Op> = BTreeMap::new();
        for op in (0..self.operations.len() as Op).filter(|&op| waits[op as usize] > 0) {
            for &next in self.after_end(op).iter().chain(self.after_start(op)) {
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
    fn check_messages(&self) -> Result<(), JobError> {
        let any = self.wildcards();
        let key = |to: u32, from: u32, tag: u32| if any[to as usize] { (to, 0, 0) } else { (to, from, tag) };
        let mut ends = Vec::new();
        for (op, operation) in (0..).zip(&self.operations) {
            match operation.action {
                Action::Send { bytes, tag, .. } => {
                    for &to in self.receivers(op) {
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
        for same in ends.chunk_by(|a, b| a.key == b.key) {
            let (sent, received) = same.split_at(same.partition_point(|end| !end.receives));
            self.check_same(sent, received)?;
        }
        Ok(())
    }

    /// The same for messages that may be exchanged for each other, by size.
    fn check_same(&self, sent: &[End], received: &[End]) -> Result<(), JobError> {
        // The first that lacks its other end.
        let at = (0..sent.len().max(received.len()))
            .find(|&n| sent.get(n).map(|end| end.bytes) != received.get(n).map(|end| end.bytes));
        let Some(at) = at else { return Ok(()) };
        let (sends, receives) = (sent.get(at), received.get(at));
        let lost = receives.is_none_or(|receive| sends.is_some_and(|send| send.bytes < receive.bytes));
        let (end, what) = if lost { (sends, "nobody receives it") } else { (receives, "nobody sends it") };
        let Some(end) = end else { return Ok(()) };
        let operation = self.operations[end.op as usize];
        let counts = if sent.len() == received.len() {
            "the numbers agree, the sizes do not".to_owned()
        } else {
            format!("{} sent, {} received", sent.len(), received.len())
        };
        let message = format!("{}: {what} ({counts})", Operation { line: 0, ..operation });
        Err(JobError::at(operation.line as usize, message))
    }
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
