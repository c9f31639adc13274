//! Operations and what each waits for.

use anabranch_transport::{Bytes, Duration};
use std::fmt;

/// Number of an operation in its job.
pub type Op = u32;

/// A job has at most so many ranks.
pub const RANKS_MAX: u32 = 1 << 24;

/// A job has at most so many operations, which bounds what a small file can ask for.
pub const OPERATIONS_MAX: u64 = 1 << 24;

/// The longest that a computation lasts: a day.
pub(crate) const LONGEST: Duration = Duration::from_secs(86_400);
/// The same in nanoseconds.
pub(crate) const LONGEST_NS: u64 = LONGEST.ps() / 1000;

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

/// Where an operation stands in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In none.
    #[default]
    None,
    /// A line, from 1.
    Line(u32),
    /// A node of its rank, by its number.
    Node(u32),
}

impl Place {
    /// The line for an error; 0: no single line.
    pub(crate) fn line(self) -> usize {
        if let Self::Line(line) = self { line as usize } else { 0 }
    }
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
    /// Where it stands in its file.
    pub place: Place,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.rank)?;
        match self.place {
            Place::None => {}
            Place::Line(line) => write!(f, ", line {line}")?,
            Place::Node(node) => write!(f, ", node {node}")?,
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
    /// Of operations, and pairs of one and one that waits for its end, or its start. What is wrong is not said here.
    pub(crate) fn new(
        ranks: u32,
        operations: Vec<Operation>,
        lists: Vec<Vec<u32>>,
        after_end: &[(Op, Op)],
        after_start: &[(Op, Op)],
    ) -> Self {
        let count = operations.len();
        let mut waits = vec![0; count];
        for &(_, op) in after_end.iter().chain(after_start) {
            waits[op as usize] += 1;
        }
        let sends = (0..).zip(&operations).filter(|(_, o)| matches!(o.action, Action::Send { .. }));
        let sends = sends.map(|(op, _)| op).collect();
        let (after_end, after_start) = (Dependents::new(count, after_end), Dependents::new(count, after_start));
        Self { ranks, operations, lists, after_end, after_start, waits, sends }
    }

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
