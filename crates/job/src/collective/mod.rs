//! Collective operations as messages. To add an algorithm: a file beside this one, one line in [`Algorithm`] and one in [`Algorithm::all`].
//!
//! `n` members, `S` bytes, `B` the rate of a link, `a` the time of an empty message: times are those without congestion, when each member
//! sends one message at a time and receives one (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
//! 2005). The tests hold each algorithm to its time, to the byte.

use crate::builder::Builder;
use crate::error::JobError;
use crate::job::{Action, OPERATIONS_MAX, Op, Operation, Peers, Place, RANKS_MAX};
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

mod bruck;
mod chain;
mod choice;
mod halving;
mod hierarchical;
#[cfg(test)]
mod idle_tests;
mod linear;
mod multicast;
mod pairwise;
mod ring;
mod scatter;
#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod tests;
mod tree;

pub use choice::{Choice, add_by_choice};

/// The stream of a rank that messages of collectives occupy: one of their own, beside computations.
pub const STREAM: u8 = 255;

/// Bytes of a chunk, if nobody says it: NCCL's 512 KiB of broadcasts (2.30.7, `src/enqueue.cc`).
pub const CHUNK: Bytes = Bytes(512 << 10);

/// Chunks that a member has under way to another one: the next but one leaves when all of a chunk is acknowledged. Two hide the round trip.
/// More would share the link, so that all of them arrive late; NCCL has eight, but its queue pairs send them in order.
pub const CHUNKS_UNDER_WAY: usize = 2;

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collective {
    /// Every member has a vector of `S` bytes; all get the sum.
    AllReduce,
    /// Every member has `S / n` bytes; all get all `S`.
    AllGather,
    /// Every member has a vector of `S` bytes; each gets `S / n` of the sum.
    ReduceScatter,
    /// The first member has `S` bytes; all get them.
    Broadcast,
    /// Every member has `S / n` bytes for each, itself included.
    AllToAll,
}

impl Collective {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter, Self::Broadcast, Self::AllToAll];

    /// Name, as in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
        }
    }

    /// The bytes of `size` that nccl-tests count for the bus bandwidth (`doc/PERFORMANCE.md`): those that cross each member's link
    /// at least, if no switch adds or copies.
    pub fn bus_bytes(self, size: Bytes, members: u32) -> f64 {
        let others = f64::from(members.max(1) - 1) / f64::from(members.max(1));
        size.0 as f64
            * match self {
                Self::AllReduce => 2.0 * others,
                Self::AllGather | Self::ReduceScatter | Self::AllToAll => others,
                Self::Broadcast => 1.0,
            }
    }
}

