//! htsim connection matrices: `Nodes N`, `Connections M`, then lines `src->dst start T size S`, and triggers.
//!
//! As htsim's own reader (`sim/datacenter/connection_matrix.cpp`) the words after the pair may come in any order, and `size 0` means
//! without end. `id` and `prio` are read and have no effect. Failures are refused: dropping them would change the experiment.
//!
//! Triggers (`sim/trigger.cpp`): a connection `send_done_trigger k` calls trigger `k` when its sender has got all acknowledgements,
//! `recv_done_trigger k` when its receiver has all data; one `trigger k` begins when it goes off. A `oneshot` goes off at its only call and
//! begins all its connections; a `barrier` at its last; a `multishot` begins one connection at each call, in order.

use crate::builder::Builder;
use crate::error::JobError;
use crate::job::{Action, Job, Op, Operation, Peers, Place};
use anabranch_transport::units::ParseError;
use anabranch_transport::{Bytes, Duration};
use std::collections::BTreeMap;

/// A connection of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Line in the file, from 1.
    pub line: usize,
    /// When it begins, after the beginning of all.
    pub begin: Begin,
    /// Sending host.
    pub source: u32,
    /// Receiving host.
    pub sink: u32,
    /// Its size; `None`: without end.
    pub size: Option<Bytes>,
    /// Called when its sender has got all acknowledgements.
    pub send_done: Option<u32>,
    /// Called when its receiver has all data.
    pub receive_done: Option<u32>,
}

/// When a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At a time.
    At(Duration),
    /// When a trigger goes off.
    Trigger(u32),
}

/// When a trigger goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Oneshot,
    Multishot,
    Barrier(u64),
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// Hosts are numbered from 0 to one less.
    pub nodes: u32,
    /// In the order of the file.
    pub connections: Vec<Connection>,
    /// Triggers, by number: line and kind.
    triggers: BTreeMap<u32, (usize, Kind)>,
}

/// Reads a file. `us`: start times are in microseconds, not picoseconds.
///
/// # Errors
/// If it is not a connection matrix, or has failures.
pub fn parse(text: &str, us: bool) -> Result<Matrix, JobError> {
    let (mut nodes, mut promised, mut triggers) = (None, None, 0);
    let mut matrix = Matrix::default();
    let mut last_line = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first().filter(|word| !word.starts_with('#')) else { continue };
        last_line = number;
        let fault = |message: String| JobError::at(number, message);
        let count = || match words.get(1).map(|word| word.parse::<u64>()) {
            Some(Ok(n)) => Ok(n),
            _ => Err(fault(format!("expected a whole number after `{first}`"))),
        };
        match *first {
            "Nodes" => nodes = Some(u32::try_from(count()?).map_err(|_| fault("too many nodes".to_owned()))?),
            "Connections" => promised = Some(count()?),
            "Triggers" => triggers = count()?,
            "Failures" => {
                if count()? > 0 {
                    return Err(fault("failures in a connection matrix are not supported".to_owned())
                        .hint("write them as `[[failure]]` in the scenario"));
                }
            }
            "trigger" => {
                let (id, kind) = trigger(&words).map_err(fault)?;
                if matrix.triggers.insert(id, (number, kind)).is_some() {
                    return Err(fault(format!("trigger {id} has been declared before")));
                }
            }
            pair if pair.contains("->") => {
                let connection = connection(&words, number, us).map_err(fault)?;
                if let Some(nodes) = nodes
                    && (connection.source >= nodes || connection.sink >= nodes)
                {
                    return Err(fault(format!("`{pair}` names a host beyond `Nodes {nodes}`")));
                }
                matrix.connections.push(connection);
            }
            other => return Err(fault(format!("expected `src->dst start T size S`, found {other:?}"))),
        }
    }
    matrix.nodes = nodes.ok_or_else(|| JobError::at(0, "the line `Nodes N` is missing"))?;
    let promised = promised.ok_or_else(|| JobError::at(0, "the line `Connections M` is missing"))?;
    for (what, promised, found) in [
        ("Connections", promised, matrix.connections.len() as u64),
        ("Triggers", triggers, matrix.triggers.len() as u64),
    ] {
        if promised != found {
            return Err(JobError::at(last_line, format!("`{what} {promised}`, but the file has {found}")));
        }
    }
    Ok(matrix)
}

