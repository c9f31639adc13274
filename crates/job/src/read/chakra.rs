//! Chakra execution traces: a protobuf file for each rank, `<prefix>.<rank>.et`, perhaps compressed with gzip.
//!
//! Each is messages with their length before them: `GlobalMetadata`, then a `Node` for each operation (`schema/protobuf/et_def.proto`).
//! What attributes mean is what `ASTRA-sim` makes of them (`astra-sim/workload/Workload.cc`): computations last `duration_micros`; sends and receives name
//! `comm_dst`, `comm_src`, `comm_tag` and `comm_size`; collectives `comm_type`, `comm_size` and the group `pg_name`. Differences: broadcasts are
//! messages here, and not a fixed time; communication of a rank is ordered by its dependencies only.
//!
//! What cannot be replayed truthfully is refused, with rank and node: a send without its peer (the converter from `PyTorch` loses it), a
//! computation that says operations and no time, collectives whose members do not agree.

use crate::builder::Builder;
use crate::collective::{self, Choice, Collective};
use crate::error::JobError;
use crate::job::{Action, Job, LONGEST_NS, Op, Operation, Peers, Place};
use anabranch_transport::{Bytes, Duration};
use flate2::read::GzDecoder;
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::Read as _;

/// Groups of ranks by their name.
pub type Groups = BTreeMap<String, Vec<u32>>;