/// How it does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Chunks go round: `n - 1` steps of `a + S / (n B)`, twice for all-reduce.
    Ring,
    /// Recursive halving and doubling, of `n` a power of two: `log n` steps, `(n - 1) / n` of `S` in all, twice for all-reduce.
    HalvingDoubling,
    /// Of `n` a power of two: `log n` steps with all that is known so far.
    RecursiveDoubling,
    /// Each that has it tells another: `ceil(log n) (a + S / B)`.
    Binomial,
    /// Each passes chunks on to the next: `(n - 2 + k) (a + S / (k B))` with `k` chunks.
    Chain,
    /// Two binary trees with half of the bytes each, in chunks (Sanders, Speck, Traff 2009; NCCL's trees).
    DoubleTree,
    /// Binomial scatter, then a ring all-gather: `(log n + n - 1) a + 2 (n - 1) / n S / B` for `n` a power of two.
    ScatterAllGather,
    /// `ceil(log n)` steps, each with up to half of all blocks (Bruck 1997).
    Bruck,
    /// `n - 1` steps, each with another partner: `(n - 1) (a + S / (n B))`.
    Pairwise,
    /// All at once.
    Linear,
    /// One message for all others, which the fabric copies.
    OneToMany,
    /// Inside servers, then between the ranks that have the same number in their servers.
    Hierarchical,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Ring,
        Self::HalvingDoubling,
        Self::RecursiveDoubling,
        Self::Binomial,
        Self::Chain,
        Self::DoubleTree,
        Self::ScatterAllGather,
        Self::Bruck,
        Self::Pairwise,
        Self::Linear,
        Self::OneToMany,
        Self::Hierarchical,
    ];

    /// Name, as in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::HalvingDoubling => "halving-doubling",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::Binomial => "binomial",
            Self::Chain => "chain",
            Self::DoubleTree => "double-tree",
            Self::ScatterAllGather => "scatter-all-gather",
            Self::Bruck => "bruck",
            Self::Pairwise => "pairwise",
            Self::Linear => "linear",
            Self::OneToMany => "one-to-many",
            Self::Hierarchical => "hierarchical",
        }
    }

    /// Adds its messages, if it does this.
    fn of(self, collective: Collective) -> Option<fn(&mut Messages)> {
        use Collective::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
        Some(match (self, collective) {
            (Self::Ring, AllReduce) => ring::all_reduce,
            (Self::Ring, AllGather | ReduceScatter) => ring::once_round,
            (Self::HalvingDoubling, AllReduce) => halving::all_reduce,
            (Self::HalvingDoubling, ReduceScatter) => halving::reduce_scatter,
            (Self::RecursiveDoubling, AllReduce) => halving::exchange_all,
            (Self::RecursiveDoubling, AllGather) => halving::all_gather,
            (Self::Binomial, Broadcast) => tree::binomial,
            (Self::Chain, Broadcast) => chain::broadcast,
            (Self::DoubleTree, Broadcast) => tree::broadcast,
            (Self::DoubleTree, AllReduce) => tree::all_reduce,
            (Self::ScatterAllGather, Broadcast) => scatter::broadcast,
            (Self::Bruck, AllToAll) => bruck::all_to_all,
            (Self::Pairwise, AllToAll) => pairwise::all_to_all,
            (Self::Linear, AllToAll | AllGather) => linear::all_to_all,
            (Self::Linear, Broadcast) => linear::broadcast,
            (Self::OneToMany, Broadcast) => multicast::broadcast,
            (Self::OneToMany, AllGather) => multicast::all_gather,
            (Self::Hierarchical, AllReduce) => hierarchical::all_reduce,
            (Self::Hierarchical, AllGather) => hierarchical::all_gather,
            (Self::Hierarchical, ReduceScatter) => hierarchical::reduce_scatter,
            (Self::Hierarchical, AllToAll) => hierarchical::all_to_all,
            _ => return None,
        })
    }

    /// Those that do a collective.
    pub fn all(collective: Collective) -> Vec<Self> {
        Self::ALL.into_iter().filter(|algorithm| algorithm.of(collective).is_some()).collect()
    }

    /// Whether the number of members has to be a power of two.
    pub fn needs_power_of_two(self) -> bool {
        matches!(self, Self::HalvingDoubling | Self::RecursiveDoubling)
    }

    /// Whether it cuts what it sends into chunks that follow each other.
    pub fn has_chunks(self) -> bool {
        matches!(self, Self::Chain | Self::DoubleTree)
    }

    /// Whether a member may have several messages to send at once, which leave one after the other, or [so many](CHUNKS_UNDER_WAY) at a time.
    pub fn sends_in_turn(self) -> bool {
        self.has_chunks() || matches!(self, Self::Binomial | Self::ScatterAllGather)
    }

    /// How many chunks of a length follow each other: 1 if the algorithm [has none](Self::has_chunks), or there are no bytes. Each of two
    /// trees has half of the bytes.
    pub fn chunks_of(self, size: Bytes, chunk: Bytes) -> u32 {
        /// More chunks than this tell nothing more.
        const MOST: u64 = 1 << 20;
        let bytes = match self {
            Self::Chain => size.0,
            Self::DoubleTree => size.0.div_ceil(2),
            _ => return 1,
        };
        bytes.div_ceil(chunk.0.max(1)).clamp(1, MOST) as u32
    }

    /// Whether it depends on which ranks share a server.
    pub fn has_servers(self) -> bool {
        matches!(self, Self::Hierarchical)
    }
}

/// How an algorithm divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of [those that have chunks](Algorithm::has_chunks): how many follow each other, at least 1; of two trees, on each.
    pub chunks: u32,
    /// Of [those that know servers](Algorithm::has_servers): how many consecutive ranks a server has; 0: nobody has said it.
    pub per_server: u32,
    /// Of an all-gather by [`Algorithm::OneToMany`]: how many members send at a time; 0: all at once.
    pub at_once: u32,
}

impl Default for Shape {
    /// One chunk, no servers, all at once.
    fn default() -> Self {
        Self { chunks: 1, per_server: 0, at_once: 0 }
    }
}