/// A time written as a decimal number of `unit`s, exactly.
///
/// # Errors
/// If it is none.
pub fn time(text: &str, unit: &str) -> Result<Duration, String> {
    if !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(format!("start must be a time in {unit}, not {text:?}"));
    }
    format!("{text}{unit}").parse().map_err(|e: ParseError| e.to_string())
}

/// `trigger id k oneshot | multishot count n | barrier count n`.
fn trigger(words: &[&str]) -> Result<(u32, Kind), String> {
    let (mut id, mut kind, mut calls) = (None, None, None);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let mut value = || -> Result<u64, String> {
            let text = rest.next().ok_or_else(|| format!("nothing follows `{word}`"))?;
            text.parse().map_err(|_| format!("{word} must be a whole number, not {text:?}"))
        };
        match *word {
            "id" => id = Some(u32::try_from(value()?).map_err(|_| "its number is too large".to_owned())?),
            "count" => calls = Some(value()?),
            "oneshot" | "multishot" | "barrier" => kind = Some(*word),
            other => return Err(format!("unknown word {other:?}; known are id, oneshot, multishot, barrier, count")),
        }
    }
    let kind = match kind {
        Some("oneshot") => Kind::Oneshot,
        Some("multishot") => Kind::Multishot,
        Some(_) => Kind::Barrier(calls.ok_or("a barrier needs its `count`")?),
        None => return Err("expected oneshot, multishot or barrier".to_owned()),
    };
    Ok((id.ok_or("`id` is missing")?, kind))
}

fn connection(words: &[&str], line: usize, us: bool) -> Result<Connection, String> {
    let host = |text: &str| text.parse::<u32>().map_err(|_| format!("expected a host number, found {text:?}"));
    let (source, sink) = words[0].split_once("->").ok_or("expected `src->dst`")?;
    let (source, sink) = (host(source)?, host(sink)?);
    let (mut start, mut trigger, mut size, mut send_done, mut receive_done) = (None, None, None, None, None);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().copied().ok_or_else(|| format!("nothing follows `{word}`"));
        let number =
            |text: &str| text.parse::<u32>().map_err(|_| format!("{word} must be a whole number, not {text:?}"));
        match *word {
            "start" => {
                let text = value()?;
                // htsim itself writes `0.000000`: picoseconds have no fraction, so zeros after the point are dropped.
                let whole = text.trim_end_matches('0').strip_suffix('.').filter(|w| !w.is_empty());
                let ps = if text.contains('.') { whole.unwrap_or(text) } else { text };
                start = Some(if us { time(text, "us")? } else { time(ps, "ps")? });
            }
            "size" => {
                let text = value()?;
                let bytes: u64 =
                    text.parse().map_err(|_| format!("size must be a whole number of bytes, not {text:?}"))?;
                size = (bytes > 0).then_some(Bytes(bytes));
            }
            "trigger" => trigger = Some(number(value()?)?),
            "send_done_trigger" => send_done = Some(number(value()?)?),
            "recv_done_trigger" => receive_done = Some(number(value()?)?),
            "id" | "prio" => _ = number(value()?)?,
            // Messages that share a connection.
            "addon" | "msg" => {
                return Err(format!("`{word}` is not supported: give each message a connection of its own"));
            }
            other => {
                return Err(format!(
                    "unknown word {other:?}; known are start, trigger, size, id, prio, send_done_trigger, \
                     recv_done_trigger"
                ));
            }
        }
    }
    let begin = match (start, trigger) {
        (Some(start), None) => Begin::At(start),
        (None, Some(trigger)) => Begin::Trigger(trigger),
        (Some(_), Some(_)) => return Err("`start` and `trigger` exclude each other".to_owned()),
        (None, None) => return Err("`start` is missing".to_owned()),
    };
    Ok(Connection { line, begin, source, sink, size, send_done, receive_done })
}