#[derive(Clone, PartialEq, prost::Message)]
struct Node {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<Attribute>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(oneof = "Value", tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    String(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Bools {
    #[prost(bool, repeated, tag = "1")]
    values: Vec<bool>,
}

/// Kinds of nodes that do something.
const LOAD: i32 = 2;
const STORE: i32 = 3;
const COMPUTE: i32 = 4;
const SEND: i32 = 5;
const RECEIVE: i32 = 6;
const COLLECTIVE: i32 = 7;
/// Bytes of a trace when uncompressed.
const PLAIN_MAX: u64 = 1 << 30;

impl Node {
    fn attribute(&self, name: &str) -> Option<&Value> {
        self.attr.iter().find(|attribute| attribute.name == name)?.value.as_ref()
    }

    /// A whole number, of whatever type; `None`: there is none, or it is negative.
    fn number(&self, name: &str) -> Option<u64> {
        match *self.attribute(name)? {
            Value::Int32(n) | Value::Sint32(n) | Value::Sfixed32(n) => u64::try_from(n).ok(),
            Value::Int64(n) | Value::Sint64(n) | Value::Sfixed64(n) => u64::try_from(n).ok(),
            Value::Uint32(n) | Value::Fixed32(n) => Some(u64::from(n)),
            Value::Uint64(n) | Value::Fixed64(n) => Some(n),
            Value::Bool(_) | Value::Bools(_) | Value::String(_) => None,
        }
    }

    fn is_of_cpu(&self) -> bool {
        matches!(self.attribute("is_cpu_op"), Some(Value::Bool(true)))
    }

    /// The group that a collective is of; the empty name is everybody.
    fn group(&self) -> String {
        match self.attribute("pg_name") {
            Some(Value::String(name)) => name.clone(),
            _ => self.number("pg_name").map_or_else(String::new, |number| number.to_string()),
        }
    }
}

/// A collective at one of its members.
struct Part {
    node: u64,
    what: Collective,
    size: u64,
    begin: Op,
    end: Op,
}

/// What has been read.
struct Reader {
    job: Builder,
    /// For each group, the collectives of each member, in order.
    collectives: BTreeMap<String, BTreeMap<u32, Vec<Part>>>,
}

/// The job of so many ranks, whose files `file` returns.
///
/// # Errors
/// If a file is none, or the job cannot be replayed truthfully.
pub fn job(
    ranks: u32,
    file: &mut dyn FnMut(u32) -> Result<Vec<u8>, JobError>,
    groups: &Groups,
    choice: &Choice,
) -> Result<Job, JobError> {
    let mut reader = Reader { job: Builder::new(ranks), collectives: BTreeMap::new() };
    for rank in 0..ranks {
        reader.rank(rank, &uncompressed(file(rank)?, rank)?)?;
    }
    reader.expand(groups, choice)?;
    reader.job.build()
}

fn uncompressed(bytes: Vec<u8>, rank: u32) -> Result<Vec<u8>, JobError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    match GzDecoder::new(&bytes[..]).take(PLAIN_MAX + 1).read_to_end(&mut plain) {
        Ok(_) if plain.len() as u64 > PLAIN_MAX => {
            Err(JobError::at(0, format!("rank {rank}: more than {} when uncompressed", Bytes(PLAIN_MAX))))
        }
        Ok(_) => Ok(plain),
        Err(error) => Err(JobError::at(0, format!("rank {rank}: cannot be uncompressed: {error}"))),
    }
}

/// The nodes of a file.
fn nodes(bytes: &[u8]) -> Result<Vec<Node>, String> {
    let (mut rest, mut nodes) = (bytes, Vec::new());
    let mut first = true;
    while !rest.is_empty() {
        let length = prost::decode_length_delimiter(&mut rest).map_err(|e| e.to_string())?;
        let (message, after) = rest.split_at_checked(length).ok_or("the last message is cut off")?;
        rest = after;
        // The first is about the file.
        if !std::mem::take(&mut first) {
            nodes.push(Node::decode(message).map_err(|e| e.to_string())?);
        }
    }
    Ok(nodes)
}

impl Reader {
    /// Adds the operations of a rank.
    fn rank(&mut self, rank: u32, bytes: &[u8]) -> Result<(), JobError> {
        let wrong = |message: String| JobError::at(0, format!("rank {rank}: {message}"));
        let nodes = nodes(bytes).map_err(|e| wrong(format!("not an execution trace: {e}")))?;
        // Of each node, its first and its last operation.
        let mut ops: BTreeMap<u64, (Op, Op)> = BTreeMap::new();
        for node in &nodes {
            let named = |message: &str| wrong(format!("node {} ({}) {message}", node.id, node.name));
            let (first, last) = self.node(rank, node).map_err(|message| named(&message))?;
            if ops.insert(node.id, (first, last)).is_some() {
                return Err(named("is there twice"));
            }
        }
        for node in &nodes {
            let (first, _) = ops[&node.id];
            for before in node.data_deps.iter().chain(&node.ctrl_deps) {
                let Some(&(_, last)) = ops.get(before) else {
                    return Err(wrong(format!(
                        "node {} ({}) waits for node {before}, which there is not",
                        node.id, node.name
                    )));
                };
                self.job.after(first, last);
            }
        }
        Ok(())
    }

    /// Adds the operations of a node: its first and its last.
    fn node(&mut self, rank: u32, node: &Node) -> Result<(Op, Op), String> {
        // What the processor does beside what the accelerator does.
        let stream = match node.kind {
            SEND | RECEIVE | COLLECTIVE => collective::STREAM,
            _ => u8::from(!node.is_of_cpu()),
        };
        let place = Place::Node(u32::try_from(node.id).unwrap_or(u32::MAX));
        let mut add = |action| self.job.push(Operation { rank, stream, action, place });
        let peer = |name: &str| {
            let lost = format!("has no `{name}`: what it is for is lost, as the converter from PyTorch loses it");
            node.number(name).and_then(|rank| u32::try_from(rank).ok()).ok_or(lost)
        };
        let size = || node.number("comm_size").ok_or("has no `comm_size`");
        let tag = node.number("comm_tag").unwrap_or(0);
        let tag = u32::try_from(tag).map_err(|_| format!("has a tag of {tag}, more than 4294967295"))?;
        let op = match node.kind {
            COMPUTE if node.duration_micros == 0 && node.number("num_ops").is_some_and(|ops| ops > 0) => {
                return Err(
                    "says how many operations it computes, but not how long: `duration_micros` is missing".to_owned()
                );
            }
            SEND => add(Action::Send { to: Peers::One(peer("comm_dst")?), bytes: Bytes(size()?), tag }),
            RECEIVE => add(Action::Receive { from: Some(peer("comm_src")?), bytes: Bytes(size()?), tag: Some(tag) }),
            COLLECTIVE if node.is_of_cpu() && node.number("comm_type").is_none() => add(Action::Wait(Duration::ZERO)),
            COLLECTIVE => {
                let (begin, end) = (add(Action::Wait(Duration::ZERO)), add(Action::Wait(Duration::ZERO)));
                self.job.after(end, begin);
                let what = kind(node.number("comm_type").ok_or("has no `comm_type`")?)?;
                if let Some(Value::Bools(dimensions)) = node.attribute("involved_dim")
                    && dimensions.values.contains(&false)
                {
                    return Err(
                        "is of some dimensions of the network (`involved_dim`): name its ranks by `pg_name`".to_owned()
                    );
                }
                let part = Part { node: node.id, what, size: size()?, begin, end };
                self.collectives.entry(node.group()).or_default().entry(rank).or_default().push(part);
                return Ok((begin, end));
            }
            kind if !(0..=COLLECTIVE).contains(&kind) => return Err(format!("is of type {kind}, which is not known")),
            COMPUTE | LOAD | STORE => add(Action::Calc(duration(node.duration_micros)?)),
            // Invalid nodes, and metadata.
            _ => add(Action::Wait(Duration::ZERO)),
        };
        Ok((op, op))
    }

    /// Adds the messages of all collectives.
    fn expand(&mut self, groups: &Groups, choice: &Choice) -> Result<(), JobError> {
        for (name, parts) in std::mem::take(&mut self.collectives) {
            let wrong = |message: String| JobError::at(0, format!("group {name:?}: {message}"));
            let members = match groups.get(&name) {
                Some(members) => members.clone(),
                None if name.is_empty() || name == "0" => (0..self.job.ranks()).collect(),
                None => {
                    return Err(
                        wrong("nothing says which ranks it has".to_owned()).hint("groups = \"comm_group.json\"")
                    );
                }
            };
            let none = Vec::new();
            let of = |rank: &u32| parts.get(rank).unwrap_or(&none);
            if let Some(other) = parts.keys().find(|rank| !members.contains(rank)) {
                return Err(wrong(format!("rank {other} is none of its ranks, but takes part in its collectives")));
            }
            let first = &members[0];
            for member in &members {
                let (all, own) = (of(first), of(member));
                if let Some((a, b)) = all.iter().zip(own).find(|(a, b)| (a.what, a.size) != (b.what, b.size)) {
                    let named =
                        |part: &Part| format!("{} of {} (node {})", part.what.name(), Bytes(part.size), part.node);
                    return Err(wrong(format!(
                        "ranks {first} and {member} do not agree: {} and {}",
                        named(a),
                        named(b)
                    )));
                }
                if all.len() != own.len() {
                    let counts =
                        format!("rank {first} takes part in {} collectives, rank {member} in {}", all.len(), own.len());
                    return Err(wrong(counts));
                }
            }
            for number in 0..of(first).len() {
                let Part { what, size, .. } = of(first)[number];
                let begins: Vec<Vec<Op>> = members.iter().map(|member| vec![of(member)[number].begin]).collect();
                // Of all-gather it is what each member has.
                let size = if what == Collective::AllGather { size.saturating_mul(members.len() as u64) } else { size };
                let ends = collective::add_by_choice(&mut self.job, what, choice, &members, Bytes(size), &begins)
                    .map_err(|e| wrong(format!("node {} of rank {first}: {e}", of(first)[number].node)))?;
                for (member, ends) in members.iter().zip(ends) {
                    for end in ends {
                        self.job.after(of(member)[number].end, end);
                    }
                }
            }
        }
        Ok(())
    }
}

/// `CollectiveCommType`.
fn kind(number: u64) -> Result<Collective, String> {
    Ok(match number {
        0 => Collective::AllReduce,
        2 => Collective::AllGather,
        5 => Collective::Broadcast,
        6 => Collective::AllToAll,
        7 | 8 => Collective::ReduceScatter,
        other => {
            let names = ["reduce", "gather", "scatter", "barrier"];
            let name = [1, 3, 4, 9].iter().position(|&n| n == other).map_or("unknown", |place| names[place]);
            return Err(format!("is a collective of type {other} ({name}), which is not supported"));
        }
    })
}

fn duration(micros: u64) -> Result<Duration, String> {
    if micros > LONGEST_NS / 1000 {
        Err(format!("computes for {micros} us: at most a day"))
    } else {
        Ok(Duration::from_us(micros))
    }
}

/// Groups from the JSON that ASTRA-sim reads: `{"1": [0, 1, 2], "2": [3, 4]}`.
///
/// # Errors
/// If it is not that, or a group has no rank, or one twice.
pub fn groups(text: &str) -> Result<Groups, JobError> {
    let groups: Groups = serde_json::from_str(text)
        .map_err(|e| JobError::at(e.line(), format!("expected {{\"name\": [ranks], ...}}: {e}")))?;
    for (name, ranks) in &groups {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if ranks.is_empty() || sorted.len() < ranks.len() {
            return Err(JobError::at(0, format!("group {name:?} needs ranks, each once")));
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