/// What an algorithm cannot do: this collective, so many members, or in this shape; or it takes too many messages.
///
/// # Errors
/// If it cannot.
pub fn check(what: (Collective, Algorithm), members: u64, shape: Shape) -> Result<(), JobError> {
    let (collective, algorithm) = what;
    let wrong = |message: String| Err(JobError::at(0, message));
    let (name, of) = (algorithm.name(), collective.name());
    if algorithm.of(collective).is_none() {
        let known: Vec<_> = Algorithm::all(collective).into_iter().map(Algorithm::name).collect();
        return Err(JobError::at(0, format!("{name} does no {of}")).hint(format!("known are {}", known.join(", "))));
    }
    if algorithm.needs_power_of_two() && !members.is_power_of_two() {
        return wrong(format!("{name} is for 2, 4, 8 and so on members, not for {members}"));
    }
    if shape.chunks == 0 || shape.chunks > 1 && !algorithm.has_chunks() {
        return wrong(format!("{name} cuts nothing into {} chunks", shape.chunks));
    }
    if shape.at_once > 0 && what != (Collective::AllGather, Algorithm::OneToMany) {
        return wrong(format!("{name} of {of} knows no `at_once`: it is of all-gather by one-to-many"));
    }
    if algorithm.has_servers() && shape.per_server == 0 {
        let error = JobError::at(0, format!("{name} needs to know which ranks share a server"));
        return Err(error.hint("per_server = 8, or hosts in servers: host.server"));
    }
    if members > u64::from(RANKS_MAX) || messages_at_most(what, members, shape) > OPERATIONS_MAX / 2 {
        return wrong(format!("{of} by {name} of {members} ranks takes too many messages"));
    }
    Ok(())
}

/// How many messages a collective takes, counting those for several for each of their receivers; rather more than fewer.
pub fn messages_at_most((collective, algorithm): (Collective, Algorithm), members: u64, shape: Shape) -> u64 {
    if members > u64::from(RANKS_MAX) {
        return u64::MAX;
    }
    let (others, chunks) = (members.saturating_sub(1), u64::from(shape.chunks));
    let inside = u64::from(shape.per_server).clamp(1, members.max(1));
    let steps = u64::from(members.next_power_of_two().ilog2());
    let twice = if collective == Collective::AllReduce { 2 } else { 1 };
    let to_each = if collective == Collective::Broadcast { others } else { members * others };
    match algorithm {
        Algorithm::Ring => twice * members * others,
        Algorithm::HalvingDoubling => twice * members * steps,
        Algorithm::RecursiveDoubling | Algorithm::Bruck => members * steps,
        Algorithm::Binomial => others,
        Algorithm::Chain => others * chunks,
        Algorithm::DoubleTree => 2 * twice * others * chunks,
        Algorithm::ScatterAllGather => others + members * others,
        Algorithm::Pairwise | Algorithm::Linear | Algorithm::OneToMany => to_each,
        Algorithm::Hierarchical => twice * members * (inside - 1 + members.div_ceil(inside) - 1),
    }
}

/// Adds a collective of the ranks `members` to a job. `after`: the operations that the first ones of each member wait for. Returns the
/// operations with which each member is done. Where bytes do not suffice, parts of an object are empty.
///
/// # Errors
/// As [`check`], or if the job would have too many operations.
pub fn add(
    job: &mut Builder,
    what: (Collective, Algorithm),
    members: &[u32],
    size: Bytes,
    mut shape: Shape,
    after: &[Vec<Op>],
) -> Result<Vec<Vec<Op>>, JobError> {
    let n = members.len() as u64;
    let mut servers = Vec::new();
    if what.1.has_servers() && shape.per_server > 0 {
        servers = hierarchical::servers(members, shape.per_server)?;
        shape.per_server = servers.first().map_or(1, Vec::len) as u32;
    }
    check(what, n, shape)?;
    if u64::from(job.next()) + 2 * messages_at_most(what, n, shape) > OPERATIONS_MAX {
        return Err(JobError::at(0, format!("more than {OPERATIONS_MAX} operations")));
    }
    let (chunks, last, at_once) = (u64::from(shape.chunks), after.to_vec(), shape.at_once as usize);
    let mut all = Messages { job, members, servers, size: size.0, chunks, at_once, last, under_way: BTreeMap::new() };
    if let Some(messages) = what.1.of(what.0).filter(|_| n > 1) {
        messages(&mut all);
    }
    Ok(all.last)
}

/// One operation for each member, after all of its own: so that many others that wait for these need few pairs.
pub fn join(job: &mut Builder, members: &[u32], last: &[Vec<Op>]) -> Vec<Vec<Op>> {
    let one = |(&rank, before): (&u32, &Vec<Op>)| {
        let op = job.push(Operation { rank, stream: STREAM, action: Action::Wait(Duration::ZERO), place: Place::None });
        for &before in before {
            job.after(op, before);
        }
        vec![op]
    };
    members.iter().zip(last).map(one).collect()
}