/// The job of a file: each connection is a message and its receive. Hosts are ranks.
pub(super) fn job(text: &str, us: bool) -> Result<Job, JobError> {
    let matrix = parse(text, us)?;
    let mut job = Builder::new(matrix.nodes);
    let mut triggers: BTreeMap<u32, Trigger> = BTreeMap::new();
    for (number, connection) in (0..).zip(&matrix.connections) {
        let fault = |message: &str| Err(JobError::at(connection.line, message));
        let Some(bytes) = connection.size else {
            return fault("`size` is missing or 0: a message of a job has an end");
        };
        let add = |job: &mut Builder, rank, action| {
            job.push(Operation { rank, stream: 0, action, place: Place::Line(connection.line as u32) })
        };
        let to = Peers::One(connection.sink);
        let send = add(&mut job, connection.source, Action::Send { to, bytes, tag: number });
        let from = Some(connection.source);
        let receive = add(&mut job, connection.sink, Action::Receive { from, bytes, tag: Some(number) });
        match connection.begin {
            Begin::At(Duration::ZERO) => {}
            Begin::At(start) => {
                let wait = add(&mut job, connection.source, Action::Wait(start));
                job.after(send, wait);
            }
            Begin::Trigger(id) => triggers.entry(id).or_default().begins.push(send),
        }
        let (source, sink) = (connection.source, connection.sink);
        for (id, rank, call) in [(connection.send_done, source, send), (connection.receive_done, sink, receive)] {
            if let Some(id) = id {
                let trigger = triggers.entry(id).or_default();
                trigger.rank = rank;
                trigger.calls.push(call);
            }
        }
    }
    for (id, trigger) in triggers {
        let Some(&(line, kind)) = matrix.triggers.get(&id) else {
            return Err(
                JobError::at(0, format!("trigger {id} is not declared")).hint(format!("trigger id {id} oneshot"))
            );
        };
        trigger.wire(&mut job, kind).map_err(|why| JobError::at(line, format!("trigger {id} {why}")))?;
    }
    job.build()
}

/// Who calls a trigger, and what it begins.
#[derive(Default)]
struct Trigger {
    /// The host of the last that called.
    rank: u32,
    calls: Vec<Op>,
    begins: Vec<Op>,
}

impl Trigger {
    fn wire(&self, job: &mut Builder, kind: Kind) -> Result<(), String> {
        let (calls, begins) = (self.calls.len() as u64, self.begins.len());
        if calls == 0 {
            return Err(format!("is never called: {begins} connections would never begin"));
        }
        match kind {
            Kind::Oneshot if calls > 1 => return Err(format!("is `oneshot`, but {calls} connections call it")),
            Kind::Barrier(count) if count != calls => {
                return Err(format!("is a barrier of {count}, but {calls} connections call it"));
            }
            Kind::Multishot if calls < begins as u64 => {
                return Err(format!("begins one connection at each of {calls} calls, but {begins} wait for it"));
            }
            // Which call is the first is up to the network.
            Kind::Multishot if calls > 1 => {
                return Err("is a `multishot` with several callers, which is not supported".to_owned());
            }
            Kind::Oneshot | Kind::Barrier(_) | Kind::Multishot => {}
        }
        // One operation in between, so that many calls and many connections need few pairs.
        let off = job.add(self.rank, Action::Wait(Duration::ZERO));
        self.calls.iter().for_each(|&call| job.after(off, call));
        self.begins.iter().for_each(|&begin| job.after(begin, off));
        Ok(())
    }
}