/// The messages of a collective, as they are added.
struct Messages<'a> {
    job: &'a mut Builder,
    members: &'a [u32],
    /// The members of each server, if the algorithm has servers.
    servers: Vec<Vec<usize>>,
    size: u64,
    chunks: u64,
    /// How many members send at a time, of those who send to all; 0: all.
    at_once: usize,
    /// Of each member, what its next operations wait for, or the end of the collective.
    last: Vec<Vec<Op>>,
    /// The last chunks from a member to another one, the oldest first.
    under_way: BTreeMap<(usize, usize), VecDeque<Op>>,
}

/// A message that has been added: its send, and its receive.
#[derive(Clone, Copy, Debug)]
struct Message {
    send: Op,
    receive: Op,
}

impl Messages<'_> {
    fn n(&self) -> usize {
        self.members.len()
    }

    /// The `i`-th of `of` parts of so many bytes, which differ by one byte at most.
    fn part(bytes: u64, i: u64, of: u64) -> u64 {
        let until = |i: u64| (u128::from(bytes) * u128::from(i) / u128::from(of)) as u64;
        until(i + 1) - until(i)
    }

    /// Does something among some of the members, with a size of its own.
    fn among(&mut self, some: &[usize], size: u64, what: fn(&mut Messages)) {
        let members: Vec<u32> = some.iter().map(|&member| self.members[member]).collect();
        let last = some.iter().map(|&member| std::mem::take(&mut self.last[member])).collect();
        let under_way = BTreeMap::new();
        let mut own = Messages {
            job: self.job,
            members: &members,
            servers: Vec::new(),
            size,
            chunks: 1,
            at_once: 0,
            last,
            under_way,
        };
        if members.len() > 1 {
            what(&mut own);
        }
        let last = own.last;
        some.iter().zip(last).for_each(|(&member, last)| self.last[member] = last);
    }

    /// The share of a member.
    fn share(&self, member: usize) -> u64 {
        Self::part(self.size, member as u64, self.n() as u64)
    }

    fn send(&mut self, from: usize, to: Peers, bytes: u64, tag: u32, after: &[Op]) -> Op {
        let action = Action::Send { to, bytes: Bytes(bytes), tag };
        let op = self.job.push(Operation { rank: self.members[from], stream: STREAM, action, place: Place::None });
        self.wait(op, after);
        op
    }

    fn wait(&mut self, op: Op, after: &[Op]) {
        for &before in after {
            self.job.after(op, before);
        }
    }

    fn receive(&mut self, to: usize, from: usize, bytes: u64, tag: u32, after: &[Op]) -> Op {
        let action = Action::Receive { from: Some(self.members[from]), bytes: Bytes(bytes), tag: Some(tag) };
        let op = self.job.push(Operation { rank: self.members[to], stream: STREAM, action, place: Place::None });
        self.wait(op, after);
        op
    }

    /// A message that leaves after some operations of its sender. Its receiver is ready once the collective has begun there.
    fn message(&mut self, from: usize, to: usize, bytes: u64, after: &[Op], ready: &[Op]) -> Message {
        // The number of the send is a tag that no other message has.
        let tag = self.job.next();
        let send = self.send(from, Peers::One(self.members[to]), bytes, tag, after);
        let receive = self.receive(to, from, bytes, tag, ready);
        Message { send, receive }
    }

    /// A message of a pipeline: not before all [but so many](CHUNKS_UNDER_WAY) of those between the same members have arrived.
    fn chunk(&mut self, from: usize, to: usize, bytes: u64, after: &[Op], ready: &[Op]) -> Message {
        let message = self.message(from, to, bytes, after, ready);
        let before = self.under_way.entry((from, to)).or_default();
        if before.len() == CHUNKS_UNDER_WAY
            && let Some(oldest) = before.pop_front()
        {
            self.job.after(message.send, oldest);
        }
        before.push_back(message.send);
        message
    }

    /// One message for several, which the fabric copies. Their receives, in order.
    fn multicast(&mut self, from: usize, to: &[usize], bytes: u64, after: &[Op], ready: &[Vec<Op>]) -> (Op, Vec<Op>) {
        let tag = self.job.next();
        let list = to.iter().map(|&member| self.members[member]).collect();
        let peers = self.job.list(list);
        let send = self.send(from, peers, bytes, tag, after);
        let receives = to.iter().map(|&member| self.receive(member, from, bytes, tag, &ready[member])).collect();
        (send, receives)
    }
}
